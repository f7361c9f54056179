"""Whether a file is an ARC file is told by its beginning, of which no more is read than that takes."""

from __future__ import annotations

import gzip

import pytest

from seekwarc.format.warc import WARC
from seekwarc.frames.scan import Window
from seekwarc.read.grammar import grammar_of
from seekwarc.storage.local import BytesSource
from tests.support.arc import ARC, ARC_GZ, ARC_RECORDS, VERSION_2, first_record
from tests.support.sources import RecordingSource

LONG = b"filedesc://" + b"x" * 5000 + ARC[len(b"filedesc://") :]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (ARC, True),
        (ARC_GZ, True),
        (gzip.compress(ARC, mtime=0), True),
        (LONG, True),
        (gzip.compress(LONG, mtime=0), True),
        (b"filedesc://", True),
        (first_record(VERSION_2), True),
        (b"", False),
        (b"filedesc:/", False),
        (b"\n" + ARC, False),
        (ARC_RECORDS[1], False),
        (b"WARC/1.1\r\n", False),
        (gzip.compress(b"WARC/1.1\r\n", mtime=0), False),
        (gzip.compress(b"", mtime=0), False),
        (b"\x1f\x8bdamaged", False),
        (b"\x1f\x8b", False),
    ],
)
def test_the_beginning_tells(data: bytes, expected: bool) -> None:
    found = grammar_of(Window(BytesSource(data)))
    assert found.is_arc is expected
    assert expected or found is WARC


def test_of_a_warc_file_little_is_read() -> None:
    source = RecordingSource(b"WARC/1.1\r\n" + bytes(1 << 20))
    grammar_of(Window(source, first_read=64))
    assert source.bytes_asked <= 128
