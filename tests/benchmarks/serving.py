"""Ranges over HTTP: `seekwarc serve`, beside nginx with the plain film and pywb with our adapter.

wrk asks for ranges at random on connections that are kept. It shares the cores with the server, and they may
share them with others. So the figure to compare is the processor time of the server for each request; what a
server answers in a second is below what one core of its own would allow.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import seekwarc
from seekwarc import tools
from tests.support.nginx import nginx_command

__all__ = ["Figure", "as_serving_table", "measure"]

KIB = 1 << 10
LENGTHS = (4 * KIB, 64 * KIB)
CONNECTIONS = 8
ROUNDS = 5
SECONDS = 4
URI = "http://example.org/film.mp4"
LUA = """
request = function()
  local start = math.random(0, {size} - {length})
  return wrk.format("GET", nil, {{["Range"] = string.format("bytes=%d-%d", start, start + {length} - 1)}})
end
"""


@dataclass(frozen=True, slots=True)
class Figure:
    """What ranges of one length took; the least of several rounds, and the most requests a second."""

    server: str
    length: int
    processor: float
    """Seconds of processor time of the server for each request."""
    rate: float
    """Requests a second."""


@dataclass(frozen=True, slots=True)
class Server:
    name: str
    process: int
    address: str


def measure(folder: Path, size: int, *, rounds: int = ROUNDS, seconds: int = SECONDS) -> list[Figure]:
    """Measure each server that is installed, in turn, with a film of `size` MiB that does not compress."""
    film = folder / f"film-{size}.mp4"
    if not film.exists():
        film.write_bytes(random.Random(1).randbytes(size << 20))
    archive = folder / f"film-{size}.warc.zst"
    if not archive.exists():
        with seekwarc.open(archive, "w") as out:
            out.write_resource(URI, film.read_bytes(), "video/mp4", date="2026-11-05T12:00:00Z")
    found: dict[tuple[str, int], list[tuple[float, float]]] = {}
    with ExitStack() as running:
        makers = [_ours(archive), _nginx(folder, film), _pywb(folder, archive)]
        servers = [server for maker in makers for server in running.enter_context(maker)]
        for _ in range(rounds):
            for server in servers:
                for length in LENGTHS:
                    script = folder / f"{length}.lua"
                    script.write_text(LUA.format(size=size << 20, length=length))
                    found.setdefault((server.name, length), []).append(_load(server, script, seconds))
    return [
        Figure(name, length, min(it[0] for it in measured), max(it[1] for it in measured))
        for (name, length), measured in found.items()
    ]


def _load(server: Server, script: Path, seconds: int) -> tuple[float, float]:
    before = _processor_time(server.process)
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "-s", str(script), server.address]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    count = int(re.search(r"(\d+) requests in", told)[1])
    if "Non-2xx" in told or not count:
        raise RuntimeError(f"{server.name}: {told}")
    taken = _processor_time(server.process) - before
    return taken / count, float(re.search(r"Requests/sec:\s+([\d.]+)", told)[1])


def _processor_time(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def _started(name: str, command: list[str], port: int, path: str, folder: Path) -> Iterator[list[Server]]:
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ
    )
    try:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        time.sleep(1)
        yield [Server(name, process.pid, f"http://127.0.0.1:{port}{path}")]
    finally:
        process.terminate()
        process.wait()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@contextmanager
def _ours(archive: Path) -> Iterator[list[Server]]:
    port = _free_port()
    command = [sys.executable, "-m", "seekwarc", "serve", str(archive), "--port", str(port)]
    path = "/payload?uri=http%3A%2F%2Fexample.org%2Ffilm.mp4"
    with _started("seekwarc serve", command, port, path, Path.cwd()) as servers:
        yield servers


@contextmanager
def _nginx(folder: Path, film: Path) -> Iterator[list[Server]]:
    if shutil.which("nginx") is None:
        yield []
        return
    port = _free_port()
    lines = "access_log off; sendfile on; keepalive_requests 1000000;"
    command = nginx_command(folder, port, lines, root=folder)
    with _started("nginx, the plain film", command, port, f"/{film.name}", folder) as servers:
        yield servers


@contextmanager
def _pywb(folder: Path, archive: Path) -> Iterator[list[Server]]:
    """pywb in a virtual environment of its own, for its brotli package and ours have the same name."""
    wayback = shutil.which("wayback")
    if wayback is None:
        yield []
        return
    home = folder / "pywb"
    (home / "collections/films/archive").mkdir(parents=True, exist_ok=True)
    (home / "collections/films/indexes").mkdir(exist_ok=True)
    stored = home / "collections/films/archive" / archive.name
    if not stored.exists():
        os.link(archive, stored)
        index = home / "collections/films/indexes/index.cdxj"
        tools.index({archive.name: stored}, index, existing="overwrite")
    port = _free_port()
    python = str(Path(wayback).with_name("python"))
    command = [python, "-m", "seekwarc.serve.pywb", "--bind", "127.0.0.1", "--port", str(port)]
    path = f"/films/20261105120000mp_/{URI}"
    with _started("pywb with the adapter", command, port, path, home) as servers:
        yield servers


def as_serving_table(figures: list[Figure]) -> str:
    """Return the measurements as a table in Markdown."""
    return "\n".join(_lines(figures)) + "\n"


def _lines(figures: list[Figure]) -> Iterator[str]:
    yield "| server | range | processor time a request | one core allows | answered |"
    yield "|---|---|---|---|---|"
    for one in figures:
        allowed = 1 / one.processor if one.processor else 0
        taken = f"{1e6 * one.processor:.0f} µs | {allowed:,.0f}/s | {one.rate:,.0f}/s"
        yield f"| {one.server} | {one.length // KIB} KiB | {taken} |"
