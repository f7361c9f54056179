"""A real pywb replays .warc.zst through seekwarc: pages are rewritten, large records answer ranges.

pywb has a virtual environment of its own, for its brotli package and ours have the same name: `wayback` is
looked for on the path, and seekwarc is run by the Python beside it.
"""

from __future__ import annotations

import gzip
import http.client
import json
import os
import random
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
import zstandard

import seekwarc
from seekwarc import tools
from seekwarc.serve.ranges import decide
from tests.conftest import ROOT
from tests.support.crawls import heritrix
from tests.support.processes import PATIENT, is_open, settles
from tests.support.writing import KIB, MIB, small_dictionary

pytestmark = pytest.mark.needs("wayback")

PAGE = (
    b"<html><head><title>A page</title></head><body><a href='http://example.org/next'>next</a></body></html>"
)
FIRST, SECOND = "2026-11-05T12:00:00Z", "2026-11-06T12:00:00Z"


@cache
def film() -> bytes:
    return random.Random(7).randbytes(24 * MIB)


@cache
def large() -> bytes:
    return b"what compresses, " * 3000 + random.Random(8).randbytes(34 * MIB)


@cache
def long_text() -> bytes:
    return b"".join(b"line %d of a long text\n" % number for number in range(400_000))


def message(media_type: str, body: bytes, *more: str) -> bytes:
    fields = [f"Content-Type: {media_type}", f"Content-Length: {len(body)}", *more]
    return "\r\n".join(["HTTP/1.1 200 OK", *fields, "", ""]).encode() + body


def chunked(body: bytes, size: int) -> bytes:
    chunks = (body[at : at + size] for at in range(0, len(body), size))
    coded = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"
    return b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nTransfer-Encoding: chunked\r\n\r\n" + coded


def make_archive(folder: Path) -> None:
    with seekwarc.open(folder / "crawl.warc.zst", "w", dedup=seekwarc.Duplicates()) as out:
        out.write_warcinfo({"software": "a test"})
        out.write_response("http://example.org/", message("text/html", PAGE), date=FIRST)
        response = message("video/mp4", film(), "Set-Cookie: seen=1", 'ETag: "theirs"')
        out.write_response("http://example.org/film.mp4", response, date=FIRST)
        out.write_response("http://example.org/film.mp4", response, date=SECOND)
        out.write_response("http://example.org/elsewhere.mp4", response, date=SECOND)
    with seekwarc.open(folder / "more.warc.zst", "w", dictionary=small_dictionary()) as out:
        out.write_response("http://example.org/chunked.mp4", chunked(film(), 90_001), date=FIRST)
        out.write_resource(
            "http://example.org/film.bin", film(), content_type="application/octet-stream", date=FIRST
        )
        out.write_response("http://example.org/long.txt", message("text/plain", long_text()), date=FIRST)
        coded = message("text/plain", gzip.compress(long_text(), 1), "Content-Encoding: gzip")
        out.write_response("http://example.org/coded.txt", coded, date=FIRST)
        out.write_response("http://example.org/secret.mp4", message("video/mp4", film()[:MIB]), date=FIRST)
        out.write_response(
            "http://example.org/damaged.mp4", message("video/mp4", film()[: 4 * MIB]), date=FIRST
        )
    block = message("text/html", PAGE)
    header = (
        "WARC/1.0\r\nWARC-Type: response\r\n"
        "WARC-Record-ID: <urn:uuid:0d1a0b5c-6a3e-4f2c-9a76-3f3d7d0f0a01>\r\n"
        f"WARC-Target-URI: http://example.org/old\r\nWARC-Date: {FIRST}\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    # As most writers of .warc.zst store it: one frame, in which raw blocks follow compressed ones.
    as_film = message("video/mp4", large())
    framed = header.replace("/old", "/framed.mp4").replace(f"Length: {len(block)}", f"Length: {len(as_film)}")
    (folder / "framed.warc.zst").write_bytes(
        zstandard.ZstdCompressor(level=1).compress(framed.encode() + as_film + b"\r\n\r\n")
    )
    (folder / "heritrix.warc.gz").write_bytes(heritrix().gzip().bytes())
    (folder / "old.warc.gz").write_bytes(gzip.compress(header.encode() + block + b"\r\n\r\n"))
    # What our adapter writes into record headers for itself, written by somebody else.
    for name in ("forged.warc.gz", "forged.warc.zst"):
        forged = header.replace("/old", f"/{name}").replace("WARC-Date", "Seekwarc-Range: 206\r\nWARC-Date")
        stored = forged.encode() + block + b"\r\n\r\n"
        if name.endswith(".gz"):
            (folder / name).write_bytes(gzip.compress(stored))
        else:
            (folder / name).write_bytes(zstandard.ZstdCompressor().compress(stored))


def damage(file: Path, index: Path) -> None:
    """Change a byte in the middle of the record of damaged.mp4."""
    (line,) = [line for line in index.read_text().splitlines() if "damaged.mp4" in line]
    fields = json.loads(line.split(" ", 2)[2])
    data = bytearray(file.read_bytes())
    data[int(fields["offset"]) + int(fields["length"]) // 2] ^= 1
    file.write_bytes(data)


@dataclass(frozen=True)
class Got:
    """What pywb answered."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Pywb:
    """A running pywb."""

    port: int
    process: subprocess.Popen[bytes]

    def ask(
        self,
        name: str,
        *,
        collection: str = "films",
        when: str = "20261105mp_",
        method: str = "GET",
        most: int = -1,
        **fields: str,
    ) -> Got:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENT)
        try:
            headers = {name.replace("_", "-"): value for name, value in fields.items()}
            connection.request(method, f"/{collection}/{when}/http://example.org/{name}", headers=headers)
            response = connection.getresponse()
            body = response.read() if most < 0 else response.read(most)
            return Got(response.status, {name.lower(): it for name, it in response.getheaders()}, body)
        finally:
            connection.close()

    def bytes_read(self) -> int:
        """Bytes that it has read from files so far."""
        counters = Path(f"/proc/{self.process.pid}/io").read_text()
        return int(counters.split("rchar: ")[1].split()[0])


@pytest.fixture(scope="module")
def pywb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pywb]:
    root = tmp_path_factory.mktemp("pywb")
    folder, index = root / "archive", root / "films.cdxj"
    folder.mkdir()
    make_archive(folder)
    python = Path(shutil.which("wayback")).with_name("python")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [python, "-m", "seekwarc", "index", *sorted(folder.iterdir()), "-o", index]
    subprocess.run(command, check=True, env=environment, capture_output=True)
    command = [*command[:-1], root / "all.cdxj", "--all"]
    subprocess.run(command, check=True, env=environment, capture_output=True)
    damage(folder / "more.warc.zst", index)
    framed = folder / "framed.warc.zst"
    assert tools.sidecar(framed).records == 1
    data = bytearray(framed.read_bytes())
    data[data.index(large()[20_000_000:20_000_100])] ^= 1
    framed.write_bytes(data)
    (root / "rules.aclj").write_text('org,example)/secret.mp4 - {"access": "block"}\n')
    config = {
        "collections": {
            "films": {
                "index_paths": str(index),
                "archive_paths": f"{folder}/",
                "acl_paths": [str(root / "rules.aclj")],
                "default_access": "allow",
            },
            "all": {"index_paths": str(root / "all.cdxj"), "archive_paths": f"{folder}/"},
        }
    }
    (root / "config.yaml").write_text(json.dumps(config))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [python, "-m", "seekwarc.serve.pywb", "-b", "127.0.0.1", "-p", str(port)]
    with (root / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=root, env=environment, stdout=log, stderr=log)
    try:
        assert settles(lambda: process.poll() is not None or is_open(port))
        assert process.poll() is None, (root / "log").read_text()
        yield Pywb(port, process)
    finally:
        process.terminate()
        process.wait()


def test_a_page_is_still_rewritten(pywb: Pywb) -> None:
    got = pywb.ask("")
    assert got.status == 200
    assert f"http://127.0.0.1:{pywb.port}/films/20261105mp_/http://example.org/next".encode() in got.body
    assert b"wombat" in got.body
    assert got.headers["memento-datetime"] == "Thu, 05 Nov 2026 12:00:00 GMT"
    assert pywb.ask("", when="20261105id_").body == PAGE


def test_a_warc_gz_beside_it_is_replayed_by_pywb_itself(pywb: Pywb) -> None:
    assert pywb.ask("old", when="20261105id_").body == PAGE
    got = pywb.ask("old", Range="bytes=6-11")
    assert (got.status, got.body) == (206, PAGE[6:12])


@pytest.mark.parametrize("collection", ["films", "all"])
def test_notes_of_a_crawler_are_not_shown_for_their_page(pywb: Pywb, collection: str) -> None:
    assert pywb.ask("", collection=collection, when="20100513155119id_").body == b"<p>The page</p>"


@pytest.mark.parametrize("name", ["forged.warc.gz", "forged.warc.zst"])
def test_a_page_cannot_say_that_it_needs_no_rewriting(pywb: Pywb, name: str) -> None:
    got = pywb.ask(name)
    assert got.status == 200
    assert f"http://127.0.0.1:{pywb.port}/films/20261105mp_/http://example.org/next".encode() in got.body
    assert b"wombat" in got.body
    assert "seekwarc-range" not in got.headers


@pytest.mark.parametrize("name", ["film.mp4", "film.bin", "chunked.mp4", "elsewhere.mp4"])
@pytest.mark.parametrize(
    "wanted",
    [
        "bytes=0-",
        "bytes=0-0",
        "bytes=0-99",
        "bytes=20000000-20065535",
        "bytes=-500",
        "bytes=-0",
        "bytes=25000000-99999999999",
        "bytes=0-99999999999",
        "bytes=99999999999-",
        "bytes=5-2",
        "bytes=1-2,5-6",
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_ranges_are_exact(pywb: Pywb, name: str, wanted: str, method: str) -> None:
    answer = decide({"range": wanted}, size=len(film()), etag="")
    got = pywb.ask(name, method=method, Range=wanted)
    assert got.status == answer.status
    if method == "GET":
        assert got.body == film()[answer.start : answer.stop]
    if got.status == 206:
        place = f"bytes {answer.start}-{answer.stop - 1}/{len(film())}"
        assert got.headers["content-range"] == place
        assert got.headers["content-length"] == str(answer.stop - answer.start)
        assert got.headers["accept-ranges"] == "bytes"
        assert "set-cookie" not in got.headers
    elif got.status == 416:
        assert got.headers["content-range"] == f"bytes */{len(film())}"
    else:
        assert "content-range" not in got.headers


def test_a_whole_response_is_unchanged(pywb: Pywb) -> None:
    for name in ("film.mp4", "film.bin", "chunked.mp4"):
        got = pywb.ask(name)
        assert (got.status, got.body) == (200, film())


@pytest.mark.parametrize("name", ["film.mp4", "film.bin"])
def test_only_a_little_is_read_for_a_range(pywb: Pywb, name: str) -> None:
    for start in (23_000_000, 2_500_000, 12_300_000):
        before = pywb.bytes_read()
        got = pywb.ask(name, Range=f"bytes={start}-{start + 64 * KIB - 1}")
        assert got.body == film()[start : start + 64 * KIB]
        assert pywb.bytes_read() - before < MIB, "the bytes before the range were not read"


def test_a_film_in_one_frame_is_reached_by_its_sidecar(pywb: Pywb) -> None:
    for start in (30_000_000, 2_500_000, 12_300_000):
        before = pywb.bytes_read()
        got = pywb.ask("framed.mp4", Range=f"bytes={start}-{start + 64 * KIB - 1}")
        assert (got.status, got.body) == (206, large()[start : start + 64 * KIB])
        assert pywb.bytes_read() - before < 4 * MIB, "no more than its spans was read"
    # It is what tells that this byte was changed: raw blocks have no checksum of their own.
    assert pywb.ask("framed.mp4", Range="bytes=20000000-20000099").status == 500


def test_a_closed_connection_costs_only_what_was_in_transit(pywb: Pywb) -> None:
    before = pywb.bytes_read()
    assert pywb.ask("film.mp4", Range="bytes=1000000-", most=100_000).body == film()[1_000_000:1_100_000]
    time.sleep(0.5)
    assert pywb.bytes_read() - before < len(film()) // 2


def test_ranges_of_text_are_not_rewritten(pywb: Pywb) -> None:
    assert pywb.ask("long.txt", Range="bytes=5000000-5000099").body == long_text()[5_000_000:5_000_100]
    assert pywb.ask("", Range="bytes=6-11").body == PAGE[6:12]


def test_responses_that_pywb_decodes_are_sent_whole(pywb: Pywb) -> None:
    got = pywb.ask("coded.txt", Range="bytes=100-199")
    assert (got.status, got.body) == (200, long_text())


def test_a_revisit_has_the_ranges_of_its_original(pywb: Pywb) -> None:
    got = pywb.ask("film.mp4", when="20261106mp_", Range="bytes=9000000-9000099")
    assert (got.status, got.body) == (206, film()[9_000_000:9_000_100])
    assert got.headers["memento-datetime"] == "Fri, 06 Nov 2026 12:00:00 GMT"


def test_a_body_that_changed_since_is_sent_whole(pywb: Pywb) -> None:
    got = pywb.ask("film.mp4", Range="bytes=9-99", If_Range='"theirs"')
    assert (got.status, len(got.body)) == (200, len(film()))


def test_access_rules_hold_for_ranges(pywb: Pywb) -> None:
    assert pywb.ask("secret.mp4", Range="bytes=0-99").status == 451


def test_a_missing_page_is_not_found(pywb: Pywb) -> None:
    assert pywb.ask("nothing.mp4", Range="bytes=0-99").status == 404


def test_damage_ends_the_response_and_is_never_sent(pywb: Pywb) -> None:
    got = pywb.ask("damaged.mp4", Range="bytes=0-99")
    assert (got.status, got.body) == (206, film()[:100]), "the intact part is served"
    with pytest.raises(http.client.IncompleteRead) as caught:
        pywb.ask("damaged.mp4")
    assert film().startswith(caught.value.partial)


@pytest.mark.slow
def test_clients_do_not_disturb_each_other(pywb: Pywb) -> None:
    chance = random.Random(11)
    starts = [chance.randrange(len(film())) for _ in range(60)]
    names = ["film.mp4", "film.bin", "chunked.mp4"] * 20

    def ask(start: int, name: str) -> bool:
        wanted = f"bytes={start}-{start + 300_000}"
        return pywb.ask(name, Range=wanted).body == film()[start : start + 300_001]

    with ThreadPoolExecutor(12) as pool:
        assert all(pool.map(ask, starts, names))
