"""Where the next record begins, if a Content-Length reaches beyond the end of a file."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Final

from seekwarc.errors import FormatError
from seekwarc.format.warc import MAX_BLANK_BYTES
from seekwarc.frames.scan import Window

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seekwarc.read.archive_file import ArchiveFile

__all__ = ["LaterRecords"]

MAX_AFAR: Final = 16 << 20
"""Bytes that are fetched to find it, where each read takes its time."""
SEARCH_STEP: Final = 1 << 20
MAX_HEADER: Final = 64 << 10
"""A longer one is not looked for."""
HTTP: Final = b"HTTP/"
NEAR_BEGIN: Final = 64
"""Bytes before an archive in an archive: a mark, the size of a chunk, the beginning of a page."""
BLANK_LINE: Final = re.compile(rb"\r?\n\r?\n")
HTTP_LENGTH: Final = re.compile(rb"(?s:HTTP/.*?)\n(?i:content-length)[ \t]*:[ \t]*([0-9]{1,18})[ \t]*\r?\n")


class LaterRecords:
    """The records after one whose Content-Length reaches beyond the end of a file that is not compressed.

    Where a record that begins in the block ends just where the file does, the file is whole and the length is
    wrong. So it is where the HTTP head in the block states a body that ends before the next record, or states
    none and the block does not begin as an archive does. Otherwise the file is cut off inside that record,
    and what looks like a record in its block is part of an archive in the archive.

    The file is read once, however many such lengths it has.
    """

    def __init__(self, file: ArchiveFile) -> None:
        self._file = file
        self._size = file.source.size or 0
        self._window = Window(file.source)
        self._grammar = file.grammar
        self.is_certain = False
        self._last: int | None = None
        """Where the last record begins that ends with the file; -1 without one; None if that is not known."""

    def first_after(self, begin: int) -> int | None:
        """Return where the first record begins in the block at `begin`; None if the file is cut off.

        Then `is_certain` tells whether that was seen, or only is the rule.
        """
        self.is_certain = False
        if self._last is None:
            if not self._may_look(begin):
                return None
            if not self._is_cut():
                self._last = self._ending_with_file(begin)
            elif self._file.source.policy.is_near:
                self._last = -1
            else:
                return None
        found = next(self._beginnings(begin), None)
        if found is None or not self._file.may_mend(found[0] - begin):
            return None
        self.is_certain = True
        return found[0] if begin < self._last or self._is_outside(begin, found[0]) else None

    def _is_cut(self) -> bool:
        # A record that is whole ends with a blank line: most files that are cut off do not.
        gaps = self._grammar.gaps
        return not self._file.source.read(max(self._size - len(gaps[0]), 0), self._size).endswith(gaps)

    def _may_look(self, begin: int) -> bool:
        rest = self._size - begin
        return self._file.may_mend(rest) and not (self._file.source.policy.is_far and rest > MAX_AFAR)

    def _ending_with_file(self, begin: int) -> int:
        tail = self._file.source.read(max(self._size - MAX_BLANK_BYTES, 0), self._size)
        last_byte = self._size - len(tail) + len(tail.rstrip(b"\r\n"))
        last = -1
        for position, block, length in self._beginnings(begin):
            if last_byte <= block + length <= self._size:
                last = position
        return last

    def _is_outside(self, begin: int, position: int) -> bool:
        """Return whether the first record after `begin` is not part of the block that begins there."""
        head = self._window.take(begin, min(position - begin, MAX_HEADER))
        end = BLANK_LINE.search(head) if head.startswith(HTTP) else None
        body = begin + end.end() if end is not None else begin
        stated = HTTP_LENGTH.match(head, 0, end.end()) if end is not None else None
        if stated is None:
            return self._grammar.beginning.search(self._window.take(body, NEAR_BEGIN)) is None
        body_end = body + int(stated[1])
        is_near = body_end <= position <= body_end + MAX_BLANK_BYTES
        return is_near and not self._window.take(body_end, position - body_end).strip(b"\r\n")

    def _beginnings(self, begin: int) -> Iterator[tuple[int, int, int]]:
        """Yield offset, offset of the block and its length of what looks like a record after a blank line."""
        grammar = self._grammar
        offset = max(begin - len(grammar.gaps[0]), 0)
        while offset < self._size:
            data, index = self._window.get(offset, offset + SEARCH_STEP + MAX_HEADER)
            # Each header ends before the next one's blank line: nothing is looked at twice.
            for match in grammar.after_gap.finditer(data, index):
                position = match.end()
                if position >= index + SEARCH_STEP:
                    break
                stop = grammar.header_end(data, position)
                with contextlib.suppress(FormatError):
                    if stop >= 0:
                        header = grammar.parse(data[position:stop])
                        start = offset - index
                        yield start + position, start + stop, header.content_length
            # A blank line may lie across two steps.
            offset += SEARCH_STEP - len(grammar.gaps[0])
