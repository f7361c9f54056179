"""`seekwarc split`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from seekwarc.cli.sizes import human_size
from tests.cli.conftest import FILM_URI, FORMS
from tests.support.joined import assert_right, decompressed
from tests.support.reading import types_in


def left_in(folder: Path) -> list[str]:
    """What a run left behind, hidden files too."""
    return sorted(os.listdir(folder))


@pytest.mark.parametrize("form", FORMS)
def test_a_file_is_cut_by_number_of_records(command, crawl, tmp_path, form) -> None:
    answer = command("split", crawl.path(form), "-o", tmp_path / "part.warc.zst", "--records", 2, "--json")
    assert left_in(tmp_path) == [f"part-{number:05}.warc.zst" for number in range(3)]
    paths = [tmp_path / name for name in left_in(tmp_path)]
    assert [types_in(path) for path in paths] == [
        ["warcinfo", "response"],
        ["warcinfo", "request", "response"],
        ["warcinfo", "metadata"],
    ]
    for path in paths:
        assert_right(path.read_bytes())
    assert answer.json["records"] == 5
    assert answer.json["pieces"] == [
        {"target": str(path), "records": len(types_in(path)), "target_size": path.stat().st_size}
        for path in paths
    ]
    assert (answer.json["bytes_recompressed"] == 0) == (form == "warc.zst")
    assert answer.json["verified"] is True
    assert (
        command("cat", paths[1], "--uri", FILM_URI, "--range", "800000+70000").stdout
        == (crawl.film[800_000:870_000])
    )


def test_a_file_is_cut_by_size(command, crawl, tmp_path) -> None:
    answer = command("split", crawl.zst, "-o", tmp_path / "part", "--size", "64K")
    assert left_in(tmp_path) == [f"part-{number:05}.warc.zst" for number in range(3)]
    lines = answer.out.splitlines()
    assert lines[0].split() == [
        *human_size((tmp_path / "part-00000.warc.zst").stat().st_size).split(),
        "3",
        "records",
        str(tmp_path / "part-00000.warc.zst"),
    ]
    assert lines[3] == "3 files of 5 records"
    assert "of frames copied (verified), 0 B of content recompressed" in lines[4]
    assert answer.stderr == ""


def test_without_copies_the_pieces_are_the_file(command, crawl, tmp_path) -> None:
    command("split", crawl.zst, "-o", tmp_path / "part", "--records", 1, "--no-warcinfo")
    paths = [tmp_path / name for name in left_in(tmp_path)]
    assert len(paths) == 5
    assert b"".join(decompressed(path.read_bytes()) for path in paths) == crawl.content
    command("concat", *paths, "-o", tmp_path / "again.warc.zst")
    assert decompressed((tmp_path / "again.warc.zst").read_bytes()) == crawl.content


def test_another_compression_is_said_beforehand(command, crawl, tmp_path) -> None:
    answer = command("split", crawl.path("warc.gz"), "-o", tmp_path / "part", "--records", 9)
    path = crawl.path("warc.gz")
    assert answer.stderr == (
        f"seekwarc: {path}: the file is not a .warc.zst: its records will be compressed again\n"
    )
    assert f"{path}: 5 records compressed again: the file is not a .warc.zst" in answer.out
    assert answer.out.splitlines()[1] == "1 file of 5 records"


def test_standard_input_can_be_cut(command, crawl, tmp_path) -> None:
    command("split", "-", "-o", tmp_path / "part", "--records", 9, stdin=crawl.zst.read_bytes())
    assert decompressed((tmp_path / "part-00000.warc.zst").read_bytes()) == crawl.content


# Wrong usage.


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "required"),
        (("crawl",), "-o"),
        (("crawl", "-o", "part"), "one of the arguments --size --records is required"),
        (("crawl", "-o", "part", "--size", "1M", "--records", "2"), "not allowed with"),
        (("crawl", "-o", "part", "--size", "1"), "--size is 1, not 65536 or more"),
        (("crawl", "-o", "part", "--size", "0"), "--size is 0"),
        (("crawl", "-o", "part", "--size", "much"), "'much' is not a size"),
        (("crawl", "-o", "part", "--size", "-5"), "--size"),
        (("crawl", "-o", "part", "--records", "0"), "'0' is not a number of records"),
        (("crawl", "-o", "part", "--records", "-3"), "'-3' is not a number of records"),
        (("crawl", "-o", "part", "--records", "1.5"), "--records"),
        (("crawl", "-o", "-", "--records", "1"), "several files cannot go to standard output"),
        (("crawl", "-o", "part.warc.gz", "--records", "1"), "the pieces are .warc.zst files; name them so"),
        (("crawl", "-o", "part.warc", "--records", "1"), "the pieces are .warc.zst files; name them so"),
        (("crawl", "-o", ".", "--records", "1"), ". is a folder; name the pieces in it"),
        (("crawl", "-o", "none/part", "--records", "1"), "cannot be written: No such file"),
        (("crawl", "-o", "taken", "--records", "1"), "taken-00001.warc.zst: exists already"),
        (("missing", "-o", "part", "--records", "1"), "missing: cannot be opened"),
        (("crawl", "crawl", "-o", "part", "--records", "1"), "unrecognized"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_usage_is_reported_and_leaves_nothing(command, crawl, tmp_path, words, told) -> None:
    (tmp_path / "crawl").write_bytes(crawl.zst.read_bytes())
    (tmp_path / "taken-00001.warc.zst").write_bytes(b"mine")
    assert told in command("split", *words, status=2, cwd=tmp_path).stderr
    assert left_in(tmp_path) == ["crawl", "taken-00001.warc.zst"]
    assert (tmp_path / "taken-00001.warc.zst").read_bytes() == b"mine"


# What goes wrong.


def test_damage_is_reported_by_file_and_offset_and_leaves_no_piece(command, damaged, tmp_path) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    stderr = command("split", damaged, "-o", folder / "part", "--records", "1", status=1).stderr
    assert stderr.startswith(f"seekwarc: {damaged}, offset ")
    assert stderr.count("\n") == 1
    assert left_in(folder) == []
    command("split", damaged, "-o", folder / "part", "--records", "1", "--no-verify")
    assert len(left_in(folder)) == 5


def test_a_full_disk_is_reported_and_leaves_no_piece(command, crawl, small_disk, tmp_path) -> None:
    command("concat", *[crawl.zst] * 3, "-o", tmp_path / "three.warc.zst")
    stderr = command(
        "split", tmp_path / "three.warc.zst", "-o", small_disk / "part", "--size", "1M", status=2
    ).stderr
    assert "No space left on device" in stderr
    assert stderr.count("\n") == 1
    assert left_in(small_disk) == []
