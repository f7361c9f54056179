"""Answers about bytes whose number may not be known."""

from __future__ import annotations

import pytest

from seekwarc.serve.ranges import Answer, bytes_needed
from seekwarc.serve.representation import FIRST_STEP, MAX_STEP, TURN, Representation

ETAG = '"tag"'
SIZE = 10_000_000


class Body:
    """A body whose end is reached a megabyte a turn."""

    holes = ()

    def __init__(self, step: int = 1 << 20) -> None:
        self.reached, self.step, self.turns = 0, step, 0

    @property
    def known_size(self) -> int | None:
        return SIZE if self.reached >= SIZE else None

    def look_ahead(self, position: int, seconds: float) -> bool:
        assert 0 < seconds <= TURN
        self.turns += 1
        self.reached += self.step
        return self.reached >= min(position, SIZE)

    def pread(self, start: int, length: int) -> bytes:
        return bytes(length)

    @property
    def representation(self) -> Representation:
        headers = [("content-type", "video/mp4")]
        return Representation(extent=self, etag=ETAG, modified=None, headers=headers)


def settled(body: Body, **fields: str) -> tuple[Answer, dict[str, str]]:
    """Ask until there is an answer; return it with its fields."""
    asked = {name.replace("_", "-"): value for name, value in fields.items()}
    representation = body.representation
    while (answer := representation.answer(asked)) is None:
        assert body.turns < 100
    return answer, dict(representation.fields(answer))


@pytest.mark.parametrize("wanted", [None, "bytes=0-", "bytes=5-2", "lines=1-2", "bytes=1-2,5-6"])
def test_a_whole_body_begins_at_once_without_a_length(wanted: str | None) -> None:
    body = Body()
    answer, fields = settled(body, **({"range": wanted} if wanted else {}))
    assert (answer, body.turns) == (Answer(200, 0, None), 1)
    assert "content-length" not in fields
    assert "content-range" not in fields


def test_a_short_range_waits_only_for_its_end() -> None:
    body = Body()
    answer, fields = settled(body, range="bytes=3000000-3000099")
    assert answer == Answer(206, 3_000_000, 3_000_100)
    assert fields["content-range"] == "bytes 3000000-3000099/*"
    assert fields["content-length"] == "100"
    assert body.turns == 3


@pytest.mark.parametrize("wanted", ["bytes=0-1", "bytes=0-0", "bytes=0-65535"])
def test_a_probe_of_the_beginning_names_the_size_found_in_one_turn(wanted: str) -> None:
    body = Body(step=SIZE)
    answer, fields = settled(body, range=wanted)
    assert (answer.status, body.turns) == (206, 1)
    assert fields["content-range"] == f"{wanted.replace('=', ' ')}/{SIZE}"


@pytest.mark.parametrize("wanted", ["bytes=0-1", "bytes=0-0", "bytes=0-65535"])
def test_a_probe_is_a_200_while_the_size_takes_longer(wanted: str) -> None:
    body = Body()
    answer, fields = settled(body, range=wanted)
    assert (answer, body.turns) == (Answer(200, 0, None), 1)
    assert "content-range" not in fields
    # What was found is kept, so a later request is told.
    for _ in range(8):
        settled(body, range=wanted)
    assert settled(body, range=wanted)[1]["content-range"].endswith(f"/{SIZE}")


@pytest.mark.parametrize(
    ("wanted", "status", "place"),
    [
        ("bytes=5000000-", 206, f"bytes 5000000-{SIZE - 1}/{SIZE}"),
        ("bytes=-100", 206, f"bytes {SIZE - 100}-{SIZE - 1}/{SIZE}"),
        ("bytes=100-9000000", 206, f"bytes 100-9000000/{SIZE}"),
        (f"bytes={SIZE - 1}-{SIZE + 50}", 206, f"bytes {SIZE - 1}-{SIZE - 1}/{SIZE}"),
        (f"bytes={SIZE}-{SIZE + 50}", 416, f"bytes */{SIZE}"),
        ("bytes=-0", 416, f"bytes */{SIZE}"),
    ],
)
def test_a_range_that_needs_the_size_waits_for_it(wanted: str, status: int, place: str) -> None:
    body = Body()
    answer, fields = settled(body, range=wanted)
    assert (answer.status, fields["content-range"]) == (status, place)
    assert body.turns == 10


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"if_none_match": ETAG, "range": "bytes=-5"}, 304),
        ({"if_match": '"other"', "range": "bytes=-5"}, 412),
        ({"if_range": '"other"', "range": "bytes=-5"}, 200),
    ],
)
def test_conditions_do_not_wait(asked: dict[str, str], status: int) -> None:
    body = Body()
    assert settled(body, **asked)[0].status == status
    assert body.turns == 1


def test_a_known_size_is_used_at_once() -> None:
    body = Body(step=SIZE)
    answer, fields = settled(body, range="bytes=0-")
    assert answer == Answer(206, 0, SIZE)
    assert fields["content-range"] == f"bytes 0-{SIZE - 1}/{SIZE}"


@pytest.mark.parametrize(
    ("field", "needed"),
    [
        (None, 0),
        ("bytes=0-", 0),
        ("bytes=0-0", 0),
        ("bytes=0-99", 0),
        ("bytes=0-100", None),
        ("bytes=7-9", 10),
        ("bytes=7-999", None),
        ("bytes=7-", None),
        ("bytes=-7", None),
        ("bytes=9-7", 0),
        ("bytes=" + "9" * 50 + "-", None),
    ],
)
def test_how_many_bytes_a_range_needs(field: str | None, needed: int | None) -> None:
    asked = {"range": field} if field else {}
    assert bytes_needed(asked, etag=ETAG, at_once=100) == needed


def test_steps_grow_and_end_with_the_answer() -> None:
    representation = Body().representation
    steps = list(representation.steps(Answer(206, 5, 5_000_000)))
    assert steps[0] == (5, FIRST_STEP)
    assert max(length for _, length in steps) == MAX_STEP
    assert sum(length for _, length in steps) == 5_000_000 - 5
    endless = representation.steps(Answer(200, 0, None))
    assert sum(next(endless)[1] for _ in range(20)) > 15 * MAX_STEP
