"""What a revisit refers to, found through a CDXJ index."""

from __future__ import annotations

from pathlib import Path

import pytest

import seekwarc
from seekwarc import Index, ResolvedRevisit
from seekwarc.cdx import nearby
from seekwarc.errors import FormatError, NotFoundError, SegmentError, UnsupportedError
from seekwarc.make.indexing import index
from tests.support.writing import MIB, noise, sha1, text

URI = "http://example.org/"
HEAD = b'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nETag: "one"\r\n\r\n'
IDENTICAL = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"


class Crawl:
    """Files of one folder, one record each, and their index."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: dict[str, Path] = {}

    def put(self, write: str, *args: object, **options: object) -> str:
        name = f"{len(self.files)}.warc.zst"
        self.files[name] = self.folder / name
        with seekwarc.open(self.files[name], "w") as out:
            return getattr(out, write)(*args, **options).id

    def response(self, body: bytes, date: str, uri: str = URI, **options: object) -> str:
        return self.put("write_response", uri, HEAD + body, date=date, **options)

    def revisit(self, date: str, uri: str = URI, **options: object) -> str:
        return self.put("write_revisit", uri, HEAD, date=date, **options)

    def opened(self, date: str, uri: str = URI) -> seekwarc.Record:
        problems: list[FormatError] = []
        index(self.files, self.folder / "a.cdxj", on_problem=problems.append)
        assert problems == []
        with Index(self.folder / "a.cdxj") as found:
            record = next(found.lookup(uri, closest=date)).open()
            record.payload.read()
            return record


@pytest.fixture
def crawl(tmp_path: Path) -> Crawl:
    return Crawl(tmp_path)


def original_of(record: seekwarc.Record) -> str | None:
    assert isinstance(record, ResolvedRevisit)
    return record.original.id


ONE, OTHER = text(500, seed=1), text(600, seed=2)


def test_the_uri_and_date_in_a_revisit_find_its_original(crawl: Crawl) -> None:
    crawl.response(OTHER, "2020-01-01T00:00:00Z", "http://example.org/other")
    wanted = crawl.response(ONE, "2021-01-01T00:00:00Z", "http://example.org/other")
    crawl.response(OTHER, "2022-01-01T00:00:00Z")
    crawl.revisit(
        "2023-01-01T00:00:00Z",
        payload_digest=sha1(ONE),
        refers_to_target_uri="http://example.org/other",
        refers_to_date="2021-01-01T00:00:00Z",
    )
    record = crawl.opened("2023")
    assert original_of(record) == wanted


def test_a_date_more_precise_than_the_index_finds_the_original(crawl: Crawl) -> None:
    wanted = crawl.response(ONE, "2021-01-01T00:00:00.250Z")
    named = {"refers_to_target_uri": URI, "refers_to_date": "2021-01-01T00:00:00.250Z"}
    # The head is another one, so that nothing else leads there.
    head = HEAD.replace(b"one", b"two")
    crawl.put("write_revisit", URI, head, date="2023-01-01T00:00:00Z", profile=NOT_MODIFIED, **named)
    assert original_of(crawl.opened("2023")) == wanted


def test_the_digest_finds_captures_of_the_same_uri(crawl: Crawl) -> None:
    crawl.response(OTHER, "2020-01-01T00:00:00Z")
    wanted = crawl.response(ONE, "2021-01-01T00:00:00Z")
    crawl.response(OTHER, "2022-01-01T00:00:00Z")
    crawl.revisit("2023-01-01T00:00:00Z", payload_digest=sha1(ONE))
    assert original_of(crawl.opened("2023")) == wanted


def test_lines_without_a_digest_are_passed_over(crawl: Crawl) -> None:
    wanted = crawl.response(ONE, "2021-01-01T00:00:00Z")
    crawl.response(OTHER, "2022-01-01T00:00:00Z")
    crawl.revisit("2023-01-01T00:00:00Z", payload_digest=sha1(ONE))
    crawl.opened("2023")
    lines = (crawl.folder / "a.cdxj").read_text()
    (crawl.folder / "a.cdxj").write_text(lines.replace(f'"digest": "{sha1(OTHER)}", ', ""))
    with Index(crawl.folder / "a.cdxj") as found:
        captures = list(found.lookup(URI))
        assert [capture.digest is None for capture in captures] == [False, True, False]
        assert original_of(captures[2].open()) == wanted


@pytest.mark.parametrize("profile", [NOT_MODIFIED, IDENTICAL])
def test_a_capture_of_a_uri_with_the_same_key_is_taken_by_its_digest_only(crawl: Crawl, profile: str) -> None:
    """As by a collection, which does not know of keys."""
    wanted = crawl.response(ONE, "2021-01-01T00:00:00Z", "https://www.example.org/")
    named = {"refers_to_target_uri": URI, "refers_to_date": "2021-01-01T00:00:00Z"}
    digest = sha1(ONE) if profile == IDENTICAL else None
    crawl.revisit("2023-01-01T00:00:00Z", profile=profile, payload_digest=digest, **named)
    if profile == IDENTICAL:
        assert original_of(crawl.opened("2023")) == wanted
    else:
        with pytest.raises(NotFoundError):
            crawl.opened("2023")


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_same_uri_comes_before_others_with_its_key(crawl: Crawl, scheme: str) -> None:
    uri = f"{scheme}://example.org/"
    wanted = crawl.response(ONE, "2021-01-01T00:00:00Z", uri)
    other = {"http": "https", "https": "http"}[scheme] + "://example.org/"
    crawl.put("write_response", other, b"HTTP/1.1 301 Moved\r\n\r\n", date="2021-01-01T00:00:00Z")
    named = {"refers_to_target_uri": uri, "refers_to_date": "2021-01-01T00:00:00Z"}
    crawl.revisit("2023-01-01T00:00:00Z", profile=NOT_MODIFIED, **named)
    assert original_of(crawl.opened("2023")) == wanted


def test_a_revisit_not_modified_is_resolved_by_its_etag(crawl: Crawl) -> None:
    wanted = crawl.response(ONE, "2021-01-01T00:00:00Z")
    crawl.put("write_response", URI, HEAD.replace(b"one", b"two") + OTHER, date="2022-01-01T00:00:00Z")
    crawl.revisit("2023-01-01T00:00:00Z", profile=NOT_MODIFIED)
    assert original_of(crawl.opened("2023")) == wanted


def test_a_revisit_of_a_revisit_leads_to_the_original(crawl: Crawl) -> None:
    wanted = crawl.response(ONE, "2021-01-01T00:00:00Z", "http://example.org/first")
    crawl.revisit(
        "2022-01-01T00:00:00Z",
        "http://example.org/second",
        profile=NOT_MODIFIED,
        refers_to_target_uri="http://example.org/first",
        refers_to_date="2021-01-01T00:00:00Z",
    )
    crawl.revisit(
        "2023-01-01T00:00:00Z",
        profile=NOT_MODIFIED,
        refers_to_target_uri="http://example.org/second",
        refers_to_date="2022-01-01T00:00:00Z",
    )
    assert original_of(crawl.opened("2023")) == wanted


def test_an_original_that_is_not_in_the_index_is_not_found(crawl: Crawl) -> None:
    crawl.response(OTHER, "2021-01-01T00:00:00Z")
    revisit = crawl.revisit("2023-01-01T00:00:00Z", payload_digest=sha1(ONE))
    with pytest.raises(NotFoundError, match="this revisit refers to"):
        crawl.opened("2023")
    with Index(crawl.folder / "a.cdxj") as found:
        assert next(found.lookup(URI, closest="2023")).open(resolve=False).id == revisit


def test_an_original_of_another_uri_is_not_said_to_be_missing_in_the_files(crawl: Crawl) -> None:
    original = crawl.response(ONE, "2021-01-01T00:00:00Z", uri="http://example.org/other")
    crawl.revisit("2023-01-01T00:00:00Z", payload_digest=sha1(ONE), refers_to=original)
    with pytest.raises(NotFoundError, match="the record that this revisit refers to was not found"):
        crawl.opened("2023")
    with seekwarc.Collection(crawl.files.values()) as files:
        assert original_of(files.open_record(uri=URI)) == original


def test_a_revisit_of_an_unknown_profile_is_not_interpreted(crawl: Crawl) -> None:
    crawl.response(ONE, "2021-01-01T00:00:00Z")
    crawl.revisit("2023-01-01T00:00:00Z", profile="http://example.org/profile")
    with pytest.raises(UnsupportedError, match="profile"):
        crawl.opened("2023")


def test_a_segmented_record_needs_a_collection(tmp_path: Path) -> None:
    with seekwarc.open(tmp_path / "a.warc.zst", "w", max_file_size=4 * MIB) as out:
        out.write_resource(URI, noise(9 * MIB), "video/mp4", date="2021-01-01T00:00:00Z")
    crawl = Crawl(tmp_path)
    crawl.files = {path.name: path for path in tmp_path.glob("*.warc.zst")}
    assert len(crawl.files) > 2
    with pytest.raises(SegmentError):
        crawl.opened("2021")


def test_the_number_of_captures_examined_is_bounded(crawl: Crawl, monkeypatch) -> None:
    monkeypatch.setattr(nearby, "MAX_LINES", 3)
    crawl.response(ONE, "2021-01-01T00:00:00Z")
    for day in range(1, 5):
        crawl.response(OTHER, f"2023-01-0{day}T00:00:00Z")
    crawl.revisit("2023-01-09T00:00:00Z", payload_digest=sha1(ONE))
    with pytest.raises(NotFoundError):
        crawl.opened("2023-01-09")
