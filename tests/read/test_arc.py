"""ARC files are read as they are: each record and any range of it, whatever is wrong with their lengths."""

from __future__ import annotations

import contextlib
import gzip
import io
import pickle
import random
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seekwarc
from seekwarc import tools
from seekwarc.check.verifying import Problem
from seekwarc.errors import FormatError, FormatWarning, TruncatedError, UnsupportedError
from tests.conftest import ODD_SAMPLES
from tests.support.arc import ARC, ARC_GZ, ARC_RECORDS, VERSION_1, VERSION_2, arc_record, first_record
from tests.support.rangeserver import RangeServer
from tests.support.rounds import rounds

FOLDERS = (ODD_SAMPLES, ODD_SAMPLES.parent / "warcio-test-data")
SAMPLES = sorted(path for folder in FOLDERS if folder.is_dir() for path in folder.glob("*.arc*"))
QUIET = pytest.mark.filterwarnings("ignore::seekwarc.FormatWarning")
PAGE = b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n"
FILM = random.Random(1).randbytes(300_000)
BIG = arc_record(b"http://example.org/film", PAGE + FILM)
AFTER = arc_record(b"http://example.org/after", PAGE + b"after")
FIRST = first_record()

Read = tuple[int, str | None, str, bytes, str | None]


def read(data: bytes | Path | io.RawIOBase, **options: Any) -> list[Read]:
    with seekwarc.open(data, **options) as archive:  # type: ignore[arg-type]
        return [(it.offset, it.target_uri, str(it.date), it.block.read(), it.problem) for it in archive]


def blocks(data: bytes | Path, **options: Any) -> list[bytes]:
    return [it[3] for it in read(data, **options)]


def by_warcio(path: Path) -> list[tuple[str, str | None, str, bytes]]:
    from warcio.archiveiterator import ArchiveIterator  # noqa: PLC0415
    from warcio.exceptions import ArchiveLoadFailed  # noqa: PLC0415

    found = []
    # It ends at a record that follows without a line break.
    with path.open("rb") as file, contextlib.suppress(ArchiveLoadFailed):
        for record in ArchiveIterator(file, arc2warc=True, no_record_parse=True):
            fields = record.rec_headers
            uri, date = fields.get_header("WARC-Target-URI"), fields.get_header("WARC-Date")
            found.append((record.rec_type, uri, date, record.raw_stream.read()))
    return found


@pytest.mark.needs("module:warcio", "odd samples")
@QUIET
@pytest.mark.parametrize("path", SAMPLES, ids=lambda it: it.name)
def test_samples_are_read_as_warcio_reads_them(path: Path) -> None:
    with seekwarc.open(path, on_error="skip") as archive:
        assert archive.is_arc
        found = [(it.type, it.target_uri, str(it.date), it.block.read()) for it in archive]
    expected = by_warcio(path)
    assert len(found) >= len(expected) > 0
    for ours, theirs in zip(found, expected, strict=False):
        # warcio takes two lines of the version block for the header.
        assert ours[3].endswith(theirs[3]) if ours[0] == "warcinfo" else ours[3] == theirs[3]
        assert (ours[:2] == theirs[:2]) or theirs[1] is None
        assert ours[2] == theirs[2] or (ours[2] == "None" and theirs[2].startswith("1900"))


@pytest.mark.needs("odd samples")
@QUIET
@pytest.mark.parametrize("path", SAMPLES, ids=lambda it: it.name)
def test_samples_give_the_same_records_by_offset(path: Path) -> None:
    with seekwarc.open(path, on_error="skip") as archive:
        for record in archive:
            length = record.length
            for known in (None, length):
                with seekwarc.open(path) as other:
                    again = other.record_at(record.offset, known)
                    assert (again.header, again.block.read()) == (record.header, record.block.read())
                    assert again.type == record.type


@pytest.mark.parametrize("data", [ARC, ARC_GZ, gzip.compress(ARC)], ids=["plain", "members", "one member"])
@pytest.mark.parametrize("is_pipe", [False, True])
@QUIET
def test_records_are_the_same_however_they_are_stored(data: bytes, is_pipe: bool) -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    with seekwarc.open(Pipe(data) if is_pipe else data) as archive:
        found = [(it.type, it.block.read(), it.id) for it in archive]
    assert found == [
        ("warcinfo", VERSION_1, None),
        ("response", b"HTTP/1.0 200 OK\r\n\r\n<p>Hi\r\n", None),
        ("response", b"HTTP/1.0 200 OK\r\n\r\n<p>You\r\n", None),
    ]


@pytest.mark.parametrize("is_gzip", [False, True])
def test_any_range_of_a_large_record_is_read(is_gzip: bool) -> None:
    parts = [FIRST, BIG, AFTER]
    data = b"".join(map(gzip.compress, parts)) if is_gzip else b"".join(parts)
    offset = len(gzip.compress(FIRST)) if is_gzip else len(FIRST)
    with seekwarc.open(data) as archive:
        record = archive.record_at(offset)
        assert record.payload.pread(123_456, 789) == FILM[123_456:124_245]
        assert record.payload.pread(5, 7) == FILM[5:12]
        assert (record.http.status, record.payload.size) == (200, len(FILM))
        assert record.whole.read() == BIG[:-1]
        assert pickle.loads(pickle.dumps(archive.record_at(offset))).payload.read() == FILM
        *_, last = archive
        assert (last.payload.read(), last.offset) == (b"after", offset + record.length)
        assert [it.offset for it in archive.between(offset, last.offset)] == [offset]


def test_version_2_is_read() -> None:
    more = (b"192.0.2.1", b"20010101000000", b"text/html", b"200", b"-", b"-", b"120", b"old.arc")
    data = first_record(VERSION_2, fields=(b"200", b"-", b"-", b"0", b"old.arc"))
    data += arc_record(b"http://example.org/a", PAGE + b"one", *more)
    assert [it[1:4] for it in read(data)][1:] == [
        ("http://example.org/a", "2001-01-01T00:00:00Z", PAGE + b"one")
    ]


@pytest.mark.parametrize("gap", [b"", b"\n", b"\n\n", b"\r\n", b"\n" * 20])
@pytest.mark.parametrize("is_gzip", [False, True])
def test_line_breaks_between_records_may_be_missing_or_many(gap: bytes, is_gzip: bool) -> None:
    parts = [
        FIRST,
        *(arc_record(b"http://example.org/%d" % it, PAGE + b"%d" % it, gap=gap) for it in range(4)),
    ]
    data = b"".join(map(gzip.compress, parts)) if is_gzip else b"".join(parts)
    assert blocks(data, strict=True)[1:] == [PAGE + b"%d" % it for it in range(4)]


@pytest.mark.parametrize("form", ["plain", "members", "one member"])
@pytest.mark.parametrize("surplus", [b"\0\0\0 more", b"more\n\nand more http://example.org/ 192.0.2.1 x\n"])
def test_a_record_after_too_small_a_length_is_found(form: str, surplus: bytes) -> None:
    parts = [FIRST, AFTER[:-1] + surplus + b"\n", AFTER]
    data = b"".join(parts)
    data = gzip.compress(data) if form == "one member" else data
    data = b"".join(map(gzip.compress, parts)) if form == "members" else data
    with pytest.warns(FormatWarning):
        found = read(data)
    assert [it[3] for it in found][1:] == [PAGE + b"after"] * 2
    with pytest.raises(FormatError):
        read(data, strict=True)


@pytest.mark.parametrize("is_gzip", [False, True])
@QUIET
def test_a_record_within_too_large_a_length_is_found(is_gzip: bool) -> None:
    wrong = AFTER.replace(b"html 49", b"html 70")
    assert wrong != AFTER
    parts = [FIRST, wrong, AFTER, BIG]
    data = b"".join(map(gzip.compress, parts)) if is_gzip else b"".join(parts)
    found = read(data)
    assert [it[3] for it in found][1:] == [PAGE + b"after", PAGE + b"after", PAGE + FILM]
    assert "too large" in str(found[1][4])


@QUIET
def test_a_length_that_is_not_a_number_is_a_block_of_nothing() -> None:
    for length in (b"-1", b"abc"):
        found = read(FIRST + AFTER.replace(b"html 49", b"html " + length) + AFTER)
        assert [it[3] for it in found][1:] == [b"", PAGE + b"after"]
        assert found[1][4] is not None


@QUIET
def test_a_record_that_is_cut_off_is_read_as_far_as_it_goes() -> None:
    with seekwarc.open(FIRST + BIG[:1000]) as archive:
        *_, last = archive
        assert last.is_cut_off
        assert last.block.read() == BIG[BIG.index(b"\n") + 1 : 1000]
    with pytest.raises(TruncatedError):
        read(FIRST + BIG[:1000], strict=True)


@QUIET
def test_after_damage_the_next_record_is_found() -> None:
    members = [gzip.compress(it, mtime=0) for it in (FIRST, BIG, AFTER, AFTER)]
    members[1] = members[1][:2000] + b"\xff" * 50 + members[1][2050:]
    errors: list[FormatError] = []
    with seekwarc.open(b"".join(members), on_error=errors.append) as archive:
        assert [it.target_uri for it in archive][-2:] == ["http://example.org/after"] * 2
    assert errors
    with seekwarc.open(FIRST + b"\0damage" * 300_000 + b"\n" + AFTER, on_error=errors.append) as archive:
        assert [it.target_uri for it in archive] == [
            "filedesc://old.arc",
            "http://example.org/after",
        ]


def test_the_rest_of_an_url_begins_no_record() -> None:
    cut = ARC[:-5]
    found: list[Problem] = []
    tools.verify(cut, on_problem=found.append)
    assert [it.offset for it in found] == [cut.rindex(b"http://example.org/a")]


def test_only_a_version_block_at_the_beginning_makes_an_arc_file() -> None:
    line = ARC_RECORDS[1]
    for data in (line, gzip.compress(line), b"\n" + ARC, b"filedesc: x\n" + line, b"filedesc" + line):
        with pytest.raises(FormatError):
            read(data)
    broken = b"WARC/1.1\r\nWARC-Type: resource\r\nContent-Length: 5\r\n\r\nhello\n" + ARC
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        with pytest.raises(FormatError):
            read(broken)
        with seekwarc.open(broken) as archive, pytest.raises(UnsupportedError):
            archive.record_at(broken.index(b"filedesc"))
    with seekwarc.open(ARC_GZ) as archive, pytest.raises(FormatError):
        archive.record_at(5)
    for offset in (len(ARC_RECORDS[0]) + 30, len(ARC)):
        with seekwarc.open(ARC) as archive, pytest.raises(FormatError):
            archive.record_at(offset)


def test_a_remote_file_is_read_by_range() -> None:
    parts = [FIRST, BIG, AFTER]
    with RangeServer(b"".join(parts)) as server, seekwarc.open(server.url) as archive:
        record = archive.record_at(len(FIRST), len(BIG))
        assert record.payload.pread(200_000, 10) == FILM[200_000:200_010]
        assert archive.stats.bytes_fetched < len(BIG)
    members = [gzip.compress(it, mtime=0) for it in parts]
    with RangeServer(b"".join(members)) as server, seekwarc.open(server.url) as archive:
        last = archive.record_at(len(members[0]) + len(members[1]), len(members[2]))
        assert last.payload.read() == b"after"
        assert archive.stats.requests == 2, "the head of the file, and the record"


@QUIET
@settings(max_examples=rounds(150), deadline=None)
@given(st.data(), st.booleans())
def test_a_damaged_file_gives_records_or_an_error(data: st.DataObject, is_gzip: bool) -> None:
    whole = ARC_GZ if is_gzip else ARC + AFTER
    at = data.draw(st.integers(0, len(whole)))
    stored = whole[:at] + data.draw(st.binary(max_size=8)) + whole[at + data.draw(st.integers(0, 8)) :]
    for options in ({}, {"strict": True}, {"on_error": "skip"}):
        try:
            with seekwarc.open(stored, **options) as archive:
                for record in archive:
                    assert len(record.block.read()) <= record.content_length
                    assert record.offset + (record.length if record.has_length else 0) <= len(stored)
        except FormatError:
            pass
