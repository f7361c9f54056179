"""The application that `seekwarc serve` runs: the page, the JSON interface, the payloads."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from seekwarc.serve.api import api_routes
from seekwarc.serve.error_handlers import HANDLERS
from seekwarc.serve.headers import SAFE
from seekwarc.serve.library import Library
from seekwarc.serve.payload import capture_routes

__all__ = ["LOCAL_HOSTS", "application"]

LOCAL_HOSTS: Final = ("127.0.0.1", "localhost", "::1", "[::1]")
"""Host names that a browser on this computer may use for this server."""

PAGE_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'"
)
MEDIA_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


def application(library: Library, *, hosts: Sequence[str] = LOCAL_HOSTS) -> Starlette:
    """Make the ASGI application for a library, which the caller closes.

    A request for a name that is not in `hosts` is refused ("*" allows all): a page elsewhere could point its
    own name at this server to read the answers (DNS rebinding).
    """
    routes = [
        Mount("/api", routes=api_routes(library)),
        *capture_routes(library.capture, known=library.known_capture),
    ]
    for file in sorted(files("seekwarc.serve").joinpath("page").iterdir(), key=lambda file: file.name):
        media_type = MEDIA_TYPES.get(os.path.splitext(file.name)[1])
        if media_type is not None:
            page = _static(file.read_bytes(), media_type)
            routes.append(Route(f"/{file.name}", page))
            if file.name == "index.html":
                routes.append(Route("/", page))
    middleware = [Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False)]
    return Starlette(routes=routes, middleware=middleware, exception_handlers=HANDLERS)


def _static(content: bytes, media_type: str) -> Callable[[Request], Response]:
    etag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
    headers = {
        **dict(SAFE),
        "content-security-policy": PAGE_POLICY,
        "content-type": media_type,
        "cache-control": "no-cache",
        "etag": etag,
    }

    def endpoint(request: Request) -> Response:
        if request.headers.get("if-none-match") == etag:
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers)

    return endpoint
