"""Writing .warc and .warc.gz record by record."""

from __future__ import annotations

import gzip
import io
import os

import pytest

from seekwarc.errors import FormatError, TargetError
from seekwarc.format.warc import parse_record_header
from seekwarc.make.sinks import StreamSink
from seekwarc.write.opening import open_output
from tests.support.foreign import Foreign, text, warc_header
from tests.support.writing import Stream, noise

RECORDS = [b"", b"short", text(700_000), noise(700_000)]


def write_all(sink) -> None:
    for number, block in enumerate(RECORDS):
        sink.write_raw(warc_header(len(block), number), Stream(block))
    sink.close()


def made() -> Foreign:
    file = Foreign()
    for block in RECORDS:
        file.record(block)
    return file.plain()


def test_a_plain_file_is_its_records() -> None:
    target = io.BytesIO()
    write_all(StreamSink(open_output(target), "none"))
    assert target.getvalue() == made().bytes()


@pytest.mark.parametrize("level", [0, 1, 6, 9])
def test_a_gzip_file_is_a_member_a_record(level) -> None:
    target = io.BytesIO()
    write_all(StreamSink(open_output(target), "gz", level))
    data = target.getvalue()
    assert gzip.decompress(data) == made().bytes()
    assert data.count(b"\x1f\x8b\x08\x00\x00\x00\x00\x00") >= len(RECORDS), (
        "no time, no name: the same every time"
    )


def test_a_parsed_header_is_accepted() -> None:
    target = io.BytesIO()
    sink = StreamSink(open_output(target), "none")
    sink.write_raw(parse_record_header(warc_header(1)), io.BytesIO(b"x"))
    sink.close()
    assert target.getvalue() == warc_header(1) + b"x\r\n\r\n"


def test_the_trailer_is_asked_after_the_block() -> None:
    target, block = io.BytesIO(), io.BytesIO(b"block, and what follows")
    sink = StreamSink(open_output(target), "none")
    sink.write_raw(warc_header(5), block, trailer=lambda: block.read(5))
    sink.close()
    assert target.getvalue() == warc_header(5) + b"block, and"


def test_a_block_that_is_too_short_is_refused() -> None:
    sink = StreamSink(open_output(io.BytesIO()), "none")
    with pytest.raises(FormatError, match="ended 3 bytes before its Content-Length"):
        sink.write_raw(warc_header(10), io.BytesIO(b"1234567"))
    sink.abort()


@pytest.mark.parametrize("compression", ["none", "gz"])
def test_a_file_without_records_is_not_made(tmp_path, compression) -> None:
    with pytest.raises(FormatError, match="no record was written"):
        StreamSink(open_output(tmp_path / "new"), compression).close()
    assert os.listdir(tmp_path) == []


def test_abort_leaves_nothing(tmp_path) -> None:
    sink = StreamSink(open_output(tmp_path / "new"), "gz")
    sink.write_raw(warc_header(1), io.BytesIO(b"x"))
    sink.abort()
    sink.abort()
    sink.close()
    assert os.listdir(tmp_path) == []


def test_close_is_idempotent(tmp_path) -> None:
    sink = StreamSink(open_output(tmp_path / "new"), "none")
    sink.write_raw(warc_header(1), io.BytesIO(b"x"))
    sink.close()
    sink.close()
    sink.abort()
    assert (tmp_path / "new").read_bytes() == warc_header(1) + b"x\r\n\r\n"


def test_a_full_disk_is_an_error() -> None:
    with open("/dev/full", "wb", buffering=0) as full:
        sink = StreamSink(open_output(full), "none")
        with pytest.raises(TargetError, match="/dev/full: cannot be written: No space left"):
            sink.write_raw(warc_header(1), io.BytesIO(b"x"))
        sink.abort()
