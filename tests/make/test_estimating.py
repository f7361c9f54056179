"""What a sample says of files that are too large to be tried."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import seekwarc
from seekwarc.make import estimating
from seekwarc.make.converting import convert
from seekwarc.make.estimating import Conversion, Estimate, estimate
from tests.support.writing import noise, text

PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
FILM = b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n"
NEAR = 0.15
"""How far off the truth a range may be."""


class Clock:
    """Goes on by a step whenever it is looked at; the first steps, of the calibration, are short."""

    def __init__(self) -> None:
        self.now, self.looks = 0.0, 0

    def __call__(self) -> float:
        self.looks += 1
        self.now += 0.0001 if self.looks < 10 else 0.01
        return self.now


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure small files as large ones are."""
    for name, value in {
        "MIN_SIZE": 1 << 20,
        "WINDOW": 4 << 10,
        "STEP_BACK": 32 << 10,
        "MAX_SECONDS": 2.9,
    }.items():
        monkeypatch.setattr(estimating, name, value)


def pages(out: seekwarc.Writer, rnd: random.Random, count: int) -> None:
    for _ in range(count):
        seed = rnd.randrange(1 << 30)
        body = text(rnd.randrange(300, 20_000), seed=seed % 50) + noise(rnd.randrange(200, 3000), seed=seed)
        out.write_response(f"http://example.org/{seed}", PAGE + body)


def film(out: seekwarc.Writer, rnd: random.Random) -> None:
    out.write_response(f"http://example.org/{rnd.random()}", FILM + noise(rnd.randrange(200_000, 900_000)))


def crawl_of_pages(out: seekwarc.Writer, rnd: random.Random) -> None:
    pages(out, rnd, 900)


def crawl_of_films(out: seekwarc.Writer, rnd: random.Random) -> None:
    for _ in range(6):
        film(out, rnd)


def mixed_crawl(out: seekwarc.Writer, rnd: random.Random) -> None:
    for _ in range(4):
        pages(out, rnd, 150)
        film(out, rnd)


def one_film_among_pages(out: seekwarc.Writer, rnd: random.Random) -> None:
    pages(out, rnd, 600)
    out.write_response("http://example.org/film", FILM + noise(2_500_000))
    pages(out, rnd, 100)


CRAWLS = (crawl_of_pages, crawl_of_films, mixed_crawl, one_film_among_pages)


@cache
def stored(crawl: Callable[[seekwarc.Writer, random.Random], None], name: str) -> bytes:
    out = io.BytesIO()
    compression = {"gz": "gz", "zst": "zst"}.get(name.rpartition(".")[2], "none")
    with seekwarc.open(out, "w", compression=compression) as writer:
        crawl(writer, random.Random(name))
    return out.getvalue()


def made(folder: Path, crawl: Callable[[seekwarc.Writer, random.Random], None], name: str) -> Path:
    path = folder / name
    path.write_bytes(stored(crawl, name))
    return path


def estimated(
    *paths: Path, compression: str = "zst", clock: Clock | None = None, **options: object
) -> Estimate | None:
    given = {"processes": 1, "limits": {}, "clock": clock or Clock()}
    given |= {name: options.pop(name) for name in ("processes", "limits") if name in options}
    work = Conversion(compression, options.pop("verify", True), given["limits"], options)
    return estimate([(str(it), it.stat().st_size) for it in paths], work, **given)


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("crawl", "name", "to"),
    [
        (mixed_crawl, "a.warc.gz", "zst"),
        pytest.param(crawl_of_pages, "a.warc.gz", "zst", marks=SLOW),
        pytest.param(crawl_of_films, "a.warc.gz", "zst", marks=SLOW),
        pytest.param(one_film_among_pages, "a.warc.gz", "zst", marks=SLOW),
        pytest.param(mixed_crawl, "a.warc", "zst", marks=SLOW),
        pytest.param(crawl_of_pages, "a.warc.zst", "gz", marks=SLOW),
    ],
)
def test_the_size_of_all_is_in_the_range_or_near_it(tmp_path: Path, crawl, name: str, to: str) -> None:
    path = made(tmp_path, crawl, name)
    truth = convert(path, tmp_path / f"new.{to}", to).target_size
    found = estimated(path, compression=to)
    assert found is not None
    least, most = found.target_size
    assert least * (1 - NEAR) <= truth <= most * (1 + NEAR)
    assert most < least * 2
    assert found.source_size == path.stat().st_size


@SLOW
def test_files_count_by_their_bytes(tmp_path: Path) -> None:
    paths = [made(tmp_path, crawl, f"{number}.warc.gz") for number, crawl in enumerate(CRAWLS)]
    sizes = [convert(it, tmp_path / f"{it.name}.warc", "none").target_size for it in paths]
    found = estimated(*paths, compression="none")
    assert found is not None
    assert found.target_size[0] * (1 - NEAR) <= sum(sizes) <= found.target_size[1] * (1 + NEAR)


@SLOW
def test_a_dictionary_is_counted_once_and_not_in_each_piece(tmp_path: Path) -> None:
    path = made(tmp_path, crawl_of_pages, "a.warc.gz")
    dictionary = seekwarc.tools.train([path]).dictionary
    truth = convert(path, tmp_path / "new.warc.zst", dictionary=dictionary).target_size
    found = estimated(path, dictionary=dictionary)
    assert found is not None
    assert found.target_size[0] * (1 - NEAR) <= truth <= found.target_size[1] * (1 + NEAR)


@SLOW
def test_more_processes_share_the_time(tmp_path: Path) -> None:
    path = made(tmp_path, mixed_crawl, "a.warc.gz")
    alone, shared = estimated(path), estimated(path, processes=2)
    assert alone is not None
    assert shared is not None
    assert shared.target_size == alone.target_size
    assert shared.seconds == pytest.approx([it / 2 for it in alone.seconds])


def test_it_ends_when_its_time_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimating, "MAX_SECONDS", 0.5)
    found = estimated(made(tmp_path, mixed_crawl, "a.warc.gz"))
    assert found is not None
    assert 2 <= found.samples < 30


def test_what_takes_no_longer_than_a_sample_is_not_sampled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = made(tmp_path, mixed_crawl, "a.warc.gz")
    monkeypatch.setattr(estimating, "MAX_SECONDS", 1000.0)
    clock = Clock()
    assert estimated(path, clock=clock) is None
    assert clock.looks < 40
    monkeypatch.setattr(estimating, "MIN_SIZE", 1 << 30)
    clock = Clock()
    assert estimated(path, clock=clock) is None
    assert clock.looks == 0


def test_damage_is_passed_over(tmp_path: Path) -> None:
    path = made(tmp_path, mixed_crawl, "a.warc.gz")
    data = bytearray(path.read_bytes())
    for place in range(0, len(data), len(data) // 20):
        data[place : place + 2000] = bytes(len(data[place : place + 2000]))
    path.write_bytes(data)
    found = estimated(path)
    assert found is None or found.samples >= 2
    path.write_bytes(random.Random(1).randbytes(2 << 20))
    assert estimated(path) is None
