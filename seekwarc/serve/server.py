"""Runs an application with uvicorn, and stops it even if players keep their connections open."""

from __future__ import annotations

import importlib.util
import logging
import socket
import time
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from seekwarc.compiling import override
from seekwarc.serve.protocol import MAX_HEAD, GuardedHttp, LimitedH11

__all__ = ["Server", "by_port"]

PATIENCE: Final = 1
"""Seconds that reads in progress may still take when the server stops."""
IDLE: Final = 30
"""Seconds that a connection may stay open without a complete request."""
TICKS: Final = 10
"""Ticks, of a tenth of a second each, between two searches for idle connections."""
BROKEN_OFF: Final = "ASGI callable returned without completing response."
"""What uvicorn logs for an answer that damage ended. `stream.py` has logged the reason already."""


def by_port(apps: Mapping[int, ASGIApp]) -> ASGIApp:
    """Return an application of several ports, each with its own application and so its own origin."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        # The port that was connected to, whatever the request says.
        await apps[scope["server"][1]](scope, receive, send)

    return app


def _was_not_told(record: logging.LogRecord) -> bool:
    return record.msg != BROKEN_OFF


def _http_protocol() -> str:
    return "h11" if importlib.util.find_spec("httptools") is None else "httptools"


def _guarded(parser: str) -> type[GuardedHttp]:
    if parser == "h11":
        return LimitedH11
    from seekwarc.serve.protocol_httptools import LimitedHttpTools

    return LimitedHttpTools


class Server(uvicorn.Server):
    """Serves one application on listening sockets.

    A paused player may keep its answer open for hours. When the server stops, it does not wait for that:
    connections are closed, and reads for them end as they do when a client disconnects. Every answer has a
    policy: see `protocol.py`, which also says what `replayed` is for.
    """

    def __init__(self, app: ASGIApp, *listeners: socket.socket, replayed: Collection[str] = ()) -> None:
        protocol: Any = partial(_guarded(_http_protocol()), replayed=replayed)
        config = uvicorn.Config(
            app,
            http=protocol,
            # Its own limit, which it looks at first, would say less.
            h11_max_incomplete_event_size=16 * MAX_HEAD,
            ws="none",
            log_level="error",
            access_log=False,
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=PATIENCE,
        )
        super().__init__(config)
        self._idle: dict[object, tuple[object, float]] = {}
        """Connections without an answer in progress: the last request, and when the idle time began."""
        self._listeners = [*listeners]
        logging.getLogger("uvicorn.error").addFilter(_was_not_told)

    @override
    def run(self, sockets: list[socket.socket] | None = None) -> None:
        # uvicorn captures signals later: one that is raised while the event loop is made leaves half a loop.
        with self.capture_signals():
            super().run(self._listeners if sockets is None else sockets)

    @override
    async def on_tick(self, counter: int) -> bool:
        if counter % TICKS == 0:
            self._close_idle(time.monotonic())
        return await super().on_tick(counter)

    def _close_idle(self, now: float) -> None:
        # uvicorn itself closes only connections that had an answer and have sent nothing since.
        idle: dict[object, tuple[object, float]] = {}
        for connection in list(self.server_state.connections):
            cycle = getattr(connection, "cycle", None)
            if cycle is not None and not cycle.response_complete:
                continue
            last, since = self._idle.get(connection, (None, now))
            # Only complete requests end the idle time, not bytes that trickle in.
            idle[connection] = cycle, since if last is cycle else now
            if now - idle[connection][1] > IDLE and connection.transport is not None:
                connection.transport.close()
        self._idle = idle

    @override
    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await super().shutdown(sockets)
