"""Making CDXJ indexes. tests/interop/test_cdxj_indexer.py compares the lines with cdxj-indexer's."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import seekwarc
from seekwarc.errors import FormatError, FormatWarning, SourceError, TargetError
from seekwarc.format.cdxj import CdxjLine
from seekwarc.make.index_lines import LineOptions, Lines
from seekwarc.make.indexing import Indexing, file_name, index
from tests.support.chunks import HTTP, chunked, random_sizes
from tests.support.crawls import PAGE_URI, heritrix
from tests.support.foreign import EXTENSIONS, Foreign, gzip_member, warc_header
from tests.support.sources import Pipe, RecordingSource
from tests.support.writing import KIB, MIB, noise, sha1, text

URI = "http://example.org/"
DATE = "2026-11-21T09:30:00Z"
HTTP_TYPE = ("Content-Type", "application/http; msgtype=response")
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"


def field(kind: str, length: int, number: int, *fields: tuple[str, str], date: str = DATE) -> bytes:
    lines = [
        "WARC/1.1",
        f"WARC-Type: {kind}",
        f"WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{number:012}>",
        *([f"WARC-Date: {date}"] if date else []),
        *(f"{name}: {value}" for name, value in fields),
        f"Content-Length: {length}",
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def put(
    made: Foreign, kind: str, block: bytes, *fields: tuple[str, str], uri: str = URI, **options: Any
) -> Foreign:
    number = len(made.records)
    if kind in ("response", "request", "revisit"):
        fields = (("Content-Type", f"application/http; msgtype={kind}"), *fields)
    date = options.pop("date", DATE)
    header = field(kind, len(block), number, ("WARC-Target-URI", uri), *fields, date=date)
    return made.record(block, header=header, **options)


def indexed(data: Any, **options: Any) -> tuple[list[CdxjLine], list[FormatError]]:
    problems: list[FormatError] = []
    with seekwarc.open(data) as archive:
        return [*Lines(archive, "a.warc", LineOptions(**options), problems.append)], problems


def lines_in(data: Any, **options: Any) -> list[CdxjLine]:
    lines, problems = indexed(data, **options)
    assert problems == []
    return lines


def test_a_line_has_the_fields_and_offset_of_the_record() -> None:
    made = put(Foreign(), "response", HEAD + b"Hello")
    line = lines_in(made.bytes())[0]
    assert (line.key, line.timestamp) == ("org,example)/", "20261121093000")
    assert list(line.fields.items()) == [
        ("url", URI),
        ("mime", "text/html"),
        ("status", "200"),
        ("digest", sha1(b"Hello")),
        ("length", str(len(made.data))),
        ("offset", "0"),
        ("filename", "a.warc"),
    ]


def test_only_captures_get_a_line() -> None:
    made = Foreign()
    made.record(b"x: y\r\n", header=field("warcinfo", 6, 0, ("Content-Type", "application/warc-fields")))
    put(made, "request", b"GET / HTTP/1.1\r\n\r\n")
    put(made, "metadata", b"x: y\r\n", ("Content-Type", "application/warc-fields"))
    put(made, "resource", b"x: y\r\n", ("Content-Type", "application/warc-fields"))
    put(made, "conversion", b"x")
    put(made, "continuation", b"x")
    put(made, "resource", b"x: y\r\n", ("Content-Type", "application/warc-fields; charset=utf-8"))
    made.record(b"x", header=field("resource", 1, 7))
    put(made, "metadata", b"{}", ("Content-Type", "application/json; x"))
    put(made, "resource", b"x", ("Content-Type", "text/plain;x"))
    put(
        made,
        "revisit",
        HEAD,
        ("WARC-Profile", "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"),
    )
    found = lines_in(made.bytes())
    assert [(it.mime, it.status) for it in found] == [("text/plain", None), ("warc/revisit", 200)]
    assert [str(it.digest) for it in found] == [sha1(b"x"), "None"]
    found = lines_in(made.bytes(), all_records=True)
    assert [(it.fields.get("warc-type"), it.mime, it.status) for it in found] == [
        ("request", None, None),
        ("metadata", "application/warc-fields", None),
        ("resource", "application/warc-fields", None),
        ("conversion", None, None),
        ("continuation", None, None),
        ("resource", "application/warc-fields", None),
        ("metadata", "application/json", None),
        (None, "text/plain", None),
        (None, "warc/revisit", 200),
    ]
    assert [it.is_capture for it in found] == [False] * 7 + [True] * 2


@pytest.mark.parametrize(
    ("uri", "is_tunnel"),
    [
        ("example.org:443", True),
        ("192.0.2.7:8443", True),
        ("[2001:db8::7]:443", True),
        ("localhost:8080", True),
        ("https://example.org:443", False),
        ("example.org:443/", False),
        ("tel:1234", False),
        ("dns:example.org", False),
        ("urn:isbn:1", False),
    ],
)
def test_answers_to_connect_get_no_line(uri: str, is_tunnel: bool) -> None:
    made = Foreign()
    for kind in ("response", "revisit", "resource"):
        put(made, kind, b"HTTP/1.1 200 OK\r\n\r\n", uri=uri)
    assert len(lines_in(made.bytes())) == (1 if is_tunnel else 3)
    found = lines_in(made.bytes(), all_records=True)
    assert [it.is_capture for it in found] == [not is_tunnel, not is_tunnel, True]


@pytest.mark.parametrize("parquet", [False, True])
def test_of_a_uri_and_second_captures_come_before_notes(parquet: bool, tmp_path: Path) -> None:
    files = {"a.warc.zst": tmp_path / "a.warc.zst"}
    files["a.warc.zst"].write_bytes(heritrix().bytes())
    index(files, tmp_path / "some", on_problem=print, parquet=parquet)
    index(files, tmp_path / "all", on_problem=print, parquet=parquet, all_records=True)
    with seekwarc.Index(tmp_path / "some") as found:
        assert [it.open().type for it in found.lookup(PAGE_URI)] == ["response"]
    with seekwarc.Index(tmp_path / "all") as found:
        types = [it.open().type for it in found.lookup(PAGE_URI)]
        assert types == ["response", "metadata", "metadata", "request"]
        for date in ("2010", "2026"):
            assert [it.open().type for it in found.lookup(PAGE_URI, closest=date)] == ["response"]
    if not parquet:
        lines = (tmp_path / "all").read_bytes().splitlines(keepends=True)
        assert lines == sorted(lines)
        assert [b'{"warc-type": "' in line for line in lines] == [False, True, True, True]


@pytest.mark.parametrize("table", [False, True])
@pytest.mark.parametrize("compressed", [None, False, True])
def test_lengths_in_a_warc_zst_reach_to_the_next_record(compressed: bool | None, table: bool) -> None:
    made = Foreign()
    if compressed is not None:
        made.dictionary(compressed=compressed)
    for number in range(3):
        body = HEAD + text(3000, seed=number)
        put(made, "response", body, uri=f"http://example.org/{number}", cuts=1000, table=table)
        made.extension(EXTENSIONS[number], b"note")
    made.file_table()
    found = lines_in(made.bytes())
    assert [(it.offset, it.length) for it in found] == [(it.offset, it.length) for it in made.records]
    if compressed is not None:
        assert found[0].offset == made.entries[0][0], "after the dictionary"
    with seekwarc.open(made.bytes()) as archive:
        for line, record in zip(found, made.records, strict=True):
            assert archive.record_at(line.offset, line.length).block.read() == record.block


@pytest.mark.parametrize("form", ["gzip", "plain"])
def test_lengths_in_other_files_reach_to_the_next_record(form: str) -> None:
    made = Foreign()
    for number in range(3):
        put(made, "response", HEAD + text(3000, seed=number))
    stored = getattr(made, form)()
    assert [(it.offset, it.length) for it in lines_in(stored.bytes())] == [
        (it.offset, it.length) for it in stored.records
    ]


@pytest.mark.parametrize("form", ["bytes", "gzip", "plain"])
def test_a_pipe_gives_the_same_lines(form: str) -> None:
    made = Foreign()
    exchange(made, b"POST", noise(300_000), content_type=b"application/octet-stream")
    for number in range(30):
        put(made, "response", HEAD + text(30_000, seed=number), uri=f"http://example.org/{number}")
    made = made if form == "bytes" else getattr(made, form)()
    for options in ({}, {"all_records": True, "post_append": True}):
        lines = lines_in(Pipe(made.bytes()), **options)
        # What is read once, in order, is not compared with tables: none is to be trusted.
        assert {it.fields.pop("seekTable", None) for it in lines} == {"none" if form == "bytes" else None}
        assert lines == lines_in(made.bytes(), **options)
    assert len(lines_in(made.bytes())) == 31


def test_only_heads_of_large_records_are_decompressed() -> None:
    target = io.BytesIO()
    film = HEAD + noise(8 * MIB)
    with seekwarc.open(target, "w") as out:
        for number in range(4):
            out.write_response(f"http://example.org/{number}", film)
            out.write_resource(f"http://example.org/{number}r", noise(4 * MIB), "video/mp4")
    source = RecordingSource(target.getvalue())
    with seekwarc.open(source) as archive:
        lines = [*Lines(archive, "a", LineOptions(), print)]
        assert len(lines) == 8
        assert archive.stats.bytes_decoded < 3 * MIB, "of 48"
        assert source.bytes_asked < len(source.data) / 4
    assert lines[1].digest is not None
    assert lines[1].digest.raw == hashlib.sha1(noise(4 * MIB)).digest()


def test_a_missing_digest_is_computed_or_left_out() -> None:
    body = b"3\r\nabc\r\n0\r\n\r\n"
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    made = put(Foreign(), "response", head + body)
    assert str(lines_in(made.bytes())[0].digest) == sha1(body), "as warcio makes it: of what was transferred"
    assert "digest" not in lines_in(made.bytes(), stated_digests=True)[0].fields


def test_with_stated_digests_no_payload_is_read() -> None:
    made = put(Foreign(), "response", HEAD + noise(8 * MIB), cuts=256 * KIB, table=True).file_table()
    with seekwarc.open(made.bytes()) as archive:
        [*Lines(archive, "a", LineOptions(stated_digests=True), print)]
        assert archive.stats.bytes_decoded < MIB
        [*Lines(archive, "a", LineOptions(), print)]
        assert archive.stats.bytes_decoded > 8 * MIB


def test_the_digest_of_a_block_is_that_of_its_payload() -> None:
    data = b"some block"
    raw = hashlib.sha1(data).hexdigest()
    for stated, expected in [(f"sha1:{raw}", sha1(data)), ("sha256:abc", "sha256:abc"), ("?", sha1(data))]:
        made = put(Foreign(), "resource", data, ("WARC-Block-Digest", stated), ("Content-Type", "text/plain"))
        assert lines_in(made.bytes())[0].fields["digest"] == expected
    made = put(Foreign(), "response", HEAD + b"x", ("WARC-Block-Digest", f"sha1:{raw}"))
    assert lines_in(made.bytes())[0].fields["digest"] == sha1(b"x"), "the head is no part of the payload"


# Damage.


@pytest.mark.filterwarnings("ignore:.*cut off:seekwarc.FormatWarning")
@pytest.mark.parametrize("form", ["bytes", "gzip", "plain"])
@pytest.mark.parametrize("stated_digests", [False, True])
def test_records_before_damage_are_indexed(form: str, stated_digests: bool) -> None:
    made = Foreign()
    for number in range(3):
        put(made, "response", HEAD + noise(9000, seed=number), uri=f"http://example.org/{number}")
    made = made if form == "bytes" else getattr(made, form)()
    cut = made.bytes()[: made.records[2].offset + 4000]
    lines, problems = indexed(cut, stated_digests=stated_digests)
    assert [it.offset for it in lines] == [it.offset for it in made.records[:2]]
    assert [it.offset for it in problems] == [made.records[2].offset]


@pytest.mark.parametrize("form", ["warc.zst", "warc.gz", "warc"])
def test_a_byte_that_is_wrong_hides_no_other_record(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"crawl.{form}"
    with seekwarc.open(path, "w") as out:
        for number in range(88):
            body = noise(3_000_000) if number == 60 else noise(900, seed=number)
            out.write_response(f"http://example.org/{number:02}", body, status=200, date=DATE)
    with seekwarc.open(path) as archive:
        offsets = [record.offset for record in archive]
    sound = path.read_bytes()
    data = bytearray(sound)
    # In a file that is not compressed, a wrong byte matters where it breaks the record's form.
    place = data.index(b"Content-Length", offsets[20]) if form == "warc" else offsets[20] + 40
    data[place] ^= 1
    path.write_bytes(data)
    problems: list[FormatError] = []
    out = io.BytesIO()
    done = index(path, out, on_problem=problems.append)
    assert (done.lines, done.problems, len(done.damaged)) == (87, 1, 1)
    assert (done.damaged[0][0], problems[0].source) == (path.name, str(path))
    with seekwarc.Index(out.getvalue(), files=tmp_path) as found:
        assert not [*found.lookup("http://example.org/20")]
        film = next(found.lookup("http://example.org/60")).open()
        assert (film.offset, film.payload.read()) == (offsets[60], noise(3_000_000))
    with pytest.raises(FormatError):
        index(path, io.BytesIO())


def test_one_path_is_not_taken_for_its_letters(tmp_path: Path) -> None:
    for name in ("a.warc.zst", "b.warc.zst"):
        with seekwarc.open(tmp_path / name, "w") as out:
            out.write_resource(URI, name.encode(), "text/plain")
    for sources, lines in (
        (tmp_path / "a.warc.zst", 1),
        (str(tmp_path / "a.warc.zst"), 1),
        (tmp_path, 2),
        (f"{tmp_path}/*.warc.zst", 2),
    ):
        assert index(sources, io.BytesIO()).lines == lines
    with pytest.raises(TypeError, match="target must be a path or a file to write to, not list"):
        index(tmp_path / "out.cdxj", [tmp_path / "a.warc.zst"])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="sources must be paths or URLs, not int"):
        index([5], tmp_path / "out.cdxj")  # type: ignore[list-item]
    with pytest.raises(ValueError, match=r"two files have the name a\.warc\.zst"):
        index([tmp_path / "a.warc.zst"] * 2, tmp_path / "out.cdxj")
    assert not (tmp_path / "out.cdxj").exists()


def test_damage_in_a_large_head_keeps_the_next_records() -> None:
    made = Foreign()
    block = HEAD + noise(9000)
    for number in range(3):
        head = len(field("response", len(block), number, ("WARC-Target-URI", URI), HTTP_TYPE))
        put(made, "response", block, cuts=(head, head + len(HEAD)), table=True)
    made.file_table()
    data = bytearray(made.bytes())
    data[made.records[1].offset + made.entries[4][0] + 20] ^= 1
    lines, problems = indexed(bytes(data), stated_digests=True)
    assert [it.offset for it in lines] == [made.records[0].offset, made.records[2].offset]
    assert [it.offset for it in problems] == [made.records[1].offset]


def test_a_damaged_chunked_body_keeps_its_line() -> None:
    made = Foreign()
    block = HTTP + chunked(noise(9000), random_sizes(100, 200))
    for number in range(3):
        stated = ("WARC-Payload-Digest", sha1(b"%d" % number))
        put(made, "response", block, stated, cuts=3000, table=True)
    made.file_table()
    data = bytearray(made.bytes())
    data[made.records[1].offset + 6000] ^= 1
    lines, problems = indexed(bytes(data), details=True)
    assert [it.fields.get("payloadSize") for it in lines] == ["9000", None, "9000"]
    assert [it.fields["warc-type"] for it in lines] == ["response"] * 3
    assert [it.offset for it in problems] == [made.records[1].offset]


@pytest.mark.parametrize("date", ["", "yesterday"])
def test_a_record_without_a_date_gets_no_line(date: str) -> None:
    made = put(Foreign(), "response", HEAD, date=date)
    put(made, "response", HEAD)
    lines, problems = indexed(made.bytes())
    assert [it.offset for it in lines] == [made.records[1].offset]
    assert "WARC-Date" in str(problems[0])


@pytest.mark.filterwarnings("ignore::seekwarc.FormatWarning")
def test_records_without_their_own_offset_get_no_line() -> None:
    one = put(Foreign(), "response", HEAD).plain().bytes()
    data = gzip_member(one + one) + gzip_member(one)
    lines, problems = indexed(data)
    assert [it.offset for it in lines] == [len(gzip_member(one + one))]
    assert [it.offset for it in problems] == [0]
    assert "seekwarc convert" in str(problems[0])


# Requests with a body.


def exchange(
    made: Foreign,
    method: bytes,
    body: bytes,
    *,
    content_type: bytes = b"application/x-www-form-urlencoded",
    first: str = "request",
    concurrent: int | None = None,
    uri: str = URI,
    naming: str = "second",
) -> None:
    number = len(made.records) + (naming == "first")
    head = b"%b / HTTP/1.1\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n" % (
        method,
        content_type,
        len(body),
    )
    linked = (
        "WARC-Concurrent-To",
        f"<urn:uuid:00000000-0000-4000-8000-{number if concurrent is None else concurrent:012}>",
    )
    blocks = {"request": head + body, "response": HEAD + b"answer"}
    second = "response" if first == "request" else "request"
    put(made, first, blocks[first], *([linked] if naming == "first" else []), uri=uri)
    put(made, second, blocks[second], *([linked] if naming == "second" else []), uri=uri)


def keys(made: Foreign, **options: Any) -> list[tuple[str, str | None, str | None]]:
    lines = lines_in(made.bytes(), **options)
    return [(it.key, it.fields.get("method"), it.fields.get("requestBody")) for it in lines]


@pytest.mark.parametrize("naming", ["first", "second"])
@pytest.mark.parametrize("first", ["request", "response"])
def test_a_post_response_has_method_and_body_in_its_key(first: str, naming: str) -> None:
    made = Foreign()
    exchange(made, b"POST", b"B=2&a=%201", first=first, naming=naming)
    assert keys(made) == [("org,example)/", None, None)]
    joined = "org,example)/?__wb_method=post&a=%201&b=2"
    assert keys(made, post_append=True) == [(joined, "POST", "B=2&a= 1")]
    both = {(joined, "POST", "B=2&a= 1"), (joined, None, None)}
    assert set(keys(made, post_append=True, all_records=True)) == both, "the request has the same key"
    line = lines_in(made.bytes(), post_append=True)[0]
    assert [*line.fields][-2:] == ["requestBody", "method"]
    assert line.uri == URI


def test_other_methods_and_records_are_unchanged() -> None:
    for options in ({"method": b"GET"}, {"concurrent": 99}):
        made = Foreign()
        exchange(made, **{"method": b"POST", "body": b"a=1", **options})
        assert keys(made, post_append=True) == [("org,example)/", None, None)]
    made = Foreign()
    put(made, "request", b"POST / HTTP/1.1\r\n\r\na=1", uri="http://example.org/other")
    put(made, "response", HEAD, ("WARC-Concurrent-To", "<urn:uuid:00000000-0000-4000-8000-000000000000>"))
    assert keys(made, post_append=True) == [("org,example)/", None, None)]


def test_a_request_belongs_to_one_response() -> None:
    made = Foreign()
    exchange(made, b"POST", b"a=1", first="response")
    put(made, "response", HEAD, ("WARC-Concurrent-To", "<urn:uuid:00000000-0000-4000-8000-000000000001>"))
    assert [it[1] for it in keys(made, post_append=True)] == ["POST", None]


def test_a_request_body_is_decoded() -> None:
    packed = gzip.compress(b"a=1", mtime=0)
    for coding, body, expected in [
        (b"gzip", packed, "a=1"),
        (b"none-such", b"a=2", "a=2"),
        (b"gzip", b"a=3", "a=3"),
    ]:
        made = Foreign()
        exchange(
            made,
            b"POST",
            body,
            content_type=b"application/x-www-form-urlencoded\r\nContent-Encoding: " + coding,
        )
        assert keys(made, post_append=True)[0][2] == expected


def test_a_large_body_takes_no_more_memory_than_its_limit() -> None:
    made = Foreign()
    exchange(made, b"PUT", bytes(64 * MIB), content_type=b"text/plain")
    data = made.bytes()
    tracemalloc.start()
    try:
        assert keys(made, post_append=True)[0][2] == ("__wb_post_data=" + "A" * 4096)[:4096]
        assert tracemalloc.get_traced_memory()[1] < 40 * MIB + len(data)
    finally:
        tracemalloc.stop()


# Whole indexes.


def crawl(folder: Path, count: int = 3) -> dict[str, Path]:
    files = {}
    for number in range(count):
        made = Foreign()
        for page in range(20):
            put(
                made,
                "response",
                HEAD + b"%d" % page,
                uri=f"http://example.org/{page * 7 % 20}",
                date=f"202{number}-01-01T00:00:00Z",
            )
        files[f"{number}.warc.zst"] = folder / f"{number}.warc.zst"
        files[f"{number}.warc.zst"].write_bytes(made.bytes())
    return files


def test_the_index_of_several_files_is_sorted_by_its_bytes(tmp_path: Path) -> None:
    out = io.BytesIO()
    done = index(crawl(tmp_path), out, on_problem=print)
    lines = out.getvalue().splitlines(keepends=True)
    assert done == Indexing(60, 0)
    assert len(lines) == 60
    assert lines == sorted(lines)
    assert {CdxjLine.parse(line).filename for line in lines} == {"0.warc.zst", "1.warc.zst", "2.warc.zst"}


def test_the_memory_limit_does_not_change_the_index(tmp_path: Path) -> None:
    files = crawl(tmp_path)
    outs = [io.BytesIO(), io.BytesIO()]
    index(files, outs[0], on_problem=print)
    index(files, outs[1], on_problem=print, memory=500)
    assert outs[0].getvalue() == outs[1].getvalue()


def test_the_index_gets_its_name_when_it_is_finished(tmp_path: Path) -> None:
    files = crawl(tmp_path)
    target = tmp_path / "out" / "a.cdxj"
    target.parent.mkdir()
    target.write_bytes(b"the last one")
    with pytest.raises(SourceError, match="cannot be opened"):
        index({**files, "none": tmp_path / "none.warc"}, target, on_problem=print, existing="overwrite")
    assert target.read_bytes() == b"the last one"
    assert os.listdir(target.parent) == ["a.cdxj"]
    index(files, target, on_problem=print, memory=500, existing="overwrite")
    assert len(target.read_bytes().splitlines()) == 60
    assert os.listdir(target.parent) == ["a.cdxj"]


def test_a_file_is_not_written_over_by_its_index(tmp_path: Path) -> None:
    files = crawl(tmp_path, 1)
    with pytest.raises(TargetError, match="same file"):
        index(files, files["0.warc.zst"], on_problem=print)


def test_problems_of_all_files_are_counted(tmp_path: Path) -> None:
    files = crawl(tmp_path)
    files["1.warc.zst"].write_bytes(files["1.warc.zst"].read_bytes()[:-20])
    files["2.warc.zst"].write_bytes(b"something else")
    problems: list[FormatError] = []
    done = index(files, io.BytesIO(), on_problem=problems.append)
    assert done == Indexing(39, len(problems), (("1.warc.zst", problems[0].offset or 0), ("2.warc.zst", 0)))
    assert {it.source for it in problems} == {str(files["1.warc.zst"]), str(files["2.warc.zst"])}


def test_progress_covers_every_source(tmp_path: Path) -> None:
    seen = []

    def watch(source: Any, label: str) -> Any:
        seen.append(label)
        return source

    index(crawl(tmp_path), io.BytesIO(), on_problem=print, on_progress=watch)
    assert seen == ["0.warc.zst", "1.warc.zst", "2.warc.zst"]


def test_lines_have_the_base_name_or_relative_path() -> None:
    assert file_name("/a/b/c.warc.gz") == "c.warc.gz"
    assert file_name("/a/b/c.warc.gz", "/a") == "b/c.warc.gz"
    assert file_name("https://example.org/x/c%20d.warc.zst?sig=a/b", "/a") == "c d.warc.zst"
    with pytest.raises(ValueError, match="not below"):
        file_name("/a/b/c.warc.gz", "/b")


def test_a_warning_is_not_a_problem_of_the_index() -> None:
    one = warc_header(1) + b"x\r\n\r\n"
    with pytest.warns(FormatWarning):
        lines, problems = indexed(gzip_member(one + one))
    assert lines == []
    assert len(problems) == 1


@pytest.mark.parametrize("field_name", ["WARC-Target-URI", "Content-Type"])
def test_a_text_too_long_for_readers_keeps_no_row_from_them(field_name: str) -> None:
    made = put(Foreign(), "resource", b"x", uri="http://example.org/0")
    long = {
        "WARC-Target-URI": "http://example.org/" + "\xe9" * 400_000,
        "Content-Type": "text/" + "a" * 400_000,
    }
    fields = {"WARC-Target-URI": "http://example.org/1", "Content-Type": "text/plain"} | {
        field_name: long[field_name]
    }
    made.record(b"x", header=field("resource", 1, 1, *fields.items()))
    put(made, "resource", b"x", uri="http://example.org/2")
    assert len(lines_in(made.bytes())) == 3
    problems: list[FormatError] = []
    target = io.BytesIO()
    index({"a.warc": made.bytes()}, target, on_problem=problems.append, parquet=True)
    [problem] = problems
    assert problem.offset == made.records[1].offset
    assert "limit is 349525" in problem.message
    with seekwarc.Index(target.getvalue()) as captures:
        assert [it.uri for it in captures] == ["http://example.org/0", "http://example.org/2"]
