"""What can be opened as a source, and what is refused."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.check.verifying import Verifier
from seekwarc.errors import SourceError
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.opening import open_source
from seekwarc.storage.plan import REMOTE, UNKNOWN
from seekwarc.storage.source import RangeReadable, RangeSource, Stats
from tests.support.foreign import Foreign
from tests.support.sources import RecordingSource
from tests.support.writing import noise

DATA = noise(300_000, seed=11)


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


def test_a_path_that_cannot_be_opened_is_a_source_error(tmp_path: Path) -> None:
    missing = tmp_path / "missing.warc.zst"
    with pytest.raises(SourceError, match=r"missing\.warc\.zst"):
        seekwarc.open(missing)
    with pytest.raises(OSError, match="missing"):
        open_source(str(missing))
    with pytest.raises(SourceError, match="is a directory"):
        open_source(tmp_path)


@pytest.mark.parametrize("target", [5, None, ["a"], object()])
def test_other_objects_are_a_type_error(target: object) -> None:
    with pytest.raises(TypeError, match=type(target).__name__):
        open_source(target)


def test_a_source_is_taken_as_it_is() -> None:
    source = RecordingSource(DATA)
    assert open_source(source) is source
    with seekwarc.open(source):
        assert not source.closed
    assert source.closed


class Duck:
    """An object of another class with the members of a source."""

    def __init__(self, data: bytes) -> None:
        self.name = "duck"
        self.size = len(data)
        self.asked: list[tuple[int, int]] = []
        self.closed = False
        self._data = data

    def read(self, start: int, stop: int) -> bytes:
        self.asked.append((start, stop))
        return self._data[start:stop]

    def close(self) -> None:
        self.closed = True


def test_an_object_with_read_and_size_can_be_opened() -> None:
    made = Foreign().record(b"first").record(noise(50_000))
    duck = Duck(made.bytes())
    with seekwarc.open(duck) as archive:
        assert [record.block.read() for record in archive] == [put.block for put in made.records]
        assert archive.name == "duck"
    assert duck.closed
    assert tools.verify(Duck(made.bytes())).is_sound


def test_the_policy_of_such_an_object_is_kept() -> None:
    duck = Duck(DATA)
    assert open_source(duck).policy is UNKNOWN
    duck.policy = REMOTE  # type: ignore[attr-defined]
    source = open_source(duck)
    assert (source.policy, source.size, source.is_pipe) == (REMOTE, len(DATA), False)
    assert Fetcher(duck, Stats()).read(5, 10) == DATA[5:10]


def test_such_an_object_without_a_size_is_a_pipe() -> None:
    duck = Duck(DATA)
    duck.size = None  # type: ignore[assignment]
    assert open_source(duck).is_pipe


def test_progress_may_be_reported_by_such_an_object() -> None:
    made = Foreign().record(b"first").bytes()
    watched = []

    def watch(source: RangeSource, label: str) -> RangeReadable:
        watched.append(label)
        return Duck(source.read(0, len(made)))

    assert list(Verifier(made, on_progress=watch)) == []
    assert watched == ["verifying"]
