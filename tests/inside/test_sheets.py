"""Contact sheets."""

from __future__ import annotations

import io
from fractions import Fraction

import pytest

from seekwarc.errors import LimitError
from seekwarc.inside.films import Film
from seekwarc.inside.pictures import Pictures, times_every
from seekwarc.inside.sheets import CAPTION, GAP, contact_sheet
from tests.support.cutting import opened_picture
from tests.support.films import small_film


def test_a_sheet_has_all_pictures_with_their_times() -> None:
    with Film(io.BytesIO(small_film("first.mp4"))) as film:
        pictures = Pictures(film)
        sheet = contact_sheet(
            (pictures.at(time) for time in times_every(film.duration, Fraction(1), 9)), width=80, columns=4
        )
    got = opened_picture(sheet, "png")
    assert (got.width, got.height) == (GAP + 4 * (80 + GAP), GAP + 2 * (45 + CAPTION + GAP))
    plane = got.reformat(format="rgb24").planes[0]
    rows = [bytes(plane)[at * plane.line_size :][: 3 * got.width] for at in range(got.height)]
    paper = rows[0][:3]
    assert rows[0] == paper * got.width
    cell = slice(3 * GAP, 3 * (GAP + 80))
    assert all(row[cell] != paper * 80 for row in rows[GAP : GAP + 45])
    caption = [row[cell] for row in rows[GAP + 45 : GAP + 45 + CAPTION]]
    assert len(set(caption)) > 3
    last = slice(3 * (GAP + 2 * (80 + GAP)), 3 * got.width)
    assert all(row[last] == paper * ((last.stop - last.start) // 3) for row in rows[2 * GAP + 45 + CAPTION :])


def test_no_pictures_make_an_empty_sheet() -> None:
    assert opened_picture(contact_sheet([]), "png").height == GAP


def test_a_sheet_that_would_be_huge_is_refused() -> None:
    with Film(io.BytesIO(small_film("first.mp4"))) as film:
        picture = Pictures(film).at(Fraction(0))
    with pytest.raises(LimitError, match="take fewer or smaller"):
        contact_sheet([picture] * 300)
