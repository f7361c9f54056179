"""The two origins of a replay: that of the bar, and that on which archived pages run."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator

import pytest

import seekwarc
from seekwarc.format.uri import StoredUri
from seekwarc.serve.app import application
from seekwarc.serve.hosts import LOCAL_HOSTS
from seekwarc.serve.library import Library
from seekwarc.serve.replay import ReplayPorts, replay_application
from tests.serve.asgi import Client
from tests.support.writing import response

HOST = "replay.localhost"
PORTS = ReplayPorts(8090, 8091)
HOSTS = (HOST, *LOCAL_HOSTS)


@pytest.fixture
def library(tmp_path) -> Iterator[Library]:
    path = tmp_path / "site.warc.zst"
    with seekwarc.open(path, "w", threads=1) as out:
        for uri, day in (("http://example.org/a", 2), ("https://www.example.org/a", 1)):
            out.write_response(uri, response(b"x", "text/html"), date=f"2026-01-0{day}T12:00:00Z")
    with Library([path]) as library:
        library.read()
        yield library


@pytest.fixture
def bar(library, portal) -> Client:
    return Client(application(library, hosts=HOSTS, replay=PORTS), portal, host=f"{HOST}:8090")


@pytest.fixture
def client(library, portal) -> Client:
    return Client(replay_application(library, b"the worker", PORTS), portal, host=f"{HOST}:8091")


def policy_of(client: Client, path: str) -> dict[str, str]:
    answer = client.get(path, headers={"host": f"{HOST}:8090"})
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["x-content-type-options"] == "nosniff"
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    return dict(it.split(" ", 1) for it in policy.split("; "))


@pytest.mark.parametrize("path", ["/web/", "/web/2026/http://example.org/", "/web/http://example.org/?a=b"])
def test_the_frame_of_the_bar_shows_the_other_origin_alone(bar, path) -> None:
    policy = policy_of(bar, path)
    assert policy["frame-src"] == f"http://{HOST}:8091"
    assert (policy["default-src"], policy["frame-ancestors"], policy["base-uri"]) == ("'none'",) * 3
    page = bar.get(path).body.decode()
    assert '<meta name="origin" content="http://replay.localhost:8091">' in page
    sandbox = re.search(r'<iframe sandbox="([^"]*)"', page)[1]
    assert "popups" not in sandbox
    assert "top-navigation" not in sandbox


def test_the_worker_is_started_only_in_the_frame_of_the_bar(client) -> None:
    policy = policy_of(client, "/")
    assert policy["frame-ancestors"] == f"http://{HOST}:8090"
    assert (policy["default-src"], policy["worker-src"]) == ("'none'", "'self'")


def test_replayed_documents_get_a_policy_that_holds_without_rewriting(client) -> None:
    told = re.search(rb'<meta name="collection" content="([^"]*)"', client.get("/").body)
    message = json.loads(html.unescape(told[1].decode()))
    assert (message["name"], message["extraConfig"]["isLive"]) == ("web", False)
    directives = dict(it.split(" ", 1) for it in message["extraConfig"]["csp"].split("; "))
    assert directives["default-src"] == "'self' 'unsafe-inline' 'unsafe-eval' data: blob:"
    assert directives["object-src"] == "'none'"
    # Neither windows nor the top may be navigated: that would carry data to other hosts.
    assert "popups" not in directives["sandbox"]
    assert "top-navigation" not in directives["sandbox"]


def test_the_worker_may_fetch_from_this_origin_alone(client) -> None:
    for name in ("/sw.js", "/wabac.js"):
        fields = client.get(name).headers
        policy = "default-src 'none'; connect-src 'self'; script-src 'self'"
        assert fields["content-security-policy"] == policy
        assert fields["content-type"] == "text/javascript; charset=utf-8"
        assert fields["cache-control"] == "no-cache"
    assert client.get("/sw.js").headers["service-worker-allowed"] == "/"


@pytest.mark.parametrize(
    "fields",
    [{"service-worker": "script"}, {"sec-fetch-dest": "serviceworker"}, {"sec-fetch-dest": "worker"}],
)
def test_wabac_is_loaded_only_by_the_worker_that_guards_it(client, fields) -> None:
    assert client.get("/wabac.js", headers={"sec-fetch-dest": "script"}).body == b"the worker"
    assert client.get("/wabac.js", headers=fields).status == 403
    script = client.get("/sw.js", headers=fields).body.decode()
    told = re.search(r"const COLLECTION = (.*);\n", script)
    assert json.loads(told[1])["extraConfig"]["archivePrefix"] == "/raw/"


def test_no_interface_is_on_the_origin_of_archived_pages(client) -> None:
    paths = ("/api/summary", "/api/records", "/payload", "/index.html", "/main.js", "/replay.js", "/progress")
    for path in (*paths, "/replay.html", "/timemap/link/http://example.org/a"):
        assert client.get(path).status == 404


def test_the_files_of_both_pages_are_there(client, bar) -> None:
    for its, path in ((client, "/"), (bar, "/web/")):
        names = re.findall(r'(?:src|href)="(/[^"]+)"', its.get(path).body.decode())
        assert names
        assert {its.get(name).status for name in names} == {200}


def test_an_archived_page_in_a_window_of_its_own_gets_a_bar(client) -> None:
    answer = client.get("/web/2026/http://example.org/?a=%20", headers={"host": f"{HOST}:8091"})
    place = f"http://{HOST}:8090/web/2026/http://example.org/?a=%20"
    assert (answer.status, answer.headers["location"]) == (302, place)


@pytest.mark.parametrize("host", ["evil.example", "replay.localhost.evil.example", "sub.replay.localhost"])
def test_another_name_for_this_server_is_refused(client, bar, host) -> None:
    for path in ("/", "/sw.js", "/raw/2026id_/http://example.org/a", "/web/2026/http://example.org/"):
        assert client.get(path, headers={"host": host}).status == 400
        assert bar.get(path, headers={"host": host}).status == 400
    assert client.get("/", headers={"host": "replay.localhost:8091"}).status == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "LOCALHOST"])
def test_pages_run_at_no_name_that_other_programs_share(client, bar, host) -> None:
    for path in ("/", "/sw.js", "/wabac.js", "/raw/2026id_/http://example.org/a", "/web/2026/http://e.org/"):
        assert client.get(path, headers={"host": f"{host}:8091"}).status == 400
    for path in ("/web/", "/web/2026/http://example.org/a%20b?c=d&e"):
        answer = bar.get(path, headers={"host": f"{host}:8090"})
        assert (answer.status, answer.headers["location"]) == (302, f"http://{HOST}:8090{path}")
    listed = bar.get("/timemap/link/http://example.org/a", headers={"host": f"{host}:8090"}).body.decode()
    assert f'<http://{HOST}:8091/raw/id_/http://example.org/a>; rel="timegate"' in listed


def test_pages_run_at_names_of_a_proxy(library, portal) -> None:
    ports = ReplayPorts(443, 8443, (HOST, "pages.example"))
    hosts = [*HOSTS, "192.168.1.5", "pages.example"]
    bar = Client(application(library, hosts=hosts, replay=ports), portal, host="pages.example")
    assert '<meta name="origin" content="http://pages.example:8443">' in bar.get("/web/").body.decode()
    frame = Client(replay_application(library, b"the worker", ports), portal, host="pages.example:8443")
    assert frame.get("/").status == 200
    refused = bar.get("/web/", headers={"host": "192.168.1.5"})
    assert refused.status == 404
    assert "replay.localhost and pages.example" in refused.json["error"]["message"]


def test_without_replay_there_is_no_bar(library, portal) -> None:
    plain = Client(application(library), portal)
    assert [plain.get(path).status for path in ("/web/", "/replay.js", "/progress")] == [404, 404, 404]
    assert plain.get("/api/summary").json["replay"] is None


def test_the_summary_says_where_pages_are_replayed(bar) -> None:
    assert bar.get("/api/summary").json["replay"] == "http://replay.localhost:8090/"


def test_a_time_map_lists_the_captures(bar) -> None:
    answer = bar.get("/timemap/link/http://example.org/a", headers={"host": f"{HOST}:8090"})
    assert (answer.status, answer.headers["content-type"]) == (200, "application/link-format")
    base, frame = f"http://{HOST}:8090", f"http://{HOST}:8091"
    dated = '<{}/web/{}/{}>; rel="memento"; datetime="{} Jan 2026 12:00:00 GMT"'.format
    assert answer.body.decode().rstrip().split(",\n") == [
        '<http://example.org/a>; rel="original"',
        f'<{base}/timemap/link/http://example.org/a>; rel="self"; type="application/link-format"',
        f'<{frame}/raw/id_/http://example.org/a>; rel="timegate"',
        dated(base, 20260101120000, "https://www.example.org/a", "Thu, 01"),
        dated(base, 20260102120000, "http://example.org/a", "Fri, 02"),
    ]
    missing = bar.get('/timemap/link/http://example.org/"><b>')
    assert (missing.status, b'"><b>' in missing.body) == (404, False)


@pytest.mark.parametrize(
    ("asked", "other"),
    [
        ("http://example.org/A", "http://example.org/a"),
        ("http://www2.example.org/a", "http://example.org/a"),
        ("http://example.org/CAF%C3%A9", "http://example.org/caf%C3%A9"),
        ("http://example.org//raw", "http://example.org/raw%E9"),
        ("http://example.org/a#top", None),
        ("http://EXAMPLE.org:80/%61", None),
    ],
)
def test_a_time_map_says_that_all_captures_are_of_another_uri(tmp_path, portal, asked, other) -> None:
    path = tmp_path / "site.warc.gz"
    with seekwarc.open(path, "w") as out:
        for uri in ("http://example.org/a", "http://example.org/caf\u00e9", "http://example.org/raw\udce9"):
            out.write_response(StoredUri(uri), response(b"x", "text/html"))
    asked = asked.replace("//raw", "//raw%E9")
    with Library([path]) as library:
        library.read()
        bar = Client(application(library, hosts=HOSTS, replay=PORTS), portal, host=f"{HOST}:8090")
        listed = bar.get("/timemap/link/" + asked).body.decode()
    note = f'; title="no capture of {asked}; this is {other}, which has the same key"\n'
    assert listed.count('rel="memento"') == 1
    assert listed.endswith(note) if other is not None else "title=" not in listed


def test_progress_tells_how_far_the_files_were_read(bar) -> None:
    progress = bar.get("/progress").json
    assert (progress["complete"], progress["records"]) == (True, 2)
    assert progress["position"] == progress["size"] > 0
