"""Iterating far away over records that a sidecar lists: they are passed, and the records are the same."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import pytest

import seekwarc
from seekwarc.collection.entry import judged
from seekwarc.format.sidecar import SidecarRecord
from seekwarc.read.reader import WholeReader
from seekwarc.storage.local import BytesSource
from seekwarc.storage.source import RangeSource
from tests.support.foreign import CRLF2, warc_header
from tests.support.sidecars import Member, gzip_member, member, sidecar_of
from tests.support.sources import RemoteFake
from tests.support.writing import noise

SPACING = 256 << 10
FILM = (1 << 20) + 1000


class Far(RemoteFake):
    """An archive with a sidecar beside it."""

    def __init__(self, data: bytes, sidecar: bytes | None = None) -> None:
        super().__init__(data)
        self._sidecar = sidecar

    def beside(self, suffix: str) -> RangeSource | None:
        return BytesSource(self._sidecar, self.name + suffix) if self._sidecar is not None else None

    @property
    def bytes_sent(self) -> int:
        return sum(max(min(stop, self.size) - start, 0) for start, stop in self.requests)


class Crawl(NamedTuple):
    data: bytes
    films: list[SidecarRecord]

    @property
    def sidecar(self) -> bytes:
        return sidecar_of(self.data, self.films)


def crawl(kinds: list[tuple[str, int]], seed: int = 1) -> Crawl:
    """Make an archive of films, which are listed, and other records; the last of their numbers is a size."""
    data, films = b"", list[SidecarRecord]()
    for number, (kind, size) in enumerate(kinds):
        block = noise(size, seed=seed + number) if kind != "text" else b"words " * (size // 6)
        pieces = [warc_header(len(block), number), block, CRLF2]
        stored = gzip_member(pieces)
        if kind == "film":
            one: Member = member(len(data), stored, b"".join(pieces))
            films.append(one.record(SPACING))
        data += stored + (gzip_member([b""]) if kind == "gap" else b"")
    return Crawl(data, films)


@cache
def films() -> Crawl:
    return crawl([("page", 500), ("page", 3000)] + [("film", FILM), ("page", 3000), ("page", 200)] * 12)


def listed(source: RangeSource, **options: Any) -> list[tuple[int, int, bytes]]:
    with seekwarc.Reader(source, **options) as archive:
        return [(it.offset, it.length, it.header.raw) for it, _ in judged(archive, bool)]


def test_films_are_passed_for_one_request_each() -> None:
    source = Far(films().data, films().sidecar)
    assert listed(source) == listed(BytesSource(films().data, "a.warc.gz"))
    assert len(source.requests) <= 12 + 5
    assert source.bytes_sent <= 2_000_000


def test_their_payloads_are_read_by_range_after_they_were_passed() -> None:
    source = Far(films().data, films().sidecar)
    with seekwarc.Reader(source) as archive:
        records = list(archive)
        source.forget()
        for record in random.Random(1).sample(records, 10):
            block = record.block
            expected = noise(block.size, seed=1 + records.index(record))
            assert block.pread(block.size - 100, 100) == expected[-100:]
            assert block.pread(0, 100) == expected[:100]
        assert source.bytes_sent <= 10 * 700_000


def test_a_record_is_read_while_the_iteration_goes_on() -> None:
    source = Far(films().data, films().sidecar)
    with seekwarc.Reader(source) as archive:
        before = None
        for number, record in enumerate(archive):
            assert record.block.pread(10, 10) == noise(record.block.size, seed=1 + number)[10:20]
            if before is not None:
                expected = noise(before.block.size, seed=number)
                assert before.block.read() == expected
            before = record


@pytest.mark.parametrize("options", [{"sidecar": False}, {"strict": True}])
def test_what_takes_no_claims_reads_all(options: dict[str, Any]) -> None:
    source = Far(films().data, films().sidecar)
    assert len(listed(source, **options)) == 38
    assert source.bytes_sent >= len(films().data)


def test_what_writes_or_compares_reads_all() -> None:
    source = Far(films().data, films().sidecar)
    with WholeReader(source) as archive:
        assert len(list(archive)) == 38
    assert source.bytes_sent >= len(films().data)


def test_a_part_of_the_file_has_its_records_only() -> None:
    with seekwarc.Reader(BytesSource(films().data, "a.warc.gz")) as archive:
        offsets = [it.offset for it in archive]
    source = Far(films().data, films().sidecar)
    with seekwarc.Reader(source) as archive:
        for start, stop in ((0, 5), (5, 20), (20, 37)):
            found = [it.offset for it in archive.between(offsets[start], offsets[stop])]
            assert found == offsets[start:stop]


Lie = Callable[[SidecarRecord, SidecarRecord], SidecarRecord]
LIES: dict[str, Lie] = {
    "two members": lambda it, after: dataclasses.replace(it, length=after.offset + after.length - it.offset),
    "the next page too": lambda it, after: dataclasses.replace(it, length=after.offset - it.offset),
    "shorter": lambda it, after: dataclasses.replace(it, length=it.length - 1000),
    "one byte longer": lambda it, after: dataclasses.replace(it, length=it.length + 1),
    "another size": lambda it, after: dataclasses.replace(it, content_size=it.content_size + 1),
}


@pytest.mark.filterwarnings("ignore:.*the sidecar is not used")
@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_sidecar_that_lies_hides_no_record(lie: Lie) -> None:
    pages = crawl([("film", FILM), ("page", 300), ("film", FILM), ("page", 300)])
    forged = [lie(pages.films[0], pages.films[1]), *pages.films[1:]]
    if forged[0].offset + forged[0].length > forged[1].offset:
        del forged[1:]
    source = Far(pages.data, sidecar_of(pages.data, forged))
    assert listed(source) == listed(BytesSource(pages.data, "a.warc.gz"))


def check_any_crawl(seed: int) -> None:
    rnd = random.Random(seed)
    sizes = {"film": FILM, "page": 3000, "image": 200_000, "text": 400_000, "gap": 900, "large": FILM}
    kinds = [(kind, sizes[kind] + rnd.randrange(500)) for kind in rnd.choices([*sizes], k=rnd.randint(1, 9))]
    made = crawl(kinds, seed)
    kept = [it for it in made.films if rnd.random() < 0.8]
    source = Far(made.data, sidecar_of(made.data, kept))
    assert listed(source) == listed(BytesSource(made.data, "a.warc.gz")), (seed, kinds)


def test_any_crawl_has_the_same_records_with_a_sidecar() -> None:
    for seed in range(8):
        check_any_crawl(seed)


@pytest.mark.slow
def test_very_many_crawls_have_the_same_records_with_a_sidecar() -> None:
    for seed in range(100, 700):
        check_any_crawl(seed)
