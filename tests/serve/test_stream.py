"""The ASGI loop: lazy, bounded, and over when the client has gone."""

from __future__ import annotations

import threading
import time
from functools import partial

import anyio
import pytest
from starlette.datastructures import Headers

from seekwarc.errors import ChecksumError
from seekwarc.serve.ranges import joined
from seekwarc.serve.representation import FIRST_STEP, MAX_STEP, Representation
from seekwarc.serve.stream import Workers, send_answer, while_connected
from tests.serve.asgi import Answer, ask, scope_of

SIZE = 20 << 20
ETAG = '"tag"'
pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Bytes:
    """Nothing but zeros; remembers what was read, and by how many at once."""

    holes = ()

    def __init__(self, *, breaks_at: int | None = None, delay: float = 0) -> None:
        self.known_size = SIZE
        self.reads: list[tuple[int, int]] = []
        self.at_once = self.most_at_once = 0
        self._breaks_at = breaks_at
        self._delay = delay
        self._lock = threading.Lock()

    def look_ahead(self, position: int, seconds: float) -> bool:
        return True

    def pread(self, start: int, length: int) -> bytes:
        with self._lock:
            self.reads.append((start, length))
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        time.sleep(self._delay)
        with self._lock:
            self.at_once -= 1
        if self._breaks_at is not None and start + length > self._breaks_at:
            raise ChecksumError("frame 7 is damaged")
        return bytes(length)

    def app(self, workers: Workers, size: int = SIZE):
        self.known_size = size
        whole = Representation(
            extent=self, etag=ETAG, modified=1_700_000_000, headers=[("content-type", "video/mp4")]
        )

        async def app(scope, receive, send) -> None:
            asked = joined(Headers(scope=scope).items())

            async def work() -> None:
                begun = await workers.run(partial(whole.begin, asked, scope["method"]))
                await send_answer(begun, send, workers)

            await while_connected(receive, work)

        return app


async def get(source: Bytes, *, method: str = "GET", size: int = SIZE, limit: int = 2, **options) -> Answer:
    return await ask(source.app(Workers(limit), size), method, "/", **options)


async def test_a_body_comes_in_growing_steps() -> None:
    source = Bytes()
    answer = await get(source)
    assert answer.status == 200
    assert len(answer.body) == SIZE
    assert answer.ended
    lengths = [length for _, length in source.reads]
    assert lengths[0] == FIRST_STEP
    assert max(lengths) == MAX_STEP
    starts = [start for start, _ in source.reads]
    assert starts == [sum(lengths[:number]) for number in range(len(lengths))]


async def test_a_range_reads_only_that_range() -> None:
    source = Bytes()
    answer = await get(source, headers={"range": "bytes=1000-1999"})
    assert answer.status == 206
    assert source.reads == [(1000, 1000)]
    assert answer.headers == {
        "content-type": "video/mp4",
        "content-length": "1000",
        "content-range": f"bytes 1000-1999/{SIZE}",
        "etag": ETAG,
        "last-modified": "Tue, 14 Nov 2023 22:13:20 GMT",
    }


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"if-none-match": ETAG}, 304), ({"if-match": '"x"'}, 412), ({"range": "bytes=-0"}, 416)],
)
async def test_an_answer_without_a_body_reads_nothing(headers, status) -> None:
    source = Bytes()
    answer = await get(source, headers=headers)
    assert (answer.status, answer.body, source.reads) == (status, b"", [])
    assert answer.headers["etag"] == ETAG
    assert "content-type" not in answer.headers
    assert ("content-range" in answer.headers) == (status == 416)


async def test_head_has_all_fields_and_reads_nothing() -> None:
    source = Bytes()
    for headers in ({}, {"range": "bytes=5-9"}):
        got = await get(source, headers=headers)
        head = await get(source, method="HEAD", headers=headers)
        source.reads.clear()
        assert (head.status, head.fields, head.body) == (got.status, got.fields, b"")
        await get(source, method="HEAD", headers=headers)
        assert source.reads == []


async def test_an_empty_body() -> None:
    answer = await get(Bytes(), size=0)
    assert (answer.status, answer.headers["content-length"], answer.body) == (200, "0", b"")


async def test_reading_stops_when_the_client_disconnects() -> None:
    source = Bytes()
    answer = await get(source, hang_up_after=2)
    assert not answer.ended
    assert len(source.reads) <= 4, "two were taken, one may be under way"
    assert sum(length for _, length in source.reads) < SIZE / 4


async def test_a_client_that_does_not_read_costs_one_step() -> None:
    source = Bytes()
    stuck = anyio.Event()

    async def receive():
        await anyio.sleep_forever()

    async def send(message) -> None:
        if message["type"] == "http.response.body":
            stuck.set()
            await anyio.sleep_forever()

    async with anyio.create_task_group() as group:
        group.start_soon(source.app(Workers(2)), scope_of("GET", "/", {}, {}), receive, send)
        await stuck.wait()
        await anyio.sleep(0.05)
        assert len(source.reads) == 1
        group.cancel_scope.cancel()


async def test_the_limit_of_reads_at_once_holds() -> None:
    source = Bytes(delay=0.002)
    app = source.app(Workers(3), 4 << 20)
    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(ask, app, "GET", "/")
    assert source.most_at_once == 3


async def test_damage_before_the_answer_begins_is_an_error() -> None:
    with pytest.raises(ChecksumError):
        await get(Bytes(breaks_at=1000))


async def test_damage_later_breaks_the_answer_off(caplog) -> None:
    answer = await get(Bytes(breaks_at=2 << 20))
    assert answer.status == 200
    assert not answer.ended, "a body that is cut off must not look whole"
    assert len(answer.body) < SIZE
    assert "frame 7 is damaged" in caplog.text
