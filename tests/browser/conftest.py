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
from pathlib import Path
from typing import Any

import pytest

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
        with urllib.request.urlopen(self.address + path, timeout=20) as response:
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

    def run(*paths: Path) -> Served:
        command = [sys.executable, "-m", "seekwarc", "serve", "--port", "0", *map(str, paths)]
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


@pytest.fixture(scope="package")
def chromium() -> Iterator[Any]:
    """Debian's browser, driven by Playwright, whose event loop must not outlive this package's tests."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - not needed to skip

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium) -> Iterator[Any]:
    """A page in which no script may fail, and which may contact only the server."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800}, accept_downloads=True)
    made = context.new_page()
    made.set_default_timeout(20_000)
    made.problems = []
    made.asked = []
    made.on("pageerror", lambda error: made.problems.append(str(error)))
    made.on("console", lambda message: message.type == "error" and made.problems.append(message.text))
    made.on("request", lambda request: made.asked.append(request.url))
    yield made
    context.close()


def until(page: Any, expression: str, *, seconds: float = 20) -> None:
    """Wait until a JavaScript expression holds: the page's policy refuses Playwright's own way to wait."""
    end = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < end, f"never true: {expression}"
        page.wait_for_timeout(40)
