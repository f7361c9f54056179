"""A record by its offset, from sources that answer at once and from others, with right and wrong lengths."""

from __future__ import annotations

import pytest

import seekwarc
from seekwarc.storage.local import BytesSource
from tests.support.foreign import Foreign, text
from tests.support.sources import Pipe

SIZES = (0, 300, 30_000, 200_000)


class Slow(BytesSource):
    """Each call costs, but one comes after the other."""

    policy = BytesSource.policy._replace(gap=1 << 16)


class Far(BytesSource):
    policy = BytesSource.policy._replace(gap=1 << 16, in_flight=4)


def file_of(kind: str) -> bytes:
    made = Foreign()
    for number, size in enumerate(SIZES):
        made.record(text(size, seed=number))
    return {"gz": made.gzip, "zst": lambda: made, "none": made.plain}[kind]().bytes()


@pytest.mark.parametrize("source", [BytesSource, Slow, Far])
@pytest.mark.parametrize("kind", ["gz", "zst", "none"])
@pytest.mark.parametrize("strict", [False, True])
def test_each_record_is_found_whatever_the_length_says(kind, source, strict) -> None:
    data = file_of(kind)
    with seekwarc.open(data) as archive:
        truth = [(record.offset, record.block.read()) for record in archive]
    ends = [*(offset for offset, _ in truth[1:]), len(data)]
    with seekwarc.open(source(data), strict=strict) as archive:
        for (offset, block), end in zip(truth, ends, strict=True):
            for length in (None, end - offset, end - offset + 5, 1, len(data) * 2):
                record = archive.record_at(offset, length)
                assert (record.offset, record.block.read()) == (offset, block)


@pytest.mark.parametrize("kind", ["gz", "zst", "none"])
def test_nothing_begins_after_the_end_or_inside_a_record(kind) -> None:
    data = file_of(kind)
    with seekwarc.open(data) as archive:
        for offset in (3, len(data), len(data) + 10):
            with pytest.raises(seekwarc.FormatError):
                archive.record_at(offset, 100)


def test_a_pipe_gives_the_record_it_comes_to() -> None:
    data = file_of("gz")
    with seekwarc.open(data) as archive:
        second = [record.offset for record in archive][1]
    with seekwarc.open(Pipe(data)) as archive:
        assert archive.record_at(second).block.read() == text(SIZES[1], seed=1)
