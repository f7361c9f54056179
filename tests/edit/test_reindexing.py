"""An index in which a file was made again: its lines are new, those of others are as they were."""

from __future__ import annotations

from pathlib import Path

import pytest
import zstandard

import seekwarc
from seekwarc import tools
from seekwarc.edit.reindexing import Remade, new_index
from seekwarc.errors import SourceError, UnsupportedError
from seekwarc.read.options import ReadOptions
from tests.support.captures import related


def test_lines_name_the_new_file_in_the_folder_of_the_old_one(tmp_path) -> None:
    for name in ("old.warc.zst", "made.part"):
        (tmp_path / name).write_bytes(related())
    index = tmp_path / "all.cdxj"
    tools.index([tmp_path / "old.warc.zst"], index)
    text = index.read_text().replace('"old.warc.zst"', '"sub/old.warc.zst"')
    index.write_text(text)
    made = str(tmp_path / "made.part")
    remade = {"/y/old.warc.zst": Remade(made, "/x/new.warc.zst")}
    output, _ = new_index(str(index), remade, ReadOptions(), {})
    assert index.read_text() == text
    output.commit()
    with seekwarc.Index(index) as lines:
        assert {line.fields["filename"] for line in lines} == {"sub/new.warc.zst"}


def pages(path: Path, host: str) -> None:
    path.parent.mkdir(exist_ok=True)
    with seekwarc.open(path, "w") as out:
        for name in ("gone", "kept"):
            out.write_resource(f"http://{host}/{name}", name.encode(), "text/plain")


def in_folders(folder: Path) -> tuple[Path, Path, Path]:
    """Return two files of the same name, and an index that has their folders."""
    one, two = (folder / it / "a.warc.zst" for it in ("2025", "2026"))
    pages(one, "one")
    pages(two, "two")
    tools.index({"2025/a.warc.zst": one, "2026/a.warc.zst": two}, folder / "all.cdxj")
    return one, two, folder / "all.cdxj"


def listed(index: Path) -> list[tuple[str, str]]:
    with seekwarc.Index(index) as lines:
        return [(line.fields["filename"], line.fields["url"]) for line in lines]


def test_files_of_the_same_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    one, two, index = in_folders(tmp_path)
    before = listed(index)
    tools.redact(one, uri="*/gone", in_place=True, indexes=[index])
    assert listed(index) == [it for it in before if it != ("2025/a.warc.zst", "http://one/gone")]
    tools.redact([one, two], uri="http://two/gone", in_place=True, indexes=[index])
    assert listed(index) == [it for it in before if not it[1].endswith("/gone")]
    with seekwarc.Index(index) as lines:
        assert all(line.open().target_uri == line.uri for line in lines)


def test_a_file_is_meant_by_the_longest_name_that_its_path_ends_with(tmp_path: Path) -> None:
    _, two, index = in_folders(tmp_path)
    pages(tmp_path / "a.warc.zst", "one")
    tools.index({"a.warc.zst": tmp_path / "a.warc.zst", "2026/a.warc.zst": two}, index, existing="overwrite")
    tools.redact([tmp_path / "a.warc.zst", two], uri="*/gone", in_place=True, indexes=[index])
    assert listed(index) == [("a.warc.zst", "http://one/kept"), ("2026/a.warc.zst", "http://two/kept")]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("a.warc.zst", "a.warc.zst"), "may be several"),
        (("x/a.warc.zst", "x/a.warc.zst"), "may be several"),
        (("x/a.warc.zst", "y/a.warc.zst"), "may both be"),
    ],
)
def test_a_name_that_may_be_of_several_files_is_refused(
    tmp_path: Path, names: tuple[str, str], message: str
) -> None:
    one, two, index = in_folders(tmp_path)
    text = index.read_text().replace("2025/a.warc.zst", names[0]).replace("2026/a.warc.zst", names[1])
    index.write_text(text)
    before = one.read_bytes(), two.read_bytes()
    with pytest.raises(UnsupportedError, match=message):
        tools.redact([one, two], uri="*/gone", in_place=True, indexes=[index])
    assert (index.read_text(), one.read_bytes(), two.read_bytes()) == (text, *before)


def test_a_record_without_a_line_stays_without(tmp_path: Path) -> None:
    path, index = tmp_path / "a.warc.zst", tmp_path / "a.cdxj"
    pages(path, "e.org")
    fields = "WARC-Type: resource\r\nWARC-Target-URI: http://e.org/undated\r\nContent-Length: 0"
    undated = zstandard.compress(f"WARC/1.1\r\n{fields}\r\n\r\n\r\n\r\n".encode())
    path.write_bytes(path.read_bytes() + undated)
    tools.index(path, index, on_problem=print)
    tools.redact(path, uri="http://e.org/gone", in_place=True, indexes=[index])
    assert listed(index) == [("a.warc.zst", "http://e.org/kept")]


def test_an_index_that_is_missing_is_named(tmp_path) -> None:
    with pytest.raises(SourceError, match="none"):
        new_index(str(tmp_path / "none"), {}, ReadOptions(), {})
