"""The JSON interface: lists of records, one record, its frames, the cost of a view; see `openapi.py`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from seekwarc.collection.entry import Entry
from seekwarc.collection.record_table import SORTS, Query
from seekwarc.collection.segments import JoinedRecord, ResolvedRevisit
from seekwarc.errors import FormatError, NotFoundError, SeekWarcError
from seekwarc.format.dates import WarcDate
from seekwarc.format.header_fields import whole_number
from seekwarc.format.rules import check_header
from seekwarc.read.record import Record
from seekwarc.serve.address import address_of
from seekwarc.serve.cost import Views
from seekwarc.serve.error_handlers import JsonAnswer
from seekwarc.serve.headers import SAFE, clean, file_name, payload_type
from seekwarc.serve.library import Library
from seekwarc.serve.markup import markup_of
from seekwarc.serve.openapi import DESCRIPTION
from seekwarc.serve.payload import record_routes, view_of
from seekwarc.serve.representation import END
from seekwarc.serve.served import ServedRecord
from seekwarc.serve.stream import in_thread, while_connected
from seekwarc.tools.describe import payload_format

__all__ = ["MAX_CELLS", "MAX_ROWS", "api_routes"]

MAX_ROWS: Final = 500
"""Records in one answer."""
CELLS: Final = 512
"""Cells of a frame map unless the request names a number."""
MAX_CELLS: Final = 4096
MAX_COMMON: Final = 40
"""Media types that the summary names."""
MAX_WORDS: Final = 8
MAX_WORD_LENGTH: Final = 400

SIZE_PATIENCE: Final = 3.0
"""Seconds that a request may take to find the size of a payload in chunked transfer coding."""
CLIENT_IS_GONE: Final = 499
"""Status of an answer whose client has closed the connection."""

_HEADERS: Final = dict([*SAFE, ("cache-control", "no-store")])


def api_routes(library: Library) -> list[Route]:
    """Return the routes to mount at /api."""
    views = Views()
    api = _Api(library, views)
    return [
        Route("/openapi.json", lambda _: JsonAnswer(DESCRIPTION, headers=_HEADERS)),
        Route("/summary", _answer(api.summary)),
        Route("/records", _answer(api.records)),
        Route("/records/{record_id}", _answer(api.record)),
        Route("/records/{record_id}/frames", _answer(api.frames)),
        Route("/views/{view}", _answer(api.view)),
        Route("/records/{record_id}/page", _in_thread(api.page)),
        *record_routes(library.open, "/records/{record_id}", views=views),
    ]


def _answer(function: Callable[[Request], dict[str, Any]]) -> Callable[[Request], Any]:
    return _in_thread(lambda request: JsonAnswer(function(request), headers=_HEADERS))


def _in_thread(function: Callable[[Request], Response]) -> Callable[[Request], Any]:
    """Return an endpoint for a function that may block; it is stopped when its client disconnects."""

    async def endpoint(request: Request) -> Response:
        answer = Response(status_code=CLIENT_IS_GONE)

        async def work() -> None:
            nonlocal answer
            answer = await in_thread(partial(function, request))

        await while_connected(request.receive, work)
        return answer

    return endpoint


class _Api:
    def __init__(self, library: Library, views: Views) -> None:
        self._library = library
        self._views = views

    def summary(self, _: Request) -> dict[str, Any]:
        catalogue = self._library.catalogue
        return {
            "complete": catalogue.complete,
            "records": catalogue.rows,
            "files": [
                {
                    "name": state.name,
                    "size": state.size,
                    "position": state.position,
                    "records": state.records,
                    "problem": state.problem,
                }
                for state in self._library.files
            ],
            "types": dict(catalogue.types.most_common(MAX_COMMON)),
            "media_types": dict(catalogue.mimes.most_common(MAX_COMMON)),
        }

    def records(self, request: Request) -> dict[str, Any]:
        start = _number(request, "start") or 0
        count = _number(request, "count")
        page = self._library.catalogue.page(
            _query(request), start, MAX_ROWS if count is None else min(count, MAX_ROWS)
        )
        return {
            "total": page.total,
            "complete": self._library.catalogue.complete,
            "start": start,
            "records": [self._entry(entry) for entry in page.entries],
        }

    def _entry(self, entry: Entry) -> dict[str, Any]:
        return {
            "id": self._library.record_id(entry.file, entry.offset, entry.skip),
            "file": entry.file,
            "offset": entry.offset,
            "length": entry.length,
            "type": entry.type,
            "uri": entry.uri,
            "date": str(entry.date) if entry.date is not None else None,
            "media_type": entry.mime,
            "status": entry.status,
            "size": entry.size or 0,
            "problem": entry.problem,
        }

    def record(self, request: Request) -> dict[str, Any]:
        view = view_of(request, self._views)
        served = self._library.open(request.path_params["record_id"], view)
        with served.charge(view):
            return self._record(served)

    def _record(self, served: ServedRecord) -> dict[str, Any]:
        record = served.record
        http = record.http
        media = payload_type(record)
        original = record.original if isinstance(record, ResolvedRevisit) else None
        joined = original if original is not None else record
        segments = joined.segments if isinstance(joined, JoinedRecord) else ()
        size, problem, counting = _payload(served)
        return {
            "id": self._library.id_of(record),
            "file": record.source,
            "offset": record.offset,
            "length": record.length,
            "type": record.type,
            "uri": record.target_uri,
            "date": record.header.get("WARC-Date"),
            "media_type": media.essence if media is not None else None,
            "charset": media.get("charset") if media is not None else None,
            "file_name": file_name(record),
            "codings": list(record.payload.codings) if size is not None else [],
            "block_size": record.content_length,
            "payload_size": size,
            "payload_format": payload_format(record) if size is not None else None,
            "counting": counting,
            "truncated": (original or record).truncated,
            "problem": problem,
            "deviation": record.payload.deviation if size is not None else None,
            "address": address_of(record),
            "version": record.header.version,
            "header": [[name, value] for name, value in record.header.items()],
            "http": None
            if http is None
            else {
                "start_line": http.start_line,
                "status": http.status,
                "header": [[name, value] for name, value in http.items()],
            },
            "findings": [f"{it.severity}: {it}" for it in check_header(record.header)],
            "seek_table": (original or record).seek_table_status,
            "seek_table_problem": (original or record).body.table_problem,
            "original": self._reference(original) if original is not None else None,
            "segments": [self._reference(segment) for segment in segments],
        }

    def _reference(self, record: Record) -> dict[str, Any]:
        return {
            "id": self._library.id_of(record),
            "file": record.source,
            "offset": record.offset,
            "type": record.type,
            "uri": record.target_uri,
            "date": record.header.get("WARC-Date"),
        }

    def page(self, request: Request) -> Response:
        view = view_of(request, self._views)
        served = self._library.open(request.path_params["record_id"], view)
        markup = markup_of(served, view)
        return Response(markup.data, headers=dict(markup.headers))

    def frames(self, request: Request) -> dict[str, Any]:
        view = view_of(request, self._views)
        wanted = _number(request, "cells")
        served = self._library.open(request.path_params["record_id"], view)
        with served.charge(view):
            frames = served.frames
        cells = list(frames.cells(CELLS if wanted is None else min(max(wanted, 1), MAX_CELLS)))
        return {
            "frames": frames.count,
            "content": sum(content for _, _, content, _ in cells),
            "stored": sum(stored for _, _, _, stored in cells),
            "cells": [list(cell) for cell in cells],
        }

    def view(self, request: Request) -> dict[str, Any]:
        name = request.path_params["view"]
        view = self._views.get(name)
        if view is None:
            raise NotFoundError(f"no view is named {name[:60]!r}, or it was forgotten since")
        return {
            "requests": view.requests,
            "bytes_asked": view.bytes_asked,
            "bytes_read": view.bytes_read,
            "bytes_decoded": view.bytes_decoded,
            "frames": [list(run) for run in view.fetched],
            "problem": view.problem,
        }


def _payload(served: ServedRecord) -> tuple[int | None, str | None, bool]:
    """Find the size of a record's payload, as far as `SIZE_PATIENCE` allows.

    Returns:
        The size, or None while it is unknown or if the payload is unavailable; the problem of the payload;
        whether the search has to go on, which the next request does.
    """
    try:
        payload = served.extent("payload")
        payload.look_ahead(END, SIZE_PATIENCE)
    except SeekWarcError as error:
        return None, str(error), False
    if payload.known_size is None:
        return None, None, True
    return payload.known_size, payload.problem, False


def _query(request: Request) -> Query:
    params = request.query_params
    words = tuple(clean(params.get("q", "")).split())
    if len(words) > MAX_WORDS or any(len(word) > MAX_WORD_LENGTH for word in words):
        raise HTTPException(
            400, f"at most {MAX_WORDS} words of {MAX_WORD_LENGTH} characters can be searched for"
        )
    sort = params.get("sort", "stored")
    name = sort.removeprefix("-")
    if name not in SORTS:
        raise HTTPException(
            400, f"records can be sorted by {', '.join(SORTS)} (descending with a minus), not {sort[:40]!r}"
        )
    return Query(
        words=words,
        type=clean(params.get("type")) or None,
        mime=(clean(params.get("media_type")) or "").lower() or None,
        since=_date(request, "since"),
        until=_date(request, "until"),
        smallest=_number(request, "min_size"),
        largest=_number(request, "max_size"),
        sort=name,
        descending=sort.startswith("-"),
    )


def _number(request: Request, name: str) -> int | None:
    text = request.query_params.get(name)
    if not text:
        return None
    number = whole_number(text)
    if number is None:
        raise HTTPException(400, f"{name} must be a number, not {text[:40]!r}")
    return number


def _date(request: Request, name: str) -> str | None:
    text = request.query_params.get(name)
    if not text:
        return None
    try:
        WarcDate.parse(text)
    except FormatError as error:
        raise HTTPException(400, f"{name}: {error}") from error
    return text
