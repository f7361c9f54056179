"""Paths of `warc://`: listings lead back to their URIs, whatever these are."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.compat.fsspec import WarcFileSystem
from seekwarc.compat.paths import CapturePath, folder_prefix, folders_of, name_of, uri_of

SEPARATORS = st.text(alphabet="/:?*[].%2FfEe5aA3\\#\n", max_size=14)
DEEP = st.builds("http://e.org{}{}".format, st.sampled_from(["/a" * 64, "/" * 65, "/a" * 200]), SEPARATORS)
MISLEADING = st.builds(
    "{}{}".format,
    st.sampled_from(
        ["warc://", "warc:/", "http:/", "2026", "2026/", "20261116060000id_/", "a@5", "@5+6/", "%/"]
    ),
    st.one_of(st.text(max_size=5), SEPARATORS, st.sampled_from(["http://e.org/", "urn:uuid:1", "@5"])),
)
URIS = st.one_of(
    DEEP,
    MISLEADING,
    st.text(max_size=20),
    SEPARATORS,
    st.builds("{}://{}".format, st.sampled_from(["http", "s3"]), SEPARATORS),
)


@given(URIS)
def test_a_name_leads_back_to_its_uri(uri: str) -> None:
    assert uri_of(name_of(uri)) == uri


@given(URIS, URIS)
def test_two_uris_never_share_a_name(one: str, other: str) -> None:
    assert (name_of(one) == name_of(other)) == (one == other)


@given(URIS)
def test_a_name_means_its_uri_alone(uri: str) -> None:
    name = name_of(uri)
    # With `warc://` or without, and as a mounted file system has it, where two slashes are one.
    for path in (name, f"warc://{name}", "/" + re.sub("//+", "/", name)):
        asked = CapturePath.parse(WarcFileSystem._strip_protocol(path))
        assert (asked.uris[:1], asked.date, asked.offset) == ((uri,), None, None)


@given(URIS)
def test_a_name_has_no_pattern_and_no_empty_part(uri: str) -> None:
    name = name_of(uri)
    assert not re.search(r"[*?\[\]\\]|::", name)
    parts = re.sub(r"^[A-Za-z][A-Za-z0-9+.\-]*://(?=[^/])", "", name).split("/")
    assert {"", ".", ".."}.isdisjoint(parts)


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("http://example.org/film.mp4", "http://example.org/film.mp4"),
        ("http://example.org/", "http://example.org/%2F"),
        ("http://example.org/a//b", "http://example.org/a/%2F/b"),
        ("http://example.org/a?b=/c", "http://example.org/a%3Fb=%2Fc"),
        ("http://example.org/a%20b", "http://example.org/a%20b"),
        ("http://example.org/50%3A50", "http://example.org/50%253A50"),
        ("http://example.org/../x", "http://example.org/%2E%2E/x"),
        ("http://[::1]/a", "http://%5B%3A%3A1%5D/a"),
        ("urn:example:plan", "urn:example:plan"),
        ("dns:example.org", "dns:example.org"),
        ("file:///etc/passwd", "%/file:/%2F/%2F/etc/passwd"),
        ("warc://example.org/a", "%/warc:/%2F/example.org/a"),
        ("2026/plan", "%/2026/plan"),
        ("a.warc.zst@5", "%/a.warc.zst@5"),
    ],
)
def test_what_a_listing_calls_a_uri(uri: str, name: str) -> None:
    assert name_of(uri) == name
    assert uri in CapturePath.parse(name).uris[:1]


@pytest.mark.parametrize(
    "uri",
    [
        "http://example.org/a?b=http%3A%2F%2Fc",
        "http://e.org/50%3A50",
        "http://e.org/%2F",
        "file:///etc/passwd",
    ],
)
def test_a_uri_with_escapes_of_its_own_is_found_too(uri: str) -> None:
    assert uri in CapturePath.parse(uri).uris


def test_a_path_may_be_a_uri_escaped_as_a_whole() -> None:
    assert "http://e.org/a b?c" in CapturePath.parse("http%3A%2F%2Fe.org%2Fa%20b%3Fc").uris


def test_a_date_precedes_a_uri() -> None:
    for date in ("2026", "20261116", "20261116060000"):
        path = CapturePath.parse(f"{date}/http://example.org/a")
        assert (path.date, path.uris) == (date, ("http://example.org/a",))
    assert CapturePath.parse("20261116060000id_/http://e.org/").date == "20261116060000"
    for nonsense in ("202611160", "20261399", "0000"):
        text = f"{nonsense}/http://e.org/"
        path = CapturePath.parse(text)
        assert path.date is None
        assert text in path.uris


def test_a_place_is_an_offset_and_perhaps_a_length_and_a_file() -> None:
    assert CapturePath.parse("@784").offset == 784
    path = CapturePath.parse("crawl-00001.warc.zst@784+512")
    assert (path.file, path.offset, path.length) == ("crawl-00001.warc.zst", 784, 512)
    assert CapturePath.parse("http://user@784").offset is None
    assert CapturePath.parse("mailto:me@784").offset is None


def test_an_id_is_recognised_in_angle_brackets_or_without() -> None:
    for path in ("urn:uuid:1-2", "<urn:uuid:1-2>"):
        assert CapturePath.parse(path).record_id == "urn:uuid:1-2"


def test_a_mounted_path_gets_its_second_slash_back() -> None:
    path = CapturePath.parse("/http:/example.org/a")
    assert (path.name, path.is_mounted) == ("http://example.org/a", True)


def test_folders_are_those_of_the_name() -> None:
    assert folder_prefix("") == ""
    assert folder_prefix("http:") == folder_prefix("http:/") == "http://"
    assert folder_prefix("http://e.org/a/") == folder_prefix("http://e.org/a") == "http://e.org/a/"
    assert folders_of("http://e.org/a/b", "") == ["http:", "http://e.org", "http://e.org/a"]
    assert folders_of("http://e.org/a/b", "http://e.org/") == ["http://e.org/a"]


def test_a_uri_of_very_many_slashes_has_few_folders() -> None:
    uri = "http://example.org/" + "a/" * 500_000
    name = name_of(uri)
    assert len(folders_of(name, "")) < 80
    assert uri_of(name) == uri
