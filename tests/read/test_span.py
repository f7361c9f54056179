"""A stretch of the content: no byte in front of it or behind it, and what that costs."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.errors import SourceError
from seekwarc.frames.run import ReadPlan
from seekwarc.read.span import Stretch


class MemoryContent:
    """Content in memory, in frames of any size, that remembers what was asked of it.

    Args:
        data: The bytes.
        edges: Where frames begin; without any, 4 KiB are cheap, as of content without frames.
        forward: Whether it is a pipe: what was passed is gone.
    """

    def __init__(self, data: bytes, edges: tuple[int, ...] = (), *, forward: bool = False) -> None:
        self.data = data
        self.edges = sorted({*edges, len(data)}) if edges else []
        self.forward = forward
        self.position = 0
        self.reads: list[tuple[int, int]] = []
        self.peeks: list[tuple[int, int]] = []
        self._lock = threading.Lock()

    def _go(self, start: int, stop: int, reached: int) -> None:
        assert 0 <= start <= stop <= len(self.data), f"[{start}, {stop}) is not in {len(self.data)} bytes"
        with self._lock:
            if self.forward and start < self.position:
                raise SourceError(f"{start} has gone by, {self.position} is next")
            self.position = reached

    def read_into(self, start: int, out: memoryview, *, verify: bool = True) -> None:
        stop = start + len(out)
        self._go(start, stop, stop)
        self.reads.append((start, stop))
        out[:] = self.data[start:stop]

    def peek(self, start: int, stop: int) -> bytes:
        self._go(start, stop, start)
        self.peeks.append((start, stop))
        return self.data[start:stop]

    def plan(self, start: int, stop: int) -> ReadPlan:
        return ReadPlan(((start, stop),) if start < stop else (), stop - start, 1)

    def cheap_stop(self, start: int) -> int:
        return next((edge for edge in self.edges if edge > start), start + 4096)


CONTENT = bytes(range(256)) * 4


@given(st.integers(0, 1024), st.integers(0, 1024), st.integers(0, 1100), st.integers(0, 1100))
def test_a_stretch_gives_its_own_bytes_only(one: int, other: int, start: int, length: int) -> None:
    begin, end = sorted((one, other))
    content = MemoryContent(CONTENT)
    stretch = Stretch(content, begin, end)
    wanted = CONTENT[begin:end][start : start + length]
    assert stretch.size == end - begin
    assert stretch.problem is None
    assert stretch.limit(start, length) == len(wanted)
    buffer = bytearray(b"#" * length)
    assert stretch.read_into(start, memoryview(buffer)) == len(wanted)
    assert buffer == wanted + b"#" * (length - len(wanted)), "what is behind is left alone"
    # Of a stream, asking for nothing at some place would pass over all in front of it.
    assert content.reads == ([(begin + start, begin + start + len(wanted))] if wanted else [])


@given(st.integers(0, 1024), st.integers(0, 1024), st.integers(0, 1100), st.integers(0, 1100))
def test_the_plan_is_that_of_the_content(one: int, other: int, start: int, length: int) -> None:
    begin, end = sorted((one, other))
    plan = Stretch(MemoryContent(CONTENT), begin, end).plan(start, start + length)
    wanted = range(begin, end)[start : start + length]
    assert plan.ranges == (((wanted.start, wanted.stop),) if wanted else ())


@pytest.mark.parametrize("options", [{}, {"verify": True}, {"verify": False}])
def test_whether_to_verify_is_passed_on(options: dict[str, bool]) -> None:
    told = []

    class Content(MemoryContent):
        def read_into(self, start: int, out: memoryview, *, verify: bool = True) -> None:
            told.append(verify)

    Stretch(Content(CONTENT), 0, 10).read_into(0, memoryview(bytearray(5)), **options)
    assert told == [options.get("verify", True)]


def test_no_hold_is_kept_of_the_callers_buffer() -> None:
    buffer = bytearray(10)
    with memoryview(buffer) as view:
        Stretch(MemoryContent(CONTENT), 0, 100).read_into(5, view)
    buffer.append(0)
    assert bytes(buffer[:10]) == CONTENT[5:15]
