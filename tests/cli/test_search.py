"""`seekwarc search`."""

from __future__ import annotations

import re
import sys

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.cli import main
from tests.support.writing import response


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("search")
    with seekwarc.open(folder / "a.warc.zst", "w") as out:
        for day in range(1, 15):
            block = response(
                f"<title>Tea {day}</title><p>Earl Grey, hot, number {day}.".encode(), "text/html"
            )
            out.write_response(f"http://example.org/{day}", block, date=f"2026-11-{day:02}T12:00:00Z")
        evil = response(b"evil kettle \xee\x80\x80 \xe2\x80\xae", "text/plain")
        out.write_response("http://example.org/evil", evil, date="2026-10-01T00:00:00Z")
    tools.index_text(folder / "a.warc.zst", folder / "a.fts")
    return folder / "a.fts"


def test_hits_say_how_to_open_their_records(command, index) -> None:
    answer = command("search", index, '"grey hot"', "number", "7")
    lines = answer.out.splitlines()
    assert lines[0] == "2026-11-07T12:00:00Z  Tea 7"
    assert lines[1] == "    http://example.org/7"
    assert lines[2] == "    Earl *Grey, hot*, *number* *7*."
    verb, cat, file, offset = lines[3].split()
    assert (verb, cat) == ("seekwarc", "cat")
    assert b"Earl Grey, hot, number 7." in command("cat", file, offset).stdout
    assert lines[-1] == "pages 1 to 1 of 1"
    assert answer.stderr == ""


def test_hits_are_printed_as_json(command, index) -> None:
    lines = command(
        "search", index, "tea", "--json", "--limit", 3, "--order", "date", "--start", 2
    ).json_lines
    assert [it["uri"][-2:] for it in lines] == ["12", "11", "10"]
    first = lines[0]
    assert first["file"] == str(index.with_name("a.warc.zst"))
    assert (first["title"], first["captures"], first["problem"]) == ("Tea 12", 1, None)


def test_conditions_narrow_a_search(command, index) -> None:
    options = [
        "--since",
        "2026-11-03",
        "--until",
        "2026-11-04",
        "--host",
        "example.org",
        "--mime",
        "text/html",
    ]
    answer = command("search", index, "tea", "--type", "response", *options, "--json")
    assert sorted(it["uri"][-1] for it in answer.json_lines) == ["3", "4"]
    for wrong in (["--host", "example.net"], ["--mime", "image/*"], ["--type", "resource"]):
        assert "nothing was found" in command("search", index, "tea", *wrong, status=1).stderr


def test_nothing_found_is_status_1_and_a_wrong_query_2(command, index) -> None:
    assert "nothing was found" in command("search", index, "coffee", status=1).stderr
    assert "nothing was found" in command("search", index, '"hot grey"', status=1).stderr
    assert "after the first 100 pages" in command("search", index, "tea", "--start", 100, status=1).stderr
    assert "has no `)`" in command("search", index, "(tea", status=2).stderr
    assert command("search", index, "!", "--json", status=2).json["error"]["kind"] == "usage"
    assert "is not a file" in command("search", index.with_name("b.fts"), "tea", status=2).stderr


def test_what_is_not_a_search_index_is_wrong_usage_and_a_damaged_one_is_not(command, index, tmp_path) -> None:
    archive, empty, damaged = tmp_path / "a.fts", tmp_path / "empty.fts", tmp_path / "damaged.fts"
    archive.write_bytes(index.with_name("a.warc.zst").read_bytes())
    empty.touch()
    for other in (archive, empty):
        answer = command("search", other, "tea", "--json", status=2)
        assert "is not a search index; make one with `seekwarc index --text" in answer.stderr
        assert answer.json["error"]["kind"] == "usage"
    data = index.read_bytes()
    damaged.write_bytes(data[:100] + b"\xff" * (len(data) - 100))
    assert "the search index is damaged" in command("search", damaged, "tea", status=1).stderr


def test_what_is_archived_is_shown_and_not_obeyed(command, index) -> None:
    out = command("search", index, "kettle").out
    assert "*kettle*" in out
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e]", out)


def test_on_a_terminal_words_are_bold(index, capsys, monkeypatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["search", str(index), "kettle"]) == 0
    assert "\x1b[1mkettle\x1b[0m" in capsys.readouterr().out
