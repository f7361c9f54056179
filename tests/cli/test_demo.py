"""`seekwarc demo`."""

from __future__ import annotations

import os
import re
import shlex
import urllib.request
from pathlib import Path

import pytest

from tests.cli.conftest import decompressed


def test_the_seekable_file_is_read_at_a_fraction_of_the_cost(command) -> None:
    figures = command("demo", "--size", "8M", "--json").json
    gz, zst = figures["demo.warc.gz"], figures["demo.warc.zst"]
    assert zst["bytes_decoded"] < 1 << 20 < gz["bytes_decoded"]
    assert zst["bytes_fetched"] < 1 << 20 < gz["bytes_fetched"]


def test_files_are_kept_where_one_says(command, tmp_path) -> None:
    folder = tmp_path / "new" / "folder"
    out = command("demo", folder, "--size", "2M").out
    assert sorted(os.listdir(folder)) == ["demo.warc.gz", "demo.warc.zst"]
    assert decompressed(folder / "demo.warc.gz") == decompressed(folder / "demo.warc.zst")
    assert "The bytes are the same." in out


def test_the_folder_may_be_named_by_an_option(command, tmp_path) -> None:
    command("demo", "-o", tmp_path / "new", "--size", "64K")
    assert sorted(os.listdir(tmp_path / "new")) == ["demo.warc.gz", "demo.warc.zst"]
    assert "one folder" in command("demo", "a", "-o", "b", status=2, cwd=tmp_path).stderr


def shown_commands(out: str, folder: Path) -> list[list[str]]:
    lines = [line.partition("seekwarc ")[2] for line in out.splitlines() if "seekwarc " in line]
    return [shlex.split(line.partition(" | ")[0]) for line in lines if str(folder) in line]


def test_the_commands_that_it_shows_work(command, tmp_path) -> None:
    folder = tmp_path / "with a blank"
    serve, info, cat = shown_commands(command("demo", folder, "--size", "2M").out, folder)
    assert serve == ["serve", str(folder / "demo.warc.zst")]
    assert command(*info).out.startswith("record ")
    assert len(command(*cat).stdout) == 65536


@pytest.mark.slow
@pytest.mark.needs("module:uvicorn")
def test_the_result_can_be_looked_at_as_it_says(command, start, tmp_path) -> None:
    serve, *_ = shown_commands(command("demo", tmp_path, "--size", "1M").out, tmp_path)
    process = start(*serve, "--port", "0")
    address = re.search(rb"http://\S+", process.stdout.readline())[0].decode()
    with urllib.request.urlopen(address) as page:
        assert b"<title>" in page.read()


def test_it_ends_with_what_to_do_next(command) -> None:
    out = command("demo", "--size", "1M").out
    for words in ("seekwarc demo FOLDER", "seekwarc convert FILE.warc.gz", "seekwarc serve FILE.warc.zst"):
        assert words in out.rpartition("The bytes are the same.")[2]


def test_nothing_is_left_where_one_does_not_say(command, tmp_path) -> None:
    command("demo", "--size", "1M", env={**os.environ, "TMPDIR": str(tmp_path)})
    assert os.listdir(tmp_path) == []


def test_a_size_that_is_invalid_is_refused(command) -> None:
    assert "--size" in command("demo", "--size", "huge", status=2).stderr


def test_a_small_film_is_no_trouble(command) -> None:
    for size in ("0", "1", "64K"):
        assert "demo.warc.gz" in command("demo", "--size", size, "--json").json


def test_a_folder_that_cannot_be_made_is_reported(command, tmp_path) -> None:
    (tmp_path / "file").touch()
    assert str(tmp_path / "file") in command("demo", tmp_path / "file" / "in it", status=2).stderr
