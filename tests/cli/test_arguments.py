"""What the command says of its own arguments."""

from __future__ import annotations

import re

import pytest

from seekwarc.cli.verbs import VERBS


@pytest.mark.parametrize(
    ("words", "meant"),
    [(("verfy",), "verify"), (("ls", "--jsn", "x"), "--json"), (("help", "recove"), "recover")],
)
def test_what_was_meant_is_offered(command, words, meant) -> None:
    assert f"did you mean {meant}?" in command(*words, status=2).stderr


def test_help_verb_is_the_help_of_the_verb(command) -> None:
    assert command("help", "ls").out == command("ls", "--help").out
    assert command("help").out == command("--help").out


def test_limits_are_shown_when_asked_for(command) -> None:
    assert "--max-window" not in command("ls", "--help").out
    assert "--max-window SIZE" in command("ls", "--help-all").out


@pytest.mark.parametrize("action", ["train", "extract", "show"])
def test_a_command_of_a_verb_has_its_whole_name(command, action) -> None:
    words = ("dictionary", action)
    assert command(*words, "--help").out.startswith(f"usage: seekwarc dictionary {action} ")
    said = command(*words, status=2).stderr
    assert said.startswith(f"seekwarc dictionary {action}: the following arguments are required: ")
    assert said.endswith(f"see `seekwarc dictionary {action} --help`\n")


def test_a_file_whose_name_begins_like_an_option_is_named(command, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (("ls",), ("clip", "--from", "0", "--to", "1", "-o", "x.mp4"), ("ls", "a.warc", "-k")):
        assert "unknown option -x.warc.gz; " in command(*words, "-x.warc.gz", status=2).stderr
    assert "./-x.warc.gz" not in command("ls", "-x.warc.gz", status=2).stderr
    (tmp_path / "-x.warc.gz").touch()
    assert (
        "unknown option -x.warc.gz; the file is ./-x.warc.gz" in command("ls", "-x.warc.gz", status=2).stderr
    )
    assert "unknown option" not in command("ls", "-k", status=2).stderr
    assert "unknown option" not in command("cat", "--", "-x.warc.gz", status=2).stderr


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("columns", [60, 80])
def test_help_is_as_wide_as_the_terminal(verb, columns, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for line in VERBS[verb].parser().format_help().splitlines():
        is_example = re.match(r"\s*(seekwarc|ffmpeg|zstd|pg_dump) ", line)
        # From Python 3.13 on, argparse does not break "FILE|FOLDER|INDEX [FILE|FOLDER|INDEX ...]".
        is_one_name = re.fullmatch(r" +(\S+) \[\1 \.\.\.\]", line)
        assert len(line) <= columns or is_example or is_one_name, line
