"""Parts of films that begin and end exactly: decoded and encoded again."""

from __future__ import annotations

import io
from fractions import Fraction

import pytest

from seekwarc.errors import RangeError, UnsupportedError
from seekwarc.inside.exact_clips import encode_part
from seekwarc.inside.film_kinds import KINDS, kind_of
from seekwarc.inside.films import Film
from tests.support.cutting import pictures_of
from tests.support.films import FORMS, RATE, small_film, span_of

FRAME = 1 / RATE


def encoded_out(film: bytes, start: str, stop: str, name: str | None = None) -> bytes:
    kind = kind_of(io.BytesIO(film)) if name is None else next(it for it in KINDS if it.name == name)
    target = io.BytesIO()
    with Film(io.BytesIO(film)) as opened:
        cut = encode_part(opened, Fraction(start), Fraction(stop), target, kind)
    assert cut.begin == Fraction(start)
    assert abs(cut.end - Fraction(stop)) <= Fraction(1, RATE)
    return target.getvalue()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("form", FORMS)
def test_the_length_is_exact_to_a_frame(form) -> None:
    clip = encoded_out(small_film(form), "2.32", "3.6")
    for begin, end in span_of(clip).values():
        assert begin == pytest.approx(0, abs=FRAME)
        assert end - begin == pytest.approx(1.28, abs=0.045 + FRAME)


@pytest.mark.parametrize("form", ["first.mp4", "film.mkv"])
def test_the_pictures_are_those_of_the_times(form) -> None:
    film = pictures_of(small_film(form))
    clip = pictures_of(encoded_out(small_film(form), "2.32", "2.8"))
    assert len(clip) == 12
    for number, picture in enumerate(clip):
        far = [sum(abs(a - b) for a, b in zip(picture[::97], it[::97], strict=True)) for it in film[50:75]]
        assert far.index(min(far)) == 58 - 50 + number


def test_samples_are_exact_where_nothing_is_lost() -> None:
    av = pytest.importorskip("av")

    def samples(film: bytes) -> bytes:
        with av.open(io.BytesIO(film)) as container:
            return b"".join(bytes(it.planes[0])[: 2 * it.samples] for it in container.decode(audio=0))

    for form in ("sound.wav", "sound.flac"):
        film = small_film(form)
        whole = samples(film)
        assert samples(encoded_out(film, "2.5", "3.25")) == whole[240_000:312_000]


def test_another_format_is_encoded() -> None:
    clip = encoded_out(small_film("first.mp4"), "2.3", "2.6", "webm")
    assert kind_of(io.BytesIO(clip)).name == "webm"


def test_pictures_in_a_format_of_sound_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="pictures cannot be encoded into mp3"):
        encoded_out(small_film("first.mp4"), "2", "3", "mp3")


def test_times_after_the_end_are_refused() -> None:
    with pytest.raises(RangeError, match="but the film ends at 0:06"):
        encoded_out(small_film("first.mp4"), "7", "8")
