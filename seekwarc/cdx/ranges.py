"""Which lines of an index match a URI: ranges of their heads, which are keys with dates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from seekwarc.cdx.lines import IndexLine
from seekwarc.format.dates import WarcDate, date_of_digits
from seekwarc.format.surt import browser_key, surt

__all__ = ["Match", "date_in", "distance", "key_ranges"]

Match = Literal["exact", "prefix", "host", "domain"]

# In a key, ")" ends the host and "," comes before a subdomain. Each of these bytes is the next one in ASCII
# after a separator, or after the digits, so it ends the range of the keys that continue with one.
AFTER_HOST: Final = b"*"
AFTER_DOMAIN: Final = b"-"


def date_in(line: IndexLine) -> bytes:
    """Return the digits of the date of a line."""
    return line.head.rpartition(b" ")[2]


def distance(wanted: WarcDate, line: IndexLine) -> int:
    """Return the nanoseconds between a date and that of a line; `FormatError` if the line has none."""
    try:
        date = date_of_digits(date_in(line).decode("ascii"))
    except ValueError as error:
        raise line.error(f"this line has an invalid date: {error}") from None
    return abs(date.nanoseconds - wanted.nanoseconds)


def key_ranges(uri: str, match: Match) -> Iterator[tuple[bytes, bytes]]:
    """Yield the ranges [start, stop) of the heads of lines that match, none inside another.

    An index may have the keys of either family of tools: the first range is of `surt`, the others are of
    browsers, which tell a path from the same path with a slash at its end.
    """
    key, other = surt(uri).encode("ascii"), browser_key(uri).encode("ascii")
    if match == "exact":
        path, mark, query = other.partition(b"?")
        with_slash = path + mark + query if path.endswith(b"/") else path + b"/" + mark + query
        without = (path.removesuffix(b"/") if not path.endswith(b")/") else path) + mark + query
        yield from ((it + b" ", it + b"!") for it in dict.fromkeys((key, other, with_slash, without)))
    elif match == "prefix":
        if uri.endswith("/") and not key.endswith(b"/"):
            key += b"/"
        yield key, key + b"\xff"
        if not other.startswith(key):
            yield other, other + b"\xff"
    else:
        host, bracket, _ = key.partition(b")")
        if not bracket and "://" not in uri:
            # `localhost:8711` reads like a scheme and a path.
            host, bracket, _ = surt(f"http://{uri}").encode("ascii").partition(b")")
        if not bracket:
            raise ValueError(f"no host in the URI {uri!r}")
        if match not in ("host", "domain"):
            raise ValueError(f'match is {match!r}, not "exact", "prefix", "host" or "domain"')
        yield host + b")", host + (AFTER_HOST if match == "host" else AFTER_DOMAIN)
