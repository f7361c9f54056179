"""The same writer for programs that use asyncio."""

from __future__ import annotations

import asyncio
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
