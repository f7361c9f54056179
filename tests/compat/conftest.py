"""An archive whose records are read as files, its index, and an engine."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import seekwarc
from seekwarc import tools
from tests.support.writing import noise

HTML = {"Content-Type": "text/html; charset=utf-8"}
PAGE = b"<p>The same every day.\n" * 1000
FILM = noise(3 << 20, seed=4)
SITE = "http://example.org/"


@pytest.fixture(scope="session")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a crawl of a few pages and a film, and an index of it; return the folder."""
    folder = tmp_path_factory.mktemp("crawl")
    with seekwarc.open(folder / "crawl.warc.zst", "w", dedup=seekwarc.Duplicates()) as out:
        out.write_warcinfo({"software": "crawler/1.0"})

        def capture(path: str, payload: bytes, day: int, **about: object) -> None:
            about = {"status": 200, "http_headers": HTML, "date": f"2026-11-{day}T06:00:00Z", **about}
            out.write_response(SITE + path, payload, **about)

        capture("", PAGE, 16, record_id="urn:uuid:00000000-0000-4000-8000-000000000001")
        capture("film.mp4", FILM, 16, http_headers={"Content-Type": "video/mp4"})
        capture("docs", b"moved", 17, status=301)
        capture("docs/a.html?b=/c", b"first", 16)
        capture("docs/a.html?b=/c", b"second", 18)
        capture("docs/a.html?b=/c", b"third", 20)
        capture("docs/50%3A50.html", b"per cent", 16)
        capture("docs//x", b"two slashes", 16)
        capture("../../up", b"dots", 16)
        capture("", PAGE, 17)
        out.write_resource(
            "https://other.example/a::b/[c]*", b"resource", "text/plain", date="2026-11-16T06:00:00Z"
        )
        out.write_resource("urn:example:plan", b"a plan", "text/plain", date="2026-11-16T06:00:00Z")
    tools.index([folder / "crawl.warc.zst"], folder / "crawl.cdxj")
    return folder


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """Start Spark, on Sail, in this process, with the data source."""
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        # A main module without a file, as workers of pytest-xdist have, means pyspark's own tests to it.
        patch.setattr(sys.modules["__main__"], "__file__", __file__, raising=False)
        from pysail.spark import SparkConnectServer  # noqa: PLC0415
        from pyspark.sql import SparkSession  # noqa: PLC0415

        from seekwarc.compat.spark import WarcDataSource  # noqa: PLC0415

        server = SparkConnectServer()
        server.start()
        session = SparkSession.builder.remote(f"sc://localhost:{server.listening_address[1]}").getOrCreate()
        session.dataSource.register(WarcDataSource)
        yield session
        session.stop()
        server.stop()
