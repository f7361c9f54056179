"""Parts of archives by their index: chosen by its lines, fetched by their places, and nothing else read."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.errors import FormatError, NotFoundError
from tests.support.captures import SITES, related
from tests.support.rangeserver import RangeServer
from tests.support.writing import noise

FIXED = 296 << 10
"""Bytes that are read of a remote file whatever is wanted: its beginning and end, each time it is opened."""


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "new.warc.zst"


@pytest.fixture
def index(tmp_path: Path) -> Path:
    (tmp_path / "crawl.warc.zst").write_bytes(related())
    tools.index([tmp_path / "crawl.warc.zst"], tmp_path / "all.cdxj")
    return tmp_path / "all.cdxj"


def uris_in(path: Path) -> list[tuple[str | None, str | None]]:
    with seekwarc.open(path) as archive:
        return [(record.type, record.target_uri) for record in archive]


@pytest.mark.parametrize(
    ("conditions", "found"),
    [
        ({"hosts": ["example.org"]}, [0, 1, 2]),
        ({"hosts": ["example.org"], "invert": True, "type": "response"}, [3]),
        ({"not_hosts": ["www.example.org", "other.net"], "status": "2xx"}, [0, 2]),
        ({"uri": "https:*"}, [2]),
        ({"host": "example.org", "status": 201}, [1]),
        ({"status": 201}, [1]),
        ({"until": "2026-01", "type": "response"}, [0, 1, 2, 3]),
    ],
)
def test_records_are_chosen_by_their_lines(index, target, conditions, found) -> None:
    done = tools.filter(index, target, closure=False, **conditions)
    kept = [uri for kind, uri in uris_in(target) if kind == "response"]
    assert kept == [SITES[number] for number in found]
    assert done.records == done.matched == len(uris_in(target))
    assert done.bytes_recompressed == 0


def test_warcinfo_and_originals_come_along(index, tmp_path, target) -> None:
    done = tools.filter(index, target, uri="*/again")
    assert (done.matched, done.belonging["original"], done.belonging["warcinfo"]) == (1, 1, 1)
    assert uris_in(target) == [("warcinfo", None), ("response", SITES[0]), ("revisit", f"{SITES[3]}again")]
    lines = [it for it in index.read_text().splitlines(True) if f'"{SITES[0]}"' not in it]
    (tmp_path / "less.cdxj").write_text("".join(lines))
    done = tools.filter(tmp_path / "less.cdxj", target, uri="*/again", existing="overwrite")
    assert (done.belonging["original"], done.dangling, done.records) == (0, 1, 2)


@pytest.mark.parametrize("spelt", [lambda text: text, lambda text: "SHA1:" + text[5:].lower()])
def test_an_original_of_another_uri_is_found_by_its_digest(tmp_path, target, spelt) -> None:
    with seekwarc.open(tmp_path / "crawl.warc.zst", "w") as out:
        page = out.write_response("http://a/", b"page", status=200)
        digest = spelt(page.header.get("WARC-Payload-Digest"))
        out.write_revisit("http://b/", payload_digest=digest)
    tools.index([tmp_path / "crawl.warc.zst"], tmp_path / "all.cdxj")
    done = tools.filter(tmp_path / "all.cdxj", target, uri="http://b/")
    assert (done.belonging["original"], done.dangling) == (1, 0)
    assert uris_in(target) == [("response", "http://a/"), ("revisit", "http://b/")]


@pytest.mark.parametrize("name", ["part.idx", "part.parquet"])
def test_other_indexes_name_records_too(tmp_path, index, target, name) -> None:
    options = {"parquet": True} if name.endswith("parquet") else {}
    if options:
        pytest.importorskip("pyarrow")
    tools.index([tmp_path / "crawl.warc.zst"], tmp_path / name, **options)
    tools.filter(tmp_path / name, target, hosts=["other.net"], closure=False, type="response")
    assert uris_in(target) == [("response", SITES[3])]


@pytest.mark.slow
def test_a_remote_subset_costs_its_own_size(tmp_path, target) -> None:
    stored = io.BytesIO()
    with seekwarc.open(stored, "w") as out:
        info = out.write_warcinfo({"software": "test"})
        for number in range(2000):
            size = 300_000 if number == 777 else 8000 + number
            out.write_resource(f"http://{number % 100}.example/", noise(size), "text/plain", warcinfo_id=info)
    path = tmp_path / "crawl.warc.zst"
    path.write_bytes(stored.getvalue())
    tools.index([path], tmp_path / "crawl.cdxj")
    with RangeServer(stored.getvalue()) as server:
        done = tools.filter(tmp_path / "crawl.cdxj", target, files=server.root, hosts=["77.example"])
        asked = server.asked
    assert (done.matched, done.records) == (20, 21)
    assert done.size > 400_000
    assert sum(it.sent for it in asked) <= done.size + FIXED
    assert len(asked) <= done.matched + 6


def test_what_lines_do_not_tell_is_refused(index, target) -> None:
    for conditions in ({"min_size": 1}, {"ids": ["a"]}, {"not_ids": ["a"]}):
        with pytest.raises(ValueError, match="give the files themselves"):
            tools.filter(index, target, **conditions)
    with pytest.raises(NotFoundError, match="no record matches"):
        tools.filter(index, target, status=404)
    assert not target.exists()


@pytest.mark.parametrize(
    ("old", "new"), [("crawl.warc.zst", "../crawl.warc.zst"), ('"offset": "', '"offset": "x'), ("{", "[")]
)
def test_hostile_lines_are_refused(index, target, old, new) -> None:
    index.write_text(index.read_text().replace(old, new))
    with pytest.raises(FormatError):
        tools.filter(index, target)
    assert not target.exists()


def test_a_wrong_offset_is_damage_of_one_record(index, target) -> None:
    lines = index.read_text().splitlines(keepends=True)
    lines[0] = lines[0].replace('"offset": "', '"offset": "1')
    index.write_text("".join(lines))
    done = tools.filter(index, target, closure=False)
    assert (done.matched, done.records, len(done.damaged)) == (5, 4, 1)
