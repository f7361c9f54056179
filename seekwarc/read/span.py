"""What part of a record's content an extent shows, and in which pieces."""

from __future__ import annotations

from typing import Protocol

from seekwarc.frames.run import ReadPlan
from seekwarc.read.content import Content

__all__ = ["Span", "Stretch", "read_by_filling"]


class Span(Protocol):
    """Bytes that an extent is made of; positions count from its first byte."""

    @property
    def size(self) -> int:
        """Length in bytes. Finding it may take reading."""

    @property
    def known_size(self) -> int | None:
        """Length in bytes, None where finding it would take reading."""

    def look_ahead(self, position: int, seconds: float = ...) -> bool:
        """Find out whether there are `position` bytes, for no longer than that.

        Returns:
            Whether that is known now: there are, or `known_size` tells how many there are.
        """

    @property
    def problem(self) -> str | None:
        """Why these may not be the bytes that were sent, as far as that is known."""

    @property
    def deviation(self) -> str | None:
        """What is not as the record says and harms nothing, as far as that is known."""

    def limit(self, start: int, length: int) -> int:
        """Return `length`, or less where it is known without reading that less comes."""

    def read(self, start: int, length: int, *, verify: bool = True) -> bytes:
        """Return a few bytes, `length` from `start` on; fewer only at the end."""

    def read_into(self, start: int, out: memoryview, *, verify: bool = True) -> int:
        """Fill `out` from `start` on and return how many bytes came, fewer only at the end."""

    def plan(self, start: int, stop: int) -> ReadPlan:
        """Tell what reading [start, stop) costs."""


def read_by_filling(span: Span, start: int, length: int, *, verify: bool) -> bytes:
    """Return what `read_into` fills a buffer of `length` bytes with."""
    out = bytearray(length)
    with memoryview(out) as view:
        count = span.read_into(start, view, verify=verify)
    return bytes(out) if count == length else bytes(out[:count])


class Stretch:
    """One stretch of the content, [start, stop)."""

    __slots__ = ("_content", "_start", "size")
    problem: str | None = None
    deviation: str | None = None

    def __init__(self, content: Content, start: int, stop: int) -> None:
        self._content = content
        self._start = start
        self.size = stop - start

    @property
    def known_size(self) -> int:
        """See `Span.known_size`."""
        return self.size

    def look_ahead(self, position: int, seconds: float = 0) -> bool:  # noqa: ARG002
        """See `Span.look_ahead`."""
        return True

    def limit(self, start: int, length: int) -> int:
        """See `Span.limit`."""
        return max(min(length, self.size - start), 0)

    def read(self, start: int, length: int, *, verify: bool = True) -> bytes:
        """See `Span.read`."""
        length = self.limit(start, length)
        if not self._content.in_one_piece:
            return read_by_filling(self, start, length, verify=verify)
        return self._content.peek(self._start + start, self._start + start + length)

    def read_into(self, start: int, out: memoryview, *, verify: bool = True) -> int:
        """See `Span.read_into`."""
        count = self.limit(start, len(out))
        if count:
            with out[:count] as target:
                self._content.read_into(self._start + start, target, verify=verify)
        return count

    def plan(self, start: int, stop: int) -> ReadPlan:
        """See `Span.plan`."""
        begin = min(start, self.size)
        return self._content.plan(self._start + begin, self._start + min(stop, self.size))
