"""The markup of archived pages, made harmless."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

import seekwarc
from seekwarc.serve.cost import View
from seekwarc.serve.markup import MAX_MARKUP, Markup, markup_of
from seekwarc.serve.served import ServedRecord
from tests.serve.conftest import PAGE, record_of, response


def markup(body: bytes, kind: str = "text/html", *fields: str, view: View | None = None) -> Markup:
    return markup_of(ServedRecord(record_of(response(body, kind, *fields))), view)


def test_a_page_is_sent_with_nothing_allowed(client, found) -> None:
    answer = client.get(f"/api/records/{found(q='page.html')}/page")
    assert answer.status == 200
    assert answer.body == PAGE
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    assert "frame-ancestors 'self'" in policy
    assert policy.endswith("; sandbox")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["seekwarc-markup"] == "whole"


def test_other_records_are_not_shown_as_pages(client, found) -> None:
    answer = client.get(f"/api/records/{found(q='things.json')}/page")
    assert answer.status == 404
    assert "application/json, not text/html" in answer.json["error"]["message"]


@pytest.mark.parametrize("tag", ["iframe", "FRAME", "Object", "embed", "applet", "area", "animate", "set"])
@pytest.mark.parametrize("end", [" ", "/", ">", "\n", "\t", "\f", "\r"])
def test_tags_that_load_or_navigate_are_changed(tag, end) -> None:
    assert markup(f"<{tag}{end}src=x></{tag}>".encode()).data.startswith(f"<x-{tag}{end}".encode())


def test_links_are_inert() -> None:
    made = markup(b"<a/href=x>y</a><A>z</A><abbr>n</abbr><link rel=preconnect href=x>").data
    assert made == (
        b"<a inert target=_blank /href=x>y</a><A inert target=_blank >z</A><abbr>n</abbr>"
        b"<link rel=none  rel=preconnect href=x>"
    )


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        ("ü".encode(), "text/html; charset=utf-8", "ü"),
        ("ü".encode("latin-1"), "text/html; charset=ISO-8859-1", "ü"),
        ("“".encode("cp1252"), "text/html; charset=latin1", "“"),
        ("ü".encode(), "text/html", "ü"),
        ("ü".encode("latin-1"), "text/html", "ü"),
        ("ü".encode("utf-16"), "text/html; charset=latin1", "ü"),
        (b"\xef\xbb\xbf" + "ü".encode(), "text/html; charset=latin1", "ü"),
        ("ü".encode(), "text/html; charset=unicode_escape", "ü"),
        ("ü".encode(), "text/html; charset=idna", "ü"),
        (b"\xff", "text/html; charset=utf-8", "\ufffd"),
        (b"<\x1b(Biframe >", "text/html; charset=iso-2022-jp", "<x-iframe >"),
        (b"<meta charset=iso-2022-jp><\x1b(Bembed>", "text/html", "<meta charset=iso-2022-jp><x-embed>"),
        (b"+ADw-script+AD4-", "text/html; charset=utf-7", "+ADw-script+AD4-"),
    ],
)
def test_a_page_is_read_in_its_encoding_and_sent_as_utf_8(body, kind, text) -> None:
    assert markup(body, kind).data.decode() == text


@pytest.mark.parametrize(
    "body", [b"x" * (MAX_MARKUP + 1), b"x" * (MAX_MARKUP - 1) + "ü".encode(), b"x" * (MAX_MARKUP * 4)]
)
def test_a_long_page_is_cut_whatever_its_coding(body) -> None:
    for made in (markup(body), markup(gzip.compress(body), "text/html", "Content-Encoding: gzip")):
        assert made.extent == "cut"
        assert made.data.startswith(body[: MAX_MARKUP - 1])
        assert len(made.data) < MAX_MARKUP + 4


def test_a_damaged_page_is_shown_up_to_the_damage() -> None:
    body = gzip.compress(b"".join(b"<p>%d" % number for number in range(100_000)))
    view = View()
    made = markup(body[: len(body) // 2], "text/html", "Content-Encoding: gzip", view=view)
    assert made.extent == "damaged"
    assert made.data.startswith(b"<p>0<p>1")
    assert "gzip" in view.problem
    with pytest.raises(seekwarc.UnsupportedError, match="compress"):
        markup(body, "text/html", "Content-Encoding: compress")


@given(
    st.lists(
        st.sampled_from(["<", "a", "iframe", "link", "x-", "/", " ", ">", '"', "\0", "\u017f", "\x1b(B"])
    )
)
def test_no_mixture_makes_a_tag_that_loads(parts) -> None:
    text = markup("".join(parts).encode(), "text/html; charset=utf-8").data.decode().lower()
    for end in " />\n":
        assert f"<iframe{end}" not in text
        assert f"<a{end}" not in text.replace("<a inert target=_blank ", "")
        assert f"<link{end}" not in text.replace("<link rel=none ", "")
