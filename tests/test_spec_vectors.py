"""The vectors of spec-notes/test-vectors.md, as another implementer would use them."""

from __future__ import annotations

import hashlib
import io
import re
import subprocess
import sys
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import NamedTuple

import pytest
import zstandard

import seekwarc
from seekwarc import SeekTable
from seekwarc.errors import FormatError
from seekwarc.format.seektable import table_frame_size
from tests.support.writing import content_of, walk

NOTES = Path(__file__).parents[1] / "spec-notes"
_VECTOR = re.compile(
    r"^```hex name=(?P<name>\S+) sha256=(?P<sha256>[0-9a-f]{64}) valid=(?P<valid>yes|no)\n"
    r"(?P<hex>[0-9a-f\s]*)^```$",
    re.MULTILINE,
)


class Vector(NamedTuple):
    name: str
    sha256: str
    valid: bool
    data: bytes


def vectors() -> dict[str, Vector]:
    text = (NOTES / "test-vectors.md").read_text()
    found = [
        Vector(match["name"], match["sha256"], match["valid"] == "yes", bytes.fromhex(match["hex"]))
        for match in _VECTOR.finditer(text)
    ]
    assert len(found) == text.count("```hex "), "every block can be parsed"
    assert len(found) == len({vector.name for vector in found}), "names are not given twice"
    return {vector.name: vector for vector in found}


VECTORS = vectors()
TABLES = [vector for vector in VECTORS.values() if vector.name.startswith("table-")]
FILES = [vector for vector in VECTORS.values() if vector.name.startswith("file-")]
FRAMES = [vector for vector in VECTORS.values() if vector.name.startswith("frame-")]

# What the text above each block says is in it.
EVERY = [
    ("warcinfo", "urn:example:1", 0, 248, b"software: by hand\r\n"),
    ("metadata", "urn:example:2", 248, 164, b""),
]
LARGE = [
    ("response", "urn:example:1", 0, 322, b"HTTP/1.1 200 OK\r\n\r\n0123456789abcdefghij"),
    ("resource", "urn:example:2", 322, 297, b"0123456789abcdefghij"),
]
RECORDS = {
    "file-every": EVERY,
    "file-large": LARGE,
    "file-dictionary": [("metadata", "urn:example:1", 52, 139, b"")],
    "file-anchor-elsewhere": EVERY,
    "file-sum-elsewhere": EVERY,
    "file-sizes-swapped": EVERY,
    "file-checksum-wrong": EVERY,
    "file-entry-swallows-frame": [LARGE[0], (*LARGE[1][:3], 285, LARGE[1][4])],
    "file-first-frame-untrue": LARGE,
    "file-table-in-padding": [(*EVERY[0][:3], 268, EVERY[0][4]), (*EVERY[1][:2], 268, *EVERY[1][3:])],
}


def by_name(found: list[Vector]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("vector", found, ids=[vector.name for vector in found])


def test_there_are_vectors_of_each_kind() -> None:
    assert len(TABLES) + len(FILES) + len(FRAMES) == len(VECTORS)
    for kind in (TABLES, FILES):
        assert {vector.valid for vector in kind} == {True, False}
    assert FRAMES


@by_name(list(VECTORS.values()))
def test_the_digest_is_that_of_the_bytes(vector: Vector) -> None:
    assert hashlib.sha256(vector.data).hexdigest() == vector.sha256


def test_the_document_is_what_its_script_makes() -> None:
    command = [sys.executable, str(NOTES / "make_vectors.py"), "--check"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


@by_name(TABLES)
def test_a_table_is_parsed_or_refused(vector: Vector) -> None:
    # As in a file that ends in it, with more than enough in front.
    size = table_frame_size(vector.data, bytes_before=1000 + len(vector.data))
    if vector.valid:
        assert size == len(vector.data)
        assert len(SeekTable.parse(vector.data)) in (1, 2)
        return
    with pytest.raises(FormatError):
        SeekTable.parse(vector.data)


def test_entries_of_tables_are_as_described() -> None:
    with_checksums = SeekTable.parse(VECTORS["table-checksums"].data)
    assert list(with_checksums.stored_sizes) == [171, 36]
    assert list(with_checksums.content_sizes) == [158, 23]
    assert list(with_checksums.checksums) == [0xA38387B9, 0x89100ECA]
    assert with_checksums == SeekTable.parse(VECTORS["table-unused-bits"].data)
    without = SeekTable.parse(VECTORS["table-no-checksums"].data)
    assert without.checksums is None
    assert without.stored_sizes == with_checksums.stored_sizes
    assert list(SeekTable.parse(VECTORS["table-one-entry"].data).content_sizes) == [122]


@pytest.mark.parametrize("name", ["table-checksums", "table-no-checksums", "table-one-entry"])
def test_tables_are_written_as_described(name: str) -> None:
    assert SeekTable.parse(VECTORS[name].data).build() == VECTORS[name].data


@by_name(FILES)
def test_a_file_gives_the_records_described_read_in_order(vector: Vector) -> None:
    if vector.name not in RECORDS:
        pytest.fail(f"say in RECORDS what {vector.name} holds")
    wanted = RECORDS[vector.name]
    with seekwarc.open(vector.data) as archive:
        found = [(r.type, r.id, r.offset, r.block.read()) for r in archive.in_order()]
    assert found == [(kind, name, offset, block) for kind, name, offset, _, block in wanted]


@by_name([vector for vector in FILES if vector.valid])
@pytest.mark.parametrize("known", [False, True], ids=["length not known", "length known"])
def test_a_valid_file_gives_the_records_described(vector: Vector, known: bool) -> None:
    wanted = RECORDS[vector.name]
    with seekwarc.open(vector.data) as archive:
        assert [(r.type, r.id, r.offset, r.length, r.block.read()) for r in archive] == wanted
    for kind, name, offset, length, block in wanted:
        with seekwarc.open(vector.data) as archive:
            record = archive.record_at(offset, length if known else None)
            assert (record.type, record.id, record.length) == (kind, name, length)
            for start in range(len(block)):
                assert record.block.pread(start, 3) == block[start : start + 3]
            assert record.block.read() == block


def test_tables_of_valid_files_are_used() -> None:
    for name, number in (("file-every", 0), ("file-large", 0), ("file-large", 1)):
        _, _, offset, length, _ = RECORDS[name][number]
        with seekwarc.open(VECTORS[name].data) as archive:
            assert archive.record_at(offset, length).seek_table_status == "record"


@by_name([vector for vector in FILES if not vector.valid])
@pytest.mark.parametrize("known", [False, True], ids=["length not known", "length known"])
def test_a_wrong_table_never_gives_wrong_bytes(vector: Vector, known: bool) -> None:
    # Section 6.3 alone may refuse to read: a frame is not what the table says of it.
    may_fail = vector.name in ("file-sizes-swapped", "file-checksum-wrong")
    with suppress(FormatError) if may_fail else nullcontext():
        for _, name, offset, length, block in RECORDS[vector.name]:
            with seekwarc.open(vector.data) as archive:
                record = archive.record_at(offset, length if known else None)
                assert record.id == name
                assert record.length == length, "offsets and lengths stay (6.5)"
                for start in range(len(block)):
                    assert record.block.pread(start, 3) == block[start : start + 3]
                assert record.block.read() == block


@pytest.mark.parametrize("name", ["file-anchor-elsewhere", "file-sum-elsewhere"])
@pytest.mark.parametrize("known", [False, True], ids=["length not known", "length known"])
def test_a_table_of_something_else_is_read_past_by_scanning(name: str, known: bool) -> None:
    _, _, offset, length, block = EVERY[0]
    with seekwarc.open(VECTORS[name].data) as archive:
        record = archive.record_at(offset, length if known else None)
        assert record.seek_table_status in ("unusable", "none")
        assert record.block.read() == block


@by_name([vector for vector in FILES if "dictionary" not in vector.name])
def test_every_file_is_one_for_other_tools(vector: Vector) -> None:
    with zstandard.ZstdDecompressor().stream_reader(
        io.BytesIO(vector.data), read_across_frames=True
    ) as reader:
        content = reader.read()
    assert content == content_of(walk(vector.data))
    with seekwarc.open(content) as archive:
        found = [(record.type, record.id, record.block.read()) for record in archive]
    assert found == [(kind, name, block) for kind, name, _, _, block in RECORDS[vector.name]]
