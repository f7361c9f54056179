"""Files are written at known offsets, locked, and named without replacing another."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import seekwarc
from seekwarc.write import output as output_module
from seekwarc.write.files import give_name, lock_file
from seekwarc.write.output import PathOutput


@given(steps=st.lists(st.one_of(st.binary(max_size=40), st.integers(0, 200), st.none()), max_size=30))
def test_rollback_cuts_off_the_end_and_keeps_the_rest(steps, tmp_path_factory) -> None:
    path = tmp_path_factory.getbasetemp() / "rolled"
    expected = b""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(output_module, "BUFFER_SIZE", 25)
        output = PathOutput(path)
        for step in steps:
            if step is None:
                with output.reopen() as file:
                    assert file.read() == expected
            elif isinstance(step, int):
                expected = expected[:step]
                assert output.rollback(len(expected))
            else:
                output.write(step)
                expected += step
        output.commit()
    assert path.read_bytes() == expected


def test_an_interrupted_write_is_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = PathOutput(tmp_path / "a")
    output.write(b"one")
    write = output_module.write_all

    def interrupted(file, data) -> None:
        write(file, data)
        raise KeyboardInterrupt

    monkeypatch.setattr(output_module, "write_all", interrupted)
    with pytest.raises(KeyboardInterrupt):
        output.flush()
    monkeypatch.undo()
    output.write(b" two")
    output.commit()
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
