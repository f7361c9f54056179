"""The file of a search index."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from seekwarc.errors import TargetError
from seekwarc.inside.query import TextQuery
from seekwarc.inside.search import Conditions, SearchFile
from seekwarc.inside.search_file import Builder, Page, host_key, text_key
from tests.support.searching import build, captured, key


def uris(path: Path, query: str) -> list[str]:
    with SearchFile(path) as index:
        found = index.find(TextQuery.parse(query), Conditions())
        return [it.uri for page in found.pages for it in index.captures(page, Conditions(), limit=9)]


def test_the_texts_are_not_in_the_file(tmp_path) -> None:
    text = " ".join(f"word{number}" for number in range(3000))
    path = build(tmp_path / "a.fts", [(captured("http://a.org/", 1), text)])
    assert b"word17 word18" not in path.read_bytes()
    assert uris(path, "word17 word2999") == ["http://a.org/"]


def test_a_text_that_was_captured_often_is_indexed_once(tmp_path) -> None:
    pages = [(captured(f"http://a.org/{number}", number), "the same") for number in range(50)]
    path = build(tmp_path / "a.fts", pages)
    database = sqlite3.connect(path)
    # The titles differ, and so do the pages.
    assert database.execute("SELECT count(*) FROM page").fetchone() == (50,)
    database.close()
    with Builder(str(tmp_path / "draft")) as builder:
        file = builder.begin_file("a", None)
        for capture, text in pages:
            builder.add(file, capture, Page.of(text, None))
        assert builder.finish(str(tmp_path / "b.fts")) == (1, 50)


def test_a_revisit_is_a_capture_of_the_page_with_its_digest(tmp_path) -> None:
    path = tmp_path / "a.fts"
    build(path, [(captured("http://a.org/later", 2, kind="revisit", digest=key("x")), None)])
    assert uris(path, "tea") == []
    build(path, [(captured("http://a.org/", 1, digest=key("x")), "tea")], "b.warc.zst")
    assert uris(path, "tea") == ["http://a.org/later", "http://a.org/"]


def test_a_file_that_changed_is_replaced(tmp_path) -> None:
    path = tmp_path / "a.fts"
    build(path, [(captured("http://a.org/", 1), "tea"), (captured("http://a.org/b", 1), "milk")])
    build(path, [(captured("http://a.org/b", 1), "milk"), (captured("http://a.org/c", 1), "cake")])
    assert uris(path, "tea") == []
    assert uris(path, "milk OR cake") == ["http://a.org/b", "http://a.org/c"]


def test_hosts_of_a_domain_follow_each_other() -> None:
    assert host_key("www.example.org") == "org,example,www,"
    assert host_key("") == ","


def test_texts_are_told_apart_with_their_titles() -> None:
    assert text_key("a", None) != text_key("a", "b")
    assert text_key("a", None) == text_key("a", "")


def test_a_disk_that_is_full_is_an_error_of_the_target(tmp_path) -> None:
    with Builder(str(tmp_path / "draft")) as builder:
        file = builder.begin_file("a", None)
        builder._database.execute("PRAGMA max_page_count = 40")
        builder._database.execute("PRAGMA cache_size = 2")

        def fill() -> None:
            for number in range(2000):
                text = " ".join(f"w{number}x{it}" for it in range(100))
                builder.add(file, captured(f"http://a.org/{number}", 1), Page.of(text, None))
            builder.finish(str(tmp_path / "a.fts"))

        with pytest.raises(TargetError, match="full"):
            fill()
