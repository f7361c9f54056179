"""Records as Arrow batches: each record once, with its reference; errors are rows and stop nothing."""

from __future__ import annotations

import gzip
import io
import pickle
import random
import re
import shutil
import subprocess
import sys
import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

import seekwarc
from seekwarc.errors import FormatError, SourceError
from seekwarc.scale.columns import COLUMNS, batch_of
from seekwarc.scale.rows import Row
from tests.support.arc import ARC, ARC_GZ
from tests.support.foreign import Foreign
from tests.support.pages import answer, crawl_of, html
from tests.support.rangeserver import RangeServer
from tests.support.rounds import rounds
from tests.support.writing import noise

SITE = "http://example.org/"
HTML = {"Content-Type": "Text/HTML; charset=utf-8"}
LARGE = noise(3 << 20, seed=8)


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("crawl") / "crawl.warc.zst"
    with seekwarc.open(path, "w") as out:
        out.write_warcinfo({"software": "crawler/1.0"})
        for number in range(20):
            out.write_response(
                f"{SITE}{number}", b"page %d " % number * 50, status=200 + number, http_headers=HTML
            )
        out.write_response(f"{SITE}film.mp4", LARGE, status=200, http_headers={"Content-Type": "video/mp4"})
        out.write_resource("urn:plan", b"a plan", "text/plain", date="2026-11-16T06:00:00.123456Z")
    return str(path)


def table(*sources: object, **options: object) -> pa.Table:
    """Read a table, with all warnings of deviations left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", seekwarc.FormatWarning)
        return pa.table(seekwarc.batches(sources, **options))


def test_rows_of_arc_records_have_their_fields(tmp_path: Path) -> None:
    for name, data in (("a.arc", ARC), ("a.arc.gz", ARC_GZ)):
        path = tmp_path / name
        path.write_bytes(data)
        found = table(path).to_pylist()
        with seekwarc.open(path) as archive:
            records = list(archive)
            assert [row["target_uri"] for row in found] == [it.target_uri for it in records]
            assert [row["type"] for row in found] == ["warcinfo", "response", "response"]
            assert [row["content_type"] for row in found] == [it.header["Content-Type"] for it in records]
            assert [[(it["name"], it["value"]) for it in row["headers"]] for row in found] == [
                list(it.header.fields) for it in records
            ]
            assert [row["date"].year for row in found] == [2001] * 3


def test_rows_are_what_records_say(crawl: str) -> None:
    found = table(crawl).to_pylist()
    with seekwarc.open(crawl) as archive:
        for row, record in zip(found, archive, strict=True):
            head = record.http
            expected = {
                "filename": crawl,
                "offset": record.offset,
                "length": record.length,
                "record_id": record.id,
                "type": record.type,
                "target_uri": record.target_uri,
                "date": record.date.datetime,
                "content_type": record.content_type,
                "http_status": head.status if head else None,
                "http_mime": head.media_type.essence if head else None,
                "payload_digest": record.header.get("WARC-Payload-Digest"),
                "truncated": None,
                "payload_size": record.payload.size,
                "payload": record.payload.read() if record.payload.size <= 1 << 20 else None,
                "headers": [{"name": name, "value": value} for name, value in record.header.items()],
                "http_headers": [{"name": name, "value": value} for name, value in head.items()]
                if head
                else None,
                "error": None,
            }
            assert row == expected
    assert found[-1]["date"].microsecond == 123456


def test_a_reference_leads_to_the_record(crawl: str) -> None:
    row = table(crawl, columns=["filename", "offset", "length"], uri="*/film.mp4").to_pylist()[0]
    with seekwarc.open(row["filename"]) as archive:
        assert archive.record_at(row["offset"], row["length"]).payload.read() == LARGE


def test_columns_come_in_the_order_given(crawl: str) -> None:
    found = table(crawl, columns=("http_status", "filename"))
    assert found.column_names == ["http_status", "filename"]
    assert table(crawl).column_names == list(COLUMNS)


def test_no_columns_still_count_rows(crawl: str) -> None:
    assert sum(batch.num_rows for batch in seekwarc.batches(crawl, [])) == 23


def test_records_are_chosen_as_a_reader_chooses(crawl: str) -> None:
    assert table(crawl, type="response", status=200).num_rows == 2
    assert table(crawl, mime="video/*").num_rows == 1
    assert table(crawl, min_size=1 << 20).num_rows == 1
    plan = datetime(2026, 11, 16, 6, 0, 0, 123456, tzinfo=UTC)
    assert table(crawl, until=plan)["target_uri"].to_pylist() == ["urn:plan"]
    assert table(crawl, type="resource", since=plan + timedelta(microseconds=1)).num_rows == 0


@pytest.mark.parametrize(
    "arguments",
    [
        {"columns": ["nonsense"]},
        {"columns": ["type", "type"]},
        {"on_error": "ignore"},
        {"max_payload": -1},
        {"batch_rows": 0},
        {"batch_bytes": 2 << 30},
        {"status": "many"},
    ],
)
def test_wrong_arguments_are_refused_at_once(crawl: str, arguments: dict) -> None:
    with pytest.raises(ValueError, match=r"."):
        seekwarc.batches(crawl, **arguments)


def test_a_string_is_no_list_of_columns(crawl: str) -> None:
    with pytest.raises(TypeError, match="list of names"):
        seekwarc.batches(crawl, "type")


def test_batches_can_be_read_again_and_pickled(crawl: str) -> None:
    made = seekwarc.batches(Path(crawl), ["offset", "type"])
    assert pa.table(made).equals(pa.table(made))
    assert pa.table(pickle.loads(pickle.dumps(made))).equals(pa.table(made))
    assert "offset, type" in repr(made)


# What is read.


@pytest.mark.needs("module:obstore")
def test_columns_without_payload_fetch_two_percent() -> None:
    file = io.BytesIO()
    with seekwarc.open(file, "w") as out:
        for number in range(8):
            out.write_response(f"{SITE}{number}", b"page", status=200, http_headers=HTML)
            out.write_response(f"{SITE}{number}.mp4", LARGE, status=200, http_headers=HTML)
    columns = [name for name in COLUMNS if name != "payload"]
    with RangeServer(file.getvalue()) as server:
        found = table(server.url, columns=columns)
        fetched = sum(asked.sent for asked in server.asked)
    assert found.num_rows == found["error"].null_count == 16
    assert found["payload_size"].to_pylist() == [4, len(LARGE)] * 8
    assert fetched < 0.02 * len(file.getvalue())


# Bounds.


def test_batches_are_bounded_in_rows(crawl: str) -> None:
    assert [batch.num_rows for batch in seekwarc.batches(crawl, batch_rows=10)] == [10, 10, 3]
    assert [batch.num_rows for batch in seekwarc.batches([crawl, crawl], ["type"], batch_rows=40)] == [40, 6]


def test_batches_are_bounded_in_bytes(crawl: str) -> None:
    made = [*seekwarc.batches(crawl, max_payload=4 << 20, batch_bytes=20_000)]
    assert len(made) > 3
    assert all(batch.nbytes < 20_000 + len(LARGE) + 4096 for batch in made)
    assert sum(batch.num_rows for batch in made) == 23


def test_long_media_types_count_as_bytes(tmp_path: Path) -> None:
    path = tmp_path / "odd.warc.zst"
    block = b"HTTP/1.1 200 OK\r\nContent-Type: " + b"a" * 60_000 + b"\r\n\r\n"
    with seekwarc.open(path, "w") as out:
        for _ in range(20):
            out.write("response", target_uri=SITE, block=block, content_type="application/http")
    assert len([*seekwarc.batches(path, ["http_mime"], batch_bytes=100_000)]) == 10


@pytest.mark.parametrize("limit", [0, 6, 7, len(LARGE) - 1, len(LARGE)])
def test_payloads_beyond_the_limit_are_null(crawl: str, limit: int) -> None:
    found = table(crawl, columns=["payload_size", "payload"], max_payload=limit).to_pylist()
    for row in found:
        assert (row["payload"] is not None) == (row["payload_size"] <= limit)
        assert row["payload"] is None or len(row["payload"]) == row["payload_size"]


def chunked(tmp_path: Path, body: bytes) -> str:
    path = tmp_path / "chunked.warc.zst"
    content = gzip.compress(body)
    block = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n"
    for start in range(0, len(content), 5000):
        piece = content[start : start + 5000]
        block += b"%x\r\n%s\r\n" % (len(piece), piece)
    block += b"0\r\n\r\n"
    with seekwarc.open(path, "w") as out:
        out.write("response", target_uri=SITE, block=block, content_type="application/http; msgtype=response")
    return str(path)


def test_payloads_are_decoded_if_asked(tmp_path: Path) -> None:
    body = noise(30_000)
    path = chunked(tmp_path, body)
    stored, decoded = table(path).to_pylist()[0], table(path, decoded=True).to_pylist()[0]
    assert gzip.decompress(stored["payload"]) == decoded["payload"] == body
    assert stored["payload_size"] == decoded["payload_size"] == len(stored["payload"])
    assert table(path, decoded=True, max_payload=len(body))["payload"].null_count == 0
    assert table(path, decoded=True, max_payload=len(body) - 1)["payload"].null_count == 1


def test_large_chunked_bodies_are_read_if_their_size_is_asked_for(tmp_path: Path) -> None:
    path = chunked(tmp_path, noise(4 << 20))
    size = len(table(path, columns=["payload"], max_payload=8 << 20)["payload"][0].as_py())
    assert table(path, columns=["payload_size", "payload"]).to_pylist() == [
        {"payload_size": size, "payload": None}
    ]
    fetched = []
    for columns in (["payload_size"], [it for it in COLUMNS if it not in ("payload", "payload_size")]):
        with RangeServer(Path(path).read_bytes()) as server:
            table(server.url, columns=columns)
            fetched.append((sum(asked.sent for asked in server.asked), len(server.asked)))
    (all_bytes, requests), (some_bytes, _) = fetched
    assert some_bytes < 200_000 < size < all_bytes < size * 1.1
    assert requests < 20, "not one for each of the frames"


# What is wrong.


def damaged(form: str) -> tuple[bytes, list[int], list[int]]:
    """Return a file of twelve records, three of them damaged, and the offsets of the sound and the broken."""
    made = Foreign()
    for number in range(12):
        made.record(noise(800, seed=number), cuts=300 if number % 3 == 1 else ())
    made = made if form == "zst" else made.gzip()
    data = bytearray(made.bytes())
    broken = [made.records[number] for number in (2, 4, 9)]
    for put in broken:
        data[put.offset + put.length // 2] ^= 0x55
    sound = [put.offset for put in made.records if put not in broken]
    return bytes(data), sound, [put.offset for put in broken]


@pytest.mark.parametrize("form", ["zst", "gz"])
def test_damage_is_a_row_and_costs_no_other(tmp_path: Path, form: str) -> None:
    data, sound, broken = damaged(form)
    path = tmp_path / "damaged"
    path.write_bytes(data)
    rows = table(path).to_pylist()
    assert [row["offset"] for row in rows if row["error"] is None] == sound
    bad = [row for row in rows if row["error"] is not None]
    assert {row["offset"] for row in bad} == set(broken)
    assert len(bad) == len(broken)
    assert all("Error: " in row["error"] and row["payload"] is None for row in bad)
    skipped = table(path, on_error="skip").to_pylist()
    assert skipped == [row for row in rows if row["error"] is None]


def test_records_before_damage_come_before_the_error(tmp_path: Path) -> None:
    data, sound, broken = damaged("zst")
    path = tmp_path / "damaged"
    path.write_bytes(data)
    found = []
    with pytest.raises(FormatError):
        found.extend(seekwarc.batches(path, ["offset", "payload"], on_error="raise"))
    assert pa.Table.from_batches(found)["offset"].to_pylist() == [it for it in sound if it < broken[0]]


@pytest.mark.parametrize("cuts", [(), 300])
def test_garbage_between_records_is_a_row_of_its_own(tmp_path: Path, cuts: object) -> None:
    made = Foreign()
    for number in range(4):
        made.record(noise(800, seed=number), cuts=cuts)
    cut = made.records[2].offset
    path = tmp_path / "garbage"
    path.write_bytes(made.bytes()[:cut] + b"garbage " * 40 + made.bytes()[cut:])
    rows = table(path, columns=["offset", "length", "type", "error"]).to_pylist()
    assert [row["type"] for row in rows] == ["resource", "resource", None, "resource", "resource"]
    assert (rows[2]["offset"], rows[2]["length"]) == (cut, None)
    assert [row["error"] is None for row in rows] == [True, True, False, True, True]


@pytest.mark.parametrize("kept", [0.5, 0.9])
def test_a_file_that_is_cut_off_ends_with_an_error(crawl: str, tmp_path: Path, kept: float) -> None:
    path = tmp_path / "cut.warc.zst"
    data = Path(crawl).read_bytes()
    path.write_bytes(data[: int(len(data) * kept)])
    rows = table(path).to_pylist()
    assert [row["error"] is None for row in rows] == [True] * 21 + [False]
    assert rows[-1]["target_uri"] == f"{SITE}film.mp4"
    assert table(path, on_error="skip").num_rows == 21


def test_a_file_that_cannot_be_read_is_a_row(crawl: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<!doctype html>")
    missing = str(tmp_path / "missing.warc.zst")
    gone = seekwarc.Split(missing, "records", 0)
    found = table(gone, crawl, page, columns=["filename", "offset", "error"]).to_pylist()
    assert [row["error"] is None for row in found] == [False] + [True] * 23 + [False]
    assert found[0]["filename"] == missing
    assert found[0]["error"].startswith("SourceNotFoundError: ")
    assert found[-1]["filename"] == str(page)
    assert table(gone, crawl, page, columns=[], on_error="skip").num_rows == 23
    with pytest.raises(SourceError):
        [*seekwarc.batches(gone, on_error="raise")]


def test_a_name_that_names_nothing_raises_at_once(tmp_path: Path) -> None:
    for name in (tmp_path / "missing.warc.zst", tmp_path / "*.warc.zst", "nonsense://host/a.warc"):
        with pytest.raises(SourceError, match=re.escape(str(name))):
            seekwarc.batches(name)
    with pytest.raises(FileNotFoundError, match=r"missing\.warc\.zst: no such file"):
        seekwarc.batches([tmp_path / "missing.warc.zst"])


def test_folders_and_patterns_are_tables_of_their_files(crawl: str, tmp_path: Path) -> None:
    for name in ("b.warc.zst", "a.warc.zst"):
        shutil.copy(crawl, tmp_path / name)
    rows = table(crawl).num_rows
    files = [str(tmp_path / "a.warc.zst"), str(tmp_path / "b.warc.zst")]
    for named in (tmp_path, str(tmp_path / "*.zst")):
        found = table(named).column("filename").to_pylist()
        assert found == [name for name in files for _ in range(rows)]


def test_records_that_share_a_member_say_so(tmp_path: Path) -> None:
    made = Foreign()
    for number in range(2):
        made.record(noise(800, seed=number))
    path = tmp_path / "shared.warc.gz"
    path.write_bytes(gzip.compress(made.plain().bytes()))
    rows = table(path).to_pylist()
    assert len(rows) == 2
    assert "share one frame" in rows[1]["error"]
    assert len(rows[1]["payload"]) == 800


@pytest.mark.parametrize("seed", range(rounds(40)))
def test_no_damage_raises_or_loses_what_a_reader_finds(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    data, _, _ = damaged(rng.choice(["zst", "gz"]))
    data = bytearray(data)
    for _ in range(rng.randrange(6)):
        start = rng.randrange(len(data))
        data[start : start + rng.randrange(30)] = rng.randbytes(rng.randrange(30))
    path = tmp_path / "hostile"
    path.write_bytes(data)
    rows = table(path, columns=["offset", "type", "error"]).to_pylist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with seekwarc.open(path, on_error="skip") as archive:
                expected = [record.offset for record in archive]
        except FormatError:
            expected = []
    assert [row["offset"] for row in rows if row["type"] is not None] == expected


def test_header_fields_of_any_bytes_become_text(tmp_path: Path) -> None:
    header = (
        b"WARC/1.1\r\nWARC-Type: re\xffsource\r\nContent-Length: 0\r\n"
        b"WARC-Date: 9999-12-31T23:59:59-10:00\r\nX: \xc3\xa4\r\nx: \xff\r\n: no name\r\n\r\n"
    )
    path = tmp_path / "odd.warc"
    path.write_bytes(header + b"\r\n\r\n")
    row = table(path).to_pylist()[0]
    assert row["type"] == "re%FFsource"
    assert row["date"] is None
    assert [(it["name"], it["value"]) for it in row["headers"]][3:] == [
        ("X", "\xe4"),
        ("x", "%FF"),
        ("", "no name"),
    ]


MEMORY = """
import resource, sys
import seekwarc, pyarrow
seekwarc.batches(sys.argv[1]).schema
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
rows = sum(batch.num_rows for batch in seekwarc.batches(sys.argv[1], batch_bytes=1 << 20))
print(rows, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.slow
@pytest.mark.posix
def test_headers_of_a_million_fields_take_bounded_memory(tmp_path: Path) -> None:
    fields = b"a:\r\n" * 250_000
    header = b"WARC/1.1\r\nWARC-Type: resource\r\nContent-Length: 0\r\n" + fields + b"\r\n"
    path = tmp_path / "fields.warc.gz"
    path.write_bytes(gzip.compress(header + b"\r\n\r\n") * 12)
    done = subprocess.run([sys.executable, "-c", MEMORY, path], capture_output=True, check=True)
    rows, grown = map(int, done.stdout.split())
    assert rows == 12
    assert grown < 200


# Programs of others.


@pytest.mark.slow
@pytest.mark.needs("module:polars", "module:duckdb")
def test_polars_and_duckdb_take_batches_as_they_are(crawl: str) -> None:
    import duckdb  # noqa: PLC0415
    import polars as pl  # noqa: PLC0415

    made = seekwarc.batches(crawl, batch_rows=7)
    frame = pl.DataFrame(made)
    assert frame.shape == (23, len(COLUMNS))
    assert frame.filter(pl.col("http_mime") == "video/mp4")["payload_size"].to_list() == [len(LARGE)]
    counted = duckdb.sql("select type, count(*) from made group by all order by all").fetchall()
    assert counted == [("resource", 1), ("response", 21), ("warcinfo", 1)]


# Parts of files.


@pytest.mark.parametrize("target", [1, 300, 1 << 40])
def test_rows_of_parts_are_those_of_the_file(crawl: str, target: int) -> None:
    parts = list(seekwarc.splits(crawl, target_bytes=target))
    assert (len(parts) > 5) == (target < 1000)
    rows = [row for part in parts for row in table(part).to_pylist()]
    assert rows == table(crawl).to_pylist()
    assert table(*parts).to_pylist() == rows


def test_a_file_that_was_replaced_since_is_a_row(tmp_path: Path, crawl: str) -> None:
    path = tmp_path / "a.warc.zst"
    path.write_bytes(Path(crawl).read_bytes())
    (part,) = seekwarc.splits(path)
    path.write_bytes(Path(crawl).read_bytes() + Path(crawl).read_bytes())
    (row,) = table(part, columns=["filename", "type", "error"]).to_pylist()
    assert (row["filename"], row["type"]) == (str(path), None)
    assert row["error"].startswith("SourceChangedError: ")


def test_a_part_of_a_payload_is_no_source() -> None:
    with pytest.raises(seekwarc.RangeError, match="no records"):
        seekwarc.batches(seekwarc.Split("a.warc.zst", "payload", 0, record=0))


# Rows that could not be read.


def with_damage(crawl: str, path: Path) -> Path:
    data = bytearray(Path(crawl).read_bytes())
    with seekwarc.open(crawl) as archive:
        places = [(it.offset, it.length) for it in archive]
    for offset, length in places[3:5]:
        data[offset + length // 2] ^= 1
    path.write_bytes(data)
    return path


def test_rows_of_damage_are_counted_in_a_warning_if_no_column_tells(crawl: str, tmp_path: Path) -> None:
    path = with_damage(crawl, tmp_path / "damaged.warc.zst")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rows = pa.table(seekwarc.batches([path, crawl], ["error"])).column("error").to_pylist()
        assert not [it for it in caught if "could not be read" in str(it.message)]
        unread = sum(it is not None for it in rows)
        assert unread >= 1
        table = pa.table(seekwarc.batches([path, crawl], ["offset"]))
    assert table.num_rows == len(rows)
    texts = [str(it.message) for it in caught if "could not be read" in str(it.message)]
    assert texts == [
        f"{unread} row{'s' * (unread > 1)} could not be read in full: the column `error` would say why"
    ]


def test_sound_files_and_rows_left_out_give_no_warning(crawl: str, tmp_path: Path) -> None:
    path = with_damage(crawl, tmp_path / "damaged.warc.zst")
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*could not be read")
        warnings.filterwarnings("ignore", category=seekwarc.FormatWarning, message="(?!.*could not be read)")
        assert pa.table(seekwarc.batches(crawl, ["offset"])).num_rows
        assert pa.table(seekwarc.batches(path, ["offset"], on_error="skip")).num_rows


@pytest.mark.needs("module:pandas")
def test_tables_become_dataframes(crawl: str) -> None:
    made = seekwarc.batches(crawl, ["type", "payload_size"])
    plain = pa.table(made).to_pydict()
    frame = made.to_pandas()
    assert str(frame.dtypes["payload_size"]) == "int64[pyarrow]"
    assert {name: frame[name].to_list() for name in frame.columns} == plain
    pytest.importorskip("polars")
    assert made.to_polars().to_dict(as_series=False) == plain


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_a_dataframe_of_a_missing_package_says_what_to_install(
    name: str, crawl: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(seekwarc.UnsupportedError, match=rf"pip install 'seekwarc\[{name}\]'"):
        getattr(seekwarc.batches(crawl, ["type"]), f"to_{name}")()


def test_text_is_made_if_it_is_named(tmp_path: Path) -> None:
    page = answer(gzip.compress(html("The text")), "text/html", "Content-Encoding: gzip")
    menu = answer(b"<nav>Home</nav><main>%b</main>" % (b"Prose. " * 50))
    path = crawl_of(tmp_path / "a.warc.zst", [page, answer(b"PNG", "image/png"), menu])
    columns = ["text", "title", "target_uri", "lang"]
    rows = table(path, columns=columns).to_pylist()
    assert [(row["text"], row["title"], row["lang"]) for row in rows[:2]] == [
        ("The text", "Page", "en"),
        (None, None, None),
    ]
    assert "Home" in rows[2]["text"]
    assert "Home" not in table(path, columns=["text"], main=True)["text"][2].as_py()
    assert table(path, columns=["text", "target_uri"]).to_pylist() == [
        {name: row[name] for name in ("text", "target_uri")} for row in rows
    ]
    assert not {"text", "title", "lang"}.intersection(seekwarc.batches(path).schema.names)
    assert len(seekwarc.batches(path).schema) == 17


def test_a_page_without_readable_text_is_a_row_with_an_error(tmp_path: Path) -> None:
    bad = answer(b"%PDF-1.7 nothing", "application/pdf")
    path = crawl_of(tmp_path / "a.warc.zst", [bad, answer(html("fine"))])
    rows = table(path, columns=["text", "error"]).to_pylist()
    assert rows[0]["text"] is None
    assert rows[0]["error"].startswith("FormatError: the PDF cannot be read")
    assert rows[1] == {"text": "fine", "error": None}
    assert table(path, columns=["text"], on_error="skip").to_pylist() == [{"text": "fine"}]


@pytest.mark.needs("module:pandas")
def test_batches_import_no_pandas(crawl: str) -> None:
    program = "import sys, seekwarc; [*seekwarc.batches(sys.argv[1])]; [*seekwarc.batches(sys.argv[1], [])]"
    ask = [sys.executable, "-c", program + "; print('pandas' in sys.modules)", crawl]
    assert subprocess.run(ask, capture_output=True, check=True).stdout.strip() == b"False"


def test_rows_of_a_batch_are_let_go_before_the_next(crawl: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[list[Row]] = []

    def kept(schema: pa.Schema, rows: list[Row]) -> pa.RecordBatch:
        given.append(rows)
        return batch_of(schema, rows)

    monkeypatch.setattr("seekwarc.scale.batches.batch_of", kept)
    for batch in seekwarc.batches(crawl, batch_rows=7):
        assert 0 < batch.num_rows <= 7
        assert not given[-1]


def test_text_makes_batches_smaller(tmp_path: Path) -> None:
    path = crawl_of(tmp_path / "a.warc.zst", [answer(html("word " * 2000)) for _ in range(20)])
    assert len([*seekwarc.batches(path, ["text"], batch_bytes=50_000)]) >= 3
