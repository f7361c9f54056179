"""Content as one forward stream: the same whatever it is compressed with, in pieces of bounded size."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seekwarc.errors import ChecksumError, FormatError, TruncatedError, UnsupportedError
from seekwarc.format.warc import MAX_HEADER_SIZE
from seekwarc.frames.decoder import FrameDecoder
from seekwarc.frames.dictionary import Dictionary
from seekwarc.frames.scan import Window
from seekwarc.frames.stream import ContentStream, Piece, detect, pieces_from
from seekwarc.storage.source import open_source
from tests.support import strategies
from tests.support.foreign import (
    CRLF2,
    EXTENSIONS,
    Foreign,
    cut,
    gzip_member,
    noise,
    skippable,
    some_dictionary,
    text,
    warc_header,
    zstd_frame,
)
from tests.support.sources import Pipe, RecordingSource

CONTENT = text(500_000, seed=31)
FORMS = {
    "none": (CONTENT, "none"),
    "gz": (gzip_member(CONTENT), "gz"),
    "gz members": (b"".join(map(gzip_member, cut(CONTENT, 70_000))), "gz"),
    "zst": (zstd_frame(CONTENT), "zst"),
    "zst frames": (b"".join(map(zstd_frame, cut(CONTENT, 70_000))), "zst"),
    "zst without size": (zstd_frame(CONTENT, content_size=False), "zst"),
    "zst without checksum": (zstd_frame(CONTENT, content_size=False, checksum=False), "zst"),
}


def pieces(data: bytes, compression: str, *, pipe: bool = False) -> list[Piece]:
    source = open_source(Pipe(data)) if pipe else RecordingSource(data)
    found = pieces_from(Window(source), 0, compression, FrameDecoder(lambda: None))
    return [piece for piece in found if isinstance(piece, Piece)]


def stream(data: bytes, compression: str, **options: object) -> ContentStream:
    decoder = FrameDecoder(lambda: Dictionary(some_dictionary().as_bytes()))
    found = pieces_from(Window(RecordingSource(data)), 0, compression, decoder)
    return ContentStream(found, plain=compression == "none", **options)


# What a file is.


def test_files_are_told_apart_by_their_first_bytes() -> None:
    assert detect(b"WARC/1.1\r\n", "x") == "none"
    assert detect(gzip_member(b"x")[:8], "x") == "gz"
    assert detect(zstd_frame(b"x")[:8], "x") == "zst"
    assert detect(skippable(0x184D2A5D, b"x")[:8], "x") == "zst"
    for magic in EXTENSIONS:
        assert detect(skippable(magic), "x") == "zst"


@pytest.mark.parametrize("head", [b"", b"W", b"WARC", b"\x28\xb5\x2f", b"\x1f", b"PK\x03\x04", bytes(8)])
def test_what_is_neither_is_refused(head: bytes) -> None:
    with pytest.raises(UnsupportedError, match=r"name\.x, offset 17: (not a WARC file|the file is empty)"):
        detect(head, "name.x", 17)


# Pieces.


@pytest.mark.parametrize(("data", "compression"), FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("pipe", [False, True])
def test_the_pieces_are_the_content(data: bytes, compression: str, pipe: bool) -> None:
    found = pieces(data, compression, pipe=pipe)
    assert b"".join(piece.data for piece in found) == CONTENT
    assert found[-1].end == len(data)


@pytest.mark.parametrize(("data", "compression"), FORMS.values(), ids=FORMS)
def test_pieces_tell_where_their_unit_begins_and_ends(data: bytes, compression: str) -> None:
    if compression == "none":
        return
    unit, expected = None, 0
    for piece in pieces(data, compression):
        assert piece.first == (unit is None)
        unit = expected if piece.first else unit
        assert piece.unit == unit
        if piece.end is not None:
            unit, expected = None, piece.end
    assert unit is None


@pytest.mark.parametrize("compression", ["gz", "zst", "zst without size"])
def test_pieces_of_a_huge_unit_are_small(compression: str) -> None:
    content = bytes(30 << 20)
    frame = zstd_frame(content, content_size=compression == "zst")
    data = gzip_member(content) if compression == "gz" else frame
    sizes = [len(piece.data) for piece in pieces(data, compression[:3].strip())]
    assert sum(sizes) == len(content)
    assert max(sizes) <= 1 << 20


@pytest.mark.parametrize("compression", ["gz", "zst"])
@pytest.mark.parametrize("pipe", [False, True])
def test_a_unit_that_is_cut_is_truncated_at_its_offset(compression: str, pipe: bool) -> None:
    make = gzip_member if compression == "gz" else zstd_frame
    for content, options in ((text(2000), {}), (noise(400_000), {}), (text(2000), {"content_size": False})):
        front = make(b"front")
        unit = make(content) if compression == "gz" else zstd_frame(content, **options)
        for length in {1, 2, 5, 12, len(unit) // 2, len(unit) - 4, len(unit) - 1}:
            with pytest.raises(TruncatedError, match=f"offset {len(front)}"):
                pieces(front + unit[:length], compression, pipe=pipe)


def test_damage_is_a_checksum_error_at_its_unit() -> None:
    for make, compression in ((gzip_member, "gz"), (zstd_frame, "zst")):
        front, unit = make(b"front"), bytearray(make(noise(500)))
        unit[200] ^= 1
        with pytest.raises(ChecksumError, match=rf"recorded.*offset {len(front)}.*damaged"):
            pieces(front + bytes(unit), compression)


def test_garbage_between_units_is_an_error_and_zeros_are_only_behind_gzip() -> None:
    member, frame = gzip_member(b"abc"), zstd_frame(b"abc")
    assert len(pieces(member + bytes(100_000), "gz")) == 1
    with pytest.raises(FormatError, match=f"offset {len(member)}"):
        pieces(member + b"garbage", "gz")
    with pytest.raises(FormatError, match=f"offset {len(member)}"):
        pieces(member + bytes(10) + member, "gz")
    with pytest.raises(FormatError, match=f"offset {len(frame)}"):
        pieces(frame + bytes(10), "zst")


# The stream.


@settings(deadline=None)
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
def test_marks_tell_the_unit_and_what_stands_in_front_in_it(data: bytes, compression: str) -> None:
    starts = {piece.unit for piece in pieces(data, compression)}
    found = stream(data, compression)
    for position in (0, 1, 69_999, 70_000, 70_001, 300_000, len(CONTENT) - 1):
        found.skip_to(position)
        mark = found.mark()
        assert mark is not None
        assert mark.position == position
        if compression == "none":
            assert (mark.unit, mark.skip) == (position, 0)
        else:
            assert mark.unit in starts
            rest = stream(data[mark.unit :], compression)
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
    with pytest.raises(FormatError, match="no record header with an end"):
        stream(endless, "zst").read_header()
    with pytest.raises(FormatError, match="b'<html'"):
        stream(zstd_frame(b"<html>" * 1000), "zst").read_header()


def test_a_header_that_the_file_ends_in_is_given_as_far_as_it_goes() -> None:
    assert stream(zstd_frame(b"WARC/1.1\r\nX: y\r\n"), "zst").read_header() == b"WARC/1.1\r\nX: y\r\n"
