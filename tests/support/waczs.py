"""WACZ files, made here by hand: small ones, and one of 10 GiB that is nearly all hole."""

from __future__ import annotations

import gzip
import io
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import seekwarc
from seekwarc import tools
from tests.support.rangeserver import Content
from tests.support.writing import noise

HOME, FILM = "http://example.org/", "http://example.org/film.mp4"
FILM_BYTES = noise(300_000, seed=7)
PAGES = (
    b'{"format": "json-pages-1.0", "id": "pages", "title": "All Pages"}\n'
    b'{"url": "http://example.org/", "ts": "2026-11-17T06:00:00Z", "title": "Home"}\n'
)


@cache
def warc(name: str) -> bytes:
    """Return a WARC file with a page, a film, and a revisit of the page."""
    stored = io.BytesIO()
    compression = "gz" if name.endswith(".gz") else "zst" if name.endswith(".zst") else "none"
    with seekwarc.open(stored, "w", compression=compression, dedup=seekwarc.Duplicates()) as out:
        for date in ("2026-11-17T06:00:00Z", "2026-11-18T06:00:00Z"):
            html = {"Content-Type": "text/html; charset=utf-8"}
            page = b"<html><title>Home &amp;\n garden</title><p>" + b"Hello. " * 60
            out.write_response(HOME, page, status=200, http_headers=html, date=date)
        out.write_response(
            FILM, FILM_BYTES, status=200, http_headers={"Content-Type": "video/mp4"}, date=date
        )
    return stored.getvalue()


def members(warcs: Mapping[str, bytes] | None = None, *, cluster: bool = True) -> dict[str, bytes]:
    """Return the members of a WACZ of some WARC files."""
    warcs = {"a.warc.gz": warc("a.warc.gz")} if warcs is None else warcs
    found = {f"archive/{name}": data for name, data in warcs.items()}
    lines = io.BytesIO()
    tools.index(warcs, lines)
    if cluster:
        block = gzip.compress(lines.getvalue(), mtime=0)
        first = lines.getvalue().split(b"{")[0].decode()
        meta = '!meta 0 {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}\n'
        found["indexes/index.idx"] = f'{meta}{first}{{"offset": 0, "length": {len(block)}}}\n'.encode()
        found["indexes/index.cdx.gz"] = block
    else:
        found["indexes/index.cdxj"] = lines.getvalue()
    return {**found, "pages/pages.jsonl": PAGES, "datapackage.json": b"{}"}


def wacz(found: Mapping[str, bytes], *, deflated: tuple[str, ...] = (".json", ".jsonl", ".idx")) -> bytes:
    """Return a ZIP archive of members, those with some endings deflated."""
    stored = io.BytesIO()
    with ZipFile(stored, "w") as out:
        for name, data in found.items():
            out.writestr(name, data, ZIP_DEFLATED if name.endswith(deflated) else ZIP_STORED)
    return stored.getvalue()


def huge(path: Path, size: int = 10 << 30) -> None:
    """Make a WACZ with a film of 10 GiB, whose bytes are zeros and take no room on a disk."""
    block = b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: %d\r\n\r\n" % size
    head = (
        "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:x:film>\r\nWARC-Target-URI: "
        f"{FILM}\r\nWARC-Date: 2026-11-17T06:00:00Z\r\nContent-Type: application/http; msgtype=response\r\n"
        f"Content-Length: {len(block) + size}\r\n\r\n"
    ).encode() + block
    length = len(head) + size + 4
    line = {"url": FILM, "mime": "video/mp4", "status": "200", "length": str(length), "offset": "0"}
    index = f"org,example)/film.mp4 20261117060000 {json.dumps({**line, 'filename': 'f.warc'})}\n"
    block = gzip.compress(index.encode())
    meta = '!meta 0 {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}\n'
    with ZipFile(path, "w") as out:
        out.writestr("indexes/index.cdx.gz", block)
        out.writestr(
            "indexes/index.idx", f'{meta}org,example)/ 2026 {{"offset": 0, "length": {len(block)}}}\n'
        )
        info = ZipInfo("archive/f.warc")
        info.file_size = info.compress_size = length
        info.CRC = 0
        assert out.fp is not None
        info.header_offset = out.fp.tell()
        out.fp.write(info.FileHeader(zip64=True) + head)
        out.fp.seek(size, io.SEEK_CUR)
        out.fp.write(b"\r\n\r\n")
        out.start_dir = out.fp.tell()
        out.filelist.append(info)
        out.NameToInfo[info.filename] = info
        out.writestr("pages/pages.jsonl", PAGES)
        out.writestr("datapackage.json", "{}")


@dataclass(frozen=True)
class FileContent(Content):
    """A file as a range server serves it, without reading all of it."""

    path: Path = Path()

    @property
    def size(self) -> int:
        """Bytes of it."""
        return os.path.getsize(self.path)

    def cut(self, start: int, stop: int) -> bytes:
        """Return a range of it."""
        with open(self.path, "rb") as file:
            file.seek(start)
            return file.read(stop - start)
