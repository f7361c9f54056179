"""The search of texts in a real browser: by mouse and keyboard, narrow, dark, and hostile pages."""

from __future__ import annotations

import pytest

import seekwarc
from seekwarc import tools
from tests.browser.conftest import until
from tests.support.writing import response

pytestmark = [pytest.mark.slow, pytest.mark.needs("chromium", "module:playwright")]

HITS = "document.querySelectorAll('#hits li[data-id]')"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hits")
    with seekwarc.open(folder / "a.warc.zst", "w") as out:
        for number in range(45):
            page = f"<title>Tea {number}</title><p>Earl Grey, hot. Cup {number} of the day."
            uri, date = f"http://example.org/tea/{number}", f"2026-11-{number % 28 + 1:02}T12:00:00Z"
            out.write_response(uri, response(page.encode(), "text/html"), date=date)
        hostile = (
            "<title>&lt;img src=x onerror=owned=1&gt;</title><p>&lt;script&gt;owned=1&lt;/script&gt; "
            "\U0001f375 kettle &lt;mark onclick=owned=1&gt; kettle"
        )
        out.write_response(
            "http://example.org/?<script>owned=1</script>".replace("<", "%3C").replace(">", "%3E"),
            response(hostile.encode(), "text/html; charset=utf-8"),
            date="2026-11-16T12:00:00Z",
        )
    tools.index_text(folder / "a.warc.zst", folder / "a.fts")
    return folder


@pytest.fixture(scope="module")
def served(serve, folder):
    return serve(folder / "a.warc.zst", "--search", folder / "a.fts")


def test_without_an_index_only_uris_are_searched(serve, folder, page) -> None:
    page.goto(serve(folder / "a.warc.zst").address)
    until(page, "document.querySelectorAll('.row .uri').length > 8")
    assert page.locator("#modes").is_hidden()
    assert page.problems == []


def test_texts_are_searched_and_hits_opened(served, page) -> None:
    page.goto(served.address)
    page.get_by_label("Texts of pages").check()
    page.get_by_label("Words of pages").fill('"earl grey" cup')
    until(page, f"{HITS}.length === 20")
    assert page.inner_text("#found") == "about 45 pages"
    assert page.locator("#hits mark").first.inner_text() == "Earl Grey"
    page.get_by_role("button", name="More").click()
    until(page, f"{HITS}.length === 40")
    page.locator("#hits .hit").nth(3).click()
    until(page, "document.querySelector('#record h2')?.textContent.includes('/tea/')")
    assert page.locator("#hits li[aria-current]").count() == 1
    page.reload()
    until(page, f"{HITS}.length === 20 && document.querySelector('#record h2') !== null")
    assert page.get_by_label("Words of pages").input_value() == '"earl grey" cup'
    assert page.problems == []


def test_keys_lead_from_the_words_to_a_record_and_on(served, page) -> None:
    page.goto(f"{served.address}#in=text&order=date")
    until(page, "document.querySelector('#hits .hint') !== null && !document.querySelector('#modes').hidden")
    page.keyboard.press("/")
    page.keyboard.type("tea 7")
    until(page, f"{HITS}.length > 0")
    page.keyboard.press("Enter")
    until(page, "document.activeElement.matches('#hits .hit')")
    page.keyboard.press("Enter")
    until(page, "document.querySelector('#record h2')?.textContent.endsWith('/tea/7')")
    page.keyboard.press("Escape")
    until(page, "!document.querySelector('#record h2')?.textContent.endsWith('/tea/7')")
    page.goto(f"{served.address}#in=text&q=tea&order=date")
    until(page, f"{HITS}.length === 20")
    for expected in (0, 1):
        page.keyboard.press("n")
        until(page, f"[...{HITS}].findIndex((it) => it.getAttribute('aria-current')) === {expected}")
    page.keyboard.press("p")
    until(page, f"[...{HITS}].findIndex((it) => it.getAttribute('aria-current')) === 0")
    assert page.problems == []


def test_archived_markup_stays_text(served, page) -> None:
    page.goto(f"{served.address}#in=text&q=kettle")
    until(page, f"{HITS}.length === 1")
    assert page.locator("#hits img, #hits script").count() == 0
    assert page.locator("#hits .hit").inner_text() == "<img src=x onerror=owned=1>"
    assert page.locator("#hits mark").all_inner_texts() == ["kettle", "kettle"]
    assert "<script>owned=1</script>" in page.inner_text("#hits .snippet")
    assert page.evaluate("typeof owned") == "undefined"
    assert page.problems == []


def test_a_wrong_query_says_what_is_wrong(served, page) -> None:
    page.goto(f"{served.address}#in=text&q=(tea")
    until(page, "document.querySelector('#found').textContent.includes('no `)`')")
    assert "bad" in page.get_attribute("#found", "class")
    # The browser itself notes the status of the answer.
    page.problems.clear()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_narrow_window_nothing_is_cut_off(served, pages, scheme) -> None:
    page = pages.take(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    page.goto(f"{served.address}#in=text&q=tea+OR+kettle&mime=text/html")
    until(page, f"{HITS}.length === 20")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("[...document.querySelectorAll('#hits *')].every((it) => it.scrollWidth <= 390)")
    page.locator("#hits .hit").first.click()
    until(page, "document.querySelector('#panes').classList.contains('open')")
    assert pages.give_back() == []
