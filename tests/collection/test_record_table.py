"""The table of records."""

from __future__ import annotations

import gc
import os
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc import Digest, Entry, WarcDate
from seekwarc.collection.record_table import Query, RecordTable
from seekwarc.errors import TargetError
from seekwarc.format.uri import as_utf8


def row(number: int, **given: object) -> Entry:
    """Return some entry."""
    made = {
        "filename": "a.warc.zst",
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
        (Query(words=("P*_3",)), lambda it: "Page_3" in it.uri),
        (Query(words=("*_3*",)), lambda it: "_3" in it.uri),
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
    assert table.page(Query(), 5000, 10) == (1000, [], [])
    assert table.page(Query(type="none"), 0, 10) == (0, [], [])
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
    if os.name == "posix":
        # Though it was not closed: a process that is killed leaves nothing.
        assert list(tmp_path.iterdir()) == []
    table.extend(map(row, range(3000)))
    table.finish()
    # Each of these is another connection's.
    assert table.by_id("urn:2999") == (row(2999),)
    assert table.page(Query(words=("page_1",)), 0, 1).total > 0
    table.close()
    table.close()
    assert list(tmp_path.iterdir()) == []
    RecordTable(shared=True)
    gc.collect()
    assert list(tmp_path.iterdir()) == []


@given(st.text(max_size=30))
def test_any_text_can_be_kept(text) -> None:
    kept = as_utf8(text)
    kept.encode()
    assert as_utf8(kept) == kept
    if text.isascii():
        assert kept == text


def test_the_place_of_a_record(table) -> None:
    assert table.place("a.warc.zst", 700) == ROWS[7]
    assert table.place("a.warc.zst", 701) is None
    assert table.place("b.warc.zst", 700) is None


@pytest.fixture
def captures() -> Iterator[RecordTable]:
    made = RecordTable(keys={"path": lambda uri: uri.partition("//")[2], "upper": str.upper})
    for number, (uri, date) in enumerate(
        [
            ("http://b/2", "2025"),
            ("http://a/1", "2024"),
            ("http://b/1", "2026"),
            ("http://b/2", "2026"),
            ("http://b/caf\udce9", "2026"),
            ("http://b/2", "2023"),
            ("http://b/3", None),
        ]
    ):
        parsed = WarcDate.parse(date) if date is not None else None
        made.extend([Entry("a.warc", number, type="response", uri=uri, date=parsed)])
    made.extend([Entry("a.warc", 9, type="request", uri="http://b/4", date=WarcDate.parse("2026"))])
    yield made
    made.close()


def test_below_a_prefix_is_the_latest_capture_of_each_uri(captures: RecordTable) -> None:
    assert [it.offset for it in captures.below("path", "b/")] == [2, 3, 4]
    assert [it.offset for it in captures.below("path", "")] == [1, 2, 3, 4]
    assert list(captures.below("path", "c/")) == []
    assert [it.offset for it in captures.below("path", "b/caf%E9")] == [4]


def test_captures_have_keys(captures: RecordTable) -> None:
    assert [it.offset for it in captures.captures("upper", "HTTP://B/2")] == [0, 3, 5]
    assert captures.captures("upper", "http://b/2") == ()
    assert captures.captures("upper", "HTTP://B/4") == ()
    assert captures.around("path", "b/2", 2) == ["a/1", "b/1", "b/2", "b/caf%E9"]


def test_entries_may_be_added_while_others_are_listed(captures: RecordTable) -> None:
    listed = captures.below("path", "")
    assert next(listed).offset == 1
    captures.extend([Entry("a.warc", 50, type="response", uri="http://a/0", date=WarcDate.parse("2026"))])
    assert len(captures.captures("upper", "HTTP://A/0")) == 1
    assert [it.offset for it in listed][:2] == [2, 3]
    assert next(captures.below("path", "a/")).offset == 50


def test_the_capture_nearest_to_a_date_is_found(captures: RecordTable) -> None:
    for date, offset in ((None, 3), ("2023-02", 5), ("2025", 0)):
        found = captures.capture("http://b/2", date and WarcDate.parse(date))
        assert found is not None
        assert found.offset == offset
    assert captures.capture("http://b/4", None) is None


def test_nothing_is_added_if_something_fails(table) -> None:
    def entries() -> Iterator[Entry]:
        yield row(5000)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        table.extend(entries())
    assert table.by_id("urn:5000") == ()
    assert table.rows == 1000
    table.extend([row(5001)])
    assert table.by_id("urn:5001") == (row(5001),)


def test_a_full_disk_is_an_error_that_says_what_to_do(captures: RecordTable) -> None:
    captures._writer.script("PRAGMA max_page_count=20")
    with pytest.raises(TargetError, match="temporary file: database or disk is full; set TMPDIR"):
        captures.extend(map(row, range(5000)))
    assert [it.offset for it in captures.captures("upper", "HTTP://B/2")] == [0, 3, 5]


def test_text_is_looked_for_as_it_is_kept() -> None:
    table = RecordTable(text=as_utf8)
    table.extend([Entry("a.warc", 0, id="caf\udce9")])
    assert [it.id for it in table.by_id("caf\udce9")] == ["caf%E9"]
    assert table.by_id("caf%E9") == table.by_id("caf\udce9")


def test_the_first_entries_of_a_digest_cost_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def counted(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        connection.set_progress_handler(lambda: made.append(1), 100)
        return connection

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", counted)
    count, digests = 20_000, [Digest.of("sha1", bytes([number]) * 20) for number in range(100)]
    table = RecordTable()
    table.extend(
        # Later ones are older.
        Entry(
            "a.warc",
            at,
            payload_digest=digests[at % 100],
            status=at % 3,
            date=WarcDate.parse(f"{3000 - at % 900}"),
        )
        for at in range(count)
    )
    table.finish()
    made.clear()
    assert [it.offset for it in table.first(3, digests[7], 2)] == [107, 407, 707]
    assert len(made) * 100 < 20 * count // 100
    table.close()


@pytest.mark.large
def test_pages_of_a_million_records_cost_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 1_000_000
    made: list[int] = []

    def counted(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        connection.set_progress_handler(lambda: made.append(1), 1000)
        return connection

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", counted)
    table = RecordTable(shared=True)
    try:
        for start in range(0, count, 5000):
            table.extend([row(number) for number in range(start, start + 5000)])
        table.finish()

        def steps(query: Query, start: int) -> int:
            made.clear()
            assert len(table.page(query, start, 100).entries) == 100
            return len(made) * 1000

        assert steps(Query(), 0) < count // 10
        assert steps(Query(), count // 2) < count // 10
        for query in (Query(words=("page_3",)), Query(type="revisit", smallest=500), Query(sort="size")):
            assert steps(query, 0) < 200 * count, "searched"
            assert steps(query, 50_000) < count // 10, "known"
    finally:
        table.close()
