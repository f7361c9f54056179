"""What the service worker of a replay is sent."""

from __future__ import annotations

import gzip

import brotli
import pytest
import zstandard

import seekwarc
from seekwarc.serve import payload as payload_module
from seekwarc.serve.library import Library
from seekwarc.serve.replay import ReplayPorts, replay_application
from seekwarc.serve.replay_raw import MAX_OPEN_RANGE
from seekwarc.storage.local import BytesSource
from seekwarc.storage.plan import REMOTE
from tests.serve.asgi import Client
from tests.serve.conftest import FILM, PAGE, chunked, response

PORTS = ReplayPorts(8090, 8091)
FORM = "application/x-www-form-urlencoded"
SITE = "http://example.org"
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
DATE = "2026-01-01T12:00:00Z"
CODINGS = {"gzip": gzip.compress(PAGE), "br": brotli.compress(PAGE), "zstd": zstandard.compress(PAGE)}


def status(line: str, body: bytes, *fields: str, kind: str = "text/html") -> bytes:
    return response(body, kind, *fields).replace(b"200 OK", line.encode(), 1)


def part(start: int, stop: int, total: int = len(FILM)) -> bytes:
    fields = f"Content-Range: bytes {start}-{stop - 1}/{total}", 'ETag: "one"'
    return status("206 Partial Content", FILM[start:stop], *fields, kind="video/mp4")


BLOCKS = {
    "/": response(PAGE, "text/html; charset=utf-8", "Content-Security-Policy: x", "Set-Cookie: a=b"),
    "/film.mp4": response(FILM, "video/mp4"),
    "/chunked.mp4": response(chunked(FILM, 5000), "video/mp4", "Transfer-Encoding: chunked"),
    "/big.bin": response(FILM, "application/octet-stream"),
    "/untyped": response(b"\n<!DOCTYPE html><title>x</title>", None),
    "/unknown": response(b"window.x = 1", None),
    "/untyped.png": response(b"\x89PNG\r\n\x1a\n", None),
    "/strict": response(PAGE, "text/html", "X-Content-Type-Options: nosniff"),
    "/old": status("302 Found", b"moved", "Location: /"),
    "/gone": status("404 Not Found", b"the site's own page"),
    "/lying": response(PAGE, "text/html", "Content-Encoding: gzip"),
    "/trailing": response(PAGE, "text/html", "X-Odd: a\x01b \x0b ", "X-B\xe9d: 1"),
    "/page?q=caf%C3%A9&x=%2F": response(b"a query", "text/plain"),
    **{
        f"/{name}": response(body, "text/html", f"Content-Encoding: {name}") for name, body in CODINGS.items()
    },
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A file with one of each, a film in two parts, a revisit, and two that lack others."""
    path = tmp_path_factory.mktemp("raw") / "site.warc.zst"
    with seekwarc.open(path, "w", threads=1, frame_size=64 << 10) as out:
        for name, block in BLOCKS.items():
            out.write_response(SITE + name, block, date=DATE)
        half = len(FILM) // 2
        for bounds in ((0, half), (half, len(FILM))):
            out.write_response(f"{SITE}/parts.mp4", part(*bounds), date=DATE)
        out.write_response(f"{SITE}/hole.mp4", part(0, half), date=DATE)
        unchanged = b"HTTP/1.1 304 Not Modified\r\nX-Own: 1\r\n\r\n"
        for name in ("/", "/lost"):
            out.write(
                "revisit",
                target_uri=SITE + name,
                block=unchanged,
                content_type="application/http; msgtype=response",
                date="2026-02-01T00:00:00Z",
                headers=[
                    ("WARC-Profile", NOT_MODIFIED),
                    ("WARC-Refers-To-Target-URI", SITE + name),
                    ("WARC-Refers-To-Date", DATE),
                ],
            )
        sent = f"POST /search HTTP/1.1\r\nContent-Type: {FORM}\r\nContent-Length: 6\r\n\r\nq=cats".encode()
        answer = out.write_response(f"{SITE}/search", response(b"found cats", "text/plain"), date=DATE)
        out.write_request(f"{SITE}/search", sent, date=DATE, concurrent_to=answer)
    return path


@pytest.fixture
def library(made):
    with Library([made]) as library:
        library.read()
        yield library


@pytest.fixture
def client(library, portal) -> Client:
    return Client(replay_application(library, b"worker", PORTS), portal, host="replay.localhost:8091")


def raw(
    client: Client, name: str, date: str = "2026", method: str = "GET", body: bytes = b"", **headers: str
):
    fields = {key.replace("_", "-"): value for key, value in headers.items()}
    return client.ask(method, f"/raw/{date}id_/{SITE}{name}", headers=fields, body=body)


def test_a_page_is_sent_with_its_own_fields_and_safe_ones(client) -> None:
    answer = raw(client, "/")
    assert (answer.status, answer.body) == (200, PAGE)
    fields = answer.headers
    assert fields.pop("etag").startswith('"')
    assert fields == {
        "content-type": "text/html; charset=utf-8",
        "content-length": str(len(PAGE)),
        "memento-datetime": "Thu, 01 Jan 2026 12:00:00 GMT",
        "last-modified": "Thu, 01 Jan 2026 12:00:00 GMT",
        "x-proxy-set-cookie": "a=b",
        "accept-ranges": "bytes",
        "cache-control": "private, no-cache",
        "content-security-policy": "default-src 'none'; sandbox",
        "cross-origin-resource-policy": "same-origin",
    }


@pytest.mark.parametrize(
    "dest", ["document", "iframe", "worker", "sharedworker", "serviceworker", "script", "image"]
)
def test_only_the_worker_may_read_it(client, dest) -> None:
    answer = raw(client, "/", sec_fetch_dest=dest)
    assert answer.status == 403
    assert "sandbox" in answer.headers["content-security-policy"]
    assert raw(client, "/", sec_fetch_dest="empty").status == 200


def test_it_is_no_script_of_a_service_worker(client) -> None:
    assert raw(client, "/", service_worker="script", sec_fetch_dest="empty").status == 403


def test_the_date_may_be_missing_short_or_a_field(client) -> None:
    assert raw(client, "/", date="").headers["memento-datetime"] == "Sun, 01 Feb 2026 00:00:00 GMT"
    answer = raw(client, "/", date="", accept_datetime="Fri, 02 Jan 2026 00:00:00 GMT")
    assert answer.headers["memento-datetime"] == "Thu, 01 Jan 2026 12:00:00 GMT"
    assert (answer.headers["vary"], answer.headers["link"]) == (
        "accept-datetime",
        '<http://example.org/>; rel="original"',
    )
    for date in ("20269999", "202600000000000"):
        assert raw(client, "/", date=date).status == 400


def test_the_query_is_the_client_s(client) -> None:
    assert raw(client, "/page?q=caf%C3%A9&x=%2F").body == b"a query"


@pytest.mark.parametrize("name", ["/film.mp4", "/parts.mp4"])
def test_an_open_range_of_media_is_short_and_not_kept(client, name) -> None:
    for start in (0, 1_000_000):
        answer = raw(client, name, range=f"bytes={start}-")
        assert (answer.status, answer.headers["cache-control"]) == (206, "no-store")
        assert answer.body == FILM[start : start + MAX_OPEN_RANGE]
        assert answer.headers["content-range"] == f"bytes {start}-{start + MAX_OPEN_RANGE - 1}/{len(FILM)}"


@pytest.mark.parametrize("asked", ["bytes=5-2000000", "bytes=-700000"])
def test_other_ranges_of_media_are_answered_in_full(client, asked) -> None:
    first, last = asked.removeprefix("bytes=").split("-")
    expected = FILM[int(first) : int(last) + 1] if first else FILM[-int(last) :]
    for name in ("/film.mp4", "/chunked.mp4", "/parts.mp4"):
        answer = raw(client, name, range=asked)
        assert (answer.status, answer.body) == (206, expected)


def test_open_ranges_of_other_things_are_answered_in_full(client) -> None:
    answer = raw(client, "/big.bin", range="bytes=10-")
    assert (answer.status, answer.body) == (206, FILM[10:])
    assert raw(client, "/film.mp4", range=f"bytes={len(FILM)}-").status == 416
    assert raw(client, "/big.bin", if_none_match=answer.headers["etag"]).status == 304


def test_a_missing_part_is_a_message_and_what_is_there_is_sent(client) -> None:
    answer = raw(client, "/hole.mp4", range="bytes=100-")
    assert (answer.status, answer.body) == (206, FILM[100 : 100 + MAX_OPEN_RANGE])
    answer = raw(client, "/hole.mp4")
    assert answer.status == 404
    assert b"This capture cannot be shown" in answer.body


def test_of_a_slow_source_what_follows_is_read_before_it_is_asked_for(made, portal) -> None:
    source = BytesSource(made.read_bytes(), name="site.warc.zst")
    source.policy = REMOTE
    asked = []
    read = source.read
    source.read = lambda start, stop: asked.append(start) or read(start, stop)
    with Library([source]) as library:
        library.read()
        client = Client(replay_application(library, b"worker", PORTS), portal, host="replay.localhost:8091")
        assert raw(client, "/film.mp4", range="bytes=0-9").status == 206
        asked.clear()
        for start in range(0, len(FILM), MAX_OPEN_RANGE):
            answer = raw(client, "/film.mp4", range=f"bytes={start}-")
            assert answer.body == FILM[start : start + MAX_OPEN_RANGE]
    # Each answer is read in two steps.
    assert len(asked) < 2 * len(FILM) // MAX_OPEN_RANGE


@pytest.mark.parametrize("name", CODINGS)
def test_a_coding_is_undone_unless_the_client_does(client, name) -> None:
    answer = raw(client, f"/{name}", accept_encoding="gzip, deflate, br, zstd", range="bytes=1-")
    assert (answer.status, answer.headers["content-encoding"], answer.body) == (200, name, CODINGS[name])
    for accepted in ("identity", "deflate", ""):
        plain = raw(client, f"/{name}", accept_encoding=accepted, range="bytes=1-")
        assert (plain.status, plain.body, "content-encoding" in plain.headers) == (200, PAGE, False)
        assert plain.headers["etag"] != answer.headers["etag"]


def test_a_body_that_is_not_coded_as_it_says_is_sent_as_it_is(client) -> None:
    for accepted in ("gzip", "identity"):
        answer = raw(client, "/lying", accept_encoding=accepted)
        assert (answer.body, "content-encoding" in answer.headers) == (PAGE, False)


def test_redirects_and_errors_have_status_200(client) -> None:
    answer = raw(client, "/old")
    told = {name: value for name, value in answer.headers.items() if name.startswith("x-")}
    assert (answer.status, told) == (
        200,
        {"x-orig-location": f"{SITE}/", "x-redirect-status": "302", "x-redirect-statustext": "Found"},
    )
    answer = raw(client, "/gone", range="bytes=0-3")
    assert (answer.status, answer.body) == (200, b"the site's own page")
    assert answer.headers["x-redirect-status"] == "404"


def test_a_revisit_has_the_head_and_payload_of_its_original(client) -> None:
    answer = raw(client, "/", date="20260201")
    assert (answer.status, answer.body) == (200, PAGE)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["memento-datetime"] == "Sun, 01 Feb 2026 00:00:00 GMT"


def test_a_revisit_without_its_original_is_a_message(client) -> None:
    answer = raw(client, "/lost")
    assert answer.status == 404
    assert b"refers to" in answer.body


def test_what_was_sent_counts(client) -> None:
    answer = raw(client, "/search", method="POST", body=b"q=cats", content_type=FORM)
    assert (answer.status, answer.body) == (200, b"found cats")
    assert raw(client, "/search", method="POST", body=b"q=dogs", content_type=FORM).status == 404
    assert raw(client, "/search").status == 404


def test_what_is_not_archived_is_a_harmless_page(client) -> None:
    answer = raw(client, "/<script>alert(1)</script>&amp;", date="20260316")
    assert (answer.status, answer.headers["memento-datetime"]) == (404, "Mon, 16 Mar 2026 00:00:00 GMT")
    assert b"<script>" not in answer.body
    assert b"&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;" in answer.body
    assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"


def test_fields_that_servers_refuse_do_not_spoil_the_answer(client) -> None:
    answer = raw(client, "/trailing")
    assert (answer.status, answer.body, answer.headers["x-odd"]) == (200, PAGE, "a b")


def test_the_browser_guesses_types_as_it_did(client) -> None:
    for name, expected in (("untyped.png", "image/png"), ("untyped", "text/html"), ("unknown", None)):
        fields = raw(client, f"/{name}").headers
        assert (fields.get("content-type"), "x-content-type-options" in fields) == (expected, False)
    assert raw(client, "/strict").headers["x-content-type-options"] == "nosniff"


def test_damage_is_a_message_in_the_frame(made, tmp_path, portal) -> None:
    data = bytearray(made.read_bytes())
    with seekwarc.open(made) as archive:
        film = next(archive.records(uri="*/film.mp4"))
        data[film.offset + film.body.frames[2].stored_stop - 1] ^= 0xFF
    path = tmp_path / "damaged.warc.zst"
    path.write_bytes(data)
    with Library([path]) as library:
        library.read()
        client = Client(replay_application(library, b"worker", PORTS), portal, host="replay.localhost:8091")
        answer = raw(client, "/film.mp4", range="bytes=1000-1009")
        assert (answer.status, answer.headers["x-redirect-status"]) == (200, "502")
        assert b"This capture cannot be shown" in answer.body
        assert raw(client, "/").body == PAGE


def test_files_that_are_being_scanned_are_waited_for(made, portal, monkeypatch) -> None:
    monkeypatch.setattr(payload_module, "PATIENCE", 0.1)
    monkeypatch.setattr(payload_module, "PAUSE", 0.01)
    with Library([made]) as library:
        client = Client(replay_application(library, b"worker", PORTS), portal, host="replay.localhost:8091")
        answer = raw(client, "/")
        assert (answer.status, answer.headers["x-redirect-status"]) == (200, "503")
        library.read()
        assert raw(client, "/").status == 200
