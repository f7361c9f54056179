"""Which capture a replayed page gets."""

from __future__ import annotations

import pytest

import seekwarc
from seekwarc.errors import NotFoundError
from seekwarc.format.dates import date_of_digits
from seekwarc.serve.library import Library
from seekwarc.serve.replay_lookup import Asked, Captures, without_busters
from tests.support.writing import response

FORM = "application/x-www-form-urlencoded"


def moved(to: str) -> bytes:
    return f"HTTP/1.1 301 Moved Permanently\r\nLocation: {to}\r\n\r\n".encode()


def text(body: str) -> bytes:
    return response(body.encode(), "text/plain")


CAPTURES = [
    ("http://example.org/", "2026-01-01", text("first")),
    ("https://www.example.org/", "2026-06-01", text("second")),
    ("http://example.org/dated", "2026-01-01", text("first")),
    ("http://example.org/dated", "2026-06-01", text("second")),
    ("http://example.org/loop", "2026-01-02", moved("https://www.example.org/loop")),
    ("https://example.org/loop", "2026-01-01", text("end of the loop")),
    ("http://example.org/only", "2026-01-01", moved("https://example.org/only")),
    ("http://example.org/data?a=1&_=1767225600000", "2026-01-01", text("busted")),
    ("http://example.org/data?a=2&_=1767225600000", "2026-01-01", text("other")),
    ("http://example.org/clip?range=0-9", "2026-01-01", text("part")),
]


@pytest.fixture(scope="module")
def crawl(tmp_path_factory):
    """A file of captures, and two requests with what was sent."""
    path = tmp_path_factory.mktemp("lookup") / "crawl.warc.zst"
    with seekwarc.open(path, "w", threads=1) as out:
        for uri, day, block in CAPTURES:
            out.write_response(uri, block, date=f"{day}T12:00:00Z")
        for query in ("cats", "dogs"):
            sent = f"POST /search HTTP/1.1\r\nContent-Type: {FORM}\r\nContent-Length: 6\r\n\r\nq={query}"
            answer = out.write_response(
                "http://example.org/search", text(f"found {query}"), date="2026-01-01T12:00:00Z"
            )
            out.write_request(
                "http://example.org/search", sent.encode(), date="2026-01-01T12:00:00Z", concurrent_to=answer
            )
    return path


@pytest.fixture(params=["scanned", "indexed"])
def captures(request, crawl, run_main):
    """The captures of the file, which is scanned; or of an index of it."""
    path = crawl
    if request.param == "indexed":
        path = crawl.with_suffix(".cdxj")
        assert run_main("index", "-p", crawl, "-o", path, "-f") == 0
    with Library([path]) as library:
        library.read()
        yield Captures(library)


def body(captures: Captures, uri: str, date: str = "", sent: tuple[str, str] | None = None) -> str:
    found = captures.find(Asked(uri, date_of_digits(date) if date else None, sent))
    assert found is not None
    return found.served.record.payload.read().decode()


@pytest.mark.parametrize(
    ("date", "expected"),
    [("", "second"), ("2020", "first"), ("20260316", "first"), ("20260320", "second"), ("2027", "second")],
)
def test_the_nearest_capture_is_found_however_its_uri_is_written(captures, date, expected) -> None:
    for uri in (
        "http://example.org/dated",
        "http://EXAMPLE.org:80/%64ated#top",
        "https://www.example.org/dated",
    ):
        assert body(captures, uri, date) == expected


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("http://example.org/", "first"),
        ("http://EXAMPLE.org:80/#top", "first"),
        ("https://www.example.org/", "second"),
        ("https://www.EXAMPLE.org", "second"),
        ("https://example.org/", "second"),
    ],
)
def test_a_capture_of_exactly_this_uri_comes_before_others_with_its_key(captures, uri, expected) -> None:
    assert body(captures, uri) == expected


def test_a_redirect_to_the_same_key_is_passed_over(captures) -> None:
    assert body(captures, "http://example.org/loop") == "end of the loop"
    with pytest.raises(NotFoundError, match="no capture of http://example"):
        captures.find(Asked("http://example.org/only", None))


@pytest.mark.parametrize("query", ["a=1&_=1800000000123", "cb=0.7263512&a=1", "a=1", "a=1&nocache=x"])
def test_arguments_that_defeat_caches_make_no_difference(captures, query) -> None:
    assert body(captures, f"http://example.org/data?{query}") == "busted"


def test_other_arguments_make_a_difference(captures) -> None:
    for query in ("a=3", "a=1&b=1", ""):
        with pytest.raises(NotFoundError):
            captures.find(Asked(f"http://example.org/data?{query}", None))


@pytest.mark.parametrize("query", ["cats", "dogs"])
def test_the_answer_to_what_was_sent_is_found(captures, query) -> None:
    assert body(captures, "https://example.org/search", sent=("POST", f"q={query}")) == f"found {query}"


def test_an_answer_to_what_was_sent_is_no_other(captures) -> None:
    for sent in (None, ("POST", "q=birds"), ("PUT", "q=cats")):
        with pytest.raises(NotFoundError):
            captures.find(Asked("http://example.org/search", None, sent))


def test_dates_of_a_uri_are_in_order(captures) -> None:
    assert [str(it.date)[:10] for it in captures.of("example.org")] == ["2026-01-01", "2026-06-01"]
    assert captures.of("http://example.org/none") == []


def test_files_that_are_being_scanned_may_have_it(crawl) -> None:
    with Library([crawl]) as library:
        captures = Captures(library)
        assert captures.find(Asked("http://example.org/", None)) is None
        library.read()
        assert body(captures, "http://example.org/") == "first"


@pytest.mark.parametrize(
    ("uri", "plain"),
    [
        ("http://a/?_=1&b=2", "http://a/?b=2"),
        ("http://a/?0.123456789", "http://a/"),
        ("http://a/?t=1700000000", "http://a/"),
        ("http://a/?t=17000000000&CacheBuster=1", "http://a/?t=17000000000"),
        ("http://a/?x", "http://a/?x="),
        ("http://a/", "http://a/"),
    ],
)
def test_arguments_that_defeat_caches_are_left_out(uri, plain) -> None:
    assert without_busters(uri) == plain
