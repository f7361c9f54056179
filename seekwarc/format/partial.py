"""Parts of a resource: what the head of an HTTP answer says of them, and how parts cover the whole.

Source: RFC 9110, sections 8.8.1 (strong validators), 14.4 (Content-Range), 14.6 (multipart/byteranges) and
15.3.7.3 (combining parts).
Some servers take the range from the URI: `range=A-B` in the query, or `bytestart=A` and `byteend=B`. Those of
googlevideo.com answer 200 to it, and state the size of the whole in the URI: `clen=`.

Nothing here is believed: a part that states what its payload does not have is left out by those who open it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from seekwarc.format.header_fields import FieldMapping, whole_number
from seekwarc.format.uri import split_uri

__all__ = ["BodyPart", "ByteRange", "Claim", "Piece", "body_parts", "claim_of", "cover", "resource_of"]

OK: Final = 200
PARTIAL_CONTENT: Final = 206
VIDEO_HOST: Final = "googlevideo.com"
OF_VIDEO_REQUEST: Final = frozenset({"rn", "rbuf"})
"""Parameters that count the requests of a player, on `VIDEO_HOST`."""
MAX_BODY_PARTS: Final = 1000
"""Ranges of an answer of type multipart/byteranges that are looked at."""
MAX_PART_HEAD: Final = 4 << 10
"""Bytes from the end of a range to the first byte of the next one."""

_CONTENT_RANGE = re.compile(r"[ \t]*(?i:bytes)[ \t]+([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18})[ \t]*")
_RANGE = re.compile(r"([0-9]{1,18})-([0-9]{1,18})")
_STRONG = re.compile(r'"[!#-~\x80-\U0010ffff]*"')


class ByteRange(NamedTuple):
    """Bytes [start, stop) of a resource."""

    start: int
    stop: int


class Claim(NamedTuple):
    """What the answer to a request says that its payload is. Equal `identity` means bytes of one resource."""

    resource: str
    """URI of the whole, without range parameters."""
    held: ByteRange
    total: int
    """Size of the whole in bytes."""
    identity: tuple[object, ...]
    """Codings, size, entity tag and, unless the tag is strong, Last-Modified."""
    is_proved: bool
    """Whether `identity` has a strong entity tag. If not, captures must also be near in time."""

    @property
    def is_whole(self) -> bool:
        """Whether the payload is all of the resource."""
        return self.held == (0, self.total)


class Piece(NamedTuple):
    """Bytes [start, stop) of a resource, in the part with this number."""

    part: int
    start: int
    stop: int


class BodyPart(NamedTuple):
    """A range in an answer that has several of them (multipart/byteranges)."""

    start: int
    """Where its first byte is in the payload of the answer."""
    content_range: str
    media_type: str | None
    """Content-Type of the resource, if it is stated."""


def body_parts(pread: Callable[[int, int], bytes], boundary: str) -> Iterator[BodyPart]:
    """Yield the ranges of an answer of type multipart/byteranges, up to one that is not as long as it states.

    The bytes of the ranges are not read.

    Args:
        pread: Returns bytes of the payload: from a position on, up to a number of them.
        boundary: Parameter of the media type (RFC 2046, section 5.1.1).
    """
    delimiter = b"--" + boundary.encode("latin-1", "replace")
    position, last = 0, None
    for _ in range(MAX_BODY_PARTS + 1):
        data = pread(position, MAX_PART_HEAD)
        # Before the first delimiter there may be a preamble; a range ends right before CRLF and a delimiter.
        begin = data.find(delimiter) if last is None else 2 * data.startswith(b"\r\n" + delimiter) or -1
        if begin < 0:
            return
        if last is not None:
            yield last
        end = data.find(b"\r\n\r\n", begin)
        first, *lines = data[begin + len(delimiter) : max(end, 0)].decode("latin-1").split("\r\n")
        if end < 0 or first.strip(" \t"):
            return
        fields = {
            name.strip().lower(): value.strip() for name, _, value in (it.partition(":") for it in lines)
        }
        match = _CONTENT_RANGE.fullmatch(fields.get("content-range", ""))
        if match is None:
            return
        held = _held(match)
        last = BodyPart(position + end + 4, match[0], fields.get("content-type"))
        position = last.start + max(held.stop - held.start, 0)


def resource_of(uri: str) -> tuple[str, ByteRange | None, int | None]:
    """Return the URI of the resource that a URI names a range of; the range; the size of the whole (`clen`).

    A URI without a range is returned as it is.
    """
    _, authority, _, query = split_uri(uri)
    if query is None or ("range=" not in query and "bytestart=" not in query):
        return uri, None, None
    host = (authority or "").rpartition("@")[2].partition(":")[0].lower()
    is_video = host == VIDEO_HOST or host.endswith("." + VIDEO_HOST)
    parameters = [parameter.partition("=") for parameter in query.split("&")]
    values = {name: value for name, _, value in parameters}
    match = _RANGE.fullmatch(values.get("range", ""))
    named = {"range"}
    if match is None:
        named = {"bytestart", "byteend"}
        match = _RANGE.fullmatch("-".join(values.get(name, "") for name in ("bytestart", "byteend")))
    if (
        match is None
        or int(match[2]) < int(match[1])
        or sum(it[0] in named for it in parameters) > len(named)
    ):
        return uri, None, None
    total = whole_number(values.get("clen", "")) if is_video else None
    if is_video:
        named |= OF_VIDEO_REQUEST
    kept = "&".join("".join(it) for it in parameters if it[0] not in named)
    before, _, after = uri.partition("?")
    fragment = after[len(query) :]
    return f"{before}?{kept}{fragment}" if kept else before + fragment, _held(match), total


def claim_of(
    uri: str,
    status: int | None,
    head: FieldMapping,
    codings: tuple[str, ...],
    *,
    content_range: str | None = None,
) -> Claim | None:
    """Return what an answer to GET claims to be a part of, or the whole of; None if that is unknown.

    Left out are answers with a weak entity tag, with neither a strong tag nor Last-Modified, and those that
    do not state the size of the whole.

    Args:
        uri: The target URI.
        status: Status of the answer.
        head: Its HTTP head.
        codings: Its content codings.
        content_range: That of a `BodyPart`, if it is this that is asked about.
    """
    if status not in (OK, PARTIAL_CONTENT):
        return None
    tags, dates, ranges = (set(head.get_all(name)) for name in ("ETag", "Last-Modified", "Content-Range"))
    if content_range is not None:
        ranges = {content_range}
    if max(len(tags), len(dates), len(ranges)) > 1:
        return None
    tag, date = (next(iter(it), "").strip() for it in (tags, dates))
    is_proved = _STRONG.fullmatch(tag) is not None
    if tag.startswith(("W/", "w/")) or not (is_proved or date):
        return None
    resource, asked, total = resource_of(uri)
    held = asked
    if status == PARTIAL_CONTENT:
        match = _CONTENT_RANGE.fullmatch(next(iter(ranges), ""))
        if match is None:
            return None
        held, total = _held(match), int(match[3])
        if asked is not None and asked != held:
            # The server took the range in the URI for a resource of its own.
            resource = uri
    elif asked is None:
        total = whole_number(head.get("Content-Length") or "")
        held = ByteRange(0, total) if total is not None else None
    if held is None or total is None or not 0 <= held.start < held.stop <= total:
        return None
    identity = (codings, total, tag, None if is_proved else date)
    return Claim(resource, held, total, identity, is_proved)


def _held(match: re.Match[str]) -> ByteRange:
    return ByteRange(int(match[1]), int(match[2]) + 1)


def cover(ranges: Sequence[ByteRange]) -> tuple[list[Piece], list[Piece]]:
    """Choose from which part each byte is taken, so that parts are changed as rarely as possible.

    Returns:
        The pieces in order, each byte in one; and what parts hold a second time, each part once at most. One
        of these touches two pieces at most, since the next piece is always the one that reaches farthest: so
        parts that all overlap are compared in linear time.
    """
    order = sorted(
        range(len(ranges)), key=lambda number: (ranges[number].start, -ranges[number].stop, number)
    )
    pieces: list[Piece] = []
    again: list[Piece] = []
    end = 0
    # `best` is the part that reaches farthest of those that can follow what ends at `end`.
    best: int | None = None
    for number in (*order, None):
        if best is not None and (number is None or ranges[number].start > end):
            start, stop = ranges[best]
            if start < end:
                again.append(Piece(best, start, end))
            pieces.append(Piece(best, max(start, end), stop))
            end, best = stop, None
        if number is None:
            break
        farthest = ranges[best].stop if best is not None else end
        if ranges[number].stop <= farthest:
            again.append(Piece(number, *ranges[number]))
            continue
        if best is not None:
            again.append(Piece(best, *ranges[best]))
        best = number
    return pieces, again
