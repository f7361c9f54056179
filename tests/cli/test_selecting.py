"""`seekwarc.cli.selecting`."""

from __future__ import annotations

import argparse

import pytest

from seekwarc.cli.selecting import add_selection_arguments, archives_named, selection_of
from seekwarc.read.selection import Selection


def parsed(*words: str) -> Selection:
    parser = argparse.ArgumentParser()
    add_selection_arguments(parser)
    return selection_of(parser.parse_args(words))


def test_each_option_may_be_given_several_times() -> None:
    words = "--type response --type revisit --status 200 --status 3xx --mime image/* --uri a --uri b*"
    assert parsed(*words.split(), "--min-size", "1K") == Selection.of(
        type=["response", "revisit"], status=[200, "3xx"], mime="image/*", uri=["a", "b*"], min_size=1024
    )


def test_nothing_given_selects_all() -> None:
    assert not parsed()


def test_a_folder_stands_for_the_files_in_it(tmp_path) -> None:
    (tmp_path / "a.warc").touch()
    (tmp_path / "notes.txt").touch()
    assert archives_named([str(tmp_path)]) == [str(tmp_path / "a.warc")]
    assert archives_named(["a", "a", "-"]) == ["a", "a", "-"]


def test_a_size_that_is_invalid_is_refused(capsys) -> None:
    with pytest.raises(SystemExit):
        parsed("--min-size", "big")
    assert "is not a size" in capsys.readouterr().err
