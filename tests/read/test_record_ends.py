"""What follows a record in its gzip member or frame, and the checksum after it."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import seekwarc
from seekwarc.cli import main as command
from seekwarc.errors import ChecksumError, FormatError, FormatWarning
from tests.support.foreign import CRLF2, text, warc_header, zstd_frame

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


def test_other_records_in_a_member_are_compared_with_it_up_to_a_mib() -> None:
    near, far = (RECORD + warc_header(size) + text(size) + CRLF2 for size in (500_000, 3 * MIB))
    for content, is_compared in ((near, True), (far, False)):
        member = gzip.compress(content, 1)
        with seekwarc.open(member) as archive:
            with pytest.warns(FormatWarning, match="share one"):
                record = archive.record_at(0)
            assert record.block.read() == BLOCK
            assert ("not compared" in record.problem) is not is_compared
        with seekwarc.open(with_wrong_checksum(member)) as archive:
            if is_compared:
                with pytest.raises(ChecksumError):
                    archive.record_at(0)
            else:
                with pytest.warns(FormatWarning, match="not compared"):
                    assert archive.record_at(0).block.read() == BLOCK


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
