"""Two hundred clients at once, half of which disconnect midway: nothing stays open."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import operator
import os
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.serve.conftest import FILM
from tests.support.processes import settles

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


@contextlib.contextmanager
def traced() -> Iterator[None]:
    """Count what objects take; what a process takes also depends on how its heap happened to be cut up."""
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts what /proc tells")
def test_two_hundred_clients_leave_nothing_open(server, found) -> None:
    path = f"/api/records/{found(q='film.mp4')}/payload"

    def crowd_of_another_process() -> int:
        """Return the bytes that this process's objects take afterwards."""
        code = f"from tests.serve.test_many_clients import crowd; crowd({server.port}, {path!r})"
        subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])
        settle()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    def left() -> tuple[int, int, int]:
        return server.tasks, threading.active_count(), descriptors()

    before: tuple[int, int, int] | None = None

    def settle() -> None:
        settles(lambda: not before or not any(map(operator.gt, left(), before)))

    # What is made once and kept, as threads and caches are, is there after the second.
    for _ in range(2):
        crowd_of_another_process()
    before = left()
    with traced():
        memory = [crowd_of_another_process() for _ in range(3)]
    assert all(map(operator.le, left(), before))
    # What is kept for each client makes every round dearer.
    assert min(now - then for then, now in pairwise(memory)) < CLIENTS * 1000
