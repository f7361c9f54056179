"""The captures of an index are answered as those of scanned files are, to the byte."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import seekwarc
from seekwarc.cli import main
from seekwarc.serve.app import application
from seekwarc.serve.library import Library
from seekwarc.serve.payload import payload_app
from tests.serve.asgi import Client
from tests.serve.conftest import LOG, PAGE, chunked
from tests.support.partial import URI as FILM
from tests.support.partial import PartsWriter
from tests.support.writing import noise, response

PART = 1500
PARTS = 206
DATA = noise(PART * PARTS)
RANGED = "http://example.org/video?range="

URIS = (
    FILM,
    "http://example.org/holes.mp4",
    "http://example.org/video",
    f"{RANGED}0-9999",
    "http://example.org/page.html",
    "http://www.example.org:80/page.html",
    "http://example.org/coded.html",
    "http://example.org/not-coded.html",
    "http://example.org/chunked.log",
    "http://example.org/empty.txt",
    "http://example.org/daily",
    "http://EXAMPLE.org/DAILY",
    "http://example.org/lost",
    "http://example.org/",
    "http://example.org/nothing",
    "",
)
DAMAGED = "http://example.org/damaged"
"""Damage is found by the scan: then there is no such capture. An index of better days still leads to it."""
RANGES = (
    "bytes=0-",
    "bytes=0-0",
    "bytes=0-1",
    "bytes=-1",
    "bytes=-0",
    "bytes=5-2",
    "bytes=1-2,5-6",
    "items=0-5",
    f"bytes={len(DATA)}-",
    f"bytes={len(DATA) - 5}-{len(DATA) + 5}",
    f"bytes=0-{'9' * 40}",
)
DATES = ("2026", "20261116", "20261117060001", "2026-11-16T12:00:03Z", "1999", "tomorrow", "20261399")


def film(path: Path, uri: str, spans: list[tuple[int, int]]) -> None:
    out = PartsWriter(DATA)
    for start, stop in spans:
        out.part(start, stop, uri=uri)
    path.write_bytes(out.done())


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Files in which a resource is whole, in parts, repeated, coded, damaged or missing; and their index."""
    made = tmp_path_factory.mktemp("both")
    spans = [(start, start + PART) for start in range(0, len(DATA), PART)]
    film(made / "parts.warc.zst", FILM, random.Random(3).sample(spans, len(spans)))
    film(made / "holes.warc.zst", "http://example.org/holes.mp4", [spans[0], spans[-1]])
    out = PartsWriter(DATA)
    for start in range(0, len(DATA), 103_000):
        stop = min(start + 103_000, len(DATA))
        out.part(start, stop, uri=f"{RANGED}{start}-{stop - 1}")
    (made / "ranged.warc.zst").write_bytes(out.done())
    blocks = {
        "page.html": response(PAGE, 'text/html; charset="utf-8"'),
        "coded.html": response(gzip.compress(PAGE, mtime=0), "text/html", "Content-Encoding: gzip"),
        "not-coded.html": response(PAGE, "text/html", "Content-Encoding: gzip"),
        "chunked.log": response(chunked(LOG[:300_000], 5000), "text/plain", "Transfer-Encoding: chunked"),
        "empty.txt": response(b"", "text/plain"),
    }
    with seekwarc.open(made / "site.warc.gz", "w", dedup=seekwarc.Duplicates()) as archive:
        for second, (name, block) in enumerate(blocks.items()):
            archive.write_response(f"http://example.org/{name}", block, date=f"2026-11-16T12:00:0{second}Z")
        for day in (16, 17, 18):
            block = response(PAGE + b"daily" if day < 18 else PAGE + b"other", "text/html")
            archive.write_response("http://example.org/daily", block, date=f"2026-11-{day}T06:00:00Z")
        archive.write_revisit(
            "http://example.org/lost",
            response(b"", "text/html"),
            payload_digest=f"sha1:{'A' * 32}",
            date="2026-11-16T12:00:00Z",
        )
    with seekwarc.open(made / "bad.warc.zst", "w") as archive:
        block = response(noise(200_000), "video/mp4")
        place = archive.write_response(DAMAGED, block, date="2026-11-16T12:00:00Z")
    files = sorted(map(str, made.glob("*.warc.*")))
    assert main(["index", *files, "-o", str(made / "all.cdxj")]) == 0
    with (made / "bad.warc.zst").open("r+b") as file:
        file.seek(place.offset + 100_000)
        file.write(bytes(64))
    return made


@pytest.fixture(scope="module", params=["scanned", "by index"])
def both(folder: Path, portal, request: pytest.FixtureRequest) -> Iterator[tuple[Client, Client]]:
    """What `seekwarc serve` answers for the files or for their index, and the application of the index."""
    files = [folder / "all.cdxj"] if request.param == "by index" else sorted(folder.glob("*.warc.*"))
    with Library(files) as library, seekwarc.Index(folder / "all.cdxj") as index:
        library.read()
        yield Client(application(library), portal), Client(payload_app.from_index(index), portal)


def test_400_requests_are_answered_alike(both, request: pytest.FixtureRequest) -> None:
    uris = (*URIS, DAMAGED) if "by index" in request.node.name else URIS
    chance = random.Random(11)
    tags: list[str] = ['"none"', 'W/"weak"']
    statuses = []
    for _ in range(400):
        uri = chance.choice(uris)
        query = {"uri": uri} if uri or chance.random() < 0.5 else {}
        fields = {}
        if chance.random() < 0.4:
            query["date"] = chance.choice(DATES)
        if chance.random() < 0.2:
            query["as"] = "bytes"
        if chance.random() < 0.6:
            begin = chance.randrange(len(DATA))
            exact = f"bytes={begin}-{begin + chance.randrange(5000)}"
            fields["range"] = chance.choice((*RANGES, exact, exact, exact))
        if chance.random() < 0.4:
            name = chance.choice(("if-range", "if-none-match", "if-match"))
            fields[name] = chance.choice((*tags[-4:], *tags, "*"))
        if chance.random() < 0.2:
            name = chance.choice(("if-range", "if-modified-since"))
            fields[name] = "Mon, 16 Nov 2026 12:00:00 GMT"
        if chance.random() < 0.2:
            fields["accept-encoding"] = chance.choice(("identity", "gzip", "br"))
        method = chance.choice(("GET", "GET", "GET", "HEAD", "POST", "OPTIONS"))
        path = chance.choice(("/payload", "/payload", "/payload", "/block", "/other"))
        scanned, indexed = (client.ask(method, path, headers=fields, **query) for client in both)
        asked = f"{method} {path} {query} {fields}"
        assert (scanned.status, scanned.fields) == (indexed.status, indexed.fields), asked
        assert (scanned.body, scanned.ended) == (indexed.body, indexed.ended), asked
        statuses.append(scanned.status)
        if "etag" in scanned.headers:
            tags.append(scanned.headers["etag"])
    assert {200, 206, 304, 400, 404, 405, 412, 416} <= set(statuses)


@pytest.mark.parametrize("uri", [FILM, "http://example.org/video"])
def test_an_index_joins_the_parts_of_a_film(both, uri: str) -> None:
    _, client = both
    assert client.get("/payload", uri=uri).body == DATA
    part = client.get("/payload", headers={"range": f"bytes={PART * 205}-"}, uri=uri)
    assert (part.status, part.body) == (206, DATA[PART * 205 :])


def test_messages_do_not_name_folders(both, folder: Path) -> None:
    for client in both:
        answer = client.get("/payload", uri="http://example.org/lost")
        message = json.loads(answer.body)["error"]["message"]
        assert answer.status == 404
        assert str(folder) not in message
        assert message.startswith("site.warc.gz, offset ")
