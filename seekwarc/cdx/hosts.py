"""The parts of a URL as Common Crawl's columnar index has them: host, its labels and suffixes, port, path.

Suffixes are those of the Public Suffix List, of which the package `publicsuffixlist` has a copy. Without that
package they are unknown. Suffixes are kept by registries ("co.uk") or by companies ("blogspot.com"): a
registered domain is a label before one of the first, a private domain before one of either.
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import ip_address
from typing import Final, NamedTuple, Protocol
from urllib.parse import unquote

from seekwarc.format.uri import idna, split_uri

__all__ = ["Host", "UrlParts", "parse_host", "parse_url"]

MAX_HOST: Final = 255
"""Bytes of a name in DNS; longer ones have labels, but no suffixes."""
MAX_HOSTS: Final = 4096
"""Hosts that are remembered: in a sorted index, the same one comes again and again."""
LABELS: Final = 5
MAX_PORT: Final = 65535

_PORT = re.compile(r":([0-9]{1,5})\Z")


class Host(NamedTuple):
    """A host, and what its name is made of. Unknown parts are None."""

    name: str
    labels: tuple[str | None, ...]
    """The last five labels, the last one first. An IP address has none, as for all that follows."""
    registry_suffix: str | None
    registered_domain: str | None
    private_suffix: str | None
    private_domain: str | None
    reversed: str | None
    """All labels, the last one first."""


class UrlParts(NamedTuple):
    """The parts of a URL."""

    host: Host
    protocol: str
    port: int | None
    """None unless the URL names it."""
    path: str
    query: str | None
    """Without the question mark; None if the URL has no such mark."""


class _Suffixes(Protocol):
    def publicsuffix(self, domain: str) -> str | None: ...

    def privatesuffix(self, domain: str) -> str | None: ...


def parse_url(url: str) -> UrlParts:
    """Take a URL apart. Any text is taken: what is missing is empty."""
    scheme, authority, path, query = split_uri(url)
    place = (authority or "").rpartition("@")[2]
    port = _PORT.search(place)
    number = int(port[1]) if port is not None else None
    name = place[: port.start()] if port is not None else place.removesuffix(":")
    return UrlParts(
        _remembered(name) if len(name) <= MAX_HOST else parse_host(name),
        (scheme or "").lower(),
        number if number is not None and number <= MAX_PORT else None,
        path,
        query,
    )


def parse_host(name: str) -> Host:
    """Take the name of a host apart."""
    name = unquote(name, errors="surrogateescape").lower()
    if not name.isascii() and len(name) <= MAX_HOST:
        # A name that IDNA cannot encode is kept.
        encoded = idna(name)
        name = name if encoded is None else encoded.decode("ascii")
    name = name.removesuffix(".")
    if not name or _is_address(name):
        return Host(name, (None,) * LABELS, None, None, None, None, None)
    labels = name.split(".")[::-1]
    last = [*labels[:LABELS], *(None for _ in range(LABELS - len(labels)))]
    unknown: tuple[str | None, str | None] = (None, None)
    registry = private = unknown
    lists = _suffix_lists()
    if lists is not None and len(name) <= MAX_HOST:
        registry, private = ((it.publicsuffix(name), it.privatesuffix(name)) for it in lists)
    return Host(name, tuple(last), *registry, *private, ".".join(labels))


_remembered = lru_cache(MAX_HOSTS)(parse_host)


def _is_address(name: str) -> bool:
    if name.startswith("["):
        return True
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


@lru_cache(1)
def _suffix_lists() -> tuple[_Suffixes, _Suffixes] | None:
    """Return the suffixes of registries and all suffixes; None if the package is not installed."""
    try:
        from publicsuffixlist import PublicSuffixList  # noqa: PLC0415
    except ImportError:
        return None
    return (
        PublicSuffixList(accept_unknown=False, only_icann=True),
        PublicSuffixList(accept_unknown=False),
    )
