"""A film of which the archive has parts, out of order, played in a real browser from the archive."""

from __future__ import annotations

import subprocess

import pytest

from tests.browser.conftest import until
from tests.support.films import assert_shows
from tests.support.partial import PartsWriter
from tests.support.proxy import fetched, recording_proxy
from tests.support.rangeserver import RangeServer

pytestmark = [pytest.mark.slow, pytest.mark.needs("chromium", "ffmpeg", "module:playwright")]

RATE, SECONDS = 5, 120
PART = 300_000


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    path = tmp_path_factory.mktemp("film") / "film.mp4"
    picture = f"testsrc2=size=320x180:rate={RATE},noise=alls=24:allf=t"
    codec = ["-c:v", "libx264", "-preset", "ultrafast", "-qp", "24", "-g", "20", "-pix_fmt", "yuv420p"]
    source = ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", picture, "-t", str(SECONDS)]
    subprocess.run([*source, *codec, "-movflags", "+faststart", path], check=True)
    return path


def spans(size: int) -> list[tuple[int, int]]:
    """Return parts that overlap, the last one first."""
    return [(max(stop - PART - 1000, 0), stop) for stop in range(size, 0, -PART)]


def assert_it_plays(page, served, film) -> None:
    page.goto(served.link("film.mp4"))
    page.wait_for_selector("video")
    until(page, "document.querySelector('video').readyState >= 2")
    assert page.evaluate("document.querySelector('video').duration") == pytest.approx(SECONDS, abs=1)
    page.evaluate("(document.querySelector('video').muted = true, document.querySelector('video').play())")
    until(page, "document.querySelector('video').currentTime > 1")
    page.evaluate("document.querySelector('video').pause()")
    for share in (0.9, 0.1):
        assert_shows(page, film, SECONDS * share, RATE)
    assert page.problems == []


class Once:
    """Makes one row of the list stand for all parts."""

    def __init__(self, served) -> None:
        self._served = served

    def link(self, words: str) -> str:
        rows = self._served.json(f"api/records?q={words}&type=response")["records"]
        assert len(rows) > 3
        return f"{self._served.address}#r={rows[-1]['id']}"


def test_a_film_in_parts_plays_and_seeks(film, serve, page, tmp_path) -> None:
    data = film.read_bytes()
    out = PartsWriter(data)
    for start, stop in spans(len(data)):
        out.part(start, stop)
    path = tmp_path / "parts.warc.zst"
    path.write_bytes(out.done())
    assert_it_plays(page, Once(serve(path)), film)
    assert "Joined from" in page.inner_text("body")


@pytest.mark.needs("warcprox")
def test_a_film_that_warcprox_recorded_plays_and_seeks(film, serve, page, tmp_path) -> None:
    data = film.read_bytes()
    fault = lambda _, answer: answer.but(content_type="video/mp4")  # noqa: E731
    with RangeServer(data, fault=fault) as server, recording_proxy(tmp_path) as proxy:
        for start, stop in spans(len(data)):
            fetched(f"{server.root}/film.mp4", proxy, start, stop)
    assert_it_plays(page, Once(serve(*sorted(tmp_path.glob("*.warc.gz")))), film)
