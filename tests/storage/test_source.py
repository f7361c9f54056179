"""Sources of stored bytes: whole answers, typed errors, pipes that go forward only."""

from __future__ import annotations

import io
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import seekwarc
from seekwarc.errors import SourceError
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.source import (
    BytesSource,
    FileObjectSource,
    LocalFileSource,
    PipeSource,
    RangeSource,
    Stats,
    open_source,
)
from seekwarc.system import read_at
from tests.support.foreign import Foreign, noise
from tests.support.sources import Pipe, RecordingSource, ShortFile

DATA = noise(300_000, seed=11)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "some.warc.zst"
    file.write_bytes(DATA)
    return file


def sources(path: Path) -> list[RangeSource]:
    return [
        LocalFileSource(path),
        BytesSource(DATA),
        FileObjectSource(io.BytesIO(DATA)),
        Fetcher(BytesSource(DATA), Stats()),
        RecordingSource(DATA),
    ]


def test_every_source_answers_alike(path: Path) -> None:
    for source in sources(path):
        assert isinstance(source, RangeSource)
        assert source.size == len(DATA)
        assert source.name
        for start, stop in ((0, 10), (5, 5), (100_000, 250_000), (0, len(DATA))):
            assert source.read(start, stop) == DATA[start:stop]
        # Less only where the source ends.
        assert source.read(len(DATA) - 5, len(DATA) + 5) == DATA[-5:]
        assert source.read(len(DATA) + 1, len(DATA) + 5) == b""
        source.close()
        source.close()


def test_short_reads_of_a_file_are_looped(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def short(descriptor: int, size: int, offset: int) -> bytes:
        calls.append(size)
        return read_at(descriptor, min(size, 1000), offset)

    source = LocalFileSource(path)
    monkeypatch.setattr("seekwarc.storage.source.read_at", short)
    assert source.read(10, 5010) == DATA[10:5010]
    assert len(calls) == 5
    assert source.read(len(DATA) - 1500, len(DATA) + 1500) == DATA[-1500:]
    source.close()


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
def test_a_signal_between_two_pieces_of_a_pipe_is_heard() -> None:
    ours, theirs = os.pipe()
    heard = threading.Event()
    heard_in_time = []

    def write() -> None:
        time.sleep(0.2)  # Until the other thread waits for the pipe. Its wait is not interrupted by this:
        signal.raise_signal(signal.SIGALRM)
        os.write(theirs, DATA[:1000])
        heard_in_time.append(heard.wait(5))
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


def test_a_pipe_skips_what_nobody_asks_for() -> None:
    source = open_source(Pipe(DATA))
    assert source.read(200_000, 200_010) == DATA[200_000:200_010]
    assert source.read(400_000, 400_010) == b""


def test_a_pipe_goes_forward_only() -> None:
    source = open_source(Pipe(DATA))
    source.read(0, 1000)
    with pytest.raises(SourceError, match=r"offset 999: was passed already.*store it in a file"):
        source.read(999, 1001)
    assert source.read(1000, 1010) == DATA[1000:1010]


def test_a_named_pipe_is_read_as_a_pipe(tmp_path: Path) -> None:
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    made = Foreign().record(b"first").record(noise(50_000))
    writer = threading.Thread(target=fifo.write_bytes, args=(made.bytes(),))
    writer.start()
    with seekwarc.open(fifo) as archive:
        assert archive.size is None
        assert [record.block.read() for record in archive] == [put.block for put in made.records]
        with pytest.raises(SourceError, match="once only"):
            list(archive)
    writer.join()


# Errors.


def test_what_cannot_be_opened_is_a_source_error(tmp_path: Path) -> None:
    missing = tmp_path / "missing.warc.zst"
    with pytest.raises(SourceError, match=r"missing\.warc\.zst"):
        seekwarc.open(missing)
    with pytest.raises(OSError, match="missing"):
        open_source(str(missing))
    with pytest.raises(SourceError, match="is a directory"):
        open_source(tmp_path)


@pytest.mark.parametrize("target", [5, None, ["a"], object()])
def test_what_is_no_source_is_a_type_error(target: object) -> None:
    with pytest.raises(TypeError, match=type(target).__name__):
        open_source(target)


def test_reading_a_closed_archive_names_it(path: Path) -> None:
    source = LocalFileSource(path)
    source.close()
    with pytest.raises(SourceError, match=r"some\.warc\.zst.*closed"):
        source.read(0, 1)


def test_a_failing_read_names_file_and_offset(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bytes:
        raise OSError(5, "Input/output error")

    source = LocalFileSource(path)
    monkeypatch.setattr("seekwarc.storage.source.read_at", fail)
    with pytest.raises(SourceError, match=r"some\.warc\.zst.*offset 123.*Input/output error"):
        source.read(123, 456)
    source.close()


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
    """What a stream that does not block answers while there is nothing: None, which is not the end."""

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


# Whose it is.


def test_a_file_object_stays_the_callers(path: Path) -> None:
    with path.open("rb") as file:
        source = open_source(file)
        assert source.name == str(path)
        source.close()
        assert not file.closed
    pipe = Pipe(DATA)
    open_source(pipe).close()
    assert not pipe.closed


def test_a_source_is_taken_as_it_is() -> None:
    source = RecordingSource(DATA)
    assert open_source(source) is source
    with seekwarc.open(source):
        assert not source.closed
    assert source.closed


def test_threads_share_a_source(path: Path) -> None:
    for source in sources(path):

        def read(number: int, source: RangeSource = source) -> bool:
            start = number * 997 % 250_000
            return source.read(start, start + 5000) == DATA[start : start + 5000]

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(read, range(200)))
        source.close()


def test_a_pipe_that_is_not_owned_can_be_read_on() -> None:
    pipe = Pipe(DATA, most=10**6)
    source = PipeSource(pipe)
    source.read(0, 100)
    source.close()
    rest = b""
    while piece := pipe.read(100_000):
        rest += piece
    assert rest == DATA[100:]


@pytest.mark.parametrize(
    ("start", "size"), [(0, 10), (5, 0), (len(DATA) - 7, 20), (len(DATA), 5), (10**18, 5), (3, 200_000)]
)
def test_a_local_file_fills_the_callers_buffer(start: int, size: int, tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(DATA)
    source = LocalFileSource(path)
    out = bytearray(b"?" * size)
    count = source.read_into(start, memoryview(out))
    assert out == DATA[start : start + size].ljust(size, b"?")
    assert count == len(DATA[start : start + size])
    source.close()
    with pytest.raises(SourceError, match="closed"):
        source.read_into(0, memoryview(out))
