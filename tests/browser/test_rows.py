"""The list of records, and the overview of files, in a real browser."""

from __future__ import annotations

import pytest

import seekwarc
from tests.browser.conftest import until
from tests.support.partial import PartsWriter
from tests.support.writing import noise, response

pytestmark = [pytest.mark.slow, pytest.mark.needs("chromium", "module:playwright")]

PART = 5000
PARTS = 88
FOUND = "document.getElementById('found').textContent"
TITLE = "document.querySelector('#record h2')?.textContent"
# Every text whose contrast is under 4.5, as WCAG 2.2 computes it, on the colour that is seen under it.
FAINT = """
(() => {
  const rgba = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (colour) => colour.slice(0, 3)
    .map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4))
    .reduce((sum, value, index) => sum + value * [0.2126, 0.7152, 0.0722][index], 0);
  const under = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  return [...document.querySelectorAll("body *")]
    .filter((it) => it.checkVisibility() && !it.closest(".sr, .skip"))
    .filter((it) => [...it.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
    .map((it) => {
      const [one, other] = [light(rgba(getComputedStyle(it).color)), light(under(it))];
      return [(Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05), it.outerHTML.slice(0, 90)];
    })
    .filter(([contrast]) => contrast < 4.5);
})()
"""


@pytest.fixture(scope="module")
def served(serve, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    out = PartsWriter(noise(PART * PARTS))
    for number in range(PARTS):
        out.part(number * PART, (number + 1) * PART)
    (folder / "film.warc.zst").write_bytes(out.done())
    for name in ("part-00001", "part-00002"):
        with seekwarc.open(folder / f"{name}.warc.zst", "w") as archive:
            for path in ("same", f"only-in-{name}"):
                uri = f"http://example.org/{path}"
                archive.write_response(uri, response(b"<p>x", "text/html"), date="2026-03-16T12:00:00Z")
            for number in range(20):
                block = response(b"x" * number, f"image/x-{number}")
                archive.write_response(f"http://{name}-{number}.example/", block, date="2026-07-01T00:00:00Z")
    cut = folder / "cut.warc.gz"
    with seekwarc.open(cut, "w") as archive:
        archive.write_response(
            "http://example.org/cut", response(noise(9000), "image/png"), date="2026-05-01T00:00:00Z"
        )
    cut.write_bytes(cut.read_bytes()[:-4000])
    return serve(*sorted(folder.glob("*.warc.*")))


def test_a_pattern_finds_the_film_whose_parts_are_one_row(served, page) -> None:
    page.goto(f"{served.address}#q=*.mp4")
    until(page, f"{FOUND} === '1 record'")
    assert page.inner_text("#list .row .size") == f"{PARTS} parts"
    page.click("#list .row")
    until(page, f"{TITLE} === 'http://example.org/film.mp4'")
    assert f"Joined from {PARTS} parts" in page.inner_text("#record")
    page.click("#filters summary")
    page.check("[name=parts]")
    until(page, f"{FOUND} === '{PARTS} records'")
    page.click("#clear")
    until(page, f"!location.hash.includes('q=') && {FOUND} !== '{PARTS} records'")
    assert not page.is_checked("[name=parts]")
    assert page.input_value("#q") == ""
    assert not page.is_visible("#clear")
    assert page.problems == []


def test_rows_that_look_the_same_name_their_files(served, page) -> None:
    page.goto(f"{served.address}#q=example.org/same")
    until(page, f"{FOUND} === '2 records'")
    names = page.evaluate("[...document.querySelectorAll('.row .file')].map((it) => it.textContent)")
    assert names == ["part-00001.warc.zst", "part-00002.warc.zst"]
    page.goto(f"{served.address}#q=only-in")
    until(page, f"{FOUND} === '2 records' && !document.querySelector('.row .file')")


def test_files_are_listed_with_what_is_wrong_and_filter_the_rows(served, page) -> None:
    page.goto(served.address)
    page.wait_for_selector(".files [data-bar='file cut.warc.gz']")
    first = page.inner_text(".files li >> nth=0")
    assert "cut.warc.gz" in first
    assert "1 record with a problem: its row is marked." in first
    page.click(".files [data-bar='file part-00002.warc.zst']")
    until(page, f"{FOUND} === '22 records'")
    assert page.input_value("[name=file]") == "part-00002.warc.zst"
    page.click(".files [data-bar='file cut.warc.gz']")
    until(page, f"{FOUND} === '1 record'")
    assert "cut off" in page.get_attribute("#list .row .bad", "title")
    assert page.problems == []


def test_one_press_leads_from_the_search_to_the_record(served, page) -> None:
    page.goto(served.address)
    until(page, "document.querySelectorAll('.row .uri').length > 5")
    page.keyboard.press("/")
    page.keyboard.type("only-in")
    page.keyboard.press("Enter")
    until(page, f"{TITLE} === 'http://example.org/only-in-part-00001'")
    assert page.evaluate("document.activeElement.id") == "list"
    page.keyboard.press("/")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("part-00002-7")
    page.keyboard.press("ArrowDown")
    until(page, "document.activeElement.id === 'list'")
    until(page, f"{FOUND} === '1 record'")
    page.keyboard.press("Enter")
    until(page, f"{TITLE} === 'http://part-00002-7.example/'")


def test_the_active_row_is_one_that_is_there(served, page) -> None:
    named = "document.getElementById('list').getAttribute('aria-activedescendant')"
    page.goto(f"{served.address}#q=example")
    until(page, f"document.getElementById({named})?.getAttribute('role') === 'option'")
    page.fill("#q", "no such thing")
    until(page, f"{FOUND} === 'No record matches.'")
    assert page.evaluate(named) is None


def test_a_small_page_is_shown_as_a_page_without_its_cost(served, page) -> None:
    page.goto(f"{served.address}#r={served.find('only-in-part-00001')['id']}")
    page.wait_for_selector("[role=tab][aria-selected=true] >> text=Page")
    page.wait_for_selector(".page-room iframe[sandbox='']")
    assert not page.is_visible(".frames-slider")
    assert not page.is_visible(".cost")
    page.click(".foot summary")
    until(page, "/frame/.test(document.querySelector('.frames-caption').textContent)")
    page.goto(f"{served.address}#r={served.find('only-in-part-00002')['id']}")
    until(page, f"{TITLE} === 'http://example.org/only-in-part-00002'")
    assert page.is_visible(".cost"), "what was opened stays open"


def test_the_timeline_of_a_year_fills_its_width(served, page) -> None:
    page.goto(served.address)
    page.wait_for_selector(".timeline button")
    boxes = page.evaluate(
        """["columns button", "timeline .each"].map((name) => [...document.querySelectorAll(`.${name}`)]
          .map((it) => it.getBoundingClientRect()).map((it) => Math.round(it.left + it.width / 2)))"""
    )
    assert len(boxes[0]) == 12
    assert all(abs(bar - label) <= 1 for bar, label in zip(*boxes, strict=True))
    wide = page.evaluate("document.querySelector('.timeline').getBoundingClientRect().width")
    assert boxes[0][-1] - boxes[0][0] > 0.9 * wide


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_all_text_has_contrast(served, pages, colours) -> None:
    page = pages.take(viewport={"width": 1280, "height": 800}, color_scheme=colours)
    page.goto(served.address)
    page.wait_for_selector(".kinds .rest")
    page.click("#filters summary")
    assert page.evaluate(FAINT) == []
    for state in ("q=only-in", "q=cut", "q=film"):
        page.goto(f"{served.address}#{state}")
        page.click("#list [data-index='0']")
        page.wait_for_selector("#list [aria-selected=true]")
        page.wait_for_selector("[role=tabpanel] > *")
        assert page.evaluate(FAINT) == []
    pages.give_back()


@pytest.mark.parametrize("width", [390, 1280])
def test_a_page_has_one_main_landmark_in_every_window(served, pages, width) -> None:
    page = pages.take(viewport={"width": width, "height": 800})
    page.goto(served.address)
    page.wait_for_selector("#list [data-index='0']")
    assert (
        page.evaluate("[...document.querySelectorAll('main')].filter((it) => it.checkVisibility()).length")
        == 1
    )
    pages.give_back()


def test_rows_of_what_a_crawler_made_of_a_page_say_what_it_is(serve, page, tmp_path) -> None:
    with seekwarc.open(tmp_path / "a.warc.gz", "w") as archive:
        archive.write_resource("urn:view:https://example.org/tea", b"x", "image/png")
    page.goto(serve(tmp_path / "a.warc.gz").address)
    until(page, "document.querySelector('.row .kind')?.textContent === 'screenshot'")
    assert page.locator(".row .uri").inner_text() == "example.org/tea"
    assert page.locator(".row .kind").get_attribute("title") == "urn:view:https://example.org/tea"
