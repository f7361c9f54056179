"""WACZ files in replayweb.page itself."""

from __future__ import annotations

import hashlib
import json
import tarfile
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Message, Receive, Scope, Send

import seekwarc
from seekwarc import tools
from seekwarc.serve.app import application
from seekwarc.serve.library import Library
from tests.browser.conftest import Pages
from tests.conftest import PLAYER
from tests.serve.conftest import running
from tests.support.chains import stamp
from tests.support.processes import settles
from tests.support.waczs import HOME, warc

pytestmark = [pytest.mark.slow, pytest.mark.needs("chromium", "module:playwright", "player")]

PAGE = """<!doctype html><script src="/ui.js"></script>
<replay-web-page source="{source}" url="{url}" replayBase="/replay/" embed="replayonly"></replay-web-page>"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the player, a .warc.zst and a WACZ that was made of it."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "replay").mkdir()
    with tarfile.open(PLAYER) as package:
        for name, target in (("ui.js", "ui.js"), ("sw.js", "replay/sw.js")):
            member = package.extractfile(f"package/{name}")
            assert member is not None
            (folder / target).write_bytes(member.read())
    (folder / "a.warc.zst").write_bytes(warc("a.warc.zst"))
    tools.create_wacz(folder / "a.warc.zst", folder / "a.wacz")
    return folder


def shown(pages: Pages, address: str) -> str:
    """Return what the archived page shows, once it does."""
    # In a window of its own, with which the service worker goes.
    with pages.browser.new_context() as context:
        page = context.new_page()
        # On a busy machine the player's worker may miss the first page that asks for it.
        for _ in range(2):
            page.goto(address)
            if settles(lambda: texts_in(page), lambda: page.wait_for_timeout(100)):
                return texts_in(page)[0]
    return ""


def texts_in(page) -> list[str]:
    bodies = [frame.locator("body").inner_text() for frame in page.frames if "mp_/" in frame.url]
    return list(filter(None, bodies))


class Site:
    """Serves the folder as a site that has a policy of its own: our server gives others its own."""

    def __init__(self, folder: Path) -> None:
        self._files = Starlette(routes=[Mount("/", StaticFiles(directory=folder))])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                fields = [*message["headers"], (b"content-security-policy", b"base-uri 'self'")]
                message = {**message, "headers": fields}
            await send(message)

        await self._files(scope, receive, sent)


def test_a_page_of_a_wacz_that_was_made_is_shown(site: Path, pages: Pages) -> None:
    (site / "made.html").write_text(PAGE.format(source="/a.wacz", url=HOME))
    with running(Site(site)) as server:
        assert "Hello. Hello." in shown(pages, f"http://127.0.0.1:{server.port}/made.html")


def test_a_page_of_an_archive_that_is_served_elsewhere_is_shown(site: Path, pages: Pages) -> None:
    with (
        Library([site / "a.warc.zst"]) as library,
        running(Site(site)) as server,
    ):
        origin = f"http://127.0.0.1:{server.port}"
        with running(application(library, wacz_origins=[origin])) as other:
            source = f"http://127.0.0.1:{other.port}/wacz/a.warc.zst.wacz"
            (site / "served.html").write_text(PAGE.format(source=source, url=HOME))
            assert "Hello. Hello." in shown(pages, f"{origin}/served.html")


@pytest.fixture(scope="module")
def chain(site: Path) -> Path:
    """The folder of a chain of two WACZ, of which the younger leaves its home page to the older."""
    (site / "apart").mkdir()
    home = b"<html><title>Home</title><p>" + b"As it was. " * 200
    for name, number in (("april", 1), ("may", 2)):
        with seekwarc.open(site / f"{name}.warc.gz", "w") as out:
            for uri in (HOME, HOME + name):
                html = {"Content-Type": "text/html"}
                page = home if uri == HOME else home + name.encode()
                out.write_response(uri, page, status=200, http_headers=html, date=stamp(number))
        tools.create_wacz(site / f"{name}.warc.gz", site / "apart" / f"{name}.wacz")
    assert tools.dedupe(site / "apart", site / "chain", between=True).revisits == 1
    return site / "chain"


# The capture of May is the revisit.
REVISIT = PAGE.replace("url=", 'ts="20260401070200" url=')


def test_the_player_finds_what_a_crawl_of_a_chain_leaves_to_an_older_one(
    site: Path, chain: Path, pages: Pages
) -> None:
    resources = [
        {
            "name": it,
            "path": f"chain/{it}",
            "hash": hashlib.sha256((chain / it).read_bytes()).hexdigest(),
        }
        for it in ("april.wacz", "may.wacz")
    ]
    (site / "chained.html").write_text(REVISIT.format(source="/chain.json", url=HOME))
    with running(Site(site)) as server:
        for listed, is_found in ((resources, True), (resources[1:], False)):
            (site / "chain.json").write_text(json.dumps({"resources": listed}))
            text = shown(pages, f"http://127.0.0.1:{server.port}/chained.html")
            assert ("As it was." in text) == is_found


def test_the_player_shows_a_revisit_of_a_chain_that_was_closed(site: Path, chain: Path, pages: Pages) -> None:
    tools.merge_wacz([chain / "may.wacz"], site / "closed.wacz", closure=True)
    (site / "closed.html").write_text(REVISIT.format(source="/closed.wacz", url=HOME))
    with running(Site(site)) as server:
        assert "As it was." in shown(pages, f"http://127.0.0.1:{server.port}/closed.html")


def test_the_player_opens_all_that_is_served_as_one(site: Path, chain: Path, pages: Pages) -> None:
    with Library([chain]) as library, running(Site(site)) as server:
        origin = f"http://127.0.0.1:{server.port}"
        with running(application(library, wacz_origins=[origin])) as other:
            source = f"http://127.0.0.1:{other.port}/chain.json"
            (site / "all.html").write_text(REVISIT.format(source=source, url=HOME))
            assert "As it was." in shown(pages, f"{origin}/all.html")
