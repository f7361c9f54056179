"""GZIDX: points are read as indexed_gzip and rapidgzip write them, and what does not fit is refused."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.errors import FormatError
from seekwarc.format.gzidx import GzidxPoint, parse_gzidx

WINDOW = 32768
POINTS = [(10, 0, 0, 0), (900, 5000, 3, 1), (2000, 9000, 0, 0), (2500, 20_000, 7, 1)]


def index(points=POINTS, *, magic=b"GZIDX", version=1, window=WINDOW, count=None) -> bytes:
    count = len(points) if count is None else count
    head = struct.pack("<5sBBQQIII", magic, version, 0, 5000, 30_000, 1 << 20, window, count)
    rows = b"".join(struct.pack("<QQBB", *point) for point in points)
    return head + rows + b"".join(bytes((number,)) * WINDOW for number, row in enumerate(points) if row[3])


def parsed(data: bytes) -> list[GzidxPoint]:
    return parse_gzidx(lambda start, stop: data[start:stop], len(data))


def test_points_have_their_bits_and_windows():
    data = index()
    found = parsed(data)
    assert [(it.bit, it.content) for it in found] == [(80, 0), (7197, 5000), (16_000, 9000), (19_993, 20_000)]
    assert [data[it.window.start : it.window.stop] for it in found] == [
        b"",
        b"\1" * WINDOW,
        b"",
        b"\3" * WINDOW,
    ]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "too short"),
        (index()[:34], "too short"),
        (index(magic=b"GZIDY"), "version 1"),
        (index(version=0), "version 1"),
        (index(window=1 << 15 ^ 1), "version 1"),
        (index(count=2**32 - 1), "ends within"),
        (index()[:-1], "damaged"),
        (index() + b"\0", "damaged"),
        (index([(10, 0, 8, 0)]), "invalid"),
        (index([(0, 0, 1, 0)]), "invalid"),
        (index(POINTS[::-1]), "not in order"),
        (index([POINTS[0]] * 2), "not in order"),
    ],
)
def test_what_is_not_an_index_is_refused(data, message):
    with pytest.raises(FormatError, match=message):
        parsed(data)


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_read_or_refused(data, begins_well):
    data = index()[:35] * begins_well + data
    try:
        found = parsed(data)
    except FormatError:
        return
    assert all(it.window.stop <= len(data) for it in found)
