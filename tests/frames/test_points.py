"""A deflate stream is entered at any bit, before blocks of any type, by either codec."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator

import pytest

from seekwarc.errors import ChecksumError
from seekwarc.format.sidecar import Directory, DirectoryBuilder
from seekwarc.frames.context import FrameContext
from seekwarc.frames.decoder import FrameDecoder
from seekwarc.frames.inflate import gzip_codec
from seekwarc.frames.points import PREFIXES, SpanRun, entered
from seekwarc.frames.sidecar import archive_identity
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.local import BytesSource
from tests.support.inflating import inflate
from tests.support.sidecars import HEADER, Member, gzip_member, member, mixed


@pytest.fixture(scope="module")
def some() -> Member:
    pieces = mixed(3, 150_000)
    return member(0, gzip_member(pieces), b"".join(pieces))


@pytest.fixture(params=[pytest.param("isal", marks=pytest.mark.needs("module:isal")), "zlib"])
def codec(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if request.param == "zlib":
        monkeypatch.setitem(sys.modules, "isal.isal_zlib", None)
    gzip_codec.cache_clear()
    yield
    gzip_codec.cache_clear()


@pytest.mark.parametrize("bit", range(8))
def test_prefixes_are_empty_blocks_that_end_at_their_bit(bit: int) -> None:
    ends: list[int] = []
    # After them comes the last block, an empty one of 10 bits.
    value = int.from_bytes(PREFIXES[bit], "little")
    length = 8 * len(PREFIXES[bit]) - (-bit % 8)
    last = (value | 0b11 << length).to_bytes(len(PREFIXES[bit]) + 2, "little")
    assert inflate(last, on_block=lambda begin, *_: ends.append(begin)) == b""
    assert ends[-1] == length
    assert zlib.decompress(last, -15) == b""


@pytest.mark.usefixtures("codec")
def test_every_block_is_entered(some: Member) -> None:
    data = some.stored[HEADER:]
    assert {block[0] % 8 for block in some.blocks} == set(range(8))
    assert {kind for _, _, kind in some.blocks} == {0, 1, 2}
    assert {bit % 8 for bit, _, kind in some.blocks if kind == 0} == set(range(8))
    for bit, begin, _ in some.blocks:
        inflater = gzip_codec().raw(some.content[max(begin - 32768, 0) : begin])
        # The bits before it are those of other content, and must not matter.
        for other in (0, 255):
            inflater = gzip_codec().raw(some.content[max(begin - 32768, 0) : begin])
            first = data[bit // 8] >> bit % 8 << bit % 8 | other & (1 << bit % 8) - 1
            stream = entered(bytes((first,)) + data[bit // 8 + 1 :], bit % 8)
            assert inflater.decompress(stream, len(some.content) - begin) == some.content[begin:]


def run_of(some: Member, stored: bytes, change: bytes = b"") -> SpanRun:
    builder, record = DirectoryBuilder(), some.record(20_000)
    builder.add(record)
    windows = b"".join(span.window for span in record.spans)
    content = windows + builder.build(archive_identity(BytesSource(some.stored)))
    spans = Directory(lambda start, stop: content[start:stop], len(content), 1 << 20).find(0)
    context = FrameContext(Fetcher(BytesSource(stored)), FrameDecoder(lambda: None), cache_size=0, threads=2)
    windows = change or windows
    return SpanRun(context, 0, spans, lambda start, stop: windows[start:stop])


@pytest.mark.usefixtures("codec")
def test_ranges_are_those_of_the_content(some: Member) -> None:
    run = run_of(some, some.stored)
    size = len(some.content)
    for start in range(0, size, 7001):
        for stop in (start + 1, min(start + 25_000, size), size):
            out = bytearray(stop - start)
            assert run.read(start, stop) == some.content[start:stop]
            run.read_into(start, memoryview(out), verify=False)
            assert out == some.content[start:stop]


@pytest.mark.usefixtures("codec")
def test_damage_is_found_in_the_span_that_has_it(some: Member) -> None:
    run = run_of(some, some.stored)
    second = run.table[1]
    place = second.stored_start + 3000
    damaged = run_of(some, some.stored[:place] + b"\xff\x00\xff" + some.stored[place + 3 :])
    assert damaged.read(0, second.content_start) == some.content[: second.content_start]
    with pytest.raises(ChecksumError, match=r"frame 1 .*"):
        damaged.read(0, second.content_stop)


def test_a_window_of_other_bytes_is_found(some: Member) -> None:
    run = run_of(some, some.stored, bytes(1 << 20))
    with pytest.raises(ChecksumError, match="checksum"):
        run.read(0, len(some.content))


def test_a_window_that_is_too_short_is_found(some: Member) -> None:
    run = run_of(some, some.stored, b"x")
    with pytest.raises(ChecksumError, match="span"):
        run.read(0, len(some.content))
