"""The names by which this server may be asked.

A page elsewhere could point its own name at this server to read the answers (DNS rebinding), so a request for
another name is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from seekwarc.compiling import override

__all__ = ["LOCAL_HOSTS", "KnownHosts"]

LOCAL_HOSTS: Final = ("127.0.0.1", "localhost", "::1", "[::1]")
"""Host names that a browser on this computer may use for this server, and for all others there."""
MAX_KNOWN: Final = 64


class KnownHosts(TrustedHostMiddleware):
    """Refuses requests for other names; answers those of HTTP/1.0 that have none, as that version allows.

    No browser sends such a request, and only browsers can be made to ask by a page elsewhere.
    """

    def __init__(self, app: ASGIApp, *, allowed_hosts: Sequence[str]) -> None:
        super().__init__(self._let_in, allowed_hosts, www_redirect=False)
        self._inner = app
        self._known: set[bytes] = set()
        """Values of the field Host that were let in: to take one apart takes a tenth of a small answer."""

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        host = _host(scope)
        if host in self._known or (host is None and scope.get("http_version") == "1.0"):
            await self._inner(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)

    async def _let_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        host = _host(scope)
        if host is not None and len(self._known) < MAX_KNOWN:
            self._known.add(host)
        await self._inner(scope, receive, send)


def _host(scope: Scope) -> bytes | None:
    # The start and the end of a server are asked for without headers.
    return next((value for name, value in scope.get("headers", ()) if name == b"host"), None)
