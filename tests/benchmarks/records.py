"""Lines of work on many small records: written, read by offset and through a CDXJ; whole files by commands.

Commands are measured as processes, from start to end.
"""

from __future__ import annotations

import io
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import fastwarc
from fastwarc.stream_io import GzipWriter, ZstdWriter
from warcio.archiveiterator import ArchiveIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

import seekwarc
from tests.benchmarks.data import LEVEL, PAGES, Data
from tests.benchmarks.ranges import warm
from tests.benchmarks.running import Line, Peer, Result, Run, UnequalError, compare, timed

__all__ = ["LINES"]

BIN = Path(sys.executable).parent
FIELDS = [("Content-Type", "text/html")]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
LOOKUPS = 2_000
Pages = Sequence[tuple[str, bytes]]


def ours_written(path: Path, pages: Pages) -> None:
    with seekwarc.open(path, "w", level=LEVEL, existing="overwrite") as out:
        for uri, body in pages:
            out.write_response(uri, body, status=200, http_headers=FIELDS)


def fastwarc_written(path: Path, pages: Pages, *, apart: bool = False) -> None:
    """Write one frame or member of all records, which readers enter only at its beginning; or one of each."""
    with path.open("wb") as file:
        stream = (GzipWriter if path.suffix == ".gz" else ZstdWriter)(file)
        for uri, body in pages:
            record = fastwarc.WarcRecord()
            record.init_headers(record_type=fastwarc.WarcRecordType.response)
            record.headers["WARC-Target-URI"] = uri
            record.headers["Content-Type"] = "application/http; msgtype=response"
            record.is_http = True
            record.set_bytes_content(HEAD + body)
            record.write(stream, checksum_data=True)
            if apart:
                stream.finish()
        stream.close()


def warcio_written(path: Path, pages: Pages) -> None:
    with path.open("wb") as file:
        out = WARCWriter(file, gzip=True)
        for uri, body in pages:
            head = StatusAndHeaders("200 OK", FIELDS, protocol="HTTP/1.1")
            out.write_record(
                out.create_warc_record(uri, "response", payload=io.BytesIO(body), http_headers=head)
            )


def write(data: Data) -> list[Result]:
    results: list[Result] = []
    out = data.folder / "out.warc"
    for name in PAGES:
        pages = data.pages(name)
        for kind in ("zst", "gz"):
            path = out.with_suffix(f".warc.{kind}")
            apart = timed(partial(fastwarc_written, path, pages, apart=True))
            peers = [
                Peer("FastWARC, one frame of all", timed(partial(fastwarc_written, path, pages)), 1.0),
                Peer("FastWARC, a frame a record", apart, 1.0),
            ]
            if kind == "gz":
                peers.append(Peer("warcio", timed(partial(warcio_written, path, pages)), 1.0))
            what = f"writing {len(pages):,} responses of {name}, .warc.{kind}"
            results += compare(
                what, timed(partial(ours_written, path, pages)), peers, least=7, processor=True
            )
            path.unlink()
    return results


def command(*line: object) -> Run:
    def run() -> None:
        subprocess.run([str(part) for part in line], check=True, capture_output=True)

    return timed(run)


def commands(
    verb: str, ours: Sequence[object], peers: Callable[[Path, Path], dict[str, Sequence[object]]], data: Data
) -> list[Result]:
    """Compare a command with those of others, for both sizes and kinds; `OUT` stands for a new file."""
    results: list[Result] = []
    for name, (_, count) in PAGES.items():
        for kind in ("zst", "gz"):
            path = data.paged(name, kind)
            out = data.folder / "out.warc.zst"
            warm(path)
            mine = [path if part == "FILE" else out if part == "OUT" else part for part in ours]
            others = [
                Peer(peer, command(BIN / line[0], *line[1:]), 1.0) for peer, line in peers(path, out).items()
            ]
            what = f"`{verb}`, {count:,} responses of {name}, .warc.{kind}"
            results += compare(what, command(BIN / "seekwarc", *mine), others, least=2, processor=True)
            out.unlink(missing_ok=True)
    return results


def verify(data: Data) -> list[Result]:
    def peers(path: Path, _: Path) -> dict[str, Sequence[object]]:
        found: dict[str, Sequence[object]] = {"fastwarc check -p": ("fastwarc", "check", "-q", "-p", path)}
        return found | ({"warcio check": ("warcio", "check", path)} if path.suffix == ".gz" else {})

    return commands("verify", ("verify", "FILE"), peers, data)


def index(data: Data) -> list[Result]:
    def peers(path: Path, _: Path) -> dict[str, Sequence[object]]:
        found: dict[str, Sequence[object]] = {
            "fastwarc index (offsets)": ("fastwarc", "index", "-o", path.with_suffix(".offsets"), path)
        }
        if path.suffix == ".gz":
            found["cdxj-indexer"] = ("cdxj-indexer", "-s", path)
            found["warcio index (offsets)"] = ("warcio", "index", path)
        return found

    return commands("index", ("index", "FILE"), peers, data)


def convert(data: Data) -> list[Result]:
    def peers(path: Path, out: Path) -> dict[str, Sequence[object]]:
        recompress = ("fastwarc", "recompress", "-q", "-c", "zstd", path, out)
        found: dict[str, Sequence[object]] = {"fastwarc recompress": recompress}
        if path.suffix == ".gz":
            found["warcio recompress (to .gz)"] = ("warcio", "recompress", path, out.with_suffix(".gz"))
        return found

    return commands("convert", ("convert", "--force", "FILE", "OUT"), peers, data)


def without_peers(verb: str, data: Data, *ours: object) -> list[Result]:
    """Compare a command that others do not have with a conversion that is not compared."""
    convert = (BIN / "seekwarc", "convert", "--force", "--no-verify")

    def peers(path: Path, out: Path) -> dict[str, Sequence[object]]:
        return {"`convert --no-verify` of the same": (*convert, path, out)}

    return [replace(result, target=None) for result in commands(verb, ours, peers, data)]


def recover(data: Data) -> list[Result]:
    return without_peers("recover", data, "recover", "--force", "FILE", "OUT")


def concat(data: Data) -> list[Result]:
    return without_peers("concat", data, "concat", "--force", "FILE", "-o", "OUT")


def filter_half(data: Data) -> list[Result]:
    """Copy every second record, beside programs that decompress all and compress the half again, and `cp`."""
    results: list[Result] = []
    for name in PAGES:
        paths = {kind: data.paged(name, kind) for kind in ("zst", "gz")}
        uris = [uri for uri, _ in data.pages(name)][::2]
        listed, out = data.folder / "half.txt", data.folder / "half.warc.zst"
        listed.write_text("\n".join(uris))
        ours = command(BIN / "seekwarc", "filter", paths["zst"], "--uris", listed, "--force", "-o", out)
        ours(0)
        theirs, wanted = out.with_suffix(".theirs"), set(uris)
        peers = [
            Peer("FastWARC", timed(partial(fastwarc_half, paths["zst"], theirs, wanted)), 5.0),
            Peer("warcio (.gz)", timed(partial(warcio_half, paths["gz"], theirs, wanted)), 5.0),
            Peer("cp of the half", command("cp", out, out.with_suffix(".copy")), 1 / 1.3),
        ]
        warm(*paths.values())
        results += compare(f"`filter`, half of {2 * len(uris):,} responses of {name}", ours, peers, least=2)
    return results


def fastwarc_half(path: Path, out: Path, uris: set[str]) -> None:
    with path.open("rb") as file, out.open("wb") as target:
        stream = ZstdWriter(target)
        for record in fastwarc.ArchiveIterator(file, parse_http=False):
            if record.headers.get("WARC-Target-URI") in uris:
                record.write(stream)
        stream.close()


def warcio_half(path: Path, out: Path, uris: set[str]) -> None:
    with path.open("rb") as file, out.open("wb") as target:
        writer = WARCWriter(target, gzip=True)
        for record in ArchiveIterator(file):
            if record.rec_headers.get_header("WARC-Target-URI") in uris:
                writer.write_record(record)


def ls(data: Data) -> list[Result]:
    return without_peers("ls", data, "ls", "FILE")


Place = tuple[int, int, str]
"""Offset, length and URI of a record."""


def timed_lookups(read: Callable[[Place], bytes], places: Sequence[Place], bodies: dict[str, bytes]) -> Run:
    """Return a run that times one read of each place, and compares what was read afterwards."""

    def run(_: int) -> float:
        begin = time.perf_counter()
        found = [read(place) for place in places]
        seconds = time.perf_counter() - begin
        if found != [bodies[uri] for _, _, uri in places]:
            raise UnequalError("other bodies were read")
        return seconds / len(places)

    return run


def by_offset(data: Data) -> list[Result]:
    return [
        result
        for name in PAGES
        for kind in ("zst", "gz")
        for result in _by_offset(data, name, data.paged(name, kind))
    ]


def _by_offset(data: Data, name: str, path: Path) -> list[Result]:
    bodies = dict(data.pages(name))
    warm(path)
    with (
        seekwarc.open(path) as archive,
        seekwarc.Index(data.indexed(path)) as index,
        path.open("rb") as file,
    ):
        found = [(it.offset, it.length, it.target_uri or "") for it in archive.records(type="response")]
        places = random.Random(1).sample(found, min(LOOKUPS, len(found)))

        def ours(place: Place) -> bytes:
            return archive.record_at(place[0], place[1]).payload.read()

        def through_cdxj(place: Place) -> bytes:
            return next(index.lookup(place[2])).open().payload.read()

        def with_fastwarc(place: Place) -> bytes:
            file.seek(place[0])
            return next(iter(fastwarc.ArchiveIterator(file, parse_http=True))).reader.read()

        def with_warcio(place: Place) -> bytes:
            file.seek(place[0])
            return next(ArchiveIterator(file)).content_stream().read()

        mine = timed_lookups(ours, places, bodies)
        peers = [Peer("FastWARC", timed_lookups(with_fastwarc, places, bodies), 1.0)]
        if path.suffix == ".gz":
            peers.append(Peer("warcio", timed_lookups(with_warcio, places, bodies), 1.0))
        kind = f"a response of {name} of a .warc{path.suffix}"
        looked_up = timed_lookups(through_cdxj, places, bodies)
        return [
            *compare(f"{kind} by offset, body read", mine, peers, budget=6),
            *compare(f"{kind} through a CDXJ", looked_up, [Peer("by offset", mine, None, "times")], budget=6),
        ]


LINES = (
    Line("small-write", write),
    Line("small-verify", verify),
    Line("small-index", index),
    Line("small-convert", convert),
    Line("small-recover", recover),
    Line("small-concat", concat),
    Line("small-filter", filter_half),
    Line("small-ls", ls),
    Line("small-by-offset", by_offset),
)
