"""The spans of a frame: made of its blocks, exact, and refused where it is damaged or cannot be entered."""

from __future__ import annotations

import random

import pytest
import xxhash

from seekwarc.errors import ChecksumError, FormatError, TruncatedError
from seekwarc.format.sidecar import SidecarRecord
from seekwarc.format.zstd import parse_frame_header
from seekwarc.frames.block_spans import frame_spans
from seekwarc.frames.decoder import FrameDecoder
from seekwarc.frames.scan import Window
from seekwarc.storage.local import BytesSource
from tests.support.framed import BLOCK, FrameMaker

SPACING = 64 << 10
FRONT = b"front"


def spans_of(frame: bytes, size: int, spacing: int = SPACING) -> SidecarRecord:
    header = parse_frame_header(frame)
    decode = FrameDecoder(lambda: None).incremental(header)
    window = Window(BytesSource(FRONT + frame))
    return frame_spans(window, len(FRONT), header, size, spacing=spacing, decode=decode)


def stored_content(data: bytes) -> bytes | None:
    """Return the content of blocks; None if one is compressed."""
    content, place = b"", 0
    while place + 3 <= len(data):
        header = int.from_bytes(data[place : place + 3], "little")
        size, kind = header >> 3, header >> 1 & 3
        stored = 1 if kind == 1 else size
        if kind > 1:
            return None
        piece = data[place + 3 : place + 3 + stored]
        content += piece * size if kind else piece
        place += 3 + stored
        if header & 1:
            break
    return content


def check(record: SidecarRecord, frame: bytes, content: bytes) -> list[tuple[bool, int]]:
    """Compare spans with the content, and return whether each is stored as it is, and its size."""
    ends = [*((it.stored, it.content) for it in record.spans[1:]), (len(FRONT + frame), len(content))]
    assert (record.offset, record.length, record.content_size) == (len(FRONT), len(frame), len(content))
    found = []
    for span, (stop, end) in zip(record.spans, ends, strict=True):
        assert span.xxh64 == xxhash.xxh64_intdigest(content[span.content : end])
        assert span.bits == 0
        if span.window is not None:
            assert span.window == b""
            data = stored_content((FRONT + frame)[span.stored : stop])
            assert data is not None
            assert data[: end - span.content] == content[span.content : end]
        found.append((span.window is not None, end - span.content))
    assert record.spans[0].content == 0
    return found


@pytest.mark.parametrize("seed", range(12))
def test_spans_are_those_of_the_blocks_whatever_these_are(seed: int) -> None:
    rnd, maker = random.Random(seed), FrameMaker()
    for _ in range(rnd.randint(1, 40)):
        size = rnd.choice([1, 500, 5000, 60_000, BLOCK])
        match rnd.randrange(5):
            case 0:
                maker.compressed(b"text that compresses " * (size // 22 + 10))
            case 1:
                maker.rle(b"r", size)
            case _:
                maker.raw(rnd.randbytes(size))
    maker.raw(rnd.randbytes(1_000_000))
    frame = maker.build(content_size=seed % 2 == 0)
    found = check(spans_of(frame, len(maker.content)), frame, bytes(maker.content))
    assert all(size >= SPACING // 16 for _, size in found[:-1])
    assert all(size < SPACING + BLOCK for _, size in found)
    assert sum(size for stored, size in found if stored) >= 1_000_000 - BLOCK


def test_small_blocks_of_both_kinds_do_not_make_many_spans() -> None:
    maker = FrameMaker()
    for _ in range(300):
        maker.compressed(b"text that compresses " * 30)
        maker.raw(b"raw" * 400)
    frame = maker.build()
    found = check(spans_of(frame, len(maker.content)), frame, bytes(maker.content))
    assert len(found) <= len(maker.content) // (SPACING // 16)


def test_blocks_without_content_are_of_the_span_before_them() -> None:
    maker = FrameMaker()
    for _ in range(3):
        maker.raw(bytes(range(256)) * 300)
        maker.rle(b"", 0)
        maker._blocks[-1] = b"\0\0\0"
    frame = maker.build()
    assert check(spans_of(frame, len(maker.content)), frame, bytes(maker.content)) == [(True, 76_800)] * 3


def test_what_cannot_be_entered_or_is_damaged_is_refused() -> None:
    maker = FrameMaker()
    maker.raw(bytes(range(256)) * 10)
    maker.compressed(b"text that compresses " * 30)
    frame, size = maker.build(), len(maker.content)
    assert len(spans_of(frame, size).spans) == 1
    with pytest.raises(FormatError, match=f"holds {size} bytes, the record 5: it has no frame"):
        spans_of(frame, 5)
    with pytest.raises(ChecksumError, match="its checksum"):
        spans_of(maker.build(damage=True), size)
    for cut in (1, 10, 200, len(frame) - 8):
        with pytest.raises(TruncatedError):
            spans_of(frame[:-cut], size)
    with pytest.raises(FormatError, match="block header"):
        spans_of(frame[:6] + b"\xff\xff\xff" + frame[9:], size)
    maker.compressed(b"text that compresses " * 3000)
    with pytest.raises(FormatError, match="`seekwarc convert` cuts it"):
        spans_of(maker.build(), len(maker.content))
