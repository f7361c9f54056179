"""The tools as functions."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.errors import FormatError, SeekWarcError
from tests.support.foreign import Foreign
from tests.support.writing import noise

BLOCKS = [b"first", noise(3000), b"last"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    made = Foreign()
    for block in BLOCKS:
        made.record(block)
    path = tmp_path / "crawl.warc.gz"
    path.write_bytes(made.gzip().bytes())
    return path


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    made = Foreign()
    for block in BLOCKS:
        made.record(block)
    data = bytearray(made.bytes())
    data[made.records[1].offset + 300] ^= 1
    path = tmp_path / "broken.warc.zst"
    path.write_bytes(data)
    return path


def blocks(path: Path) -> list[bytes]:
    with seekwarc.open(path) as archive:
        return [record.block.read() for record in archive]


@pytest.mark.parametrize("name", ["new.warc.zst", "new.warc.gz", "new.warc"])
def test_the_target_name_determines_the_compression(tmp_path: Path, source: Path, name: str) -> None:
    done = tools.convert(source, tmp_path / name)
    assert (done.records, done.verified) == (3, True)
    assert blocks(tmp_path / name) == BLOCKS
    with seekwarc.open(tmp_path / name) as archive:
        assert archive.compression == {"zst": "zst", ".gz": "gz"}.get(name[-3:], "none")
    with pytest.raises(SeekWarcError, match=name):
        tools.convert(source, tmp_path / name)
    tools.convert(source, tmp_path / name, existing="overwrite")


def test_a_name_without_a_compression_is_refused(tmp_path: Path, source: Path) -> None:
    with pytest.raises(ValueError, match=r"name it \.warc\.zst"):
        tools.convert(source, tmp_path / "new")
    tools.convert(source, tmp_path / "new", compression="gz")
    assert blocks(tmp_path / "new") == BLOCKS


def test_a_file_is_verified(source: Path, broken: Path) -> None:
    assert tools.verify(source).is_sound
    found = []
    result = tools.verify(broken, on_problem=found.append)
    assert [problem.code for problem in found] == ["damage"]
    assert (result.is_sound, result.damages, result.records) == (False, 1, 2)


def test_an_index_opens_its_records(tmp_path: Path, source: Path) -> None:
    done = tools.index([source], tmp_path / "crawl.cdxj")
    assert (done.lines, done.problems) == (3, 0)
    with seekwarc.Index(tmp_path / "crawl.cdxj") as found:
        assert next(found.lookup("http://example.org/1")).open().block.read() == BLOCKS[1]


def test_problems_of_indexing_are_raised_without_on_problem(tmp_path: Path, broken: Path) -> None:
    target = tmp_path / "crawl.cdxj"
    with pytest.raises(FormatError):
        tools.index([broken], target)
    assert not target.exists()
    found: list[FormatError] = []
    done = tools.index([broken], target, on_problem=found.append)
    assert (done.lines, done.problems) == (1, len(found))
    assert found


def test_two_files_of_one_name_are_refused(tmp_path: Path, source: Path) -> None:
    (tmp_path / "sub").mkdir()
    other = tmp_path / "sub" / source.name
    other.write_bytes(source.read_bytes())
    with pytest.raises(ValueError, match="two files"):
        tools.index([source, other], tmp_path / "crawl.cdxj")


def test_intact_records_are_recovered(tmp_path: Path, broken: Path) -> None:
    done = tools.recover(broken, tmp_path / "saved.warc.zst")
    assert done.records == 2
    assert done.lost > 3000
    assert blocks(tmp_path / "saved.warc.zst") == [BLOCKS[0], BLOCKS[2]]


def test_files_are_joined(tmp_path: Path, source: Path) -> None:
    done = tools.concat(iter([source, source]), tmp_path / "all.warc.zst")
    assert (done.files, done.records) == (2, 6)
    assert blocks(tmp_path / "all.warc.zst") == BLOCKS * 2


@pytest.mark.parametrize("name", tools.__all__)
def test_functions_keep_their_names_when_modules_are_imported(name: str) -> None:
    function = getattr(tools, name)
    assert vars(importlib.import_module(function.__module__))[name] is function
    assert function is getattr(tools, name)
    assert ":\n" in function.__doc__
    assert f"tools.{name}(" in function.__doc__, "there is an example"
