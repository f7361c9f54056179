"""Ranges joined to requests: every range is read, and no request is larger than allowed."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from seekwarc.storage.plan import LOCAL, REMOTE, UNKNOWN, Request, plan_requests


@st.composite
def ranges(draw: st.DrawFn, *, overlap: bool = False) -> list[tuple[int, int]]:
    position, found = 0, []
    for _ in range(draw(st.integers(0, 30))):
        start = position + draw(st.integers(0, 300))
        size = draw(st.integers(0, 300))
        found.append((start, start + size))
        position = start if overlap and draw(st.booleans()) else start + size
    return found


knobs = st.tuples(st.integers(0, 400), st.integers(1, 1000))


def planned(
    wanted: list[tuple[int, int]], gap: int, most: int
) -> list[tuple[Request, list[tuple[int, int]]]]:
    """Return each request with the ranges that it serves."""
    rest = iter(wanted)
    found = [
        (request, list(itertools.islice(rest, request.ranges)))
        for request in plan_requests(wanted, gap=gap, max_size=most)
    ]
    assert list(rest) == []
    return found


@given(ranges(overlap=True), knobs)
def test_every_range_lies_whole_in_its_request(wanted: list[tuple[int, int]], knobs: tuple[int, int]) -> None:
    for request, served in planned(wanted, *knobs):
        assert request.ranges >= 1
        assert request.start == min(start for start, _ in served)
        assert request.stop == max(stop for _, stop in served)


@given(ranges(overlap=True), knobs)
def test_requests_keep_to_the_size_and_the_gap(wanted: list[tuple[int, int]], knobs: tuple[int, int]) -> None:
    gap, most = knobs
    for request, served in planned(wanted, gap, most):
        assert request.stop - request.start <= most or request.ranges == 1
        end = served[0][1]
        for start, stop in served[1:]:
            assert start - end <= gap
            end = max(end, stop)


@given(ranges(), knobs)
def test_no_two_requests_could_have_been_joined(
    wanted: list[tuple[int, int]], knobs: tuple[int, int]
) -> None:
    gap, most = knobs
    for (one, _), (two, served) in itertools.pairwise(planned(wanted, gap, most)):
        assert one.stop <= two.start, "nothing is asked for twice"
        assert two.start - one.stop > gap or served[0][1] - one.start > most


@given(ranges(), st.integers(1, 1000))
def test_without_a_gap_only_wanted_bytes_are_read(wanted: list[tuple[int, int]], most: int) -> None:
    asked = sum(stop - start for start, stop, _ in plan_requests(wanted, gap=0, max_size=most))
    assert asked == sum(stop - start for start, stop in wanted)


def test_ranges_are_taken_as_they_are_needed() -> None:
    """A file may list a frame for each of its bytes."""
    taken = []

    def endless() -> itertools.chain[tuple[int, int]]:
        for number in itertools.count():
            taken.append(number)
            yield number * 10, number * 10 + 10

    first = next(iter(plan_requests(endless(), gap=0, max_size=100)))
    assert first == Request(0, 100, 10)
    assert len(taken) == 11


def test_the_policies_have_the_documented_values() -> None:
    assert (REMOTE.gap, REMOTE.max_request, REMOTE.in_flight) == (256 << 10, 16 << 20, 16)
    assert LOCAL.gap == 0
    assert LOCAL.in_flight == UNKNOWN.in_flight == 1
