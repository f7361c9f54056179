"""How records are cut into frames, whatever the number of threads, the kind of source, and failures."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import seekwarc
from tests.support.writing import (
    HTTP_HEAD,
    KIB,
    MIB,
    RESPONSE,
    URI,
    FailingFile,
    Stream,
    WriteOnly,
    header_for,
    noise,
    plain,
    small_dictionary,
    text,
    walk,
    written,
)

FRAME = 64 * KIB
SMALL = {"block": b"small", "content_type": "text/plain"}
MODES = ("large", "every", "none")


def sizes(data: bytes) -> list[int]:
    return [len(frame.content) for frame in walk(data) if frame.is_data]


# Small records.


class Interrupted(io.BytesIO):
    """Raises `KeyboardInterrupt` in one of the calls that write to it, after half of the bytes."""

    writes = 0
    fails = -1

    def write(self, data: Any) -> int:
        self.writes += 1
        if self.writes == self.fails:
            super().write(memoryview(data)[: len(data) // 2])
            raise KeyboardInterrupt
        return super().write(data)


@pytest.mark.parametrize("more", [0, 5])
def test_an_interrupted_batch_is_placed_once_even_if_it_has_grown(more: int) -> None:
    target = Interrupted()
    with seekwarc.open(target, "w", threads=1) as out:
        places = [out.write("resource", target_uri=URI, **SMALL) for _ in range(20)]
        target.fails = target.writes + 1
        with pytest.raises(KeyboardInterrupt):
            out.flush()
        places += [out.write("resource", target_uri=URI, **SMALL) for _ in range(more)]
    with seekwarc.open(target.getvalue()) as archive:
        found = [(record.id, record.offset, record.length) for record in archive]
    assert found == [(it.id, it.offset, it.length) for it in places]


# Frame sizes.


@pytest.mark.parametrize(
    ("make", "frames"),
    [
        (lambda: text(5 * MIB), [MIB, MIB, MIB, MIB, MIB + 4]),
        (lambda: noise(3 * MIB + 12_345), [128 * KIB] * 24 + [12_345 + 4]),
        (lambda: text(MIB) + noise(MIB) + text(MIB, seed=1) + noise(100), [MIB, *[128 * KIB] * 8, MIB, 104]),
    ],
    ids=["compressible", "incompressible", "chunk by chunk"],
)
def test_frames_are_smaller_where_data_does_not_compress(
    make: Callable[[], bytes], frames: list[int]
) -> None:
    block = make()
    data, _ = written((header_for(0), b""), (header_for(len(block)), block))
    assert sizes(data)[2:] == frames


@pytest.mark.parametrize("size", [2 * MIB, MIB + 128 * KIB])
def test_the_trailer_never_has_a_frame_to_itself(size: int) -> None:
    block = noise(size)
    data, _ = written((header_for(0), b""), (header_for(size), block))
    assert sizes(data)[-1] > 4


def test_incompressible_frames_cost_next_to_nothing() -> None:
    block = noise(8 * MIB)
    data, _ = written((header_for(0), b""), (header_for(len(block)), block))
    assert len(data) < len(block) * 1.0005 + 1000


@pytest.mark.slow
@pytest.mark.parametrize("tables", MODES)
@pytest.mark.parametrize("size", [8 * MIB - 4, 8 * MIB, 16 * MIB, 16 * MIB + 1])
@pytest.mark.parametrize("make", [text, noise])
def test_no_frame_holds_more_than_8_mib(tables: str, size: int, make: Any) -> None:
    record = (header_for(size), make(size))
    data, _ = written(record, record, tables=tables, frame_size=8 * MIB, level=1)
    frames = walk(data)
    assert max(len(frame.content) for frame in frames) <= 8 * MIB
    assert b"".join(frame.content for frame in frames) == plain(record, record)


def test_a_payload_of_8_mib_frames_stays_on_their_boundaries() -> None:
    payload = text(16 * MIB)
    record = (header_for(len(HTTP_HEAD) + len(payload), content_type=RESPONSE), HTTP_HEAD + payload)
    data, _ = written((header_for(0), b""), record, frame_size=8 * MIB, level=1)
    starts, position = [], -len(record[0]) - len(HTTP_HEAD)
    for size in sizes(data)[1:]:
        starts.append(position)
        position += size
    assert {0, 8 * MIB} <= set(starts)


def test_a_long_header_that_does_not_compress_is_still_one_frame() -> None:
    # Bytes that are not UTF-8 come as surrogates; such headers exist, and must be copied as they are.
    value = noise(300 * KIB).translate(None, b"\r\n\0 \t").decode("utf-8", "surrogateescape")
    header = header_for(200_000, ("X-Noise", value))
    data, _ = written((header_for(0), b""), (header, text(200_000)), frame_size=FRAME)
    assert walk(data)[1].content == header


def test_an_incompressible_merged_first_frame_is_one_frame() -> None:
    block = noise(2 * MIB)
    header = header_for(len(block))
    data, _ = written((header, block), (header_for(0), b""))
    first = walk(data)[0]
    assert first.content.startswith(header)
    lead = len(first.content) - len(header)
    # Behind it the frames are on the grid of the block again.
    assert sizes(data)[1] in (128 * KIB, 128 * KIB - lead % (128 * KIB))


# The file does not depend on how it came to be.


def assorted() -> list[Any]:
    chance = random.Random(5)
    records: list[Any] = []
    for number in range(60):
        size = chance.choice([0, 10, 3000, FRAME - 1, FRAME, FRAME + 1, 3 * FRAME, 300_000])
        make = chance.choice([text, noise])
        block = make(size, number % 3)
        if number % 4 == 0:
            records.append({"type": "response", "content_type": RESPONSE, "block": HTTP_HEAD + block})
        elif number % 4 == 1:
            records.append((header_for(size), block))
        else:
            records.append({"block": block, "content_type": "text/plain"})
    return records


@pytest.mark.parametrize("tables", MODES)
@pytest.mark.parametrize("with_dictionary", [False, True])
def test_the_number_of_threads_does_not_change_the_file(tables: str, with_dictionary: bool) -> None:
    dictionary = small_dictionary() if with_dictionary else None
    files, places = [], []
    for threads in (1, 2, 4):
        data, done = written(
            *assorted(), tables=tables, threads=threads, frame_size=FRAME, dictionary=dictionary
        )
        files.append(data)
        places.append([(one.offset, one.length) for one in done])
    assert files[0] == files[1] == files[2]
    assert places[0] == places[1] == places[2]


@pytest.mark.one_in(5)
@pytest.mark.parametrize("size", [0, 1, FRAME - 1, FRAME, FRAME + 1, 4 * FRAME, 300_001])
@pytest.mark.parametrize("make", [text, noise])
@pytest.mark.parametrize("digest", ["sha1", None])
@pytest.mark.parametrize("first", [True, False])
def test_the_kind_of_source_does_not_change_the_file(size: int, make: Any, digest: Any, first: bool) -> None:
    block = HTTP_HEAD + make(size)
    for content_type in ("text/plain", RESPONSE):
        before = [] if first else [SMALL]
        fixed = {"content_type": content_type, "type": "response"}
        sources = [
            {"block": block},
            {"block": block, "length": len(block)},
            {"block": bytearray(block)},
            {"block": memoryview(block)},
            {"block": io.BytesIO(block)},
            {"block": io.BytesIO(block), "length": len(block)},
            {"block": Stream(block)},
            {"block": Stream(block, most=777), "length": len(block)},
        ]
        files = {
            written(*before, {**fixed, **source}, SMALL, frame_size=FRAME, digest=digest)[0]
            for source in sources
        }
        assert len(files) == 1


@pytest.mark.parametrize("make", [text, noise])
def test_merged_first_frames_are_the_same_for_any_source(make: Any) -> None:
    """At the default frame size the first 128 KiB of the block are in the header's frame."""
    block = make(3 * MIB)
    files = {
        written({**source, "content_type": "text/plain"}, SMALL, digest=None)[0]
        for source in (
            {"block": block},
            {"block": block, "length": len(block)},
            {"block": Stream(block)},
        )
    }
    assert len(files) == 1


def test_raw_records_from_bytes_and_from_pipes_are_the_same() -> None:
    block = text(500_000)
    header = header_for(len(block))
    files = {
        written((header, source), SMALL, frame_size=FRAME)[0]  # type: ignore[arg-type]
        for source in (block, io.BytesIO(block), Stream(block), io.BytesIO(block + b"what follows"))
    }
    assert len(files) == 1


def test_a_raw_record_takes_no_more_of_a_stream_than_its_length() -> None:
    stream = io.BytesIO(text(200_000) + b"next")
    written((header_for(200_000), stream), frame_size=FRAME)  # type: ignore[arg-type]
    assert stream.read() == b"next"


def test_the_trailer_of_a_raw_record_is_asked_after_its_block() -> None:
    stream = io.BytesIO(text(200_000) + b"\r\n\r\n")
    target = io.BytesIO()
    with seekwarc.Writer(target, frame_size=FRAME) as writer:
        writer.write_raw(header_for(200_000), stream, trailer=lambda: stream.read(4))
    frames = [frame for frame in walk(target.getvalue()) if frame.is_data]
    assert b"".join(frame.content for frame in frames).endswith(b"\r\n\r\n")
    assert stream.read() == b""


# Failing sources.


SHORT = [
    pytest.param(lambda block: {"block": io.BytesIO(block), "length": len(block) + 1}, id="file"),
    pytest.param(lambda block: {"block": Stream(block), "length": len(block) + 1}, id="pipe"),
    pytest.param(lambda block: {"block": block, "length": len(block) + 1}, id="bytes"),
]


@pytest.mark.parametrize("short", SHORT)
@pytest.mark.parametrize("digest", ["sha1", None])
@pytest.mark.parametrize("size", [100, 500_000])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_short_source_is_an_error_and_leaves_no_record(
    short: Any, digest: Any, size: int, threads: int
) -> None:
    target, expected = io.BytesIO(), io.BytesIO()
    options = {"frame_size": FRAME, "digest": digest, "threads": threads}
    fixed = {"date": "2026-01-01T00:00:00Z", "record_id": "urn:x:1"}
    with seekwarc.Writer(target, **options) as writer, seekwarc.Writer(expected, **options) as other:
        for each in (writer, other):
            each.write("resource", target_uri=URI, block=text(200_000), **fixed)
            each.write("resource", target_uri=URI, block=b"small", **fixed)
        with pytest.raises(seekwarc.FormatError, match=f"ended after {size} bytes"):
            writer.write("resource", target_uri=URI, **short(text(size)))
        for each in (writer, other):
            each.write("resource", target_uri=URI, block=noise(200_000), **fixed)
            each.write("resource", target_uri=URI, block=b"small", **fixed)
    assert target.getvalue() == expected.getvalue()


@pytest.mark.parametrize("size", [100, 500_000])
@pytest.mark.parametrize("by_path", [True, False])
def test_a_short_raw_record_is_rolled_back(size: int, by_path: bool, tmp_path: Any) -> None:
    path = tmp_path / "a.warc.zst"
    expected = written((header_for(5), b"small"), (header_for(9), b"the other"), frame_size=FRAME)[0]
    file = io.BytesIO()
    with seekwarc.Writer(path if by_path else file, frame_size=FRAME) as writer:
        writer.write_raw(header_for(5), b"small")
        with pytest.raises(seekwarc.FormatError):
            writer.write_raw(header_for(size + 1), io.BytesIO(noise(size)))
        writer.write_raw(header_for(9), b"the other")
    assert (path.read_bytes() if by_path else file.getvalue()) == expected


@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize("stream", [FailingFile, lambda data, after: Stream(data, fails_after=after)])
def test_an_exception_of_the_stream_leaves_no_record(raw: bool, stream: Any) -> None:
    expected = written((header_for(5), b"small"), (header_for(9), b"the other"), frame_size=FRAME)[0]
    target = io.BytesIO()
    with seekwarc.Writer(target, frame_size=FRAME) as writer:
        writer.write_raw(header_for(5), b"small")
        source = stream(text(MIB), 600_000)
        write = (
            partial(writer.write_raw, header_for(MIB))
            if raw
            else partial(writer.write, "resource", target_uri=URI)
        )
        with pytest.raises(ConnectionResetError):
            write(block=source)
        writer.write_raw(header_for(9), b"the other")
    assert target.getvalue() == expected


def test_after_a_failed_first_record_the_next_one_is_first() -> None:
    block = text(200_000)
    expected = written((header_for(len(block)), block), frame_size=FRAME)[0]
    target = io.BytesIO()
    with seekwarc.Writer(target, frame_size=FRAME) as writer:
        with pytest.raises(seekwarc.FormatError):
            writer.write_raw(header_for(MIB), io.BytesIO(block))
        writer.write_raw(header_for(len(block)), block)
    assert target.getvalue() == expected


def test_a_pipe_cannot_roll_back_so_it_takes_no_more_records() -> None:
    target = WriteOnly()
    writer = seekwarc.Writer(target, frame_size=FRAME)
    writer.write("resource", target_uri=URI, block=b"small")
    with pytest.raises(seekwarc.FormatError):
        writer.write_raw(header_for(MIB), io.BytesIO(text(500_000)))
    with pytest.raises(seekwarc.SeekWarcError, match="cannot be cut back"):
        writer.write("resource", target_uri=URI, block=b"small")
    with pytest.raises(seekwarc.SeekWarcError, match="cannot be cut back"):
        writer.close()


def test_a_record_that_fails_in_the_spool_leaves_a_pipe_usable() -> None:
    target = WriteOnly()
    with seekwarc.Writer(target, frame_size=FRAME) as writer:
        writer.write("resource", target_uri=URI, block=b"small")
        with pytest.raises(seekwarc.FormatError):
            writer.write("resource", target_uri=URI, block=Stream(text(500_000)), length=MIB)
        writer.write("resource", target_uri=URI, block=b"small")
    with seekwarc.open(bytes(target.data)) as archive:
        assert [record.block.read() for record in archive] == [b"small", b"small"]


@pytest.mark.parametrize("size", [10, 3_000_000])
@pytest.mark.parametrize("end", ["\r\n\r\n", None, bytearray(b"\r\n\r\n")])
def test_a_trailer_that_is_not_bytes_rolls_the_record_back(size: int, end: object) -> None:
    out = io.BytesIO()
    with seekwarc.open(out, "w") as writer:
        with pytest.raises(TypeError, match="the trailer function must return bytes, not"):
            writer.write_raw(header_for(size), text(size), trailer=lambda: end)
        writer.write_raw(header_for(5), b"after")
    with seekwarc.open(out.getvalue()) as archive:
        assert [record.block.read() for record in archive] == [b"after"]


def test_a_failing_trailer_rolls_the_record_back() -> None:
    def trailer() -> bytes:
        raise ConnectionResetError

    expected = written((header_for(5), b"small"))[0]
    for size in (10, 300_000):
        target = io.BytesIO()
        with seekwarc.Writer(target, frame_size=FRAME) as writer:
            with pytest.raises(ConnectionResetError):
                writer.write_raw(header_for(size), text(size), trailer=trailer)
            writer.write_raw(header_for(5), b"small")
        assert target.getvalue() == expected


# Places.


@pytest.mark.parametrize("tables", MODES)
@pytest.mark.parametrize("with_dictionary", [False, True])
def test_offsets_and_lengths_are_those_that_a_reader_finds(tables: str, with_dictionary: bool) -> None:
    dictionary = small_dictionary() if with_dictionary else None
    data, places = written(*assorted(), tables=tables, frame_size=FRAME, dictionary=dictionary)
    with seekwarc.open(data) as archive:
        found = [(record.offset, record.length, record.id) for record in archive]
    assert found == [(one.offset, one.length, one.id) for one in places]


@pytest.mark.parametrize("tables", MODES)
@pytest.mark.parametrize("size", [0, 5, FRAME, FRAME + 1, 300_000])
def test_an_only_record_has_the_length_that_a_reader_finds(tables: str, size: int) -> None:
    data, (place,) = written((header_for(size), text(size)), tables=tables, frame_size=FRAME)
    with seekwarc.open(data) as archive:
        (record,) = archive
        assert (record.offset, record.length) == (place.offset, place.length)
        record = archive.record_at(0)
        assert (record.offset, record.length) == (place.offset, place.length)


def test_an_offset_is_known_before_the_file_is_closed() -> None:
    target = io.BytesIO()
    with seekwarc.Writer(target, frame_size=FRAME, threads=2) as writer:
        one = writer.write("resource", target_uri=URI, block=b"small")
        two = writer.write("resource", target_uri=URI, block=text(300_000))
        three = writer.write("resource", target_uri=URI, block=b"small")
        assert one.offset == 0
        assert two.offset == one.length
        assert three.offset == two.offset + two.length
        with seekwarc.open(target.getvalue()) as archive:
            assert len(list(archive)) == 3


def test_the_offset_of_a_record_never_written_is_an_error() -> None:
    for threads in (1, 2):
        writer = seekwarc.Writer(io.BytesIO(), threads=threads)
        place = writer.write("resource", target_uri=URI, block=b"small")
        writer.abort()
        with pytest.raises(seekwarc.SeekWarcError, match="was not written"):
            _ = place.offset
