"""Which files a folder or a pattern stands for."""

from __future__ import annotations

import errno
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest

from seekwarc.errors import FormatWarning, SourceError, SourceNotFoundError
from seekwarc.storage import remote_url
from seekwarc.storage.expand import expand, index_ending, noting, placed
from seekwarc.storage.opening import open_source

FILES = ["a.warc.gz", "b/c.warc", "b/d.WARC.ZST", "b/e.megawarc.gz", "b/deep/er/f.warc.zstd"]
OTHERS = ["a.txt", ".hidden.warc.gz", "b/._c.warc", "b/g.warc.gz.part", "b/h.cdxj", "b/warc"]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [*FILES, *OTHERS]:
        path = tmp_path / "crawls" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(*given: Any, **options: str) -> list[Any]:
    return list(expand(given, **options))


def test_a_folder_stands_for_its_warc_files(tree: Path) -> None:
    found = names("crawls")
    assert sorted(found) == sorted(f"crawls/{name}" for name in FILES)
    assert names("crawls") == found, "in the same order every time"


def test_a_folder_that_cannot_be_listed_stands_for_itself(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = os.scandir

    def scandir(path: Any) -> Any:
        if str(path).endswith("deep"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    expected = [*sorted(f"crawls/{name}" for name in FILES[:-1]), "crawls/b/deep"]
    assert names("crawls") == expected
    assert names("crawls*") == expected
    with pytest.raises(SourceError, match="deep: cannot be listed: Permission denied"):
        open_source("crawls/b/deep")


def test_files_urls_and_standard_input_are_taken_as_given(tree: Path) -> None:
    given = ["crawls/a.txt", "s3://bucket/folder", "-", "missing.warc"]
    assert names(*given) == given


def test_a_file_given_twice_is_yielded_once(tree: Path) -> None:
    assert names("crawls/b/c.warc", "crawls/b", "./crawls/b/../b/c.warc").count("crawls/b/c.warc") == 1
    assert len(names("crawls/b", "crawls")) == len(FILES)


def test_a_subfolder_can_be_left_out(tree: Path) -> None:
    assert names("crawls", leave_out="./crawls/b") == ["crawls/a.warc.gz"]
    assert len(names("crawls", leave_out="elsewhere")) == len(FILES)


def test_circular_links_are_not_followed(tree: Path) -> None:
    (tree / "crawls" / "loop").symlink_to(tree / "crawls")
    assert len(names("crawls")) == len(FILES)


@pytest.mark.parametrize("name", ["", "empty"])
def test_a_name_without_files_is_refused(tree: Path, name: str) -> None:
    (tree / "empty").mkdir()
    with pytest.raises(SourceError):
        names("crawls", name)


def test_a_pattern_stands_for_what_matches_in_path_order(tree: Path) -> None:
    assert names("crawls/b/[cd].*") == ["crawls/b/c.warc", "crawls/b/d.WARC.ZST"]
    assert names("crawls/**/[c-f].*[cd]") == ["crawls/b/c.warc", "crawls/b/deep/er/f.warc.zstd"]
    assert names("crawls/b/d*") == ["crawls/b/d.WARC.ZST", "crawls/b/deep/er/f.warc.zstd"], "folders too"
    with pytest.raises(SourceNotFoundError, match=r"crawls/\*\.arc: no file matches") as caught:
        names("crawls/*.arc")
    assert isinstance(caught.value, FileNotFoundError)


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tree: Path) -> None:
    (tree / "[a].warc").touch()
    assert names("[a].warc") == ["[a].warc"]


def test_one_name_is_taken_and_what_is_no_name_is_passed_on(tree: Path) -> None:
    assert list(expand("crawls/b/c.warc")) == list(expand(Path("crawls/b/c.warc"))) == ["crawls/b/c.warc"]
    assert names(b"WARC", "crawls/b/c.warc", 5) == [b"WARC", "crawls/b/c.warc", 5]


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    obstore = pytest.importorskip("obstore")
    store = obstore.store.MemoryStore()
    for name in ("crawls/b.warc.gz", "crawls/a.warc.zst", "crawls/sub/c.warc.zst", "crawls/.d.warc", "e.txt"):
        obstore.put(store, name, b"x")
    monkeypatch.setattr(remote_url, "open_store", lambda url: (store, url.removeprefix("s3://bucket/")))


@pytest.mark.usefixtures("bucket")
def test_patterns_and_folders_of_a_store_are_listed() -> None:
    assert names("s3://bucket/crawls/*.warc.*") == [
        "s3://bucket/crawls/a.warc.zst",
        "s3://bucket/crawls/b.warc.gz",
    ]
    everywhere = ["s3://bucket/crawls/a.warc.zst", "s3://bucket/crawls/sub/c.warc.zst"]
    assert names("s3://bucket/**/*.zst") == names("s3://bucket/crawls/**/[a-c].warc.zst") == everywhere
    assert names("s3://bucket/crawls/") == [
        "s3://bucket/crawls/a.warc.zst",
        "s3://bucket/crawls/b.warc.gz",
        "s3://bucket/crawls/sub/c.warc.zst",
    ]
    assert names("s3://bucket/crawls/x", "https://a.example/?a=*") == [
        "s3://bucket/crawls/x",
        "https://a.example/?a=*",
    ]
    assert [*placed("s3://bucket/crawls/")][-1] == ("s3://bucket/crawls/sub/c.warc.zst", "sub/c.warc.zst")
    assert dict(placed("s3://bucket/**/c.*")) == {
        "s3://bucket/crawls/sub/c.warc.zst": "crawls/sub/c.warc.zst"
    }
    with pytest.raises(SourceNotFoundError, match="no object matches"):
        names("s3://bucket/crawls/*.arc")
    with pytest.raises(SourceError, match="is in this folder"):
        names("s3://bucket/empty/")


def test_a_file_that_is_being_written_is_named_and_skipped(tree: Path) -> None:
    for name in ("b/x.warc.gz.open", "b/y.warc.open", "b/z.txt.open"):
        (tree / "crawls" / name).touch()
    with pytest.warns(FormatWarning, match=r"^crawls/b/x\.warc\.gz\.open and 1 more: .*still being written"):
        assert len(names("crawls")) == len(FILES)
    with pytest.warns(FormatWarning, match="still being written"):
        assert names("crawls/b/[xz]*") == ["crawls/b/z.txt.open"]
    with pytest.warns(FormatWarning), pytest.raises(SourceNotFoundError):
        names("crawls/b/x*")
    assert names("crawls/b/x*.open", "crawls/b/y.warc.open") == [
        "crawls/b/x.warc.gz.open",
        "crawls/b/y.warc.open",
    ]


def wacz(path: Path, *members: str) -> None:
    with zipfile.ZipFile(path, "w") as file:
        for member in members:
            file.writestr(member, b"x")


def test_a_wacz_in_a_folder_stands_for_its_warc_files(tree: Path) -> None:
    wacz(tree / "crawls/b/k.wacz", "archive/1.warc.gz", "archive/sub/2.warc.gz", "pages/pages.jsonl")
    members = ["crawls/b/k.wacz!/archive/1.warc.gz", "crawls/b/k.wacz!/archive/sub/2.warc.gz"]
    found = names("crawls")
    assert len(found) == len(FILES) + 2
    assert (
        [it for it in found if "wacz" in it]
        == names("crawls/b/k.wacz")
        == names("crawls/**/*.wacz")
        == members
    )
    assert names(*members) == members
    (tree / "crawls/b/k.wacz").write_bytes(b"no ZIP")
    assert "crawls/b/k.wacz" in names("crawls"), "as a file that cannot be opened"


def test_a_warc_file_beside_its_wacz_comes_once(tree: Path) -> None:
    (tree / "crawl/archive").mkdir(parents=True)
    (tree / "crawl/archive/1.warc.gz").write_bytes(b"x")
    (tree / "crawl/archive/2.warc.gz").write_bytes(b"of another size")
    wacz(tree / "crawl/k.wacz", "archive/1.warc.gz", "archive/2.warc.gz")
    with noting() as expanded:
        assert names("crawl") == [
            "crawl/k.wacz!/archive/2.warc.gz",
            "crawl/archive/1.warc.gz",
            "crawl/archive/2.warc.gz",
        ]
    assert str(expanded) == "3 files; 1 other not read: 1 in a WACZ and beside it"
    assert len(names("crawl/*.wacz")) == 2


def test_paths_below_the_named_folder_are_known(tree: Path) -> None:
    wacz(tree / "crawls/b/k.wacz", "archive/1.warc.gz")
    found = dict(placed(["crawls/b", "crawls/**/er/*", "crawls/a.warc.gz", 5]))
    assert found["crawls/b/c.warc"] == "c.warc"
    assert found["crawls/b/k.wacz!/archive/1.warc.gz"] == "k/1.warc.gz"
    assert found["crawls/b/deep/er/f.warc.zstd"] == "deep/er/f.warc.zstd", "as it was found first"
    assert found["crawls/a.warc.gz"] is found[5] is None
    assert [*placed("crawls/**/er/*")] == [("crawls/b/deep/er/f.warc.zstd", "b/deep/er/f.warc.zstd")]
    assert [*placed("crawls/b/k.wacz")] == [("crawls/b/k.wacz!/archive/1.warc.gz", "1.warc.gz")]


def test_what_is_passed_over_in_a_folder_is_noted(tree: Path) -> None:
    (tree / "crawls/b/x.warc.gz.open").touch()
    (tree / "crawls/b/empty.warc").touch()
    with noting() as expanded, pytest.warns(FormatWarning):
        assert len(names("crawls", "crawls/b")) == len(FILES) + 1
    assert expanded.passed_over == {
        "crawls/a.txt": "not an archive",
        "crawls/b/g.warc.gz.part": "not an archive",
        "crawls/b/warc": "not an archive",
        "crawls/b/x.warc.gz.open": "unfinished (.open)",
    }
    assert str(expanded) == "6 files; 4 others not read: 1 unfinished (.open), 3 not an archive"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_in_a_folder_is_passed_over_and_one_that_is_named_is_taken(tree: Path) -> None:
    pipe = "crawls/b/pipe.warc"
    os.mkfifo(pipe)
    with noting() as expanded:
        assert pipe not in names("crawls"), "opening it would wait for who writes into it"
    assert expanded.passed_over[pipe] == "not an archive"
    assert names(pipe) == [pipe]


def test_an_index_is_recognised_by_its_name() -> None:
    assert index_ending("a/crawl.cdxj") == ".cdxj"
    assert index_ending(Path("CRAWL.CDXJ")) == ".cdxj"
    assert index_ending("cluster.idx") == ".idx"
    assert index_ending("https://example.org/part.parquet?signature=x.warc") == ".parquet"
    assert index_ending("https://example.org/crawl.warc.zst?of=crawl.cdxj") is None
    assert index_ending("crawl.cdxj?.warc") is None, "a file may have such a name"
    assert index_ending("crawl.warc.zst") is None
    assert index_ending(b"") is None


@pytest.mark.parametrize("pattern", ["crawls/**/*", "crawls/**", "**/*.*", "crawl?/**/[a-f]*", "**/b/**/*"])
def test_a_pattern_ends_though_links_lead_up(tree: Path, pattern: str) -> None:
    (tree / "elsewhere").mkdir()
    (tree / "elsewhere" / "z.warc").write_bytes(b"x")
    wanted = {*names(pattern)}
    (tree / "crawls" / "b" / "up").symlink_to(tree / "crawls")
    (tree / "crawls" / "b" / "self").symlink_to(".")
    assert {*names(pattern)} == wanted
    (tree / "crawls" / "b" / "other").symlink_to(tree / "elsewhere")
    inside = set(names("crawls/**/z.warc"))
    assert inside == {"crawls/b/other/z.warc"}


@pytest.mark.parametrize("pattern", ["none/**/*", "**/none", "crawls/**/none/*"])
def test_a_pattern_without_a_match_is_refused(tree: Path, pattern: str) -> None:
    with pytest.raises(SourceNotFoundError, match="no file matches"):
        names(pattern)
