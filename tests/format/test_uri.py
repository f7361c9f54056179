"""URIs taken apart."""

from __future__ import annotations

from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.format.surt import surt
from seekwarc.format.uri import as_stored, as_utf8, host_of, idna, normalized, page_part, split_uri

PARTS = {
    "http://user@example.org:80/a/b?c=d?e#f": ("http", "user@example.org:80", "/a/b", "c=d?e"),
    "urn:uuid:1": ("urn", None, "uuid:1", None),
    "//example.org": (None, "example.org", "", None),
    "a?": (None, None, "a", ""),
    "": (None, None, "", None),
    "a\nb#?": (None, None, "a\nb", None),
}


@pytest.mark.parametrize(("uri", "parts"), PARTS.items())
def test_parts_of_a_uri(uri: str, parts: tuple[str | None, ...]) -> None:
    assert split_uri(uri) == parts
    assert split_uri(uri.encode()) == tuple(part if part is None else part.encode() for part in parts)


@given(st.text(st.characters(codec=None)))
def test_any_text_has_a_path(uri: str) -> None:
    scheme, authority, path, query = split_uri(uri)
    before = (f"{scheme}:" if scheme is not None else "") + (
        f"//{authority}" if authority is not None else ""
    )
    assert uri.startswith(before + path + (f"?{query}" if query is not None else ""))


def test_a_host_in_another_script_has_an_ascii_form() -> None:
    assert idna("bücher.example") == b"xn--bcher-kva.example"
    assert idna("ü" * 100) is None
    assert idna("faß.example") == b"fass.example"
    assert idna("faß.bücher.example", of_2008=True) == b"xn--fa-hia.xn--bcher-kva.example"
    assert normalized("http://faß.example/") == b"http://xn--fa-hia.example/"


def test_bytes_that_are_not_utf8_are_escaped() -> None:
    assert as_utf8("http://e.org/\udce9?\udcff=é") == "http://e.org/%E9?%FF=é"
    assert as_utf8("http://e.org/é") == "http://e.org/é"


@given(st.binary())
def test_a_written_uri_has_the_key_of_the_stored_one(data: bytes) -> None:
    uri = data.decode("utf-8", "surrogateescape")
    written = as_utf8(uri)
    written.encode()
    assert as_utf8(written) == written
    assert surt(written) == surt(uri)
    assert unquote_to_bytes(written) == unquote_to_bytes(data)


@pytest.mark.parametrize("host", [b"caf\xe9.example", b"\xff%E9", b"%c3%a9.example", "\u00fc".encode() * 100])
def test_a_written_uri_has_the_host_of_the_stored_one(host: bytes) -> None:
    uri = b"http://%b:80/" % host
    found = host_of(uri.decode("utf-8", "surrogateescape"))
    assert found.isascii()
    assert host_of(as_utf8(uri.decode("utf-8", "surrogateescape"))) == found


@given(st.binary())
def test_a_written_name_leads_back_to_the_stored_one(data: bytes) -> None:
    name = data.replace(b"%", b"").decode("utf-8", "surrogateescape")
    assert as_stored(as_utf8(name)) == name
    assert as_stored("%C3%A9%20") == "%C3%A9%20"


ESCAPES = [f"%{number:02X}" for number in range(256)]


@given(
    st.sampled_from(
        [("http://example.org/", "HTTP://Example.org.:80/"), ("x+1://a_b.c-d.e/f", "x+1://A_b.c-d.e:/%66")]
    ),
    st.lists(st.sampled_from([*map(chr, range(33, 127)), *ESCAPES, "a", "/", "?"]), max_size=8),
)
def test_a_normalized_uri_does_not_depend_on_how_it_is_written(
    site: tuple[str, str], rest: list[str]
) -> None:
    one, other = (normalized(it + "".join(rest) + "#fragment") for it in site)
    assert one == other == normalized(one.decode())


@pytest.mark.parametrize("rest", [":80x", ":80:80", "%2Fa", ":a", ":80\\", "]", "[", ":-1"])
def test_a_uri_with_an_invalid_host_is_not_that_of_another_host(rest: str) -> None:
    for more in ("", "/", "/a"):
        assert normalized(f"http://example.org{rest}{more}") not in (
            normalized(f"http://example.org{more}"),
            normalized(f"http://example.org/{more}"),
        )


@pytest.mark.parametrize(
    ("uri", "part"),
    [
        ("urn:view:https://a.org/", ("screenshot", "https://a.org/")),
        ("urn:fullPageFinal:https://a.org/?x=urn:text:", ("screenshot", "https://a.org/?x=urn:text:")),
        ("urn:text:https://a.org/", ("text", "https://a.org/")),
        ("urn:textFinal:https://a.org/", ("text", "https://a.org/")),
        ("urn:thumbnail:https://a.org/", ("thumbnail", "https://a.org/")),
        ("urn:pageinfo:https://a.org/", ("page-info", "https://a.org/")),
        ("urn:text:", (None, None)),
        ("urn:uuid:https://a.org/", (None, None)),
        ("https://a.org/urn:text:https://a.org/", (None, None)),
        (None, (None, None)),
    ],
)
def test_what_crawlers_make_of_a_page_is_named(uri, part) -> None:
    assert page_part("resource", uri) == part
    assert page_part("response", uri) == (None, None)
