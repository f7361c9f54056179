"""Several Parquet files as one index: the answers of one file; only files that are reached are read."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seekwarc import Index
from seekwarc.cdx import parquet, parts
from seekwarc.cdx.index import Capture
from seekwarc.errors import FormatError, SourceError
from seekwarc.scale.listed import ListedRecords
from tests.support.cdx import columnar, many_lines
from tests.support.sources import RecordingSource

COUNT = 120
LINES = [line for line in many_lines(COUNT) if b"length" not in line]


def cut(how: str) -> list[list[bytes]]:
    """Return the lines of files: one after the other, as a crawl has them, or as of three crawls."""
    third = len(LINES) // 3
    if how == "dealt":
        return [LINES[place::3] for place in range(3)]
    return [LINES[:third], LINES[third : 2 * third], LINES[2 * third :]]


@pytest.fixture(params=["ranges", "dealt"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    inner = tmp_path / "crawl=A" / "subset=warc"
    inner.mkdir(parents=True)
    (inner / "_SUCCESS").write_bytes(b"")
    for number, lines in enumerate(cut(request.param)):
        # The order of names is not that of keys.
        (inner / f"part-{2 - number}.parquet").write_bytes(columnar(lines, monkeypatch, group=10))
    return tmp_path


@pytest.fixture
def whole(monkeypatch: pytest.MonkeyPatch) -> bytes:
    return columnar(LINES, monkeypatch, group=10)


def rows_of(captures: Iterable[Capture]) -> list[tuple]:
    return [(it.key, it.timestamp, it.fields) for it in captures]


def test_several_files_answer_as_one(folder: Path, whole: bytes) -> None:
    with Index(whole) as one, Index(folder) as several:
        every = rows_of(one)
        assert rows_of(several) == every
        assert len(every) == len(LINES)
        for capture in list(one)[::40]:
            uri = capture.uri or ""
            asked = {"closest": "20260601"}, {"since": "2026"}, {"match": "domain"}, {"match": "prefix"}
            for options in asked:
                assert rows_of(several.lookup(uri, **options)) == rows_of(one.lookup(uri, **options))
        assert list(several.lookup("http://nowhere.test/")) == []


def test_a_pattern_and_a_list_are_indexes_too(folder: Path, whole: bytes) -> None:
    inner = folder / "crawl=A" / "subset=warc"
    names = sorted(map(str, inner.glob("*.parquet")))
    with Index(whole) as one, Index(str(inner / "part-*")) as pattern, Index(names) as listed:
        assert rows_of(pattern) == rows_of(listed) == rows_of(one)
        assert listed.name == f"{names[0]} and 2 more files"
        with pickle.loads(pickle.dumps(listed)) as copied:
            assert rows_of(copied) == rows_of(one)


def test_files_that_a_lookup_does_not_come_to_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "TAIL", 64)
    sources = [RecordingSource(columnar(lines, monkeypatch, group=10)) for lines in cut("ranges")]
    for place, source in enumerate(sources):
        with Index(source.data) as one:
            uri = list(one)[15].uri or ""
        with Index(sources) as index:
            for it in sources:
                it.forget()
            assert list(index.lookup(uri))
            assert [bool(it.requests) for it in sources] == [number == place for number in range(3)]


def test_rows_of_few_files_are_kept_in_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forgotten = []
    monkeypatch.setattr(parquet.ParquetLines, "forget", lambda it: forgotten.append(it.name))
    with Index(folder) as index:
        list(index)
        list(index)
    assert len(forgotten) >= 2 * 3 - parts.MAX_FINISHED - 2


def test_a_file_whose_footer_lies_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    files = [columnar(lines, monkeypatch, group=10) for lines in cut("ranges")]
    monkeypatch.setattr(parquet.ParquetLines, "least", lambda _, wanted: wanted + b"~")
    with Index(files) as index, pytest.raises(FormatError, match="contradicts the footer"):
        list(index)


def test_a_folder_without_an_index_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="directory without a file"):
        Index(tmp_path)
    with pytest.raises(SourceError, match="no file matches"):
        Index(str(tmp_path / "*.parquet"))
    with pytest.raises(ValueError, match="no files"):
        Index([])


def test_one_bad_file_closes_the_others(tmp_path: Path, whole: bytes) -> None:
    (tmp_path / "a.parquet").write_bytes(whole)
    pq.write_table(pa.table({"x": [1]}), tmp_path / "b.parquet")
    with pytest.raises(FormatError, match=r"b\.parquet.*no column"):
        Index(tmp_path)


def test_files_are_cut_where_a_folder_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, lines in enumerate(cut("ranges")):
        (tmp_path / f"{number}.parquet").write_bytes(columnar(lines, monkeypatch))
    (tmp_path / "all.cdxj").write_bytes(b"".join(line + b"\n" for line in map(bytes.rstrip, LINES)))
    listed, told = (ListedRecords(str(it), 4) for it in (tmp_path, tmp_path / "all.cdxj"))
    assert listed._offsets == told._offsets
