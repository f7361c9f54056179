"""What pywb is taught, tried on a stand-in for it; tests/interop/test_pywb.py has the real one."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import seekwarc
from seekwarc.errors import SeekWarcError
from seekwarc.serve.pywb import RecordFile, RecordLoader, Records, equip, main
from seekwarc.serve.ranges import decide
from tests.support.writing import KIB, MIB, RESPONSE, URI, CountedSource, header_for, noise, text, written

BODY = noise(3 * MIB)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nSet-Cookie: a=b\r\nContent-Length: %d\r\n\r\n" % len(
    BODY
)
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"".join(
    b"%x\r\n%s\r\n" % (len(BODY[at : at + 70_000]), BODY[at : at + 70_000])
    for at in range(0, len(BODY), 70_000)
)


def response(block: bytes) -> dict[str, Any]:
    return {"type": "response", "target_uri": URI, "content_type": RESPONSE, "block": block}


class Limited:
    """The way pywb's parser limits a body."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def read(self, size: int = -1) -> bytes:
        return self.stream.read(size)

    def close(self) -> None:
        self.stream.close()


class Fields(dict[str, str]):
    """The way pywb keeps a record header."""

    def replace_header(self, name: str, value: str) -> None:
        self[name] = value

    def remove_header(self, name: str) -> bool:
        return self.pop(name, None) is not None

    def get_header(self, name: str) -> str | None:
        return self.get(name)


class PlainLoader:
    """Tells how it was called; parses a record up to the end of its HTTP head."""

    def __init__(self) -> None:
        self.loaded: list[tuple[object, ...]] = []

    def load(self, url: str, offset: object, length: object, no_record_parse: bool = False) -> object:
        self.loaded.append((url, offset, length, no_record_parse))
        return Fields(), b"HTTP/1.1 200 OK\r\n\r\n", Limited(io.BytesIO(b"by itself"))

    def parse_record_stream(self, stream: Any, *, no_record_parse: bool = False) -> object:
        fields, head = Fields(), b""
        while (line := stream.readline()).strip():
            name, _, value = line.decode("utf-8", "surrogateescape").strip().partition(": ")
            fields[name] = value
        if fields["WARC-Type"] == "response":
            while not head.endswith(b"\r\n\r\n"):
                head += stream.readline()
        return fields, head or None, Limited(stream)


class Rewriter:
    """The two methods that deal with ranges, as pywb has them."""

    def _check_range(self, request: Any, url: Any) -> object:
        return "pywb's own range"

    def _add_range(self, record: Any, url: Any, start: object, end: object) -> object:
        return "pywb's own cut"


class Frontend:
    """An application with one collection, as much of it as there has to be."""

    def __init__(self) -> None:
        plain = PlainLoader()
        self.loader: Any = type("Loader", (), {})()
        self.loader.resolve_loader = SimpleNamespace(record_loader=plain)
        self.loader.load_resource = lambda cdx, params: self.loader.resolve_loader.record_loader.load(*cdx)
        handler = SimpleNamespace(resource_loaders=[self.loader, object()])
        sequence = SimpleNamespace(handlers=[handler])
        self.warcserver = SimpleNamespace(fixed_routes={"a": sequence, "b": handler}, auto_handler=None)
        self.rewriterapp: Any = Rewriter()
        self.plain = plain

    def ask(self, place: tuple[object, ...], method: str = "GET", **fields: str) -> tuple[Any, bytes, bytes]:
        """Send a request the way it goes through pywb, and return what the client's answer is made of."""
        asked = SimpleNamespace(env={}, warcserver_headers={})
        if "Range" in fields:
            asked.env["HTTP_RANGE"] = fields["Range"]
        self.rewriterapp._check_range(asked, None)
        env = {"HTTP_" + name.upper().replace("-", "_"): it for name, it in asked.warcserver_headers.items()}
        request = SimpleNamespace(
            env=env,
            get_req_method=lambda: method,
            get_req_headers=lambda: {name.replace("_", "-"): value for name, value in fields.items()},
        )
        self.params: dict[str, object] = {"_input_req": request}
        resource = self.loader.load_resource(place, self.params)
        done = SimpleNamespace(rec_headers=resource[0])
        self.cut = self.rewriterapp._add_range(done, None, 0, None)
        return resource[0], resource[1], resource[2].read()


@pytest.fixture
def frontend() -> Frontend:
    made = Frontend()
    equip(made)
    return made


@pytest.fixture
def store(tmp_path: Path) -> Callable[..., tuple[object, ...]]:
    """Write a file with one record and return the place of it, as an index has it."""

    def make(record: dict[str, Any] | tuple[bytes, bytes]) -> tuple[object, ...]:
        data, (done,) = written(record)
        path = tmp_path / "a.warc.zst"
        path.write_bytes(data)
        return str(path), str(done.offset), str(done.length)

    return make


@pytest.mark.parametrize("block", [HEAD + BODY, CHUNKED + b"0\r\n\r\n"], ids=["plain", "chunked"])
@pytest.mark.parametrize(
    "wanted",
    [
        "bytes=0-",
        "bytes=0-0",
        "bytes=70000-70001",
        "bytes=-5",
        "bytes=5-99999999999",
        "bytes=3145728-",
        "bytes=-0",
    ],
)
def test_a_range_is_the_body_and_the_head_says_so(frontend, store, block: bytes, wanted: str) -> None:
    fields, head, body = frontend.ask(store(response(block)), Range=wanted)
    answer = decide({"range": wanted}, size=len(BODY), etag="")
    assert head.startswith(b"HTTP/1.1 %d " % answer.status)
    assert body == BODY[answer.start : answer.stop]
    assert b"\r\nContent-Length: %d\r\n" % len(body) in head
    assert int(fields["Content-Length"]) == len(head) + len(body)
    place = f"{answer.start}-{answer.stop - 1}" if body else "*"
    assert f"\r\nContent-Range: bytes {place}/{len(BODY)}\r\n".encode() in head
    assert b"Set-Cookie" not in head
    assert b"Transfer-Encoding" not in head
    assert frontend.cut is True, "pywb neither cuts nor rewrites it"
    assert frontend.params["recorder_skip"] == "1"


@pytest.mark.parametrize(
    "fields",
    [
        {"Range": "bytes=5-2"},
        {"Range": "bytes=1-2,5-6"},
        {"Range": "items=1-2"},
        {"Range": "bytes=1-2", "If_Range": '"some"'},
        {"Range": "bytes=1-2", "If_Range": "Sat, 21 Nov 2026 09:30:00 GMT"},
    ],
)
def test_an_ignored_range_changes_nothing(frontend, store, fields: dict[str, str]) -> None:
    _, head, body = frontend.ask(store(response(HEAD + BODY)), **fields)
    assert (head, body[: len(BODY)]) == (HEAD, BODY)
    assert frontend.cut is False, "pywb does not cut it either"


def test_a_resource_becomes_a_response_for_its_range(frontend, store) -> None:
    place = store({"type": "resource", "target_uri": URI, "content_type": "video/webm", "block": BODY})
    fields, head, body = frontend.ask(place, Range="bytes=9-19")
    assert body == BODY[9:20]
    assert head.startswith(b"HTTP/1.1 206 Partial Content\r\n")
    assert b"\r\nContent-Type: video/webm\r\n" in head
    assert fields["WARC-Type"] == "response"
    fields, head, body = frontend.ask(place)
    assert (fields["WARC-Type"], head) == ("resource", None)


@pytest.mark.parametrize(
    ("block", "fields"),
    [
        (HEAD.replace(b"Set-Cookie: a=b", b"Content-Encoding: gzip") + BODY, ()),
        (HEAD.replace(b"200 OK", b"203 Other") + BODY, ()),
        (HEAD + BODY, (("WARC-Segment-Number", "1"),)),
    ],
    ids=["coded", "another status", "a segment"],
)
def test_bodies_that_pywb_needs_whole_stay_whole(
    frontend, store, block: bytes, fields: tuple[tuple[str, str], ...]
) -> None:
    header = header_for(len(block), *fields, content_type=RESPONSE)
    _, head, body = frontend.ask(store((header, block)), Range="bytes=5-9")
    assert head + body[: len(BODY)] == block


def test_other_methods_have_no_ranges(frontend, store) -> None:
    _, head, _ = frontend.ask(store(response(HEAD + BODY)), method="POST", Range="bytes=5-9")
    assert head == HEAD


def test_other_files_stay_with_pywb(frontend) -> None:
    _, _, body = frontend.ask(("a.warc.gz", "7", "-"), Range="bytes=5-9")
    assert body == b"by itself"
    assert frontend.plain.loaded == [("a.warc.gz", "7", "-", False)]
    assert frontend.cut == "pywb's own cut"


@pytest.mark.parametrize("length", ["-", "", "0", -1])
def test_an_unknown_length_is_found(store, length: object) -> None:
    path, offset, _ = store(response(HEAD + b"short"))
    _, head, body = RecordLoader(PlainLoader(), Records()).load(path, offset, length)
    assert (head, body.read()) == (HEAD, b"short\r\n\r\n")


def test_offsets_without_a_record_are_errors_with_the_file(store) -> None:
    path, _, _ = store(response(HEAD + b"short"))
    loader = RecordLoader(PlainLoader(), Records())
    with pytest.raises(SeekWarcError, match=r"a\.warc\.zst"):
        loader.load(path, "3", "-")
    with pytest.raises(SeekWarcError, match=r"gone\.warc\.zst"):
        loader.load(path.replace("a.warc", "gone.warc"), "0", "-")


def test_a_replaced_file_is_opened_again(store, tmp_path: Path) -> None:
    records = Records()
    path, offset, length = store(response(HEAD + b"first"))
    first = records.open(path, int(offset), int(length))
    assert records.open(path, int(offset), int(length)) is first
    os.rename(path, tmp_path / "old.warc.zst")
    path, offset, length = store(response(HEAD + b"second, and longer"))
    assert records.open(path, int(offset), int(length)).payload.read() == b"second, and longer"
    assert first.payload.read() == b"first", "what was open stays usable"


def test_reading_the_head_does_not_pay_for_the_body() -> None:
    data, (done,) = written(response(HEAD + text(4 * MIB)), frame_size=MIB)
    source = CountedSource.of(data)
    with seekwarc.open(source, threads=1) as archive:
        record = archive.record_at(done.offset, done.length)
        assert record.http is not None
        before = archive.stats.bytes_decoded
        file = RecordFile(record)
        lines = [file.readline() for _ in range(len(record.header.raw.splitlines()) + 5)]
        assert b"".join(lines) == record.header.raw + HEAD
        assert archive.stats.bytes_decoded - before < 4 * KIB
        assert file.read() == text(4 * MIB) + b"\r\n\r\n"


def test_an_unknown_version_of_pywb_is_refused() -> None:
    with pytest.raises(SeekWarcError, match="this version of pywb"):
        equip(SimpleNamespace(warcserver=SimpleNamespace(fixed_routes={}, auto_handler=None)))


def test_the_command_says_that_pywb_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pywb.apps.cli", None)
    with pytest.raises(SystemExit, match="run pip install pywb"):
        main([])


FORGED = ["206", "206 206", " 206", "0" * 32 + " 206", "\udce9 206", ""]


@pytest.mark.parametrize("value", FORGED)
def test_an_archived_field_cannot_pass_for_our_mark(frontend, store, value) -> None:
    block = HEAD + BODY
    lines = [
        "WARC/1.1",
        "WARC-Type: response",
        f"Seekwarc-Range: {value}",
        f"Content-Type: {RESPONSE}",
        f"Content-Length: {len(block)}",
    ]
    header = "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape")
    place = store((header, block))
    frontend.ask(place)
    assert frontend.cut == "pywb's own cut", "what pywb does to every record is done"
    fields, _, body = frontend.ask(place, Range="bytes=5-9")
    assert (frontend.cut, body) == (True, BODY[5:10])
    assert "Seekwarc-Range" not in fields


@pytest.mark.parametrize("value", FORGED)
def test_nor_can_one_in_files_left_to_pywb(frontend, value) -> None:
    frontend.plain.load = lambda *_, **__: (
        Fields({"Seekwarc-Range": value}),
        None,
        Limited(io.BytesIO(b"x")),
    )
    frontend.ask(("a.warc.gz", "0", "10"))
    assert frontend.cut == "pywb's own cut"


@pytest.mark.parametrize("value", ["bytes=0-9", "0 bytes=0-9", "\xe9 bytes=0-9"])
def test_a_field_of_a_client_cannot_pass_for_our_mark(frontend, store, value) -> None:
    check = frontend.rewriterapp._check_range

    def with_theirs(request: Any, url: Any) -> object:
        done = check(request, url)
        request.warcserver_headers["X-Seekwarc-Range"] = value
        return done

    frontend.rewriterapp._check_range = with_theirs
    assert frontend.ask(store(response(HEAD + BODY)))[2].startswith(BODY)
    assert frontend.cut == "pywb's own cut"
