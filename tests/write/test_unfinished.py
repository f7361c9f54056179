"""Files that are visible while they are written, and stay if they are not finished."""

from __future__ import annotations

import gc
import os
import stat
from pathlib import Path

import pytest

import seekwarc
from seekwarc.write.files import unfinished_name
from seekwarc.write.output import OpenOutput


def begun(path: Path, data: bytes = b"some", **options) -> OpenOutput:
    output = OpenOutput(path, **options)
    output.make()
    output.write(data)
    return output


def test_an_unfinished_file_is_visible(tmp_path: Path) -> None:
    output = begun(tmp_path / "a.warc.zst")
    output.flush()
    assert os.listdir(tmp_path) == ["a.warc.zst.open"]
    assert (tmp_path / "a.warc.zst.open").read_bytes() == b"some"
    output.commit()
    output.commit()
    output.abort()
    assert os.listdir(tmp_path) == ["a.warc.zst"]
    assert (tmp_path / "a.warc.zst").read_bytes() == b"some"


def test_an_aborted_file_is_removed(tmp_path: Path) -> None:
    begun(tmp_path / "a.warc.zst").abort()
    assert os.listdir(tmp_path) == []


def test_leave_writes_everything(tmp_path: Path) -> None:
    begun(tmp_path / "a.warc.zst").leave()
    assert (tmp_path / "a.warc.zst.open").read_bytes() == b"some"


@pytest.mark.parametrize("existing", ["error", "overwrite"])
def test_two_writers_of_one_name_are_refused(existing: str, tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    first = begun(path)
    for continued in (None, f"{path}.open"):
        with pytest.raises(seekwarc.TargetError, match=r"a\.warc\.zst: another process is writing to it"):
            OpenOutput(path, existing=existing, continued=continued).make()
    first.commit()
    assert path.read_bytes() == b"some"


def test_an_unfinished_file_is_refused_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    begun(path).leave()
    told = rf'{path}\.open; continue it with .*"a", repair=True.*`seekwarc recover {path}\.open {path}`'
    with pytest.raises(seekwarc.TargetExistsError, match=told):
        OpenOutput(path).make()
    assert (tmp_path / "a.warc.zst.open").read_bytes() == b"some"
    begun(path, b"new", existing="overwrite").commit()
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a.warc.zst"]


def test_an_unfinished_file_is_resumed_or_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    begun(path, b"some torn").leave()
    output = OpenOutput(path, continued=f"{path}.open")
    output.go_to(4)
    output.write(b" more")
    output.flush()
    output.abort()
    assert (tmp_path / "a.warc.zst.open").read_bytes() == b"some"
    output = OpenOutput(path, continued=f"{path}.open")
    output.go_to(4)
    output.write(b" more")
    output.commit()
    assert path.read_bytes() == b"some more"


def test_an_existing_file_is_replaced_only_if_allowed(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    path.write_bytes(b"before")
    path.chmod(0o600)
    with pytest.raises(FileExistsError, match="exists already"):
        OpenOutput(path)
    output = begun(path, existing="overwrite")
    assert stat.S_IMODE((tmp_path / "a.warc.zst.open").stat().st_mode) == 0o600
    assert path.read_bytes() == b"before"
    output.commit()
    assert path.read_bytes() == b"some"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_appeared_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    output = begun(path)
    path.write_bytes(b"of another")
    with pytest.raises(FileExistsError, match="meanwhile"):
        output.commit()
    output.leave()
    assert path.read_bytes() == b"of another"
    assert (tmp_path / "a.warc.zst.open").read_bytes() == b"some"


def test_an_interrupted_commit_can_be_repeated(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "a.warc.zst"
    for number, name in enumerate(("fsync", "link", "unlink", "replace")):
        path.unlink(missing_ok=True)
        existing = "overwrite" if name == "replace" else "error"
        output = begun(path, b"%d" % number, existing=existing)
        real = getattr(os, name)

        def interrupted(*words, real=real) -> None:
            real(*words)
            raise KeyboardInterrupt

        monkeypatch.setattr(os, name, interrupted)
        with pytest.raises(KeyboardInterrupt):
            output.commit()
        monkeypatch.undo()
        output.commit()
        assert path.read_bytes() == b"%d" % number
        assert os.listdir(tmp_path) == ["a.warc.zst"]


def test_a_long_name_is_shortened(tmp_path: Path) -> None:
    name = "ä" * 123 + ".warc.zst"
    assert len(os.fsencode(os.path.basename(unfinished_name(name)))) <= 255
    begun(tmp_path / name).commit()
    assert os.listdir(tmp_path) == [name]


def test_a_dropped_output_leaves_no_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    output = OpenOutput(path)
    output.make()
    assert os.listdir(tmp_path) == ["a.warc.zst.open"]
    del output
    gc.collect()
    assert os.listdir(tmp_path) == []
    output = begun(path)
    output.flush()
    del output
    gc.collect()
    assert (tmp_path / "a.warc.zst.open").read_bytes() == b"some"


def test_a_refused_output_does_not_remove_the_file_of_another(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    first = OpenOutput(path)
    first.make()
    second = OpenOutput(path, existing="overwrite")
    with pytest.raises(seekwarc.TargetError, match="another process is writing to it"):
        second.make()
    second.abort()
    del second
    gc.collect()
    first.write(b"some")
    first.commit()
    assert path.read_bytes() == b"some"
