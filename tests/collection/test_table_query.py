"""Queries of a table of records; what they find is tested in `test_record_table.py`."""

from __future__ import annotations

from seekwarc import Entry
from seekwarc.collection.record_table import Query, RecordTable


def row(number: int, uri: str, filename: str = "a.warc.zst", status: int = 206) -> Entry:
    return Entry(filename, number * 100, type="response", uri=uri, status=status, size=7)


def test_the_parts_of_a_resource_are_one_row_if_that_is_asked_for() -> None:
    film, video = "http://example.org/film.mp4", "http://example.org/v?range="
    rows = [
        *(row(number, film) for number in range(88)),
        row(100, "http://example.org/page", status=200),
        row(101, f"{video}0-9"),
        row(102, f"{video}10-19", filename="b.warc.zst"),
        row(103, film, filename="b.warc.zst"),
        row(104, "http://example.org/alone"),
    ]
    table = RecordTable(shared=True)
    for entry in rows:
        table.extend([entry])
        table.page(Query(folded=True), 0, 1)
    found = table.page(Query(folded=True), 0, 9)
    assert found == (4, [rows[0], rows[88], rows[89], rows[92]], [89, 1, 2, 1])
    # Another order, or a filter, may find another part first.
    found = table.page(Query(folded=True, descending=True), 0, 9)
    assert found == (4, [rows[92], rows[91], rows[90], rows[88]], [1, 89, 2, 1])
    found = table.page(Query(folded=True, file="b.warc.zst"), 0, 9)
    assert found == (2, [rows[90], rows[91]], [2, 89])
    assert table.page(Query(), 0, 1).total == len(rows)
    assert table.page(Query(file="c.warc.zst"), 0, 1).total == 0
    table.close()
