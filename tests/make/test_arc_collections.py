"""ARC files among WARC files: in collections, indexes, parts, tables and over HTTP."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import seekwarc
from seekwarc import Collection, Index
from seekwarc.make.indexing import index
from seekwarc.serve.app import application
from seekwarc.serve.library import Library
from tests.conftest import ODD_SAMPLES
from tests.serve.asgi import Client
from tests.serve.conftest import portal
from tests.support.arc import arc_record, first_record

__all__ = ["portal"]

PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>a page of 2001"
FILM = b"HTTP/1.1 200 OK\r\nContent-Type: video/mpeg\r\n\r\n" + bytes(range(256)) * 1000
URIS = ["http://example.org/", "http://example.org/film", "dns:example.org"]


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    """An ARC file, the same without compression, and a WARC file of another day."""
    dns = (b"192.0.2.7", b"20010101000000", b"text/dns")
    records = [
        first_record(),
        arc_record(b"http://example.org/", PAGE),
        arc_record(b"http://example.org/film", FILM),
        arc_record(b"dns:example.org", b"192.0.2.1\n", *dns),
    ]
    names = [tmp_path / name for name in ("old.arc.gz", "old.arc", "new.warc.zst")]
    names[0].write_bytes(b"".join(gzip.compress(it, mtime=0) for it in records))
    names[1].write_bytes(b"".join(records))
    with seekwarc.open(names[2], "w") as out:
        out.write_response(URIS[0], b"HTTP/1.1 200 OK\r\n\r\nnow", date="2026-11-16T12:00:00Z")
    return names


def test_a_collection_has_both(paths: list[Path]) -> None:
    with Collection(paths) as archives:
        assert sum(1 for _ in archives) == 9
        dates = {str(it.date) for it in archives if it.target_uri == URIS[0]}
        assert dates == {"2001-01-01T00:00:00Z", "2026-11-16T12:00:00Z"}
        film = next(it for it in archives if it.target_uri == URIS[1])
        assert film.payload.pread(1000, 8) == bytes(range(232, 240))


def test_an_index_of_both_leads_to_the_records(paths: list[Path]) -> None:
    out = io.BytesIO()
    index({it.name: it for it in (paths[0], paths[2])}, out)
    with Index(out.getvalue(), files=paths[0].parent) as found:
        [film] = found.lookup(URIS[1])
        assert (film.mime, film.open().payload.pread(1000, 8)) == ("video/mpeg", bytes(range(232, 240)))
        assert len(list(found.lookup(URIS[0]))) == 2


def test_parts_and_rows_are_those_of_the_records(paths: list[Path]) -> None:
    for path in paths[:2]:
        with seekwarc.open(path) as archive:
            offsets = [it.offset for it in archive]
            ends = [*offsets[1:], None]
            ranges = zip(offsets, ends, strict=True)
            assert [it.offset for part in ranges for it in archive.between(*part)] == offsets
        parts = list(seekwarc.splits(path, target_bytes=200))
        assert [it.offset for part in parts for it in seekwarc.read_split(part)] == offsets
        assert len(parts) > 1


@pytest.mark.needs("module:starlette")
def test_a_server_answers_ranges_of_them(paths: list[Path], portal: Any) -> None:
    with Library(paths[:2]) as library:
        library.read()
        client = Client(application(library), portal)
        rows = [it for it in client.get("/api/records").json["records"] if it["uri"] == URIS[1]]
        assert len(rows) == 2
        for row in rows:
            address = f"/api/records/{row['id']}/payload"
            answer = client.get(address, headers={"range": "bytes=1000-1007"})
            assert (answer.status, answer.body) == (206, bytes(range(232, 240)))
            assert answer.headers["content-type"] == "video/mpeg"


@pytest.mark.needs("module:cdxj_indexer", "odd samples")
def test_lines_are_those_of_cdxj_indexer() -> None:
    path = ODD_SAMPLES.parent / "warcio-test-data" / "example.arc.gz"
    out = io.BytesIO()
    index({path.name: path}, out)
    theirs = subprocess.run(
        [sys.executable, "-m", "cdxj_indexer.main", str(path)], capture_output=True, check=False
    ).stdout
    assert out.getvalue() == theirs != b""
