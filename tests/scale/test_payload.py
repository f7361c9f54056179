"""Parts of payloads: together they are the payload, no frame is in two of them, and lines are whole."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import seekwarc
from seekwarc import FormatError, PayloadPart, Split
from seekwarc.scale.payload import payload_cuts
from tests.support.chunks import chunked, random_sizes
from tests.support.foreign import CRLF2, EMPTY, Entry, Foreign, text, warc_header
from tests.support.rangeserver import Content, RangeServer
from tests.support.writing import noise

FILM = noise(3_000_000, seed=1)
HTTP = b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n%s\r\n"


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("payload") / "crawl.warc.zst"
    with seekwarc.open(path, "w") as out:
        for number in range(5):
            out.write_resource(f"http://e.org/{number}", noise(3_000, seed=number), "text/plain")
        out.write_response("http://e.org/film", HTTP % b"" + FILM)
        out.write_resource("http://e.org/film2", FILM[::-1], "video/mp4")
        out.write_resource("http://e.org/last", b"last", "text/plain")
    return path


def parts_of(path: Path | str, target: int, **options: object) -> list[Split]:
    return list(seekwarc.splits(path, target_bytes=target, inside_records=True, **options))


def read(splits: list[Split]) -> tuple[list[str], dict[str, bytes]]:
    """Return the URIs of the records, and what the parts of each payload come to."""
    uris: list[str] = []
    payloads: dict[str, bytes] = {}
    for split in splits:
        for found in seekwarc.read_split(split):
            if isinstance(found, PayloadPart):
                uri = found.record.target_uri or ""
                assert len(payloads.get(uri, b"")) == found.start
                payloads[uri] = payloads.get(uri, b"") + found.read()
            else:
                uris.append(found.target_uri or "")
    return uris, payloads


@pytest.mark.parametrize("target", [300_000, 1_000_000, 2_999_999])
def test_a_large_record_becomes_parts_of_its_payload(crawl: Path, target: int) -> None:
    splits = parts_of(crawl, target)
    uris, payloads = read(splits)
    assert [uri for uri in uris if uri] == [f"http://e.org/{name}" for name in (*range(5), "last")]
    assert payloads == {"http://e.org/film": FILM, "http://e.org/film2": FILM[::-1]}
    sizes = [(split.stop or len(FILM)) - split.start for split in splits if split.kind == "payload"]
    assert max(sizes) <= target + (128 << 10)


def test_no_frame_is_in_two_parts(crawl: Path) -> None:
    decoded = 0
    for split in parts_of(crawl, 500_000):
        if split.kind == "payload" and split.start:
            part = next(seekwarc.read_split(split))
            decoded += part.plan(0, part.size).bytes_decoded - part.size
    assert 0 <= decoded <= 8, "only the line breaks after a record"


def test_positions_count_from_the_start_of_a_part(crawl: Path) -> None:
    split = [it for it in parts_of(crawl, 1_000_000) if it.kind == "payload"][1]
    opened = next(seekwarc.read_split(split))
    begin = opened.start
    assert opened.size == opened.stop - begin
    assert opened.pread(10, 20) == FILM[begin + 10 : begin + 30]
    with io.BufferedReader(opened.open()) as file:
        file.seek(-5, os.SEEK_END)
        assert file.read() == FILM[opened.stop - 5 : opened.stop]
    assert opened.media_type.essence == "video/mp4"


@given(data=st.data(), delimiter=st.sampled_from([b"\n", b"\r\n", b"--x--"]))
def test_every_line_is_in_one_part(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, delimiter: bytes
) -> None:
    lines = data.draw(st.lists(st.binary(max_size=40).filter(lambda it: delimiter not in it), max_size=60))
    payload = delimiter.join(lines)
    made = Foreign().record(payload, cuts=data.draw(st.sampled_from([50, 300])), table=True).file_table()
    path = tmp_path_factory.getbasetemp() / "lines.warc.zst"
    path.write_bytes(made.bytes())
    with seekwarc.open(path) as archive:
        record = next(iter(archive))
        cuts = payload_cuts(record, data.draw(st.integers(1, 400)), delimiter)
    assert cuts is not None
    parts = [payload[begin:end] for begin, end in pairwise([0, *cuts, len(payload)])]
    assert all(part.endswith(delimiter) for part in parts[:-1])
    assert b"".join(parts) == payload
    assert len(set(cuts)) == len(cuts)


def test_without_a_delimiter_near_a_payload_is_one_part(crawl: Path) -> None:
    splits = [it for it in parts_of(crawl, 1_000_000, delimiter=b"no such bytes") if it.kind == "payload"]
    assert [(split.start, split.stop) for split in splits] == [(0, None)] * 2


def test_a_chunked_payload_stays_in_its_record(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    body = chunked(FILM, random_sizes(10_000, 90_000))
    with seekwarc.open(path, "w") as out:
        out.write_response("http://e.org/film", HTTP % b"Transfer-Encoding: chunked\r\n" + body)
    splits = parts_of(path, 500_000)
    assert {split.kind for split in splits} == {"records"}
    with seekwarc.open(path) as archive:
        record = next(archive.records(type="response"))
        with pytest.raises(FormatError, match="chunked"):
            PayloadPart(record, 0)


@pytest.mark.parametrize("form", ["plain", "bytes"])
def test_files_without_tables_are_cut_inside_records(tmp_path: Path, form: str) -> None:
    made = Foreign().record(b"small").record(FILM, cuts=100_000).record(b"end")
    path = tmp_path / "a.warc"
    path.write_bytes((made.plain() if form == "plain" else made).bytes())
    uris, payloads = read(parts_of(path, 1_000_000))
    assert (len(uris), list(payloads.values())) == (2, [FILM])


@pytest.mark.parametrize(("start", "stop"), [(0, 3_000_001), (3_000_001, None)])
def test_a_part_beyond_the_payload_is_refused(crawl: Path, start: int, stop: int | None) -> None:
    split = next(it for it in parts_of(crawl, 1_000_000) if it.kind == "payload")
    with pytest.raises(FormatError, match="has no part"):
        list(seekwarc.read_split(Split(split.filename, "payload", start, stop, split.record, split.length)))


def test_a_damaged_large_record_is_left_whole(crawl: Path, tmp_path: Path) -> None:
    split = next(it for it in parts_of(crawl, 1_000_000) if it.kind == "payload")
    data = bytearray(crawl.read_bytes())
    data[(split.record or 0) + 20] ^= 0x55
    path = tmp_path / "a.warc.zst"
    path.write_bytes(data)
    kinds = [(it.kind, it.record) for it in parts_of(path, 1_000_000)]
    assert ("payload", split.record) not in kinds
    found = [it for part in parts_of(path, 1_000_000) for it in seekwarc.read_split(part, on_error="skip")]
    assert found[-1].target_uri == "http://e.org/last"


@pytest.mark.parametrize("cut", [0, 700])
@pytest.mark.parametrize("claimed", [4900, 5000, 5100, 100_000, 10**15])
def test_parts_give_the_bytes_and_the_warning_of_a_loop(tmp_path: Path, claimed: int, cut: int) -> None:
    blocks = b"first", noise(5000), noise(300, seed=1), noise(300, seed=2)
    lengths = 5, claimed, 300, 300
    headers = [warc_header(length, number) for number, length in enumerate(lengths)]
    data = b"".join(header + block + CRLF2 for header, block in zip(headers, blocks, strict=True))
    path = tmp_path / "wrong.warc"
    # The cut is in the last record, or in the large one.
    path.write_bytes(data[: -300 if cut and claimed < 6000 else len(data) - cut])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with seekwarc.open(path) as archive:
            expected = {it.offset: it.block.read() for it in archive}
    with warnings.catch_warnings(record=True) as planned:
        warnings.simplefilter("always")
        splits = parts_of(path, 1000)
    assert not planned
    found: dict[int, bytes] = {}
    with warnings.catch_warnings(record=True) as told_by_parts:
        warnings.simplefilter("always")
        for split in splits:
            for it in seekwarc.read_split(split):
                if isinstance(it, PayloadPart):
                    assert len(found.get(it.record.offset, b"")) == it.start
                    found[it.record.offset] = found.get(it.record.offset, b"") + it.read()
                else:
                    found[it.offset] = it.block.read()
    assert found == expected
    assert {str(it.message) for it in told_by_parts} == {str(it.message) for it in told}
    if claimed > 5000 and not cut:
        assert expected[len(headers[0]) + 9] == blocks[1]
        assert told


def test_a_part_is_closed_when_nothing_refers_to_it(crawl: Path) -> None:
    split = next(it for it in parts_of(crawl, 1_000_000) if it.kind == "payload")
    part = next(seekwarc.read_split(split))
    file = part.record.body.file
    assert part.pread(0, 4) == FILM[:4]
    del part
    with pytest.raises(seekwarc.SourceError, match="closed"):
        file.source.read(0, 4)


@pytest.fixture(params=["local", "remote"])
def put_up(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[bytes], str]]:
    """Return a function that makes a file and returns its path, or its URL on a server."""
    with RangeServer(b"") as server:

        def put(data: bytes) -> str:
            server.content = Content(data)
            (tmp_path / "a.warc.zst").write_bytes(data)
            return server.url if request.param == "remote" else str(tmp_path / "a.warc.zst")

        yield put


def _read_all(url: str, target: int) -> dict[int, bytes]:
    """Return the block of each record that the parts of a file hold."""
    blocks: dict[int, bytes] = {}
    for split in parts_of(url, target):
        for found in seekwarc.read_split(split):
            is_part = isinstance(found, seekwarc.PayloadPart)
            record, data = (found.record, found.read()) if is_part else (found, found.block.read())
            blocks[record.offset] = blocks.get(record.offset, b"") + data
    return blocks


def _large_then_small() -> tuple[Foreign, int]:
    """Return a large record and two small ones that take as much as a table of its frames would."""
    for size in range(200):
        small = Foreign().record(b"").record(b"one").record(noise(size))
        stored = len(small.data) - small.records[1].offset
        if (stored - 17) % 12 == 0:
            break
    count = (stored - 17) // 12
    block = text(9000)
    made = Foreign().record(block, cuts=tuple(range(300, 300 + (count - 1) * 100, 100)))
    made.record(b"one").record(noise(size))
    assert (len(made.entries), made.records[2].stop - made.records[1].offset) == (count + 2, stored)
    return made, stored


def test_records_that_a_table_calls_the_table_of_the_one_before_are_not_lost(
    put_up: Callable[[bytes], str],
) -> None:
    made, stored = _large_then_small()
    url = put_up(made.file_table(lambda entries: [*entries[:-2], (stored, 0, EMPTY)]).bytes())
    assert _read_all(url, 5000) == {put.offset: put.block for put in made.records}


def test_records_before_the_one_that_a_table_lists_alone_are_not_lost(put_up: Callable[[bytes], str]) -> None:
    made = Foreign().record(text(9000), cuts=1000).record(b"one").record(text(500)).record(b"two")
    size = sum(len(content) for content in (made.records[0].header, made.records[0].block, CRLF2))
    last = made.records[-1].stop - made.records[-1].offset
    rest = len(made.data) - last
    url = put_up(made.file_table(lambda _: [(rest, 0, EMPTY), (last, size, 0)]).bytes())
    assert _read_all(url, 5000) == {put.offset: put.block for put in made.records}


def test_a_record_that_a_table_lists_as_longer_than_it_is_hides_nothing(
    put_up: Callable[[bytes], str],
) -> None:
    # The table counts two small records after the large one to its last frame, which holds the trailer only.
    block = text(9000)
    header = warc_header(len(block))
    made = Foreign().record(block, cuts=(*range(1000, 9001, 1000), len(header) + 9000))
    frames = list(made.entries)
    made.record(b"one").record(b"two")
    stored = made.records[-1].stop - made.records[1].offset
    last = (frames[-1][0] + stored, *frames[-1][1:])
    url = put_up(made.file_table(lambda _: [*frames[:-1], last]).bytes())
    # Iterating over a remote file does not look at that frame either, but no part is cut by it.
    is_cut = any(split.kind == "payload" for split in parts_of(url, 5000))
    assert is_cut == ("://" not in url)
    if is_cut:
        assert _read_all(url, 5000) == {put.offset: put.block for put in made.records}


def test_parts_of_a_payload_name_the_table_that_was_compared(crawl: Path, tmp_path: Path) -> None:
    named = {split.table for split in parts_of(crawl, 1_000_000) if split.kind == "payload"}
    assert len(named) == 2
    assert all("sha256:" in table for table in named)
    path = tmp_path / "a.warc.zst"
    made = Foreign().record(text(20_000), cuts=1000, table={"change": displaced})
    path.write_bytes(made.bytes())
    with seekwarc.open(path) as archive:
        # Without a word, a short read by offset alone is misled by such a table.
        assert archive.record_at(0).block.pread(8000, 100) != made.records[0].block[8000:8100]
    assert {split.table for split in parts_of(path, 5000)} == {"none"}
    assert _read_all(str(path), 5000) == {0: made.records[0].block}


def displaced(entries: list[Entry]) -> list[Entry]:
    """Two contents are wrong, and their sum is right."""
    made = list(entries)
    made[2] = (made[2][0], made[2][1] + 10, made[2][2])
    made[15] = (made[15][0], made[15][1] - 10, made[15][2])
    return made
