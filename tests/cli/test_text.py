"""`seekwarc text`."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from tests.support.pages import answer, crawl_of, html

SCHEMA = json.loads((Path(__file__).parents[2] / "spec-notes" / "json.schema.json").read_text())


@pytest.fixture
def crawls(tmp_path: Path) -> Path:
    folder = tmp_path / "crawls"
    folder.mkdir()
    for day in range(3):
        pages = [answer(html(f"day {day} page {number}")) for number in range(2)]
        crawl_of(folder / f"{day}.warc.zst", [*pages, answer(html("every day"))])
    return folder


def texts(data: bytes) -> list[str]:
    return [json.loads(line)["text"] for line in data.splitlines()]


def test_pages_of_a_folder_become_lines_in_order(command, crawls, tmp_path) -> None:
    out = command("text", crawls, "-o", tmp_path / "new.jsonl").out
    assert out == f"{tmp_path / 'new.jsonl'}: 9 pages, 99 characters\n"
    one = (tmp_path / "new.jsonl").read_bytes()
    assert texts(one)[:4] == ["day 0 page 0", "day 0 page 1", "every day", "day 1 page 0"]
    command("text", crawls, "-o", tmp_path / "two.jsonl", "--jobs", "2")
    assert (tmp_path / "two.jsonl").read_bytes() == one


@pytest.mark.slow
def test_duplicates_are_left_out_over_files(command, crawls, tmp_path) -> None:
    for jobs in (1, 2):
        out = command("text", crawls, "-o", tmp_path / "new.jsonl", "--dedupe", "-f", "--jobs", jobs).out
        assert out.endswith(": 7 pages, 81 characters, 2 duplicates left out\n")
        assert texts((tmp_path / "new.jsonl").read_bytes()).count("every day") == 1


def test_standard_input_and_output_can_be_used(command, crawls) -> None:
    data = (crawls / "1.warc.zst").read_bytes()
    done = command("text", "-", "-o", "-", "--uri", "*/1", stdin=data)
    assert texts(done.stdout) == ["day 1 page 1"]
    assert json.loads(done.stdout)["file"] == "-"
    assert "1 page, 12 characters" in done.stderr


def test_pages_go_to_standard_output_without_an_output(command, crawls) -> None:
    named, unnamed = (command("text", crawls, *output) for output in (["-o", "-"], []))
    assert unnamed.stdout == named.stdout != ""
    assert "9 pages" in unnamed.stderr


def test_json_tells_of_each_file(command, crawls, tmp_path) -> None:
    lines = command("text", crawls, "-o", tmp_path / "new.jsonl", "--json").json_lines
    for line in lines:
        jsonschema.validate(line, SCHEMA)
    assert [line["pages"] for line in lines] == [3, 3, 3]


def test_a_damaged_record_is_reported_with_status_1(command, crawls, tmp_path) -> None:
    path = crawls / "1.warc.zst"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    done = command("text", crawls, "-o", tmp_path / "new.jsonl", status=1)
    assert str(path) in done.stderr
    assert "1 problem" in done.out
    assert len(texts((tmp_path / "new.jsonl").read_bytes())) == 8


def test_a_missing_file_leaves_no_file_unless_kept_going(command, crawls, tmp_path) -> None:
    names = [crawls / "0.warc.zst", tmp_path / "missing.warc", crawls / "1.warc.zst"]
    command("text", *names, "-o", tmp_path / "new.jsonl", status=2)
    assert not (tmp_path / "new.jsonl").exists()
    command("text", *names, "-o", tmp_path / "new.jsonl", "-k", status=2)
    assert len(texts((tmp_path / "new.jsonl").read_bytes())) == 6


def test_nothing_that_matches_is_status_1_and_no_file(command, crawls, tmp_path) -> None:
    done = command("text", crawls, "-o", tmp_path / "new.jsonl", "--mime", "video/*", status=1)
    assert "no record has text, or matches" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["crawls"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-o", "new.csv"], "use .jsonl"),
        (["-o", "new.jsonl", "--status", "yes"], "status"),
        (["-o", "new.jsonl", "--max-text", "0"], "1"),
    ],
)
def test_wrong_usage_is_said(command, crawls, tmp_path, words, message) -> None:
    done = command("text", crawls, *words, status=2, cwd=tmp_path)
    assert message in done.stderr
    assert not (tmp_path / "new.jsonl").exists()


def test_an_existing_file_is_refused_before_work(command, crawls, tmp_path) -> None:
    (tmp_path / "new.jsonl").write_bytes(b"mine")
    command("text", crawls, "-o", tmp_path / "new.jsonl", status=2)
    assert (tmp_path / "new.jsonl").read_bytes() == b"mine"
