"""What notebooks show of readers, records and indexes: small tables, without markup from the files."""

from __future__ import annotations

from pathlib import Path

import pytest

import seekwarc
from seekwarc import tools
from tests.support.sources import Pipe

URI = "http://example.org/?<script>alert(1)</script>"


@pytest.fixture
def path(tmp_path: Path) -> str:
    path = str(tmp_path / "a.warc.gz")
    with seekwarc.open(path, "w") as out:
        for number in range(12):
            fields = [("X-Odd", "<b>&amp;</b>"), ("Content-Type", "text/html")]
            out.write_response(f"http://example.org/{number}", b"page", status=200, http_headers=fields)
        out.write_resource("http://example.org/last", b"x", "text/plain")
    return path


def test_a_reader_shows_its_first_records(path: str) -> None:
    with seekwarc.open(path) as archive:
        shown = archive._repr_html_()
        assert shown.count("<tr>") == 1 + 10
        assert '<td style="text-align: left">http://example.org/9</td>' in shown
        assert "and more records" in shown
        assert len(list(archive)) == 13


def test_a_reader_of_a_pipe_shows_only_its_name(path: str) -> None:
    with seekwarc.open(Pipe(Path(path).read_bytes())) as archive:
        assert "Reader of" in archive._repr_html_()
        assert len(list(archive)) == 13


def test_damage_is_shown(path: str) -> None:
    data = bytearray(Path(path).read_bytes())
    data[len(data) // 2] ^= 255
    with seekwarc.open(bytes(data)) as archive:
        assert "offset" in archive._repr_html_().rpartition("<p>")[2]
    with seekwarc.open(b"no archive") as archive:
        assert "not a WARC file" in archive._repr_html_()


def test_a_record_shows_its_fields(path: str) -> None:
    with seekwarc.open(path) as archive:
        shown = next(iter(archive))._repr_html_()
    assert "HTTP/1.1 200 OK" in shown
    assert "&lt;b&gt;&amp;amp;&lt;/b&gt;" in shown
    assert "WARC-Target-URI" in shown
    assert "<b>" not in shown


def test_an_index_shows_its_first_captures(path: str, tmp_path: Path) -> None:
    lines = str(tmp_path / "a.cdxj")
    tools.index([path], lines)
    with seekwarc.Index(lines) as index:
        shown = index._repr_html_()
    assert shown.count("<tr>") == 1 + 10
    assert "and more captures" in shown
    with seekwarc.Index(b"not a {line\n") as index:
        assert "<p>" in index._repr_html_()


def test_no_markup_of_a_file_is_shown() -> None:
    header = (
        "WARC/1.1\r\nWARC-Type: resource\r\nWARC-Date: 2026-11-21T12:00:00Z\r\nWARC-Record-ID: <urn:x:1>\r\n"
        f"WARC-Target-URI: {URI}\r\nContent-Length: 1\r\n\r\n"
    )
    with seekwarc.open(f"{header}x\r\n\r\n".encode()) as archive:
        for shown in (archive._repr_html_(), next(iter(archive))._repr_html_()):
            assert "<script" not in shown
            assert "&lt;script&gt;" in shown
