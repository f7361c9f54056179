"""The JSON interface: records, one record, its frames, the cost of a view. `openapi.py` describes it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from seekwarc.collection.segments import JoinedRecord, ResolvedRevisit
from seekwarc.errors import FormatError, NotFoundError, SeekWarcError
from seekwarc.format.dates import WarcDate
from seekwarc.format.header_fields import whole_number
from seekwarc.format.rules import check_header
from seekwarc.read.record import Record
from seekwarc.serve.address import address_of
from seekwarc.serve.catalogue import SORTS, Query, Row
from seekwarc.serve.markup import markup_of
from seekwarc.serve.openapi import DESCRIPTION
from seekwarc.serve.payload import payload_app, view_of
from seekwarc.serve.policy import SAFE, clean, file_name, payload_type
from seekwarc.serve.problems import HANDLERS, JsonAnswer
from seekwarc.serve.representation import END
from seekwarc.serve.served import ServedRecord
from seekwarc.serve.shelf import Shelf
from seekwarc.serve.stream import in_thread, while_connected
from seekwarc.serve.views import Views

__all__ = ["MOST_CELLS", "MOST_ROWS", "json_api"]

MOST_ROWS: Final = 500
"""Records in one answer."""
CELLS: Final = 512
"""Cells of a frame map, unless another number is asked for."""
MOST_CELLS: Final = 4096
MOST_COMMON: Final = 40
"""Media types that the summary names."""
MOST_WORDS: Final = 8
LONGEST_WORD: Final = 400

SIZE_PATIENCE: Final = 3.0
"""Seconds that are spent on finding the size of a payload in chunked transfer coding."""
CLIENT_IS_GONE: Final = 499
"""The status of an answer that nobody reads."""

_HEADERS: Final = dict([*SAFE, ("cache-control", "no-store")])


def json_api(shelf: Shelf) -> Starlette:
    """Make the application: what is mounted at /api."""
    views = Views()
    api = _Api(shelf, views)
    routes = [
        Route("/openapi.json", lambda _: JsonAnswer(DESCRIPTION, headers=_HEADERS)),
        Route("/summary", _answer(api.summary)),
        Route("/records", _answer(api.records)),
        Route("/records/{record_id}", _answer(api.record)),
        Route("/records/{record_id}/frames", _answer(api.frames)),
        Route("/views/{view}", _answer(api.view)),
        Route("/records/{record_id}/page", _in_thread(api.page)),
        Mount("/records", payload_app(shelf.open, views=views)),
    ]
    return Starlette(routes=routes, exception_handlers=HANDLERS)


def _answer(function: Callable[[Request], dict[str, Any]]) -> Callable[[Request], Any]:
    """Make an endpoint of a function that may block and returns JSON."""
    return _in_thread(lambda request: JsonAnswer(function(request), headers=_HEADERS))


def _in_thread(function: Callable[[Request], Response]) -> Callable[[Request], Any]:
    """Make an endpoint of a function that may block; it is ended when its client is gone."""

    async def endpoint(request: Request) -> Response:
        answer = Response(status_code=CLIENT_IS_GONE)

        async def work() -> None:
            nonlocal answer
            answer = await in_thread(partial(function, request))

        await while_connected(request.receive, work)
        return answer

    return endpoint


class _Api:
    def __init__(self, shelf: Shelf, views: Views) -> None:
        self._shelf = shelf
        self._views = views

    def summary(self, _: Request) -> dict[str, Any]:
        catalogue = self._shelf.catalogue
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
                for state in self._shelf.files
            ],
            "types": dict(catalogue.types.most_common(MOST_COMMON)),
            "media_types": dict(catalogue.mimes.most_common(MOST_COMMON)),
        }

    def records(self, request: Request) -> dict[str, Any]:
        start = _number(request, "start") or 0
        count = _number(request, "count")
        page = self._shelf.catalogue.page(
            _query(request), start, MOST_ROWS if count is None else min(count, MOST_ROWS)
        )
        return {
            "total": page.total,
            "complete": self._shelf.catalogue.complete,
            "start": start,
            "records": [self._row(row) for _, row in page.rows],
        }

    def _row(self, row: Row) -> dict[str, Any]:
        return {
            "id": self._shelf.record_id(row.file, row.offset, row.skip),
            "file": self._shelf.names[row.file],
            "offset": row.offset,
            "length": row.length,
            "type": row.type,
            "uri": row.uri,
            "date": row.date,
            "media_type": row.mime,
            "status": row.status,
            "size": row.size,
            "problem": row.problem,
        }

    def record(self, request: Request) -> dict[str, Any]:
        view = view_of(request, self._views)
        served = self._shelf.open(request.path_params["record_id"], view)
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
            "id": self._shelf.id_of(record),
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
            "id": self._shelf.id_of(record),
            "file": record.source,
            "offset": record.offset,
            "type": record.type,
            "uri": record.target_uri,
            "date": record.header.get("WARC-Date"),
        }

    def page(self, request: Request) -> Response:
        view = view_of(request, self._views)
        served = self._shelf.open(request.path_params["record_id"], view)
        markup = markup_of(served, view)
        return Response(markup.data, headers=dict(markup.headers))

    def frames(self, request: Request) -> dict[str, Any]:
        view = view_of(request, self._views)
        wanted = _number(request, "cells")
        served = self._shelf.open(request.path_params["record_id"], view)
        with served.charge(view):
            frames = served.frames
        cells = list(frames.cells(CELLS if wanted is None else min(max(wanted, 1), MOST_CELLS)))
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
            raise NotFoundError(f"no view is called {name[:60]!r}, or it was long ago")
        return {
            "requests": view.requests,
            "bytes_asked": view.bytes_asked,
            "bytes_read": view.bytes_read,
            "bytes_decoded": view.bytes_decoded,
            "frames": [list(run) for run in view.fetched],
            "problem": view.problem,
        }


def _payload(served: ServedRecord) -> tuple[int | None, str | None, bool]:
    """Count the size of a record's payload for a while.

    Returns:
        The size, None where it is unavailable or not known yet; what is wrong with the payload; whether there
        is more to be counted, which asking again does.
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
    if len(words) > MOST_WORDS or any(len(word) > LONGEST_WORD for word in words):
        raise HTTPException(
            400, f"at most {MOST_WORDS} words of {LONGEST_WORD} characters can be searched for"
        )
    sort = params.get("sort", "stored")
    name = sort.removeprefix("-")
    if name not in SORTS:
        raise HTTPException(
            400, f"records are sorted by {', '.join(SORTS)} (with a minus: downwards), not {sort[:40]!r}"
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
        raise HTTPException(400, f"{name} is a number, not {text[:40]!r}")
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
