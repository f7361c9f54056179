"""The range server of the tests is itself correct, and misbehaves only as it is told to."""

from __future__ import annotations

import http.client
import threading
from urllib.parse import urlsplit

import pytest

from tests.support.processes import PATIENT
from tests.support.rangeserver import (
    Asked,
    Content,
    RangeServer,
    after,
    delayed,
    dropped,
    first,
    headed,
    round_trips,
    status,
)

DATA = bytes(range(256)) * 40


def get(server: RangeServer, **headers: str) -> http.client.HTTPResponse:
    """Ask once; the body is there as `data`."""
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=PATIENT)
    connection.request("GET", "/any?query", headers={k.replace("_", "-"): v for k, v in headers.items()})
    response = connection.getresponse()
    try:
        response.data = response.read()
    except http.client.IncompleteRead as error:
        response.data = error.partial
    connection.close()
    return response


@pytest.mark.parametrize(
    ("wanted", "start", "stop"),
    [
        ("bytes=0-0", 0, 1),
        ("bytes=10-99", 10, 100),
        ("bytes=10000-99999", 10_000, 10_240),
        ("bytes=5000-", 5000, 10_240),
        ("bytes=-7", 10_233, 10_240),
        ("bytes=-99999", 0, 10_240),
    ],
)
def test_ranges_are_answered(wanted: str, start: int, stop: int) -> None:
    with RangeServer(DATA) as server:
        response = get(server, Range=wanted)
        assert (response.status, response.data) == (206, DATA[start:stop])
        assert response.headers["Content-Range"] == f"bytes {start}-{stop - 1}/{len(DATA)}"
        assert response.headers["ETag"] == '"first"'
        (asked,) = server.asked
        assert (asked.range, asked.status, asked.sent) == (wanted, 206, stop - start)
        assert asked.target == "/any?query"


def test_without_a_range_everything_is_sent() -> None:
    with RangeServer(DATA) as server:
        response = get(server)
        assert (response.status, response.data) == (200, DATA)


def test_what_cannot_be_satisfied() -> None:
    with RangeServer(DATA) as server:
        response = get(server, Range=f"bytes={len(DATA)}-")
        assert response.status == 416
        assert response.headers["Content-Range"] == f"bytes */{len(DATA)}"
        assert get(server, If_Match='"other"').status == 412
        assert get(server, If_Match='"first"').status == 200
        server.honours_if_match = False
        assert get(server, If_Match='"other"').status == 200
        server.takes_suffixes = False
        assert get(server, Range="bytes=-5").status == 400


def test_the_object_can_be_replaced() -> None:
    with RangeServer(DATA) as server:
        server.content = Content(b"new", '"second"', None)
        response = get(server)
        assert (response.data, response.headers["ETag"]) == (b"new", '"second"')
        assert response.headers["Last-Modified"] is None


def test_faults() -> None:
    with RangeServer(DATA) as server:
        server.fault = status(503, retry_after="7")
        response = get(server, Range="bytes=0-9")
        assert (response.status, response.headers["Retry-After"]) == (503, "7")
        server.fault = headed(content_range=None, etag="changed")
        response = get(server, Range="bytes=0-9")
        assert (response.headers["Content-Range"], response.headers["ETag"]) == (None, "changed")
        server.fault = dropped(3)
        response = get(server, Range="bytes=0-9")
        assert (response.headers["Content-Length"], response.data) == ("10", DATA[:3])


def test_faults_befall_the_first_or_the_later_requests() -> None:
    with RangeServer(DATA, fault=first(2, status(500))) as server:
        assert [get(server).status for _ in range(3)] == [500, 500, 200]
        server.forget()
        server.fault = after(2, status(500))
        assert [get(server).status for _ in range(3)] == [200, 200, 500]


@pytest.mark.parametrize("how", ["latency", "fault"])
def test_answers_come_late(how: str) -> None:
    options = {"latency": 0.05} if how == "latency" else {"fault": delayed(0.05)}
    with RangeServer(DATA, **options) as server:
        get(server)
        assert server.asked[0].ended - server.asked[0].began >= 0.05


def test_requests_are_answered_side_by_side() -> None:
    with RangeServer(DATA, latency=0.1) as server:
        threads = [threading.Thread(target=get, args=(server,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(server.asked) == 8
        assert round_trips(server.asked) < 8


def asked(*spans: tuple[float, float]) -> list[Asked]:
    return [Asked(0, "GET", "/", {}, began, ended) for began, ended in spans]


@pytest.mark.parametrize(
    ("spans", "count"),
    [
        ([], 0),
        ([(0, 1)], 1),
        ([(0, 1), (0.1, 1.1), (0.2, 0.9)], 1),
        ([(0, 1), (1.5, 2.5)], 2),
        ([(0, 1), (0.1, 1.1), (1.2, 2), (1.3, 2.2), (3, 4)], 3),
        # Two that follow each other beside a long one.
        ([(0, 5), (0, 1), (2, 3)], 2),
    ],
)
def test_round_trips(spans: list[tuple[float, float]], count: int) -> None:
    assert round_trips(asked(*spans)) == count
