"""ZipNum clusters: sorted lines in gzip blocks, and an index of the first line of each block.

Two forms of that index are in use. Tools of the Internet Archive, pywb and Common Crawl write
`key date <tab> file <tab> offset <tab> length <tab> number`. cdxj-indexer, and so WACZ, has a first line
`!meta 0 {"format": "cdxj-gzip-1.0", "filename": ...}` and then `key date {"offset": ..., "length": ...}`.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Final

from seekwarc.cdx.limits import MAX_BLOCK_SIZE
from seekwarc.cdx.lines import SortedLines, StoredLine, StoredLines, in_order
from seekwarc.compiling import override
from seekwarc.errors import ChecksumError, FormatError, LimitError, TruncatedError, UnsupportedError
from seekwarc.format.cdxj import CdxjLine, line_head
from seekwarc.storage.local import BytesSource
from seekwarc.storage.source import RangeSource

__all__ = ["ZipNumCluster", "is_cluster"]

MAX_BLOCKS: Final = 4
"""Decompressed blocks that are kept in memory."""
GZIP_WINDOW: Final = 31
META: Final = b"!meta "
FORMAT: Final = "cdxj-gzip-1.0"

_TABBED = re.compile(rb"[^\t\n]*+\t([^\t\n]++)\t([0-9]{1,18})\t([0-9]{1,18})(?:\t|\Z)")


@dataclass(frozen=True, slots=True)
class _Block:
    """A gzip block, as the index of a cluster lists it."""

    file: str
    offset: int
    length: int


def is_cluster(first_line: bytes) -> bool:
    """Return whether a file with that first line is the index of a cluster, of a known format."""
    if first_line.startswith(META):
        name = _meta(first_line).get("format")
        if isinstance(name, str) and name.startswith("cdxj-gzip") and name != FORMAT:
            raise UnsupportedError(f"the cluster has the unknown format {name}; {FORMAT} is supported")
        return name == FORMAT
    return _TABBED.match(first_line) is not None


class ZipNumCluster(SortedLines):
    """The lines of a cluster."""

    def __init__(
        self,
        index: RangeSource,
        first_line: bytes,
        open_part: Callable[[str], RangeSource],
        *,
        max_block_size: int = MAX_BLOCK_SIZE,
    ) -> None:
        self._max_block_size = max_block_size
        self._index = StoredLines(index)
        self._file = str(_meta(first_line).get("filename", "")) if first_line.startswith(META) else ""
        self._part = lru_cache(None)(open_part)
        self._block_lines = lru_cache(MAX_BLOCKS)(self._read_block)

    @override
    def ascending(self, wanted: bytes) -> Iterator[StoredLine]:
        return in_order(self._forward(wanted))

    @override
    def descending(self, wanted: bytes) -> Iterator[StoredLine]:
        for entry in self._index.descending(wanted):
            if not entry.data.startswith(META):
                yield from self._lines(entry, lambda lines: lines.descending(wanted))

    def _forward(self, wanted: bytes) -> Iterator[StoredLine]:
        # The index lists the first line of each block, so the wanted lines may begin in the block before.
        before = next(self._index.descending(wanted), None)
        first = [before] if before is not None else []
        for entry in chain(first, self._index.ascending(wanted)):
            if not entry.data.startswith(META):
                yield from self._lines(entry, lambda lines: lines.ascending(wanted))

    def _lines(
        self, entry: StoredLine, search: Callable[[StoredLines], Iterator[StoredLine]]
    ) -> Iterator[StoredLine]:
        """Yield lines of the block of an index entry; their offset is that of the block."""
        block = self._block(entry)
        lines = self._block_lines(block)
        try:
            for line in search(lines):
                yield line._replace(offset=block.offset)
        except FormatError as error:
            # The error has an offset in the decompressed block, which the file does not have.
            raise type(error)(error.message, source=lines.name, offset=block.offset) from error

    def _block(self, entry: StoredLine) -> _Block:
        match = _TABBED.match(entry.data)
        if match is not None:
            return _Block(match[1].decode("utf-8", "surrogateescape"), int(match[2]), int(match[3]))
        try:
            line = CdxjLine.parse(entry.data)
            return _Block(line.fields.get("filename", self._file), line.offset, line.length or 0)
        except FormatError as error:
            raise entry.error(f"not a line of a cluster's index: {error.message}") from error

    def _read_block(self, block: _Block) -> StoredLines:
        """Decompress a block; its lines are found lazily."""
        part = self._part(block.file)
        if not 0 < block.length <= self._max_block_size:
            raise LimitError(
                f"the index lists a block of {block.length} bytes, outside the limits of 1 to "
                f"{self._max_block_size}; raise max_block_size (--max-block) if you trust the index",
                source=part.name,
                offset=block.offset,
            )
        data = part.read(block.offset, block.offset + block.length)
        try:
            found = _decompressed(data, self._max_block_size)
        except FormatError as error:
            raise error.located(part.name, block.offset) from error.__cause__
        return StoredLines(BytesSource(found, part.name))


def _decompressed(data: bytes, limit: int) -> bytes:
    decoder = zlib.decompressobj(GZIP_WINDOW)
    try:
        found = decoder.decompress(data, limit + 1)
    except zlib.error as error:
        raise ChecksumError(f"the block is damaged or not gzip: {error}") from error
    if len(found) > limit:
        raise LimitError(
            f"the block has more than {limit} bytes; raise max_block_size (--max-block) to read it"
        )
    if not decoder.eof:
        raise TruncatedError("the file ends inside the block")
    return found


def _meta(first_line: bytes) -> dict[str, object]:
    head = line_head(first_line) or b""
    try:
        found = json.loads(first_line[len(head) :])
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
