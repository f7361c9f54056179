"""A source as a file."""

from __future__ import annotations

import io

from seekwarc.storage.source_file import SourceFile
from tests.support.sources import RecordingSource


def test_a_source_is_a_seekable_file() -> None:
    file = SourceFile(RecordingSource(b"0123456789"))
    assert (file.seek(-3, io.SEEK_END), file.read(), file.read()) == (7, b"789", b"")
    assert (file.seek(2), file.seek(1, io.SEEK_CUR), file.read(2), file.tell()) == (2, 3, b"34", 5)
    assert file.readable()
    assert file.seekable()
