"""Clauses 8 and 9: MIME types, names of files."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import seekwarc
from tests.standard.clauses import shall
from tests.standard.material import URI, fields_of, findings, reading, record
from tests.support.writing import KIB, noise

FIELDS_TYPE = (
    "The MIME type of warcinfo records, WARC metadata records, and potentially other records types in the "
    "future, shall be application/warc-fields."
)
FIELDS = {"software": "seekwarc", "description": "B\u00fccher"}
BLOCK = "software: seekwarc\r\ndescription: B\u00fccher\r\n".encode()


@shall("8", FIELDS_TYPE)
def test_fields_that_are_written_are_of_their_type() -> None:
    target = io.BytesIO()
    with seekwarc.Writer(target) as writer:
        writer.write_warcinfo(FIELDS)
        writer.write_metadata(FIELDS, target_uri=URI)
        writer.write_metadata(FIELDS.items())
    with seekwarc.open(target.getvalue()) as archive:
        found = list(archive)
        assert [it.type for it in found] == ["warcinfo", "metadata", "metadata"]
        for it in found:
            assert it.header.get_all("Content-Type") == ("application/warc-fields",)
            assert it.block.read() == BLOCK
            assert dict(it.warc_fields) == FIELDS


@shall("8", FIELDS_TYPE)
def test_the_warcinfo_record_at_the_head_of_each_file_is_of_that_type(tmp_path: Path) -> None:
    path = tmp_path / "crawl.warc.zst"
    with seekwarc.Writer(path, frame_size=64 * KIB, max_file_size=300 * KIB) as writer:
        writer.write_resource(URI, noise(600 * KIB), "image/png")
    paths = sorted(tmp_path.iterdir())
    assert len(paths) == 3
    for path in paths:
        with seekwarc.open(path) as archive:
            first = next(iter(archive))
            assert (first.type, first.content_type) == ("warcinfo", "application/warc-fields")
            assert dict(first.warc_fields)["software"] == "seekwarc"


@shall("8", FIELDS_TYPE)
@pytest.mark.parametrize("kind", ["warcinfo", "metadata"])
def test_a_warcinfo_block_of_another_type_is_not_parsed(kind: str) -> None:
    # Clauses 6.2 and 6.6: "The format of the block may vary".
    assert findings(fields_of(kind, {"Content-Type": "application/json"})) == []
    with reading(
        record(kind, BLOCK, content_type="application/json"),
        record(kind, BLOCK, content_type="application/warc"),
        record(kind, BLOCK, content_type="Application/WARC-Fields"),
    ) as (other, warc, fields):
        assert other.warc_fields is None
        assert warc.warc_fields is None
        assert dict(fields.warc_fields) == FIELDS


NAME = "A WARC file shall have a name."


@shall("9", NAME)
def test_a_file_that_is_written_has_the_name_that_it_was_given(tmp_path: Path) -> None:
    path = tmp_path / "crawl.warc.zst"
    with seekwarc.Writer(path) as writer:
        assert writer.name == str(path)
        first = writer.write_warcinfo({"software": "test"})
        assert first.filename == str(path)
    assert [it.name for it in tmp_path.iterdir()] == ["crawl.warc.zst"]
    with seekwarc.open(path) as archive:
        assert archive.name == str(path)
        (found,) = archive
        assert found.filename == "crawl.warc.zst"
        assert found.source == str(path)


@shall("9", NAME)
def test_the_files_of_a_series_have_names_of_their_own(tmp_path: Path) -> None:
    with seekwarc.Writer(tmp_path / "crawl.warc.zst", frame_size=64 * KIB, max_file_size=300 * KIB) as writer:
        writer.write_resource(URI, noise(600 * KIB), "image/png")
    paths = sorted(tmp_path.iterdir())
    assert [path.name for path in paths] == [f"crawl-0000{n}.warc.zst" for n in range(3)]
    for path in paths:
        with seekwarc.open(path) as archive:
            assert next(iter(archive)).filename == path.name


@shall("9", NAME)
def test_a_file_without_a_name_is_not_written() -> None:
    with pytest.raises(seekwarc.TargetError, match="the path is empty"), seekwarc.Writer("") as writer:
        writer.write_resource(URI, b"block", "text/plain")
