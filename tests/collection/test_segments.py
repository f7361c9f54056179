"""Records that are stored as segments, read as the one record that they are (WARC 1.1, clause 7)."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import random
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seekwarc
from seekwarc import Collection, DigestVerdict, JoinedRecord, SegmentError, TableStatus
from seekwarc.errors import ChecksumError, FormatError, NotFoundError, RangeError
from seekwarc.format.warc import build_record_header
from seekwarc.make.converting import convert
from seekwarc.storage.local import LocalFileSource
from tests.support.foreign import CRLF2, Foreign
from tests.support.rounds import rounds
from tests.support.sources import RecordingSource
from tests.support.work import watchdog
from tests.support.writing import (
    DATE,
    HTTP_HEAD,
    KIB,
    MIB,
    RESPONSE,
    URI,
    CountedSource,
    Repeated,
    noise,
    record_id,
    text,
)

FORMS = ("warc", "warc.gz", "warc.zst")
FRAME = 20_000
ORIGIN = record_id(1)
Part = tuple[bytes, bytes]
"""Header and block of a record."""


def part(
    number: int | str | None,
    block: bytes,
    *more: tuple[str, str],
    kind: str | None = None,
    total: int | None = None,
    uri: str = URI,
    origin: str = ORIGIN,
    identity: str | None = None,
) -> Part:
    """Make a segment: a response where its number is 1 and it is not said to be something else."""
    kind = kind or ("response" if number == 1 else "continuation")
    fields = [
        ("WARC-Type", kind),
        ("WARC-Record-ID", f"<{identity or record_id(int(number or 0) % 10**12)}>"),
        ("WARC-Date", DATE),
        ("WARC-Target-URI", uri),
    ]
    if number is not None:
        fields.append(("WARC-Segment-Number", str(number)))
    if kind == "continuation":
        fields.append(("WARC-Segment-Origin-ID", f"<{origin}>"))
    elif not any(name == "Content-Type" for name, _ in more):
        fields.append(("Content-Type", RESPONSE))
    if total is not None:
        fields.append(("WARC-Segment-Total-Length", str(total)))
    return build_record_header([*fields, *more, ("Content-Length", str(len(block)))]).raw, block


def parts(block: bytes, cuts: Sequence[int], *more: tuple[str, str]) -> list[Part]:
    """Cut a block into segments; `more` are fields of the first."""
    pieces = [block[a:b] for a, b in itertools.pairwise([0, *cuts, len(block)])]
    middle = [part(number, piece) for number, piece in enumerate(pieces[1:-1], 2)]
    return [part(1, pieces[0], *more), *middle, part(len(pieces), pieces[-1], total=len(block))]


def stored(form: str, *records: Part) -> bytes:
    """Make a file: large blocks in several frames, with a table, where it is .warc.zst."""
    made = Foreign()
    for header, block in records:
        made.record(block, header=header, cuts=FRAME, table=len(block) > FRAME)
    return {"warc": made.plain, "warc.gz": made.gzip, "warc.zst": lambda: made}[form]().bytes()


def files(*contents: Part | list[Part], forms: Sequence[str] = FORMS) -> list[RecordingSource]:
    """Make a file of each segment, or list of records, in one form after the other."""
    made = []
    for number, (content, form) in enumerate(zip(contents, itertools.cycle(forms), strict=False)):
        records = content if isinstance(content, list) else [content]
        made.append(RecordingSource(stored(form, *records), f"{number}.{form}"))
    return made


def problem(*contents: Part | list[Part], which: str = ORIGIN) -> str:
    """Return what is said of segments that cannot be joined."""
    with Collection(files(*contents)) as collection:
        with pytest.raises(SegmentError) as caught:
            collection.open_record(which)
        origin = next(it for it in collection.index.by_id(ORIGIN))
        assert (caught.value.source, caught.value.offset) == (origin.filename, origin.offset)
        assert ORIGIN in str(caught.value)
    return caught.value.message


BLOCK = HTTP_HEAD + text(150_000)
CUTS = (40_000, 95_000)


# Joined.


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_segments_in_files_of_any_form_and_order_make_one_record(order: tuple[int, ...]) -> None:
    made = files(*parts(BLOCK, CUTS))
    with Collection([made[number] for number in order]) as collection:
        record = collection.open_record(ORIGIN)
        assert isinstance(record, JoinedRecord)
        assert record.type == "response"
        assert record.content_length == record.block.size == len(BLOCK)
        assert record.block.read() == BLOCK
        assert record.http is not None
        assert record.http.raw == HTTP_HEAD
        assert record.payload.size == 150_000
        assert record.payload.read() == text(150_000)
        whole = record.header.raw + BLOCK + CRLF2
        assert record.whole.read() == whole
        assert record.size == record.whole.size == len(whole)
        for start in range(len(whole) - 7, len(whole) + 2):
            assert record.whole.pread(start, 2) == whole[start : start + 2]
        assert [it.source for it in record.segments] == ["0.warc", "1.warc.gz", "2.warc.zst"]
        assert (record.source, record.offset) == ("0.warc", 0)
        assert record.seek_table_status is TableStatus.SEGMENTS


@pytest.mark.parametrize("forms", [*itertools.permutations(FORMS)])
def test_each_form_may_be_that_of_any_segment(forms: tuple[str, ...]) -> None:
    with Collection(files(*parts(BLOCK, CUTS), forms=forms)) as collection:
        record = collection.open_record(ORIGIN)
        assert record.payload.read() == text(150_000)
        for start in (0, 39_990, 94_990, 120_000):
            assert record.block.pread(start, 20) == BLOCK[start : start + 20]


def test_segments_may_lie_in_one_file_among_other_records() -> None:
    one, two, three = parts(BLOCK, CUTS)
    other = part(None, b"other", kind="resource", identity=record_id(8))
    with Collection(files([other, three, one, other, two], forms=["warc.zst"])) as collection:
        assert collection.open_record(ORIGIN).block.read() == BLOCK


def test_a_logical_record_is_opened_by_any_of_its_names() -> None:
    with Collection(files(*parts(BLOCK, CUTS))) as collection:
        entries = [collection.index.by_id(record_id(number))[0] for number in (1, 2, 3)]
        ways = [
            *(record_id(number) for number in (1, 2, 3)),
            *(f"<{record_id(number)}>" for number in (1, 2, 3)),
            *entries,
            *map(collection.record, entries),
            *collection,
        ]
        assert len(ways) == 15
        for way in ways:
            record = collection.open_record(way)
            assert record.id == ORIGIN
            assert record.block.read() == BLOCK
        assert collection.open_record(uri=URI).block.read() == BLOCK
        assert collection.open_record(uri=URI, date=DATE).block.read() == BLOCK


def test_a_logical_record_may_be_opened_again() -> None:
    with Collection(files(*parts(BLOCK, CUTS))) as collection:
        record = collection.open_record(ORIGIN)
        assert collection.open_record(record).block.read() == BLOCK


def test_the_stored_segments_stay_what_they_are() -> None:
    with Collection(files(*parts(BLOCK, CUTS))) as collection:
        collection.open_record(ORIGIN)
        assert [record.block.read() for record in collection] == [
            BLOCK[:40_000],
            BLOCK[40_000:95_000],
            BLOCK[95_000:],
        ]


def test_two_segmented_records_do_not_mix() -> None:
    ours = parts(BLOCK, CUTS)
    theirs = [
        part(1, b"one ", identity=record_id(101), uri="urn:x:2"),
        part(2, b"two", total=7, origin=record_id(101), identity=record_id(102), uri="urn:x:2"),
    ]
    with Collection(files([ours[0], theirs[1]], [theirs[0], ours[2]], ours[1])) as collection:
        assert collection.open_record(ORIGIN).block.read() == BLOCK
        assert collection.open_record(record_id(102)).block.read() == b"one two"


def test_many_segments_are_joined_in_the_order_of_their_numbers() -> None:
    block = text(5000)
    made = parts(block, range(10, 5000, 10))
    assert len(made) == 500
    random.Random(3).shuffle(made)
    with Collection(files(made[:100], made[100:])) as collection:
        record = collection.open_record(ORIGIN)
        assert record.block.read() == block
        assert len(record.segments) == 500


@pytest.mark.parametrize("empty", ["first", "middle", "last", "all"])
def test_segments_with_an_empty_block_are_joined(empty: str) -> None:
    block = b"" if empty == "all" else BLOCK
    cuts = {"first": (0, 50), "middle": (50, 50), "last": (50, len(BLOCK)), "all": (0, 0)}[empty]
    with Collection(files(*parts(block, cuts))) as collection:
        record = collection.open_record(ORIGIN)
        assert record.block.read() == block
        assert record.whole.read() == record.header.raw + block + CRLF2
        assert record.payload.read() == block[len(HTTP_HEAD) :]


def test_fields_in_a_block_are_read_across_borders() -> None:
    block = b"one: 1\r\ntwo: 2\r\n"
    first = part(1, block[:5], ("Content-Type", "application/warc-fields"), kind="metadata")
    with Collection(files(first, part(2, block[5:], total=len(block)))) as collection:
        assert collection.open_record(ORIGIN).warc_fields == (("one", "1"), ("two", "2"))


# Its header.

ODD_HEADER = (
    b"WARC/1.0\r\n"
    b"warc-type:response\r\n"
    b"WARC-Record-ID: <" + ORIGIN.encode() + b">\r\n"
    b"WARC-Date: 2026-01-02T03:04:05Z\r\n"
    b"WARC-segment-number:  1\r\n"
    b"WARC-Target-URI:\t<https://example.org/>\r\n"
    b"X-Folded: a\r\n  b\r\n"
    b"WARC-Block-Digest: sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ\r\n"
    b"CONTENT-LENGTH : 3\r\n"
    b"X-Odd: \xff\xfe  \r\n"
    b"WARC-Truncated: disconnect\r\n"
    b"WARC-Concurrent-To: <urn:x:1>\r\n"
    b"WARC-Concurrent-To: <urn:x:2>\r\n"
    b"\r\n"
)
KEPT = (
    b"WARC/1.0\r\n"
    b"warc-type:response\r\n"
    b"WARC-Record-ID: <" + ORIGIN.encode() + b">\r\n"
    b"WARC-Date: 2026-01-02T03:04:05Z\r\n"
    b"WARC-Target-URI:\t<https://example.org/>\r\n"
    b"X-Folded: a\r\n  b\r\n"
    b"X-Odd: \xff\xfe  \r\n"
    b"WARC-Concurrent-To: <urn:x:1>\r\n"
    b"WARC-Concurrent-To: <urn:x:2>\r\n"
)


@pytest.mark.parametrize("newline", [b"\r\n", b"\n"])
def test_all_other_fields_are_kept_byte_for_byte(newline: bytes) -> None:
    odd, kept = (it.replace(b"\r\n", newline) for it in (ODD_HEADER, KEPT))
    last = part(2, b"def", ("WARC-Truncated", "time"), total=6)
    with Collection(files((odd, b"abc"), last)) as collection:
        header = collection.open_record(ORIGIN).header
        assert header.raw.startswith(kept)
        added = header.raw.removeprefix(kept)
        assert sorted(added.split(b"\r\n")) == [b"", b"", b"Content-Length: 6", b"WARC-Truncated: time"]
        assert header.content_length == 6


@pytest.mark.parametrize("first", [None, "disconnect"])
@pytest.mark.parametrize("last", [None, "length"])
def test_it_is_truncated_if_its_last_segment_is(first: str | None, last: str | None) -> None:
    def reason(value: str | None) -> list[tuple[str, str]]:
        return [("WARC-Truncated", value)] if value else []

    made = [part(1, b"a", *reason(first)), part(2, b"b"), part(3, b"c", *reason(last), total=3)]
    with Collection(files(*made)) as collection:
        record = collection.open_record(ORIGIN)
        assert record.truncated == last
        assert record.header.get_all("Content-Length") == ("3",)
        assert record.segment_number is None


# What is in it.


@settings(max_examples=rounds(60))
@given(st.data())
def test_ranges_equal_slices_of_the_whole(data: st.DataObject) -> None:
    block = data.draw(st.sampled_from([BLOCK, BLOCK[:300], HTTP_HEAD, b"x"]))
    positions = st.integers(0, len(block))
    cuts = sorted(data.draw(st.lists(positions, min_size=1, max_size=5)))
    forms = data.draw(st.permutations(FORMS))
    with Collection(files(*parts(block, cuts), forms=forms)) as collection:
        record = collection.open_record(ORIGIN)
        whole = record.header.raw + block + CRLF2
        extents = [(record.block, block), (record.payload, block[len(HTTP_HEAD) :]), (record.whole, whole)]
        if block == b"x":
            extents[1] = (record.payload, block)
        for extent, content in extents:
            assert extent.size == len(content)
            near = st.builds(lambda cut, by: max(cut + by, 0), st.sampled_from(cuts), st.integers(-3, 3))
            for start in data.draw(st.lists(st.one_of(positions, near), min_size=1, max_size=6)):
                length = data.draw(st.one_of(st.integers(0, 8), st.integers(0, len(block) + 10)))
                verify = data.draw(st.booleans())
                found = extent.pread(start, length, verify=verify)
                assert found == content[start : start + length]


def test_it_can_be_read_as_a_file() -> None:
    with Collection(files(*parts(BLOCK, CUTS))) as collection:
        with collection.open_record(ORIGIN).block.open() as file:
            file.seek(-100_000, 2)
            assert file.read(20_000) == BLOCK[-100_000:-80_000]
            assert file.tell() == len(BLOCK) - 80_000
            file.seek(0)
            assert file.read() == BLOCK
        with pytest.raises(RangeError):
            collection.open_record(ORIGIN).block.pread(-1, 5)


@pytest.mark.parametrize("cut", [1, 8, len(HTTP_HEAD) - 2, len(HTTP_HEAD), len(HTTP_HEAD) + 1])
def test_the_http_head_may_be_cut_in_two(cut: int) -> None:
    with Collection(files(*parts(BLOCK, (cut, 95_000)))) as collection:
        record = collection.open_record(ORIGIN)
        assert record.http is not None
        assert record.http.raw == HTTP_HEAD
        assert record.payload.pread(0, 10) == text(150_000)[:10]
        assert record.payload.size == 150_000


def chunked(body: bytes, *sizes: int) -> bytes:
    """Put a body into chunks of these sizes and one of what is left."""
    pieces, start = [], 0
    for size in (*sizes, len(body)):
        if piece := body[start : start + size]:
            pieces.append(b"%x;ext=1\r\n%s\r\n" % (len(piece), piece))
        start += size
    return b"".join(pieces) + b"0\r\n\r\n"


CHUNKED_HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@settings(max_examples=rounds(60))
@given(st.data())
def test_chunks_may_be_cut_anywhere(data: st.DataObject) -> None:
    body = text(data.draw(st.sampled_from([30, 2000, 60_000])))
    sizes = data.draw(st.lists(st.integers(1, len(body)), max_size=8))
    block = CHUNKED_HEAD + chunked(body, *sizes)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(block)), min_size=1, max_size=5)))
    forms = data.draw(st.permutations(FORMS))
    with Collection(files(*parts(block, cuts), forms=forms)) as collection:
        payload = collection.open_record(ORIGIN).payload
        for start in data.draw(st.lists(st.integers(0, len(body)), max_size=4)):
            length = data.draw(st.integers(0, len(body)))
            assert payload.pread(start, length) == body[start : start + length]
        assert payload.size == len(body)
        assert payload.problem is None
        assert payload.read() == body


def test_a_chunk_may_go_on_over_several_segments() -> None:
    body = noise(100_000)
    block = CHUNKED_HEAD + chunked(body)
    with Collection(files(*parts(block, (30_000, 50_000, 70_000)))) as collection:
        payload = collection.open_record(ORIGIN).payload
        assert payload.pread(20_000, 60_000) == body[20_000:80_000]
        assert payload.read() == body


@pytest.mark.parametrize("coding", ["gzip", "chunked gzip"])
def test_content_codings_are_undone_across_borders(coding: str) -> None:
    body = text(200_000)
    packed = gzip.compress(body)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
    if coding == "chunked gzip":
        block = head + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(packed, 5000, 1, 9000)
    else:
        block = head + b"\r\n" + packed
    with Collection(files(*parts(block, (70, len(block) // 2)))) as collection:
        record = collection.open_record(ORIGIN)
        assert record.payload.codings == ("gzip",)
        assert record.payload.read() == packed
        with record.payload.open(decoded=True) as file:
            assert file.read() == body


def test_a_truncated_coded_payload_is_decoded_to_its_end() -> None:
    body = noise(50_000)
    block = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(body)[:30_000]
    cut = [("WARC-Truncated", "length")]
    for fields in (cut, []):
        made = [part(1, block[:9000]), part(2, block[9000:], *fields, total=len(block))]
        with Collection(files(*made)) as collection:
            file = collection.open_record(ORIGIN).payload.open(decoded=True)
            if fields:
                found = file.read()
                assert body.startswith(found)
                assert len(found) > 29_000
            else:
                with pytest.raises(FormatError, match="gzip"):
                    file.read()


# Digests.


@pytest.mark.parametrize("algorithm", ["sha1", "sha256", "md5"])
@pytest.mark.parametrize("form", ["as it is", "chunked"])
def test_the_payload_digest_is_that_of_the_whole_payload(algorithm: str, form: str) -> None:
    body = text(120_000)
    block = CHUNKED_HEAD + chunked(body, 7, 50_000) if form == "chunked" else HTTP_HEAD + body
    stated = f"{algorithm}:{hashlib.new(algorithm, body).hexdigest()}"
    own = "sha1:" + hashlib.sha1(block[:40_000]).hexdigest()
    fields = [("WARC-Payload-Digest", stated), ("WARC-Block-Digest", own)]
    with Collection(files(*parts(block, CUTS, *fields))) as collection:
        (found,) = collection.open_record(ORIGIN).check_digests()
        assert (found.field, found.stated, found.verdict) == ("WARC-Payload-Digest", stated, "valid")
        first = next(iter(collection))
        assert [(it.field, it.verdict) for it in first.check_digests()] == [
            ("WARC-Block-Digest", DigestVerdict.VALID),
            ("WARC-Payload-Digest", DigestVerdict.ELSEWHERE),
        ]


@pytest.mark.parametrize("wrong", range(3))
def test_a_wrong_byte_in_any_segment_is_noticed(wrong: int) -> None:
    stated = "sha1:" + hashlib.sha1(text(150_000)).hexdigest()
    made = parts(BLOCK, CUTS, ("WARC-Payload-Digest", stated))
    header, block = made[wrong]
    made[wrong] = header, block[:-1] + bytes([block[-1] ^ 1])
    with Collection(files(*made)) as collection:
        assert [it.verdict for it in collection.open_record(ORIGIN).check_digests()] == ["invalid"]


def test_a_digest_of_the_body_with_its_chunk_sizes_is_distinguished() -> None:
    packed = chunked(text(3000), 100)
    stated = "sha1:" + hashlib.sha1(packed).hexdigest()
    made = parts(CHUNKED_HEAD + packed, (500,), ("WARC-Payload-Digest", stated))
    with Collection(files(*made)) as collection:
        assert [it.verdict for it in collection.open_record(ORIGIN).check_digests()] == ["transferred"]


# What reading costs.


def test_a_plan_names_the_ranges_of_every_segment_that_is_read() -> None:
    block = noise(150_000)
    fields = [("Content-Type", "image/x")]
    with Collection(files(*parts(block, CUTS, *fields), forms=["warc.zst", "warc", "warc.zst"])) as made:
        record = made.open_record(ORIGIN)
        alone = [it.block.plan(0, it.content_length) for it in record.segments]
        whole = record.block.plan(0, len(block))
        assert whole.ranges == tuple(it for plan in alone for it in plan.ranges)
        assert whole.frames == sum(plan.frames for plan in alone)
        assert whole.bytes_decoded == sum(plan.bytes_decoded for plan in alone)
        assert whole.bytes_decoded > 95_000, "the middle one is not compressed"
        start, stop = 45_000, 46_000
        assert record.block.plan(start, stop) == record.segments[1].block.plan(5000, 6000)
        across = record.block.plan(94_000, 96_000)
        assert len(across.ranges) == 2
        assert across.frames == 1
        assert record.block.plan(5, 5).ranges == ()
        assert record.block.plan(len(block), len(block) + 5).ranges == ()


def test_what_a_plan_says_is_what_is_read() -> None:
    block = noise(900_000)
    cuts = (300_000, 600_000)
    sources = files(*parts(block, cuts, ("Content-Type", "image/x")), forms=["warc.zst"])
    for start, stop in ((170_000, 170_010), (250_000, 299_999), (290_000, 601_000), (0, 900_000)):
        with Collection(sources, cache_size=0) as made:
            record = made.open_record(ORIGIN)
            plan = record.block.plan(start, stop)
            decoded = sum(file.stats.bytes_decoded for file in made.files)
            for source in sources:
                source.forget()
            assert record.block.pread(start, stop - start) == block[start:stop]
            done = [request for source in sources for request in source.requests]
            decoded = sum(file.stats.bytes_decoded for file in made.files) - decoded
            if stop < 300_000:
                assert done == list(plan.ranges)
                assert decoded == plan.bytes_decoded
            # The beginning of a segment is at hand, for its header was read from there.
            assert all(any(a <= one and two <= b for a, b in plan.ranges) for one, two in done)
            assert 0 < sum(source.bytes_asked for source in sources) <= plan.bytes_fetched
            assert decoded <= plan.bytes_decoded


@pytest.mark.parametrize("form", ["warc", "warc.zst"])
def test_the_head_is_read_from_the_first_segment_alone(form: str) -> None:
    block = HTTP_HEAD + noise(400_000)
    sources = files(*parts(block, (len(HTTP_HEAD) + 5, 200_000)), forms=[form])
    with Collection(sources) as collection:
        record = collection.open_record(ORIGIN)
        for source in sources:
            source.forget()
        assert record.http is not None
        assert [source.requests for source in sources[1:]] == [[], []]
        assert record.payload.size == 400_000
        assert [source.requests for source in sources[1:]] == [[], []]


@pytest.mark.parametrize(
    ("least", "segment", "frames"), [(1, 0, 2), (10_000, 0, 3), (10_001, 1, 1), (30_000, 1, 2)]
)
def test_a_head_over_a_border_is_read_frame_by_frame(least: int, segment: int, frames: int) -> None:
    with Collection(files(*parts(BLOCK, CUTS), forms=["warc.zst"])) as collection:
        record = collection.open_record(ORIGIN)
        begin = len(record.header.raw)
        found = record.body.read_some(begin + 30_000, begin + len(BLOCK), least)
        frames_end = frames * FRAME - len(record.segments[segment].header.raw)
    assert found == BLOCK[30_000 : min((0, *CUTS)[segment] + frames_end, CUTS[segment])]


def test_damage_in_a_segment_is_reported_where_it_is() -> None:
    block = noise(300_000)
    sources = files(*parts(block, (100_000, 200_000), ("Content-Type", "image/x")), forms=["warc.zst"])
    with seekwarc.open(sources[1]) as archive:
        frame = archive.record_at(0).block.plan(90_000, 90_001).ranges[0]
    damaged = bytearray(sources[1].data)
    damaged[frame[1] - 500] ^= 1
    sources[1].data = bytes(damaged)
    with Collection(sources) as collection:
        record = collection.open_record(ORIGIN)
        assert record.block.pread(110_000, 60_000) == block[110_000:170_000]
        with pytest.raises(ChecksumError, match=r"1\.warc\.zst"):
            record.block.pread(181_000, 10)
        assert record.block.pread(181_000, 10, verify=False) == block[181_000:181_010]
        with pytest.raises(ChecksumError, match=r"1\.warc\.zst"):
            record.block.read()
        assert record.block.pread(200_000, 100_000) == block[200_000:]


class CountedFile(CountedSource):
    """A file on the disk, each read of it remembered."""

    def __init__(self, path: Path) -> None:
        self._file = LocalFileSource(path)
        super().__init__(self._file.read, self._file.size)
        self.name = str(path)

    def close(self) -> None:
        self._file.close()

    def take_reads(self) -> list[int]:
        """Return how long the reads since the last call were."""
        sizes = [stop - start for start, stop in self.reads]
        self.reads.clear()
        return sizes


class Headed:
    """A stream with an HTTP head in front."""

    def __init__(self, stream: Repeated) -> None:
        self._left = [HTTP_HEAD]
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        return self._left.pop() if self._left else self._stream.read(size)


MAX_FRAME = 132 * KIB
"""Stored bytes of a frame of what does not compress."""
MAX_TABLE = 64 * KIB
"""Stored bytes that are read of a segment's own table, or to see that the file's is right."""


@pytest.mark.slow
def test_a_range_of_300_mib_in_three_files_costs_what_its_frames_cost(tmp_path: Path) -> None:
    stream = Repeated(noise(MIB), 300 * MIB)
    with seekwarc.Writer(tmp_path / "a.warc.zst", level=1, max_file_size=110 * MIB) as writer:
        writer.write_warcinfo({"software": "test"})
        place = writer.write_response(URI, Headed(stream), date=DATE)
        writer.write_resource(URI + "next", b"small", "text/plain")
    sources = [CountedFile(path) for path in sorted(tmp_path.iterdir())]
    assert [source.name[-14:] for source in sources] == [f"{number:05}.warc.zst" for number in range(3)]
    assert all(source.size <= 110 * MIB for source in sources)

    with Collection(sources) as collection:
        assert place.id is not None
        record = collection.open_record(place.id)
        assert isinstance(record, JoinedRecord)
        payload = record.payload
        assert payload.size == 300 * MIB
        indexing = [source.take_reads() for source in sources]
        assert max(map(len, indexing)) <= 110 * 8 + 20, "a look at each frame of 128 KiB"
        assert max(map(sum, indexing)) < 400 * KIB, "no more than heads and tables, for the index too"

        ends = list(itertools.accumulate(it.content_length for it in record.segments))
        borders = [end - len(HTTP_HEAD) for end in ends[:2]]
        for number, border in enumerate(borders):
            assert payload.pread(border - 500, 1000) == stream.content(border - 500, border + 500)
            one, two = sources[number].take_reads(), sources[number + 1].take_reads()
            print(f"border {number + 1}: reads of {one} and {two} bytes")
            # Before the first read of a segment, its table is read or seen to be right.
            assert len(one) == 1
            assert len(two) <= 2
            assert sum(one) <= MAX_FRAME
            assert sum(two) <= MAX_FRAME + MAX_TABLE
            assert sources[number - 1].take_reads() == [], "nothing is read of the third file"
            assert payload.pread(border - 300, 900) == stream.content(border - 300, border + 600)
            assert [source.take_reads() for source in sources] == [[], [], []]
        for start in (5 * MIB, borders[0] + 20 * MIB, borders[1] - 20 * MIB, 300 * MIB - KIB):
            assert payload.pread(start, KIB) == stream.content(start, start + KIB)
            reads = [size for source in sources for size in source.take_reads()]
            assert len(reads) <= 1
            assert sum(reads) <= MAX_FRAME
        middle = stream.content(borders[0] - 3 * MIB, borders[0] + 3 * MIB)
        assert payload.pread(borders[0] - 3 * MIB, 6 * MIB) == middle
        reads = [source.take_reads() for source in sources]
        assert sum(map(sum, reads)) < 6 * MIB + 4 * MAX_FRAME
        assert sum(map(len, reads)) <= 4


# As the writer makes them.


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("digest", ["sha1", "sha256"])
def test_segments_by_the_writer_are_joined(tmp_path: Path, digest: str, threads: int) -> None:
    body = noise(MIB) + text(MIB) + noise(MIB, 2)
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    block = head + chunked(body, 300_000, 1, 2_000_000)
    with seekwarc.Writer(
        tmp_path / "a.warc.zst", frame_size=64 * KIB, max_file_size=512 * KIB, digest=digest, threads=threads
    ) as writer:
        writer.write_warcinfo({"software": "test"})
        small = writer.write_resource(URI + "1", b"small", "text/plain")
        place = writer.write_response(URI, block, truncated="time", headers={"X-More": "kept"})
        writer.write_resource(URI + "2", b"small", "text/plain")
    names = sorted(tmp_path.iterdir())
    assert len(names) >= 5
    random.Random(1).shuffle(names)
    with Collection(names) as collection:
        assert small.id is not None
        assert collection.open_record(small.id).block.read() == b"small"
        record = collection.open_record(uri=URI)
        assert isinstance(record, JoinedRecord)
        assert record.id == place.id
        assert len(record.segments) == len([it for it in collection if it.target_uri == URI])
        assert record.block.read() == block
        assert record.payload.read() == body
        assert record.truncated == "time"
        assert record.header["X-More"] == "kept"
        assert [(it.field, it.verdict) for it in record.check_digests()] == [("WARC-Payload-Digest", "valid")]
        for segment in record.segments:
            verdicts = {it.field: it.verdict for it in segment.check_digests()}
            assert verdicts["WARC-Block-Digest"] == "valid"


def test_segments_are_joined_after_a_conversion(tmp_path: Path) -> None:
    block = HTTP_HEAD + noise(MIB)
    with seekwarc.Writer(tmp_path / "a.warc.zst", frame_size=64 * KIB, max_file_size=512 * KIB) as writer:
        writer.write_response(URI, block)
    converted = []
    for path, form in zip(sorted(tmp_path.iterdir()), itertools.cycle(["gz", "none", "zst"]), strict=False):
        converted.append(path.with_suffix(f".{form}"))
        if form != "zst":
            convert(path, converted[-1], form)
    assert len(converted) == 3
    with Collection(converted) as collection:
        assert [file.compression for file in collection.files] == ["gz", "none", "zst"]
        record = collection.open_record(uri=URI)
        assert record.block.read() == block
        assert [it.verdict for it in record.check_digests()] == ["valid"]


# Several threads.


@pytest.mark.parametrize("chunks", [False, True])
def test_several_threads_may_read_one_joined_record(chunks: bool) -> None:
    body = text(150_000)
    block = CHUNKED_HEAD + chunked(body, *[1000] * 100) if chunks else HTTP_HEAD + body
    with Collection(files(*parts(block, CUTS)), cache_size=40_000) as collection:
        payload = collection.open_record(ORIGIN).payload

        def read(seed: int) -> bool:
            chance = random.Random(seed)
            starts = [chance.randrange(len(body)) for _ in range(25)]
            lengths = [chance.choice([1, 100, 60_000]) for _ in starts]
            return all(
                payload.pread(start, length) == body[start : start + length]
                for start, length in zip(starts, lengths, strict=True)
            )

        with ThreadPoolExecutor(6) as pool:
            assert all(pool.map(read, range(12)))


# What cannot be joined.


def test_a_missing_segment_in_the_middle_is_named() -> None:
    one, two, three, four = parts(BLOCK, (10, 20, 30))
    assert problem(one, two, four).endswith("number 3 is missing")
    assert problem(one, four).endswith("number 2, 3 is missing")
    assert problem(one, three, four, which=record_id(4)).endswith("number 2 is missing")


def test_a_missing_last_segment_is_named() -> None:
    one, two, _ = parts(BLOCK, CUTS)
    message = problem(one, two)
    assert "the last segment is missing" in message
    assert "1.warc.gz at 0" in message
    assert "the last segment is missing: 0.warc at 0" in problem(one)


def test_a_missing_origin_is_not_found() -> None:
    _, two, three = parts(BLOCK, CUTS)
    with Collection(files(two, three)) as collection:
        for which in (record_id(2), record_id(3), collection.index.by_id(record_id(2))[0], *collection):
            with pytest.raises(NotFoundError, match=ORIGIN):
                collection.open_record(which)


def test_a_continuation_that_names_no_origin_is_not_found() -> None:
    header, block = part(2, b"b", total=2)
    lines = [line for line in header.split(b"\r\n") if not line.startswith(b"WARC-Segment-Origin-ID")]
    made = files(part(1, b"a"), (b"\r\n".join(lines), block))
    with Collection(made) as collection, pytest.raises(NotFoundError):
        collection.open_record(record_id(2))


def test_a_duplicated_segment_is_named() -> None:
    one, two, three = parts(BLOCK, CUTS)
    message = problem(one, two, three, [part(None, b"", kind="resource"), two])
    assert "number 2 is there twice" in message
    assert "1.warc.gz at 0" in message
    assert "3.warc at " in message
    assert "should hold" not in message, "which of them counts is not known"
    assert "number 3 is there twice" in problem(one, two, three, three)


def test_segments_that_overlap_are_too_long() -> None:
    one, (header, block), three = parts(BLOCK, CUTS)
    longer = part(2, block + BLOCK[95_000:95_010])
    assert problem(one, longer, three).endswith(f"hold {len(BLOCK) + 10} bytes, and should hold {len(BLOCK)}")
    shorter = part(2, block[:-10])
    expected = f"hold {len(BLOCK) - 10} bytes, and should hold {len(BLOCK)}"
    assert problem(one, shorter, three).endswith(expected)
    assert header


def test_a_segment_of_another_target_uri_is_named() -> None:
    one, two, _ = parts(BLOCK, CUTS)
    other = part(3, BLOCK[95_000:], total=len(BLOCK), uri="urn:x:other")
    message = problem(one, two, other)
    assert "2.warc.zst at 0 has another target URI, urn:x:other" in message


def test_angle_brackets_do_not_change_the_target_uri() -> None:
    one, two = part(1, b"a"), part(2, b"b", total=2, uri=f"<{URI}>")
    with Collection(files(one, two)) as collection:
        assert collection.open_record(ORIGIN).block.read() == b"ab"


def test_a_total_length_that_is_not_in_the_last_segment_is_named() -> None:
    message = problem(part(1, b"a"), part(2, b"b", total=3), part(3, b"c", total=3))
    assert "1.warc.gz at 0 states a total length, but is not the last" in message
    message = problem(part(1, b"a"), part(2, b"b", total=3), part(3, b"c"))
    assert "1.warc.gz at 0 states a total length, but is not the last" in message
    assert "the last segment is missing" in message


@pytest.mark.parametrize("number", [10**9, 10**17, 10**18 - 1])
def test_a_huge_segment_number_costs_nothing(number: int) -> None:
    with watchdog():
        message = problem(part(1, b"a"), part(number, b"b", total=2))
    assert "number 2, 3, 4, 5, 6, 7, 8, 9 is missing" in message
    assert len(message) < 500


def test_many_missing_segments_are_not_all_named() -> None:
    made = parts(text(100), range(1, 100))
    message = problem([made[0], *made[1::2]])
    assert message.endswith("number 3, 5, 7, 9, 11, 13, 15, 17 is missing")


@pytest.mark.parametrize("number", [2, 0])
def test_an_origin_that_is_not_number_1_is_named(number: int) -> None:
    odd = part(number, b"a", kind="response", identity=ORIGIN)
    message = problem(odd, part(2, b"b", identity=record_id(2)), part(3, b"c", total=3))
    assert f"0.warc at 0 is the first, and its number is {number}" in message


@pytest.mark.parametrize("which", [ORIGIN, record_id(2)])
def test_an_origin_without_a_number_is_named(which: str) -> None:
    odd = part(None, b"a", kind="response", identity=ORIGIN)
    message = problem(odd, part(2, b"b", total=2), which=which)
    assert "0.warc at 0 is the first, and its number is None" in message


@pytest.mark.parametrize("number", [None, 0, 1])
def test_a_continuation_without_a_number_of_its_own_is_named(number: int | None) -> None:
    odd = part(number, b"b", total=2, kind="continuation", identity=record_id(2))
    expected = f"1.warc.gz at 0 is a continuation, and its WARC-Segment-Number is {number}"
    assert expected in problem(part(1, b"a"), odd)
    assert "is a continuation, and its WARC-Segment-Number is" in problem(part(1, b"a"), part(2, b"c"), odd)


@pytest.mark.parametrize("number", ["two", "-2", "2.0", "9" * 19])
def test_a_malformed_segment_number_is_named(number: str) -> None:
    header, block = part(2, b"b", total=2)
    odd = header.replace(b"WARC-Segment-Number: 2", b"WARC-Segment-Number: " + number.encode())
    with Collection(files(part(1, b"a"), (odd, block))) as collection:
        expected = f"1.warc.gz at 0 is a continuation, and its WARC-Segment-Number is {number}"
        with pytest.raises(FormatError, match=re.escape(expected)):
            collection.open_record(ORIGIN)


def test_all_problems_are_named_at_once() -> None:
    other = part(4, b"d", total=9, uri="urn:x:other")
    message = problem(part(1, b"a"), part(3, b"c"), part(3, b"c", identity=record_id(33)), other)
    for expected in ("another target URI", "number 3 is there twice", "number 2 is missing"):
        assert expected in message
