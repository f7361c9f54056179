"""Small frames decoded many at a time, ahead of whoever takes them."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from contextlib import closing

import pytest

import seekwarc
from seekwarc.frames.ahead import SMALL_FRAME, DecodedBatch
from seekwarc.frames.batch import frames_ahead
from seekwarc.frames.decoder import FrameDecoder
from seekwarc.frames.scan import Window
from seekwarc.storage.local import BytesSource
from tests.support.foreign import Foreign, skippable, some_dictionary, text, zstd_frame
from tests.support.leaks import new_threads
from tests.support.writing import noise

CONTENTS = [text(random.Random(n).randrange(1, 3000), seed=n % 16) for n in range(600)]
FRAMES = [zstd_frame(content) for content in CONTENTS]


def batches(data: bytes, offset: int = 0, dictionary: object = None, threads: int = 3) -> list[DecodedBatch]:
    ahead = frames_ahead(Window(BytesSource(data)), offset, FrameDecoder(lambda: dictionary), threads)
    with closing(ahead):
        return list(iter(ahead.take, None))


def test_frames_come_in_order_with_their_ends() -> None:
    found = batches(b"".join(FRAMES))
    assert [content for batch in found for content in batch.contents] == CONTENTS
    sizes = [len(frame) for frame in FRAMES]
    assert [end for batch in found for end in batch.ends] == [sum(sizes[: n + 1]) for n in range(len(sizes))]
    assert [batch.followed for batch in found] == [True] * (len(found) - 1) + [False]
    assert [batch.size for batch in found] == [sum(map(len, batch.contents)) for batch in found]


def test_it_may_begin_anywhere() -> None:
    begin = len(b"".join(FRAMES[:300]))
    found = batches(b"".join(FRAMES), begin)
    assert [content for batch in found for content in batch.contents] == CONTENTS[300:]


STOPS: dict[str, bytes] = {
    "large": zstd_frame(text(SMALL_FRAME + 1)),
    "large as stored": zstd_frame(noise(SMALL_FRAME)),
    "no size": zstd_frame(b"content", content_size=False),
    "empty": zstd_frame(b""),
    "extension": skippable(0x184D2A50, b"x"),
    "no frame": b"no frame at all, but text",
    "cut": FRAMES[5][:-6],
    "end": b"",
}


@pytest.mark.parametrize("stop", STOPS)
def test_it_ends_before_what_is_no_small_frame(stop: str) -> None:
    found = batches(b"".join(FRAMES[:10]) + STOPS[stop] + FRAMES[10] * (stop != "cut"))
    assert [content for batch in found for content in batch.contents] == CONTENTS[: 10 + (stop == "end")]
    assert found[-1].followed is (stop in ("large", "large as stored", "no size", "cut"))


def test_nothing_of_a_batch_with_damage_is_given_out() -> None:
    damaged = bytearray(b"".join(FRAMES))
    damaged[-1] ^= 1
    found = [content for batch in batches(bytes(damaged)) for content in batch.contents]
    assert len(found) < len(CONTENTS)
    assert found == CONTENTS[: len(found)]


def test_the_dictionary_is_used() -> None:
    dictionary = some_dictionary()
    frames = b"".join(zstd_frame(content, dictionary=dictionary) for content in CONTENTS[:50])
    found = batches(frames, dictionary=seekwarc.Dictionary(dictionary.as_bytes()))
    assert [content for batch in found for content in batch.contents] == CONTENTS[:50]


# As iterating uses it.


def crawl(change: Callable[[Foreign, int], object] = lambda *_: None) -> Foreign:
    made = Foreign()
    for number in range(700):
        made.record(text(number % 50, seed=number))
        change(made, number)
    return made


def many_kinds(made: Foreign, number: int) -> None:
    if number % 97 == 0:
        made.extension()
    if number % 201 == 0:
        made.record(text(200_000), cuts=100_000, table=True)
    if number == 400:
        made.record(text(80_000))


@pytest.mark.parametrize("change", [lambda *_: None, many_kinds])
def test_iterating_with_threads_gives_what_it_gives_without(change: Callable) -> None:
    made = crawl(change)
    data = made.file_table().bytes()
    for threads in (1, 2, 5):
        with seekwarc.open(data, threads=threads) as archive:
            found = [
                (record.offset, record.length, record.header.raw, record.block.read()) for record in archive
            ]
        assert found == [(put.offset, put.length, put.header, put.block) for put in made.records]


def test_records_stay_usable_when_others_were_read_ahead() -> None:
    made = crawl()
    with seekwarc.open(made.bytes(), threads=2) as archive:
        records = list(archive)
        assert [record.block.read() for record in reversed(records)] == [
            put.block for put in reversed(made.records)
        ]


@pytest.mark.parametrize("place", [100, 350, 699])
def test_damage_is_reported_where_it_is(place: int) -> None:
    made = crawl()
    data = bytearray(made.bytes())
    data[made.records[place].stop - 1] ^= 1
    with seekwarc.open(bytes(data), threads=2) as archive:
        found = iter(archive)
        assert [next(found).offset for _ in range(place)] == [put.offset for put in made.records[:place]]
        with pytest.raises(seekwarc.ChecksumError) as caught:
            next(found)
        assert caught.value.offset == made.records[place].offset


def test_stopping_early_leaves_no_thread() -> None:
    before = set(threading.enumerate())
    with seekwarc.open(b"".join(crawl().bytes() for _ in range(20)), threads=2) as archive:
        records = iter(archive)
        for _ in range(300):
            next(records)
        records.close()
    assert new_threads(before) == []
