"""A record that is one small frame: the content of most records."""

from __future__ import annotations

from array import array

from seekwarc.format.seektable import SeekTable
from seekwarc.frames.reader import FrameReader
from seekwarc.frames.run import FrameRun, ReadPlan

__all__ = ["SingleFrame"]


class SingleFrame:
    """A record that is one small frame, which is always decoded, and kept, whole.

    Args:
        reader: What this file's frames share.
        offset: Offset of the frame.
        stored_size: Bytes it takes in the file.
        content_size: Bytes it holds.
    """

    __slots__ = ("_offset", "_reader", "_size", "_stored_size")
    in_one_piece = True

    def __init__(self, reader: FrameReader, offset: int, stored_size: int, content_size: int) -> None:
        self._reader = reader
        self._offset = offset
        self._stored_size = stored_size
        self._size = content_size

    @property
    def table(self) -> SeekTable:
        """The frame as a seek table has it."""
        return SeekTable(array("Q", [self._stored_size]), array("Q", [self._size]))

    def read_into(self, start: int, out: memoryview, *, verify: bool = True) -> None:  # noqa: ARG002
        """See `FrameRun.read_into`."""
        out[:] = memoryview(self._content())[start : start + len(out)]

    def peek(self, start: int, stop: int) -> bytes:
        """See `FrameRun.peek`."""
        return self._content()[start:stop]

    def _content(self) -> bytes:
        span, latest = self._reader.cache.latest
        wanted = (self._offset, self._offset + self._stored_size)
        if span == wanted and len(latest) == self._size:
            # Decoded when the record was found, and not found in the cache.
            return latest
        content = self._reader.cache.get(wanted)
        if content is not None and len(content) == self._size:
            self._reader.count(cache_hits=1)
            return content
        return FrameRun(self._reader, self._offset, self.table).frame_content(0)

    def cheap_stop(self, start: int) -> int:  # noqa: ARG002
        """See `FrameRun.cheap_stop`."""
        return self._size

    def plan(self, start: int, stop: int) -> ReadPlan:
        """See `FrameRun.plan`."""
        if stop <= start:
            return ReadPlan((), 0, 0)
        return ReadPlan(((self._offset, self._offset + self._stored_size),), self._size, 1)
