"""The recipes of spec-notes/serving.md: range answers in Flask, aiohttp, Django and Starlette."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import seekwarc
from seekwarc.make.indexing import index as make_index
from seekwarc.serve.payload import payload_app
from tests.serve.asgi import Client
from tests.serve.conftest import FILM, PAGE, response
from tests.support.processes import PATIENT
from tests.support.repository import FENCE

SERVING = Path(__file__).parents[2] / "spec-notes" / "serving.md"
RECIPES = SERVING.with_name("recipes.md")
Ask = Callable[[str, dict[str, str]], tuple[int, dict[str, str], bytes]]


@pytest.fixture
def film(crawl):
    with seekwarc.open(crawl.paths[0]) as archive:
        yield archive.record_at(crawl.offsets["film.mp4"])


@pytest.fixture
def revisit(crawl):
    for path in crawl.paths:
        with seekwarc.open(path) as archive:
            found = next((record for record in archive if record.type == "revisit"), None)
            if found is not None:
                yield found
                return


def recipe(framework: str, page: Path = SERVING, **given: object) -> dict[str, Any]:
    """Run the block of a page that imports a framework, and return what it defines."""
    (code,) = [it["code"] for it in FENCE.finditer(page.read_text()) if f"from {framework}" in it["code"]]
    namespace: dict[str, Any] = {"__name__": "recipe", **given}
    exec(compile(code, str(page), "exec"), namespace)
    return namespace


def check(ask: Ask) -> None:
    """See that an application answers for the film as HTTP wants it."""
    status, fields, body = ask("GET", {})
    assert (status, body, fields["content-type"]) == (200, FILM, "video/mp4")
    assert fields["content-length"] == str(len(FILM))
    status, fields, body = ask("GET", {"Range": "bytes=1000000-1065535"})
    assert (status, body) == (206, FILM[1_000_000:1_065_536])
    assert fields["content-range"] == f"bytes 1000000-1065535/{len(FILM)}"
    assert fields["x-content-type-options"] == "nosniff"
    assert ask("GET", {"If-None-Match": fields["etag"]})[0] == 304
    assert ask("GET", {"Range": f"bytes={len(FILM)}-"})[0] == 416
    status, fields, body = ask("HEAD", {})
    assert (status, body, fields["content-length"]) == (200, b"", str(len(FILM)))


@pytest.mark.needs("module:flask")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_flask(film, revisit) -> None:
    client = recipe("flask", record=film)["app"].test_client()

    def ask(method: str, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        got = client.open("/film.mp4", method=method, headers=headers)
        return got.status_code, {name.lower(): value for name, value in got.headers}, got.data

    check(ask)
    lost = recipe("flask", record=revisit)["app"].test_client()
    got = lost.get("/film.mp4", headers={"Range": "bytes=0-99"})
    assert got.status_code == 404
    assert b"Collection.open_record" in got.data


@pytest.mark.needs("module:aiohttp")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_aiohttp(film) -> None:
    from aiohttp import ClientSession  # noqa: PLC0415
    from aiohttp.test_utils import TestServer  # noqa: PLC0415

    app = recipe("aiohttp", record=film)["app"]

    async def run() -> None:
        async with TestServer(app) as server, ClientSession() as session:

            async def one(method: str, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
                async with session.request(method, server.make_url("/film.mp4"), headers=headers) as got:
                    fields = {name.lower(): value for name, value in got.headers.items()}
                    return got.status, fields, await got.read()

            loop = asyncio.get_running_loop()

            def ask(method: str, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
                return asyncio.run_coroutine_threadsafe(one(method, headers), loop).result(PATIENT)

            await asyncio.to_thread(check, ask)

    asyncio.run(run())


@pytest.mark.slow
@pytest.mark.needs("module:django")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_django(film) -> None:
    import django  # noqa: PLC0415
    from django.conf import settings  # noqa: PLC0415

    if not settings.configured:
        settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], SECRET_KEY="a test")
        django.setup()
    from django.test import RequestFactory  # noqa: PLC0415

    view = recipe("django", record=film)["film"]

    def ask(method: str, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        got: Any = view(RequestFactory().generic(method, "/film", headers=headers))
        fields = {name.lower(): value for name, value in got.items()}
        return got.status_code, fields, b"".join(got.streaming_content)

    check(ask)


@pytest.fixture
def indexed(tmp_path, portal):
    """An index of captures, revisits among them, and a client of what serves it."""
    path = tmp_path / "days.warc.zst"
    block = response(PAGE, "text/html")
    with seekwarc.open(path, "w", dedup=seekwarc.Duplicates()) as out:
        for day in (16, 17, 18):
            out.write_response("http://example.org/", block, date=f"2026-11-{day}T06:00:00Z")
        out.write_response("http://example.org/film.mp4", response(FILM, "video/mp4"))
        out.write_revisit(
            "http://example.org/lost",
            b"HTTP/1.1 200 OK\r\n\r\n",
            refers_to_target_uri="http://example.org/gone",
            refers_to_date="2020-01-01T00:00:00Z",
            payload_digest="sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
        )
    index = tmp_path / "days.cdxj"
    make_index({path.name: path}, index, on_problem=pytest.fail)
    with seekwarc.Index(index) as opened:
        yield Client(payload_app.from_index(opened, origins=["*"]), portal)


def test_a_capture_of_another_uri_is_named(indexed) -> None:
    for uri, named in (("http://example.org/film.mp4", None), ("http://example.org/%66ilm.mp4", None)):
        assert indexed.get("/payload", uri=uri).headers.get("link") == named
    for _ in range(2):
        answer = indexed.get("/payload", uri="https://www.example.org/FILM.mp4")
        assert answer.body == FILM
        assert answer.headers["link"] == '<http://example.org/film.mp4>; rel="original"'


@pytest.mark.needs("module:fastapi")
def test_fastapi(crawl, tmp_path, portal, monkeypatch) -> None:
    path = tmp_path / "crawl.warc.zst"
    with seekwarc.open(path, "w") as out:
        out.write_response("http://example.org/film.mp4", response(FILM, "video/mp4"))
    make_index([path], tmp_path / "crawl.cdxj")
    monkeypatch.chdir(tmp_path)
    made = recipe("fastapi", RECIPES)
    client = Client(made["app"], portal)

    def ask(method: str, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        got = client.ask(method, "/archived", headers=headers, uri="http://example.org/film.mp4")
        return got.status, got.headers, got.body

    with made["index"]:
        check(ask)
        assert client.get("/archived", uri="http://example.org/never").status == 404


def test_an_index_in_starlette(indexed) -> None:
    def ask(method: str, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        got = indexed.ask(method, "/payload", headers=headers, uri="http://example.org/film.mp4")
        return got.status, got.headers, got.body

    check(ask)


@pytest.mark.parametrize("date", ["", "20261118060000", "2026-11-17"])
def test_revisits_of_an_index_have_their_payload(indexed, date) -> None:
    got = indexed.get("/payload", uri="http://example.org/", date=date)
    assert (got.status, got.body) == (200, PAGE)
    day = {"": "18", "20261118060000": "18", "2026-11-17": "17"}[date]
    assert got.headers["last-modified"] == f"{'Tue' if day == '17' else 'Wed'}, {day} Nov 2026 06:00:00 GMT"
    assert indexed.get("/block", uri="http://example.org/", date=date).body.startswith(b"HTTP/1.1 200")


def test_the_original_of_a_revisit_may_be_missing(indexed) -> None:
    got = indexed.get("/payload", uri="http://example.org/lost", headers={"range": "bytes=0-99"})
    assert got.status == 404
    assert "http://example.org/gone" in got.json["error"]["message"]
    assert indexed.get("/block", uri="http://example.org/lost").status == 200
    assert indexed.get("/payload", uri="http://example.org/never").status == 404


def test_answer_needs_only_seekwarc() -> None:
    code = "import sys, seekwarc.serve; print({'starlette', 'uvicorn', 'anyio', 'flask'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "set()"
