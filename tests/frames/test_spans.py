"""The spans of a gzip member: what a reader needs, whatever wrote the member, and with points of others."""

from __future__ import annotations

import gzip
import random
import struct
import zlib
from concurrent.futures import ThreadPoolExecutor

import pytest
import xxhash

from seekwarc.errors import ChecksumError, FormatError, TruncatedError
from seekwarc.format.sidecar import SidecarRecord
from seekwarc.frames import spans
from seekwarc.frames.points import inflated
from seekwarc.frames.spans import KnownPoint, member_spans
from tests.support.sidecars import HEADER, gzip_member, member, mixed

SPACING = 20_000
PIECES = mixed(5, 300_000)
CONTENT = b"".join(PIECES)
MEMBER = gzip_member(PIECES)


@pytest.fixture(scope="module")
def pool():
    with ThreadPoolExecutor(2) as pool:
        yield pool


@pytest.fixture
def make(pool):
    def make(
        data: bytes, offset: int = 0, size: int = len(CONTENT), points=(), spacing=SPACING
    ) -> SidecarRecord:
        def take(start: int, stop: int) -> bytes:
            return data[start:stop]

        return member_spans(take, offset, size, spacing=spacing, points=points, pool=pool)

    return make


def check(record: SidecarRecord, data: bytes, content: bytes) -> None:
    ends = [
        *((it.stored, it.content) for it in record.spans[1:]),
        (record.offset + record.length, len(content)),
    ]
    assert record.spans[0].content == 0
    for span, (stop, end) in zip(record.spans, ends, strict=True):
        stored = data[span.stored - (span.bits > 0) : stop]
        part = inflated(stored, -span.bits % 8, span.window, end - span.content)
        assert part == content[span.content : end]
        assert xxhash.xxh64_intdigest(part) == span.xxh64


@pytest.mark.parametrize("level", range(10))
def test_each_span_is_decoded_by_itself(make, level):
    before = b"what comes before"
    stored = gzip.compress(CONTENT, level)
    record = make(before + stored + b"after", len(before))
    assert (record.offset, record.length, record.content_size) == (len(before), len(stored), len(CONTENT))
    assert len(record.spans) > 2
    check(record, before + stored, CONTENT)


def test_content_that_refers_to_nothing_needs_no_window(make):
    content = random.Random(1).randbytes(400_000)
    record = make(gzip.compress(content), size=len(content))
    assert {it.window for it in record.spans} == {b""}


def test_a_window_has_only_bytes_that_are_referred_to(make):
    rnd = random.Random(2)
    known, other = rnd.randbytes(20_000), rnd.randbytes(12_000)
    codec = zlib.compressobj(6, zlib.DEFLATED, 31)
    stored = codec.compress(known + other) + codec.flush(zlib.Z_BLOCK)
    stored += codec.compress(known[5000:5100] + rnd.randbytes(9000) + known[9000:9100]) + codec.flush()
    record = make(stored, size=41_200, spacing=32_000)
    window = record.spans[-1].window
    assert known[5000:5100] in window[:102]
    # Of those beside them, and the last ones, some may be kept.
    assert 190 <= len(window) - window.count(0) <= 215
    assert 0 <= len(window) - (32_000 - 5000) <= 2


def test_zeros_that_are_referred_to_are_kept(make):
    rnd = random.Random(3)
    content = bytes(300) + rnd.randbytes(5000)
    codec = zlib.compressobj(6, zlib.DEFLATED, 31)
    stored = (
        codec.compress(content)
        + codec.flush(zlib.Z_BLOCK)
        + codec.compress(bytes(280) + b"!")
        + codec.flush()
    )
    record = make(stored, size=len(content) + 281, spacing=5000)
    check(record, stored, content + bytes(280) + b"!")


def test_headers_of_members_are_passed(make):
    stored = gzip.compress(CONTENT)
    names = b"\5\0extra" + b"name\0" + b"comment\0" + b"hc"
    data = stored[:3] + b"\x1e" + stored[4:HEADER] + names + stored[HEADER:]
    check(make(data), data, CONTENT)


def points_of(least: int, before: int = 0) -> list[KnownPoint]:
    return [
        KnownPoint(8 * HEADER + bit, before + size, lambda size=size: CONTENT[max(size - 32768, 0) : size])
        for bit, size, _ in member(0, MEMBER, CONTENT).blocks[1::3]
        if size >= least
    ]


def test_points_of_an_index_give_the_same_content(make):
    after = KnownPoint(8 * len(MEMBER) + 99, 9_999_999, bytes)
    for given in (points_of(1), [*points_of(0, 777), after], [after]):
        record = make(MEMBER, points=given, spacing=60_000)
        assert record.length == len(MEMBER)
        check(record, MEMBER, CONTENT)


@pytest.mark.parametrize("change", [{"bit": 1}, {"content": 1}, {"window": bytes}])
def test_points_that_are_wrong_are_refused(make, change):
    points = points_of(40_000)
    points[1] = points[1]._replace(
        **{name: by if callable(by) else getattr(points[1], name) + by for name, by in change.items()}
    )
    with pytest.raises(ChecksumError):
        make(MEMBER, points=points)


def test_a_false_place_is_made_good(make, monkeypatch):
    found = spans.blocks_from

    def wrong(take, bit, window, *, exact):
        for event in found(take, bit, window, exact=exact):
            yield event if exact or not isinstance(event, bytes) else event[:-1] + b"?"

    monkeypatch.setattr(spans, "blocks_from", wrong)
    check(make(MEMBER), MEMBER, CONTENT)


def damaged(data: bytes, position: int) -> bytes:
    return data[:position] + bytes((data[position] ^ 4,)) + data[position + 1 :]


def test_what_is_no_record_of_one_member_is_refused(make):
    data = gzip.compress(CONTENT)
    for position in (len(data) // 2, -8, -2):
        with pytest.raises(ChecksumError):
            make(damaged(data, position % len(data)))
    with pytest.raises((TruncatedError, ChecksumError)):
        make(data[: len(data) // 2])
    with pytest.raises(TruncatedError):
        make(data[:-3])
    for size in (len(CONTENT) - 1, len(CONTENT) + 1):
        with pytest.raises(FormatError, match="no member of its own"):
            make(data, size=size)
    for data in (b"", b"\x1f\x8b\x08", b"no gzip member", b"\x1f\x8b\x08\x08" + bytes(6) + b"x" * 99):
        with pytest.raises(FormatError, match="no gzip member"):
            make(data)


def test_one_block_of_too_much_content_is_refused(make, monkeypatch):
    monkeypatch.setattr(spans, "MAX_SPAN", 1 << 20)
    data = gzip.compress(bytes(5 << 20))
    with pytest.raises(FormatError, match="a deflate block has more than"):
        make(data, size=5 << 20)


def test_very_many_empty_blocks_are_refused(make, monkeypatch):
    monkeypatch.setattr(spans, "MAX_SPAN", 1 << 10)
    monkeypatch.setattr(spans, "READ", 1 << 10)
    empty = struct.pack("<BHH", 0, 0, 0xFFFF) * 5000
    data = gzip.compress(b"")[:HEADER] + empty + b"\3\0" + bytes(8)
    with pytest.raises(FormatError, match="next to nothing"):
        make(data, size=0)
