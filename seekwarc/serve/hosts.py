"""The names by which this server may be asked.

A page elsewhere could point its own name at this server to read the answers (DNS rebinding), so a request for
another name is refused.
"""

from __future__ import annotations

from typing import Final

from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import Receive, Scope, Send

from seekwarc.compiling import override

__all__ = ["LOCAL_HOSTS", "KnownHosts"]

LOCAL_HOSTS: Final = ("127.0.0.1", "localhost", "::1", "[::1]")
"""Host names that a browser on this computer may use for this server, and for all others there."""


class KnownHosts(TrustedHostMiddleware):
    """Refuses requests for other names; answers those of HTTP/1.0 that have none, as that version allows.

    No browser sends such a request, and only browsers can be made to ask by a page elsewhere.
    """

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["http_version"] == "1.0" and b"host" not in dict(scope["headers"]):
            await self.app(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)
