"""Files that cannot be read are left out of a job, or stop it."""

from __future__ import annotations

import pytest

from seekwarc.errors import FormatError, FormatWarning, NotFoundError, SourceError, TargetError
from seekwarc.jobs.passing import readable


def examine(name: str) -> str:
    errors = {"cut": FormatError, "gone": SourceError, "full": TargetError}
    if name in errors:
        raise errors[name]("is not read", source=name)
    return name.upper()


def test_files_that_are_refused_are_left_out_in_order() -> None:
    passed: list[Exception] = []
    assert readable(["a", "cut", "b", "gone"], examine, passed.append) == ["A", "B"]
    assert list(map(str, passed)) == ["cut: is not read", "gone: is not read"]


def test_the_first_error_is_raised_unless_told_otherwise() -> None:
    with pytest.raises(FormatError, match="cut: is not read"):
        readable(["a", "cut", "gone"], examine, "raise")
    with pytest.warns(FormatWarning, match="cut: is not read; the file is passed over"):
        assert readable(["a", "cut"], examine, "skip") == ["A"]


def test_what_is_not_an_error_of_a_file_is_always_raised() -> None:
    with pytest.raises(TargetError):
        readable(["a", "full"], examine, [].append)


def test_that_no_file_is_left_is_an_error_unless_none_is_needed() -> None:
    with pytest.raises(NotFoundError, match="no file is left of 2 files, so nothing was written"):
        readable(["cut", "gone"], examine, [].append)
    assert readable(["cut", "gone"], examine, [].append, least=0) == []
    assert readable([], examine, [].append) == [], "that is for the verb to refuse"


def test_other_words_are_refused() -> None:
    with pytest.raises(ValueError, match='on_error is \'ignore\', not "raise", "skip" or a function'):
        readable(["a"], examine, "ignore")
