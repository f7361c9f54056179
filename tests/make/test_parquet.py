"""Columnar indexes as they are written: sorted, in row groups of a bounded size."""

from __future__ import annotations

import io

import pyarrow.parquet as pq
import pytest

from seekwarc import FormatError
from seekwarc.make.parquet import write_parquet
from seekwarc.write.output import FileObjectOutput
from tests.support.cdx import cdxj_line, many_lines


def written(lines: list[bytes]) -> tuple[int, pq.ParquetFile]:
    file = io.BytesIO()
    count = write_parquet(iter(lines), FileObjectOutput(file))
    return count, pq.ParquetFile(io.BytesIO(file.getvalue()))


def test_row_groups_are_bounded_and_say_their_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seekwarc.make.parquet.BATCH_ROWS", 100)
    monkeypatch.setattr("seekwarc.make.parquet.GROUP_ROWS", 250)
    lines = many_lines(1000)
    count, file = written(lines)
    assert count == 1000
    metadata = file.metadata
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    assert [group.num_rows for group in groups] == [300, 300, 300, 100]
    for group in groups:
        assert group.column(0).path_in_schema == "url_surtkey"
        assert group.column(0).compression == "ZSTD"
        assert group.column(0).statistics.min < group.column(0).statistics.max
        assert [it.column_index for it in group.sorting_columns] == [0, 17]
    assert metadata.metadata[b"writer"].startswith(b"seekwarc ")
    keys = file.read(columns=["url_surtkey"]).column(0).to_pylist()
    assert keys == [line.split(b" ")[0].decode() for line in lines]


def test_groups_are_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seekwarc.make.parquet.BATCH_BYTES", 10_000)
    monkeypatch.setattr("seekwarc.make.parquet.GROUP_BYTES", 20_000)
    url = "http://example.org/" + "a" * 2000
    lines = [cdxj_line("org,example)/", f"{1900 + n}", url=url, filename="a", offset=n) for n in range(100)]
    _, file = written(lines)
    assert file.metadata.num_rows == 100
    assert file.metadata.num_row_groups > 5


def test_an_index_may_be_empty() -> None:
    count, file = written([])
    assert count == file.metadata.num_rows == 0
    assert len(file.schema_arrow) == 38


def test_a_line_without_a_place_is_refused() -> None:
    with pytest.raises(FormatError):
        written([cdxj_line("org,example)/", "20260101000000", url="http://example.org/")])
