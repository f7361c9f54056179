"""Dictionaries, and the frame at the head of a file that holds one.

Source: "Zstandard Compression for WARC Files 1.0", sections Dictionaries and Dictionary frame format.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import zstandard

from seekwarc.errors import FormatError, LimitError, TruncatedError
from seekwarc.format.zstd import (
    DICTIONARY_FRAME_MAGIC,
    DICTIONARY_MAGIC,
    FRAME_MAGIC,
    SKIPPABLE_HEADER_SIZE,
    parse_frame_header,
    parse_skippable_header,
    skippable_frame,
)

__all__ = ["MAX_DICTIONARY_SIZE", "Dictionary", "load_dictionary"]

MAX_DICTIONARY_SIZE: Final = 8 << 20
"""What every decoder must support, stored and decompressed (section Window and dictionary limits)."""
FIRST_RANDOM_ID: Final = 32_768
LAST_RANDOM_ID: Final = 2_147_483_647
COMPRESSION_LEVEL: Final = 19


@dataclass(frozen=True)
class Dictionary:
    """A Zstandard dictionary (RFC 8878, section 5).

    Attributes:
        data: The dictionary, from its magic number 0xEC30A437 on: what `zstd -D` takes.

    Raises:
        FormatError: `data` is not such a dictionary. Raw content is not allowed in WARC files.
    """

    data: bytes

    def __post_init__(self) -> None:
        if len(self.data) < 8 or struct.unpack_from("<I", self.data)[0] != DICTIONARY_MAGIC:
            raise FormatError("not a Zstandard dictionary: it does not start with 37 A4 30 EC")
        if not self.id:
            raise FormatError("the dictionary's ID is 0, so frames could not name it")

    def __repr__(self) -> str:
        return f"<Dictionary {self.id}, {len(self.data)} bytes>"

    @property
    def id(self) -> int:
        """Dictionary_ID, which every frame of the file must repeat."""
        dictionary_id: int = struct.unpack_from("<I", self.data, 4)[0]
        return dictionary_id

    @cached_property
    def codec(self) -> zstandard.ZstdCompressionDict:
        """The dictionary as the codec takes it."""
        return zstandard.ZstdCompressionDict(self.data, dict_type=zstandard.DICT_TYPE_FULLDICT)

    def frame(self, *, compress: bool = True) -> bytes:
        """Return the dictionary frame that stands at the head of a file."""
        if not compress:
            return skippable_frame(DICTIONARY_FRAME_MAGIC, self.data)
        compressor = zstandard.ZstdCompressor(level=COMPRESSION_LEVEL, write_checksum=True)
        return skippable_frame(DICTIONARY_FRAME_MAGIC, compressor.compress(self.data))

    @classmethod
    def train(cls, samples: Sequence[bytes], *, size: int = 112_640, level: int = 3) -> Dictionary:
        """Train a dictionary on samples of records, with a random ID from the range the standard names.

        Args:
            samples: Records, or the beginnings of them. Some hundreds of kilobytes at least.
            size: Most bytes of the dictionary.
            level: Compression level that it is to be used with.

        Raises:
            FormatError: The samples are too few or too much alike to train on.
        """
        try:
            trained = zstandard.train_dictionary(
                size,
                list(samples),
                dict_id=random.SystemRandom().randint(FIRST_RANDOM_ID, LAST_RANDOM_ID),
                level=level,
                threads=-1,
                steps=4,
            )
        except zstandard.ZstdError as error:
            raise FormatError(
                f"no dictionary could be trained on {len(samples)} samples "
                f"({error}); take more, or more varied, records"
            ) from error
        return cls(trained.as_bytes())


def load_dictionary(
    read: Callable[[int, int], bytes], name: str, *, limit: int = MAX_DICTIONARY_SIZE
) -> Dictionary | None:
    """Load the dictionary at the head of a file, if there is one.

    Args:
        read: Returns the stored bytes [start, stop), fewer at the end of the file.
        name: What messages call the file.
        limit: Most bytes of the dictionary frame's User_Data, and of the dictionary itself.

    Raises:
        LimitError: The dictionary is larger than `limit`.
        FormatError: The dictionary frame holds no dictionary.
    """
    head = read(0, SKIPPABLE_HEADER_SIZE)
    if head[:4] != struct.pack("<I", DICTIONARY_FRAME_MAGIC):
        return None
    try:
        size = parse_skippable_header(head)[1]
        if size > limit:
            raise LimitError(f"a dictionary frame of {size} bytes exceeds the limit of {limit}")
        # Read again from the start: a pipe's window then still holds everything.
        data = read(0, SKIPPABLE_HEADER_SIZE + size)[SKIPPABLE_HEADER_SIZE:]
        if len(data) < size:
            raise TruncatedError("the file ends inside the dictionary frame")
        return Dictionary(_unpack(data, limit))
    except FormatError as error:
        raise error.located(name, 0) from None


def _unpack(data: bytes, limit: int) -> bytes:
    if data[:4] != struct.pack("<I", FRAME_MAGIC):
        return data
    header = parse_frame_header(data)
    if header.content_size is None:
        raise FormatError("the compressed dictionary does not state its size")
    if header.content_size > limit:
        raise LimitError(f"a dictionary of {header.content_size} bytes exceeds the limit of {limit}")
    try:
        return zstandard.ZstdDecompressor().decompress(data)
    except zstandard.ZstdError as error:
        raise FormatError(f"the dictionary cannot be decompressed: {error}") from error
