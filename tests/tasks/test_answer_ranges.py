"""Answer range requests for archived payloads in an application of one's own, in Flask and in aiohttp."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import seekwarc
from seekwarc.serve import answer
from tests.tasks.conftest import FILM, FILM_URI

RANGES = {
    "bytes=1000000-1000099": (206, FILM[1_000_000:1_000_100]),
    "bytes=-10": (206, FILM[-10:]),
    "bytes=99999999-": (416, None),
    None: (200, FILM),
}


def flask_app(archives: list[Path]):
    """An application that answers /payload?uri=..."""
    import flask  # noqa: PLC0415

    app = flask.Flask("replay")
    collection = seekwarc.Collection(archives)

    @app.get("/payload")
    def payload() -> flask.Response:
        try:
            record = collection.open_record(uri=flask.request.args["uri"])
        except seekwarc.NotFoundError as error:
            return flask.Response(str(error), 404)
        status, fields, body = answer(record, flask.request.headers, method=flask.request.method)
        return flask.Response(body, status, fields)

    return app


def aiohttp_app(archives: list[Path]):
    """The same; what blocks is done in threads."""
    from aiohttp import web  # noqa: PLC0415

    collection = seekwarc.Collection(archives)

    async def payload(request: web.Request) -> web.StreamResponse:
        try:
            record = await asyncio.to_thread(collection.open_record, uri=request.query["uri"])
        except seekwarc.NotFoundError as error:
            return web.Response(text=str(error), status=404)
        status, fields, body = await asyncio.to_thread(answer, record, request.headers, method=request.method)
        response = web.StreamResponse(status=status, headers=fields)
        await response.prepare(request)
        while piece := await asyncio.to_thread(next, body, b""):
            await response.write(piece)
        await response.write_eof()
        return response

    app = web.Application()
    app.router.add_get("/payload", payload)
    return app


@pytest.mark.needs("module:flask")
@pytest.mark.parametrize("wanted", RANGES)
def test_flask_answers_ranges(wanted: str | None, crawl: Path) -> None:
    client = flask_app([crawl]).test_client()
    asked = {"Range": wanted} if wanted else {}
    found = client.get("/payload", query_string={"uri": FILM_URI}, headers=asked)
    status, body = RANGES[wanted]
    assert found.status_code == status
    if body is not None:
        assert found.data == body
        assert found.headers["Content-Type"] == "video/mp4"
        assert found.headers["Content-Length"] == str(len(body))
        assert found.headers["Accept-Ranges"] == "bytes"
    head = client.head("/payload", query_string={"uri": FILM_URI}, headers=asked)
    assert (head.status_code, head.data) == (status, b"")
    assert client.get("/payload", query_string={"uri": "http://none/"}).status_code == 404


@pytest.mark.needs("module:aiohttp")
@pytest.mark.parametrize("wanted", RANGES)
def test_aiohttp_answers_ranges(wanted: str | None, crawl: Path) -> None:
    from aiohttp.test_utils import TestClient, TestServer  # noqa: PLC0415

    async def ask() -> tuple[int, bytes, int, int]:
        async with TestClient(TestServer(aiohttp_app([crawl]))) as client:
            asked = {"Range": wanted} if wanted else {}
            found = await client.get("/payload", params={"uri": FILM_URI}, headers=asked)
            body = await found.read()
            head = await client.head("/payload", params={"uri": FILM_URI}, headers=asked)
            none = await client.get("/payload", params={"uri": "http://none/"})
            return found.status, body, head.status, none.status

    status, body = RANGES[wanted]
    found_status, found, head_status, none_status = asyncio.run(ask())
    assert (found_status, head_status, none_status) == (status, status, 404)
    assert body is None or found == body
