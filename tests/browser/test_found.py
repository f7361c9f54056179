"""Records that are not plain answers: requests, errors, damage, kinds without a view of their own."""

from __future__ import annotations

import pytest

import seekwarc
from tests.browser.conftest import until
from tests.support.writing import noise, response

pytestmark = [pytest.mark.slow, pytest.mark.needs("chromium", "module:playwright")]

FILM = noise(1 << 20)
DATE = "2026-11-16T12:00:00Z"
FRAME = 64 << 10


@pytest.fixture(scope="module")
def served(serve, tmp_path_factory):
    """A crawl in which a frame of one film and the head of another record are damaged."""
    path = tmp_path_factory.mktemp("found") / "crawl.warc.zst"
    damaged = []
    with seekwarc.open(path, "w", frame_size=FRAME) as out:
        for name, block in {
            "film.mp4": response(FILM, "video/mp4"),
            "damaged.mp4": response(FILM[::-1], "video/mp4"),
            "lost.html": response(b"<p>lost", "text/html"),
            "gone.html": response(b"<p>gone", "text/html").replace(b"200 OK", b"404 Not Found"),
            "paper.pdf": response(b"%PDF-1.4\n" + noise(1000), "application/pdf"),
            "things.zip": response(b"PK" + noise(1000), "application/zip"),
        }.items():
            uri = f"http://example.org/{name}"
            out.write_request(uri, b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n", date=DATE)
            damaged.append(out.write_response(uri, block, date=DATE))
    data = bytearray(path.read_bytes())
    _, film, lost, *_ = damaged
    with seekwarc.open(path) as archive:
        (start, _), *_ = archive.record_at(film.offset).payload.plan(700_000, 700_001).ranges
    data[start + 1000] ^= 0xFF
    data[lost.offset + 20] ^= 0xFF
    path.write_bytes(data)
    return serve(path)


def shown(page, name: str) -> list[str]:
    return page.evaluate(f"[...document.querySelectorAll('.row .{name}')].map((it) => it.textContent)")


def test_a_film_is_found_once_by_its_media_type(served, page) -> None:
    page.goto(f"{served.address}#mime=video/")
    until(page, "document.querySelectorAll('.row .uri').length === 2")
    assert shown(page, "kind") == ["response", "response"]
    assert page.problems == []


def test_a_switch_shows_captures_only(served, page) -> None:
    page.goto(served.address)
    until(page, "document.querySelectorAll('.row .uri').length > 8")
    assert "request" in shown(page, "kind")
    page.get_by_label("Captures only").check()
    until(page, "location.hash.includes('captures=1')")
    until(page, "document.getElementById('found').textContent === '5 records'")
    assert set(shown(page, "kind")) == {"response"}
    page.reload()
    until(page, "document.getElementById('found').textContent === '5 records'")
    assert page.get_by_label("Captures only").is_checked()
    assert page.problems == []


def test_records_are_found_by_status(served, page) -> None:
    page.goto(served.address)
    page.click("#filters summary")
    for status in ("404", "4xx"):
        page.get_by_label("Status").fill(status)
        until(page, "document.getElementById('found').textContent === '1 record'")
        assert shown(page, "status") == ["404"]
    page.get_by_label("Status").fill("none")
    until(page, "document.getElementById('found').textContent.startsWith('A status is')")
    assert page.problems == []


def test_a_damaged_place_is_a_row_and_what_follows_is_listed(served, page) -> None:
    page.goto(served.address)
    until(page, "document.querySelectorAll('.row.damaged').length === 1")
    assert "lost.html" not in "".join(shown(page, "uri")[5:])
    assert shown(page, "uri")[-1].endswith("things.zip")
    assert "1 place damaged" in page.inner_text(".damage")
    page.click(".row.damaged")
    until(page, "document.querySelector('#record [role=alert]')")
    assert "offset" in page.inner_text("#record [role=alert]")
    assert not [text for text in page.problems if "502" not in text]
    page.problems.clear()


def test_a_damaged_frame_has_a_colour_of_its_own(served, page) -> None:
    row = served.json("api/records?q=damaged.mp4&captures=1")["records"][0]
    page.goto(f"{served.address}#r={row['id']}&tab=hex&at=700000&part=block")
    until(page, "document.querySelector('.frames-caption')?.textContent.includes('1 damaged')")
    red = """(() => {
      const canvas = document.querySelector('.frames-picture');
      const at = Math.floor(canvas.width * 700000 / 1048576), low = canvas.height - 3;
      return [...canvas.getContext('2d').getImageData(at, low, 1, 1).data];
    })()"""
    until(page, f"{red}[0] > 150 && {red}[1] < 120")
    page.problems.clear()


def test_what_is_still_in_memory_is_said_to_be(served, page) -> None:
    row = served.json("api/records?q=film.mp4&captures=1&mime=video&max_size=2000000")["records"][0]
    address = f"{served.address}#r={row['id']}&tab=hex&at=500000"
    page.goto(address)
    until(page, "document.querySelector('.frames-caption')?.textContent.includes('fetched')")
    # A page that leaves before its bytes have come stops their decoding.
    until(page, "document.querySelector('.hex .ascii')?.textContent.trim()")
    page.goto("about:blank")
    page.goto(address)
    until(page, "document.querySelector('.frames-caption')?.textContent.includes('from memory')")
    caption = page.inner_text(".frames-caption")
    assert "fetched" not in caption
    assert page.inner_text(".cost dd.soft") == "from memory"
    assert page.problems == []


@pytest.mark.parametrize(("name", "view"), [("paper.pdf", "hex"), ("things.zip", "headers")])
def test_kinds_without_a_view_open_where_there_is_something_to_see(served, page, name, view) -> None:
    row = served.json(f"api/records?q={name}&captures=1")["records"][0]
    page.goto(f"{served.address}#r={row['id']}")
    until(page, f"document.querySelector('[role=tab][aria-selected=true]')?.dataset.tab === '{view}'")
    assert page.problems == []


def test_a_request_opens_on_its_headers(served, page) -> None:
    row = served.json("api/records?q=/film.mp4&type=request")["records"][0]
    page.goto(f"{served.address}#r={row['id']}")
    until(page, "document.querySelector('[role=tab][aria-selected=true]')?.dataset.tab === 'headers'")
    assert page.problems == []


def test_copy_address_is_called_that(served, page) -> None:
    row = served.json("api/records?q=/film.mp4&captures=1")["records"][0]
    page.goto(f"{served.address}#r={row['id']}")
    until(page, "document.querySelector('.copy')")
    page.context.grant_permissions(["clipboard-write", "clipboard-read"])
    page.get_by_role("button", name="Copy address", exact=True).click()
    until(page, "document.querySelector('.copy-room [aria-live]').textContent === 'Copied'")
    assert page.problems == []
