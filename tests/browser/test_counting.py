"""A payload in chunks that take the server a while to count, in a real browser."""

from __future__ import annotations

from typing import Any

import pytest

import seekwarc
from tests.browser.conftest import Served, until
from tests.support.processes import PATIENT, settles

pytestmark = [pytest.mark.slow, pytest.mark.needs("chromium", "module:playwright")]

COUNT = 6_000_000
"""Chunks, each a line that has to be looked at by itself: what takes the server some seconds."""
PATIENCE = 0.5
"""Seconds between two requests of the page."""
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"


@pytest.fixture(scope="module")
def served(serve, tmp_path_factory) -> Served:
    path = tmp_path_factory.mktemp("counting") / "chunks.warc.zst"
    with seekwarc.open(path, "w", digest=None) as out:
        chunks = b"01\r\nx\r\n" * COUNT + b"0\r\n\r\n"
        out.write_response("http://example.org/chunks", HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunks)
        out.write_response("http://example.org/plain", HEAD + b"\r\nsome text")
    return serve(path)


def texts(page: Any) -> list[str]:
    return page.locator(".hexed option").all_inner_texts()


def test_a_size_is_shown_once_it_was_counted(served, page) -> None:
    page.goto(served.link("chunks"))
    until(page, "!!document.querySelector('.record-head [role=status]')")
    assert "being counted" in page.inner_text(".record-head [role=status]")
    assert "being counted…" in page.inner_text(".facts")
    assert not page.locator(".record-head [role=alert]").count(), "nothing is wrong with it"
    page.click("[data-tab=hex]")
    assert texts(page)[0] == "Payload, being counted…"
    assert not page.locator("[data-tab=text]").count()

    until(page, "!document.querySelector('.record-head [role=status]')")
    assert "5.7 MiB" in page.inner_text(".facts")
    assert page.get_attribute("[data-tab=hex]", "aria-selected") == "true", "the tab that was chosen stays"
    assert texts(page)[0] == "Payload, 5.7 MiB"
    page.click("[data-tab=text]")
    until(page, "document.querySelector('#panel')?.innerText.includes('xxxx')")
    assert page.problems == []


def asked_for(page: Any, record: dict[str, Any]) -> list[str]:
    return [url for url in page.asked if f"/api/records/{record['id']}?" in url]


def test_a_record_that_was_left_is_not_requested_again(served, page) -> None:
    row = served.find("plain")
    record = served.json(f"api/records/{row['id']}")

    def counting(route: Any) -> None:
        route.fulfill(json={**record, "payload_size": None, "counting": True})

    page.route(f"**/api/records/{row['id']}?*", counting)
    page.clock.install(time=0)
    page.goto(served.link("plain"))
    until(page, "!!document.querySelector('.record-head [role=status]')")
    # Its own clock stops, so it asks once in its time, and no more.
    page.clock.pause_at(1000 * PATIENT)
    for _ in range(3):
        page.wait_for_timeout(100)
        before = len(asked_for(page, row))
        page.clock.run_for(1000 * PATIENCE)
        assert settles(
            lambda before=before: len(asked_for(page, row)) > before, lambda: page.wait_for_timeout(40)
        )
        page.wait_for_timeout(100)
        assert len(asked_for(page, row)) == before + 1
    page.clock.resume()
    page.click(".back") if page.locator(".back").is_visible() else page.goto(f"{served.address}#")
    page.wait_for_timeout(200)
    before = len(asked_for(page, row))
    page.wait_for_timeout(1500)
    assert len(asked_for(page, row)) == before


def test_a_known_size_is_shown_at_once(served, page) -> None:
    page.goto(served.link("plain"))
    until(page, "document.querySelector('.facts')?.innerText.includes('9 B')")
    assert not page.locator(".record-head [role=status]").count()
    page.wait_for_timeout(1200)
    assert len(asked_for(page, served.find("plain"))) == 1
