"""Records that share a gzip member, and those after them."""

from __future__ import annotations

import gzip

import pytest

import seekwarc
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.read.shared_frames import streamed_group
from seekwarc.storage.fetch import Fetcher
from tests.support.foreign import CRLF2, warc_header
from tests.support.sources import RecordingSource


def test_a_group_ends_where_a_record_begins_a_member(recwarn) -> None:
    one = warc_header(3) + b"abc" + CRLF2
    shared = gzip.compress(one * 2)
    file = ArchiveFile(Fetcher(RecordingSource(shared + gzip.compress(one))))
    window, compression = file.begin()
    group = streamed_group(file, window, 0, compression)
    first, second = next(group), next(group)
    places = [(it.offset, it.skip > 0) for it in (first, second)]
    with pytest.raises(StopIteration) as end:
        next(group)
    assert end.value.value == len(shared)
    assert places == [(0, False), (0, True)]
    assert [it.category for it in recwarn] == [seekwarc.FormatWarning]
    file.close()
