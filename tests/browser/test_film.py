"""Films of hundreds of megabytes, played and scrubbed through in a real browser."""

from __future__ import annotations

import io
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

import seekwarc
from tests.browser.conftest import until
from tests.support.films import assert_shows

pytestmark = [pytest.mark.slow, pytest.mark.needs("chromium", "ffmpeg", "module:playwright")]

WIDTH, HEIGHT, RATE, SECONDS = 320, 180, 5, 3600
CLIP_SECONDS = 500
"""The film repeats after so many, made in a seventh of the time; the places that are looked at differ."""
LEAST = 200 << 20
MAX_READ = 0.10
"""Share of the record that playing, and looking at three places, may cost."""


@dataclass(frozen=True)
class Films:
    """The same film, its index at the beginning and at the end."""

    front: Path
    end: Path


@pytest.fixture(scope="module")
def films(tmp_path_factory) -> Films:
    folder = tmp_path_factory.mktemp("films")
    made = Films(folder / "front.mp4", folder / "end.mp4")
    picture = f"testsrc2=size={WIDTH}x{HEIGHT}:rate={RATE},noise=alls=24:allf=t"
    source = ["-f", "lavfi", "-i", picture, "-t", str(CLIP_SECONDS)]
    codec = ["-c:v", "libx264", "-preset", "ultrafast", "-qp", "24", "-g", "20", "-pix_fmt", "yuv420p"]
    command = ["ffmpeg", "-v", "error", "-y"]
    clip = folder / "clip.mp4"
    subprocess.run([*command, *source, *codec, clip], check=True)
    again = ["-stream_loop", "-1", "-i", clip, "-t", str(SECONDS)]
    subprocess.run([*command, *again, "-c", "copy", made.end], check=True)
    subprocess.run(
        [*command, "-i", made.end, "-c", "copy", "-movflags", "+faststart", made.front], check=True
    )
    assert made.front.stat().st_size > LEAST
    order = [
        made.front.read_bytes()[:4096].find(b"moov") >= 0,
        made.end.read_bytes()[:4096].find(b"moov") >= 0,
    ]
    assert order == [True, False]
    return made


@pytest.fixture(scope="module")
def served(films, serve, tmp_path_factory):
    path = tmp_path_factory.mktemp("crawl") / "films.warc.zst"
    head = b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n"
    with seekwarc.open(path, "w") as out:
        for name in ("front", "end"):
            film = getattr(films, name)
            with open(film, "rb") as file:
                block = io.BufferedReader(_Behind(head, file))
                out.write_response(f"http://example.org/{name}.mp4", block, date="2026-11-16T12:00:00Z")
    return serve(path)


class _Behind(io.RawIOBase):
    """A file with a head before it."""

    def __init__(self, head: bytes, file) -> None:
        self._parts = [io.BytesIO(head), file]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        while self._parts:
            if count := self._parts[0].readinto(buffer):
                return count
            self._parts.pop(0)
        return 0


@pytest.mark.parametrize("name", ["front", "end"])
def test_a_film_plays_and_seeks_at_little_cost(served, films, page, name) -> None:
    row = served.find(f"{name}.mp4")
    page.goto(served.link(f"{name}.mp4"))
    page.wait_for_selector("video")
    until(page, "document.querySelector('video').readyState >= 2")
    assert page.evaluate("document.querySelector('video').duration") == pytest.approx(SECONDS, abs=1)
    page.evaluate("(document.querySelector('video').muted = true, document.querySelector('video').play())")
    until(page, "document.querySelector('video').currentTime > 1.5")
    page.evaluate("document.querySelector('video').pause()")

    for part in (0.1, 0.9, 0.5):
        wanted = SECONDS * part
        assert_shows(page, getattr(films, name), wanted, RATE)

    view = page.evaluate("new URL(document.querySelector('video').src).searchParams.get('view')")
    page.evaluate("document.querySelector('video').removeAttribute('src')")
    cost = served.json(f"api/views/{view}")
    assert cost["problem"] is None
    assert 0 < cost["bytes_read"] < MAX_READ * row["length"], (
        f"{cost['bytes_read'] / row['length']:.1%} was read"
    )
    assert cost["bytes_decoded"] < MAX_READ * row["size"]
    assert len(cost["frames"]) >= 4, "the beginning and three places were fetched, and not all between"
    assert page.problems == []
    print(f"{name}: {cost['bytes_read'] / row['length']:.2%} of {row['length']} bytes were read")
