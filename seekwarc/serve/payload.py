"""An ASGI application that serves payloads and blocks of records by range; mount it in yours.

    app = payload_app(lambda record_id, view: ServedRecord(archive.record_at(int(record_id))))
    Starlette(routes=[Mount("/records", app)])

answers GET and HEAD of /records/{id}/payload and /records/{id}/block. You decide what an ID is.

    app = payload_app.from_index(seekwarc.Index("crawl.cdxj"))

answers them at /payload?uri=...&date=... and /block?uri=...&date=..., revisits with the payload that they
refer to. Archived content is sent so that it can do no harm in your origin: see `seekwarc.serve.headers`.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from typing import Final, Protocol, Self, get_args
from urllib.parse import parse_qsl, quote

from starlette.exceptions import HTTPException
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from seekwarc.cdx.index import Index
from seekwarc.collection.likeness import Meant
from seekwarc.errors import FormatError, SeekWarcError
from seekwarc.format.cdxj import date_digits
from seekwarc.format.dates import WarcDate, date_of_digits
from seekwarc.format.uri import as_utf8
from seekwarc.serve.allow import with_allowed
from seekwarc.serve.cost import View, Views
from seekwarc.serve.headers import Part
from seekwarc.serve.indexed import IndexedCaptures
from seekwarc.serve.ranges import conditions_in
from seekwarc.serve.replay_fields import KEPT
from seekwarc.serve.representation import Beginning, Representation
from seekwarc.serve.served import ServedRecord
from seekwarc.serve.stream import Workers, send_answer, while_connected

__all__ = [
    "THREADS",
    "OpenCapture",
    "OpenRecord",
    "QuickParts",
    "begin_found",
    "capture_routes",
    "payload_app",
    "record_routes",
    "view_of",
]

KEPT_OPEN: Final = 128
"""Captures that are kept open, so that their seek tables and chunks need not be found again."""
THREADS: Final = (os.cpu_count() or 1) + 2
"""Requests that may read and decode at once, unless a caller says otherwise."""
PATIENCE: Final = 30
"""Seconds that a request waits for a capture while files are still being read."""
PAUSE: Final = 0.2
"""Seconds between two searches for a capture that is not known yet."""

_VIEW_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")

OpenCapture = Callable[[str, WarcDate | None], ServedRecord | None]
"""Returns the capture of a URI that is nearest to a date, or without a date the latest; None while it is not
known, since files are still being scanned. Called in worker threads."""
_Find = Callable[[Scope, View | None], ServedRecord | None]
"""Finds the record that a request asks for; returns None while it is not known yet."""
_Known = Callable[[Scope], ServedRecord | None]
"""Returns the record that a request asks for if it is open, without blocking."""


def _unknown(*_: object) -> None:
    """Return None: whatever was asked for is not open."""


class OpenRecord(Protocol):
    """Opens records. Called in worker threads."""

    def __call__(self, record_id: str, view: View | None = None, /) -> ServedRecord:
        """Return the record with an ID; `view`, if there is one, is charged with the reads."""


class payload_app:  # noqa: N801
    """The application for records with IDs of your own.

    Args:
        open_record: Returns the record with an ID. It should cache records, since an open one knows its
            frames.
        views: Counts the cost of requests that name a view (`?view=NAME`).
        threads: Number of requests that may read and decode at once; the number of cores plus two unless
            given.
        origins: Origins of pages that may read and embed the answers, such as "https://example.org" ("*" for
            all); by default only this one.
    """

    def __init__(
        self,
        open_record: OpenRecord,
        *,
        views: Views | None = None,
        threads: int | None = None,
        origins: Sequence[str] = (),
    ) -> None:
        routes = record_routes(open_record, "/{record_id}", views=views, threads=threads)
        self._app = with_allowed(routes, origins)

    @classmethod
    def from_index(cls, index: Index, *, threads: int | None = None, origins: Sequence[str] = ()) -> Self:
        """Return the application for the captures of an index, by URI and date.

        A date has 4 to 14 digits (2026, 20261121093000) or the form of WARC-Date. The nearest capture is
        sent; without a date, the latest.

            app = payload_app.from_index(seekwarc.Index("crawl.cdxj"))
        """
        captures = IndexedCaptures(index)
        self = cls.__new__(cls)
        self._app = with_allowed(capture_routes(captures, known=captures.known, threads=threads), origins)
        return self

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request: the ASGI interface."""
        await self._app(scope, receive, send)


def record_routes(
    open_record: OpenRecord,
    prefix: str,
    *,
    known: Callable[[str], ServedRecord | None] = _unknown,
    views: Views | None = None,
    threads: int | None = None,
) -> list[Route]:
    """Return the routes of records, PREFIX/payload and PREFIX/block; `known` returns those that are open."""

    def find(scope: Scope, view: View | None) -> ServedRecord:
        return open_record(scope["path_params"]["record_id"], view)

    def find_known(scope: Scope) -> ServedRecord | None:
        return known(scope["path_params"]["record_id"])

    return _routes(find, find_known, prefix, views, threads)


def capture_routes(
    open_capture: OpenCapture, *, known: OpenCapture = _unknown, threads: int | None = None
) -> list[Route]:
    """Return the routes of captures, /payload?uri=...&date=... and /block; `known` returns open ones."""

    def find(scope: Scope, _: View | None) -> ServedRecord | None:
        return open_capture(*_asked_capture(scope["query_string"]))

    def find_known(scope: Scope) -> ServedRecord | None:
        return known(*_asked_capture(scope["query_string"]))

    return _routes(find, find_known, "", None, threads)


def view_of(scope: Scope, views: Views | None) -> View | None:
    """Return the view that a request names; None if it names no view, or no views are kept."""
    name = _query(scope["query_string"]).get("view")
    if name is None or views is None:
        return None
    if not _VIEW_NAME.fullmatch(name):
        raise HTTPException(400, f"a view has a name of up to 40 letters and digits, not {name[:60]!r}")
    return views.open(name)


def _routes(find: _Find, known: _Known, prefix: str, views: Views | None, threads: int | None) -> list[Route]:
    workers = Workers(threads or THREADS)
    return [
        Route(f"{prefix}/{part}", _PartEndpoint(find, known, part, views, workers), name=part)
        for part in get_args(Part)
    ]


@lru_cache(KEPT_OPEN)
def _query(raw: bytes) -> dict[str, str]:
    # Starlette decodes a query as UTF-8, which the URI of a capture need not be.
    return dict(parse_qsl(raw.decode("latin-1"), errors="surrogateescape"))


@lru_cache(KEPT_OPEN)
def _asked_capture(raw: bytes) -> tuple[str, WarcDate | None]:
    uri, date = _query(raw).get("uri"), _query(raw).get("date", "")
    if not uri:
        raise HTTPException(400, "uri is missing: /payload?uri=http%3A%2F%2Fexample.org%2F&date=20261121")
    try:
        return uri, date_of_digits(date_digits(date)) if date else None
    except FormatError:
        raise HTTPException(
            400, f"date must be 4 to 14 digits such as 20261121093000, not {date[:40]!r}"
        ) from None


class _PartEndpoint:
    def __init__(self, find: _Find, known: _Known, part: Part, views: Views | None, workers: Workers) -> None:
        self._find = find
        self._known = known
        self._part = part
        self._views = views
        self._workers = workers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = scope["method"]
        if method not in ("GET", "HEAD"):
            raise HTTPException(405, "only GET and HEAD are answered here", {"allow": "GET, HEAD"})
        begun = self.begun(scope)
        if begun is not None:
            await self.send(begun, receive, send)
            return
        view = view_of(scope, self._views)
        as_bytes = _query(scope["query_string"]).get("as") == "bytes"
        asked = conditions_in(scope["headers"])
        found: ServedRecord | None = None

        def find() -> Representation | None:
            nonlocal found
            found = self._find(scope, view)
            return found.representation(self._part, as_bytes=as_bytes, view=view) if found else None

        async def work() -> None:
            answer = await begin_found(find, asked, method, self._workers)
            answer.fields.extend(_original(scope, found))
            await send_answer(answer, send, self._workers)

        await while_connected(receive, work)

    def begun(self, scope: Scope) -> Beginning | None:
        """Begin the answer to GET or HEAD, if the record is open and that takes hardly any time."""
        known = self._known(scope)
        if known is None:
            return None
        begun = known.begin_quickly(
            self._part,
            conditions_in(scope["headers"]),
            scope["method"],
            as_bytes=_query(scope["query_string"]).get("as") == "bytes",
            view=view_of(scope, self._views),
        )
        if begun is not None:
            begun.fields.extend(_original(scope, known))
        return begun

    async def send(self, begun: Beginning, receive: Receive, send: Send) -> None:
        """Send an answer that was begun."""
        if len(begun.first) == begun.size:
            await send_answer(begun, send, self._workers)
        else:
            await while_connected(receive, partial(send_answer, begun, send, self._workers))


class QuickParts:
    """Answers at once what some routes could answer at once; everything else goes on to the application.

    A fifth of the time of a short range is the way to its route. Errors take that way as well: they are found
    again on it, and answered there.
    """

    def __init__(self, app: ASGIApp, *, routes: Sequence[Route]) -> None:
        self._app = app
        endpoints = ((it.path, it.endpoint) for it in routes)
        self._endpoints = {path: it for path, it in endpoints if isinstance(it, _PartEndpoint)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request: the ASGI interface."""
        endpoint = self._endpoints.get(scope["path"]) if scope["type"] == "http" else None
        begun = None
        if endpoint is not None and scope["method"] in ("GET", "HEAD"):
            with suppress(HTTPException, SeekWarcError):
                begun = endpoint.begun(scope)
        if endpoint is not None and begun is not None:
            await endpoint.send(begun, receive, send)
        else:
            await self._app(scope, receive, send)


def _original(scope: Scope, found: ServedRecord | None) -> Iterator[tuple[str, str]]:
    """Yield the field that names the URI of a capture, if it is not the one that was asked for (RFC 7089)."""
    asked = _query(scope["query_string"]).get("uri")
    uri = found.uri if found is not None else None
    if asked is not None and uri is not None and _is_another(asked, uri):
        yield "link", f'<{quote(as_utf8(uri), safe=KEPT)}>; rel="original"'


@lru_cache(KEPT_OPEN)
def _is_another(asked: str, found: str) -> bool:
    return asked != found and Meant(asked).note(found) is not None


async def begin_found(
    find: Callable[[], Representation | None], asked: Mapping[str, str], method: str, workers: Workers
) -> Beginning:
    """Begin the answer to a request, in threads; `find` returns None while files are being scanned for it."""
    found: Representation | None = None

    def begin() -> Beginning | None:
        nonlocal found
        found = found or find()
        return found.begin(asked, method) if found is not None else None

    end = time.monotonic() + PATIENCE
    while (begun := await workers.run(begin)) is None:
        if found is not None:
            continue
        if time.monotonic() > end:
            raise HTTPException(
                503, "not all files were scanned yet: try again in a while", {"retry-after": "10"}
            )
        await asyncio.sleep(PAUSE)
    return begun
