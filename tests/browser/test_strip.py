"""The strip of pictures under the player, in a real browser."""

from __future__ import annotations

import pytest

from tests.browser.conftest import until
from tests.support.films import film_archive

pytestmark = [pytest.mark.slow, pytest.mark.needs("chromium", "module:playwright", "module:av")]

READY = "[...document.querySelectorAll('.strip img')].slice(0, 3).every((it) => it.naturalWidth === 192)"
SHOWN = f"document.querySelectorAll('.strip button').length === 12 && {READY}"
TIME = "document.querySelector('video').currentTime"


@pytest.fixture(scope="module")
def served(serve, tmp_path_factory):
    path = tmp_path_factory.mktemp("films") / "films.warc.zst"
    film_archive(path, "first.mp4", "film.webm", "sound.mp3")
    return serve(path)


@pytest.mark.parametrize("name", ["first.mp4", "film.webm"])
def test_a_picture_leads_to_its_time(served, page, name) -> None:
    page.goto(served.link(name))
    until(page, SHOWN)
    page.click(".strip button:nth-child(6)")
    until(page, f"Math.abs({TIME} - 2.75) < 0.1")
    assert page.get_attribute(".strip [aria-current=true]", "aria-label") == "Go to 0:02"
    assert page.problems == []


def test_the_keyboard_moves_along_the_pictures(served, page) -> None:
    page.goto(served.link("first.mp4"))
    until(page, SHOWN)
    page.focus(".strip button")
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "End", "ArrowLeft", "Enter"):
        page.keyboard.press(key)
    until(page, f"Math.abs({TIME} - 5.25) < 0.1")


def test_pictures_are_made_when_they_are_in_sight(served, pages) -> None:
    page = pages.take(viewport={"width": 390, "height": 700}, color_scheme="dark")
    try:
        page.goto(served.link("film.webm"))
        until(page, SHOWN)
        wide = page.evaluate("document.documentElement.scrollWidth")
        strip = page.evaluate(
            "(({scrollWidth, clientWidth}) => [scrollWidth, clientWidth])(document.querySelector('.strip'))"
        )
        assert wide <= 390
        assert strip[0] > strip[1], "it scrolls by itself"
        video = page.evaluate("document.querySelector('video').getBoundingClientRect().height")
        assert video > 100
        ink = page.evaluate("getComputedStyle(document.querySelector('.strip button:nth-child(3)')).color")
        assert ink == "rgb(167, 170, 168)"
    finally:
        assert pages.give_back() == []


def test_sound_has_no_strip(served, page) -> None:
    page.goto(served.link("sound.mp3", tab="hex"))
    until(page, "document.querySelector('#panel')?.innerText.length > 0")
    assert not page.locator(".strip").count()
    assert not [it for it in page.asked if "/pictures" in it]
