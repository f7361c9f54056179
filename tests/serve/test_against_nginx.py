"""The range table, request by request, against nginx on the same bytes."""

from __future__ import annotations

import http.client
import os
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import formatdate

import pytest

from seekwarc.serve.app import application
from seekwarc.serve.library import Library
from seekwarc.serve.ranges import parse_http_date
from tests.serve.conftest import FILM, running
from tests.support.nginx import nginx as running_nginx
from tests.support.processes import PATIENT

pytestmark = pytest.mark.needs("nginx")
SIZE = len(FILM)
LINES = "access_log off; types { video/mp4 mp4; } if_modified_since before;"


@dataclass(frozen=True)
class Got:
    """What a server answered."""

    status: int
    content_range: str | None
    length: str | None
    body: bytes


class Server:
    """A server that has the film, its validators known."""

    def __init__(self, port: int, path: str) -> None:
        self.port = port
        self.path = path
        head = self._ask("HEAD", {})
        self.etag = head.getheader("ETag")
        self.modified = head.getheader("Last-Modified")
        assert (head.status, head.getheader("Content-Length")) == (200, str(SIZE))

    def _ask(self, method: str, headers: dict[str, str]) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENT)
        connection.request(method, self.path, headers=headers)
        response = connection.getresponse()
        self.body = response.read()
        connection.close()
        return response

    def ask(self, method: str, headers: dict[str, str]) -> Got:
        """Send a request in whose fields {etag} and {modified} are those of this server."""
        seconds = parse_http_date(self.modified)
        filled = {
            name: value.format(
                etag=self.etag,
                modified=self.modified,
                earlier=formatdate(seconds - 10, usegmt=True),
                later=formatdate(seconds + 10, usegmt=True),
                size=SIZE,
                last=SIZE - 1,
            )
            for name, value in headers.items()
        }
        response = self._ask(method, filled)
        # nginx sends a page with some errors; what it says in it is not compared.
        body = self.body if response.status in (200, 206) else b""
        length = response.getheader("Content-Length") if response.status in (200, 206) else None
        return Got(response.status, response.getheader("Content-Range"), length, body)


@pytest.fixture(scope="module")
def nginx(tmp_path_factory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("nginx")
    (folder / "root").mkdir()
    film = folder / "root" / "film.mp4"
    film.write_bytes(FILM)
    os.utime(film, (1_700_000_000, 1_700_000_000))
    folder.chmod(0o755)
    with running_nginx(folder, LINES, root=folder / "root") as port:
        yield Server(port, "/film.mp4")


@pytest.fixture(scope="module")
def ours(crawl) -> Iterator[Server]:
    with Library(crawl.paths[:1]) as library, running(application(library)) as server:
        record_id = library.record_id(library.names[0], crawl.offsets["film.mp4"])
        yield Server(server.port, f"/api/records/{record_id}/payload")


SAME = [
    {},
    {"Range": "bytes=0-"},
    {"Range": "bytes=0-0"},
    {"Range": "bytes=0-99"},
    {"Range": "bytes=1000000-1999999"},
    {"Range": "bytes={last}-"},
    {"Range": "bytes={last}-{last}"},
    {"Range": "bytes=100-99999999999"},
    {"Range": "bytes=-1"},
    {"Range": "bytes=-500"},
    {"Range": "bytes=-{size}"},
    {"Range": "bytes=-99999999999"},
    {"Range": "bytes=-0"},
    {"Range": "bytes={size}-"},
    {"Range": "bytes={size}-{size}"},
    {"Range": "bytes=99999999999-"},
    {"Range": "items=0-99"},
    {"Range": "bytes="},
    {"Range": "0-99"},
    {"Range": "BYTES=0-99"},
    {"Range": "bytes=0-99", "If-Range": "{etag}"},
    {"Range": "bytes=0-99", "If-Range": '"stale"'},
    {"Range": "bytes=0-99", "If-Range": "W/{etag}"},
    {"Range": "bytes=0-99", "If-Range": "{modified}"},
    {"Range": "bytes=0-99", "If-Range": "{earlier}"},
    {"Range": "bytes=0-99", "If-Range": "{later}"},
    {"Range": "bytes=0-99", "If-Range": "nonsense"},
    {"Range": "bytes={size}-", "If-Range": '"stale"'},
    {"If-Range": "{etag}"},
    {"If-None-Match": "{etag}"},
    {"If-None-Match": "W/{etag}"},
    {"If-None-Match": '"a", {etag}'},
    {"If-None-Match": "*"},
    {"If-None-Match": '"stale"'},
    {"If-None-Match": "{etag}", "Range": "bytes=0-99"},
    {"If-None-Match": '"stale"', "Range": "bytes=0-99"},
    {"If-Modified-Since": "{modified}"},
    {"If-Modified-Since": "{later}"},
    {"If-Modified-Since": "{earlier}"},
    {"If-Modified-Since": "{modified}", "If-None-Match": "{etag}"},
    {"If-Match": "{etag}"},
    {"If-Match": "*"},
    {"If-Match": '"stale"'},
    {"If-Match": "{etag}", "Range": "bytes=0-99"},
    {"If-Match": '"stale"', "Range": "bytes=0-99"},
    {"If-Unmodified-Since": "{modified}"},
    {"If-Unmodified-Since": "{later}"},
    {"If-Unmodified-Since": "{earlier}"},
]

DIFFERENT = [
    # (request, what nginx answers, what we answer and why)
    ({"Range": "bytes=5-2"}, 416, 200, "not well-formed, RFC 9110 14.1.1: ignored"),
    ({"Range": "bytes=a-b"}, 416, 200, "not well-formed: ignored"),
    ({"Range": "bytes=0-1,5-6"}, 206, 200, "several ranges: all of it rather than multipart/byteranges"),
    ({"Range": "bytes=0-0,0-0,0-0"}, 206, 200, "as much asked for as one likes"),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("headers", SAME, ids=str)
def test_the_answer_is_the_same(nginx, ours, headers, method) -> None:
    assert ours.ask(method, headers) == nginx.ask(method, headers)


@pytest.mark.parametrize(("headers", "theirs", "wanted", "why"), DIFFERENT)
def test_differences_from_nginx_are_intended(nginx, ours, *, headers, theirs, wanted, why) -> None:
    assert nginx.ask("GET", headers).status == theirs
    got = ours.ask("GET", headers)
    assert (got.status, got.body) == (wanted, FILM), why
