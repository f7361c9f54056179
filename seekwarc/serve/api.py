"""The JSON interface: lists of records, one record, its frames, the cost of a view; see `openapi.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route

from seekwarc.check.describe import coverage_of, payload_format
from seekwarc.collection.entry import Entry, is_place
from seekwarc.collection.record_table import SORTS, Query
from seekwarc.collection.segments import JoinedRecord, ResolvedRevisit
from seekwarc.errors import NotFoundError, SeekWarcError
from seekwarc.format.conditions import checked_status
from seekwarc.format.dates import WarcDate
from seekwarc.format.header_fields import whole_number
from seekwarc.format.rules import check_header
from seekwarc.format.uri import as_utf8, page_part
from seekwarc.read.record import Record
from seekwarc.serve.address import address_of
from seekwarc.serve.cost import Views
from seekwarc.serve.error_answers import json_bytes
from seekwarc.serve.headers import SAFE, file_name, payload_type
from seekwarc.serve.library import Library
from seekwarc.serve.markup import markup_of
from seekwarc.serve.openapi import DESCRIPTION
from seekwarc.serve.payload import record_routes, view_of
from seekwarc.serve.representation import END
from seekwarc.serve.served import ServedRecord
from seekwarc.serve.stream import Workers, while_connected
from seekwarc.serve.strips import PICTURES, Strips, has_strip, picture_tag
from seekwarc.serve.text_search import TextSearch

__all__ = ["MAX_CELLS", "MAX_ROWS", "api_routes"]

MAX_ROWS: Final = 500
"""Records in one answer."""
CELLS: Final = 512
"""Cells of a frame map unless the request names a number."""
MAX_CELLS: Final = 4096
MAX_NAMES: Final = 1000
"""Archives that the summary names."""
MAX_COMMON: Final = 40
"""Media types that the summary names."""
MAX_SHOWN: Final = 12
"""Groups of a kind that the overview names, but for months."""
MAX_MONTHS: Final = 1200
MAX_WORDS: Final = 8
MAX_WORD_LENGTH: Final = 400

SIZE_PATIENCE: Final = 3.0
"""Seconds that a request may take to find the size of a payload in chunked transfer coding."""
THREADS: Final = 16
"""Answers that are made at once; they are apart from payloads, so that a long read never delays a list."""
CLIENT_IS_GONE: Final = 499
"""Status of an answer whose client has closed the connection."""

_HEADERS: Final = {**dict(SAFE), "cache-control": "no-store", "content-type": "application/json"}
_PICTURE_HEADERS: Final = {**dict(SAFE), "cache-control": "no-cache", "content-type": "image/jpeg"}


def api_routes(
    library: Library, replay: str | None = None, search: TextSearch | None = None
) -> Sequence[BaseRoute]:
    """Return the routes of /api and all below it."""
    views = Views()
    api = _Api(library, views, replay, search)
    workers, decoder = Workers(THREADS), Workers(1)

    def answer(function: Callable[[Request], dict[str, Any]]) -> Callable[[Request], Any]:
        return endpoint(lambda request: Response(json_bytes(function(request)), headers=_HEADERS))

    def endpoint(function: Callable[[Request], Response]) -> Callable[[Request], Any]:
        return _endpoint(function, workers)

    routes = [
        Route("/openapi.json", answer(lambda _: DESCRIPTION)),
        Route("/summary", answer(api.summary)),
        Route("/glance", answer(api.glance)),
        Route("/records", answer(api.records)),
        Route("/search", answer(api.search)),
        Route("/records/{record_id}", answer(api.record)),
        Route("/records/{record_id}/frames", answer(api.frames)),
        Route("/views/{view}", answer(api.view)),
        Route("/records/{record_id}/page", endpoint(api.page)),
        Route("/records/{record_id}/pictures", _endpoint(api.pictures, decoder)),
        Route("/records/{record_id}/pictures/{number}", _endpoint(api.picture, workers, api.made, decoder)),
    ]
    payloads = record_routes(library.open, "/api/records/{record_id}", known=library.known, views=views)
    # A player asks for ranges all the time, and routes are tried in order.
    return [*payloads, Mount("/api", routes=routes)]


def _endpoint(
    function: Callable[[Request], Response | None],
    workers: Workers,
    otherwise: Callable[[Request], Response] | None = None,
    others: Workers | None = None,
) -> Callable[[Request], Any]:
    """Return an endpoint for a function that may block; it is stopped when its client disconnects.

    If it returns None, `otherwise` is called by `others`.
    """

    async def endpoint(request: Request) -> Response:
        answer = Response(status_code=CLIENT_IS_GONE)

        async def work() -> None:
            nonlocal answer
            found = await workers.run(partial(function, request))
            if found is None and otherwise is not None and others is not None:
                found = await others.run(partial(otherwise, request))
            answer = found or answer

        await while_connected(request.receive, work)
        return answer

    return endpoint


class _Api:
    def __init__(self, library: Library, views: Views, replay: str | None, search: TextSearch | None) -> None:
        self._library = library
        self._search = search
        self._replay = replay
        self._views = views
        self._strips = Strips()

    def summary(self, _: Request) -> dict[str, Any]:
        catalogue = self._library.catalogue
        return {
            "complete": catalogue.complete,
            "records": sum(state.records for state in self._library.files),
            "files": [asdict(state) for state in self._library.files],
            "archives": self._library.names[:MAX_NAMES],
            "types": dict(catalogue.types.most_common(MAX_COMMON)),
            "mimes": dict(catalogue.mimes.most_common(MAX_COMMON)),
            "replay": self._replay,
            "search": self._search is not None,
        }

    def search(self, request: Request) -> dict[str, Any]:
        if self._search is None:
            raise NotFoundError("no search index: name one with --search, or among the files")
        return self._search.answer(request)

    def glance(self, _: Request) -> dict[str, Any]:
        library = self._library
        complete = library.catalogue.complete
        found: dict[str, Any] = {}
        for by, groups in library.groups.items():
            shown, others = groups.most(MAX_MONTHS if by == "month" else MAX_SHOWN)
            found[by] = {
                "groups": [it._asdict() for it in shown],
                "others": others._asdict() if others is not None else None,
            }
        return {
            "complete": complete,
            "groups": found,
            "revisits": library.savings.revisits,
            "saved_by_revisits": library.saved_by_revisits if complete else None,
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
            "records": [*map(self._entry, page.entries, page.parts)],
        }

    def _entry(self, entry: Entry, parts: int) -> dict[str, Any]:
        part, page = page_part(entry.type, entry.uri)
        return {
            "id": self._library.record_id(entry.filename, entry.offset, entry.skip),
            "file": entry.filename,
            "offset": entry.offset,
            "length": entry.length,
            "is_damage": is_place(entry),
            "type": entry.type,
            "uri": entry.uri,
            "page_part": part,
            "page": page,
            "date": str(entry.date) if entry.date is not None else None,
            "mime": entry.mime,
            "status": entry.status,
            "size": entry.size or 0,
            "parts": parts,
            "problem": entry.problem,
        }

    def record(self, request: Request) -> dict[str, Any]:
        view = view_of(request.scope, self._views)
        served = self._library.open(request.path_params["record_id"], view)
        with served.charge(view):
            return self._record(served)

    def _record(self, served: ServedRecord) -> dict[str, Any]:
        record = served.record
        media = payload_type(record)
        original = record.original if isinstance(record, ResolvedRevisit) else None
        stored = original or record
        segments = stored.segments if isinstance(stored, JoinedRecord) else ()
        size, problem, counting = _payload(served)
        return {
            **self._reference(record),
            "length": record.length,
            "mime": media.essence if media is not None else None,
            "charset": media.get("charset") if media is not None else None,
            "file_name": file_name(record),
            "codings": list(record.payload.codings) if size is not None else [],
            "block_size": record.content_length,
            "payload_size": size,
            "payload_format": payload_format(record) if size is not None else None,
            "pictures": size is not None and has_strip(served),
            "counting": counting,
            "truncated": stored.truncated,
            "problem": problem,
            "deviation": record.payload.deviation if size is not None else None,
            "address": address_of(record),
            "version": record.header.version,
            "header": list(record.header.items()),
            "http": _http(record),
            "findings": [f"{it.severity}: {it}" for it in check_header(record.header)],
            "seek_table": stored.seek_table_status,
            "seek_table_problem": stored.body.table_problem,
            "original": self._reference(original) if original is not None else None,
            "segments": [self._reference(segment) for segment in segments],
            "joined": coverage_of(record),
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
        view = view_of(request.scope, self._views)
        served = self._library.open(request.path_params["record_id"], view)
        markup = markup_of(served, view)
        return Response(markup.data, headers=dict(markup.headers))

    def pictures(self, request: Request) -> Response:
        view = view_of(request.scope, self._views)
        served = self._library.open(request.path_params["record_id"], view)
        return Response(json_bytes(self._strips.facts(served, view)), headers=_HEADERS)

    def picture(self, request: Request) -> Response | None:
        """Answer with a picture that was made before."""
        view = view_of(request.scope, self._views)
        served = self._library.open(request.path_params["record_id"], view)
        tag = picture_tag(served, _picture_number(request))
        headers = {**_PICTURE_HEADERS, "etag": tag}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
        made = self._strips.cached(tag)
        return None if made is None else Response(made, headers=headers)

    def made(self, request: Request) -> Response:
        """Answer with a picture, which is made for it."""
        view = view_of(request.scope, self._views)
        served = self._library.open(request.path_params["record_id"], view)
        number = _picture_number(request)
        made = self._strips.picture(served, number, view)
        return Response(made, headers={**_PICTURE_HEADERS, "etag": picture_tag(served, number)})

    def frames(self, request: Request) -> dict[str, Any]:
        view = view_of(request.scope, self._views)
        wanted = _number(request, "cells")
        served = self._library.open(request.path_params["record_id"], view)
        with served.charge(view):
            frames = served.frames
        cells = list(frames.cells(CELLS if wanted is None else min(max(wanted, 1), MAX_CELLS)))
        return {
            "frames": frames.count,
            "content": sum(content for _, _, content, _ in cells),
            "stored": sum(stored for _, _, _, stored in cells),
            "cells": cells,
        }

    def view(self, request: Request) -> dict[str, Any]:
        name = request.path_params["view"]
        view = self._views.get(name)
        if view is None:
            raise NotFoundError(f"no view named {name[:60]!r} (it may have expired)")
        return {
            "requests": view.requests,
            "bytes_asked": view.bytes_asked,
            "bytes_read": view.bytes_read,
            "bytes_decoded": view.bytes_decoded,
            "frames": view.fetched,
            "from_memory": view.from_memory,
            "damaged": view.damaged,
            "problem": view.problem,
        }


def _picture_number(request: Request) -> int:
    number = whole_number(request.path_params["number"])
    if number is None or number >= PICTURES:
        raise NotFoundError(f"pictures have the numbers 0 to {PICTURES - 1}")
    return number


def _http(record: Record) -> dict[str, Any] | None:
    head = record.http
    if head is None:
        return None
    return {"start_line": head.start_line, "status": head.status, "header": list(head.items())}


def _payload(served: ServedRecord) -> tuple[int | None, str | None, bool]:
    """Return size and problem of a payload, and whether the next request must go on to find its size."""
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
    words = tuple(as_utf8(params.get("q", "")).split())
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
        file=as_utf8(params.get("file", "")) or None,
        type=as_utf8(params.get("type", "")) or None,
        captures=bool(_number(request, "captures")),
        status=_argument(request, "status", checked_status),
        mime=as_utf8(params.get("mime", "")).lower() or None,
        since=_argument(request, "since", _checked_date),
        until=_argument(request, "until", _checked_date),
        smallest=_number(request, "min_size"),
        largest=_number(request, "max_size"),
        sort=name,
        descending=sort.startswith("-"),
        folded=bool(_number(request, "folded")),
    )


def _argument(request: Request, name: str, check: Callable[[str], str]) -> str | None:
    """Return what `check` makes of an argument; it raises a `ValueError` if that is wrong."""
    text = request.query_params.get(name)
    try:
        return check(text) if text else None
    except ValueError as error:
        raise HTTPException(400, f"{name}: {error}") from error


def _checked_date(text: str) -> str:
    WarcDate.parse(text)
    return text


def _number(request: Request, name: str) -> int | None:
    text = request.query_params.get(name)
    number = whole_number(text) if text else None
    if text and number is None:
        raise HTTPException(400, f"{name} must be a number, not {text[:40]!r}")
    return number
