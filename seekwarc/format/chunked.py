"""Chunked transfer coding taken off a message body that goes by piece by piece.

Source: RFC 9112, section 7.1. WARC 1.1, clause 6.3.2, defines the payload of an HTTP response as its
entity-body, which is what chunking was put round.
"""

from __future__ import annotations

import re
from typing import Final

from seekwarc.format.zstd import Buffer

__all__ = ["ChunkedBody"]

MAX_LINE: Final = 4 << 10
"""Longest line with a chunk's size and extensions that is believed."""

_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r?\n")


class ChunkedBody:
    """Finds the data among the chunk sizes.

    Attributes:
        valid: False once something was met that no chunked body holds. What comes then is given up.
        complete: Whether the last chunk has been seen.
    """

    def __init__(self) -> None:
        self.valid = True
        self.complete = False
        self._line = b""
        self._left = 0
        """Bytes of the current chunk still to come."""
        self._after_data = False
        """Whether the line break behind a chunk's data comes next."""

    def feed(self, data: Buffer) -> list[memoryview]:
        """Take the next bytes of the body and return the parts of them that are data."""
        view = memoryview(data)
        found = []
        position = 0
        while position < len(view) and self.valid and not self.complete:
            if self._left:
                part = view[position : position + self._left]
                found.append(part)
                self._left -= len(part)
                self._after_data = not self._left
                position += len(part)
            else:
                position = self._feed_line(view, position)
        return found

    def _feed_line(self, view: memoryview, position: int) -> int:
        """Take bytes up to a line break and act on the line; return the position behind them."""
        piece = bytes(view[position : position + MAX_LINE])
        end = piece.find(b"\n") + 1
        self._line += piece[:end] if end else piece
        if not end:
            self.valid = len(self._line) <= MAX_LINE
            return position + len(piece)
        line, self._line = self._line, b""
        if self._after_data:
            self._after_data = False
            self.valid = line in (b"\r\n", b"\n")
        else:
            size = _SIZE.fullmatch(line)
            self.valid = size is not None
            self._left = int(size[1], 16) if size else 0
            # What follows the last chunk are trailer fields, which are no part of the body.
            self.complete = size is not None and not self._left
        return position + end
