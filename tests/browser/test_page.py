"""The page, in a real browser."""

from __future__ import annotations

import gzip
import json
import struct
import zlib
from array import array

import pytest
import zstandard

import seekwarc
from tests.browser.conftest import until
from tests.support.writing import noise, response

pytestmark = [pytest.mark.slow, pytest.mark.needs("chromium", "module:playwright")]

HOSTILE = (
    b"<!doctype html><title>p</title><script>document.title = 'ours'; window.ours = 1;"
    b"fetch('/api/summary?ours'); localStorage.setItem('ours', 1)</script>"
    b"<img src=x onerror='fetch(\"/api/summary?ours\")'><h1>Hello</h1>"
)
DRAWING = (
    b'<svg xmlns="http://www.w3.org/2000/svg" onload="fetch(\'/api/summary?ours\')"><circle r="9"/></svg>'
)
LOG = b"".join(b"%07d \xe2\x80\x9cna\xc3\xafve\xe2\x80\x9d GET /page\n" % number for number in range(120_000))
THINGS = {"things": [{"id": number, "name": f"thing {number}"} for number in range(300)], "next": None}
FRAME = 8 << 20
HUGE = 10 << 30


@pytest.fixture(scope="module")
def served(serve, tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    picture = b"P6 8 8 255\n" + bytes(192)
    png = tiny_png()
    with seekwarc.open(
        folder / "site.warc.zst", "w", dedup=seekwarc.Duplicates(), max_file_size=1 << 40
    ) as out:
        out.write_warcinfo({"software": "test"})
        blocks = {
            "hostile.html": response(HOSTILE, "text/html"),
            "coded.html": response(gzip.compress(HOSTILE), "text/html", "Content-Encoding: gzip"),
            "drawing.svg": response(DRAWING, "image/svg+xml"),
            "lies.png": response(HOSTILE, "image/png"),
            "dot.png": response(png, "image/png"),
            "things.json": response(json.dumps(THINGS).encode(), "application/json"),
            "broken.json": response(b"{'no'", "application/json"),
            "access.log": response(LOG, "text/plain; charset=utf-8"),
            "lies.mp4": response(picture, "video/mp4"),
            "empty.txt": response(b"", "text/plain"),
        }
        for number, (name, block) in enumerate(blocks.items()):
            out.write_response(f"http://example.org/{name}", block, date=f"2026-11-16T12:00:{number:02}Z")
        for number in range(600):
            block = response(b"<p>%d" % number, "text/html")
            out.write_response(f"http://news.example/{number:04}", block, date="2026-11-17T00:00:00Z")
        out.write_response(
            "http://again.example/log", response(LOG, "text/plain"), date="2026-11-18T00:00:00Z"
        )
    return serve(*sorted(folder.glob("*.warc.zst")))


def tiny_png() -> bytes:
    """Return a picture of 3 by 2 points."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 3, 2, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(b"\0" * 20))
        + chunk(b"IEND", b"")
    )


@pytest.fixture(scope="module")
def huge(serve, tmp_path_factory):
    """A record of ten gibibytes, in frames of blocks of 1024 numbers: that of the block, and those from 1 on.

    No two places of a frame are alike, and it takes little room on disk; noise in its middle makes it large
    enough to be fetched by itself.
    """
    path = tmp_path_factory.mktemp("huge") / "huge.warc.zst"
    compress = zstandard.ZstdCompressor(level=1, write_checksum=True).compress
    count = HUGE // FRAME
    head = (
        b"WARC/1.1\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-1>\r\n"
        b"WARC-Date: 2026-11-16T12:00:00Z\r\nWARC-Target-URI: http://example.org/huge.bin\r\n"
        b"Content-Type: application/octet-stream\r\nContent-Length: %d\r\n\r\n" % HUGE
    )
    numbers = array("I", range(1, 1024))
    blocks = [(array("I", [block]) + numbers).tobytes() for block in range(FRAME // 4096)]
    body = b"".join([*blocks[:1024], noise(64 * 4096), *blocks[1024 + 64 :]])
    first, middle, last = compress(head), compress(body), compress(body + b"\r\n\r\n")
    frames = [first, *[middle] * (count - 1), last]
    contents = [len(head), *[FRAME] * (count - 1), FRAME + 4]
    table = seekwarc.SeekTable(array("Q", map(len, frames)), array("Q", contents))
    with path.open("wb") as out:
        for frame in frames:
            out.write(frame)
        out.write(table.build())
    return serve(path)


def row_texts(page) -> list[str]:
    return page.evaluate("[...document.querySelectorAll('.row .uri')].map((it) => it.textContent)")


def test_at_a_glance_each_bar_is_a_filter(served, page) -> None:
    page.goto(served.address)
    page.wait_for_selector(".glance h2")
    assert "612 records" in page.inner_text(".glance .facts")
    assert "2 revisits save" in page.inner_text(".glance .facts")
    page.click(".glance [data-bar='host news.example']")
    until(page, "document.querySelector('#found').textContent === '600 records'")
    assert page.input_value("#q") == "news.example"
    # The keyboard does the same, and the other filter is gone.
    page.focus(".glance [data-bar='status 200']")
    page.focus(".glance [data-bar='type warcinfo']")
    page.keyboard.press("Enter")
    until(page, "document.querySelector('#found').textContent === '1 record'")
    assert page.input_value("#q") == ""
    month = page.query_selector(".glance .columns button:enabled[data-bar='month 2026-11']")
    found = month.get_attribute("title").removeprefix("2026-11: ")
    month.click()
    until(page, f"document.querySelector('#found').textContent === '{found}'")
    page.click("#list [data-index='3']")
    page.wait_for_selector(".tabs")
    assert page.query_selector(".glance") is None
    page.keyboard.press("Escape")
    page.wait_for_selector(".glance h2")
    assert page.problems == []


def test_on_a_phone_the_overview_takes_the_place_of_the_list(served, pages) -> None:
    page = pages.take(viewport={"width": 390, "height": 800})
    page.goto(served.address)
    page.wait_for_selector("#list [data-index='0']")
    assert not page.is_visible(".glance")
    page.click("#glance")
    page.wait_for_selector(".glance h2")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.click(".glance [data-bar='mime text/plain']")
    until(page, "document.querySelector('#found').textContent === '3 records'")
    assert page.is_visible("#list")
    pages.give_back()
    assert page.problems == []


def test_the_list_shows_and_finds(served, page) -> None:
    page.goto(served.address)
    until(page, "document.querySelectorAll('.row .uri').length > 5")
    assert "612 records" in page.inner_text("#found")
    page.fill("#q", "news 0042")
    until(page, "document.querySelectorAll('.row .uri').length === 1")
    assert row_texts(page) == ["news.example/0042"]
    until(page, "location.hash.includes('q=news+0042')")
    page.fill("#q", "no such thing")
    until(page, "document.getElementById('found').textContent === 'No record matches.'")
    page.fill("#q", "")
    page.click("#filters summary")
    page.fill("[name=min_size]", "1M")
    until(page, "document.getElementById('found').textContent === '1 record'")
    page.fill("[name=min_size]", "many")
    until(page, "document.querySelector('[name=min_size]').getAttribute('aria-invalid') === 'true'")
    assert page.inner_text("#found").startswith("A size is a number such as")
    page.click("#clear")
    until(page, "document.getElementById('found').textContent === '612 records'")
    page.select_option("[name=sort]", "-size")
    until(page, "document.querySelector('.row .uri')?.textContent === 'example.org/access.log'")
    assert page.problems == []


def test_the_keyboard_is_enough(served, page) -> None:
    page.goto(served.address)
    until(page, "document.querySelectorAll('.row .uri').length > 5")
    page.keyboard.press("/")
    page.keyboard.type("example.org")
    page.keyboard.press("Enter")
    until(page, "document.activeElement.id === 'list'")
    until(page, "document.getElementById('found').textContent === '10 records'")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    until(page, "document.querySelector('#record h2')?.textContent.endsWith('/coded.html')")
    page.keyboard.press("n")
    until(page, "document.querySelector('#record h2')?.textContent.endsWith('/drawing.svg')")
    page.keyboard.press("p")
    until(page, "document.querySelector('#record h2')?.textContent.endsWith('/coded.html')")
    page.focus("[role=tab][aria-selected=true]")
    page.keyboard.press("ArrowRight")
    until(page, "document.querySelector('[role=tab][aria-selected=true]').textContent === 'Text'")
    page.keyboard.press("Escape")
    until(page, "!location.hash.includes('r=')")
    page.focus("#list")
    page.keyboard.press("End")
    until(page, "document.getElementById('list').getAttribute('aria-activedescendant') === 'row-9'")
    page.keyboard.press("?")
    until(page, "document.getElementById('help').open")
    # The page is in a sandbox, where its script was refused.
    assert all("blocked" in problem.lower() for problem in page.problems)


def test_no_script_of_an_archived_page_runs(served, page) -> None:
    for name in ("hostile.html", "coded.html", "drawing.svg"):
        page.goto(served.link(name, tab="text"))
        # What is there before may be the text of the record before.
        until(page, f"document.querySelector('#record h2')?.textContent.endsWith('/{name}')")
        until(page, "(document.querySelector('pre.text')?.textContent ?? '').length > 50")
        assert page.evaluate("window.ours === undefined && localStorage.getItem('ours') === null")
        url = served.address + f"api/records/{served.find(name)['id']}"
        for part in ("payload", "block", "payload?as=bytes"):
            with page.expect_download() as download:
                page.evaluate("(url) => { location.href = url }", f"{url}/{part}")
            download.value.cancel()
        # As a frame, a script, a style, an object or a worker of a page of ours it does nothing either.
        page.evaluate(
            """(url) => {
              const ways = [["iframe", "src"], ["object", "data"], ["embed", "src"], ["script", "src"]];
              for (const [name, key] of ways) {
                const element = document.createElement(name);
                try { element[key] = url; } catch { continue; }
                document.body.append(element);
              }
            }""",
            f"{url}/payload",
        )
        page.wait_for_timeout(200)
        assert page.evaluate("window.ours === undefined && localStorage.getItem('ours') === null")
        refused = page.evaluate(
            "(url) => navigator.serviceWorker.register(url).then(() => false, () => true)", f"{url}/payload"
        )
        assert refused
    assert not [url for url in page.asked if "ours" in url]


def test_an_archived_page_never_becomes_a_document(served, page) -> None:
    row = served.find("hostile.html")

    def as_a_document(route) -> None:
        answer = route.fetch()
        headers = {name: value for name, value in answer.headers.items() if name != "content-disposition"}
        route.fulfill(response=answer, headers={**headers, "content-type": "text/html"})

    page.route("**/payload", as_a_document)
    page.goto(f"{served.address}api/records/{row['id']}/payload")
    assert page.inner_text("h1") == "Hello"
    assert page.title() == "p", "the policy alone keeps its script from running"
    assert not [url for url in page.asked if "ours" in url]


def test_no_other_server_is_contacted(served, page) -> None:
    for name in ("hostile.html", "things.json", "dot.png", "access.log"):
        page.goto(served.link(name))
        page.wait_for_timeout(200)
    assert all(url.startswith((served.address, "data:", "blob:")) for url in page.asked)


def test_text_is_read_while_scrolling(served, page) -> None:
    page.goto(served.link("access.log"))
    until(page, "document.querySelector('pre.text')?.textContent.startsWith('0000000 “naïve” GET')")
    whole = page.evaluate("document.querySelector('pre.text').textContent.length")
    assert whole < len(LOG) / 4
    for _ in range(12):
        page.evaluate("document.querySelector('.reader').scrollTop += 12000")
        page.wait_for_timeout(60)
    text = page.evaluate("document.querySelector('pre.text').textContent")
    lines = text.splitlines()[1:-1]
    assert all("“naïve” GET /page" in line and "\ufffd" not in line for line in lines)
    numbers = [int(line[:7]) for line in lines]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), "no line is lost where chunks meet"
    assert numbers[0] > 0, "rows that are out of sight are removed"
    page.fill(".goto input", "50%")
    page.keyboard.press("Enter")
    third = "parseInt(document.querySelector('pre.text').textContent.split('\\n')[2], 10)"
    until(page, f"Math.abs({third} - 60000) < 2500")
    page.focus(".reader")
    page.keyboard.press("End")
    until(page, "document.querySelector('pre.text').textContent.includes('0119999 ')")
    assert page.problems == []


def test_a_content_coding_is_decoded_for_reading(served, page) -> None:
    page.goto(served.link("coded.html", tab="text"))
    until(page, "document.querySelector('pre.text')?.textContent.startsWith('<!doctype html>')")
    assert "gzip" in page.inner_text(".texted .notice")


def test_json_is_a_tree_and_other_text_gets_a_message(served, page) -> None:
    page.goto(served.link("things.json"))
    until(page, "document.querySelectorAll('.tree .key').length >= 2")
    page.click(".tree details details summary")
    until(page, "document.querySelectorAll('.tree details details > details').length === 200")
    page.click(".tree button")
    until(page, "document.querySelectorAll('.tree details details > details').length === 300")
    page.goto(served.link("broken.json"))
    until(page, "document.querySelector('.json .bad')?.textContent.startsWith('This is not JSON')")
    assert page.problems == []


def test_content_that_cannot_be_shown_gets_a_message(served, page) -> None:
    page.goto(served.link("lies.png"))
    until(page, "document.querySelector('.image .bad')?.textContent.includes('cannot show this picture')")
    page.goto(served.link("lies.mp4"))
    until(page, "document.querySelector('.player .bad')?.textContent.includes('cannot play')")
    page.goto(f"{served.address}#r=00000000-12")
    until(page, "document.querySelector('#record .bad')?.textContent.includes('no record has the ID')")
    page.goto(served.link("empty.txt", tab="hex"))
    until(page, "document.querySelector('#record h2')?.textContent.endsWith('empty.txt')")


def test_a_link_selects_its_record_in_the_list(served, page) -> None:
    page.goto(served.link("dot.png", q="example.org"))
    until(page, "document.querySelector('.row[aria-selected=true]')?.classList.contains('active')")
    assert "dot.png" in page.inner_text(".row[aria-selected=true]")
    page.keyboard.press("n")
    until(page, "document.querySelector('#record h2').textContent.endsWith('things.json')")


def test_a_picture_is_shown(served, page) -> None:
    page.goto(served.link("dot.png"))
    until(page, "document.querySelector('.picture img')?.naturalWidth === 3")
    assert "3 \u00d7 2" in page.inner_text(".image .quiet-line")


def test_a_revisit_shows_its_original(served, page) -> None:
    page.goto(served.link("again.example"))
    until(page, "document.querySelector('pre.text')?.textContent.startsWith('0000000 “naïve” GET')")
    assert "The same as an earlier capture" in page.inner_text(".record-head .notice")
    page.click(".record-head .notice a")
    until(page, "document.querySelector('#record h2').textContent === 'http://example.org/access.log'")
    page.go_back()
    until(page, "document.querySelector('#record h2').textContent === 'http://again.example/log'")
    assert page.problems == []


def test_headers_are_shown(served, page) -> None:
    page.goto(served.link("hostile.html", tab="headers"))
    until(page, "document.querySelectorAll('.headers h3').length >= 3")
    text = page.inner_text(".headers")
    assert "WARC-Target-URI" in text
    assert "HTTP/1.1 200 OK" in text
    assert "text/html" in text


def test_a_blosc2_payload_says_what_it_is(serve, page, tmp_path) -> None:
    chunk = bytes.fromhex("05018504801a060000400000840000000000000000000105000000000000000000")[:32]
    with seekwarc.open(tmp_path / "a.warc.zst", "w") as out:
        out.write_resource("http://e.org/chunk", chunk + bytes(100), "application/octet-stream")
    page.goto(serve(tmp_path / "a.warc.zst").link("chunk", tab="headers"))
    until(page, "document.querySelectorAll('.headers h3').length >= 3")
    assert "Blosc2 chunk of 400000 bytes: items of 4, blocks of 16384" in page.inner_text(".headers")


@pytest.mark.slow
def test_any_position_in_ten_gibibytes_is_shown_in_hex(huge, page) -> None:
    at = 7 * FRAME * 100 + 4096
    page.goto(huge.link("huge.bin", tab="hex", at=at))
    wanted = " ".join(f"{value:02x}" for value in struct.pack("<2I", 1, 1))
    until(page, f"document.querySelector('.octets')?.textContent.startsWith('{wanted}')")
    assert int(page.inner_text(".offset >> nth=0"), 16) == at
    page.focus(".hex")
    page.keyboard.press("ArrowDown")
    until(page, f"parseInt(document.querySelector('.offset').textContent, 16) === {at + 16}")
    page.mouse.move(800, 400)
    page.mouse.wheel(0, 210)
    until(page, f"parseInt(document.querySelector('.offset').textContent, 16) === {at + 16 + 160}")
    page.keyboard.press("End")
    last = struct.pack("<I", 1023).hex(" ")
    until(page, f"[...document.querySelectorAll('.octets')].at(-1).textContent.trim().endsWith('{last}')")
    page.fill(".goto input", "0x280000000")
    page.keyboard.press("Enter")
    page.evaluate("document.querySelector('.hex').scrollTop = 4000000")
    until(page, "!document.querySelector('.octets').textContent.match(/^ *$/)")
    cost = page.inner_text(".cost")
    assert "GiB" not in cost
    assert page.problems == []
    until(page, "document.querySelector('.frames-caption')?.textContent.includes('1,281 frames')")


def test_frames_light_up_and_lead_to_their_bytes(huge, page) -> None:
    # No other test reads this frame: what the server still has in memory is not fetched.
    page.goto(huge.link("huge.bin", tab="hex", at=900 * FRAME))
    until(page, "/[1-9] fetched/.test(document.querySelector('.frames-caption')?.textContent)")
    page.focus(".frames-slider")
    page.keyboard.press("End")
    until(page, "/frames? /i.test(document.querySelector('.frames-slider').getAttribute('aria-valuetext'))")
    page.keyboard.press("Enter")
    until(page, "parseInt(document.querySelector('.offset').textContent, 16) > 9 * 2 ** 30")


def test_a_cost_that_is_answered_late_is_asked_for_again(huge, page) -> None:
    page.goto(huge.address)
    page.evaluate(
        """() => {
          const [ask, wait] = [window.fetch, (ms) => new Promise((done) => setTimeout(done, ms))];
          let late = false;
          window.fetch = async (path, options) => {
            if (path.includes("/block")) await wait(400);
            const answer = await ask(path, options);
            if (path.startsWith("api/views/") && !late) {
              late = true;
              await wait(4000);
            }
            return answer;
          };
        }"""
    )
    page.evaluate(
        "hash => location.hash = hash", huge.link("", tab="hex", at=300 * FRAME, part="block").split("#")[1]
    )
    until(page, "/[1-9] fetched/.test(document.querySelector('.frames-caption')?.textContent)")


@pytest.mark.parametrize(("width", "colours"), [(375, "dark"), (1600, "light")])
def test_nothing_overflows_the_window(served, pages, width, colours) -> None:
    page = pages.take(viewport={"width": width, "height": 740}, color_scheme=colours)
    for state in ("", "access.log", "things.json", "dot.png", "hostile.html"):
        for tab in ("", "hex", "headers"):
            page.goto("about:blank")
            page.goto(served.link(state, **({"tab": tab} if tab else {})) if state else served.address)
            until(page, "document.querySelector('.row .uri, #record h2') !== null")
            page.wait_for_timeout(60)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            out = page.evaluate(
                """[...document.querySelectorAll("button, input, select, a, h2, dd, dt, th, td, .line")]
                  .filter((it) => it.checkVisibility() && !it.closest(".sr, .skip, datalist"))
                  .filter((it) => it.getBoundingClientRect().right > innerWidth + 1)
                  .map((it) => it.outerHTML.slice(0, 90))"""
            )
            assert out == []
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, dark.removeprefix("rgb(").removesuffix(")").split(","))) < 200) == (
        colours == "dark"
    )
    pages.give_back()


def test_every_control_has_a_name(served, page) -> None:
    for name, tab in (("access.log", ""), ("access.log", "hex"), ("dot.png", ""), ("things.json", "")):
        page.goto(served.link(name, **({"tab": tab} if tab else {})))
        until(page, "document.querySelector('[role=tabpanel] > *') !== null")
        nameless = page.evaluate(
            """[...document.querySelectorAll("button, input, select, a, [role], video, img")]
              .filter((it) => it.checkVisibility() && !["presentation", "option", "search"].includes(it.role))
              .filter((it) => !(it.ariaLabel || it.labels?.length || it.alt || it.textContent.trim()
                || it.getAttribute("aria-labelledby")))
              .map((it) => it.outerHTML.slice(0, 90))"""
        )
        assert nameless == []
