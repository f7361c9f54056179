"""Two hundred clients at once, half of which disconnect midway: nothing stays open."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest

from tests.serve.conftest import FILM

pytestmark = pytest.mark.slow

CLIENTS = 200
FIRST = 1_500_000


async def client(port: int, path: str, number: int) -> bytes | None:
    """Fetch all of the film, or only a part of it and then go away."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        start = FIRST + number * 1000
        writer.write(
            f"GET {path}?view=v{number} HTTP/1.1\r\nHost: 127.0.0.1\r\nRange: bytes={start}-\r\n"
            "Connection: close\r\n\r\n".encode()
        )
        head = await reader.readuntil(b"\r\n\r\n")
        assert b" 206 " in head
        if number % 2:
            await reader.readexactly(1000 + 500 * number)
            return None
        return await reader.read()
    finally:
        writer.close()
        if number % 4 == 1:
            writer.transport.abort()


def crowd(port: int, path: str) -> None:
    async def all_of_them() -> None:
        bodies = await asyncio.gather(*(client(port, path, number) for number in range(CLIENTS)))
        for number, body in enumerate(bodies):
            assert body is None or body == FILM[FIRST + number * 1000 :]

    asyncio.run(all_of_them())


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts what /proc tells")
def test_two_hundred_clients_leave_nothing_open(server, found) -> None:
    path = f"/api/records/{found(q='film.mp4')}/payload"

    def crowd_of_another_process() -> int:
        code = f"from tests.serve.test_many_clients import crowd; crowd({server.port}, {path!r})"
        subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])
        return resident()

    # What is made once and kept, as threads and caches are, is there after the first.
    memory = [crowd_of_another_process() for _ in range(3)]
    gc.collect()
    before = server.tasks, threading.active_count(), descriptors()
    more = [crowd_of_another_process() for _ in range(3)]

    def left() -> tuple[int, int, int]:
        return server.tasks, threading.active_count(), descriptors()

    until = time.monotonic() + 10
    while time.monotonic() < until and any(now > then for now, then in zip(left(), before, strict=True)):
        time.sleep(0.05)
    tasks, threads, files = left()
    assert tasks <= before[0]
    assert threads <= before[1]
    assert files <= before[2]
    # What is kept for each client makes every round dearer; the most that was ever held at once is chance.
    assert min(now - then for then, now in pairwise([memory[-1], *more])) < 10 << 20
