"""Running an application with uvicorn, and ending it although players hold on to their connections."""

from __future__ import annotations

import logging
import socket
from typing import Final

import uvicorn
from starlette.types import ASGIApp

__all__ = ["Server"]

PATIENCE: Final = 5
"""Seconds that a step that is being read may take when the server ends."""
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
        self._listener = listener
        logging.getLogger("uvicorn.error").addFilter(_was_not_told)

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until SIGINT or SIGTERM comes, which is raised again at the end."""
        super().run([self._listener] if sockets is None else sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close all connections, then the port."""
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await super().shutdown(sockets)
