"""Calls that a type checker must refuse, each on a line that says so."""

from __future__ import annotations

from pathlib import Path

import seekwarc
import seekwarc.tools

with seekwarc.open("a.warc.zst") as archive:
    archive.record_at(1.5)  # refused
    for record in archive:
        record.payload.read("everything")  # refused
        print(record.http["Content-Type"])  # refused: there may be no HTTP head
        print(record.date.year)  # refused: there may be no date
        length: str = record.payload.size  # refused

with seekwarc.open("b.warc.zst", "w") as writer:
    writer.write_response("http://example.org/", 1)  # refused
    writer.write("resource", block=3)  # refused

seekwarc.open("c.warc.zst", "x")  # refused


def misspelt(path: Path) -> None:
    """Options that nothing takes, and values of a wrong type."""
    seekwarc.open(path, cache=1)  # refused
    seekwarc.open(path, "w", frame_sizes=1 << 20)  # refused
    seekwarc.open(path, "w", tables="some")  # refused
    seekwarc.Collection([path], thread=1)  # refused
    seekwarc.Index(path, max_window="1M")  # refused
    seekwarc.AsyncReader(path, stric=True)  # refused
    seekwarc.AsyncWriter(path, level="high")  # refused
    seekwarc.tools.convert(path, path, levels=9)  # refused
    seekwarc.tools.verify(path, threads=2)  # refused
    seekwarc.RangeSources()  # refused
