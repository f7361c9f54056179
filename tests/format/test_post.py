"""Request bodies as part of a key. tests/interop/test_cdxj_indexer.py compares with cdxj-indexer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.format.post import MAX_QUERY, bare_uri, body_query, indexed_uri, with_query

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"


def multipart(*parts: tuple[str, bytes], boundary: str = "XX") -> tuple[str, bytes]:
    mark = b"--" + boundary.encode()
    body = b"".join(b"%b\r\n%b\r\n\r\n%b\r\n" % (mark, head.encode(), value) for head, value in parts)
    return f"multipart/form-data; boundary={boundary}", body + mark + b"--\r\n"


def form_data(name: str, more: str = "") -> str:
    return f'Content-Disposition: form-data; name="{name}"{more}'


QUERIES = [
    (FORM, b"a=1&b=%C3%A9+x&c", "a=1&b=é x&c"),
    (FORM + "; charset=utf-8", b"a=1", "a=1"),
    (FORM, b"\xff\xfe", "__wb_post_data=//4="),
    (
        JSON,
        b'{"a": 1, "b": {"a": 2, "c": [1, {"a": 3}, null, true, 1.5]}, "": 4}',
        "a=1&a.2_=2&c=1&a.3_=3&c.2_=None&c.3_=True&c.4_=1.5",
    ),
    (JSON, b'{"a": 1}\n{"a": 2}', "a=1&a.2_=2"),
    (JSON, b'{"a": "x y&z"}', "a=x+y%26z"),
    (JSON, b"[1, 2]", ""),
    (JSON, b"nothing of the kind", ""),
    (JSON, b"[" * 100_000, ""),
    (JSON, b'{"a": ' + b"9" * 5000 + b"}", ""),
    ("text/plain", b'{"a": 1}', "a=1"),
    ("text/plain", b"hello", "__wb_post_data=aGVsbG8="),
    ("", b"abc", "__wb_post_data=YWJj"),
    ("application/octet-stream", b"", "__wb_post_data="),
    (
        *multipart((form_data("a"), b"1"), (form_data("b"), b"two words\r\nand lines")),
        "a=1&b=two+words%0D%0Aand+lines",
    ),
    (*multipart((form_data("f", '; filename="x"\r\nContent-Type: image/png'), b"\x00\xff")), "f=%00%FF"),
    ("multipart/form-data", b"abc", "__wb_post_data=YWJj"),
    ("multipart/form-data; boundary=YY", b"abc", "__wb_post_data=YWJj"),
]


@pytest.mark.parametrize(("content_type", "body", "query"), QUERIES)
def test_a_body_becomes_a_query(content_type: str, body: bytes, query: str) -> None:
    assert body_query(content_type, body) == query


def test_a_boundary_may_be_in_quotes() -> None:
    content_type, body = multipart((form_data("a"), b"1"), boundary="X Y")
    assert body_query(content_type.replace("X Y", '"X Y"'), body) == "a=1"


@pytest.mark.parametrize("content_type", [FORM, "text/plain", ""])
def test_long_bodies_are_cut(content_type: str) -> None:
    whole = body_query(content_type, b"x" * 100_000)
    assert len(whole) == MAX_QUERY
    assert whole == body_query(content_type, b"x" * 50_000)


@given(
    st.sampled_from([FORM, JSON, "text/plain", "multipart/form-data; boundary=a", ""]),
    st.binary(max_size=200),
)
def test_any_body_becomes_some_query(content_type: str, body: bytes) -> None:
    assert len(body_query(content_type, body)) <= MAX_QUERY


def test_the_query_goes_after_the_one_that_is_there() -> None:
    assert with_query("http://a/", "POST", "b=1") == "http://a/?__wb_method=POST&b=1"
    assert with_query("http://a/?c", "PUT", "") == "http://a/?c&__wb_method=PUT"


@pytest.mark.parametrize("uri", ["http://a/", "http://a/?q=1"])
def test_the_uri_that_was_posted_to_is_found_again(uri: str) -> None:
    fields = {"url": uri, "method": "POST", "requestBody": "a=b"}
    assert bare_uri(indexed_uri(fields)) == bare_uri(uri) == uri
