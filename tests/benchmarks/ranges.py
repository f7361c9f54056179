"""Lines of reads inside one large record."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

import blosc2
import fastwarc
import indexed_gzip
import indexed_zstd
import pyzstd
import rapidgzip
import warcio
import zstandard

import seekwarc
from tests.benchmarks.data import ARRAY_FRAME, KIB, MIB, VIDEO_FRAME, Data, content_of
from tests.benchmarks.limit import bare_reader, place_of_large
from tests.benchmarks.running import Line, Peer, Places, Result, Run, compare, timed_reads

__all__ = ["LINES"]

SLOW = 2
"""Reads of a round of a peer that takes as long for one as others for hundreds."""


Read = Callable[[int, int], bytes]
"""Called with start and length."""


def truth_of(path: Path) -> Read:
    content = content_of(path)
    return lambda start, length: content[start : start + length]


def warm(*paths: Path) -> None:
    """Bring files into the page cache."""
    for path in paths:
        with path.open("rb", buffering=0) as file:
            buffer = bytearray(MIB)
            while file.readinto(buffer):
                pass


def reader_of(stack: ExitStack, path: Path, *, verify: bool = True, **options: int) -> Read:
    archive = stack.enter_context(seekwarc.open(path, **options))
    payload = archive.record_at(*place_of_large(path)).payload
    return lambda start, length: payload.pread(start, length, verify=verify)


def seeking(file: io.IOBase, shift: int = 0) -> Read:
    """Return what reads a range of a file object, in which what is read begins at `shift`."""

    def read(start: int, length: int) -> bytes:
        file.seek(shift + start)
        return file.read(length)

    return read


def limit(read: Read, places: Places, truth: Read, most: float | None = None) -> Peer:
    """Return the bare calls as a peer that we take `most` times as long as; see `tests.benchmarks.limit`."""
    return Peer("the limit: one read, libzstd and XXH64", timed_reads(read, places, truth), most, "times")


def pyzstd_reader(stack: ExitStack, path: Path) -> Read:
    return seeking(stack.enter_context(pyzstd.SeekableZstdFile(str(path))))


def short_unverified(data: Data) -> list[Result]:
    ours, theirs = data.warc(data.text), data.seekable(data.text, MIB)
    warm(ours, theirs)
    places, truth = Places(0, data.size, 4 * KIB, 200), truth_of(data.text)
    with ExitStack() as stack:
        # Without a cache, as pyzstd has none: the decoding is compared.
        mine = timed_reads(reader_of(stack, ours, verify=False, cache_size=0), places, truth)
        peer = timed_reads(pyzstd_reader(stack, theirs), places, truth)
        indexed = stack.enter_context(closing(indexed_zstd.IndexedZstdFile(str(theirs))))
        return compare(
            "random 4 KiB of text, verified by neither",
            mine,
            [
                Peer("pyzstd, same frame size", peer, 1.0),
                Peer("indexed_zstd, same frame size", timed_reads(seeking(indexed), places, truth)),
                limit(bare_reader(stack, ours, verify=False), places, truth),
            ],
        )


def short(data: Data) -> list[Result]:
    ours, theirs, default = data.warc(data.text), data.seekable(data.text, MIB), data.seekable(data.text)
    warm(ours, theirs, default)
    places, truth = Places(0, data.size, 4 * KIB, 200), truth_of(data.text)
    with ExitStack() as stack:
        slow = timed_reads(pyzstd_reader(stack, default), places, truth, count=SLOW)
        return compare(
            "random 4 KiB of text, our defaults, verified by us only",
            timed_reads(reader_of(stack, ours), places, truth),
            [
                Peer(
                    "pyzstd, 1 MiB frames",
                    timed_reads(pyzstd_reader(stack, theirs), places, truth),
                    1.0,
                ),
                Peer("pyzstd, its default frame", slow, 100),
                limit(bare_reader(stack, ours), places, truth),
            ],
            budget=30,
        )


def long(data: Data) -> list[Result]:
    ours, theirs = data.warc(data.text), data.seekable(data.text, MIB)
    warm(ours, theirs)
    places, truth = Places(0, data.size, 16 * MIB, 8), truth_of(data.text)
    with ExitStack() as stack:
        return compare(
            "16 MiB of text, verified by us only",
            timed_reads(reader_of(stack, ours), places, truth),
            [
                Peer(
                    "pyzstd, same frame size",
                    timed_reads(pyzstd_reader(stack, theirs), places, truth),
                    1.8,
                ),
                limit(bare_reader(stack, ours), places, truth),
            ],
        )


def video(data: Data) -> list[Result]:
    ours = data.warc(data.video)
    peers = {
        "pyzstd, 1 MiB frames": (data.seekable(data.video, MIB), 200, 3),
        "pyzstd, our frame size": (data.seekable(data.video, VIDEO_FRAME), 200, 1.0),
        "pyzstd, its default frame": (data.seekable(data.video), SLOW, 500),
    }
    warm(ours, *(path for path, _, _ in peers.values()))
    places, truth = Places(0, data.size, 64 * KIB, 200), truth_of(data.video)
    with ExitStack() as stack:
        return compare(
            "random 64 KiB of video, our defaults, verified by us only",
            timed_reads(reader_of(stack, ours), places, truth),
            [
                *(
                    Peer(name, timed_reads(pyzstd_reader(stack, path), places, truth, count=count), target)
                    for name, (path, count, target) in peers.items()
                ),
                limit(bare_reader(stack, ours), places, truth, 1.5),
            ],
            budget=25,
        )


def cold(data: Data) -> list[Result]:
    """Open the file for each read: the cost of a single look into an archive."""
    ours = data.warc(data.text)
    warm(ours, data.one_frame, data.gzipped)
    place = place_of_large(ours)
    truth = truth_of(data.text)
    places = Places(data.size * 19 // 20, data.size, 64 * KIB, 20)

    def mine(start: int, length: int) -> bytes:
        with seekwarc.open(ours) as archive:
            return archive.record_at(*place).payload.pread(start, length)

    def with_fastwarc(path: Path) -> Run:
        def read(start: int, length: int) -> bytes:
            responses = fastwarc.WarcRecordType.response
            record = next(iter(fastwarc.ArchiveIterator(str(path), record_types=responses, parse_http=True)))
            record.reader.consume(start)
            return record.reader.read(length)

        return timed_reads(read, places, truth, count=1)

    def with_warcio(path: Path) -> Run:
        def read(start: int, length: int) -> bytes:
            with path.open("rb") as file:
                # It reads .warc.zst only through a stream of another library's.
                codec = zstandard.ZstdDecompressor()
                stream = file if path.suffix == ".gz" else codec.stream_reader(file, read_across_frames=True)
                records = warcio.ArchiveIterator(stream)
                payload = next(record for record in records if record.rec_type == "response").raw_stream
                while start:
                    start -= len(payload.read(min(start, MIB)))
                parts = []
                while length:
                    parts.append(payload.read(length))
                    length -= len(parts[-1])
                return b"".join(parts)

        return timed_reads(read, places, truth, count=1)

    with ExitStack() as stack:
        return compare(
            "64 KiB near the payload's end, file opened each time",
            timed_reads(mine, places, truth),
            [
                Peer("FastWARC, .warc.zst", with_fastwarc(data.one_frame), 100),
                Peer("FastWARC, .warc.gz", with_fastwarc(data.gzipped), 100),
                Peer("warcio, .warc.zst", with_warcio(data.one_frame), 300),
                Peer("warcio, .warc.gz", with_warcio(data.gzipped), 300),
                limit(bare_reader(stack, ours, reopen=True), places, truth),
            ],
            budget=35,
        )


def array(data: Data) -> list[Result]:
    ours = data.warc(data.array, ARRAY_FRAME)
    frames = {
        "blosc2, same codec, level and block": data.blosc2_frame(shuffle=False),
        "blosc2, with its shuffle filter": data.blosc2_frame(shuffle=True),
    }
    warm(ours, *frames.values())
    # Whole numbers of values, for blosc2 counts these.
    values = Places(0, data.size // 4, 64 * KIB // 4, 200)
    content = content_of(data.array)

    def truth(start: int, length: int) -> bytes:
        return content[4 * start : 4 * (start + length)]

    def slices(path: Path) -> Run:
        array = blosc2.open(str(path), mode="r", mmap_mode="r")
        return timed_reads(lambda start, length: array.get_slice(start, start + length), values, truth)

    with ExitStack() as stack:
        results = []
        for how, verify in (("verified by us only", True), ("verified by neither", False)):
            read = reader_of(stack, ours, verify=verify, cache_size=0)
            mine = timed_reads(lambda start, length, read=read: read(4 * start, 4 * length), values, truth)
            frames_only = bare_reader(stack, ours, verify=verify)
            bare = partial(lambda read, start, length: read(4 * start, 4 * length), frames_only)
            results += compare(
                f"random 64 KiB of an array, {how}",
                mine,
                [
                    *(Peer(name, slices(path)) for name, path in frames.items()),
                    limit(bare, values, truth),
                ],
                budget=6,
            )
        return results


def inside_gzip(data: Data) -> list[Result]:
    """Compare our reads, once the file is converted, with those inside the .gz member it was.

    We have no index of places inside gzip members: what these tools do with one, a conversion does for good.
    """
    path, converted = data.gzipped, data.warc(data.text)
    warm(path, converted)
    offset, length = place_of_large(path)
    places, truth = Places(0, data.size, 4 * KIB, 50), truth_of(data.text)
    shift = decompressed_start(path, content_of(data.text)[:KIB])
    with ExitStack() as stack:
        archive = stack.enter_context(seekwarc.open(path))
        linear = archive.record_at(offset, length).payload
        indexed = stack.enter_context(
            indexed_gzip.IndexedGzipFile(str(path), index_file=str(data.indexed_gzip_index))
        )
        rapid = stack.enter_context(rapidgzip.open(str(path), parallelization=2))
        rapid.import_index(str(data.rapidgzip_index))
        return compare(
            "random 4 KiB, ours in .warc.zst, theirs in a large .gz member",
            timed_reads(reader_of(stack, converted), places, truth),
            [
                Peer(
                    "indexed_gzip, index ready, a point each MiB",
                    timed_reads(lambda start, length: indexed.pread(length, shift + start), places, truth),
                    1.5,
                ),
                Peer(
                    "rapidgzip, index ready",
                    timed_reads(seeking(rapid, shift), places, truth),
                    1.5,
                ),
                Peer(
                    "ourselves in the .gz member, from its beginning",
                    timed_reads(linear.pread, places, truth, count=1),
                ),
            ],
            budget=15,
        )


def decompressed_start(path: Path, payload: bytes) -> int:
    """Return where the payload begins in all that a .warc.gz decompresses to."""
    with indexed_gzip.IndexedGzipFile(str(path)) as file:
        return file.read(MIB).index(payload)


LINES = (
    Line("4k-unverified", short_unverified),
    Line("4k", short),
    Line("16m", long),
    Line("video", video),
    Line("cold", cold),
    Line("array", array),
    Line("inside-gz", inside_gzip),
)
