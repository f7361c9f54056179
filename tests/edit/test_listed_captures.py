"""Captures in a table of records, found by URI and date."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pytest

import seekwarc
from seekwarc import Entry, WarcDate
from seekwarc.collection.entry import describe
from seekwarc.collection.record_table import RecordTable
from seekwarc.collection.revisits import originals
from seekwarc.edit.listed_captures import ListedCapture, dated
from tests.support.days import URI, archive, date

EQUAL = [
    [
        "2026-01-02T00:00:00Z",
        "2026-01-02",
        "2026-01-02T00:00Z",
        "2026-01-01T23:59:60Z",
        "2026-01-02t00:00:00z",
    ],
    ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000Z", "2026-01-02T05:04:05+02:00"],
    ["2026-01-02T03:04:05.5Z", "2026-01-02T03:04:05.500000000Z", "2026-01-02T03:04:05.5000000001Z"],
    ["2026-01-02T03:04:05.123456789Z", "2026-01-02T03:04:05.123456789+00:00"],
    ["0005-01-01T00:00:00Z", "0005"],
    ["0001-01-01T00:00:00+01:00"],
    ["9999-12-31T23:59:59.9-01:00"],
]


def test_one_instant_has_one_spelling() -> None:
    found = [[dated(Entry("a", 0, date=WarcDate.parse(text))).date for text in texts] for texts in EQUAL]
    assert [{str(it) for it in dates} for dates in found] == [{texts[0]} for texts in EQUAL]
    assert [set(dates) for dates in found] == [{WarcDate.parse(texts[0])} for texts in EQUAL]
    assert dated(Entry("a", 0)) == Entry("a", 0)


@pytest.mark.parametrize("given", EQUAL[1])
def test_a_capture_is_found_by_any_spelling_of_its_date(tmp_path, given) -> None:
    with archive(tmp_path / "a.warc.zst") as out:
        for day in (1, 2, 3):
            out.write_response(URI, b"%d" % day, status=200, date=date(day))
        named = {"refers_to_target_uri": URI, "refers_to_date": EQUAL[1][0]}
        out.write_revisit(f"{URI}2", payload_digest="a:b", **named)
    with seekwarc.Collection(tmp_path / "a.warc.zst") as crawl, closing(RecordTable()) as table:
        records = [*crawl]
        entries = [describe(record) for record in records]
        entries[1] = replace(entries[1], date=WarcDate.parse(given))
        table.extend(map(dated, entries))
        found = originals(ListedCapture.of(records[-1], table, crawl.record))
        assert [it.logical.payload.read() for it in found] == [b"2"]
