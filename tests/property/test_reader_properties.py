"""Properties of every file, whatever tool wrote it and whatever happened to it since."""

from __future__ import annotations

import contextlib
import functools
import io
import random
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import seekwarc
from tests.support import foreign, strategies
from tests.support.foreign import Foreign, text
from tests.support.reading import assert_streams_back, put_contents
from tests.support.rounds import rounds
from tests.support.sources import Pipe
from tests.support.work import watchdog
from tests.support.writing import noise

Contents = list[tuple[int, bytes, bytes]]


@pytest.fixture(autouse=True)
def no_hang():
    with watchdog():
        yield


def examples(count: int) -> settings:
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
    return settings(max_examples=rounds(count), suppress_health_check=slow)


# Any layout.


@pytest.mark.slow
@examples(150)
@given(strategies.layouts(), st.data())
def test_a_range_is_a_slice_of_the_block_whatever_the_layout(made: Foreign, data: st.DataObject) -> None:
    verify = data.draw(st.booleans())
    with seekwarc.open(made.bytes(), cache_size=data.draw(st.sampled_from([0, 3000, 1 << 20]))) as archive:
        iterated = list(archive)
        assert [(record.offset, record.header.raw) for record in iterated] == [
            (put.offset, put.header) for put in made.records
        ]
        for _ in range(6):
            number = data.draw(st.integers(0, len(made.records) - 1))
            put = made.records[number]
            record = iterated[number] if data.draw(st.booleans()) else archive.record_at(put.offset)
            start = data.draw(st.integers(0, len(put.block) + 3))
            length = data.draw(st.integers(0, len(put.block) + 3))
            assert record.block.pread(start, length, verify=verify) == put.block[start : start + length]
            buffer = bytearray(length)
            count = record.block.pread_into(start, buffer, verify=verify)
            assert buffer[:count] == put.block[start : start + length]


@examples(60)
@given(strategies.layouts())
def test_reading_forward_finds_what_reading_by_range_finds(made: Foreign) -> None:
    assert_streams_back(made)
    with seekwarc.open(made.bytes()) as archive:
        assert [(record.header.raw, record.block.read()) for record in archive] == put_contents(made)


@examples(60)
@given(strategies.layouts())
def test_records_are_found_by_the_offset_and_length_of_iteration(made: Foreign) -> None:
    with seekwarc.open(made.bytes()) as archive:
        for record, put in zip(list(archive), made.records, strict=True):
            again = archive.record_at(record.offset, record.length)
            assert (again.offset, again.length) == (record.offset, record.length)
            assert (again.header.raw, again.block.read()) == (put.header, put.block)


@examples(60)
@given(strategies.layouts(), st.data())
def test_a_plan_names_the_bytes_that_are_fetched(made: Foreign, data: st.DataObject) -> None:
    put = data.draw(st.sampled_from(made.records))
    start = data.draw(st.integers(0, len(put.block)))
    stop = data.draw(st.integers(start, len(put.block)))
    with seekwarc.open(made.bytes(), cache_size=0) as archive:
        record = archive.record_at(put.offset)
        plan = record.block.plan(start, stop)
        fetched, decoded = archive.stats.bytes_fetched, archive.stats.bytes_decoded
        record.block.pread(start, stop - start)
        if record.seek_table_status != seekwarc.TableStatus.STREAM:
            # The first bytes of the record are at hand already: less may be fetched than planned, never more.
            assert archive.stats.bytes_fetched - fetched <= plan.bytes_fetched
            assert archive.stats.bytes_decoded - decoded <= plan.bytes_decoded
    assert all(put.offset <= begin <= end <= len(made.data) for begin, end in plan.ranges)


# Damage. All frames of these files have checksums, so that none of it can give wrong bytes.


@dataclass(frozen=True)
class Written:
    """A small file by seekwarc's writer, and what is in it."""

    data: bytes
    contents: Contents
    frames: list[tuple[int, int, bool]]
    """(start, stop, whether it is skippable) of every frame."""

    def sizes_of_skippable_frames(self) -> set[int]:
        """Return the positions of the bytes that say how long a skippable frame is."""
        return {start + n for start, _, skippable in self.frames if skippable for n in range(4, 8)}


def frames_of(made: bytes) -> list[tuple[int, int, bool]]:
    """List frames with the codec alone: a frame ends where it says that it is done."""
    frames = []
    position = 0
    while position < len(made):
        magic = int.from_bytes(made[position : position + 4], "little")
        if magic == 0xFD2FB528:
            decompressor = foreign.zstandard.ZstdDecompressor(
                dict_data=foreign.some_dictionary()
            ).decompressobj()
            decompressor.decompress(made[position:])
            stop = len(made) - len(decompressor.unused_data)
        else:
            stop = position + 8 + int.from_bytes(made[position + 4 : position + 8], "little")
        frames.append((position, stop, magic != 0xFD2FB528))
        position = stop
    return frames


@functools.cache
def small_file(tables: str, *, dictionary: bool = False) -> Written:
    """A warcinfo, a large HTTP response of several frames, an empty record and a small one."""
    page = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + b"<p>" * 40_000 + b"the end"
    records = [
        (foreign.warc_header(6, 0, kind="warcinfo"), b"a: b\r\n"),
        (
            foreign.warc_header(len(page), 1, kind="response").replace(
                b"text/plain", b"application/http;msgtype=response"
            ),
            page,
        ),
        (foreign.warc_header(0, 2), b""),
        (foreign.warc_header(50, 3), noise(50)),
    ]
    target = io.BytesIO()
    chosen = seekwarc.Dictionary(foreign.some_dictionary().as_bytes()) if dictionary else None
    with seekwarc.Writer(target, tables=tables, frame_size=64 << 10, threads=1, dictionary=chosen) as writer:
        written = [writer.write_raw(header, block) for header, block in records]
    found = [(w.offset, header, block) for w, (header, block) in zip(written, records, strict=True)]
    return Written(target.getvalue(), found, frames_of(target.getvalue()))


@dataclass
class Outcome:
    """What came of reading a damaged file."""

    contents: Contents
    error: Exception | None
    warned: bool


def read_all(target: bytes | Pipe, *, strict: bool = False) -> Outcome:
    """Iterate and read every block. Anything but a SeekWarcError goes through to the test."""
    found: Contents = []
    error = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with seekwarc.open(target, threads=1, strict=strict) as archive:
            try:
                for record in archive:
                    found.append((record.offset, record.header.raw, record.block.read()))
            except seekwarc.SeekWarcError as problem:
                error = problem
    assert all(issubclass(warning.category, seekwarc.FormatWarning) for warning in caught)
    return Outcome(found, error, bool(caught))


STEP = 10_000


def read_to_the_cut(target: bytes | Pipe) -> Outcome:
    """Iterate and read every block as far as that goes; an error is of the iteration, not of a block.

    A block that cannot be read to its end is told by `TruncatedError`, and only the last may be one.
    """
    found: Contents = []
    error = None
    with warnings.catch_warnings(record=True) as caught, seekwarc.open(target, threads=1) as archive:
        warnings.simplefilter("always")
        try:
            for record in archive:
                assert not any(len(block) < length for _, length, block in stated(found))
                block = bytearray()
                found.append((record.offset, record.header.raw, b""))
                with contextlib.suppress(seekwarc.TruncatedError):
                    while piece := record.block.pread(len(block), STEP):
                        block += piece
                    assert len(block) == record.content_length
                found[-1] = (record.offset, record.header.raw, bytes(block))
        except seekwarc.SeekWarcError as problem:
            error = problem
    assert all(issubclass(warning.category, seekwarc.FormatWarning) for warning in caught)
    return Outcome(found, error, bool(caught))


def stated(contents: Contents) -> list[tuple[int, int, bytes]]:
    """Return (offset, Content-Length, block) of records."""
    return [
        (offset, int(header.split(b"Content-Length: ")[1].split(b"\r\n")[0]), block)
        for offset, header, block in contents
    ]


def assert_as_far_as_it_goes(outcome: Outcome, whole: Contents, count: int, about: int) -> None:
    """Assert what holds for a file that is cut off.

    The records before the cut are there, byte for byte. The one that is cut off may come after them: then
    its header is right, its bytes are the first of its block, and nobody is left to think that it is whole.

    Args:
        outcome: From `read_to_the_cut`.
        whole: All records of the file.
        count: How many of them are whole.
        about: Where the cut is.
    """
    found = outcome.contents
    assert found[:count] == whole[:count], about
    assert len(found) <= count + 1, about
    if len(found) > count:
        assert found[-1][:2] == whole[count][:2], about
        assert whole[count][2].startswith(found[-1][2]), about
        assert outcome.warned or outcome.error, about


def suppressed() -> contextlib.suppress:
    return contextlib.suppress(seekwarc.SeekWarcError)


def left_out_in_one_place(found: Contents, whole: Contents) -> bool:
    """Tell whether `found` is `whole` without some records that stood together."""
    missing = len(whole) - len(found)
    return missing >= 0 and any(found == whole[:n] + whole[n + missing :] for n in range(len(found) + 1))


CHANGES = (0x01, 0x80, 0xFF)
"""What bytes are XORed with: the lowest bit, the highest, all of them."""


@pytest.mark.slow
@pytest.mark.parametrize("pipe", [False, True], ids=["file", "pipe"])
@pytest.mark.parametrize("dictionary", [False, True], ids=["no dictionary", "dictionary"])
@pytest.mark.parametrize("tables", ["large", "every", "none"])
def test_a_changed_byte_never_gives_wrong_bytes_unnoticed(tables: str, dictionary: bool, pipe: bool) -> None:
    """Change each byte in turn.

    Frames are checksummed, so no changed content can pass. What may go unnoticed without verifying the
    whole file, and is no more than this:

    - a change that means nothing (an unused bit, a checksum or a size in a table that nobody needs, the
      magic number of an extension frame): all records are there, byte for byte;
    - the size of a skippable frame, grown so that it swallows whole frames after it: what it swallowed
      is gone, the rest is there byte for byte. Only a skippable frame's size field can do that.
    """
    original = small_file(tables, dictionary=dictionary)
    whole = original.contents
    may_swallow = original.sizes_of_skippable_frames()
    step = 1 if not dictionary else 3
    changes = CHANGES if not pipe else CHANGES[:1]
    for position in range(0, len(original.data), step):
        # A compressed dictionary is long and one frame: its inside is looked at here and there.
        if dictionary and 60 < position < original.frames[0][1] - 20 and position % 31:
            continue
        for change in changes:
            data = bytearray(original.data)
            data[position] ^= change
            outcome = read_all(Pipe(bytes(data), seed=position) if pipe else bytes(data))
            about = f"byte {position} ^ {change:#x}"
            found = outcome.contents
            # Whatever was yielded is correct, even before an error.
            if position in may_swallow:
                assert any(left_out_in_one_place(found, whole[:n]) for n in range(len(whole) + 1)), about
            else:
                if pipe and outcome.warned and found:
                    # A pipe cannot be searched for what follows: damage may look like the end of the file.
                    assert whole[len(found) - 1][2].startswith(found.pop()[2]), about
                assert found == whole[: len(found)], about
                assert len(found) == len(whole) or outcome.error or outcome.warned, about


@pytest.mark.slow
@pytest.mark.parametrize("tables", ["large", "every"])
def test_a_changed_byte_gives_no_wrong_range_by_offset_and_length(tables: str) -> None:
    original = small_file(tables)
    offset, header, block = original.contents[1]
    stop = original.contents[2][0]
    ranges = [(0, 100), (60_000, 20_000), (len(block) - 60, 60)]
    damage = 0
    for position in range(offset, len(original.data)):
        for change in CHANGES:
            data = bytearray(original.data)
            data[position] ^= change
            with seekwarc.open(bytes(data), threads=1) as archive:
                for start, length in ranges:
                    try:
                        record = archive.record_at(offset, stop - offset)
                        assert record.header.raw == header
                        assert record.block.pread(start, length) == block[start : start + length]
                    except seekwarc.SeekWarcError:
                        damage += 1
    assert damage > 100


@pytest.mark.slow
@pytest.mark.parametrize("pipe", [False, True], ids=["file", "pipe"])
@pytest.mark.parametrize("dictionary", [False, True], ids=["no dictionary", "dictionary"])
@pytest.mark.parametrize("tables", ["large", "every", "none"])
def test_a_file_cut_anywhere_gives_the_records_before_the_cut(
    tables: str, dictionary: bool, pipe: bool
) -> None:
    """A cut between records cannot be told from a file that is whole.

    Any other is told by an error, if the file is read strictly. Otherwise the record that is cut off is read
    as far as it goes, and a warning may stand for the error.
    """
    original = small_file(tables, dictionary=dictionary)
    boundaries = {stop for _, stop, _ in original.frames}
    ends: dict[int, int] = {}
    for number, (offset, header, block) in enumerate(original.contents):
        missing = len(header) + len(block) + 4
        for start, stop, skippable in original.frames:
            if start >= offset and not skippable and missing > 0:
                content = foreign.zstandard.ZstdDecompressor(dict_data=foreign.some_dictionary()).decompress(
                    original.data[start:stop]
                )
                missing -= len(content)
                ends[number] = stop
    for stop in range(len(original.data)):
        data = original.data[:stop]
        outcome = read_all(Pipe(data, seed=stop) if pipe else data, strict=True)
        whole = sum(end <= stop for end in ends.values())
        assert outcome.contents == original.contents[:whole], stop
        assert not outcome.warned
        begun = sum(offset < stop for offset, _, _ in original.contents)
        if stop in boundaries and whole == begun:
            # A file without a record is not a WARC file.
            assert (outcome.error is None) == (whole > 0), stop
        elif not pipe or begun > whole or stop == 0:
            # A pipe has to be read to its end to learn that its last skippable frame is cut.
            assert outcome.error is not None, stop
        tolerant = read_to_the_cut(Pipe(data, seed=stop) if pipe else data)
        assert_as_far_as_it_goes(tolerant, original.contents, whole, stop)
        if stop in boundaries and whole == begun:
            assert (tolerant.error is None) == (whole > 0), stop
            assert not tolerant.warned, stop
        elif not pipe or begun > whole or stop == 0:
            assert tolerant.error is not None or tolerant.warned, stop


@pytest.mark.parametrize("pipe", [False, True], ids=["file", "pipe"])
def test_damaged_gzip_gives_no_wrong_bytes(pipe: bool) -> None:
    made = Foreign().record(b"first " * 9).record(noise(80)).record(b"third " * 5).gzip()
    whole = [(put.offset, put.header, put.block) for put in made.records]
    for position in range(len(made.data)):
        data = bytearray(made.data)
        data[position] ^= 0x41
        outcome = read_all(Pipe(bytes(data)) if pipe else bytes(data))
        if outcome.error is None:
            assert outcome.contents == whole, position
    for stop in range(len(made.data)):
        data = made.bytes()[:stop]
        outcome = read_all(Pipe(data) if pipe else data, strict=True)
        count = sum(put.stop <= stop for put in made.records)
        is_between = stop > 0 and stop in {put.stop for put in made.records}
        assert outcome.contents[:count] == whole[:count], stop
        assert (outcome.error is None) == is_between, stop
        tolerant = read_to_the_cut(Pipe(data) if pipe else data)
        assert_as_far_as_it_goes(tolerant, whole, count, stop)
        assert (tolerant.error is None and not tolerant.warned) == is_between, stop


# Bytes that are no archive.

BEGINNINGS = [
    b"",
    b"\x28\xb5\x2f\xfd",
    b"\x50\x2a\x4d\x18",
    b"\x5d\x2a\x4d\x18",
    b"\x5e\x2a\x4d\x18",
    b"\x1f\x8b\x08",
    b"WARC/1.1\r\n",
    b"WARC/1.1\r\nContent-Length: 5\r\n\r\n",
    foreign.zstd_frame(b"WARC/1.1\r\nContent-Length: 5\r\n\r\nabc"),
    foreign.zstd_frame(b"WARC/1.1\r\nContent-Length: 999999999999999999\r\n\r\nabc"),
    foreign.zstd_frame(b"WARC/1.1\r\nContent-Length: 5\r\n\r\n") + b"\x28\xb5\x2f\xfd\xa0\xff\xff\xff\xff",
    Foreign().record(b"abc", cuts=20, table=True).bytes(),
    foreign.gzip_member(b"WARC/1.1\r\nContent-Length: 5\r\n\r\nabc"),
    foreign.dictionary_frame(foreign.some_dictionary(), compressed=False),
]


@examples(400)
@given(st.sampled_from(BEGINNINGS), st.binary(max_size=200), st.integers(0, 300), st.booleans())
@example(b"", b"\x28\xb5\x2f\xfd\xe4" + b"\xff" * 40, 0, False)
@example(b"WARC/1.1\r\nContent-Length: 999999999999999999\r\n\r\n", b"", 0, False)
@example(b"WARC/1.1\r\nContent-Length: 999999999999999999\r\n\r\n", b"", 0, True)
def test_random_bytes_raise_nothing_but_seekwarc_errors(
    beginning: bytes, rest: bytes, offset: int, pipe: bool
) -> None:
    data = beginning + rest

    def read(record: seekwarc.Record) -> None:
        _ = record.http, record.body.table_status, record.length
        record.block.pread(0, 100)
        record.payload.pread(max(record.payload.size - 100, 0), 100)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", seekwarc.FormatWarning)
        with seekwarc.open(Pipe(data) if pipe else data, threads=1) as archive, suppressed():
            for record in archive:
                read(record)
        for length in (None, 50, len(data) + 1):
            with seekwarc.open(data, threads=1) as archive, suppressed():
                read(archive.record_at(offset % (len(data) + 1), length))


@pytest.mark.slow
@examples(200)
@given(st.data())
def test_frames_in_any_order_raise_nothing_but_seekwarc_errors(data: st.DataObject) -> None:
    made = data.draw(strategies.layouts())
    pieces = frames_of(made.bytes())
    order = data.draw(st.lists(st.sampled_from(pieces), max_size=10))
    spliced = b"".join(made.bytes()[start:stop] for start, stop, _ in order)
    for _, length, block in stated(read_all(spliced, strict=True).contents):
        assert len(block) == length
    outcome = read_all(spliced)
    for _, length, block in stated(outcome.contents):
        # A record that lost its end to another one's beginning ends there.
        assert len(block) == length or (len(block) < length and outcome.warned)


# Threads.


@pytest.mark.parametrize("options", [{}, {"content_size": False}, {"checksum": False}], ids=str)
@pytest.mark.parametrize("table", [None, True])
def test_threads_that_read_the_same_record_agree(options: dict, table: bool | None) -> None:
    block = text(400_000, seed=5)
    made = Foreign(options).record(b"first").record(block, cuts=30_000, table=table).record(b"last")
    with seekwarc.open(made.bytes(), cache_size=100_000, threads=2) as archive:
        record = list(archive)[1]

        def read(seed: int) -> int:
            rng = random.Random(seed)
            for _ in range(12):
                start = rng.randrange(len(block))
                length = rng.choice([10, 5000, 100_000])
                assert record.block.pread(start, length) == block[start : start + length]
            return seed

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(read, range(16))) == sum(range(16))


def test_threads_that_open_records_of_one_reader_agree() -> None:
    made = Foreign().dictionary(compressed=True)
    for number in range(20):
        made.record(text(20_000, seed=number), cuts=4000, table=number % 2 == 0)
    made.file_table()
    with seekwarc.open(made.bytes()) as archive:

        def read(number: int) -> None:
            put = made.records[number % 20]
            record = archive.record_at(put.offset, put.length if number % 3 else None)
            assert record.header.raw == put.header
            assert record.block.read() == put.block

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(read, range(100)))


def test_threads_may_iterate_one_reader_side_by_side() -> None:
    made = Foreign({"content_size": False}).record(b"first").record(text(90_000), cuts=9000).record(b"last")
    with seekwarc.open(made.bytes()) as archive:

        def read(_: int) -> list[tuple[bytes, bytes]]:
            return [(record.header.raw, record.block.read()) for record in archive]

        with ThreadPoolExecutor(6) as pool:
            assert all(found == put_contents(made) for found in pool.map(read, range(12)))


@pytest.fixture
def eager_switches():
    """Make threads take turns as often as they can, so that races show."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("eager_switches")
def test_threads_that_meet_the_dictionary_at_once_all_get_it() -> None:
    # Frames that do not name the dictionary: the first attempt is made without it.
    made = Foreign().dictionary(compressed=True, name=False)
    for number in range(8):
        made.record(text(600, seed=number))
    data = made.bytes()
    with ThreadPoolExecutor(8) as pool:
        for _ in range(60):
            with seekwarc.open(data) as archive:
                together = threading.Barrier(8)

                def read(put: foreign.Put, archive=archive, together=together) -> bytes:
                    together.wait()
                    return archive.record_at(put.offset, put.length).block.read()

                blocks = list(pool.map(read, made.records))
            assert blocks == [put.block for put in made.records]


@pytest.mark.usefixtures("eager_switches")
def test_a_record_is_readable_while_another_thread_iterates() -> None:
    made = Foreign({"content_size": False})
    for number in range(60):
        made.record(text(30_000, seed=number), cuts=10_000)
    failures: list[str] = []
    with seekwarc.open(made.bytes()) as archive, ThreadPoolExecutor(4) as pool:

        def read(record: seekwarc.Record, put: foreign.Put) -> None:
            for _ in range(100):
                start = random.randrange(30_000)
                found = record.block.pread(start, 3000)
                if found != put.block[start : start + 3000]:
                    failures.append(f"{record.offset} + {start}")

        jobs = []
        for record, put in zip(archive, made.records, strict=True):
            assert record.header.raw == put.header
            assert record.offset == put.offset
            jobs.append(pool.submit(read, record, put))
        for job in jobs:
            job.result()
    assert len(jobs) == 60
    assert not failures
