"""What the files of a file system may be."""

from __future__ import annotations

from pathlib import Path

import pytest

from seekwarc.compat.targets import absolute, is_index, targets_of
from seekwarc.errors import LimitError


def test_a_pattern_stands_for_its_files(tmp_path: Path) -> None:
    for name in ("b.warc.zst", "a.warc.zst", "c.txt"):
        (tmp_path / name).touch()
    assert targets_of(str(tmp_path / "*.warc.zst"), None, {}) == [
        str(tmp_path / "a.warc.zst"),
        str(tmp_path / "b.warc.zst"),
    ]
    with pytest.raises(FileNotFoundError, match="no file matches"):
        targets_of(str(tmp_path / "*.gz"), None, {})
    # A name that is there is no pattern.
    (tmp_path / "[a].warc").touch()
    assert targets_of(tmp_path / "[a].warc", "file", {}) == [str(tmp_path / "[a].warc")]


def test_a_list_is_of_any_targets(tmp_path: Path) -> None:
    url = "https://a.example/x.warc.zst?a=*"
    (tmp_path / "a.warc").touch()
    assert targets_of([b"WARC", url, [tmp_path / "a.warc"]], None, {}) == [
        b"WARC",
        url,
        str(tmp_path / "a.warc"),
    ]


def test_a_protocol_must_be_known_to_fsspec() -> None:
    with pytest.raises(ValueError, match="Protocol not known"):
        targets_of("nonsense://a", None, {})


def test_nested_archives_are_counted() -> None:
    options = {"target_protocol": "warc"}
    options["target_options"] = options
    with pytest.raises(LimitError):
        targets_of("http://a/", "warc", options)


def test_paths_are_made_absolute_and_urls_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert absolute(["a.warc", "s3://b/c", b"d", None, ""]) == [
        str(tmp_path / "a.warc"),
        "s3://b/c",
        b"d",
        None,
        "",
    ]


def test_an_index_is_known_by_its_name() -> None:
    assert is_index("a.cdxj", None)
    assert is_index(Path("cluster.idx"), "file")
    assert not is_index("a.cdxj", "s3")
    assert not is_index("a.warc.zst", None)
    assert not is_index([b"WARC"], None)
