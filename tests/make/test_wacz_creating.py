"""WACZ files made of WARC files: what is in them, and that others take them."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import threading
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.errors import FormatError, NotFoundError, TargetExistsError, UnsupportedError
from seekwarc.make import wacz_creating
from tests.support.pages import answer, crawl_of
from tests.support.rangeserver import RangeServer
from tests.support.waczs import FILM, FILM_BYTES, HOME, members, wacz, warc


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("a.warc.gz", "b.warc.zst", "c.warc"):
        (tmp_path / name).write_bytes(warc(name))
    return tmp_path


def test_a_wacz_has_files_index_pages_and_hashes(files: Path) -> None:
    done = tools.create_wacz(["a.warc.gz", "b.warc.zst", "c.warc"], "x.wacz", title="Mine", description="All")
    assert (done.files, done.lines, done.pages, done.extra_pages) == (3, 9, 3, 0)
    assert done.size == os.path.getsize("x.wacz")
    with ZipFile("x.wacz") as made:
        assert made.testzip() is None
        assert made.read("archive/a.warc.gz") == (files / "a.warc.gz").read_bytes(), "copied as it is"
        package = json.loads(made.read("datapackage.json"))
        listed = {it["path"]: it for it in package["resources"]}
        assert listed.keys() == {*made.namelist()} - {"datapackage.json", "datapackage-digest.json"}
        for name, one in listed.items():
            data = made.read(name)
            assert (one["bytes"], one["hash"]) == (len(data), f"sha256:{hashlib.sha256(data).hexdigest()}")
            assert name.startswith("archive/") <= (made.getinfo(name).compress_type == ZIP_STORED)
            assert not made.getinfo(name).extra, "or players would need another request"
        assert (package["title"], package["description"], package["profile"]) == (
            "Mine",
            "All",
            "data-package",
        )
        digest = json.loads(made.read("datapackage-digest.json"))
        assert digest["hash"] == f"sha256:{hashlib.sha256(made.read('datapackage.json')).hexdigest()}"
    with seekwarc.Wacz("x.wacz") as archive:
        assert {page.title for page in archive.pages()} == {"Home & garden"}
        assert len(archive.index.by_uri(FILM)) == 3
        for reader in archive.files:
            assert reader.compression == "gz"
        for entry in archive.index.by_uri(FILM):
            assert archive.record(entry).payload.read() == FILM_BYTES


def test_an_uncompressed_file_and_a_pipe(files: Path) -> None:
    stream = io.BytesIO()
    tools.create_wacz("b.warc.zst", stream, compression="none")
    (files / "x.wacz").write_bytes(stream.getvalue())
    with seekwarc.Wacz("x.wacz") as archive:
        assert [it.compression for it in archive.files] == ["none"]
        assert archive.open_record(uri=FILM).payload.size == len(FILM_BYTES)
    tools.create_wacz("x.wacz", "y.wacz", compression="none")
    with ZipFile("x.wacz") as one, ZipFile("y.wacz") as other:
        assert one.read("archive/b.warc") == other.read("archive/b.warc")


def test_a_remote_file_is_fetched_once(files: Path) -> None:
    data = (files / "a.warc.gz").read_bytes()
    with RangeServer(data) as server:
        tools.create_wacz(f"{server.root}/a.warc.gz", "x.wacz")
        assert sum(one.sent for one in server.asked) < 2 * len(data)
    with ZipFile("x.wacz") as made:
        assert made.read("archive/a.warc.gz") == data


def test_listed_pages_come_first_and_others_are_extra(files: Path) -> None:
    missing: list[str] = []
    wanted = [FILM, "http://example.org/missing"]
    done = tools.create_wacz("a.warc.gz", "x.wacz", pages=wanted, on_warning=missing.append)
    assert (done.pages, done.extra_pages) == (1, 1)
    assert missing == ["no capture of the page http://example.org/missing"]
    with seekwarc.Wacz("x.wacz") as archive:
        assert [(page.uri, page.is_extra) for page in archive.pages()] == [(FILM, False), (HOME, True)]


def page(body: bytes, content_type: str = "text/html", status: int = 200) -> dict[str, object]:
    return {"payload": body, "http_headers": {"Content-Type": content_type}, "status": status}


def test_a_page_is_html_of_status_200_with_a_title(tmp_path: Path) -> None:
    captures = {
        "http://e.org/utf8": page("<TITLE lang=x> Ä\n b </title>".encode()),
        "http://e.org/latin": page("<title>Ä&#252;</title>".encode("latin-1"), "text/html; charset=latin-1"),
        "http://e.org/odd": page(b"<title>x</title>", "text/html; charset=none"),
        "http://e.org/404": page(b"<title>Not found</title>", status=404),
        "http://e.org/none": page(b"<p>No title"),
        "http://e.org/empty": page(b"<title> </title>"),
        "http://e.org/text": page(b"<title>x</title>", "text/plain"),
        "http://e.org/long": page(b"<title" + b" " * (1 << 20)),
    }
    path = tmp_path / "x.warc.gz"
    with seekwarc.open(path, "w", compression="gz") as out:
        for uri, fields in captures.items():
            out.write_response(uri, fields.pop("payload"), **fields)
    tools.create_wacz(path, tmp_path / "x.wacz")
    with seekwarc.Wacz(tmp_path / "x.wacz") as archive:
        titles = {it.uri.rpartition("/")[2]: it.title for it in archive.pages()}
    assert titles == {"utf8": "Ä b", "latin": "Äü", "odd": "x"}


DATES = {
    "2026": "2026-01-01T00:00:00Z",
    "2026-11-17": "2026-11-17T00:00:00Z",
    "2026-11-17T06:00Z": "2026-11-17T06:00:00Z",
    "2026-11-17T06:00:00": "2026-11-17T06:00:00Z",
    "2026-11-17T06:00:00.123456789Z": "2026-11-17T06:00:00.123456789Z",
    "2026-11-17T06:00:00+02:00": "2026-11-17T06:00:00+02:00",
}


def test_dates_of_pages_have_seconds_and_a_zone(tmp_path: Path) -> None:
    path = tmp_path / "x.warc"
    with seekwarc.open(path, "w") as out:
        for number, _ in enumerate(DATES):
            fields = page(b"<title>x</title>")
            out.write_response(
                f"http://e.org/{number}", fields.pop("payload"), date="2000-01-01T00:00:00Z", **fields
            )
    stored = path.read_bytes()
    for date in DATES:
        stored = stored.replace(b"2000-01-01T00:00:00Z", date.encode(), 1)
    path.write_bytes(stored)
    tools.create_wacz(path, tmp_path / "x.wacz")
    with seekwarc.Wacz(tmp_path / "x.wacz") as archive:
        assert [it.date for it in archive.pages()] == [*DATES.values()]
    assert not tools.validate_wacz(tmp_path / "x.wacz").findings


def test_many_lines_become_a_cluster(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seekwarc.make.wacz_writing.MAX_PLAIN", 2)
    tools.create_wacz("a.warc.gz", "x.wacz")
    with ZipFile("x.wacz") as made:
        assert {"indexes/index.idx", "indexes/index.cdx.gz"} < {*made.namelist()}
        assert made.getinfo("indexes/index.cdx.gz").compress_type == ZIP_STORED
    with seekwarc.Wacz("x.wacz") as archive:
        assert archive.open_record(uri=FILM).payload.size == len(FILM_BYTES)


def test_what_cannot_become_a_wacz_leaves_none(files: Path) -> None:
    with pytest.raises(ValueError, match="there are no files"):
        tools.create_wacz([], "x.wacz")
    with pytest.raises(ValueError, match="players read no other"):
        tools.create_wacz("a.warc.gz", "x.wacz", compression="zst")
    (files / "bad.warc.gz").write_bytes(b"<html>")
    with pytest.raises(FormatError, match=r"bad\.warc\.gz"):
        tools.create_wacz("bad.warc.gz", "x.wacz")
    os.mkfifo("pipe")
    threading.Thread(target=lambda: Path("pipe").write_bytes(b""), daemon=True).start()
    with pytest.raises(UnsupportedError, match="a pipe cannot be read twice"):
        tools.create_wacz("pipe", "x.wacz")
    assert sorted(path.name for path in files.iterdir() if "wacz" in path.name) == []
    Path("x.wacz").write_bytes(b"")
    with pytest.raises(TargetExistsError):
        tools.create_wacz("a.warc.gz", "x.wacz")


@pytest.mark.slow
@pytest.mark.needs("wacz")
def test_py_wacz_takes_it(files: Path) -> None:
    tools.create_wacz(["a.warc.gz", "b.warc.zst"], "x.wacz")
    done = subprocess.run(["wacz", "validate", "-f", "x.wacz"], capture_output=True, check=True, text=True)
    assert "the passed WACZ is valid" in done.stdout


@pytest.mark.slow
@pytest.mark.needs("wacz")
def test_what_py_wacz_makes_is_read(files: Path) -> None:
    subprocess.run(["wacz", "create", "-o", "x.wacz", "a.warc.gz"], capture_output=True, check=True)
    with seekwarc.Wacz("x.wacz") as archive:
        assert archive.open_record(uri=FILM).payload.read() == FILM_BYTES
        assert archive.open_record(uri=HOME).type == "revisit"


def test_a_wacz_of_another_tool_is_made_again(files: Path) -> None:
    (files / "old.wacz").write_bytes(wacz(members({"a.warc.zst": warc("a.warc.zst")})))
    assert tools.create_wacz("old.wacz", "x.wacz").lines == 3


def test_pages_have_their_text_if_wanted(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools.create_wacz(["a.warc.gz"], "x.wacz")
    tools.create_wacz(["a.warc.gz"], "y.wacz", text=True)
    lists = {}
    for name in ("x.wacz", "y.wacz"):
        with ZipFile(name) as made:
            lists[name] = [json.loads(line) for line in made.read("pages/pages.jsonl").splitlines()]
    assert [it.pop("hasText", None) for it in lists["y.wacz"]] == [True, None]
    text = lists["y.wacz"][1].pop("text")
    assert lists["x.wacz"] == lists["y.wacz"]
    with seekwarc.open("a.warc.gz") as archive:
        assert text == next(archive.records(type="response", uri=HOME)).payload.text().text
    monkeypatch.setattr(wacz_creating, "MAX_PAGE_TEXT", 3)
    tools.create_wacz(["a.warc.gz"], "z.wacz", text=True)
    with ZipFile("z.wacz") as made:
        assert json.loads(made.read("pages/pages.jsonl").splitlines()[1])["text"] == text[:3]
    assert tools.validate_wacz("y.wacz").is_valid


def test_a_page_whose_text_cannot_be_read_is_listed_without_it(tmp_path: Path) -> None:
    page = answer(b"<title>Broken</title>", "text/html", "Content-Encoding: gzip")
    crawl_of(
        tmp_path / "a.warc.gz",
        [page, answer(b"\x1f\x8b\x08" + b"\xff" * 90, "text/html", "Content-Encoding: gzip")],
    )
    told: list[str] = []
    tools.create_wacz(
        tmp_path / "a.warc.gz",
        tmp_path / "x.wacz",
        pages=["http://example.org/0", "http://example.org/1"],
        text=True,
        on_warning=told.append,
    )
    with ZipFile(tmp_path / "x.wacz") as made:
        assert len(made.read("pages/pages.jsonl").splitlines()) == 3
    assert len(told) == 1
    assert told[0].endswith("; the page is listed without text")


def test_a_file_whose_name_is_not_utf8_gets_one_that_is(files: Path) -> None:
    source = files / os.fsdecode(b"\xe9.warc.gz")
    try:
        shutil.copy(files / "a.warc.gz", source)
    except OSError:
        pytest.skip("names are UTF-8 on this file system")
    tools.create_wacz([source], files / "new.wacz")
    with ZipFile(files / "new.wacz") as made:
        assert "archive/%E9.warc.gz" in made.namelist()


@pytest.mark.parametrize("count", [1, 2])
def test_files_without_a_capture_make_no_wacz(count: int, tmp_path: Path) -> None:
    names = []
    for number in range(count):
        names.append(tmp_path / f"{number}-meta.warc.gz")
        with seekwarc.open(names[-1], "w") as out:
            out.write_warcinfo({"software": "x"})
            out.write_request("http://example.org/", b"GET / HTTP/1.1\r\n\r\n")
    with pytest.raises(NotFoundError, match="no capture, so no WACZ was made"):
        tools.create_wacz(names, tmp_path / "new.wacz")
    assert sorted(it.name for it in tmp_path.iterdir()) == [it.name for it in names]
