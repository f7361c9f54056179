"""Notes of records that several processes make, in parts of a file; test_parts.py shows what comes of it."""

from __future__ import annotations

import errno
import multiprocessing
import os
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

import seekwarc
from seekwarc.collection.entry import OnDamage, describe
from seekwarc.edit.listing import Described, Listing, listed
from seekwarc.errors import FormatError
from seekwarc.jobs.progress import no_progress
from seekwarc.read.options import ReadOptions
from seekwarc.read.reader import Reader
from tests.support.parts import archive, damaged, small_parts


def offsets_and_process(reader: Reader, on_damage: OnDamage, /) -> Iterator[tuple[int, int]]:
    for record in reader.past_damage(on_damage):
        yield record.offset, os.getpid()


def notes(path: Path, listing: Listing[object], processes: int) -> tuple[list[object], list[str]]:
    found: list[FormatError] = []
    made = listed(
        path,
        listing,
        "listing",
        processes=processes,
        on_damage=found.append,
        on_progress=no_progress,
        limits=ReadOptions.of(),
    )
    return list(made), [str(error) for error in found]


def test_entries_are_those_of_one_process(tmp_path, monkeypatch) -> None:
    counted = small_parts(monkeypatch)
    path = tmp_path / "a.warc"
    for number in range(5):
        path.write_bytes(damaged(archive("zst"), number) if number else archive("zst"))
        assert notes(path, Described(describe), 3) == notes(path, Described(describe), 1)
    assert counted.done
    assert counted.failed


@pytest.fixture
def spools(tmp_path, monkeypatch) -> Path:
    """Have files cut into small parts, for real processes; return where their spools are."""
    monkeypatch.setattr("seekwarc.jobs.parts.MIN_SIZE", 1)
    monkeypatch.setattr("seekwarc.jobs.parts.MIN_PART", 20_000)
    folder = tmp_path / "spools"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def test_processes_do_the_work_and_leave_nothing(tmp_path, spools) -> None:
    path = tmp_path / "a.warc"
    path.write_bytes(archive("gz"))
    found, damage = notes(path, offsets_and_process, 2)
    with seekwarc.open(path) as reader:
        assert [offset for offset, _ in found] == [record.offset for record in reader]
    assert os.getpid() not in {process for _, process in found}
    assert damage == []
    assert list(spools.iterdir()) == []


@pytest.mark.slow
def test_a_caller_that_stops_early_leaves_nothing(tmp_path, spools) -> None:
    path = tmp_path / "a.warc"
    path.write_bytes(archive("gz"))
    made = listed(
        path,
        offsets_and_process,
        "listing",
        processes=2,
        on_damage=pytest.fail,
        on_progress=no_progress,
        limits=ReadOptions.of(),
    )
    assert next(made)[1] != os.getpid()
    assert list(spools.iterdir()) != []
    made.close()
    assert list(spools.iterdir()) == []
    assert multiprocessing.active_children() == []


def test_a_full_disk_leaves_the_work_to_this_process(tmp_path, monkeypatch) -> None:
    counted = small_parts(monkeypatch)
    path = tmp_path / "a.warc"
    path.write_bytes(archive("gz"))
    alone = notes(path, Described(describe), 1)
    dumps, dumped = pickle.dumps, []

    def dump_some(*arguments: object) -> bytes:
        dumped.append(arguments)
        if len(dumped) > 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return dumps(*arguments)

    monkeypatch.setattr("pickle.dumps", dump_some)
    assert notes(path, Described(describe), 3) == alone
    assert (counted.done, counted.failed) == (3, 1)


def test_listings_are_picklable() -> None:
    assert pickle.loads(pickle.dumps(Described(describe))) == Described(describe)
