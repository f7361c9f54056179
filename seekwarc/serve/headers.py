"""Response headers and entity tags for archived content.

Archived content is hostile. None of its own headers is sent; those of the answer are made here. Media play in
the page, everything else is a download, and nothing can become a document or script of this server's origin.
Drawings (SVG) are both: pictures in an <img> of the page, and downloads when they are opened by themselves.
"""

from __future__ import annotations

import contextlib
import hashlib
import mimetypes
import re
from collections.abc import Iterator
from typing import Final, Literal
from urllib.parse import quote, unquote, urlsplit

from seekwarc.collection.parts import JoinedParts
from seekwarc.collection.segments import JoinedRecord, ResolvedRevisit
from seekwarc.errors import FormatError
from seekwarc.format.sidecar import SpanTable
from seekwarc.format.uri import as_utf8
from seekwarc.format.values import MediaType
from seekwarc.read.record import Record

__all__ = [
    "CORS_EXPOSED",
    "OCTETS",
    "SAFE",
    "Part",
    "content_headers",
    "entity_tag",
    "payload_type",
    "stored_parts",
]

Part = Literal["payload", "block"]
"""The part of a record to send."""

SAFE: Final = (
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
)
"""Fields of every answer."""
CORS_EXPOSED: Final = ("Content-Range", "Content-Length", "ETag", "Accept-Ranges")
"""Fields that a player on another origin needs."""

OCTETS: Final = "application/octet-stream"
MEDIA_POLICY: Final = (
    "default-src 'none'; media-src 'self'; style-src 'unsafe-inline'; sandbox allow-same-origin"
)
DRAWING_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; sandbox"
)
OTHER_POLICY: Final = "default-src 'none'; sandbox"
DRAWING: Final = "image/svg+xml"
"""A picture in an <img>, where no scripts run; but a document with scripts when opened by itself."""
CODINGS: Final = frozenset({"gzip", "x-gzip", "deflate", "br", "zstd"})
"""Content codings that browsers decode."""
MAGIC: Final = {"gzip": b"\x1f\x8b", "x-gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}
MAX_HASHED: Final = 1 << 20
"""Maximum size of blocks that are hashed for their entity tag, if nothing else identifies them."""
TEXTUAL: Final = frozenset({"application/json", "application/x-ndjson", "application/ld+json"})

_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}")
_CHARSET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_NOT_IN_NAMES = re.compile(r'[\x00-\x1f\x7f-\x9f/\\:*?"<>|\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]')


def payload_type(record: Record) -> MediaType | None:
    """Return the media type that the server or the writer stated; else a guess, which may be None."""
    if isinstance(record, JoinedParts):
        found = record.payload.media_type
    elif record.http is not None:
        stated = record.http.get("Content-Type")
        found = _parsed(stated) if stated is not None else None
    else:
        found = record.media_type
    if found is None or found.essence == OCTETS:
        found = record.identified_payload_type or found
    # A request is for a film, but has none.
    if (found is None or found.essence == OCTETS) and record.type != "request":
        guess, _ = mimetypes.guess_type(file_name(record))
        found = _parsed(guess) if guess is not None else found
    return found


def _parsed(text: str) -> MediaType | None:
    # The parameters are often malformed when the type itself is valid.
    for part in (text, text.partition(";")[0]):
        with contextlib.suppress(FormatError):
            return MediaType.parse(part)
    return None


def content_headers(record: Record, part: Part, *, as_bytes: bool = False) -> list[tuple[str, str]]:
    """Return the fields to send archived content with; `as_bytes` with neither media type nor coding."""
    media = None if as_bytes or part == "block" else payload_type(record)
    name = media.essence if media is not None else OCTETS
    headers = [("accept-ranges", "bytes"), ("cache-control", "private, no-cache"), *SAFE]
    if _is_media(name):
        headers += [("content-type", name), ("content-security-policy", MEDIA_POLICY)]
    else:
        drawing = name == DRAWING
        headers += [
            ("content-type", DRAWING if drawing else _harmless(name, media)),
            ("content-security-policy", DRAWING_POLICY if drawing else OTHER_POLICY),
            ("content-disposition", _attachment(record, part)),
        ]
    if part == "payload" and not as_bytes and _is_coded(record):
        headers.append(("content-encoding", ", ".join(record.payload.codings)))
    return headers


def _is_media(name: str) -> bool:
    """Return whether a media type is of images, sound or films, and can be no document with scripts."""
    # Types that end in +xml are XML (RFC 7303, section 4.2), in which browsers run scripts.
    return (
        name.startswith(("audio/", "video/", "image/"))
        and _TYPE.fullmatch(name) is not None
        and "xml" not in name
        and "svg" not in name
    )


def _is_coded(record: Record) -> bool:
    """Return whether the payload has content codings that a browser decodes."""
    codings = record.payload.codings
    if not codings or not CODINGS.issuperset(codings):
        return False
    # Some crawlers decode bodies before they store them, and store the head unchanged.
    magic = MAGIC.get(codings[-1], b"")
    return record.payload.pread(0, len(magic)) == magic


def _harmless(name: str, media: MediaType | None) -> str:
    """Return a type that no browser executes: plain text for text, bytes for everything else."""
    if not name.startswith("text/") and name not in TEXTUAL:
        return OCTETS
    charset = media.get("charset") if media is not None else None
    if charset is not None and _CHARSET.fullmatch(charset):
        return f"text/plain; charset={charset}"
    return "text/plain"


def _attachment(record: Record, part: Part) -> str:
    name = file_name(record)
    if part == "block":
        name += ".block"
    plain = name.encode("ascii", "replace").decode().replace("?", "_").replace("%", "_")
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def file_name(record: Record) -> str:
    """Return a file name for a record, made from its URI."""
    try:
        path = urlsplit(as_utf8(record.target_uri or "")).path
    except ValueError:
        path = ""
    name = unquote(path.rstrip("/").rpartition("/")[2], errors="replace")
    return _NOT_IN_NAMES.sub("_", name).strip(". ")[-100:] or f"record-{record.offset}"


def entity_tag(record: Record, part: Part) -> str:
    """Return a strong entity tag, quotes included: the same for the same bytes, on every host and day.

    It is a hash of the record header, which has the record's ID, date, length and digests. Without a digest,
    the seek table with its checksums is hashed too, or else the block if it is small. Only a large record
    with none of these is identified by its header alone, and so are the parts of a joined payload.
    """
    tag = hashlib.sha256(part.encode())
    for stored in stored_parts(record, part):
        tag.update(b"%d:%s" % (len(stored.header.raw), stored.header.raw))
        if "WARC-Block-Digest" in stored.header:
            continue
        if isinstance(record, JoinedParts) and part == "payload":
            continue
        frames = stored.body.frames
        # Not every host that has the archive has a sidecar of it.
        if frames is not None and frames.checksums is not None and not isinstance(frames, SpanTable):
            tag.update(frames.build())
        elif stored.content_length <= MAX_HASHED:
            tag.update(stored.block.pread(0, MAX_HASHED))
    return f'"{tag.hexdigest()[:32]}"'


def stored_parts(record: Record, part: Part) -> Iterator[Record]:
    """Yield the stored records that contain the bytes of a part of a logical record."""
    if isinstance(record, ResolvedRevisit) and part == "payload":
        record = record.original
    if isinstance(record, JoinedParts) and part == "payload":
        for one in record.parts:
            yield from stored_parts(one, part)
    elif isinstance(record, JoinedRecord):
        yield from record.segments
    else:
        yield record
