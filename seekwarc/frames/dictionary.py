"""Dictionaries, and the frame at the head of a file that holds one.

Source: "Zstandard Compression for WARC Files 1.0", sections Dictionaries and Dictionary frame format.
"""

from __future__ import annotations

import struct
import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from seekwarc.errors import FormatError, FormatWarning, LimitError, TruncatedError
from seekwarc.format.words import counted
from seekwarc.format.zstd import (
    DICTIONARY_FRAME_MAGIC,
    DICTIONARY_MAGIC,
    FRAME_MAGIC,
    SKIPPABLE_HEADER_SIZE,
    parse_frame_header,
    parse_skippable_header,
    skippable_frame,
    walk_blocks,
)
from seekwarc.frames.codec import LIBRARY, PLAIN, WINDOW_LIMITS, Codec, CodecError, window_error
from seekwarc.frames.scan import Window
from seekwarc.storage.source import RangeSource

__all__ = [
    "FIRST_RANDOM_ID",
    "LAST_RANDOM_ID",
    "MAX_DICTIONARY_SIZE",
    "MIN_DICTIONARY_SIZE",
    "Dictionary",
    "StoredDictionary",
    "load_dictionary",
    "read_dictionary",
]

MIN_DICTIONARY_SIZE: Final = 256
"""The codec trains none that is smaller."""

MAX_DICTIONARY_SIZE: Final = 8 << 20
"""What every decoder must support, stored and decompressed (section Window and dictionary limits)."""
FIRST_RANDOM_ID: Final = 32_768
LAST_RANDOM_ID: Final = 2_147_483_647
"""Between these two an ID may be drawn, so that each dictionary has its own (section Dictionaries)."""
ID_END: Final = 8
"""Where the content of a dictionary begins that its ID does not change."""
COMPRESSION_LEVEL: Final = 19
MAX_STEP: Final = 1 << 20
MAX_PIECE: Final = 128
"""Bytes that the codec is given at a time; it may make 4 MiB of them."""
MIN_WINDOW: Final = 1 << 10
CHECKSUM_SIZE: Final = 4


class Dictionary:
    """A Zstandard dictionary (RFC 8878, section 5).

    Attributes:
        data: The dictionary, from its magic number 0xEC30A437 on: what `zstd -D` takes.

    Raises:
        FormatError: `data` is not such a dictionary. Raw content is not allowed in WARC files.

    Example:
        >>> samples = [f"WARC-Type: response, WARC-Record-ID: <urn:x:{n}>".encode() * 4 for n in range(999)]
        >>> dictionary = seekwarc.Dictionary.train(samples, size=4096)
        >>> with seekwarc.open("trained.warc.zst", "w", dictionary=dictionary) as out:
        ...     written = out.write_resource("urn:x:1", b"Hello", "text/plain")
        >>> with seekwarc.open("trained.warc.zst") as archive:
        ...     archive.dictionary.id == dictionary.id
        True
    """

    def __init__(self, data: bytes) -> None:
        if len(data) < 8 or struct.unpack_from("<I", data)[0] != DICTIONARY_MAGIC:
            raise FormatError("not a Zstandard dictionary: it does not start with 37 A4 30 EC")
        self.data = data
        if not self.id:
            raise FormatError("the dictionary's ID is 0, so frames could not name it")

    def __eq__(self, other: object) -> bool:
        return self.data == other.data if isinstance(other, Dictionary) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.data)

    def __reduce__(self) -> tuple[type[Dictionary], tuple[bytes]]:
        # The codec's own object cannot be sent to another process, and is made again there.
        return Dictionary, (self.data,)

    def __repr__(self) -> str:
        return f"<Dictionary {self.id}, {len(self.data)} bytes>"

    @property
    def id(self) -> int:
        """Dictionary_ID, which every frame of the file must repeat."""
        dictionary_id: int = struct.unpack_from("<I", self.data, 4)[0]
        return dictionary_id

    @cached_property
    def codec(self) -> Codec:
        """The codec of frames, with this dictionary."""
        return LIBRARY.codec(self.data)

    @cached_property
    def compressed(self) -> bytes:
        """The dictionary as a Zstandard frame, in the form in which a file may hold it."""
        return PLAIN.compressor(COMPRESSION_LEVEL).compress(self.data)

    def check(self) -> None:
        """Check that frames can be decompressed with it: its tables may be damaged.

        Raises:
            FormatError: They cannot.
        """
        try:
            # The codec keeps the object made here, and needs it for the first frame anyway.
            self.codec.decompressor()
        except CodecError as error:
            raise FormatError("the dictionary is damaged") from error

    def frame(self, *, compress: bool = True) -> bytes:
        """Return the dictionary frame for the head of a file.

        Warns where it is larger than what every reader must support.

        Raises:
            FormatError: The dictionary is damaged.
        """
        self.check()
        if len(self.data) > MAX_DICTIONARY_SIZE:
            warnings.warn(
                f"the dictionary has {len(self.data)} bytes, and readers need not support more than "
                f"{MAX_DICTIONARY_SIZE}: some will refuse the file",
                FormatWarning,
                stacklevel=3,
            )
        return skippable_frame(DICTIONARY_FRAME_MAGIC, self.compressed if compress else self.data)

    @classmethod
    def train(cls, samples: Sequence[bytes], *, size: int = 112_640, level: int = 3) -> Dictionary:
        """Train a dictionary on samples of records: always the same on the same samples.

        Its ID is made of its bytes, in the range that the standard names for random ones.

        Args:
            samples: Records, or the beginnings of them. Some hundreds of kilobytes at least.
            size: Most bytes of the dictionary.
            level: Compression level that it is to be used with.

        Raises:
            FormatError: The samples are too few or too much alike to train on.
        """
        try:
            return cls(_with_id(LIBRARY.train(samples, size, level)))
        except CodecError as error:
            raise FormatError(
                f"no dictionary could be trained on {len(samples)} samples "
                f"({error}); take more, or more varied, records"
            ) from error


class StoredDictionary(NamedTuple):
    """A dictionary, and how it is stored."""

    dictionary: Dictionary
    stored_size: int
    """Bytes of User_Data in the dictionary frame, or of the file that is nothing but the dictionary."""
    framed: bool
    """Whether it is in a dictionary frame at the head of a file."""
    window_size: int | None = None
    """Window_Size of the Zstandard frame that holds it; None if it is not compressed."""

    @property
    def keeps_limits(self) -> bool:
        """Whether every reader must support it (section Window and dictionary limits)."""
        sizes = (self.stored_size, len(self.dictionary.data), self.window_size or 0)
        return max(sizes) <= MAX_DICTIONARY_SIZE


def load_dictionary(
    read: Callable[[int, int], bytes], name: str, *, limit: int = MAX_DICTIONARY_SIZE
) -> Dictionary | None:
    """Load the dictionary at the head of a file, if there is one."""
    try:
        found = _framed(read, limit)
        if found is not None:
            found.dictionary.check()
    except FormatError as error:
        raise error.located(name, 0) from None
    return found.dictionary if found is not None else None


def read_dictionary(
    source: RangeSource,
    *,
    max_dictionary_size: int | None = None,
    max_window_size: int | None = None,
) -> StoredDictionary:
    """Read the dictionary at the head of a file, or a file that is nothing but a dictionary.

    It may have 8 MiB, stored and decompressed, unless `max_dictionary_size` is given; a file that is nothing
    but a dictionary, and whose size is known, has no limit then. A larger one is a `LimitError`.
    """
    window = Window(source)

    def read(start: int, stop: int) -> bytes:
        return window.take(start, stop - start)

    try:
        limit = MAX_DICTIONARY_SIZE if max_dictionary_size is None else max_dictionary_size
        found = _framed(read, limit)
        if found is None:
            known = source.size if max_dictionary_size is None else None
            found = _bare(window, limit if known is None else known)
        if max_window_size is not None and (found.window_size or 0) > max_window_size:
            raise window_error("the dictionary's frame", found.window_size or 0, max_window_size)
        found.dictionary.check()
    except FormatError as error:
        raise error.located(source.name, 0) from None
    return found


def _framed(read: Callable[[int, int], bytes], limit: int) -> StoredDictionary | None:
    head = read(0, SKIPPABLE_HEADER_SIZE)
    if head[:4] != struct.pack("<I", DICTIONARY_FRAME_MAGIC):
        return None
    size = parse_skippable_header(head)[1]
    if size > limit:
        raise _too_large("a dictionary frame", size, limit)
    # Read again from the start: a pipe's window then still holds everything.
    data = read(0, SKIPPABLE_HEADER_SIZE + size)[SKIPPABLE_HEADER_SIZE:]
    if len(data) < size:
        raise TruncatedError("the file ends inside the dictionary frame")
    if data[:4] != struct.pack("<I", FRAME_MAGIC):
        return StoredDictionary(Dictionary(data), size, framed=True)
    unpacked, window_size = _unpack(data, limit)
    return StoredDictionary(Dictionary(unpacked), size, framed=True, window_size=window_size)


def _bare(window: Window, limit: int) -> StoredDictionary:
    head = window.take(0, 4)
    if head != struct.pack("<I", DICTIONARY_MAGIC):
        warc = head == b"WARC" or head[:2] == b"\x1f\x8b" or head == struct.pack("<I", FRAME_MAGIC)
        what = "the file has no dictionary" if warc else "the file is not a Zstandard dictionary"
        raise FormatError(f"{what}: it begins with {head!r}, not with a dictionary frame or 37 A4 30 EC")
    data = bytearray()
    while piece := window.at_hand(len(data), MAX_STEP):
        data += piece
        if len(data) > limit:
            raise _too_large("a dictionary", len(data), limit)
    return StoredDictionary(Dictionary(bytes(data)), len(data), framed=False)


def _too_large(what: str, size: int, limit: int) -> LimitError:
    return LimitError(
        f"{what} of {size} bytes exceeds the limit of {limit}; raise max_dictionary_size "
        "(--max-dictionary) to allow it"
    )


def _unpack(data: bytes, limit: int) -> tuple[bytes, int]:
    """Return the dictionary in User_Data that is a Zstandard frame, and the frame's Window_Size."""
    try:
        header = parse_frame_header(data)
    except TruncatedError:
        raise _cut_off() from None
    # The codec takes a frame that is cut off for one whose end is still to come, and reads nothing after the
    # end of the first: of two frames, other readers may take both.
    end, done = walk_blocks(data, header.size)
    end += CHECKSUM_SIZE * header.has_checksum
    if not done or end > len(data):
        raise _cut_off()
    if end < len(data):
        raise FormatError(
            f"the dictionary frame holds {counted(len(data) - end, 'byte')} after its Zstandard frame, and "
            "must hold that frame alone: it is uncertain which bytes are the dictionary"
        )
    try:
        if header.content_size is None:
            return _unpack_stream(data, header.window_size, limit), header.window_size
        if header.content_size > limit:
            raise _too_large("a dictionary", header.content_size, limit)
        return PLAIN.decompressor().decompress(data), header.window_size
    except CodecError as error:
        raise FormatError(f"the dictionary cannot be decompressed: {error}") from error


def _unpack_stream(data: bytes, window_size: int, limit: int) -> bytes:
    """Decompress a dictionary whose frame does not state its size, as FastWARC writes it."""
    if window_size >= WINDOW_LIMITS.stop:
        raise window_error("the dictionary's frame", window_size, limit)
    if window_size > max(limit, MAX_DICTIONARY_SIZE):
        raise _too_large("a dictionary's window", window_size, limit)
    found = bytearray()
    decompress = LIBRARY.stream(PLAIN.decompressor(max_window_size=max(window_size, MIN_WINDOW)))
    for index in range(0, len(data), MAX_PIECE):
        found += decompress(data[index : index + MAX_PIECE])
        if len(found) > limit:
            raise _too_large("a dictionary", len(found), limit)
    return bytes(found)


def _cut_off() -> FormatError:
    # The file itself is not cut off, which a `TruncatedError` would say.
    return FormatError("the compressed dictionary is cut off in its frame")


def _with_id(trained: bytes) -> bytes:
    # Importing it takes longer than reading a range of a file does.
    import hashlib

    digest = hashlib.sha256(trained[ID_END:]).digest()
    number = int.from_bytes(digest[:16], "little") % (LAST_RANDOM_ID - FIRST_RANDOM_ID + 1)
    return trained[:4] + struct.pack("<I", FIRST_RANDOM_ID + number) + trained[ID_END:]
