"""Packing files as a function."""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path

import pytest

import seekwarc
from seekwarc.errors import SourceError, TargetError
from seekwarc.make.packing import files_below, pack
from tests.support.writing import noise


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    for name in ("b.txt", "a.txt", "z/2", "z/1", "c/d/e"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(name.encode())
    return root


def below(root: Path, *names: str) -> list[str]:
    return [str(path.relative_to(root)) for path in files_below([str(root / name) for name in names])]


def test_files_of_a_folder_are_sorted(tree) -> None:
    assert below(tree, ".") == ["a.txt", "b.txt", "c/d/e", "z/1", "z/2"]


def test_given_files_keep_their_order(tree) -> None:
    assert below(tree, "z", "b.txt", "c") == ["z/1", "z/2", "b.txt", "c/d/e"]


def test_special_files_in_a_folder_are_skipped(tree) -> None:
    os.mkfifo(tree / "fifo")
    (tree / "dangling").symlink_to(tree / "nowhere")
    (tree / "round").symlink_to(tree)
    (tree / "link").symlink_to(tree / "a.txt")
    assert below(tree, ".") == ["a.txt", "b.txt", "link", "c/d/e", "z/1", "z/2"]


@pytest.mark.parametrize("name", ["none", "dangling"])
def test_a_name_without_a_file_is_an_error(tree, name) -> None:
    (tree / "dangling").symlink_to(tree / "nowhere")
    with pytest.raises(SourceError, match=f"{name}: no such file"):
        below(tree, "a.txt", name)


def test_an_unreadable_folder_is_an_error(tree, monkeypatch) -> None:
    scandir = os.scandir

    def refuse(path):
        if str(path).endswith("/c"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(SourceError, match="/c: cannot be read: Permission denied"):
        below(tree, ".")


def test_each_file_becomes_a_record(tree) -> None:
    (tree / "film").write_bytes(noise(3_000_000))
    files, target = list(files_below([str(tree)])), io.BytesIO()
    written = pack(files, target, frame_size=1 << 20)
    assert [path for path, _ in written] == files
    with seekwarc.open(target.getvalue()) as archive:
        assert next(iter(archive)).type == "warcinfo"
        for path, record in written:
            found = archive.record_at(record.offset, record.length)
            assert found.type == "resource"
            assert found.target_uri == path.as_uri()
            assert found.payload.read() == path.read_bytes()


def test_files_are_read_through_on_progress(tree) -> None:
    class Upper:
        def __init__(self, file) -> None:
            self._file = file

        def read(self, size: int) -> bytes:
            return self._file.read(size).upper()

    target = io.BytesIO()
    pack([tree / "a.txt"], target, on_progress=lambda _, file: Upper(file))
    with seekwarc.open(target.getvalue()) as archive:
        assert list(archive)[1].block.read() == b"A.TXT"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.html", "text/html"),
        ("a.MP4", "video/mp4"),
        ("a.warc.gz", "application/gzip"),
        ("a.tar.xz", "application/x-xz"),
        ("a.svg.bz2", "application/x-bzip2"),
        ("a.unheardof", "application/octet-stream"),
        ("a", "application/octet-stream"),
        (".html", "application/octet-stream"),
    ],
)
def test_the_type_of_content_is_guessed_by_name(tmp_path, name, kind) -> None:
    (tmp_path / name).write_bytes(b"x")
    target = io.BytesIO()
    pack([tmp_path / name], target)
    with seekwarc.open(target.getvalue()) as archive:
        assert list(archive)[1].content_type == kind


def test_a_file_that_cannot_be_opened_leaves_nothing(tree, tmp_path) -> None:
    (tree / "a.txt").unlink()
    with pytest.raises(SourceError, match=r"a\.txt: cannot be read: No such file"):
        pack([tree / "b.txt", tree / "a.txt"], tmp_path / "new.warc.zst")
    assert os.listdir(tmp_path) == ["tree"]


def test_an_unwritable_target_is_not_blamed_on_the_source(tree) -> None:
    with (
        open("/dev/full", "wb", buffering=0) as full,
        pytest.raises(TargetError, match="/dev/full: cannot be written"),
    ):
        pack([tree / "a.txt"], full)


def test_a_growing_file_is_packed_as_far_as_it_was_read(tree) -> None:
    path = tree / "a.txt"
    path.write_bytes(noise(2_000_000))

    class Growing:
        def __init__(self, file) -> None:
            self._file = file
            self._grown = False

        def read(self, size: int) -> bytes:
            if not self._grown:
                self._grown = True
                with path.open("ab") as more:
                    more.write(b"more")
            return self._file.read(size)

    target = io.BytesIO()
    pack([path], target, on_progress=lambda _, file: Growing(file))
    with seekwarc.open(target.getvalue()) as archive:
        record = list(archive)[1]
        assert hashlib.sha256(record.block.read()).digest() == hashlib.sha256(path.read_bytes()).digest()
