"""Rows of a columnar index: the columns of Common Crawl's index, and lines of CDXJ made of them.

Source: commoncrawl/cc-index-table, schema `cc-index-schema-flat.json`: names, types and order. There the
offset and the length of a record are of 32 bits, too few for large files; here they have 64, as in the index
of the End of Term archive. Columns that others do not know follow at the end: readers go by names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from uuid import UUID

from seekwarc.cdx.hosts import parse_url
from seekwarc.errors import FormatError
from seekwarc.format.arrow import arrow
from seekwarc.format.cdxj import TABLE_FIELD, TYPE_FIELD, CdxjLine, timestamp_of
from seekwarc.format.dates import WarcDate
from seekwarc.format.header_fields import whole_number
from seekwarc.format.uri import as_utf8

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["COLUMNS", "KEY", "NEEDED", "READ", "TIME", "line_of", "row_of", "schema_of", "timestamp_at"]

KEY: Final = "url_surtkey"
TIME: Final = "fetch_time"
UNKNOWN_STATUS: Final = -1
SHA1: Final = "sha1:"
COLUMNS: Final = {
    KEY: "string",
    "url": "string",
    "url_host_name": "string",
    "url_host_tld": "string?",
    "url_host_2nd_last_part": "string?",
    "url_host_3rd_last_part": "string?",
    "url_host_4th_last_part": "string?",
    "url_host_5th_last_part": "string?",
    "url_host_registry_suffix": "string?",
    "url_host_registered_domain": "string?",
    "url_host_private_suffix": "string?",
    "url_host_private_domain": "string?",
    "url_host_name_reversed": "string?",
    "url_protocol": "string",
    "url_port": "int32?",
    "url_path": "string",
    "url_query": "string?",
    TIME: "timestamp",
    "fetch_status": "int16",
    "fetch_redirect": "string?",
    "content_digest": "string?",
    "content_mime_type": "string?",
    "content_mime_detected": "string?",
    "content_charset": "string?",
    "content_languages": "string?",
    "content_truncated": "string?",
    "warc_record_id": "uuid?",
    "warc_filename": "string",
    "warc_record_offset": "int64",
    "warc_record_length": "int64",
    "warc_segment": "string",
    # Those of seekwarc.
    "record_type": "string?",
    "payload_size": "int64?",
    "payload_offset": "int64?",
    "frames": "int32?",
    "seek_table": "string?",
    "refers_to_target_uri": "string?",
    "refers_to_date": "string?",
}
"""Every column in its order, and its type; those with a question mark may be null."""
_FIELDS: Final = {
    "url": "url",
    "content_mime_type": "mime",
    "fetch_status": "status",
    "content_digest": "digest",
    "warc_record_length": "length",
    "warc_record_offset": "offset",
    "warc_filename": "filename",
    "fetch_redirect": "redirect",
    "content_mime_detected": "mime-detected",
    "content_charset": "charset",
    "content_languages": "languages",
    "content_truncated": "truncated",
    "warc_record_id": "recordId",
    "record_type": TYPE_FIELD,
    "payload_size": "payloadSize",
    "payload_offset": "payloadOffset",
    "frames": "frames",
    "seek_table": TABLE_FIELD,
    "refers_to_target_uri": "refersToUri",
    "refers_to_date": "refersToDate",
}
"""Columns, and what a line of CDXJ calls them; the first are as in Common Crawl's own CDXJ."""
READ: Final = tuple(_FIELDS)
"""Columns that a line is made of, besides key and date."""
NEEDED: Final = (KEY, "url", TIME, "warc_filename", "warc_record_offset")
"""Columns that every index must have."""
_URL_COLUMNS: Final = tuple(COLUMNS)[2:17]
"""The columns taken from the URL: its host to its query."""
_NUMBERS: Final = ("warc_record_offset", "warc_record_length", "payload_size", "payload_offset", "frames")
_UUID = re.compile(r"<?urn:uuid:([0-9A-Fa-f]{8}(?:-?[0-9A-Fa-f]{4}){3}-?[0-9A-Fa-f]{12})>?")
_SEGMENT = re.compile(r"(?:\A|/)crawl-data/[^/]+/segments/([^/]+)/")


def schema_of(columns: Mapping[str, str]) -> pa.Schema:
    """Return the Arrow schema of columns; a `?` after the kind of one says that values may be missing."""
    pa = arrow()
    kinds = {
        "string": pa.string(),
        "int16": pa.int16(),
        "int32": pa.int32(),
        "int64": pa.int64(),
        "timestamp": pa.timestamp("ms", tz="UTC"),
        "microseconds": pa.timestamp("us", tz="UTC"),
        "bool": pa.bool_(),
        "uuid": pa.binary(16),
    }
    fields = [pa.field(name, kinds[it.rstrip("?")], it.endswith("?")) for name, it in columns.items()]
    return pa.schema(fields)


def row_of(line: CdxjLine) -> list[object]:
    """Return the values of a line, in the order of `COLUMNS`."""
    fields = {name: as_utf8(text) for name, text in line.fields.items()}
    url = fields.get("url")
    if url is None:
        raise FormatError("this line of the index has no URI")
    values: dict[str, object] = {column: fields.get(field) for column, field in _FIELDS.items()}
    for name in _NUMBERS:
        values[name] = whole_number(fields.get(_FIELDS[name], ""))
    values |= zip(_URL_COLUMNS, _url_values(url), strict=True)
    status = whole_number(fields.get("status", ""))
    digest = fields.get("digest")
    identity = _UUID.fullmatch(fields.get("recordId", ""))
    segment = _SEGMENT.search(line.filename)
    values |= {
        KEY: line.key,
        TIME: line.date.nanoseconds // 10**6,
        "fetch_status": status if status is not None and status < 1 << 15 else UNKNOWN_STATUS,
        "content_digest": digest.removeprefix(SHA1) if digest is not None else None,
        "warc_record_id": UUID(identity[1]).bytes if identity is not None else None,
        "warc_record_offset": line.offset,
        "warc_record_length": line.length or 0,
        "warc_segment": segment[1] if segment is not None else "",
    }
    return [values[name] for name in COLUMNS]


def _url_values(url: str) -> tuple[object, ...]:
    host, protocol, port, path, query = parse_url(url)
    name, labels, *rest = host
    return (name, *labels, *rest, protocol, port, path, query)


def line_of(key: str, timestamp: str, row: Mapping[str, object]) -> CdxjLine:
    """Return a line of CDXJ."""
    fields: dict[str, str] = {}
    for column, value in row.items():
        text = _text(column, value)
        if text is not None:
            fields[_FIELDS[column]] = text
    return CdxjLine(key, timestamp, fields)


def timestamp_at(milliseconds: int) -> str:
    """Return the 14 digits of an instant, which is counted from 1970."""
    return timestamp_of(WarcDate(milliseconds * 10**6, "second", f"{milliseconds} ms after 1970"))


def _text(column: str, value: object) -> str | None:
    if value is None or (column == "fetch_status" and value == UNKNOWN_STATUS):
        return None
    if isinstance(value, bytes):
        return f"urn:uuid:{UUID(bytes=value)}"
    text = str(value)
    # Common Crawl's digests have no label.
    return SHA1 + text if column == "content_digest" and ":" not in text else text
