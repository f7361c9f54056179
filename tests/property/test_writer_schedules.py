"""Records, segments, full disks, Ctrl-C and reopening in any order: nothing that was written is lost."""

from __future__ import annotations

import contextlib
import os
import random
import warnings
from pathlib import Path
from typing import Any

import pytest

import seekwarc
from seekwarc.write.writer import Writer
from tests.support.failing import Disk, SignalPlaces, found_in
from tests.support.rounds import one_in, rounds
from tests.support.writing import KIB, URI, noise

FRAME = 64 * KIB
MAX = 300_000
SIZES = (300, 20_000, 150_000, 260_000, 700_000)
"""Of blocks: the third is a large record, the last is written as segments in a series."""
EMPTY = 1 << 60
SERIES: Any = {"frame_size": FRAME, "max_file_size": MAX}


class Schedule:
    """A writer, what goes wrong with it, and what must be in its files.

    A record is certain if its method has returned, and since then no disk was full when the file was closed.
    """

    def __init__(self, folder: Path, disk: Disk, seed: int) -> None:
        self.folder = folder
        self.disk = disk
        self.chance = random.Random(seed)
        self.series = self.chance.random() < 0.6
        self.threads = self.chance.choice([1, 1, 2])
        self.writer: Writer | None = None
        self.written: list[tuple[bytes, bool]] = []
        self.flushed = 0
        self.left = self.continues = False
        """Whether a full disk has ended the last writer, and the one before the present one."""

    def run(self) -> None:
        for _ in range(self.chance.randrange(2, 9)):
            if self.writer is None:
                self.open(self.place())
            elif self.chance.random() < 0.7:
                self.record()
            elif self.chance.random() < 0.5:
                self.flush()
            else:
                self.close(self.place(), room=self.chance.choice([EMPTY, EMPTY, 0, 200, 100_000]))
        self.close(None, room=EMPTY)
        self.check()

    def place(self) -> int | None:
        """Return where Ctrl-C comes, early more often than late."""
        return int(2 ** self.chance.uniform(0, 11)) if self.chance.random() < 0.5 else None

    def open(self, place: int | None) -> None:
        options = {"max_file_size": MAX} if self.series else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", seekwarc.FormatWarning)
            with SignalPlaces(place):
                try:
                    self.writer = Writer(
                        self.folder / "a.warc.zst",
                        append=True,
                        repair=True,
                        frame_size=FRAME,
                        threads=self.threads,
                        **options,
                    )
                except KeyboardInterrupt:
                    return
        self.left, self.continues = False, self.left

    def record(self) -> None:
        block = noise(self.chance.choice(SIZES), seed=self.chance.randrange(8))
        block = len(self.written).to_bytes(8, "big") + block
        full = self.chance.random() < 0.3
        self.disk.room = self.chance.choice([0, 10, 1000, 70_000, 200_000, 400_000]) if full else EMPTY
        place = None if full else self.place()
        try:
            if place is None:
                self.writer.write_resource(URI, block, "text/plain")
            else:
                with SignalPlaces(place):
                    self.writer.write_resource(URI, block, "text/plain")
            self.written.append((block, True))
        except (KeyboardInterrupt, seekwarc.TargetError):
            self.written.append((block, False))
        self.disk.room = EMPTY

    def flush(self) -> None:
        self.writer.flush()
        self.flushed = len(self.written)

    def close(self, place: int | None, *, room: int) -> None:
        """Close the writer. What was not flushed before the disk was full may be lost."""
        if self.writer is None:
            return
        if self.continues:
            # What a full disk left may be no more than a warcinfo record, which is kept.
            block = b"after %d" % len(self.written)
            self.writer.write_resource(URI, block, "text/plain")
            self.written.append((block, True))
        if room < EMPTY:
            place = None
            self.written[self.flushed :] = [(block, False) for block, _ in self.written[self.flushed :]]
        self.disk.room = room
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            try:
                if place is None:
                    self.writer.close()
                else:
                    with SignalPlaces(place) as places:
                        self.writer.__exit__(None, None, None)
            except KeyboardInterrupt:
                # Nothing of a writer can see a signal that comes before its first line.
                if places.where == ("Writer.__exit__", True):
                    self.writer.close()
            except seekwarc.TargetError:
                pass
        self.disk.room = EMPTY
        self.writer = None
        self.left = room < EMPTY
        self.flushed = len(self.written)
        if room == EMPTY:
            assert [name for name in self.names() if name.endswith(".open")] == []

    def names(self) -> list[str]:
        return [name for name in os.listdir(self.folder) if ".torn-" not in name]

    def check(self) -> None:
        if self.left:
            # The end of the last file may be torn.
            self.open(None)
            self.close(None, room=EMPTY)
        for path in self.folder.glob("*.torn-*"):
            path.unlink()
        found = iter(found_in(self.folder))
        block = next(found, None)
        for number, (written, certain) in enumerate(self.written):
            if block == written:
                block = next(found, None)
            else:
                assert not certain, f"record {number} of {len(self.written)} is lost"
        assert block is None, "a record that was not written, twice, or out of order"
        for name in os.listdir(self.folder):
            with seekwarc.open(self.folder / name) as archive:
                assert {record.type for record in archive} > ({"warcinfo"} if self.series else set()), name


# What is interrupted while it is made cannot be closed by anything but its destructor.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.usefixtures("few_objects")
@pytest.mark.parametrize("part", one_in(10, range(10)))
def test_no_written_record_is_lost_whatever_fails(
    part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch)
    for number in range(rounds(200)):
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            Schedule(folder, disk, seed=part * 100_000 + number).run()
        except BaseException as error:
            error.add_note(f"seed {part * 100_000 + number}")
            raise


@pytest.mark.usefixtures("few_objects")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_file_of_a_series_has_one_warcinfo_whatever_is_interrupted_twice(
    threads: int, tmp_path: Path
) -> None:
    def write(folder: Path, *places: int | None) -> list[SignalPlaces]:
        folder.mkdir()
        tried = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            with seekwarc.open(
                folder / "a.warc.zst", "w", threads=threads, frame_size=FRAME, max_file_size=MAX
            ) as writer:
                for place in places:
                    with SignalPlaces(place) as it, contextlib.suppress(KeyboardInterrupt):
                        writer.write_resource(URI, b"a record", "text/plain")
                    tried.append(it)
        return tried

    write(tmp_path / "first", None)
    functions = write(tmp_path / "whole", None)[0].functions
    # The warcinfo record is added first. How many points come before that differs by a few from run to run.
    added = functions.index("FileHead.write", functions.index("RecordAssembly._all_or_nothing"))
    for place in range(added - 20, added + 5):
        for further in range(12):
            folder = tmp_path / f"{place}-{further}"
            write(folder, place, place + further)
            for path in folder.iterdir():
                with seekwarc.open(path) as archive:
                    assert [record.type for record in archive][:2] == ["warcinfo", "resource"], folder.name
