"""All of it together."""

from __future__ import annotations

import re

import pytest

from seekwarc.serve.app import application
from tests.serve.asgi import Client, scope_of
from tests.support.work import at_most_calls


def test_the_policy_of_the_page_allows_no_other_origin(client) -> None:
    page = client.get("/")
    assert page.status == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'")
    assert "unsafe" not in policy
    assert "*" not in policy
    assert "frame-ancestors 'none'" in policy


def test_every_file_that_the_page_names_exists(client) -> None:
    page = client.get("/").body.decode()
    named = set(re.findall(r'(?:src|href)="([^"#]+)"', page))
    assert {"main.js", "style.css"} <= named
    seen = set()
    while named:
        name = named.pop()
        answer = client.get(f"/{name}")
        assert answer.status == 200, name
        assert "http" not in name
        seen.add(name)
        imported = re.findall(r'from "\./([^"]+)"', answer.body.decode())
        named |= set(imported) - seen
    assert len(seen) > 10


def test_the_page_names_no_other_server(client) -> None:
    for name in ("", "main.js", "style.css", "record.js", "api.js", "dom.js"):
        text = client.get(f"/{name}").body.decode()
        assert not re.search(r"""(?:url\(|src=|href=|import |from |fetch\()\s*["']?(?:https?:)?//""", text)
        assert "innerHTML" not in text
        assert "eval(" not in text


def test_a_page_is_not_sent_twice(client) -> None:
    tag = client.get("/style.css").headers["etag"]
    again = client.get("/style.css", headers={"if-none-match": tag})
    assert (again.status, again.body) == (304, b"")


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "", "[::1", "localhost.evil.example:80"]
)
def test_a_request_for_another_host_name_is_refused(client, host) -> None:
    for path in ("/", "/api/records", "/api/summary"):
        answer = client.get(path, headers={"host": host})
        assert answer.status == 400
        assert b"example.org" not in answer.body


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8090", "127.0.0.1:1", "[::1]:8090"])
def test_names_of_this_computer_are_taken(client, host) -> None:
    assert client.get("/api/summary", headers={"host": host}).status == 200


def test_other_names_can_be_allowed(library, portal) -> None:
    client = Client(application(library, hosts=["archive.example"]), portal)
    assert client.get("/", headers={"host": "archive.example"}).status == 200
    assert client.get("/", headers={"host": "localhost"}).status == 400


@pytest.mark.parametrize("path", ["/../app.py", "/app.py", "/page/index.html", "/etc/passwd", "/api", "/x"])
def test_other_paths_are_not_found(client, path) -> None:
    assert client.get(path).status in (404, 307)


def test_every_answer_has_nosniff(client, found) -> None:
    record = f"/api/records/{found(q='film.mp4')}"
    for path in (
        "/",
        "/main.js",
        "/x",
        "/api/summary",
        "/api/records",
        record,
        f"{record}/payload",
        f"{record}/x",
    ):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff", path
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "set-cookie" not in headers


@pytest.mark.parametrize(("is_by_uri", "most"), [(False, 215), (True, 175)])
def test_a_range_of_an_open_record_takes_few_calls(client, is_by_uri, most) -> None:
    path, uri, asked = "/payload", {"uri": "http://example.org/film.mp4"}, {"range": "bytes=1000-4999"}
    if not is_by_uri:
        rows = client.get("/api/records", q="film.mp4").json["records"]
        path, uri = f"/api/records/{rows[0]['id']}/payload", {}
    expected = client.get(path, headers=asked, **uri)
    app, sent = client.app, []

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    # Its frame is decoded, and its host known, since it was asked for before.
    answer = app(scope_of("GET", path, uri, asked), None, send)
    with at_most_calls(most), pytest.raises(StopIteration):
        answer.send(None)
    assert [it.get("body") for it in sent] == [None, expected.body]
    assert len(expected.body) == 4000
