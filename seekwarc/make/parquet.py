"""Writing the lines of an index as a columnar index, in Parquet.

Rows come sorted by key and date, and the file says so. Row groups have some ten thousand rows: a lookup reads
the keys of one group, and the other columns of that group where a key is there. A larger group would make
the file a little smaller, and each lookup cost more.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import seekwarc
from seekwarc.cdx.columnar import COLUMNS, KEY, TIME, columnar_schema, row_of
from seekwarc.cdx.limits import IndexLimits
from seekwarc.cdx.parquet import ParquetLines
from seekwarc.compiling import override
from seekwarc.format.arrow import arrow, strings
from seekwarc.format.cdxj import CdxjLine
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.opening import open_source
from seekwarc.write.output import Output

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["LEVEL", "OutputFile", "lines_in", "write_parquet"]

GROUP_ROWS: Final = 16 << 10
GROUP_BYTES: Final = 64 << 20
BATCH_ROWS: Final = 1024
"""Rows that are Python values at a time."""
BATCH_BYTES: Final = 8 << 20
LEVEL: Final = 3
UNIQUE: Final = (KEY, "url", "url_path", "url_query", "content_digest", "warc_record_id", "seek_table")
"""Columns whose values hardly repeat: a dictionary of them would only take room."""


def write_parquet(lines: Iterable[bytes], output: Output) -> int:
    """Write an index, and return how many rows it has."""
    pa = arrow()
    import pyarrow.parquet as pq

    schema = columnar_schema()
    places = {name: place for place, name in enumerate(COLUMNS)}
    rows = 0
    with pq.ParquetWriter(
        pa.PythonFile(OutputFile(output), mode="w"),
        schema,
        compression="zstd",
        compression_level=LEVEL,
        use_dictionary=[name for name in COLUMNS if name not in UNIQUE],
        sorting_columns=[pq.SortingColumn(places[KEY]), pq.SortingColumn(places[TIME])],
        write_page_index=True,
        store_schema=False,
    ) as writer:
        remaining = iter(lines)
        while batches := _group(pa, schema, remaining):
            group = pa.Table.from_batches(batches, schema)
            writer.write_table(group, row_group_size=group.num_rows)
            rows += group.num_rows
        writer.add_key_value_metadata({"writer": f"seekwarc {seekwarc.__version__}"})
    return rows


def _group(pa: Any, schema: pa.Schema, lines: Iterator[bytes]) -> list[pa.RecordBatch]:  # noqa: ANN401
    batches: list[pa.RecordBatch] = []
    rows = size = 0
    while rows < GROUP_ROWS and size < GROUP_BYTES and (batch := _batch(pa, schema, lines)):
        batches.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
    return batches


def _batch(pa: Any, schema: pa.Schema, lines: Iterable[bytes]) -> pa.RecordBatch | None:  # noqa: ANN401
    rows = []
    size = 0
    for line in islice(lines, BATCH_ROWS):
        rows.append(row_of(CdxjLine.parse(line)))
        size += len(line)
        if size >= BATCH_BYTES:
            break
    if not rows:
        return None
    arrays = [
        strings(pa, values) if pa.types.is_string(field.type) else pa.array(values, field.type)
        for field, values in zip(schema, zip(*rows, strict=True), strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def lines_in(path: str) -> Iterator[bytes]:
    """Yield the lines of a columnar index, with their line breaks."""
    with closing(Fetcher(open_source(path))) as source:
        for row in ParquetLines(source, IndexLimits()).ascending(b""):
            yield row.data + b"\n"


class OutputFile(io.RawIOBase):
    """An output as a file for pyarrow, which closes it without ending the output."""

    def __init__(self, output: Output) -> None:
        super().__init__()
        self._output = output
        self._position = 0

    @override
    def writable(self) -> bool:
        return True

    @override
    def tell(self) -> int:
        return self._position

    @override
    def write(self, data: Any) -> int:
        self._output.write(bytes(data))
        self._position += len(data)
        return len(data)
