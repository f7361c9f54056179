"""The table of records."""

from __future__ import annotations

import gc
import os
import tempfile
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc import Entry, WarcDate
from seekwarc.collection.record_table import Query, RecordTable
from seekwarc.serve.headers import clean


def row(number: int, **given: object) -> Entry:
    """Return some entry."""
    made = {
        "file": "a.warc.zst",
        "offset": number * 100,
        "length": 100,
        "type": ("response", "request", "revisit")[number % 3],
        "id": f"urn:{number}",
        "uri": f"http://example.org/{number:04}/Page_{number % 7}.html",
        "date": WarcDate.parse(f"2026-{number % 12 + 1:02}-10T00:00:00Z"),
        "mime": ("text/html", "video/mp4")[number % 2],
        "status": 200,
        "size": number * 37 % 1000,
    }
    return Entry(**{**made, **given})


ROWS = [row(number) for number in range(1000)]


@pytest.fixture
def table():
    made = RecordTable(shared=True)
    made.extend(ROWS[:600])
    made.extend(ROWS[600:])
    made.finish()
    yield made
    made.close()


def everything(table: RecordTable, query: Query) -> list[Entry]:
    total = table.page(query, 0, 1).total
    rows = [found for start in range(0, total, 70) for found in table.page(query, start, 70).entries]
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
        (Query(since="2026-03", until="2026-05"), lambda it: it.date.text[5:7] in ("03", "04", "05")),
        (Query(since="2026-03-11"), lambda it: it.date.text[5:7] > "03"),
        (Query(until="2026-03-10T00:00:00Z"), lambda it: it.date.text[5:7] <= "03"),
        (Query(smallest=900), lambda it: it.size >= 900),
        (Query(smallest=100, largest=100), lambda it: it.size == 100),
        (
            Query(words=("Page_1",), type="response", largest=500),
            lambda it: "Page_1" in it.uri and it.type == "response" and it.size <= 500,
        ),
    ],
)
def test_a_query_finds_rows_that_meet_all_conditions(table, query, wanted) -> None:
    assert everything(table, query) == [it for it in ROWS if wanted(it)]


@pytest.mark.parametrize("field", ["uri", "date", "size"])
@pytest.mark.parametrize("descending", [False, True])
def test_sorting(table, field, descending) -> None:
    found = everything(table, Query(sort=field, descending=descending))
    assert found == sorted(ROWS, key=lambda it: getattr(it, field), reverse=descending)


def test_descending_order_of_storage(table) -> None:
    assert everything(table, Query(descending=True)) == ROWS[::-1]


def test_a_page_after_the_end_is_empty(table) -> None:
    assert table.page(Query(), 5000, 10) == (1000, [])
    assert table.page(Query(type="none"), 0, 10) == (0, [])
    assert table.page(Query(type="revisit"), 10**17, 10).entries == []


def test_rows_that_are_added_are_found_at_once() -> None:
    table = RecordTable(shared=True)
    queries = [Query(), Query(words=("page",)), Query(sort="size")]
    try:
        for count in range(0, 1000, 250):
            table.extend(ROWS[count : count + 250])
            assert [len(everything(table, query)) for query in queries[:2]] == [count + 250] * 2
        assert table.types == {"response": 334, "request": 333, "revisit": 333}
        assert not table.complete
    finally:
        table.close()


def test_asking_while_rows_are_added() -> None:
    table = RecordTable(shared=True)

    def add() -> None:
        for start in range(0, 1000, 10):
            table.extend(ROWS[start : start + 10])
        table.finish()

    thread = threading.Thread(target=add)
    thread.start()
    try:
        while thread.is_alive():
            for query in (Query(), Query(type="request"), Query(sort="uri", descending=True)):
                page = table.page(query, 0, 50)
                assert len(page.entries) <= min(page.total, 50)
        assert table.page(Query(), 0, 1).total == 1000
    finally:
        thread.join()
        table.close()


def test_the_file_of_a_shared_table_is_deleted(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    table = RecordTable(shared=True)
    assert [os.listdir(folder) for folder in tmp_path.iterdir()] != []
    table.close()
    table.close()
    assert list(tmp_path.iterdir()) == []
    RecordTable(shared=True)
    gc.collect()
    assert list(tmp_path.iterdir()) == []


@given(st.text(max_size=30))
def test_any_text_can_be_kept(text) -> None:
    kept = clean(text)
    kept.encode()
    assert clean(kept) == kept
    if text.isascii():
        assert kept == text


def test_the_place_of_a_record(table) -> None:
    assert table.place("a.warc.zst", 700) == ROWS[7]
    assert table.place("a.warc.zst", 701) is None
    assert table.place("b.warc.zst", 700) is None


@pytest.mark.large
def test_a_million_records_stay_fast() -> None:
    count = 1_000_000
    table = RecordTable(shared=True)
    try:
        for start in range(0, count, 5000):
            table.extend([row(number) for number in range(start, start + 5000)])
        table.finish()

        def seconds(query: Query, start: int) -> float:
            before = time.perf_counter()
            assert len(table.page(query, start, 100).entries) == 100
            return time.perf_counter() - before

        assert seconds(Query(), 0) < 0.1
        assert seconds(Query(), count // 2) < 0.1
        for query in (Query(words=("page_3",)), Query(type="revisit", smallest=500), Query(sort="size")):
            assert seconds(query, 0) < 4, "searched"
            assert seconds(query, 50_000) < 0.1, "known"
    finally:
        table.close()
