"""What follows a record in its gzip member or frame, and the checksum after it."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path

import pytest

import seekwarc
from seekwarc.cli import main as command
from seekwarc.errors import ChecksumError, FormatError, FormatWarning
from seekwarc.format.warc import build_record_header
from seekwarc.read.resync import only_shares
from tests.support.arc import arc_record, first_record
from tests.support.foreign import CRLF2, text, warc_header, zstd_frame
from tests.support.sources import RecordingSource

BLOCK = text(3000)
HEADER = warc_header(len(BLOCK))
RECORD = HEADER + BLOCK + CRLF2
MIB = 1 << 20


def with_wrong_checksum(member: bytes) -> bytes:
    return member[:-8] + bytes([member[-8] ^ 1]) + member[-7:]


def large() -> tuple[bytes, bytes]:
    block = text(3 * MIB)
    return warc_header(len(block)) + block + CRLF2, block


@pytest.mark.parametrize("shut", [gzip.compress, zstd_frame])
@pytest.mark.parametrize("trailer", [CRLF2, b"", b"\r\n", b"\n", b"\r\n" * 4])
def test_line_breaks_after_a_record_are_no_problem(shut, trailer) -> None:
    with seekwarc.open(shut(HEADER + BLOCK + trailer)) as archive:
        record = archive.record_at(0)
        assert record.block.pread(0, 4000) == BLOCK
        assert record.problem is None


def test_other_bytes_in_a_member_with_a_right_checksum_are_a_problem() -> None:
    with seekwarc.open(gzip.compress(HEADER + BLOCK + b"surplus" + CRLF2)) as archive:
        with pytest.warns(FormatWarning, match="is too small"):
            record = archive.record_at(0)
        assert record.block.read() == BLOCK
        assert "too small: 11 more bytes" in record.problem


def test_a_wrong_checksum_of_a_large_member_fails_where_its_end_is_near() -> None:
    content, block = large()
    with seekwarc.open(with_wrong_checksum(gzip.compress(content, 1))) as archive:
        record = archive.record_at(0)
        assert record.block.pread(0, 1000) == block[:1000]
        for start in (len(block) - 10, len(block) - 8000):
            with pytest.raises(ChecksumError, match=r"offset 0: .*damaged"):
                record.block.pread(start, 10)
        with pytest.raises(ChecksumError):
            record.block.read()


def test_unverified_reads_do_not_go_on_to_the_checksum() -> None:
    content, block = large()
    with seekwarc.open(with_wrong_checksum(gzip.compress(content, 1))) as archive:
        record = archive.record_at(0)
        assert record.block.pread(len(block) - 300_000, 100_000, verify=False) == block[-300_000:-200_000]


@cache
def shared_blocks() -> list[bytes]:
    return [text(size) for size in (3000, 500_000, 3 * MIB, 40_000)]


@cache
def one_member() -> bytes:
    """Return a whole file in one gzip member, as `gzip crawl.warc` makes it."""
    records = (warc_header(len(it), number) + it + CRLF2 for number, it in enumerate(shared_blocks()))
    return gzip.compress(b"".join(records), 1)


@pytest.mark.filterwarnings("ignore:.*share one:seekwarc.FormatWarning")
def test_a_whole_read_compares_the_checksum_of_a_member_of_many_records() -> None:
    for read in (lambda block: block.read(), lambda block: block.open().read()):
        with seekwarc.open(one_member()) as archive:
            record = archive.record_at(0)
            assert read(record.block) == shared_blocks()[0]
            assert only_shares(record.problem)
        with seekwarc.open(with_wrong_checksum(one_member())) as archive:
            block = archive.record_at(0).block
            assert block.pread(0, 1000) == shared_blocks()[0][:1000]
            assert block.pread(0, 3000, verify=False) == shared_blocks()[0]
            for _ in range(2):
                with pytest.raises(ChecksumError, match=r"offset 0: .*damaged"):
                    read(block)


@pytest.mark.filterwarnings("ignore:.*share one:seekwarc.FormatWarning")
def test_an_archive_remembers_whether_a_member_is_sound() -> None:
    source = RecordingSource(one_member())
    with seekwarc.open(source) as archive:
        archive.record_at(0).block.read()
        assert source.bytes_asked >= len(one_member())
        source.forget()
        archive.record_at(0).block.read()
        assert source.bytes_asked < MIB
    with seekwarc.open(with_wrong_checksum(one_member())) as archive:
        decoded = []
        for _ in range(2):
            with pytest.raises(ChecksumError):
                archive.record_at(0).block.read()
            decoded.append(archive.stats.bytes_decoded)
        assert decoded[1] - decoded[0] < 2 * MIB < decoded[0]


@pytest.mark.filterwarnings("ignore:.*share one:seekwarc.FormatWarning")
def test_records_kept_from_an_iteration_are_compared_when_they_are_read() -> None:
    with seekwarc.open(one_member()) as archive:
        records = list(archive)
        assert [it.block.read() for it in records] == shared_blocks()
        assert all(only_shares(it.problem) for it in records)
    with seekwarc.open(with_wrong_checksum(one_member())) as archive:
        records = []
        with pytest.raises(ChecksumError):
            records.extend(archive)
        for record in records:
            with pytest.raises(ChecksumError):
                record.block.read()


@pytest.mark.filterwarnings("ignore:.*share one:seekwarc.FormatWarning")
def test_an_iteration_says_that_a_checksum_was_not_reached_yet() -> None:
    with seekwarc.open(with_wrong_checksum(one_member())) as archive:
        records = iter(archive)
        record = next(records)
        assert record.block.read() == shared_blocks()[0]
        assert record.problem.endswith("not reached yet")
        with pytest.raises(ChecksumError):
            list(records)


@pytest.mark.filterwarnings("ignore::seekwarc.FormatWarning")
def test_a_record_of_a_member_that_is_cut_off_later_is_a_problem() -> None:
    with seekwarc.open(one_member()[:-MIB]) as archive:
        record = archive.record_at(0)
        assert record.block.read() == shared_blocks()[0]
        assert record.problem.startswith("the file ends inside the frame or gzip member of this record")


@pytest.mark.parametrize(
    ("where", "number"),
    [(["0"], 0), *[(["--uri", f"http://example.org/{number}"], number) for number in range(4)]],
)
def test_cat_of_a_file_in_one_member_fails_only_if_that_is_damaged(
    where: list[str], number: int, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = tmp_path / "a.warc.gz"
    for data, status in ((one_member(), 0), (with_wrong_checksum(one_member()), 1)):
        path.write_bytes(data)
        assert command(["cat", str(path), *where]) == status
        printed = capfdbinary.readouterr().out
        assert printed == shared_blocks()[number] or (status and shared_blocks()[number].startswith(printed))


def test_extracting_from_one_member_is_no_problem(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.gz"
    for data, status in ((one_member(), 0), (with_wrong_checksum(one_member()), 1)):
        path.write_bytes(data)
        assert command(["extract", str(path), "-o", str(tmp_path / f"out-{status}")]) == status


def test_bytes_without_an_end_nearby_are_an_error() -> None:
    member = gzip.compress(HEADER + text(4 * MIB), 1)
    with seekwarc.open(member) as archive, pytest.raises(FormatError, match="too small"):
        archive.record_at(0)


def test_a_member_that_is_cut_off_after_its_record_is_a_problem() -> None:
    with seekwarc.open(gzip.compress(RECORD)[:-5]) as archive:
        with pytest.warns(FormatWarning, match="cut off"):
            record = archive.record_at(0)
        assert record.block.pread(0, 4000) == BLOCK
        assert record.problem.startswith("the record is cut off")


def test_a_chunked_body_that_ends_early_in_a_damaged_member_is_an_error() -> None:
    body = b"%x\r\n%b\r\n0\r\n\r\n" % (500_000, text(500_000))
    block = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body + text(60_000)
    header = warc_header(len(block), kind="response").replace(b"text/plain", b"application/http")
    member = with_wrong_checksum(gzip.compress(header + block + CRLF2, 1))
    with seekwarc.open(member) as archive, pytest.raises(ChecksumError):
        archive.record_at(0).payload.read()


def test_an_iteration_goes_on_after_a_record_that_was_read() -> None:
    blocks = [text(size, seed=size) for size in (100, 300_000, 200, 90_000)]
    members = [gzip.compress(warc_header(len(it)) + it + CRLF2) for it in blocks]
    with seekwarc.open(b"".join(members)) as archive:
        assert [record.block.read() for record in archive] == blocks


@pytest.mark.parametrize("where", [["0"], ["--uri", "http://example.org/0"]])
def test_cat_fails_where_the_checksum_is_wrong(where: list[str], tmp_path: Path) -> None:
    content, _ = large()
    path = tmp_path / "a.warc.gz"
    path.write_bytes(gzip.compress(content, 1))
    assert command(["cat", str(path), *where]) == 0
    path.write_bytes(with_wrong_checksum(path.read_bytes()))
    assert command(["cat", str(path), *where]) == 1


def with_small_length(form: str) -> bytes:
    if form == "arc":
        return first_record() + arc_record(b"http://example.org/", BLOCK).replace(b" 3000\n", b" 2990\n")
    return RECORD + warc_header(len(BLOCK) - 10) + BLOCK + CRLF2


@pytest.mark.parametrize(("form", "missing"), [("warc", 14), ("arc", 11)])
def test_a_last_record_with_too_small_a_length_has_a_problem(form: str, missing: int) -> None:
    data = with_small_length(form)
    offset = len(first_record() if form == "arc" else RECORD)
    problem = f"Content-Length 2990 is too small: {missing} more bytes come before the end of the file"
    with seekwarc.open(data) as archive, pytest.warns(FormatWarning, match="too small"):
        assert archive.record_at(offset).problem == problem
    with seekwarc.open(data) as archive:
        records = iter(archive)
        assert next(records).problem is None
        with pytest.warns(FormatWarning, match="too small"):
            assert next(records).problem == problem
        with pytest.raises(FormatError, match="starts here"):
            next(records)


PROFILE = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
ID = "<urn:uuid:00000000-0000-4000-8000-00000000000%d>"


def other_record(kind: str, number: int, block: bytes, *fields: tuple[str, str]) -> bytes:
    known = [("WARC-Type", kind), ("WARC-Record-ID", ID % number), ("WARC-Date", "2026-11-26T00:00:00Z")]
    target = ("WARC-Target-URI", f"http://example.org/{number if kind == 'revisit' else 1}")
    header = build_record_header([*known, target, *fields, ("Content-Length", str(len(block)))])
    return header.raw + block


def logical(kind: str) -> bytes:
    """Return a file in which bytes follow the first record, which has the payload of a logical one."""
    if kind == "segments":
        first = other_record("resource", 1, BLOCK, ("WARC-Segment-Number", "1"))
        total = ("WARC-Segment-Number", "2"), ("WARC-Segment-Total-Length", str(len(BLOCK) + 4))
        last = other_record("continuation", 2, b"last", ("WARC-Segment-Origin-ID", ID % 1), *total)
    else:
        first = other_record("resource", 1, BLOCK)
        last = other_record("revisit", 2, b"", ("WARC-Profile", PROFILE), ("WARC-Refers-To", ID % 1))
    return gzip.compress(first + b"surplus" + CRLF2) + gzip.compress(last + CRLF2)


@pytest.mark.filterwarnings("ignore::seekwarc.FormatWarning")
@pytest.mark.parametrize(("kind", "number"), [("segments", 1), ("revisit", 2)])
def test_the_problem_of_a_record_is_that_of_what_takes_its_payload(
    kind: str, number: int, tmp_path: Path
) -> None:
    path = tmp_path / "a.warc.gz"
    path.write_bytes(logical(kind))
    with seekwarc.Collection([path]) as collection:
        record = collection.open_record((ID % number)[1:-1])
        assert record.payload.pread(0, len(BLOCK)) == BLOCK
        assert "too small: 11 more bytes" in (record.problem or "")
        assert record.payload.end_problem == record.problem
    for more in ([], ["--partial"]):
        assert command(["cat", str(path), "--uri", f"http://example.org/{number}", *more]) == 1


def test_partial_cat_fails_where_bytes_follow_the_record(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.gz"
    path.write_bytes(gzip.compress(HEADER + BLOCK + b"surplus" + CRLF2))
    for more in ([], ["--partial"]):
        assert command(["cat", str(path), "0", *more]) == 1
