"""Arrays in records: slices read the blocks that they touch, and hostile chunks are refused."""

from __future__ import annotations

import io
import random
import struct
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

import seekwarc
from seekwarc.errors import FormatError, LimitError, RangeError, SeekWarcError, TruncatedError
from seekwarc.read.extent import Extent
from tests.support.extras import package
from tests.support.sources import RecordingSource

np = package("numpy")
blosc2 = package("blosc2")
compat = package("seekwarc.compat.blosc2")

ITEMS = np.cumsum(np.random.default_rng(1).integers(0, 50, 250_001)).astype("<i4")
RAW = ITEMS.tobytes()
ARRAY = np.random.default_rng(2).random((400, 50, 100)).astype("f4")
URI = "http://example.org/a.b2nd"


def chunk_of(
    data: np.ndarray,
    codec: blosc2.Codec = blosc2.Codec.ZSTD,
    filters: tuple[blosc2.Filter, ...] = (),
    **more: object,
) -> bytes:
    pipeline = [*filters, *[blosc2.Filter.NOFILTER] * (6 - len(filters))]
    options = {"typesize": data.itemsize, "blocksize": 16_384, "filters_meta": [0] * 6, **more}
    return blosc2.compress2(data, codec=codec, filters=pipeline, **options)


class Payload:
    """Bytes as an extent has them, which counts what is read."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size = len(data)
        self.count = 0

    def pread(self, start: int, length: int) -> bytes:
        found = self.data[start : start + length]
        self.count += len(found)
        return found


# Frames.


@pytest.fixture(scope="module")
def stored() -> bytes:
    """Return an archive with an array of 8 MB in chunks of 200 KB."""
    frame = blosc2.asarray(ARRAY, chunks=(10, 50, 100), blocks=(1, 50, 100)).to_cframe()
    file = io.BytesIO()
    with seekwarc.open(file, "w") as out:
        out.write_resource("http://example.org/before", b"before", "text/plain")
        head = {"Content-Type": "application/octet-stream"}
        out.write_response(URI, frame, status=200, http_headers=head, date="2026-11-16T06:00:00Z")
        plain = blosc2.SChunk(chunksize=40_000, data=ITEMS, cparams={"typesize": 4}).to_cframe()
        out.write_resource("http://example.org/plain.b2frame", plain, "application/octet-stream")
        out.write_resource("http://example.org/chunk", chunk_of(ITEMS), "application/octet-stream")
    return file.getvalue()


@pytest.fixture
def archive(stored: bytes) -> Iterator[tuple[seekwarc.Reader, RecordingSource]]:
    source = RecordingSource(stored)
    with seekwarc.open(source, threads=1) as reader:
        yield reader, source


def payload_of(reader: seekwarc.Reader, uri: str = URI) -> Extent:
    return next(reader.records(uri=uri)).payload


def test_a_slice_of_an_array_reads_what_it_touches(archive: tuple[seekwarc.Reader, RecordingSource]) -> None:
    reader, source = archive
    payload = payload_of(reader)
    source.forget()
    origin = compat.source(payload)
    array = blosc2.Proxy(origin)
    assert np.array_equal(array[123, 7, 5:9], ARRAY[123, 7, 5:9])
    assert origin.traffic.nbytes < payload.size / 10
    assert source.bytes_asked < payload.size / 5


def test_an_array_opens_without_more_ado(archive: tuple[seekwarc.Reader, RecordingSource]) -> None:
    array = compat.open(payload_of(archive[0]))
    assert (array.shape, array.dtype) == (ARRAY.shape, ARRAY.dtype)
    assert np.array_equal(array[-3:, ::7, 50], ARRAY[-3:, ::7, 50])
    assert np.array_equal(array[:], ARRAY)


def test_what_is_no_array_is_refused(archive: tuple[seekwarc.Reader, RecordingSource]) -> None:
    with pytest.raises(NotImplementedError, match="plain SChunk"):
        compat.open(payload_of(archive[0], "http://example.org/plain.b2frame"))
    with pytest.raises(ValueError, match="not a Blosc2 contiguous frame"):
        compat.open(payload_of(archive[0], "http://example.org/before"))


def test_blosc2_opens_the_url_of_a_record(stored: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    path.write_bytes(stored)
    source = RecordingSource(stored)
    array = blosc2.open(f"warc://{URI}", storage_options={"fo": source})
    source.forget()
    assert np.array_equal(array[300, 7, 5:9], ARRAY[300, 7, 5:9])
    assert source.bytes_asked < len(stored) / 4
    # The chained form is read lazily only where that is said.
    chained = blosc2.open(f"warc://{URI}::file://{path.as_posix()}", mode="r", lazy=True)
    assert np.array_equal(chained[300, 7, 5:9], ARRAY[300, 7, 5:9])


# Bare chunks.


@pytest.mark.parametrize("codec", ["BLOSCLZ", "LZ4", "LZ4HC", "ZLIB", "ZSTD"])
@pytest.mark.parametrize(
    "filters", [(), ("SHUFFLE",), ("BITSHUFFLE",), ("DELTA",), ("DELTA", "SHUFFLE")], ids="+".join
)
def test_any_range_of_a_chunk_is_what_it_holds(codec: str, filters: tuple[str, ...]) -> None:
    chance = random.Random(f"{codec}{filters}")
    pipeline = tuple(blosc2.Filter[it] for it in filters)
    for split in (blosc2.SplitMode.ALWAYS_SPLIT, blosc2.SplitMode.NEVER_SPLIT):
        data = chunk_of(ITEMS, blosc2.Codec[codec], pipeline, splitmode=split)
        chunk = compat.BareChunk(Payload(data))
        assert chunk.size == len(RAW)
        for length in (1, 7, 20_000, 300_000, 0):
            start = chance.randrange(len(RAW))
            assert chunk.pread(start, length) == RAW[start : start + length]
        assert chunk.pread(len(RAW) - 3, 10) == RAW[-3:]
        assert chunk.pread(len(RAW), 10) == b""
    assert chunk.pread(0, 1 << 40) == RAW
    with pytest.raises(RangeError):
        chunk.pread(-1, 5)


def test_a_chunk_with_a_dictionary_is_decoded() -> None:
    chunk = compat.BareChunk(Payload(chunk_of(ITEMS, use_dict=True)))
    assert chunk.header.has_dictionary
    assert chunk.pread(500_000, 40_000) == RAW[500_000:540_000]


def test_a_range_reads_the_header_and_its_blocks() -> None:
    data = chunk_of(ITEMS, filters=(blosc2.Filter.SHUFFLE,))
    payload = Payload(data)
    chunk = compat.BareChunk(payload)
    assert chunk.pread(500_000, 100) == RAW[500_000:500_100]
    assert payload.count < 32 + 4 * chunk.header.blocks + len(data) / 20
    assert chunk.header.blocks == 62


def test_a_chunk_without_blocks_is_filled() -> None:
    for array in (
        blosc2.zeros(1000, dtype="f8"),
        blosc2.full(1000, 3.5, dtype="f8"),
        blosc2.full(999, np.nan, dtype="f4"),
    ):
        data = array.schunk.get_chunk(0)
        chunk = compat.BareChunk(Payload(data))
        assert chunk.header.special
        assert chunk.pread(3, 50) == blosc2.decompress2(data)[3:53]
    noise = np.random.default_rng(3).bytes(100_000)
    chunk = compat.BareChunk(Payload(blosc2.compress2(noise, typesize=1, clevel=0)))
    assert chunk.header.is_copied
    assert chunk.pread(5, 10) == noise[5:15]


def test_a_gigabyte_that_is_not_there_is_not_allocated() -> None:
    zeros = struct.pack("<BBBBiii", 5, 1, 0x85, 4, 2**31 - 4, 1 << 20, 32) + bytes(15) + b"\x10"
    chunk = compat.BareChunk(Payload(zeros))
    assert chunk.pread(2**31 - 10, 100) == bytes(6)
    filled = struct.pack("<BBBBiii", 5, 1, 0x85, 4, 2**31 - 4, 1 << 20, 36) + bytes(15) + b"\x30abcd"
    chunk = compat.BareChunk(Payload(filled))
    tracemalloc.start()
    assert chunk.pread(2**31 - 10, 100) == b"cdabcd"
    assert chunk.pread(2**31 - 10, 3) == b"cda"
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()
    huge_block = struct.pack("<BBBBiii", 5, 1, 0x85, 4, 1 << 29, 500 << 20, 100) + bytes(84)
    with pytest.raises(LimitError, match="max_block_size"):
        compat.BareChunk(Payload(huge_block))
    with pytest.raises(FormatError, match="outside of it"):
        compat.BareChunk(Payload(huge_block), max_block_size=1 << 30).pread(0, 1)


def test_blocks_outside_of_the_chunk_are_refused() -> None:
    data = bytearray(chunk_of(ITEMS))
    for start in (-1, 0, 31, len(data), 2**31 - 1):
        data[32:36] = struct.pack("<i", start)
        with pytest.raises(FormatError, match="outside of it"):
            compat.BareChunk(Payload(bytes(data))).pread(100_000, 1)


def test_blocks_that_share_a_place_cost_no_more_than_others() -> None:
    count = 60_000
    begin = struct.pack("<i", 32 + 4 * count) * count
    size = 32 + 4 * count + (4 << 20)
    head = struct.pack("<BBBBiii", 5, 1, 0x95, 4, 16 * count, 16, size) + bytes(16)
    payload = Payload(head + begin + bytes(4 << 20))
    chunk = compat.BareChunk(payload)
    assert len(chunk.pread(0, chunk.size)) == chunk.size
    assert payload.count < 2 * size


def test_a_chunk_that_is_cut_off_is_refused() -> None:
    data = chunk_of(ITEMS)
    for length in (0, 10, 31, 100, len(data) - 1):
        with pytest.raises(TruncatedError):
            compat.BareChunk(Payload(data[:length]))


def test_any_damage_is_an_error_or_other_bytes() -> None:
    chance = random.Random(5)
    intact = [
        chunk_of(ITEMS[:20_000], codec, (blosc2.Filter.DELTA, blosc2.Filter.SHUFFLE), blocksize=4_096)
        for codec in (blosc2.Codec.ZSTD, blosc2.Codec.LZ4, blosc2.Codec.BLOSCLZ)
    ]
    refused = 0
    for _ in range(400):
        data = bytearray(chance.choice(intact))
        for _ in range(chance.randint(1, 3)):
            data[chance.randrange(chance.choice([16, 32, 120, len(data)]))] = chance.randrange(256)
        try:
            chunk = compat.BareChunk(Payload(bytes(data)))
            start, length = chance.randrange(max(chunk.size, 1)), chance.choice([1, 100, 50_000])
            assert len(chunk.pread(start, length)) == min(length, chunk.size - start)
        except SeekWarcError:
            refused += 1
    assert 100 < refused < 400


def test_a_chunk_in_an_archive_is_read_by_range(archive: tuple[seekwarc.Reader, RecordingSource]) -> None:
    chunk = compat.BareChunk(payload_of(archive[0], "http://example.org/chunk"))
    assert chunk.pread(500_000, 100) == RAW[500_000:500_100]
    with pytest.raises(FormatError):
        compat.BareChunk(payload_of(archive[0]))
