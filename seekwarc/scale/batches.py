"""Records as Arrow record batches, which pyarrow, polars, duckdb, Dask and Spark all take.

Goal: a table of the records of many files, whatever they hold. Only what the wanted columns need is read, one
bad record costs one row, and memory does not follow the largest record.

Worst case: a batch is made when its rows weigh `batch_bytes`. A row weighs at most what a header (1 MiB), an
HTTP head (64 KiB), `max_payload` and the text of a page (16 MiB) do, so a batch is larger by one row at most.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Unpack

from seekwarc.errors import FormatWarning, RangeError, SeekWarcError, UnsupportedError
from seekwarc.format.arrow import arrow
from seekwarc.format.conditions import refuse_unknown
from seekwarc.format.words import counted
from seekwarc.read.options import OpenOptions, SidecarOptions
from seekwarc.read.resync import SHARED
from seekwarc.read.selection import Conditions, Selection
from seekwarc.scale.columns import batch_of, checked_columns, schema_of, wanted_of
from seekwarc.scale.rows import OnError, Row, Rows
from seekwarc.scale.split import Source, Split, files_of

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

__all__ = ["Batches", "OnError", "SelectOptions", "batches"]

BATCH_ROWS: Final = 16 << 10
BATCH_BYTES: Final = 8 << 20
"""Memory follows it: rows, what is made of them, and the batch before, which the caller still has."""
MAX_BATCH_BYTES: Final = 1 << 30
"""More could be more text than an Arrow string column can hold, 2 GiB."""
MAX_PAYLOAD: Final = 1 << 20


class SelectOptions(Conditions, OpenOptions, total=False):
    """Which records are wanted, and how their files are opened."""


def batches(
    sources: Source | Iterable[Source],
    columns: Iterable[str] | None = None,
    *,
    max_payload: int = MAX_PAYLOAD,
    decoded: bool = False,
    main: bool = False,
    on_error: OnError = "row",
    batch_rows: int = BATCH_ROWS,
    batch_bytes: int = BATCH_BYTES,
    **options: Unpack[SelectOptions],
) -> Batches:
    """Return the records of files as a table that is read when it is iterated; see `Batches` for its columns.

    Args:
        sources: Paths, URLs, folders, patterns (`s3://bucket/*.warc.zst`), or parts of files that `splits`
            made; one, or several.
        columns: Names of the columns wanted, in their order; if None, all but `text`, `title` and `lang`.
            What no column needs is not read: without `payload` and these, a large record costs its first
            frame, unless `payload_size` has to be counted.
        max_payload: Bytes of a payload; the `payload` of a larger one is null, and is not read.
        decoded: Undo the content codings (gzip, deflate, br, zstd) of payloads. `max_payload` counts decoded
            bytes then, `payload_size` those that are stored.
        main: Leave menus, footers and the like out of `text`, as far as they are recognized.
        on_error: What becomes of a record that cannot be read, of damage between records, and of a file that
            cannot be opened: a row that says so in the column `error` ("row"), nothing ("skip"), or an
            exception ("raise"). Unless it is "raise", reading goes on at the next record that is found.
            Without that column, a `FormatWarning` counts such rows at the end.
        batch_rows: Rows of a batch at most.
        batch_bytes: Bytes of a batch, about: it is complete with the row that reaches them. 1 GiB at most.
        **options: Which records are wanted: `type`, `status`, `mime`, `uri`, `min_size`, `since`, `until` and
            `host`, see `Conditions`. And options of `seekwarc.open`.

    Raises:
        FileNotFoundError: A file is not there, or nothing matches a pattern.
        ValueError: Unknown column, `on_error` or status, or limit that is out of range; part of a payload;
            datetime without a time zone.
        UnsupportedError: pyarrow is not installed (`pip install 'seekwarc[arrow]'`); or resiliparse, for
            `text` (`pip install 'seekwarc[text]'`).
    """
    refuse_unknown(options, SelectOptions.__annotations__)
    reading: dict[str, Any] = {**options}
    selection = Selection.pop_from(reading)
    if on_error not in ("row", "skip", "raise"):
        raise ValueError(f'on_error is {on_error!r}, not "row", "skip" or "raise"')
    if max_payload < 0 or batch_rows < 1 or not 1 <= batch_bytes <= MAX_BATCH_BYTES:
        raise ValueError(
            f"max_payload {max_payload}, batch_rows {batch_rows} or batch_bytes {batch_bytes} is out of range"
        )
    names = checked_columns(columns)
    wanted = wanted_of(names, max_payload=max_payload, decoded=decoded, main=main)
    if wanted.text:
        from seekwarc.inside.parsing import resiliparse_needed

        resiliparse_needed()
    rows = Rows(wanted, selection or None, on_error, SidecarOptions.of(**reading))
    parts = [_part(it) for it in files_of(sources)]
    return Batches(parts, names, rows, batch_rows=batch_rows, batch_bytes=batch_bytes)


def _part(source: str | Split) -> Split:
    if not isinstance(source, Split):
        return Split(source, "records", 0)
    if source.kind != "records":
        raise RangeError(f"a part of a payload holds no records: {source}")
    return source


class Batches:
    """The records of files as a stream of Arrow record batches; `batches` makes it.

    `pyarrow.table`, `duckdb.from_arrow` and whatever else knows the Arrow C stream interface take it as it
    is; `to_pandas` and `to_polars` make a dataframe. Each iteration reads the files again. It can be pickled.

    The columns, in their order; a value is null where the record has none:

    - filename: the path or URL that was given, of a split its `url`;
    - offset, length: where the record is stored in the file, in bytes (int64);
    - record_id, type, target_uri, content_type, payload_digest, truncated: the fields of the WARC header;
    - date: WARC-Date (timestamp in microseconds, UTC);
    - http_status (int16), http_mime: status and media type that the HTTP head states;
    - payload_size: bytes of the payload as it is stored (int64). A body in chunked transfer coding is
      read to its end to count its chunks;
    - payload (large binary): null if it has more than `max_payload` bytes;
    - headers, http_headers: lists of structs of name and value;
    - error: what is wrong with what was read for the other columns, null in a row that is fine. Columns that
      could not be read are null then. Where the offset leads to another record, which shares the frame or
      gzip member, this says so. Chunks that break off are not damage: `payload` has the bytes
      that are there, and `Extent.problem` says what is wrong with the chunks once they were read.
    - text, title, lang: of HTML, PDF and plain text; see `PageText`. They are made only if they are named.

    Bytes of a text that are not UTF-8 are escaped as in a URI, "caf%E9". A payload that was too large, or was
    not wanted, can be read later by filename, offset and length.

    Attributes:
        schema: Names and types of the columns, a `pyarrow.Schema`.

    Example:
        >>> import pyarrow
        >>> table = pyarrow.table(seekwarc.batches("crawl.warc.zst", ["type", "payload_size"]))
        >>> table.num_rows, table.column("payload_size").to_pylist()[-1]
        (5, 0)
    """

    def __init__(
        self,
        sources: Sequence[Split],
        columns: Sequence[str],
        rows: Rows,
        *,
        batch_rows: int,
        batch_bytes: int,
    ) -> None:
        self.schema: pa.Schema = schema_of(columns)
        self._sources = sources
        self._rows = rows
        self._batch_rows = batch_rows
        self._batch_bytes = batch_bytes

    def __repr__(self) -> str:
        return f"<Batches of {len(self._sources)} sources: {', '.join(self.schema.names)}>"

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the batches as an Arrow C stream, in a capsule."""
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def to_reader(self) -> pa.RecordBatchReader:
        """Return the batches as a `pyarrow.RecordBatchReader`."""
        return arrow().RecordBatchReader.from_batches(self.schema, iter(self))

    def to_pandas(self) -> pd.DataFrame:
        """Read all of it into a dataframe of pandas, whose columns have Arrow types.

        Raises:
            UnsupportedError: pandas is not installed (`pip install 'seekwarc[pandas]'`).
        """
        types = _imported("pandas").ArrowDtype
        return self.to_reader().read_all().to_pandas(types_mapper=types)

    def to_polars(self) -> pl.DataFrame:
        """Read all of it into a dataframe of polars.

        Raises:
            UnsupportedError: polars is not installed (`pip install 'seekwarc[polars]'`).
        """
        frame: pl.DataFrame = _imported("polars").DataFrame(self)
        return frame

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Yield the batches.

        If rows are of what cannot be read, and no column `error` says so, a `FormatWarning` at the end does.
        """
        rows: list[Row] = []
        weight = unread = 0
        for source in self._sources:
            try:
                for row in self._rows.of(source):
                    rows.append(row)
                    weight += row.weight
                    unread += row.error is not None and row.error != SHARED
                    if len(rows) >= self._batch_rows or weight >= self._batch_bytes:
                        weight = 0
                        yield self._batch(rows)
            except SeekWarcError:
                if rows:
                    yield self._batch(rows)
                raise
        if rows:
            yield self._batch(rows)
        if unread and "error" not in self.schema.names:
            text = f"{counted(unread, 'row')} could not be read in full: the column `error` would say why"
            warnings.warn(text, FormatWarning, stacklevel=2)

    def _batch(self, rows: list[Row]) -> pa.RecordBatch:
        """Make a batch of rows, and let go of them: they would be there beside the next ones."""
        batch = batch_of(self.schema, rows)
        rows.clear()
        return batch


def _imported(name: str) -> Any:  # noqa: ANN401
    try:
        return import_module(name)
    except ImportError as error:
        raise UnsupportedError(f"a dataframe of {name} needs: pip install 'seekwarc[{name}]'") from error
