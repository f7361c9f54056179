"""Content as one forward stream, and where in the file it comes from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.errors import FormatError
from seekwarc.format.warc import MAX_HEADER_SIZE
from seekwarc.frames.decoder import FrameDecoder
from seekwarc.frames.dictionary import Dictionary
from seekwarc.frames.pieces import pieces_from
from seekwarc.frames.scan import Window
from seekwarc.frames.stream import ContentStream
from tests.support import strategies
from tests.support.foreign import (
    CRLF2,
    Foreign,
    cut,
    some_dictionary,
    warc_header,
    zstd_frame,
)
from tests.support.sources import RecordingSource
from tests.support.units import CONTENT, FORMS, pieces


def stream(data: bytes, compression: str, **options: object) -> ContentStream:
    decoder = FrameDecoder(lambda: Dictionary(some_dictionary().as_bytes()))
    found = pieces_from(Window(RecordingSource(data)), 0, compression, decoder)
    return ContentStream(found, plain=compression == "none", **options)


# The stream.


@pytest.mark.slow
@given(strategies.layouts(), st.data())
def test_reads_go_forward_through_the_content(made: Foreign, data: st.DataObject) -> None:
    content = b"".join(put.header + put.block + CRLF2 for put in made.records)
    seen = bytearray()
    found = stream(made.bytes(), "zst", tap=seen.extend)
    position = 0
    for _ in range(8):
        position += data.draw(st.integers(0, 600))
        size = data.draw(st.integers(0, 600))
        expected = content[position : position + size]
        if data.draw(st.booleans()):
            assert found.peek_at(position, size) == expected
            continue
        out = bytearray(size)
        assert found.read_at(position, memoryview(out)) == len(expected)
        assert out[: len(expected)] == expected
        position += len(expected)
    assert found.skip_to(len(content) + 1) == len(content)
    assert found.mark() is None
    assert seen == content


def test_what_has_gone_by_is_not_given_again() -> None:
    found = stream(*FORMS["zst frames"])
    found.skip_to(100)
    assert found.read_at(99, memoryview(bytearray(5))) is None
    assert found.peek_at(99, 5) is None
    assert found.peek_at(100, 5) == CONTENT[100:105]
    assert found.position == 100


@pytest.mark.parametrize(("data", "compression"), FORMS.values(), ids=FORMS)
def test_marks_tell_the_unit_and_what_stands_before_in_it(data: bytes, compression: str) -> None:
    starts = {piece.offset for piece in pieces(data, compression)}
    found = stream(data, compression)
    for position in (0, 1, 69_999, 70_000, 70_001, 300_000, len(CONTENT) - 1):
        found.skip_to(position)
        mark = found.mark()
        assert mark is not None
        assert mark.position == position
        if compression == "none":
            assert (mark.offset, mark.skip) == (position, 0)
        else:
            assert mark.offset in starts
            rest = stream(data[mark.offset :], compression)
            assert rest.peek_at(mark.skip, 50) == CONTENT[position : position + 50]
            if len(starts) > 1:
                assert mark.skip == position % 70_000
    found.skip_to(len(CONTENT))
    assert found.mark() is None


def test_a_header_is_read_wherever_it_is_cut() -> None:
    header, block = warc_header(10), b"\r\n\r\n567890"
    content = header + block + CRLF2
    for step in (1, 2, 3, 7, 50, 1000):
        found = stream(b"".join(map(zstd_frame, cut(content, step))), "zst")
        assert found.read_header() == header
        assert found.peek_at(len(header), 10) == block


def test_blank_lines_are_read_but_not_what_follows() -> None:
    for blank in (b"", b"\n\n", CRLF2, CRLF2 * 5):
        found = stream(b"".join(map(zstd_frame, [blank, b"WARC/1.1"])), "zst")
        assert found.read_blank_lines() == blank
        assert found.peek_at(len(blank), 8) == b"WARC/1.1"
    assert stream(zstd_frame(CRLF2), "zst").read_blank_lines() == CRLF2


def test_blank_lines_without_end_are_not_read_without_end() -> None:
    found = stream(zstd_frame(b"\r\n" * 1_000_000), "zst")
    assert len(found.read_blank_lines()) < 1000


def test_a_header_without_end_is_given_up() -> None:
    endless = zstd_frame(b"WARC/1.1\r\n" + b"X: y\r\n" * (MAX_HEADER_SIZE // 3))
    with pytest.raises(FormatError, match="no complete record header"):
        stream(endless, "zst").read_header()
    with pytest.raises(FormatError, match="b'<html'"):
        stream(zstd_frame(b"<html>" * 1000), "zst").read_header()


def test_a_header_that_the_file_ends_in_is_given_as_far_as_it_goes() -> None:
    assert stream(zstd_frame(b"WARC/1.1\r\nX: y\r\n"), "zst").read_header() == b"WARC/1.1\r\nX: y\r\n"
