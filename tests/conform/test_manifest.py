"""Reading a manifest, sound or not."""

from __future__ import annotations

import copy
import hashlib
import json
import math
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from conformance.answers import questions_about
from conformance.manifest import MAX_MANIFEST, KitError, read_manifest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.conformance import make_samples


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_samples(tmp_path)
    return tmp_path


def test_folder_and_file_name_the_same_manifest(folder: Path) -> None:
    manifest = read_manifest(folder)
    assert manifest == read_manifest(folder / "manifest.json")
    assert [sample.file for sample in manifest.samples] == [
        "sound.warc.zst",
        "cut.warc.zst",
        "empty.warc.zst",
    ]
    assert manifest.version == "1.3"
    assert [record.has_table for record in manifest.samples[0].records] == [False, True, False]


def remove(*path: str | int) -> Callable[[Any], None]:
    def change(value: Any) -> None:
        *way, last = path
        for step in way:
            value = value[step]
        del value[last]

    return change


def put(new: object, *path: str | int) -> Callable[[Any], None]:
    def change(value: Any) -> None:
        *way, last = path
        for step in way:
            value = value[step]
        value[last] = new

    return change


RECORD = ("files", 0, "records", 1)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (remove("files"), "files is missing"),
        (remove("files", 1, "sha256"), "files[1].sha256 is missing"),
        (remove(*RECORD, "ranges", 0, "end"), "files[0].records[1].ranges[0].end is missing"),
        (put("other", "specification"), "specification is not one of warc-zstd-seekable"),
        (put([], "files"), "files is empty"),
        (put({}, "files"), "files is not an array"),
        (put([1], "files"), "files[0] is not an object, but 1"),
        (put("../secret", "files", 0, "file"), "files[0].file is not the name of a file beside"),
        (put("/etc/passwd", "files", 0, "file"), "files[0].file is not"),
        (put(".", "files", 0, "file"), "files[0].file is not"),
        (put("a\\b", "files", 0, "file"), "files[0].file is not"),
        (put("a\0b", "files", 0, "file"), "files[0].file is not"),
        (put("cut.warc.zst", "files", 0, "file"), "files[1].file is named before"),
        (put(-1, "files", 0, "size"), "files[0].size is not an integer from 0"),
        (put(True, "files", 0, "size"), "files[0].size is not an integer"),
        (put(1.0, "files", 0, "size"), "files[0].size is not an integer"),
        (put(10**30, *RECORD, "offset"), "records[1].offset is not an integer"),
        (put("AB" * 32, "files", 0, "sha256"), "files[0].sha256 is not a SHA-256"),
        (put("yes", "files", 0, "valid"), "files[0].valid is not true or false"),
        (put("both", "files", 0, "mode"), "files[0].mode is not one of large, every, none"),
        (put("X" * 500, "files", 0, "readable"), "files[0].readable is not one of all, some, none"),
        (put(["R1"], "files", 0, "breaks"), "files[0].breaks[0] is not a requirement"),
        (put(5, *RECORD, "ranges", 0, "end"), None),
        (put(0, *RECORD, "ranges", 0, "end"), "ranges[0].end is not an integer from 1 to"),
        (put(10**9, *RECORD, "ranges", 0, "end"), "ranges[0].end is not an integer from 1 to 67108865"),
        (put("x", *RECORD, "table"), "records[1].table is not an object"),
        (put(None, *RECORD, "ranges", 0, "length"), None),
        (put(-8, *RECORD, "ranges", 0, "offset"), "ranges[0].offset is not an integer from 0"),
        (put("-", *RECORD, "ranges", 0, "length"), "ranges[0].length is not an integer from 0"),
        (put(None, *RECORD, "ranges", 0, "sha256"), None),
        (put("", *RECORD, "ranges", 0, "sha256"), "ranges[0].sha256 is not a SHA-256"),
        (put({}, "files", 0, "sidecar"), "files[0].sidecar.file is missing"),
        (put({"file": "/x"}, "files", 0, "sidecar"), "files[0].sidecar.file is not the name of a file"),
        (put("warc-sidecar", "specification"), None),
        (put([], "contents"), "contents is not an object"),
        (put({"ab": "?"}, "contents"), "contents.ab is not Base64"),
        (put({"ab": "AAAA"}, "contents"), "contents.ab is not what has this SHA-256"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(folder: Path, change: Any, place: str | None) -> None:
    path = folder / "manifest.json"
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))
    if place is None:
        read_manifest(folder)
        return
    with pytest.raises(KitError) as caught:
        read_manifest(folder)
    assert place in str(caught.value)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 500 + len(str(path))


def test_members_that_nobody_knows_are_ignored(folder: Path) -> None:
    path = folder / "manifest.json"
    value = json.loads(path.read_text())
    value["more"] = value["files"][0]["more"] = value["files"][0]["records"][0]["more"] = {"a": 1}
    path.write_text(json.dumps(value))
    assert len(read_manifest(folder).samples) == 3


@pytest.mark.parametrize(
    "text", [b"", b"[", b"[]", b"null", b"\xff", b"[" * 100_000, b"9" * 5000, b" " * (MAX_MANIFEST + 1)]
)
def test_other_files_are_refused(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "m.json"
    path.write_bytes(text)
    with pytest.raises(KitError, match="manifest"):
        read_manifest(path)


VALUES = [None, True, -1, 0, 1, 10**30, 0.5, math.nan, "", "W1", "ab" * 32, [], [0], {}, {"offset": 0}]


@given(st.data())
def test_any_change_is_read_or_refused(tmp_path_factory: Any, data: st.DataObject) -> None:
    folder = tmp_path_factory.getbasetemp() / "changed"
    if not folder.exists():
        folder.mkdir()
        make_samples(folder)
        (folder / "manifest.json").rename(folder / "right.json")
    value = json.loads((folder / "right.json").read_text())
    place = copy.copy(value)
    way = value
    while isinstance(way, dict | list) and way:
        place = way
        key = data.draw(st.sampled_from(list(way) if isinstance(way, dict) else range(len(way))))
        way = way[key]
    place[key] = data.draw(st.sampled_from(VALUES))
    (folder / "manifest.json").write_text(json.dumps(value))
    with suppress(KitError):
        read_manifest(folder)


def test_a_sidecar_is_checked_like_a_sample_and_named_in_questions(folder: Path) -> None:
    path = folder / "manifest.json"
    value = json.loads(path.read_text())
    lie = folder / "lie.seek"
    lie.write_bytes(b"a lie")
    about = {"file": lie.name, "size": 5, "sha256": hashlib.sha256(b"a lie").hexdigest()}
    # One file with and without it: two samples.
    value["files"].append(value["files"][0] | {"sidecar": about})
    path.write_text(json.dumps(value))
    manifest = read_manifest(folder)
    sample = manifest.samples[-1]
    assert sample.name == lie.name
    assert [it[6:] for it in questions_about(sample, manifest.path(sample))] == [[], *[[str(lie)]] * 3]
    lie.write_bytes(b"a tie")
    with pytest.raises(KitError, match=r"lie\.seek.* not the one that its manifest describes"):
        read_manifest(folder)


def test_files_that_are_missing_or_changed_are_named(folder: Path) -> None:
    path = folder / "cut.warc.zst"
    stored = path.read_bytes()
    for other in (stored[:-1], stored + b"x", bytes([stored[0] ^ 1]) + stored[1:]):
        path.write_bytes(other)
        with pytest.raises(KitError, match=r"cut\.warc\.zst.* not the one that its manifest describes"):
            read_manifest(folder)
    path.unlink()
    with pytest.raises(KitError, match=r"cut\.warc\.zst"):
        read_manifest(folder)
    with pytest.raises(KitError, match="cannot be read"):
        read_manifest(folder / "missing.json")
