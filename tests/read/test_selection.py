"""`seekwarc.read.selection`."""

from __future__ import annotations

import fnmatch
import inspect
import io
import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

import seekwarc
from seekwarc.format.conditions import matches_pattern
from seekwarc.read.selection import Conditions, Selection, http_media_type
from tests.support.work import watchdog
from tests.support.writing import Repeated


def http(status: int, media_type: str | None, body: bytes = b"body") -> bytes:
    field = f"Content-Type: {media_type}\r\n" if media_type is not None else ""
    return f"HTTP/1.1 {status} Said\r\n{field}\r\n".encode() + body


@pytest.fixture(scope="module")
def archive():
    out = io.BytesIO()
    with seekwarc.open(out, "w") as writer:
        writer.write_warcinfo({"software": "by hand"})
        writer.write_response("http://a.org/", http(200, "text/html; charset=utf-8"))
        writer.write_response("http://a.org/x.png?q=[1]", http(200, "IMAGE/PNG", b"p" * 5000))
        writer.write_response("http://b.org/gone", http(404, "text/html"))
        writer.write_response("http://b.org/odd", http(302, "no type at all; x"))
        writer.write_request("http://b.org/gone", b"GET /gone HTTP/1.1\r\n\r\n")
        writer.write_resource("http://c.org/y.jpg", b"\xff\xd8", "image/jpeg")
    with seekwarc.open(out.getvalue()) as archive:
        yield archive


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({}, [0, 1, 2, 3, 4, 5, 6]),
        ({"type": "response"}, [1, 2, 3, 4]),
        ({"type": ["RESOURCE", "request"]}, [5, 6]),
        ({"status": 200}, [1, 2]),
        ({"status": ["404", "3xx"]}, [3, 4]),
        ({"status": "2XX"}, [1, 2]),
        ({"mime": "text/html"}, [1, 3]),
        ({"mime": "image/*"}, [2, 6]),
        ({"mime": ["Image/PNG", "application/warc-fields"]}, [0, 2]),
        ({"mime": "no type*"}, [4]),
        ({"uri": "http://a.org/"}, [1]),
        ({"uri": "http://a.org/*"}, [1, 2]),
        ({"uri": "*?q=[1]"}, [2]),
        ({"uri": ["*.jpg", "*gone"]}, [3, 5, 6]),
        ({"uri": "HTTP://A.ORG:80/#top"}, [1]),
        ({"uri": "HTTP://A.ORG/*"}, []),
        ({"uri": ["https://a.org/", "http://www.a.org/", "http://a.org/?"]}, []),
        ({"min_size": 5000}, [2]),
        ({"type": "response", "status": 200, "mime": "image/*", "uri": "*a.org*", "min_size": 1}, [2]),
    ],
)
def test_records_are_selected_by_every_condition(archive, wanted, expected) -> None:
    selection = Selection.of(**wanted)
    assert [number for number, record in enumerate(archive) if selection.matches(record)] == expected
    assert bool(selection) == bool(wanted)


def test_the_media_type_is_that_of_the_payload(archive) -> None:
    assert [http_media_type(record) for record in archive] == [
        "application/warc-fields",
        "text/html",
        "image/png",
        "text/html",
        "no type at all",
        None,
        "image/jpeg",
    ]


@pytest.mark.parametrize("status", ["20", "2000", "ok", "20x", "-20", 20, ""])
def test_an_invalid_status_is_refused(status) -> None:
    with pytest.raises(ValueError, match="is not an HTTP status"):
        Selection.of(status=status)


def test_a_block_is_not_touched_for_what_the_header_tells() -> None:
    out = io.BytesIO()
    size = 8 << 20
    with seekwarc.open(out, "w", digest=None) as writer:
        for number in range(8):
            film = Repeated(b"HTTP/1.1 200 OK\r\n\r\n".ljust(1 << 16, b"."), size)
            writer.write("response", block=film, length=size, target_uri=f"http://a.org/{number}")
    wanted = Selection.of(type="resource", status=200, mime="image/*")
    with seekwarc.open(out.getvalue()) as archive:
        records = list(archive)
        before = archive.stats.bytes_decoded
        assert not any(map(wanted.matches, records))
        assert archive.stats.bytes_decoded == before


LETTERS = st.text("ab*", max_size=8)


@given(LETTERS, st.text("ab", max_size=12))
def test_an_asterisk_stands_for_any_text(pattern, text) -> None:
    expected = re.fullmatch(fnmatch.translate(pattern), text) is not None
    assert matches_pattern(pattern, text) == expected


def test_no_pattern_takes_long() -> None:
    with watchdog():
        assert not matches_pattern("*a" * 200 + "b", "a" * 100_000)
        assert not matches_pattern("*a" * 200 + "b*", "a" * 100_000)


DATES = ("2026-11-16T06:00:00.123456789Z", "2026-11-16T06:00:00.123457Z", "2026-11-17", "never")


@pytest.fixture(scope="module")
def dated() -> bytes:
    return b"".join(
        f"WARC/1.1\r\nWARC-Type: resource\r\nWARC-Date: {date}\r\nContent-Length: 0\r\n\r\n\r\n\r\n".encode()
        for date in DATES
    )


INSTANT = datetime(2026, 11, 16, 6, 0, 0, 123456, tzinfo=UTC)
TICK = timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"since": INSTANT}, [0, 1, 2]),
        ({"since": INSTANT.astimezone(timezone(timedelta(hours=-9)))}, [0, 1, 2]),
        ({"since": INSTANT + TICK}, [1, 2]),
        ({"until": INSTANT}, [0]),
        ({"until": INSTANT - TICK}, []),
        ({"since": INSTANT, "until": INSTANT + TICK}, [0, 1]),
        ({"until": datetime(2026, 11, 17, tzinfo=UTC)}, [0, 1, 2]),
        ({"since": datetime.max.replace(tzinfo=UTC)}, []),
        ({"since": datetime.min.replace(tzinfo=UTC)}, [0, 1, 2]),
    ],
)
def test_dates_count_to_the_microsecond(dated, wanted, expected) -> None:
    with seekwarc.open(dated) as archive:
        numbers = {record.offset: number for number, record in enumerate(archive)}
        assert [numbers[record.offset] for record in archive.records(**wanted)] == expected


def test_a_date_without_a_time_zone_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^since is .* without a time zone"):
        Selection.of(since=datetime(2026, 11, 16))  # noqa: DTZ001


def test_the_conditions_that_type_checkers_know_are_those_that_are_taken() -> None:
    assert list(inspect.signature(Selection.of).parameters) == list(Conditions.__annotations__)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"since": "2026-11-16"}, [0, 1, 2]),
        ({"since": "2026-11-16T06:00:00.123457Z"}, [1, 2]),
        ({"since": "20261117"}, [2]),
        ({"until": "2026"}, [0, 1, 2]),
        ({"until": "2026-11-15"}, []),
        ({"until": "2026-11-16T06:00:00.123456Z"}, [0]),
        ({"until": "2026-11-16", "min_size": "0"}, [0, 1]),
        ({"min_size": "1K"}, []),
        ({"type": "RESPONSE"}, []),
        ({"type": "Resource"}, [0, 1, 2, 3]),
        ({"type": "x-of-my-own"}, []),
    ],
)
def test_conditions_are_text_as_the_command_takes_it(dated, wanted, expected) -> None:
    with seekwarc.open(dated) as archive:
        numbers = {record.offset: number for number, record in enumerate(archive)}
        assert [numbers[record.offset] for record in archive.records(**wanted)] == expected


@pytest.mark.parametrize(
    ("wanted", "error", "message"),
    [
        ({"type": "respones"}, ValueError, "'respones' is not a WARC-Type; did you mean response?"),
        ({"min_size": "large"}, ValueError, "min_size: 'large' is not a size such as 65536, 64K or 0.5M"),
        ({"min_size": 1.5}, TypeError, 'min_size must be a number of bytes or a size such as "64K", not 1.5'),
        ({"since": "today"}, ValueError, "since: 'today' is not a date such as 2026-11-21T09:30:00Z"),
        ({"until": "2026-02-30"}, ValueError, "until: '2026-02-30' is not a date: "),
        ({"until": 2026}, TypeError, 'until must be a datetime or a date such as "2026-11-17", not 2026'),
    ],
)
def test_a_condition_that_is_invalid_is_named(dated, wanted, error, message) -> None:
    with seekwarc.open(dated) as archive, pytest.raises(error) as refused:
        archive.records(**wanted)
    assert str(refused.value).startswith(message)
    assert not isinstance(refused.value, seekwarc.SeekWarcError)
