"""Lines of whole files: iterated, written and converted."""

from __future__ import annotations

import subprocess
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from shutil import which

import fastwarc
import warcio
import zstandard

import seekwarc
from seekwarc.frames.encoder import DEFAULT_SMALL_LEVEL
from tests.benchmarks.data import LARGE_RECORDS, LEVEL, MIB, SMALL_RECORDS, Data, write_seekable
from tests.benchmarks.ranges import warm
from tests.benchmarks.running import Line, Peer, Result, Run, compare, timed

__all__ = ["LINES"]

RESPONSE = fastwarc.WarcRecordType.response
WACZ_FILES = 8
Seen = tuple[object, ...]
"""What was read of a record."""


def our_headers(path: Path) -> Iterator[Seen]:
    with seekwarc.open(path) as archive:
        for record in archive:
            yield record.type == "response", record.target_uri, record.headers.content_length


def fastwarc_headers(path: Path) -> Iterator[Seen]:
    for record in fastwarc.ArchiveIterator(str(path), parse_http=False):
        yield record.record_type == RESPONSE, record.headers["WARC-Target-URI"], record.content_length


def warcio_headers(path: Path) -> Iterator[Seen]:
    with path.open("rb") as file:
        for record in warcio.ArchiveIterator(file, no_record_parse=True):
            yield (
                record.rec_type == "response",
                record.rec_headers.get_header("WARC-Target-URI"),
                int(record.rec_headers.get_header("Content-Length")),
            )


def our_bodies(path: Path) -> Iterator[Seen]:
    with seekwarc.open(path) as archive:
        for record in archive:
            yield record.target_uri, record.http.status, record.payload.read()


def fastwarc_bodies(path: Path) -> Iterator[Seen]:
    for record in fastwarc.ArchiveIterator(str(path), parse_http=True):
        yield record.headers["WARC-Target-URI"], record.http_headers.status_code, record.reader.read()


def warcio_bodies(path: Path) -> Iterator[Seen]:
    with path.open("rb") as file:
        for record in warcio.ArchiveIterator(file):
            yield (
                record.rec_headers.get_header("WARC-Target-URI"),
                int(record.http_headers.get_statuscode()),
                record.content_stream().read(),
            )


def timed_iteration(look: Callable[[Path], Iterator[Seen]], path: Path, count: int = SMALL_RECORDS) -> Run:
    """Return a run that iterates over all records, after a check that it finds what `our_` functions find."""
    return timed(lambda: sum(1 for _ in look(path)), count)


def same(*all_seen: Iterable[Seen]) -> None:
    sums = {zlib.crc32(repr(list(seen)).encode()) for seen in all_seen}
    assert len(sums) == 1, "what was found in the records differs"


def iterate_zst(data: Data) -> list[Result]:
    path = data.small
    warm(path)
    same(our_headers(path), fastwarc_headers(path))
    same(our_bodies(path), fastwarc_bodies(path))
    return [
        *compare(
            "30,000 small records of a .warc.zst, headers",
            timed_iteration(our_headers, path),
            [Peer("FastWARC", timed_iteration(fastwarc_headers, path), 2.0)],
            least=7,
            processor=True,
        ),
        *compare(
            "30,000 of a .warc.zst, HTTP parsed and bodies read",
            timed_iteration(our_bodies, path),
            [Peer("FastWARC", timed_iteration(fastwarc_bodies, path), 1.6)],
            least=7,
            processor=True,
        ),
    ]


def iterate_large(data: Data) -> list[Result]:
    """Skip large records: by scanning, since no table is trusted about where a record ends."""
    path = data.films
    warm(path)
    same(our_headers(path), fastwarc_headers(path))
    return compare(
        f"{LARGE_RECORDS} large records of a .warc.zst, headers",
        timed_iteration(our_headers, path, LARGE_RECORDS),
        [Peer("FastWARC", timed_iteration(fastwarc_headers, path, LARGE_RECORDS), 10)],
        least=3,
    )


def list_large(data: Data) -> list[Result]:
    """List the same with a command: offset, type and URI of each."""
    path = data.films
    warm(path)
    beside = Path(sys.executable).parent
    fields = ["-f", "offset,warc-type,warc-target-uri"]

    def lines_of(*command: object) -> Callable[[], int]:
        return lambda: subprocess.run(command, check=True, capture_output=True).stdout.count(b"\n")

    return compare(
        f"listing {LARGE_RECORDS} large records, whole process",
        timed(lines_of(sys.executable, "-m", "seekwarc", "ls", "--json", path), LARGE_RECORDS),
        [
            Peer(
                "fastwarc index",
                timed(lines_of(beside / "fastwarc", "index", *fields, path), LARGE_RECORDS),
                2,
            )
        ],
        least=3,
    )


def iterate_gz(data: Data) -> list[Result]:
    path = data.small_gz
    warm(path)
    same(our_headers(path), fastwarc_headers(path), warcio_headers(path))
    same(our_bodies(path), fastwarc_bodies(path), warcio_bodies(path))
    return [
        *compare(
            "30,000 small records of a .warc.gz, headers",
            timed_iteration(our_headers, path),
            [
                Peer("FastWARC", timed_iteration(fastwarc_headers, path), 1.0),
                Peer("warcio", timed_iteration(warcio_headers, path), 4),
            ],
            budget=16,
            least=7,
            processor=True,
        ),
        *compare(
            "30,000 of a .warc.gz, HTTP parsed and bodies read",
            timed_iteration(our_bodies, path),
            [
                Peer("FastWARC", timed_iteration(fastwarc_bodies, path), 0.9),
                Peer("warcio", timed_iteration(warcio_bodies, path), 3.5),
            ],
            budget=16,
            least=7,
            processor=True,
        ),
    ]


def write(data: Data) -> list[Result]:
    """Write the text: what comes out of each must decompress to as many bytes (the sum is in every frame)."""
    out, zst = data.folder / "out.warc.zst", data.folder / "out.zst"
    warm(data.text)

    def ours(**options: object) -> None:
        with (
            data.text.open("rb") as file,
            seekwarc.open(out, "w", level=LEVEL, threads=2, existing="overwrite", **options) as archive,
        ):
            archive.write("resource", target_uri="http://example.org/", block=file)

    def command() -> None:
        subprocess.run(["zstd", "-T2", f"-{LEVEL}", "-q", "-f", data.text, "-o", zst], check=True)

    results = compare(
        "writing text at level 3, with record and digest",
        timed(ours),
        [
            Peer("zstd -T2 -3", timed(command), 1.0),
            Peer(
                "pyzstd, 1 MiB frames, 2 threads",
                timed(lambda: write_seekable(data.text, zst, MIB)),
                1.7,
            ),
            Peer(
                "pyzstd, its default frame, 2 threads",
                timed(lambda: write_seekable(data.text, zst)),
                1.7,
            ),
        ],
        budget=80,
        least=3,
    )
    with data.text.open("rb") as file, seekwarc.open(out) as archive:
        (record,) = (record for record in archive if record.type == "resource")
        with record.block.open() as block:
            while piece := block.read(MIB):
                assert piece == file.read(len(piece)), "what was written differs"
    out.unlink()
    zst.unlink()
    return results


def write_video(data: Data) -> list[Result]:
    """Write what does not compress, from a file, as `--size` says: what is written is counted, too."""
    out, zst = data.folder / "out.warc.zst", data.folder / "out.zst"
    warm(data.video)
    written: list[float] = []

    def ours() -> None:
        before = bytes_to_disk()
        with (
            data.video.open("rb") as file,
            seekwarc.open(out, "w", level=LEVEL, threads=2, existing="overwrite") as archive,
        ):
            archive.write_resource("http://example.org/film.mp4", file, "video/mp4")
        written.append((bytes_to_disk() - before) / out.stat().st_size)

    def command() -> None:
        subprocess.run(["zstd", "-T2", f"-{LEVEL}", "-q", "-f", data.video, "-o", zst], check=True)

    results = compare(
        "writing video at level 3, with record and digest",
        timed(ours),
        [Peer("zstd -T2 -3", timed(command), 1.5)],
        budget=60,
        least=3,
    )
    with seekwarc.open(out) as archive:
        (record,) = archive
        assert record.content_length == data.size
        assert [it.verdict for it in record.check_digests()] == ["valid"]
    out.unlink()
    zst.unlink()
    return [*results, Result("bytes written for that", "the size of the file", tuple(written), 1.01, "times")]


def bytes_to_disk() -> int:
    """Bytes that this process has caused to be written to a disk, temporary files included."""
    facts = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(facts["write_bytes"])


def size(data: Data) -> list[Result]:
    stored = data.warc(data.text).stat().st_size
    with data.text.open("rb") as file, (data.folder / "out.zst").open("wb") as out:
        codec = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
        codec.copy_stream(file, out, size=data.size)
        one = out.tell()
    (data.folder / "out.zst").unlink()
    return [Result("size of that file", "one frame, same level", (stored / one,), 1.03, "times")]


def convert(data: Data) -> list[Result]:
    out, zst = data.folder / "out.warc.zst", data.folder / "out.zst"
    source = data.crawl
    warm(source)

    def command(*options: str) -> Callable[[], None]:
        line = [sys.executable, "-m", "seekwarc", "convert", "--force", source, out, *options]
        return lambda: subprocess.run(line, check=True, capture_output=True) and None

    def piped(level: int) -> Callable[[], None]:
        line = f"zcat '{source}' | zstd -T2 -{level} -q -f -o '{zst}'"
        return lambda: subprocess.run(["bash", "-o", "pipefail", "-c", line], check=True) and None

    pipe = Peer(f"zcat | zstd -T2 -{LEVEL}", timed(piped(LEVEL)), 0.9)
    # The level of small records, which these are.
    same_level = Peer(f"zcat | zstd -T2 -{DEFAULT_SMALL_LEVEL}", timed(piped(DEFAULT_SMALL_LEVEL)), 0.9)
    results = compare(
        "converting a .warc.gz, result not compared",
        timed(command("--no-verify")),
        [pipe, same_level],
        budget=40,
        least=3,
    )
    results += compare(
        "converting a .warc.gz, result compared (our default)",
        timed(command()),
        [pipe._replace(target=None), same_level._replace(target=None)],
        budget=30,
        least=2,
    )
    same(contents(source), contents(out))
    out.unlink()
    zst.unlink()
    return results


def make_wacz(data: Data) -> list[Result]:
    """Make a WACZ of .warc.gz files, beside copying and hashing them, and py-wacz, if that is in PATH."""
    out, theirs, copies = data.folder / "out.wacz", data.folder / "theirs.wacz", data.folder / "copies"
    copies.mkdir(exist_ok=True)
    sources = [data.folder / f"crawl-{number}.warc.gz" for number in range(WACZ_FILES)]
    for source in sources:
        source.unlink(missing_ok=True)
        source.hardlink_to(data.crawl)
    warm(*sources)

    def run(*line: object) -> Callable[[], None]:
        return lambda: subprocess.run([*map(str, line)], check=True, capture_output=True) and None

    def copied() -> None:
        run("cp", *sources, copies)()
        run("sha256sum", *copies.iterdir())()

    peers = [Peer("cp, then sha256sum", timed(copied), 1 / 1.5)]
    if which("wacz") is not None:
        line = run("wacz", "create", "--detect-pages", "-o", theirs, *sources)
        peers.append(Peer("py-wacz", timed(lambda: (theirs.unlink(missing_ok=True), line())[1]), 1.0))
    ours = run(sys.executable, "-m", "seekwarc", "wacz", "create", "--force", *sources, "-o", out)
    results = compare(f"making a WACZ of {WACZ_FILES} .warc.gz files", timed(ours), peers, budget=40, least=2)
    for path in (out, theirs, *sources, *copies.iterdir()):
        path.unlink(missing_ok=True)
    return results


def contents(path: Path) -> Iterator[Seen]:
    with seekwarc.open(path) as archive:
        for record in archive:
            yield record.id, zlib.crc32(record.whole.read())


LINES = (
    Line("iterate-zst", iterate_zst),
    Line("iterate-gz", iterate_gz),
    Line("iterate-large", iterate_large),
    Line("ls-large", list_large),
    Line("write", write),
    Line("write-video", write_video),
    Line("size", size),
    Line("convert", convert),
    Line("wacz", make_wacz),
)
