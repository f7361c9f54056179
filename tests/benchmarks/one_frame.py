"""Lines of reads inside a film that is one frame of a .warc.zst, as others write it, beside bare `pread`."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

import zstandard

import seekwarc
from tests.benchmarks.data import KIB, LEVEL, MIB, Data
from tests.benchmarks.limit import place_of_large
from tests.benchmarks.ranges import Read, reader_of, truth_of, warm
from tests.benchmarks.running import Line, Peer, Places, Result, compare, timed_reads

__all__ = ["LINES"]

FIRST = 8 * MIB
"""Reads that begin earlier may go on where the record's header ended, and are then decompressed."""


def one_frame_film(data: Data) -> Path:
    """Return the film as others write it: a frame for each record."""
    path = data.folder / "video-one-frame.warc.zst"
    if not path.exists():
        with path.open("wb") as file, seekwarc.open(data.warc(data.video)) as archive:
            for record in archive:
                with record.whole.open() as source:
                    codec = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
                    codec.copy_stream(source, file, size=record.whole.size, read_size=MIB)
    return path


def bare(stack: ExitStack, path: Path) -> Read:
    descriptor = os.open(path, os.O_RDONLY)
    stack.callback(os.close, descriptor)
    return lambda start, length: os.pread(descriptor, length, start)


def compared(data: Data, what: str, count: int, *, again: bool, target: float | None) -> list[Result]:
    path = one_frame_film(data)
    warm(path, data.video)
    places, truth = Places(FIRST, data.size, 64 * KIB, count), truth_of(data.video)
    place = place_of_large(path)

    def opened(start: int, length: int) -> bytes:
        with seekwarc.open(path) as archive:
            return archive.record_at(*place).payload.pread(start, length)

    with ExitStack() as stack:
        ours = opened if again else reader_of(stack, path)
        peer = timed_reads(bare(stack, data.video), places, truth)
        peers = [Peer("pread of the film itself", peer, target, "times")]
        return compare(what, timed_reads(ours, places, truth), peers)


def film(data: Data) -> list[Result]:
    return compared(data, "random 64 KiB of a film in one frame, not verified", 200, again=False, target=2.0)


def film_opened(data: Data) -> list[Result]:
    return compared(data, "the same, opened each time: blocks are found first", 5, again=True, target=None)


LINES = (Line("one-frame", film), Line("one-frame-opened", film_opened))
