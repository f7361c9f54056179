"""`seekwarc index --text`."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys

import pytest

import seekwarc
from tests.cli.conftest import assert_well_behaved
from tests.support.writing import response


def write(path, words: str, count: int = 3):
    folder = words.partition(" ")[0]
    with seekwarc.open(path, "w", existing="overwrite") as out:
        for number in range(count):
            block = response(f"<title>Page {number}</title><p>{words} {number}".encode(), "text/html")
            uri = f"http://example.org/{folder}/{number}"
            out.write_response(uri, block, date="2026-11-16T12:00:00Z")
    return path


def test_an_index_is_made_and_brought_up_to_date(command, tmp_path) -> None:
    one, two, index = write(tmp_path / "one.warc.zst", "tea"), tmp_path / "two.warc.gz", tmp_path / "a.fts"
    answer = command("index", "--text", one, "-o", index)
    assert answer.out == f"{index}: 3 pages, 3 captures, 1 file read\n"
    assert command("index", "--text", one, "-o", index).out == f"{index}: up to date, 1 file unchanged\n"
    write(two, "milk")
    answer = command("index", "--text", tmp_path, "-o", index)
    assert answer.out == f"{index}: 6 pages, 6 captures, 1 file read, 1 file unchanged\n"
    answer = command("index", "--text", two, "-o", index, "--force", "--json")
    (line,) = answer.json_lines
    assert (line["file"], line["captures"], line["problems"], line["status"]) == (str(two), 3, 0, "done")
    assert command("search", index, "tea", status=1).out == ""
    assert set(os.listdir(tmp_path)) == {"a.fts", "one.warc.zst", "two.warc.gz"}


@pytest.mark.slow
def test_several_processes_make_the_same_index(command, tmp_path) -> None:
    files = [write(tmp_path / f"{name}.warc.zst", name) for name in ("tea", "milk", "cake")]
    command("index", "--text", *files, "-o", tmp_path / "one.fts", "--jobs", 1)
    command("index", "--text", *files, "-o", tmp_path / "two.fts", "--jobs", 2)
    assert (tmp_path / "one.fts").read_bytes() == (tmp_path / "two.fts").read_bytes()


def test_damage_is_reported_and_the_rest_is_indexed(command, tmp_path) -> None:
    path = write(tmp_path / "a.warc.zst", "tea")
    with seekwarc.open(path) as archive:
        middle = [record.offset for record in archive if record.type == "response"][1]
    data = bytearray(path.read_bytes())
    data[middle + 60] ^= 0xFF
    path.write_bytes(data)
    answer = command("index", "--text", path, "-o", tmp_path / "a.fts", status=1)
    assert f"{path}, offset {middle}" in answer.stderr
    assert "2 pages, 2 captures, 1 file read" in answer.out
    assert command("search", tmp_path / "a.fts", "tea", "--json").out.count("\n") == 2


def test_a_file_that_fails_leaves_the_index_unless_asked_to_go_on(command, tmp_path) -> None:
    good, bad, index = write(tmp_path / "a.warc.zst", "tea"), tmp_path / "gone.warc.zst", tmp_path / "a.fts"
    assert command("index", "--text", bad, good, "-o", index, status=2).stderr
    assert not index.exists()
    command("index", "--text", bad, good, "-o", index, "--keep-going", status=2)
    assert command("search", index, "tea").out.count("seekwarc cat") == 3


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["-o", "a.fts", "--parquet"], "--parquet"),
        (["-o", "a.fts", "--all"], "--all"),
        (["-o", "a.fts", "--to-dir", "x"], "--to-dir"),
        ([], "-o NAME.fts"),
        (["-o", "-"], "-o NAME.fts"),
        (["-", "-o", "a.fts"], "standard input"),
    ],
)
def test_what_has_no_meaning_with_text_is_refused(command, tmp_path, options, why) -> None:
    write(tmp_path / "a.warc.zst", "tea")
    assert why in command("index", "--text", "a.warc.zst", *options, status=2, cwd=tmp_path).stderr
    assert os.listdir(tmp_path) == ["a.warc.zst"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of the size of files")
def test_a_full_disk_leaves_the_old_index(command, tmp_path) -> None:
    one, two, index = write(tmp_path / "one.warc.zst", "tea"), tmp_path / "two.warc.zst", tmp_path / "a.fts"
    command("index", "--text", one, "-o", index)
    before = index.read_bytes()
    write(two, " ".join(f"w{number}" for number in range(20_000)))
    done = subprocess.run(
        [sys.executable, "-m", "seekwarc", "index", "--text", two, "-o", index],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000)),
        capture_output=True,
        check=False,
    )
    assert_well_behaved(done.returncode, done.stderr)
    assert done.returncode == 2
    assert b"cannot be written" in done.stderr
    assert index.read_bytes() == before
    assert set(os.listdir(tmp_path)) == {"a.fts", "one.warc.zst", "two.warc.zst"}


@pytest.mark.slow
@pytest.mark.parametrize(("number", "jobs"), [(signal.SIGINT, 1), (signal.SIGTERM, 1), (signal.SIGINT, 2)])
def test_a_signal_leaves_the_old_index(command, start, tmp_path, number, jobs) -> None:
    index = tmp_path / "a.fts"
    command("index", "--text", write(tmp_path / "one.warc.zst", "tea"), "-o", index)
    before = index.read_bytes()
    large = [write(tmp_path / f"large{it}.warc.zst", "milk " * 2000, 2000) for it in range(2)]
    process = start("index", "--text", *large, "-o", index, "--jobs", jobs)
    while not any(name.startswith(".index.") for name in os.listdir(tmp_path)):
        assert process.poll() is None
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert_well_behaved(process.returncode, err)
    assert process.returncode == 128 + number
    assert index.read_bytes() == before
    assert set(os.listdir(tmp_path)) == {"a.fts", "one.warc.zst", "large0.warc.zst", "large1.warc.zst"}


@pytest.mark.slow
def test_a_killed_run_leaves_the_old_index(command, start, tmp_path) -> None:
    index = tmp_path / "a.fts"
    command("index", "--text", write(tmp_path / "one.warc.zst", "tea"), "-o", index)
    before = index.read_bytes()
    process = start("index", "--text", write(tmp_path / "b.warc.zst", "milk " * 2000, 2000), "-o", index)
    while not any(name.startswith(".index.") for name in os.listdir(tmp_path)):
        assert process.poll() is None
    process.kill()
    process.wait()
    assert index.read_bytes() == before
    assert "2003 pages" in command("index", "--text", tmp_path / "b.warc.zst", "-o", index).out


def test_a_file_whose_name_is_not_utf8_is_refused_with_why(command, tmp_path) -> None:
    source = tmp_path / os.fsdecode(b"\xe9.warc.gz")
    try:
        write(source, "tea")
    except OSError:
        pytest.skip("names are UTF-8 on this file system")
    stderr = command("index", "--text", source, "-o", tmp_path / "a.fts", status=2).stderr
    assert "%E9.warc.gz: its path is not UTF-8" in stderr
    assert os.listdir(tmp_path) == [source.name]


def test_a_damaged_index_is_named_when_it_is_added_to(command, tmp_path) -> None:
    index = tmp_path / "a.fts"
    command("index", "--text", write(tmp_path / "a.warc.zst", "tea", 200), "-o", index)
    data = bytearray(index.read_bytes())
    data[4096 + 64 :] = b"\xff" * (len(data) - 4096 - 64)
    index.write_bytes(data)
    words = ("index", "--text", write(tmp_path / "b.warc.zst", "milk"), "-o", index)
    stderr = command(*words, status=2).stderr
    assert stderr.startswith(f"seekwarc: {index}: the index cannot be written: ")
    assert index.read_bytes() == data
