"""`seekwarc extract`."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import jsonschema
import pytest

from tests.cli.conftest import FORMS, run_on_terminal

SCHEMA = json.loads((Path(__file__).parents[2] / "spec-notes" / "json.schema.json").read_text())


def lines_of(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "manifest.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("form", FORMS)
def test_payloads_are_written_and_listed(command, crawl, tmp_path, form) -> None:
    out = command("extract", crawl.path(form), "-o", tmp_path / "new").out
    assert out.startswith(f"{tmp_path / 'new'}: 2 files, ")
    assert (tmp_path / "new" / "example.org_film.mp4").read_bytes() == crawl.film
    assert [line["offset"] for line in lines_of(tmp_path / "new")] == [
        crawl.put(1, form).offset,
        crawl.put(3, form).offset,
    ]


def test_a_pipe_gives_the_same_as_the_file(command, crawl, tmp_path) -> None:
    command("extract", "-", "-o", tmp_path / "new", stdin=crawl.zst.read_bytes())
    assert (tmp_path / "new" / "example.org_film.mp4").read_bytes() == crawl.film


def test_a_folder_is_searched_with_the_conditions_of_ls(command, crawl, tmp_path) -> None:
    command("extract", crawl.folder, "--uri", "*.mp4", "--min-size", "1M", "-o", tmp_path / "new")
    made = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert made == [
        "example.org_film-2.mp4",
        "example.org_film-3.mp4",
        "example.org_film.mp4",
        "manifest.jsonl",
    ]


def test_json_tells_of_each_record_and_file(command, crawl, tmp_path) -> None:
    *records, file = command("extract", "--json", crawl.zst, "-o", tmp_path / "new").json_lines
    for line in (*records, file):
        jsonschema.validate(line, SCHEMA)
    assert records == lines_of(tmp_path / "new")
    assert records[1]["sha256"] == hashlib.sha256(crawl.film).hexdigest()
    assert file == {
        "file": str(crawl.zst),
        "target": str(tmp_path / "new"),
        "status": "done",
        "records": 2,
        "error": None,
    }


def test_damage_is_told_and_the_others_are_written(command, crawl, damaged, tmp_path) -> None:
    answer = command("extract", "--json", damaged, crawl.path("warc"), "-o", tmp_path / "new", status=1)
    assert str(damaged) in answer.stderr
    lines = lines_of(tmp_path / "new")
    for line in (*lines, *answer.json_lines):
        jsonschema.validate(line, SCHEMA)
    assert [line["status"] for line in lines] == ["done", "failed", "done", "done"]
    assert lines[1]["error"]["kind"] == "checksum"
    assert (tmp_path / "new" / "example.org_film.mp4").read_bytes() == crawl.film
    assert answer.json_lines[2]["status"] == "problems"


def test_a_second_run_is_refused_without_force(command, crawl, tmp_path) -> None:
    command("extract", crawl.zst, "-o", tmp_path / "new")
    answer = command("extract", crawl.zst, "-o", tmp_path / "new", status=2)
    assert "--force" in answer.stderr
    command("extract", crawl.zst, "-o", tmp_path / "new", "--force")
    assert len(list((tmp_path / "new").iterdir())) == 3


def test_a_payload_above_the_limit_is_told(command, crawl, tmp_path) -> None:
    answer = command("extract", crawl.zst, "-o", tmp_path / "new", "--max-size", "1M", status=1)
    assert "--max-size" in answer.stderr
    assert not (tmp_path / "new" / "example.org_film.mp4").exists()


def test_that_nothing_is_as_asked_for_is_said(command, crawl, tmp_path) -> None:
    answer = command("extract", crawl.zst, "--status", "404", "-o", tmp_path / "new", status=1)
    assert "no record is as asked for" in answer.stderr


def test_a_full_disk_ends_it_with_one_message(command, crawl, small_disk) -> None:
    answer = command("extract", crawl.zst, "-o", small_disk / "new", status=2)
    assert "No space left" in answer.stderr
    assert answer.stderr.count("\n") == 1
    # What did not fit left no file that could be taken for the whole payload.
    assert not list((small_disk / "new").glob("*film*"))


def test_hostile_text_is_shown_and_not_obeyed(command, hostile, tmp_path) -> None:
    answer = command("extract", hostile, "--json", "-o", tmp_path / "new", status=0)
    assert "\x1b" not in answer.out + answer.stderr
    for path in (tmp_path / "new").iterdir():
        assert path.name.isprintable()


def test_progress_is_shown_on_a_terminal(crawl, tmp_path) -> None:
    status, shown = run_on_terminal("extract", crawl.zst, "-o", tmp_path / "new")
    assert status == 0
    assert b"%" in shown
