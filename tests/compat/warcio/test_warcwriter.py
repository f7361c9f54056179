"""`WARCWriter` writes .warc.zst by the name of the file, and .warc.gz as warcio does."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator as TheirIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import BufferWARCWriter as TheirWriter

import seekwarc
from seekwarc import TableStatus
from seekwarc.compat.warcio import BufferWARCWriter, WARCWriter
from tests.support.writing import MIB, noise

URI = "http://example.org/"
FILM = noise(3 * MIB)


def response(writer: Any, body: Any, length: int | None) -> Any:
    head = StatusAndHeaders("200 OK", [("Content-Type", "video/mp4")], "HTTP/1.1")
    return writer.create_warc_record(URI, "response", payload=body, length=length, http_headers=head)


def write_some(writer: Any) -> None:
    writer.write_record(writer.create_warcinfo_record("a.warc", {"software": "crawler/1.0"}))
    request = writer.create_warc_record(
        URI, "request", http_headers=StatusAndHeaders("GET / HTTP/1.1", [], is_http_request=True)
    )
    writer.write_request_response_pair(request, response(writer, io.BytesIO(FILM), len(FILM)))
    digest = "sha1:B6QJ6BNJ3R4B23XXMRKZKHLPGJY2VE4O"
    writer.write_record(writer.create_revisit_record(URI, digest, URI, "2026-01-01T00:00:00Z"))


class OnlyRead:
    """A stream that tells no position."""

    def __init__(self, data: bytes) -> None:
        self.read = io.BytesIO(data).read


def content(records: Any) -> list[tuple[Any, ...]]:
    """Return what is in records, but for what is new each time."""
    return [
        (
            it.rec_type,
            [field for field in it.rec_headers.headers if "ID" not in field[0] and "Date" not in field[0]],
            it.http_headers and it.http_headers.to_bytes(),
            it.content_stream().read(),
        )
        for it in records
    ]


@pytest.fixture
def no_new_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    from warcio.statusandheaders import StatusAndHeadersParser  # noqa: PLC0415

    monkeypatch.setattr(StatusAndHeadersParser, "make_warc_id", lambda _=None: "<urn:uuid:1>")


@pytest.mark.usefixtures("no_new_ids")
def test_records_are_those_that_warcio_writes(tmp_path: Path) -> None:
    with (tmp_path / "a.warc.zst").open("w+b") as file, WARCWriter(file) as writer:
        write_some(writer)
    theirs = TheirWriter(gzip=True)
    write_some(theirs)
    expected = content(TheirIterator(theirs.get_stream()))
    theirs.out.close()
    with seekwarc.open(tmp_path / "a.warc.zst") as archive:
        records = list(archive)
        found = [(it.type, b"" if it.http is None else it.http.raw, it.payload.read()) for it in records]
        assert all(check.verdict.value != "wrong" for it in records for check in it.check_digests())
    assert found == [(it[0], it[2] or b"", it[3]) for it in expected]
    assert [it.target_uri for it in records] == [None, URI, URI, URI]


def test_large_records_are_read_by_range(tmp_path: Path) -> None:
    with (tmp_path / "a.warc.zst").open("wb") as file, WARCWriter(file, frame_size=64 << 10) as writer:
        writer.write_record(response(writer, io.BytesIO(FILM), len(FILM)))
        assert file.tell() == (tmp_path / "a.warc.zst").stat().st_size
    with seekwarc.open(tmp_path / "a.warc.zst") as archive:
        record = next(iter(archive))
        assert record.seek_table_status in (TableStatus.RECORD, TableStatus.FILE)
        assert record.payload.pread(2 * MIB, 100) == FILM[2 * MIB :][:100]
        assert archive.stats.bytes_decoded < MIB


def test_a_writer_that_nobody_closes_leaves_a_whole_file(tmp_path: Path) -> None:
    with (tmp_path / "a.warc.zst").open("wb") as file:
        writer = WARCWriter(file)
        write_some(writer)
    with (tmp_path / "a.warc.zst").open("ab") as file:
        write_some(WARCWriter(file))
    with seekwarc.open(tmp_path / "a.warc.zst", strict=True) as archive:
        assert [len(it.block.read()) for it in archive].count(len(FILM) + 44) == 2


def test_a_payload_of_unknown_length_is_written() -> None:
    writer = BufferWARCWriter(compression="zst")
    record = response(writer, OnlyRead(b"of unknown length"), None)
    writer.write_record(record)
    with writer.out, record.raw_stream:  # warcio's own temporary file
        (found,) = seekwarc.open(writer.get_contents())
    assert found.payload.read() == b"of unknown length"


@pytest.mark.parametrize(
    ("name", "options", "magic"),
    [
        ("a.warc.zst", {}, b"\x28\xb5\x2f\xfd"),
        ("a.warc.zst", {"gzip": False}, b"\x28\xb5\x2f\xfd"),
        ("a.warc.gz", {}, b"\x1f\x8b"),
        ("a.warc.gz", {"gzip": False}, b"WARC"),
        ("a.warc", {"compression": "zst"}, b"\x28\xb5\x2f\xfd"),
        ("a.warc.zst", {"compression": "none"}, b"WARC"),
    ],
)
def test_the_name_or_the_program_says_the_form(
    name: str, options: dict[str, Any], magic: bytes, tmp_path: Path
) -> None:
    with (tmp_path / name).open("wb") as file, WARCWriter(file, **options) as writer:
        writer.write_record(writer.create_warcinfo_record("a", {"software": "crawler/1.0"}))
    assert (tmp_path / name).read_bytes().startswith(magic)


def test_options_are_of_a_zst_file_alone() -> None:
    with pytest.raises(ValueError, match=r"only a \.warc\.zst takes level"):
        WARCWriter(io.BytesIO(), level=19)


def test_versions_and_filters_are_as_with_warcio() -> None:
    def hide(field: tuple[str, str]) -> tuple[str, str] | None:
        return None if field[0] == "Cookie" else field

    writer = BufferWARCWriter(compression="zst", warc_version="1.1", header_filter=hide)
    head = StatusAndHeaders("200 OK", [("Cookie", "secret"), ("A", "1")], "HTTP/1.1")
    writer.write_record(
        writer.create_warc_record(URI, "response", payload=io.BytesIO(b"x"), length=1, http_headers=head)
    )
    with writer.out:
        (record,) = seekwarc.open(writer.get_contents())
    assert (record.header.version, dict(record.http or {})) == ("1.1", {"A": "1"})


def test_a_stream_that_is_too_short_leaves_nothing() -> None:
    writer = BufferWARCWriter(compression="zst")
    record = response(writer, io.BytesIO(b"short"), 5)
    record.length = record.payload_length = 100
    with pytest.raises(seekwarc.FormatError):
        writer.write_record(record)
    writer.write_record(response(writer, io.BytesIO(b"whole"), 5))
    with writer.out:
        assert [it.payload.read() for it in seekwarc.open(writer.get_contents())] == [b"whole"]


def test_nothing_written_is_an_empty_file() -> None:
    writer = BufferWARCWriter(compression="zst")
    writer.close()
    writer.close()
    with writer.out:
        assert writer.get_stream().read() == b""
