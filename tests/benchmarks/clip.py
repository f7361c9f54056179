"""Ten seconds out of the middle of an archived film: what they cost, beside what else cuts films.

ffmpeg alone needs the film as a file of its own; with FastWARC, that file is made first, for each film anew.
"""

from __future__ import annotations

import io
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import seekwarc
from tests.benchmarks.scale import MIB, Figure, as_scale_table
from tests.support.rangeserver import RangeServer

__all__ = ["as_clip_table", "measure"]

LENGTH = 10
ROUNDS = 3
LOOP = 60
"""Seconds after which the film repeats: encoding all of it would take an hour."""
URI = "http://example.org/film.mp4"

as_clip_table = as_scale_table


def measure(folder: Path, size: int) -> Iterator[Figure]:
    """Measure with a film of `size` MiB."""
    film, archive = folder / f"clip-{size}.mp4", folder / f"clip-{size}.warc.zst"
    if not archive.exists():
        _make(film, archive, size)
    start = _duration(film) / 2 + 0.3
    stop = start + LENGTH
    with seekwarc.open(archive) as opened:
        record = next(opened.records(type="response"))
        offset, length = record.offset, record.length
    yield Figure("the record", length / MIB, "MiB")

    target = folder / "cut.mp4"
    place, times = (offset, length), (start, stop)
    done, seconds, fetched, _ = _ours(archive, place, times, target)
    yield Figure("`seekwarc.clip`, .warc.zst on disk", seconds, "s")
    yield Figure("the clip", done.size / MIB, "MiB")
    yield Figure("read for it", fetched / MIB, "MiB")
    yield Figure("read beside the clip itself", (fetched - done.size) / MIB, "MiB")
    with RangeServer(archive.read_bytes()) as server:
        _, seconds, fetched, requests = _ours(server.url, place, times, target)
    yield Figure("`seekwarc.clip`, over HTTP on this machine", seconds, "s")
    yield Figure("requests of that", requests, "requests")
    yield Figure("read for it", fetched / MIB, "MiB")

    cut = ["ffmpeg", "-v", "error", "-y", "-ss", str(start), "-t", str(LENGTH)]
    copy = ["-c", "copy", str(folder / "ffmpeg.mp4")]
    yield Figure(
        "`ffmpeg -ss -c copy`, of the film as a file", _best(lambda: _run([*cut, "-i", film, *copy])), "s"
    )
    exported = folder / "exported.mp4"

    def with_fastwarc() -> None:
        from fastwarc.warc import ArchiveIterator, WarcRecordType  # noqa: PLC0415

        with open(archive, "rb") as file, open(exported, "wb") as out:
            for found in ArchiveIterator(file, record_types=WarcRecordType.response):
                while piece := found.reader.read(1 << 20):
                    out.write(piece)
        _run([*cut, "-i", exported, *copy])

    yield Figure("FastWARC and `ffmpeg`", _best(with_fastwarc, rounds=1), "s")
    yield Figure("read for it", os.path.getsize(archive) / MIB, "MiB")
    exported.unlink()


def _ours(
    target: Path | str, place: tuple[int, int], times: tuple[float, float], cut: Path
) -> tuple[seekwarc.Clip, float, int, int]:
    """Cut with an archive that was just opened; return the clip, and the best time and its cost."""
    best: tuple[seekwarc.Clip, float, int, int] | None = None
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        with seekwarc.open(target) as opened:
            payload = opened.record_at(*place).payload
            done = seekwarc.clip(payload, *times, cut, existing="overwrite")
            stats = opened.stats
        seconds = time.perf_counter() - begin
        if best is None or seconds < best[1]:
            best = done, seconds, stats.bytes_fetched, stats.requests
    assert best is not None
    return best


def _best(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def _run(command: list[object]) -> str:
    return subprocess.run([*map(str, command)], check=True, capture_output=True, text=True).stdout


def _duration(film: Path) -> float:
    return float(_run(["ffprobe", "-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", film]))


def _make(film: Path, archive: Path, size: int) -> None:
    """Encode a minute of 1280x720 with sound, repeat it up to `size` MiB, and archive it."""
    loop = film.with_suffix(".loop.mp4")
    picture = "testsrc2=size=1280x720:rate=25,noise=alls=8:allf=t"
    sources = ["-f", "lavfi", "-i", picture, "-f", "lavfi", "-i", "sine=frequency=300:sample_rate=48000"]
    codecs = ["-c:v", "libx264", "-preset", "ultrafast", "-b:v", "2400k", "-maxrate", "3M", "-bufsize", "3M"]
    more = ["-g", "50", "-pix_fmt", "yuv420p", "-c:a", "aac"]
    _run(["ffmpeg", "-v", "error", "-y", *sources, "-t", LOOP, *codecs, *more, loop])
    repeated = ["-stream_loop", "-1", "-i", loop, "-c", "copy", "-fs", size * MIB]
    _run(["ffmpeg", "-v", "error", "-y", *repeated, "-movflags", "+faststart", film])
    loop.unlink()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n"
    with seekwarc.open(archive, "w", existing="overwrite") as out, open(film, "rb") as file:
        block = io.BufferedReader(_Joined(head, file))
        out.write_response(URI, block)


class _Joined(io.RawIOBase):
    def __init__(self, head: bytes, file: io.BufferedReader) -> None:
        self._parts: list[io.BufferedIOBase] = [io.BytesIO(head), file]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:
        for part in self._parts:
            if count := part.readinto(buffer):
                return count
        return 0
