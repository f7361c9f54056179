"""Lines of reads over a network: a server in this process, each of whose answers is late."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import fastwarc
import fsspec
import warcio

import seekwarc
from tests.benchmarks.data import KIB, MIB, Data
from tests.benchmarks.ranges import place_of_large, truth_of
from tests.benchmarks.running import Line, Peer, Places, Result, compare, timed_reads
from tests.support.rangeserver import RangeServer

__all__ = ["LINES"]

LATENCY = 0.05
"""Seconds."""

Read = Callable[[int, int], bytes]


def passing(file: Any, start: int, length: int) -> bytes:
    """Read on to a place and what is there."""
    while start:
        start -= len(file.read(min(start, MIB)))
    found = b""
    while len(found) < length:
        found += file.read(length - len(found))
    return found


def range_of_record(data: Data) -> list[Result]:
    """Open the file, go to the record, read 64 KiB; what each tool fetched for it is compared too."""
    places = Places(data.size // 2, data.size // 2 + 16 * MIB, 64 * KIB, 1)
    truth = truth_of(data.text)
    with ExitStack() as stack:

        def served(path: Path) -> RangeServer:
            return stack.enter_context(RangeServer(path.read_bytes(), latency=LATENCY))

        ours, gzipped, one_frame = map(served, (data.warc(data.text), data.gzipped, data.one_frame))
        offset, length = place_of_large(data.warc(data.text))
        gzip_offset, _ = place_of_large(data.gzipped)
        frame_offset, _ = place_of_large(data.one_frame)

        def with_seekwarc(start: int, count: int) -> bytes:
            with seekwarc.open(ours.url) as archive:
                return archive.record_at(offset, length).payload.pread(start, count)

        def with_fastwarc(server: RangeServer, at: int) -> Read:
            def read(start: int, count: int) -> bytes:
                with fsspec.open(server.url, "rb") as file:
                    file.seek(at)
                    record = next(iter(fastwarc.ArchiveIterator(file, parse_http=True)))
                    record.reader.consume(start)
                    return record.reader.read(count)

            return read

        def with_warcio(start: int, count: int) -> bytes:
            with fsspec.open(gzipped.url, "rb") as file:
                file.seek(gzip_offset)
                record = next(iter(warcio.ArchiveIterator(file)))
                return passing(record.content_stream(), start, count)

        peers: list[tuple[str, RangeServer, Read]] = [
            ("fsspec and FastWARC, .warc.zst", one_frame, with_fastwarc(one_frame, frame_offset)),
            ("fsspec and FastWARC, .warc.gz", gzipped, with_fastwarc(gzipped, gzip_offset)),
            ("fsspec and warcio, .warc.gz", gzipped, with_warcio),
        ]
        what = "64 KiB of a 1 GiB record by HTTP, 50 ms an answer, opened each time"
        results = compare(
            what,
            timed_reads(with_seekwarc, places, truth),
            [Peer(name, timed_reads(read, places, truth)) for name, _, read in peers],
            budget=12,
            least=2,
        )
        mine = fetched(ours, with_seekwarc, places)
        return results + [
            Result("the same: bytes fetched", name, (fetched(server, read, places) / mine,))
            for name, server, read in peers
        ]


def fetched(server: RangeServer, read: Read, places: Places) -> int:
    """Return the bytes that a server sent for one read."""
    server.forget()
    read(*places.starts(0), places.length)
    return sum(asked.sent for asked in server.asked)


LINES = (Line("remote", range_of_record),)
