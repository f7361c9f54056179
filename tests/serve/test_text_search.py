"""Searching the texts of files that are served."""

from __future__ import annotations

import shutil

import jsonschema
import pytest

import seekwarc
from seekwarc import tools
from seekwarc.errors import FormatError
from seekwarc.serve.app import application
from seekwarc.serve.library import Library
from seekwarc.serve.openapi import DESCRIPTION
from seekwarc.serve.text_search import TextSearch, is_text_index
from tests.serve.asgi import Client
from tests.support.writing import response


@pytest.fixture
def folder(tmp_path):
    with seekwarc.open(tmp_path / "a.warc.zst", "w") as out:
        for day in range(1, 5):
            block = response(
                f"<title>Tea {day}</title><p>Earl Grey, hot, number {day}.".encode(), "text/html"
            )
            out.write_response(f"http://example.org/{day}", block, date=f"2026-11-{day:02}T12:00:00Z")
        markup = response(
            b"<title>&lt;b&gt;x&lt;/b&gt;</title><p>&lt;script&gt;alert(1)&lt;/script&gt;", "text/html"
        )
        out.write_response("http://example.org/markup", markup, date="2026-11-09T12:00:00Z")
    tools.index_text(tmp_path / "a.warc.zst", tmp_path / "a.fts")
    return tmp_path


@pytest.fixture
def served(portal):
    """Return a client of a server of files, with an index."""
    opened = []

    def serve(index, *files) -> Client:
        library = Library(files)
        opened.append(library)
        library.read()
        return Client(application(library, search=TextSearch(library, str(index))), portal)

    yield serve
    for library in opened:
        library.close()


def search(client: Client, **query: object):
    answer = client.get("/api/search", **query)
    schema = {"$ref": "#/components/schemas/Hits", "components": DESCRIPTION["components"]}
    assert answer.status == 200, answer.json
    jsonschema.validate(answer.json, schema)
    return answer.json


def test_hits_lead_to_records(folder, served) -> None:
    client = served(folder / "a.fts", folder / "a.warc.zst")
    assert client.get("/api/summary").json["search"]
    found = search(client, q='"earl grey" number', order="date", count=2)
    assert [it["uri"][-1] for it in found["hits"]] == ["4", "3"]
    hit = found["hits"][0]
    assert [hit["snippet"][start:stop] for start, stop in hit["marks"]] == ["Earl Grey", "number"]
    record = client.get(f"/api/records/{hit['id']}").json
    assert (record["uri"], record["file"]) == (hit["uri"], hit["file"]) == (hit["uri"], "a.warc.zst")
    assert search(client, q="tea", since="2026-11-03", mime="text/", host="example.org")["total"] == 2
    assert [it["uri"][-1] for it in search(client, q="tea", order="date", start=1, count=1)["hits"]] == ["3"]


def test_snippets_are_text(folder, served) -> None:
    (hit,) = search(served(folder / "a.fts", folder / "a.warc.zst"), q="alert")["hits"]
    assert (hit["title"], hit["snippet"]) == ("<b>x</b>", "<script>alert(1)</script>")


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ({"q": ""}, "no word"),
        ({"q": "(tea"}, "no `)`"),
        ({"q": "a" * 2000}, "characters"),
        ({"q": "tea", "order": "size"}, "ordered by"),
        ({"q": "tea", "since": "yesterday"}, "yesterday"),
        ({"q": "tea", "start": "x"}, "start"),
        ({"q": "tea", "count": "51"}, "count"),
    ],
)
def test_wrong_queries_are_told(folder, served, query, why) -> None:
    answer = served(folder / "a.fts", folder / "a.warc.zst").get("/api/search", **query)
    assert answer.status == 400
    assert why in answer.json["error"]["message"]


def test_without_an_index_there_is_no_search(client) -> None:
    assert not client.get("/api/summary").json["search"]
    assert client.get("/api/search", q="tea").status == 404


def test_only_files_that_are_served_are_read(folder, served) -> None:
    shutil.copy(folder / "a.warc.zst", folder / "b.warc.zst")
    client = served(folder / "a.fts", folder / "b.warc.zst")
    hit = search(client, q="earl")["hits"][0]
    assert (hit["id"], hit["snippet"]) == (None, None)
    assert "not among the files" in hit["problem"]
    assert "/" not in hit["file"]


def test_files_that_were_moved_are_known_by_their_names(folder, served) -> None:
    (folder / "elsewhere").mkdir()
    (folder / "a.warc.zst").rename(folder / "elsewhere" / "a.warc.zst")
    hits = search(served(folder / "a.fts", folder / "elsewhere" / "a.warc.zst"), q="earl")["hits"]
    assert all(it["id"] and it["snippet"] for it in hits)


def test_a_new_version_of_the_index_is_used_at_once(folder, served) -> None:
    client = served(folder / "a.fts", folder / "a.warc.zst")
    assert search(client, q="milk")["total"] == 0
    with seekwarc.open(folder / "b.warc.zst", "w") as out:
        out.write_response("http://example.org/milk", response(b"milk", "text/plain"))
    tools.index_text(folder / "b.warc.zst", folder / "a.fts")
    assert search(client, q="milk")["total"] == 1


def test_an_index_that_breaks_is_an_error_of_the_server(folder, served) -> None:
    client = served(folder / "a.fts", folder / "a.warc.zst")
    (folder / "a.fts").write_bytes(b"nothing")
    answer = client.get("/api/search", q="tea")
    assert answer.status == 502
    assert "is not a search index" in answer.json["error"]["message"]
    with pytest.raises(FormatError):
        served(folder / "a.fts", folder / "a.warc.zst")


def test_an_index_is_known_by_its_name() -> None:
    assert is_text_index("/tmp/Crawl.FTS")
    assert not is_text_index("crawl.warc.zst")
    assert not is_text_index("https://example.org/crawl.fts")
