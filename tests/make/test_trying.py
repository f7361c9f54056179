"""Whether a dictionary would pay, from a sample of a file."""

from __future__ import annotations

import io
from functools import cache

import pytest

from seekwarc.errors import FormatError, SourceError
from seekwarc.make.converting import convert
from seekwarc.make.trying import MAX_CONTENT, STRETCHES, WINDOW, tried
from seekwarc.storage.local import BytesSource
from tests.support.foreign import gzip_member
from tests.support.generated import film, page, small_pages
from tests.support.rounds import one_in
from tests.support.sources import RecordingSource

MIB = 1 << 20


@cache
def crawl(count: int = 700) -> bytes:
    return b"".join(map(gzip_member, small_pages(count)))


@pytest.mark.parametrize("compression", one_in(3, ["gz", "zst", "none"]))
def test_what_would_be_saved_is_about_what_is_saved(compression) -> None:
    stored = io.BytesIO()
    convert(BytesSource(crawl()), stored, compression)
    source = stored.getvalue()
    trial = tried(BytesSource(source))
    assert trial is not None
    assert trial.pays
    assert trial.gain.records == pytest.approx(700, rel=0.2)
    without, with_it = (
        convert(BytesSource(source), io.BytesIO(), "zst", dictionary=it).target_size
        for it in (None, trial.dictionary)
    )
    assert trial.share == pytest.approx(1 - with_it / without, abs=0.1)


def test_the_same_bytes_have_the_same_dictionary() -> None:
    first, again, other = (tried(BytesSource(bytes(crawl(count)))) for count in (300, 300, 310))
    assert first == again
    assert None not in (first, other)
    assert other != first


def test_films_are_counted_as_bytes_without_saving() -> None:
    pages = [gzip_member(page(number, 3000)) for number in range(500)]
    films = [gzip_member(film(number, 3 * MIB)) for number in range(6)]
    alone, among = (tried(BytesSource(b"".join(data))) for data in (pages, films[:3] + pages + films[3:]))
    assert alone is not None
    assert among is not None
    assert alone.pays
    assert not among.pays
    assert among.share < alone.share / 5


@pytest.mark.parametrize("size", one_in(2, [64, 16]))
def test_the_work_does_not_grow_with_the_file(size: int) -> None:
    pages = b"".join(small_pages(1000))
    source = RecordingSource(pages + film(1, size * MIB) + pages)
    assert tried(source) is not None
    # Each window is searched for a record, a mebibyte at a time, and then read.
    assert source.bytes_asked <= STRETCHES * (MIB + 2 * WINDOW)


def test_a_window_ends_at_a_record_that_is_too_large() -> None:
    data = crawl(300) + gzip_member(page(1, MAX_CONTENT + MIB)) + crawl(100)
    trial = tried(BytesSource(data))
    assert trial is not None
    assert trial.gain.records == pytest.approx(401, rel=0.3)


@pytest.mark.parametrize("data", [crawl(3), gzip_member(film(1, MIB)), film(1, 3 * MIB)])
def test_a_dictionary_that_does_not_help_is_not_made(data: bytes) -> None:
    assert tried(BytesSource(data)) is None


def test_other_files_are_refused(tmp_path) -> None:
    with pytest.raises(FormatError):
        tried(BytesSource(b"not an archive" * 1000))
    with pytest.raises(SourceError):
        tried(tmp_path / "missing.warc.gz")


def test_the_level_is_that_of_the_new_file() -> None:
    low, high = (tried(BytesSource(crawl(300)), level=level) for level in (-5, 9))
    assert low is not None
    assert high is not None
    assert low.gain.size_with > high.gain.size_with
