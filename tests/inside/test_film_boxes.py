"""What films state, checked before libav sees them."""

from __future__ import annotations

import io
import zlib

import pytest

from seekwarc.errors import FormatError, LimitError
from seekwarc.inside.film_boxes import check_boxes, check_elements, index_range
from seekwarc.inside.films import Film
from tests.support.films import FORMS, small_film

MILLIONS = (20_000_000).to_bytes(4)


def box(name: bytes, *content: bytes) -> bytes:
    data = b"".join(content)
    return (8 + len(data)).to_bytes(4) + name + data


def full(name: bytes, *content: bytes, flags: int = 0) -> bytes:
    return box(name, flags.to_bytes(4), *content)


def numbers(*them: int) -> bytes:
    return b"".join(it.to_bytes(4) for it in them)


def in_track(*tables: bytes) -> bytes:
    return box(b"moov", box(b"trak", box(b"mdia", box(b"minf", box(b"stbl", *tables)))))


def in_fragment(*content: bytes) -> bytes:
    return box(b"moov", box(b"mvex")) + box(b"moof", box(b"traf", *content))


def check(film: bytes) -> bool:
    return check_boxes(lambda start, count: film[start : start + count], len(film))


@pytest.mark.parametrize("form", FORMS)
def test_good_films_pass(form) -> None:
    with Film(io.BytesIO(small_film(form))) as film:
        assert film.streams


@pytest.mark.parametrize("name", [b"stts", b"ctts", b"stsc", b"stss", b"stps", b"stco", b"co64", b"elst"])
def test_a_table_that_its_box_has_no_room_for_is_refused(name) -> None:
    sizes = {b"stsc": 12, b"elst": 12, b"co64": 8, b"stts": 8, b"ctts": 8}
    fits = full(name, numbers(2), bytes(2 * sizes.get(name, 4)))
    check(in_track(fits))
    more = full(name, numbers(3), bytes(2 * sizes.get(name, 4)))
    with pytest.raises(FormatError, match=f"box {name.decode()} at offset 40 of the film states 3 entries"):
        check(in_track(more))


@pytest.mark.parametrize(
    "film",
    [
        in_track(full(b"stsz", numbers(0, 20_000_000))),
        in_track(full(b"stz2", numbers(4, 20_000_000))),
        in_fragment(full(b"trun", MILLIONS, flags=0x100)),
        in_fragment(full(b"sidx", bytes(16), numbers(5))),
    ],
)
def test_sizes_and_runs_that_do_not_fit_are_refused(film) -> None:
    with pytest.raises(FormatError, match=r"of the film states \d+ entries, but has"):
        check(film)


@pytest.mark.parametrize(
    "film",
    [
        in_track(full(b"stsz", numbers(1), MILLIONS)),
        in_track(full(b"stsz", numbers(1, 600_000)))
        + box(b"free")
        + in_track(full(b"stsz", numbers(1, 600_000))),
        in_fragment(full(b"trun", MILLIONS)),
        in_track(full(b"stsc", numbers(2, 1, 9_000_000, 1, 2, 1, 1)), full(b"stco", numbers(2, 0, 0))),
        in_track(full(b"stsc", numbers(1, 1, 0x7FFFFFFF, 1)), full(b"stco", numbers(1, 0))),
        box(b"free") * 50 + in_track(full(b"stsz", numbers(1), MILLIONS)),
    ],
    ids=["sizes", "two tracks", "run", "chunks", "last chunk", "late"],
)
def test_more_samples_than_a_film_can_hold_are_refused(film) -> None:
    with pytest.raises(LimitError, match=r"box \w+ at offset \d+ of the film states \d+ samples, in all"):
        check(film)


def test_a_compressed_index_is_checked_too() -> None:
    index = in_track(full(b"stsz", numbers(1), MILLIONS))

    def film(stated: int) -> bytes:
        packed = box(b"cmvd", numbers(stated), zlib.compress(index))
        return box(b"moov", box(b"cmov", box(b"dcom", b"zlib"), packed))

    with pytest.raises(LimitError, match="box stsz at offset"):
        check(film(len(index)))
    with pytest.raises(
        LimitError, match="box cmov at offset 8 of the film states an index of 4294967295 bytes"
    ):
        check(film(0xFFFFFFFF))


@pytest.mark.parametrize("size", [0, 8, 23, 0x7FFFFFFF, 0xFFFFFFFF])
def test_an_index_of_fragments_that_leads_nowhere_is_refused(size) -> None:
    def film(size: int) -> bytes:
        tfra = bytearray(full(b"tfra", numbers(1, 0, 1, 0, 0), b"\1\1\1"))
        tfra[:4] = size.to_bytes(4)
        return in_fragment() + box(b"mfra", tfra, full(b"mfro", numbers(8 + len(tfra) + 16)))

    check(film(35))
    with pytest.raises(FormatError, match="box tfra at offset 40 of the film states a size of"):
        check(film(size))


@pytest.mark.parametrize("size", [0, 1, 7, 0xFFFFFFFF])
def test_sizes_of_boxes_end_the_check(size) -> None:
    check(b"".join([box(b"free"), numbers(size), b"free", bytes(100)]))
    check(box(b"moov", numbers(size), b"trak", bytes(100)))


def test_an_index_after_endless_boxes_is_not_looked_for() -> None:
    with pytest.raises(FormatError, match="no index"):
        check(box(b"free") * 100_000)


def test_many_small_fragments_are_no_fault() -> None:
    check(in_fragment() + (box(b"moof") + box(b"mdat", bytes(8))) * 1000)


def test_an_element_that_is_larger_than_the_film_is_refused() -> None:
    film = bytearray(small_film("film.mkv"))
    check_elements(lambda start, count: film[start : start + count], len(film))
    # An element of nothing, whose size has 8 bytes.
    place = film.index(b"\xec\x01\0\0")
    film[place + 2] = 0x7F
    with pytest.raises(FormatError, match=r"element EC at offset \d+ of the film states \d+ bytes"):
        check_elements(lambda start, count: film[start : start + count], len(film))


@pytest.mark.parametrize(
    ("film", "is_fragmented"),
    [
        (box(b"mdat", b"mvex") + box(b"moov"), False),
        (box(b"moov", box(b"mvex")), True),
        (box(b"free", bytes(70_000)) + box(b"moov", box(b"mvex")), True),
    ],
)
def test_a_film_is_in_fragments_if_its_index_says_so(film, is_fragmented) -> None:
    assert check(film) == is_fragmented


@pytest.mark.parametrize(("before", "expected"), [(7, (56, 64)), (8, None)])
def test_the_index_is_one_of_the_first_boxes(before, expected) -> None:
    film = box(b"free") * before + box(b"moov")
    assert index_range(lambda start, count: film[start : start + count], len(film)) == expected
