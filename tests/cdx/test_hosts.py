"""URLs are taken apart as Common Crawl's columnar index has them."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.cdx import hosts
from seekwarc.cdx.hosts import parse_host, parse_url


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://example.org/", ("example.org", "http", None, "/", None)),
        ("HTTPS://Example.ORG:8443/a/b?x=1&y#f", ("example.org", "https", 8443, "/a/b", "x=1&y")),
        ("http://user:word@example.org:80?", ("example.org", "http", 80, "", "")),
        ("http://example.org./", ("example.org", "http", None, "/", None)),
        ("http://example.org:/", ("example.org", "http", None, "/", None)),
        ("http://example.org:99999/", ("example.org", "http", None, "/", None)),
        ("http://[::1]:8080/x", ("[::1]", "http", 8080, "/x", None)),
        ("http://192.0.2.1/", ("192.0.2.1", "http", None, "/", None)),
        ("http://b%C3%BCcher.example/", ("xn--bcher-kva.example", "http", None, "/", None)),
        ("dns:example.org", ("", "dns", None, "example.org", None)),
        ("urn:uuid:5", ("", "urn", None, "uuid:5", None)),
        ("", ("", "", None, "", None)),
    ],
)
def test_parts_of_a_url(url: str, expected: tuple[object, ...]) -> None:
    parts = parse_url(url)
    assert (parts.host.name, *parts[1:]) == expected


@pytest.mark.parametrize(
    ("name", "registry", "registered", "private_suffix", "private"),
    [
        ("www.example.org", "org", "example.org", "org", "example.org"),
        ("a.b.example.co.uk", "co.uk", "example.co.uk", "co.uk", "example.co.uk"),
        ("shop.someone.github.io", "io", "github.io", "github.io", "someone.github.io"),
        ("co.uk", "co.uk", None, "co.uk", None),
        ("host.invalid-suffix-nobody-has", None, None, None, None),
        ("192.0.2.1", None, None, None, None),
    ],
)
def test_suffixes_and_domains(
    name: str, registry: str, registered: str, private_suffix: str, private: str
) -> None:
    host = parse_host(name)
    assert (host.registry_suffix, host.registered_domain) == (registry, registered)
    assert (host.private_suffix, host.private_domain) == (private_suffix, private)


def test_labels_come_last_first() -> None:
    host = parse_host("a.b.c.d.e.f.org")
    assert host.labels == ("org", "f", "e", "d", "c")
    assert host.reversed == "org.f.e.d.c.b.a"
    assert parse_host("localhost").labels == ("localhost", None, None, None, None)
    assert parse_host("127.0.0.1").labels == (None,) * 5
    assert parse_host("127.0.0.1").reversed is None


def test_suffixes_are_unknown_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "publicsuffixlist", None)
    # Without its cache: the lists take a second to read.
    monkeypatch.setattr(hosts, "_suffix_lists", hosts._suffix_lists.__wrapped__)
    host = parse_host("www.example.org")
    assert host.registry_suffix is host.registered_domain is host.private_domain is None
    assert host.labels[:2] == ("org", "example")


@given(st.text() | st.from_regex(r"(https?://)?[\w.:\[\]%@-]{0,30}[/?#]?.*", fullmatch=True))
def test_any_text_is_taken_apart(text: str) -> None:
    parts = parse_url(text)
    assert len(parts.host.labels) == 5
    assert parts.port is None or 0 <= parts.port <= 65535


def test_a_host_of_a_million_labels_takes_no_time() -> None:
    host = parse_url("http://" + "a." * 500_000 + "org/").host
    assert host.labels[:2] == ("org", "a")
    assert host.registered_domain is None
