"""`warcio` for .warc.zst, .warc.gz and .warc: the same names, with records that are read by range.

from seekwarc.compat.warcio import ArchiveIterator

with open("crawl.warc.zst", "rb") as file:
    for record in ArchiveIterator(file):
        print(record.rec_headers["WARC-Target-URI"], record.content_stream().read())
"""

from __future__ import annotations

from warcio.statusandheaders import StatusAndHeaders

from seekwarc.compat.warcio.archiveiterator import ArchiveIterator, ARCIterator, WARCIterator
from seekwarc.compat.warcio.errors import LoadError
from seekwarc.compat.warcio.installing import install
from seekwarc.compat.warcio.warcwriter import BufferWARCWriter, WARCWriter

__all__ = [
    "ARCIterator",
    "ArchiveIterator",
    "BufferWARCWriter",
    "LoadError",
    "StatusAndHeaders",
    "WARCIterator",
    "WARCWriter",
    "install",
]
