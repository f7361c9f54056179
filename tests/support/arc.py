"""An ARC file, as crawlers wrote them before WARC."""

from __future__ import annotations

import gzip

__all__ = ["ARC", "ARC_GZ", "ARC_RECORDS"]

ARC_RECORDS = [
    b"filedesc://old.arc 0.0.0.0 20010101000000 text/plain 69\n1 0 Somebody\n%s\n\n"
    % b"URL IP-address Archive-date Content-type Archive-length",
    b"http://example.org/ 192.0.2.1 20010101000000 text/html 26\nHTTP/1.0 200 OK\r\n\r\n<p>Hi\r\n\n",
    b"http://example.org/a 192.0.2.1 20010101000001 text/html 27\nHTTP/1.0 200 OK\r\n\r\n<p>You\r\n\n",
]
ARC = b"".join(ARC_RECORDS)
ARC_GZ = b"".join(map(gzip.compress, ARC_RECORDS))
"""The same with each record in a gzip member, as .arc.gz has it."""
