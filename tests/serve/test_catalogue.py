"""The table of records."""

from __future__ import annotations

import os
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.collection.record_index import MemoryIndex, RecordIndex, entries_of
from seekwarc.read.reader import Reader
from seekwarc.serve.catalogue import Catalogue, Query, Row, clean
from seekwarc.serve.library import rows_of


def row(number: int, **given: object) -> Row:
    """Return some row."""
    made = {
        "file": 0,
        "offset": number * 100,
        "length": 100,
        "skip": 0,
        "type": ("response", "request", "revisit")[number % 3],
        "id": f"urn:{number}",
        "uri": f"http://example.org/{number:04}/Page_{number % 7}.html",
        "date": f"2026-{number % 12 + 1:02}-10T00:00:00Z",
        "mime": ("text/html", "video/mp4")[number % 2],
        "status": 200,
        "size": number * 37 % 1000,
        "digest": None,
        "digest_key": None,
        "segment": None,
        "origin": None,
        "refers_to": None,
        "concurrent_to": "",
    }
    return Row(**{**made, **given})


ROWS = [row(number) for number in range(1000)]


@pytest.fixture
def catalogue():
    made = Catalogue(["a.warc.zst"])
    made.add(ROWS[:600])
    made.add(ROWS[600:])
    made.finish()
    yield made
    made.close()


def everything(catalogue: Catalogue, query: Query) -> list[Row]:
    total = catalogue.page(query, 0, 1).total
    rows = [found for start in range(0, total, 70) for _, found in catalogue.page(query, start, 70).rows]
    assert len(rows) == total
    return rows


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        (Query(), lambda _: True),
        (Query(type="revisit"), lambda it: it.type == "revisit"),
        (Query(mime="video/"), lambda it: it.mime == "video/mp4"),
        (Query(words=("page_3",)), lambda it: "Page_3" in it.uri),
        (Query(words=("PAGE", "/01")), lambda it: "/01" in it.uri),
        (Query(words=("%",)), lambda _: False),
        (Query(words=("Page?3",)), lambda _: False),
        (Query(words=("PageX3",)), lambda _: False),
        (Query(since="2026-03", until="2026-05"), lambda it: it.date[5:7] in ("03", "04", "05")),
        (Query(since="2026-03-11"), lambda it: it.date[5:7] > "03"),
        (Query(until="2026-03-10T00:00:00Z"), lambda it: it.date[5:7] <= "03"),
        (Query(smallest=900), lambda it: it.size >= 900),
        (Query(smallest=100, largest=100), lambda it: it.size == 100),
        (
            Query(words=("Page_1",), type="response", largest=500),
            lambda it: "Page_1" in it.uri and it.type == "response" and it.size <= 500,
        ),
    ],
)
def test_a_query_finds_rows_that_meet_all_conditions(catalogue, query, wanted) -> None:
    assert everything(catalogue, query) == [it for it in ROWS if wanted(it)]


@pytest.mark.parametrize("field", ["uri", "date", "size"])
@pytest.mark.parametrize("descending", [False, True])
def test_sorting(catalogue, field, descending) -> None:
    found = everything(catalogue, Query(sort=field, descending=descending))
    assert found == sorted(ROWS, key=lambda it: getattr(it, field), reverse=descending)


def test_descending_order_of_storage(catalogue) -> None:
    assert everything(catalogue, Query(descending=True)) == ROWS[::-1]


def test_a_page_after_the_end_is_empty(catalogue) -> None:
    assert catalogue.page(Query(), 5000, 10) == (1000, [])
    assert catalogue.page(Query(type="none"), 0, 10) == (0, [])
    assert catalogue.page(Query(type="revisit"), 10**17, 10).rows == []


def test_rows_that_are_added_are_found_at_once() -> None:
    catalogue = Catalogue(["a"])
    queries = [Query(), Query(words=("page",)), Query(sort="size")]
    try:
        for count in range(0, 1000, 250):
            catalogue.add(ROWS[count : count + 250])
            assert [len(everything(catalogue, query)) for query in queries[:2]] == [count + 250] * 2
        assert catalogue.types == {"response": 334, "request": 333, "revisit": 333}
        assert not catalogue.complete
    finally:
        catalogue.close()


def test_asking_while_rows_are_added() -> None:
    catalogue = Catalogue(["a"])

    def add() -> None:
        for start in range(0, 1000, 10):
            catalogue.add(ROWS[start : start + 10])
        catalogue.finish()

    thread = threading.Thread(target=add)
    thread.start()
    try:
        while thread.is_alive():
            for query in (Query(), Query(type="request"), Query(sort="uri", descending=True)):
                page = catalogue.page(query, 0, 50)
                assert len(page.rows) <= min(page.total, 50)
        assert catalogue.page(Query(), 0, 1).total == 1000
    finally:
        thread.join()
        catalogue.close()


def test_the_file_is_deleted() -> None:
    catalogue = Catalogue(["a"])
    folder = catalogue._folder.name
    assert os.listdir(folder)
    catalogue.close()
    catalogue.close()
    assert not os.path.exists(folder)


def test_it_answers_as_other_record_indexes_do(crawl) -> None:
    names = [str(path) for path in crawl.paths]
    catalogue = Catalogue(names)
    memory = MemoryIndex()
    entries = []
    try:
        for number, path in enumerate(crawl.paths):
            with Reader(path) as archive:
                entries += entries_of(archive)
            with Reader(path) as archive:
                catalogue.add(rows_of(archive, number))
        for entry in entries:
            memory.add(entry)
        catalogue.finish()

        def asked(index: RecordIndex) -> list[list[object]]:
            answers = []
            for entry in entries:
                answers += [
                    index.by_id(entry.id),
                    index.by_uri(entry.uri or "-"),
                    index.segments_of(entry.id),
                ]
                answers += [index.concurrent_to(entry.id), index.referring_to(entry.id)]
                if entry.payload_digest is not None:
                    answers.append(index.by_payload(entry.payload_digest))
            return [sorted(answer, key=lambda it: (it.file, it.offset)) for answer in answers]

        assert asked(catalogue) == asked(memory)
        assert any(len(answer) > 1 for answer in asked(catalogue))
    finally:
        catalogue.close()


@given(st.text(max_size=30))
def test_any_text_can_be_kept(text) -> None:
    kept = clean(text)
    kept.encode()
    assert clean(kept) == kept
    if text.isascii():
        assert kept == text


def test_the_place_of_a_record(catalogue) -> None:
    assert catalogue.place(0, 700) == ROWS[7]
    assert catalogue.place(0, 701) is None
    assert catalogue.place(1, 700) is None


def test_a_row_describes_its_record(crawl) -> None:
    with Reader(crawl.paths[0]) as archive:
        rows = {row.uri: row for row in rows_of(archive, 3)}
    film = rows["http://example.org/film.mp4"]
    assert (film.file, film.offset, film.mime, film.status) == (
        3,
        crawl.offsets["film.mp4"],
        "video/mp4",
        200,
    )
    assert rows["http://example.org/untyped.png"].mime == "image/png"


@pytest.mark.large
def test_a_million_records_stay_fast() -> None:
    count = 1_000_000
    catalogue = Catalogue(["a.warc.zst"])
    try:
        for start in range(0, count, 5000):
            catalogue.add([row(number) for number in range(start, start + 5000)])
        catalogue.finish()

        def seconds(query: Query, start: int) -> float:
            before = time.perf_counter()
            assert len(catalogue.page(query, start, 100).rows) == 100
            return time.perf_counter() - before

        assert seconds(Query(), 0) < 0.1
        assert seconds(Query(), count // 2) < 0.1
        for query in (Query(words=("page_3",)), Query(type="revisit", smallest=500), Query(sort="size")):
            assert seconds(query, 0) < 4, "searched"
            assert seconds(query, 50_000) < 0.1, "known"
    finally:
        catalogue.close()
