"""Files of the package as answers."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

__all__ = ["MEDIA_TYPES", "static"]

MEDIA_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


def static(content: bytes, name: str, fields: Mapping[str, str]) -> Callable[[Request], Response]:
    """Return the endpoint of a file; its name decides the media type."""
    etag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
    headers = {
        **fields,
        "content-type": MEDIA_TYPES[os.path.splitext(name)[1]],
        "cache-control": "no-cache",
        "etag": etag,
    }

    def endpoint(request: Request) -> Response:
        if request.headers.get("if-none-match") == etag:
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers)

    return endpoint
