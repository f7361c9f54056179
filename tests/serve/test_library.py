"""Files, IDs, and the records that are open."""

from __future__ import annotations

import gzip
import os
import shutil
import sqlite3
from operator import attrgetter

import pytest

import seekwarc
from seekwarc.collection.entry import is_place
from seekwarc.collection.record_table import Query
from seekwarc.errors import ChecksumError, NotFoundError, SourceError, UnsupportedError
from seekwarc.serve.cost import View
from seekwarc.serve.library import MAX_OPEN, Library, entries_of
from tests.serve.conftest import FILM, PAGE
from tests.support.foreign import Foreign, gzip_member, text, warc_header
from tests.support.leaks import open_below
from tests.support.partial import URI, PartsWriter
from tests.support.rangeserver import RangeServer, status
from tests.support.writing import noise


def ids(library: Library, **query: object) -> list[str]:
    return [
        library.record_id(row.filename, row.offset, row.skip)
        for row in library.catalogue.page(Query(**query), 0, 500).entries
    ]


def test_every_record_has_an_id_that_opens_it(library) -> None:
    found = ids(library)
    assert len(set(found)) == len(found) > 12
    for record_id in found:
        library.open(record_id)


def test_ids_do_not_depend_on_other_files(crawl, library, tmp_path) -> None:
    elsewhere = shutil.copy(crawl.paths[0], tmp_path)
    with Library([*crawl.paths[:0:-1], elsewhere]) as other:
        other.read()
        assert sorted(ids(other)) == sorted(ids(library))


def test_an_id_opens_its_record_before_the_scan(crawl, library) -> None:
    (film,) = ids(library, words=("film.mp4",))
    with Library(crawl.paths) as fresh:
        assert fresh.open(film).representation("payload").extent.pread(5, 5) == FILM[5:10]


def test_files_of_the_same_name_get_numbers(crawl, tmp_path) -> None:
    with Library([crawl.paths[0], shutil.copy(crawl.paths[0], tmp_path)]) as library:
        library.read()
        assert [state.name for state in library.files] == ["one.warc.zst", "one.warc.zst (2)"]
        found = ids(library, words=("film.mp4",))
        assert len(set(found)) == 2
        for record_id in found:
            library.open(record_id)


@pytest.mark.parametrize(
    "record_id", ["", "x", "12345678-0", "../../etc/passwd", "-1", "{}-{}", "film.mp4", "\u0661-0"]
)
def test_malformed_ids_are_not_found(library, record_id) -> None:
    with pytest.raises(NotFoundError):
        library.open(record_id)


def test_offsets_without_a_record(library) -> None:
    key = ids(library)[0].partition("-")[0]
    with pytest.raises(NotFoundError, match="ends before that"):
        library.open(f"{key}-999999999999")
    for offset in (3, 5):
        with pytest.raises(
            NotFoundError, match=f"ID {key}-{offset}: .*offset {offset}: no record starts here"
        ):
            library.open(f"{key}-{offset}")


def test_no_record_begins_where_a_file_ends(library) -> None:
    state = library.files[0]
    key = library.record_id(library.names[0], 0).partition("-")[0]
    with pytest.raises(NotFoundError, match=f"{state.name} ends before that"):
        library.open(f"{key}-{state.size}")


def test_revisits_and_segments_are_resolved(library) -> None:
    (revisit,) = ids(library, type="revisit")
    assert library.open(revisit).representation("payload").extent.pread(0, 10**6) == PAGE
    big = ids(library, words=("big.mp4",))
    assert len(big) > 2
    for segment in big:
        assert library.open(segment).representation("payload").extent.pread(0, 10**7) == FILM


def test_a_revisit_without_its_original_has_a_problem(crawl, tmp_path) -> None:
    with seekwarc.open(tmp_path / "alone.warc.zst", "w") as out:
        out.write_revisit(
            "http://example.org/x",
            b"",
            profile="http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
            payload_digest="sha1:" + "A" * 32,
            refers_to="urn:uuid:00000000-0000-4000-8000-000000000009",
        )
    with Library([tmp_path / "alone.warc.zst"]) as library:
        key = library.record_id("alone.warc.zst", 0)
        assert "not all files have been scanned yet" in library.open(key).problem
        library.read()
        assert "was not found" in library.open(key).problem
        assert "been scanned" not in library.open(key).problem
        with pytest.raises(NotFoundError):
            library.open(key).representation("payload")


def test_damage_is_listed_and_so_is_what_follows(crawl, tmp_path) -> None:
    data = bytearray(crawl.paths[0].read_bytes())
    with seekwarc.open(bytes(data)) as archive:
        offsets = [record.offset for record in archive]
    data[offsets[2] : offsets[2] + 4] = b"junk"
    broken = tmp_path / "broken.warc.zst"
    broken.write_bytes(data)
    with Library([broken, *crawl.paths[1:]]) as library:
        library.read()
        assert library.catalogue.complete
        state, other = library.files[:2]
        assert (state.records, state.damaged, state.problem) == (len(offsets) - 1, 1, None)
        assert (state.position, other.position) == (state.size, other.size)
        page = library.catalogue.page(Query(), 0, len(offsets)).entries
        assert [it.offset for it in page] == offsets
        assert [it.offset for it in page if is_place(it)] == [offsets[2]]
        assert str(tmp_path) not in page[2].problem, "clients see no paths"
        last = library.open(library.record_id("broken.warc.zst", offsets[-1]))
        assert last.record.offset == offsets[-1]


def test_records_that_share_a_gzip_member_are_only_listed(tmp_path, crawl) -> None:
    record = b"WARC/1.1\r\nWARC-Type: resource\r\nContent-Length: 1\r\n\r\nx\r\n\r\n"
    path = tmp_path / "shared.warc.gz"
    path.write_bytes(gzip.compress(record * 3))
    with Library([path]) as library:
        with pytest.warns(seekwarc.FormatWarning):
            library.read()
        first, second, _ = ids(library)
        assert library.open(first).representation("block").extent.pread(0, 9) == b"x"
        with pytest.raises(UnsupportedError, match="seekwarc convert"):
            library.open(second)


@pytest.mark.filterwarnings("ignore::seekwarc.errors.FormatWarning")
@pytest.mark.parametrize("is_damaged", [False, True])
def test_the_server_counts_stored_bytes_as_info_does(tmp_path, is_damaged) -> None:
    kinds = ("resource", "metadata", "response")
    records = [
        warc_header(900 * (number + 1), number, kind=kinds[number % 3])
        + noise(900 * (number + 1))
        + b"\r\n\r\n"
        for number in range(6)
    ]
    data = gzip_member(b"".join(records[:4])) + gzip_member(records[4])
    if is_damaged:
        data += gzip_member(records[5])[:-300]
    path = tmp_path / "shared.warc.gz"
    path.write_bytes(data)
    with Library([path]) as library:
        library.read()
        for by in ("type", "host"):
            found = seekwarc.tools.info(path, by=by).groups
            assert library.groups[by].most() == found.most()
            assert sum(it.stored_size for it in found.most()[0]) <= len(data)


def test_a_missing_file_is_an_error_and_closes_the_others(crawl, tmp_path) -> None:
    folders = {path.parent for path in crawl.paths}
    before = open_below(*folders)
    with pytest.raises(SourceError, match=r"gone\.warc"):
        Library([*crawl.paths, tmp_path / "gone.warc"])
    assert open_below(*folders) == before


def test_a_limited_number_of_records_stays_open(library) -> None:
    found = ids(library)
    first = library.open(found[0])
    assert library.open(found[0]) is first
    key = found[0].partition("-")[0]
    for number in range(MAX_OPEN + 5):
        library._open.put(f"{key}-{number}", first)
    library.open(found[1])
    assert len(library._open) == MAX_OPEN


def test_opening_is_charged_to_the_view(crawl, library) -> None:
    (film,) = ids(library, words=("film.mp4",))
    view = View()
    library.open(film, view)
    assert 0 < view.bytes_read < 200_000


def test_closing_stops_the_scan(crawl) -> None:
    library = Library(crawl.paths)
    library.start_reading()
    library.close()
    library.close()
    assert not library._thread.is_alive()


def test_a_full_disk_is_reported(crawl, monkeypatch) -> None:
    with Library(crawl.paths[:1]) as library:

        def full(_) -> None:
            raise sqlite3.OperationalError("database or disk is full")

        monkeypatch.setattr(library.catalogue, "extend", full)
        library.read()
        assert "disk is full" in library.files[0].problem


def test_damage_in_a_frame_is_an_error_of_that_range(crawl, tmp_path) -> None:
    data = bytearray(crawl.paths[0].read_bytes())
    data[crawl.offsets["film.mp4"] + 1_500_000] ^= 0xFF
    path = tmp_path / "one.warc.zst"
    path.write_bytes(data)
    with Library([path]) as library:
        library.read()
        (film,) = ids(library, words=("film.mp4",))
        payload = library.open(film).representation("payload")
        assert payload.extent.pread(0, 10) == FILM[:10]
        with pytest.raises(ChecksumError):
            payload.extent.pread(1_400_000, 200_000)


@pytest.mark.needs("module:obstore")
def test_a_file_on_a_server_is_served_and_its_cost_counted(crawl, library) -> None:
    with RangeServer(crawl.paths[0].read_bytes()) as server, Library([server.url]) as remote:
        remote.read()
        (film,) = remote.catalogue.page(Query(words=("film.mp4",)), 0, 9).entries
        record_id = remote.record_id(film.filename, film.offset)
        view = View()
        payload = remote.open(record_id, view).representation("payload", view=view)
        server.forget()
        before = view.bytes_read
        assert payload.extent.pread(1_000_000, 1000) == FILM[1_000_000:1_001_000]
        assert [asked.method for asked in server.asked] == ["GET"]
        assert view.bytes_read - before == server.asked[0].sent
        assert (
            payload.etag == library.open(ids(library, words=("film.mp4",))[0]).representation("payload").etag
        )


@pytest.mark.needs("module:obstore")
def test_a_failing_server_is_reported_before_serving() -> None:
    with RangeServer(b"", fault=status(404)) as server, pytest.raises(SourceError, match=r"404|not found"):
        Library([server.url])


def test_only_tables_that_were_compared_are_trusted(tmp_path) -> None:
    def change(entries):
        """Two contents are wrong, and their sum is right: what lies between them is displaced."""
        made = list(entries)
        made[2] = (made[2][0], made[2][1] + 10, made[2][2])
        made[6] = (made[6][0], made[6][1] - 10, made[6][2])
        return made

    block = text(40_000, seed=3)
    made = Foreign().record(block, cuts=4000, table=True).record(block, cuts=4000, table={"change": change})
    (tmp_path / "a.warc.zst").write_bytes(made.bytes())
    with Library([tmp_path / "a.warc.zst"]) as library:
        library.read()
        statuses = []
        for put in made.records:
            served = library.open(library.record_id("a.warc.zst", put.offset))
            assert served.representation("payload").extent.pread(20_000, 100) == block[20_000:20_100]
            statuses.append(served.record.seek_table_status)
        assert statuses == ["record", "unusable"]
    with seekwarc.Collection([tmp_path / "a.warc.zst"]) as crawl:
        for record_id in ("0", "1"):
            record = crawl.open_record(f"urn:uuid:00000000-0000-4000-8000-00000000000{record_id}")
            assert record.block.pread(20_000, 100) == block[20_000:20_100]


def test_an_entry_describes_its_record(crawl) -> None:
    with seekwarc.open(crawl.paths[0]) as archive:
        entries = {entry.uri: entry for entry in entries_of(archive, print)}
        film = entries["http://example.org/film.mp4"]
        assert (film.filename, film.offset, film.mime, film.status) == (
            archive.name,
            crawl.offsets["film.mp4"],
            "video/mp4",
            200,
        )
    assert entries["http://example.org/untyped.png"].mime == "image/png"


def test_the_catalogue_has_every_relation_of_its_records(library) -> None:
    place = attrgetter("filename", "offset")
    readers = library._collection.files
    entries = sorted((it for reader in readers for it in entries_of(reader, print)), key=place)
    table = library.catalogue
    several = 0
    for entry in entries:
        digest = entry.payload_digest
        same = [it for it in entries if digest and it.payload_digest and it.payload_digest.key == digest.key]
        for answer, wanted in (
            (table.by_id(entry.id), [it for it in entries if it.id == entry.id]),
            (table.by_uri(entry.uri or "-"), [it for it in entries if it.uri == (entry.uri or "-")]),
            (table.by_payload(digest) if digest else (), same),
            (table.segments_of(entry.id), [it for it in entries if it.segment_origin_id == entry.id]),
            (table.concurrent_to(entry.id), [it for it in entries if entry.id in it.concurrent_to]),
            (table.referring_to(entry.id), [it for it in entries if it.refers_to == entry.id]),
        ):
            assert sorted(answer, key=place) == wanted
            several += len(answer) > 1
    assert several


def test_folders_and_patterns_are_the_files_in_them(crawl, tmp_path) -> None:
    folder = tmp_path / "crawls" / "deep"
    folder.mkdir(parents=True)
    for path in crawl.paths:
        os.symlink(path, folder / path.name)
    names = sorted(path.name for path in crawl.paths)
    for target in (tmp_path / "crawls", str(tmp_path / "crawls" / "**" / "*.warc.*")):
        with Library([target]) as library:
            assert [state.name for state in library.files] == names
    with Library([tmp_path / "crawls", folder / names[0]]) as library:
        assert [state.name for state in library.files] == names, "a file is served once"
    with pytest.raises(SourceError, match="no file matches"):
        Library([str(tmp_path / "*.zip")])


def test_parts_are_served_as_the_whole_once_all_files_are_scanned(tmp_path) -> None:
    film = bytes(range(250)) * 400
    for number, start in enumerate((50_000, 0)):
        out = PartsWriter(film)
        out.part(start, start + 50_000, uri=f"{URI}?range={start}-{start + 49_999}")
        (tmp_path / f"{number}.warc.zst").write_bytes(out.done())
    with Library(sorted(tmp_path.iterdir())) as library:
        assert library.capture(URI, None) is None
        library.read()
        served = library.capture(URI, None)
        assert served.representation("payload").extent.pread(0, 10**9) == film
        assert library.open(ids(library)[0]).record.held == len(film)
        with pytest.raises(NotFoundError):
            library.capture(URI + "2", None)
