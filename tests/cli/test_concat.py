"""`seekwarc concat`."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

import seekwarc
from tests.cli.conftest import FILM_URI, FORMS
from tests.support.foreign import Foreign, gzip_member, some_dictionary, text, warc_header
from tests.support.joined import assert_right, decompressed
from tests.support.processes import PATIENT
from tests.support.writing import noise, small_dictionary, written


def left_in(folder: Path) -> list[str]:
    """What a run left behind, hidden files too."""
    return sorted(os.listdir(folder))


@pytest.fixture
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another file, with a large record in it."""
    path = tmp_path_factory.mktemp("other") / "other.warc.zst"
    path.write_bytes(
        Foreign().record(b"x").record(noise(900_000), cuts=200_000, table=True).file_table().bytes()
    )
    return path


# What comes out.


def test_files_are_joined_without_recompressing(command, crawl, other, tmp_path) -> None:
    path = tmp_path / "new.warc.zst"
    answer = command("concat", crawl.zst, other, crawl.zst, "-o", path, "--json")
    data = path.read_bytes()
    records = assert_right(data)
    content = crawl.content + decompressed(other.read_bytes()) + crawl.content
    assert decompressed(data) == content
    assert answer.json == {
        "files": [str(crawl.zst), str(other), str(crawl.zst)],
        "target": str(path),
        "status": "done",
        "error": None,
        "records": 12,
        "target_size": len(data),
        "tables": "large",
        "bytes_copied": sum(frame.size for record in records for frame in record.frames),
        "bytes_recompressed": 0,
        "recompressed": [],
        "verified": True,
        "passed_over": [],
    }
    assert left_in(tmp_path) == [path.name]
    assert command("cat", path, "--uri", FILM_URI).stdout == crawl.film
    lines = command("ls", "--json", path).json_lines
    assert [line["offset"] for line in lines] == [record.offset for record in records]


def test_output_says_what_was_done(command, crawl, other, tmp_path) -> None:
    answer = command("concat", crawl.zst, other, "-o", tmp_path / "new.warc.zst")
    assert answer.out.splitlines()[0].startswith("2 files, 7 records: 1.9 MiB")
    assert "of frames copied (verified), 0 B of content recompressed" in answer.out
    assert answer.stderr == "", "no progress where standard error is no terminal"
    answer = command("concat", crawl.zst, "-o", tmp_path / "again.warc.zst", "--no-verify")
    assert answer.out.startswith("1 file, 5 records: ")
    assert "(not verified)" in answer.out


@pytest.mark.parametrize("form", FORMS[:2])
def test_other_compressions_are_taken_in_and_that_is_said_beforehand(
    command, crawl, other, tmp_path, form
) -> None:
    path = tmp_path / "new.warc.zst"
    answer = command("concat", other, crawl.path(form), "-o", path)
    said = (
        f"seekwarc: {crawl.path(form)}: the file is not a .warc.zst: its records will be compressed again\n"
    )
    assert answer.stderr == said
    assert f"{crawl.path(form)}: 5 records compressed again: the file is not a .warc.zst" in answer.out
    assert_right(path.read_bytes())
    assert decompressed(path.read_bytes()) == decompressed(other.read_bytes()) + crawl.content


def test_other_dictionaries_are_recompressed_and_named_beforehand(command, tmp_path) -> None:
    first, second = small_dictionary(), seekwarc.Dictionary(some_dictionary().as_bytes())
    record = (warc_header(3000), text(3000))
    for name, dictionary in (("a", first), ("b", second), ("c", first), ("d", None)):
        (tmp_path / name).write_bytes(written(record, record, dictionary=dictionary)[0])
    answer = command("concat", "a", "b", "c", "d", "-o", "new.warc.zst", cwd=tmp_path)
    again = "its records will be compressed again"
    assert answer.stderr.splitlines() == [
        f"seekwarc: b: the file and the new one have different dictionaries: {again}",
        f"seekwarc: d: the file has no dictionary, the new one has: {again}",
    ]
    data = (tmp_path / "new.warc.zst").read_bytes()
    assert_right(data, dictionary=first.data)
    assert decompressed(data, first.data) == b"".join(part + b"\r\n\r\n" for part in [b"".join(record)] * 8)


def test_what_is_said_beforehand_is_said_before_anything_is_written(start, crawl, tmp_path) -> None:
    process = start("concat", crawl.zst, crawl.path("warc.gz"), "-o", "-")
    assert process.stderr.readline().endswith(b"its records will be compressed again\n")
    assert process.stdout.read(4) == b"\x28\xb5\x2f\xfd"
    process.communicate()


def test_pipes_work_at_both_ends(command, crawl, other, tmp_path) -> None:
    answer = command("concat", other, "-", other, "-o", "-", stdin=crawl.zst.read_bytes())
    command("concat", other, crawl.zst, other, "-o", tmp_path / "new.warc.zst")
    assert answer.stdout == (tmp_path / "new.warc.zst").read_bytes()
    assert "3 files, 9 records" in answer.stderr, "standard output is taken by the file"


def test_a_pipe_of_something_else_is_refused_at_its_first_bytes(start, crawl, tmp_path) -> None:
    process = start("concat", crawl.zst, "-", "-o", tmp_path / "new.warc.zst")
    # The pipe stays open, and there is no end to what could come.
    process.stdin.write(b"y\n" * 32)
    process.stdin.flush()
    assert process.wait(timeout=PATIENT) == 1
    assert b"not a WARC file" in process.stderr.read()
    assert left_in(tmp_path) == []


def test_cat_and_concat_read_the_same(command, crawl, other, tmp_path) -> None:
    cat, path = tmp_path / "cat.warc.zst", tmp_path / "concat.warc.zst"
    cat.write_bytes(crawl.zst.read_bytes() + other.read_bytes())
    command("concat", crawl.zst, other, "-o", path)
    for file in (cat, path):
        assert [line["size"] for line in command("ls", "--json", file).json_lines][-2:] == [1, 900_000]
        assert (
            command("cat", file, "--uri", FILM_URI, "--range", "800000+70000").stdout
            == crawl.film[800_000:870_000]
        )
    command("concat", cat, "-o", tmp_path / "again.warc.zst")
    assert (tmp_path / "again.warc.zst").read_bytes() == path.read_bytes()


def test_names_of_files_are_safe_to_print(command, tmp_path) -> None:
    path = tmp_path / "evil\x1b[2J.warc.gz"
    path.write_bytes(Foreign().record(b"x").gzip().bytes())
    answer = command("concat", path, "-o", tmp_path / "new.warc.zst")
    assert "\x1b" not in answer.out + answer.stderr
    assert "\\x1b[2J" in answer.stderr


# Wrong usage.


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "required"),
        (("a.warc.zst",), "-o"),
        (("-o", "new.warc.zst"), "FILE"),
        (("a.warc.zst", "-o"), "expected one argument"),
        (("a.warc.zst", "-o", "new.warc.zst", "--tables", "every"), "unknown option --tables"),
        (("a.warc.zst", "-o", "new.warc.zst", "--max-window", "1"), "--max-window"),
        (("missing", "-o", "new.warc.zst"), "missing: cannot be opened: No such file"),
        (("*.arc", "-o", "new.warc.zst"), "*.arc: no file matches this pattern"),
        ((".", "-o", "a.warc.zst", "--force"), "source and target are the same file"),
        (("-", "-", "-o", "new.warc.zst"), "standard input can be read only once"),
        (("a.warc.zst", "-o", "new.warc.gz"), "`concat` writes only .warc.zst: name it so"),
        (("a.warc.zst", "-o", "new.WARC"), "`concat` writes only .warc.zst: name it so"),
        (("a.warc.zst", "-o", "."), "is a directory"),
        (("a.warc.zst", "-o", "none/new.warc.zst"), "there is no folder none; make it first"),
        (("a.warc.zst", "-o", "a.warc.zst"), "source and target are the same file"),
        (("b.warc.zst", "a.warc.zst", "-o", "./a.warc.zst"), "source and target are the same file"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_usage_is_reported_and_leaves_nothing(command, crawl, tmp_path, words, told) -> None:
    for name in ("a.warc.zst", "b.warc.zst"):
        (tmp_path / name).write_bytes(crawl.zst.read_bytes())
    assert told in command("concat", *words, status=2, cwd=tmp_path, stdin=b"").stderr
    assert left_in(tmp_path) == ["a.warc.zst", "b.warc.zst"]
    assert (tmp_path / "a.warc.zst").read_bytes() == crawl.zst.read_bytes()


@pytest.mark.parametrize("named", [".", "*.warc.zst"])
def test_a_folder_or_a_pattern_names_files(command, crawl, tmp_path, named) -> None:
    for name in ("a.warc.zst", "b.warc.zst"):
        (tmp_path / name).write_bytes(crawl.zst.read_bytes())
    assert command("concat", named, "-o", "new.warc.zst", cwd=tmp_path).out.startswith("2 files, ")


# What is damaged.


def test_damage_is_reported_by_file_and_offset_and_leaves_nothing(
    command, damaged, crawl, other, tmp_path
) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    stderr = command("concat", other, damaged, "-o", folder / "new.warc.zst", status=1).stderr
    place = int(stderr.removeprefix(f"seekwarc: {damaged}, offset ").split(":")[0])
    assert crawl.film_put.offset < place <= crawl.film_put.offset + 450_000
    assert stderr.count("\n") == 1
    assert left_in(folder) == []
    command("concat", other, damaged, "-o", folder / "new.warc.zst", "--no-verify")


def test_damage_keeps_the_older_file(command, damaged, tmp_path) -> None:
    path = tmp_path / "older.warc.zst"
    path.write_bytes(b"older")
    command("concat", damaged, "-o", path, "--force", status=1)
    assert path.read_bytes() == b"older"


@pytest.mark.parametrize("data", [b"", b"some text", b"\x28\xb5\x2f\xfd"], ids=["empty", "text", "magic"])
def test_what_is_not_a_warc_file_is_reported(command, crawl, tmp_path, data) -> None:
    (tmp_path / "bad").write_bytes(data)
    stderr = command("concat", crawl.zst, "bad", "-o", "new.warc.zst", status=1, cwd=tmp_path).stderr
    assert stderr.startswith("seekwarc: bad, offset 0: ")
    assert left_in(tmp_path) == ["bad"]


def test_several_records_in_one_member_are_distinguished(command, crawl, tmp_path) -> None:
    (tmp_path / "single.warc.gz").write_bytes(gzip_member(crawl.content))
    answer = command("concat", crawl.zst, "single.warc.gz", "-o", "new.warc.zst", cwd=tmp_path)
    assert "seekwarc: warning: " in answer.stderr
    assert len(command("ls", "--json", "new.warc.zst", cwd=tmp_path).json_lines) == 10


# Where there is no room, and where it is stopped.


def test_a_full_device_is_reported(command, crawl) -> None:
    stderr = command("concat", crawl.zst, crawl.zst, "-o", "/dev/full", status=2).stderr
    assert stderr == "seekwarc: /dev/full: cannot be written: No space left on device\n"


# Progress.


def test_joining_is_the_same_every_time(command, crawl, other) -> None:
    digests = {
        hashlib.sha256(command("concat", crawl.zst, other, "-o", "-").stdout).digest() for _ in range(3)
    }
    assert len(digests) == 1
