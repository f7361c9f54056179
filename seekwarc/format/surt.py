"""SURT keys: URIs normalised, with the host reversed, so that a sorted index keeps each site together.

`http://www.Example.org:80/b/?y=2&x=1` becomes `org,example)/b?x=1&y=2`.

Source: the canonicalisation of the Wayback Machine (iipc/webarchive-commons, package org.archive.url), as the
Python package `surt` does it, which pywb and cdxj-indexer use. That package is not used here: it is under the
AGPL, has not changed since 2019, imports an HTTP client, and makes DNS queries for hosts that look like
numbers. tests/interop/test_cdxj_indexer.py compares with it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final
from urllib.parse import quote_from_bytes

from seekwarc.format.uri import MAX_HOST, as_utf8, idna, split_uri

__all__ = ["browser_key", "surt"]

DEFAULT_PORTS: Final = {b"http": 80, b"https": 443}
MAX_PORT: Final = 65535
MAX_SITES: Final = 4096
MAX_KNOWN: Final = 255
"""Length of an authority whose key is remembered."""

_FILEDESC = b"filedesc"
# Slashes may be missing or repeated, and so may the scheme.
_WEB = re.compile(rb"(?:(https?):/*)+", re.IGNORECASE)
_PORT = re.compile(rb"[0-9]{1,5}")
_NUMBERED_HOST = re.compile(rb"(?:0[0-7]*|[1-9][0-9]*)(?:\.[0-9]+){0,3}")
_WWW = re.compile(rb"www[0-9]*\.")
_DOTS = re.compile(rb"\.{2,}")
_UNESCAPED = b"!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"
_NOTHING_TO_ESCAPE = re.compile(rb"[0-9A-Za-z" + re.escape(_UNESCAPED) + rb"]*+")
_PRINTABLE: Final = _UNESCAPED + b"#%"
_KEPT_IN_PATH: Final = _PRINTABLE.translate(None, b'"<>`{}')
_KEPT_IN_QUERY: Final = _PRINTABLE.translate(None, b"\"<>'")
"""What browsers do not escape (the URL Standard, 1.3)."""
_HEX: Final = frozenset(b"0123456789abcdefABCDEF")

_PATH_SESSION = re.compile(
    rb"(?<=/)\((?:(?:[a-z]\([0-9a-z]{24}\))+\)|[0-9a-z]{24}\))/(?=[^?])", re.IGNORECASE
)
_QUERY_SESSIONS = tuple(
    re.compile(pattern + rb"(?:&|\Z)", re.IGNORECASE)
    for pattern in (
        rb"jsessionid=[0-9a-z]{32}",
        rb"phpsessid=[0-9a-z]{32}",
        rb"sid=[0-9a-z]{32}",
        rb"aspsessionid[a-z]{8}=[a-z]{24}",
    )
)
_MAY_HAVE_SESSION = re.compile(rb"sid=|sessi|cftoken=", re.IGNORECASE)


def surt(uri: str) -> str:
    """Return the key of a URI in an index: ASCII without blanks, equal for URIs that should count as one.

    Scheme, `www.`, user, default port, fragment, session IDs, the case of letters and the order of query
    arguments make no difference. A URI that cannot be parsed is its own key, with blanks escaped.
    """
    raw = as_utf8(uri).encode().strip().translate(None, b"\t\r\n")
    if not raw:
        return "-"
    key = None if raw.startswith(_FILEDESC) else _key(raw)
    return (key if key is not None else _escape(raw, keep=b"%#")).decode("ascii")


def browser_key(uri: str, *, raw: bool = False) -> str:
    """Return the key that tools in JavaScript give a URI: warcio.js, and so most WACZ.

    It keeps the last slash, double slashes, escapes and session IDs, and sorts arguments as whole texts.
    The key of a URI of another scheme is that URI.

    Args:
        uri: The URI, which browsers write with escapes before a tool sees it.
        raw: Return the key of the URI as it is: a tool that finds it so in an archive escapes it after all
            letters were made small.
    """
    text = as_utf8(uri).strip()
    scheme, authority, path, query = split_uri(text.encode().translate(None, b"\t\r\n"))
    scheme = scheme or b""
    if (scheme if raw else scheme.lower()) not in DEFAULT_PORTS or authority is None:
        return _escape(text.encode().translate(None, b"\t\r\n"), keep=b"%#").decode("ascii")
    www = _WWW.match(authority if raw else authority.lower())
    host, port = _host_and_port(authority[www.end() if www else 0 :].lower())
    host = _unescape(host)
    host = host if host.isascii() else (idna(host.decode("utf-8", "ignore"), of_2008=True) or host)
    host = _dotted_quad(host) or host
    site = b"[%s]" % host if b":" in host else b",".join(reversed(host.split(b".")))
    site += b")" if port in (None, 0, DEFAULT_PORTS[scheme.lower()]) else b":%d)" % port
    path = quote_from_bytes(path.lower().replace(b"\\", b"/") or b"/", _KEPT_IN_PATH).encode("ascii")
    query = quote_from_bytes((query or b"").lower(), _KEPT_IN_QUERY).encode("ascii")
    if not raw:
        path, query = path.lower(), query.lower()
    arguments = b"&".join(sorted(query.split(b"&")))
    rest = _without_dot_segments(path) + (b"?" + arguments if arguments else b"")
    return quote_from_bytes(site, _PRINTABLE) + rest.decode("ascii")


def _without_dot_segments(path: bytes) -> bytes:
    found: list[bytes] = []
    segments = path.split(b"/")[1:]
    for left, segment in enumerate(segments, 1 - len(segments)):
        kind = segment.replace(b"%2e", b".").replace(b"%2E", b".")
        if kind == b"..":
            del found[-1:]
        if kind not in (b".", b".."):
            found.append(segment)
        elif not left:
            found.append(b"")
    return b"/" + b"/".join(found)


def _key(raw: bytes) -> bytes | None:
    scheme, authority, path, query = _split(raw)
    path = _unescape(path)
    site: bytes | None
    if authority:
        site = _known_site(scheme, authority) if len(authority) <= MAX_KNOWN else _site(scheme, authority)
        if site is None:
            return None
        path = _without_dots(path)
    else:
        site = scheme + b":"
    path = _without_path_session(_escape(path).lower())
    if len(path) > 1:
        path = path.removesuffix(b"/")
    query = _query(query) if query else b""
    return site + (path or b"/") + b"?" + query if query else site + path


def _site(scheme: bytes, authority: bytes) -> bytes | None:
    host, port = _host_and_port(authority)
    if port is None:
        return None
    site = b",".join(reversed(_host(host).split(b".")))
    return site + (b")" if port in (0, DEFAULT_PORTS.get(scheme)) else b":%d)" % port)


# The URIs of a crawl have few hosts.
_known_site = lru_cache(MAX_SITES)(_site)


def _split(raw: bytes) -> tuple[bytes, bytes | None, bytes, bytes | None]:
    """Return scheme, authority, path and query; the scheme is http unless the URI names one."""
    web = _WEB.match(raw)
    if web:
        raw = web[1] + b"://" + raw[web.end() :]
    scheme, authority, path, query = split_uri(raw)
    if scheme is None:
        return b"http", *split_uri(b"http://" + raw.lstrip(b"/"))[1:]
    return scheme.lower(), authority, path, query


def _host_and_port(authority: bytes) -> tuple[bytes, int | None]:
    """Return host and port; the port is 0 where it is missing, None if it is invalid."""
    place = authority.rpartition(b"@")[2]
    host, bracket, rest = place[1:].partition(b"]") if place.startswith(b"[") else (b"", b"", b"")
    if not bracket:
        host, colon, rest = place.partition(b":")
        rest = colon + rest
    if rest in (b"", b":"):
        return host, 0
    number = _PORT.fullmatch(rest[1:])
    if number is None or rest[:1] != b":" or int(number[0]) > MAX_PORT:
        return host, None
    return host, int(number[0])


def _host(host: bytes) -> bytes:
    host = _unescape(host)
    if not host.isascii() and len(host) <= MAX_HOST:
        # A host that IDNA cannot encode is kept and escaped.
        encoded = idna(host.decode("utf-8", "ignore"))
        host = host if encoded is None else encoded
    host = _DOTS.sub(b".", host).strip(b".")
    host = _dotted_quad(host) or _escape(host).lower()
    www = _WWW.match(host)
    return host[www.end() :] if www else host


def _dotted_quad(host: bytes) -> bytes | None:
    """Return an IPv4 address of any inet_aton(3) form as four decimal numbers; None for another host."""
    if len(host) > MAX_HOST:
        return None
    if host.isdigit():
        address = int(host) & 0xFFFF_FFFF
        return b"%d.%d.%d.%d" % tuple(address.to_bytes(4, "big"))
    if not _NUMBERED_HOST.fullmatch(host):
        return None
    try:
        *first, last = [int(it, 8 if it.startswith(b"0") and len(it) > 1 else 10) for it in host.split(b".")]
    except ValueError:
        return None
    if any(it > 0xFF for it in first) or last >= 256 ** (4 - len(first)):
        return None
    return b"%d.%d.%d.%d" % (*first, *last.to_bytes(4 - len(first), "big"))


def _without_dots(path: bytes) -> bytes:
    """Resolve `.` and `..`, and merge repeated slashes."""
    if path.startswith(b"/") and b"/." not in path and b"//" not in path:
        return path
    kept: list[bytes] = []
    for part in path.split(b"/")[1:]:
        if part == b"..":
            # With no folder left to leave, it stays.
            kept.append(part) if not kept else kept.pop()
        elif part != b".":
            kept.append(part)
    if not kept:
        return b"/"
    *folders, last = kept
    return b"/" + b"".join(folder + b"/" for folder in folders if folder) + last


def _without_path_session(path: bytes) -> bytes:
    page = path.rfind(b".aspx")
    if page < 0:
        return path
    for session in reversed([*_PATH_SESSION.finditer(path, 0, page)]):
        if b"?" not in path[session.end() : page]:
            return path[: session.start()] + path[session.end() :]
    return path


def _query(query: bytes) -> bytes:
    query = _escape(_unescape(query))
    if _MAY_HAVE_SESSION.search(query):
        for pattern in _QUERY_SESSIONS:
            found = [*pattern.finditer(query)]
            if found:
                query = query[: found[-1].start()] + query[found[-1].end() :]
        query = _without_coldfusion_session(query)
    query = query.lower()
    if len(query) > 1:
        arguments = query.split(b"&")
        arguments.sort(key=_name_and_value)
        query = b"&".join(arguments)
    return query


def _name_and_value(argument: bytes) -> list[bytes]:
    return argument.split(b"=", 1)


def _without_coldfusion_session(query: bytes) -> bytes:
    arguments = query.split(b"&")
    for number in range(len(arguments) - 1, 0, -1):
        name, equals, value = arguments[number].partition(b"=")
        if name.lower() == b"cftoken" and equals and value:
            start = arguments[number - 1][:-1].lower().rfind(b"cfid=")
            if start >= 0:
                kept = [*arguments[: number - 1], arguments[number - 1][:start]]
                rest = b"&".join(arguments[number + 1 :])
                return b"&".join(kept) + rest
    return query


def _unescape(data: bytes) -> bytes:
    if b"%" not in data:
        return data
    out = bytearray()
    for byte in data:
        out.append(byte)
        # A decoded byte may complete another escape (%2541 is %41 is A): with this loop, one pass finds all.
        while len(out) > 2 and out[-3] == 0x25 and out[-1] in _HEX and out[-2] in _HEX:
            out[-3:] = bytes.fromhex(out[-2:].decode("ascii"))
    return bytes(out)


def _escape(data: bytes, *, keep: bytes = b"") -> bytes:
    if _NOTHING_TO_ESCAPE.fullmatch(data):
        return data
    return quote_from_bytes(data, safe=_UNESCAPED + keep).encode("ascii")
