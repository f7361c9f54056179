"""Sizes and ranges as users write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.cli.sizes import human_size, parse_range
from seekwarc.errors import RangeError

bounds = st.none() | st.integers(-(10**18) + 1, 10**18 - 1)


@given(bounds, bounds, st.integers(0, 10**6))
def test_a_range_is_a_python_slice(start, stop, size) -> None:
    text = ":".join("" if bound is None else str(bound) for bound in (start, stop))
    first, last, _ = slice(start, stop).indices(size)
    if first > last:
        with pytest.raises(RangeError, match="ends before it begins"):
            parse_range(text, size)
        return
    found = parse_range(text, size)
    assert range(size)[slice(*found)] == range(size)[slice(start, stop)]
    assert 0 <= found[0] <= found[1] <= size


@given(st.integers(0, 10**12), st.integers(0, 10**12), st.integers(0, 10**6))
def test_a_range_is_a_start_and_a_length(start, length, size) -> None:
    first, last = parse_range(f"{start}+{length}", size)
    assert range(size)[first:last] == range(size)[start : start + length]


@given(st.text(max_size=12))
def test_whatever_else_is_refused(text) -> None:
    try:
        start, stop = parse_range(text, 1000)
    except RangeError:
        return
    assert 0 <= start <= stop <= 1000
    assert set(text.removeprefix("bytes=")) <= set("0123456789+-:.kKmMgGtTiIbB")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("-10M:", (6 << 20, 16 << 20)),
        ("1M:2M", (1 << 20, 2 << 20)),
        (":-1.5M", (0, 29 << 19)),
        ("0.5M+64K", (1 << 19, (1 << 19) + (64 << 10))),
        ("1K-2K", (1 << 10, (2 << 10) + 1)),
        ("bytes=-64KiB", ((16 << 20) - (64 << 10), 16 << 20)),
    ],
)
def test_numbers_of_a_range_may_be_sizes(text, found) -> None:
    assert parse_range(text, 16 << 20) == found


@pytest.mark.parametrize("text", ["1.5:", "0.5+1M", "9000000T:"])
def test_a_part_of_a_byte_or_too_many_are_no_range(text) -> None:
    with pytest.raises(RangeError, match="is not a range"):
        parse_range(text, 1000)


@given(st.integers(0, 2000), st.integers(0, 2000), st.sampled_from(["", "bytes="]))
def test_a_range_as_curl_has_it_includes_its_last_byte(first, length, unit) -> None:
    found = parse_range(f"{unit}{first}-{first + length}", 1000)
    assert range(1000)[slice(*found)] == range(1000)[first : first + length + 1]
    assert parse_range(f"{unit}{first}-", 1000) == (min(first, 1000), 1000)
    assert parse_range(f"{unit}-{length}", 1000) == (max(1000 - length, 0), 1000)


@pytest.mark.parametrize("text", ["9-0", "bytes=9-0", "0-1,3-4", "bytes=", "-", "bits=0-1"])
def test_a_range_that_http_forbids_is_refused(text) -> None:
    with pytest.raises(RangeError, match="FIRST-LAST as curl does"):
        parse_range(text, 1000)


SHORT = {
    0: "0 B",
    1023: "1023 B",
    1024: "1.0 KiB",
    1 << 20: "1.0 MiB",
    3 << 29: "1.5 GiB",
    1 << 50: "1048576.0 GiB",
}


@pytest.mark.parametrize(("size", "text"), SHORT.items())
def test_sizes_are_written_the_short_way(size, text) -> None:
    assert human_size(size) == text
