"""Replay in Firefox: whether it finds the origin, runs the worker, and continues answers that are short."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conftest import WABAC
from tests.support.example_site import ROWS, SITE, write_site
from tests.support.films import made_film
from tests.support.firefox import firefox

pytestmark = [pytest.mark.slow, pytest.mark.needs("firefox-esr", "ffmpeg", "wabac")]

SECONDS = 60
SEEK = """
new Promise((done) => {
  const video = document.querySelector("video");
  const tell = () => done(`${video.currentTime} ${video.readyState >= 2}`);
  video.addEventListener("seeked", tell, { once: true });
  video.currentTime = PLACE;
})
"""


async def look(address: str, profile: Path) -> dict[str, str]:
    found = {}
    async with firefox(profile) as window:
        # Before any page is open: the requests of one, too, would have them cleared while they are set.
        for number in range(60):
            value = {"type": "string", "value": "x" * 3900}
            cookie = {"name": f"bomb{number}", "value": value, "domain": "replay.localhost", "path": "/"}
            assert "partitionKey" in await window.call("storage.setCookie", cookie=cookie)
        await window.open(f"{address}{SITE}/")
        found["left"] = (await window.call("storage.getCookies"))["cookies"]
        await window.open(f"{address}{SITE}/")
        found["home"] = await window.framed("document.getElementById('out')?.textContent")
        for coding in ("br", "zstd"):
            await window.open(f"{address}{SITE}/{coding}.html")
            found[coding] = await window.framed("document.querySelector('h1')?.textContent")
        await window.open(f"{address}{SITE}/film.html")
        await window.framed("document.querySelector('video')?.readyState >= 1")
        for place in (54, 6, 30):
            found[place] = await window.framed(SEEK.replace("PLACE", str(place)))
    return found


def test_firefox_replays_a_site_and_its_film(serve, tmp_path) -> None:
    film, profile = tmp_path / "film.mp4", tmp_path / "profile"
    profile.mkdir()
    made_film(film, SECONDS, 5)
    write_site(tmp_path / "site.warc.zst", film=film.read_bytes())
    served = serve(tmp_path / "site.warc.zst", "--replay", str(WABAC))
    address = f"{served.json('api/summary')['replay']}web/20260101/"
    # The thread of the tests may have the event loop of Playwright.
    with ThreadPoolExecutor(1) as one:
        found = one.submit(asyncio.run, look(address, profile)).result()
    home = json.loads(found.pop("home"))
    assert home["place"] == f"{SITE}/"
    assert home["rows"] == ROWS
    assert home["posted"] == "json posted"
    assert found == {"left": [], "br": "coded", "zstd": "coded", 54: "54 true", 6: "6 true", 30: "30 true"}
