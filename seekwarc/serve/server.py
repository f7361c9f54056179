"""Running an application with uvicorn, and ending it although players hold on to their connections."""

from __future__ import annotations

import logging
import socket
import time
from typing import Final

import uvicorn
from starlette.types import ASGIApp

__all__ = ["Server"]

PATIENCE: Final = 5
"""Seconds that a step that is being read may take when the server ends."""
IDLE: Final = 30
"""Seconds that a connection may stand without a whole request on it."""
TICKS: Final = 10
"""Ticks, of a tenth of a second each, between two looks for idle connections."""
BROKEN_OFF: Final = "ASGI callable returned without completing response."
"""What uvicorn says of an answer that damage ended. `stream.py` has said why."""


def _was_not_told(record: logging.LogRecord) -> bool:
    return record.msg != BROKEN_OFF


class Server(uvicorn.Server):
    """Serves one application at a port that is open.

    A player that is paused leaves its answer standing for hours. When the server ends it does not wait for
    that: connections are closed, and what was reading for them ends as it does when a client hangs up.

    Args:
        app: The application.
        listener: The port.
    """

    def __init__(self, app: ASGIApp, listener: socket.socket) -> None:
        config = uvicorn.Config(
            app,
            log_level="error",
            access_log=False,
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=PATIENCE,
        )
        super().__init__(config)
        self._idle: dict[object, tuple[object, float]] = {}
        """Connections on which nothing is answered: what was answered last, and when that was noticed."""
        self._listener = listener
        logging.getLogger("uvicorn.error").addFilter(_was_not_told)

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until SIGINT or SIGTERM comes, which is raised again at the end."""
        super().run([self._listener] if sockets is None else sockets)

    async def on_tick(self, counter: int) -> bool:
        """Close connections that nobody uses, then do what uvicorn does at every tick."""
        if counter % TICKS == 0:
            self._close_idle(time.monotonic())
        return await super().on_tick(counter)

    def _close_idle(self, now: float) -> None:
        """Close connections that have been idle, or had the head of a request unfinished, for too long.

        By itself uvicorn only closes those that have been answered before and sent nothing since.
        """
        idle: dict[object, tuple[object, float]] = {}
        for connection in list(self.server_state.connections):
            cycle = getattr(connection, "cycle", None)
            if cycle is not None and not cycle.response_complete:
                continue
            last, since = self._idle.get(connection, (None, now))
            # Bytes that trickle in do not count, whole requests do.
            idle[connection] = cycle, since if last is cycle else now
            if now - idle[connection][1] > IDLE and connection.transport is not None:
                connection.transport.close()
        self._idle = idle

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close all connections, then the port."""
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await super().shutdown(sockets)
