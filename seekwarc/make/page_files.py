"""Files of pages: their lines of JSON, plain or compressed with gzip, or as rows of Parquet."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from seekwarc.cdx.columnar import schema_of
from seekwarc.errors import FormatError, TargetError
from seekwarc.format.arrow import arrow
from seekwarc.format.dates import WarcDate
from seekwarc.make.parquet import batch_of, parquet_writer
from seekwarc.write.output import Output

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["PageForm", "form_of", "write_pages"]

GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS
GROUP_ROWS: Final = 16 << 10
GROUP_BYTES: Final = 64 << 20
OTHERS: Final = (".zst", ".bz2", ".xz", ".lz4", ".csv", ".arrow", ".feather")
"""Ends of names of files that are not made, so that none gets such a name by mistake."""
COLUMNS: Final = {
    "uri": "string?",
    "date": "microseconds?",
    "title": "string?",
    "lang": "string?",
    "mime": "string?",
    "payload_digest": "string?",
    "file": "string?",
    "offset": "int64?",
    "whole": "bool?",
    "text": "string?",
}
REPEATED: Final = ("lang", "mime", "file")
"""Columns of few different values."""


class PageForm(StrEnum):
    """What a file of pages is."""

    JSONL = "jsonl"
    GZIP = "jsonl.gz"
    PARQUET = "parquet"


def form_of(target: str | os.PathLike[str] | BinaryIO | Output) -> PageForm:
    """Return what a file becomes by the end of its name; a file object JSON Lines.

    Raises:
        TargetError: It ends as no file that can be written.
    """
    if not isinstance(target, str | os.PathLike):
        return PageForm.JSONL
    name = os.fspath(target).lower()
    if name.endswith(OTHERS):
        text = "unsupported file type: use .jsonl, .jsonl.gz or .parquet"
        raise TargetError(text, source=os.fspath(target))
    if name.endswith(".parquet"):
        arrow()
        return PageForm.PARQUET
    return PageForm.GZIP if name.endswith(".gz") else PageForm.JSONL


def write_pages(lines: Iterable[bytes], output: Output, form: PageForm) -> None:
    """Write the lines of pages. The output is not committed."""
    if form is PageForm.PARQUET:
        _write_parquet(lines, output)
        return
    if form is PageForm.JSONL:
        for line in lines:
            output.write(line)
        return
    packer = zlib.compressobj(wbits=GZIP_WINDOW)
    for line in lines:
        output.write(packer.compress(line))
    output.write(packer.flush())


def _write_parquet(lines: Iterable[bytes], output: Output) -> None:
    schema = schema_of(COLUMNS)
    with parquet_writer(output, schema, use_dictionary=list(REPEATED)) as writer:
        for batch in _batches(schema, lines):
            writer.write_batch(batch, row_group_size=batch.num_rows)


def _batches(schema: pa.Schema, lines: Iterable[bytes]) -> Iterator[pa.RecordBatch]:
    rows: list[dict[str, Any]] = []
    size = 0
    for line in lines:
        rows.append(json.loads(line))
        size += len(line)
        if len(rows) >= GROUP_ROWS or size >= GROUP_BYTES:
            yield _batch(schema, rows)
            rows, size = [], 0
    if rows:
        yield _batch(schema, rows)


def _batch(schema: pa.Schema, rows: list[dict[str, Any]]) -> pa.RecordBatch:
    columns = {name: [row[name] for row in rows] for name in COLUMNS}
    columns["date"] = [_microseconds(it) for it in columns["date"]]
    return batch_of(schema, columns.values())


def _microseconds(text: str | None) -> int | None:
    try:
        return None if text is None else WarcDate.parse(text).nanoseconds // 1000
    except FormatError:
        return None
