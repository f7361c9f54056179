"""Pages for the tests of their text: PDF, put together by hand, and archives of pages."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path

import seekwarc

PROSE = {
    "en": "The archive keeps what the web forgets, and a reader wants only a little of it. ",
    "de": "Das Archiv bewahrt, was das Netz vergisst, und wer liest, will nur ein wenig davon. ",
}


def pdf(pages: Sequence[bytes], *, title: bytes = b"", lang: bytes = b"") -> bytes:
    """Return a PDF of content streams, each of which is a page."""
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    kids = b" ".join(b"%d 0 R" % (5 + 2 * number) for number in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R" + (b" /Lang (%b)" % lang if lang else b"") + b" >>",
        b"<< /Type /Pages /Kids [%b] /Count %d >>" % (kids, len(pages)),
        font,
        b"<< /Title (%b) >>" % title,
    ]
    for number, content in enumerate(pages):
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % (6 + 2 * number)
        )
        packed = zlib.compress(content)
        head = b"<< /Length %d /Filter /FlateDecode >>" % len(packed)
        objects.append(head + b"\nstream\n" + packed + b"\nendstream")
    made = bytearray(b"%PDF-1.7\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(made))
        made += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = len(made)
    made += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    made += b"".join(b"%010d 00000 n \n" % place for place in places)
    made += b"trailer\n<< /Size %d /Root 1 0 R /Info 4 0 R >>\n" % (len(objects) + 1)
    return bytes(made + b"startxref\n%d\n%%%%EOF\n" % table)


def shown(text: str) -> bytes:
    """Return the content stream of a page that shows a line."""
    return b"BT /F1 12 Tf 50 700 Td (%b) Tj ET" % text.encode("latin-1")


def html(text: str, *, title: str = "Page", lang: str = "en") -> bytes:
    head = f'<!doctype html><html lang="{lang}"><head><meta charset="utf-8"><title>{title}</title></head>'
    return f"{head}<body><p>{text}</p></body></html>".encode()


def answer(body: bytes, media_type: str | None = "text/html", *fields: str, status: int = 200) -> bytes:
    """Return a response of HTTP."""
    lines = [f"HTTP/1.1 {status} Said", *([f"Content-Type: {media_type}"] if media_type else []), *fields]
    return "\r\n".join([*lines, "", ""]).encode() + body


def crawl_of(path: Path, pages: Sequence[bytes]) -> Path:
    """Write responses, each of which is a page at http://example.org/NUMBER."""
    with seekwarc.open(path, "w") as out:
        for number, page in enumerate(pages):
            out.write_response(f"http://example.org/{number}", page, date="2026-11-21T12:00:00Z")
    return path
