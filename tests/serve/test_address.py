"""Addresses of captures, and the answers there."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

import seekwarc
from seekwarc.format.dates import WarcDate
from seekwarc.serve.address import address_of, capture_address
from seekwarc.serve.app import application
from seekwarc.serve.library import Library
from tests.serve.asgi import Client
from tests.serve.conftest import FILM, PAGE, response

DATE = WarcDate.parse("2026-11-21T09:30:00.25Z")


def test_an_address_has_uri_and_date_of_the_capture() -> None:
    address = capture_address("http://example.org/a b?c=d&e#é", DATE)
    assert address == (
        "/payload?uri=http%3A%2F%2Fexample.org%2Fa%20b%3Fc%3Dd%26e%23%C3%A9&date=20261121093000"
    )


@pytest.mark.slow
@given(st.text(min_size=1))
def test_any_uri_comes_back_from_its_address(uri: str) -> None:
    address = capture_address(uri, DATE)
    assert address.isascii()
    assert parse_qsl(urlsplit(address).query, keep_blank_values=True) == [
        ("uri", uri),
        ("date", "20261121093000"),
    ]


def test_half_a_surrogate_pair_has_an_address_too() -> None:
    assert "uri=%25ED%25A0%2580&" in capture_address("\ud800", DATE)


def test_records_that_are_no_captures_have_no_address(crawl) -> None:
    with seekwarc.open(crawl.paths[0]) as archive:
        addresses = {record.type: address_of(record) for record in archive}
    assert addresses["warcinfo"] is None
    assert addresses["response"].endswith("empty.txt&date=20261116120008")


def test_a_player_finds_a_film_by_uri_and_date(client) -> None:
    answer = client.get("/payload", uri="http://example.org/film.mp4", date="20261116120003")
    assert (answer.status, answer.body) == (200, FILM)
    assert answer.headers["content-type"] == "video/mp4"
    part = client.get(
        "/payload", uri="http://example.org/film.mp4", date="2026", headers={"range": "bytes=-100"}
    )
    assert (part.status, part.body) == (206, FILM[-100:])
    assert client.ask("HEAD", "/payload", uri="http://example.org/film.mp4").status == 200
    head = client.get("/block", uri="http://example.org/film.mp4", headers={"range": "bytes=0-7"})
    assert head.body == b"HTTP/1.1"


def test_the_record_tells_its_address(client, found) -> None:
    record = client.get(f"/api/records/{found(q='film.mp4')}").json
    path, _, query = record["address"].partition("?")
    assert client.get(path, **dict(parse_qsl(query))).body == FILM


def test_a_revisit_is_answered_with_what_it_refers_to(client) -> None:
    answer = client.get("/payload", uri="http://example.org/daily", date="20261117060000")
    assert (answer.status, answer.body) == (200, PAGE)
    assert "17 Nov 2026" in answer.headers["last-modified"]


def test_a_capture_in_segments_is_joined(client) -> None:
    answer = client.get(
        "/payload", uri="http://example.org/big.mp4", headers={"range": "bytes=1000000-1000099"}
    )
    assert answer.body == FILM[1_000_000:1_000_100]


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ({}, 400, "uri is missing"),
        ({"uri": "http://example.org/film.mp4", "date": "tomorrow"}, 400, "4 to 14 digits"),
        ({"uri": "http://example.org/gone"}, 404, "http://example.org/gone"),
    ],
)
def test_a_malformed_address_gets_a_message(client, query, status, words) -> None:
    answer = client.get("/payload", **query)
    assert answer.status == status
    assert words in answer.json["error"]["message"]


def test_the_nearest_or_the_latest_capture_is_sent(tmp_path, portal) -> None:
    path = tmp_path / "days.warc.zst"
    with seekwarc.open(path, "w") as out:
        for day in (10, 12, 20):
            out.write_response("http://e.org/", response(b"%d" % day, None), date=f"2026-11-{day}T00:00:00Z")
    with Library([path]) as library:
        library.read()
        client = Client(application(library), portal)
        asked = {"": b"20", "20261110": b"10", "20261113": b"12", "1999": b"10", "20261118000000": b"20"}
        for date, body in asked.items():
            assert client.get("/payload", uri="http://e.org/", date=date).body == body


def test_a_request_waits_while_files_are_scanned(crawl, portal) -> None:
    with Library(crawl.paths) as library:
        client = Client(application(library), portal)
        library.start_reading()
        answer = client.get("/payload", uri="http://example.org/big.mp4", headers={"range": "bytes=0-9"})
        assert (answer.status, answer.body) == (206, FILM[:10])


def test_a_uri_that_is_not_utf8_has_an_address_that_works(tmp_path, portal) -> None:
    head = (
        b"WARC/1.1\r\nWARC-Type: resource\r\nWARC-Date: 2026-11-21T09:30:00Z\r\n"
        b"WARC-Target-URI: http://e.org/caf\xe9.txt\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\n"
    )
    path = tmp_path / "latin.warc"
    path.write_bytes(head + b"here\r\n\r\n")
    with Library([path]) as library:
        library.read()
        client = Client(application(library), portal)
        row = client.get("/api/records").json["records"][0]
        address = client.get(f"/api/records/{row['id']}").json["address"]
        assert "caf%E9" in address
        target, _, query = address.partition("?")
        raw = dict(parse_qsl(query, encoding="latin-1"))
        # As bytes, the way the address has it, and as the page shows it.
        assert client.get(target, uri=raw["uri"].encode("latin-1"), date=raw["date"]).body == b"here"
        assert client.get(target, uri=row["uri"], date=raw["date"]).body == b"here"
