"""An ASGI application that serves payloads and blocks of records by range; mount it in yours.

    app = payload_app(lambda record_id, view: ServedRecord(archive.record_at(int(record_id))))
    Starlette(routes=[Mount("/records", app)])

answers GET and HEAD of /records/{id}/payload and /records/{id}/block. What an ID is, is yours to say.
Archived content is sent so that it can do no harm in your origin: see `seekwarc.serve.policy`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Protocol

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from seekwarc.serve.policy import CORS_EXPOSED, Part
from seekwarc.serve.problems import HANDLERS
from seekwarc.serve.served import ServedRecord
from seekwarc.serve.stream import Representation, send_ranges
from seekwarc.serve.views import View, Views

__all__ = ["OpenRecord", "payload_app", "view_of"]

_VIEW_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")


def payload_app(
    open_record: OpenRecord,
    *,
    views: Views | None = None,
    threads: int | None = None,
    origins: Sequence[str] = (),
) -> ASGIApp:
    """Make the application.

    Args:
        open_record: Returns the record with an ID. Let it keep records: an open one knows its frames.
        views: Where requests that name a view (`?view=NAME`) are counted.
        threads: How many requests may read and decode at once; the number of cores plus two unless given.
        origins: Origins of pages that may read the answers ("*": all); none unless given.
    """
    limiter = anyio.CapacityLimiter(threads or (os.cpu_count() or 1) + 2)
    routes = [
        Route(f"/{{record_id}}/{part}", _PartEndpoint(open_record, part, views, limiter), name=part)
        for part in ("payload", "block")
    ]
    middleware = []
    if origins:
        cors = Middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=["GET", "HEAD"],
            allow_headers=["Range", "If-Range"],
            expose_headers=CORS_EXPOSED,
        )
        middleware.append(cors)
    return Starlette(routes=routes, middleware=middleware, exception_handlers=HANDLERS)


def view_of(request: Request, views: Views | None) -> View | None:
    """Return the view that a request names; None where it names none, or none are kept.

    Raises:
        HTTPException: It is no name.
    """
    name = request.query_params.get("view")
    if name is None or views is None:
        return None
    if not _VIEW_NAME.fullmatch(name):
        raise HTTPException(400, f"a view is named by up to 40 letters and digits, not {name[:60]!r}")
    return views.open(name)


class OpenRecord(Protocol):
    """Opens records. Called in worker threads."""

    def __call__(self, record_id: str, view: View | None = None, /) -> ServedRecord:
        """Return the record with an ID; `view` is to be charged with what that takes.

        Raises:
            NotFoundError: There is none.
        """


class _PartEndpoint:
    """Answers requests for one part of records."""

    def __init__(
        self,
        open_record: OpenRecord,
        part: Part,
        views: Views | None,
        limiter: anyio.CapacityLimiter,
    ) -> None:
        self._open_record = open_record
        self._part = part
        self._views = views
        self._limiter = limiter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        if request.method not in ("GET", "HEAD"):
            raise HTTPException(405, "only GET and HEAD are answered here", {"allow": "GET, HEAD"})
        view = view_of(request, self._views)
        as_bytes = request.query_params.get("as") == "bytes"

        def prepare() -> Representation:
            record = self._open_record(request.path_params["record_id"], view)
            return record.representation(self._part, as_bytes=as_bytes, view=view)

        representation = await anyio.to_thread.run_sync(prepare, limiter=self._limiter)
        await send_ranges(representation, scope, receive, send, limiter=self._limiter)
