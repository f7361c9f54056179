"""ARC files are told from others."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest

from seekwarc.errors import SourceError
from seekwarc.tools.arc import is_arc
from tests.support.arc import ARC, ARC_GZ


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (ARC, True),
        (ARC_GZ, True),
        (b"", False),
        (b"WARC/1.1\r\n", False),
        (gzip.compress(b"WARC/1.1\r\n", mtime=0), False),
        (b"\x1f\x8bdamaged", False),
        (b"\x1f\x8b", False),
    ],
)
def test_arc_files_are_told_by_their_content(data: bytes, expected: bool, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(data)
    assert is_arc(tmp_path / "file") is expected


def test_a_pipe_is_not_looked_at() -> None:
    assert not is_arc(io.BytesIO(ARC))


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        is_arc(tmp_path / "none.arc")
