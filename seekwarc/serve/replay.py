"""The application of `seekwarc serve --replay`: an origin of its own, on which archived pages run.

A page in a frame is rewritten by wabac.js, a service worker that users bring (`replay_worker.py`). The worker
asks /raw/{date}id_/{URI} for each request of that page. Here captures are found and sent.

Archived scripts run on this origin, so whatever it has or may do is theirs: there is no interface but these
addresses, no cookie and nothing to change, and policies keep what runs from any other host or port. They
cannot rely on the rewriting: XML documents run as they are.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any, Final
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from seekwarc.format.cdxj import timestamp_of
from seekwarc.serve.error_answers import json_bytes
from seekwarc.serve.error_handlers import HANDLERS
from seekwarc.serve.headers import SAFE
from seekwarc.serve.library import Library
from seekwarc.serve.replay_fields import KEPT, RAW_POLICY, REPLAY_POLICY
from seekwarc.serve.replay_lookup import Captures
from seekwarc.serve.replay_raw import RawEndpoint, asked_uri, http_date
from seekwarc.serve.static import static

__all__ = ["REPLAY_HOSTS", "replay_application"]

REPLAY_HOSTS: Final = ("replay.localhost", "127.0.0.1", "localhost", "::1", "[::1]")
"""Names of this origin. Browsers find the first by themselves, and it has no cookies of other programs."""
PAGE_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "frame-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
WORKER_POLICY: Final = "default-src 'none'; connect-src 'self'; script-src 'self'"
"""Of the worker: archived pages can tell it to fetch for them."""
CONFIGURATION: Final[dict[str, Any]] = {
    "msg_type": "addColl",
    "name": "web",
    "type": "live",
    "skipExisting": False,
    "file": {"sourceUrl": "proxy:"},
    "extraConfig": {
        "prefix": "",
        "isLive": False,
        "archivePrefix": "/raw/",
        "archiveMod": "id_",
        "baseUrl": "/web/",
        "baseUrlAppendReplay": True,
        "noPostToGet": True,
        "csp": REPLAY_POLICY,
    },
}
"""The message that the page sends to the worker. The name is the first part of the page's path."""
MAX_LISTED: Final = 100_000
"""Captures in a time map."""


def replay_application(library: Library, worker: bytes, *, hosts: Sequence[str] = REPLAY_HOSTS) -> Starlette:
    """Make the ASGI application that replays a library, which the caller closes.

    Args:
        library: The files.
        worker: The script of wabac.js.
        hosts: The names that requests may have for this server.
    """
    fields = {
        **dict(SAFE),
        "content-security-policy": PAGE_POLICY,
        "cross-origin-opener-policy": "same-origin",
    }
    worker_fields = {**fields, "content-security-policy": WORKER_POLICY, "service-worker-allowed": "/"}
    captures = Captures(library)
    routes = [
        Route("/wabac.js", _imported(static(worker, "wabac.js", worker_fields))),
        Route("/raw/{rest:path}", RawEndpoint(captures)),
        Route("/timemap/link/{rest:path}", _time_map(captures)),
        Route("/progress", _progress(library)),
    ]
    for file in files("seekwarc.serve").joinpath("page").iterdir():
        content = file.read_bytes()
        if file.name == "replay-worker.js":
            script = content.replace(b"$CONFIGURATION", json.dumps(CONFIGURATION).encode())
            routes.append(Route("/sw.js", static(script, file.name, worker_fields)))
        elif file.name == "replay.html":
            message = html.escape(json.dumps(CONFIGURATION))
            page = static(content.replace(b"$CONFIGURATION", message.encode()), file.name, fields)
            routes += [Route("/web/{rest:path}", page), Route("/", page)]
        elif file.name.startswith("replay") or file.name == "icon.svg":
            routes.append(Route(f"/{file.name}", static(content, file.name, fields)))
    middleware = [Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False)]
    return Starlette(routes=routes, middleware=middleware, exception_handlers=HANDLERS)


def _imported(endpoint: Callable[[Request], Response]) -> Callable[[Request], Response]:
    """Refuse the script of the worker to those who would register it without what guards it."""

    def guarded(request: Request) -> Response:
        if "service-worker" in request.headers or request.headers.get("sec-fetch-dest", "script") != "script":
            raise HTTPException(403, "this is a part of /sw.js")
        return endpoint(request)

    return guarded


def _time_map(captures: Captures) -> Callable[[Request], Response]:
    def endpoint(request: Request) -> Response:
        """List the captures of a URI (RFC 7089, section 5, in the format of RFC 6690)."""
        uri = asked_uri(request.scope, "/timemap/link/")
        shown = quote(uri, safe=KEPT)
        base = str(request.base_url).rstrip("/")
        links = [
            f'<{shown}>; rel="original"',
            f'<{base}/timemap/link/{shown}>; rel="self"; type="application/link-format"',
            f'<{base}/raw/id_/{shown}>; rel="timegate"',
        ]
        for entry in captures.of(uri)[:MAX_LISTED]:
            if entry.date is not None:
                place = f"{base}/web/{timestamp_of(entry.date)}/{quote(entry.uri or uri, safe=KEPT)}"
                links.append(f'<{place}>; rel="memento"; datetime="{http_date(entry.date)}"')
        fields = {**dict(SAFE), "content-security-policy": RAW_POLICY, "cache-control": "no-cache"}
        status = 200 if len(links) > 3 else 404
        return Response(",\n".join(links) + "\n", status, fields, "application/link-format")

    return endpoint


def _progress(library: Library) -> Callable[[Request], Response]:
    def endpoint(_: Request) -> Response:
        """Tell how far the files were read, in bytes."""
        states = library.files
        progress = {
            "complete": library.catalogue.complete,
            "position": sum(state.position for state in states),
            "size": sum(state.size for state in states),
            "records": library.catalogue.rows,
        }
        fields = {**dict(SAFE), "content-security-policy": RAW_POLICY, "cache-control": "no-store"}
        return Response(json_bytes(progress), 200, fields, "application/json")

    return endpoint
