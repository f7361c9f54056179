"""Several WACZ files as one target."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast
from zipfile import ZIP_STORED, ZipFile

import pytest

import seekwarc
from seekwarc.errors import FormatError, SeekWarcError, SourceNotFoundError
from seekwarc.storage.expand import expand
from seekwarc.storage.packages import is_several, warc_files_in
from tests.support.chains import Chain, chain, written
from tests.support.s3 import FolderServer


def listed(folder: Path, paths: list[str]) -> Path:
    """Write a list of files, as players take it."""
    resources = [{"name": path.rpartition("/")[2], "path": path, "hash": "00"} for path in paths]
    path = folder / "multi.json"
    path.write_text(json.dumps({"profile": "multi-wacz-package", "resources": resources}))
    return path


def nested(folder: Path, found: Chain) -> Path:
    """Write a WACZ that has others as members."""
    path = folder / "default.wacz"
    with ZipFile(path, "w", ZIP_STORED) as out:
        for name, data in found.files.items():
            out.writestr(name, data)
        out.writestr("datapackage.json", json.dumps({"profile": "multi-wacz-package", "resources": []}))
    return path


def all_are_found(found: Chain, target: str | Path) -> None:
    with cast("seekwarc.Collection", seekwarc.open(target)) as archive:
        assert isinstance(archive, seekwarc.Collection)
        for payloads in found.payloads.values():
            for uri, payload in payloads.items():
                assert archive.open_record(uri=uri).payload.read() == payload


def test_a_list_and_a_wacz_of_others_are_collections(tmp_path: Path) -> None:
    found = chain()
    names = [path.name for path in written(found.files, tmp_path)]
    inner = nested(tmp_path, found)
    for target in (listed(tmp_path, names), inner):
        all_are_found(found, target)
        assert is_several(str(target))
        assert len(list(expand(target))) == len(names)
    for name in names:
        (tmp_path / name).unlink()
    all_are_found(found, inner)


def test_remote_ones_likewise(tmp_path: Path) -> None:
    found = chain()
    names = [path.name for path in written(found.files, tmp_path)]
    nested(tmp_path, found)
    with FolderServer(tmp_path) as server:
        all_are_found(found, f"{server.root}/default.wacz")
        for begin in ("", server.root + "/"):
            listed(tmp_path, [begin + name for name in names])
            all_are_found(found, f"{server.root}/multi.json")


@pytest.mark.parametrize(
    "path",
    ["../a.wacz", "/a.wacz", "in/../../a.wacz", "https://evil.example/a.wacz", "//evil.example/a.wacz"],
)
def test_a_list_names_nothing_outside_of_its_folder(tmp_path: Path, path: str) -> None:
    listed(tmp_path, ["b.wacz", path])
    with pytest.raises(FormatError, match="not in its folder"):
        seekwarc.open(tmp_path / "multi.json")
    with FolderServer(tmp_path) as server, pytest.raises(FormatError, match="not in its folder"):
        list(warc_files_in(f"{server.root}/multi.json"))


def test_a_listed_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceNotFoundError, match=r"b\.wacz"):
        seekwarc.open(listed(tmp_path, ["b.wacz"]))


@pytest.mark.parametrize(
    "text", ["{}", "[]", "7", '{"resources": 7}', '{"resources": [7, {"path": 7}]}', "no"]
)
def test_other_json_is_no_list(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    assert not is_several(str(path))
    assert list(expand(path)) == [str(path)]
    with pytest.raises(SeekWarcError), seekwarc.open(path) as archive:
        list(archive)


def test_a_name_of_many_archives_in_one_another_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SeekWarcError):
        seekwarc.open(str(tmp_path / "a.wacz") + "!/a.wacz" * 5000)
