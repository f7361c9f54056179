"""Lookups in Parquet: the same answers as from lines, few bytes, and typed errors of hostile files."""

from __future__ import annotations

import io
import json
import pickle
import random
import re
import tracemalloc
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seekwarc
from seekwarc import Index
from seekwarc.cdx import parquet as module
from seekwarc.cdx.limits import MAX_CELL_SIZE
from seekwarc.errors import FormatError, LimitError, SeekWarcError, SourceError
from tests.conftest import ROOT
from tests.support.cdx import columnar, many_lines
from tests.support.rounds import rounds
from tests.support.sources import Pipe, RecordingSource, RemoteFake

COUNT = 900


@pytest.fixture(autouse=True)
def _most_of_a_file_is_not_in_its_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TAIL", 1024)


@pytest.fixture(scope="module")
def lines() -> list[bytes]:
    return [line for line in many_lines(COUNT) if b"length" not in line]


@pytest.fixture(scope="module")
def stored(lines: list[bytes]) -> bytes:
    with pytest.MonkeyPatch.context() as patch:
        return columnar(lines, patch)


def common_crawl(lines: list[bytes]) -> bytes:
    """Return a file as Common Crawl writes it: other types, gzip, and no statement of order."""
    rows = []
    for line in lines:
        key, _, fields = line.split(b" ", 2)
        about = json.loads(fields)
        rows.append(
            {
                "url_surtkey": key.decode(),
                "url": about["url"],
                "fetch_status": 200,
                "content_digest": "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
                "content_mime_type": about["mime"],
                "warc_filename": f"crawl-data/{about['filename']}",
                "warc_record_offset": int(about["offset"]),
                "warc_record_length": 100,
            }
        )
    dates = [line.split(b" ")[1].decode("ascii") for line in lines]
    moments = [datetime.strptime(date, "%Y%m%d%H%M%S").replace(tzinfo=UTC) for date in dates]
    times = pa.array(moments, pa.timestamp("ms", tz="UTC"))
    table = pa.Table.from_pylist(rows)
    for name, kind in {"fetch_status": pa.int16(), "warc_record_offset": pa.int32()}.items():
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, table.column(name).cast(kind))
    file = io.BytesIO()
    pq.write_table(table.append_column("fetch_time", times), file, compression="gzip", row_group_size=200)
    return file.getvalue()


QUERIES: list[tuple[str, dict[str, Any]]] = [
    ("http://site5.org/page/0000005", {}),
    ("http://site5.org/page/0000005", {"since": "2021", "until": "2022"}),
    ("http://site5.org/page/0000005", {"closest": "2021-06"}),
    ("http://site5.org/page/0000005", {"closest": "1999"}),
    ("http://site5.org/page/", {"match": "prefix"}),
    ("site50.org", {"match": "host", "since": "2021"}),
    ("org", {"match": "domain"}),
    ("http://nowhere.org/", {}),
    ("http://aaa.com/", {"closest": "2020"}),
    ("zzz.zzz", {"match": "host"}),
]


@pytest.mark.parametrize(("uri", "options"), QUERIES)
@pytest.mark.parametrize("made_by", ["seekwarc", "Common Crawl"])
def test_rows_are_found_as_lines_are(
    stored: bytes, lines: list[bytes], made_by: str, uri: str, options: dict[str, Any]
) -> None:
    data = stored if made_by == "seekwarc" else common_crawl(lines)
    with Index(b"".join(lines)) as expected, Index(data) as found:
        pairs = [
            [(it.key, it.timestamp, it.uri, it.offset, it.mime) for it in index.lookup(uri, **options)]
            for index in (expected, found)
        ]
    assert pairs[0] == pairs[1]


@pytest.mark.parametrize(("uri", "options"), QUERIES)
def test_rows_are_found_without_statistics(
    stored: bytes, lines: list[bytes], uri: str, options: dict[str, Any]
) -> None:
    file = io.BytesIO()
    table = pq.read_table(io.BytesIO(stored))
    pq.write_table(table, file, row_group_size=150, write_statistics=False)
    with Index(b"".join(lines)) as expected, Index(file.getvalue()) as found:
        pairs = [[it.offset for it in index.lookup(uri, **options)] for index in (expected, found)]
    assert pairs[0] == pairs[1]


def test_digests_of_common_crawl_get_their_label(lines: list[bytes]) -> None:
    with Index(common_crawl(lines)) as index:
        capture = next(index.lookup("http://site5.org/page/0000005"))
    assert str(capture.digest) == "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"
    assert (capture.filename, capture.length, capture.status) == ("crawl-data/a.warc.gz", 100, 200)


def test_a_lookup_reads_one_row_group(lines: list[bytes], stored: bytes) -> None:
    source = RecordingSource(stored, "index.parquet")
    with Index(source) as index:
        source.forget()
        assert len([*index.lookup("http://site50.org/page/0000050")]) == 3
        assert source.bytes_asked < len(stored) / 4
        source.forget()
        assert next(index.lookup("http://site50.org/page/0000050", closest="2020"))
        assert source.bytes_asked < len(stored) / 4
        source.forget()
        assert [*index.lookup("http://site50.org/page/00000501")] == []
        assert source.bytes_asked == 0, "the keys are at hand, and no row is wanted"
        assert len([*index.lookup("org", match="domain")]) == len(lines)


def test_columns_of_a_remote_group_come_in_one_round_trip(stored: bytes) -> None:
    source = RemoteFake(stored, latency=0.3)
    with Index(source) as index:
        source.forget()
        assert next(index.lookup("http://site50.org/page/0000050")).offset
        assert len(source.requests) <= 2 + len(module.READ)
        assert source.at_once > 1 or len(source.requests) <= 3


def test_records_are_opened_by_rows(tmp_path: Path) -> None:
    with seekwarc.open(tmp_path / "a.warc.zst", "w", dedup=seekwarc.Duplicates()) as out:
        for day in (16, 17):
            date = f"2026-11-{day}T06:00:00Z"
            out.write_response("http://example.org/", b"page" * 9000, date=date, status=200, http_headers={})
    seekwarc.tools.index([tmp_path / "a.warc.zst"], tmp_path / "a.parquet", parquet=True)
    with Index(tmp_path / "a.parquet") as index:
        first, second = index.lookup("http://example.org/")
        assert first.open().payload.read() == second.open().payload.read() == b"page" * 9000
        assert second.is_revisit
        assert second.fields["warc-type"] == "revisit"
        assert first.fields["frames"] == "1"
        assert first.source == str(tmp_path / "a.parquet")


# Hostile files.


def table(**changes: Any) -> pa.Table:
    count = 10
    columns: dict[str, Any] = {
        "url_surtkey": [f"org,example)/{number}" for number in range(count)],
        "url": [f"http://example.org/{number}" for number in range(count)],
        "fetch_time": pa.array(range(count), pa.timestamp("ms", tz="UTC")),
        "warc_filename": ["a.warc.gz"] * count,
        "warc_record_offset": pa.array(range(count), pa.int64()),
        "warc_record_length": pa.array([5] * count, pa.int32()),
        **changes,
    }
    return pa.table({name: it for name, it in columns.items() if it is not None})


def parquet(made: pa.Table, **options: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(made, file, **options)
    return file.getvalue()


def found(data: bytes) -> list[seekwarc.Capture]:
    with Index(data) as index:
        return [*index.lookup("http://example.org/", match="prefix")]


def test_a_table_with_the_needed_columns_is_an_index() -> None:
    assert len(found(parquet(table()))) == 10
    times = pa.array([1_500_000_001] * 10, pa.timestamp("ns"))
    assert found(parquet(table(fetch_time=times)))[0].timestamp == "19700101000001"
    large = table(url=pa.array(["http://example.org/"] * 10, pa.large_string()))
    assert len(found(parquet(large))) == 10


def described(changes: dict[str, Any]) -> str:
    # The text of an array has its address, and all workers must have the same names of tests.
    return ", ".join(
        f"{name} of {it.type}" if isinstance(it, pa.Array) else f"{name} {it and it[0]!a}"
        for name, it in changes.items()
    )


@pytest.mark.parametrize(
    "changes",
    [
        *(
            {name: None}
            for name in ("url_surtkey", "url", "fetch_time", "warc_filename", "warc_record_offset")
        ),
        {"url_surtkey": list(range(10))},
        {"url": [b"x"] * 10},
        {"fetch_time": ["2026"] * 10},
        {"warc_record_offset": ["5"] * 10},
        {"warc_record_offset": [5.5] * 10},
        {"warc_record_length": [[5]] * 10},
        {"warc_record_id": [b"short"] * 10},
        {"fetch_status": ["200"] * 10},
        {"url_surtkey": [None] * 10},
        {"url_surtkey": ["org,example)/ 2020 {}"] * 10},
        {"url_surtkey": ["org,example)/\n"] * 10},
        {"url_surtkey": ["org,example)/ä"] * 10},
        {"fetch_time": pa.array([1 << 60] * 10, pa.timestamp("ms"))},
        {"fetch_time": pa.array([None] * 10, pa.timestamp("ms"))},
        {"url_surtkey": [f"org,example)/{9 - number}" for number in range(10)]},
    ],
    ids=described,
)
def test_columns_that_are_not_an_index_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(FormatError) as caught:
        found(parquet(table(**changes)))
    assert caught.value.source is not None


@pytest.mark.parametrize(
    "changes",
    [
        {"warc_record_offset": pa.array([-5] * 10, pa.int64())},
        {"warc_record_length": pa.array([-5] * 10, pa.int32())},
        {"warc_record_offset": pa.array([None] * 10, pa.int64())},
        {"warc_filename": ["../../etc/passwd"] * 10},
        {"warc_filename": pa.array([None] * 10, pa.string())},
    ],
    ids=described,
)
def test_a_row_that_leads_nowhere_raises_when_opened(changes: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(parquet(table(**changes)))
    with Index(path) as index:
        captures = [*index.lookup("http://example.org/", match="prefix")]
        assert len(captures) == 10
        with pytest.raises(SeekWarcError):
            captures[0].open()


def test_a_row_group_of_too_many_rows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_GROUP_ROWS", 9)
    with pytest.raises(LimitError, match="a row group has 10 rows"):
        found(parquet(table()))


def with_text(column: str, text: str) -> bytes:
    """Return a file with a long text in its last row, which compresses to next to nothing."""
    texts = ["org,example)/"] * 10
    texts[-1] += text
    return parquet(table(**{column: texts}), compression="zstd")


@pytest.mark.parametrize("column", ["url_surtkey", "url", "warc_filename"])
def test_a_long_cell_is_refused_unless_the_limit_is_raised(column: str) -> None:
    data = with_text(column, "a" * MAX_CELL_SIZE)
    with Index(data) as index, pytest.raises(LimitError, match=f"{column} has a cell of more than 1048576"):
        [it.filename for it in index.lookup("http://example.org/", match="prefix")]
    with Index(data, max_cell_size=MAX_CELL_SIZE + 100) as index:
        assert len([it.filename for it in index.lookup("http://example.org/", match="prefix")]) == 10
        copied = pickle.loads(pickle.dumps(index))
    with copied:
        assert len([*copied.lookup("http://example.org/", match="prefix")]) == 10


def test_a_large_row_group_is_refused_unless_the_limit_is_raised() -> None:
    data = parquet(table(), use_dictionary=False)
    with Index(data, max_group_size=100) as index, pytest.raises(LimitError, match="max_group_size"):
        next(iter(index))
    with Index(data, max_group_size=2000) as index:
        assert len([*index]) == 10


@cache
def index_of_a_long_cell() -> bytes:
    cell = pa.array(["org,example)/" + "a" * 300_000_000])
    columns = {
        "url_surtkey": cell,
        "url": ["http://example.org/"],
        "warc_filename": ["a.warc.gz"],
        "fetch_time": pa.array([0], pa.timestamp("ms")),
        "warc_record_offset": pa.array([0], pa.int64()),
    }
    return parquet(pa.table(columns), compression="zstd", use_dictionary=False, write_statistics=False)


@pytest.mark.slow
@pytest.mark.parametrize("said", [300_000_000, 100])
def test_a_cell_of_hundreds_of_megabytes_is_never_decompressed(said: int) -> None:
    """Whatever the footer says of its size, which pyarrow compares with nothing."""
    data = bytearray(index_of_a_long_cell())
    assert len(data) < 40_000
    stated = pq.read_metadata(io.BytesIO(data)).row_group(0).column(0).total_uncompressed_size
    place = data.rindex(varint(stated))
    data[place : place + 5] = varint(said)
    assert pq.read_metadata(io.BytesIO(data)).row_group(0).column(0).total_uncompressed_size == said
    usual = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(usual)
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        with Index(bytes(data)) as index, pytest.raises(LimitError, match="max_cell_size"):
            next(iter(index))
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
        assert pool.max_memory() < 1_000_000
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(usual)


def varint(number: int) -> bytes:
    """Return a number of a footer in five bytes."""
    number <<= 1
    return bytes([*((number >> shift & 0x7F) | 0x80 for shift in (0, 7, 14, 21)), number >> 28])


@pytest.mark.slow
def test_rows_of_long_cells_become_values_a_few_at_a_time() -> None:
    count, text = 64, "org,example)/" + "a" * 1_000_000
    names = ("url_surtkey", "url", "warc_filename", "content_digest", "content_mime_type", "seek_table")
    columns: dict[str, Any] = {
        name: pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), [text]) for name in names
    }
    columns["fetch_time"] = pa.array([0] * count, pa.timestamp("ms"))
    columns["warc_record_offset"] = pa.array([0] * count, pa.int64())
    data = parquet(pa.table(columns), compression="zstd")
    assert len(data) < 40_000
    tracemalloc.start()
    try:
        with Index(data) as index:
            assert sum(len(it.filename) > 1_000_000 for it in index) == count
        assert tracemalloc.get_traced_memory()[1] < 60_000_000
    finally:
        tracemalloc.stop()


def test_a_long_text_a_million_times_takes_little_memory() -> None:
    count = 200_000
    texts = ["org,example)/" + "a" * 100_000]
    key = pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), texts)
    data = parquet(
        pa.table(
            {
                "url_surtkey": key,
                "url": key,
                "fetch_time": pa.array([0] * count, pa.timestamp("ms")),
                "warc_filename": key,
                "warc_record_offset": pa.array([0] * count, pa.int64()),
            }
        )
    )
    assert len(data) < 2_000_000
    with Index(data) as index:
        assert next(index.lookup("http://example.org/", match="prefix")).timestamp == "19700101000000"


@pytest.mark.parametrize("kept", [3, 4, 100, 0.5, 0.99])
def test_a_file_that_is_cut_off_is_refused(stored: bytes, kept: float) -> None:
    size = int(len(stored) * kept) if isinstance(kept, float) else kept
    with pytest.raises(SeekWarcError):
        found(stored[:size])


def test_a_footer_of_any_length_is_refused(stored: bytes) -> None:
    for length in (0, 1, len(stored), 1 << 31, (1 << 32) - 1):
        with pytest.raises(FormatError):
            found(stored[:-8] + length.to_bytes(4, "little") + b"PAR1")


def test_a_pipe_is_no_columnar_index(stored: bytes) -> None:
    with pytest.raises(SourceError):
        Index(Pipe(stored))


@pytest.mark.parametrize("seed", range(rounds(30)))
def test_damage_gives_typed_errors_alone(stored: bytes, seed: int) -> None:
    rng = random.Random(seed)
    data = bytearray(stored)
    begin = rng.choice([0, len(data) - 6000])
    for _ in range(rng.randrange(1, 8)):
        data[rng.randrange(begin, len(data))] = rng.randrange(256)
    try:
        with Index(bytes(data)) as index:
            for capture in index.lookup("org", match="domain"):
                assert capture.timestamp
    except SeekWarcError:
        pass


def test_what_the_source_raises_is_raised(stored: bytes) -> None:
    class Failing(RecordingSource):
        is_failing = False

        def read(self, start: int, stop: int) -> bytes:
            if self.is_failing:
                raise SourceError("the server is gone", source=self.name)
            return super().read(start, stop)

    source = Failing(stored)
    with Index(source) as index:
        source.is_failing = True
        with pytest.raises(SourceError, match="gone"):
            next(index.lookup("http://site5.org/page/0000005"))


def test_a_copy_opens_the_file_again(stored: bytes, tmp_path: Path, lines: list[bytes]) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(stored)
    with Index(path) as index:
        copied = pickle.loads(pickle.dumps(index))
    with copied:
        assert len([*copied.lookup("org", match="domain")]) == len(lines)


@pytest.mark.slow
@pytest.mark.needs("module:duckdb")
def test_queries_of_the_page_run_in_duckdb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with seekwarc.open(tmp_path / "crawl.warc.zst", "w") as out:
        for name, size in (("film.mp4", 1 << 20), ("a", 10)):
            url = f"http://www.example.co.uk/{name}"
            out.write_response(url, b"x" * size, status=200, http_headers={"Content-Type": "video/mp4"})
    seekwarc.tools.index([tmp_path / "crawl.warc.zst"], tmp_path / "new.parquet", parquet=True)
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "spec-notes" / "indexes.md").read_text()
    (code,) = re.findall(r"```python no-test\n(import duckdb\n.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    assert "example.co.uk" in capsys.readouterr().out
    assert [row[0].rpartition("/")[2] for row in names["largest"]] == ["film.mp4", "a"]
