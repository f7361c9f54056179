"""Files made of other files, taken apart frame by frame and held against the specification."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterable
from dataclasses import dataclass, field

import zstandard

from tests.support.foreign import Foreign
from tests.support.writing import (
    DICTIONARY_FRAME_MAGIC,
    FOOTER_MAGIC,
    StoredFrame,
    content_of,
    entries_of,
    table_entries,
    walk,
)

MIN_FRAME_SIZE = 64 << 10
"""A record with no more in its block is small, whatever frames the file has."""
MAX_CONTENT = 8 << 20


@dataclass
class FoundRecord:
    """A record as its frames show it."""

    header: bytes = field(repr=False)
    size: int
    frames: list[StoredFrame] = field(repr=False)
    """From its first frame with content to its last."""
    following: list[StoredFrame] = field(default_factory=list, repr=False)
    """Extension frames up to the next record, its table among them."""

    @property
    def offset(self) -> int:
        return self.frames[0].offset

    @property
    def data_frames(self) -> list[StoredFrame]:
        return [frame for frame in self.frames if frame.is_data]

    @property
    def block(self) -> bytes:
        return content_of(self.frames)[len(self.header) : -4]

    @property
    def extensions(self) -> list[bytes]:
        """Extension frames in the record and after it that are not seek tables."""
        return [f.data for f in [*self.frames, *self.following] if not f.is_data and not is_seek_table(f)]


def is_seek_table(frame: StoredFrame) -> bool:
    """Tell a seek table from other skippable frames with its magic number."""
    return frame.is_table and frame.size >= 17 and frame.data.endswith(FOOTER_MAGIC.to_bytes(4, "little"))


def records_in(data: bytes, dictionary: bytes | None = None) -> list[FoundRecord]:
    """Take a file apart by what its frames hold; every record must begin a frame and end one."""
    return records_of(walk(data, dictionary))


def records_of(frames: Iterable[StoredFrame]) -> list[FoundRecord]:
    found: list[FoundRecord] = []
    begun: list[StoredFrame] = []
    header, size = b"", None
    for frame in frames:
        if not (begun or frame.is_data):
            if found:
                found[-1].following.append(frame)
            continue
        begun.append(frame)
        if size is None:
            header += frame.content
            end = header.find(b"\r\n\r\n") + 4
            if end < 4:
                continue
            header = header[:end]
            size = end + int(header.lower().split(b"content-length:")[1].split(b"\r\n")[0]) + 4
        length = sum(len(one.content) for one in begun)
        assert length <= size, f"the frame at {frame.offset} holds more than the record"
        if length == size:
            found.append(FoundRecord(header, size, begun))
            begun, header, size = [], b"", None
    assert not begun
    return found


def assert_right(data: bytes, *, tables: str = "large", dictionary: bytes | None = None) -> list[FoundRecord]:
    """Assert that a file is what the standard and spec-notes say, and return its records."""
    frames = walk(data, dictionary)
    dictionary_id = zstandard.ZstdCompressionDict(dictionary).dict_id() if dictionary else 0
    assert frames[0].is_data if dictionary is None else frames[0].magic == DICTIONARY_FRAME_MAGIC
    assert all(frame.magic != DICTIONARY_FRAME_MAGIC for frame in frames[1:])
    for frame in frames:
        if frame.is_data:
            assert frame.content, "a frame without content"
            assert frame.stated_size == len(frame.content)
            assert frame.has_checksum
            assert frame.trailer == frame.checksum
            assert frame.dictionary_id == dictionary_id
    records = records_of(frames)
    assert all(not is_seek_table(frame) for record in records for frame in record.frames)
    last = frames[-1]
    file_table = None
    if tables == "large":
        assert is_seek_table(last)
        assert table_entries(last) == entries_of(frames[:-1])
        # A single large record's own table serves as the file's.
        single = len(records) == 1 and records[0].offset == 0 and len(records[0].data_frames) > 1
        if not (single and records[0].following == [last]):
            file_table = last
    for number, record in enumerate(records):
        own = [frame for frame in record.following if is_seek_table(frame) and frame is not file_table]
        count = len(record.data_frames)
        assert len(own) == (1 if tables == "every" or count > 1 else 0)
        if own:
            assert own == record.following[:1], "the table directly follows the last frame"
            assert table_entries(own[0]) == entries_of(record.frames)
        if tables == "every":
            bare = record.header if len(record.block) else record.header + b"\r\n\r\n"
            assert record.frames[0].content == bare
        else:
            if len(record.block) <= MIN_FRAME_SIZE:
                assert count == 1, "a small record in several frames"
            if number == 0 and count > 1:
                assert len(record.frames[0].content) > len(record.header)
    return records


def decompressed(data: bytes, dictionary: bytes | None = None) -> bytes:
    """Everything that a file decompresses to, by the libraries that everybody has."""
    if data.startswith(b"\x1f\x8b"):
        return gzip.decompress(data)
    if data.startswith(b"WARC/"):
        return data
    codec = zstandard.ZstdCompressionDict(dictionary) if dictionary else None
    decompressor = zstandard.ZstdDecompressor(dict_data=codec)
    with decompressor.stream_reader(io.BytesIO(data), read_across_frames=True) as reader:
        return reader.read()


def plain_content(made: Iterable[Foreign]) -> bytes:
    """The contents of files made by hand, concatenated."""
    return b"".join(file.plain().bytes() for file in made)
