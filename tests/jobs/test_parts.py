"""One large file in parts: what comes of it is what one process makes, whatever the file is."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from seekwarc import tools
from seekwarc.errors import SeekWarcError
from seekwarc.jobs.outcome import Job, Status
from seekwarc.jobs.progress import counting
from seekwarc.jobs.work import JobContext
from seekwarc.jobs.workers import run_in_order
from tests.support.outcomes import Heard
from tests.support.parts import (
    FORMS,
    Parts,
    archive,
    converted,
    damaged,
    deduplicated,
    filtered,
    indexed,
    joined,
    pairs,
    recovered,
    redacted,
    shared,
    small_parts,
    verified,
)
from tests.support.processes import wait_until
from tests.support.rounds import rounds


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Parts:
    return small_parts(monkeypatch)


MAKERS: dict[str, Callable[[Path, int], list[object]]] = {
    "index": indexed,
    "convert": converted,
    "verify": verified,
    "recover": recovered,
    "filter": filtered,
    "redact": redacted,
    "dedupe": deduplicated,
    "join": joined,
}


@pytest.mark.one_in(5)
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
    for number in range(rounds(12)):
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


@pytest.mark.slow
def test_a_slow_part_does_not_let_the_others_pile_up(tmp_path) -> None:
    jobs = [Job(str(tmp_path / str(number))) for number in range(12)]
    outcomes = run_in_order(jobs, slow_at_first, Heard(), processes=2, ahead=4, folder=str(tmp_path))
    assert [(outcome.job, outcome.result) for outcome in outcomes] == [(job, False) for job in jobs]


def slow_at_first(job: Job, _: JobContext) -> tuple[Status, object]:
    path = Path(job.source)
    path.touch()
    if path.name == "0":
        wait_until(path.with_name("3").exists)
        time.sleep(0.2)
    return Status.DONE, path.name == "0" and path.with_name("4").exists()
