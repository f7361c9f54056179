"""Types, statuses, dates and sizes as users write them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from seekwarc.format.conditions import RECORD_TYPES, checked_status, checked_type, date_bound, parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("65536", 65536),
        ("64K", 65536),
        ("64KiB", 65536),
        ("64kb", 65536),
        ("1M", 1 << 20),
        ("2G", 2 << 30),
        ("1T", 1 << 40),
        ("7B", 7),
        ("0.5M", 1 << 19),
        ("1.5GiB", 3 << 29),
        ("0.1K", 102),
    ],
)
def test_a_size_is_bytes_or_a_power_of_1024(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text",
    ["", "K", "1.5", "1.5B", ".5M", "1.M", "-1", "1P", "1 M", "1e6", "0x10", "٣", "1" * 19, "9000000T"],
)
def test_what_is_not_a_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size such as 65536, 64K or"):
        parse_size(text)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2014", (2014, 1, 1), (2014, 12, 31, 23, 59, 59, 999_999)),
        ("2014-02", (2014, 2, 1), (2014, 2, 28, 23, 59, 59, 999_999)),
        ("201402", (2014, 2, 1), (2014, 2, 28, 23, 59, 59, 999_999)),
        ("2014-01-26", (2014, 1, 26), (2014, 1, 26, 23, 59, 59, 999_999)),
        ("20140126", (2014, 1, 26), (2014, 1, 26, 23, 59, 59, 999_999)),
        ("2014012609", (2014, 1, 26, 9), (2014, 1, 26, 9, 59, 59, 999_999)),
        ("201401260930", (2014, 1, 26, 9, 30), (2014, 1, 26, 9, 30, 59, 999_999)),
        ("20140126093001", (2014, 1, 26, 9, 30, 1), (2014, 1, 26, 9, 30, 1, 999_999)),
        ("2014-01-26T09:30:01.5Z", (2014, 1, 26, 9, 30, 1, 500_000), (2014, 1, 26, 9, 30, 1, 500_000)),
    ],
)
def test_a_date_bounds_all_that_it_names(text: str, first: tuple[int, ...], last: tuple[int, ...]) -> None:
    assert date_bound(text) == datetime(*first, tzinfo=UTC)
    assert date_bound(text, last=True) == datetime(*last, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "now", "20", "201", "20141", "201413", "2014-13", "0000", "01/02/2014"])
def test_what_is_not_a_date_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a date"):
        date_bound(text)


def test_a_type_may_be_in_any_case_and_of_an_extension() -> None:
    assert {checked_type(name.upper()) for name in RECORD_TYPES} == RECORD_TYPES
    assert checked_type("X-Screenshot") == "x-screenshot"


@pytest.mark.parametrize(
    ("text", "meant"), [("respons", "response"), ("Requests", "request"), ("re-visit", "revisit")]
)
def test_a_misspelt_type_is_told(text: str, meant: str) -> None:
    with pytest.raises(ValueError, match=f"'{text}' is not a WARC-Type; did you mean {meant}?"):
        checked_type(text)


@pytest.mark.parametrize("text", ["20", "2000", "ok", "20x", "-20", ""])
def test_an_invalid_status_is_refused(text: str) -> None:
    assert checked_status("2XX") == "2xx"
    with pytest.raises(ValueError, match="is not an HTTP status"):
        checked_status(text)
