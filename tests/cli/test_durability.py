"""No room, nobody who reads, no power, a signal: every verb that writes leaves whole files or none."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.support.durability import APPEND, Ending, Place, Processes, append
from tests.support.jobs import JOBS, files_made, make_sources, names_below
from tests.support.processes import PATIENT

pytestmark = [pytest.mark.slow, pytest.mark.posix]

VERBS = [name for name in JOBS if name != APPEND]


@dataclass(frozen=True)
class Bench:
    """Where the verbs are tried: a way to run them, what they read, folders in which each was undisturbed."""

    run: Callable[..., Ending]
    sources: Path
    whole: Path

    def try_in(self, folder: Path, name: str, **options: object) -> Ending:
        """Run a verb in a new folder."""
        return self.run(JOBS[name].begin(folder, self.sources), folder, **options)

    def made(self, folder: Path, name: str, *, killed: bool = False) -> int:
        """Assert that what a verb left is whole; return how many files it made."""
        return files_made(JOBS[name], folder, self.whole / name, self.sources, killed=killed)

    def told(self, stderr: str) -> list[str]:
        """Return what a run told, but for what it tells where all is well."""
        usual = "the file is not a .warc.zst: its records will be compressed again"
        lines = [f"seekwarc: {self.sources}/{name}.warc.gz: {usual}" for name in ("b", "twice")]
        return [line for line in stderr.splitlines() if line not in lines]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    sources = tmp_path_factory.mktemp("sources")
    make_sources(sources)
    with closing(Processes()) as processes:
        bench = Bench(processes.run, sources, tmp_path_factory.mktemp("whole"))
        for name, job in JOBS.items():
            assert bench.try_in(bench.whole / name, name).status == job.status
            assert names_below(bench.whole / name) == {*job.made}
        yield bench


# No room.


@pytest.mark.parametrize("name", VERBS)
def test_where_there_is_no_room_the_file_is_named_and_nothing_is_left(bench, name, tmp_path) -> None:
    made = JOBS[name].made
    largest = max((bench.whole / name / file).stat().st_size for file in made)
    for room in (0, largest // 2, largest * 9 // 10):
        folder = tmp_path / str(room)
        ending = bench.try_in(folder, name, room=room)
        assert ending.status == 2
        (told,) = bench.told(ending.stderr)
        assert told in [f"seekwarc: {file}: cannot be written: File too large" for file in made]
        assert bench.made(folder, name) < len(made)


def test_where_there_is_no_room_to_append_the_file_is_as_before(bench, tmp_path) -> None:
    before = (bench.sources / "a.warc.zst").read_bytes()
    new = (bench.whole / APPEND / "old.warc.zst").stat().st_size - len(before)
    for room in (new * number // 5 for number in range(5)):
        folder = tmp_path / str(room)
        ending = bench.try_in(folder, APPEND, room=len(before) + room)
        assert "TargetError: old.warc.zst: cannot be written: File too large" in ending.stderr
        assert (folder / "old.warc.zst").read_bytes() == before
        assert os.listdir(folder) == ["old.warc.zst"]


@pytest.mark.parametrize("words", ["concat - -o new.warc.zst", "split - -o part --records 1"])
def test_no_room_to_put_a_pipe_aside_leaves_nothing(bench, tmp_path, words) -> None:
    command = f'ulimit -f 50; exec "{sys.executable}" -m seekwarc {words}'
    data = (bench.sources / "a.warc.zst").read_bytes()
    done = subprocess.run(["bash", "-c", command], input=data, capture_output=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == b"seekwarc: <stdin>: cannot be copied to a temporary file: File too large\n"
    assert os.listdir(tmp_path) == []


# Nobody who reads.

INTO_PIPES = {
    "ls": "ls {}/many.warc.zst",
    "ls --json": "ls --json {}/many.warc.zst",
    "info": "info {}/a.warc.zst",
    "cat": "cat {}/a.warc.zst --uri http://example.org/2",
    "verify": "verify --all {}/many.warc.zst",
    "verify --json": "verify --json --all {}/many.warc.zst",
    "dictionary show": "dictionary show {}/with.warc.zst",
    "convert": "convert {}/a.warc.zst -",
    "convert to gz": "convert {}/a.warc.zst - --to gz",
    "convert to warc": "convert {}/a.warc.zst - --to none",
    "pack": "pack {}/things -o -",
    "concat": "concat {0}/a.warc.zst {0}/b.warc.gz -o -",
    "train": "dictionary train {}/pages.warc -o -",
    "dictionary extract": "dictionary extract {}/with.warc.zst -o -",
}
SHORT = {"info", "dictionary show"}
"""What may fit into the smallest pipe."""
SMALLEST_PIPE = 4096
TOLD = "seekwarc: {}: cannot be written: No space left on device"


@pytest.mark.parametrize("name", INTO_PIPES)
def test_a_pipe_that_nobody_reads_ends_it_quietly(bench, name, tmp_path) -> None:
    words = INTO_PIPES[name].format(bench.sources).split()
    ending = bench.run(words, tmp_path, stdout="closed pipe")
    assert ending.status == 141
    assert bench.told(ending.stderr) == []
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", [name for name in INTO_PIPES if name not in SHORT])
def test_a_pipe_that_is_read_no_further_ends_it_quietly(bench, start, name, tmp_path) -> None:
    words = INTO_PIPES[name].format(bench.sources).split()
    process = start(*words, cwd=tmp_path, env={**os.environ, "TMPDIR": str(tmp_path)})
    fcntl = pytest.importorskip("fcntl")
    fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, SMALLEST_PIPE)
    assert len(os.read(process.stdout.fileno(), 10)) == 10
    process.stdout.close()
    stderr = process.stderr.read().decode()
    assert process.wait(timeout=PATIENT) == 141
    assert bench.told(stderr) == []
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", INTO_PIPES)
def test_a_full_disk_under_standard_output_is_named(bench, name, tmp_path) -> None:
    words = INTO_PIPES[name].format(bench.sources).split()
    ending = bench.run(words, tmp_path, stdout="full disk")
    assert ending.status == 2
    assert bench.told(ending.stderr) == [TOLD.format("standard output")]
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", VERBS)
@pytest.mark.parametrize("stdout", ["closed pipe", "full disk"])
def test_a_report_that_cannot_be_printed_harms_no_file(bench, name, tmp_path, stdout) -> None:
    folder = tmp_path / "new"
    ending = bench.try_in(folder, name, stdout=stdout)
    assert ending.status == (141 if stdout == "closed pipe" else 2)
    assert bench.told(ending.stderr) == [TOLD.format("standard output")] * (stdout == "full disk")
    # Only the demonstration prints before it writes.
    assert bench.made(folder, name) == (0 if name == "demo" else len(JOBS[name].made))


# No power.


class Disk:
    """Remembers in which order files were synced and got their names."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._events: list[tuple[str, int, int]] = []
        self._watch(monkeypatch, "fsync", os.fstat)
        for name in ("replace", "rename", "link"):
            self._watch(monkeypatch, name, lambda source, _: os.stat(source))

    def _watch(self, monkeypatch: pytest.MonkeyPatch, name: str, look: Callable) -> None:
        real = getattr(os, name)

        def watched(*words: object) -> None:
            found = look(*words)
            self._events.append(("sync" if name == "fsync" else "name", found.st_ino, found.st_size))
            real(*words)

        monkeypatch.setattr(os, name, watched)

    def _times(self, what: str, path: Path) -> list[int]:
        return [n for n, event in enumerate(self._events) if event[:2] == (what, path.stat().st_ino)]

    def assert_synced(self, path: Path, *, before: int | None = None) -> None:
        """Assert that a file was put on disk as it is now."""
        times = [time for time in self._times("sync", path) if before is None or time < before]
        assert times
        assert self._events[times[-1]][2] == path.stat().st_size

    def assert_synced_and_named(self, path: Path) -> None:
        """Assert that a file was on disk as it is now before it got a name, and so was its name."""
        named = self._times("name", path)
        self.assert_synced(path, before=named[0])
        assert self._times("sync", path.parent)[-1] > named[-1]


@pytest.mark.parametrize("name", VERBS)
def test_a_file_is_on_disk_before_it_has_its_name(bench, name, run_main, tmp_path, monkeypatch) -> None:
    job = JOBS[name]
    folder = tmp_path / "new"
    words = job.begin(folder, bench.sources)
    monkeypatch.chdir(folder)
    disk = Disk(monkeypatch)
    assert run_main(*words) == job.status
    for made in job.made:
        disk.assert_synced_and_named(folder / made)


def test_what_was_appended_is_on_disk(bench, tmp_path, monkeypatch) -> None:
    JOBS[APPEND].begin(tmp_path / "new", bench.sources)
    path = tmp_path / "new" / "old.warc.zst"
    disk = Disk(monkeypatch)
    append(str(path))
    disk.assert_synced(path)


# A signal.

SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143}
MAKE_FILES = {"write/output.py", "write/files.py", "write/append.py", "edit/splitting.py"}
MAX_PLACES = 5


@pytest.fixture(scope="module")
def places(bench, tmp_path_factory) -> Callable[[str], list[Place]]:
    """Return where a verb may be stopped: lines of what makes its files, and of all that it passes."""

    @cache
    def places(name: str) -> list[Place]:
        ending = bench.try_in(tmp_path_factory.mktemp("watched") / "new", name, watch=True)
        every = [
            Place(file, line, turn) for file, line, times in ending.passed for turn in turns(file, times)
        ]
        near = [place for place in every if place.file in MAKE_FILES]
        assert len(near) > 5
        chance = random.Random(name)
        # The first of them is passed before there is any file.
        some = near[:1] + chance.sample(near, min(MAX_PLACES, len(near)))
        return some + chance.sample(every, MAX_PLACES)

    return places


def turns(file: str, times: int) -> set[int]:
    """The first and the last time that a line is passed."""
    # What was parsed is remembered, such as the date of this second: a second run may parse less.
    return {1} if file.startswith("format/") else {1, times}


@pytest.mark.parametrize("name", VERBS)
def test_a_signal_anywhere_leaves_whole_files_or_none(bench, places, name, tmp_path) -> None:
    counts = []
    for number, place in enumerate(places(name)):
        folder = tmp_path / str(number)
        kind, status = [*SIGNALS.items()][number % 2]
        # Whoever waits presses the keys again.
        ending = bench.try_in(folder, name, place=place, number=kind, again=number % 3 == 0)
        assert bench.told(ending.stderr) == ["seekwarc: stopped"], place
        assert ending.status == status, place
        counts.append(bench.made(folder, name))
    assert 0 in counts


@pytest.mark.parametrize("name", JOBS)
def test_being_killed_anywhere_leaves_whole_files_or_none(bench, places, name, tmp_path) -> None:
    for number, place in enumerate(places(name)[::2]):
        folder = tmp_path / str(number)
        ending = bench.try_in(folder, name, place=place, number=signal.SIGKILL)
        assert ending.status == -signal.SIGKILL, place
        made = bench.made(folder, name, killed=True)
        if name != APPEND and (JOBS[name].replaces or not made):
            # What it could not take away is not in the way of the next one.
            words = JOBS[name].arguments(bench.sources)
            assert bench.run(words, folder).status == JOBS[name].status
            assert bench.made(folder, name, killed=True) == len(JOBS[name].made)


def test_an_interrupted_program_leaves_what_it_continued_readable(bench, places, tmp_path) -> None:
    before = (bench.sources / "a.warc.zst").read_bytes()
    unchanged = 0
    for number, place in enumerate(places(APPEND)):
        folder = tmp_path / str(number)
        ending = bench.try_in(folder, APPEND, place=place, number=signal.SIGINT)
        assert ending.stderr.splitlines()[-1] == "KeyboardInterrupt", place
        bench.made(folder, APPEND)
        unchanged += (folder / "old.warc.zst").read_bytes() == before
    assert unchanged > number // 2
