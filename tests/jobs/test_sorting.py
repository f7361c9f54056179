"""External sorting: like `sorted`, each line once, in bounded memory, leaving no files."""

from __future__ import annotations

import os
import random
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.errors import TargetError
from seekwarc.jobs import sorting
from seekwarc.jobs.sorting import sorted_lines
from tests.support.leaks import open_below

LINES = st.lists(st.binary(max_size=12).map(lambda data: data.replace(b"\n", b"") + b"\n"), max_size=200)


@given(LINES, st.integers(1, 3000), st.integers(2, 4))
def test_the_result_is_a_sorted_set(lines: list[bytes], memory: int, runs: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting, "MAX_RUNS", runs)
        assert [*sorted_lines(lines, memory=memory)] == sorted(set(lines))


def shuffled(count: int) -> Iterator[bytes]:
    rng = random.Random(1)
    for _ in range(count):
        yield b"%032x %b\n" % (rng.randrange(1 << 100), b"x" * 160)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_input(tmp_path: Path) -> None:
    def peak(count: int) -> int:
        tracemalloc.start()
        try:
            before, number = b"", 0
            for line in sorted_lines(shuffled(count), memory=1 << 20, folder=str(tmp_path)):
                assert line > before
                before, number = line, number + 1
            assert number == count
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    few, many = peak(10_000), peak(60_000)
    assert many < 4 << 20, "twelve megabytes are sorted"
    assert many < few * 1.5


def test_few_files_are_open_at_a_time_and_none_is_left(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(sorting, "MAX_RUNS", 4)
    found = sorted_lines(shuffled(3000), memory=2000, folder=str(tmp_path))
    next(found)
    assert 1 < len(open_below(tmp_path)) < 40, "of some 400 runs"
    found.close()
    assert open_below(tmp_path) == []
    assert os.listdir(tmp_path) == []


def test_lines_that_fit_into_memory_need_no_file() -> None:
    assert [*sorted_lines([b"b\n", b"a\n", b"b\n"], folder="/nowhere")] == [b"a\n", b"b\n"]


def test_an_unwritable_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="for sorting cannot be written"):
        next(sorted_lines([b"a\n"] * 10, memory=1, folder=str(tmp_path / "none")))
