"""What an index beside an archive must be before it is used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import seekwarc
from seekwarc.cdx import beside
from seekwarc.cdx.beside import IndexBeside, names_beside
from seekwarc.cdx.places import base_name
from seekwarc.errors import FormatError, LimitError, SourceNotFoundError
from seekwarc.make.indexing import index
from tests.support.writing import noise

HEAD = b"HTTP/1.1 200 OK\r\n\r\n"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "a.warc.gz"
    with seekwarc.open(path, "w", compression="gz") as out:
        for number in range(5):
            out.write_response(f"http://example.org/{number}", HEAD + b"page", date="2026-01-01")
    index({path.name: path}, tmp_path / "index.cdxj")
    return path


def opened(archive: Path) -> IndexBeside:
    return IndexBeside(str(archive.with_name("index.cdxj")), {archive.name}, lambda _: True)


def test_the_records_of_its_lines_come_in_file_order(archive: Path) -> None:
    with seekwarc.open(archive) as reader:
        found = opened(archive)
        found.check(reader)
        assert [it.offset for it in found.in_order(reader)] == [it.offset for it in reader]


def test_lines_of_the_same_record_yield_it_once(archive: Path) -> None:
    name = archive.with_name("index.cdxj")
    name.write_bytes(b"".join(line * 2 for line in name.read_bytes().splitlines(keepends=True)))
    with seekwarc.open(archive) as reader:
        assert len([*opened(archive).in_order(reader)]) == 5


def test_the_seek_table_that_a_line_names_is_not_looked_at(archive: Path) -> None:
    name = archive.with_name("index.cdxj")
    name.write_bytes(name.read_bytes().replace(b'"length": "', b'"seekTable": "no such", "length": "'))
    with seekwarc.open(archive) as reader:
        assert len([*opened(archive).in_order(reader)]) == 5


@pytest.mark.parametrize("field", [b'"offset": "', b'"url": "http://example.com'])
def test_a_line_of_another_record_is_refused(archive: Path, field: bytes) -> None:
    name = archive.with_name("index.cdxj")
    data = name.read_bytes()
    assert (b'"offset": "' if b"offset" in field else b'"url": "http://example.org') in data
    wrong = (
        data.replace(b'"url": "http://example.org', field)
        if b"url" in field
        else data.replace(field, field + b"1")
    )
    name.write_bytes(wrong)
    with seekwarc.open(archive) as reader, pytest.raises(FormatError) as caught:
        [*opened(archive).in_order(reader)]
    assert caught.value.source == str(archive)


def test_a_capture_that_was_added_is_noticed(archive: Path) -> None:
    found = opened(archive)
    with seekwarc.open(archive, "a") as out:
        out.write_warcinfo({"software": "other"})
    os.utime(found.name)
    with seekwarc.open(archive) as reader:
        found.check(reader)
    with seekwarc.open(archive, "a") as out:
        out.write_response("http://example.org/new", HEAD)
    os.utime(found.name)
    with seekwarc.open(archive) as reader, pytest.raises(FormatError, match="captures after byte"):
        found.check(reader)


def test_a_file_that_is_shorter_than_its_index_says_is_noticed(archive: Path) -> None:
    found = opened(archive)
    archive.write_bytes(archive.read_bytes()[:-1])
    os.utime(found.name)
    with seekwarc.open(archive) as reader, pytest.raises(FormatError, match="ends at byte"):
        found.check(reader)


def test_an_index_without_the_lines_of_resources_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.gz"
    with seekwarc.open(path, "w", compression="gz") as out:
        for number in range(200):
            uri = f"http://example.org/{number}"
            found = out.write_response(uri, HEAD + b"page", date="2026-01-01")
            out.write_metadata({"note": "it"}, target_uri=uri, date="2026-01-01", refers_to=found.id)
            if number == 100:
                place = out.write_resource(uri, noise(900), "image/png", date="2026-01-02").offset
    name = tmp_path / "index.cdxj"
    index({path.name: path}, name)
    with seekwarc.open(path) as archive:
        opened(path).check(archive)
        lines = name.read_bytes().splitlines(keepends=True)
        name.write_bytes(b"".join(it for it in lines if b"image/png" not in it))
        with pytest.raises(FormatError, match=f"has a capture at byte {place}, which it does not list"):
            opened(path).check(archive)


def test_lines_that_are_kept_have_a_limit(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "MAX_CAPTURES", 4)
    with pytest.raises(LimitError, match="more than 4"):
        opened(archive)


def test_no_index_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(SourceNotFoundError):
        IndexBeside(str(tmp_path / "index.cdxj"), {"a.warc.gz"}, lambda _: True)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.warc.gz", ("a.warc.gz.cdxj", "index.cdxj")),
        ("crawls/a.warc.gz", ("crawls/a.warc.gz.cdxj", "crawls/index.cdxj")),
        ("https://example.org/a.warc", ("https://example.org/a.warc.cdxj", "https://example.org/index.cdxj")),
        ("https://example.org/a.warc?signature=1", ()),
        ("a.wacz!/archive/a.warc.gz", ()),
        ("-", ()),
    ],
)
def test_names_of_indexes(name: str, expected: tuple[str, ...]) -> None:
    assert tuple(names_beside(name)) == expected
    assert "/" not in base_name(name)


def test_the_index_of_a_folder_is_beside_it_or_in_it(tmp_path: Path) -> None:
    folder = str(tmp_path)
    for name in (folder, folder + os.sep):
        assert names_beside(name, ".fts") == (folder + ".fts", str(tmp_path / "index.fts"))
