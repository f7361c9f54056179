"""A new file is compared with the old one: copied frames as they are stored, all others decoded."""

from __future__ import annotations

from pathlib import Path

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.edit.comparing import Comparison
from seekwarc.edit.copy_inputs import parts_of
from seekwarc.edit.copy_source import Place
from seekwarc.errors import FormatError
from seekwarc.jobs.progress import no_progress
from seekwarc.read.options import ReadOptions
from tests.support.framed import film
from tests.support.work import at_most_calls
from tests.support.writing import noise

COUNT = 4


def made(path: Path, *, seed: int = 0, **options: object) -> Path:
    with seekwarc.open(path, "w", **options) as out:
        for number in range(COUNT):
            out.write_metadata([("number", f"{number} {noise(60, seed + number).hex()}")], date="2024-01-01")
    return path


def places(path: Path) -> list[Place]:
    with seekwarc.open(path) as archive:
        return [Place(it.offset, it.skip, it.offset + it.length) for it in archive]


def equal(old: Path, new: Path, *, has_same_form: bool) -> list[bool]:
    with (
        parts_of([old], None, ReadOptions.of()) as (part,),
        Comparison(part, str(new), no_progress, has_same_form=has_same_form) as pair,
    ):
        return [
            pair.is_equal(copy, place, None) for copy, place in zip(pair.copies(), places(old), strict=True)
        ]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return made(tmp_path / "old.warc.zst")


@pytest.mark.parametrize("has_same_form", [True, False])
def test_equal_records_are_equal_however_they_are_stored(old, tmp_path, has_same_form) -> None:
    again = tmp_path / "again.warc.zst"
    tools.convert(old, again, level=19)
    for new in (old, again):
        assert equal(old, new, has_same_form=has_same_form) == [True] * COUNT
    loose = tmp_path / "old.warc.gz"
    tools.convert(old, loose)
    assert equal(loose, old, has_same_form=False) == [True] * COUNT


def test_other_bytes_are_found_in_copied_frames_and_others(old, tmp_path) -> None:
    new = made(tmp_path / "new.warc.zst", seed=1)
    for has_same_form in (True, False):
        assert equal(old, new, has_same_form=has_same_form) == [False] * COUNT


def test_a_film_that_was_copied_is_not_decoded_again(tmp_path, monkeypatch) -> None:
    old = tmp_path / "film.warc.zst"
    old.write_bytes(film(1).data)
    monkeypatch.setattr("seekwarc.edit.comparing._has_block", lambda *_: False)
    assert all(equal(old, old, has_same_form=True))
    assert not all(equal(old, old, has_same_form=False))


@pytest.mark.parametrize("place", [0, 1, 2, 3, 4, 5])
def test_a_byte_of_a_copied_film_that_is_another_is_found(tmp_path, place) -> None:
    old, new = tmp_path / "old.warc.zst", tmp_path / "new.warc.zst"
    with seekwarc.open(old, "w") as out:
        out.write_resource("http://example.org/film", noise(3 << 20), "video/mp4")
    assert all(equal(old, old, has_same_form=True))
    data = bytearray(old.read_bytes())
    # In the content of a frame of 128 KiB, which nothing compresses: the copy is damaged.
    data[4000 + place * (len(data) - 8000) // 5] ^= 1
    new.write_bytes(data)
    with pytest.raises(FormatError):
        equal(old, new, has_same_form=True)


def test_to_remove_one_record_of_many_opens_no_kept_one_by_itself(tmp_path) -> None:
    crawl, rest = tmp_path / "crawl.warc.zst", tmp_path / "rest.warc.zst"
    with seekwarc.open(crawl, "w") as out:
        for number in range(400):
            out.write_response(f"http://example.org/{number}", b"%d" % number, status=200)
    tools.redact(crawl, rest, uri="http://example.org/7", stubs=False, threads=1)
    with at_most_calls(400 * 400):
        done = tools.redact(
            crawl, rest, uri="http://example.org/7", stubs=False, threads=1, existing="overwrite"
        )
    assert (done.removed, done.records) == (1, 399)
