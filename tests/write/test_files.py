"""Files are written at known offsets, locked, and named without replacing another."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import seekwarc
from seekwarc.write import files
from seekwarc.write.files import FileOutput, give_name, lock_file
from seekwarc.write.output import open_output


@given(steps=st.lists(st.one_of(st.binary(max_size=40), st.integers(0, 200), st.none()), max_size=30))
def test_rollback_cuts_off_the_end_and_keeps_the_rest(steps, tmp_path_factory) -> None:
    path = tmp_path_factory.getbasetemp() / "rolled"
    expected = b""
    with path.open("wb", 0) as file, pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "BUFFER_SIZE", 25)
        output = FileOutput("name", file)
        for step in steps:
            if step is None:
                output.flush()
                assert path.read_bytes() == expected
            elif isinstance(step, int):
                expected = expected[:step]
                assert output.rollback(len(expected))
            else:
                output.write(step)
                expected += step
        output.flush()
    assert path.read_bytes() == expected


def test_an_interrupted_write_is_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "a").open("wb", 0) as file:
        output = FileOutput("name", file)
        output.write(b"one")
        write = files.write_all

        def interrupted(file, data) -> None:
            write(file, data)
            raise KeyboardInterrupt

        monkeypatch.setattr(files, "write_all", interrupted)
        with pytest.raises(KeyboardInterrupt):
            output.flush()
        monkeypatch.undo()
        output.write(b" two")
        output.flush()
    assert (tmp_path / "a").read_bytes() == b"one two"


def test_a_locked_file_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "a").open("wb") as file:
        lock_file(file, "a")
        with pytest.raises(seekwarc.TargetError, match="a: another process is writing to it"):
            lock_file((tmp_path / "a").open("r+b"), "a")


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_appeared_meanwhile_is_not_replaced(links, tmp_path, monkeypatch) -> None:
    if not links:

        def unsupported(*_: object) -> None:
            raise OSError(errno.EPERM, "no links here")

        monkeypatch.setattr(os, "link", unsupported)
    new, old = tmp_path / "new", tmp_path / "old"
    new.write_bytes(b"new")
    give_name(str(new), str(old), "old", "error")
    assert (old.read_bytes(), new.exists()) == (b"new", False)
    new.write_bytes(b"newer")
    with pytest.raises(seekwarc.TargetExistsError):
        give_name(str(new), str(old), "old", "error")
    assert (old.read_bytes(), new.read_bytes()) == (b"new", b"newer")
    give_name(str(new), str(old), "old", "overwrite")
    assert (old.read_bytes(), new.exists()) == (b"newer", False)


def test_an_existing_target_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    path.write_bytes(b"before")
    with pytest.raises(FileExistsError, match=r"a\.warc\.zst: exists already.*--force"):
        open_output(path, existing="error")
    output = open_output(path)
    output.write(b"after")
    output.commit()
    assert path.read_bytes() == b"after"
    for special in ("/dev/null", os.fspath(tmp_path / "new")):
        open_output(special, existing="error").abort()
