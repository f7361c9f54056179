"""`seekwarc.cli.selecting`."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

import pytest

from seekwarc.cli.selecting import add_selection_arguments, archives_named, selection_of
from seekwarc.read.selection import Selection


def parsed(*words: str) -> Selection:
    parser = argparse.ArgumentParser()
    add_selection_arguments(parser)
    return selection_of(parser.parse_args(words))


def test_each_option_may_be_given_several_times() -> None:
    words = "--type response --type revisit --status 200 --status 3xx --mime image/* --uri a --uri b*"
    assert parsed(*words.split(), "--min-size", "1K", "--host", "c.org", "--host", "d.org") == Selection.of(
        type=["response", "revisit"],
        status=[200, "3xx"],
        mime="image/*",
        uri=["a", "b*"],
        min_size=1024,
        host=["c.org", "d.org"],
    )


@pytest.mark.parametrize(
    ("words", "since", "until"),
    [
        ("2026", "2026-01-01T00:00:00", "2026-12-31T23:59:59.999999"),
        ("2026-02", "2026-02-01T00:00:00", "2026-02-28T23:59:59.999999"),
        ("2024-02", "2024-02-01T00:00:00", "2024-02-29T23:59:59.999999"),
        ("9999-12-31", "9999-12-31T00:00:00", "9999-12-31T23:59:59.999999"),
        ("2026-11-17T06:05Z", "2026-11-17T06:05:00", "2026-11-17T06:05:59.999999"),
        ("2026-11-17T06:05:04+01:00", "2026-11-17T05:05:04", "2026-11-17T05:05:04.999999"),
        ("2026-11-17T06:05:04.5Z", "2026-11-17T06:05:04.5", "2026-11-17T06:05:04.5"),
    ],
)
def test_a_date_is_a_period_from_its_beginning_to_its_end(words: str, since: str, until: str) -> None:
    wanted = Selection.of(
        since=datetime.fromisoformat(since).replace(tzinfo=UTC),
        until=datetime.fromisoformat(until).replace(tzinfo=UTC),
    )
    assert parsed("--since", words, "--until", words) == wanted


@pytest.mark.parametrize("text", ["yesterday", "2026-13", "0001-01-01T00:00+01:00"])
def test_an_invalid_date_is_refused(text: str, capsys) -> None:
    with pytest.raises(SystemExit):
        parsed("--until", text)
    assert f"argument --until: '{text}' is not " in capsys.readouterr().err


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
