"""Spooled blocks: how they are cut into frames, and frames into segments."""

from __future__ import annotations

import errno
import hashlib
import io
import itertools
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import seekwarc
from seekwarc.format.http import parse_http_head
from seekwarc.frames.encoder import EncodedFrame, FrameEncoder
from seekwarc.write.block_reader import BlockSource
from seekwarc.write.file_layout import FileLayout
from seekwarc.write.opening import open_output
from seekwarc.write.output import Output
from seekwarc.write.spool import (
    BlockShape,
    SegmentLimits,
    SpooledBlock,
    block_shape,
    with_trailer,
)
from tests.support.series import labelled
from tests.support.writing import (
    HTTP_HEAD,
    KIB,
    MIB,
    content_of,
    entries_of,
    noise,
    table_entries,
    text,
    walk,
)

FRAME = 64 * KIB
ENCODER = FrameEncoder(3, None)


# How a block is cut.


def shape_for(length: int | None, frame_size: int, **options: Any) -> BlockShape:
    return block_shape(BlockSource(b"", length), None, length, frame_size=frame_size, merged=False, **options)


@pytest.mark.parametrize("frame_size", [64 * KIB, 100_000, 129 * KIB, 192 * KIB, MIB, MIB + 1, 8 * MIB])
@pytest.mark.parametrize(
    "length",
    [1 << 30, (1 << 36) - 1, 1 << 36, (1 << 36) + 1, (1 << 37) - 1, 1 << 37, 1 << 40, (1 << 43) - (64 << 20)],
)
def test_a_table_has_at_most_2_to_the_20_entries(length: int, frame_size: int) -> None:
    shape = shape_for(length, frame_size)
    assert shape.small <= shape.frame <= 8 * MIB
    chunks, rest = divmod(length, shape.frame)
    most = chunks * math.ceil(shape.frame / shape.small) + math.ceil((rest + 4) / shape.small)
    header_and_http_head = 2
    assert header_and_http_head + most <= 1 << 20


@pytest.mark.parametrize("frame_size", [64 * KIB, MIB, 8 * MIB])
@pytest.mark.parametrize("length", [30 << 30, None])
def test_frames_are_not_enlarged_without_need(length: int | None, frame_size: int) -> None:
    shape = shape_for(length, frame_size)
    assert shape.frame == frame_size
    assert shape.small == min(frame_size, 128 * KIB)


def test_an_http_head_is_the_lead() -> None:
    for merged in (True, False):
        source = BlockSource(HTTP_HEAD + text(200_000), None)
        shape = block_shape(source, parse_http_head(HTTP_HEAD), None, frame_size=FRAME, merged=merged)
        assert shape.lead == HTTP_HEAD
        assert shape.first == FRAME
        assert source.read(10) == text(200_000)[:10]


def test_a_merged_frame_takes_a_little_of_the_block() -> None:
    source = BlockSource(text(200_000), None)
    shape = block_shape(source, None, 200_000, frame_size=FRAME, merged=True)
    assert text(200_000).startswith(shape.lead)
    assert 0 < len(shape.lead) < FRAME
    assert len(shape.lead) + shape.first == FRAME, "what follows is on the grid again"


def test_an_unmerged_header_takes_nothing_of_the_block() -> None:
    source = BlockSource(text(200_000), None)
    shape = block_shape(source, None, 200_000, frame_size=FRAME, merged=False)
    assert (shape.lead, shape.first, shape.frame) == (b"", FRAME, FRAME)


def chunks_of(data: bytes, size: int) -> Iterator[tuple[bytes, bool]]:
    for start in range(0, len(data), size):
        yield data[start : start + size], start + size >= len(data)


@pytest.mark.parametrize("size", [1, 100, 999, 1000, 5000])
def test_the_trailer_is_in_the_last_chunk(size: int) -> None:
    block = text(1000)
    found = list(with_trailer(chunks_of(block, size), lambda: b"\r\n\r\n"))
    assert b"".join(content for content, _ in found) == block + b"\r\n\r\n"
    assert [end for _, end in found] == [None] * (math.ceil(1000 / size) - 1) + [b"\r\n\r\n"]


def test_the_trailer_is_asked_after_the_block() -> None:
    passed = []

    def chunks() -> Iterator[tuple[bytes, bool]]:
        for chunk in chunks_of(b"abc", 1):
            passed.append(chunk[0])
            yield chunk

    found = with_trailer(chunks(), lambda: b"".join(passed))
    assert b"".join(content for content, _ in found) == b"abcabc"


def test_no_chunk_grows_beyond_8_mib_by_its_trailer() -> None:
    block = bytes(8 * MIB)
    found = list(with_trailer(iter([(block, True)]), lambda: b"\r\n\r\n"))
    assert [end for _, end in found] == [None, b"\r\n\r\n"]
    assert max(len(content) for content, _ in found) <= 8 * MIB
    assert b"".join(content for content, _ in found) == block + b"\r\n\r\n"


# The spool.


def spooled(
    block: bytes, *, lead: bytes = b"", frame: int = FRAME, output: Output | None = None, **options: Any
) -> SpooledBlock:
    """Spool a block like the assembly, with its lead apart."""
    shape = BlockShape(frame, frame, lead, frame, merged=False)
    spool = SpooledBlock(output or open_output(io.BytesIO()), shape, ENCODER, **options)
    for content, end in with_trailer(chunks_of(block, frame), b"\r\n\r\n"):
        part = memoryview(content)[: len(content) - len(end or b"")]
        spool.add(part, ENCODER.encode_chunk(content, frame))
    spool.finish()
    return spool


def poured(spool: SpooledBlock, number: int = 0) -> tuple[bytes, bytes]:
    """Write a segment into a file of its own; return the content of its frames, and the file."""
    target = io.BytesIO()
    layout = FileLayout(open_output(target), "every")

    def step() -> None:
        layout.begin_record()
        spool.pour(layout, spool.segments[number])
        layout.end_record(large=True)

    layout.once(1, step)
    *frames, table = walk(target.getvalue())
    assert table_entries(table) == entries_of(frames)
    return content_of(frames), target.getvalue()


@pytest.mark.parametrize("make", [text, noise])
@pytest.mark.parametrize("size", [1, FRAME - 1, FRAME, FRAME + 1, 300_000])
def test_a_block_without_limits_is_one_segment(make: Any, size: int) -> None:
    block = make(size)
    with spooled(block, algorithm="sha1") as spool:
        (segment,) = spool.segments
        assert spool.length == segment.length == size
        assert segment.block is not None
        assert segment.block.digest() == hashlib.sha1(block).digest()
        assert poured(spool)[0] == block + b"\r\n\r\n"


def test_segments_may_be_poured_repeatedly_in_any_order() -> None:
    block = noise(300_000)
    with spooled(block, limits=SegmentLimits(2 * FRAME + 2000, 2 * FRAME + 2000)) as spool:
        first = [poured(spool, number)[0] for number in range(len(spool.segments))]
        again = [poured(spool, number)[0] for number in reversed(range(len(spool.segments)))]
    assert len(first) == 3
    assert first == list(reversed(again))


def test_the_lead_is_counted_but_is_no_frame() -> None:
    with spooled(text(200_000), lead=HTTP_HEAD, algorithm="sha256") as spool:
        assert spool.length == len(HTTP_HEAD) + 200_000
        assert poured(spool)[0] == text(200_000) + b"\r\n\r\n"
        digest = spool.segments[0].block
        assert digest is not None
        assert f"sha256:{digest.digest().hex()}" == labelled("sha256", HTTP_HEAD + text(200_000))


def test_without_an_algorithm_there_are_no_digests() -> None:
    limits = SegmentLimits(FRAME, FRAME)
    with spooled(noise(300_000), limits=limits) as spool:
        assert [segment.block for segment in spool.segments] == [None] * len(spool.segments)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("make", [text, noise])
@pytest.mark.parametrize("lead", [b"", HTTP_HEAD])
@pytest.mark.parametrize("first", [70_000, 100_000, 200_000])
@pytest.mark.parametrize("following", [70_000, 150_000, 1_000_000])
def test_segments_are_as_large_as_their_limits_allow(
    make: Any, lead: bytes, first: int, following: int
) -> None:
    block = make(2 * MIB)
    with spooled(block, lead=lead, limits=SegmentLimits(first, following), algorithm="sha1") as spool:
        parts = [poured(spool, number) for number in range(len(spool.segments))]
        contents, files = zip(*parts, strict=True)
        limits = [first, *[following] * (len(parts) - 1)]
        for content, file, limit, segment in zip(contents, files, limits, spool.segments, strict=True):
            assert content.endswith(b"\r\n\r\n")
            assert len(file) <= limit, "table included"
            assert segment.stored_size == sum(size for size, *_ in segment.frames)
        assert lead + b"".join(content[:-4] for content in contents) == lead + block
        lengths = [segment.length for segment in spool.segments]
        assert lengths == [len(contents[0]) - 4 + len(lead), *(len(content) - 4 for content in contents[1:])]
        assert sum(lengths) == spool.length
        for segment, content in zip(spool.segments, contents, strict=True):
            part = (lead if segment is spool.segments[0] else b"") + content[:-4]
            assert segment.block is not None
            assert segment.block.digest() == hashlib.sha1(part).digest()
        for limit, (one, other) in zip(limits, itertools.pairwise(spool.segments), strict=False):
            next_frame = other.frames[0][0]
            margin = 2 * KIB
            assert one.stored_size + next_frame + 24 * (len(one.frames) + 1) + margin > limit


def test_a_block_that_fits_is_one_segment() -> None:
    block = noise(3 * FRAME)
    with spooled(block, limits=SegmentLimits(3 * FRAME + 2 * KIB, FRAME)) as spool:
        assert len(spool.segments) == 1
        assert poured(spool)[0] == block + b"\r\n\r\n"


@pytest.mark.parametrize("make", [text, noise])
def test_a_block_is_no_larger_than_its_size_bound(make: Any) -> None:
    with spooled(make(500_000), lead=HTTP_HEAD, entry_size=12) as spool:
        # As in the mode "every": an entry for each frame, in a table that takes 17 bytes besides.
        assert len(poured(spool)[1]) == spool.size_bound + 17


def test_no_frame_holds_more_than_8_mib_where_a_segment_ends() -> None:
    frame = ENCODER.encode(bytes(8 * MIB))
    shape = BlockShape(8 * MIB, 8 * MIB, b"", 8 * MIB, merged=False)
    limits = SegmentLimits(500, 500)
    with SpooledBlock(open_output(io.BytesIO()), shape, ENCODER, limits=limits) as spool:
        for _ in range(2):
            spool.add(memoryview(bytes(8 * MIB)), [frame])
        spool.finish()
        assert len(spool.segments) == 2
        assert max(content for segment in spool.segments for _, content, _ in segment.frames) <= 8 * MIB
        assert poured(spool)[0] == bytes(8 * MIB) + b"\r\n\r\n"


def test_the_temporary_file_is_in_the_folder_of_the_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seekwarc.write.spool.SPOOL_IN_MEMORY", 1000)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))
    output = open_output(tmp_path / "a.warc.zst")
    before = os.listdir(tmp_path)
    with spooled(noise(300_000), output=output) as spool:
        assert poured(spool)[0] == noise(300_000) + b"\r\n\r\n"
    assert os.listdir(tmp_path) == before
    output.abort()


def test_a_full_disk_is_a_target_error_that_names_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.BytesIO):
        def __init__(self, *_: Any, **__: Any) -> None:
            super().__init__()

        def write(self, data: Any) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("tempfile.SpooledTemporaryFile", Full)
    shape = BlockShape(FRAME, FRAME, b"", FRAME, merged=False)
    with SpooledBlock(open_output(io.BytesIO()), shape, ENCODER) as spool:
        frame: EncodedFrame = ENCODER.encode(b"some")
        with pytest.raises(seekwarc.TargetError, match=r"<file object>: .* cannot be written: No space left"):
            spool.add(memoryview(b"some"), [frame])
            spool.finish()
