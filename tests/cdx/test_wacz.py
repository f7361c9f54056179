"""WACZ files read as collections, through their own index."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest

import seekwarc
from seekwarc.cdx.wacz import Page
from seekwarc.errors import FormatError, NotFoundError, SourceNotFoundError
from tests.support.rangeserver import RangeServer
from tests.support.waczs import FILM, FILM_BYTES, HOME, FileContent, huge, members, wacz, warc


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    path = tmp_path / "crawl.wacz"
    path.write_bytes(wacz(members()))
    return path


@pytest.mark.parametrize("ending", [".warc", ".warc.gz", ".warc.zst"])
@pytest.mark.parametrize("cluster", [True, False])
def test_a_wacz_is_a_collection_with_an_index(tmp_path: Path, ending: str, cluster: bool) -> None:
    path = tmp_path / "crawl.wacz"
    path.write_bytes(wacz(members({f"a{ending}": warc(f"a{ending}")}, cluster=cluster)))
    with seekwarc.Wacz(path) as archive:
        film = archive.open_record(uri=FILM).payload
        assert film.pread(200_000, 100) == FILM_BYTES[200_000:200_100]
        revisit = archive.open_record(uri=HOME)
        assert revisit.type == "revisit"
        assert b"garden" in revisit.payload.read()
        assert [record.type for record in archive].count("response") == 2
        assert list(archive.pages()) == [Page(HOME, "2026-11-17T06:00:00Z", "Home")]
        with pytest.raises(NotFoundError):
            archive.open_record(uri="http://example.org/missing")


def test_all_lists_of_pages_are_read(tmp_path: Path) -> None:
    page = b'{"format": "json-pages-1.0", "id": "x"}\n{"url": "http://example.org/%s", "ts": "2026-11-17"}\n'
    lists = {f"pages/{name}.jsonl": page % name.encode() for name in ("more", "extraPages")}
    (tmp_path / "crawl.wacz").write_bytes(wacz({**members(), **lists}))
    with seekwarc.Wacz(tmp_path / "crawl.wacz") as archive:
        found = [(page.uri, page.is_extra) for page in archive.pages()]
    names = [f"http://example.org/{name}" for name in ("extraPages", "more")]
    assert found == [(HOME, False), *((name, True) for name in names)]


def test_what_the_index_lacks_is_found_by_scanning(crawl: Path) -> None:
    with seekwarc.Wacz(crawl) as archive:
        revisit = archive.open_record(uri=HOME)
        assert archive.open_record(revisit.refers_to_id).target_uri == HOME
        original = archive.open_record(uri=HOME, date="2026-11-17T06:00:00Z")
        assert [it.id for it in archive.referring_to(original)] == [revisit.id]
        digest = original.payload_digest
        assert digest is not None
        assert len(archive.index.by_payload(digest)) == 2
        joined = archive.open_record(uri=FILM, joined=True)
        assert joined.payload.size == len(FILM_BYTES)


def test_open_returns_it_and_copies_open_it_again(crawl: Path) -> None:
    with seekwarc.open(crawl) as archive:
        assert isinstance(archive, seekwarc.Wacz)
        for other in (copy.copy(archive), pickle.loads(pickle.dumps(archive))):
            with other:
                assert other.open_record(uri=FILM).payload.size == len(FILM_BYTES)


@pytest.mark.parametrize(
    ("pages", "text"),
    [
        (b"{\n", "offset 0: this line is not JSON"),
        (b'{"format": "x"}\n[]\n', "offset 16: this line is not a JSON object"),
        (b'{"format": "x"}\n{"url": 1}\n', "offset 16: a page needs the texts url and ts"),
        (b'{"title": "' + bytes(4 << 20), "a line has more than"),
        (b'{"title": "' + b"a" * (5 << 19), "a line has more than 2097152"),
        (b"[" * 100_000, "is not JSON"),
    ],
)
def test_pages_that_are_not_pages_are_refused(tmp_path: Path, pages: bytes, text: str) -> None:
    path = tmp_path / "crawl.wacz"
    path.write_bytes(wacz({**members(), "pages/pages.jsonl": pages}))
    with seekwarc.Wacz(path) as archive, pytest.raises(FormatError, match=text):
        list(archive.pages())


def test_a_wacz_without_an_index_or_of_no_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "crawl.wacz"
    with pytest.raises(SourceNotFoundError):
        seekwarc.open(path)
    path.write_bytes(wacz({"archive/a.warc": warc("a.warc")}))
    with pytest.raises(FormatError, match="has no index in its folder indexes/"):
        seekwarc.open(path)
    path.write_bytes(wacz({"a.txt": b"x"}))
    with pytest.raises(FormatError, match="without WARC files"):
        seekwarc.Reader(path)


def test_bytes_are_not_the_name_of_a_wacz() -> None:
    with pytest.raises(TypeError, match="must be a path or a URL, not bytes"):
        seekwarc.Wacz(wacz(members()))


def test_an_index_cannot_name_a_file_outside_of_the_wacz(tmp_path: Path) -> None:
    found = members(cluster=False)
    found["indexes/index.cdxj"] = found["indexes/index.cdxj"].replace(b"a.warc.gz", b"../../a.warc.gz")
    path = tmp_path / "crawl.wacz"
    path.write_bytes(wacz(found))
    with seekwarc.Index(path) as index, pytest.raises(FormatError, match="outside the folder"):
        next(index.lookup(FILM)).open()


def test_64_kib_of_a_film_in_a_remote_wacz_of_10_gib_take_6_requests(tmp_path: Path) -> None:
    path = tmp_path / "huge.wacz"
    huge(path)
    with RangeServer(b"") as server:
        server.content = FileContent(b"", path=path)
        with seekwarc.open(f"{server.root}/huge.wacz") as archive:
            film = archive.open_record(uri=FILM).payload
            assert film.size == 10 << 30
            assert film.pread(9 << 30, 65_536) == bytes(65_536)
        assert len(server.asked) <= 6
        assert sum(one.sent for one in server.asked) < 2 << 20
