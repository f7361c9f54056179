"""Ranges of many payloads: in order, with few requests, each with its own error, and in bounded memory."""

from __future__ import annotations

import random
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

import seekwarc
from seekwarc import FormatError, RangeError, SourceError
from tests.support.chunks import chunked, random_sizes
from tests.support.processes import PATIENT
from tests.support.rangeserver import Answer, Asked, RangeServer
from tests.support.writing import noise

FILM = noise(4 << 20, seed=5)
ZEROS = 8 << 20
PAGES = 120
HTTP = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

Row = tuple[str, int, int | None, int | None, int | None]


def page(number: int) -> bytes:
    return noise(2_000, seed=number)


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gather") / "crawl.warc.zst"
    with seekwarc.open(path, "w") as out:
        for number in range(PAGES):
            out.write_resource(f"http://e.org/{number}", page(number), "text/plain")
        out.write_resource("http://e.org/film", FILM, "video/mp4")
        out.write_response(
            "http://e.org/chunked", HTTP + chunked(FILM[: 1 << 20], random_sizes(9_000, 90_000))
        )
    return path


@pytest.fixture(scope="module")
def places(crawl: Path) -> list[tuple[int, int]]:
    with seekwarc.open(crawl) as archive:
        return [(it.offset, it.length) for it in archive if it.type in ("resource", "response")]


@pytest.fixture
def server(crawl: Path) -> Iterator[RangeServer]:
    with RangeServer(crawl.read_bytes()) as server:
        yield server


def any_rows(urls: list[str], places: list[tuple[int, int]], count: int) -> tuple[list[Row], list[bytes]]:
    """Return ranges of all kinds in any order, and what they come to."""
    rng = random.Random(7)
    payloads = [*map(page, range(PAGES)), FILM, FILM[: 1 << 20]]
    rows: list[Row] = []
    expected = []
    for _ in range(count):
        number = rng.randrange(len(places)) if rng.random() < 0.7 else PAGES + rng.randrange(2)
        offset, length = places[number]
        start, stop = rng.choice([(None, None), (0, 10), (500, 3_000), (1_000_000, 1_000_500), (7, 7)])
        if number < PAGES or stop is not None:
            rows.append((rng.choice(urls), offset, rng.choice([length, None]), start, stop))
            expected.append(payloads[number][slice(start, stop)])
    return rows, expected


def test_ranges_come_in_the_order_asked_for(crawl: Path, places: list[tuple[int, int]]) -> None:
    rows, expected = any_rows([str(crawl)], places, 300)
    assert list(seekwarc.gather(rows)) == expected
    assert list(seekwarc.gather(iter(rows), max_bytes=20_000)) == expected
    assert list(seekwarc.gather(rows[:50], max_bytes=1)) == expected[:50]


def test_ranges_of_several_objects_take_few_requests(
    server: RangeServer, places: list[tuple[int, int]]
) -> None:
    urls = [f"{server.root}/{number}.warc.zst" for number in range(4)]
    rows, expected = any_rows(urls, places, 1_000)
    assert list(seekwarc.gather(rows)) == expected
    assert len(server.asked) <= 120
    assert {asked.target for asked in server.asked} == {f"/{number}.warc.zst" for number in range(4)}


def test_ranges_of_several_films_take_two_round_trips(tmp_path: Path) -> None:
    """The server keeps its answers back until all requests of a round trip are there."""
    path = tmp_path / "film.warc.zst"
    with seekwarc.open(path, "w") as out:
        out.write_resource("http://e.org/film", FILM * 2, "video/mp4")
    starts, lock = range(300_000, len(FILM) * 2, 600_000), threading.Lock()
    # Of each film the head and the table, and then the ranges.
    rounds = [threading.Barrier(count) for count in (4 * 2, 4 * len(starts))]
    left = iter([barrier for barrier in rounds for _ in range(barrier.parties)])

    def held(_: Asked, answer: Answer) -> Answer:
        with lock:
            barrier = next(left)
        barrier.wait(PATIENT)
        return answer

    with RangeServer(path.read_bytes(), fault=held) as server:
        urls = [f"{server.root}/{number}.warc.zst" for number in range(4)]
        rows = [(url, 0, len(server.content.data), start, start + 10) for start in starts for url in urls]
        assert list(seekwarc.gather(rows)) == [(FILM * 2)[start : start + 10] for *_, start, _ in rows]
    assert next(left, None) is None


def test_heads_and_tables_of_large_records_are_fetched_together(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    with seekwarc.open(path, "w") as out:
        for number in range(30):
            out.write_resource(f"http://e.org/{number}", noise(300_000, seed=number), "video/mp4")
    with seekwarc.open(path) as archive:
        places = [(it.offset, it.length) for it in archive if it.type == "resource"]
    with RangeServer(path.read_bytes()) as server:
        rows = [(server.url, *place, 200_000, 200_100) for place in places]
        expected = [noise(300_000, seed=number)[200_000:200_100] for number in range(30)]
        assert list(seekwarc.gather(rows)) == expected
        assert len(server.asked) < 30


def test_each_range_has_its_own_error(crawl: Path, places: list[tuple[int, int]], tmp_path: Path) -> None:
    offset, length = places[3]
    damaged = tmp_path / "damaged.warc.zst"
    data = bytearray(crawl.read_bytes())
    data[offset + length // 2] ^= 0x55
    damaged.write_bytes(data)
    rows = [
        (str(crawl), offset, length, 0, 5),
        (str(tmp_path / "missing.warc.zst"), 0, None, 0, 5),
        (str(damaged), offset, length, 0, 5),
        (str(damaged), *places[4], 0, 5),
        (str(crawl), offset + 1, length, 0, 5),
        (str(crawl), 1 << 50, length, 0, 5),
    ]
    found = list(seekwarc.gather(rows))
    assert found[0] == page(3)[:5]
    assert isinstance(found[1], SourceError)
    assert isinstance(found[2], FormatError)
    assert found[3] == page(4)[:5]
    assert isinstance(found[4], FormatError)
    assert isinstance(found[5], FormatError)
    gathered = seekwarc.gather(rows, on_error="raise")
    assert next(gathered) == page(3)[:5]
    with pytest.raises(SourceError, match="missing"):
        next(gathered)


def test_tables_name_ranges_as_well(crawl: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    columns = ["filename", "offset", "length", "payload_size", "type"]
    table = pyarrow.table(seekwarc.batches(str(crawl), columns, type="resource"))
    found = list(seekwarc.gather(table))
    assert found == [*map(page, range(PAGES)), FILM]
    stops = pyarrow.array([4] * table.num_rows)
    assert list(seekwarc.gather(table.append_column("stop", stops))) == [it[:4] for it in found]
    assert list(seekwarc.gather(table.to_pylist()[:3])) == found[:3]


def test_payloads_larger_than_they_look_are_read_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "zeros.warc.zst"
    with seekwarc.open(path, "w") as out:
        for number in range(6):
            out.write_resource(f"http://e.org/{number}", bytes(ZEROS), "text/plain")
    with seekwarc.open(path) as archive:
        places = [(it.offset, it.length) for it in archive if it.type == "resource"]
    tracemalloc.start()
    try:
        for data in seekwarc.gather(((path, *place) for place in places), max_bytes=ZEROS * 3):
            assert isinstance(data, bytes)
            assert len(data) == ZEROS
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < ZEROS * 5


def test_an_abandoned_gathering_closes_its_files(crawl: Path, places: list[tuple[int, int]]) -> None:
    gathered = seekwarc.gather((crawl, *places[number % 5]) for number in range(17_000))
    assert next(gathered) == page(0)
    gathered.close()
    assert next(gathered, None) is None


@pytest.mark.parametrize(
    "row",
    [
        (),
        ("a",),
        ("a", 1, 2, 3, 4, 5),
        (5, 5),
        ("a", None),
        ("a", -1),
        ("a", "x"),
        ("a", 1, 0),
        ("a", 1, 1, 5, 4),
        ("a", 1.5),
        {"offset": 1},
        {"filename": "a"},
    ],
    ids=str,
)
def test_what_is_no_range_is_refused(row: object) -> None:
    with pytest.raises(RangeError, match=r"row|offset"):
        list(seekwarc.gather([row]))


@pytest.mark.parametrize("options", [{"on_error": "row"}, {"max_bytes": 0}])
def test_wrong_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"on_error|max_bytes"):
        seekwarc.gather([], **options)
