"""Extents: ranges of a record, chunked or not, and files made of them."""

from __future__ import annotations

import gzip
import io
import random
import threading
import zlib
from array import array
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seekwarc
from seekwarc.errors import ChecksumError, FormatError, LimitError, RangeError, UnsupportedError
from tests.support.chunks import chunked, random_sizes
from tests.support.foreign import Foreign, text
from tests.support.memory import MemoryBody
from tests.support.pages import answer, crawl_of, html
from tests.support.processes import PATIENT
from tests.support.rounds import rounds
from tests.support.sources import Pipe
from tests.support.writing import noise

BLOCK = text(150_000) + noise(50_000)
FORMS = ("bytes", "gzip", "plain")


HTTP = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def made() -> Foreign:
    return Foreign().record(b"in front").record(BLOCK, cuts=16_000, table=True).record(b"behind")


def made_chunked(data: bytes = BLOCK, http: bytes = HTTP) -> Foreign:
    """The same, but that the block is a response whose payload comes in chunks."""
    block = http + chunked(data, random_sizes(1, 9000))
    header = (
        b"WARC/1.1\r\nWARC-Type: response\r\nContent-Type: application/http\r\nContent-Length: %d\r\n\r\n"
    )
    file = Foreign().record(b"in front").record(block, header=header % len(block), cuts=16_000, table=True)
    return file.record(b"behind")


def in_form(file: Foreign, form: str) -> Foreign:
    return file if form == "bytes" else getattr(file, form)()


def extent(form: str = "bytes", *, in_chunks: bool = False) -> seekwarc.Extent:
    file = in_form(made_chunked() if in_chunks else made(), form)
    archive = seekwarc.open(file.bytes())
    return archive.record_at(file.records[1].offset).payload


@pytest.fixture(params=FORMS)
def form(request) -> str:
    return request.param


@pytest.fixture(params=[False, True], ids=["block", "chunked"])
def block(request, form) -> seekwarc.Extent:
    return extent(form, in_chunks=request.param)


EXTENTS = [extent(), extent(in_chunks=True)]
BYTES = bytes(range(256)) * 4


@given(st.integers(0, 1024), st.integers(0, 1024), st.integers(0, 1100), st.integers(0, 1100))
def test_an_extent_has_its_own_bytes_only(one: int, other: int, start: int, length: int) -> None:
    begin, end = sorted((one, other))
    body = MemoryBody(BYTES)
    part = seekwarc.Extent(body, begin, end)
    wanted = BYTES[begin:end][start : start + length]
    assert (part.size, part.known_size, part.problem) == (end - begin, end - begin, None)
    assert part.pread(start, length) == wanted
    buffer = bytearray(b"#" * length)
    assert part.pread_into(start, buffer) == len(wanted)
    assert buffer == wanted + b"#" * (length - len(wanted)), "what is after it is left alone"
    # Of a stream, asking for nothing at some place would pass over all before it.
    assert body.reads == ([(begin + start, begin + start + len(wanted))] * 2 if wanted else [])
    plan = part.plan(start, start + length)
    assert plan.ranges == (((begin + start, begin + start + len(wanted)),) if wanted else ())


@pytest.mark.parametrize("options", [{}, {"verify": True}, {"verify": False}])
def test_whether_to_verify_is_passed_on(options: dict[str, bool]) -> None:
    told = []

    class Body(MemoryBody):
        def read_into(self, start: int, out: memoryview, *, verify: bool = True) -> None:
            told.append(verify)

    part = seekwarc.Extent(Body(bytes(200_000)), 0, 200_000)
    part.pread(0, 5, **options)
    part.pread(0, 150_000, **options)
    part.pread_into(0, bytearray(5), **options)
    assert told == [options.get("verify", True)] * 3


def test_no_hold_is_kept_of_the_callers_buffer() -> None:
    buffer = bytearray(10)
    seekwarc.Extent(MemoryBody(BYTES), 0, 100).pread_into(5, buffer)
    buffer.append(0)
    assert bytes(buffer[:10]) == BYTES[5:15]


@settings(max_examples=rounds(200))
@given(st.sampled_from(EXTENTS), st.integers(0, 210_000), st.integers(0, 210_000), st.booleans())
def test_a_range_is_what_stands_there(block, start, length, verify) -> None:
    assert block.pread(start, length, verify=verify) == BLOCK[start : start + length]


def test_nothing_comes_from_after_the_end(block) -> None:
    assert block.size == len(BLOCK)
    assert block.pread(len(BLOCK) - 3, 100) == BLOCK[-3:]
    assert block.pread(len(BLOCK), 100) == b""
    assert block.pread(10**15, 10**15) == b""
    assert block.pread(5, 0) == b""


@pytest.mark.parametrize("in_chunks", [False, True])
def test_bytes_after_the_end_belong_to_no_extent(form, in_chunks) -> None:
    """Asking for it neither shows what follows in the file, nor passes it."""
    file = in_form(made_chunked() if in_chunks else made(), form)
    expected = [b"in front", BLOCK, b"behind"]
    for pipe in (False, True):
        with seekwarc.open(Pipe(file.bytes()) if pipe else file.bytes()) as archive:
            for record, content in zip(archive, expected, strict=True):
                payload = record.payload
                buffer = bytearray(b"#" * 10)
                assert payload.pread(0, 3) == content[:3]
                assert payload.pread_into(len(content) + 200, buffer) == 0
                assert payload.pread(10**9, 10) == b""
                stream = payload.open()
                stream.seek(len(content) + 300)
                assert stream.read(10) == stream.read() == b""
                assert stream.readinto(buffer) == 0
                assert buffer == b"#" * 10
                # To know that chunks are over, those of a pipe have to go by.
                if not (pipe and in_chunks):
                    assert payload.pread(3, 10) == content[3:13]


def test_reading_nothing_passes_nothing(form) -> None:
    file = in_form(made(), form)
    with seekwarc.open(Pipe(file.bytes())) as archive:
        for record in archive:
            size = record.block.size
            assert record.block.pread_into(size - 1, bytearray()) == 0
            assert record.block.pread(size - 1, 0) == b""
            assert len(record.block.read()) == size


@pytest.mark.parametrize(("start", "length"), [(-1, 5), (0, -1), (-1, -1)])
def test_what_is_no_range_is_refused(block, start, length) -> None:
    with pytest.raises(RangeError):
        block.pread(start, length)
    with pytest.raises(RangeError):
        block.plan(start, start + length)


@pytest.mark.parametrize("new_buffer", [bytearray, lambda size: memoryview(bytearray(size))])
def test_a_buffer_of_the_callers_is_filled(block, new_buffer) -> None:
    buffer = new_buffer(1000)
    assert block.pread_into(70_000, buffer) == 1000
    assert bytes(buffer) == BLOCK[70_000:71_000]
    assert block.pread_into(len(BLOCK) - 10, buffer) == 10
    assert bytes(buffer[:10]) == BLOCK[-10:]


def test_a_buffer_of_another_type_is_filled_bytewise(block) -> None:
    words = array("I", bytes(4000))
    assert block.pread_into(100, words) == 4000
    assert words.tobytes() == BLOCK[100:4100]


@pytest.mark.parametrize("in_chunks", [False, True])
def test_a_plan_is_what_a_read_costs(in_chunks) -> None:
    file = made_chunked() if in_chunks else made()
    for start, stop in [(0, 1), (20_000, 20_001), (15_000, 60_000), (0, len(BLOCK)), (5, 5)]:
        with seekwarc.open(file.bytes(), cache_size=10**6 if in_chunks else 0) as archive:
            put = file.records[1]
            block = archive.record_at(put.offset, put.length).payload
            plan = block.plan(start, stop)
            before = (archive.stats.bytes_fetched, archive.stats.bytes_decoded)
            assert block.pread(start, stop - start) == BLOCK[start:stop]
            assert archive.stats.bytes_fetched - before[0] <= plan.bytes_fetched
            assert archive.stats.bytes_decoded - before[1] <= plan.bytes_decoded


def test_a_plan_needs_nothing_but_the_table() -> None:
    file = made()
    with seekwarc.open(file.bytes()) as archive:
        block = archive.record_at(file.records[1].offset).block
        block.plan(0, 1)
        before = archive.stats.bytes_decoded, archive.stats.requests
        block.plan(50_000, 150_000)
        assert (archive.stats.bytes_decoded, archive.stats.requests) == before


def test_a_plan_of_a_chunked_body_looks_for_chunks_up_to_its_end() -> None:
    file = made_chunked()
    put = file.records[1]
    with seekwarc.open(file.bytes()) as archive:
        payload = archive.record_at(put.offset, put.length).payload
        plan = payload.plan(50_000, 60_000)
        assert 10_000 <= plan.bytes_decoded <= 10_000 + 2 * 16_000
        assert archive.stats.bytes_decoded <= 60_000 + 3 * 16_000
        assert payload.problem is None
        assert payload.plan(len(BLOCK), len(BLOCK) + 5).ranges == ()
        assert payload.plan(7, 7).ranges == ()


def test_threads_read_any_ranges_of_one_extent(block) -> None:
    barrier = threading.Barrier(6)

    def work(seed: int) -> None:
        chance = random.Random(seed)
        barrier.wait()
        for _ in range(15):
            start, length = chance.randrange(len(BLOCK)), chance.choice([1, 500, 40_000])
            assert block.pread(start, length) == BLOCK[start : start + length]

    with ThreadPoolExecutor(6) as pool:
        for done in [pool.submit(work, seed) for seed in range(6)]:
            done.result()
    assert block.size == len(BLOCK)


def test_threads_that_first_need_a_records_frames_at_once_find_them_once() -> None:
    file = made()
    put = file.records[1]
    with seekwarc.open(file.bytes()) as archive:
        record = archive.record_at(put.offset, put.length)
        record.body.file.lock = lock = MeetingLock(2)
        with ThreadPoolExecutor(2) as pool:
            found = [pool.submit(record.block.pread, start, 10) for start in (0, 100_000)]
            assert [it.result() for it in found] == [BLOCK[:10], BLOCK[100_000:100_010]]
        assert lock.met


class MeetingLock:
    """A lock that is entered once so many threads want it: each has then seen what was before the others."""

    def __init__(self, threads: int) -> None:
        self._lock = threading.RLock()
        self._barrier = threading.Barrier(threads, timeout=PATIENT)
        self.met = False

    def __enter__(self) -> None:
        if not self.met and not self._lock._is_owned():
            self._barrier.wait()
            self.met = True
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def test_damage_is_found_where_it_is_and_nowhere_else() -> None:
    file = made()
    data = bytearray(file.bytes())
    put = file.records[1]
    data[put.stop - 20_000] ^= 1
    with seekwarc.open(bytes(data)) as archive:
        block = archive.record_at(put.offset, put.length).block
        assert block.pread(0, 100_000) == BLOCK[:100_000]
        buffer = bytearray(100_000)
        with pytest.raises(ChecksumError, match=r"^<bytes>, offset \d+: "):
            block.pread_into(100_000, buffer)
        buffer.append(0)  # The error keeps no hold of it.


def test_a_range_is_verified_unless_told_otherwise() -> None:
    data = noise(60_000)
    file = Foreign().record(data, cuts=20_000, table=True)
    stored = bytearray(file.bytes())
    # Bytes that do not compress stand in the file as they are.
    stored[stored.index(data[35_000:35_100])] ^= 1
    with seekwarc.open(bytes(stored)) as archive:
        block = archive.record_at(0, file.records[0].length).block
        buffer = bytearray(100)
        with pytest.raises(ChecksumError):
            block.pread(30_000, 100)
        with pytest.raises(ChecksumError):
            block.pread_into(30_000, buffer)
        assert block.pread(30_000, 100, verify=False) == data[30_000:30_100]
        assert block.pread_into(30_000, buffer, verify=False) == 100
        assert buffer == data[30_000:30_100]


@pytest.mark.parametrize("step", [1, 999, 50_000, 10**9])
def test_a_long_read_makes_room_as_bytes_come(block, step, monkeypatch) -> None:
    monkeypatch.setattr("seekwarc.read.extent.MAX_STEP", step)
    length = 3 * step if step == 1 else 150_000
    for start in (0, 70_001):
        assert block.pread(start, length) == BLOCK[start : start + length]
    if step > 1:
        assert block.read() == BLOCK


# As a file.


@settings(max_examples=rounds(50))
@given(
    st.sampled_from(EXTENTS),
    st.lists(
        st.tuples(st.sampled_from(["seek", "end", "move", "read"]), st.integers(-1000, 210_000)), max_size=8
    ),
)
def test_a_file_does_what_a_file_does(block, steps) -> None:
    ours, theirs = block.open(), io.BytesIO(BLOCK)
    for step, number in steps:
        if step == "read":
            count = abs(number)
            assert ours.read(count) == theirs.read(count)
        elif step == "seek":
            assert ours.seek(abs(number)) == theirs.seek(abs(number))
        else:
            whence = io.SEEK_END if step == "end" else io.SEEK_CUR
            base = len(BLOCK) if step == "end" else theirs.tell()
            if base + number >= 0:
                assert ours.seek(number, whence) == theirs.seek(number, whence)
        assert ours.tell() == theirs.tell()
    assert ours.read() == theirs.read()


def test_a_file_can_be_wrapped(block) -> None:
    with io.BufferedReader(block.open()) as file:
        assert file.seekable()
        assert file.readable()
        assert not file.writable()
        file.seek(-10, io.SEEK_END)
        assert file.read() == BLOCK[-10:]
        file.seek(100)
        assert file.peek(5)[:5] == BLOCK[100:105]
        assert file.readline() == io.BytesIO(BLOCK[100:]).readline()


def test_positions_that_cannot_be_are_refused(block) -> None:
    file = block.open()
    for offset, whence in [(-1, io.SEEK_SET), (-1, io.SEEK_CUR), (-len(BLOCK) - 1, io.SEEK_END)]:
        with pytest.raises(RangeError):
            file.seek(offset, whence)
    with pytest.raises(ValueError, match="whence"):
        file.seek(0, 7)
    assert file.tell() == 0


def test_a_closed_file_says_so(block) -> None:
    file = block.open()
    file.close()
    for use in (file.read, lambda: file.read(1), lambda: file.seek(0), file.tell):
        with pytest.raises(ValueError, match="closed"):
            use()


def test_files_of_one_extent_have_positions_of_their_own(block) -> None:
    one, other = block.open(), block.open()
    assert one.read(10) == BLOCK[:10]
    assert other.read(10) == BLOCK[:10]
    assert one.read(10) == BLOCK[10:20]


# Content codings on top of chunks.


def gzip_chunked() -> Foreign:
    http = HTTP.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")
    return made_chunked(gzip.compress(BLOCK, mtime=0), http)


@pytest.mark.parametrize("pipe", [False, True])
def test_codings_are_undone_after_the_chunks(form, pipe) -> None:
    file = in_form(gzip_chunked(), form)
    with seekwarc.open(Pipe(file.bytes()) if pipe else file.bytes()) as archive:
        seen = []
        for record in archive:
            with record.payload.open(decoded=True) as stream:
                seen.append(stream.read())
        assert seen == [b"in front", BLOCK, b"behind"]


def test_without_asking_codings_stay() -> None:
    file = gzip_chunked()
    with seekwarc.open(file.bytes()) as archive:
        payload = list(archive)[1].payload
        assert payload.codings == ("gzip",)
        assert zlib.decompress(payload.read(), 31) == BLOCK
        with payload.open() as stream:
            assert stream.read(2) == b"\x1f\x8b"


def test_a_payload_that_was_cut_off_may_end_within_its_coding() -> None:
    http = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"
    block = http + gzip.compress(text(20_000))[:-3000]
    fields = b"WARC/1.1\r\nWARC-Type: response\r\nContent-Type: application/http\r\n"
    length = b"Content-Length: %d\r\n\r\n" % len(block)
    for said, expected in ((b"WARC-Truncated: length\r\n", None), (b"", FormatError)):
        with seekwarc.open(Foreign().record(block, header=fields + said + length).bytes()) as archive:
            stream = next(iter(archive)).payload.open(decoded=True)
            if expected is None:
                found = stream.read()
                assert 5000 < len(found) < 20_000
                assert text(20_000).startswith(found)
            else:
                with pytest.raises(expected):
                    stream.read()


def test_a_decoded_stream_of_gzip_is_decompressed_once() -> None:
    file = gzip_chunked().gzip()
    everything = sum(len(put.header + put.block) + 4 for put in file.records)
    with seekwarc.open(file.bytes()) as archive:
        for record in archive:
            with io.BufferedReader(record.payload.open(decoded=True)) as stream:
                while stream.read(777):
                    pass
        assert archive.stats.bytes_decoded == everything


# Decoded, and named.


def responses(*blocks: bytes) -> bytes:
    out = io.BytesIO()
    with seekwarc.open(out, "w") as writer:
        for block in blocks:
            writer.write_response("http://example.org/", block)
    return out.getvalue()


@pytest.mark.parametrize("n", [-1, 0, 1, 70_000, 1 << 40])
def test_a_payload_is_read_decoded_in_one_call(n: int) -> None:
    with seekwarc.open(gzip_chunked().bytes()) as archive:
        payload = list(archive)[1].payload
        assert payload.read(n, decoded=True) == (BLOCK if n < 0 else BLOCK[:n])
        stored = payload.read()
        assert payload.read(n) == (stored if n < 0 else stored[:n])


@pytest.mark.slow
@settings(max_examples=rounds(50))
@given(st.integers(0, 2 * len(BLOCK)), st.integers(0, 2 * len(BLOCK)))
def test_ranges_of_a_decoded_payload_are_its_slices(start: int, length: int) -> None:
    with seekwarc.open(gzip_chunked().bytes()) as archive:
        payload = list(archive)[1].payload
        assert payload.pread(start, length, decoded=True) == BLOCK[start : start + length]


def test_decoding_changes_nothing_where_nothing_is_coded() -> None:
    with seekwarc.open(gzip_chunked().bytes()) as archive:
        payload = next(iter(archive)).payload
        assert payload.codings == ()
        assert payload.read(decoded=True) == payload.read()
        assert payload.pread(2, 3, decoded=True) == payload.pread(2, 3)


@pytest.mark.parametrize(("start", "length"), [(-1, 5), (5, -1)])
def test_a_negative_range_of_a_decoded_payload_is_refused(start: int, length: int) -> None:
    with seekwarc.open(gzip_chunked().bytes()) as archive, pytest.raises(RangeError):
        list(archive)[1].payload.pread(start, length, decoded=True)


def test_a_payload_that_unpacks_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seekwarc.read.extent.MAX_DECODED", 100_000)
    http = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"
    with seekwarc.open(responses(http + gzip.compress(bytes(1_000_000)))) as archive:
        payload = next(iter(archive)).payload
        assert payload.pread(90_000, 10_000, decoded=True) == bytes(10_000)
        for start, length in ((0, 100_001), (500_000, 1)):
            with pytest.raises(LimitError, match="open\\(decoded=True\\)"):
                payload.pread(start, length, decoded=True)
        with pytest.raises(LimitError):
            payload.read(decoded=True)


def test_a_payload_says_its_media_type() -> None:
    named = [b"\r\nContent-Type: text/HTML; charset=utf-8", b"\r\nContent-Type: nonsense", b""]
    with seekwarc.open(responses(*(b"HTTP/1.1 200 OK" + it + b"\r\n\r\nx" for it in named))) as archive:
        found = [record.payload.media_type for record in archive]
        assert [it and it.essence for it in found] == ["text/html", None, None]
        assert found[0].get("charset") == "utf-8"
        assert next(iter(archive)).block.media_type.essence == "application/http"


@pytest.mark.parametrize("form", ["warc", "warc.gz", "warc.zst"])
def test_a_payload_gives_its_text(tmp_path, form) -> None:
    body = html("The text")
    in_chunks = b"5\r\n" + body[:5] + b"\r\n%x\r\n" % (len(body) - 5) + body[5:] + b"\r\n0\r\n\r\n"
    pages = [
        answer(body),
        answer(gzip.compress(body), "text/html", "Content-Encoding: gzip"),
        answer(in_chunks, "text/html", "Transfer-Encoding: chunked"),
        answer(html("The text" + "<p>" * 30_000)),
        answer(body, "image/png"),
    ]
    with seekwarc.open(crawl_of(tmp_path / f"a.{form}", pages)) as archive:
        records = list(archive)
        *found, none = [record.payload.text() for record in records]
        assert none is None
        assert {(it.text.strip(), it.title, it.lang, it.is_whole) for it in found} == {
            ("The text", "Page", "en", True)
        }
        assert not records[0].payload.text(max_size=80).is_whole
        assert records[0].payload.text(max_text=3).text == "The"
        assert records[0].block.text() is None


def test_text_of_a_damaged_payload_is_an_error(tmp_path) -> None:
    damaged = answer(
        gzip.compress(html("x" * 500))[:-30] + b"\xff" * 30, "text/html", "Content-Encoding: gzip"
    )
    unknown = answer(html("x"), "text/html", "Content-Encoding: compress")
    with seekwarc.open(crawl_of(tmp_path / "a.warc.zst", [damaged, unknown])) as archive:
        for record, error in zip(archive, (FormatError, UnsupportedError), strict=True):
            with pytest.raises(error):
                record.payload.text()
