"""Bytes that can be requested by range, with their header fields, and the answers to requests for them.

The size of a body in chunked transfer coding is known only after all its chunks were read, which may take
long. So an answer begins without it wherever HTTP allows that; see `bytes_needed`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from email.utils import formatdate
from functools import lru_cache, partial
from http import HTTPStatus
from typing import Final, NamedTuple, Protocol

from seekwarc.errors import TruncatedError
from seekwarc.serve.ranges import Answer, bytes_needed, decide

__all__ = ["END", "FIRST_STEP", "MAX_STEP", "TURN", "Beginning", "Readable", "Representation"]

FIRST_STEP: Final = 256 << 10
"""Bytes that are read first: many clients need no more."""
MAX_STEP: Final = 1 << 20
"""Bytes that are read at a time later; the memory that a client takes."""
TURN: Final = 0.5
"""Seconds of one turn of finding a size, after which other requests get their turn."""
END: Final = 1 << 62
"""A position after the end of any body."""

_http_date = lru_cache(partial(formatdate, usegmt=True))


class Readable(Protocol):
    """The part of `Extent` that is needed here."""

    @property
    def known_size(self) -> int | None: ...  # noqa: D102
    @property
    def holes(self) -> Sequence[tuple[int, int]]: ...  # noqa: D102
    def look_ahead(self, position: int, seconds: float, /) -> bool: ...  # noqa: D102
    def pread(self, start: int, length: int, /) -> bytes: ...  # noqa: D102


class Beginning(NamedTuple):
    """The beginning of an answer, and what it takes to go on."""

    status: int
    fields: list[tuple[str, str]]
    """(lower-case name, value)."""
    size: int | None
    """Bytes of the body, or None if unknown."""
    first: bytes
    """The first bytes of it."""
    rest: Iterator[bytes]
    """The bytes after those, up to `MAX_STEP` at a time. It blocks, and raises where damage begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Representation:
    """Bytes that can be requested by range, and their header fields."""

    extent: Readable
    etag: str
    """A strong entity tag, quotes included."""
    modified: int | None
    """Seconds from 1970, or None if unknown."""
    headers: Sequence[tuple[str, str]]
    """Fields of the answer: (lower-case name, value)."""
    is_quick: bool = False
    """Whether the first bytes of any answer take hardly any time."""

    def begin(self, asked: Mapping[str, str], method: str) -> Beginning | None:
        """Decide the answer and read its first bytes. It blocks. None if `TURN` was not enough: ask again."""
        answer = self.answer(asked)
        if answer is None:
            return None
        size = answer.stop - answer.start if answer.stop is not None else None
        body = self._body(answer)
        if method == "HEAD":
            size, body = 0, iter(())
        # The status is sent only after the first bytes were read, so that a failure is another status.
        first = next(body, b"")
        return Beginning(int(answer.status), self.fields(answer), size, first, body)

    def answer(self, asked: Mapping[str, str]) -> Answer | None:
        """Decide how a request is answered; None as `begin`."""
        size, needed = self.extent.known_size, None
        if size is None:
            needed = bytes_needed(asked, etag=self.etag, modified=self.modified, at_once=MAX_STEP)
            # Even if no byte is needed, try to find the size: players seek only in bodies that have one.
            found = self.extent.look_ahead(needed or END, TURN)
            size = self.extent.known_size
            if size is None and needed != 0 and not found:
                return None
        answer = decide(asked, size=size, etag=self.etag, modified=self.modified, known=needed or 0)
        return self._up_to_hole(answer) if self.extent.holes else answer

    def _up_to_hole(self, answer: Answer) -> Answer:
        """Cut a range where a hole begins (RFC 9110, section 15.3.7 allows that); a whole cannot be cut."""
        if answer.status is HTTPStatus.OK:
            # Raises the error that names what is missing, before anything is sent.
            self.extent.pread(self.extent.holes[0][0], 1)
        begins = (start for start, _ in self.extent.holes if start > answer.start)
        stop = answer.stop if answer.stop is not None else END
        if answer.status is HTTPStatus.PARTIAL_CONTENT:
            return replace(answer, stop=min(stop, next(begins, stop)))
        return answer

    def fields(self, answer: Answer) -> list[tuple[str, str]]:
        """Return the fields of an answer."""
        if answer.status in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT):
            found = [*self.headers]
            if answer.stop is not None:
                found.append(("content-length", str(answer.stop - answer.start)))
        else:
            # An answer without a body has no fields that describe one.
            found = [field for field in self.headers if not field[0].startswith("content-")]
            if answer.status is not HTTPStatus.NOT_MODIFIED:
                found.append(("content-length", "0"))
        size = self.extent.known_size
        if answer.status is HTTPStatus.PARTIAL_CONTENT and answer.stop is not None:
            total = "*" if size is None else size
            found.append(("content-range", f"bytes {answer.start}-{answer.stop - 1}/{total}"))
        elif answer.status is HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            found.append(("content-range", f"bytes */{size}"))
        found.append(("etag", self.etag))
        if self.modified is not None:
            found.append(("last-modified", _http_date(self.modified)))
        return found

    def _body(self, answer: Answer) -> Iterator[bytes]:
        for position, length in self.steps(answer):
            data = self.extent.pread(position, length)
            if data:
                yield data
            if len(data) < length:
                if answer.stop is not None:
                    raise TruncatedError(f"the record ends at byte {position + len(data)} of an answer")
                return

    def steps(self, answer: Answer) -> Iterator[tuple[int, int]]:
        """Yield (start, length) of each step in which a body is read; see `_body` if its end is unknown."""
        position, step = answer.start, FIRST_STEP
        stop = END if answer.stop is None else answer.stop
        while position < stop:
            yield position, min(step, stop - position)
            position += min(step, stop - position)
            step = min(2 * step, MAX_STEP)
