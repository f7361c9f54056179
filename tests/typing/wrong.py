"""Calls that a type checker must refuse, each on a line that says so."""

from __future__ import annotations

import seekwarc

with seekwarc.open("a.warc.zst") as archive:
    archive.record_at(1.5)  # refused
    for record in archive:
        record.payload.read("everything")  # refused
        print(record.http["Content-Type"])  # refused: there may be no HTTP head
        print(record.date.year)  # refused: there may be no date
        length: str = record.payload.size  # refused

with seekwarc.open("b.warc.zst", "w") as writer:
    writer.write_response(1, b"")  # refused
    writer.write("resource", block=3)  # refused

seekwarc.open("c.warc.zst", "x")  # refused
