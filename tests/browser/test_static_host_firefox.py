"""A film in a .warc.zst on a plain web host, in Firefox: the demo of the reader in JavaScript."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.films import GRAB, distances, made_film
from tests.support.firefox import firefox
from tests.support.static_host import Host, static_host

pytestmark = [pytest.mark.slow, pytest.mark.needs("firefox-esr", "ffmpeg", "nginx")]

SECONDS, RATE = 60, 5
PLACES = (54, 6, 30)
CLICKED = (
    "document.querySelector('button')?.click() === undefined && document.querySelector('button') !== null"
)


async def look(host: Host, profile: Path) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    async with firefox(profile) as window:
        await window.open(host.address)
        await window.said("navigator.serviceWorker.controller !== null")
        found["page"] = await window.said(f"fetch('{host.address_of_page()}').then((it) => it.status)")
        await window.said(CLICKED)
        await window.said("document.querySelector('video').readyState >= 2")
        for place in PLACES:
            picture = await window.said(f"({GRAB})({place + 0.5 / RATE}).then(JSON.stringify)")
            found[place] = bytes(json.loads(picture)["grey"])  # Its time is the place, not the frame's.
    return found


def test_firefox_shows_places_of_a_film_and_no_archived_page(tmp_path: Path) -> None:
    film, profile = tmp_path / "film.mp4", tmp_path / "profile"
    profile.mkdir()
    made_film(film, SECONDS, RATE)
    # The thread of the tests may have the event loop of Playwright.
    with static_host(tmp_path, film) as host, ThreadPoolExecutor(1) as one:
        found = one.submit(lambda: asyncio.run(look(host, profile))).result()
        asked = host.asked()
    assert found["page"] == 415
    for place in PLACES:
        # Firefox stretches the levels of the picture: it is not the same, but nearer than any other.
        (nearest, far), (_, next_far), *_ = sorted(
            distances(found[place], film, place, RATE).items(), key=lambda it: it[1]
        )
        assert nearest == pytest.approx(place)
        assert 2 * far < next_far
    assert {status for status, _ in asked} == {206}, "the host sends parts alone"
