"""ZipNum clusters: sorted lines in gzip blocks, and an index of the first line of each block.

Two forms of that index are in use. Tools of the Internet Archive, pywb and Common Crawl write
`key date <tab> file <tab> offset <tab> length <tab> number`. cdxj-indexer, and so WACZ, has a first line
`!meta 0 {"format": "cdxj-gzip-1.0", "filename": ...}` and then `key date {"offset": ..., "length": ...}`.
Of the tools in JavaScript some leave out the first line (ArchiveWeb.page) or the dates (js-wacz), name the
second line of a block (Browsertrix), or begin a block with the last line of the one before it (js-wacz). So
what is listed says about where lines are: the blocks before and after are looked into as well.
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
from seekwarc.format.cdxj import CdxjLine
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


class _Listed(StoredLine):
    """A line of the index of a cluster, which may have no date."""

    __slots__ = ()

    @property
    @override
    def head(self) -> bytes:
        key, _, rest = self.data.partition(b" ")
        return key if rest.startswith(b"{") else super().head


def is_cluster(first_line: bytes) -> bool:
    """Return whether a file with that first line is the index of a cluster, of a known format."""
    if first_line.startswith(META):
        name = _meta(first_line).get("format")
        if isinstance(name, str) and name.startswith("cdxj-gzip") and name != FORMAT:
            raise UnsupportedError(f"the cluster has the unknown format {name}; {FORMAT} is supported")
        return name == FORMAT
    return _TABBED.match(first_line) is not None or _is_listing(_meta(first_line))


def _is_listing(fields: dict[str, object]) -> bool:
    """Tell whether these are the fields of a block, not of a capture."""
    return "url" not in fields and re.search(r"\.cdxj?\.gz\Z", str(fields.get("filename", ""))) is not None


class ZipNumCluster(SortedLines):
    """The lines of a cluster.

    Attributes:
        is_tabbed: Whether its index is of the first form, which lists just the first line of each block.
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
        self._index = StoredLines(index, _Listed)
        self.is_tabbed = _TABBED.match(first_line) is not None
        self._file = str(_meta(first_line).get("filename", "")) if first_line.startswith(META) else ""
        self._part = lru_cache(None)(open_part)
        self._block_lines = lru_cache(MAX_BLOCKS)(self._read_block)

    @override
    def ascending(self, wanted: bytes) -> Iterator[StoredLine]:
        return _once(in_order(self._forward(wanted)))

    @override
    def descending(self, wanted: bytes) -> Iterator[StoredLine]:
        return _once(self._backward(wanted))

    def _backward(self, wanted: bytes) -> Iterator[StoredLine]:
        after = next(self._index.ascending(wanted), None) if not self.is_tabbed else None
        first = [after] if after is not None else []
        for entry in chain(first, self._index.descending(wanted)):
            if not entry.data.startswith(META):
                yield from self._lines(entry, lambda lines: lines.descending(wanted))

    def _forward(self, wanted: bytes) -> Iterator[StoredLine]:
        # The index lists the first line of each block, so the wanted lines may begin in the block before.
        key = wanted.partition(b" ")[0]
        before = next(self._index.descending(wanted), None)
        if before is not None and before.head == key:
            # It has no date: the lines of this key may begin in any block before it.
            before = next(self._index.descending(key), None)
            wanted_blocks = self._index.ascending(key)
        else:
            wanted_blocks = self._index.ascending(wanted)
        first = [before] if before is not None else []
        for entry in chain(first, wanted_blocks):
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
            fields = {name: str(value) for name, value in _meta(entry.data).items()}
            line = CdxjLine("", "", fields)
            return _Block(fields.get("filename", self._file), line.offset, line.length or 0)
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


def _once(lines: Iterator[StoredLine]) -> Iterator[StoredLine]:
    """Yield lines, but one that two blocks have only once."""
    last = b""
    for line in lines:
        if line.data != last:
            yield line
        last = line.data


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
    try:
        found = json.loads(first_line[max(first_line.find(b"{"), 0) :])
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
