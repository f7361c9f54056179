"""Choices of records: what a host is, and what a list may hold."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.edit.choosing import Choice
from seekwarc.errors import FormatError


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


def listed(tmp_path: Path, **changes: str) -> Path:
    """Return an index of a file of two pages, of which the lines are changed and the second is left out."""
    path = tmp_path / "2025" / "a.warc.zst"
    path.parent.mkdir()
    with seekwarc.open(path, "w") as out:
        for name in ("one", "two"):
            out.write_resource(
                f"http://e.org/{name}", name.encode(), "text/plain", date="2025-01-01T00:00:00Z"
            )
    index = tmp_path / "some.cdxj"
    tools.index({"2025/a.warc.zst": path}, index)
    line = index.read_text().splitlines(keepends=True)[0]
    for old, new in changes.items():
        line = line.replace(OLD[old], new)
    index.write_text(line)
    return index


OLD = {"name": "2025/a.warc.zst", "date": "20250101000000", "uri": "http://e.org/one"}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"name": "a.warc.zst"},
        {"name": "elsewhere/a.warc.zst"},
        {"date": "20250101000000123"},
        {"uri": "https://www.e.org/ONE"},
    ],
)
def test_a_line_names_its_record(tmp_path: Path, changes: dict[str, str]) -> None:
    choice = Choice.of(cdxj=listed(tmp_path, **changes))
    with seekwarc.open(tmp_path / "2025" / "a.warc.zst") as archive:
        assert [choice.matches(it) for it in archive] == [True, False]


@pytest.mark.parametrize("changes", [{"date": "20250101000001"}, {"uri": "http://e.org/other"}])
def test_a_line_of_another_record_at_its_place_is_an_error(tmp_path: Path, changes: dict[str, str]) -> None:
    index = listed(tmp_path, **changes)
    path = tmp_path / "2025" / "a.warc.zst"
    before = path.read_bytes()
    for conditions in ({"cdxj": index}, {"not_cdxj": index}):
        with pytest.raises(FormatError, match="names another URI or date here: make the index again"):
            tools.redact(path, in_place=True, **conditions)
    assert path.read_bytes() == before
    damage: list[FormatError] = []
    tools.filter(path, tmp_path / "new.warc.zst", not_cdxj=index, on_damage=damage.append)
    assert [it.offset for it in damage] == [0]


def test_a_line_of_a_file_in_another_folder_names_no_record(tmp_path: Path) -> None:
    index = listed(tmp_path, name="2026/a.warc.zst", uri="http://e.org/other")
    choice = Choice.of(cdxj=index)
    with seekwarc.open(tmp_path / "2025" / "a.warc.zst") as archive:
        assert [choice.matches(it) for it in archive] == [False, False]
