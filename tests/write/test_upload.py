"""Archives that are written to object stores."""

from __future__ import annotations

import _thread
import asyncio
import io
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.errors import SeekWarcError
from tests.support.processes import wait_until
from tests.support.uploads import NEEDED, PART, Bucket, uploads_to_a_bucket
from tests.support.writing import MIB, URI, Stream, noise, text

pytestmark = [pytest.mark.slow, pytest.mark.needs(*NEEDED)]

LARGE = noise(3 * MIB)
SERIES = {"max_file_size": 8 * MIB}


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    with uploads_to_a_bucket() as made:
        yield made


def crawl(target: Any, count: int = 5, **options: Any) -> None:
    """Write records, the large ones from streams of known and of unknown length, and whole."""
    with seekwarc.open(target, "w", **options) as out:
        for number in range(count):
            block: Any = [io.BytesIO(LARGE), Stream(LARGE, most=MIB), LARGE][number % 3]
            out.write_resource(f"{URI}{number}", block, "image/png")


def lengths_in(target: Any) -> list[int]:
    with seekwarc.open(target) as archive:
        return [record.content_length for record in archive if record.type == "resource"]


@pytest.mark.parametrize(
    ("name", "compression"), [("a.warc.zst", "zst"), ("a.warc.gz", "gz"), ("folder/a.warc", "none")]
)
def test_an_archive_in_a_store_is_sound(name: str, compression: str, bucket: Bucket) -> None:
    crawl(bucket.url(name))
    assert bucket.listed() == [name]
    assert bucket.unfinished() == []
    assert lengths_in(bucket.url(name)) == [3 * MIB] * 5
    found = tools.verify(bucket.url(name))
    assert (found.is_sound, found.digests) == (True, 5)
    with seekwarc.open(bucket.url(name)) as archive:
        assert (
            archive.compression
            == {"t": "zst", "z": "gz", "c": "none"}[name[-1] if name[-2:] != "st" else "t"]
        )


def test_large_records_in_a_store_are_read_by_range(bucket: Bucket) -> None:
    with seekwarc.open(bucket.url("a.warc.zst"), "w") as out:
        written = out.write_resource(URI, io.BytesIO(LARGE * 10), "video/mp4")
    with seekwarc.open(bucket.url("a.warc.zst")) as archive:
        payload = archive.record_at(written.offset, length=written.length).payload
        assert payload.pread(20 * MIB, 1000) == (LARGE * 10)[20 * MIB :][:1000]
        assert archive.stats.bytes_fetched < 8 * MIB


def test_an_existing_object_is_replaced_only_if_allowed(bucket: Bucket) -> None:
    url = bucket.url("a.warc.zst")
    crawl(url, 1)
    with pytest.raises(seekwarc.TargetExistsError, match=rf"{url}: exists already; .*overwrite"):
        crawl(url, 2)
    assert lengths_in(url) == [3 * MIB]
    crawl(url, 2, existing="overwrite")
    assert lengths_in(url) == [3 * MIB] * 2


def test_an_object_that_appears_meanwhile_is_not_replaced(bucket: Bucket) -> None:
    def write() -> None:
        with seekwarc.open(bucket.url("a.warc.zst"), "w") as out:
            out.write_resource(URI, LARGE * 4, "video/mp4")
            bucket.client.put_object(Bucket=bucket.name, Key="a.warc.zst", Body=b"of another")

    with pytest.raises(seekwarc.TargetExistsError):
        write()
    assert bucket.read("a.warc.zst") == b"of another"
    assert bucket.unfinished() == []


def test_a_series_is_several_objects(bucket: Bucket) -> None:
    url = bucket.url("crawls/a.warc.zst")
    crawl(url, **SERIES)
    names = [f"crawls/a-0000{number}.warc.zst" for number in range(3)]
    assert bucket.listed() == names
    assert [lengths_in(bucket.url(name)) for name in names] == [[3 * MIB] * 2, [3 * MIB] * 2, [3 * MIB]]
    with seekwarc.open(bucket.url(names[1])) as archive:
        assert next(iter(archive)).header.get("WARC-Filename") == "a-00001.warc.zst"
    with pytest.raises(seekwarc.TargetExistsError, match=r"a-00000\.warc\.zst: exists already \(and 2 more"):
        crawl(url, **SERIES)
    crawl(url, 1, existing="number", **SERIES)
    assert bucket.listed() == [*names, "crawls/a-00003.warc.zst"]
    crawl(url, 3, existing="overwrite", **SERIES)
    assert bucket.listed() == names[:2]


def test_a_record_that_is_too_large_becomes_segments_in_objects(bucket: Bucket) -> None:
    with seekwarc.open(bucket.url("a.warc.zst"), "w", **SERIES) as out:
        out.write_resource(URI, io.BytesIO(LARGE * 5), "video/mp4")
    with seekwarc.Collection([bucket.url(key) for key in bucket.listed()]) as archives:
        found = archives.open_record(uri=URI).payload.read()
    assert found == LARGE * 5


def test_an_object_cannot_be_continued(bucket: Bucket) -> None:
    for options in ({}, SERIES):
        with pytest.raises(seekwarc.TargetError, match=r"a\.warc\.zst: an object .* cannot be continued"):
            seekwarc.open(bucket.url("a.warc.zst"), "a", **options)
    assert bucket.asked == []


def stopped(target: str, **options: Any) -> pytest.ExceptionInfo[ZeroDivisionError]:
    def write() -> None:
        with seekwarc.open(target, "w", **options) as out:
            for number in range(4):
                out.write_resource(f"{URI}{number}", LARGE, "image/png")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        write()
    return caught


def test_an_exception_keeps_what_was_written(bucket: Bucket) -> None:
    caught = stopped(bucket.url("a.warc.zst"))
    assert lengths_in(bucket.url("a.warc.zst")) == [3 * MIB] * 4
    assert caught.value.__notes__ == [f"{bucket.url('a.warc.zst')}: kept with 4 complete records"]


@pytest.mark.parametrize("options", [{}, SERIES])
def test_discarding_leaves_no_object_and_no_parts(options: dict[str, Any], bucket: Bucket) -> None:
    stopped(bucket.url("a.warc.zst"), on_error="discard", **options)
    assert (bucket.listed(), bucket.unfinished()) == ([], [])


def test_a_failed_stream_costs_that_record_only(bucket: Bucket) -> None:
    with seekwarc.open(bucket.url("a.warc.zst"), "w") as out:
        out.write_resource(URI, LARGE, "image/png")
        for length in (None, 12 * MIB):
            with pytest.raises(ConnectionResetError):
                stream = Stream(noise(12 * MIB), fails_after=11 * MIB)
                out.write_resource(URI, stream, "image/png", length=length)
        out.write_resource(URI, LARGE, "image/png")
    assert lengths_in(bucket.url("a.warc.zst")) == [3 * MIB] * 2
    assert tools.verify(bucket.url("a.warc.zst")).is_sound


def test_a_server_that_fails_is_a_target_error(bucket: Bucket) -> None:
    bucket.broken = "PUT partNumber=2"
    with pytest.raises(seekwarc.TargetError, match="the server answered 500") as caught:
        crawl(bucket.url("a.warc.zst"), 20)
    assert "its upload was aborted; no object was made" in caught.value.__notes__[0]
    # The store aborts an upload beside the error.
    wait_until(lambda: bucket.unfinished() == [])
    assert bucket.listed() == []


def test_ctrl_c_while_parts_are_sent_keeps_what_was_written(bucket: Bucket) -> None:
    """A slow network is where most of the time of a crawl goes, so that is where it is interrupted."""
    done = []

    def write() -> None:
        with seekwarc.open(bucket.url("a.warc.zst"), "w", threads=1) as out:
            for number in range(100):
                out.write_resource(f"{URI}{number}", LARGE, "image/png")
                done.append(number)

    def interrupt() -> None:
        wait_until(lambda: done and any("partNumber" in it for it in bucket.asked))
        _thread.interrupt_main()
        bucket.open.set()

    bucket.open.clear()
    interrupting = threading.Thread(target=interrupt)
    interrupting.start()
    with pytest.raises(KeyboardInterrupt):
        write()
    interrupting.join()
    found = lengths_in(bucket.url("a.warc.zst"))
    assert 0 < len(done) < 100
    assert len(done) <= len(found) <= len(done) + 1
    assert tools.verify(bucket.url("a.warc.zst")).is_sound


def test_an_asynchronous_writer_uploads(bucket: Bucket) -> None:
    async def write() -> None:
        async with seekwarc.AsyncWriter(bucket.url("a.warc.zst")) as out:
            for number in range(3):
                await out.write_resource(f"{URI}{number}", LARGE, "image/png")

    asyncio.run(write())
    assert lengths_in(bucket.url("a.warc.zst")) == [3 * MIB] * 3


# The command.


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "a.warc.gz"
    with seekwarc.open(path, "w") as out:
        for number in range(3):
            out.write_resource(f"{URI}{number}", LARGE, "image/png")
            out.write_response(f"{URI}text/{number}", text(1000), status=200)
    return path


def test_convert_writes_an_object_that_holds_the_same(run_main: Any, archive: Path, bucket: Bucket) -> None:
    url = bucket.url("new.warc.zst")
    assert run_main("convert", archive, url) == 0
    assert lengths_in(url) == [3 * MIB] * 3
    assert tools.verify(url).is_sound
    assert run_main("convert", archive, url) == 2
    assert run_main("convert", url, url, "--force") == 2
    assert run_main("convert", archive, url, "--force") == 0
    assert bucket.listed() == ["new.warc.zst"]


def test_convert_of_a_damaged_file_leaves_nothing(run_main: Any, archive: Path, bucket: Bucket) -> None:
    data = archive.read_bytes()
    archive.write_bytes(data[: -PART // 2])
    assert run_main("convert", archive, bucket.url("new.warc.zst")) == 1
    assert (bucket.listed(), bucket.unfinished()) == ([], [])
    assert run_main("recover", archive, bucket.url("new.warc.zst")) == 1
    assert tools.verify(bucket.url("new.warc.zst")).is_sound


def test_pack_writes_objects(run_main: Any, tmp_path: Path, bucket: Bucket) -> None:
    for number in range(4):
        (tmp_path / f"{number}.png").write_bytes(noise(3 * MIB, seed=number))
    assert run_main("pack", tmp_path, "-o", bucket.url("one.warc.zst")) == 0
    assert run_main("pack", tmp_path, "-o", bucket.url("some.warc.zst"), "--max-file-size", "8M") == 0
    assert bucket.listed() == ["one.warc.zst", "some-00000.warc.zst", "some-00001.warc.zst"]
    for key in bucket.listed():
        assert tools.verify(bucket.url(key)).is_sound


@pytest.mark.needs("module:pyarrow")
@pytest.mark.parametrize("options", [[], ["--parquet"]])
@pytest.mark.parametrize("name", ["a.cdxj", "a.idx"])
def test_an_index_in_a_store_finds_records(
    name: str, options: list[str], run_main: Any, archive: Path, bucket: Bucket
) -> None:
    if options:
        name = "a.parquet"
    for force in ([], ["--force"]):
        assert run_main("index", archive, "-o", bucket.url(name), *options, *force) == 0
    assert bucket.listed() == (["a.cdx.gz", "a.idx"] if name == "a.idx" else [name])
    assert run_main("index", archive, "-o", bucket.url(name), *options) == 2
    with seekwarc.Index(bucket.url(name), files=archive.parent) as index:
        found = index.lookup(f"{URI}1")
        assert [entry.open().content_length for entry in found] == [3 * MIB]


def test_a_killed_conversion_leaves_no_object(
    archive: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an interrupted one, which says so."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tools.convert(archive, bucket.url("new.warc.zst"), on_record=interrupted)
    assert (bucket.listed(), bucket.unfinished()) == ([], [])


def test_a_writer_that_was_not_closed_leaves_nothing(bucket: Bucket) -> None:
    writer = seekwarc.open(bucket.url("a.warc.zst"), "w")
    writer.write_resource(URI, LARGE * 4, "video/mp4")
    writer.flush()
    writer.abort()
    with pytest.raises((ValueError, SeekWarcError)):
        writer.flush()
    assert (bucket.listed(), bucket.unfinished()) == ([], [])
