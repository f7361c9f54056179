"""Mouse and finger, as the first act on a fresh page: whatever can be clicked does what it says."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

import seekwarc
from tests.browser.conftest import Pages, until
from tests.support.processes import PATIENT

pytestmark = [pytest.mark.slow, pytest.mark.needs("chromium", "module:playwright")]

COUNT = 400
MILLION = 1_000_000
SIZES = {
    "wide": {"viewport": {"width": 1280, "height": 800}},
    "narrow": {"viewport": {"width": 360, "height": 640}},
    # A browser that is zoomed to 200 % lays out half the pixels in each direction, each twice as large.
    "zoomed": {"viewport": {"width": 640, "height": 400}, "device_scale_factor": 2},
    "phone": {"viewport": {"width": 360, "height": 640}, "has_touch": True, "is_mobile": True},
}
TITLE = "document.querySelector('#record h2')?.textContent"
ROWS = "document.querySelectorAll('.row .uri').length > 3"


def uri(number: int) -> str:
    return f"http://example.org/{number:07}.txt"


@pytest.fixture(scope="module")
def served(serve, tmp_path_factory):
    path = tmp_path_factory.mktemp("pointer") / "site.warc.zst"
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
    with seekwarc.open(path, "w", frame_size=64 << 10, threads=1) as out:
        for number in range(COUNT):
            body = b"record %d\n" % number * (60_000 if number == 0 else 1)
            out.write_response(uri(number), head + body, date="2026-11-16T12:00:00Z")
    return serve(path)


class Pointer:
    """A mouse or a finger on one page: it presses places, not elements."""

    def __init__(self, page: Any, *, touch: bool) -> None:
        self.page = page
        self.touch = touch

    def press(self, selector: str) -> None:
        """Press the middle of the element as a hand does: with time between down and up."""
        until(self.page, f"document.querySelector({json.dumps(selector)}) !== null")
        # Where a window is low, a hand scrolls to what it wants to press.
        self.page.locator(selector).first.scroll_into_view_if_needed()
        box = self.page.locator(selector).first.bounding_box()
        self.press_at(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    def press_at(self, x: float, y: float) -> None:
        if self.touch:
            self.page.touchscreen.tap(x, y)
            return
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        self.page.wait_for_timeout(60)
        self.page.mouse.up()


@pytest.fixture
def fresh(pages: Pages, served) -> Iterator[Any]:
    """Open the page as the first thing in a blank window, at one of the sizes."""

    def open_at(size: str, address: str = "", *, rows: int = COUNT) -> Pointer:
        page = pages.take(**SIZES[size])
        if rows > COUNT:
            pretend(page, served, rows)
        page.goto(served.address + address)
        until(
            page, ROWS if not address or SIZES[size]["viewport"]["width"] > 860 else f"{TITLE} !== undefined"
        )
        return Pointer(page, touch=SIZES[size].get("has_touch", False))

    yield open_at
    assert pages.give_back() == []


def pretend(page: Any, served: Any, rows: int) -> None:
    """Let the page see a list of `rows` records, each of which is the first one under a name of its own."""
    first = served.json("api/records?count=1")["records"][0]

    def lists(route: Any) -> None:
        asked = re.search(r"start=(\d+)&count=(\d+)", route.request.url)
        start, count = map(int, asked.groups())
        numbers = range(start, min(start + count, rows))
        found = [{**first, "id": f"number-{number}", "uri": uri(number)} for number in numbers]
        route.fulfill(json={"total": rows, "complete": True, "start": start, "records": found})

    def one(route: Any) -> None:
        number = int(re.search(r"number-(\d+)", route.request.url)[1])
        record = served.json(f"api/records/{first['id']}")
        route.fulfill(json={**record, "id": first["id"], "uri": uri(number)})

    page.route("**/api/records?*", lists)
    page.route("**/api/records/number-*", one)


def visible_row(page: Any, which: str) -> tuple[str, float, float]:
    """Return the URI of the first or last row that is seen, if only in part, and a point on it."""
    found = page.evaluate(
        """(which) => {
          const list = document.getElementById("list").getBoundingClientRect();
          const rows = [...document.querySelectorAll(".row")].map((row) => [row, row.getBoundingClientRect()])
            .filter(([, box]) => box.top < list.bottom - 4 && box.bottom > list.top + 4);
          const [row, box] = rows.at(which === "top" ? 0 : -1);
          const y = (Math.max(box.top, list.top) + Math.min(box.bottom, list.bottom)) / 2;
          return [row.querySelector(".uri").title, box.left + box.width / 3, y];
        }""",
        which,
    )
    return tuple(found)


@pytest.mark.parametrize("rows", [COUNT, MILLION])
@pytest.mark.parametrize("scrolled", [False, True])
@pytest.mark.parametrize("which", ["top", "bottom"])
@pytest.mark.parametrize("size", SIZES)
def test_the_first_press_on_a_row_opens_its_record(fresh, size, which, scrolled, rows) -> None:
    pointer = fresh(size, rows=rows)
    page = pointer.page
    if scrolled:
        first = page.evaluate("document.querySelector('.row .uri').title")
        page.evaluate(
            "(() => { const it = document.getElementById('list'); it.scrollTop = it.scrollHeight * 0.6; })()"
        )
        until(page, f"![null, undefined, {first!r}].includes(document.querySelector('.row .uri')?.title)")
    wanted, x, y = visible_row(page, which)
    pointer.press_at(x, y)
    until(page, f"{TITLE} === {wanted!r}")
    selected = "document.querySelector('.row[aria-selected=true] .uri')?.title"
    if SIZES[size]["viewport"]["width"] > 860:
        assert page.evaluate(selected) == wanted


def test_a_list_that_grows_stays_where_it_was_just_scrolled_to(fresh) -> None:
    # The browser tells of a scroll a moment later; by then the list may have grown.
    found = fresh("wide").page.evaluate(
        """async () => {
          const { Rows } = await import("./rows.js");
          const box = document.createElement("div");
          box.style = "height: 200px; overflow: auto";
          document.body.append(box);
          const make = () => document.createElement("p");
          const rows = new Rows(box, 20, { wanted() {}, key: (index) => index, make });
          rows.setTotal(1000);
          box.scrollTop = 4000;
          rows.setTotal(1001);
          return [box.scrollTop, rows.top];
        }"""
    )
    assert found == [4000, 200]


def test_a_row_that_is_pressed_stays_while_files_are_read(fresh) -> None:
    pointer = fresh("wide")
    page = pointer.page
    wanted, x, y = visible_row(page, "bottom")
    page.mouse.move(x, y)
    page.mouse.down()
    with page.expect_response(re.compile(r"api/records\?")):
        page.evaluate("import('./main.js').then(() => window.dispatchEvent(new PopStateEvent('popstate')))")
    page.wait_for_timeout(100)
    page.mouse.up()
    until(page, f"{TITLE} === {wanted!r}")


# What is pressed first on a page that shows a record, and what is true once it was.
ON_A_RECORD = {
    "tab": ("#tab-hex", "document.querySelector('.hex .octets')?.textContent.length > 20"),
    "headers": ("#tab-headers", "document.querySelectorAll('.headers h3').length > 1"),
    "frame map": (
        ".frames-slider",
        "parseInt(document.querySelector('.hex .offset')?.textContent, 16) > 100000",
    ),
    "place in the text": (
        ".through",
        "parseInt(document.querySelector('.where').textContent.replace(/\\D/g, '')) > 100000",
    ),
    "theme": ("#theme", "document.documentElement.dataset.theme === 'light'"),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("what", ON_A_RECORD)
def test_the_first_press_beside_a_record_does_it(fresh, served, size, what) -> None:
    selector, done = ON_A_RECORD[what]
    address = served.link("0000000.txt").removeprefix(served.address)
    pointer = fresh(size, address)
    until(pointer.page, "document.querySelector('pre.text')?.textContent.length > 1000")
    until(pointer.page, "document.querySelector('.frames-caption')?.textContent.includes('frame')")
    # Under a small record it is folded.
    pointer.page.evaluate("document.querySelector('.foot').open = true")
    pointer.press(selector)
    until(pointer.page, done)


@pytest.mark.parametrize("size", SIZES)
def test_the_first_press_on_save_saves_the_payload(fresh, served, size) -> None:
    pointer = fresh(size, served.link("0000007.txt").removeprefix(served.address))
    with pointer.page.expect_download() as download:
        pointer.press(".save")
    assert download.value.suggested_filename == "0000007.txt"
    assert download.value.path().read_bytes() == b"record 7\n"


@pytest.mark.parametrize("allowed", [True, False])
@pytest.mark.parametrize("size", SIZES)
def test_the_first_press_on_copy_copies_the_address(fresh, served, size, allowed) -> None:
    pointer = fresh(size, served.link("0000007.txt").removeprefix(served.address))
    page = pointer.page
    if allowed:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    else:
        page.evaluate(
            "() => { navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed')); }"
        )
    pointer.press(".copy")
    if allowed:
        until(page, "document.querySelector('.copy').textContent === 'Copied'")
        address = page.evaluate("navigator.clipboard.readText()")
    else:
        until(page, "document.activeElement.classList.contains('by-hand')")
        selected = "(it) => it.value.slice(it.selectionStart, it.selectionEnd)"
        address = page.locator(".by-hand").evaluate(selected)
    query = f"uri={quote(uri(7), safe='')}&date=20261116120000"
    assert address == f"{served.address}payload?{query}"
    with urllib.request.urlopen(address, timeout=PATIENT) as answer:
        assert answer.read() == b"record 7\n"


@pytest.mark.parametrize("size", ["narrow", "phone"])
def test_the_first_press_on_back_leads_to_the_list(fresh, served, size) -> None:
    pointer = fresh(size, served.link("0000007.txt").removeprefix(served.address))
    pointer.press(".back")
    until(pointer.page, ROWS)
    assert pointer.page.evaluate("document.getElementById('list').checkVisibility()")


@pytest.mark.parametrize("size", SIZES)
def test_the_first_press_on_filters_opens_and_clears_them(fresh, size) -> None:
    pointer = fresh(size)
    pointer.press("#filters summary")
    until(pointer.page, "document.querySelector('[name=min_size]').checkVisibility()")
    pointer.press("[name=min_size]")
    pointer.page.keyboard.type("100k")
    until(pointer.page, "document.getElementById('found').textContent === '1 record'")
    pointer.press("#clear")
    until(pointer.page, f"document.getElementById('found').textContent === '{COUNT} records'")


@pytest.mark.parametrize("size", [size for size in SIZES if size != "phone"])
def test_the_first_press_on_keys_opens_and_closes_them(fresh, size) -> None:
    pointer = fresh(size)
    pointer.press("#help-open")
    until(pointer.page, "document.getElementById('help').open")
    pointer.press("#help button")
    until(pointer.page, "!document.getElementById('help').open")


@pytest.mark.parametrize("size", SIZES)
def test_the_first_press_on_the_order_and_the_field_reach_them(fresh, size) -> None:
    pointer = fresh(size)
    pointer.press("[name=sort]")
    until(pointer.page, "document.activeElement.name === 'sort'")
    # The list that drops down is not of the page: the keyboard chooses in it.
    pointer.page.keyboard.press("End")
    pointer.page.keyboard.press("Enter")
    until(pointer.page, "location.hash.includes('sort=size')")
    pointer.press("#q")
    pointer.page.keyboard.type("0000123")
    until(pointer.page, "document.getElementById('found').textContent === '1 record'")
