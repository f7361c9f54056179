"""Searching archives: hits, snippets, and archives that are not what they were."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.errors import FormatError
from seekwarc.inside.search import Conditions
from seekwarc.inside.search_file import Builder, Page
from seekwarc.make import text_searching
from tests.support.searching import captured
from tests.support.writing import response

PAGES = {
    "http://example.org/one": "Earl Grey, hot. " * 3,
    "http://example.org/two": "Grey Earl.",
    "http://example.net/three": "An earl with a grey hat.",
}


@pytest.fixture
def crawl(tmp_path):
    path = tmp_path / "a.warc.zst"
    with seekwarc.open(path, "w") as out:
        for number, (uri, text) in enumerate(PAGES.items(), 1):
            block = response(f"<title>Page {number}</title><p>{text}".encode(), "text/html")
            out.write_response(uri, block, date=f"2026-11-0{number}T12:00:00Z")
    tools.index_text(path, tmp_path / "a.fts")
    return path


@pytest.fixture
def index(crawl):
    return crawl.with_name("a.fts")


def test_a_hit_says_where_its_record_is(index, crawl) -> None:
    (hit,) = tools.search(index, "hat").hits
    assert (hit.uri, hit.date, hit.title) == ("http://example.net/three", "2026-11-03T12:00:00Z", "Page 3")
    assert (hit.mime, hit.type, hit.captures, hit.problem) == ("text/html", "response", 1, None)
    assert hit.snippet.marked("[", "]") == "An earl with a grey [hat]."
    with seekwarc.open(hit.file) as archive:
        record = archive.record_at(hit.offset, hit.length)
    assert (record.target_uri, hit.file) == (hit.uri, str(crawl))


def test_a_phrase_is_looked_for_in_the_texts(index) -> None:
    found = tools.search(index, '"earl grey"')
    assert [it.uri for it in found.hits] == ["http://example.org/one"]
    assert (found.total, found.is_total_exact, found.unread) == (1, True, 0)
    found = tools.search(index, '"earl grey" OR "grey earl"', limit=1, start=1)
    assert len(found.hits) == 1
    assert tools.search(index, "earl grey").total == 3
    assert tools.search(index, 'earl -"earl grey"').total == 2


def test_no_more_than_some_pages_are_read_for_a_phrase(index, monkeypatch) -> None:
    monkeypatch.setattr(text_searching, "MAX_READ", 1)
    found = tools.search(index, '"with a"')
    assert not found.is_total_exact or found.total == 1
    found = tools.search(index, '"earl grey" OR "grey hat"')
    assert not found.is_total_exact


def test_conditions_are_those_of_other_verbs(index) -> None:
    def uris(query: str, **conditions: object) -> list[str]:
        return sorted(it.uri[-3:] for it in tools.search(index, query, **conditions).hits)

    assert uris("earl", since="2026-11-02") == ["ree", "two"]
    assert uris("earl", until=datetime(2026, 11, 1, 12, tzinfo=UTC)) == ["one"]
    assert uris("earl", host="example.org", type="response", mime="text/*") == ["one", "two"]
    assert uris("earl", host=["example.net", "example.com"]) == ["ree"]
    assert uris("earl", mime="image/*") == []
    dates = [it.date for it in tools.search(index, "earl", order="date").hits]
    assert dates == sorted(dates, reverse=True)


def test_wrong_arguments_are_refused(index) -> None:
    for query, arguments in {
        "": {},
        "earl": {"limit": 0},
        "earl ": {"limit": 5000},
        "earl  ": {"start": -1},
        "earl   ": {"order": "size"},
        "earl    ": {"since": "yesterday"},
        "earl     ": {"type": "respons"},
    }.items():
        with pytest.raises(ValueError, match=r"."):
            tools.search(index, query, **arguments)
    with pytest.raises(TypeError, match="unknown condition: uri"):
        tools.search(index, "earl", uri="x")


def test_an_archive_that_is_gone_gives_no_snippet(index, crawl) -> None:
    crawl.unlink()
    (hit,) = tools.search(index, "hat").hits
    assert hit.snippet is None
    assert str(crawl) in hit.problem
    found = tools.search(index, '"earl grey"')
    assert (found.hits, found.unread, found.is_total_exact) == ([], 3, False)


def test_an_archive_that_changed_gives_no_wrong_snippet(index, crawl) -> None:
    with seekwarc.open(crawl, "w", existing="overwrite") as out:
        out.write_response("http://example.org/one", response(b"other words", "text/plain"))
    hits = tools.search(index, "earl").hits
    assert [it.snippet for it in hits] == [None] * 3
    assert any("has changed" in it.problem for it in hits)


def test_an_archive_that_only_grew_still_gives_snippets(index, crawl) -> None:
    with seekwarc.open(crawl, "a") as out:
        out.write_response("http://example.org/four", response(b"other words", "text/plain"))
    assert all(it.problem is None for it in tools.search(index, "earl").hits)


def test_another_capture_of_the_text_is_read_instead(index, crawl) -> None:
    copy = crawl.with_name("b.warc.zst")
    copy.write_bytes(crawl.read_bytes())
    tools.index_text(copy, index)
    for gone in (crawl, copy):
        data = gone.read_bytes()
        gone.unlink()
        (hit,) = tools.search(index, "hat").hits
        assert hit.snippet is not None
        assert hit.captures == 2
        gone.write_bytes(data)


def hostile(tmp_path, path: str):
    with Builder(str(tmp_path / "draft")) as builder:
        file = builder.begin_file(path, "1")
        builder.add(file, captured("http://a.org/", 1), Page.of("tea", None))
        builder.finish(str(tmp_path / "h.fts"))
    return tmp_path / "h.fts"


@pytest.mark.parametrize(
    "name", ["/dev/zero", "/proc/self/mem", "../..", "a\0b", "http://127.0.0.1:9/a.warc"]
)
def test_an_index_cannot_name_what_is_no_archive(tmp_path, name) -> None:
    (hit,) = tools.search(hostile(tmp_path, name), "tea").hits
    assert hit.snippet is None
    assert hit.problem


def test_remote_archives_are_read_only_if_allowed(tmp_path) -> None:
    path = hostile(tmp_path, "http://127.0.0.1:9/a.warc.zst")
    assert "--remote" in tools.search(path, "tea").hits[0].problem
    with pytest.MonkeyPatch.context() as patch:
        opened = []
        patch.setattr(text_searching, "WholeReader", lambda name: opened.append(name) or 1 / 0)
        with pytest.raises(ZeroDivisionError):
            tools.search(path, "tea", remote=True)
        assert opened == ["http://127.0.0.1:9/a.warc.zst"]


def test_a_page_without_captures_is_damage(index) -> None:
    database = sqlite3.connect(index)
    with database:
        database.execute("DELETE FROM capture")
    database.close()
    with pytest.raises(FormatError, match="has no capture"):
        tools.search(index, "earl")
    assert tools.search(index, '"earl grey"').unread == 3


def test_a_date_beyond_all_calendars_is_left_out(tmp_path) -> None:
    with Builder(str(tmp_path / "draft")) as builder:
        file = builder.begin_file("a", None)
        builder.add(file, captured("http://a.org/", 1 << 45), Page.of("tea", None))
        builder.finish(str(tmp_path / "h.fts"))
    (hit,) = tools.search(tmp_path / "h.fts", "tea").hits
    assert hit.date is None
    assert Conditions() == Conditions(since=None)


def test_a_search_of_named_files_finds_nothing_in_others(index, crawl) -> None:
    other = crawl.with_name("b.warc.gz")
    with seekwarc.open(other, "w") as out:
        out.write_response("http://example.com/", response(b"An earl.", "text/plain"), date="2026-11-09")
    tools.index_text(other, index)
    for files, wanted in (([crawl], 3), ([other], 1), ([crawl, other], 4), ([], 4)):
        with tools.SearchIndex(index, files=map(str, files)) as opened:
            opened.check()
            assert opened.files == [str(it) for it in files]
            assert opened.search("earl").total == wanted
            assert {it.file for it in opened.search("earl").hits} == {
                str(it) for it in files or [crawl, other]
            }


def test_an_index_of_another_state_of_a_file_is_noticed(index, crawl) -> None:
    other = crawl.with_name("b.warc.zst")
    with (
        tools.SearchIndex(index, files=[str(other)]) as opened,
        pytest.raises(FormatError, match="it does not list"),
    ):
        opened.check()
    with seekwarc.open(crawl, "a") as out:
        out.write_response("http://example.org/four", response(b"An earl.", "text/plain"))
    with (
        tools.SearchIndex(index, files=[str(crawl)]) as opened,
        pytest.raises(FormatError, match="has changed since"),
    ):
        opened.check()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("UPDATE capture SET uri = 'http://example.com/'", "has changed since it was indexed: at"),
        ("UPDATE capture SET date = date + 1", "has changed since it was indexed: at"),
        ("UPDATE capture SET page = 4 - page", "the text does not match"),
    ],
)
def test_what_an_index_says_of_a_record_is_compared_with_it(index, change: str, problem: str) -> None:
    with sqlite3.connect(index) as database:
        database.execute(change)
    database.close()
    (hit,) = tools.search(index, "hat").hits
    assert problem in hit.problem
