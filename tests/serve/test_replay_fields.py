"""What the service worker is told of an archived answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.format.http import parse_http_head
from seekwarc.serve.replay_fields import archived_fields, redirect_target, without_controls

URI = "http://example.org/a/b"


def fields_of(*lines: str | bytes, status: str = "200 OK", coding: str | None = None) -> dict[str, str]:
    encoded = [line.encode() if isinstance(line, str) else line for line in (f"HTTP/1.1 {status}", *lines)]
    head = parse_http_head(b"\r\n".join([*encoded, b"", b""]))
    found = list(archived_fields(head, URI, coding))
    assert len(dict(found)) == len(found)
    return dict(found)


LEFT_OUT = """Set-Cookie2 Clear-Site-Data WWW-Authenticate Proxy-Authenticate Strict-Transport-Security NEL
Report-To Reporting-Endpoints Alt-Svc Refresh Link Service-Worker-Allowed Speculation-Rules
Content-Length Content-Range Content-Encoding Transfer-Encoding Connection Keep-Alive TE Trailer
Upgrade Cache-Control ETag Vary Last-Modified Age Expires Pragma Location Memento-Datetime
Content-Security-Policy X-Frame-Options Date Content-Security-Policy-Report-Only
Access-Control-Allow-Origin Cross-Origin-Opener-Policy Origin-Agent-Cluster
Cross-Origin-Resource-Policy x-redirect-status X-Orig-Location X-Proxy-Set-Cookie x-wabac-any
Accept-Ranges"""


@pytest.mark.parametrize("name", LEFT_OUT.split())
def test_what_browser_or_worker_act_on_is_left_out(name) -> None:
    assert fields_of(f"{name}: 1", f"{name.upper()}: 2", "X-Kept: 1") == {"x-kept": "1"}


def test_others_are_passed_on_as_they_were() -> None:
    assert fields_of("Content-Type: text/html; charset=koi8-r", "X-Powered-By: PHP/4") == {
        "content-type": "text/html; charset=koi8-r",
        "x-powered-by": "PHP/4",
    }


def test_cookies_are_told_by_a_field_of_the_worker() -> None:
    assert fields_of("Set-Cookie: a=1; Path=/", "set-cookie: b=2") == {
        "x-proxy-set-cookie": "a=1; Path=/,b=2",
    }


def test_the_coding_is_that_of_the_body_as_sent() -> None:
    assert fields_of("Content-Encoding: gzip") == {}
    assert fields_of("Content-Encoding: br", coding="gzip") == {"content-encoding": "gzip"}


def test_a_redirect_has_an_absolute_target() -> None:
    assert fields_of("Location: ../c?q=caf\u00e9 x#f", status="302 Found") == {
        "x-orig-location": "http://example.org/c?q=caf%C3%A9%20x#f",
        "x-redirect-status": "302",
        "x-redirect-statustext": "Found",
    }
    assert fields_of("Location: /c") == {}
    assert fields_of(status="302 Found") == {}


def test_a_target_that_is_no_uri_is_passed_on() -> None:
    assert fields_of("Location: http://[oops", status="301")["x-orig-location"] == "http://[oops"


@pytest.mark.parametrize("status", [401, 404, 503])
def test_an_error_is_told_by_fields_of_the_worker(status) -> None:
    assert fields_of(status=f"{status} Caf\u00e9\x01") == {
        "x-redirect-status": str(status),
        "x-redirect-statustext": "Caf\u00c3\u00a9",
    }


def test_control_characters_and_blanks_at_the_end_are_left_out() -> None:
    found = fields_of(
        b"X-A: a\x00b\x7f \x01 ", b"X-B: \xff\xe9", b"X-C: one\r\n two", b"X\x01D: 1", b"X E: 1", b": 1"
    )
    assert found == {"x-a": "a b", "x-b": "\xff\xe9", "x-c": "one two"}


@given(
    st.text(max_size=60) | st.binary(max_size=60).map(lambda data: data.decode("utf-8", "surrogateescape"))
)
def test_any_value_can_be_sent(value) -> None:
    try:
        value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return
    data = without_controls(value).encode("latin-1")
    assert data == data.strip(b" \t")
    assert not any(byte < 0x20 or byte == 0x7F for byte in data)


def test_a_redirect_of_a_damaged_head_has_no_target() -> None:
    assert redirect_target(parse_http_head(b"HTTP/1.1 304 Not Modified\r\nLocation: /x\r\n\r\n"), URI) is None
