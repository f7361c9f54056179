"""The application that `seekwarc serve` runs: the page, the JSON interface, the payloads."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Mount, Route

from seekwarc.serve.allow import with_allowed
from seekwarc.serve.api import api_routes
from seekwarc.serve.error_handlers import HANDLERS
from seekwarc.serve.headers import SAFE
from seekwarc.serve.hosts import LOCAL_HOSTS, KnownHosts
from seekwarc.serve.library import Library
from seekwarc.serve.payload import QuickParts, capture_routes
from seekwarc.serve.replay import ReplayPorts, bar_routes
from seekwarc.serve.static import static
from seekwarc.serve.text_search import TextSearch
from seekwarc.serve.virtual_wacz import chain_route, wacz_route

__all__ = ["application"]

PAGE_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'"
)


def application(
    library: Library,
    *,
    hosts: Sequence[str] = LOCAL_HOSTS,
    replay: ReplayPorts | None = None,
    allow: Sequence[str] = (),
    wacz_origins: Sequence[str] = (),
    search: TextSearch | None = None,
) -> Starlette:
    """Make the ASGI application for a library, which the caller closes.

    A request for a name that is not in `hosts` is refused ("*" allows all): see `hosts.py`. With `replay`,
    this has the page whose frame shows archived pages; the application for the other port is
    `replay_application`. Pages of the origins in `allow` may read and embed payloads ("*" for all), and
    nothing else. With `wacz_origins`, each archive is also a WACZ, and /chain.json lists all of them, which
    pages of these origins may read ("*" for all). With `search`, their texts can be searched.
    """
    captures = capture_routes(library.capture, known=library.known_capture)
    routes = [
        *api_routes(library, replay.address if replay is not None else None, search),
        # Without origins, another application around each would change nothing.
        *((Route(it.path, with_allowed([it], allow)) for it in captures) if allow else captures),
    ]
    if replay is not None:
        routes += bar_routes(library, replay)
    if wacz_origins:
        routes.append(Mount("/wacz", with_allowed([wacz_route(library)], wacz_origins)))
        chain = chain_route(library, "wacz")
        routes.append(Route(chain.path, with_allowed([chain], wacz_origins)))
    fields = {**dict(SAFE), "content-security-policy": PAGE_POLICY}
    for file in sorted(files("seekwarc.serve").joinpath("page").iterdir(), key=lambda file: file.name):
        if not file.name.startswith("replay"):
            page = static(file.read_bytes(), file.name, fields)
            routes.append(Route(f"/{file.name}", page))
            if file.name == "index.html":
                routes.append(Route("/", page))
    middleware = [Middleware(KnownHosts, allowed_hosts=list(hosts))]
    if not allow:
        middleware.append(Middleware(QuickParts, routes=captures))
    return Starlette(routes=routes, middleware=middleware, exception_handlers=HANDLERS)
