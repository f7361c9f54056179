"""ZipNum clusters: sorted lines in gzip blocks, and an index of the first line of each block.

Two forms of that index are in use: `key date <tab> file <tab> offset <tab> length <tab> number`, by the tools
of the Internet Archive, pywb and Common Crawl; and `key date {"offset": ..., "length": ...}` below a line
`!meta 0 {"format": "cdxj-gzip-1.0", "filename": ...}`, by cdxj-indexer, which WACZ files have.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Final

from seekwarc.cdx.lines import StoredLine, StoredLines, in_order
from seekwarc.errors import ChecksumError, FormatError, LimitError, TruncatedError, UnsupportedError
from seekwarc.format.cdxj import CdxjLine, line_head
from seekwarc.storage.local import BytesSource
from seekwarc.storage.source import RangeSource

__all__ = ["MAX_BLOCK_SIZE", "ZipNumCluster", "is_cluster"]

MAX_BLOCK_SIZE: Final = 8 << 20
"""Bytes of a block, stored or decompressed, unless the caller allows more.

Blocks have 300 to 3000 lines as a rule, which is 0.1 to 1.5 MiB.
"""
MAX_BLOCKS: Final = 4
"""Decompressed blocks that are kept."""
GZIP_WINDOW: Final = 31
META: Final = b"!meta "
FORMAT: Final = "cdxj-gzip-1.0"

_TABBED = re.compile(rb"[^\t\n]*+\t([^\t\n]++)\t([0-9]{1,18})\t([0-9]{1,18})(?:\t|\Z)")


@dataclass(frozen=True, slots=True)
class _Block:
    """A gzip block, as the index of a cluster has it."""

    file: str
    offset: int
    length: int


def is_cluster(first_line: bytes) -> bool:
    """Tell by its first line whether a file is the index of a cluster.

    Raises:
        UnsupportedError: It is one of another format.
    """
    if first_line.startswith(META):
        name = _meta(first_line).get("format")
        if isinstance(name, str) and name.startswith("cdxj-gzip") and name != FORMAT:
            raise UnsupportedError(f"a cluster of the format {name}; {FORMAT} is known")
        return name == FORMAT
    return _TABBED.match(first_line) is not None


class ZipNumCluster:
    """The lines of a cluster; see `SortedLines`.

    Args:
        index: The cluster's index.
        first_line: Its first line.
        open_part: Opens a file of blocks by the name that the index has for it.
        max_block_size: Largest block to decompress, in bytes, stored and decompressed.
    """

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

    def ascending(self, wanted: bytes) -> Iterator[StoredLine]:
        """See `SortedLines.ascending`.

        Raises:
            FormatError: The index or a block is damaged, or the lines are not sorted.
        """
        return in_order(self._forward(wanted))

    def descending(self, wanted: bytes) -> Iterator[StoredLine]:
        """See `SortedLines.descending`.

        Raises:
            FormatError: The index or a block is damaged, or the lines are not sorted.
        """
        for entry in self._index.descending(wanted):
            if not entry.data.startswith(META):
                yield from self._lines(entry, lambda lines: lines.descending(wanted))

    def _forward(self, wanted: bytes) -> Iterator[StoredLine]:
        # The wanted lines may begin within the block before the first one that is listed after them.
        before = next(self._index.descending(wanted), None)
        first = [before] if before is not None else []
        for entry in chain(first, self._index.ascending(wanted)):
            if not entry.data.startswith(META):
                yield from self._lines(entry, lambda lines: lines.ascending(wanted))

    def _lines(
        self, entry: StoredLine, search: Callable[[StoredLines], Iterator[StoredLine]]
    ) -> Iterator[StoredLine]:
        """Yield lines of the block that an entry of the index leads to, placed where the block begins."""
        block = self._block(entry)
        lines = self._block_lines(block)
        try:
            for line in search(lines):
                yield replace(line, offset=block.offset)
        except FormatError as error:
            # Its place is one in the decompressed block.
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
        """Decompress a block. Its lines are looked for, and made, only as they are asked for."""
        part = self._part(block.file)
        if not 0 < block.length <= self._max_block_size:
            raise LimitError(
                f"a block of {block.length} bytes, which is not within 1 to {self._max_block_size}; raise "
                "max_block_size (--max-block) if the index is to be trusted",
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
        raise ChecksumError(f"this block is damaged, or is not gzip: {error}") from error
    if len(found) > limit:
        raise LimitError(
            f"this block has more than {limit} bytes; raise max_block_size (--max-block) to read it"
        )
    if not decoder.eof:
        raise TruncatedError("the file ends inside this block")
    return found


def _meta(first_line: bytes) -> dict[str, object]:
    head = line_head(first_line) or b""
    try:
        found = json.loads(first_line[len(head) :])
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
