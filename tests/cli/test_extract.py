"""`seekwarc extract`."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

import seekwarc
from seekwarc.make.extracting import Extractor
from seekwarc.read.selection import Selection
from tests.cli.conftest import FORMS
from tests.support.processes import PATIENT, wait_until

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


def test_damage_is_reported_and_the_others_are_written(command, crawl, damaged, tmp_path) -> None:
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


def test_a_payload_above_the_limit_is_reported(command, crawl, tmp_path) -> None:
    answer = command("extract", crawl.zst, "-o", tmp_path / "new", "--max-size", "1M", status=1)
    assert "--max-size" in answer.stderr
    assert not (tmp_path / "new" / "example.org_film.mp4").exists()


def test_no_match_is_reported(command, crawl, tmp_path) -> None:
    answer = command("extract", crawl.zst, "--status", "404", "-o", tmp_path / "new", status=1)
    assert "no record matches" in answer.stderr


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


# Interrupted.


@pytest.fixture(scope="module")
def many_payloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of very many small payloads, and of some large ones."""
    path = tmp_path_factory.mktemp("many") / "many.warc.zst"
    with seekwarc.open(path, "w", level=1) as out:
        for number in range(4000):
            size = 2_000_000 if number % 400 == 399 else 20
            out.write_resource(f"http://example.org/{number}.bin", bytes([number % 256]) * size, None)
    return path


def assert_whole_and_listed(folder: Path) -> int:
    """Assert that each file is as long and has the digest as listed, and return how many there are."""
    listed = {line["target"]: (line["size"], line["sha256"]) for line in lines_of(folder)}
    found = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "manifest.jsonl"}
    assert listed == {name: (len(data), hashlib.sha256(data).hexdigest()) for name, data in found.items()}
    return len(found)


@pytest.mark.posix
@pytest.mark.parametrize(
    ("number", "after"),
    [
        (signal.SIGINT, 0),
        pytest.param(signal.SIGTERM, 0.1, marks=pytest.mark.slow),
        *(pytest.param(signal.SIGINT, 0.05 * turn, marks=pytest.mark.slow) for turn in range(1, 9)),
    ],
)
def test_an_interrupt_leaves_whole_files_that_are_listed(
    start, many_payloads, tmp_path, number, after
) -> None:
    # On a busy machine it may have ended before the signal comes; then once more.
    for turn in range(10):
        folder = tmp_path / str(turn)
        process = start("extract", many_payloads, "-o", folder)
        wait_until(lambda folder=folder: len(list(folder.glob("*.bin"))) >= 20)
        time.sleep(after * random.random())
        process.send_signal(number)
        stderr = process.communicate(timeout=PATIENT)[1]
        if process.returncode:
            break
    assert (process.returncode, stderr) == (128 + number, b"seekwarc: stopped\n")
    assert 20 <= assert_whole_and_listed(folder) < 4000


def test_a_file_is_listed_if_the_interrupt_comes_as_it_is_named(crawl, tmp_path, monkeypatch) -> None:
    def replace_and_stop(source: str, target: str) -> None:
        os.replace(source, target)
        raise KeyboardInterrupt

    monkeypatch.setattr("seekwarc.make.extracting.replace", replace_and_stop)
    with pytest.raises(KeyboardInterrupt):
        extract_all(crawl.zst, tmp_path / "new")
    assert assert_whole_and_listed(tmp_path / "new") == 1


def test_a_file_is_not_listed_if_the_interrupt_comes_before(crawl, tmp_path, monkeypatch) -> None:
    def stop(source: str, target: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("seekwarc.make.extracting.replace", stop)
    with pytest.raises(KeyboardInterrupt):
        extract_all(crawl.zst, tmp_path / "new")
    assert assert_whole_and_listed(tmp_path / "new") == 0


def extract_all(path: Path, folder: Path) -> None:
    with Extractor([str(path)], str(folder), Selection.of()) as extractor:
        for _ in extractor.extract(str(path)):
            pass


# Many files.


def write_revisited_files(folder: Path, count: int) -> None:
    """Write files of which the first has a page, and each other a revisit of it."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    original = None
    folder.mkdir()
    for number in range(count):
        with seekwarc.open(folder / f"{number:05}.warc.gz", "w") as out:
            if original is None:
                original = out.write_response("http://example.org/", head + b"<p>page")
            else:
                out.write_revisit(
                    f"http://example.org/{number}",
                    head,
                    payload_digest=original.payload_digest,
                    refers_to=original,
                    refers_to_target_uri=original.target_uri,
                    refers_to_date=str(original.date),
                )


@pytest.mark.posix
@pytest.mark.parametrize("count", [100, pytest.param(1100, marks=pytest.mark.slow)])
def test_revisits_in_more_files_than_may_be_open_are_resolved(tmp_path: Path, count: int) -> None:
    write_revisited_files(tmp_path / "crawl", count)
    words = [sys.executable, "-m", "seekwarc", "extract", "crawl", "-o", "new"]

    resource = pytest.importorskip("resource")

    def allow_few_files() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    done = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, check=False, preexec_fn=allow_few_files
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert assert_whole_and_listed(tmp_path / "new") == count
    assert {line["size"] for line in lines_of(tmp_path / "new")} == {7}
