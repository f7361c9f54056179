"""Whatever is asked for a capture by its date gives the same one, also of several of the same second."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import seekwarc
from seekwarc.cli import main
from seekwarc.format.dates import date_of_digits
from seekwarc.serve.indexed import IndexedCaptures
from seekwarc.serve.library import Library
from seekwarc.serve.replay_lookup import Asked, Captures
from tests.support.look_ups import make_indexes, named, record, served
from tests.support.verbs import run

URI = "http://example.org/page"
Way = Callable[[str | None], bytes]

DATES = {
    "same": ["00Z", "00Z", "00Z", "00Z"],
    "fractions": ["00Z", "00.25Z", "00.5Z", "00.999Z"],
    "around": ["04Z", "00Z", "02Z", "02Z"],
}
WANTED = {
    "same": {None: 3, "20251231": 0, "20260101000000": 0, "20260101000001": 3, "2027": 3},
    "fractions": {None: 3, "20251231": 0, "20260101000000": 0, "20260101000001": 3, "2027": 3},
    "around": {None: 0, "20260101000001": 2, "20260101000003": 0, "20260101000002": 2, "2027": 0},
}
"""The record that is meant by a date: of two that are equally near the later, else as they are stored."""


@pytest.fixture(params=sorted(DATES))
def crawl(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[dict[str, Path], dict[str | None, int]]:
    files = named(tmp_path)
    made = [
        # The larger a payload, the smaller its number; so digests and lengths have another order.
        record(URI, f"2026-01-01T00:00:{date}", b"%d" % number + b"x" * (40 - 9 * number))
        for number, date in enumerate(DATES[request.param])
    ]
    files["warc.gz"].write_bytes(b"".join(gzip.compress(it, 1) for it in made))
    make_indexes(files)
    files["idx"] = tmp_path / "crawl.idx"
    assert main(["index", str(files["warc.gz"]), "-o", str(files["idx"])]) == 0
    return files, WANTED[request.param]


def ways(files: dict[str, Path], opened: ExitStack) -> Iterator[tuple[str, Way]]:
    """Yield ways to ask for the capture nearest to a date, or the latest."""
    for name in ("warc.gz", "wacz"):
        kind = seekwarc.Wacz if name == "wacz" else seekwarc.Collection
        collection = opened.enter_context(kind(files[name]))
        yield (
            f"collection of {name}",
            lambda it, collection=collection: collection.open_record(uri=URI, date=it).payload.read(),
        )
    for name in ("cdxj", "idx", "parquet", "wacz"):
        index = opened.enter_context(seekwarc.Index(files[name]))
        yield f"index {name}", lambda it, index=index: index.latest(URI, it).open().payload.read()
        captures = IndexedCaptures(index)
        yield f"server of index {name}", lambda it, find=captures: served(find(URI, dated(it)))
    for name in ("warc.gz", "cdxj"):
        library = opened.enter_context(Library([str(files[name])]))
        library.read()
        yield f"server of {name}", lambda it, find=library.capture: served(find(URI, dated(it)))
        find = Captures(library).find
        yield f"replay of {name}", lambda it, find=find: served(find(Asked(URI, dated(it))))


def dated(digits: str | None) -> seekwarc.WarcDate | None:
    return date_of_digits(digits) if digits is not None else None


def test_a_date_means_the_same_capture(crawl: tuple[dict[str, Path], dict[str | None, int]]) -> None:
    files, wanted = crawl
    with ExitStack() as opened:
        for name, way in ways(files, opened):
            assert {it: int(way(it)[:1]) for it in wanted} == wanted, name


@pytest.mark.needs("module:fsspec")
def test_the_file_system_and_the_command_mean_it_too(
    crawl: tuple[dict[str, Path], dict[str | None, int]],
) -> None:
    files, wanted = crawl
    for given in ({"fo": str(files["warc.gz"])}, {"index": str(files["cdxj"])}):
        system = pytest.importorskip("fsspec").filesystem("warc", **given)
        for date, number in wanted.items():
            assert system.cat_file(f"{date}/{URI}" if date else URI)[:1] == b"%d" % number, (given, date)
        (listed,) = system.ls("http://example.org")
        assert system.info(f"@{listed['offset']}" if "fo" in given else URI)["offset"] == listed["offset"]
        assert system.cat_file(URI) == system.cat_file(f"2027/{URI}")
        system.close()
    for words in ([files["warc.gz"]], ["--index", files["idx"]], [files["wacz"]]):
        assert run([str(it) for it in ("cat", *words, "--uri", URI)]).out[:1] == str(wanted[None]), words
