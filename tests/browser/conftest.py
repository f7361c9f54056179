"""A real browser, and `seekwarc serve` in a process of its own."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import PATIENT, settles

OF_PLAYWRIGHT = re.compile(r"Blocked script execution in '[^']*/page\?view=")
"""Said now and then of a sandboxed frame, even of a page without scripts: Playwright puts a script of its own
into each frame (microsoft/playwright#33343)."""
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--autoplay-policy=no-user-gesture-required",
]


@dataclass(frozen=True)
class Served:
    """A running server."""

    address: str

    def json(self, path: str) -> Any:
        with urllib.request.urlopen(self.address + path, timeout=PATIENT) as response:
            return json.load(response)

    def find(self, words: str) -> dict[str, Any]:
        """Return the row of the one record whose URI has these words."""
        (row,) = self.json(f"api/records?q={words}")["records"]
        return row

    def link(self, words: str, **state: object) -> str:
        """Return the address of a record on the page."""
        more = "".join(f"&{name}={value}" for name, value in state.items())
        return f"{self.address}#r={self.find(words)['id']}{more}"


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[..., Served]]:
    """Serve files, each call in a process of its own, until the tests end."""
    started = []

    def run(*arguments: Path | str) -> Served:
        command = [sys.executable, "-m", "seekwarc", "serve", "--port", "0", *map(str, arguments)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        started.append(process)
        address = re.search(r"http://\S+/", process.stdout.readline().decode())
        served = Served(address[0])
        while not served.json("api/summary")["complete"]:
            time.sleep(0.05)
        return served

    yield run
    for process in started:
        process.terminate()
        process.communicate()


class Pages:
    """Pages of a browser, one for each kind of window.

    A window of its own for each test would take a second, most of which the browser needs for a new profile
    and a new process. So a page is used again after what the last test left of it is cleared: its document,
    cookies, storage, permissions, routes, and where the mouse is. A page that opened others is not.
    """

    def __init__(self, browser: Any, *, keep: bool) -> None:
        self.browser = browser
        self._keep = keep
        self._kept: dict[str, Any] = {}
        self._taken: list[tuple[str, Any]] = []

    def take(self, **window: Any) -> Any:
        """Return a blank page, for this test alone, whose `problems` and `asked` tell what happens in it."""
        kind = json.dumps(window, sort_keys=True)
        page = self._kept.pop(kind, None) or self._open(window)
        page.problems, page.asked = [], []
        self._taken.append((kind, page))
        return page

    def give_back(self) -> list[str]:
        """Blank all pages that were taken; return what failed in them."""
        taken, self._taken = self._taken, []
        for kind, page in taken:
            if self._keep and page.context.pages == [page] and kind not in self._kept and _clear(page):
                self._kept[kind] = page
            else:
                page.context.close()
        return [problem for _, page in taken for problem in page.problems]

    def _open(self, window: dict[str, Any]) -> Any:
        context = self.browser.new_context(**window, accept_downloads=True)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on("console", partial(_note, page))
        page.on("request", lambda request: page.asked.append(request.url))
        # What is asked for first is fetched, as in a new profile.
        context.new_cdp_session(page).send("Network.setCacheDisabled", {"cacheDisabled": True})
        return page


def _note(page: Any, message: Any) -> None:
    if message.type == "error" and not OF_PLAYWRIGHT.match(message.text):
        page.problems.append(message.text)


def _clear(page: Any) -> bool:
    """Take away what a test left of a page; False where that cannot be done."""
    problems = list(page.problems)
    try:
        page.unroute_all()
        if page.url.startswith("http"):
            page.evaluate("(localStorage.clear(), sessionStorage.clear())")
        page.context.clear_cookies()
        page.context.clear_permissions()
        page.goto("about:blank")
        page.mouse.move(0, 0)
    except Exception:  # noqa: BLE001 - whatever is the matter with it, the next test gets another one
        return False
    finally:
        page.problems = problems
    return True


@pytest.fixture(scope="package")
def pages(request: pytest.FixtureRequest) -> Iterator[Pages]:
    """Debian's browser, driven by Playwright, whose event loop must not outlive this package's tests."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - not needed to skip

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        yield Pages(browser, keep=not request.config.getoption("--cold"))
        browser.close()


@pytest.fixture
def page(pages: Pages) -> Iterator[Any]:
    """A page of the usual size. Its `problems` are errors of scripts; `asked` is what it requested."""
    yield pages.take(viewport={"width": 1280, "height": 800})
    pages.give_back()


def until(page: Any, expression: str) -> None:
    """Wait until a JavaScript expression holds: the page's policy refuses Playwright's own way to wait."""
    if not settles(lambda: page.evaluate(expression), lambda: page.wait_for_timeout(40)):
        pytest.fail(f"never true: {expression}, on\n{page.inner_text('body')[-1500:]}")
