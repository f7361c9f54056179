"""The origin on which archived pages run."""

from __future__ import annotations

import html
import json
import re

import pytest

import seekwarc
from seekwarc.serve.library import Library
from seekwarc.serve.replay import replay_application
from tests.serve.asgi import Client
from tests.support.writing import response


@pytest.fixture
def client(tmp_path, portal):
    path = tmp_path / "site.warc.zst"
    with seekwarc.open(path, "w", threads=1) as out:
        for uri, day in (("http://example.org/a", 2), ("https://www.example.org/a", 1)):
            out.write_response(uri, response(b"x", "text/html"), date=f"2026-01-0{day}T12:00:00Z")
    with Library([path]) as library:
        library.read()
        yield Client(replay_application(library, b"the worker"), portal)


def test_the_page_may_load_nothing_from_elsewhere_and_is_not_framed(client) -> None:
    for path in ("/", "/web/2026/http://example.org/", "/web/http://example.org/?a=b"):
        answer = client.get(path)
        assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
        policy = answer.headers["content-security-policy"]
        assert "http" not in policy
        assert {"default-src 'none'", "frame-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"} <= set(
            policy.split("; ")
        )
        assert "unsafe" not in policy
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-content-type-options"] == "nosniff"


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


def test_the_files_of_the_page_are_there_and_no_others(client) -> None:
    page = client.get("/").body.decode()
    for name in re.findall(r'(?:src|href)="(/[^"]+)"', page):
        assert client.get(name).status == 200, name
    for path in ("/api/summary", "/api/records", "/payload", "/index.html", "/main.js", "/style.css"):
        assert client.get(path).status == 404


@pytest.mark.parametrize("host", ["evil.example", "replay.localhost.evil.example", "sub.replay.localhost"])
def test_another_name_for_this_server_is_refused(client, host) -> None:
    for path in ("/", "/sw.js", "/raw/2026id_/http://example.org/a", "/timemap/link/http://example.org/a"):
        assert client.get(path, headers={"host": host}).status == 400
    assert client.get("/", headers={"host": "replay.localhost:8091"}).status == 200


def test_a_time_map_lists_the_captures(client) -> None:
    answer = client.get("/timemap/link/http://example.org/a", headers={"host": "replay.localhost:8091"})
    assert (answer.status, answer.headers["content-type"]) == (200, "application/link-format")
    base = "http://replay.localhost:8091"
    dated = '<{}/web/{}/{}>; rel="memento"; datetime="{} Jan 2026 12:00:00 GMT"'.format
    assert answer.body.decode().rstrip().split(",\n") == [
        '<http://example.org/a>; rel="original"',
        f'<{base}/timemap/link/http://example.org/a>; rel="self"; type="application/link-format"',
        f'<{base}/raw/id_/http://example.org/a>; rel="timegate"',
        dated(base, 20260101120000, "https://www.example.org/a", "Thu, 01"),
        dated(base, 20260102120000, "http://example.org/a", "Fri, 02"),
    ]
    missing = client.get('/timemap/link/http://example.org/"><b>')
    assert (missing.status, b'"><b>' in missing.body) == (404, False)


def test_progress_tells_how_far_the_files_were_read(client) -> None:
    progress = client.get("/progress").json
    assert (progress["complete"], progress["records"]) == (True, 2)
    assert progress["position"] == progress["size"] > 0
