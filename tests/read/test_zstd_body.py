"""How a record's frames become known: by its own table, the file's, or a scan."""

from __future__ import annotations

import pytest

import seekwarc
from tests.support.foreign import Foreign, text
from tests.support.sources import RecordingSource

BLOCK = text(40_000)


def status(made: Foreign, *, known: bool, number: int = 0) -> tuple[str, bool]:
    """Return the status of a record, and whether its table was said to have a fault; its block is checked."""
    put = made.records[number]
    with seekwarc.open(RecordingSource(made.bytes())) as archive:
        record = archive.record_at(put.offset, put.length if known else None)
        assert record.block.read() == put.block
        assert record.block.pread(30_000, 10) == put.block[30_000:30_010]
        assert record.length == put.length
        return record.seek_table_status, record.body.table_problem is not None


def followed(made: Foreign) -> Foreign:
    """Put another record behind, so that no table stands at the end of the file."""
    return made.record(b"behind")


@pytest.mark.parametrize("known", [True, False])
def test_a_table_of_its_own_is_used(known) -> None:
    assert status(followed(Foreign().record(BLOCK, cuts=5000, table=True)), known=known) == (
        "record",
        False,
    )


def test_the_table_of_the_file_is_used_where_there_is_no_other() -> None:
    made = followed(Foreign().record(BLOCK, cuts=5000)).file_table()
    assert status(made, known=False) == ("file", False)
    assert status(made, known=True) == ("file", False)


@pytest.mark.parametrize("known", [True, False])
def test_without_a_table_frames_are_scanned(known) -> None:
    assert status(followed(Foreign().record(BLOCK, cuts=5000)), known=known) == ("none", False)


@pytest.mark.parametrize("known", [True, False])
def test_one_frame_needs_no_table(known) -> None:
    assert status(followed(Foreign().record(BLOCK)), known=known) == ("single", False)


CHANGES = {
    "anchors behind": lambda entries: entries[1:],
    "lists too much content": lambda entries: [(entries[0][0], entries[0][1] + 1, 0), *entries[1:]],
    "lists too little": lambda entries: [(entries[0][0], entries[0][1] - 1, 0), *entries[1:]],
    "has content from nothing": lambda entries: [(0, 9, 0), *entries[1:]],
}


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("change", CHANGES)
def test_a_wrong_table_is_not_used_and_that_is_told(known, change) -> None:
    made = followed(Foreign().record(BLOCK, cuts=5000, table={"change": CHANGES[change]}))
    assert status(made, known=known) == ("unusable", True)


@pytest.mark.parametrize("known", [True, False])
def test_a_wrong_table_of_its_own_gives_way_to_that_of_the_file(known) -> None:
    made = Foreign().record(BLOCK, cuts=5000, table={"change": CHANGES["anchors behind"]})
    found, _ = status(followed(made).file_table(), known=known)
    assert found == "file"


def test_a_record_whose_frames_state_no_size_is_streamed() -> None:
    made = followed(Foreign().record(BLOCK, cuts=5000, content_size=False))
    assert status(made, known=True) == ("stream", False)
    assert status(made, known=False) == ("stream", False)
