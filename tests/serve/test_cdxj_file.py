"""Serving what an index lists, without going through the files."""

from __future__ import annotations

import json
import os

import pytest

import seekwarc
from seekwarc.collection.record_table import Query
from seekwarc.errors import FormatError, LimitError, SourceError
from seekwarc.format.cdxj import MAX_LINE_SIZE, CdxjLine, timestamp_of
from seekwarc.format.surt import surt
from seekwarc.make.indexing import index as make_index
from seekwarc.serve.cdxj_file import file_names, index_entries
from seekwarc.serve.library import Library
from seekwarc.storage.local import BytesSource
from tests.serve.conftest import FILM, PAGE
from tests.support.crawls import PAGE_URI, heritrix
from tests.support.foreign import Entry, Foreign, text


@pytest.fixture
def index(crawl, tmp_path):
    """An index of the crawl, in the same folder as links to its files."""
    lines = []
    for path in crawl.paths:
        os.symlink(path, tmp_path / path.name)
        with seekwarc.open(path) as archive:
            for record in archive:
                if record.type not in ("response", "revisit") or record.date is None:
                    continue
                fields = {
                    "url": record.target_uri,
                    "mime": "warc/revisit" if record.type == "revisit" else "text/html",
                    "status": "200",
                    "digest": str(record.payload_digest).removeprefix("sha1:"),
                    "length": str(record.length),
                    "offset": str(record.offset),
                    "filename": path.name,
                }
                key, timestamp = surt(record.target_uri), timestamp_of(record.date)
                lines.append(CdxjLine(key, timestamp, fields).build())
    path = tmp_path / "crawl.cdxj"
    path.write_bytes(b'!meta 0 {"format": "cdxj"}\n' + b"".join(sorted(lines)))
    return path


def test_records_of_an_index_are_served_without_a_scan(index) -> None:
    with Library([index]) as library:
        library.read()
        assert [state.name for state in library.files] == ["crawl.cdxj"]
        assert library.files[0].position == library.files[0].size == index.stat().st_size
        assert sum(reader.stats.requests for reader in library._collection.files) == 0
        (film,) = library.catalogue.page(Query(words=("film.mp4",)), 0, 9).entries
        served = library.open(library.record_id(film.filename, film.offset))
        assert served.representation("payload").extent.pread(0, 10**7) == FILM
        assert str(film.date) == "2026-11-16T12:00:03Z"
        (revisit,) = library.catalogue.page(Query(type="revisit"), 0, 9).entries
        served = library.open(library.record_id(revisit.filename, revisit.offset))
        assert served.problem is None
        assert served.representation("payload").extent.pread(0, 10**7) == PAGE


def test_notes_that_an_index_lists_keep_their_type(tmp_path) -> None:
    (tmp_path / "a.warc.zst").write_bytes(heritrix().bytes())
    make_index(
        {"a.warc.zst": tmp_path / "a.warc.zst"}, tmp_path / "a.cdxj", on_problem=print, all_records=True
    )
    with Library([tmp_path / "a.cdxj"]) as library:
        library.read()
        assert library.catalogue.types == {"response": 1, "request": 1, "metadata": 2}
        assert library.catalogue.capture(PAGE_URI, None).type == "response"


def test_ids_are_the_same_with_and_without_an_index(index, crawl) -> None:
    with Library([index]) as indexed, Library(crawl.paths) as plain:
        for library in (indexed, plain):
            library.read()
        ids = [
            {
                library.record_id(row.filename, row.offset)
                for row in library.catalogue.page(Query(), 0, 99).entries
            }
            for library in (indexed, plain)
        ]
        assert ids[0] < ids[1]


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../x.warc.gz", "a/../../x", "http://example.org/x", "..\\x"]
)
def test_an_index_leads_to_no_other_folder(name, tmp_path) -> None:
    line = b"org,example)/ 20260101000000 " + json.dumps({"filename": name, "offset": "0"}).encode()
    path = tmp_path / "x.cdxj"
    path.write_bytes(line)
    with pytest.raises(FormatError, match="is outside the folder of its files"):
        Library([path])


@pytest.mark.parametrize(
    "data",
    [
        b"org,example)/ 20260101000000 {\n",
        b"org,example)/ 20260101000000 {}\n",
        b"WARC/1.1\r\n\r\n",
        b"\x1f\x8b\x08\x00" * 30,
        b'org,example)/ 20260101000000 {"filename": "x"}',
    ],
)
def test_a_file_that_is_no_index_is_an_error_with_its_place(data) -> None:
    index = BytesSource(data, "x.cdxj")
    with pytest.raises(FormatError):
        list(index_entries(index, dict.fromkeys(file_names(index), "x")))


def test_lines_are_found_wherever_the_reads_end(monkeypatch) -> None:
    monkeypatch.setattr("seekwarc.serve.cdxj_file.STEP", 7)
    fields = '{"filename": "a.warc", "offset": "%d", "length": "9"}'
    lines = [f"org,example)/{number} 20260101000000 {fields % number}" for number in range(30)]
    for end in ("", "\n", "\r\n"):
        data = ("\n".join(lines) + end).encode()
        rows = list(index_entries(BytesSource(data), {"a.warc": "b.warc"}))
        assert [row.offset for _, row in rows] == list(range(30))
        assert {row.filename for _, row in rows} == {"b.warc"}
        assert [end for end, _ in rows] == sorted({end for end, _ in rows})


def test_a_line_without_end_is_not_read_without_end() -> None:
    class Endless:
        name = "endless.cdxj"
        size = 1 << 40

        def read(self, start: int, stop: int) -> bytes:
            return b"x" * (stop - start)

        def close(self) -> None:
            pass

    with pytest.raises(LimitError):
        file_names(Endless())
    assert MAX_LINE_SIZE == 16 << 20


def test_a_file_that_is_not_beside_its_index_is_an_error(tmp_path) -> None:
    path = tmp_path / "x.cdxj"
    path.write_text('org,example)/ 20260101000000 {"filename": "gone.warc.gz", "offset": "0"}\n')
    with pytest.raises(SourceError, match=r"gone\.warc\.gz"):
        Library([path])


def test_damage_in_an_index_is_reported_when_reached(index, tmp_path) -> None:
    with Library([index]) as library:
        data = index.read_bytes()
        index.write_bytes(data[:-40] + b"x" * 40)
        library.read()
        assert "crawl.cdxj" in library.files[0].problem
        assert str(tmp_path) not in library.files[0].problem
        assert library.catalogue.complete


# Seek tables.


def displacing(entries: list[Entry]) -> list[Entry]:
    """Two contents are wrong, and their sum is right: what lies between them is displaced."""
    made = list(entries)
    made[2] = (made[2][0], made[2][1] + 10, made[2][2])
    made[6] = (made[6][0], made[6][1] - 10, made[6][2])
    return made


def film_file(**options: object) -> Foreign:
    return Foreign().record(text(500)).record(text(40_000, seed=3), cuts=4000, table=options or True)


def part_of(library: Library, made: Foreign) -> tuple[bytes, str | None]:
    """Read some bytes in the middle, as a player does."""
    served = library.open(library.record_id(library.names[0], made.records[1].offset))
    problem = served.record.body.table_problem
    return served.representation("payload").extent.pread(20_000, 100), problem


def test_a_seek_table_that_the_index_names_is_used(tmp_path) -> None:
    made, forged = film_file(), film_file(change=displacing)
    path = tmp_path / "a.warc.zst"
    path.write_bytes(made.bytes())
    make_index({"a.warc.zst": path}, tmp_path / "a.cdxj", on_problem=print)
    assert made.records[1].offset == forged.records[1].offset
    wanted = made.records[1].block[20_000:20_100]
    for data, is_forged in ((made.bytes(), False), (forged.bytes(), True)):
        path.write_bytes(data)
        with Library([tmp_path / "a.cdxj"]) as library:
            library.read()
            found, problem = part_of(library, made)
        assert found == wanted
        assert (problem is not None) is is_forged
    with seekwarc.open(path) as archive:
        put = forged.records[1]
        assert archive.record_at(put.offset, put.length).block.pread(20_000, 100) != wanted, (
            "nor is it in vain"
        )


def test_a_malformed_table_field_excludes_no_table(tmp_path) -> None:
    made = film_file(change=displacing)
    (tmp_path / "a.warc.zst").write_bytes(made.bytes())
    make_index({"a.warc.zst": tmp_path / "a.warc.zst"}, tmp_path / "a.cdxj", on_problem=print)
    lines = (tmp_path / "a.cdxj").read_bytes().replace(b'"}', b'", "seekTable": "7 x"}')
    (tmp_path / "a.cdxj").write_bytes(lines)
    with Library([tmp_path / "a.cdxj"]) as library:
        library.read()
        rows = library.catalogue.page(Query(), 0, 9).entries
        assert len(rows) == 2
        assert all("seek table" in (row.problem or "") for row in rows)
        assert part_of(library, made)[0] == made.records[1].block[20_000:20_100]
