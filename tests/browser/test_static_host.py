"""A film in a .warc.zst on a plain web host, played by the reader in JavaScript, without a server of ours."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import seekwarc
from seekwarc.make.indexing import index
from tests.browser.conftest import until
from tests.conftest import ROOT
from tests.support.films import GRAB, assert_shows, made_film
from tests.support.processes import is_open, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.needs("chromium", "ffmpeg", "nginx", "module:playwright")]

SECONDS, RATE = 300, 5
PLACES = (280, 60, 170, 222, 115)
MAX_REQUESTS = 5
MAX_BYTES = 1_500_000
URI = "http://example.org/film.mp4"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n"
HOSTILE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<script>parent.document.title = 'ran'</script>"

CONFIGURATION = """\
daemon off;
master_process off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
  log_format counted '$uri $status $body_bytes_sent';
  access_log {folder}/access.log counted;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  types {{ text/html html; text/javascript js; }}
  server {{ listen 127.0.0.1:{port}; root {folder}/root; }}
}}
"""


@dataclass
class Host:
    """nginx with the reader, an archive and its index."""

    address: str
    folder: Path
    seen: int = 0

    def asked(self) -> list[tuple[int, int]]:
        """Return status and bytes of what was asked of the archive since the last call."""
        lines = re.findall(
            r"^/crawl\.warc\.zst (\d+) (\d+)$", (self.folder / "access.log").read_text(), re.MULTILINE
        )
        new, self.seen = lines[self.seen :], len(lines)
        return [(int(status), int(sent)) for status, sent in new]


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("film") / "film.mp4"
    made_film(path, SECONDS, RATE)
    return path


@pytest.fixture
def host(tmp_path: Path, film: Path) -> Iterator[Host]:
    root = tmp_path / "root"
    shutil.copytree(ROOT / "spec-notes" / "reader", root)
    archive = root / "crawl.warc.zst"
    with seekwarc.open(archive, "w") as out:
        out.write_response(URI, HEAD + film.read_bytes())
        out.write_response("http://example.org/bad.html", HOSTILE)
    index([archive], root / "crawl.cdxj")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    configuration = tmp_path / "nginx.conf"
    configuration.write_text(CONFIGURATION.format(folder=tmp_path, port=port))
    process = subprocess.Popen(["nginx", "-p", tmp_path, "-c", configuration], stderr=subprocess.DEVNULL)
    wait_until(lambda: is_open(port))
    yield Host(f"http://127.0.0.1:{port}/", tmp_path)
    process.terminate()
    process.communicate()


def test_a_place_of_a_film_costs_few_requests_and_bytes(page, host: Host, film: Path) -> None:
    page.goto(host.address)
    page.get_by_role("button", name=URI).click()
    until(page, "document.querySelector('video').readyState >= 2")
    assert page.evaluate("document.querySelector('video').duration") == pytest.approx(SECONDS, abs=0.5)
    opening = host.asked()
    assert len(opening) <= 2 * MAX_REQUESTS
    for seconds in PLACES:
        host.asked()  # What the player has read ahead since the last picture.
        page.evaluate(GRAB, seconds + 0.5 / RATE)
        asked = host.asked()
        assert_shows(page, film, seconds + 1, RATE)  # A browser shows no picture twice.
        assert {status for status, _ in asked} == {206}, "the host sends parts alone"
        assert 0 < len(asked) <= MAX_REQUESTS, (seconds, asked)
        assert sum(sent for _, sent in asked) <= MAX_BYTES, (seconds, asked)
    assert page.problems == []


def test_archived_pages_are_not_shown(page, host: Host) -> None:
    page.goto(host.address)
    until(page, "navigator.serviceWorker.controller !== null")
    lines = (host.folder / "root" / "crawl.cdxj").read_text().splitlines()
    (line,) = (it for it in lines if "bad.html" in it)
    offset = re.search(r'"offset": "(\d+)"', line)[1]
    address = f"film?file=crawl.warc.zst&offset={offset}"
    assert page.evaluate(f"fetch('{address}').then((it) => it.status)") == 415
    page.evaluate(
        f"document.body.append(Object.assign(document.createElement('iframe'), {{ src: '{address}' }}))"
    )
    until(page, "document.querySelector('iframe').contentWindow.length === 0")
    assert page.title() == "Films in an archive"
    away = "film?file=https://example.org/x.warc.zst&offset=0"
    assert page.evaluate(f"fetch('{away}').then((it) => it.text())").endswith("a file of another origin")
