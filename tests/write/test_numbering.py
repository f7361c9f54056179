"""Names of a series: existing files are not replaced unless that is allowed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import seekwarc
from seekwarc.write.numbering import SeriesNames, numbered_names
from tests.support.writing import KIB, noise

SERIES = {"frame_size": 64 * KIB, "max_file_size": 400 * KIB}


def crawl(folder: Path, count: int, **options) -> None:
    with seekwarc.open(folder / "crawl.warc.zst", "w", **SERIES, **options) as writer:
        for number in range(count):
            writer.write_resource(f"urn:x:{number}", noise(60_000, seed=number), "text/plain")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_series_that_exists_is_refused(tmp_path: Path) -> None:
    crawl(tmp_path, 20)
    before = contents(tmp_path)
    assert len(before) > 2
    with pytest.raises(FileExistsError, match=r"crawl-00000\.warc\.zst: exists already \(and 3 more.*number"):
        crawl(tmp_path, 20)
    assert contents(tmp_path) == before


def test_number_starts_after_the_existing_files(tmp_path: Path) -> None:
    crawl(tmp_path, 20)
    before = contents(tmp_path)
    # A gap is not filled: files would come between those of another crawl.
    os.unlink(tmp_path / "crawl-00001.warc.zst")
    crawl(tmp_path, 7, existing="number")
    after = contents(tmp_path)
    assert "crawl-00001.warc.zst" not in after
    assert {name: data for name, data in before.items() if name in after} == {
        name: data for name, data in after.items() if name in before
    }
    assert sorted(after)[len(before) - 1 :] == [
        f"crawl-{len(before) + number:05}.warc.zst" for number in (0, 1)
    ]


def test_overwrite_removes_the_rest_of_a_longer_series(tmp_path: Path) -> None:
    crawl(tmp_path, 20)
    crawl(tmp_path, 7, existing="overwrite")
    assert sorted(os.listdir(tmp_path)) == ["crawl-00000.warc.zst", "crawl-00001.warc.zst"]
    uris = []
    for name in sorted(os.listdir(tmp_path)):
        with seekwarc.open(tmp_path / name) as archive:
            uris += [record.target_uri for record in archive if record.type == "resource"]
    assert uris == [f"urn:x:{number}" for number in range(7)]


def test_a_file_that_appeared_meanwhile_is_an_error(tmp_path: Path) -> None:
    with seekwarc.open(tmp_path / "crawl.warc.zst", "w", **SERIES) as writer:
        writer.write_resource("urn:x:1", noise(300_000), "text/plain")
        (tmp_path / "crawl-00001.warc.zst").write_bytes(b"of another")
        with pytest.raises(seekwarc.TargetExistsError, match=r"crawl-00001\.warc\.zst: exists already"):
            writer.write_resource("urn:x:2", noise(300_000), "text/plain")
    assert (tmp_path / "crawl-00001.warc.zst").read_bytes() == b"of another"
    with seekwarc.open(tmp_path / "crawl-00000.warc.zst") as archive:
        assert [record.target_uri for record in archive][1:] == ["urn:x:1"]


def test_unfinished_files_are_skipped_with_a_warning(tmp_path: Path) -> None:
    (tmp_path / "crawl-00003.warc.zst.open").write_bytes(b"left")
    with pytest.raises(seekwarc.TargetExistsError, match=r"crawl-00003\.warc\.zst\.open"):
        crawl(tmp_path, 1)
    with pytest.warns(seekwarc.FormatWarning, match=r"`seekwarc recover .*00003\.warc\.zst\.open"):
        crawl(tmp_path, 1, existing="number")
    assert sorted(os.listdir(tmp_path)) == ["crawl-00003.warc.zst.open", "crawl-00004.warc.zst"]


def test_names_of_other_series_do_not_count(tmp_path: Path) -> None:
    others = ["crawl-0.warc.zst", "crawl-000001.warc.zst", "crawl-00001.warc.gz", "my-crawl-00001.warc.zst"]
    for name in others:
        (tmp_path / name).touch()
    names = SeriesNames(str(tmp_path / "crawl.warc.zst"), "error")
    assert [os.path.basename(names.take()) for _ in range(2)] == [
        "crawl-00000.warc.zst",
        "crawl-00001.warc.zst",
    ]


def test_names_are_numbered_from_zero() -> None:
    names = numbered_names("folder/a.warc.gz")
    assert [next(names) for _ in range(2)] == ["folder/a-00000.warc.gz", "folder/a-00001.warc.gz"]
