"""One large file in parts: what comes of it is what one process makes, whatever the file is."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seekwarc import tools
from seekwarc.errors import ChecksumError, SeekWarcError
from seekwarc.write.file_layout import FileLayout
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
