"""A small crawl whose records belong together in every way that they can."""

from __future__ import annotations

import io

import seekwarc

DATE = "2026-01-02T03:04:05Z"
SITES = (
    "http://example.org/",
    "http://www.example.org/film",
    "https://sub.example.org/x",
    "http://other.net/",
)


def related(*, large: int = 0, **options) -> bytes:
    """Return a .warc.zst: per site a response with request and metadata, then a revisit of the first."""
    stored = io.BytesIO()
    with seekwarc.open(stored, "w", **options) as out:
        info = out.write_warcinfo({"software": "test"})
        first = None
        for number, uri in enumerate(SITES):
            page = f"<p>{number}</p>".encode() + bytes(large)
            done = out.write_response(
                uri, page, status=200 + number, content_type=None, date=DATE, warcinfo_id=info
            )
            out.write_request(uri, b"GET / HTTP/1.1\r\n\r\n", concurrent_to=done, date=DATE)
            out.write_metadata({"via": "-"}, concurrent_to=done, target_uri=uri, date=DATE)
            first = first or done
        digest = first.header.get("WARC-Payload-Digest")
        out.write_revisit(
            "http://other.net/again", refers_to=first, payload_digest=digest, date="2026-02-02T03:04:05Z"
        )
    return stored.getvalue()
