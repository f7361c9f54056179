"""The example crawl, and the cost of range reads in it."""

from __future__ import annotations

import pytest
import zstandard

import seekwarc
from seekwarc.make.converting import convert
from seekwarc.make.example import FILM, make_example, measure


@pytest.mark.parametrize("size", [0, 1, 100_000, 3 << 20])
def test_the_example_is_fifty_pages_and_a_film(tmp_path, size) -> None:
    path = tmp_path / "example.warc.zst"
    offset = make_example(path, size)
    with seekwarc.open(path) as archive:
        records = list(archive)
        assert [record.type for record in records] == ["warcinfo"] + ["response"] * 51
        film = archive.record_at(offset)
        assert film.target_uri == FILM == records[-1].target_uri
        assert film.payload.size == size
        assert film.http.status == 200
        assert records[1].payload.read().startswith(b"<!doctype html>")


def test_the_film_is_reproducible_and_hardly_compresses(tmp_path) -> None:
    films = []
    for name in "ab":
        offset = make_example(tmp_path / name, 2 << 20)
        with seekwarc.open(tmp_path / name) as archive:
            films.append(archive.record_at(offset).payload.read())
    assert films[0] == films[1]
    assert 0.95 < len(zstandard.compress(films[0])) / len(films[0]) < 1.001


def test_only_the_range_read_is_measured(tmp_path) -> None:
    path, gzipped = tmp_path / "a.warc.zst", tmp_path / "a.warc.gz"
    offset = make_example(path, 4 << 20)
    convert(path, gzipped, "gz")
    cost = measure(path, 3 << 20, 65536, lambda _: offset)
    slow = measure(gzipped, 3 << 20, 65536, lambda archive: list(archive)[-1].offset)
    assert cost.data == slow.data
    assert len(cost.data) == 65536
    assert cost.stats.bytes_decoded < 1 << 20 < slow.stats.bytes_decoded
    assert cost.seconds > 0
