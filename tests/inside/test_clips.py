"""Parts of films: packets copied from a keyframe on."""

from __future__ import annotations

import io
from fractions import Fraction

import pytest

from seekwarc.errors import ChecksumError, FormatError, RangeError, UnsupportedError
from seekwarc.inside.clips import Cut, copy_part
from seekwarc.inside.film_kinds import KINDS, kind_of
from seekwarc.inside.films import Film
from tests.support.cutting import Watched, assert_is_part_of
from tests.support.films import FORMS, packets_of, small_film, span_of

COPIED = [it for it in FORMS if it not in ("sound.flac", "sound.wav")]
FILMS = [it for it in COPIED if FORMS[it][1]]


def cut_out(film, start: str, stop: str, name: str | None = None) -> tuple[Cut, bytes]:
    file = film if hasattr(film, "read") else io.BytesIO(film)
    kind = kind_of(file) if name is None else next(it for it in KINDS if it.name == name)
    target = io.BytesIO()
    with Film(file) as opened:
        cut = copy_part(opened, Fraction(start), Fraction(stop), target, kind)
    return cut, target.getvalue()


@pytest.mark.one_in(5)
@pytest.mark.parametrize("form", COPIED)
@pytest.mark.parametrize(("start", "stop"), [("2.3", "4.1"), ("0", "1"), ("4.5", "60"), ("3", "3.2")])
def test_packets_are_those_of_the_film(form, start, stop) -> None:
    film = small_film(form)
    cut, clip = cut_out(film, start, stop)
    assert_is_part_of(clip, film)
    assert sum(map(len, packets_of(clip).values())) == cut.packets
    assert set(packets_of(clip)) == set(packets_of(film))


@pytest.mark.parametrize("form", FILMS)
def test_a_clip_begins_at_the_keyframe_before(form) -> None:
    cut, clip = cut_out(small_film(form), "2.3", "4.1")
    assert 2 <= cut.begin <= Fraction("2.1")
    assert Fraction("4.1") <= cut.end <= Fraction("4.4")
    begin, end = span_of(clip)["video"]
    assert begin == pytest.approx(0, abs=0.09)
    assert end == pytest.approx(float(cut.end - cut.begin), abs=0.15)


@pytest.mark.parametrize("form", FILMS)
def test_sound_stays_with_the_pictures(form) -> None:
    film = small_film(form)
    _, clip = cut_out(film, "2.3", "4.1")
    spans = span_of(clip)
    assert spans["audio"][0] == pytest.approx(spans["video"][0], abs=0.09)
    assert spans["audio"][1] == pytest.approx(spans["video"][1], abs=0.25)


@pytest.mark.parametrize(
    ("form", "name"), [("film.mkv", "mp4"), ("fragmented.mp4", "mkv"), ("film.webm", "mkv")]
)
def test_another_container_holds_the_same_packets(form, name) -> None:
    film = small_film(form)
    _, clip = cut_out(film, "2.3", "4.1", name)
    assert kind_of(io.BytesIO(clip)).name == name
    assert_is_part_of(clip, film)


def test_a_container_that_cannot_hold_a_codec_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="webm cannot hold h264"):
        cut_out(small_film("first.mp4"), "1", "2", "webm")


@pytest.mark.parametrize("form", FORMS)
def test_times_after_the_end_are_refused(form) -> None:
    with pytest.raises(RangeError, match="but the film ends at 0:06"):
        cut_out(small_film(form), "75", "80")


def test_times_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(RangeError, match="would end at 0:01, not after 0:02"):
        cut_out(small_film("first.mp4"), "2", "1")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("form", ["first.mp4", "last.mp4", "film.mkv"])
def test_only_the_index_and_the_part_are_read(form) -> None:
    film = small_film(form, seconds=12)
    file = Watched(film)
    _, clip = cut_out(file, "7.3", "8.1")
    read = set()
    for start, stop in file.reads:
        read.update(range(start // 1024, -(-min(stop, len(film)) // 1024)))
    assert len(read) * 1024 < len(clip) + 400_000 < len(film) / 2
    assert len(file.reads) < 12


@pytest.mark.parametrize("form", ["first.mp4", "last.mp4", "film.mkv", "film.webm"])
def test_damage_outside_of_the_part_does_not_matter(form) -> None:
    film = small_film(form)
    places = [(len(film) * 6 // 10, len(film) * 7 // 10), (len(film) * 80 // 100, len(film) * 9 // 10)]
    for damaged in places:
        cut, clip = cut_out(Watched(film, damaged), "1.2", "2.5")
        assert_is_part_of(clip, film)
        assert cut.end >= Fraction("2.5")


@pytest.mark.parametrize("form", ["first.mp4", "film.mkv", "film.webm"])
def test_damage_at_the_beginning_of_the_pictures_does_not_matter(form) -> None:
    film = small_film(form)
    damaged = (40_000, 60_000)
    _, clip = cut_out(Watched(film, damaged), "4.2", "5")
    assert_is_part_of(clip, film)


@pytest.mark.parametrize("form", FILMS)
def test_damage_in_the_part_is_an_error(form) -> None:
    film = small_film(form)
    with pytest.raises(ChecksumError):
        cut_out(Watched(film, (len(film) // 2, len(film) // 2 + 100)), "1.2", "5")


def test_a_film_that_is_cut_off_has_the_part_before() -> None:
    film = small_film("first.mp4")
    _, clip = cut_out(film[: len(film) // 2], "1.2", "2")
    assert_is_part_of(clip, film)


@pytest.mark.parametrize("form", ["last.mp4", "film.mkv"])
def test_a_film_without_its_index_is_refused_or_cut(form) -> None:
    film = small_film(form)[:100_000]
    if form == "last.mp4":
        with pytest.raises(FormatError, match="index is missing"):
            cut_out(film, "0", "1")
    else:
        assert_is_part_of(cut_out(film, "0", "0.4")[1], small_film(form))
