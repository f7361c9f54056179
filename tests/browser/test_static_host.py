"""A film in a .warc.zst on a plain web host, played by the reader in JavaScript, without a server of ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.conftest import until
from tests.support.films import GRAB, assert_shows, made_film
from tests.support.static_host import URI, Host, static_host

pytestmark = [pytest.mark.slow, pytest.mark.needs("chromium", "ffmpeg", "nginx", "module:playwright")]

SECONDS, RATE = 300, 5
PLACES = (280, 60, 170, 222, 115)
MAX_REQUESTS = 5
MAX_BYTES = 1_500_000


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("film") / "film.mp4"
    made_film(path, SECONDS, RATE)
    return path


@pytest.fixture
def host(tmp_path: Path, film: Path) -> Iterator[Host]:
    with static_host(tmp_path, film) as started:
        yield started


def test_a_place_of_a_film_costs_few_requests_and_bytes(page, host: Host, film: Path) -> None:
    page.goto(host.address)
    page.get_by_role("button", name=URI).click()
    until(page, "document.querySelector('video').readyState >= 2")
    assert page.evaluate("document.querySelector('video').duration") == pytest.approx(SECONDS, abs=0.5)
    opening = host.asked()
    assert len(opening) <= 2 * MAX_REQUESTS
    for seconds in PLACES:
        host.asked()  # What the player has read ahead since the last picture.
        page.evaluate(GRAB, seconds + 0.5 / RATE)
        asked = host.asked()
        assert_shows(page, film, seconds + 1, RATE)  # A browser shows no picture twice.
        assert {status for status, _ in asked} == {206}, "the host sends parts alone"
        assert 0 < len(asked) <= MAX_REQUESTS, (seconds, asked)
        assert sum(sent for _, sent in asked) <= MAX_BYTES, (seconds, asked)
    assert page.problems == []


def test_archived_pages_are_not_shown(page, host: Host) -> None:
    page.goto(host.address)
    until(page, "navigator.serviceWorker.controller !== null")
    address = host.address_of_page()
    assert page.evaluate(f"fetch('{address}').then((it) => it.status)") == 415
    page.evaluate(
        f"document.body.append(Object.assign(document.createElement('iframe'), {{ src: '{address}' }}))"
    )
    until(page, "document.querySelector('iframe').contentWindow.length === 0")
    assert page.title() == "Films in an archive"
    away = "film?file=https://example.org/x.warc.zst&offset=0"
    assert page.evaluate(f"fetch('{away}').then((it) => it.text())").endswith("a file of another origin")
