"""`tools.sidecar`: sidecars of .warc.gz that readers find, for the records that are worth it."""

from __future__ import annotations

import gzip
import os
import random
import warnings
from pathlib import Path

import pytest

import seekwarc
from seekwarc import TableStatus, tools
from seekwarc.errors import ChecksumError, FormatError, FormatWarning, SourceError, TargetExistsError
from seekwarc.make import sidecars
from tests.support.foreign import CRLF2, Foreign, warc_header
from tests.support.framed import film
from tests.support.rangeserver import RangeServer
from tests.support.sidecars import mixed
from tests.support.sources import Pipe

SMALLEST = 1 << 20
SPACING = 64 << 10
LARGE = [b"".join(mixed(seed, size)) for seed, size in ((7, 1_600_000), (8, 1_700_000))]
OPTIONS = {"min_size": SMALLEST, "spacing": SPACING}


def record(payload: bytes, number: int = 0) -> bytes:
    return warc_header(len(payload), number) + payload + CRLF2


@pytest.fixture(scope="module")
def data() -> bytes:
    small = gzip.compress(record(b"small"))
    return small + gzip.compress(record(LARGE[0], 1)) + small * 2 + gzip.compress(record(LARGE[1], 2), 1)


@pytest.fixture
def path(data: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "a.warc.gz"
    path.write_bytes(data)
    return path


def check_ranges(path: Path | str, **options) -> None:
    rnd = random.Random(4)
    with seekwarc.open(path, cache_size=0, **options) as archive:
        found = [it for it in archive if it.content_length > SMALLEST]
        for it, payload in zip(found, LARGE, strict=True):
            again = archive.record_at(it.offset, it.length)
            assert again.seek_table_status is TableStatus.SIDECAR
            for _ in range(15):
                start, size = rnd.randrange(len(payload)), rnd.choice([1, 5000, 200_000])
                before = archive.stats.bytes_decoded
                assert again.payload.pread(start, size) == payload[start : start + size]
                assert archive.stats.bytes_decoded - before < size + 500_000


def test_readers_find_what_was_made(path):
    made = tools.sidecar(path, **OPTIONS)
    assert (made.records, made.problems) == (2, 0)
    assert made.spans > 20
    check_ranges(path)


def test_only_large_records_are_listed(path):
    assert tools.sidecar(path, min_size=max(map(len, LARGE))).records == 1
    assert tools.sidecar(path, existing="overwrite").records == 0
    assert tools.sidecar(path, path.parent / "other").records == 0
    assert sorted(os.listdir(path.parent)) == ["a.warc.gz", "a.warc.gz.seek"]


def test_a_frame_is_listed_if_most_of_it_is_stored_as_it_is(tmp_path):
    made = film(1)
    path = tmp_path / "a.warc.zst"
    path.write_bytes(made.data)
    done = tools.sidecar(path)
    assert (done.records, done.problems) == (1, 0)
    with seekwarc.open(path) as archive:
        record = archive.record_at(made.offset)
        assert record.seek_table_status is TableStatus.SIDECAR
        assert record.body.read(30_000_000, 30_000_100) == made.content[30_000_000:30_000_100]
    problems = []
    text = Foreign().record(b"text that compresses " * 2_000_000).record(b"after")
    path.write_bytes(text.bytes())
    done = tools.sidecar(path, on_problem=problems.append, existing="overwrite")
    assert (done.records, done.problems) == (0, 1)
    assert "cannot be entered" in str(problems[0])


def test_small_frames_get_none(path, tmp_path):
    tools.convert(path, tmp_path / "a.warc.zst")
    assert tools.sidecar(tmp_path / "a.warc.zst", **OPTIONS).records == 0


def test_an_existing_file_is_not_replaced_unless_asked(path):
    tools.sidecar(path, **OPTIONS)
    with pytest.raises(TargetExistsError):
        tools.sidecar(path, **OPTIONS)
    tools.sidecar(path, existing="overwrite", **OPTIONS)


@pytest.mark.parametrize("module", ["rapidgzip", "indexed_gzip"])
def test_an_index_of_another_program_is_taken(path, tmp_path, module):
    library = pytest.importorskip(module)
    index = tmp_path / "index"
    options = {"spacing": 300_000} if module == "indexed_gzip" else {}
    opened = getattr(library, {"rapidgzip": "RapidgzipFile", "indexed_gzip": "IndexedGzipFile"}[module])
    with opened(str(path), **options) as file:
        if module == "indexed_gzip":
            file.build_full_index()
        file.export_index(str(index))
    assert tools.sidecar(path, tmp_path / "named.seek", gzidx=index, **OPTIONS).records == 2
    check_ranges(path, sidecar=tmp_path / "named.seek")


def test_the_index_of_another_file_is_refused(path, tmp_path):
    indexed_gzip = pytest.importorskip("indexed_gzip")
    other = tmp_path / "other.gz"
    other.write_bytes(gzip.compress(b"".join(LARGE[::-1]) * 4, 1))
    with indexed_gzip.IndexedGzipFile(str(other), spacing=300_000) as file:
        file.build_full_index()
        file.export_index(str(tmp_path / "index"))
    with pytest.raises(ChecksumError):
        tools.sidecar(path, gzidx=tmp_path / "index", **OPTIONS)
    with pytest.raises(FormatError, match="not a GZIDX"):
        tools.sidecar(path, gzidx=path, **OPTIONS)
    assert not path.with_name("a.warc.gz.seek").exists()


def test_on_many_cores_points_are_found_by_rapidgzip(path, monkeypatch):
    pytest.importorskip("rapidgzip")
    found = []
    parse = sidecars.parse_gzidx
    monkeypatch.setattr(sidecars, "MANY_THREADS", 1)
    monkeypatch.setattr(sidecars, "parse_gzidx", lambda *it: found.append(parse(*it)) or found[-1])
    assert tools.sidecar(path, **OPTIONS).records == 2
    assert len(found) == 1
    check_ranges(path)


def test_the_sidecar_of_a_url_is_written_here(data, tmp_path):
    with RangeServer(data) as server:
        assert tools.sidecar(server.url, tmp_path / "a.seek", **OPTIONS).records == 2
        check_ranges(server.url, sidecar=tmp_path / "a.seek")


def test_damage_does_not_keep_other_records_out(data, tmp_path):
    path = tmp_path / "a.warc.gz"
    position = len(data) // 4
    path.write_bytes(data[:position] + bytes((data[position] ^ 8,)) + data[position + 1 :])
    with pytest.raises(FormatError):
        tools.sidecar(path, **OPTIONS)
    problems = []
    made = tools.sidecar(path, on_problem=problems.append, **OPTIONS)
    assert (made.records, made.problems) == (1, len(problems))
    assert len({it.offset for it in problems}) == len(problems) >= 1


@pytest.mark.parametrize("trailer", [b"", b"\n", b"\r\n\r\n\r\n"])
def test_a_record_with_another_trailer_does_not_keep_others_out(data, tmp_path, trailer):
    path = tmp_path / "a.warc.gz"
    wrong = gzip.compress(warc_header(len(LARGE[0]), 3) + LARGE[0] + trailer)
    path.write_bytes(wrong + data)
    with pytest.warns(FormatWarning, match="the sidecar does not list a record: .*offset 0: .* holds"):
        made = tools.sidecar(path, **OPTIONS)
    assert (made.records, made.problems) == (2, 1)
    with seekwarc.open(path, sidecar=True) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        found = [it.seek_table_status for it in archive if it.content_length > SMALLEST]
    assert found == [TableStatus.STREAM, TableStatus.SIDECAR, TableStatus.SIDECAR]


def test_a_record_that_shares_its_member_is_left_out(tmp_path):
    path = tmp_path / "a.warc.gz"
    path.write_bytes(
        gzip.compress(record(LARGE[0]) + record(b"more", 1)) + gzip.compress(record(LARGE[1], 2))
    )
    problems = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = tools.sidecar(path, on_problem=problems.append, **OPTIONS)
    assert made.records == 1
    assert [it.offset for it in problems] == [0]
    assert "no member of its own" in str(problems[0])


def test_sizes_are_checked_and_pipes_refused(path, data):
    with pytest.raises(ValueError, match="spacing"):
        tools.sidecar(path, spacing=1)
    with pytest.raises(ValueError, match="min_size"):
        tools.sidecar(path, min_size=0)
    with pytest.raises(ValueError, match="name the sidecar"):
        tools.sidecar("https://example.org/a.warc.gz")
    with pytest.raises((SourceError, TypeError)):
        tools.sidecar(Pipe(data))
