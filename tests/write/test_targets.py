"""Finding the file that a writer begins with."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import seekwarc
from seekwarc.frames.encoder import OrderedWork
from seekwarc.write.assembly import RecordAssembly
from seekwarc.write.forms import form_of
from seekwarc.write.options import WriteOptions
from seekwarc.write.output import OpenOutput, PathOutput
from seekwarc.write.record_file import FileMaker, RecordFile
from seekwarc.write.targets import Found, SeriesNames, find_target, numbered_names
from tests.support.writing import KIB, noise

SERIES = {"frame_size": 64 * KIB, "max_file_size": 400 * KIB}


def made(target: Any, **options: Any) -> RecordFile:
    wanted = WriteOptions(**options)
    assemble = partial(RecordAssembly, form_of("zst", wanted), OrderedWork(1))
    return FileMaker(wanted, assemble, None).new(target)


def test_a_kept_file_outlives_its_writer(tmp_path: Path) -> None:
    for on_error, kind in (("keep", OpenOutput), ("discard", PathOutput)):
        file = made(tmp_path / "a.warc.zst", on_error=on_error)
        assert type(file.output) is kind
        file.abort()


def test_only_a_continued_file_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    found = find_target(path, "zst", WriteOptions())
    assert found == Found(path)
    found = find_target(path, "zst", WriteOptions(max_file_size=1 << 30))
    assert found.names is not None
    assert found.continued is None
    assert list(tmp_path.iterdir()) == []


# Names of a series: existing files are not replaced unless that is allowed.


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


def test_a_writer_that_is_running_is_not_said_to_have_stopped(tmp_path: Path) -> None:
    with seekwarc.open(tmp_path / "crawl.warc.zst", "w", **SERIES) as running:
        running.write_resource("urn:x:1", b"one", "text/plain")
        running.flush()
        with seekwarc.open(tmp_path / "crawl.warc.zst", "w", existing="number", **SERIES) as other:
            other.write_resource("urn:x:2", b"two", "text/plain")
    assert sorted(contents(tmp_path)) == ["crawl-00000.warc.zst", "crawl-00001.warc.zst"]


def test_a_writer_that_was_stopped_is_named(tmp_path: Path) -> None:
    (tmp_path / "crawl-00000.warc.zst.open").write_bytes(b"some")
    with (
        pytest.warns(seekwarc.FormatWarning, match=r"stopped left .*crawl-00000\.warc\.zst\.open"),
        seekwarc.open(tmp_path / "crawl.warc.zst", "w", existing="number", **SERIES) as out,
    ):
        out.write_resource("urn:x:2", b"two", "text/plain")
