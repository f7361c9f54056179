"""URIs taken apart, and the names of hosts in ASCII.

Source: RFC 3986, appendix B and section 6.2; RFC 3490, section 4.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, AnyStr, Final

__all__ = ["as_utf8", "host_of", "idna", "normalized", "split_uri"]

MAX_KNOWN: Final = 4096
"""Hosts that are remembered, since the same one comes again and again."""
MAX_REMEMBERED: Final = 255
"""Length of an authority that is remembered."""

DEFAULT_PORTS: Final = {b"http": b"80", b"https": b"443", b"ftp": b"21"}

_IS_UNRESERVED = re.compile(rb"[0-9A-Za-z\-._~]")
_ESCAPED = re.compile(rb"%([0-9A-Fa-f]{2})")
_TO_ESCAPE = re.compile(rb"[^!-~]|[\"<>\\^`{|}]")
_PORT = re.compile(rb":([0-9]*)$")
_URI = r"(?:([A-Za-z][A-Za-z0-9+.\-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?"
_TEXT = re.compile(_URI, re.DOTALL)
_BYTES = re.compile(_URI.encode(), re.DOTALL)


def split_uri(uri: AnyStr) -> tuple[AnyStr | None, AnyStr | None, AnyStr, AnyStr | None]:
    """Return scheme, authority, path and query of any text; None for a part that it does not have."""
    pattern: Any = _TEXT if isinstance(uri, str) else _BYTES
    parts: tuple[AnyStr | None, AnyStr | None, AnyStr, AnyStr | None] = pattern.match(uri).groups()
    return parts


def idna(host: str) -> bytes | None:
    """Return the ASCII form of a host's name, or None if IDNA cannot encode it."""
    try:
        return host.encode("idna")
    except UnicodeError:
        return None


def host_of(uri: str) -> str:
    """Return the host of a URI in lower case, or the one that a DNS record is about; empty if it has none."""
    scheme, authority, path, _ = split_uri(uri)
    if scheme is not None and scheme.lower() == "dns":
        authority = path
    if not authority:
        return ""
    return (_known_host if len(authority) <= MAX_REMEMBERED else _host)(authority)


def _host(authority: str) -> str:
    host = authority.rpartition("@")[2].lower()
    if not host.endswith("]"):
        host = host.partition(":")[0] if not host.startswith("[") else host.rpartition(":")[0]
    if not host.isascii():
        host = (idna(host) or host.encode("utf-8", "surrogateescape")).decode("ascii", "surrogateescape")
    return host.rstrip(".")


_known_host = lru_cache(MAX_KNOWN)(_host)


def normalized(uri: str) -> bytes:
    """Return what is equal for all spellings of a URI that mean the same to every server (RFC 3986, 6.2).

    It does not depend on escapes that are not needed or are missing, the case of scheme and host, Unicode in
    a host, a default port, an empty path, or the fragment.
    """
    raw = uri.encode("utf-8", "surrogateescape").strip().translate(None, b"\t\r\n")
    scheme, authority, path, query = split_uri(raw)
    scheme = (scheme or b"").lower()
    path = _escaped(path)
    if authority is not None:
        user, at, place = authority.rpartition(b"@")
        host, port = place, _PORT.search(place)
        if port is not None:
            host = place[: port.start()]
        name = _host(_unescaped(host).decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        number = b"" if port is None or port[1] in (b"", DEFAULT_PORTS.get(scheme)) else port[0]
        path = b"//" + user + at + name + number + (path or b"/")
    return (scheme + b":" if scheme else b"") + path + (b"?" + _escaped(query) if query is not None else b"")


def _unescaped(data: bytes) -> bytes:
    return _ESCAPED.sub(lambda found: bytes.fromhex(found[1].decode("ascii")), data)


def _escaped(data: bytes) -> bytes:
    """Return a path or query in which the same is escaped in all spellings (RFC 3986, section 6.2.2)."""

    def spelled(found: re.Match[bytes]) -> bytes:
        byte = bytes.fromhex(found[1].decode("ascii"))
        return byte if _IS_UNRESERVED.match(byte) else found[0].upper()

    return _TO_ESCAPE.sub(lambda found: b"%%%02X" % found[0][0], _ESCAPED.sub(spelled, data))


def as_utf8(uri: str) -> str:
    """Return a URI, or a name, with bytes that are not UTF-8 escaped, which leaves its key as it is."""
    try:
        uri.encode("utf-8")
    except UnicodeError:
        return "".join(f"%{ord(it) & 0xFF:02X}" if "\ud800" <= it <= "\udfff" else it for it in uri)
    return uri
