"""The archive for programs that use asyncio: the same answers, and an event loop that goes on."""

from __future__ import annotations

import asyncio
import base64
import copy
import hashlib
import pickle
import random
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.aio.reading import AsyncReader, AsyncRecord
from tests.support.foreign import Foreign, text
from tests.support.leaks import new_threads
from tests.support.pages import answer, crawl_of, html
from tests.support.processes import wait_until
from tests.support.sources import RecordingSource
from tests.support.writing import HTTP_HEAD, noise

BLOCK = noise(3_000_000)


def crawl() -> Foreign:
    made = Foreign().record(BLOCK, cuts=100_000, table=True)
    for number in range(300):
        made.record(text(number))
    return made.file_table()


def run(work: Callable[[AsyncReader], Awaitable[object]], target: object = None, **options: object) -> object:
    async def main() -> object:
        async with seekwarc.AsyncReader(target or crawl().bytes(), **options) as archive:
            return await work(archive)

    return asyncio.run(main())


class SlowSource(RecordingSource):
    """Takes a while for each read."""

    def read(self, start: int, stop: int) -> bytes:
        time.sleep(0.05)
        return super().read(start, stop)


def test_records_come_in_order_with_what_their_headers_say() -> None:
    async def work(archive: AsyncReader) -> list[tuple[int, int, str | None, bytes]]:
        return [(it.offset, await it.length(), it.type, await it.block.read()) async for it in archive]

    made = crawl()
    with seekwarc.open(made.bytes()) as archive:
        assert run(work) == [(it.offset, it.length, it.type, it.block.read()) for it in archive]


def test_a_range_costs_the_same_as_without_asyncio() -> None:
    made = crawl()

    async def work(archive: AsyncReader) -> None:
        record = await archive.record_at(0, made.records[0].length)
        assert await record.payload.pread(1_234_567, 1000) == BLOCK[1_234_567:1_235_567]
        plan = await record.payload.plan(5, 5000)
        assert plan.frames == 1
        assert archive.stats.bytes_decoded < 300_000

    run(work, RecordingSource(made.bytes()))


def test_text_is_that_of_the_reader(tmp_path: Path) -> None:
    async def work(archive: AsyncReader) -> list[str]:
        return [(await it.payload.text(max_text=8)).text async for it in archive]

    assert run(work, crawl_of(tmp_path / "a.warc.zst", [answer(html("The text and more"))])) == ["The text"]


def test_many_tasks_read_at_the_same_time() -> None:
    async def work(archive: AsyncReader) -> None:
        record = await archive.record_at(0)
        rng = random.Random(1)
        places = [rng.randrange(len(BLOCK)) for _ in range(64)]
        found = await asyncio.gather(*(record.block.pread(place, 5000) for place in places))
        assert found == [BLOCK[place : place + 5000] for place in places]

    run(work, concurrency=4)


def test_the_event_loop_runs_during_reads() -> None:
    ticks = 0

    class Patient(RecordingSource):
        def read(self, start: int, stop: int) -> bytes:
            before = ticks
            wait_until(lambda: ticks > before + 1)
            return super().read(start, stop)

    async def work(archive: AsyncReader) -> None:
        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.001)
                ticks += 1

        ticking = asyncio.create_task(tick())
        await (await archive.record_at(0)).block.read()
        ticking.cancel()

    run(work, Patient(crawl().bytes()))


def test_everything_but_header_fields_is_awaited(tmp_path: Path) -> None:
    with seekwarc.open(tmp_path / "a.warc.zst", "w") as out:
        out.write(
            "response",
            target_uri="http://example.org/",
            block=HTTP_HEAD + b"0123456789",
            content_type="application/http; msgtype=response",
        )

    async def work(archive: AsyncReader) -> None:
        record = [record async for record in archive][-1]
        assert record.target_uri == "http://example.org/"
        head = await record.http()
        assert head is not None
        assert head.status == 200
        assert await record.payload.size() == 10
        assert await record.payload.codings() == ()
        assert [piece async for piece in record.payload.chunks(step=4)] == [b"0123", b"4567", b"89"]
        assert [piece async for piece in record.payload.chunks(2, 7, step=3)] == [b"234", b"56"]
        assert "response" in repr(record)

    run(work, tmp_path / "a.warc.zst")


def test_damage_is_raised_after_the_intact_records() -> None:
    made = crawl()

    async def work(archive: AsyncReader) -> None:
        seen: list[AsyncRecord] = []
        with pytest.raises(seekwarc.FormatError):
            async for record in archive:
                seen.append(record)
        assert [record.offset for record in seen] == [put.offset for put in made.records]

    run(work, made.bytes() + b"no record")


def test_errors_are_those_of_the_reader(tmp_path: Path) -> None:
    async def beyond(archive: AsyncReader) -> None:
        await archive.record_at(-1)

    with pytest.raises(seekwarc.RangeError):
        run(beyond)
    with pytest.raises(seekwarc.SourceError, match=r"nothing\.warc\.zst"):
        run(beyond, tmp_path / "nothing.warc.zst")
    archive = seekwarc.AsyncReader(b"")
    with pytest.raises(seekwarc.SeekWarcError, match="not open"):
        _ = archive.stats


def test_a_closed_archive_reads_nothing_and_keeps_no_thread() -> None:
    async def main() -> None:
        async with seekwarc.AsyncReader(SlowSource(crawl().bytes())) as archive:
            record = await archive.record_at(0)
            reading = asyncio.create_task(record.block.read())
            await asyncio.sleep(0.02)
            reading.cancel()
        await archive.close()
        with pytest.raises(seekwarc.SeekWarcError, match="closed"):
            await record.block.read()

    before = set(threading.enumerate())
    asyncio.run(main())
    assert new_threads(before) == []


# Several files, and indexes.


@pytest.fixture
def crawled(tmp_path: Path) -> Path:
    """A page, a request, a revisit of the page, and their index."""
    body = b"<!doctype html>" + text(5000)
    uri = "http://example.org/"
    with seekwarc.open(tmp_path / "a.warc.zst", "w") as out:
        page = out.write_response(uri, HTTP_HEAD + body, date="2026-01-01T00:00:00Z")
        concurrent = [("WARC-Concurrent-To", f"<{page.id}>")]
        out.write("metadata", target_uri=uri + "about", block=b"a: b\r\n", headers=concurrent)
    with seekwarc.open(tmp_path / "b.warc.zst", "w") as out:
        digest = "sha1:" + base64.b32encode(hashlib.sha1(body).digest()).decode()
        out.write_revisit(
            uri, HTTP_HEAD, refers_to=page.id, payload_digest=digest, date="2026-02-01T00:00:00Z"
        )
    tools.index([tmp_path / "a.warc.zst", tmp_path / "b.warc.zst"], tmp_path / "all.cdxj")
    return tmp_path


def test_a_collection_does_not_block(crawled: Path) -> None:
    async def main() -> None:
        paths = [crawled / "a.warc.zst", crawled / "b.warc.zst"]
        async with seekwarc.AsyncCollection(paths) as files:
            records = [record async for record in files]
            with seekwarc.Collection(paths) as same:
                assert [record.id for record in records] == [record.id for record in same]
            [page] = [record for record in records if record.type == "response"]
            [revisit] = [record for record in records if record.type == "revisit"]
            assert page.id is not None
            opened = await files.open_record(revisit)
            assert await opened.payload.read() == await page.payload.read() != b""
            newest = await files.open_record(uri="http://example.org/")
            assert (newest.id, newest.source) == (revisit.id, str(paths[1]))
            [entry] = (await files.index()).by_id(page.id)
            assert (await files.record(entry)).headers == page.headers
            assert [other.type for other in await page.concurrent()] == ["metadata"]
            original = await revisit.refers_to()
            assert original is not None
            assert original.id == page.id
            assert [other.id for other in await page.referring_to()] == [revisit.id]
            assert all(check.verdict == "valid" for check in await page.check_digests())
            assert page.size == page.record.size

    asyncio.run(main())


def test_an_index_does_not_block(crawled: Path) -> None:
    async def main() -> None:
        async with seekwarc.AsyncIndex(crawled / "all.cdxj") as index:
            captures = [capture async for capture in index.lookup("http://example.org/")]
            assert [capture.timestamp[:6] for capture in captures] == ["202601", "202602"]
            assert captures[0].offset == captures[0].capture.offset
            first, second = [await (await capture.open()).payload.read() for capture in captures]
            assert first == second != b""
            assert (await captures[1].open(resolve=False)).type == "revisit"
            nearest = [it async for it in index.lookup("http://example.org/", closest="2026-02")]
            assert nearest[0] == captures[1]
            assert index.name == str(crawled / "all.cdxj")
            assert index.stats.requests > 0

    asyncio.run(main())


def test_an_archive_knows_its_name(crawled: Path) -> None:
    async def work(archive: AsyncReader) -> None:
        assert archive.name == str(crawled / "a.warc.zst")
        assert (await archive.record_at("0")).offset == 0

    run(work, crawled / "a.warc.zst")


def test_only_archives_that_are_not_open_can_be_copied(crawled: Path) -> None:
    async def main() -> None:
        async with seekwarc.AsyncReader(crawled / "a.warc.zst") as archive:
            record = await archive.record_at(0)
            for it in (archive, record, record.payload):
                with pytest.raises(TypeError, match="pass the path"):
                    pickle.dumps(it)
                with pytest.raises(TypeError, match="pass the path"):
                    copy.deepcopy(it)
            assert pickle.loads(pickle.dumps(record.record)).header == record.header
        again = pickle.loads(pickle.dumps(seekwarc.AsyncReader(crawled / "a.warc.zst")))
        async with again as archive:
            assert (await archive.record_at(0)).header == record.header

    asyncio.run(main())
