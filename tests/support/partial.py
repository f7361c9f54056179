"""Films that were captured in parts, as proxies and browsers leave them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import seekwarc

URI = "http://example.org/film.mp4"
TAG = '"one"'
MODIFIED = "Mon, 16 Nov 2026 06:00:00 GMT"
BEGIN = datetime(2026, 11, 16, 12, tzinfo=UTC)


def head(status: int, fields: Sequence[tuple[str, str]]) -> bytes:
    lines = [
        f"HTTP/1.1 {status} X",
        "Content-Type: video/mp4",
        *(f"{name}: {value}" for name, value in fields),
    ]
    return "\r\n".join([*lines, "", ""]).encode()


class PartsWriter:
    """Writes answers to requests for a film, one minute after the other."""

    def __init__(self, film: bytes, **options) -> None:
        self.film = film
        self.file = io.BytesIO()
        self.out = seekwarc.open(self.file, "w", **options)
        self.minute = 0

    def add(self, status: int, body: bytes, *fields: tuple[str, str], uri: str = URI, **more):
        self.minute += 1
        more.setdefault("date", BEGIN + timedelta(minutes=self.minute))
        return self.out.write_response(uri, head(status, fields) + body, **more)

    def part(
        self,
        start: int,
        stop: int,
        *more: tuple[str, str],
        body: bytes | None = None,
        total: int | str | None = None,
        etag: str | None = TAG,
        modified: str | None = MODIFIED,
        **options,
    ):
        """Write bytes [start, stop) as a 206, with `body` instead of those of the film if it is given."""
        fields = [("Content-Range", f"bytes {start}-{stop - 1}/{len(self.film) if total is None else total}")]
        fields += [(name, it) for name, it in (("ETag", etag), ("Last-Modified", modified)) if it is not None]
        data = self.film[start:stop] if body is None else body
        return self.add(206, data, *fields, *more, **options)

    def several(self, *ranges: tuple[int, int], tag: str = TAG, **options):
        """Write some ranges as one 206 of type multipart/byteranges."""
        parts = [
            b"\r\n--xyz\r\nContent-Type: video/mp4\r\nContent-Range: bytes %d-%d/%d\r\n\r\n%b"
            % (start, stop - 1, len(self.film), self.film[start:stop])
            for start, stop in ranges
        ]
        body = options.pop("body", b"".join([*parts, b"\r\n--xyz--\r\n"]))
        fields = f'Content-Type: multipart/byteranges; boundary="xyz"\r\nETag: {tag}'
        return self.out.write_response(
            URI, f"HTTP/1.1 206 X\r\n{fields}\r\n\r\n".encode() + body, date=BEGIN, **options
        )

    def done(self) -> bytes:
        self.out.close()
        return self.file.getvalue()
