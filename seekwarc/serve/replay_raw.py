"""What the service worker of a replay is sent: the capture that is nearest to what a page asks for."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from email.utils import formatdate
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from seekwarc.errors import FormatError, NotFoundError, SeekWarcError
from seekwarc.format.dates import WarcDate, date_of_digits
from seekwarc.format.post import MAX_BODY_SIZE, body_query
from seekwarc.format.uri import as_utf8
from seekwarc.format.values import MediaType
from seekwarc.read.extent import MAX_DECODED, Extent
from seekwarc.serve.error_answers import status_of
from seekwarc.serve.headers import SAFE, payload_type
from seekwarc.serve.payload import THREADS, begin_found
from seekwarc.serve.ranges import capped, joined, parse_http_date
from seekwarc.serve.replay_fields import KEPT, RAW_POLICY, archived_fields
from seekwarc.serve.replay_lookup import Asked, Captures, Found, answer_of
from seekwarc.serve.representation import Representation
from seekwarc.serve.stream import Workers, send_answer, while_connected

__all__ = ["RawEndpoint", "asked_uri", "http_date"]

MAX_OPEN_RANGE: Final = 512 << 10
"""Bytes that answer an open range of media. Without it Chromium takes all of the rest each time; and without
its cache, abandoned answers then hold all its connections, and seeking stalls. The rest of a remote file
is prefetched, as in all sequential reads."""
MAX_GUESSED: Final = 256
"""Bytes that decide whether a body without a media type is HTML."""
# No "nosniff" unless the archive has it: many scripts were served as text/plain and still ran.
FIELDS: Final = (
    ("content-security-policy", RAW_POLICY),
    ("cross-origin-resource-policy", "same-origin"),
)
PAGE: Final = (
    "<!doctype html><meta charset=utf-8><title>{title}</title>{more}"
    "<style>body{{font:1rem/1.5 sans-serif;margin:3rem auto;max-width:40rem;padding:0 1rem}}"
    "code{{overflow-wrap:anywhere}}</style><h1>{title}</h1><p>{text}<p><code>{uri}</code>"
)

_HTML = re.compile(rb"(?:\xef\xbb\xbf)?\s{0,99}<(?:!doctype html|html|head|title|body)\b", re.IGNORECASE)
_DATED = re.compile(r"([0-9]{0,14})(?:[a-z]{1,4}_)?/(.+)", re.DOTALL)


def asked_uri(scope: Scope, prefix: str) -> str:
    """Return what follows a prefix of the address, with the query, as the client wrote it."""
    path: bytes = scope["raw_path"]
    query: bytes = scope["query_string"]
    return (path + b"?" * bool(query) + query).decode("utf-8", "replace").removeprefix(prefix)


def http_date(date: WarcDate) -> str:
    """Return a date as fields of HTTP have it."""
    return formatdate(date.nanoseconds // 10**9, usegmt=True)


class RawEndpoint:
    """The endpoint /raw/{date}id_/{URI}."""

    def __init__(self, captures: Captures) -> None:
        self._captures = captures
        self._workers = Workers(THREADS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request: the ASGI interface."""
        fields = joined((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"])
        # Never as a document, script or worker of its own, but only what the worker fetches.
        if fields.get("sec-fetch-dest", "empty") != "empty" or "service-worker" in fields:
            raise HTTPException(403, "only the service worker of this page may read this")
        asked = _asked(scope, fields)
        method = scope["method"]
        if method not in ("GET", "HEAD"):
            body = await _body(receive)
            asked = asked._replace(sent=(method, body_query(fields.get("content-type", ""), body)))
            method = "GET"
        answer = _Answer(self._captures, asked, fields)

        async def work() -> None:
            try:
                begun = await begin_found(answer.find, fields, method, self._workers)
            except (SeekWarcError, HTTPException) as error:
                await _message(error, asked)(scope, receive, send)
            else:
                await send_answer(begun, send, self._workers)

        await while_connected(receive, work)


def _asked(scope: Scope, fields: Mapping[str, str]) -> Asked:
    match = _DATED.fullmatch(asked_uri(scope, "/raw/"))
    if match is None:
        raise HTTPException(400, "the address is /raw/20261121093000id_/http://example.org/")
    digits = match[1]
    wanted = parse_http_date(fields.get("accept-datetime"))
    if not digits and wanted is not None:
        digits = time.strftime("%Y%m%d%H%M%S", time.gmtime(wanted))
    try:
        return Asked(match[2], date_of_digits(digits) if len(digits) >= 4 else None)
    except FormatError:
        raise HTTPException(400, f"{digits} is not a date") from None


async def _body(receive: Receive) -> bytes:
    """Return what a request sent, as far as it counts."""
    body, more = b"", True
    while more and len(body) < MAX_BODY_SIZE:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body[:MAX_BODY_SIZE]


class _Answer:
    """The answer to one request, whose fields are changed to those that the capture can be asked for with."""

    def __init__(self, captures: Captures, asked: Asked, fields: dict[str, str]) -> None:
        self._captures = captures
        self._asked = asked
        self._fields = fields

    def find(self) -> Representation | None:
        """Return what is sent; None while files are being scanned for it."""
        try:
            found = self._captures.find(self._asked)
        except NotFoundError as error:
            raise HTTPException(404, str(error)) from None
        return self._of(found) if found is not None else None

    def _of(self, found: Found) -> Representation:
        record = found.served.record
        answered = answer_of(record)
        head, media = answered.http, payload_type(answered)
        made = found.served.representation("payload")
        coding = dict(made.headers).get("content-encoding")
        if media is None and _HTML.match(record.payload.pread(0, MAX_GUESSED)):
            # The worker rewrites what has a type. The browser guesses other types, as it did.
            media = MediaType("text/html")
        is_media = media is not None and media.essence.startswith(("audio/", "video/"))
        fields = [*FIELDS, ("cache-control", "no-store" if is_media else "private, no-cache")]
        if media is not None and (head is None or "Content-Type" not in head):
            fields.append(("content-type", str(media)))
        if found.date is not None:
            fields.append(("memento-datetime", http_date(found.date)))
        if "accept-datetime" in self._fields:
            shown = quote(found.uri, safe=KEPT)
            fields += [("vary", "accept-datetime"), ("link", f'<{shown}>; rel="original"')]
        if coding is not None or (head is not None and (head.status or 200) >= 300):
            self._fields.pop("range", None)
        else:
            fields.append(("accept-ranges", "bytes"))
            if is_media and "range" in self._fields:
                self._fields["range"] = capped(self._fields["range"], MAX_OPEN_RANGE)
        if coding is not None and not _accepts(self._fields.get("accept-encoding", ""), coding):
            made = replace(made, extent=_Decoded(record.payload), etag=f'{made.etag[:-1]}-decoded"')
            coding = None
        if head is not None:
            fields += archived_fields(head, found.uri, coding)
        return replace(made, headers=fields)


def _accepts(field: str, codings: str) -> bool:
    """Return whether a client accepts content codings."""
    named = {name.strip().lower() for name, _, weight in (it.partition(";") for it in field.split(","))}
    return named.issuperset(codings.replace("x-gzip", "gzip").split(", "))


class _Decoded:
    """A payload with its content codings undone, which is read forward once."""

    known_size = None
    holes = ()

    def __init__(self, payload: Extent) -> None:
        self._file = payload.open_decoded(limit=MAX_DECODED)

    def look_ahead(self, _position: int, _seconds: float, /) -> bool:
        return False

    def pread(self, _start: int, length: int, /) -> bytes:
        data = b""
        while len(data) < length and (piece := self._file.read(length - len(data))):
            data += piece
        return data


def _message(error: SeekWarcError | HTTPException, asked: Asked) -> Response:
    """Return a page that says what is wrong, for the frame."""
    if isinstance(error, HTTPException):
        status, text = error.status_code, error.detail
        title = "Not in this archive" if status == HTTPStatus.NOT_FOUND else "Not yet"
    else:
        status, text, title = int(status_of(error)), str(error), "This capture cannot be shown"
    more = "<meta http-equiv=refresh content=3>" if status == HTTPStatus.SERVICE_UNAVAILABLE else ""
    seconds = asked.date.nanoseconds // 10**9 if asked.date is not None else None
    fields = {
        **dict(SAFE),
        **dict(FIELDS),
        "cache-control": "no-store",
        "memento-datetime": formatdate(seconds, usegmt=True),
    }
    if status != HTTPStatus.NOT_FOUND:
        # The worker would replace these by a page of its own.
        fields |= {"x-redirect-status": str(status), "x-redirect-statustext": HTTPStatus(status).phrase}
        status = HTTPStatus.OK
    page = PAGE.format(
        title=title, more=more, text=html.escape(as_utf8(text)), uri=html.escape(as_utf8(asked.uri))
    )
    return Response(page, status, fields, "text/html")
