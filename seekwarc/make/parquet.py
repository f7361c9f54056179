"""Writing the lines of an index as a columnar index, in Parquet.

Rows come sorted by key and date, and the file says so. Row groups have some ten thousand rows: a lookup reads
the keys of one group, and the other columns of that group where a key is there. A larger group would make
the file a little smaller, and each lookup cost more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import seekwarc
from seekwarc.cdx.columnar import COLUMNS, KEY, TIME, row_of, schema_of
from seekwarc.cdx.limits import IndexLimits
from seekwarc.cdx.parquet import ParquetLines
from seekwarc.format.arrow import arrow, strings
from seekwarc.format.cdxj import CdxjLine
from seekwarc.make.sinks import OutputFile
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.opening import open_source
from seekwarc.write.output import Output

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

__all__ = ["batch_of", "lines_in", "parquet_writer", "write_parquet"]

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

    schema = schema_of(COLUMNS)
    rows, remaining = 0, iter(lines)
    with parquet_writer(
        output,
        schema,
        use_dictionary=[name for name in COLUMNS if name not in UNIQUE],
        sorting_columns=[pq.SortingColumn([*COLUMNS].index(name)) for name in (KEY, TIME)],
        write_page_index=True,
    ) as writer:
        while batches := _group(schema, remaining):
            group = pa.Table.from_batches(batches, schema)
            writer.write_table(group, row_group_size=group.num_rows)
            rows += group.num_rows
    return rows


@contextmanager
def parquet_writer(output: Output, schema: pa.Schema, **options: Any) -> Iterator[pq.ParquetWriter]:  # noqa: ANN401
    """Open a writer of a Parquet file into an output, which is not committed."""
    import pyarrow.parquet as pq

    file = arrow().PythonFile(OutputFile(output), mode="w")
    how = {"compression": "zstd", "compression_level": LEVEL, "store_schema": False, **options}
    with pq.ParquetWriter(file, schema, **how) as writer:
        yield writer
        writer.add_key_value_metadata({"writer": f"seekwarc {seekwarc.__version__}"})


def batch_of(schema: pa.Schema, columns: Iterable[Sequence[Any]]) -> pa.RecordBatch:
    """Return values as a batch of rows."""
    pa = arrow()
    arrays = [
        strings(pa, values) if pa.types.is_string(field.type) else pa.array(values, field.type)
        for field, values in zip(schema, columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _group(schema: pa.Schema, lines: Iterator[bytes]) -> list[pa.RecordBatch]:
    batches: list[pa.RecordBatch] = []
    rows = size = 0
    while rows < GROUP_ROWS and size < GROUP_BYTES and (batch := _batch(schema, lines)):
        batches.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
    return batches


def _batch(schema: pa.Schema, lines: Iterable[bytes]) -> pa.RecordBatch | None:
    rows = []
    size = 0
    for line in islice(lines, BATCH_ROWS):
        rows.append(row_of(CdxjLine.parse(line)))
        size += len(line)
        if size >= BATCH_BYTES:
            break
    return batch_of(schema, zip(*rows, strict=True)) if rows else None


def lines_in(path: str) -> Iterator[bytes]:
    """Yield the lines of a columnar index, with their line breaks."""
    with closing(Fetcher(open_source(path))) as source:
        for row in ParquetLines(source, IndexLimits()).ascending(b""):
            yield row.data + b"\n"
