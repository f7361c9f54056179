"""Origins of pages (RFC 6454), as users write them and as browsers send them."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["ANY", "checked_origin"]

ANY: Final = "*"
"""All origins."""
DEFAULT_PORTS: Final = {"http": ":80", "https": ":443"}

_ORIGIN = re.compile(r"([a-z][a-z0-9+.-]*)://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?/?")


def checked_origin(text: str) -> str:
    """Return an origin as browsers write it, or "*".

    Raises:
        ValueError: It is not an origin.
    """
    if text == ANY:
        return text
    match = _ORIGIN.fullmatch(text.lower())
    if match is None:
        raise ValueError(
            f"{text[:80]!r} is not an origin: expected https://example.org or http://localhost:8000, without "
            'a path, or "*" for all'
        )
    scheme, host, port = match.groups(default="")
    return f"{scheme}://{host}{'' if port == DEFAULT_PORTS.get(scheme) else port}"
