"""Replay: a page with a bar, and an origin of its own on which the archived pages in its frame run.

Pages in the frame are rewritten by wabac.js, a service worker that users bring (`replay_worker.py`). The
worker asks /raw/{date}id_/{URI} for each request of them. Here captures are found and sent.

Archived scripts run on the origin of the frame, so whatever that has or may do is theirs: there is no
interface but these addresses, no cookie and nothing to change, and policies keep what runs from any other
host or port. They cannot rely on the rewriting: XML documents run unchanged. The bar is on the origin of
the page of records, which is another port, so that archived scripts can neither touch nor navigate it.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
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

from seekwarc.collection.likeness import Meant
from seekwarc.format.cdxj import timestamp_of
from seekwarc.format.json_text import json_text
from seekwarc.format.uri import as_utf8
from seekwarc.serve.error_answers import json_bytes
from seekwarc.serve.error_handlers import HANDLERS
from seekwarc.serve.headers import SAFE
from seekwarc.serve.hosts import LOCAL_HOSTS
from seekwarc.serve.library import Library
from seekwarc.serve.replay_fields import KEPT, RAW_POLICY, REPLAY_POLICY
from seekwarc.serve.replay_lookup import Captures
from seekwarc.serve.replay_raw import RawEndpoint, asked_uri, http_date
from seekwarc.serve.static import static

__all__ = ["REPLAY_HOST", "ReplayPorts", "bar_routes", "replay_application"]

REPLAY_HOST: Final = "replay.localhost"
"""A name that browsers find by themselves, for which no other program on this computer has cookies."""
BAR_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "frame-src {origin}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
START_POLICY: Final = (
    "default-src 'none'; script-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors {origin}"
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
"""The message that sets up the worker. The name is the first part of the path of replayed pages."""
MAX_LISTED: Final = 100_000
"""Captures in a time map."""


@dataclass(frozen=True, slots=True)
class ReplayPorts:
    """Where a replay is."""

    bar: int
    """Port of the page with the bar, and of the page of records."""
    frame: int
    """Port of the origin on which archived pages run."""
    hosts: Sequence[str] = (REPLAY_HOST,)
    """The names at which archived pages run: none that other programs have cookies for."""

    @property
    def address(self) -> str:
        """The address of the bar, to which `web/DATE/URI` may be appended."""
        return f"http://{REPLAY_HOST}:{self.bar}/"

    def frame_origin(self, request: Request) -> str:
        """Return the origin of the frame, for a request to the port of the bar."""
        own = request.url.hostname in self.hosts
        return _origin(request, self.frame) if own else f"http://{REPLAY_HOST}:{self.frame}"


def bar_routes(library: Library, ports: ReplayPorts) -> list[Route]:
    """Return the routes of the page with the bar."""
    routes = [
        Route("/timemap/link/{rest:path}", _time_map(Captures(library), ports)),
        Route("/progress", _progress(library)),
    ]
    for name, content in _files("replay."):
        if name == "replay.html":
            page = _page(content, BAR_POLICY, ports.frame)
            routes.append(Route("/web/{rest:path}", _at_own_name(page, ports)))
        else:
            routes.append(Route(f"/{name}", static(content, name, dict(SAFE))))
    return routes


def replay_application(library: Library, worker: bytes, ports: ReplayPorts) -> Starlette:
    """Make the ASGI application on whose origin archived pages run.

    Args:
        library: The files, which the caller closes.
        worker: The script of wabac.js.
        ports: The ports of both origins, and the names that requests may have.
    """
    fields = {**dict(SAFE), "content-security-policy": WORKER_POLICY, "service-worker-allowed": "/"}
    message = json_text(CONFIGURATION)
    pages = dict(_files("replay-"))
    script = pages["replay-worker.js"].replace(b"$CONFIGURATION", message.encode())
    start = pages["replay-start.html"].replace(b"$CONFIGURATION", html.escape(message).encode())

    def bar(request: Request) -> Response:
        return _redirected(request, _origin(request, ports.bar))

    routes = [
        Route("/", _page(start, START_POLICY, ports.bar)),
        Route("/replay-start.js", static(pages["replay-start.js"], "replay-start.js", dict(SAFE))),
        Route("/sw.js", static(script, "sw.js", fields)),
        Route("/wabac.js", _imported(static(worker, "wabac.js", fields))),
        Route("/raw/{rest:path}", RawEndpoint(Captures(library))),
        # Where an archived page goes that is opened in a window of its own.
        Route("/web/{rest:path}", bar),
    ]
    middleware = [Middleware(TrustedHostMiddleware, allowed_hosts=list(ports.hosts), www_redirect=False)]
    return Starlette(routes=routes, middleware=middleware, exception_handlers=HANDLERS)


def _files(prefix: str) -> Iterator[tuple[str, bytes]]:
    for file in files("seekwarc.serve").joinpath("page").iterdir():
        if file.name.startswith(prefix):
            yield file.name, file.read_bytes()


def _origin(request: Request, port: int) -> str:
    """Return the origin of the same name at another port."""
    return f"{request.url.scheme}://{request.url.hostname}:{port}"


def _redirected(request: Request, origin: str) -> Response:
    """Return a redirect to the same path and query of another origin."""
    place = quote(asked_uri(request.scope, ""), safe=KEPT)
    return Response(status_code=302, headers={**dict(SAFE), "location": origin + place})


def _at_own_name(page: Callable[[Request], Response], ports: ReplayPorts) -> Callable[[Request], Response]:
    """Show a page only at names of the replay: at others, archived scripts would read cookies of others."""

    def endpoint(request: Request) -> Response:
        host = request.url.hostname
        if host in ports.hosts:
            return page(request)
        if host in LOCAL_HOSTS:
            return _redirected(request, f"http://{REPLAY_HOST}:{ports.bar}")
        raise HTTPException(404, f"archived pages are shown at {' and '.join(ports.hosts)}, not at {host}")

    return endpoint


def _page(content: bytes, policy: str, port: int) -> Callable[[Request], Response]:
    """Return the endpoint of a page that knows the other origin, which is this name's at another port."""

    def endpoint(request: Request) -> Response:
        origin = _origin(request, port)
        fields = {
            **dict(SAFE),
            "content-security-policy": policy.format(origin=origin),
            "cross-origin-opener-policy": "same-origin",
            "cache-control": "no-cache",
        }
        return Response(content.replace(b"$ORIGIN", origin.encode()), 200, fields, "text/html")

    return endpoint


def _imported(endpoint: Callable[[Request], Response]) -> Callable[[Request], Response]:
    """Refuse the script of the worker to those who would register it without what guards it."""

    def guarded(request: Request) -> Response:
        if "service-worker" in request.headers or request.headers.get("sec-fetch-dest", "script") != "script":
            raise HTTPException(403, "this is a part of /sw.js")
        return endpoint(request)

    return guarded


def _time_map(captures: Captures, ports: ReplayPorts) -> Callable[[Request], Response]:
    def endpoint(request: Request) -> Response:
        """List the captures of a URI (RFC 7089, section 5, in the format of RFC 6690).

        If all are of other URIs with the same key, the title of each says so.
        """
        uri = asked_uri(request.scope, "/timemap/link/")
        shown = quote(uri, safe=KEPT)
        base, frame = _origin(request, ports.bar), ports.frame_origin(request)
        links = [
            f'<{shown}>; rel="original"',
            f'<{base}/timemap/link/{shown}>; rel="self"; type="application/link-format"',
            f'<{frame}/raw/id_/{shown}>; rel="timegate"',
        ]
        listed = [(it.date, quote(as_utf8(it.uri or uri), safe=KEPT)) for it in captures.of(uri)[:MAX_LISTED]]
        meant = Meant(shown)
        notes = {found: meant.note(found) for _, found in listed}
        for date, found in listed:
            if date is not None:
                link = f"<{base}/web/{timestamp_of(date)}/{found}>"
                # A capture of the URI itself is shown, or redirects to what is.
                title = f'; title="{notes[found]}"' if all(notes.values()) else ""
                links.append(f'{link}; rel="memento"; datetime="{http_date(date)}"{title}')
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
