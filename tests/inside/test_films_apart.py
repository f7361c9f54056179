"""Films in another process."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import time
from fractions import Fraction

import pytest

from seekwarc.errors import ChecksumError, FormatError, LimitError, RangeError, SourceError, UnsupportedError
from seekwarc.inside import apart, films_apart
from seekwarc.inside.clips import copy_part
from seekwarc.inside.exact_clips import encode_part
from seekwarc.inside.film_file import MAX_EXPECTED_STEP
from seekwarc.inside.film_kinds import MP4
from seekwarc.inside.films import Film
from seekwarc.inside.films_apart import FilmApart
from seekwarc.inside.pictures import PIXELS, Pictures, encoded, scaled
from seekwarc.inside.sheets import contact_sheet
from seekwarc.stopping import stoppable
from tests.support.cutting import Watched
from tests.support.films import FORMS, small_film
from tests.support.processes import wait_until_gone
from tests.support.rounds import rounds

BAD = (
    "import sys; sys.path[:] = {{path!r}}; import os, time; "
    "from seekwarc.inside import apart, films; apart.MAX_SECONDS = {seconds}; "
    "films.kind_of = lambda file: {harm}; apart.serve()"
)
"""Starts a process in which opening a film does harm."""


@pytest.fixture
def harmful(monkeypatch):
    """Return a function that makes films harmful; those of a test that has called `undo` are not."""

    def change(harm: str, seconds: float = 20) -> None:
        monkeypatch.setattr(apart, "_START", BAD.format(harm=harm, seconds=seconds))
        monkeypatch.setattr(apart, "_idle", [])

    yield change
    apart._end_all()


def good_pictures() -> list[bytes]:
    with FilmApart(io.BytesIO(small_film("first.mp4"))) as film:
        return [it.data for it in film.pictures([Fraction(1), Fraction("4.5")], width=64, form="jpg")]


@pytest.mark.parametrize(
    ("form", "exact"), [*((form, False) for form in FORMS), ("fragmented.mp4", True), ("sound.wav", True)]
)
def test_clips_are_those_of_this_process(form, exact) -> None:
    inner, outer = Watched(small_film(form)), Watched(small_film(form))
    here, there = io.BytesIO(), io.BytesIO()
    begin, end = Fraction("2.3"), Fraction("3.1")
    with Film(inner) as film:
        cut = (encode_part if exact else copy_part)(film, begin, end, here, film.kind)
        kind, duration, count = film.kind, film.duration, film.file.bytes_read
    with FilmApart(outer) as film:
        assert (film.kind, film.duration) == (kind, duration)
        assert film.clip(begin, end, there, kind, exact=exact) == cut
        assert film.bytes_read == count
    assert outer.reads == inner.reads
    if kind.name not in ("mkv", "webm", "ogg"):
        # The others have random numbers in them.
        assert there.getvalue() == here.getvalue()
    assert len(there.getvalue()) == len(here.getvalue())


def test_pictures_and_sheets_are_those_of_this_process() -> None:
    times = [Fraction(0), Fraction(1), Fraction("4.5"), Fraction(60)]
    inner, outer, sheets = Watched(small_film("film.mkv")), Watched(small_film("film.mkv")), []
    with Film(inner) as film:
        shown = [*filter(None, map(Pictures(film).at, times))]
        files = [encoded(scaled(it, 100, form=PIXELS["png"]), "png") for it in shown]
        sheet = contact_sheet(shown, width=80)
    with FilmApart(outer, has_pictures=True) as film:
        shots = [*film.pictures(times, width=100, form="png", on_sheet=(80, sheets.append))]
    assert [(it.wanted, it.time, it.keyframe) for it in shots] == [
        (it.wanted, it.time, it.keyframe) for it in shown
    ]
    assert ([it.data for it in shots], sheets) == (files, [sheet])
    assert outer.reads == inner.reads


def test_a_process_is_kept_for_the_next_film() -> None:
    good_pictures()
    (pid,) = {it._process.pid for it in apart._idle[-1:]}
    assert good_pictures() == good_pictures()
    assert apart._idle[-1]._process.pid == pid


def test_errors_of_reads_are_those_of_the_file() -> None:
    film, error = small_film("first.mp4"), ChecksumError("damaged", source="x", offset=7)
    with (
        FilmApart(Watched(film, (len(film) // 2, len(film) // 2 + 9), error)) as opened,
        pytest.raises(ChecksumError) as raised,
    ):
        opened.clip(Fraction(1), Fraction(5), io.BytesIO(), MP4, exact=False)
    assert raised.value is error
    failing = SourceError("gone")
    with pytest.raises(SourceError) as other:
        FilmApart(Watched(film, (0, 9), failing))
    assert other.value is failing
    assert len(good_pictures()) == 2


def test_after_damage_come_the_other_pictures() -> None:
    film = small_film("first.mp4")
    damaged = (len(film) * 45 // 100, len(film) * 55 // 100)
    with FilmApart(Watched(film, damaged)) as opened:
        times = [Fraction("0.5"), Fraction("2.9"), Fraction("4.5")]
        shots = [*opened.pictures(times, width=64, form="jpg")]
    assert [type(it.failure) for it in shots] == [type(None), ChecksumError, type(None)]
    assert [bool(it.data) for it in shots] == [True, False, True]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("harm", "seconds"),
    [("time.sleep(60)", 1), ("[None for _ in iter(int, 1)]", 1), ("os.abort()", 20), ("os._exit(0)", 20)],
)
def test_a_process_that_hangs_or_dies_harms_no_other_film(harmful, monkeypatch, harm, seconds) -> None:
    before = good_pictures()
    with monkeypatch.context():
        harmful(harm, seconds)
        with pytest.raises(LimitError, match="takes more than 20 seconds or 512 MiB of memory as a film"):
            FilmApart(io.BytesIO(small_film("first.mp4")))
    monkeypatch.undo()
    assert good_pictures() == before


@pytest.mark.posix
def test_memory_is_limited(harmful) -> None:
    harmful("bytearray(600 << 20)")
    with pytest.raises(LimitError, match="takes too much memory as a film"):
        FilmApart(io.BytesIO(small_film("first.mp4")))
    harmful("[bytearray(400 << 20), films.MP4][1]")
    with FilmApart(io.BytesIO(small_film("first.mp4"))) as film:
        assert film.duration == 6


@pytest.mark.slow
def test_time_of_reads_does_not_count(harmful) -> None:
    class Slow(Watched):
        def read(self, size: int = -1) -> bytes:
            time.sleep(6)
            return super().read(size)

    harmful("films.MP4", seconds=5)
    with FilmApart(Slow(small_film("first.mp4"))) as opened:
        assert opened.duration == 6


def test_what_is_not_foreseen_is_an_error_of_the_film(harmful) -> None:
    harmful("1 // 0")
    with pytest.raises(FormatError, match="cannot be read as a film: ZeroDivisionError"):
        FilmApart(io.BytesIO(small_film("first.mp4")))


def test_bytes_are_counted_here(harmful) -> None:
    harmful("[file._file.read(1 << 30) for file._file._position in iter(int, 1)]")
    film = Watched(bytes(1 << 20))
    with pytest.raises(LimitError, match="leads in circles"):
        FilmApart(film)
    assert sum(min(stop, 1 << 20) - start for start, stop in film.reads) < 300 << 20
    assert max(stop - start for start, stop in film.reads) == MAX_EXPECTED_STEP


def test_work_that_is_stopped_ends_the_process(harmful) -> None:
    class Gone(BaseException):
        pass

    def check() -> None:
        (process,) = apart._running
        pids.add(process._process.pid)
        raise Gone

    apart._end_all()
    pids: set[int] = set()
    harmful("time.sleep(60)")
    with stoppable(check), pytest.raises(Gone):
        FilmApart(io.BytesIO(small_film("first.mp4")))
    wait_until_gone(pids.pop())
    assert not apart._running


def test_pictures_that_are_left_in_the_middle_end_the_process() -> None:
    times = [Fraction(number, 10) for number in range(50)]
    with FilmApart(io.BytesIO(small_film("first.mp4"))) as film:
        pid = film._process._process.pid
        assert next(iter(film.pictures(times, width=64, form="jpg"))).data
    wait_until_gone(pid)
    assert len(good_pictures()) == 2


def test_arguments_that_the_film_does_not_fit_are_typed_errors() -> None:
    with pytest.raises(UnsupportedError, match="has sound and no pictures"):
        FilmApart(io.BytesIO(small_film("sound.mp3")), has_pictures=True)
    with FilmApart(io.BytesIO(small_film("sound.wav"))) as film, pytest.raises(RangeError, match="ends at"):
        film.clip(Fraction(70), Fraction(80), io.BytesIO(), film.kind, exact=False)


MANY = range(1000, 1000 + rounds(300), 100)


@pytest.mark.parametrize(
    ("first", "count"), [(0, 18), *(pytest.param(at, 100, marks=pytest.mark.slow) for at in MANY)]
)
def test_mutants_take_no_more_than_the_limits(first, count) -> None:
    command = [sys.executable, "-m", "tests.support.film_mutants", f"--first={first}", f"--count={count}"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    done = json.loads(found.stdout.splitlines()[-1])
    assert done["mutants"] == count
    # Beside what films may take: Python, and libav with its tables.
    assert done["peak"] < (films_apart.MAX_FILM_MEMORY >> 20) + 250
