"""Blocks on a disk: the right bytes whatever else writes there, within the limit, or fetched again."""

from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seekwarc
from seekwarc.errors import SourceError
from seekwarc.storage import diskcache
from seekwarc.storage.diskcache import BLOCK, DiskCache
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.source import Stats
from tests.support.rounds import rounds
from tests.support.sources import RecordingSource, RemoteFake
from tests.support.writing import noise

DATA = noise(10 * BLOCK + 777, seed=61)
OTHER = noise(10 * BLOCK + 777, seed=62)


def read(cache: DiskCache, source: RecordingSource, start: int, stop: int, identity: str = "one") -> bytes:
    return cache.read(identity, start, stop, source.read, size=source.size)


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


ranges = st.lists(st.tuples(st.integers(0, len(DATA)), st.integers(0, len(DATA))).map(sorted), max_size=5)


@settings(max_examples=rounds(30))
@given(wanted=ranges)
def test_any_range_is_a_slice(tmp_path_factory: pytest.TempPathFactory, wanted: list[list[int]]) -> None:
    cache = DiskCache(tmp_path_factory.mktemp("cache"))
    source = RecordingSource(DATA)
    for start, stop in wanted:
        assert read(cache, source, start, stop) == DATA[start:stop]
    source.forget()
    for start, stop in wanted:
        assert read(cache, source, start, stop) == DATA[start:stop]
    assert source.requests == []


def test_missing_blocks_are_fetched_in_few_requests(tmp_path: Path) -> None:
    cache, source = DiskCache(tmp_path), RecordingSource(DATA)
    read(cache, source, 3 * BLOCK + 5, 3 * BLOCK + 6)
    read(cache, source, 10, len(DATA) - 10)
    assert source.requests == [(3 * BLOCK, 4 * BLOCK), (0, 3 * BLOCK), (4 * BLOCK, len(DATA))]
    source.forget()
    assert read(cache, source, 0, len(DATA)) == DATA
    assert source.requests == []


def test_versions_are_kept_apart(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path)
    for _ in range(2):
        assert read(cache, RecordingSource(DATA), 0, 100, "one") == DATA[:100]
        assert read(cache, RecordingSource(OTHER), 0, 100, "two") == OTHER[:100]


def test_blocks_of_an_earlier_run_are_used(tmp_path: Path) -> None:
    read(DiskCache(tmp_path), RecordingSource(DATA), 0, BLOCK)
    source = RecordingSource(DATA)
    assert read(DiskCache(tmp_path), source, 5, 100) == DATA[5:100]
    assert source.requests == []


def spoil(path: Path, how: str) -> None:
    stored = path.read_bytes()
    path.write_bytes(
        {
            "a bit": stored[:-1] + bytes([stored[-1] ^ 1]),
            "cut": stored[:-1],
            "longer": stored + b"x",
            "empty": b"",
            "digest": bytes([stored[0] ^ 1]) + stored[1:],
        }[how]
    )


@pytest.mark.parametrize("how", ["a bit", "cut", "longer", "empty", "digest"])
def test_a_damaged_block_is_fetched_again(tmp_path: Path, how: str) -> None:
    cache, source = DiskCache(tmp_path), RecordingSource(DATA)
    read(cache, source, 0, BLOCK)
    (path,) = files(tmp_path)
    spoil(path, how)
    source.forget()
    for _ in range(2):
        assert read(cache, source, 0, BLOCK) == DATA[:BLOCK]
    assert source.requests == [(0, BLOCK)]


def test_a_block_under_the_wrong_name_is_not_used(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path)
    read(cache, RecordingSource(DATA), 0, 2 * BLOCK)
    one, two = files(tmp_path)
    contents = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(contents)
    assert read(cache, RecordingSource(DATA), 0, 2 * BLOCK) == DATA[: 2 * BLOCK]


def test_a_short_answer_leaves_no_block(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path)
    short = RecordingSource(DATA[: BLOCK + 5])
    short.size = len(DATA)
    assert len(read(cache, short, 0, 2 * BLOCK)) < 2 * BLOCK
    assert read(cache, RecordingSource(DATA), 0, 2 * BLOCK) == DATA[: 2 * BLOCK]


def test_the_least_recently_used_blocks_are_removed_first(tmp_path: Path) -> None:
    limit = 16 * BLOCK
    cache = DiskCache(tmp_path, limit=limit)
    source = RecordingSource(noise(60 * BLOCK))
    read(cache, source, 0, BLOCK)
    for number in range(1, 60):
        read(cache, source, number * BLOCK, (number + 1) * BLOCK)
        read(cache, source, 0, BLOCK)
        # File systems round modification times.
        time.sleep(0.005)
        assert sum(path.stat().st_size for path in files(tmp_path)) <= limit
    source.forget()
    read(cache, source, 0, BLOCK)
    read(cache, source, 59 * BLOCK, 60 * BLOCK)
    assert source.requests == []
    assert len(files(tmp_path)) >= 10


def test_a_folder_above_a_smaller_limit_is_trimmed(tmp_path: Path) -> None:
    read(DiskCache(tmp_path), RecordingSource(DATA), 0, len(DATA))
    stranger = tmp_path / "notes.txt"
    stranger.write_bytes(bytes(5 * BLOCK))
    read(DiskCache(tmp_path, limit=4 * BLOCK), RecordingSource(OTHER), 0, 1, "two")
    files(tmp_path).remove(stranger)
    stranger.unlink()
    assert sum(path.stat().st_size for path in files(tmp_path)) <= 4 * BLOCK


def test_a_cache_smaller_than_a_block_keeps_nothing(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, limit=1000)
    assert read(cache, RecordingSource(DATA), 0, 3 * BLOCK) == DATA[: 3 * BLOCK]
    assert files(tmp_path) == []


def test_a_block_that_cannot_be_written_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    cache = DiskCache(tmp_path)
    monkeypatch.setattr(os, "replace", full)
    assert read(cache, RecordingSource(DATA), 0, 100) == DATA[:100]
    assert files(tmp_path) == []


def test_a_folder_that_cannot_be_created_is_a_source_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(SourceError, match="file/below: cannot be a cache folder"):
        DiskCache(tmp_path / "file" / "below")


def test_errors_of_the_source_pass_through(tmp_path: Path) -> None:
    def fail(_: int, __: int) -> bytes:
        raise SourceError("gone")

    with pytest.raises(SourceError, match="gone"):
        DiskCache(tmp_path).read("one", 0, 10, fail, size=100)


# Several processes.


def _crowd(folder: str, seed: int) -> int:
    """Read at random while others do; return how many requests the source received."""
    import random  # noqa: PLC0415

    source = RecordingSource(DATA)
    cache = DiskCache(folder, limit=6 * BLOCK)
    chance = random.Random(seed)
    for _ in range(150):
        start = chance.randrange(len(DATA))
        stop = min(start + chance.randrange(2 * BLOCK), len(DATA))
        if read(cache, source, start, stop) != DATA[start:stop]:
            return -1
    return len(source.requests)


@pytest.mark.slow
def test_processes_share_a_folder(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with context.Pool(3) as pool:
        asked = pool.starmap(_crowd, [(str(tmp_path), seed) for seed in range(3)])
    assert min(asked) > 0
    left = files(tmp_path)
    assert all(path.suffix == ".block" for path in left)
    assert sum(path.stat().st_size for path in left) <= 6 * BLOCK * (diskcache.ROUNDS + 3) // diskcache.ROUNDS


# Under a fetcher.


def test_the_version_is_found_out_before_the_cache_is_used(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path)
    for expected in ([(10, 20), (0, BLOCK)], [(10, 20)]):
        source, stats = RemoteFake(DATA), Stats()
        reading = Fetcher(source, stats, disk=cache)
        assert reading.read(10, 20) == DATA[10:20]
        assert reading.read(50, 90) == DATA[50:90]
        assert source.requests == expected
        assert stats.requests == len(expected)
        assert stats.bytes_fetched == sum(stop - start for start, stop in expected)


def test_objects_without_a_version_are_not_kept(tmp_path: Path) -> None:
    reading = Fetcher(RemoteFake(DATA, identity=None), Stats(), disk=DiskCache(tmp_path))
    assert reading.read(0, 10) + reading.read(10, 20) == DATA[:20]
    assert files(tmp_path) == []


def test_local_files_are_not_cached(tmp_path: Path) -> None:
    reading = Fetcher(RecordingSource(DATA), Stats(), disk=DiskCache(tmp_path))
    assert reading.read(0, 10) + reading.read(10, 20) == DATA[:20]
    assert files(tmp_path) == []


def test_the_cache_is_public() -> None:
    assert seekwarc.DiskCache is DiskCache
