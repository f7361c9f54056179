"""Files are cut where an index says that records begin."""

from __future__ import annotations

from pathlib import Path

import pytest

import seekwarc
from seekwarc import FormatError
from seekwarc.scale.listed import ListedRecords
from seekwarc.tools import index as make_index
from tests.support.cdx import cdxj_line
from tests.support.foreign import Foreign
from tests.support.writing import noise


@pytest.fixture
def crawl(tmp_path: Path) -> tuple[Path, Path]:
    made = Foreign()
    for number in range(40):
        made.record(noise(3_000, seed=number))
    path = tmp_path / "a.warc.gz"
    path.write_bytes(made.gzip().bytes())
    cdxj = tmp_path / "a.cdxj"
    make_index([path], cdxj)
    return path, cdxj


@pytest.mark.parametrize("form", ["cdxj", "parquet"])
def test_a_gzip_file_is_cut_where_its_index_says(crawl: tuple[Path, Path], form: str) -> None:
    path, index = crawl
    if form == "parquet":
        index = path.with_name("a.parquet")
        make_index([path], index, parquet=True)
    splits = list(seekwarc.splits(path, target_bytes=20_000, index=index))
    assert len(splits) >= 5
    assert {split.note for split in splits} == {None}
    found = [record.offset for split in splits for record in seekwarc.read_split(split)]
    with seekwarc.open(path) as archive:
        assert found == [record.offset for record in archive]


def test_an_opened_index_does_as_well(crawl: tuple[Path, Path]) -> None:
    path, cdxj = crawl
    with seekwarc.Index(cdxj) as index:
        assert len(list(seekwarc.splits(path, target_bytes=20_000, index=index))) >= 5
        assert len(list(index)) == 40


def test_an_index_of_another_file_is_not_used(crawl: tuple[Path, Path], tmp_path: Path) -> None:
    path, _ = crawl
    wrong = tmp_path / "wrong.cdxj"
    lines = [
        cdxj_line(f"org,e)/{n:02}", "20260101000000", filename="a.warc.gz", offset=str(n * 3_001 + 7))
        for n in range(40)
    ]
    wrong.write_bytes(b"".join(lines))
    splits = list(seekwarc.splits(path, target_bytes=20_000, index=wrong))
    assert [(split.start, split.stop) for split in splits] == [(0, None)]
    assert "wrong" in (splits[0].note or "")


def test_of_files_with_one_name_the_folder_decides(tmp_path: Path) -> None:
    cdxj = tmp_path / "both.cdxj"
    cdxj.write_bytes(
        cdxj_line("org,e)/1", "20260101000000", filename="one/a.warc.gz", offset="5")
        + cdxj_line("org,e)/2", "20260101000000", filename="two/a.warc.gz", offset="7")
    )
    listed = ListedRecords(cdxj, 100)
    assert listed.of("/data/one/a.warc.gz") == [5]
    assert listed.of("s3://bucket/two/a.warc.gz?signature=1") == [7]
    assert listed.of("/data/b.warc.gz") is None


def test_few_of_many_lines_are_kept(tmp_path: Path) -> None:
    cdxj = tmp_path / "many.cdxj"
    lines = [
        cdxj_line(f"org,e)/{n:05}", "20260101000000", filename="a.warc.gz", offset=str(n * 10))
        for n in range(2_000)
    ]
    cdxj.write_bytes(b"".join(lines))
    assert len(ListedRecords(cdxj, 4_000).of("/a.warc.gz") or ()) == 20


def test_a_line_without_a_file_is_an_error(tmp_path: Path) -> None:
    cdxj = tmp_path / "bad.cdxj"
    cdxj.write_bytes(cdxj_line("org,e)/1", "20260101000000", offset="5"))
    with pytest.raises(FormatError, match=r"bad\.cdxj"):
        seekwarc.splits("/a.warc.gz", index=cdxj)
