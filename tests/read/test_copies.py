"""Copies and pickles of open archives: each has a file of its own, or there is none."""

from __future__ import annotations

import contextlib
import copy
import gc
import inspect
import io
import multiprocessing
import os
import pickle
import threading
from array import array
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import seekwarc
from seekwarc.make.indexing import index
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.storage import local
from seekwarc.storage.diskcache import DiskCache
from seekwarc.storage.local import LocalFileSource
from tests.support.foreign import Foreign
from tests.support.processes import PATIENT
from tests.support.rangeserver import Content, RangeServer
from tests.support.sources import Pipe
from tests.support.writing import MIB, text

pytestmark = pytest.mark.slow

URIS = [f"http://example.org/{name}" for name in ("small", "large", "last")]
BLOCKS = [b"a small one", text(MIB + MIB // 4), b"the last one"]
FORMS = ["site.warc.zst", "site.warc.gz", "site.warc"]
WAYS: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda it: pickle.loads(pickle.dumps(it)),
    "deepcopy": copy.deepcopy,
}


def write(folder: Path) -> Path:
    path = folder / FORMS[0]
    with seekwarc.open(path, "w", level=1) as writer:
        for uri, block in zip(URIS, BLOCKS, strict=True):
            writer.write("resource", target_uri=uri, block=block)
    return path


@pytest.fixture(params=FORMS)
def path(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    if request.param == FORMS[0]:
        return write(tmp_path)
    made = Foreign()
    for block in BLOCKS:
        made.record(block)
    target = tmp_path / request.param
    target.write_bytes((made.gzip() if request.param.endswith("gz") else made.plain()).bytes())
    return target


def descriptors(path: Path) -> int:
    """Count the descriptors of this process that are open on a file."""
    gc.collect()
    found = 0
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            found += os.readlink(f"/proc/self/fd/{number}") == str(path)
    return found


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_copied_record_reads_after_the_original_closed(path: Path, way: Callable[[Any], Any]) -> None:
    with seekwarc.open(path) as archive:
        records = list(archive)
        copies = [way(record) for record in records]
    assert [record.block.read() for record in copies] == BLOCKS
    assert [(it.offset, it.length, it.source) for it in copies] == [
        (it.offset, it.length, it.source) for it in records
    ]


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_closing_a_copy_leaves_the_original_open(path: Path, way: Callable[[Any], Any]) -> None:
    with seekwarc.open(path) as archive:
        with way(archive) as copied:
            assert [record.block.read() for record in copied] == BLOCKS
        del copied
        assert [record.block.read() for record in archive] == BLOCKS


def test_a_dropped_copy_never_closes_another_file(tmp_path: Path) -> None:
    """Its descriptor was that of the original, and the next file opened got the number."""
    path = write(tmp_path)
    with seekwarc.open(path, cache_size=0) as archive:
        record = archive.record_at(0)
        copy.deepcopy(record)
        copy.deepcopy(archive)
        copy.copy(archive)
        other = (tmp_path / "other").open("w+b")
        with other:
            other.write(bytes(path.stat().st_size))
            other.flush()
            assert record.block.read() == BLOCKS[0]


def test_a_copy_that_is_never_read_opens_nothing(tmp_path: Path) -> None:
    path = write(tmp_path)
    with seekwarc.open(path) as archive:
        copies = [copy.deepcopy(archive) for _ in range(20)]
        assert descriptors(path) == 1
        assert len(list(copies[0])) == 3
        assert descriptors(path) == 2
        copies.clear()
        assert descriptors(path) == 1


def test_a_shallow_copy_of_a_reader_is_independent_too(path: Path) -> None:
    archive = seekwarc.open(path)
    copied = copy.copy(archive)
    archive.close()
    assert [record.block.read() for record in copied] == BLOCKS
    copied.close()


def test_a_shallow_copy_of_a_record_is_of_the_same_reader(path: Path) -> None:
    with seekwarc.open(path) as archive:
        copied = copy.copy(archive.record_at(0))
        assert copied.block.read() == BLOCKS[0]
        assert copied.body.file is archive.record_at(0).body.file


def test_records_pickled_together_share_one_reader(tmp_path: Path) -> None:
    path = write(tmp_path)
    with seekwarc.open(path) as archive:
        data = pickle.dumps(list(archive))
    records = pickle.loads(data)
    assert [record.block.read() for record in records] == BLOCKS
    assert descriptors(path) == 1


def test_the_pickle_of_a_large_record_is_short(tmp_path: Path) -> None:
    with seekwarc.open(write(tmp_path)) as archive:
        for record in archive:
            record.block.read()
            assert len(pickle.dumps(record)) < 2000


def test_counters_of_a_copy_start_at_zero(tmp_path: Path) -> None:
    with seekwarc.open(write(tmp_path)) as archive:
        list(archive)
        copied = copy.copy(archive)
        assert copied.stats.requests == 0
        list(copied)
        assert copied.stats.requests > 0
        copied.close()


def test_every_option_of_a_file_survives_copying(tmp_path: Path) -> None:
    others = set(inspect.signature(ArchiveFile.__init__).parameters) - {"self", "source", "options"}
    with seekwarc.open(write(tmp_path), threads=3, cache_size=77, max_window_size=1 << 20) as archive:
        file = archive.record_at(0).body.file
        assert set(file.__getstate__()[2]) == others
        copied = copy.deepcopy(file)
        assert (copied.frames.threads, copied.frames.cache.capacity) == (3, 77)


def test_records_are_pickled_though_the_function_for_damage_cannot_be(tmp_path: Path) -> None:
    with seekwarc.open(write(tmp_path), on_error=lambda _: None) as archive:
        record = archive.record_at(0)
        assert pickle.loads(pickle.dumps(record)).header == record.header


# What was replaced.


@pytest.mark.parametrize("content", [b"x" * 1000, None], ids=["other-size", "same-size"])
def test_a_copy_of_a_replaced_file_refuses_to_read(tmp_path: Path, content: bytes | None) -> None:
    path = write(tmp_path)
    with seekwarc.open(path) as archive:
        data = pickle.dumps(archive.record_at(0))
        stored = path.read_bytes()
        path.unlink()
        path.write_bytes(content if content is not None else stored[::-1])
        os.utime(path, (1, 1))
        copied = pickle.loads(data)
        with pytest.raises(seekwarc.SourceChangedError, match="changed or replaced since") as caught:
            copied.block.read()
        assert str(path) in str(caught.value)
        assert archive.record_at(0).block.read() == BLOCKS[0], "the original still has its file"


def test_a_copy_of_a_removed_file_names_it(tmp_path: Path) -> None:
    path = write(tmp_path)
    with seekwarc.open(path) as archive:
        copied = copy.copy(archive)
    path.unlink()
    with pytest.raises(seekwarc.SourceError, match=r"site\.warc\.zst: cannot be opened"):
        list(copied)


def test_a_copy_is_found_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path)
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    with seekwarc.open(FORMS[0]) as archive:
        copied = copy.copy(archive)
    monkeypatch.chdir(tmp_path / "sub")
    assert copied.name == FORMS[0]
    assert len(list(copied)) == 3


# What cannot be opened again.


@pytest.mark.parametrize("way", [*WAYS.values(), copy.copy])
@pytest.mark.parametrize("kind", [io.BytesIO, Pipe])
def test_a_file_object_cannot_be_copied(
    tmp_path: Path, kind: Callable[[bytes], Any], way: Callable[[Any], Any]
) -> None:
    with seekwarc.open(kind(write(tmp_path).read_bytes())) as archive:
        with pytest.raises(TypeError, match="pass the path"):
            way(archive)
        record = next(iter(archive))
        if way is not copy.copy:
            with pytest.raises(TypeError, match="pass the path"):
                way(record)
        assert record.block.read() == BLOCKS[0]


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_bytes_go_along(tmp_path: Path, way: Callable[[Any], Any]) -> None:
    with seekwarc.open(write(tmp_path).read_bytes()) as archive:
        assert way(archive.record_at(0)).block.read() == BLOCKS[0]


@pytest.mark.parametrize("way", [*WAYS.values(), copy.copy])
def test_a_payload_says_to_pickle_its_record(tmp_path: Path, way: Callable[[Any], Any]) -> None:
    with seekwarc.open(write(tmp_path)) as archive:
        with pytest.raises(TypeError, match="pickle the record"):
            way(archive.record_at(0).payload)
        assert archive.record_at(0).payload.read() == BLOCKS[0]


# Collections, indexes, other places.


@pytest.mark.parametrize("way", [*WAYS.values(), copy.copy])
def test_a_copied_collection_reads_by_itself(path: Path, way: Callable[[Any], Any]) -> None:
    with seekwarc.Collection([path]) as files:
        wanted = next(iter(files)).id
        assert wanted is not None
        files.open_record(wanted)
        copied = way(files)
    with copied:
        assert copied.open_record(wanted).block.read() == BLOCKS[0]
        assert len(list(copied)) == 3


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_record_of_a_collection_keeps_its_relations(path: Path, way: Callable[[Any], Any]) -> None:
    with seekwarc.Collection([path]) as files:
        copied = way(next(iter(files)))
    assert copied.block.read() == BLOCKS[0]
    assert copied.concurrent == ()


@pytest.mark.parametrize("way", [*WAYS.values(), copy.copy])
def test_a_copied_index_opens_captures(tmp_path: Path, way: Callable[[Any], Any]) -> None:
    path = write(tmp_path)
    with (tmp_path / "site.cdxj").open("wb") as lines:
        index({path.name: path}, lines, on_problem=lambda _: None)
    with seekwarc.Index(tmp_path / "site.cdxj") as found:
        capture = next(found.lookup(URIS[0]))
        copied = way(found)
        again = pickle.loads(pickle.dumps(capture))
    with copied:
        assert next(copied.lookup(URIS[1])).open().block.read() == BLOCKS[1]
    assert again == capture
    assert again.open().block.read() == BLOCKS[0]


@pytest.mark.needs("module:obstore")
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_copy_of_a_url_is_of_the_version_read(tmp_path: Path, way: Callable[[Any], Any]) -> None:
    stored = write(tmp_path).read_bytes()
    with RangeServer(stored) as server:
        with seekwarc.open(server.url) as archive:
            copied, late = (way(archive.record_at(0)) for _ in range(2))
        assert copied.block.read() == BLOCKS[0]
        server.content = Content(stored + b"more", etag='"other"')
        with pytest.raises(seekwarc.SourceChangedError, match="replaced since it was opened"):
            late.block.read()


def test_a_disk_cache_goes_along(tmp_path: Path) -> None:
    copied = pickle.loads(pickle.dumps(DiskCache(tmp_path / "cache", limit=5 << 20)))
    assert copied.read("one", 0, 10, lambda start, stop: bytes(stop - start), size=10) == bytes(10)


# Processes and threads.


def _read(record: seekwarc.Record) -> bytes:
    return record.block.read()


def _name(archive: seekwarc.Reader) -> str:
    with archive:
        return "".join(str(record.target_uri) for record in archive)


def test_spawned_processes_read_records_and_readers(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with (
        seekwarc.open(write(tmp_path)) as archive,
        ProcessPoolExecutor(1, mp_context=context) as pool,
    ):
        assert list(pool.map(_read, archive)) == BLOCKS
        assert pool.submit(_name, archive).result() == "".join(URIS)


def test_a_read_under_way_while_another_thread_closes_is_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look whether the source is open and the read, its number went to another file."""
    path, other = tmp_path / "a", tmp_path / "b"
    path.write_bytes(b"right" * 100)
    other.write_bytes(b"wrong" * 100)
    source = LocalFileSource(path)
    reading, closed = threading.Event(), threading.Event()
    read_at = local.read_at

    def late(number: int, size: int, start: int) -> bytes:
        reading.set()
        assert closed.wait(PATIENT)
        return read_at(number, size, start)

    monkeypatch.setattr(local, "read_at", late)
    found: list[bytes] = []
    thread = threading.Thread(target=lambda: found.append(source.read(0, 10)))
    thread.start()
    assert reading.wait(PATIENT)
    source.close()
    with other.open("rb"):
        closed.set()
        thread.join()
    assert found == [b"rightright"]
    with pytest.raises(seekwarc.SourceError, match="closed"):
        source.read(0, 10)


def test_a_closed_file_gives_its_descriptor_back_at_once(tmp_path: Path) -> None:
    path = write(tmp_path)
    with seekwarc.open(path) as archive:
        list(archive)
        assert descriptors(path) == 1
    assert descriptors(path) == 0


@pytest.mark.parametrize("form", ["warc.zst", "warc.gz", "warc"])
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_records_of_every_form_can_be_pickled(tmp_path: Path, form: str, protocol: int) -> None:
    with seekwarc.open(tmp_path / f"a.{form}", "w") as out:
        out.write_response("http://example.org/", b"page", status=200)
        out.write_resource("http://example.org/film", bytes(3 * MIB), "video/mp4")
        out.write_response("http://example.org/last", b"page", status=404)
    with seekwarc.open(tmp_path / f"a.{form}") as archive:
        for record in (*archive, archive.record_at(0)):
            again = pickle.loads(pickle.dumps(record, protocol))
            assert type(again) is type(record)
            assert again.header == record.header
            assert again.payload.read() == record.payload.read()
            assert again.length == record.length


def test_a_seek_table_can_be_pickled() -> None:
    table = seekwarc.SeekTable.parse(
        seekwarc.SeekTable(array("Q", [600, 400]), array("Q", [1000, 7]), array("Q", [1, 2])).build()
    )
    for again in (pickle.loads(pickle.dumps(table)), copy.deepcopy(table), copy.copy(table)):
        assert again == table
        assert again[1] == table[1]


@pytest.mark.parametrize("name", ["Record", "Extent", "SeekTable", "JoinedRecord", "ResolvedRevisit"])
def test_classes_can_be_derived_from_and_keep_attributes(name: str) -> None:
    derived = type("Derived", (getattr(seekwarc, name),), {"more": 1, "__init__": lambda _: None})
    it = derived()
    it.own = 2
    assert (it.more, it.own) == (1, 2)
