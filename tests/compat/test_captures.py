"""Captures are found in scanned files and in indexes alike."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.compat.captures import Captures, IndexedCaptures, ScannedCaptures
from seekwarc.compat.paths import name_of
from seekwarc.errors import FormatError, FormatWarning, NotFoundError
from tests.compat.conftest import FILM, SITE
from tests.support.crawls import PAGE_URI, heritrix
from tests.support.sources import RecordingSource

WAYS = {
    "scanned": lambda folder: ScannedCaptures([folder / "crawl.warc.zst"]),
    "indexed": lambda folder: IndexedCaptures(folder / "crawl.cdxj", None),
}


@pytest.fixture(params=WAYS)
def captures(request: pytest.FixtureRequest, crawl: Path) -> Iterator[Captures]:
    with WAYS[request.param](crawl) as found:
        yield found


def test_an_exact_uri_is_told_from_a_similar_one(captures: Captures) -> None:
    assert captures.exact("https://example.org/film.mp4", None) is None
    similar = captures.similar("https://example.org/film.mp4", None)
    exact = captures.exact(SITE + "film.mp4", None)
    assert similar is not None
    assert exact is not None
    assert (similar.offset, captures.open(similar).payload.size) == (exact.offset, len(FILM))
    assert captures.similar(SITE + "none", None) is None


def test_a_date_selects_the_nearest_capture(captures: Captures) -> None:
    uri = SITE + "docs/a.html?b=/c"
    for date, text in (
        ("2026111606", b"first"),
        ("20261118", b"second"),
        (None, b"third"),
        ("2027", b"third"),
    ):
        found = captures.exact(uri, date)
        assert found is not None
        assert captures.open(found).payload.read() == text


def test_below_a_folder_is_the_latest_capture_of_each_uri(captures: Captures) -> None:
    found = {name_of(it.uri): it for it in captures.below("http://example.org/docs/")}
    assert {"http://example.org/docs/a.html%3Fb=%2Fc", "http://example.org/docs/50%253A50.html"} <= set(found)
    assert str(found["http://example.org/docs/a.html%3Fb=%2Fc"].date) == "2026-11-20T06:00:00Z"
    assert list(captures.below("http://none.example/")) == []
    up = [it.uri for it in captures.below("http://example.org/%2E%2E/")]
    assert up == ["http://example.org/../../up"]


def test_notes_that_an_index_lists_are_not_captures(tmp_path: Path) -> None:
    (tmp_path / "a.warc.zst").write_bytes(heritrix().bytes())
    tools.index([tmp_path / "a.warc.zst"], tmp_path / "a.cdxj", all_records=True)
    with IndexedCaptures(tmp_path / "a.cdxj", None) as captures:
        for date in (None, "2009", "20100513155119"):
            found = captures.exact(PAGE_URI, date)
            assert found is not None
            assert captures.open(found).type == "response"
        assert [it.mime for it in captures.below("")] == ["text/html"]


def test_files_are_scanned_once_and_only_when_needed(crawl: Path) -> None:
    source = RecordingSource((crawl / "crawl.warc.zst").read_bytes())
    with ScannedCaptures([source]) as captures:
        assert source.requests == []
        assert captures.exact(SITE, None) is not None
        asked = len(source.requests)
        for path in ("film.mp4", "docs", "none"):
            captures.exact(SITE + path, None)
            captures.similar(SITE + path, "2026")
        assert len(list(captures.below(""))) == 9
        assert len(source.requests) == asked


def test_damage_is_passed_over_with_a_warning(crawl: Path, tmp_path: Path) -> None:
    data = (crawl / "crawl.warc.zst").read_bytes()
    with seekwarc.open(data) as archive:
        offsets = [record.offset for record in archive]
    broken = bytearray(data)
    broken[offsets[3]] ^= 255
    with (
        ScannedCaptures([bytes(broken)]) as captures,
        pytest.warns(FormatWarning, match=rf"1 place damaged \(offset {offsets[3]}\)"),
    ):
        assert captures.exact(SITE + "docs/a.html?b=/c", None) is not None
    with ScannedCaptures([bytes(broken)], on_error="skip") as captures:
        assert captures.exact(SITE + "docs/a.html?b=/c", None) is not None
        assert captures.exact(SITE + "docs", None) is None


def test_a_line_without_a_file_is_an_error(tmp_path: Path) -> None:
    index = tmp_path / "a.cdxj"
    index.write_bytes(b'org,example)/ 20261116060000 {"url": "http://example.org/", "offset": "0"}\n')
    with IndexedCaptures(index, None) as captures:
        with pytest.raises(FormatError, match="names no file"):
            captures.exact(SITE, None)
        with pytest.raises(NotFoundError):
            captures.at(0, None, None)


def test_sizes_of_chunked_bodies_are_known_if_they_are_small(tmp_path: Path) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    large = b"%x\r\n%b\r\n0\r\n\r\n" % (len(FILM), FILM)
    with seekwarc.open(tmp_path / "a.warc.zst", "w") as out:
        out.write_response(SITE + "small", head + b"5\r\nhello\r\n0\r\n\r\n")
        out.write_response(SITE + "large", head + large)
    with ScannedCaptures([tmp_path / "a.warc.zst"]) as captures:
        sizes = {it.uri: it.payload_size for it in captures.below("")}
        assert sizes[SITE + "small"] == 5
        assert sizes[SITE + "large"] in (None, len(FILM))


def test_a_folder_that_is_not_there_costs_few_reads_of_an_index() -> None:
    fields = b'{"url": "http://example%06d.org/", "offset": "0", "filename": "a.warc.zst"}'
    line = b"org,example%06d)/ 20261116060000 " + fields + b"\n"
    lines = [line % (number, number) for number in range(15_000)]
    source = RecordingSource(b"".join(lines), "a.cdxj")
    with IndexedCaptures(source, None) as captures:
        assert len(list(captures.below("http://example000007.org/"))) == 1
        source.forget()
        for prefix in ("nonsense/", "urn:example/", "http://none.example/a/", ".zarray/", "ftp:x/%2E%2E/"):
            assert list(captures.below(prefix)) == []
        assert source.bytes_asked < 1_000_000 < source.size


def test_a_folder_costs_its_own_lines_and_not_those_of_its_host() -> None:
    fields = b'{"url": "http://example.org/%03d/%d", "offset": "0", "filename": "a.warc.zst"}'
    line = b"org,example)/%03d/%d 20261116060000 " + fields + b"\n"
    places = [(folder, page) for folder in range(300) for page in range(10, 60)]
    source = RecordingSource(b"".join(line % (place + place) for place in places), "a.cdxj")
    with IndexedCaptures(source, None) as captures:
        found = [it.uri for it in captures.below("http://example.org/007/")]
    assert found == [f"http://example.org/007/{page}" for page in range(10, 60)]
    assert source.bytes_asked < source.size / 4
