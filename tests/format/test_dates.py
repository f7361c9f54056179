"""Dates are read at every precision, compare as instants, and are written as the standard has them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.errors import FormatError
from seekwarc.format.dates import Precision, WarcDate, format_date

FORMATS: dict[Precision, str] = {
    "year": "{0:04}",
    "month": "{0:04}-{1:02}",
    "day": "{0:04}-{1:02}-{2:02}",
    "minute": "{0:04}-{1:02}-{2:02}T{3:02}:{4:02}Z",
    "second": "{0:04}-{1:02}-{2:02}T{3:02}:{4:02}:{5:02}Z",
    "fraction": "{0:04}-{1:02}-{2:02}T{3:02}:{4:02}:{5:02}.{6}Z",
}
KEPT: dict[Precision, int] = {"year": 1, "month": 2, "day": 3, "minute": 5, "second": 6, "fraction": 6}
"""How many of year, month, day, hour, minute, second each precision writes."""

# Far enough from the ends of the calendar for any zone. Hypothesis asks for bounds without one.
FIRST, LAST = datetime(2, 1, 1), datetime(9998, 1, 1)  # noqa: DTZ001

fractions = st.text("0123456789", min_size=1, max_size=9)


@dataclass
class Drawn:
    text: str
    nanoseconds: int
    precision: Precision


@st.composite
def dates(draw: st.DrawFn) -> Drawn:
    """Draw a date as WARC 1.1 writes it, and the instant that it stands for."""
    precision = draw(st.sampled_from(sorted(FORMATS)))
    moment = draw(st.datetimes())
    parts = [moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second]
    fraction = draw(fractions)
    text = FORMATS[precision].format(*parts, fraction)
    kept = KEPT[precision]
    year, month, day, hour, minute, second = parts[:kept] + [1, 1, 1, 0, 0, 0][kept:]
    days = date(year, month, day).toordinal() - date(1970, 1, 1).toordinal()
    seconds = ((days * 24 + hour) * 60 + minute) * 60 + second
    below = int((fraction + "000000000")[:9]) if precision == "fraction" else 0
    return Drawn(text, seconds * 1_000_000_000 + below, precision)


@given(dates())
def test_a_date_of_any_precision_is_parsed(drawn: Drawn) -> None:
    found = WarcDate.parse(drawn.text)
    assert found.nanoseconds == drawn.nanoseconds
    assert found.precision == drawn.precision
    assert found.text == str(found) == drawn.text
    assert WarcDate.parse(str(found)) == found


@pytest.mark.parametrize(
    ("text", "nanoseconds", "precision"),
    [
        ("1970", 0, "year"),
        ("1970-01-01T00:00:00Z", 0, "second"),
        ("1970-01-01T00:00:00.000000001Z", 1, "fraction"),
        ("1970-01-01T00:00:00.5Z", 500_000_000, "fraction"),
        ("1969-12-31T23:59:59.25Z", -750_000_000, "fraction"),
        ("2000-03-01", 951_868_800_000_000_000, "day"),
        ("2000-02", 949_363_200_000_000_000, "month"),
        ("2016-01-11T23:24Z", 1_452_554_640_000_000_000, "minute"),
        ("2016-01-11T23:24:25.412030Z", 1_452_554_665_412_030_000, "fraction"),
    ],
)
def test_dates_whose_instants_are_known(text: str, nanoseconds: int, precision: str) -> None:
    found = WarcDate.parse(text)
    assert (found.nanoseconds, found.precision) == (nanoseconds, precision)


def test_digits_after_the_nanosecond_are_kept_in_the_text_alone() -> None:
    found = WarcDate.parse("1970-01-01T00:00:00.1234567899Z")
    assert found.nanoseconds == 123_456_789
    assert found.text == "1970-01-01T00:00:00.1234567899Z"


@given(st.datetimes(FIRST, LAST), st.integers(-1439, 1439))
def test_a_zone_is_converted_to_utc(moment: datetime, minutes: int) -> None:
    moment = moment.replace(second=0, microsecond=0, tzinfo=timezone(timedelta(minutes=minutes)))
    assert WarcDate.parse(moment.isoformat()).datetime == moment


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-21T09:30:00",
        "2026-11-21t09:30:00z",
        "2026-11-21T09:30:00+00:00",
        "2026-11-21T10:30:00+01:00",
        "2026-11-21T00:00:00-09:30",
        "2026-11-21T09:30:00.000Z",
        "2026-11-21T09:30Z",
    ],
)
def test_one_instant_in_many_spellings(text: str) -> None:
    found = WarcDate.parse(text)
    assert found == WarcDate.parse("2026-11-21T09:30:00Z")
    assert found.text == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "26",
        "20261121",
        "20261121093000",
        "2026-1-1",
        "2026-11-21T",
        "2026-11-21T09",
        "2026-11-21T09Z",
        "2026-11-21Z",
        "2026Z",
        "2026-11-21 09:30:00Z",
        "2026-11-21T09:30:00.Z",
        "2026-11-21T09:30:00,5Z",
        "2026-11-21T09:30.5Z",
        "2026-11-21T09:30:00+1",
        "2026-11-21T09:30:00+01",
        "2026-11-21T09:30:00ZZ",
        "2026-11-21T09:30:00Z ",
        " 2026-11-21T09:30:00Z",
        "2026-11-21T09:30:00Z\n",
        "-2026-11-21",
        "Sat, 21 Nov 2026 09:30:00 GMT",
        "\u0662\u0660\u0662\u0666",
        # Of the right shape, but no such day or time.
        "0000",
        "2026-00",
        "2026-13",
        "2026-11-00",
        "2026-02-30",
        "2023-02-29",
        "2026-11-21T24:00Z",
        "2026-11-21T24:00:00Z",
        "2026-11-21T09:60Z",
        "2026-11-21T09:30:60Z",
    ],
)
def test_what_is_not_a_date_is_refused(text: str) -> None:
    with pytest.raises(FormatError, match="is not a date"):
        WarcDate.parse(text)


@given(
    st.one_of(st.text(), st.text("0123456789-T:.Zz+t", max_size=40), st.from_regex(r"\d{4}-\d\d-\d\dT.*Z"))
)
def test_any_text_is_a_date_or_a_format_error(text: str) -> None:
    try:
        found = WarcDate.parse(text)
    except FormatError as error:
        assert error.message  # noqa: PT017
        return
    assert found.text == text
    assert WarcDate.parse(text) == found


def test_a_message_does_not_repeat_megabytes() -> None:
    with pytest.raises(FormatError) as caught:
        WarcDate.parse("9" * 1_000_000)
    assert len(str(caught.value)) < 200


@given(dates(), dates())
def test_dates_compare_as_the_instants_at_which_they_begin(one: Drawn, other: Drawn) -> None:
    first, second = WarcDate.parse(one.text), WarcDate.parse(other.text)
    assert (first < second) == (one.nanoseconds < other.nanoseconds)
    assert (first <= second) == (one.nanoseconds <= other.nanoseconds)
    assert (first == second) == (one.nanoseconds == other.nanoseconds)


def test_equal_dates_are_one_key() -> None:
    dates = {WarcDate.parse(text) for text in ("2026", "2026-01", "2026-01-01T01:00+01:00", "2027")}
    assert sorted(dates) == [WarcDate.parse("2026"), WarcDate.parse("2027")]


@given(dates())
def test_a_datetime_is_truncated_to_the_microsecond(drawn: Drawn) -> None:
    found = WarcDate.parse(drawn.text).datetime
    assert found.tzinfo is UTC
    # Compared in whole microseconds, for floats have not enough digits.
    elapsed = found - datetime(1970, 1, 1, tzinfo=UTC)
    assert elapsed // timedelta(microseconds=1) == drawn.nanoseconds // 1000


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+00:01", "9999-12-31T23:59:00-00:01"])
def test_a_zone_may_lead_out_of_the_calendar(text: str) -> None:
    found = WarcDate.parse(text)
    assert isinstance(found.nanoseconds, int)
    with pytest.raises(OverflowError):
        found.datetime  # noqa: B018


# Writing.


@given(st.datetimes(FIRST, LAST), st.integers(-1439, 1439))
def test_reading_undoes_writing(moment: datetime, minutes: int) -> None:
    aware = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    text = format_date(aware)
    assert text.endswith("Z")
    assert WarcDate.parse(text).datetime == aware
    assert WarcDate.parse(text).precision == ("fraction" if moment.microsecond else "second")


def test_a_datetime_is_written_in_utc() -> None:
    moment = datetime(2026, 11, 21, 1, 30, tzinfo=timezone(timedelta(hours=2)))
    assert format_date(moment) == "2026-11-20T23:30:00Z"
    assert format_date(moment.replace(microsecond=12)) == "2026-11-20T23:30:00.000012Z"


def test_a_date_that_is_text_already_stays_as_it_is() -> None:
    assert format_date("2016-01") == "2016-01"
    assert format_date(WarcDate.parse("2016-01-11T23:24:25.4120300Z")) == "2016-01-11T23:24:25.4120300Z"


def test_without_a_date_it_is_now_to_the_second() -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    found = WarcDate.parse(format_date(None))
    assert before <= found.datetime <= datetime.now(UTC)
    assert found.precision == "second"


def test_a_datetime_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        format_date(datetime(2026, 11, 21))  # noqa: DTZ001


def test_a_leap_second_is_the_beginning_of_the_next_minute() -> None:
    leap = WarcDate.parse("2016-12-31T23:59:60Z")
    assert (str(leap), leap.precision) == ("2016-12-31T23:59:60Z", "second")
    assert WarcDate.parse("2016-12-31T23:59:59Z") < leap
    assert leap == WarcDate.parse("2017-01-01T00:00:00Z")
