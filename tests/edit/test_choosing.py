"""Choices of records: what a host is, and what a list may hold."""

from __future__ import annotations

import io

import pytest

import seekwarc
from seekwarc.edit.choosing import Choice


def hosts_of(uri: str, *entries: str) -> bool:
    header = f"WARC/1.1\r\nWARC-Type: resource\r\nWARC-Target-URI: {uri}\r\nContent-Length: 0\r\n\r\n"
    with seekwarc.open(header.encode() + b"\r\n\r\n") as archive:
        return Choice.of(hosts=entries).matches(next(iter(archive)))


@pytest.mark.parametrize(
    ("uri", "entry", "found"),
    [
        ("http://example.org/", "example.org", True),
        ("http://EXAMPLE.org:8080/a?b", "example.org", True),
        ("http://user:word@a.b.example.org/", "b.example.org", True),
        ("http://badexample.org/", "example.org", False),
        ("http://example.org.evil.net/", "example.org", False),
        ("http://example.net/http://example.org/", "example.org", False),
        ("http://example.org./", "example.org", True),
        ("dns:www.example.org", "example.org", True),
        ("http://b\u00fccher.example/", "xn--bcher-kva.example", True),
        ("http://xn--bcher-kva.example/", "b\u00fccher.example", True),
        ("http://[2001:db8::1]:80/", "[2001:db8::1]", True),
        ("http://192.0.2.1/", "192.0.2.1", True),
        ("http://192.0.2.1/", "2.1.org", False),
        ("urn:uuid:0", "example.org", False),
        ("http:///nothing", "example.org", False),
        ("http://example.org/", "*.example.org", True),
        ("http://example.org/", "https://example.org:444/page", True),
    ],
)
def test_a_host_means_its_subdomains(uri, entry, found) -> None:
    assert hosts_of(uri, entry, "unrelated.test") is found


def test_a_record_without_uri_matches_inverted_lists_only() -> None:
    stored = io.BytesIO()
    with seekwarc.open(stored, "w") as out:
        out.write_warcinfo({"software": "test"})
    with seekwarc.open(stored.getvalue()) as archive:
        record = next(iter(archive))
    for name in ("uris", "hosts"):
        assert not Choice.of(**{name: ["example.org"]}).matches(record)
        assert Choice.of(**{f"not_{name}": ["example.org"]}).matches(record)


def test_a_choice_without_conditions_is_empty() -> None:
    assert not Choice.of()
    assert Choice.of(invert=True)
    assert Choice.of(not_ids=[])
    assert Choice.of(type="response")


@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("entry", [b"http://example.org/~a", b"<http://example.org:80/%7Ea>\r"])
def test_a_list_of_uris_may_have_a_mark_and_angle_brackets(tmp_path, before: bytes, entry: bytes) -> None:
    path = tmp_path / "uris.txt"
    path.write_bytes(before + entry + b"\nhttp://example.org/b\n")
    fields = b"WARC-Type: resource\r\nWARC-Target-URI: http://example.org/%7Ea\r\nContent-Length: 0\r\n"
    with seekwarc.open(b"WARC/1.1\r\n" + fields + b"\r\n\r\n\r\n") as archive:
        assert Choice.of(uris=path).matches(next(iter(archive)))
