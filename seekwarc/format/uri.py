"""URIs taken apart, the names of hosts in ASCII, and how bytes that are not UTF-8 are written.

Source: RFC 3986, sections 2.1 and 6.2 and appendix B; RFC 3490, section 4.
"""

from __future__ import annotations

import re
from collections.abc import Container
from functools import lru_cache
from typing import Any, AnyStr, Final, Self
from urllib.parse import quote, unquote

__all__ = [
    "MAX_HOST",
    "StoredUri",
    "as_stored",
    "as_utf8",
    "checked_host",
    "has_host",
    "host_of",
    "idna",
    "normalized",
    "page_part",
    "split_uri",
]

MAX_KNOWN: Final = 4096
"""Hosts that are remembered, since the same one comes again and again."""
MAX_REMEMBERED: Final = 255
"""Length of an authority that is remembered."""
MAX_HOST: Final = 1024
"""Longer hosts are neither converted to IDNA nor read as a numeric address."""

DEFAULT_PORTS: Final = {b"http": b"80", b"https": b"443", b"ftp": b"21"}

_IS_UNRESERVED = re.compile(rb"[0-9A-Za-z\-._~]")
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")
_TO_ESCAPE = re.compile(rb"[^!-~]|[\"<>\\^`{|}]")
_PLACE = re.compile(rb"(\[[^\]]*\]|[^:\[]*)(?::([0-9]*))?")
_DELIMITERS = re.compile("[/?#@:\\[\\]]")
_URI = r"(?:([A-Za-z][A-Za-z0-9+.\-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?"
_TEXT = re.compile(_URI, re.DOTALL)
_BYTES = re.compile(_URI.encode(), re.DOTALL)
_NOT_UTF8 = re.compile("[\ud800-\udfff]")
# Most URIs are what `normalized` returns: a host in lower case without a port, no escape that is not needed.
_AS_THEY_ARE = r"[!$&-;=?-Z\[\]_a-z~]*+"
_DEVIATIONS = re.compile("[\u00df\u03c2\u200c\u200d]")
_NORMALIZED = re.compile(
    rf"[a-z][a-z0-9+.-]*+://[a-z0-9_.-]++(?<!\.)/{_AS_THEY_ARE}"
    rf"(?>(?:%(?:[0189A-F][0-9A-F]|2[0-9A-CF]|3[A-F]|40|5[B-E]|60|7[B-DF]){_AS_THEY_ARE})*)"
)
_OF_PAGE = re.compile("urn:(text|view|fullPage|thumbnail|pageinfo)(?:Final)?:(.+)", re.DOTALL)
PARTS: Final = {
    "text": "text",
    "view": "screenshot",
    "fullPage": "screenshot",
    "thumbnail": "thumbnail",
    "pageinfo": "page-info",
}
_LINE_BREAK_OR_NUL = re.compile(r"[\r\n\0]")
_ESCAPED = re.compile("(?:%[89A-F][0-9A-F])+")


def split_uri(uri: AnyStr) -> tuple[AnyStr | None, AnyStr | None, AnyStr, AnyStr | None]:
    """Return scheme, authority, path and query of any text; None for a part that it does not have."""
    pattern: Any = _TEXT if isinstance(uri, str) else _BYTES
    parts: tuple[AnyStr | None, AnyStr | None, AnyStr, AnyStr | None] = pattern.match(uri).groups()
    return parts


def page_part(kind: str | None, uri: str | None) -> tuple[str, str] | tuple[None, None]:
    """Return what a crawler made of a page, by a record's WARC-Type and URI, and the URI of the page.

    `urn:view:https://example.org/` is the "screenshot" of `https://example.org/`. Others are its "text",
    "thumbnail" and "page-info".

    Source: what browsertrix-crawler and ArchiveWeb.page write, as resources.
    """
    match = _OF_PAGE.match(uri) if kind == "resource" and uri is not None else None
    return (PARTS[match[1]], match[2]) if match is not None else (None, None)


def idna(host: str, *, of_2008: bool = False) -> bytes | None:
    """Return the ASCII form of a host's name, or None if it is too long or IDNA cannot encode it.

    In keys of indexes, the characters that IDNA of 2003 replaces by others are replaced. By that of 2008 they
    stay (RFC 5894, 7.2), since that name may belong to others.
    """
    try:
        if len(host) > MAX_HOST:
            return None
        is_other = of_2008 and _DEVIATIONS.search(host)
        return b".".join(map(_label, host.split("."))) if is_other else host.encode("idna")
    except UnicodeError:
        return None


def _label(label: str) -> bytes:
    return b"xn--" + label.lower().encode("punycode") if _DEVIATIONS.search(label) else label.encode("idna")


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
    if "%" in host or not host.isascii():
        host = unquote(host, errors="surrogateescape").lower()
        name = idna(host, of_2008=True) or as_utf8(host).encode()
        host = _DELIMITERS.sub(_escaped, as_utf8(name.decode("ascii", "surrogateescape")))
    return host.rstrip(".")


_known_host = lru_cache(MAX_KNOWN)(_host)


def checked_host(text: str) -> str:
    """Return the host that a user names, as `host_of` does; text that names no host is a ValueError.

    It may be a whole URI, or have a port, which is not compared. "*.example.org" is "example.org".
    """
    host = host_of(text if "://" in text else f"http://{text.removeprefix('*.')}")
    if not host:
        raise ValueError(f"{as_utf8(text)!r} is not a host such as example.org")
    return host


def has_host(uri: str | None, hosts: Container[str]) -> bool:
    """Tell whether a URI's host is one of those that `checked_host` returned, or a subdomain of one."""
    host = host_of(uri or "")
    while host not in hosts and "." in host:
        host = host.partition(".")[2]
    return host in hosts


def normalized(uri: str) -> bytes:
    """Return what is equal for all spellings of a URI that mean the same to every server (RFC 3986, 6.2).

    It does not depend on escapes that are not needed or are missing, the case of scheme and host, Unicode in
    a host, a default port, an empty path, or the fragment.
    """
    if _NORMALIZED.fullmatch(uri):
        return uri.encode("ascii")
    raw = as_utf8(uri).encode().strip().translate(None, b"\t\r\n")
    scheme, authority, path, query = split_uri(raw)
    scheme = (scheme or b"").lower()
    path = _spelled(path)
    if authority is not None:
        user, at, place = authority.rpartition(b"@")
        name, number = place.lower(), b""
        # A URI that does not match names no host.
        if (parts := _PLACE.fullmatch(place)) is not None:
            name = _host(parts[1].decode()).encode()
            number = b"" if parts[2] in (None, b"", DEFAULT_PORTS.get(scheme)) else b":" + parts[2]
        path = b"//" + user + at + name + number + (path or b"/")
    return (scheme + b":" if scheme else b"") + path + (b"?" + _spelled(query) if query is not None else b"")


def _spelled(data: bytes) -> bytes:
    """Return a path or query in which the same is escaped in all spellings (RFC 3986, section 6.2.2)."""

    def spelled(found: re.Match[bytes]) -> bytes:
        byte = bytes.fromhex(found[1].decode("ascii"))
        return byte if _IS_UNRESERVED.match(byte) else found[0].upper()

    return _TO_ESCAPE.sub(lambda found: b"%%%02X" % found[0][0], _ESCAPE.sub(spelled, data))


def as_utf8(text: str) -> str:
    """Return a text of an archive as every output has it: bytes that are not UTF-8 as "%E9".

    So a URI keeps its key, and means the same. Half of a surrogate pair, which JSON of others may have, is
    written as its three bytes.
    """
    return text if text.isascii() else _NOT_UTF8.sub(_escaped, text)


def as_stored(name: str) -> str:
    """Return the name of a file that `as_utf8` wrote as the operating system has it."""
    return _ESCAPED.sub(_unescaped, name)


class StoredUri(str):
    """The target URI of a stored record, which another record has as it is, whatever rule it breaks."""

    __slots__ = ()

    def __new__(cls, uri: str) -> Self:
        """Escape what no field can have: a line break or NUL."""
        return super().__new__(cls, _LINE_BREAK_OR_NUL.sub(_escaped, uri))


def _escaped(match: re.Match[str]) -> str:
    half = match[0]
    raw = half.encode("utf-8", "surrogateescape" if "\udc80" <= half <= "\udcff" else "surrogatepass")
    return "".join([f"%{byte:02X}" for byte in raw])


def _unescaped(match: re.Match[str]) -> str:
    text = bytes.fromhex(match[0].replace("%", "")).decode("utf-8", "surrogateescape")
    return "".join([it if _NOT_UTF8.match(it) else quote(it) for it in text])
