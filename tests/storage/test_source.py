"""Every source answers alike, and a wrapper forwards every method of its source."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.fsspec import FileSystemSource
from seekwarc.storage.local import BytesSource, LocalFileSource, OpenedFileSource
from seekwarc.storage.plan import LOCAL, REMOTE, UNKNOWN
from seekwarc.storage.remote import RemoteSource
from seekwarc.storage.source import RangeSource, SourceWrapper, Stats
from seekwarc.storage.streams import FileObjectSource, PipeSource
from seekwarc.system import READS_AT
from tests.support.sources import DATA, Pipe, RecordingSource, RemoteFake


def opened(path: Path) -> list[RangeSource]:
    if not READS_AT:
        return []
    with path.open("rb") as file:
        return [OpenedFileSource(file)]


def sources(path: Path) -> list[RangeSource]:
    return [
        LocalFileSource(path),
        BytesSource(DATA),
        FileObjectSource(io.BytesIO(DATA)),
        *opened(path),
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
        # Fewer bytes only at the end.
        assert source.read(len(DATA) - 5, len(DATA) + 5) == DATA[-5:]
        assert source.read(len(DATA) + 1, len(DATA) + 5) == b""
        source.close()
        source.close()


def test_threads_share_a_source(path: Path) -> None:
    for source in sources(path):

        def read(number: int, source: RangeSource = source) -> bool:
            start = number * 997 % 250_000
            return source.read(start, start + 5000) == DATA[start : start + 5000]

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(read, range(200)))
        source.close()


class Least(RangeSource):
    """A source with only what is required."""

    def __init__(self, data: bytes) -> None:
        self.name = "least"
        self.size = len(data)
        self.data = data

    def read(self, start: int, stop: int) -> bytes:
        return self.data[start:stop]


class Counter(SourceWrapper):
    def __init__(self, source: RangeSource, name: str | None = None) -> None:
        super().__init__(source, name)
        self.seen: list[tuple[int, int]] = []

    def on_read(self, start: int, stop: int) -> None:
        self.seen.append((start, stop))


def test_a_source_needs_only_name_size_and_read() -> None:
    source = Least(DATA)
    out = bytearray(100)
    assert source.read_into(7, memoryview(out)) == 100
    assert out == DATA[7:107]
    assert source.read_into(len(DATA) - 10, memoryview(out)) == 10
    assert out[:10] == DATA[-10:]
    assert source.read_end(10) == (len(DATA) - 10, DATA[-10:])
    assert source.read_end(10**9) == (0, DATA)
    assert source.small_reads().read(5, 1000) == DATA[1000:1005]
    assert (source.known_size, source.identity, source.is_pipe) == (len(DATA), None, False)
    assert source.policy is UNKNOWN
    source.close()


def test_a_source_without_read_cannot_be_made() -> None:
    class Nothing(RangeSource):
        pass

    with pytest.raises(TypeError, match="read"):
        Nothing()  # type: ignore[abstract]


def test_a_wrapper_sees_every_way_to_read(path: Path) -> None:
    for source in (*sources(path), Least(DATA)):
        wrapper = Counter(source)
        out = bytearray(50)
        assert wrapper.read(0, 10) == DATA[:10]
        assert wrapper.read_into(100, memoryview(out)) == 50
        assert out == DATA[100:150]
        assert wrapper.small_reads().read(5, 1000) == DATA[1000:1005]
        assert wrapper.read_end(20) == (len(DATA) - 20, DATA[-20:])
        end = len(DATA)
        assert wrapper.seen == [(0, 10), (100, 150), (1000, 1005), (end - 20, end)]
        assert wrapper.read(end - 5, end + 5) == DATA[-5:]
        assert wrapper.seen[-1] == (end - 5, end), "what came, not what was wanted"
        wrapper.close()


def test_a_wrapper_forwards_every_method() -> None:
    own = {name for name in vars(RangeSource) if not name.startswith("_")} - {"policy"}
    assert own <= set(vars(SourceWrapper)), "a method that is only inherited changes how the source is read"


def test_a_wrapper_can_do_what_its_source_can(path: Path) -> None:
    local = LocalFileSource(path)
    remote = RemoteFake(DATA)
    pipe = PipeSource(Pipe(DATA))
    assert Counter(local).policy is LOCAL
    assert Counter(remote).policy is REMOTE
    assert (Counter(local).size, Counter(local).known_size, Counter(local).is_pipe) == (
        len(DATA),
        len(DATA),
        False,
    )
    assert (Counter(pipe).size, Counter(pipe).is_pipe) == (None, True)
    wrapper = Counter(remote, "another name")
    assert (wrapper.known_size, wrapper.identity, wrapper.is_pipe) == (None, None, False)
    assert remote.requests == [], "nothing was asked yet"
    wrapper.read_end(10)
    assert (wrapper.known_size, wrapper.identity) == (len(DATA), "fake 1")
    assert (wrapper.name, Counter(remote).name) == ("another name", "fake://object")
    local.close()


@pytest.mark.needs("module:obstore")
def test_what_lies_beside_a_file_is_found(tmp_path: Path) -> None:
    local = pytest.importorskip("fsspec.implementations.local")
    path = tmp_path / "a"
    path.write_bytes(b"archive")
    file = FileSystemSource(local.LocalFileSystem(), str(path))
    sources = [LocalFileSource(path), Fetcher(LocalFileSource(path)), file]
    assert [source.beside(".seek") for source in sources] == [None] * 3
    tmp_path.joinpath("a.seek").write_bytes(b"sidecar")
    assert [source.beside(".seek").read(0, 99) for source in sources] == [b"sidecar"] * 3
    assert RemoteSource("http://example.org/a").beside(".seek").name == "http://example.org/a.seek"
    # A signature is that of one object.
    assert RemoteSource("http://example.org/a?signature=x").beside(".seek") is None
    assert BytesSource(b"archive").beside(".seek") is None
