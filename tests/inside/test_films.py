"""Films that are hostile or damaged: no file or address is opened, and every attempt ends."""

from __future__ import annotations

import contextlib
import io
import os
import random
import subprocess
import sys
from fractions import Fraction

import pytest

from seekwarc.errors import FormatError, LimitError, SeekWarcError, UnsupportedError
from seekwarc.inside.clips import copy_part
from seekwarc.inside.exact_clips import encode_part
from seekwarc.inside.films import MAX_PIXELS, Film
from seekwarc.inside.pictures import Pictures
from tests.support.films import FORMS, HEIGHT, WIDTH, small_film
from tests.support.rangeserver import RangeServer
from tests.support.work import watchdog

TRY = """
import sys
from fractions import Fraction
from seekwarc.errors import SeekWarcError
from seekwarc.inside.clips import copy_part
from seekwarc.inside.films import Film
import io
for path in sys.argv[1:]:
    with open(path, "rb") as file:
        try:
            with Film(file) as film:
                copy_part(film, Fraction(0), Fraction(1), io.BytesIO(), film.kind)
            print("cut")
        except SeekWarcError as error:
            print(type(error).__name__)
"""
"""Cuts files in a process of its own, which a pipe would block for ever if it were opened."""


def box(kind: bytes, *content: bytes) -> bytes:
    data = b"".join(content)
    return (8 + len(data)).to_bytes(4) + kind + data


def with_boxes(film: bytes, path: list[bytes], made: bytes) -> bytes:
    """Replace the first box at a path of an MP4 whose index is at its end."""
    at = 0
    while at < len(film):
        size, kind = int.from_bytes(film[at : at + 4]), film[at + 4 : at + 8]
        if kind == path[0]:
            inner = (
                made if len(path) == 1 else box(kind, with_boxes(film[at + 8 : at + size], path[1:], made))
            )
            return film[:at] + inner + film[at + size :]
        at += size
    raise AssertionError(f"no {path[0]}")


def alias_to(path: str) -> bytes:
    """Return the data reference of a film whose pictures are in another file (QuickTime, "alis")."""
    name = path.encode()
    volume = b"\x05disks".ljust(28, b"\0") + bytes(12)
    file = bytes([len(name[-60:])]) + name[-60:].ljust(63, b"\0")
    levels = bytes(16) + b"\0\x01\0\x01" + bytes(16)
    absolute = b"\0\x02" + len(name).to_bytes(2) + name + (b"\0" if len(name) % 2 else b"")
    content = bytes(10) + volume + file + levels + absolute + b"\xff\xff"
    entry = box(b"alis", bytes(4), content.ljust(200, b"\0"))
    return box(b"dref", bytes(4), (1).to_bytes(4), entry)


@pytest.mark.slow
@pytest.mark.posix
def test_nothing_that_a_payload_names_is_opened(tmp_path) -> None:
    pipe = tmp_path / "secret.mp4"
    os.mkfifo(pipe)
    film = small_film("last.mp4")
    reference = [b"moov", b"trak", b"mdia", b"minf", b"dinf", b"dref"]
    with RangeServer(film) as server:
        names = [str(pipe), f"file://{pipe}", server.url, f"concat:{pipe}|{pipe}"]
        hostile = [with_boxes(film, reference, alias_to(str(pipe)))]
        for name in names:
            hostile += [
                f"#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\n{name}\n#EXT-X-ENDLIST\n".encode(),
                f"ffconcat version 1.0\nfile '{name}'\n".encode(),
                f"<MPD><Period><BaseURL>{name}</BaseURL></Period></MPD>".encode(),
                f"v=0\no=- 0 0 IN IP4 127.0.0.1\nu={name}\nm=video 9 RTP/AVP 96\n".encode(),
                f"{name[:-4]}%03d.jpg".encode(),
                # A film first, and a playlist after it.
                box(b"ftyp", b"isom", bytes(4)) + f"#EXTM3U\n{name}\n".encode(),
                b"\x1aE\xdf\xa3" + f"#EXTM3U\n{name}\n".encode(),
            ]
        paths = []
        for number, data in enumerate(hostile):
            paths.append(tmp_path / f"hostile{number}")
            paths[-1].write_bytes(data)
        done = subprocess.run(
            [sys.executable, "-c", TRY, *paths], capture_output=True, text=True, timeout=60, check=True
        )
        assert server.asked == []
    answers = done.stdout.split()
    assert len(answers) == len(hostile)
    assert set(answers[1:]) <= {"UnsupportedError", "FormatError"}


def test_a_reference_to_another_file_is_not_followed(tmp_path) -> None:
    other = tmp_path / "other.mp4"
    other.write_bytes(small_film("last.mp4"))
    reference = [b"moov", b"trak", b"mdia", b"minf", b"dinf", b"dref"]
    film = with_boxes(small_film("last.mp4"), reference, alias_to(str(other)))
    other.unlink()
    with contextlib.suppress(FormatError), Film(io.BytesIO(film)) as opened:
        copy_part(opened, Fraction(0), Fraction(1), io.BytesIO(), opened.kind)


def test_huge_pictures_are_not_decoded() -> None:
    av = pytest.importorskip("av")
    target = io.BytesIO()
    with av.open(target, "w", format="mov") as out:
        stream = out.add_stream("png", rate=1)
        stream.width, stream.height, stream.pix_fmt = 12_000, 12_000, "monob"
        frame = av.VideoFrame(12_000, 12_000, "monob")
        frame.planes[0].update(bytes(frame.planes[0].buffer_size))
        frame.pts = 0
        out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    assert MAX_PIXELS < 12_000 * 12_000
    assert len(target.getvalue()) < 100_000
    with Film(io.BytesIO(target.getvalue())) as film, pytest.raises((LimitError, FormatError)):
        Pictures(film).at(Fraction(0))


def test_a_size_that_lies_is_not_decoded() -> None:
    film = bytearray(small_film("film.webm"))
    # PixelWidth and PixelHeight of Matroska, 2 bytes each.
    for element in (b"\xb0\x82", b"\xba\x82"):
        at = film.index(element)
        film[at + 2 : at + 4] = b"\xff\xff"
    with contextlib.suppress(SeekWarcError), Film(io.BytesIO(film)) as opened:
        frame = Pictures(opened).at(Fraction(0)).frame
        assert (frame.width, frame.height) == (WIDTH, HEIGHT)


def test_a_film_without_keyframes_is_refused() -> None:
    film = small_film("last.mp4")
    at = film.index(b"stss")
    count = int.from_bytes(film[at + 8 : at + 12])
    # Keyframes at places that the film does not have.
    numbers = b"".join((9000 + number).to_bytes(4) for number in range(count))
    without = film[: at + 12] + numbers + film[at + 12 + len(numbers) :]
    with (
        Film(io.BytesIO(without)) as opened,
        pytest.raises(FormatError, match="its index has no entry for 0:01"),
    ):
        copy_part(opened, Fraction(1), Fraction(2), io.BytesIO(), opened.kind)


def test_a_film_of_no_length_is_refused() -> None:
    av = pytest.importorskip("av")
    target = io.BytesIO()
    with av.open(target, "w", format="mp4") as out:
        stream = out.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
        out.start_encoding()
    with pytest.raises((UnsupportedError, FormatError)), Film(io.BytesIO(target.getvalue())) as film:
        copy_part(film, Fraction(0), Fraction(1), io.BytesIO(), film.kind)


def mutant(film: bytes, chance: random.Random) -> bytes:
    data = bytearray(film)
    how = chance.randrange(5)
    if how == 0:
        del data[chance.randrange(len(data)) :]
    elif how == 1:
        for _ in range(chance.randrange(1, 40)):
            data[chance.randrange(len(data))] = chance.randrange(256)
    elif how == 2:
        for _ in range(chance.randrange(1, 12)):
            data[chance.randrange(min(len(data), 6000))] = chance.choice([0, 1, 127, 128, 255])
    elif how == 3:
        for _ in range(chance.randrange(1, 12)):
            data[-chance.randrange(1, min(len(data), 9000))] = chance.choice([0, 1, 127, 128, 255])
    else:
        start = chance.randrange(len(data))
        stop = min(start + chance.randrange(1, 5000), len(data))
        data[start:stop] = b"" if chance.random() < 0.5 else data[start:stop][::-1]
    return bytes(data)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_mutants_end_with_a_clip_or_a_typed_error(form) -> None:
    film = small_film(form)
    for seed in range(60):
        chance = random.Random(f"{form} {seed}")
        data = mutant(film, chance)
        with watchdog(), contextlib.suppress(SeekWarcError), Film(io.BytesIO(data)) as opened:
            which = chance.randrange(3)
            if which == 2 and opened.video is not None:
                pictures = Pictures(opened)
                for second in range(6):
                    with contextlib.suppress(SeekWarcError):
                        pictures.at(Fraction(second))
            else:
                cut = copy_part if which else encode_part
                cut(opened, Fraction("2.3"), Fraction("3.1"), io.BytesIO(), opened.kind)


def test_metadata_that_is_not_utf8_stops_nothing() -> None:
    # An ID3 tag (version 2.4) with a title that says it is UTF-8.
    frame = b"TIT2" + bytes([0, 0, 0, 4]) + b"\0\0" + b"\x03\xff\xfe\xe9"
    tag = b"ID3\x04\0\0" + bytes([0, 0, 0, len(frame)]) + frame
    films = [tag + small_film("sound.mp3")]
    for form in ("last.mp4", "film.mkv"):
        film = small_film(form)
        place = film.rindex(b"Lavf")
        films.append(film[:place] + b"\xff\xfe\xe9" + film[place + 3 :])
    for data in films:
        with Film(io.BytesIO(data)) as opened:
            assert opened.streams
