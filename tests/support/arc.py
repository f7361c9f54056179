"""ARC files, as crawlers wrote them before WARC."""

from __future__ import annotations

import gzip
from collections.abc import Iterable

__all__ = ["ARC", "ARC_GZ", "ARC_RECORDS", "VERSION_1", "VERSION_2", "arc_record", "first_record"]

VERSION_1 = b"1 0 Somebody\nURL IP-address Archive-date Content-type Archive-length\n"
VERSION_2 = (
    b"2 0 Somebody\nURL IP-address Archive-date Content-type Result-code Checksum Location Offset Filename "
    b"Archive-length\n"
)

ARC_RECORDS = [
    b"filedesc://old.arc 0.0.0.0 20010101000000 text/plain 69\n" + VERSION_1 + b"\n",
    b"http://example.org/ 192.0.2.1 20010101000000 text/html 26\nHTTP/1.0 200 OK\r\n\r\n<p>Hi\r\n\n",
    b"http://example.org/a 192.0.2.1 20010101000001 text/html 27\nHTTP/1.0 200 OK\r\n\r\n<p>You\r\n\n",
]
ARC = b"".join(ARC_RECORDS)
ARC_GZ = b"".join(gzip.compress(it, mtime=0) for it in ARC_RECORDS)
"""The same with each record in a gzip member, as .arc.gz has it."""


def arc_record(url: bytes, block: bytes, *between: bytes, gap: bytes = b"\n") -> bytes:
    """Return a record; `between` are the fields between the URL and the length."""
    fields = between or (b"192.0.2.1", b"20010101000000", b"text/html")
    return b" ".join([url, *fields, b"%d" % len(block)]) + b"\n" + block + gap


def first_record(block: bytes = VERSION_1, *, fields: Iterable[bytes] = ()) -> bytes:
    """Return the first record of a file, whose block says how the lines of the others are made."""
    between = (b"0.0.0.0", b"20010101000000", b"text/plain", *fields)
    return arc_record(b"filedesc://old.arc", block, *between)
