"""Dictionaries: as values, trained, and at the head of a file."""

from __future__ import annotations

import struct
import tracemalloc

import pytest
import zstandard

from seekwarc import Dictionary
from seekwarc.errors import FormatError, FormatWarning, LimitError, TruncatedError
from seekwarc.frames.dictionary import (
    MAX_DICTIONARY_SIZE,
    StoredDictionary,
    load_dictionary,
    read_dictionary,
)
from seekwarc.storage.local import BytesSource
from seekwarc.storage.streams import PipeSource
from tests.support.foreign import (
    DICTIONARY_FRAME,
    dictionary_frame,
    skippable,
    some_dictionary,
    text,
    zstd_frame,
)
from tests.support.sources import Pipe

DATA = some_dictionary().as_bytes()


def load(data: bytes, **options: int) -> Dictionary | None:
    return load_dictionary(lambda start, stop: data[start:stop], "some.warc.zst", **options)


@pytest.mark.parametrize("compressed", [True, False])
def test_a_dictionary_is_loaded_from_the_head_of_a_file(compressed: bool) -> None:
    found = load(dictionary_frame(some_dictionary(), compressed=compressed) + zstd_frame(b"record"))
    assert found == Dictionary(DATA)
    assert found is not None
    assert found.id == 0x1234_5678
    assert found.data == DATA


@pytest.mark.parametrize("data", [b"", b"\x5d\x2a", zstd_frame(b"x"), skippable(0x184D2A5E, DATA)])
def test_a_file_without_a_dictionary_has_none(data: bytes) -> None:
    assert load(data) is None


@pytest.mark.parametrize("compress", [True, False])
def test_the_frame_that_is_written_is_the_standards(compress: bool) -> None:
    frame = Dictionary(DATA).frame(compress=compress)
    magic, size = struct.unpack_from("<II", frame)
    assert (magic, size) == (0x184D2A5D, len(frame) - 8)
    if compress:
        parameters = zstandard.get_frame_parameters(frame[8:])
        assert parameters.content_size == len(DATA)
        assert parameters.has_checksum
        assert parameters.dict_id == 0
        assert zstandard.ZstdDecompressor().decompress(frame[8:]) == DATA
        assert len(frame) < len(DATA)
    else:
        assert frame[8:] == DATA
    assert load(frame) == Dictionary(DATA)


@pytest.mark.parametrize("size", [5, 64, 4000])
def test_a_dictionary_frame_that_is_cut_is_truncated(size: int) -> None:
    frame = dictionary_frame(some_dictionary(), compressed=False)
    with pytest.raises(TruncatedError, match=r"some\.warc\.zst, offset 0"):
        load(frame[:size])


NOT_DICTIONARIES = {
    "nothing": b"",
    "something else": b"raw content is no dictionary",
    "only a magic number": b"\x37\xa4\x30\xec",
    "ID 0": b"\x37\xa4\x30\xec\0\0\0\0" + DATA[8:],
    "compressed nonsense": zstd_frame(b"raw content is no dictionary"),
    "compressed without size, and cut": zstd_frame(DATA, content_size=False)[:-5],
    "compressed without size, and damaged": zstd_frame(DATA, content_size=False)[:-1] + b"\0",
    "compressed and cut": zstd_frame(DATA)[:-100],
    "compressed and damaged": zstd_frame(DATA)[:-1] + b"\0",
    "compressed twice": zstd_frame(zstd_frame(DATA)),
    "compressed, in a frame that names a dictionary": zstd_frame(DATA, dictionary=some_dictionary()),
    "compressed, empty": zstd_frame(b""),
    "compressed, in two frames": zstd_frame(DATA[:4000]) + zstd_frame(DATA[4000:]),
    "compressed, two of them": zstd_frame(DATA) + zstd_frame(DATA),
    "compressed without size, two of them": zstd_frame(DATA, content_size=False) * 2,
    "compressed, and an empty frame": zstd_frame(DATA) + zstd_frame(b""),
    "an empty frame, and compressed": zstd_frame(b"") + zstd_frame(DATA),
    "compressed, and a skippable frame": zstd_frame(DATA) + skippable(0x184D2A50, b"padding"),
    "compressed, and one byte": zstd_frame(DATA) + b"\0",
    "compressed without size, and one byte": zstd_frame(DATA, content_size=False) + b"\0",
    "compressed without checksum, and four bytes": zstd_frame(DATA, checksum=False) + bytes(4),
    "the beginning of a frame": zstd_frame(DATA)[:5],
    "tables that are none": DATA[:8] + bytes(range(250)),
}


@pytest.mark.parametrize("data", NOT_DICTIONARIES.values(), ids=NOT_DICTIONARIES)
def test_a_dictionary_frame_without_a_dictionary_is_refused(data: bytes) -> None:
    with pytest.raises(FormatError, match=r"some\.warc\.zst, offset 0") as caught:
        load(skippable(0x184D2A5D, data))
    assert not isinstance(caught.value, TruncatedError), "the file is whole"


@pytest.mark.parametrize("content_size", [True, False])
@pytest.mark.parametrize(
    ("after", "told"),
    [(b"\0", "1 byte after"), (zstd_frame(b""), "13 bytes after")],
)
def test_what_follows_the_frame_of_a_dictionary_is_told(content_size: bool, after: bytes, told: str) -> None:
    data = zstd_frame(DATA, content_size=content_size) + after
    with pytest.raises(FormatError, match=rf"some\.warc\.zst, offset 0: .* {told} its Zstandard frame"):
        load(skippable(0x184D2A5D, data))


@pytest.mark.parametrize("compressed", [True, False])
def test_limits_hold_for_what_is_stored_and_what_it_becomes(compressed: bool) -> None:
    frame = dictionary_frame(some_dictionary(), compressed=compressed)
    assert load(frame, limit=len(DATA)) == Dictionary(DATA)
    with pytest.raises(LimitError, match=f"limit of {len(DATA) - 1}"):
        load(frame, limit=len(DATA) - 1)


@pytest.mark.parametrize("checksum", [True, False])
def test_a_compressed_dictionary_need_not_state_its_size(checksum: bool) -> None:
    frame = skippable(0x184D2A5D, zstd_frame(DATA, content_size=False, checksum=checksum))
    assert load(frame, limit=len(DATA)) == Dictionary(DATA)
    with pytest.raises(LimitError, match=f"limit of {len(DATA) - 1}"):
        load(frame, limit=len(DATA) - 1)


def test_a_dictionary_that_unpacks_without_end_is_stopped_at_the_limit() -> None:
    bomb = zstd_frame(DATA[:8] + bytes(64 << 20), content_size=False)
    tracemalloc.start()
    try:
        with pytest.raises(LimitError, match="max_dictionary_size"):
            load(skippable(0x184D2A5D, bomb))
        assert tracemalloc.get_traced_memory()[1] < 3 * MAX_DICTIONARY_SIZE
    finally:
        tracemalloc.stop()


def test_a_window_beyond_the_limit_of_a_dictionary_is_not_made_room_for() -> None:
    frame = skippable(0x184D2A5D, zstd_frame(DATA, content_size=False, window_log=27))
    with pytest.raises(LimitError, match="window of 134217728 bytes"):
        load(frame)
    assert load(frame, limit=1 << 27) == Dictionary(DATA)


def test_nothing_is_read_or_allocated_for_sizes_beyond_the_limit() -> None:
    reads = []

    def read(start: int, stop: int) -> bytes:
        reads.append(stop - start)
        return (struct.pack("<II", 0x184D2A5D, 2**32 - 1) + bytes(100))[start:stop]

    with pytest.raises(LimitError, match="4294967295"):
        load_dictionary(read, "x")
    assert max(reads) <= 8
    bomb = b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", 2**50) + b"\x01\0\0"
    with pytest.raises(LimitError, match=str(2**50)):
        load(skippable(0x184D2A5D, bomb))
    assert MAX_DICTIONARY_SIZE == 8 << 20


def test_only_dictionaries_are_dictionaries() -> None:
    for data in (b"", b"raw", DATA[1:], b"\x37\xa4\x30\xec\0\0\0\0"):
        with pytest.raises(FormatError):
            Dictionary(data)
    assert repr(Dictionary(DATA)) == f"<Dictionary 305419896, {len(DATA)} bytes>"


def test_training_makes_a_dictionary_that_helps() -> None:
    samples = [text(1500, seed=n) for n in range(300)]
    trained = Dictionary.train(samples, size=8192)
    assert len(trained.data) <= 8192
    assert 32_768 <= trained.id <= 2_147_483_647
    record = text(1500, seed=1000)
    codec = zstandard.ZstdCompressionDict(trained.data)
    helped = zstandard.ZstdCompressor(dict_data=codec).compress(record)
    assert len(helped) < len(zstd_frame(record)) * 0.9
    assert zstandard.ZstdDecompressor(dict_data=codec).decompress(helped) == record


def test_dictionaries_have_the_same_id_only_if_they_are_the_same() -> None:
    samples = [text(1000, seed=n) for n in range(100)]
    trained = [Dictionary.train(chosen, size=4096) for chosen in (samples, samples, samples[1:])]
    assert trained[0] == trained[1]
    assert trained[0].id != trained[2].id


@pytest.mark.parametrize("samples", [[], [b""], [b"one"], [b"a", b"b"]])
def test_too_few_samples_are_refused(samples: list[bytes]) -> None:
    with pytest.raises(FormatError, match=f"{len(samples)} samples"):
        Dictionary.train(samples)


# Files that have one, or are one.


def both_sources(data: bytes) -> list[BytesSource | PipeSource]:
    return [BytesSource(data, "some"), PipeSource(Pipe(data))]


@pytest.mark.parametrize("compressed", [True, False])
def test_a_dictionary_is_read_with_how_it_is_stored(compressed: bool) -> None:
    frame = dictionary_frame(some_dictionary(), compressed=compressed)
    window = len(DATA) if compressed else None
    for source in both_sources(frame + zstd_frame(b"record")):
        found = read_dictionary(source)
        assert found == StoredDictionary(Dictionary(DATA), len(frame) - 8, framed=True, window_size=window)
        assert found.keeps_limits


def test_a_file_may_be_nothing_but_a_dictionary() -> None:
    for source in both_sources(DATA):
        assert read_dictionary(source) == StoredDictionary(Dictionary(DATA), len(DATA), framed=False)


@pytest.mark.parametrize("data", NOT_DICTIONARIES.values(), ids=NOT_DICTIONARIES)
def test_what_is_no_dictionary_is_refused(data: bytes) -> None:
    for stored in (data, skippable(0x184D2A5D, data)):
        with pytest.raises(FormatError, match=r"^some, offset 0: "):
            read_dictionary(BytesSource(stored, "some"))


@pytest.mark.parametrize("data", [zstd_frame(b"WARC/1.1"), b"WARC/1.1\r\n", b"\x1f\x8b\x08\0"])
def test_a_file_without_a_dictionary_is_told_from_one_with_a_bad_one(data: bytes) -> None:
    with pytest.raises(FormatError, match="the file has no dictionary"):
        read_dictionary(BytesSource(data))
    with pytest.raises(FormatError, match="the file is not a Zstandard dictionary"):
        read_dictionary(BytesSource(b"some text"))


def test_limits_hold_for_what_is_read() -> None:
    frame = dictionary_frame(some_dictionary(), compressed=True)
    for data in (frame, DATA):
        for source in both_sources(data):
            with pytest.raises(LimitError, match="limit of 2000"):
                read_dictionary(source, max_dictionary_size=2000)
    with pytest.raises(LimitError, match=f"window of {len(DATA)} bytes, the limit is 2048"):
        read_dictionary(BytesSource(frame), max_window_size=2048)
    read_dictionary(BytesSource(frame), max_window_size=len(DATA), max_dictionary_size=len(DATA))


def test_a_dictionary_alone_takes_no_more_memory_than_it_is_long() -> None:
    large = DATA + bytes(MAX_DICTIONARY_SIZE)
    found = read_dictionary(BytesSource(large))
    assert found.stored_size == len(large)
    assert not found.keeps_limits
    with pytest.raises(LimitError, match=f"limit of {MAX_DICTIONARY_SIZE}"):
        read_dictionary(PipeSource(Pipe(large)))


def test_one_beyond_what_readers_must_support_is_written_with_a_warning() -> None:
    largest = Dictionary(DATA + bytes(MAX_DICTIONARY_SIZE - len(DATA)))
    largest.frame()
    with pytest.warns(FormatWarning, match=f"{MAX_DICTIONARY_SIZE + 1} bytes"):
        Dictionary(largest.data + b"x").frame()


@pytest.mark.parametrize("tables", [b"", bytes(range(250)), bytes(300)])
def test_a_damaged_dictionary_is_not_written(tables: bytes) -> None:
    with pytest.raises(FormatError, match="damaged"):
        Dictionary(DATA[:8] + tables).frame()


def test_a_window_that_no_decoder_takes_gets_no_advice_to_raise_a_limit() -> None:
    content = b"\x28\xb5\x2f\xfd\0\xff" + (8 << 3 | 1).to_bytes(3, "little") + bytes(8)
    with pytest.raises(LimitError, match=r"and no decoder takes more than 2147483648$"):
        read_dictionary(BytesSource(skippable(DICTIONARY_FRAME, content)))
