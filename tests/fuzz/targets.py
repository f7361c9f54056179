"""The fuzz targets: one function for each part that reads what others wrote.

Each takes bytes and returns nothing. It raises only for a defect: an exception that the call does not
document, or an answer that contradicts another way to the same answer.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import itertools
import os
import random
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final

import zstandard

import seekwarc
from seekwarc.check.recovering import recover
from seekwarc.check.verifying import Verifier
from seekwarc.errors import FormatError, SeekWarcError
from seekwarc.format.chunked import ChunkedBody
from seekwarc.format.header_fields import find_header_end
from seekwarc.format.http import MAX_HTTP_HEAD_SIZE, parse_http_head
from seekwarc.format.seektable import SeekTable, table_frame_size
from seekwarc.format.warc import edit_header, parse_record_header
from seekwarc.format.warc_fields import DefinedFields
from seekwarc.format.zstd import FRAME_MAGIC, measure_frame
from seekwarc.frames.codings import DecodedFile
from seekwarc.frames.dictionary import load_dictionary
from seekwarc.frames.scan import Window, frames_from
from seekwarc.read.chunked_payload import ChunkedExtent
from seekwarc.storage.local import BytesSource
from seekwarc.write.append import existing_file
from tests.support.memory import MemoryBody
from tests.support.sources import Pipe

__all__ = ["TARGETS"]

MAX_CONTENT: Final = 1 << 20
"""Bytes that are unpacked of one thing; bombs are tests/property/test_hostile.py's."""
MAX_RECORDS: Final = 30

FIELDS = (
    "WARC-Type",
    "WARC-Record-ID",
    "WARC-Date",
    "Content-Length",
    "Content-Type",
    "WARC-Concurrent-To",
    "WARC-Target-URI",
    "X-Extra",
)
TYPED = tuple(name for name, it in vars(DefinedFields).items() if isinstance(it, property))


def frames(data: bytes) -> None:
    """Walk the frames of a file, and compare with what the codec accepts as a frame."""
    found = []
    with contextlib.suppress(FormatError):
        for frame in frames_from(Window(BytesSource(data), first_read=64), 0):
            found.append(frame)
    offset = 0
    for frame in found:
        assert frame.offset == offset
        offset = frame.end
        assert frame.size >= 8
        assert offset <= len(data)
        measured = measure_frame(data, frame.offset)
        assert measured in (None, (frame.end, frame.content_size)), measured
        if frame.magic == FRAME_MAGIC:
            _compare_with_codec(data[frame.offset : frame.end], frame.content_size)
    with contextlib.suppress(FormatError):
        load_dictionary(lambda start, stop: data[start:stop], "<fuzz>", limit=MAX_CONTENT)


def _compare_with_codec(frame: bytes, stated: int | None) -> None:
    try:
        parameters = zstandard.get_frame_parameters(frame)
    except zstandard.ZstdError:
        return  # A window too large for the codec is not too large for the walker.
    assert (parameters.content_size if stated is not None else None) in (stated, 0)
    if parameters.window_size > MAX_CONTENT or len(frame) > MAX_CONTENT:
        return
    size = 0
    with contextlib.suppress(zstandard.ZstdError):
        reader = zstandard.ZstdDecompressor(max_window_size=MAX_CONTENT).stream_reader(frame + b"behind")
        while size < MAX_CONTENT and (piece := reader.read(4096)):
            size += len(piece)
        if size < MAX_CONTENT:
            decompressor = zstandard.ZstdDecompressor(max_window_size=MAX_CONTENT).decompressobj()
            decompressor.decompress(frame + b"behind")
            assert decompressor.unused_data == b"behind"


def table(data: bytes) -> None:
    """Parse a seek table, and look things up in it."""
    size = table_frame_size(data)
    bounded = table_frame_size(data, bytes_before=len(data))
    assert bounded in (None, size)
    try:
        parsed = SeekTable.parse(data)
    except FormatError:
        return
    assert size == len(data)
    again = SeekTable.parse(parsed.build())
    assert again == parsed
    assert parsed.stored_size == sum(parsed.stored_sizes)
    assert parsed.content_size == sum(parsed.content_sizes)
    with contextlib.suppress(FormatError):
        assert parsed.anchor(1 << 40) + parsed.stored_size == 1 << 40
    rng = random.Random(len(data))
    for _ in range(4):
        start, stop = sorted(rng.randint(0, parsed.content_size + 2) for _ in range(2))
        held = [parsed[index] for index in parsed.locate(start, stop)]
        if held:
            assert held[0].content_start <= start < held[0].content_stop
            assert held[-1].content_start < min(stop, parsed.content_size) <= held[-1].content_stop
        else:
            assert start == stop or start >= parsed.content_size
        if held and (
            part := parsed.part(held[0].stored_start, held[-1].content_stop - held[0].content_start)
        ):
            assert part.content_size == held[-1].content_stop - held[0].content_start


def header(data: bytes) -> None:
    """Parse a record header, its fields and what they say; take it apart and put it together."""
    end = find_header_end(data)
    try:
        parsed = parse_record_header(data if end < 0 else data[:end])
    except FormatError:
        return
    fields = parsed.fields
    assert 0 <= parsed.content_length < 10**18
    assert parsed.version
    for name in FIELDS:
        values = tuple(value for key, value in fields if key.lower() == name.lower())
        assert parsed.get_all(name) == values, (name, parsed.get_all(name), values)
        assert parsed.get(name) == (values[0] if values else None)
        _ = parsed.uri(name), parsed.text(name)
    for finding in seekwarc.check_header(parsed):
        assert str(finding)
    _look_at_typed_fields(DefinedFields(parsed))
    with contextlib.suppress(FormatError, ValueError):
        edited = edit_header(parsed, ["X-Extra"], [("X-Added", "yes")])
        if end > 0:
            assert edited.get("X-Added") == "yes"
            assert edited.get("X-Extra") is None
            assert edited.content_length == parsed.content_length


def _look_at_typed_fields(fields: DefinedFields) -> None:
    for name in TYPED:
        try:
            value = getattr(fields, name)
        except FormatError:
            continue
        if isinstance(value, seekwarc.WarcDate):
            assert seekwarc.WarcDate.parse(str(value)) == value
            with contextlib.suppress(OverflowError):
                _ = value.datetime
        elif isinstance(value, seekwarc.Digest):
            assert seekwarc.Digest.parse(str(value)) == value
            assert (value.raw is None) <= (value.hasher() is None)
            _ = value.key
        elif isinstance(value, seekwarc.MediaType):
            assert seekwarc.MediaType.parse(str(value)) == value


def http(data: bytes) -> None:
    """Parse an HTTP head, of a whole block and of the beginning of one."""
    begun, whole = parse_http_head(data), parse_http_head(data, whole=True)
    if begun is not None:
        assert whole is not None
        assert (
            whole.raw == begun.raw
            or not begun.raw.endswith((b"\n\n", b"\n\r\n"))
            or begun.start != whole.start
        )
    if whole is None:
        return
    assert whole.size <= min(len(data), MAX_HTTP_HEAD_SIZE)
    assert data[whole.start : whole.size] == whole.raw
    _ = whole.start_line, whole.reason, whole.method, whole.target
    _ = whole.content_length, whole.chunked, whole.codings
    assert (whole.status is None) != (whole.method is None)
    for name in ("Content-Type", "Set-Cookie", "Transfer-Encoding"):
        values = tuple(value for key, value in whole.headers if key.lower() == name.lower())
        assert whole.get_all(name) == values, (name, whole.get_all(name), values)


def chunks(data: bytes) -> None:
    """Undo chunked coding in one go, piece by piece, and at random."""
    found = _unchunked([data])
    rng = random.Random(len(data))
    edges = sorted(rng.randint(0, len(data)) for _ in range(5))
    assert _unchunked([data[a:b] for a, b in itertools.pairwise([0, *edges, len(data)])]) == found
    around = b"<" * 5 + data + b">" * 5
    spans = [ChunkedExtent(MemoryBody(around), 5, 5 + len(data)) for _ in range(2)]
    size = spans[0].size
    whole = data if spans[0].deviation is not None else found[0]
    assert size == len(whole)
    assert spans[0].problem is not None or found[1] or spans[0].deviation is not None or not data
    for _ in range(4):
        start = rng.randint(0, len(whole) + 1)
        length = rng.choice([1, 10, len(whole)])
        for span in spans:
            out = bytearray(length)
            count = span.pread_into(start, out)
            assert out[:count] == whole[start : start + length]
            plan = span.plan(start, start + length)
            assert (plan.bytes_fetched >= count) or not count


def _unchunked(pieces: list[bytes]) -> tuple[bytes, bool]:
    body = ChunkedBody()
    found = b"".join(bytes(part) for piece in pieces for part in body.feed(piece))
    return found, body.complete


CODINGS = (
    ["gzip"],
    ["deflate"],
    ["br"],
    ["zstd"],
    ["gzip", "zstd"],
    ["br", "deflate"],
    ["identity", "x-gzip"],
)


def codings(data: bytes) -> None:
    """Undo a content coding, which the first byte chooses, in large steps and in small ones."""
    if not data:
        return
    names = CODINGS[data[0] % len(CODINGS)]
    found = []
    for step in (64 << 10, 7):
        with DecodedFile(io.BytesIO(data[1:]), names, limit=1 << 30) as file:
            decoded, error = bytearray(), None
            try:
                while len(decoded) < 20_000 and (piece := file.read(step)):
                    decoded += piece
            except FormatError as problem:
                error = type(problem)
            found.append((bytes(decoded), error))
    (large, large_error), (small, small_error) = found
    assert large.startswith(small) or small.startswith(large)
    if max(len(large), len(small)) < 20_000:
        assert (large, large_error) == (small, small_error)


def reader(data: bytes) -> None:
    """Read a file in order, by offset, by offset and length, by ranges, and from a pipe."""
    with _quiet():
        streamed = _streamed(data)
        assert _streamed(data, pipe=True) == streamed or not data
        with seekwarc.open(data, threads=1) as archive:
            for number, record in enumerate(_until_error(archive)):
                with contextlib.suppress(SeekWarcError):
                    block = _whole(record.block)
                    if block is not None and number < len(streamed):
                        header, stated = streamed[number]
                        # Content-Length may say too much: only a file that can seek shows it in time.
                        assert record.problem or len(block) == len(stated), record.offset
                        assert (record.header.raw, block) == (header, stated[: len(block)]), record.offset
                    _ranges(record)
                    _at(data, record, block)
        with contextlib.suppress(SeekWarcError):
            for length in (1, len(data) + 1):
                with seekwarc.open(data, threads=1) as archive:
                    _ranges(archive.record_at(len(data) // 2, length))


def _streamed(data: bytes, *, pipe: bool = False) -> list[tuple[bytes, bytes]]:
    """Return header and block of each record that can be read in order."""
    found = []
    with contextlib.suppress(SeekWarcError), seekwarc.open(Pipe(data) if pipe else data) as archive:
        for record in itertools.islice(archive.in_order(), MAX_RECORDS):
            if record.content_length > MAX_CONTENT:
                break
            # All of it or nothing: only a file can be searched for what follows damage that looks like a cut.
            found.append((record.header.raw, record.block.pread(0, record.content_length)))
    return found


def _until_error(archive: seekwarc.Reader) -> Iterator[seekwarc.Record]:
    with contextlib.suppress(SeekWarcError):
        yield from itertools.islice(archive, MAX_RECORDS)


def _whole(part: seekwarc.Extent) -> bytes | None:
    """Return all bytes of a part, or None if they cannot be read or are too many."""
    with contextlib.suppress(SeekWarcError):
        return part.read() if part.size <= MAX_CONTENT else part.pread(0, 100) and None
    return None


def _ranges(record: seekwarc.Record) -> None:
    """Read ranges of block and payload, which must be slices of the whole."""
    rng = random.Random(record.offset)
    with contextlib.suppress(SeekWarcError):
        _ = record.http, record.length, record.seek_table_status, record.warc_fields
    for part in filter(None, (record.block, _payload(record))):
        whole = _whole(part)
        size = part.size
        for _ in range(3):
            start, length = rng.randint(0, min(size, MAX_CONTENT)), rng.choice([0, 1, 50, 5000])
            for verify in (True, False):
                with contextlib.suppress(SeekWarcError):
                    found = part.pread(start, length, verify=verify)
                    if whole is not None:
                        assert found == whole[start : start + length], (record.offset, start, length, verify)
        plan = part.plan(0, min(size, 100))
        assert all(begin <= end for begin, end in plan.ranges)
    with contextlib.suppress(SeekWarcError):
        record.check_digests()


def _payload(record: seekwarc.Record) -> seekwarc.Extent | None:
    with contextlib.suppress(SeekWarcError):
        _ = record.payload.size
        return record.payload
    return None


def _at(data: bytes, record: seekwarc.Record, block: bytes | None) -> None:
    if record.skip:
        return
    for length in (None, record.length):
        with seekwarc.open(data, threads=1, cache_size=0) as archive:
            again = archive.record_at(record.offset, length)
            assert again.header.raw == record.header.raw
            assert again.offset == record.offset
            found = _whole(again.block)
            if record.problem and found and block is not None:
                # Only reading in order looks where the next record begins.
                found = found[: len(block)]
            assert block is None or found in (None, block)


@cache
def _folder() -> str:
    memory = "/dev/shm"
    folder = tempfile.mkdtemp(dir=memory if os.access(memory, os.W_OK) else None)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def tools(data: bytes) -> None:
    """Verify a file, recover its intact records and verify those, and examine it for appending."""
    with _quiet():
        verifier = Verifier(data)
        for problem in verifier:
            assert problem.remedy
        found = verifier.result
        path = os.path.join(_folder(), "fuzzed")
        with open(path, "wb") as file:
            file.write(data)
        with contextlib.suppress(SeekWarcError):
            existing_file(path)
        with contextlib.suppress(SeekWarcError), seekwarc.Collection([path]) as files:
            for record in itertools.islice(files, 5):
                with contextlib.suppress(SeekWarcError):
                    _ = record.concurrent, record.refers_to, record.referring_to
                with contextlib.suppress(SeekWarcError):
                    _ = files.open_record(record).payload.pread(0, 100)
        path = os.path.join(_folder(), "saved.warc.zst")
        for partial in (False, True):
            with contextlib.suppress(SeekWarcError):
                saved = recover(io.BytesIO(data), path, partial=partial)
                assert saved.lost <= len(data)
                again = Verifier(path)
                codes = {problem.code for problem in again}
                assert codes <= {"header", "digest", "digest-transferred", "digest-unknown"}, codes
                assert again.result.records == saved.records + saved.truncated, (again.result, saved)
                if {"empty", "dictionary"}.isdisjoint(found.codes):
                    # What is no archive at first sight, or lacks its dictionary, is searched, not verified.
                    assert saved.records == found.records, (found, saved)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", seekwarc.FormatWarning)
        yield


TARGETS: Final[dict[str, Callable[[bytes], None]]] = {
    target.__name__: target for target in (frames, table, header, http, chunks, codings, reader, tools)
}
