"""One large file in parts: what comes of it is what one process makes, whatever the file is."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seekwarc import tools
from seekwarc.errors import SeekWarcError
from tests.support.parts import FORMS, Parts, archive, damaged, pairs, shared, small_parts


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


MAKERS: dict[str, Callable[[Path, int], list[object]]] = {"index": indexed}


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
