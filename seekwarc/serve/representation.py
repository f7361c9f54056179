"""Bytes that can be requested by range, with their header fields, and the answers to requests for them.

The size of a body in chunked transfer coding is known only after all its chunks were read, which may take
long. So an answer begins without it wherever HTTP allows that; see `bytes_needed`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from seekwarc.serve.ranges import Answer, bytes_needed, decide, format_http_date

__all__ = ["END", "FIRST_STEP", "MAX_STEP", "TURN", "Representation"]

FIRST_STEP: Final = 256 << 10
"""Bytes that are read first: many clients need no more."""
MAX_STEP: Final = 1 << 20
"""Bytes that are read at a time later; the memory that a client takes."""
TURN: Final = 0.5
"""Seconds of one turn of finding a size, after which other requests get their turn."""
END: Final = 1 << 62
"""A position after the end of any body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Representation:
    """Bytes that can be requested by range, and their header fields.

    representation = ServedRecord(record).representation("payload")
    while (answer := representation.answer({"range": "bytes=0-99"})) is None:
        pass
    fields, body = dict(representation.fields(answer)), representation.read(answer.start, 100)
    """

    known_size: Callable[[], int | None]
    """See `Extent.known_size`."""
    etag: str
    """A strong entity tag, quotes included."""
    modified: int | None
    """Seconds from 1970, or None if unknown."""
    headers: Sequence[tuple[str, str]]
    """Fields of the answer: (lower-case name, value)."""
    read: Callable[[int, int], bytes]
    """Returns `length` bytes from `start` on, fewer at the end. It blocks."""
    look_ahead: Callable[[int, float], bool]
    """See `Extent.look_ahead`. It blocks."""

    def answer(self, asked: Mapping[str, str]) -> Answer | None:
        """Decide how a GET or HEAD request is answered. It blocks, for about `TURN`.

        Returns:
            None if that depends on bytes that have not been reached yet: ask again.

        Raises:
            FormatError: The record is damaged.
            SourceError: The stored bytes are unavailable.
        """
        needed = bytes_needed(asked, etag=self.etag, modified=self.modified, at_once=MAX_STEP)
        # Even if no byte is needed, try to find the size: players seek only in bodies that have one.
        found = self.look_ahead(needed or END, TURN)
        size = self.known_size()
        if size is None and needed != 0 and not found:
            return None
        return decide(asked, size=size, etag=self.etag, modified=self.modified, known=needed or 0)

    def fields(self, answer: Answer) -> Iterator[tuple[str, str]]:
        """Yield the fields of an answer: (lower-case name, value)."""
        if answer.status in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT):
            yield from self.headers
            if answer.stop is not None:
                yield "content-length", str(answer.stop - answer.start)
        else:
            # An answer without a body has no fields that describe one.
            yield from (field for field in self.headers if not field[0].startswith("content-"))
            if answer.status is not HTTPStatus.NOT_MODIFIED:
                yield "content-length", "0"
        size = self.known_size()
        if answer.status is HTTPStatus.PARTIAL_CONTENT and answer.stop is not None:
            yield "content-range", f"bytes {answer.start}-{answer.stop - 1}/{'*' if size is None else size}"
        elif answer.status is HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            yield "content-range", f"bytes */{size}"
        yield "etag", self.etag
        if self.modified is not None:
            yield "last-modified", format_http_date(self.modified)

    def steps(self, answer: Answer) -> Iterator[tuple[int, int]]:
        """Yield (start, length) of each step in which a body is read.

        If the end is unknown there is always another step: the body ends with the first short read.
        """
        position, step = answer.start, FIRST_STEP
        stop = END if answer.stop is None else answer.stop
        while position < stop:
            yield position, min(step, stop - position)
            position += min(step, stop - position)
            step = min(2 * step, MAX_STEP)
