"""One large file in parts: what comes of it is what one process makes, whatever the file is."""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seekwarc import tools
from seekwarc.errors import ChecksumError, SeekWarcError
from seekwarc.scale.split import Split
from seekwarc.storage.source import RangeSource
from seekwarc.tools import converting
from seekwarc.tools import parts as parts_of_files
from seekwarc.tools.convert_parts import Converted, ConvertPart
from seekwarc.tools.outcome import Job, Status
from seekwarc.tools.progress import counting
from seekwarc.tools.work import JobContext
from seekwarc.tools.workers import run_in_order
from seekwarc.write.file_layout import FileLayout
from tests.support.outcomes import Heard
from tests.support.parts import FORMS, Parts, archive, damaged, pairs, shared, small_parts
from tests.support.writing import small_dictionary


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Parts:
    return small_parts(monkeypatch)


def indexed(path: Path, processes: int, **options: Any) -> list[object]:
    """Return all that comes of indexing a file."""
    target = path.with_name(f"{processes}.cdxj")
    problems: list[str] = []
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        done = tools.index(
            path,
            target,
            on_problem=lambda problem: problems.append(str(problem)),
            existing="overwrite",
            processes=processes,
            **options,
        )
    assert sorted(it.name for it in path.parent.iterdir() if it.name.startswith(".")) == []
    return [done, target.read_bytes(), problems, [str(it.message) for it in told]]


def converted(path: Path, processes: int, to: str = "zst", **options: Any) -> list[object]:
    """Return all that comes of converting a file."""
    target = path.with_name(f"{processes}.warc.{to}")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            done = tools.convert(path, target, existing="overwrite", processes=processes, **options)
        except SeekWarcError as error:
            return [type(error), str(error), target.exists(), [str(it.message) for it in told]]
    assert sorted(it.name for it in path.parent.iterdir() if it.name.startswith(".")) == []
    data = target.read_bytes()
    target.unlink()
    return [done, data, [str(it.message) for it in told]]


MAKERS: dict[str, Callable[[Path, int], list[object]]] = {"index": indexed, "convert": converted}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_sound_file_comes_out_the_same_in_parts(tmp_path, parts, make, form) -> None:
    path = tmp_path / "a.warc"
    path.write_bytes(archive(form))
    assert make(path, 3) == make(path, 1)
    assert parts.done > 10


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_damaged_file_comes_out_the_same_in_parts(tmp_path, parts, make, form) -> None:
    data = archive(form)
    path = tmp_path / "a.warc"
    for number in range(24):
        path.write_bytes(damaged(data, number))
        assert make(path, 3) == make(path, 1), number
    assert parts.done
    assert parts.failed


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_shared_members_come_out_the_same_in_parts(tmp_path, parts, make) -> None:
    path = tmp_path / "a.warc.gz"
    path.write_bytes(shared())
    assert make(path, 3) == make(path, 1)


def test_requests_and_responses_are_never_parted(tmp_path, parts) -> None:
    path = tmp_path / "a.warc"
    for made in (pairs(), pairs().gzip(), pairs().plain()):
        path.write_bytes(made.bytes())
        assert indexed(path, 3, post_append=True) == indexed(path, 1, post_append=True)
    assert parts.done > 10
    assert not parts.failed


def test_the_first_problem_is_raised_as_by_one_process(tmp_path, parts) -> None:
    path = tmp_path / "a.warc"
    path.write_bytes(damaged(archive("gz"), 3))
    told = []
    for processes in (1, 3):
        with pytest.raises(SeekWarcError) as caught:
            tools.index(path, tmp_path / "a.cdxj", processes=processes)
        told.append(str(caught.value))
    assert told[0] == told[1]


@pytest.mark.parametrize(
    "options",
    [{"tables": "every"}, {"tables": "none"}, {"dictionary": small_dictionary()}, {"frame_size": "64K"}],
)
def test_options_of_new_files_hold_in_parts(tmp_path, parts, options) -> None:
    path = tmp_path / "a.warc"
    path.write_bytes(archive("zst"))
    assert converted(path, 3, **options) == converted(path, 1, **options)
    assert parts.done > 10


@pytest.mark.parametrize("to", ["gz", "warc"])
def test_other_forms_are_made_in_parts(tmp_path, parts, to) -> None:
    path = tmp_path / "a.warc"
    path.write_bytes(archive("zst"))
    assert converted(path, 3, to) == converted(path, 1, to)
    assert parts.done > 10


def test_a_part_that_was_written_wrong_is_found(tmp_path, parts, monkeypatch) -> None:
    path = tmp_path / "a.warc"
    path.write_bytes(archive("gz"))
    pour = FileLayout.pour
    monkeypatch.setattr(FileLayout, "pour", lambda self, data: pour(self, data[:-9] + b"x" + data[-8:]))
    kind, told, there, _ = converted(path, 3)
    assert kind is ChecksumError
    assert "cannot be read back" in told
    assert not there
    assert os.listdir(tmp_path) == ["a.warc"]


@pytest.mark.parametrize("form", ["zst", "gz"])
def test_progress_is_that_of_one_process(tmp_path, parts, form) -> None:
    path = tmp_path / "a.warc"
    for data in (archive(form), damaged(archive(form), 5)):
        path.write_bytes(data)
        read: list[int] = []
        watch = counting(str(path), read.append)
        tools.index(
            path,
            tmp_path / "a.cdxj",
            on_problem=lambda _: None,
            existing="overwrite",
            on_progress=watch,
            processes=3,
        )
        assert sum(read) == len(data)


class Dying(ConvertPart):
    """Work whose process is killed in the middle of the file."""

    def __call__(self, part: Split, source: RangeSource, spool: str) -> Converted:
        if part.start > 30_000:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(part, source, spool)


@pytest.mark.slow
@pytest.mark.parametrize("work", [ConvertPart, Dying])
def test_processes_make_the_same_file_even_if_one_is_killed(tmp_path, monkeypatch, work) -> None:
    for name, value in (("MIN_SIZE", 1), ("MIN_PART", 4096), ("MAX_PART", 4096)):
        monkeypatch.setattr(parts_of_files, name, value)
    monkeypatch.setattr(converting, "ConvertPart", work)
    path = tmp_path / "a.warc"
    path.write_bytes(archive("zst"))
    assert converted(path, 2) == converted(path, 1)
    assert os.listdir(tmp_path) == ["a.warc"]
    monkeypatch.undo()


@pytest.mark.slow
def test_a_slow_part_does_not_let_the_others_pile_up(tmp_path) -> None:
    jobs = [Job(str(number)) for number in range(12)]
    heard = Heard()
    outcomes = run_in_order(jobs, begun_before, heard, processes=2, ahead=4, folder=str(tmp_path))
    assert [outcome.job for outcome in outcomes] == jobs
    assert max(int(event) for _, event in heard.events[:4]) < 4


def begun_before(job: Job, context: JobContext) -> tuple[Status, object]:
    context.emit(job.source)
    if job.source == "0":
        time.sleep(0.5)
    return Status.DONE, None
