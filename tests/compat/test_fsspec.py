"""`warc://`: every path leads to its bytes, listings lead everywhere, and nothing can be written."""

from __future__ import annotations

import errno
import gzip
import importlib
import pickle
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.core import url_to_fs
from hypothesis import example, given
from hypothesis import strategies as st

import seekwarc
from seekwarc import tools
from seekwarc.compat.fsspec import WarcFileSystem
from seekwarc.errors import ChecksumError, FormatError, LimitError, SourceError, UnsupportedError
from seekwarc.format.uri import as_utf8
from tests.compat.conftest import FILM, PAGE, SITE
from tests.conftest import ROOT
from tests.support.partial import URI, PartsWriter
from tests.support.sources import RecordingSource

WAYS = {
    "scanned": lambda folder: {"fo": str(folder / "crawl.warc.zst")},
    "indexed": lambda folder: {"index": str(folder / "crawl.cdxj")},
}
ID = "urn:uuid:00000000-0000-4000-8000-000000000001"


@pytest.fixture(params=WAYS)
def archive(request: pytest.FixtureRequest, crawl: Path) -> Iterator[WarcFileSystem]:
    file_system = WarcFileSystem(**WAYS[request.param](crawl))
    yield file_system
    file_system.close()


@pytest.fixture
def scanned(crawl: Path) -> Iterator[WarcFileSystem]:
    file_system = WarcFileSystem(crawl / "crawl.warc.zst")
    yield file_system
    file_system.close()


def test_the_package_offers_the_file_system_to_fsspec() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module, _, name = project["entry-points"]["fsspec.specs"]["warc"].partition(":")
    assert getattr(importlib.import_module(module), name) is WarcFileSystem
    assert fsspec.get_filesystem_class("warc") is WarcFileSystem


# Which record a path leads to.


@pytest.mark.parametrize(
    ("path", "content"),
    [
        (SITE, PAGE),
        ("http://example.org/film.mp4", FILM),
        ("https://www.example.org/film.mp4", FILM),
        (SITE + "docs", b"moved"),
        (SITE + "docs/a.html?b=/c", b"third"),
        (SITE + "docs/a.html%3Fb=%2Fc", b"third"),
        ("2026/http://example.org/docs/a.html?b=/c", b"first"),
        ("20261117/http://example.org/docs/a.html?b=/c", b"first"),
        ("20261117180000/http://example.org/docs/a.html?b=/c", b"second"),
        ("20261118060000id_/http://example.org/docs/a.html?b=/c", b"second"),
        ("20261119235959/http://example.org/docs/a.html?b=/c", b"third"),
        ("2030/http://example.org/docs/a.html?b=/c", b"third"),
        (SITE + "docs/50%3A50.html", b"per cent"),
        (SITE + "docs/50%253A50.html", b"per cent"),
        ("https://other.example/a::b/[c]*", b"resource"),
        ("https://other.example/a%3A%3Ab/%5Bc%5D%2A", b"resource"),
        ("urn:example:plan", b"a plan"),
        ("warc://urn:example:plan", b"a plan"),
        ("/http:/example.org/film.mp4", FILM),
    ],
)
def test_path_leads_to_payload(archive: WarcFileSystem, path: str, content: bytes) -> None:
    assert archive.cat_file(path) == content
    with archive.open(path) as file:
        assert file.read() == content
    info = archive.info(path)
    assert (info["name"], info["type"], info["size"]) == (path.removeprefix("warc://"), "file", len(content))


def test_a_revisit_has_the_payload_of_its_original(archive: WarcFileSystem) -> None:
    record = archive.record("20261117/" + SITE)
    assert record.type == "revisit"
    assert archive.cat_file("20261117/" + SITE) == PAGE


def test_a_record_is_found_by_its_id(scanned: WarcFileSystem) -> None:
    assert scanned.cat_file(ID) == scanned.cat_file(f"<{ID}>") == PAGE
    with pytest.raises(FileNotFoundError, match="no record has this ID"):
        scanned.info("urn:uuid:0")


def test_an_index_says_that_it_knows_no_ids(crawl: Path) -> None:
    archive = WarcFileSystem(index=crawl / "crawl.cdxj")
    with pytest.raises(UnsupportedError, match="open the files themselves"):
        archive.cat_file(ID)
    assert not archive.isdir(ID)
    assert not archive.exists(ID)
    archive.close()


def test_a_record_is_found_by_its_place_without_a_scan(crawl: Path) -> None:
    with seekwarc.open(crawl / "crawl.warc.zst") as reader:
        film = next(it for it in reader if it.http is not None and it.payload.size == len(FILM))
        place, length = film.offset, film.length
    source = RecordingSource((crawl / "crawl.warc.zst").read_bytes())
    archive = WarcFileSystem(source)
    for path in (f"@{place}", f"@{place}+{length}", f"{source.name}@{place}"):
        source.forget()
        assert not archive.isdir(path)
        assert source.requests == []
        assert archive.cat_file(path, 2_000_000, 2_000_100) == FILM[2_000_000:2_000_100]
        assert source.bytes_asked < 600_000
    archive.close()


def test_of_several_files_a_place_names_one(crawl: Path, tmp_path: Path) -> None:
    with seekwarc.open(tmp_path / "more.warc.zst", "w") as out:
        offset = out.write_resource("http://example.org/more", b"more", "text/plain").offset
    files = [str(crawl / "crawl.warc.zst"), str(tmp_path / "more.warc.zst")]
    archive = WarcFileSystem(files)
    assert archive.cat_file(f"more.warc.zst@{offset}") == b"more"
    assert archive.cat_file("http://example.org/more") == b"more"
    assert archive.cat_file(SITE) == PAGE
    for path in (f"@{offset}", "none.warc.zst@0"):
        with pytest.raises(FileNotFoundError, match=r"FILE@OFFSET, such as crawl\.warc\.zst, more"):
            archive.cat_file(path)
    archive.close()
    indexed = WarcFileSystem(index=crawl / "crawl.cdxj")
    assert indexed.record("crawl.warc.zst@0").type == "warcinfo"
    with pytest.raises(FormatError, match="outside the folder"):
        indexed.cat_file("..@0")
    with pytest.raises(FileNotFoundError, match="FILE@OFFSET"):
        indexed.cat_file("@0")
    indexed.close()


# What is not there.


def test_a_missing_uri_names_the_nearest_captures(archive: WarcFileSystem) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"no capture has this URI; the nearest are http://example\.org/"
    ) as found:
        archive.cat_file(SITE + "docs/none.html")
    assert found.value.errno == errno.ENOENT
    assert found.value.filename == SITE + "docs/none.html"
    assert "docs/" in str(found.value)
    with pytest.raises(FileNotFoundError):
        archive.open("nonsense")
    assert not archive.exists(SITE + "none")
    assert not archive.isdir(SITE + "none")
    assert archive.find(SITE + "none") == []


def test_a_place_where_no_record_begins_is_a_typed_error(scanned: WarcFileSystem) -> None:
    for path in ("@7", "@999999999999999999"):
        with pytest.raises(FormatError):
            scanned.cat_file(path)


def test_an_index_whose_files_are_missing_names_the_file(crawl: Path, tmp_path: Path) -> None:
    (tmp_path / "crawl.cdxj").write_bytes((crawl / "crawl.cdxj").read_bytes())
    archive = WarcFileSystem(index=tmp_path / "crawl.cdxj")
    with pytest.raises(SourceError, match=r"crawl\.warc\.zst"):
        archive.cat_file(SITE)
    archive.close()
    elsewhere = WarcFileSystem(index=tmp_path / "crawl.cdxj", files=crawl)
    assert elsewhere.cat_file(SITE) == PAGE
    elsewhere.close()


def test_a_damaged_frame_is_an_error_and_other_records_are_not(crawl: Path, tmp_path: Path) -> None:
    data = bytearray((crawl / "crawl.warc.zst").read_bytes())
    data[1_500_000] ^= 255
    archive = WarcFileSystem(bytes(data))
    paths = [SITE + "film.mp4", SITE, SITE + "film.mp4", SITE + "none"]
    damaged, page, whole, missing = archive.cat_ranges(paths, [0, 0, 10, 0], [None, 5, 20, 9])
    assert isinstance(damaged, ChecksumError)
    assert (page, whole) == (PAGE[:5], FILM[10:20])
    assert isinstance(missing, FileNotFoundError)
    with pytest.raises(ChecksumError):
        archive.cat_ranges(paths, 0, None, on_error="raise")
    archive.close()


def test_options_are_checked() -> None:
    with pytest.raises(TypeError, match=r"the files .* or an index"):
        WarcFileSystem()
    with pytest.raises(TypeError, match=r"the files .* or an index"):
        WarcFileSystem("a.warc.zst", index="a.cdxj")
    with pytest.raises(TypeError, match=r"no option thread$"):
        WarcFileSystem("a.warc.zst", thread=2)
    with pytest.raises(SourceError, match=r"missing\.warc\.zst"):
        WarcFileSystem("missing.warc.zst")


# Listings.


def test_folders_are_those_of_the_uris(archive: WarcFileSystem) -> None:
    assert archive.ls("", detail=False) == ["http:", "https:", "urn:example:plan"]
    assert archive.ls("http:", detail=False) == archive.ls("http://", detail=False) == ["http://example.org"]
    top = ["%2E%2E", "%2F", "docs", "film.mp4"]
    assert archive.ls("http://example.org", detail=False) == [SITE + it for it in top]
    assert archive.ls(SITE + "docs/", detail=False) == [
        SITE + it for it in ("docs/%", "docs/%2F", "docs/50%253A50.html", "docs/a.html%3Fb=%2Fc")
    ]
    assert archive.ls(SITE + "film.mp4", detail=False) == [SITE + "film.mp4"]
    with pytest.raises(FileNotFoundError):
        archive.ls(SITE + "none")


def test_every_listed_path_leads_to_its_record(archive: WarcFileSystem) -> None:
    found = archive.find("", detail=True)
    assert len(found) == 9
    for name, listed in found.items():
        assert archive.isfile(name)
        info = archive.info(name)
        assert {
            key: value for key, value in listed.items() if value is not None and key != "file"
        }.items() <= info.items()
        assert archive.record(name).target_uri == info["uri"] == listed["uri"]


PARTS = st.sampled_from(
    b"/warc:/http:/file:/urn:x/e.org/2026/20261116060000id_/@5/all.warc@0/%/%2F/%40/a/?/*/\xff/x\xe9/\xc3\xa9".split(
        b"/"
    )
)
URIS = st.lists(PARTS, min_size=1, max_size=5).map(b"/".join)
"""Each an argument about what a path means."""


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scratch")


def write_resources(path: Path, uris: set[bytes]) -> None:
    """Write a record for each URI, which holds that URI."""
    records = [
        b"WARC/1.1\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:x:1>\r\nWARC-Date: 2026-11-16T06:00:00Z\r\n"
        b"WARC-Target-URI: %s\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n" % (uri, len(uri), uri)
        for uri in uris
    ]
    path.write_bytes(b"".join(records))


@given(uris=st.sets(URIS.filter(bool), min_size=1, max_size=9))
@example(uris={b"warc://e.org/a", b"e.org/a"})
@example(uris={b"2026/a", b"a", b"2026"})
@example(uris={b"@5", b"@5/a", b"all.warc@0"})
@example(uris={b"http:/e.org", b"http://e.org", b"%/http:/e.org"})
@example(uris={b"http://e.org/\xff", b"http://e.org/\xfe", b"\xff", b"http://\xff/"})
def test_each_listed_name_opens_its_own_record(scratch: Path, uris: set[bytes]) -> None:
    write_resources(scratch / "all.warc", uris)
    tools.index([scratch / "all.warc"], scratch / "all.cdxj", existing="overwrite")
    stored = {as_utf8(it.decode(errors="surrogateescape")): it for it in uris}
    for options in ({"fo": scratch / "all.warc"}, {"index": scratch / "all.cdxj"}):
        archive = WarcFileSystem(**options)
        listed = archive.find("", detail=True)
        assert {as_utf8(info["uri"]) for info in listed.values()} == stored.keys()
        for name, info in listed.items():
            own = stored[as_utf8(info["uri"])]
            assert archive.cat_file(f"warc://{name}") == archive.open(name).read() == own
        archive.close()


@given(uris=st.sets(URIS.filter(bool), min_size=1, max_size=9))
@example(uris={b"file:///etc/passwd"})
def test_folders_lead_to_each_listed_name(scratch: Path, uris: set[bytes]) -> None:
    write_resources(scratch / "all.warc", uris)
    archive = WarcFileSystem(scratch / "all.warc")
    found, folders = [], [""]
    while folders:
        for info in archive.ls(folders.pop()):
            (folders if info["type"] == "directory" else found).append(info["name"])
    assert sorted(found) == archive.find("")
    archive.close()


def test_a_scan_lists_sizes(scanned: WarcFileSystem) -> None:
    assert scanned.find(SITE + "film.mp4") == [SITE + "film.mp4"]
    sizes = {name: info["size"] for name, info in scanned.find("", detail=True).items()}
    assert sizes[SITE + "film.mp4"] == len(FILM)
    # That of a revisit would have to be looked up.
    assert sizes[SITE + "%2F"] is None


def test_a_folder_is_not_a_file(archive: WarcFileSystem) -> None:
    for path in (
        "",
        "http:",
        "http://",
        "http://example.org",
        SITE + "docs/",
        "https://other.example/a%3A%3Ab",
    ):
        assert archive.isdir(path), path
        assert archive.info(path) == {"name": path, "type": "directory", "mode": 0o555, "size": 0}
    # A URI that is a capture comes before the folder of that name, but not in a mounted file system.
    assert archive.isfile(SITE)
    assert archive.isfile(SITE + "docs")
    assert archive.isdir("/http:/example.org/docs")
    assert archive.cat_file("/http:/example.org/docs/%") == archive.cat_file(SITE + "docs") == b"moved"
    types = [it["type"] for it in archive.ls("http://example.org") if it["name"] == SITE + "docs"]
    assert types == ["directory"]


def test_a_folder_cannot_be_opened(archive: WarcFileSystem) -> None:
    for path in ("", "http:", "https://other.example"):
        with pytest.raises(IsADirectoryError):
            archive.open(path)
    # Of a host alone the home page is taken.
    assert archive.cat_file("http://example.org") == PAGE


def test_patterns_find_what_matches(archive: WarcFileSystem) -> None:
    assert archive.glob("http://*/*.mp4") == [SITE + "film.mp4"]
    assert SITE + "docs/a.html%3Fb=%2Fc" in archive.glob("http://example.org/**")
    assert archive.glob(SITE + "docs/a.html?b=/c") == [SITE + "docs/a.html?b=/c"]
    assert archive.glob("https://other.example/**/%5B*") == ["https://other.example/a%3A%3Ab/%5Bc%5D%2A"]


def test_walking_passes_everything(archive: WarcFileSystem) -> None:
    walked = {f"{root}/{name}" if root else name for root, _, names in archive.walk("") for name in names}
    assert walked == set(archive.find("")) == set(super(WarcFileSystem, archive).find(""))
    for depth in (1, 2, 3, 4):
        assert archive.find("", maxdepth=depth) == super(WarcFileSystem, archive).find("", maxdepth=depth)
        ours = archive.find(SITE, maxdepth=depth, withdirs=True)
        assert set(super(WarcFileSystem, archive).find(SITE, maxdepth=depth)) <= set(ours)


def test_a_folder_is_copied_to_a_disk_and_stays_in_it(scanned: WarcFileSystem, tmp_path: Path) -> None:
    scanned.get("http://example.org", str(tmp_path / "site"), recursive=True)
    files = {it.relative_to(tmp_path).as_posix() for it in tmp_path.rglob("*") if it.is_file()}
    assert len(files) == len(scanned.find("http://example.org"))
    assert {"site/film.mp4", "site/%2F", "site/docs/%", "site/%2E%2E/%2E%2E/up"} <= files
    assert (tmp_path / "site" / "%2F").read_bytes() == PAGE


# Bytes.


@pytest.mark.parametrize(
    ("start", "end"), [(None, None), (5, 9), (-4, None), (None, -4), (-9, -4), (10, 5), (9**9, None)]
)
def test_a_range_is_what_a_slice_is(archive: WarcFileSystem, start: int | None, end: int | None) -> None:
    assert archive.cat_file(SITE + "film.mp4", start, end) == FILM[start:end]
    assert archive.cat_ranges([SITE + "film.mp4"], start, end) == [FILM[start:end]]


def test_facts_of_a_record(scanned: WarcFileSystem) -> None:
    info = scanned.info(SITE + "film.mp4")
    assert info["date"] == "2026-11-16T06:00:00Z"
    assert (info["content_type"], info["status"], info["record_type"]) == ("video/mp4", 200, "response")
    assert info["digest"].startswith("sha1:")
    assert scanned.cat_file(f"@{info['offset']}", 0, 5) == FILM[:5]
    assert scanned.modified(SITE + "film.mp4").timestamp() == info["mtime"]
    assert info["mode"] == 0o444


def test_keys_tell_contents_apart(archive: WarcFileSystem) -> None:
    first, third = "20261116/" + SITE + "docs/a.html?b=/c", SITE + "docs/a.html?b=/c"
    assert archive.ukey(first) == archive.ukey(first) != archive.ukey(third)
    assert archive.ukey(SITE) == archive.ukey("20261116/" + SITE)
    assert archive.checksum(first) != archive.checksum(third)


def test_content_codings_are_undone_where_asked(tmp_path: Path) -> None:
    coded = gzip.compress(PAGE)
    with seekwarc.open(tmp_path / "a.warc.zst", "w") as out:
        head = {"Content-Encoding": "gzip", "Content-Type": "text/html"}
        out.write_response(SITE, coded, status=200, http_headers=head)
    stored, decoded = (
        WarcFileSystem(tmp_path / "a.warc.zst"),
        WarcFileSystem(tmp_path / "a.warc.zst", decoded=True),
    )
    assert stored.cat_file(SITE) == coded
    assert stored.info(SITE)["size"] == len(coded)
    assert decoded.cat_file(SITE) == PAGE
    assert decoded.cat_file(SITE, -5) == PAGE[-5:]
    assert decoded.cat_ranges([SITE, SITE], [0, 7], [3, None]) == [PAGE[:3], PAGE[7:]]
    assert decoded.info(SITE)["size"] is None
    assert decoded.ls(SITE)[0]["size"] is None
    with decoded.open(SITE) as file:
        assert not file.seekable()
        assert file.size is None
        assert file.read() == PAGE
    stored.close()
    decoded.close()


def test_threads_share_a_file_system(archive: WarcFileSystem) -> None:
    def read(number: int) -> bool:
        start = number * 31_000
        return archive.cat_file(SITE + "film.mp4", start, start + 999) == FILM[start : start + 999]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(read, range(100)))


def test_a_pickle_opens_the_files_again(
    archive: WarcFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = pickle.dumps(archive)
    monkeypatch.chdir(tmp_path)
    again = pickle.loads(data)
    archive.close()
    assert again.cat_file(SITE) == PAGE
    again.close()


def test_a_relative_path_is_found_from_another_folder(
    crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(crawl)
    for archive in (WarcFileSystem("crawl.warc.zst"), WarcFileSystem(index="crawl.cdxj")):
        data = pickle.dumps(archive)
        archive.close()
        with monkeypatch.context() as there:
            there.chdir(tmp_path)
            again = pickle.loads(data)
            assert again.cat_file(SITE) == PAGE
            again.close()


def test_it_tells_what_reading_has_cost(archive: WarcFileSystem) -> None:
    archive.cat_file(SITE + "docs")
    before = archive.stats.bytes_fetched
    archive.cat_file(SITE + "film.mp4", 0, 10)
    assert 0 < archive.stats.bytes_fetched - before < 1_200_000


# URLs.


def test_urls_are_opened_in_both_forms(crawl: Path) -> None:
    path = (crawl / "crawl.warc.zst").as_posix()
    for url, options in (
        ("warc://http://example.org/film.mp4", {"fo": path}),
        ("warc://http://example.org/film.mp4", {"index": str(crawl / "crawl.cdxj")}),
        (f"warc://http://example.org/film.mp4::file://{path}", {}),
        (f"warc://https://example.org/film.mp4::{path}", {}),
        (f"warc://20261116/http://example.org/film.mp4::{path}", {}),
        ("warc://http://example.org/film.mp4", {"fo": str(crawl / "crawl.cdxj")}),
        (f"warc://http://example.org/film.mp4::file://{(crawl / 'crawl.cdxj').as_posix()}", {}),
    ):
        with fsspec.open(url, **options) as file:
            assert file.seek(-9, 2) == len(FILM) - 9
            assert file.read() == FILM[-9:]
            assert file.full_name == url.partition("::")[0]
            assert file.info()["size"] == file.size == len(FILM)
    with fsspec.open(f"warc://{SITE}::{path}") as file:
        assert file.read() == PAGE


def test_an_archive_on_another_file_system_is_read_by_range(crawl: Path) -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe_file("/crawl.warc.zst", (crawl / "crawl.warc.zst").read_bytes())
    for options in (
        {"fo": "memory://crawl.warc.zst"},
        {"fo": "/crawl.warc.zst", "target_protocol": "memory"},
    ):
        archive = WarcFileSystem(**options)
        assert archive.cat_file(SITE + "film.mp4", 5, 9) == FILM[5:9]
        assert archive.stats.bytes_fetched < 3_000_000
    assert WarcFileSystem("memory://*.warc.zst").exists(SITE)
    with pytest.raises(FileNotFoundError, match="no file matches"):
        WarcFileSystem("memory://none*.warc.zst")
    with fsspec.open("simplecache::warc://http://example.org/docs::memory://crawl.warc.zst") as file:
        assert file.read() == b"moved"


def test_a_large_record_of_a_warc_gz_is_read_by_its_sidecar(crawl: Path, tmp_path: Path) -> None:
    path = tmp_path / "crawl.warc.gz"
    tools.convert(crawl / "crawl.warc.zst", path)
    tools.sidecar(path, min_size=1 << 20, spacing=64 << 10)
    tools.index([path], tmp_path / "crawl.cdxj")
    for options in ({"fo": str(path)}, {"index": str(tmp_path / "crawl.cdxj")}):
        archive = WarcFileSystem(**options)
        assert archive.cat_file(SITE + "film.mp4", -9) == FILM[-9:]
        before = archive.stats.bytes_decoded
        middle = len(FILM) // 2
        assert archive.cat_file(SITE + "film.mp4", middle, middle + 9) == FILM[middle : middle + 9]
        assert archive.stats.bytes_decoded - before < 300_000
        archive.close()


def test_an_archive_within_an_archive_is_read(crawl: Path, tmp_path: Path) -> None:
    outer = tmp_path / "outer.warc.zst"
    with seekwarc.open(outer, "w") as out:
        out.write_resource(
            "http://a.example/in?x", (crawl / "crawl.warc.zst").read_bytes(), "application/warc"
        )
    url = f"warc://{SITE}film.mp4::warc://http://a.example/in?x::file://{outer.as_posix()}"
    with fsspec.open(url) as file:
        assert file.read(9) == FILM[:9]


def test_endless_chains_are_refused(crawl: Path) -> None:
    path = (crawl / "crawl.warc.zst").as_posix()
    for depth in (9, 30):
        chain = "::".join([f"warc://{SITE}"] * depth) + f"::file://{path}"
        with pytest.raises(LimitError, match="archives within each other"):
            url_to_fs(chain)
        with pytest.raises(LimitError, match="archives within each other"):
            WarcFileSystem(chain)
    with pytest.raises((FormatError, SourceError)):
        url_to_fs("::".join([f"warc://{SITE}"] * 5) + f"::file://{path}")[0].ls("")


# Nothing is written.


@pytest.mark.parametrize(
    "write",
    [
        lambda fs: fs.open(SITE, "wb"),
        lambda fs: fs.open(SITE, "ab"),
        lambda fs: fs.open(SITE, "r+b"),
        lambda fs: fs.pipe(SITE, b"x"),
        lambda fs: fs.pipe_file(SITE, b"x"),
        lambda fs: fs.write_text(SITE, "x"),
        lambda fs: fs.touch(SITE),
        lambda fs: fs.mkdir("a"),
        lambda fs: fs.makedirs("a"),
        lambda fs: fs.makedir("a"),
        lambda fs: fs.rmdir("http:"),
        lambda fs: fs.rm(SITE),
        lambda fs: fs.rm_file(SITE),
        lambda fs: fs.delete(SITE),
        lambda fs: fs.cp_file(SITE, "b"),
        lambda fs: fs.copy(SITE, "b"),
        lambda fs: fs.mv(SITE, "b"),
        lambda fs: fs.rename(SITE, "b"),
        lambda fs: fs.put(__file__, "b"),
        lambda fs: fs.put_file(__file__, "b"),
        lambda fs: fs.upload(__file__, "b"),
        lambda fs: fs.start_transaction(),
        lambda fs: fs.sign(SITE),
    ],
)
def test_everything_that_writes_raises(scanned: WarcFileSystem, write: Callable[[Any], object]) -> None:
    with pytest.raises((OSError, NotImplementedError)) as raised:
        write(scanned)
    assert isinstance(raised.value, NotImplementedError) or raised.value.errno == errno.EROFS


def test_an_asynchronous_program_uses_the_wrapper_of_fsspec(scanned: WarcFileSystem) -> None:
    import asyncio  # noqa: PLC0415

    from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper  # noqa: PLC0415

    async def read() -> list[bytes]:
        wrapped = AsyncFileSystemWrapper(scanned, asynchronous=True)
        return await asyncio.gather(*(wrapped._cat_file(SITE + "film.mp4", n, n + 5) for n in range(20)))

    assert asyncio.run(read()) == [FILM[n : n + 5] for n in range(20)]


def test_parts_have_the_payload_of_the_whole_if_asked() -> None:
    film = bytes(range(250)) * 40
    out = PartsWriter(film)
    for start in (5000, 0):
        out.part(start, start + 5000, uri=f"{URI}?range={start}-{start + 4999}")
    data = out.done()
    archive = WarcFileSystem(data, joined=True)
    assert archive.info(URI)["size"] == len(film)
    assert archive.cat_file(URI, 4000, 6000) == film[4000:6000]
    assert archive.cat_file(f"{URI}?range=0-4999") == film
    assert archive.cat_ranges([URI, URI], [0, 9000], [10, 9010]) == [film[:10], film[9000:9010]]
    assert WarcFileSystem(data).cat_file(f"{URI}?range=0-4999") == film[:5000]
    assert not archive.exists(URI + "2")
    with pytest.raises(TypeError, match="not an index"):
        WarcFileSystem(index="crawl.cdxj", joined=True)
