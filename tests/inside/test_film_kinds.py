"""What is a film and what is not."""

from __future__ import annotations

import io

import pytest

from seekwarc.errors import UnsupportedError
from seekwarc.inside.film_kinds import KINDS, MP4, kind_of, kind_of_name
from tests.support.films import FORMS, small_film

KIND_OF = {"mp4": "mp4", "matroska": "mkv"}


@pytest.mark.parametrize("form", FORMS)
def test_films_are_known_by_their_beginning(form) -> None:
    muxer = FORMS[form][0]
    assert kind_of(io.BytesIO(small_film(form))).name == KIND_OF.get(muxer, muxer)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"#EXTM3U\n/etc/passwd\n", "an HLS playlist"),
        (b"\xef\xbb\xbf#EXTM3U\n", "an HLS playlist"),
        (b"ffconcat version 1.0\nfile x\n", "a list of files"),
        (b'<?xml version="1.0"?><MPD>', "a DASH manifest"),
        (b"v=0\no=- 0 0 IN IP4 127.0.0.1\n", "a session description"),
        (b"<!doctype html>", "HTML or XML"),
        (b"image%03d.jpg", "data of another kind"),
        (b"RIFF\0\0\0\0AVI LIST", "data of another kind"),
        (b"\xff", "data of another kind"),
        (b"", "empty"),
    ],
)
def test_what_is_no_film_is_named(data, what) -> None:
    with pytest.raises(UnsupportedError, match=what):
        kind_of(io.BytesIO(data))


def test_an_ending_chooses_the_kind() -> None:
    assert kind_of_name("a/cut.WEBM", MP4).name == "webm"
    assert kind_of_name("cut", MP4) is MP4
    assert kind_of_name("cut.m4a", MP4) is MP4
    with pytest.raises(UnsupportedError, match=r"written as \.avi; name a file with one of \.mp4"):
        kind_of_name("cut.avi", MP4)


def test_no_ending_has_two_kinds() -> None:
    endings = [suffix for kind in KINDS for suffix in kind.suffixes]
    assert len(endings) == len(set(endings))
