"""Answers that pages of other origins may read and embed: those origins that the user names, and no others.

A page reads an answer if it allows that (CORS). It embeds one, in <img> or <video>, unless the answer forbids
it (`Cross-Origin-Resource-Policy`), as all answers of this package do by default. That field cannot name an
origin, so it is changed only in answers to requests that come from a page of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from seekwarc.serve.error_handlers import HANDLERS
from seekwarc.serve.headers import CORS_EXPOSED
from seekwarc.serve.origins import ANY, checked_origin

__all__ = ["with_allowed"]

VARIES: Final = "Origin, Referer"
"""The fields of a request on which an answer depends."""


def with_allowed(routes: Sequence[BaseRoute], allow: Sequence[str]) -> Starlette:
    """Return an application of routes whose answers pages of these origins may read and embed.

    Raises:
        TypeError: `allow` is a text.
        ValueError: One of the origins is not an origin.
    """
    if isinstance(allow, str):
        raise TypeError(f"expected a list of origins, such as [{allow!r}], not text")
    origins = [*map(checked_origin, allow)]
    middleware = []
    if origins:
        cors = Middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=["GET", "HEAD"],
            allow_headers=["Range", "If-Range"],
            expose_headers=CORS_EXPOSED,
        )
        middleware += [Middleware(_Embedding, origins=frozenset(origins)), cors]
    return Starlette(routes=routes, middleware=middleware, exception_handlers=HANDLERS)


class _Embedding:
    def __init__(self, app: ASGIApp, origins: frozenset[str]) -> None:
        self._app = app
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_allowed = ANY in self._origins or _origin_of(Headers(scope=scope)) in self._origins

        async def send_allowed(message: Message) -> None:
            if message["type"] == "http.response.start":
                fields = MutableHeaders(scope=message)
                if ANY not in self._origins:
                    fields["vary"] = VARIES
                if is_allowed:
                    fields["cross-origin-resource-policy"] = "cross-origin"
            await send(message)

        await self._app(scope, receive, send_allowed)


def _origin_of(fields: Headers) -> str | None:
    """Return the origin of the page that a request comes from; for a picture or film only Referer has it."""
    if (origin := fields.get("origin")) is not None:
        return origin
    try:
        parts = urlsplit(fields.get("referer", ""))
    except ValueError:
        return None
    return f"{parts.scheme}://{parts.netloc}".lower()
