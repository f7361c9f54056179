"""Replay in a real browser: a site, a crawl by wget, a film, and the bar around them."""

from __future__ import annotations

import functools
import http.server
import json
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from seekwarc.serve.app import application
from seekwarc.serve.library import Library
from seekwarc.serve.replay import REPLAY_HOST, ReplayPorts, replay_application
from seekwarc.serve.replay_worker import read_worker
from tests.browser.conftest import FLAGS, Pages, until
from tests.conftest import WABAC
from tests.serve.conftest import running
from tests.support.example_site import FOLDER, ROWS, SITE, picture, write_site
from tests.support.films import assert_shows, made_film
from tests.support.processes import settles

pytestmark = [pytest.mark.slow, pytest.mark.needs("chromium", "ffmpeg", "module:playwright", "wabac")]

NO_HOSTS = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE *.localhost, EXCLUDE 127.0.0.1"
FIRST, SECOND = "20260101120000", "20260601120000"
RATE, SECONDS = 5, 120
MAX_SENT = 4 << 20
FONTS = sorted(Path("/usr/share/fonts").rglob("*.ttf"))


@dataclass
class Log:
    """An application, and what it was asked for and sent."""

    app: Any
    rows: list[dict[str, Any]] = field(default_factory=list)

    async def __call__(self, scope, receive, send) -> None:
        fields = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
        row = {"path": scope["path"], "fields": fields, "sent": 0}
        self.rows.append(row)

        async def counted(message) -> None:
            await send(message)
            row["sent"] += len(message.get("body", b""))

        await self.app(scope, receive, counted)


@dataclass
class Replay:
    """A replay that runs."""

    address: str
    log: Log
    library: Library

    def show(self, page, uri: str, digits: str = FIRST):
        """Open an address, and return the frame once it shows something."""
        page.goto(f"{self.address}web/{digits}/{uri}")
        return framed(page)


@contextmanager
def replayed(*paths: Path, is_read: bool = True) -> Iterator[Replay]:
    with Library(paths) as library:
        if is_read:
            library.start_reading()
        bar, frame = Log(None), Log(None)
        frame.rows = bar.rows
        with running(bar) as one, running(frame) as other:
            ports = ReplayPorts(one.port, other.port)
            bar.app = application(library, hosts=[REPLAY_HOST], replay=ports)
            frame.app = replay_application(library, read_worker(WABAC), ports)
            yield Replay(ports.address, bar, library)


def shown_in(page):
    """Return the frame of the archived page, which the page itself cannot look into; None if it has none."""
    frames = (it for it in page.frames if it.parent_frame == page.main_frame and "/web/" in it.url)
    return next(frames, None)


def wait_for(page, check: Callable[[], Any]):
    if not settles(check, lambda: page.wait_for_timeout(40)):
        pytest.fail(str([(it.url, it.content()[-1000:]) for it in page.frames]))
    return check()


def framed(page):
    """Return the frame of the archived page."""
    frame = wait_for(page, lambda: shown_in(page))
    frame.wait_for_load_state()
    return frame


def until_shown(page, heading: str):
    """Wait for a heading of the archived page; return the frame."""

    def is_shown() -> bool:
        frame = shown_in(page)
        # A frame that goes elsewhere meanwhile has no document.
        with suppress(Exception):
            return heading in frame.evaluate("document.querySelector('h1')?.textContent ?? ''")
        return False

    wait_for(page, is_shown)
    until(page, "document.getElementById('busy').hidden")
    return framed(page)


@pytest.fixture(scope="module")
def recorded(pages, tmp_path_factory) -> Iterator[Pages]:
    """Another browser, which finds no host but this one and writes down what it does."""
    written = tmp_path_factory.mktemp("log") / "net.json"
    flags = [*FLAGS, NO_HOSTS, f"--log-net-log={written}"]
    browser = pages.browser.browser_type.launch(executable_path=shutil.which("chromium"), args=flags)
    yield Pages(browser, keep=False)
    browser.close()
    log = json.loads(written.read_text())
    kinds = {number: name for name, number in log["constants"]["logEventTypes"].items()}
    events = [(kinds[event["type"]], event.get("params", {})) for event in log["events"]]
    # The browser itself asks its maker for this and that, in vain.
    hosts = {urlsplit(params["url"]).hostname or "" for _, params in events if "url" in params}
    assert "replay.localhost" in hosts
    assert not [host for host in hosts if host.endswith((".example.org", ".example.net"))]
    attempts = [params for name, params in events if name == "TCP_CONNECT_ATTEMPT"]
    connected = {params["address"] for params in attempts if "address" in params}
    assert connected
    assert all(re.match(r"(127\.0\.0\.1|\[::1\]):", address) for address in connected)


@pytest.fixture
def page(recorded) -> Iterator[Any]:
    yield recorded.take(viewport={"width": 1280, "height": 800}, color_scheme="light")
    recorded.give_back()


@pytest.fixture(scope="module")
def film(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("film") / "film.mp4"
    made_film(path, SECONDS, RATE)
    return path


@pytest.fixture(scope="module")
def site(film, tmp_path_factory) -> Iterator[Replay]:
    path = tmp_path_factory.mktemp("site") / "site.warc.zst"
    write_site(path, film=film.read_bytes(), font=FONTS[0].read_bytes() if FONTS else b"")
    with replayed(path) as made:
        yield made


def test_a_page_looks_and_works_as_it_did(site, page) -> None:
    frame = site.show(page, f"{SITE}/")
    frame.wait_for_function("document.getElementById('out').textContent !== ''")
    assert json.loads(frame.inner_text("#out")) == {
        "place": f"{SITE}/",
        "cookies": "sid=abc; lang=de; ours=1",
        "busted": "data of the archive",
        "rows": ROWS,
        "cats": "200 found cats",
        "dogs": "200 found dogs",
        "posted": "json posted",
        "range": f"206 bytes 1-3/{len(picture(200, 30, 30))} PNG",
        "font": bool(FONTS),
    }
    assert frame.evaluate("[...document.images].map((it) => it.naturalWidth)") == [160, 160, 160, 0]
    assert frame.evaluate("getComputedStyle(document.querySelector('h1')).color") == "rgb(170, 0, 0)"
    assert frame.evaluate("getComputedStyle(document.images[0]).borderColor") == "rgb(51, 51, 51)"
    assert frame.frame_locator("#inner").locator("body").inner_text().endswith(f"inside of {SITE}/")
    assert page.url == f"{site.address}web/{FIRST}/{SITE}/"
    assert page.title() == "Home 1"
    assert page.input_value("#url") == f"{SITE}/"
    until(page, f"document.getElementById('date').value === '{FIRST}'")
    assert page.inner_text("#date option:checked") == "2026-01-01 12:00:00"
    assert {row["fields"].get("cookie") for row in site.log.rows} == {None}


@pytest.mark.parametrize(
    ("link", "heading"),
    [
        ("relative", "Page two"),
        ("redirected", "About us"),
        ("archived 404", "The site's own 404"),
        ("503", "The site's own 503"),
        ("http", "http"),
    ],
)
def test_links_lead_to_archived_pages(site, page, link, heading) -> None:
    site.show(page, f"{SITE}/").click(f"a:text-is('{link}')")
    until_shown(page, heading)
    until(page, f"document.getElementById('date').value === '{FIRST}'")
    page.click("#back")
    until_shown(page, "Example site, version 1")
    until(page, f"location.pathname === '/web/{FIRST}/{SITE}/'")
    page.click("#forward")
    until_shown(page, heading)


@pytest.mark.parametrize("coding", ["br", "zstd"])
def test_content_codings_are_undone(site, page, coding) -> None:
    site.show(page, f"{SITE}/{coding}.html")
    until_shown(page, "coded")


def test_what_is_not_archived_gets_a_page_of_ours(site, page) -> None:
    site.show(page, f"{SITE}/").click("a:text-is('not archived')")
    until(page, "document.getElementById('message').textContent.includes('no capture of this address')")
    frame = framed(page)
    until(page, "document.getElementById('busy').hidden")
    assert "never-archived.html" in frame.inner_text("body")
    assert page.inner_text("#date") == "No capture"
    assert page.is_hidden("#timeline")
    assert page.url == f"{site.address}web/{FIRST}/{SITE}/never-archived.html"


def test_the_timeline_leads_to_other_dates(site, page) -> None:
    site.show(page, f"{SITE}/")
    until_shown(page, "version 1")
    until(page, "document.querySelectorAll('#dots i').length === 2")
    dot = page.locator("#dots i").last
    dot.hover()
    assert page.inner_text("#tip") == "2026-06-01 12:00:00, 2 of 2"
    dot.click()
    until_shown(page, "version 2")
    until(page, f"location.pathname === '/web/{SECOND}/{SITE}/'")
    assert page.input_value("#date") == SECOND
    page.focus("#timeline")
    page.keyboard.press("Home")
    assert page.get_attribute("#timeline", "aria-valuetext") == "2026-01-01 12:00:00, 1 of 2"
    page.keyboard.press("Enter")
    until_shown(page, "version 1")
    until(page, f"document.getElementById('date').value === '{FIRST}'")
    page.select_option("#date", SECOND)
    until_shown(page, "version 2")


def test_the_nearest_date_is_shown(site, page) -> None:
    for digits, version in (("2025", 1), ("20260530", 2), ("", 2)):
        site.show(page, f"{SITE}/", digits)
        until_shown(page, f"version {version}")
        until(page, f"document.title === 'Home {version}'")


def test_the_address_bar_leads_to_a_page(site, page) -> None:
    page.goto(f"{site.address}web/")
    until(page, "document.activeElement.id === 'url'")
    page.keyboard.type("no page")
    page.keyboard.press("Enter")
    assert page.get_attribute("#url", "aria-invalid") == "true"
    page.fill("#url", "www.example.org/about")
    page.keyboard.press("Enter")
    until_shown(page, "About us")
    until(page, "document.title === 'About'")
    assert page.get_attribute("#url", "aria-invalid") == "false"
    assert page.input_value("#url") == "http://www.example.org/about"
    page.click("#reload")
    until_shown(page, "About us")


def test_the_bar_says_that_another_address_is_shown(site, page) -> None:
    said = "document.getElementById('said').textContent === '{}'".format
    for address in (f"{SITE}/ABOUT", f"{SITE}//about"):
        site.show(page, address)
        until_shown(page, "About us")
        until(page, said(f"no capture of {address}; this is {SITE}/about, which has the same key"))
        assert page.is_visible("#message")
    for address in (f"{SITE}/about#top", f"{SITE}/%61bout"):
        site.show(page, address)
        until_shown(page, "About us")
        until(page, "document.getElementById('message').hidden")


def test_a_page_that_is_loaded_past_the_cache_is_replayed(site, page) -> None:
    site.show(page, f"{SITE}/about")
    until_shown(page, "About us")
    page.context.new_cdp_session(page).send("Page.reload", {"ignoreCache": True})
    page.wait_for_event("load")
    assert page.evaluate("navigator.serviceWorker.controller === null")
    until_shown(page, "About us")


def test_a_film_seeks_at_little_cost(site, film, page) -> None:
    frame = site.show(page, f"{SITE}/film.html")
    frame.wait_for_function("document.querySelector('video').readyState >= 1")
    assert film.stat().st_size > 3 * MAX_SENT
    begin = len(site.log.rows)
    assert_shows(frame, film, SECONDS * 0.9, RATE)
    assert sum(row["sent"] for row in site.log.rows[begin:]) < MAX_SENT
    assert_shows(frame, film, SECONDS * 0.1, RATE)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_window_has_room_for_all(site, recorded, scheme) -> None:
    page = recorded.take(viewport={"width": 390, "height": 700}, color_scheme=scheme)
    site.show(page, f"{SITE}/")
    until_shown(page, "version 1")
    until(page, "document.querySelectorAll('#dots i').length === 2")
    for name in ("#back", "#reload", "#url", "#date", "#timeline", "#about-open", "#replay_iframe"):
        box = page.locator(name).bounding_box()
        assert 0 <= box["x"] < box["x"] + box["width"] <= 390, name
    page.locator("#dots i").last.hover()
    box = page.locator("#tip").bounding_box()
    assert 0 <= box["x"] < box["x"] + box["width"] <= 390
    red = int(
        re.findall(r"\d+", page.evaluate("getComputedStyle(document.querySelector('.bar')).backgroundColor"))[
            0
        ]
    )
    assert (red < 60) == (scheme == "dark")
    recorded.give_back()


def test_a_browser_without_workers_is_told_why(site, page) -> None:
    page.add_init_script("delete Navigator.prototype.serviceWorker")
    page.goto(f"{site.address}web/{FIRST}/{SITE}/")
    until(page, "document.getElementById('message').textContent.includes('service workers switched off')")
    assert page.is_hidden("#busy")


def test_only_the_frame_says_what_it_shows(site, page) -> None:
    frame = site.show(page, f"{SITE}/about")
    until_shown(page, "About us")
    lie = "(uri) => {0}.postMessage({{wb_type: 'load', url: uri, ts: '2020', title: 'lie'}}, '*')"
    page.evaluate(lie.format("window"), "https://elsewhere.example/")
    frame.evaluate(
        lie.format("window.__WB_top_frame ?? parent"), "https://elsewhere.example/../../../../sw.js"
    )
    frame.evaluate(lie.format("window.__WB_top_frame ?? parent"), "javascript:alert(1)")
    page.wait_for_timeout(300)
    assert page.title() == "About"
    assert page.url == f"{site.address}web/{FIRST}/{SITE}/about"


def test_the_page_of_a_record_leads_to_its_replay(serve, page, tmp_path) -> None:
    write_site(tmp_path / "site.warc.zst")
    served = serve(tmp_path / "site.warc.zst", "--replay", str(WABAC))
    page.goto(served.link("page2&type=response", tab="page"))
    with page.context.expect_page() as opened:
        page.click(".tab-bar a:text-is('Replay')")
    until_shown(opened.value, "Page two")
    assert opened.value.evaluate("opener === null")
    assert page.is_visible(".paged a:text-is('Replay')")
    page.goto(served.link("app.js&type=response"))
    page.wait_for_selector("#record-title:has-text('app.js')")
    assert page.locator("a:text-is('Replay')").count() == 0


def test_a_page_is_shown_once_the_files_are_scanned(page, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("seekwarc.serve.payload.PATIENCE", 0.5)
    write_site(tmp_path / "site.warc.zst")
    with replayed(tmp_path / "site.warc.zst", is_read=False) as replay:
        page.goto(f"{replay.address}web/{FIRST}/{SITE}/")
        until_shown(page, "Not yet")
        assert page.inner_text("#message").startswith("The files are being scanned")
        assert page.is_visible("#scanned")
        replay.library.start_reading()
        until_shown(page, "version 1")
        until(page, "document.getElementById('message').hidden")


@pytest.mark.needs("wget")
def test_a_crawl_by_wget_is_replayed(film, page, tmp_path) -> None:
    folder = tmp_path / "site"
    folder.mkdir()
    shutil.copy(FOLDER / "film.html", folder)
    shutil.copy(film, folder)
    (folder / "red.png").write_bytes(picture(200, 30, 30))
    (folder / "index.html").write_text(
        "<link rel=stylesheet href=main.css><h1>Crawled</h1><img src=red.png><a href=film.html>film</a>"
    )
    (folder / "main.css").write_text("h1 { color: rgb(1, 2, 3); background: url(red.png) }")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        start = f"http://127.0.0.1:{server.server_port}/index.html"
        crawl = ["wget", "-q", "-r", "-l", "2", "--warc-file=crawl", start]
        subprocess.run(crawl, cwd=tmp_path, check=True)
        server.shutdown()
    with replayed(tmp_path / "crawl.warc.gz") as replay:
        frame = replay.show(page, start, "")
        until_shown(page, "Crawled")
        assert frame.evaluate("document.images[0].naturalWidth") == 160
        assert frame.evaluate("getComputedStyle(document.querySelector('h1')).color") == "rgb(1, 2, 3)"
        frame.click("a")
        frame = until_shown(page, "Film")
        frame.wait_for_function("document.querySelector('video').readyState >= 1")
        assert_shows(frame, film, SECONDS * 0.9, RATE)
