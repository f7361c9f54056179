"""Archived pages and drawings, shown: nothing in them runs, nothing leaves the browser or the frame."""

from __future__ import annotations

import base64
import gzip
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

import seekwarc
from tests.browser.conftest import until
from tests.support.writing import response

# ruff: noqa: E501 - the tables of attacks are easier to read with one attack a line
pytestmark = [pytest.mark.slow, pytest.mark.needs("chromium", "module:playwright")]

INNER = b"<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><image href='TRAP/data-svg' width='9'/></svg>"
CHUNKED = "Transfer-Encoding: chunked"
RUN = "document.title='ours';top.ours=1;fetch('TRAP/ran');new Image().src='TRAP/ran'"

# What each page tries; TRAP is a server that counts connections.
HOSTILE = {
    "script": f'<script>{RUN}</script><body onload="{RUN}"><img src=x onerror="{RUN}"><svg onload="{RUN}"/>',
    "script-elsewhere": "<script src='TRAP/a.js'></script><script type=module src='TRAP/a.mjs'></script>",
    "refresh": "<meta http-equiv=refresh content='0;url=TRAP/refresh'><meta http-equiv=refresh content='0;url=/'>",
    "refresh-script": f'<meta http-equiv=refresh content="0;url=javascript:{RUN}">',
    "base": "<base href='TRAP/' target=_top><img src=a.png><link rel=stylesheet href=a.css><script src=a.js></script>",
    "images": "<img src='TRAP/a.png' srcset='TRAP/b.png 2x'><picture><source srcset='TRAP/c'><img></picture>"
    "<input type=image src='TRAP/d'><body background='TRAP/e'><video poster='TRAP/f' src='TRAP/g' autoplay></video>"
    "<audio src='TRAP/h' autoplay></audio><img src='/api/summary?ours'><img src='//evil.invalid/x'>",
    "styles": "<link rel=stylesheet href='TRAP/a.css'><style>@import 'TRAP/b.css'; @font-face { font-family: f;"
    " src: url(TRAP/f.woff2) } body { background: url(TRAP/c.png); font-family: f; cursor: url(TRAP/d.cur), auto }"
    " li { list-style-image: image-set('TRAP/e' 1x) } p::before { content: url(TRAP/f) }</style>"
    "<p style='background: url(TRAP/g)'>words<li>more<p style='filter: url(TRAP/h#x); mask: url(TRAP/i)'>",
    "frames": "<iframe src='TRAP/a'></iframe><iframe srcdoc='<img src=TRAP/b><script>top.ours=1</script>'></iframe>"
    f"<object data='TRAP/c'></object><embed src='TRAP/d'><iframe src=\"javascript:{RUN}\"></iframe>"
    "<iframe src=\"data:text/html,<img src='TRAP/e'>\"></iframe><applet code='TRAP/f'></applet>",
    "hints": "<link rel=prefetch href='TRAP/a'><link rel=preload as=image href='TRAP/b'><link rel=prerender href='TRAP/c'>"
    "<link rel=modulepreload href='TRAP/d'><link rel=manifest href='TRAP/e'><link rel=icon href='TRAP/f'>"
    '<script type=speculationrules>{"prerender": [{"urls": ["TRAP/g"]}]}</script>',
    "connections": "<link rel=preconnect href='TRAP'><link rel=preconnect href='TRAP' crossorigin>"
    "<link rel='dns-prefetch preconnect' href='TRAP'>",
    "drawing": "<svg><image href='TRAP/a'/><use href='TRAP/b#x'/><foreignObject><img src='TRAP/c'><iframe src='TRAP/d'>"
    f"</iframe></foreignObject><script>{RUN}</script><script href='TRAP/e'/><a href='javascript:top.ours=1'>"
    "<animate attributeName=href values='javascript:top.ours=1'/></a><style>@import 'TRAP/f';</style></svg>",
    "data": f"<img src='data:image/svg+xml;base64,{base64.b64encode(INNER).decode()}'>"
    "<link rel=stylesheet href='data:text/css,@import %22TRAP/a%22;'><script src='data:text/javascript,top.ours=1'></script>",
    "form": "<form id=f action='TRAP/form' method=post target=_top><input name=a value=1 autofocus></form>"
    f'<input autofocus onfocus="{RUN}"><button form=f>Send</button>',
    "policy": "<meta http-equiv=Content-Security-Policy content=\"default-src *; script-src * 'unsafe-inline'\">"
    f"<meta http-equiv=x-dns-prefetch-control content=on><script>{RUN}</script><img src='TRAP/a'>",
    "quoted": "<img alt=\"<a <iframe src='TRAP/a'></iframe>\"><img alt='<link rel=preconnect href=TRAP/b>'>",
    "template": f"<div><template shadowrootmode=open><img src='TRAP/a'><script>{RUN}</script></template></div>"
    f'<details open ontoggle="{RUN}"><marquee onstart="{RUN}">m</marquee></details>',
    "charset": "<meta charset=utf-7>+ADw-script+AD4-top.ours=1+ADw-/script+AD4-",
    "markup-in-markup": f"<!--><img src=TRAP/a>--><noscript><img src='TRAP/b'></noscript><plaintext><script>{RUN}",
}
LINKS = {
    "top": "<a href='TRAP/top' target=_top>go</a>",
    "blank": "<a href='TRAP/blank' target=_blank>go</a>",
    "self": "<a href='TRAP/self'>go</a>",
    "ping": "<a href='#there' ping='TRAP/ping'>go</a>",
    "root": "<a href='/'>go</a>",
    "json": "<a href='/api/summary?ours'>go</a>",
    "script": "<a href='javascript:top.ours=1'>go</a>",
    "data": "<a href='data:text/html,<script>top.ours=1</script>'>go</a>",
    "download": "<a href='TRAP/file' download>go</a>",
    "form": "<form action='TRAP/form' target=_top><button>go</button></form>",
    "slash": "<a/href='TRAP/self'/style='display:block'>go</a>",
    "drawing": "<svg width=400 height=200><a xlink:href='TRAP/x'><animate attributeName=href values='TRAP/y'/><rect width=400 height=200 /></a></svg>",
    "map": "<map name=m><area shape=default href='TRAP/area' target=_top></map><img usemap=#m width=300 height=90 "
    "src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>",
}
DRAWING = (
    "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='20' onload=\"RUN\"><script>RUN</script>"
    "<style>@import 'TRAP/a'; rect { fill: #0a0 }</style><image href='TRAP/b' width='9' height='9'/>"
    "FOREIGN<rect width='40' height='20'/></svg>"
).replace("RUN", RUN)
FOREIGN = "<foreignObject width='9' height='9'><iframe xmlns='http://www.w3.org/1999/xhtml' src='TRAP/c'/></foreignObject>"

POINT = """
() => {
  const paint = new OffscreenCanvas(40, 20).getContext("2d");
  paint.drawImage(document.querySelector(".picture img"), 0, 0);
  return [...paint.getImageData(30, 15, 1, 1).data];
}
"""


@dataclass
class Trap:
    """A server that answers nothing and counts connections."""

    listener: socket.socket
    caught: list[bytes] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def run(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(0.2)
                try:
                    self.caught.append(connection.recv(200))
                except OSError:
                    self.caught.append(b"connected")


@pytest.fixture(scope="module")
def trap() -> Iterator[Trap]:
    made = Trap(socket.create_server(("127.0.0.1", 0)))
    thread = threading.Thread(target=made.run)
    thread.start()
    yield made
    made.listener.shutdown(socket.SHUT_RDWR)
    made.listener.close()
    thread.join()


@pytest.fixture(scope="module")
def served(serve, trap, tmp_path_factory):
    def page(text: str, *fields: str, kind: str = "text/html", coded: bool = False) -> bytes:
        body = f"<!doctype html><title>p</title>{text}<h1>Hello</h1>".replace("TRAP", trap.address).encode()
        return response(gzip.compress(body) if coded else body, kind, *fields)

    blocks = {f"hostile/{name}": page(text) for name, text in HOSTILE.items()}
    blocks |= {
        f"link/{name}": page(f"<style>* {{ font-size: 60px }}</style>{text}") for name, text in LINKS.items()
    }
    blocks |= {
        "plain": page("<p id=a style='color: rgb(1, 2, 3)'>words"),
        "not-chunked": page("<p>words", CHUNKED),
        "cut-off": page("").replace(
            b"\r\n\r\n<!doctype", b"\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n \r\n40\r\n<!doctype"
        ),
        "gzipped": page("<p>words", "Content-Encoding: gzip", coded=True),
        "unknown-coding": page("<p>words", "Content-Encoding: compress"),
        "xhtml": page("<p>words", kind="application/xhtml+xml; charset=utf-8"),
        "utf-16": response(
            "<h1>Hello</h1><iframe src='TRAP/a'></iframe>".replace("TRAP", trap.address).encode("utf-16"),
            "text/html",
        ),
        "escapes": response(
            f"<meta charset=iso-2022-jp><h1>Hello</h1><\x1b(Biframe src='{trap.address}/a'></iframe>".encode(),
            "text/html",
        ),
        "latin": response("<h1>Grüße</h1>".encode("latin-1"), "text/html; charset=iso-8859-1"),
        "wrong-charset": response(b"<h1>Hello</h1>", "text/html; charset=none-such\"'"),
        "huge": response(b"<h1>Hello</h1>" + b"<p>word" * 3_000_000, "text/html"),
        "bomb": response(
            gzip.compress(b"<h1>Hello</h1>" + b" " * (1 << 28), 9), "text/html", "Content-Encoding: gzip"
        ),
        "broken": response(
            gzip.compress(b"<h1>Hello</h1>" + bytes(range(256)) * 3000)[:3000],
            "text/html",
            "Content-Encoding: gzip",
        ),
        "foreign.svg": response(
            DRAWING.replace("FOREIGN", FOREIGN).replace("TRAP", trap.address).encode(), "image/svg+xml"
        ),
        "drawing.svg": response(
            DRAWING.replace("FOREIGN", "").replace("TRAP", trap.address).encode(), "image/svg+xml"
        ),
        "coded.svg": response(
            gzip.compress(DRAWING.replace("FOREIGN", "").replace("TRAP", trap.address).encode()),
            "image/svg+xml",
            "Content-Encoding: gzip",
        ),
    }
    path = tmp_path_factory.mktemp("markup") / "site.warc.zst"
    with seekwarc.open(path, "w", threads=1) as out:
        for name, block in blocks.items():
            out.write_response(f"http://example.org/{name}.", block, date="2026-11-16T12:00:00Z")
    return serve(path)


def show(page: Any, served: Any, name: str, tab: str = "page") -> None:
    """Open a record in a tab as the first thing on a page."""
    page.goto("about:blank")
    page.goto(served.link(f"/{name}.", tab=tab))


def framed(page: Any) -> Any:
    """Return the frame that shows an archived page, once its markup is there."""
    page.wait_for_selector(".page-room iframe")
    frame = page.frame_locator(".page-room iframe")
    frame.locator("h1").first.wait_for(state="attached")
    return frame


def is_untouched(page: Any, served: Any) -> bool:
    """Tell whether the top page is ours still, and no script of an archived page has reached it."""
    return page.url.startswith(served.address) and page.evaluate(
        "window.ours === undefined && document.querySelector('#record h2') !== null"
    )


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page_runs_and_requests_nothing(served, page, trap, name) -> None:
    before = len(trap.caught)
    answered = []
    page.on("response", lambda response: answered.append(response.url))
    show(page, served, f"hostile/{name}")
    page.wait_for_selector(".page-room iframe")
    page.wait_for_timeout(400)
    assert trap.caught[before:] == []
    assert is_untouched(page, served)
    assert [url for url in answered if not url.startswith((served.address, "data:"))] == []
    assert [url for url in answered if "?ours" in url] == []
    assert page.context.pages == [page]


@pytest.mark.parametrize("name", LINKS)
def test_clicks_in_an_archived_page_do_nothing(served, page, trap, name) -> None:
    before = len(trap.caught)
    show(page, served, f"link/{name}")
    framed(page)
    box = page.locator(".page-room iframe").bounding_box()
    page.mouse.move(box["x"] + 40, box["y"] + 50)
    page.mouse.down()
    page.wait_for_timeout(40)
    page.mouse.up()
    page.wait_for_timeout(500)
    assert trap.caught[before:] == []
    assert is_untouched(page, served)
    assert page.context.pages == [page]
    framed(page)
    assert page.evaluate("document.querySelectorAll('.page-room iframe').length") == 1


def test_a_page_is_shown_and_labelled_as_no_replay(served, page) -> None:
    show(page, served, "plain")
    frame = framed(page)
    assert frame.locator("#a").evaluate("(it) => getComputedStyle(it).color") == "rgb(1, 2, 3)"
    assert page.get_attribute(".page-room iframe", "sandbox") == ""
    assert page.inner_text(".paged .notice >> nth=0").startswith("Not a replay.")
    page.click(".paged .link")
    until(page, "document.getElementById('replay').open")
    assert "python -m seekwarc.serve.pywb" in page.inner_text("#replay")
    page.click("#replay button")
    page.click("#tab-text")
    until(page, "document.querySelector('pre.text')?.textContent.startsWith('<!doctype html>')")
    assert page.problems == []


@pytest.mark.parametrize(
    "name",
    ["gzipped", "xhtml", "latin", "wrong-charset", "not-chunked", "unknown-coding", "utf-16", "escapes"],
)
def test_codings_and_charsets_of_a_page_are_decoded(served, page, trap, name) -> None:
    before = len(trap.caught)
    show(page, served, name)
    if name == "unknown-coding":
        until(page, "document.querySelector('.paged .bad')?.checkVisibility()")
        assert "compress" in page.inner_text(".paged .bad")
    else:
        assert framed(page).locator("h1").inner_text() == ("Grüße" if name == "latin" else "Hello")
    page.wait_for_timeout(200)
    assert trap.caught[before:] == []


@pytest.mark.parametrize("name", ["huge", "bomb"])
def test_the_beginning_of_a_huge_page_is_shown(served, page, name) -> None:
    show(page, served, name)
    framed(page)
    assert "Only its beginning is shown" in page.inner_text(".paged .notice >> nth=0")
    assert page.problems == []


def test_a_damaged_page_is_shown_up_to_the_damage(served, page) -> None:
    show(page, served, "broken")
    framed(page)
    assert "before the damage" in page.inner_text(".paged .bad")


@pytest.mark.parametrize("name", ["drawing.svg", "coded.svg", "foreign.svg"])
def test_a_drawing_is_a_picture_with_its_source_as_text(served, page, trap, name) -> None:
    before = len(trap.caught)
    page.goto(served.link(f"/{name}."))
    until(page, "document.querySelector('.picture img')?.naturalWidth === 40")
    if name != "foreign.svg":  # no canvas gives points of such a one away
        # Its size is known before it is painted. That it is green says that styles written into it count.
        until(page, f"String(({POINT.strip()})()) === '0,170,0,255'")
    page.click("#tab-text")
    until(page, "document.querySelector('pre.text')?.textContent.startsWith('<svg')")
    assert trap.caught[before:] == []
    assert is_untouched(page, served)
    assert page.problems == []


def test_a_harmless_deviation_does_not_look_like_damage(served, page) -> None:
    show(page, served, "not-chunked", tab="text")
    page.wait_for_selector(".facts .remarks")
    assert page.locator("#record .bad, #record [role=alert]").filter(visible=True).count() == 0
    remark = page.locator(".facts .remarks")
    assert remark.inner_text() == "1 remark"
    assert "no damage" in remark.get_attribute("aria-label")
    remark.click()
    until(page, "document.querySelector('#remarks')?.textContent.includes('the body is not chunked')")
    assert "No byte is missing" in page.inner_text("#remarks")
    quiet = page.evaluate("getComputedStyle(document.querySelector('#remarks li')).color")
    show(page, served, "cut-off", tab="text")
    damage = page.locator(".record-head .notice.bad[role=alert]")
    assert damage.inner_text().startswith("Damage: the last chunk is missing")
    assert damage.evaluate("(it) => getComputedStyle(it).color") != quiet
    assert page.locator(".facts .remarks").count() == 0
