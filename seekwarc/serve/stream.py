"""Bytes by range over ASGI: lazy, one step at a time, and no step more once the client has gone.

Most bodies that a player asks for are never finished. So each step is read in a worker thread only when the
one before it was taken, and a watcher on `receive` ends the loop when the client hangs up.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import anyio
import anyio.to_thread
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from seekwarc.errors import SeekWarcError
from seekwarc.serve.ranges import Answer, decide, format_http_date

__all__ = ["FIRST_STEP", "LARGEST_STEP", "Representation", "send_ranges"]

FIRST_STEP: Final = 256 << 10
"""Bytes that are read first: many clients want no more."""
LARGEST_STEP: Final = 1 << 20
"""Bytes that are read at a time of a body that goes on; what a client costs in memory."""

_log = logging.getLogger("seekwarc.serve")


@dataclass(frozen=True, slots=True, kw_only=True)
class Representation:
    """Bytes that can be asked for by range, and how they are labelled."""

    size: int
    etag: str
    """A strong entity tag, quotes included."""
    modified: int | None
    """Seconds from 1970, None where that is not known."""
    headers: Sequence[tuple[str, str]]
    """Fields of the answer, by lower-case name."""
    read: Callable[[int, int], bytes]
    """Returns `length` bytes from `start` on; called in a worker thread."""


async def send_ranges(
    representation: Representation,
    scope: Scope,
    receive: Receive,
    send: Send,
    *,
    limiter: anyio.CapacityLimiter,
) -> None:
    """Answer a GET or HEAD request.

    A read that fails when the answer has begun ends the connection: that is how HTTP says that a body is not
    whole.

    Args:
        representation: What is asked for.
        scope: The request.
        receive: Tells when the client hangs up.
        send: Takes the answer.
        limiter: Bounds how many threads read at once.
    """
    answer = decide(
        _joined(Headers(scope=scope)),
        size=representation.size,
        etag=representation.etag,
        modified=representation.modified,
    )
    headers = [
        (name.encode("latin-1"), value.encode("latin-1")) for name, value in _fields(representation, answer)
    ]
    start = {"type": "http.response.start", "status": int(answer.status), "headers": headers}
    if scope["method"] == "HEAD" or answer.start == answer.stop:
        await send(start)
        await send({"type": "http.response.body"})
        return
    # Nothing is promised before the first step has come.
    step = min(FIRST_STEP, answer.stop - answer.start)
    data = await anyio.to_thread.run_sync(representation.read, answer.start, step, limiter=limiter)
    await send(start)
    async with anyio.create_task_group() as group:
        group.start_soon(_watch, receive, group.cancel_scope)
        await _send_body(representation, answer, data, send, limiter)
        group.cancel_scope.cancel()


async def _send_body(
    representation: Representation, answer: Answer, data: bytes, send: Send, limiter: anyio.CapacityLimiter
) -> None:
    position, step = answer.start, FIRST_STEP
    while True:
        position += len(data)
        more = position < answer.stop
        await send({"type": "http.response.body", "body": data, "more_body": more})
        if not more:
            return
        step = min(2 * step, LARGEST_STEP)
        length = min(step, answer.stop - position)
        try:
            data = await anyio.to_thread.run_sync(representation.read, position, length, limiter=limiter)
        except SeekWarcError as error:
            _log.warning("the answer breaks off at byte %d: %s", position, error)
            return
        if not data:
            _log.warning("the answer breaks off at byte %d: the record ends there", position)
            return


async def _watch(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _joined(headers: Headers) -> dict[str, str]:
    """Return the fields by name; one that came several times is a list (RFC 9110, clause 5.3)."""
    return {name: ", ".join(headers.getlist(name)) for name in set(headers.keys())}


def _fields(representation: Representation, answer: Answer) -> Iterable[tuple[str, str]]:
    size = representation.size
    if answer.status in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT):
        yield from representation.headers
        yield "content-length", str(answer.stop - answer.start)
    else:
        # What describes a body has no place where there is none.
        yield from (field for field in representation.headers if not field[0].startswith("content-"))
        if answer.status is not HTTPStatus.NOT_MODIFIED:
            yield "content-length", "0"
    if answer.status is HTTPStatus.PARTIAL_CONTENT:
        yield "content-range", f"bytes {answer.start}-{answer.stop - 1}/{size}"
    elif answer.status is HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
        yield "content-range", f"bytes */{size}"
    yield "etag", representation.etag
    if representation.modified is not None:
        yield "last-modified", format_http_date(representation.modified)
