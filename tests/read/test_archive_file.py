"""What the records of one open file share."""

from __future__ import annotations

import warnings

import pytest

import seekwarc
from seekwarc.errors import FormatError, FormatWarning, LimitError
from tests.support.foreign import Foreign, dictionary_frame, gzip_member, some_dictionary, text
from tests.support.sources import Pipe, RecordingSource


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("wrap", [bytes, Pipe])
def test_the_dictionary_of_the_file_is_used(compressed, named, wrap) -> None:
    made = Foreign().dictionary(compressed=compressed, name=named)
    made.record(text(500)).record(text(90_000), cuts=9000)
    with seekwarc.open(wrap(made.bytes())) as archive:
        assert archive.dictionary.id == some_dictionary().dict_id()
        assert [record.block.read() for record in archive] == [put.block for put in made.records]


def test_other_files_have_no_dictionary() -> None:
    made = Foreign().record(b"x")
    for data in (made.bytes(), made.gzip().bytes(), made.plain().bytes()):
        with seekwarc.open(data) as archive:
            assert archive.dictionary is None


def test_the_dictionary_is_loaded_once() -> None:
    made = Foreign().dictionary(compressed=True).record(text(500)).record(text(500, seed=1))
    source = RecordingSource(made.bytes())
    with seekwarc.open(source) as archive:
        for _ in range(3):
            for put in made.records:
                archive.record_at(put.offset, put.length).block.read()
        whole = [request for request in source.requests if request[0] == 0]
        assert len(whole) <= 2


def test_a_dictionary_above_the_limit_is_refused() -> None:
    made = Foreign().dictionary(compressed=False).record(b"x")
    archive = seekwarc.open(made.bytes(), max_dictionary_size=100)
    with pytest.raises(LimitError, match="limit of 100"):
        list(archive)


def test_an_invalid_dictionary_is_reported() -> None:
    data = dictionary_frame(some_dictionary(), compressed=True)
    broken = data[:40] + b"\xff" * 30 + data[70:]
    archive = seekwarc.open(RecordingSource(broken + Foreign().record(b"x").bytes(), "a.warc.zst"))
    with pytest.raises(FormatError, match=r"^a.warc.zst, offset 0: "):
        list(archive)


def test_a_warning_comes_once_a_file() -> None:
    data = gzip_member(Foreign().record(b"1").record(b"2").record(b"3").plain().bytes())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with seekwarc.open(data) as archive:
            list(archive)
            list(archive)
        with seekwarc.open(data) as archive:
            list(archive)
    assert [warning.category for warning in caught] == [FormatWarning] * 2


def test_an_error_in_a_header_names_the_file_and_the_place() -> None:
    made = Foreign().record(b"x").record(b"y", header=b"WARC/1.1\r\nContent-Length: many\r\n\r\n")
    for file in (made, made.gzip(), made.plain()):
        archive = seekwarc.open(RecordingSource(file.bytes(), "a.warc"))
        with pytest.raises(FormatError, match=f"^a.warc, offset {file.records[1].offset}: "):
            list(archive)


def test_closing_closes_the_source() -> None:
    source = RecordingSource(Foreign().record(b"x").bytes())
    seekwarc.open(source).close()
    assert source.closed
