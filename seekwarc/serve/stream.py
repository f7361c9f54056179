"""Bytes by range over ASGI: lazily, one step at a time, and none after the client has disconnected.

Players abandon most of the bodies that they ask for. So each step is read, in a worker thread, only after the
previous one was sent; and a task that waits on `receive` stops the work when the client disconnects, even in
the middle of a step: see `seekwarc.storage.stopping`.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from seekwarc.errors import SeekWarcError
from seekwarc.serve.ranges import Answer
from seekwarc.serve.representation import Representation
from seekwarc.storage.stopping import stoppable

__all__ = ["in_thread", "send_ranges", "while_connected"]

Value = TypeVar("Value")

_log: Final = logging.getLogger("seekwarc.serve")


async def while_connected(receive: Receive, work: Callable[[], Awaitable[None]]) -> None:
    """Do the work for a request, and stop it when the client disconnects."""
    problem: Exception | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(_watch, receive, group.cancel_scope)
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - raised below: the group would wrap it
            problem = error
        group.cancel_scope.cancel()
    if problem is not None:
        raise problem


async def _watch(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


async def in_thread(function: Callable[[], Value], limiter: anyio.CapacityLimiter | None = None) -> Value:
    """Call a function that may block in a worker thread; it is stopped when this task is cancelled."""
    return await anyio.to_thread.run_sync(partial(_stoppably, function), limiter=limiter)


def _stoppably(function: Callable[[], Value]) -> Value:
    with stoppable(anyio.from_thread.check_cancelled):
        return function()


async def send_ranges(
    representation: Representation,
    scope: Scope,
    send: Send,
    *,
    limiter: anyio.CapacityLimiter,
) -> None:
    """Answer a GET or HEAD request. Call it inside `while_connected`.

    If a read fails after the answer has begun, the connection is closed, which in HTTP means that the body is
    incomplete.
    """
    asked = _joined(Headers(scope=scope))
    while (answer := await in_thread(partial(representation.answer, asked), limiter)) is None:
        pass
    headers = [
        (name.encode("latin-1"), value.encode("latin-1")) for name, value in representation.fields(answer)
    ]
    start = {"type": "http.response.start", "status": int(answer.status), "headers": headers}
    if scope["method"] == "HEAD" or answer.start == answer.stop:
        await send(start)
        await send({"type": "http.response.body"})
        return
    await _send_body(representation, answer, start, send, limiter)


async def _send_body(
    representation: Representation,
    answer: Answer,
    start: dict[str, object],
    send: Send,
    limiter: anyio.CapacityLimiter,
) -> None:
    for position, length in representation.steps(answer):
        try:
            data = await in_thread(partial(representation.read, position, length), limiter)
        except SeekWarcError as error:
            if position == answer.start:
                raise
            _log.warning("the answer breaks off at byte %d: %s", position, error)
            return
        if position == answer.start:
            # The status is sent only after the first step was read, so that its failure is another status.
            await send(start)
        end = position + len(data)
        is_last = end == answer.stop or (answer.stop is None and len(data) < length)
        await send({"type": "http.response.body", "body": data, "more_body": not is_last})
        if is_last:
            return
        if len(data) < length:
            _log.warning("the answer breaks off at byte %d: the record ends there", end)
            return


def _joined(headers: Headers) -> dict[str, str]:
    """Return the fields by name; repeated fields are joined to a list (RFC 9110, clause 5.3)."""
    return {name: ", ".join(headers.getlist(name)) for name in set(headers.keys())}
