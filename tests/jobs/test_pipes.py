"""Pipes that are copied to a temporary file, so that they can be read in any order."""

from __future__ import annotations

import os

import pytest

from seekwarc.errors import TargetError
from seekwarc.jobs.pipes import searchable
from seekwarc.storage.local import BytesSource
from seekwarc.storage.opening import open_source
from tests.support.sources import Pipe


def test_a_seekable_source_is_used_as_it_is() -> None:
    source = BytesSource(b"data")
    with searchable(source) as same:
        assert same is source


def test_a_pipe_is_read_in_any_order(tmp_path) -> None:
    data = os.urandom(3 << 20)
    pipe = Pipe(data)
    with searchable(open_source(pipe), str(tmp_path)) as source:
        assert source.size == len(data)
        assert source.name == "<pipe>"
        for start, stop in ((3 << 19, 2 << 20), (0, 10), (len(data) - 1, len(data) + 10)):
            assert source.read(start, stop) == data[start:stop]
        assert os.listdir(tmp_path) == [], "it has no name that others could open"
    assert not pipe.closed, "it is the caller's"


def test_a_named_pipe_is_closed(tmp_path) -> None:
    before = len(os.listdir("/dev/fd"))
    reading, writing = os.pipe()
    os.write(writing, b"data")
    os.close(writing)
    with searchable(open_source(f"/dev/fd/{reading}")) as source:
        assert source.read(0, 9) == b"data"
    os.close(reading)
    assert len(os.listdir("/dev/fd")) == before


def test_no_space_for_the_copy_is_an_error(tmp_path) -> None:
    with (
        pytest.raises(TargetError, match="<pipe>: cannot be copied to a temporary file: No such file"),
        searchable(open_source(Pipe(b"data")), str(tmp_path / "missing")),
    ):
        pass
