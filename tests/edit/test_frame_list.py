"""Frames that are copied: which are read together, and which are found without looking at each."""

from __future__ import annotations

from pathlib import Path

import pytest

from seekwarc.edit.frame_list import FrameList, frames_near
from seekwarc.frames.scan import Window, frames_from
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.opening import open_source
from tests.support.foreign import skippable, some_dictionary, zstd_frame
from tests.support.sources import RecordingSource
from tests.support.writing import noise

SIZES = (3000, 1, 200_000, 5000)
CONTENTS = [noise(size, seed=size) for size in SIZES]
FRAMES = [zstd_frame(content) for content in CONTENTS]


def test_contiguous_frames_are_copied_together() -> None:
    frames = FrameList()
    for offset, stored, held in [
        (0, 10, 100),
        (10, 10, 100),
        (30, 10, 100),
        (40, 5, 0),
        (45, 10, 300),
        (55, 9, 1),
    ]:
        frames.add(offset, stored, held)
    assert list(frames.runs(0, 6, 10**6)) == [range(2), range(2, 6)]
    assert list(frames.runs(0, 6, 250)) == [range(2), range(2, 4), range(4, 5), range(5, 6)]
    assert list(frames.runs(1, 3, 10**6)) == [range(1, 2), range(2, 3)]
    assert list(frames.runs(0, 6, 12)) == [range(n, n + 1) for n in range(6)]
    assert list(frames.runs(3, 3, 10**6)) == []


def near(tmp_path: Path, *frames: bytes) -> FrameList | None:
    path = tmp_path / "frames.zst"
    path.write_bytes(b"".join(frames))
    source = Fetcher(open_source(path))
    try:
        return frames_near(source, 0, sum(SIZES))
    finally:
        source.close()


def test_frames_that_can_be_copied_are_those_that_stepping_finds(tmp_path) -> None:
    data = b"".join(FRAMES)
    stepped = [*frames_from(Window(Fetcher(open_source(data))), 0)]
    found = near(tmp_path, data, zstd_frame(b"next"))
    assert found is not None
    assert [*found.offsets] == [it.offset for it in stepped]
    assert [*found.stored] == [it.size for it in stepped]
    assert [*found.contents] == [*SIZES]


@pytest.mark.parametrize(
    "other",
    [
        zstd_frame(CONTENTS[0], checksum=False),
        zstd_frame(CONTENTS[0], content_size=False),
        zstd_frame(CONTENTS[0], dictionary=some_dictionary()),
        zstd_frame(b"") + FRAMES[0],
        skippable(0x184D2A50, b"more") + FRAMES[0],
        FRAMES[0][:50],
        b"",
    ],
)
def test_other_frames_are_left_to_be_looked_at_one_by_one(tmp_path, other) -> None:
    assert near(tmp_path, *FRAMES[1:], other) is None
    assert near(tmp_path, other, *FRAMES[1:]) is None


def test_frames_of_a_source_that_may_be_slow_are_not_read_in_small_steps() -> None:
    source = RecordingSource(b"".join(FRAMES))
    assert frames_near(Fetcher(source), 0, sum(SIZES)) is None
    assert source.requests == []
