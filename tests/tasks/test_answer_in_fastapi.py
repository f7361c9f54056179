"""Answer range requests for archived payloads in an application of one's own, in FastAPI."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import seekwarc
from seekwarc.serve import answer
from tests.support.extras import package
from tests.tasks.conftest import FILM, FILM_URI

fastapi = package("fastapi")
httpx = pytest.importorskip("httpx")

from fastapi.responses import StreamingResponse  # noqa: E402


def application(archives: list[Path]):
    app = fastapi.FastAPI()
    collection = seekwarc.Collection(archives)

    @app.api_route("/payload", methods=["GET", "HEAD"])
    def payload(uri: str, request: fastapi.Request) -> fastapi.Response:
        try:
            record = collection.open_record(uri=uri)
        except seekwarc.NotFoundError as error:
            return fastapi.Response(str(error), 404)
        status, fields, body = answer(record, request.headers, method=request.method)
        return StreamingResponse(body, status, fields)

    return app


@pytest.mark.parametrize(
    ("wanted", "status", "body"),
    [
        ("bytes=1000000-1000099", 206, FILM[1_000_000:1_000_100]),
        ("bytes=-10", 206, FILM[-10:]),
        ("bytes=99999999-", 416, b""),
        ("", 200, FILM),
    ],
)
def test_fastapi_answers_ranges(wanted: str, status: int, body: bytes, crawl: Path) -> None:
    async def ask() -> tuple[httpx.Response, httpx.Response, httpx.Response]:
        transport = httpx.ASGITransport(app=application([crawl]))
        async with httpx.AsyncClient(transport=transport, base_url="http://replay") as client:
            asked = {"Range": wanted} if wanted else {}
            return (
                await client.get("/payload", params={"uri": FILM_URI}, headers=asked),
                await client.head("/payload", params={"uri": FILM_URI}, headers=asked),
                await client.get("/payload", params={"uri": "http://none/"}),
            )

    found, head, none = asyncio.run(ask())
    assert (found.status_code, found.content) == (status, body)
    assert (head.status_code, head.content) == (status, b"")
    assert none.status_code == 404
    if body:
        assert found.headers["Content-Type"] == "video/mp4"
        assert found.headers["Content-Length"] == str(len(body))
        assert found.headers["Accept-Ranges"] == "bytes"
