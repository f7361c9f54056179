"""Captures of a small site at two dates, with what browsers find on sites: for replay in a real one."""

from __future__ import annotations

import gzip
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import brotli
import zstandard

import seekwarc

FOLDER = Path(__file__).with_name("site")
SITE = "https://www.example.org"
CDN = "https://cdn.example.net"
FIRST, SECOND = "2026-01-01T12:00:00Z", "2026-06-01T12:00:00Z"
HTML, JSON, PLAIN = "text/html; charset=utf-8", "application/json", "text/plain"
ROWS = 3000
"""Rows of `rows.json`."""
COLORS = {"red": (200, 30, 30), "green": (30, 160, 30), "blue": (30, 30, 200)}


def write_site(path: Path, *, film: bytes = b"", font: bytes = b"") -> None:
    """Write the captures of the site, in the format that the name says."""
    with seekwarc.open(path, "w") as out:
        site = _Site(out)
        for version, date, color in ((1, FIRST, "#a00"), (2, SECOND, "#06a")):
            home = gzip.compress(_file("index.html").replace("$VERSION", str(version)).encode(), mtime=0)
            fields = [
                "Content-Encoding: gzip",
                "Content-Security-Policy: default-src 'self'; frame-ancestors 'none'",
                "Set-Cookie: sid=abc; Path=/; HttpOnly",
                "Set-Cookie: lang=de; Path=/",
            ]
            if version == 2:
                home = b"%x\r\n%s\r\n0\r\n\r\n" % (len(home), home)
                fields.append("Transfer-Encoding: chunked")
            site.add("/", HTML, home, *fields, date=date)
            css = _file("main.css").replace("$COLOR", color)
            site.add(f"{CDN}/css/main.css?v={version}", "text/css", css, date=date)
        site.add(f"{CDN}/css/extra.css", "text/css", "img { border: 2px solid rgb(51, 51, 51) }")
        site.add("/app.js", "text/javascript", _file("app.js"))
        site.add("/font.ttf", "font/ttf", font)
        for name, color in COLORS.items():
            site.add(f"/img/{name}.png", "image/png", picture(*color))
        site.add(f"{CDN}/img/blue.png", "image/png", picture(*COLORS["blue"]))
        site.add(f"{CDN}/img/stripe.png", "image/png", picture(255, 220, 120, height=30))
        for name in ("frame.html", "film.html"):
            site.add(f"/{name}", HTML, _file(name))
        site.add("/film.mp4", "video/mp4", film, "Accept-Ranges: bytes")
        for coding, compress in (("br", brotli.compress), ("zstd", zstandard.compress)):
            site.add(f"/{coding}.html", HTML, compress(b"<h1>coded</h1>"), f"Content-Encoding: {coding}")
        site.add("/page2.html", HTML, "<title>Page 2</title><h1>Page two</h1><a href='./'>home</a>")
        site.add("/about", HTML, "<title>About</title><h1>About us</h1>")
        site.add("/old", HTML, "moved", "Location: /about?from=old", status=302)
        site.add("/about?from=old", HTML, "", f"Location: {SITE}/about", status=301)
        site.add("/gone.html", HTML, "<title>Gone</title><h1>The site's own 404</h1>", status=404)
        site.add("/error.html", HTML, "<title>Error</title><h1>The site's own 503</h1>", status=503)
        site.add("http://www.example.org/plain.html", HTML, f"<h1>http</h1><img src='{SITE}/img/red.png'>")
        site.add("/api/data.json", JSON, '{"name": "data of the archive"}')
        rows = json.dumps([{"n": number} for number in range(ROWS)]).encode()
        site.add(f"{CDN}/rows.json", JSON, gzip.compress(rows, mtime=0), "Content-Encoding: gzip")
        for query in ("cats", "dogs"):
            sent = "application/x-www-form-urlencoded", f"q={query}"
            site.add("/api/search", PLAIN, f"found {query}", sent=sent)
        site.add("/api/json", PLAIN, "json posted", sent=(JSON, '{"a":1,"b":{"c":"x"}}'))


class _Site:
    def __init__(self, out: Any) -> None:
        self._out = out

    def add(
        self,
        uri: str,
        kind: str,
        body: bytes | str,
        *fields: str,
        date: str = FIRST,
        status: int = 200,
        sent: tuple[str, str] | None = None,
    ) -> None:
        """Write a response and its request: a POST if something was sent."""
        headers = [("Content-Type", kind), *(tuple(field.split(": ", 1)) for field in fields)]
        uri = uri if uri.startswith("http") else SITE + uri
        body = body.encode() if isinstance(body, str) else body
        done = self._out.write_response(uri, body, status=status, http_headers=headers, date=date)
        _, _, host, path = uri.split("/", 3)
        request = f"{'POST' if sent else 'GET'} /{path} HTTP/1.1\r\nHost: {host}\r\n"
        if sent:
            request += f"Content-Type: {sent[0]}\r\nContent-Length: {len(sent[1])}\r\n"
        block = f"{request}\r\n{sent[1] if sent else ''}".encode()
        self._out.write_request(uri, block, concurrent_to=done, date=date)


def _file(name: str) -> str:
    return (FOLDER / name).read_text("utf-8")


def picture(red: int, green: int, blue: int, *, width: int = 160, height: int = 90) -> bytes:
    """Return a PNG of one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + bytes((red, green, blue)) * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)
