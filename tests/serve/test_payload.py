"""The payload application, mounted in another application."""

from __future__ import annotations

import gzip
import zlib

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

import seekwarc
from seekwarc.errors import NotFoundError
from seekwarc.serve.app import application
from seekwarc.serve.cost import Views
from seekwarc.serve.library import Library
from seekwarc.serve.payload import payload_app
from seekwarc.serve.served import SLOW_READS, ServedRecord
from seekwarc.serve.stream import Workers
from seekwarc.storage.local import BytesSource
from seekwarc.storage.plan import REMOTE
from tests.serve.asgi import Client
from tests.serve.conftest import FILM, LOG, PAGE


@pytest.fixture
def mounted(crawl, portal):
    """An application in which IDs are names."""
    with seekwarc.open(crawl.paths[0]) as archive:

        def open_record(record_id: str, view=None) -> ServedRecord:
            if record_id not in crawl.offsets:
                raise NotFoundError(f"there is no {record_id}")
            return ServedRecord(archive.record_at(crawl.offsets[record_id]))

        def make(**options) -> Client:
            app = payload_app(open_record, **options)
            return Client(Starlette(routes=[Mount("/their/records", app)]), portal)

        yield make


def test_payload_and_block(mounted) -> None:
    client = mounted()
    answer = client.get("/their/records/film.mp4/payload")
    assert (answer.status, answer.body, answer.ended) == (200, FILM, True)
    assert answer.headers["content-type"] == "video/mp4"
    assert answer.headers["accept-ranges"] == "bytes"
    block = client.get("/their/records/film.mp4/block", headers={"range": "bytes=0-14"})
    assert (block.status, block.body) == (206, b"HTTP/1.1 200 OK")


def test_ranges_and_conditions(mounted) -> None:
    client = mounted()
    tag = client.ask("HEAD", "/their/records/film.mp4/payload").headers["etag"]
    part = client.get("/their/records/film.mp4/payload", headers={"range": "bytes=-100", "if-range": tag})
    assert (part.status, part.body) == (206, FILM[-100:])
    assert part.headers["content-range"] == f"bytes {len(FILM) - 100}-{len(FILM) - 1}/{len(FILM)}"
    assert client.get("/their/records/film.mp4/payload", headers={"if-none-match": tag}).status == 304
    after = client.get("/their/records/film.mp4/payload", headers={"range": f"bytes={len(FILM)}-"})
    assert (after.status, after.headers["content-range"]) == (416, f"bytes */{len(FILM)}")


def test_ranges_of_a_coded_body_are_of_the_stored_bytes(mounted) -> None:
    client = mounted()
    answer = client.get("/their/records/coded.html/payload")
    assert answer.headers["content-encoding"] == "gzip"
    assert gzip.decompress(answer.body) == PAGE
    part = client.get("/their/records/coded.html/payload", headers={"range": "bytes=0-99"})
    assert (
        zlib.decompressobj(31).decompress(part.body)
        == PAGE[: len(zlib.decompressobj(31).decompress(part.body))]
    )
    assert (
        "content-encoding" not in client.get("/their/records/coded.html/payload", **{"as": "bytes"}).headers
    )
    assert client.get("/their/records/not-coded.html/payload").body == PAGE


def test_chunked_bodies_come_without_chunks(mounted) -> None:
    answer = mounted().get("/their/records/chunked.log/payload", headers={"range": "bytes=1000000-1000099"})
    assert answer.body == LOG[1_000_000:1_000_100]


def test_missing_records_are_not_found(mounted) -> None:
    client = mounted()
    answer = client.get("/their/records/nothing/payload")
    assert (answer.status, answer.json["error"]["message"]) == (404, "there is no nothing")
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        answer = client.ask(method, "/their/records/film.mp4/payload")
        assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")


def test_views_are_counted_where_they_are_kept(mounted) -> None:
    views = Views()
    client = mounted(views=views)
    client.get("/their/records/film.mp4/payload", headers={"range": "bytes=0-999"}, view="mine")
    assert views.get("mine").bytes_asked == 1000
    assert client.get("/their/records/film.mp4/payload", view="no such name!").status == 400


def test_other_origins_may_not_read_unless_they_are_named(mounted) -> None:
    asked = {"origin": "https://player.example"}
    assert not [
        name
        for name in mounted().get("/their/records/film.mp4/payload", headers=asked).headers
        if "allow" in name
    ]
    client = mounted(origins=["https://player.example"])
    headers = client.get("/their/records/film.mp4/payload", headers=asked).headers
    assert headers["access-control-allow-origin"] == "https://player.example"
    assert headers["access-control-expose-headers"] == "Content-Range, Content-Length, ETag, Accept-Ranges"
    other = client.get("/their/records/film.mp4/payload", headers={"origin": "https://evil.example"})
    assert "access-control-allow-origin" not in other.headers
    ask = {
        **asked,
        "access-control-request-method": "GET",
        "access-control-request-headers": "range, if-range",
    }
    assert client.ask("OPTIONS", "/their/records/film.mp4/payload", headers=ask).status == 200


# Which thread reads.


@pytest.fixture
def hops(monkeypatch) -> list[object]:
    """Calls that went to another thread."""
    made: list[object] = []
    run = Workers.run

    async def count(self, function):
        made.append(function)
        return await run(self, function)

    monkeypatch.setattr(Workers, "run", count)
    return made


PART = {"range": "bytes=1000000-1004095"}


@pytest.mark.parametrize("address", ["record", "capture"])
def test_a_short_range_of_an_open_record_takes_no_other_thread(client, found, hops, address) -> None:
    record_id = found(q="film.mp4")
    path, query = f"/api/records/{record_id}/payload", {}
    if address == "capture":
        path, query = "/payload", {"uri": client.get(f"/api/records/{record_id}").json["uri"]}
    first = client.get(path, headers=PART, **query)
    hops.clear()
    for _ in range(3):
        assert client.get(path, headers=PART, **query) == first
    assert hops == []
    assert client.get(path, **query).body == FILM
    assert len(hops) > 2, "what takes long is read elsewhere"


def test_remote_and_large_frames_are_read_in_threads(tmp_path, portal, hops) -> None:
    class Remote(BytesSource):
        policy = REMOTE

    body = b"".join(b"line %d\n" % number for number in range(400_000))
    path, small = tmp_path / "large.warc.zst", tmp_path / "small.warc.zst"
    for target, frame_size in ((path, 2 << 20), (small, 64 << 10)):
        with seekwarc.open(target, "w", frame_size=frame_size) as out:
            out.write_resource("http://e.org/log", body, "text/plain", date="2026-11-16T12:00:00Z")
    for target in (path, Remote(small.read_bytes(), "small.warc.zst")):
        with Library([target]) as library:
            library.read()
            client = Client(application(library), portal)
            client.get("/payload", uri="http://e.org/log")
            hops.clear()
            part = client.get("/payload", headers=PART, uri="http://e.org/log")
            assert (part.body, len(hops)) == (body[1_000_000:1_004_096], 1)


def test_after_slow_reads_threads_read(client, found, hops, monkeypatch) -> None:
    path = f"/api/records/{found(q='film.mp4')}/payload"
    client.get(path)
    monkeypatch.setattr("seekwarc.serve.served.SLOW", 0)
    monkeypatch.setattr("seekwarc.serve.served.SLOW_FOR", 1000)
    hops.clear()
    for _ in range(SLOW_READS):
        client.get(path, headers=PART)
    assert hops == []
    client.get(path, headers=PART)
    assert len(hops) == 1


def test_after_a_while_slow_reads_are_tried_again(client, found, hops, monkeypatch) -> None:
    path = f"/api/records/{found(q='film.mp4')}/payload"
    client.get(path)
    monkeypatch.setattr("seekwarc.serve.served.SLOW", 0)
    monkeypatch.setattr("seekwarc.serve.served.SLOW_FOR", 0)
    hops.clear()
    for _ in range(SLOW_READS + 1):
        client.get(path, headers=PART)
    assert hops == []
