"""Columns of records: their names and types, and how texts and header fields become Arrow arrays."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.format.header_fields import parse_fields
from seekwarc.format.uri import as_utf8
from seekwarc.scale.columns import COLUMNS, batch_of, checked_columns, schema_of
from seekwarc.scale.rows import Row

HEADS = st.lists(st.none() | st.binary(max_size=200).map(lambda it: b"WARC/1.1\r\n" + it), max_size=5)
TEXTS = st.lists(st.none() | st.text() | st.binary().map(lambda it: it.decode("utf-8", "surrogateescape")))


def test_types_are_those_that_tables_of_crawls_have() -> None:
    types = {field.name: str(field.type) for field in schema_of(checked_columns(None))}
    assert list(types) == list(COLUMNS)
    assert types["offset"] == types["length"] == types["payload_size"] == "int64"
    assert types["http_status"] == "int16"
    assert types["date"] == "timestamp[us, tz=UTC]"
    assert types["payload"] == "large_binary"
    assert "struct<name: string, value: string>" in types["headers"]
    assert types["headers"] == types["http_headers"]


@given(HEADS)
def test_header_fields_are_pairs_in_their_order(heads: list[bytes | None]) -> None:
    batch = batch_of(schema_of(["headers"]), [Row("a.warc", None, head) for head in heads])
    found = [
        None if row is None else [(it["name"], it["value"]) for it in row] for row in batch[0].to_pylist()
    ]
    expected = [
        None
        if head is None
        else [(as_utf8(name), as_utf8(value)) for name, value in parse_fields(head.partition(b"\n")[2])]
        for head in heads
    ]
    assert found == expected
    batch.validate(full=True)


@given(TEXTS)
def test_any_text_is_valid_in_arrow(texts: list[str | None]) -> None:
    rows = [Row("a.warc", None) for _ in texts]
    for row, text in zip(rows, texts, strict=True):
        row.error = text
    batch = batch_of(schema_of(["error"]), rows)
    batch.validate(full=True)
    assert batch[0].to_pylist() == [text if text is None else as_utf8(text) for text in texts]


@pytest.mark.parametrize("columns", [[], ["type", "headers"]])
def test_a_batch_may_have_no_rows(columns: list[str]) -> None:
    batch = batch_of(schema_of(columns), [])
    assert batch.num_rows == 0
    assert batch.schema == schema_of(columns)
    assert isinstance(batch, pa.RecordBatch)
