"""Every target gets the output that suits it."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import pytest

import seekwarc
from seekwarc.write.opening import committed, open_output
from seekwarc.write.output import FileObjectOutput, OpenOutput, PathOutput


def test_a_path_gets_a_hidden_file_or_one_that_is_kept(tmp_path: Path) -> None:
    hidden = open_output(tmp_path / "a")
    assert type(hidden) is PathOutput
    visible = open_output(os.fspath(tmp_path / "b"), kept=True)
    assert type(visible) is OpenOutput
    assert not (tmp_path / "b.open").exists()
    visible.make()
    assert (tmp_path / "b.open").exists()
    assert open_output(visible) is visible
    for output in (hidden, visible):
        output.abort()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("target", [io.BytesIO(), "/dev/null"])
def test_devices_and_file_objects_are_written_to_in_place(target: Any) -> None:
    output = open_output(target, existing="error", kept=True)
    assert isinstance(output, FileObjectOutput)
    assert output.filename is None
    output.abort()


def test_an_existing_target_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    path.write_bytes(b"before")
    with pytest.raises(FileExistsError, match=r"a\.warc\.zst: exists already.*--force"):
        open_output(path, existing="error")
    output = open_output(path)
    output.write(b"after")
    output.commit()
    assert path.read_bytes() == b"after"


def test_a_block_that_raises_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), committed(tmp_path / "a") as output:
        output.write(b"some")
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
    with committed(tmp_path / "a") as output:
        output.write(b"some")
    assert (tmp_path / "a").read_bytes() == b"some"


def test_what_cannot_be_written_to_is_refused() -> None:
    with pytest.raises(TypeError, match="target must be a path or a binary file object, not int"):
        open_output(5)  # type: ignore[arg-type]
    with pytest.raises(seekwarc.TargetError, match="a web server cannot be written to"):
        open_output("https://example.org/a.warc.zst")
