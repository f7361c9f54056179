"""A damaged record is read with zero bytes in place of its damaged frames, all else in place."""

from __future__ import annotations

import pytest

import seekwarc
from seekwarc.errors import ChecksumError, FormatError, TruncatedError
from seekwarc.read import filled
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.read.filled import FilledBody, filled_body, filled_record, gaps_of
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.opening import open_source
from tests.support.foreign import Foreign
from tests.support.writing import noise, walk

FRAME = 64 << 10
FILM = noise(10 * FRAME)


def film(**options: object) -> Foreign:
    return Foreign().record(FILM, cuts=FRAME, **options).record(b"after").file_table()


def damaged(made: Foreign, *frames: int, at: int = -1) -> bytes:
    """Return a file with some frames of its first record damaged."""
    data = bytearray(made.bytes())
    found = [it for it in walk(bytes(data)) if it.is_data]
    for number in frames:
        data[found[number].end - 1 if at < 0 else found[number].offset + at] ^= 0xFF
    return bytes(data)


def body_of(data: bytes) -> FilledBody:
    body = filled_body(ArchiveFile(Fetcher(open_source(data))), 0)
    assert body is not None
    return body


def head(made: Foreign) -> int:
    return len(made.records[0].header)


@pytest.mark.parametrize("at", [-1, 0, 4, 9])
@pytest.mark.parametrize("frames", [(1,), (5,), (9,), (2, 3), (2, 5, 7)])
def test_only_damaged_frames_are_filled(frames: tuple[int, ...], at: int) -> None:
    made = film()
    record = seekwarc.Record(body_of(damaged(made, *frames, at=at)))
    expected = bytearray(FILM)
    for number in frames:
        start, stop = number * FRAME - head(made), min((number + 1) * FRAME - head(made), len(FILM))
        expected[start:stop] = bytes(stop - start)
    assert record.block.read() == expected
    assert sum(stop - start for start, stop in record.body.gaps) == expected.count(0) - FILM.count(0) + sum(
        FILM[start:stop].count(0) for start, stop in record.body.gaps
    )


def test_neighbouring_gaps_are_one_and_noted_once() -> None:
    made = film()
    body = body_of(damaged(made, 2, 3, 7))
    record = seekwarc.Record(body)
    for _ in range(3):
        record.block.read()
    start = FRAME - head(made)
    assert body.gaps == [
        (start + FRAME, start + 3 * FRAME),
        (start + 6 * FRAME, start + 7 * FRAME),
    ]


def test_gaps_are_noted_where_they_are_read() -> None:
    made = film()
    body = body_of(damaged(made, 2, 7))
    record = seekwarc.Record(body)
    assert record.block.pread(0, 1000) == FILM[:1000]
    assert (body.gaps, gaps_of(record)) == ([], None)
    assert record.block.pread(7 * FRAME, 10) == bytes(10)
    assert len(body.gaps) == 1
    assert "65536 bytes of the block are damaged, and zero bytes here: " in (gaps_of(record) or "")


def test_more_zero_bytes_than_were_read_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table may claim frames of any size that are not there."""
    monkeypatch.setattr(filled, "MAX_FILLED", FRAME)
    record = seekwarc.Record(body_of(damaged(film(), 1, 2, 3)))
    with pytest.raises(ChecksumError):
        record.block.read()
    record = seekwarc.Record(body_of(damaged(film(), 1, 2, 3)))
    assert record.block.pread(4 * FRAME, 5 * FRAME) == FILM[4 * FRAME : 9 * FRAME]
    assert len(record.block.read()) == len(FILM), "by then as many bytes were read"


def test_nothing_is_filled_after_the_end_of_the_file() -> None:
    made = film()
    cut = made.bytes()[: made.records[0].stop - 3 * FRAME]
    body = filled_body(ArchiveFile(Fetcher(open_source(cut))), 0)
    if body is not None:
        with pytest.raises(TruncatedError):
            seekwarc.Record(body).block.pread(len(FILM) - 10, 10)


def test_a_table_whose_last_frame_is_not_there_is_not_believed() -> None:
    data = damaged(film(), 10, at=0)
    assert filled_body(ArchiveFile(Fetcher(open_source(data))), 0) is None


@pytest.mark.parametrize("form", ["gz", "plain", "one frame"])
def test_other_records_are_left_as_they_are(form: str) -> None:
    made = Foreign().record(b"some").record(b"after")
    data = {"gz": made.gzip, "plain": made.plain, "one frame": lambda: made}[form]().bytes()
    assert filled_body(ArchiveFile(Fetcher(open_source(data))), 0) is None
    with seekwarc.open(data) as archive:
        record = next(iter(archive))
        assert filled_record(record) is record


def test_a_record_that_was_iterated_over_is_filled() -> None:
    with seekwarc.open(damaged(film(), 4, at=0), on_error="skip") as archive:
        record = next(iter(archive))
        with pytest.raises(FormatError):
            record.block.read()
        assert len(filled_record(record).block.read()) == len(FILM)
