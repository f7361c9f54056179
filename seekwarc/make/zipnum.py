"""Writing ZipNum clusters: sorted lines in gzip blocks, and an index of the first line of each block.

The form is that of cdxj-indexer and WACZ; see `cdx.zipnum`, which reads it. "crawl.idx" is the index, and its
blocks are in "crawl.cdx.gz" in the same folder.
"""

from __future__ import annotations

import os
import zlib
from typing import BinaryIO, Final

from seekwarc.cdx.zipnum import FORMAT, GZIP_WINDOW, META
from seekwarc.compiling import override
from seekwarc.errors import SeekWarcError
from seekwarc.format.cdxj import line_head
from seekwarc.format.json_text import json_text
from seekwarc.storage.remote_url import is_url
from seekwarc.write.files import Existing, remove
from seekwarc.write.opening import open_output
from seekwarc.write.output import Output

__all__ = ["ClusterOutput", "index_output"]

SUFFIX: Final = ".idx"
BLOCKS_SUFFIX: Final = ".cdx.gz"
MAX_LINES: Final = 300
"""Lines of a block, as in cdxj-indexer."""
MAX_SIZE: Final = 1 << 20
"""Bytes of lines after which a block ends, though it has fewer lines. Readers refuse blocks above 8 MiB."""


def index_output(
    target: str | os.PathLike[str] | BinaryIO | Output, *, existing: Existing, parquet: bool = False
) -> Output:
    """Open the output of an index: a cluster if its name ends with ".idx", otherwise one file."""
    if isinstance(target, str | os.PathLike) and os.fspath(target).endswith(SUFFIX):
        if parquet:
            text = "would be a ZipNum cluster; end the name of a columnar index with .parquet"
            raise SeekWarcError(text, source=os.fspath(target))
        return ClusterOutput(os.fspath(target), existing=existing)
    return open_output(target, existing=existing)


class ClusterOutput(Output):
    """Makes a cluster of sorted lines, one for each `write`. Its index gets its name after its blocks."""

    def __init__(self, path: str, *, existing: Existing = "error") -> None:
        self.name = path
        self._existing = existing
        blocks = path.removesuffix(SUFFIX) + BLOCKS_SUFFIX
        self._index = open_output(path, existing=existing)
        try:
            self._blocks = open_output(blocks, existing=existing)
        except BaseException:
            self._index.abort()
            raise
        self.spool_directory = self._index.spool_directory
        self.filename = self._index.filename
        self._lines: list[bytes] = []
        self._size = 0
        self._offset = 0
        meta = json_text({"format": FORMAT, "filename": os.path.basename(blocks)})
        self._index.write(META + b"0 " + meta.encode() + b"\n")

    @override
    def write(self, data: bytes) -> None:
        if self._lines and (len(self._lines) == MAX_LINES or self._size + len(data) > MAX_SIZE):
            self._end_block()
        self._lines.append(data)
        self._size += len(data)

    def _end_block(self) -> None:
        packer = zlib.compressobj(wbits=GZIP_WINDOW)
        block = packer.compress(b"".join(self._lines)) + packer.flush()
        place = json_text({"offset": self._offset, "length": len(block)})
        self._index.write(b"%b %b\n" % (line_head(self._lines[0]) or b"", place.encode()))
        self._blocks.write(block)
        self._offset += len(block)
        self._lines, self._size = [], 0

    @override
    def flush(self) -> None:
        self._blocks.flush()
        self._index.flush()

    @override
    def commit(self) -> None:
        try:
            if self._lines:
                self._end_block()
            if not is_url(self.name):
                # An object that is sealed is there.
                self._index.seal()
                self._blocks.seal()
            if self._existing == "overwrite":
                # A crash between the two names must not leave an old index of new blocks.
                remove(self.name)
            self._blocks.commit()
            self._index.commit()
        except BaseException:
            self.abort()
            self._blocks.abort_committed()
            raise

    @override
    def abort(self) -> None:
        self._blocks.abort()
        self._index.abort()
