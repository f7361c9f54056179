"""Which lines of an index match a URI: ranges of their heads, which are keys with dates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, Literal
from urllib.parse import unquote

from seekwarc.cdx.lines import IndexLine
from seekwarc.format.cdxj import CdxjLine
from seekwarc.format.dates import WarcDate, date_of_digits
from seekwarc.format.header_fields import whole_number
from seekwarc.format.surt import browser_key, surt
from seekwarc.format.words import quoted

__all__ = ["Match", "date_in", "in_time", "key_ranges", "nearness"]

Match = Literal["exact", "prefix", "host", "domain"]

# In a key, ")" ends the host and "," comes before a subdomain. Each of these bytes is the next one in ASCII
# after a separator, or after the digits, so it ends the range of the keys that continue with one.
AFTER_HOST: Final = b"*"
AFTER_DOMAIN: Final = b"-"


_ALIKE = re.compile(
    r"https?://(?:[a-z0-9-]+\.)*[a-z][a-z0-9-]*+(?:/[\w~-][\w.~-]*+)*/?"
    r"(?:\?(?!.*(?i:sid=|sessi|cftoken=|__wb_method=))[\w.~/=-]*+)?",
    re.ASCII,
)
"""URIs whose keys of both families of tools differ in no more than a slash at the end of the path."""
_PLAIN = re.compile(r"https?://[a-z0-9.:-]*(?:/[\w.~/-]*)?(?:\?[\w.~/&=-]*)?", re.ASCII)
"""URIs that are the same as browsers write them."""
_SENT = re.compile(r"(.*?[?&]__wb_method=[^&]*)(?:&(.*))?", re.DOTALL)
_RESERVED = re.compile(r"%(?=2[346BCF]|3[ABDF]|40)", re.IGNORECASE)


def date_in(line: IndexLine) -> bytes:
    """Return the digits of the date of a line."""
    return line.head.rpartition(b" ")[2]


def nearness(wanted: WarcDate, line: IndexLine) -> tuple[int, bool]:
    """Return what orders lines as `collection.entry.by_nearness`; `FormatError` if the line has no date."""
    try:
        date = date_of_digits(date_in(line).decode("ascii"))
    except ValueError as error:
        raise line.error(f"this line has an invalid date: {error}") from None
    return abs(date.nanoseconds - wanted.nanoseconds), date.nanoseconds < wanted.nanoseconds


def in_time(line: CdxjLine) -> tuple[str, str, int]:
    """Return what orders captures in time: in the same second as they are stored, not by their JSON."""
    fields = line.fields
    return line.timestamp, fields.get("filename", ""), whole_number(fields.get("offset", "")) or 0


def key_ranges(uri: str, match: Match, key_of_uri: str | None = None) -> Iterator[tuple[bytes, bytes]]:
    """Yield the ranges [start, stop) of the heads of lines that match; no two overlap.

    An index may have the keys of either family of tools: the first range is of `surt`, the others are of
    browsers, which tell a path from the same path with a slash at its end. `key_of_uri` is what `surt`
    returns, where the caller has it.
    """
    key = (key_of_uri if key_of_uri is not None else surt(uri)).encode("ascii")
    if match == "exact":
        yield key + b" ", key + b"!"
        if _ALIKE.fullmatch(uri) is not None:
            path, mark, query = key.partition(b"?")
            if not path.endswith(b"/"):
                key = path + b"/" + mark + query
                yield key + b" ", key + b"!"
            return
        keys = [key]
        for other in map(str.encode, _browser_keys(uri)):
            path, mark, query = other.partition(b"?")
            with_slash = path if path.endswith(b"/") else path + b"/"
            without = path.removesuffix(b"/") if not path.endswith(b")/") else path
            keys += (other, with_slash + mark + query, without + mark + query)
        yield from ((it + b" ", it + b"!") for it in [*dict.fromkeys(keys)][1:])
    elif match == "prefix":
        if uri.endswith("/") and not key.endswith(b"/"):
            key += b"/"
        yield from _apart((it, it + b"\xff") for it in (key, *map(str.encode, _browser_keys(uri))))
    else:
        host, bracket, _ = key.partition(b")")
        if not bracket and "://" not in uri:
            # `localhost:8711` reads like a scheme and a path.
            host, bracket, _ = surt(f"http://{uri}").encode("ascii").partition(b")")
        if not bracket:
            raise ValueError(f"no host in the URI {quoted(uri)}")
        if match not in ("host", "domain"):
            raise ValueError(f'match is {match!r}, not "exact", "prefix", "host" or "domain"')
        after = AFTER_HOST if match == "host" else AFTER_DOMAIN
        # Browsers keep the `www.` after a user, the brackets of IPv6, and the last dot of a name.
        named = uri if "://" in uri else f"http://{uri}"
        sites = (browser_key(it) for it in (named, named.replace("://", "://@", 1)))
        names = dict.fromkeys([host, *(it.encode("ascii").partition(b")")[0] for it in sites)])
        yield from _apart((it + b")", it + after) for name in names for it in (name, b"," + name))


def _browser_keys(uri: str) -> Iterator[str]:
    """Yield the keys of a URI as browsers write it, and as it is; of one with a request body, two more.

    Tools in JavaScript decode a body, all but `;/?:@&=+$,#`, and leave one out that they cannot decode.
    """
    yield browser_key(uri)
    if _PLAIN.fullmatch(uri) is None:
        yield browser_key(uri, raw=True)
    if (sent := _SENT.match(uri)) is not None:
        for body in (unquote(_RESERVED.sub("%25", sent[2] or "")), ""):
            yield browser_key(f"{sent[1]}&{body}", raw=True)


def _apart(ranges: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return ranges without what earlier ones have."""
    found: list[tuple[bytes, bytes]] = []
    for it in ranges:
        rest = [it]
        for start, stop in found:
            sides = (side for a, b in rest for side in ((a, min(b, start)), (max(a, stop), b)))
            rest = [(a, b) for a, b in sides if a < b]
        found += rest
    return found
