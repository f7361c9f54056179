"""The package of the service worker, in all forms in which a user has it."""

from __future__ import annotations

import io
import tarfile

import pytest

from seekwarc.errors import SeekWarcError, UnsupportedError
from seekwarc.serve.replay_worker import read_worker

SCRIPT = b"/*! sw.js (wabac.js 2.27.3) is part of Webrecorder project. */ self;"


def package(path, **members: bytes):
    """Make a .tgz; `__` in a name is a slash."""
    with tarfile.open(path, "w:gz") as out:
        for name, data in members.items():
            member = tarfile.TarInfo(name.replace("__", "/") + ".js")
            member.size = len(data)
            out.addfile(member, io.BytesIO(data))
    return path


def test_package_folder_and_script(tmp_path) -> None:
    packed = package(tmp_path / "wabac.tgz", package__index=b"other", package__dist__sw=SCRIPT)
    folder = tmp_path / "node_modules" / "@webrecorder" / "wabac" / "dist"
    folder.mkdir(parents=True)
    (folder / "sw.js").write_bytes(SCRIPT)
    for path in (packed, tmp_path, folder.parent, folder, folder / "sw.js"):
        assert read_worker(path) == SCRIPT


def test_an_older_version_is_refused(tmp_path) -> None:
    path = tmp_path / "sw.js"
    path.write_bytes(SCRIPT.replace(b"2.27.3", b"2.26.4"))
    with pytest.raises(
        UnsupportedError, match=r"is wabac\.js 2\.26; replay needs 2\.27 or later: .*npm pack"
    ):
        read_worker(path)
    path.write_bytes(SCRIPT.replace(b"2.27.3", b"10.0.1"))
    assert read_worker(path)


@pytest.mark.parametrize("data", [b"", b"self;", SCRIPT[:20], b"x" * 1000 + SCRIPT])
def test_another_script_is_refused(tmp_path, data) -> None:
    path = tmp_path / "sw.js"
    path.write_bytes(data)
    with pytest.raises(
        SeekWarcError, match=r"does not have the script sw\.js of wabac\.js; get .* `npm pack"
    ):
        read_worker(path)


def test_what_cannot_be_read_says_how_to_get_it(tmp_path) -> None:
    (tmp_path / "cut.tgz").write_bytes(
        package(tmp_path / "a.tgz", package__dist__sw=SCRIPT).read_bytes()[:60]
    )
    (tmp_path / "other.tgz").write_bytes(b"not a package")
    for name in ("none.tgz", "cut.tgz", "other.tgz", "folder"):
        with pytest.raises(SeekWarcError, match="npm pack @webrecorder/wabac"):
            read_worker(tmp_path / name)


def test_a_link_in_a_package_is_not_followed(tmp_path) -> None:
    (tmp_path / "secret").write_bytes(SCRIPT)
    with tarfile.open(tmp_path / "link.tgz", "w:gz") as out:
        member = tarfile.TarInfo("package/dist/sw.js")
        member.type, member.linkname = tarfile.SYMTYPE, str(tmp_path / "secret")
        out.addfile(member)
    with pytest.raises(SeekWarcError, match="npm pack"):
        read_worker(tmp_path / "link.tgz")
