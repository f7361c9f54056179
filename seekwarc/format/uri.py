"""URIs taken apart, and the names of hosts in ASCII.

Source: RFC 3986, appendix B; RFC 3490, section 4.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr

__all__ = ["idna", "split_uri"]

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
