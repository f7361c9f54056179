"""The same writer for programs that use asyncio."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import seekwarc


async def pieces(*found: bytes) -> AsyncIterator[bytes]:
    for piece in found:
        await asyncio.sleep(0)
        yield piece


def test_tasks_write_records_while_others_run(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"

    async def crawl() -> list[seekwarc.Written]:
        async with seekwarc.AsyncWriter(path) as out:
            await out.write_warcinfo({"software": "test"})
            return await asyncio.gather(
                *(
                    out.write_response(
                        f"http://example.org/{n}", out.stream(pieces(b"a" * n, b"b")), status=200
                    )
                    for n in range(20)
                )
            )

    places = asyncio.run(crawl())
    with seekwarc.open(path) as archive:
        for number, place in enumerate(places):
            assert archive.record_at(place.offset).payload.read() == b"a" * number + b"b"


def test_a_failing_stream_rolls_its_record_back(tmp_path: Path) -> None:
    async def failing() -> AsyncIterator[bytes]:
        yield b"x" * 100_000
        raise ConnectionError

    async def crawl() -> None:
        async with seekwarc.AsyncWriter(tmp_path / "a.warc.zst", frame_size=65536) as out:
            await out.write_resource("urn:x:1", b"one", "text/plain")
            with pytest.raises(ConnectionError):
                await out.write_resource("urn:x:2", out.stream(failing()), "text/plain")
            await out.write_resource("urn:x:3", b"three", "text/plain")

    asyncio.run(crawl())
    with seekwarc.open(tmp_path / "a.warc.zst") as archive:
        assert [record.target_uri for record in archive] == ["urn:x:1", "urn:x:3"]


def test_an_exception_keeps_what_was_written(tmp_path: Path) -> None:
    async def crawl() -> None:
        async with seekwarc.AsyncWriter(tmp_path / "a.warc.zst") as out:
            await out.write_resource("urn:x:1", b"one", "text/plain")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as raised:
        asyncio.run(crawl())
    assert "kept with 1 complete record" in raised.value.__notes__[0]
    with seekwarc.open(tmp_path / "a.warc.zst") as archive:
        assert len(list(archive)) == 1


def test_a_writer_that_is_not_open_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(seekwarc.SeekWarcError, match="async with"):
        asyncio.run(seekwarc.AsyncWriter(tmp_path / "a.warc.zst").flush())


class AsyncFile:
    """As streams of asyncio and aiohttp: read by size, iterated by line."""

    def __init__(self, data: bytes) -> None:
        self._file = io.BytesIO(data)
        self.reads = 0

    async def read(self, size: int) -> bytes:
        self.reads += 1
        return self._file.read(size)

    def __aiter__(self) -> AsyncIterator[bytes]:
        raise AssertionError("read line by line")


def test_an_asynchronous_iterator_is_a_block(tmp_path: Path) -> None:
    file = AsyncFile(b"line\n" * 1000)

    async def crawl() -> None:
        async with seekwarc.AsyncWriter(tmp_path / "a.warc.zst") as out:
            await out.write_response("http://example.org/1", pieces(b"on", b"e"), status=200)
            await out.write_resource("urn:x:2", block=pieces(b"tw", b"o"), content_type="text/plain")
            await out.write("resource", target_uri="urn:x:3", block=file)

    asyncio.run(crawl())
    assert file.reads == 2
    with seekwarc.open(tmp_path / "a.warc.zst") as archive:
        assert [record.payload.read() for record in archive] == [b"one", b"two", b"line\n" * 1000]


def test_a_writer_without_asyncio_refuses_it() -> None:
    with seekwarc.Writer(io.BytesIO()) as out:
        with pytest.raises(TypeError, match="asynchronous iterable"):
            out.write_resource("urn:x:1", pieces(b"one"), "text/plain")
        out.write_resource("urn:x:1", b"one", "text/plain")


def test_what_came_before_an_interruption_is_kept_if_wanted(tmp_path: Path) -> None:
    async def failing() -> AsyncIterator[bytes]:
        yield b"x" * 100_000
        raise ConnectionError

    async def crawl() -> None:
        async with seekwarc.AsyncWriter(tmp_path / "a.warc.zst", frame_size=65536) as out:
            for block in (failing(), out.stream(failing())):
                with pytest.raises(ConnectionError) as raised:
                    await out.write_resource("urn:x:1", block, "text/plain", on_interrupt="truncate")
                assert "WARC-Truncated: disconnect" in raised.value.__notes__[0]

    asyncio.run(crawl())
    with seekwarc.open(tmp_path / "a.warc.zst") as archive:
        found = [(record.truncated, record.payload.read()) for record in archive]
    assert found == [("disconnect", b"x" * 100_000)] * 2


def test_a_task_that_is_cancelled_keeps_what_came(tmp_path: Path) -> None:
    async def endless() -> AsyncIterator[bytes]:
        yield b"x" * 100_000
        raise asyncio.CancelledError

    async def crawl() -> None:
        async with seekwarc.AsyncWriter(tmp_path / "a.warc.zst") as out:
            with pytest.raises(asyncio.CancelledError):
                await out.write_resource("urn:x:1", endless(), "text/plain", on_interrupt="truncate")

    asyncio.run(crawl())
    with seekwarc.open(tmp_path / "a.warc.zst") as archive:
        assert [record.truncated for record in archive] == ["disconnect"]
