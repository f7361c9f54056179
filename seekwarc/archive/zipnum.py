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
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from seekwarc.archive.lines import StoredLine, StoredLines, in_order
from seekwarc.errors import ChecksumError, FormatError, LimitError, TruncatedError, UnsupportedError
from seekwarc.format.cdxj import CdxjLine, line_head
from seekwarc.storage.source import RangeSource

__all__ = ["ZipNumCluster", "is_cluster"]

MAX_BLOCK_SIZE: Final = 64 << 20
"""Most bytes of a block, stored or decompressed. Usual are 300 to 3000 lines."""
MOST_BLOCKS: Final = 4
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
    """

    def __init__(
        self, index: RangeSource, first_line: bytes, open_part: Callable[[str], RangeSource]
    ) -> None:
        self._index = StoredLines(index)
        self._file = str(_meta(first_line).get("filename", "")) if first_line.startswith(META) else ""
        self._part = lru_cache(None)(open_part)
        self._lines = lru_cache(MOST_BLOCKS)(self._read_lines)

    def ascending(self, wanted: bytes) -> Iterator[StoredLine]:
        """See `SortedLines.ascending`.

        Raises:
            FormatError: The index or a block is damaged, or the lines are not sorted.
        """
        for line in in_order(self._forward(wanted)):
            if line.head >= wanted:
                yield line

    def descending(self, wanted: bytes) -> Iterator[StoredLine]:
        """See `SortedLines.descending`.

        Raises:
            FormatError: The index or a block is damaged, or the lines are not sorted.
        """
        for entry in self._index.descending(wanted):
            if not entry.data.startswith(META):
                lines = in_order(iter(self._lines(self._block(entry))))
                yield from reversed([line for line in lines if line.head < wanted])

    def _forward(self, wanted: bytes) -> Iterator[StoredLine]:
        # The lines that are looked for may begin within the block in front of the first that is not.
        before = next(self._index.descending(wanted), None)
        if before is not None and not before.data.startswith(META):
            yield from self._lines(self._block(before))
        for entry in self._index.ascending(wanted):
            if not entry.data.startswith(META):
                yield from self._lines(self._block(entry))

    def _block(self, entry: StoredLine) -> _Block:
        match = _TABBED.match(entry.data)
        if match is not None:
            return _Block(match[1].decode("utf-8", "surrogateescape"), int(match[2]), int(match[3]))
        try:
            line = CdxjLine.parse(entry.data)
            return _Block(line.fields.get("filename", self._file), line.offset, line.length or 0)
        except FormatError as error:
            raise entry.error(f"not a line of a cluster's index: {error.message}") from error

    def _read_lines(self, block: _Block) -> list[StoredLine]:
        part = self._part(block.file)
        if not 0 < block.length <= MAX_BLOCK_SIZE:
            raise LimitError(
                f"a block of {block.length} bytes, which is not within 1 to {MAX_BLOCK_SIZE}",
                source=part.name,
                offset=block.offset,
            )
        data = _decompressed(part.read(block.offset, block.offset + block.length), part.name, block.offset)
        return [
            StoredLine(line, part.name, block.offset)
            for it in data.split(b"\n")
            if (line := it.rstrip(b"\r"))
        ]


def _decompressed(data: bytes, name: str, offset: int) -> bytes:
    decoder = zlib.decompressobj(GZIP_WINDOW)
    try:
        found = decoder.decompress(data, MAX_BLOCK_SIZE)
    except zlib.error as error:
        raise ChecksumError(f"this block is damaged, or none: {error}", source=name, offset=offset) from error
    if decoder.unconsumed_tail:
        raise LimitError(f"this block has more than {MAX_BLOCK_SIZE} bytes", source=name, offset=offset)
    if not decoder.eof:
        raise TruncatedError("the file ends inside this block", source=name, offset=offset)
    return found


def _meta(first_line: bytes) -> dict[str, object]:
    head = line_head(first_line) or b""
    try:
        found = json.loads(first_line[len(head) :])
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
