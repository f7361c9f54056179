"""Where records begin, as the entries of a table tell it."""

from __future__ import annotations

from array import array

from seekwarc import SeekTable
from seekwarc.scale.boundaries import record_start_after


def table(*entries: tuple[int, int]) -> SeekTable:
    return SeekTable(array("Q", [stored for stored, _ in entries]), array("Q", [size for _, size in entries]))


def own_table(frames: int, size: int = 12) -> tuple[int, int]:
    """Return the entry of a record's own table."""
    return 17 + size * frames, 0


SMALL = (100, 300)
FRAME = (1_000, 2_000)
MIXED = table((50, 0), SMALL, *[FRAME] * 3, own_table(3), SMALL, *[FRAME] * 3, own_table(3), SMALL)
STARTS = [50, 150, 3_203, 3_303, 6_356]


def test_a_record_begins_where_no_table_says_it_goes_on() -> None:
    for position in range(0, 6_600, 50):
        expected = next((start for start in STARTS if start >= position), None)
        assert record_start_after(MIXED, position) == expected, position


def test_entries_of_eight_bytes_count_as_well() -> None:
    listed = table(SMALL, FRAME, FRAME, FRAME, FRAME, FRAME, own_table(5, size=8), SMALL)
    assert record_start_after(listed, 101) == 100 + 5_000 + 17 + 40


def test_where_entries_may_be_of_either_size_no_record_is_cut() -> None:
    listed = table(SMALL, SMALL, FRAME, FRAME, own_table(2), SMALL)
    assert record_start_after(listed, 1) == 100
    assert record_start_after(listed, 101) == 2_200 + 41


def test_of_a_file_of_small_records_every_frame_begins_one() -> None:
    assert [record_start_after(table(*[SMALL] * 5), position) for position in (0, 1, 400, 401)] == [
        0,
        100,
        400,
        None,
    ]


def test_a_table_without_entries_tells_nothing() -> None:
    assert record_start_after(table(), 0) is None
    assert record_start_after(table((9, 0), (9, 0)), 0) is None
