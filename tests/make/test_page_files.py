"""`seekwarc.make.page_files`."""

from __future__ import annotations

import io
import json

import pyarrow.parquet as pq
import pytest

from seekwarc.errors import TargetError
from seekwarc.make import page_files
from seekwarc.make.page_files import COLUMNS, PageForm, form_of, write_pages
from seekwarc.write.output import FileObjectOutput


def line(number: int, **fields: object) -> bytes:
    named = {"offset": number, "whole": True, "text": f"text {number}", "date": "2026-11-21T12:00:00Z"}
    return json.dumps({**dict.fromkeys(COLUMNS), **named, **fields}).encode() + b"\n"


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a.jsonl", "jsonl"),
        ("a.JSONL.gz", "jsonl.gz"),
        ("-", "jsonl"),
        ("a.parquet", "parquet"),
        ("a", "jsonl"),
    ],
)
def test_the_end_of_a_name_tells_the_form(name, form) -> None:
    assert form_of(name) is PageForm(form)


@pytest.mark.parametrize("name", ["a.jsonl.zst", "a.csv", "A.BZ2"])
def test_other_ends_are_refused(name) -> None:
    with pytest.raises(TargetError, match="unsupported file type"):
        form_of(name)


def test_rows_come_in_groups(monkeypatch) -> None:
    monkeypatch.setattr(page_files, "GROUP_ROWS", 3)
    out = io.BytesIO()
    write_pages([line(number) for number in range(7)], FileObjectOutput(out), PageForm.PARQUET)
    file = pq.ParquetFile(out)
    assert file.num_row_groups == 3
    assert file.read().column("offset").to_pylist() == list(range(7))


def test_groups_are_limited_in_bytes(monkeypatch) -> None:
    monkeypatch.setattr(page_files, "GROUP_BYTES", 1000)
    out = io.BytesIO()
    write_pages(
        [line(number, text="x" * 600) for number in range(4)], FileObjectOutput(out), PageForm.PARQUET
    )
    assert pq.ParquetFile(out).num_row_groups == 2


@pytest.mark.parametrize("date", [None, "yesterday", "2026-11-21", "9999-12-31T23:59:59-23:00"])
def test_any_date_makes_a_row(date) -> None:
    out = io.BytesIO()
    write_pages([line(1, date=date)], FileObjectOutput(out), PageForm.PARQUET)
    assert pq.read_table(out).num_rows == 1


def test_no_pages_make_a_file_without_rows() -> None:
    for form in PageForm:
        out = io.BytesIO()
        write_pages([], FileObjectOutput(out), form)
        assert form is not PageForm.PARQUET or pq.read_table(out).num_rows == 0
