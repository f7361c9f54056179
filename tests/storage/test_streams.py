"""File objects and pipes: short reads are looped, a pipe goes forward only."""

from __future__ import annotations

import io
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from seekwarc.errors import SourceError
from seekwarc.storage.opening import open_source
from seekwarc.storage.streams import PipeSource
from tests.support.processes import PATIENT
from tests.support.sources import DATA, Pipe, ShortFile


def test_short_reads_of_a_file_object_are_looped() -> None:
    source = open_source(ShortFile(DATA[:1000]))
    assert source.read(10, 510) == DATA[10:510]
    assert source.read(990, 1100) == DATA[990:1000]


def test_short_reads_of_a_pipe_are_looped() -> None:
    source = open_source(Pipe(DATA, most=777))
    assert source.size is None
    assert source.read(0, 5000) == DATA[:5000]
    assert source.read(5000, 250_000) == DATA[5000:250_000]
    assert source.read(250_000, 400_000) == DATA[250_000:]
    assert source.read(len(DATA), len(DATA) + 1) == b""


@pytest.mark.posix
def test_a_signal_between_two_pieces_of_a_pipe_is_handled() -> None:
    ours, theirs = os.pipe()
    heard = threading.Event()
    heard_in_time = []

    def write() -> None:
        time.sleep(0.2)  # Until the other thread waits for the pipe. Its wait is not interrupted by this:
        signal.raise_signal(signal.SIGALRM)
        os.write(theirs, DATA[:1000])
        heard_in_time.append(heard.wait(PATIENT))
        os.write(theirs, DATA[1000:2000])

    before = signal.signal(signal.SIGALRM, lambda *_: heard.set())
    writer = threading.Thread(target=write)
    writer.start()
    with os.fdopen(ours, "rb") as file:
        assert PipeSource(file).read(0, 2000) == DATA[:2000]
    writer.join()
    os.close(theirs)
    signal.signal(signal.SIGALRM, before)
    assert heard_in_time == [True]


def test_a_pipe_skips_bytes_that_are_not_asked_for() -> None:
    source = open_source(Pipe(DATA))
    assert source.read(200_000, 200_010) == DATA[200_000:200_010]
    assert source.read(400_000, 400_010) == b""


def test_a_pipe_goes_forward_only() -> None:
    source = open_source(Pipe(DATA))
    source.read(0, 1000)
    with pytest.raises(SourceError, match=r"offset 999: this part was read already.*store it in a file"):
        source.read(999, 1001)
    assert source.read(1000, 1010) == DATA[1000:1010]


class Failing(io.BytesIO):
    name = "failing.warc"

    def read(self, size: int | None = -1) -> bytes:
        raise OSError(5, "Input/output error")


class FailingPipe(Failing):
    def seekable(self) -> bool:
        return False


@pytest.mark.parametrize("kind", [Failing, FailingPipe])
def test_a_failing_file_object_is_named(kind: type[Failing]) -> None:
    source = open_source(kind(DATA))
    with pytest.raises(SourceError, match=r"failing\.warc.*offset 123.*Input/output error"):
        source.read(123, 456)


def test_a_file_object_that_was_closed_is_a_source_error() -> None:
    file = io.BytesIO(DATA)
    source = open_source(file)
    file.close()
    with pytest.raises(SourceError, match="offset 0"):
        source.read(0, 1)


def test_a_pipe_that_was_closed_is_a_source_error() -> None:
    pipe = Pipe(DATA)
    source = open_source(pipe)
    pipe.close()
    with pytest.raises(SourceError):
        source.read(0, 1)


class Waiting(io.BytesIO):
    """A stream in non-blocking mode, which returns None while it has nothing: that is not the end."""

    def __init__(self, *, can_seek: bool) -> None:
        super().__init__(DATA)
        self._can_seek = can_seek

    def seekable(self) -> bool:
        return self._can_seek

    def read(self, size: int | None = -1) -> bytes:
        return super().read(size) if self.tell() < 1000 else None


@pytest.mark.parametrize("can_seek", [True, False])
def test_a_stream_that_would_block_has_not_ended(can_seek: bool) -> None:
    source = open_source(Waiting(can_seek=can_seek))
    assert source.read(0, 1000) == DATA[:1000]
    with pytest.raises(SourceError, match="offset 1000"):
        source.read(1000, 2000)


def test_a_file_object_stays_the_callers(path: Path) -> None:
    with path.open("rb") as file:
        source = open_source(file)
        assert source.name == str(path)
        source.close()
        assert not file.closed
    pipe = Pipe(DATA)
    open_source(pipe).close()
    assert not pipe.closed


def test_a_pipe_that_is_not_owned_can_be_read_on() -> None:
    pipe = Pipe(DATA, most=10**6)
    source = PipeSource(pipe)
    source.read(0, 100)
    source.close()
    rest = b""
    while piece := pipe.read(100_000):
        rest += piece
    assert rest == DATA[100:]
