"""SURT keys. tests/interop/test_cdxj_indexer.py compares them with another implementation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.format.surt import browser_key, surt
from tests.support.work import watchdog

KEYS = [
    ("http://archive.org/goo/?a=2&b&a=1", "org,archive)/goo?a=1&a=2&b"),
    ("example.org", "org,example)/"),
    ("//example.org/x", "org,example)/x"),
    ("http://example.org", "org,example)/"),
    ("HTTP://www2.Example.ORG:80/Foo/../BAR//baz/?B=1&a=2#frag", "org,example)/bar/baz?a=2&b=1"),
    ("https://example.org:443/", "org,example)/"),
    ("https://example.org:8080/x", "org,example:8080)/x"),
    ("http://example.org:443/", "org,example:443)/"),
    ("http://user:pass@example.org/x", "org,example)/x"),
    ("ftp://example.org:21/x", "org,example:21)/x"),
    ("whois://whois.x.net/example", "net,x,whois)/example"),
    # Hosts.
    ("http://www.com/", "com)/"),
    ("http://www1.www.x.com/", "com,x,www)/"),
    ("http://.a..example.org./", "org,example,a)/"),
    ("http://münchen.de/", "de,xn--mnchen-3ya)/"),
    ("http://%C3%A9xample.org/", "org,xn--xample-9ua)/"),
    ("http://ex%2541mple.org/", "org,example)/"),
    ("http://ex ample.org/", "org,ex%20ample)/"),
    (f"http://{'é' * 70}.org/", f"org,{'%c3%a9' * 70})/"),
    ("http://[2001:DB8::1]:8080/x", "2001:db8::1:8080)/x"),
    ("http://127.0.0.1/", "1,0,0,127)/"),
    ("http://127.1/", "1,0,0,127)/"),
    ("http://1.2.3/", "3,0,2,1)/"),
    ("http://0177.0.0.1/", "1,0,0,127)/"),
    ("http://3232235777/", "1,1,168,192)/"),
    ("http://256.1.1.1/", "1,1,1,256)/"),
    ("http://08.1.1.1/", "1,1,1,08)/"),
    ("http://1.2.3.4.5/", "5,4,3,2,1)/"),
    # Paths.
    ("http://example.org/a/./b/../c/", "org,example)/a/c"),
    ("http://example.org/../a", "org,example)/../a"),
    ("http://example.org//", "org,example)/"),
    ("http://example.org/%7Efoo/%2525/%zz", "org,example)/~foo/%25/%25zz"),
    ("http://example.org/a b\tc\x7f\u00e9", "org,example)/a%20bc%7f%c3%a9"),
    ("http://example.org/%23foo", "org,example)/%23foo"),
    ("http://example.org/(S(4hqa0555fwsecu455xqckv45))/mileg.aspx", "org,example)/mileg.aspx"),
    ("http://example.org/(4hqa0555fwsecu455xqckv45)/mileg.aspx?x=1", "org,example)/mileg.aspx?x=1"),
    (
        "http://example.org/(4hqa0555fwsecu455xqckv45)/page.html",
        "org,example)/(4hqa0555fwsecu455xqckv45)/page.html",
    ),
    # Queries.
    ("http://example.org/?", "org,example)/"),
    ("http://example.org?x=1", "org,example)/?x=1"),
    ("http://example.org/?a=1=2&a", "org,example)/?a&a=1=2"),
    ("http://example.org/?b=2&a=1&", "org,example)/?&a=1&b=2"),
    (f"http://example.org/a?jsessionid={'0aF4' * 8}", "org,example)/a"),
    (f"http://example.org/a?x=1&PHPSESSID={'0aF4' * 8}&y=2", "org,example)/a?x=1&y=2"),
    (f"http://example.org/a?x=1&sid={'0' * 31}", f"org,example)/a?sid={'0' * 31}&x=1"),
    (f"http://example.org/a?ASPSESSIONIDABCDEFGH={'Q' * 24}&z", "org,example)/a?z"),
    ("http://example.org/a?cfid=1&cftoken=2&z=3", "org,example)/a?z=3"),
    ("http://example.org/a?cfid=&cftoken=2", "org,example)/a?cfid=&cftoken=2"),
    # Slashes too many, too few, and the scheme twice.
    ("http:/example.org/", "org,example)/"),
    ("http:example.org", "org,example)/"),
    ("http:///example.org/", "org,example)/"),
    ("http://https://example.org/", "org,example)/"),
    # Not of the web.
    ("dns:example.org", "dns:example.org"),
    ("dns:WWW.Example.ORG", "dns:www.example.org"),
    ("DNS:Example.org", "dns:example.org"),
    ("dns:Example.org?Type=A", "dns:example.org?type=a"),
    ("dns://192.0.2.1/Example.org?type=A", "1,2,0,192)/example.org?type=a"),
    ("warcinfo:foo/Bar.warc.gz", "warcinfo:foo/bar.warc.gz"),
    ("filedesc:foo", "filedesc:foo"),
    ("mailto:A@b.c", "mailto:a@b.c"),
    ("urn:uuid:ABC-def", "urn:uuid:abc-def"),
    ("data:text/html,<b>x y</b>", "data:text/html,<b>x%20y</b>"),
    ("file:///tmp/X y", "file:/tmp/x%20y"),
    ("screenshot:http://example.org/", "screenshot:http://example.org"),
    # What cannot be taken apart.
    ("", "-"),
    (" \t\r\n", "-"),
    ("http://example.org:abc/X y", "http://example.org:abc/X%20y"),
    ("http://example.org:65536/", "http://example.org:65536/"),
]


@pytest.mark.parametrize(("uri", "key"), KEYS)
def test_a_key_is_what_the_wayback_machine_makes_of_a_uri(uri: str, key: str) -> None:
    assert surt(uri) == key


@given(st.text() | st.text("htp:/.?&=%25#[]@(ax \\éw0").map("http://{}".format))
def test_a_key_of_any_uri_fits_into_a_line(uri: str) -> None:
    key = surt(uri)
    assert key.isascii()
    assert key.isprintable()
    assert " " not in key
    assert key


def test_bytes_that_are_not_text_are_escaped() -> None:
    assert surt(b"http://example.org/\xff".decode("utf-8", "surrogateescape")) == "org,example)/%ff"


@pytest.mark.parametrize(
    "uri",
    [
        "http://x/%" + "25" * 200_000,
        "http://x/?" + "cfid=" * 200_000,
        "http://x/?" + "cfid=1&cftoken=&" * 60_000,
        "http://x/?" + "sid=" * 200_000,
        "http://x/" + ("(" + "a" * 24 + ")/") * 30_000 + "?.aspx",
        "http://x/" + ("(" + "a" * 24 + ")/%3F") * 30_000 + "x.aspx",
        "http://x/" + "(a(" * 200_000,
        "http://x/" + "../" * 300_000,
        "http://" + "9" * 1_000_000,
        "http://" + "1." * 500_000,
        "http://" + "é" * 400_000,
        "http:" * 200_000,
        "http://" + "@" * 900_000,
    ],
    ids=lambda uri: uri[:20],
)
def test_no_uri_is_slow(uri: str) -> None:
    with watchdog():
        surt(uri)
        browser_key(uri)


# URIs, their keys as browsers write them, and as they are if those differ; warcio.js agrees.
OF_BROWSERS = {
    "https://example.org/Café/?q=ü'": (
        "org,example)/caf%c3%a9/?q=%c3%bc%27",
        "org,example)/caf%C3%A9/?q=%C3%BC%27",
    ),
    'https://example.org/<x>{"}`|^?a=<{`': (
        "org,example)/%3cx%3e%7b%22%7d%60|^?a=%3c{`",
        "org,example)/%3Cx%3E%7B%22%7D%60|^?a=%3C{`",
    ),
    "https://WWW.Example.ORG:443?b&ü&A": ("org,example)/?%c3%bc&a&b", "org,example,www)/?%C3%BC&a&b"),
    "http://straße.example/./a/.": ("example,xn--strae-oqa)/a/",),
    "http://a.org/a/%2E%2e/b\\c": ("org,a)/b/c",),
    "http://a.org/?": ("org,a)/",),
    "http://a.org/?&b=2&a": ("org,a)/?&a&b=2",),
    "urn:view:https://A.org/ü": ("urn:view:https://A.org/%C3%BC",),
}


@pytest.mark.parametrize("uri", OF_BROWSERS)
def test_keys_of_browsers_are_of_uris_with_escapes(uri: str) -> None:
    written, raw = OF_BROWSERS[uri][0], OF_BROWSERS[uri][-1]
    assert (browser_key(uri), browser_key(uri, raw=True)) == (written, raw)
