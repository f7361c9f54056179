"""Blocks and payloads as files: what libraries that take files ask of them; and how they show themselves."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Iterator, Sequence

import pytest

import seekwarc

URI = "http://example.org/page"
TEXT = b"".join(b"line %d\n" % number for number in range(5000))


@pytest.fixture(scope="module", params=["as it is", "decoded"])
def file_of(request: pytest.FixtureRequest) -> Iterator[object]:
    decoded = request.param == "decoded"
    fields = [("Content-Encoding", "gzip")] if decoded else []
    body = gzip.compress(TEXT) if decoded else TEXT
    with seekwarc.open(made(body, fields)) as archive:
        payload = next(iter(archive)).payload
        yield lambda: payload.open(decoded=decoded)


def made(body: bytes, fields: Sequence[tuple[str, str]] = ()) -> bytes:
    out = io.BytesIO()
    with seekwarc.open(out, "w") as writer:
        writer.write_response(URI, body, status=200, http_headers=list(fields))
    return out.getvalue()


def test_a_file_has_a_name_and_a_mode(file_of) -> None:
    with file_of() as file:
        assert (file.name, file.mode) == (URI, "rb")
        assert io.BufferedReader(file).name == URI


def test_looking_ahead_moves_nothing(file_of) -> None:
    with file_of() as file:
        assert file.peek(6) == TEXT[:6]
        assert TEXT.startswith(file.peek())
        assert file.peek()
        assert file.read1(6) == TEXT[:6]
        found = b"".join(iter(file.read1, b""))
        assert TEXT[:6] + found == TEXT
        assert file.peek() == b""
    for call in (file.peek, file.read1):
        with pytest.raises(ValueError, match="closed file"):
            call()


def test_what_a_file_cannot_do_is_unsupported(file_of) -> None:
    with file_of() as file:
        for call in (lambda: file.write(b"x"), file.truncate, file.fileno):
            with pytest.raises(io.UnsupportedOperation):
                call()


def test_archives_in_payloads_are_opened() -> None:
    zipped, tarred = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("a.txt", TEXT)
    with tarfile.open(fileobj=tarred, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a.txt"))
    with seekwarc.open(made(zipped.getvalue())) as crawl:
        assert zipfile.ZipFile(next(iter(crawl)).payload.open()).read("a.txt") == TEXT
    with (
        seekwarc.open(made(tarred.getvalue())) as crawl,
        tarfile.open(fileobj=next(iter(crawl)).payload.open()) as inner,
    ):
        assert inner.getnames() == ["a.txt"]


def test_extents_show_what_they_are() -> None:
    with seekwarc.open(made(b"0123456789")) as archive:
        record = next(iter(archive))
        assert repr(record.payload) == f"<Extent 10 bytes in the record at 0: {URI}>"
        size = record.content_length
        assert repr(record.block) == f"<Extent {size} bytes in the record at 0: {URI}>"
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
    out = io.BytesIO()
    with seekwarc.open(out, "w") as writer:
        writer.write_response(URI, chunked)
    with seekwarc.open(out.getvalue()) as archive:
        payload = next(iter(archive)).payload
        assert repr(payload) == f"<ChunkedExtent of unknown size in the record at 0: {URI}>"
        assert payload.size == 5
        assert repr(payload) == f"<ChunkedExtent 5 bytes in the record at 0: {URI}>"
