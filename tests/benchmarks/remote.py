"""Lines of reads over a network: by a server each of whose answers is late."""

from __future__ import annotations

import mmap
import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import fastwarc
import fsspec
import obstore
import warcio
from obstore.store import HTTPStore

import seekwarc
from tests.benchmarks.data import KIB, MIB, Data
from tests.benchmarks.ranges import place_of_large, truth_of
from tests.benchmarks.running import Line, Peer, Places, Result, UnequalError, compare, timed_reads
from tests.support.rangeserver import RangeServer

__all__ = ["LINES"]

LATENCY = 0.05
"""Seconds."""

WINDOW_LATENCY = 0.02
FILMS = 4
WINDOWS = 64
WINDOW = 100 * KIB

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
        what = f"64 KiB of a record of {data.size // MIB} MiB by HTTP, 50 ms an answer, opened each time"
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


def _serve(path: Path, servers: int, end: Connection) -> None:
    with path.open("rb") as file, ExitStack() as stack:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        # A server takes any bytes that it can cut.
        started: list[RangeServer] = [
            stack.enter_context(RangeServer(data, latency=WINDOW_LATENCY))  # type: ignore[arg-type]
            for _ in range(servers)
        ]
        end.send([it.root for it in started])
        while end.recv():
            end.send(sum(asked.sent for it in started for asked in it.asked))
            for it in started:
                it.forget()


@contextmanager
def served_apart(path: Path, servers: int) -> Iterator[tuple[Sequence[str], Callable[[], int]]]:
    """Serve a file in a process of its own; yield the roots, and how many bytes were sent since."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(path, servers, there), daemon=True)
    process.start()

    def sent() -> int:
        here.send(True)
        count: int = here.recv()
        return count

    try:
        yield here.recv(), sent
    finally:
        here.send(False)
        process.join()


def windows_of_films(data: Data) -> list[Result]:
    """Read what a data loader reads: windows of several films, beside the same ranges without any check."""
    path, truth = data.warc(data.video), truth_of(data.video)
    offset, length = place_of_large(path)
    with seekwarc.open(path) as archive:
        payload = archive.record_at(offset, length).payload
        shift = payload.plan(0, 1).ranges[0][0]
    places = Places(0, data.size - MIB, WINDOW, WINDOWS)

    with served_apart(path, FILMS) as (roots, sent), ThreadPoolExecutor(FILMS) as pool:
        stores = [HTTPStore.from_url(root, client_options={"allow_http": True}) for root in roots]

        def with_seekwarc(starts: Sequence[int]) -> Sequence[bytes | Exception]:
            rows = [
                (f"{roots[number % FILMS]}/film.warc.zst", offset, length, start, start + WINDOW)
                for number, start in enumerate(starts)
            ]
            return list(seekwarc.gather(rows))

        def with_obstore(starts: Sequence[int]) -> None:
            def of_film(number: int) -> None:
                wanted = [shift + start for start in starts[number::FILMS]]
                obstore.get_ranges(
                    stores[number], "film.warc.zst", starts=wanted, lengths=[WINDOW] * len(wanted)
                )

            list(pool.map(of_film, range(FILMS)))

        def ours(number: int) -> float:
            starts = places.starts(number)
            begin = time.perf_counter()
            found = with_seekwarc(starts)
            seconds = time.perf_counter() - begin
            if found != [truth(start, WINDOW) for start in starts]:
                raise UnequalError("the windows are not those of the data")
            return seconds / WINDOWS

        def theirs(number: int) -> float:
            begin = time.perf_counter()
            with_obstore(places.starts(number))
            return (time.perf_counter() - begin) / WINDOWS

        what = f"{WINDOWS} windows of 100 KiB in {FILMS} films by HTTP, 20 ms an answer"
        results = compare(what, ours, [Peer("obstore, get_ranges, unchecked", theirs, 0.8)])
        sent()
        with_seekwarc(places.starts(0))
        taken = sent() / (WINDOWS * WINDOW)
        return [*results, Result(f"{what}: bytes fetched", "the bytes asked for", (taken,), 1.6, "times")]


LINES = (Line("remote", range_of_record), Line("windows", windows_of_films))
