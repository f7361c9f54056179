"""Decisions about each record, and files of what is kept; `tests/cli/test_copying.py` has a whole verb."""

from __future__ import annotations

from pathlib import Path

import pytest

import seekwarc
from seekwarc.collection.entry import Entry
from seekwarc.edit.deciding import CopyJob, Decision, Drop, EachRecord, copied
from seekwarc.errors import NotFoundError, SourceChangedError, TargetExistsError
from tests.support.days import day_of
from tests.support.writing import noise

PAGES = [noise(300, seed=n) for n in range(4)]


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    return day_of(tmp_path / "crawl.warc.zst", 1, *PAGES)


def only(*wanted: str) -> EachRecord:
    def decide(entry: Entry) -> Decision:
        return None if entry.id in wanted else Drop("another")

    return EachRecord(decide)


def test_kept_records_are_copied_in_order(crawl: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.warc.zst"
    done = copied(CopyJob.of(str(crawl), str(new)), lambda *_: only("urn:x:1-3", "urn:x:1-1"))
    assert [record.id for record in seekwarc.open(new)] == ["urn:x:1-1", "urn:x:1-3"]
    assert (done.files, done.records, done.dropped, done.changed) == (1, 4, {"another": 2}, {})
    assert done.target_size == new.stat().st_size
    assert done.bytes_copied > 0
    assert done.bytes_recompressed == 0


def test_a_file_of_which_nothing_is_kept_is_not_made(crawl: Path, tmp_path: Path) -> None:
    other = day_of(tmp_path / "other.warc.zst", 2, *PAGES)
    targets = [str(tmp_path / name) for name in ("1.warc.zst", "2.warc.zst")]
    done = copied(CopyJob.of([crawl, other], targets), lambda *_: only("urn:x:2-0"))
    assert not Path(targets[0]).exists()
    assert [record.id for record in seekwarc.open(targets[1])] == ["urn:x:2-0"]
    assert done.dropped == {"another": 7}


def test_it_is_an_error_if_no_record_is_kept(crawl: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.warc.zst"
    with pytest.raises(NotFoundError, match="no record would be left"):
        copied(CopyJob.of(str(crawl), str(new)), lambda *_: only())
    assert not new.exists()


def test_a_job_refuses_what_exists(crawl: Path, tmp_path: Path) -> None:
    (tmp_path / "new.warc.zst").write_bytes(b"mine")
    with pytest.raises(TargetExistsError):
        CopyJob.of(str(crawl), str(tmp_path / "new.warc.zst"))
    with pytest.raises(ValueError, match="1 file and 2 names"):
        CopyJob.of(str(crawl), ["a.warc.zst", "b.warc.zst"])


def test_a_file_that_has_changed_since_it_was_listed_is_an_error(crawl: Path, tmp_path: Path) -> None:
    class Meddling(EachRecord):
        def finish(self) -> None:
            super().finish()
            day_of(crawl, 2, *PAGES)

    with pytest.raises(SourceChangedError):
        copied(CopyJob.of(str(crawl), str(tmp_path / "new.warc.zst")), lambda *_: Meddling(lambda _: None))
    assert not (tmp_path / "new.warc.zst").exists()
