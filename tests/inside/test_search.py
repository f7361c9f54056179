"""Searching an index, also one that someone else made."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest

from seekwarc.errors import FormatError, SeekWarcError, SourceError, SourceTimeoutError, UnsupportedError
from seekwarc.inside.query import TextQuery
from seekwarc.inside.search import FEW, MAX_FOUND, Conditions, SearchFile
from tests.support.searching import DAY, build, captured

PAGES = {
    "http://example.org/tea": ("Tea of all kinds: tea, tea and tea.", 1),
    "http://www.example.org/milk": ("Milk for tea.", 2),
    "http://example.net/cake": ("Cake with tea and milk.", 3),
    "http://notexample.org/": ("Nothing but cake.", 4),
}


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    pages = [(captured(uri, day), text) for uri, (text, day) in PAGES.items()]
    return build(tmp_path_factory.mktemp("search") / "a.fts", pages)


def found(path: Path, query: str, **conditions: object) -> list[str]:
    order = conditions.pop("order", "rank")
    parsed = TextQuery.parse(query)
    which = Conditions(**conditions).narrowed(parsed)
    with SearchFile(path) as index:
        pages = index.find(parsed, which, order=order).pages
        return [index.captures(page, which)[0].uri.partition("://")[2] for page in pages]


def test_the_best_come_first(path) -> None:
    # "tea" is in the title of the first, too, and several times in its text.
    assert found(path, "tea")[0] == "example.org/tea"
    assert set(found(path, "tea")) == {"example.org/tea", "www.example.org/milk", "example.net/cake"}
    # One that has both comes before those that have one of them.
    assert found(path, "cake OR milk")[0] in ("example.net/cake", "www.example.org/milk")


def test_the_latest_come_first_if_asked(path) -> None:
    assert found(path, "tea OR cake", order="date") == [
        "notexample.org/",
        "example.net/cake",
        "www.example.org/milk",
        "example.org/tea",
    ]


@pytest.mark.parametrize("few", [1, FEW])
def test_a_domain_means_its_hosts_and_no_others(path, monkeypatch, few) -> None:
    monkeypatch.setattr("seekwarc.inside.search.FEW", few)
    assert set(found(path, "tea OR cake site:example.org")) == {"example.org/tea", "www.example.org/milk"}
    assert found(path, "tea", hosts=(("www.example.org",),)) == ["www.example.org/milk"]
    assert found(path, "tea site:example.org", hosts=(("example.net",),)) == []
    assert len(found(path, "site:example.org")) == 2
    assert found(path, "tea site:example.org", since=2 * DAY) == ["www.example.org/milk"]
    assert found(path, "tea site:example.net", until=2 * DAY, order="date") == []


def test_captures_are_chosen_by_date_type_and_media_type(path) -> None:
    assert found(path, "tea", since=2 * DAY, until=2 * DAY) == ["www.example.org/milk"]
    assert found(path, "tea type:pdf") == []
    assert len(found(path, "tea type:html")) == 3
    assert len(found(path, "tea", mimes=(("image/*", "text/*"),))) == 3
    assert found(path, "tea", kinds=("resource",)) == []
    assert found(path, "tea", kinds=("request",)) == []


@pytest.mark.slow
def test_a_search_returns_no_more_than_its_limit(tmp_path) -> None:
    pages = [(captured(f"http://a.org/{it}", it), f"tea {it}") for it in range(MAX_FOUND + 10)]
    with SearchFile(build(tmp_path / "a.fts", pages)) as index:
        search = index.find(TextQuery.parse("tea"), Conditions())
        assert (len(search.pages), search.is_whole) == (MAX_FOUND, False)
        assert index.page(5)[1] == "Title of http://a.org/4"
        impatient = SearchFile(index.name, max_time=0)
        with pytest.raises(SourceTimeoutError, match="longer than 0 s"), impatient:
            impatient.find(TextQuery.parse("tea OR te*"), Conditions(), order="date")


@pytest.mark.parametrize("data", [b"", b"x" * 200, b"SQLite format 3\0" + bytes(200)])
def test_other_files_are_refused(tmp_path, data) -> None:
    path = tmp_path / "a.fts"
    path.write_bytes(data)
    with pytest.raises(FormatError, match="is not a search index"):
        SearchFile(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path) -> None:
    for path in (tmp_path / "a.fts", tmp_path, tmp_path / "\0"):
        with pytest.raises(SourceError):
            SearchFile(path)


def changed(path: Path, target: Path, *statements: str) -> Path:
    """Return a copy of an index that someone else changed."""
    target.write_bytes(path.read_bytes())
    database = sqlite3.connect(target)
    database.execute("PRAGMA writable_schema = ON")
    for statement in statements:
        database.execute(statement)
    database.commit()
    database.close()
    return target


def test_an_index_of_another_version_is_refused(path, tmp_path) -> None:
    with pytest.raises(UnsupportedError, match="version 9"):
        SearchFile(changed(path, tmp_path / "a.fts", "PRAGMA user_version = 9"))


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW other AS SELECT 1",
        "CREATE TRIGGER t AFTER INSERT ON page BEGIN SELECT 1; END",
        "CREATE TABLE other (x)",
        "DROP TABLE capture",
        "ALTER TABLE capture ADD COLUMN more TEXT GENERATED ALWAYS AS (hex(uri))",
    ],
)
def test_an_index_with_other_tables_is_refused(path, tmp_path, statement) -> None:
    with pytest.raises(FormatError, match="damaged"):
        SearchFile(changed(path, tmp_path / "a.fts", statement))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE capture SET offset = 'x'",
        "UPDATE capture SET offset = -1",
        "UPDATE capture SET kind = 99",
        "UPDATE capture SET uri = x'ff'",
        "UPDATE file SET path = CAST(x'ff' AS TEXT)",
        "UPDATE capture SET length = 1e300",
        "UPDATE page SET hash = 'x'",
        "UPDATE words_data SET block = x'ffffffffffff'",
    ],
)
def test_invalid_values_are_damage(path, tmp_path, statement) -> None:
    hostile = changed(path, tmp_path / "a.fts", statement)
    with pytest.raises(FormatError, match="damaged"), SearchFile(hostile) as index:
        for page in index.find(TextQuery.parse("tea"), Conditions()).pages:
            index.captures(page, Conditions())
            index.page(page)


def test_an_index_is_never_written_to(path) -> None:
    before = path.read_bytes(), path.stat().st_mtime_ns
    with SearchFile(path) as index, pytest.raises(FormatError, match="readonly"):
        index._rows("DELETE FROM capture")
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert [it.name for it in path.parent.iterdir()] == [path.name]


@pytest.mark.slow
def test_mutants_give_typed_errors_or_answers(path, tmp_path) -> None:
    data, rng = path.read_bytes(), random.Random(1)
    queries = ["tea", "tea OR cake", '"tea and"', "te*", "site:example.org", "tea type:html"]
    mutant = tmp_path / "mutant.fts"
    refused = 0
    for turn in range(1500):
        made = bytearray(data)
        for _ in range(rng.choice((1, 1, 4, 40))):
            made[rng.randrange(100, len(made))] = rng.randrange(256)
        mutant.write_bytes(made[: rng.randrange(len(made))] if turn % 10 == 0 else made)
        try:
            with SearchFile(mutant, max_time=2) as index:
                for query in queries:
                    parsed = TextQuery.parse(query)
                    which = Conditions(since=0).narrowed(parsed)
                    for order in ("rank", "date"):
                        for page in index.find(parsed, which, order=order).pages[:20]:
                            index.captures(page, which)
                            index.count_captures(page, which)
                            index.page(page)
        except SeekWarcError:
            refused += 1
    assert 100 < refused < 1400
