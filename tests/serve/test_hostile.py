"""Records made to break the server: each is a problem of its own, and shown as one."""

from __future__ import annotations

import contextlib
import http.client
import json
from contextlib import closing

import pytest

import seekwarc
from seekwarc.serve import api as api_module
from seekwarc.serve import library as library_module
from seekwarc.serve import representation as representation_module
from seekwarc.serve.app import application
from seekwarc.serve.library import Library
from seekwarc.serve.payload import payload_app
from seekwarc.serve.served import ServedRecord
from tests.serve.asgi import Client
from tests.serve.conftest import PAGE, response, running
from tests.support.foreign import Foreign
from tests.support.processes import PATIENT, wait_until

LATIN = b"caf\xe9"
SAFE = {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer"}


def record(block: bytes, *fields: bytes, kind: bytes = b"response") -> bytes:
    """Return an uncompressed record."""
    lines = [
        b"WARC/1.1",
        b"WARC-Type: " + kind,
        b"WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-%012d>" % len(block),
        b"WARC-Date: 2026-11-21T09:30:00Z",
        *fields,
        b"Content-Length: %d" % len(block),
    ]
    if kind in (b"response", b"revisit"):
        lines.append(b"Content-Type: application/http; msgtype=response")
    return b"\r\n".join([*lines, b"", block, b"", b""])


def uri(name: bytes) -> bytes:
    return b"WARC-Target-URI: http://example.org/" + name


SOUND = record(response(PAGE, "text/html"), uri(b"sound.html"))
HOSTILE = {
    "label of the digest": record(
        response(b"x", "text/plain"),
        uri(b"a"),
        b"WARC-Payload-Digest: \xe9\xff:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
    ),
    "value of the digest": record(
        response(b"xx", "text/plain"), uri(b"b"), b"WARC-Payload-Digest: sha1:\xe9\xff"
    ),
    "URI": record(response(b"xxx", "text/plain"), uri(LATIN + b".txt")),
    "type": record(b"xxxx", uri(b"c"), kind=LATIN),
    "media type": record(b"HTTP/1.1 200 OK\r\nContent-Type: text/caf\xe9; charset=\xe9\r\n\r\nx", uri(b"d")),
    "content coding": record(b"HTTP/1.1 200 OK\r\nContent-Encoding: caf\xe9, gzip\r\n\r\nxx", uri(b"e")),
    "reason": record(b"HTTP/1.1 200 caf\xe9\r\nContent-Type: text/plain\r\n\r\nxxx", uri(b"f")),
    "profile": record(b"HTTP/1.1 200 OK\r\n\r\n", uri(b"g"), b"WARC-Profile: http://\xe9", kind=b"revisit"),
    "what a revisit refers to": record(
        b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n",
        uri(b"h"),
        b"WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
        b"WARC-Refers-To: <urn:\xe9>",
        kind=b"revisit",
    ),
    "date": record(b"x" * 40, uri(b"i"), b"WARC-Date: caf\xe9", kind=b"resource"),
    "segment": record(b"x" * 41, uri(b"j"), b"WARC-Segment-Number: " + b"9" * 40, kind=b"resource"),
    "truncated": record(b"x" * 42, uri(b"k"), b"WARC-Truncated: \xe9", kind=b"resource"),
    "name of a field": record(b"x" * 43, uri(b"l"), b"\xe9\xff: \xe9", kind=b"resource"),
}


@pytest.fixture(params=HOSTILE)
def hostile(request, tmp_path, portal):
    """A client of a file with one such record between two sound ones."""
    path = tmp_path / "hostile.warc"
    path.write_bytes(SOUND + HOSTILE[request.param] + SOUND)
    with Library([path]) as library:
        library.start_reading()
        client = Client(application(library), portal)
        library._thread.join()
        yield client


def test_every_record_is_listed_and_the_list_is_complete(hostile) -> None:
    summary = hostile.get("/api/summary").json
    assert summary["complete"] is True
    assert summary["files"][0]["problem"] is None
    rows = hostile.get("/api/records").json["records"]
    assert len(rows) == 3
    for row in (rows[0], rows[2]):
        assert hostile.get(f"/api/records/{row['id']}/payload").body == PAGE


def test_every_answer_about_it_is_harmless(hostile) -> None:
    row = hostile.get("/api/records").json["records"][1]
    for path in ("", "/payload", "/block", "/frames"):
        answer = hostile.get(f"/api/records/{row['id']}{path}")
        assert answer.status in (200, 404, 501), (path, answer.body)
        assert SAFE.items() <= answer.headers.items()
        if path in ("/payload", "/block"):
            assert "sandbox" in answer.headers["content-security-policy"]


def test_a_record_that_cannot_be_described_has_a_problem(tmp_path, portal, monkeypatch, caplog) -> None:
    path = tmp_path / "three.warc"
    path.write_bytes(SOUND + HOSTILE["date"] + SOUND)
    payload_type = library_module.payload_type

    def fail(record):
        if record.type == "resource":
            raise ZeroDivisionError
        return payload_type(record)

    monkeypatch.setattr(library_module, "payload_type", fail)
    with Library([path]) as library:
        library.read()
        rows = Client(application(library), portal).get("/api/records").json["records"]
    assert [row["problem"] for row in rows] == [
        None,
        "this record could not be described: ZeroDivisionError",
        None,
    ]
    assert f"offset {len(SOUND)}" in caplog.text


def test_one_file_that_fails_does_not_stop_the_others(tmp_path, portal, monkeypatch) -> None:
    paths = [tmp_path / "a.warc", tmp_path / "b.warc"]
    for path in paths:
        path.write_bytes(SOUND)
    entries_of = library_module.entries_of

    def fail(reader, *callbacks):
        if reader.name == "a.warc":
            raise ZeroDivisionError
        return entries_of(reader, *callbacks)

    monkeypatch.setattr(library_module, "entries_of", fail)
    with Library(paths) as library:
        library.start_reading()
        library._thread.join()
        summary = Client(application(library), portal).get("/api/summary").json
    assert summary["complete"] is True
    assert "ZeroDivisionError" in summary["files"][0]["problem"]
    assert (summary["files"][1]["problem"], summary["records"]) == (None, 1)


def test_damage_in_a_head_is_a_problem_of_its_record(tmp_path, portal) -> None:
    block = response(PAGE, "text/html")
    header = record(block, uri(b"page.html"))[: -len(block) - 4]
    file = Foreign().record(block).record(block, header=header, cuts=len(header), checksum=True).record(block)
    put = file.records[1]
    data = bytearray(file.bytes())
    with seekwarc.open(bytes(data)) as archive:
        second = archive.record_at(put.offset).body.frames[1]
    data[put.offset + second.stored_stop - 1] ^= 0xFF
    path = tmp_path / "damaged.warc.zst"
    path.write_bytes(data)
    with Library([path]) as library:
        library.read()
        rows = Client(application(library), portal).get("/api/records").json["records"]
    assert [row["problem"] is None for row in rows] == [True, False, True]


def test_a_bug_of_the_server_is_a_harmless_500(portal) -> None:
    def fail(record_id: str, view: object = None) -> ServedRecord:
        raise ZeroDivisionError("a secret")

    app = payload_app(fail)

    async def quiet(*request) -> None:
        with contextlib.suppress(ZeroDivisionError):
            await app(*request)

    answer = Client(quiet, portal).get("/x/payload")
    assert (answer.status, answer.json["error"]["message"]) == (500, "seekwarc failed: ZeroDivisionError")
    assert SAFE.items() <= answer.headers.items()
    assert "sandbox" in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    "media_type",
    [
        "image/x+xml",
        "video/x+xml",
        "audio/x+xml",
        "image/xml",
        "image/SVG",
        "video/mathml+xml",
    ],
)
def test_xml_with_a_media_type_of_media_is_a_download(tmp_path, portal, media_type) -> None:
    path = tmp_path / "xml.warc"
    path.write_bytes(record(response(b"<svg/>", media_type), uri(b"x")))
    with Library([path]) as library:
        library.read()
        headers = Client(application(library), portal).get("/payload", uri="http://example.org/x").headers
    assert headers["content-disposition"].startswith("attachment")
    assert headers["content-type"] == "application/octet-stream"
    assert headers["content-security-policy"] == "default-src 'none'; sandbox"


# Work that does not end.

COUNT = 1_000_000


@pytest.fixture(scope="module")
def tiny_chunks(tmp_path_factory):
    """A small file with a sound record, and one of millions of chunks that take long to count."""
    # The zero makes each of them a line to look at by itself.
    body = b"01\r\nx\r\n" * COUNT + b"0\r\n\r\n"
    block = b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nTransfer-Encoding: chunked\r\n\r\n" + body
    path = tmp_path_factory.mktemp("tiny") / "tiny.warc.zst"
    file = Foreign()
    for name, part in ((b"film.mp4", response(PAGE, "video/mp4")), (b"tiny.mp4", block)):
        file.record(part, header=record(part, uri(name))[: -len(part) - 4], cuts=1 << 20, table=True)
    path.write_bytes(file.bytes())
    assert path.stat().st_size < 100_000
    return path


@pytest.fixture
def tiny(tiny_chunks, monkeypatch):
    monkeypatch.setattr(representation_module, "TURN", 0.02)
    monkeypatch.setattr(api_module, "SIZE_PATIENCE", 0.02)
    with Library([tiny_chunks]) as library:
        library.read()
        with running(application(library)) as server:
            yield server


def ask(server, path: str, **headers: str) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENT)
    connection.request("GET", path, headers=headers)
    return connection


def payload_of(name: str) -> str:
    return f"/payload?uri=http://example.org/{name}"


def test_an_answer_begins_before_the_chunks_are_counted(tiny) -> None:
    with closing(ask(tiny, payload_of("tiny.mp4"), Range="bytes=0-")) as connection:
        answer = connection.getresponse()
        assert (answer.status, answer.getheader("content-length")) == (200, None)
        assert answer.read(1000) == b"x" * 1000


def test_without_a_length_the_body_comes_to_its_end(tiny) -> None:
    with closing(ask(tiny, payload_of("tiny.mp4"))) as connection:
        answer = connection.getresponse()
        assert (answer.status, answer.getheader("content-length")) == (200, None)
        assert answer.read() == b"x" * COUNT


def test_a_short_range_comes_without_the_size(tiny) -> None:
    with closing(ask(tiny, payload_of("tiny.mp4"), Range="bytes=100000-100009")) as connection:
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (206, b"x" * 10)
        assert answer.getheader("content-range") == "bytes 100000-100009/*"


def test_work_ends_with_its_client_and_others_go_on(tiny, monkeypatch) -> None:
    turns = []
    begin = representation_module.Representation.begin

    def endless(self, asked, method):
        if asked.get("range") is None:
            return begin(self, asked, method)
        turns.append(1)
        begin(self, asked, method)
        return None

    def film() -> bytes:
        with closing(ask(tiny, payload_of("film.mp4"))) as connection:
            return connection.getresponse().read()

    monkeypatch.setattr(representation_module.Representation, "begin", endless)
    # As many as there are threads, and more.
    waiting = [ask(tiny, payload_of("tiny.mp4"), Range="bytes=-1") for _ in range(12)]
    assert film() == PAGE
    for connection in waiting:
        connection.close()
    assert turns
    wait_until(lambda: tiny.tasks <= 3)
    turns.clear()
    for _ in range(30):
        assert film() == PAGE
    assert turns == [], "no thread counts chunks any more"


@pytest.mark.slow
def test_a_counted_body_is_answered_like_any_other(tiny) -> None:
    with closing(ask(tiny, payload_of("tiny.mp4"), Range="bytes=-7")) as connection:
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (206, b"x" * 7)
        assert answer.getheader("content-range") == f"bytes {COUNT - 7}-{COUNT - 1}/{COUNT}"
    with closing(ask(tiny, payload_of("tiny.mp4"), Range="bytes=0-")) as connection:
        answer = connection.getresponse()
        assert (answer.status, answer.getheader("content-length")) == (206, str(COUNT))


def test_details_do_not_wait_for_the_size(tiny) -> None:
    with closing(ask(tiny, "/api/records?q=tiny")) as connection:
        row = json.load(connection.getresponse())["records"][0]
    with closing(ask(tiny, f"/api/records/{row['id']}")) as connection:
        record = json.load(connection.getresponse())
    assert (record["payload_size"], record["counting"], record["problem"]) == (None, True, None)


@pytest.mark.slow
def test_each_request_counts_on_until_the_size_is_known(tiny) -> None:
    with closing(ask(tiny, "/api/records?q=tiny")) as connection:
        row = json.load(connection.getresponse())["records"][0]
    for _ in range(2000):
        with closing(ask(tiny, f"/api/records/{row['id']}")) as connection:
            record = json.load(connection.getresponse())
        if not record["counting"]:
            break
    assert (record["payload_size"], record["problem"]) == (COUNT, None)
