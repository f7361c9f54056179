"""Many ranges with few requests, and with the errors of each alone."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.compat.fsspec import WarcFileSystem
from seekwarc.errors import SourceError
from seekwarc.storage.plan import LOCAL, REMOTE
from tests.support.processes import PATIENT
from tests.support.rangeserver import Answer, Asked, RangeServer
from tests.support.sources import RecordingSource
from tests.support.writing import noise

PAGES = 400
FILM = noise(6 << 20, seed=5)


class FarSource(RecordingSource):
    """A source of which each answer takes its time, as far as its readers know."""

    policy = REMOTE
    fails_from = 1 << 60

    def read(self, start: int, stop: int) -> bytes:
        if stop > self.fails_from:
            raise SourceError("is gone", source=self.name, offset=start)
        return super().read(start, stop)


Far = tuple[WarcFileSystem, FarSource, list[str]]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, list[str]]:
    """Return an archive of many pages around a film, and the paths of their places."""
    path = tmp_path_factory.mktemp("ranges") / "pages.warc.zst"
    places = []
    with seekwarc.open(path, "w") as out:
        for number in range(PAGES):
            if number == PAGES // 2:
                out.write_resource("http://e.org/film", FILM, "video/mp4")
            out.write_resource(f"http://e.org/{number}", page(number), "text/plain")
    with seekwarc.open(path) as archive:
        places = [f"@{it.offset}+{it.length}" for it in archive if it.type == "resource"]
    return path.read_bytes(), places


def page(number: int) -> bytes:
    return noise(2_000, seed=number)


@pytest.fixture
def far(stored: tuple[bytes, list[str]]) -> Iterator[Far]:
    source = FarSource(stored[0])
    archive = WarcFileSystem(source)
    yield archive, source, stored[1]
    archive.close()


def test_neighbours_are_fetched_together(far: Far) -> None:
    archive, source, places = far
    places = places[: PAGES // 2]
    found = archive.cat_ranges(places[::-1], 10, 20)
    assert found == [page(number)[10:20] for number in reversed(range(len(places)))]
    assert len(source.requests) <= 4
    assert source.bytes_asked < 700_000


def test_ranges_of_one_large_record_are_fetched_together(
    far: Far,
) -> None:
    archive, source, places = far
    film = places[PAGES // 2]
    starts = [3_000_000 + 50_000 * number for number in range(40)]
    found = archive.cat_ranges([film] * 40, starts, [start + 100 for start in starts])
    assert found == [FILM[start : start + 100] for start in starts]
    assert len(source.requests) <= 6
    assert source.bytes_asked < 3_000_000


def test_any_order_and_any_mixture_gives_the_same(far: Far) -> None:
    archive, _, places = far
    film = places[PAGES // 2]
    paths = [film, places[0], "http://e.org/5", film, "http://e.org/none", places[-1], film]
    found = archive.cat_ranges(paths, [0, -5, None, 6_000_000, 0, 3, 9], [None, None, 7, -1, 1, 2, 9])
    assert found[:4] == [FILM, page(0)[-5:], page(5)[:7], FILM[6_000_000:-1]]
    assert isinstance(found[4], FileNotFoundError)
    assert found[5:] == [b"", b""]


def test_a_request_that_fails_leaves_the_others(far: Far) -> None:
    archive, source, places = far
    archive.cat_file(places[0])
    source.fails_from = int(places[PAGES - 1].partition("+")[0][1:])
    found = archive.cat_ranges(places[-30:], 0, 5)
    assert found[:20] == [page(number)[:5] for number in range(PAGES - 30, PAGES - 10)]
    assert isinstance(found[-1], SourceError)


def test_a_revisit_is_read_where_its_original_is() -> None:
    files = []
    duplicates = seekwarc.Duplicates()
    for number in range(2):
        file = io.BytesIO()
        with seekwarc.open(file, "w", dedup=duplicates) as out:
            out.write_resource(f"http://e.org/other{number}", FILM[::-1], "video/mp4")
            out.write_resource("http://e.org/film", FILM, "video/mp4", date=f"2026-11-1{number}")
        files.append(FarSource(file.getvalue(), f"{number}.warc.zst"))
    archive = WarcFileSystem(files)
    assert archive.record("http://e.org/film").type == "revisit"
    paths = ["http://e.org/film", "2026/http://e.org/film", "http://e.org/other0"]
    assert archive.cat_ranges(paths, 1_000_000, 1_000_100) == [
        FILM[1_000_000:1_000_100],
        FILM[1_000_000:1_000_100],
        FILM[::-1][1_000_000:1_000_100],
    ]
    archive.close()


def test_a_local_file_is_read_as_ever(stored: tuple[bytes, list[str]], tmp_path: Path) -> None:
    path = tmp_path / "pages.warc.zst"
    path.write_bytes(stored[0])
    archive = WarcFileSystem(path)
    assert archive.cat_ranges(stored[1][:3], 0, None) == [page(0), page(1), page(2)]
    assert archive.cat_ranges([], 0, None) == []
    archive.close()


def test_lists_of_different_lengths_are_refused(far: Far) -> None:
    archive, _, places = far
    with pytest.raises(ValueError, match="2 paths, 1 starts and 2 ends"):
        archive.cat_ranges(places[:2], [0], [1, 2])
    with pytest.raises(TypeError, match="not a list"):
        archive.cat_ranges(places[0], 0, 1)


def test_batches_hold_few_megabytes() -> None:
    source = FarSource(noise(12 << 20, seed=9))
    with seekwarc.open(source) as archive:
        ranges = [(start, start + 1_000) for start in range(0, 12 << 20, 100_000)]
        counts = list(archive.in_batches(ranges))
        assert sum(counts) == len(ranges)
        assert len(counts) == 3
        assert len(source.requests) == 6
        assert list(archive.in_batches([])) == []
    source = FarSource(noise(1 << 20, seed=9))
    source.policy = LOCAL
    with seekwarc.open(source) as archive:
        assert list(archive.in_batches([(0, 5), (9, 12)])) == [2]
        assert source.requests == []


@pytest.mark.needs("module:obstore")
def test_files_are_read_at_the_same_time(stored: tuple[bytes, list[str]]) -> None:
    """The server keeps its first answers back until it was asked for each of the files."""
    data, places = stored
    waiting, lock, asked = threading.Barrier(3), threading.Lock(), set()

    def held(request: Asked, answer: Answer) -> Answer:
        with lock:
            is_first = request.target not in asked
            asked.add(request.target)
        if is_first:
            waiting.wait(PATIENT)
        return answer

    with RangeServer(data, fault=held) as server:
        names = [f"{number}.warc.zst" for number in range(3)]
        archive = WarcFileSystem([f"{server.root}/{name}" for name in names])
        paths = [f"{name}{places[number]}" for number in (5, 399) for name in names]
        assert archive.cat_ranges(paths, 0, 10) == [page(number)[:10] for number in (5, 398) for _ in names]
        archive.close()
    assert len(asked) == 3
    assert not waiting.broken


def test_a_file_that_is_missing_costs_its_own_ranges_only(
    tmp_path: Path, stored: tuple[bytes, list[str]]
) -> None:
    data, places = stored
    index = tmp_path / "all.cdxj"
    for name in ("a.warc.zst", "b.warc.zst"):
        (tmp_path / name).write_bytes(data)
    tools.index([tmp_path / "a.warc.zst", tmp_path / "b.warc.zst"], index)
    (tmp_path / "a.warc.zst").unlink()
    archive = WarcFileSystem(index=index)
    paths = [f"{name}.warc.zst{places[5]}" for name in "aba"]
    missing, found, *_ = archive.cat_ranges(paths, 0, 10)
    assert isinstance(missing, SourceError)
    assert found == page(5)[:10]
    archive.close()
