"""The columns of records as a table: their names, their types in Arrow, and how they come out of rows.

Names are those of Common Crawl's and Daft's tables in lower case. Fields of a header are lists of pairs and
not maps, since they may be repeated.

A column is made from many rows at a time, which is faster than value by value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from seekwarc.errors import FormatError
from seekwarc.format.arrow import array_of, arrow, strings
from seekwarc.format.dates import WarcDate
from seekwarc.format.header_fields import field_pattern, parse_fields, unfolded
from seekwarc.format.values import without_brackets
from seekwarc.scale.rows import Row, Wanted

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["COLUMNS", "TEXT", "batch_of", "checked_columns", "schema_of", "wanted_of"]

PAYLOAD: Final = "payload"
FIELDS: Final = "fields"
"""The type of a column that has all fields of a header: a list of structs of name and value."""
COLUMNS: Final = {
    "filename": "string",
    "offset": "int64",
    "length": "int64",
    "record_id": "string",
    "type": "string",
    "target_uri": "string",
    "date": "timestamp",
    "content_type": "string",
    "http_status": "int16",
    "http_mime": "string",
    "payload_digest": "string",
    "truncated": "string",
    "payload_size": "int64",
    PAYLOAD: "large_binary",
    "headers": FIELDS,
    "http_headers": FIELDS,
    "error": "string",
}
"""The columns that there are if none are named, in their order, and their types."""
TEXT: Final = {"text": "string", "title": "string", "lang": "string"}
"""Columns of the text of pages, which takes long to make: only if they are named."""
TYPES: Final = {**COLUMNS, **TEXT}
"""Every column, and its type."""
HTTP: Final = frozenset({"http_status", "http_mime", "http_headers"})
"""Columns that need the HTTP head."""
MAX_DATE: Final = 40
"""Characters of a date that is remembered."""
MAX_DATES: Final = 1024
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_YEARS: Final = [
    int((it - _EPOCH).total_seconds()) * 10**6
    for it in (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC, microsecond=0))
]

Values: TypeAlias = "Callable[[Sequence[Row]], Sequence[Any]]"
"""Returns the values of a column in rows."""


def checked_columns(columns: Iterable[str] | None) -> tuple[str, ...]:
    """Return the names of columns, which must exist and differ; those of `COLUMNS` for None."""
    if columns is None:
        return tuple(COLUMNS)
    if isinstance(columns, str):
        raise TypeError(f"columns is the string {columns!r}; pass a list of names")
    names = tuple(columns)
    for name in names:
        if name not in TYPES:
            raise ValueError(f"unknown column: {name!r}; the columns are {', '.join(TYPES)}")
    if len(set(names)) < len(names):
        raise ValueError(f"a column is named twice: {', '.join(names)}")
    return names


def schema_of(columns: Sequence[str]) -> pa.Schema:
    """Return the Arrow schema of columns."""
    pa = arrow()
    kinds = {
        "string": pa.string(),
        "int16": pa.int16(),
        "int64": pa.int64(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "large_binary": pa.large_binary(),
        FIELDS: pa.list_(pa.struct([("name", pa.string()), ("value", pa.string())])),
    }
    return pa.schema([(name, kinds[TYPES[name]]) for name in columns])


def wanted_of(columns: Sequence[str], *, max_payload: int, decoded: bool, main: bool) -> Wanted:
    """Return what rows must have for columns."""
    return Wanted(
        http=not HTTP.isdisjoint(columns),
        payload_size="payload_size" in columns,
        payload=PAYLOAD in columns,
        text=not TEXT.keys().isdisjoint(columns),
        text_only={"title", "lang"}.isdisjoint(columns),
        fields=any(TYPES[name] == FIELDS for name in columns),
        max_payload=max_payload,
        decoded=decoded,
        main=main,
    )


def batch_of(schema: pa.Schema, rows: Sequence[Row]) -> pa.RecordBatch:
    """Make a record batch of rows, whose columns are those of the schema."""
    pa = arrow()
    if not len(schema):
        # A batch of no columns has as many rows all the same: that is how rows are counted.
        return pa.RecordBatch.from_struct_array(pa.Array.from_buffers(pa.struct([]), len(rows), [None]))
    arrays = []
    for field in schema:
        values = _VALUES[field.name](rows)
        if TYPES[field.name] == FIELDS:
            arrays.append(_fields_array(pa, values, field.type))
        else:
            arrays.append(array_of(pa, values, field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _fields_array(pa: Any, heads: Iterable[bytes | None], kind: pa.DataType) -> pa.Array:  # noqa: ANN401
    names: list[str] = []
    values: list[str] = []
    offsets: list[int | None] = []
    for head in heads:
        offsets.append(len(names) if head is not None else None)
        if head is not None:
            for name, value in parse_fields(head.partition(b"\n")[2]):
                names.append(name)
                values.append(value)
    offsets.append(len(names))
    pairs = pa.StructArray.from_arrays([strings(pa, names), strings(pa, values)], names=["name", "value"])
    return pa.ListArray.from_arrays(array_of(pa, offsets, pa.int32()), pairs, type=kind)


def _headers(rows: Sequence[Row]) -> list[bytes | None]:
    return [row.header for row in rows]


def _http_heads(rows: Sequence[Row]) -> list[bytes | None]:
    return [row.http.raw if row.http is not None else None for row in rows]


def _texts(heads: Iterable[bytes | None], name: str) -> list[str | None]:
    search = field_pattern(name).search
    matches = [search(head) if head is not None else None for head in heads]
    return [unfolded(found[1]) if found is not None else None for found in matches]


def _field(name: str) -> Values:
    return lambda rows: _texts(_headers(rows), name)


def _uris(name: str) -> Values:
    return lambda rows: [it and without_brackets(it) for it in _texts(_headers(rows), name)]


def _dates(rows: Sequence[Row]) -> list[int | None]:
    return [_microseconds(it) if it is not None else None for it in _texts(_headers(rows), "WARC-Date")]


def _microseconds(text: str) -> int | None:
    # Hundreds of records of a crawl have the same date; an invalid date may be long.
    return _remembered_date(text) if len(text) <= MAX_DATE else _parsed_date(text)


def _parsed_date(text: str) -> int | None:
    try:
        found = WarcDate.parse(text).nanoseconds // 1000
    except FormatError:
        return None
    # Its zone may move it out of the years that programs know.
    return found if _YEARS[0] <= found <= _YEARS[1] else None


_remembered_date = lru_cache(MAX_DATES)(_parsed_date)


def _statuses(rows: Sequence[Row]) -> list[int | None]:
    return [row.http.status if row.http is not None else None for row in rows]


def _mimes(rows: Sequence[Row]) -> list[str | None]:
    types = _texts(_http_heads(rows), "Content-Type")
    return [it if it is None else it.partition(";")[0].strip().lower() for it in types]


_VALUES: Final[dict[str, Values]] = {
    "filename": lambda rows: [row.filename for row in rows],
    "offset": lambda rows: [row.offset for row in rows],
    "length": lambda rows: [row.length for row in rows],
    "record_id": _uris("WARC-Record-ID"),
    "type": _field("WARC-Type"),
    "target_uri": _uris("WARC-Target-URI"),
    "date": _dates,
    "content_type": _field("Content-Type"),
    "http_status": _statuses,
    "http_mime": _mimes,
    "payload_digest": _field("WARC-Payload-Digest"),
    "truncated": _field("WARC-Truncated"),
    "payload_size": lambda rows: [row.payload_size for row in rows],
    PAYLOAD: lambda rows: [row.payload for row in rows],
    "headers": _headers,
    "http_headers": _http_heads,
    "error": lambda rows: [row.error for row in rows],
    "text": lambda rows: [row.text.text if row.text is not None else None for row in rows],
    "title": lambda rows: [row.text.title if row.text is not None else None for row in rows],
    "lang": lambda rows: [row.text.lang if row.text is not None else None for row in rows],
}
