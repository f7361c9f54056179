"""Finding the file that a writer begins with."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from seekwarc.write.options import WriteOptions
from seekwarc.write.output import FileObjectOutput, PathOutput
from seekwarc.write.targets import find_target, new_output
from seekwarc.write.unfinished import OpenOutput


def test_a_kept_file_outlives_its_writer(tmp_path: Path) -> None:
    made: list[OpenOutput] = []
    for on_error, kind in (("keep", OpenOutput), ("discard", PathOutput)):
        output = new_output(tmp_path / "a.warc.zst", WriteOptions(on_error=on_error), made)
        assert type(output) is kind
        output.abort()
    assert len(made) == 1


@pytest.mark.parametrize("target", [io.BytesIO(), "/dev/null"])
def test_devices_and_file_objects_are_written_to_in_place(target: Any) -> None:
    output = new_output(target, WriteOptions(), [])
    assert isinstance(output, FileObjectOutput)
    output.abort()


def test_only_a_continued_file_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    found = find_target(path, "zst", WriteOptions())
    assert found == (path, None, None)
    found = find_target(path, "zst", WriteOptions(max_file_size=1 << 30))
    assert found.names is not None
    assert found.continued is None
    assert list(tmp_path.iterdir()) == []
