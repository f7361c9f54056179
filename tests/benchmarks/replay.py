"""Replay in Chromium: `seekwarc serve --replay`, beside pywb and replayweb.page with the same crawl.

Each opens a page whose script seeks in a film, and a home page of 30 requests: in a browser that was just
started, and again in the same. What a server sends is counted on its way to the browser. Times are those of a
clock on the wall, and a busy machine makes them longer; so the least of several rounds, in turns, is told.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import seekwarc
from seekwarc import tools
from tests.support.nginx import nginx_command

__all__ = ["Figure", "as_replay_table", "measure"]

SITE = "http://example.org"
DATE = "2026-11-05T12:00:00Z"
DIGITS = "20261105120000"
PARTS = 29
"""Pictures of the home page: with the page itself, 30 requests."""
ROUNDS = 3
PATIENCE = 600
"""Seconds that a page may take."""
SETTLING = 0.3
"""Seconds after a page is there in which more may be sent for it."""
RELAYED = 1 << 18
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
SHOWN = "document.documentElement.dataset.shown = performance.timeOrigin + performance.now()"
FILM_PAGE = f"""<!doctype html><title>Film</title>
<video src="/film.mp4" width="320" muted preload="metadata"></video>
<script>
const video = document.querySelector("video");
video.addEventListener("loadedmetadata", () => {{
  video.addEventListener("seeked", () => {{ {SHOWN}; }});
  video.currentTime = 0.9 * video.duration;
}});
</script>"""
HOME_PAGE = (
    "<!doctype html><title>Home</title>"
    + "".join(f"<img src='/{number}.bmp'>" for number in range(PARTS))
    + f"<script>addEventListener('load', () => {{ {SHOWN}; }});</script>"
)
PICTURE = bytes.fromhex("424d3a0000000000000036000000280000000100000001000000010018000000000004") + bytes(23)
EMBEDDING = (
    '<!doctype html><script src="/ui.js"></script>'
    '<replay-web-page embed="replayonly" noSandbox replayBase="/replay/" '
    f'source="/crawl.wacz" url="{SITE}/PAGE" ts="{DIGITS}" style="height: 600px"></replay-web-page>'
)


@dataclass(frozen=True, slots=True)
class Figure:
    """What opening one page took; the least of several rounds."""

    player: str
    page: str
    cold: float
    """Seconds in a browser that was just started."""
    warm: float
    """Seconds when it is opened again."""
    sent: int
    """Bytes for the first time."""
    sent_again: int


@dataclass
class Relay:
    """A SOCKS5 proxy (RFC 1928) to this computer alone, which counts what comes back."""

    sent: int = 0
    _listener: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))

    @property
    def flags(self) -> list[str]:
        """What makes Chromium use it, for addresses of this computer too."""
        port = self._listener.getsockname()[1]
        return [f"--proxy-server=socks5://127.0.0.1:{port}", "--proxy-bypass-list=<-loopback>"]

    def run(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        with client, suppress(OSError, ValueError, IndexError):
            client.recv(257)
            client.sendall(b"\5\0")
            asked = client.recv(262)
            host = str(ip_address(asked[4:-2])) if asked[3] == 1 else asked[5:-2].decode()
            if host != "127.0.0.1" and not host.endswith("localhost"):
                return
            with socket.create_connection(("127.0.0.1", int.from_bytes(asked[-2:]))) as server:
                client.sendall(b"\5\0\0\1" + bytes(6))
                upwards = threading.Thread(target=self._pass, args=(client, server), daemon=True)
                upwards.start()
                self._pass(server, client, is_counted=True)
                upwards.join()

    def _pass(self, source: socket.socket, target: socket.socket, *, is_counted: bool = False) -> None:
        with suppress(OSError):
            while data := source.recv(RELAYED):
                target.sendall(data)
                self.sent += len(data) * is_counted
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@dataclass(frozen=True, slots=True)
class Player:
    """A player that runs."""

    name: str
    address: str
    """The address that shows a page of the crawl, whose name is to be appended."""


def measure(
    folder: Path, size: int, worker: Path, web_page: Path | None, *, rounds: int = ROUNDS
) -> list[Figure]:
    """Measure each player that is installed, in turns, with a film of `size` MiB.

    Args:
        folder: Where data are made and kept.
        size: Of the film.
        worker: The package of wabac.js.
        web_page: The unpacked package of replayweb.page, or None.
        rounds: How often.
    """
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    _make_crawl(folder, size)
    found: dict[tuple[str, str], list[tuple[float, float, int, int]]] = {}
    with ExitStack() as running:
        makers = [_ours(folder, size, worker), _pywb(folder, size), _web_page(folder, size, web_page)]
        players = [player for maker in makers for player in running.enter_context(maker)]
        playwright = running.enter_context(sync_playwright())
        relay = running.enter_context(closing(Relay()))
        threading.Thread(target=relay.run, daemon=True).start()
        for _ in range(rounds):
            for page in ("film.html", "home.html"):
                for player in players:
                    taken = _open_twice(playwright, relay, player.address + page)
                    print(player.name, page, *taken, file=sys.stderr, flush=True)
                    found.setdefault((player.name, page), []).append(taken)
    return [
        Figure(name, page, *(min(column) for column in zip(*taken, strict=True)))
        for (name, page), taken in found.items()
    ]


def _open_twice(playwright: Any, relay: Relay, address: str) -> tuple[float, float, int, int]:
    browser = playwright.chromium.launch(
        executable_path=shutil.which("chromium"), args=[*FLAGS, *relay.flags]
    )
    try:
        page = browser.new_context().new_page()
        cold, sent = _opened(page, relay, address)
        page.goto("about:blank")
        warm, sent_again = _opened(page, relay, address)
        return cold, warm, sent, sent_again
    finally:
        browser.close()


def _opened(page: Any, relay: Relay, address: str) -> tuple[float, int]:
    before, begin = relay.sent, time.time()
    page.goto(address, wait_until="commit")
    while time.time() < begin + PATIENCE:
        page.wait_for_timeout(20)
        for frame in page.frames:
            # A frame may go while it is asked.
            with suppress(Exception):
                if shown := frame.evaluate("document.documentElement.dataset.shown"):
                    time.sleep(SETTLING)
                    return float(shown) / 1000 - begin, relay.sent - before
    raise RuntimeError(f"{address} shows nothing")


def _make_crawl(folder: Path, size: int) -> None:
    """Make a film of `size` MiB, and its crawl as .warc.zst."""
    film, archive = folder / f"replay-{size}.mp4", folder / f"replay-{size}.warc.zst"
    if not film.exists():
        clip = folder / "clip.mp4"
        picture = "testsrc2=size=320x180:rate=10,noise=alls=24:allf=t"
        codec = ["-c:v", "libx264", "-preset", "ultrafast", "-qp", "24", "-g", "20", "-pix_fmt", "yuv420p"]
        quiet = ["ffmpeg", "-v", "error", "-y"]
        subprocess.run([*quiet, "-f", "lavfi", "-i", picture, "-t", "120", *codec, clip], check=True)
        often = str((size << 20) // clip.stat().st_size)
        again = ["-stream_loop", often, "-i", clip, "-c", "copy", "-movflags", "+faststart", film]
        subprocess.run([*quiet, *again], check=True)
    if not archive.exists():
        with seekwarc.open(archive, "w") as out:
            pages = {"film.html": (FILM_PAGE, "text/html"), "home.html": (HOME_PAGE, "text/html")}
            pages |= {f"{number}.bmp": (PICTURE, "image/bmp") for number in range(PARTS)}
            for name, (body, kind) in pages.items():
                data = body.encode() if isinstance(body, str) else body
                fields = {"Content-Type": kind, "Content-Length": str(len(data))}
                out.write_response(f"{SITE}/{name}", data, status=200, http_headers=fields, date=DATE)
            fields = {"Content-Type": "video/mp4", "Content-Length": str(film.stat().st_size)}
            with film.open("rb") as body:
                uri = f"{SITE}/film.mp4"
                length = film.stat().st_size
                out.write_response(uri, body, status=200, http_headers=fields, date=DATE, length=length)


def _gzipped(folder: Path, size: int) -> Path:
    """Return the same crawl as .warc.gz."""
    path = folder / f"replay-{size}.warc.gz"
    if not path.exists():
        tools.convert(path.with_suffix(".zst"), path)
    return path


@contextmanager
def _started(name: str, command: list[str], port: int, folder: Path, address: str) -> Iterator[list[Player]]:
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with suppress(OSError):
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            time.sleep(0.1)
        time.sleep(2)
        yield [Player(name, address)]
    finally:
        process.terminate()
        process.wait()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@contextmanager
def _ours(folder: Path, size: int, worker: Path) -> Iterator[list[Player]]:
    port = _free_port()
    command = [sys.executable, "-m", "seekwarc", "serve", f"replay-{size}.warc.zst", "--port", str(port)]
    address = f"http://replay.localhost:{port}/web/{DIGITS}/{SITE}/"
    command += ["--replay", str(worker.resolve())]
    with _started("seekwarc serve --replay", command, port, folder, address) as players:
        yield players


@contextmanager
def _pywb(folder: Path, size: int) -> Iterator[list[Player]]:
    """pywb alone, with the .warc.gz that it reads itself."""
    wayback = shutil.which("wayback")
    if wayback is None:
        yield []
        return
    home = folder / f"pywb-{size}"
    archive = home / "collections/crawl/archive"
    archive.mkdir(parents=True, exist_ok=True)
    indexes = home / "collections/crawl/indexes"
    indexes.mkdir(exist_ok=True)
    stored = archive / f"replay-{size}.warc.gz"
    if not stored.exists():
        os.link(_gzipped(folder, size), stored)
        tools.index({stored.name: stored}, indexes / "index.cdxj", existing="overwrite")
    port = _free_port()
    command = [wayback, "--bind", "127.0.0.1", "--port", str(port)]
    address = f"http://localhost:{port}/crawl/{DIGITS}/{SITE}/"
    with _started("pywb, .warc.gz", command, port, home, address) as players:
        yield players


@contextmanager
def _web_page(folder: Path, size: int, package: Path | None) -> Iterator[list[Player]]:
    if package is None or shutil.which("nginx") is None:
        yield []
        return
    home = folder / f"web-page-{size}"
    (home / "replay").mkdir(parents=True, exist_ok=True)
    for name in ("sw.js", "ui.js"):
        shutil.copy(package / name, home)
    (home / "replay/sw.js").write_text('importScripts("/sw.js");')
    for name in ("film.html", "home.html"):
        (home / name).write_text(EMBEDDING.replace("PAGE", name))
    packed = home / "crawl.wacz"
    if not packed.exists():
        tools.create_wacz(_gzipped(folder, size), packed)
    port = _free_port()
    lines = "access_log off; types { text/html html; text/javascript js; }"
    command = nginx_command(home, port, lines, root=home)
    address = f"http://localhost:{port}/"
    with _started("replayweb.page, WACZ", command, port, home, address) as players:
        yield players


def as_replay_table(figures: list[Figure]) -> str:
    """Return the measurements as a table in Markdown."""
    rows = [
        "| page | player | cold browser | again | sent | sent again |",
        "|---|---|---|---|---|---|",
    ]
    for one in sorted(figures, key=lambda it: it.page):
        times = f"{one.cold:.2f} s | {one.warm:.2f} s"
        rows.append(f"| {one.page} | {one.player} | {times} | {one.sent:,} | {one.sent_again:,} |")
    return "\n".join(rows) + "\n"
