"""Records that share a gzip member, and those after them."""

from __future__ import annotations

import gzip

import pytest

import seekwarc
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.read.sequential import StreamedRecords
from seekwarc.read.shared_frames import group_of
from seekwarc.storage.fetch import Fetcher
from tests.support.foreign import CRLF2, Foreign, text, warc_header
from tests.support.sources import RecordingSource


def test_a_group_ends_where_a_record_begins_a_member(recwarn) -> None:
    one = warc_header(3) + b"abc" + CRLF2
    shared = gzip.compress(one * 2)
    file = ArchiveFile(Fetcher(RecordingSource(shared + gzip.compress(one))))
    window, compression = file.begin()
    records = StreamedRecords(file, window, 0, compression, tolerant=True)
    group = group_of(records, file, window)
    first, second = next(group), next(group)
    places = [(it.offset, it.skip > 0) for it in (first, second)]
    with pytest.raises(StopIteration) as end:
        next(group)
    assert end.value.value == len(shared)
    assert places == [(0, False), (0, True)]
    assert [it.category for it in recwarn] == [seekwarc.FormatWarning]
    file.close()


def test_frames_that_do_not_state_their_size_are_decoded_once() -> None:
    made = Foreign({"content_size": False})
    for number in range(100):
        made.record(text(3000, seed=number))
    with seekwarc.open(made.bytes()) as archive:
        assert sum(1 for _ in archive) == 100
        assert archive.stats.bytes_decoded < 1.1 * len(made.plain().bytes())
