"""How far ahead frames are read: not at all, or twice as far each time."""

from __future__ import annotations

import itertools

from seekwarc.frames.readahead import ReadAhead


def told(most: int, *reads: tuple[int, int]) -> list[list[int]]:
    ahead = ReadAhead(most)
    return [list(ahead.note(*read)) for read in reads]


def test_random_access_reads_nothing_ahead() -> None:
    assert told(64, (5, 6), (90, 92), (3, 4), (50, 51), (48, 49)) == [[]] * 5


def test_the_first_read_reads_nothing_ahead() -> None:
    assert told(64, (0, 1)) == [[]]


def test_sequential_access_reads_twice_as_much_each_time() -> None:
    counts = [len(one) for one in told(64, *((n, n + 1) for n in range(200))) if one]
    assert counts[0] == 1
    assert all(later >= earlier for earlier, later in itertools.pairwise(counts[:4]))
    asked = [number for one in told(64, *((n, n + 1) for n in range(200))) for number in one]
    assert asked == list(range(asked[0], asked[-1] + 1)), "each frame once, in order"
    assert asked[-1] <= 199 + 64 + 1
    assert len(counts) < 20, "and not one by one"


def test_several_reads_of_one_frame_are_one_step() -> None:
    assert told(64, (0, 1), (0, 1), (0, 1)) == [[]] * 3
    assert told(64, (0, 1), (0, 2), (1, 2), (1, 2), (1, 3)) == [[], [2], [], [], [3, 4]]


def test_a_jump_begins_anew() -> None:
    assert told(64, (0, 1), (1, 2), (2, 3), (70, 71), (71, 72)) == [[], [2], [3, 4], [], [72]]


def test_never_more_than_is_allowed() -> None:
    for most in (0, 1, 5):
        ahead = ReadAhead(most)
        for number in range(100):
            found = ahead.note(number, number + 1)
            assert not found or found[-1] - number <= most


def test_long_reads_go_ahead_as_well() -> None:
    assert told(64, (0, 50), (50, 100), (100, 150)) == [[], [100], [150, 151]]
