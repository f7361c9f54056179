"""Content unit by unit: the same whatever it is compressed with, in pieces of bounded size."""

from __future__ import annotations

import pytest

from seekwarc.errors import ChecksumError, FormatError, TruncatedError, UnsupportedError
from seekwarc.frames.pieces import detect
from tests.support.foreign import EXTENSIONS, gzip_member, skippable, text, zstd_frame
from tests.support.units import CONTENT, FORMS, pieces
from tests.support.writing import noise

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
    with pytest.raises(UnsupportedError, match=r"name\.x, offset 0: (not a WARC file|the file is empty)"):
        detect(head, "name.x", 0)
    with pytest.raises(UnsupportedError, match=r"name\.x, offset 17: no record starts here"):
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
        assert piece.offset == unit
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


def test_garbage_between_units_is_an_error_but_zeros_after_gzip() -> None:
    member, frame = gzip_member(b"abc"), zstd_frame(b"abc")
    assert len(pieces(member + bytes(100_000), "gz")) == 1
    with pytest.raises(FormatError, match=f"offset {len(member)}"):
        pieces(member + b"garbage", "gz")
    with pytest.raises(FormatError, match=f"offset {len(member)}"):
        pieces(member + bytes(10) + member, "gz")
    with pytest.raises(FormatError, match=f"offset {len(frame)}"):
        pieces(frame + bytes(10), "zst")
