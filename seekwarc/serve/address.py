"""The permanent address of a capture, `/payload?uri=...&date=...`, whatever other files are served."""

from __future__ import annotations

from urllib.parse import quote

from seekwarc.collection.entry import is_listed
from seekwarc.format.cdxj import timestamp_of
from seekwarc.format.dates import WarcDate
from seekwarc.format.uri import as_utf8
from seekwarc.read.record import Record

__all__ = ["address_of", "capture_address"]


def capture_address(uri: str, date: WarcDate) -> str:
    """Return path and query of a capture's address; fractions of a second are dropped."""
    try:
        raw = uri.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        # Half of a surrogate pair, from the JSON of an index.
        raw = as_utf8(uri).encode()
    return f"/payload?uri={quote(raw, safe='')}&date={timestamp_of(date)}"


def address_of(record: Record) -> str | None:
    """Return path and query of a record's address; None unless it is a capture with a URI and a date."""
    date = record.date
    if not is_listed(record) or record.target_uri is None or date is None:
        return None
    return capture_address(record.target_uri, date)
