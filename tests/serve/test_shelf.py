"""Files, IDs, and the records that are open."""

from __future__ import annotations

import gzip
import os
import shutil
import sqlite3

import pytest

import seekwarc
from seekwarc.errors import ChecksumError, NotFoundError, SourceError, UnsupportedError
from seekwarc.serve.catalogue import Query
from seekwarc.serve.shelf import MOST_OPEN, Shelf
from seekwarc.serve.views import View
from tests.serve.conftest import FILM, PAGE
from tests.support.foreign import Foreign, text
from tests.support.rangeserver import RangeServer, status


def ids(shelf: Shelf, **query: object) -> list[str]:
    return [
        shelf.record_id(row.file, row.offset, row.skip)
        for _, row in shelf.catalogue.page(Query(**query), 0, 500).rows
    ]


def test_every_record_has_an_id_that_opens_it(shelf) -> None:
    found = ids(shelf)
    assert len(set(found)) == len(found) > 12
    for record_id in found:
        shelf.open(record_id)


def test_ids_stay_the_same_with_other_files_in_another_order(crawl, shelf, tmp_path) -> None:
    elsewhere = shutil.copy(crawl.paths[0], tmp_path)
    with Shelf([*crawl.paths[:0:-1], elsewhere]) as other:
        other.read()
        assert sorted(ids(other)) == sorted(ids(shelf))


def test_an_id_opens_its_record_before_the_files_were_gone_through(crawl, shelf) -> None:
    (film,) = ids(shelf, words=("film.mp4",))
    with Shelf(crawl.paths) as fresh:
        assert fresh.open(film).representation("payload").read(5, 5) == FILM[5:10]


def test_files_of_one_name_are_told_apart(crawl, tmp_path) -> None:
    with Shelf([crawl.paths[0], shutil.copy(crawl.paths[0], tmp_path)]) as shelf:
        shelf.read()
        assert [state.name for state in shelf.files] == ["one.warc.zst", "one.warc.zst (2)"]
        found = ids(shelf, words=("film.mp4",))
        assert len(set(found)) == 2
        for record_id in found:
            shelf.open(record_id)


@pytest.mark.parametrize(
    "record_id", ["", "x", "12345678-0", "../../etc/passwd", "-1", "{}-{}", "film.mp4", "\u0661-0"]
)
def test_what_is_no_id(shelf, record_id) -> None:
    with pytest.raises(NotFoundError):
        shelf.open(record_id)


def test_places_where_no_record_is(shelf) -> None:
    key = ids(shelf)[0].partition("-")[0]
    with pytest.raises(NotFoundError, match="ends before that"):
        shelf.open(f"{key}-999999999999")
    with pytest.raises(seekwarc.FormatError):
        shelf.open(f"{key}-3")


def test_revisits_and_segments_are_resolved(shelf) -> None:
    (revisit,) = ids(shelf, type="revisit")
    assert shelf.open(revisit).representation("payload").read(0, 10**6) == PAGE
    big = ids(shelf, words=("big.mp4",))
    assert len(big) > 2
    for segment in big:
        assert shelf.open(segment).representation("payload").read(0, 10**7) == FILM


def test_a_revisit_without_its_original_says_so(crawl, tmp_path) -> None:
    with seekwarc.open(tmp_path / "alone.warc.zst", "w") as out:
        out.write_revisit(
            "http://example.org/x",
            b"",
            profile="http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
            payload_digest="sha1:" + "A" * 32,
            refers_to="urn:uuid:00000000-0000-4000-8000-000000000009",
        )
    with Shelf([tmp_path / "alone.warc.zst"]) as shelf:
        key = shelf.record_id(0, 0)
        assert "not all files have been gone through yet" in shelf.open(key).problem
        shelf.read()
        assert "is not in these files" in shelf.open(key).problem
        assert "gone through" not in shelf.open(key).problem
        with pytest.raises(NotFoundError):
            shelf.open(key).representation("payload")


def test_damage_ends_a_file_and_not_the_others(crawl, tmp_path) -> None:
    data = bytearray(crawl.paths[0].read_bytes())
    with seekwarc.open(bytes(data)) as archive:
        third = [record.offset for record in archive][2]
    data[third : third + 4] = b"junk"
    broken = tmp_path / "broken.warc.zst"
    broken.write_bytes(data)
    with Shelf([broken, *crawl.paths[1:]]) as shelf:
        shelf.read()
        assert shelf.catalogue.complete
        state, other = shelf.files[:2]
        assert state.records == 2
        assert state.position == third
        assert "broken.warc.zst" in state.problem
        assert str(tmp_path) not in state.problem, "clients are told no paths"
        assert other.problem is None
        assert other.position == other.size


def test_records_that_share_a_gzip_member_are_listed_and_say_why_they_cannot_be_opened(
    tmp_path, crawl
) -> None:
    record = b"WARC/1.1\r\nWARC-Type: resource\r\nContent-Length: 1\r\n\r\nx\r\n\r\n"
    path = tmp_path / "shared.warc.gz"
    path.write_bytes(gzip.compress(record * 3))
    with Shelf([path]) as shelf:
        with pytest.warns(seekwarc.FormatWarning):
            shelf.read()
        first, second, _ = ids(shelf)
        assert shelf.open(first).representation("block").read(0, 9) == b"x"
        with pytest.raises(UnsupportedError, match="seekwarc convert"):
            shelf.open(second)


def test_a_file_that_is_not_there_is_an_error_and_nothing_stays_open(crawl, tmp_path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(SourceError, match=r"gone\.warc"):
        Shelf([*crawl.paths, tmp_path / "gone.warc"])
    assert len(os.listdir("/proc/self/fd")) == before


def test_open_records_are_kept_but_not_without_end(shelf) -> None:
    found = ids(shelf)
    first = shelf.open(found[0])
    assert shelf.open(found[0]) is first
    key = found[0].partition("-")[0]
    for number in range(MOST_OPEN + 5):
        shelf._open[f"{key}-{number}"] = first
    shelf.open(found[1])
    assert len(shelf._open) == MOST_OPEN


def test_opening_is_charged_to_the_view(crawl, shelf) -> None:
    (film,) = ids(shelf, words=("film.mp4",))
    view = View()
    shelf.open(film, view)
    assert 0 < view.bytes_read < 200_000


def test_closing_stops_the_reading(crawl) -> None:
    shelf = Shelf(crawl.paths)
    shelf.start_reading()
    shelf.close()
    shelf.close()
    assert not shelf._thread.is_alive()


def test_a_disk_that_is_full_is_told(crawl, monkeypatch) -> None:
    with Shelf(crawl.paths[:1]) as shelf:

        def full(_) -> None:
            raise sqlite3.OperationalError("database or disk is full")

        monkeypatch.setattr(shelf.catalogue, "add", full)
        shelf.read()
        assert "disk is full" in shelf.files[0].problem


def test_damage_in_a_frame_is_an_error_of_that_range(crawl, tmp_path) -> None:
    data = bytearray(crawl.paths[0].read_bytes())
    data[crawl.offsets["film.mp4"] + 1_500_000] ^= 0xFF
    path = tmp_path / "one.warc.zst"
    path.write_bytes(data)
    with Shelf([path]) as shelf:
        shelf.read()
        (film,) = ids(shelf, words=("film.mp4",))
        payload = shelf.open(film).representation("payload")
        assert payload.read(0, 10) == FILM[:10]
        with pytest.raises(ChecksumError):
            payload.read(1_400_000, 200_000)


@pytest.mark.needs("module:obstore")
def test_a_file_on_a_server_is_served_and_its_cost_counted(crawl, shelf) -> None:
    with RangeServer(crawl.paths[0].read_bytes()) as server, Shelf([server.url]) as remote:
        remote.read()
        (film,) = remote.catalogue.page(Query(words=("film.mp4",)), 0, 9).rows
        record_id = remote.record_id(film[1].file, film[1].offset)
        view = View()
        payload = remote.open(record_id, view).representation("payload", view=view)
        server.forget()
        before = view.bytes_read
        assert payload.read(1_000_000, 1000) == FILM[1_000_000:1_001_000]
        assert [asked.method for asked in server.asked] == ["GET"]
        assert view.bytes_read - before == server.asked[0].sent
        assert payload.etag == shelf.open(ids(shelf, words=("film.mp4",))[0]).representation("payload").etag


@pytest.mark.needs("module:obstore")
def test_a_server_that_does_not_answer_is_told_before_anything_is_served() -> None:
    with RangeServer(b"", fault=status(404)) as server, pytest.raises(SourceError, match=r"404|not found"):
        Shelf([server.url])


def test_tables_that_were_compared_are_the_only_ones_believed(tmp_path) -> None:
    def change(entries):
        """Two contents are wrong, and their sum is right: what lies between them is displaced."""
        made = list(entries)
        made[2] = (made[2][0], made[2][1] + 10, made[2][2])
        made[6] = (made[6][0], made[6][1] - 10, made[6][2])
        return made

    block = text(40_000, seed=3)
    made = Foreign().record(block, cuts=4000, table=True).record(block, cuts=4000, table={"change": change})
    (tmp_path / "a.warc.zst").write_bytes(made.bytes())
    with Shelf([tmp_path / "a.warc.zst"]) as shelf:
        shelf.read()
        statuses = []
        for put in made.records:
            served = shelf.open(shelf.record_id(0, put.offset))
            assert served.representation("payload").read(20_000, 100) == block[20_000:20_100]
            statuses.append(served.record.seek_table_status)
        assert statuses == ["record", "unusable"]
    with seekwarc.Collection([tmp_path / "a.warc.zst"]) as crawl:
        for record_id in ("0", "1"):
            record = crawl.open_record(f"urn:uuid:00000000-0000-4000-8000-00000000000{record_id}")
            assert record.block.pread(20_000, 100) == block[20_000:20_100]
