"""Pictures of films."""

from __future__ import annotations

import io
import os
import signal
import threading
from fractions import Fraction

import pytest

from seekwarc.errors import ChecksumError, LimitError, UnsupportedError
from seekwarc.inside.films import Film
from seekwarc.inside.pictures import PIXELS, Picture, Pictures, encoded, scaled, times_every
from tests.support.cutting import Watched, opened_picture, pictures_of
from tests.support.films import FORMS, HEIGHT, RATE, WIDTH, small_film
from tests.support.processes import PATIENT, is_running, settles

FILMS = [form for form, (_, video, _, _) in FORMS.items() if video]


def gray(picture: Picture) -> bytes:
    return bytes(picture.frame.reformat(format="gray").planes[0])


@pytest.mark.parametrize("form", FILMS)
def test_a_picture_is_the_one_that_is_shown_then(form) -> None:
    film = small_film(form)
    whole = pictures_of(film)
    late = round(0.08 * RATE) if form == "fragmented.mp4" else 0
    with Film(io.BytesIO(film)) as opened_film:
        pictures = Pictures(opened_film)
        for time in ("0.5", "2.9", "3.1", "1.5", "5.98"):
            picture = pictures.at(Fraction(time) + Fraction(1, 1000))
            assert gray(picture) == whole[int(float(time) * RATE) - late]
            assert 0 <= Fraction(time) - picture.time < Fraction(1, 20)
            assert 0 <= picture.time - picture.keyframe < 1


def test_times_after_the_end_have_no_picture() -> None:
    with Film(io.BytesIO(small_film("first.mp4"))) as film:
        pictures = Pictures(film)
        assert pictures.at(Fraction(60)) is None
        assert pictures.at(Fraction(2)).time == 2


def test_only_what_is_needed_is_decoded() -> None:
    with Film(io.BytesIO(small_film("first.mp4"))) as film:
        with pytest.raises(LimitError, match="more than 5 pictures lie between"):
            Pictures(film, max_decoded=5).at(Fraction("2.9"))
        picture = Pictures(film, max_decoded=5, take_last=True).at(Fraction("2.9"))
        assert Fraction("2.1") <= picture.time <= Fraction("2.3")


def test_no_more_is_read_than_leads_to_the_picture() -> None:
    data = small_film("first.mp4", 20)
    second = len(data) // 20
    with Film(io.BytesIO(data)) as film:
        pictures = Pictures(film)
        for time, most in ((10, second // 2), (15, second // 2), (Fraction("5.9"), 2 * second)):
            before = film.file.bytes_read
            pictures.at(Fraction(time))
            assert film.file.bytes_read - before < most


def test_after_damage_other_pictures_are_found() -> None:
    film = small_film("first.mp4")
    damaged = (len(film) * 45 // 100, len(film) * 55 // 100)
    with Film(Watched(film, damaged)) as opened_film:
        pictures = Pictures(opened_film)
        with pytest.raises(ChecksumError):
            pictures.at(Fraction("2.9"))
        assert pictures.at(Fraction("4.5")).time == Fraction("4.48")


def test_sound_has_no_pictures() -> None:
    with (
        Film(io.BytesIO(small_film("sound.mp3"))) as film,
        pytest.raises(UnsupportedError, match="no pictures"),
    ):
        Pictures(film)


@pytest.mark.parametrize(("form", "codec"), [("jpg", "jpeg"), ("png", "png")])
@pytest.mark.parametrize("width", [None, 80])
def test_a_picture_becomes_a_file(form, codec, width) -> None:
    with Film(io.BytesIO(small_film("first.mp4"))) as film:
        picture = Pictures(film).at(Fraction("2.5"))
        data = encoded(scaled(picture, width, form=PIXELS[form]), form)
        got = opened_picture(data, codec)
        size = (WIDTH, HEIGHT) if width is None else (80, 45)
        assert (got.width, got.height) == size
        expected = bytes(picture.frame.reformat(*size, format="gray").planes[0])
        found = bytes(got.reformat(format="gray").planes[0])
        far = sum(abs(a - b) for a, b in zip(expected, found, strict=False)) / len(expected)
        assert far < 25


def test_a_turned_picture_is_upright() -> None:
    with Film(io.BytesIO(small_film("first.mp4"))) as film:
        picture = Pictures(film).at(Fraction(1))
        wide = scaled(
            Picture(picture.wanted, picture.time, picture.keyframe, picture.frame, Fraction(2)),
            None,
            form="rgb24",
        )
        assert (wide.width, wide.height) == (2 * WIDTH, HEIGHT)


def test_a_picture_that_would_be_huge_is_refused() -> None:
    with Film(io.BytesIO(small_film("first.mp4"))) as film:
        picture = Pictures(film).at(Fraction(1))
        with pytest.raises(LimitError, match="more than 8192 on a side"):
            scaled(picture, 9000, form="rgb24")


@pytest.mark.posix
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_process_may_fork_while_a_thread_makes_pictures() -> None:
    is_made, is_over = threading.Event(), threading.Event()

    def make() -> None:
        with Film(io.BytesIO(small_film("first.mp4"))) as film:
            scaled(Pictures(film).at(Fraction(1)), 64, form=PIXELS["jpg"])
            is_made.set()
            is_over.wait()

    maker = threading.Thread(target=make)
    maker.start()
    try:
        assert is_made.wait(PATIENT)
        child = os.fork()
        if not child:
            os._exit(0)
        has_ended = settles(lambda: not is_running(child))
        if not has_ended:
            os.kill(child, signal.SIGKILL)
        assert (os.waitpid(child, 0), has_ended) == ((child, 0), True)
    finally:
        is_over.set()
        maker.join()


def test_times_end_with_the_film() -> None:
    with Film(io.BytesIO(small_film("first.mp4"))) as film:
        assert [*times_every(film.duration, Fraction("2.5"), 100)] == [0, Fraction("2.5"), 5]
        assert [*times_every(film.duration, Fraction("2.5"), 2)] == [0, Fraction("2.5")]
