"""What a writer gives back for a record."""

from __future__ import annotations

import io

import pytest

import seekwarc
from tests.support.writing import DATE, URI


def test_fields_are_there_at_once_and_the_place_when_asked_for() -> None:
    target = io.BytesIO()
    with seekwarc.Writer(target) as writer:
        first = writer.write_resource(URI, b"first", "text/plain", date=DATE, record_id="urn:x:1")
        second = writer.write_resource(URI, b"second", "text/plain")
        assert (first.type, first.id, first.target_uri) == ("resource", "urn:x:1", URI)
        assert (str(first.date), first.content_length) == (DATE, 5)
        assert first.file == writer.name
        assert first.offset == 0
        assert second.offset == first.length
    with seekwarc.open(target.getvalue()) as archive:
        found = [(record.id, record.offset, record.length) for record in archive]
    assert found == [(it.id, it.offset, it.length) for it in (first, second)]


def test_a_record_that_was_given_up_says_so() -> None:
    writer = seekwarc.Writer(io.BytesIO())
    written = writer.write_resource(URI, b"never", "text/plain")
    writer.abort()
    with pytest.raises(seekwarc.SeekWarcError, match="was not written"):
        _ = written.offset
