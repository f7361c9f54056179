"""Small gzip members inflated many at a time: exact places, whatever looks like a member."""

from __future__ import annotations

import random
import struct
import threading
import zlib
from collections.abc import Callable
from contextlib import closing
from functools import cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import seekwarc
from seekwarc.frames.ahead import MAX_BATCH_CONTENT, SMALL_FRAME, DecodedBatch
from seekwarc.frames.decoder import FrameDecoder
from seekwarc.frames.members import MAGIC, members_ahead
from seekwarc.frames.pieces import Piece, pieces_from
from seekwarc.frames.scan import Window
from seekwarc.storage.local import BytesSource
from tests.support.foreign import Foreign, gzip_member, text
from tests.support.rounds import rounds
from tests.support.sources import Pipe
from tests.support.threads import seen
from tests.support.writing import noise

pytest.importorskip("isal")

CONTENTS = [text(random.Random(n).randrange(1, 3000), seed=n % 16) for n in range(600)]


@cache
def members() -> list[bytes]:
    return [gzip_member(content) for content in CONTENTS]


def batches(data: bytes, offset: int = 0, threads: int = 3) -> list[DecodedBatch]:
    with closing(members_ahead(Window(BytesSource(data)), offset, threads)) as ahead:
        return list(iter(ahead.take, None))


def contents(data: bytes) -> list[bytes]:
    return [content for batch in batches(data) for content in batch.contents]


def stored(content: bytes, *, flags: int = 0, extra: bytes = b"") -> bytes:
    """Return a member whose content stands in it as it is."""
    deflate = zlib.compressobj(0, zlib.DEFLATED, -15)
    trailer = struct.pack("<II", zlib.crc32(content), len(content))
    head = MAGIC + bytes([flags, 0, 0, 0, 0, 0, 3])
    return head + extra + deflate.compress(content) + deflate.flush() + trailer


def test_members_come_in_order_with_their_ends() -> None:
    found = batches(b"".join(members()))
    assert [content for batch in found for content in batch.contents] == CONTENTS
    sizes = [len(member) for member in members()]
    assert [end for batch in found for end in batch.ends] == [sum(sizes[: n + 1]) for n in range(len(sizes))]
    assert [batch.followed for batch in found] == [True] * (len(found) - 1) + [False]
    assert max(batch.size for batch in found) < MAX_BATCH_CONTENT + SMALL_FRAME


def test_it_may_begin_anywhere() -> None:
    found = batches(b"".join(members()), len(b"".join(members()[:300])))
    assert [content for batch in found for content in batch.contents] == CONTENTS[300:]


STOPS: dict[str, bytes] = {
    "large": gzip_member(text(SMALL_FRAME + 1)),
    "large as stored": gzip_member(noise(SMALL_FRAME)),
    "bomb": gzip_member(bytes(50 << 20)),
    "empty": gzip_member(b""),
    "zeros": bytes(40),
    "named": stored(b"content", flags=8, extra=b"name\0"),
    "no member": b"no member at all, but text" * 3,
}


@pytest.mark.parametrize("stop", STOPS)
def test_it_ends_before_what_is_no_small_member(stop: str) -> None:
    found = contents(b"".join(members()[:10]) + STOPS[stop] + members()[10])
    assert found == CONTENTS[: len(found)]
    assert len(found) <= 10


LOOKALIKES: dict[str, Callable[[], bytes]] = {
    "magic": lambda: MAGIC + bytes(20),
    "size before it": lambda: struct.pack("<II", 1, 5) + MAGIC + bytes(20),
    "member": lambda: gzip_member(b"another") * 2,
    "trailer": lambda: gzip_member(b"another") + MAGIC,
}


@pytest.mark.parametrize("kind", LOOKALIKES)
@pytest.mark.parametrize("place", [0, 17, 300])
def test_what_looks_like_a_member_inside_one_is_passed_over(kind: str, place: int) -> None:
    inner = text(place) + struct.pack("<I", 200) + LOOKALIKES[kind]() + text(50)
    found = batches(b"".join(members()[:3]) + stored(inner) + b"".join(members()[3:6]))
    right = [*CONTENTS[:3], inner, *CONTENTS[3:6]]
    given_out = [content for batch in found for content in batch.contents]
    assert given_out == right[: len(given_out)]


@pytest.mark.parametrize("at", ["content", "checksum", "size"])
def test_nothing_of_a_batch_with_damage_is_given_out(at: str) -> None:
    damaged = bytearray(b"".join(members()))
    damaged[{"content": -12, "checksum": -8, "size": -4}[at]] ^= 1
    found = contents(bytes(damaged))
    assert len(found) < len(CONTENTS)
    assert found == CONTENTS[: len(found)]


# As iterating uses it.


def crawl(count: int = 700) -> Foreign:
    made = Foreign()
    for number in range(count):
        made.record(text(number * 37 % 900, seed=number))
    return made.gzip()


@pytest.mark.parametrize("place", [100, 350, 699])
def test_damage_is_reported_where_it_is(place: int) -> None:
    made = crawl()
    data = bytearray(made.bytes())
    data[made.records[place].stop - 5] ^= 1
    with seekwarc.open(bytes(data), threads=2) as archive:
        found = iter(archive)
        with pytest.raises(seekwarc.ChecksumError) as caught:
            for put in made.records:
                assert next(found).offset == put.offset
        assert caught.value.offset == made.records[place].offset


@pytest.mark.one_in(3)
@pytest.mark.parametrize("left", [1, 2, 9, 10, 11, 17, 18, 19, 29])
def test_a_cut_inside_the_last_member_hides_no_other(left: int) -> None:
    made = crawl()
    last = made.records[-1]
    with seekwarc.open(made.bytes()[: last.offset + left], threads=2) as archive:
        found = iter(archive)
        for put in made.records[:-1]:
            assert next(found).offset == put.offset
        with pytest.raises(seekwarc.TruncatedError):
            next(found)


def record(content: bytes) -> bytes:
    return b"WARC/1.0\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n" % (len(content), content)


PARTS: dict[str, Callable[[int], bytes]] = {
    "small": lambda n: gzip_member(record(text(n * 37 % 900, seed=n))),
    "large": lambda n: gzip_member(record(text(200_000, seed=n))),
    "shared": lambda n: gzip_member(record(text(n)) * 2),
    "hidden": lambda n: stored(record(text(n)) + b"\x10\0\0\0" + MAGIC + bytes(30)),
    "stored": lambda n: stored(record(struct.pack("<II", 1, 90) + gzip_member(record(text(n))) * 2)),
    "forged": lambda n: stored(
        record(text(n))
        + struct.pack("<II", zlib.crc32(record(text(n))), len(record(text(n))))
        + gzip_member(record(text(n)))
    ),
    "named": lambda n: stored(record(text(n)), flags=8, extra=b"name\0"),
    "blank": lambda _: gzip_member(b"\r\n"),
    "empty": lambda _: gzip_member(b""),
    "zeros": lambda _: bytes(9),
}


@pytest.mark.slow
@settings(max_examples=rounds(40))
@given(
    st.lists(st.tuples(st.sampled_from(sorted(PARTS)), st.integers(1, 4)), max_size=4),
    st.integers(2, 6),
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), max_size=2),
    st.booleans(),
)
@example([("blank", 1), ("shared", 1)], 2, [], False)
@example([("blank", 1), ("stored", 4), ("blank", 1)], 2, [], False)
def test_any_number_of_threads_reads_what_one_reads(parts, threads, damage, is_cut) -> None:
    data = bytearray(b"".join(PARTS["small"](n) for n in range(100)))
    for kind, count in parts:
        data += b"".join(PARTS[kind](n) for n in range(count))
        data += b"".join(PARTS["small"](n) for n in range(150))
    for place, flips in damage:
        data[int(place * len(data))] ^= flips
    file = bytes(data[: len(data) * 3 // 4] if is_cut else data)
    assert seen(file, threads) == seen(file, 1)
    assert units(file, threads) == units(file, 1)


def units(data: bytes, threads: int) -> tuple[list[tuple[int, bytes, int | None]], str]:
    """Return beginning, content and end of all members in order, and the error that ends them."""
    found: list[tuple[int, bytes, int | None]] = []
    window = Window(BytesSource(data))
    with closing(pieces_from(window, 0, "gz", FrameDecoder(lambda: None), threads=threads)) as pieces:
        try:
            for piece in pieces:
                assert isinstance(piece, Piece)
                before = b"" if piece.first else found.pop()[1]
                found.append((piece.offset, before + piece.data, piece.end))
        except seekwarc.FormatError as error:
            # Of a damaged member more or less may come before the damage is noticed.
            return [member for member in found if member[2] is not None], str(error)
    return found, ""


def test_pieces_left_early_leave_no_thread() -> None:
    before = threading.active_count()
    # More than may wait to be taken.
    data = b"".join(members()) * 12
    with closing(
        pieces_from(Window(BytesSource(data)), 0, "gz", FrameDecoder(lambda: None), threads=3)
    ) as pieces:
        for _ in range(100):
            next(pieces)
        assert threading.active_count() == before + 2, "the third is this one"
    assert threading.active_count() == before


def test_a_pipe_is_read_by_one_thread() -> None:
    before = threading.active_count()
    with seekwarc.open(Pipe(crawl().bytes()), threads=3) as archive:
        for _ in archive:
            assert threading.active_count() == before
