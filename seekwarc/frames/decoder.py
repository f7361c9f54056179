"""One frame to content: decoded into the caller's buffer, verified, in any thread."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable
from typing import Final

import xxhash

from seekwarc.compiling import Buffer
from seekwarc.errors import ChecksumError, FormatError, LimitError
from seekwarc.format.zstd import BLOCK_HEADER_SIZE, FrameHeader, raw_block_headers
from seekwarc.frames.codec import LIBRARY, PLAIN, CodecError, Decompressor, window_error
from seekwarc.frames.dictionary import Dictionary

__all__ = ["MAX_WINDOW_SIZE", "FrameDecoder", "content_checksum", "content_hash"]

MAX_WINDOW_SIZE: Final = 128 << 20
"""Largest Window_Size decoded unless the caller raises it; the standard asks for 8 MiB."""

DESCRIPTOR: Final = 4
"""Index of Frame_Header_Descriptor in a frame (RFC 8878, section 3.1.1.1.1)."""
CHECKSUM_FLAG: Final = 4
CHECKSUM_SIZE: Final = 4


def content_checksum(content: Buffer) -> int:
    """Return the low 32 bits of XXH64, seed 0: Content_Checksum, and Checksum of a seek table."""
    return xxhash.xxh64_intdigest(content) & 0xFFFF_FFFF


def content_hash() -> xxhash.xxh3_128:
    """Return a hash to compare content within one run: many times as fast as one that withstands forgers."""
    return xxhash.xxh3_128()


class FrameDecoder:
    """Decodes the frames of one file. Every thread works in a context of its own."""

    def __init__(
        self,
        load_dictionary: Callable[[], Dictionary | None],
        *,
        max_window_size: int = MAX_WINDOW_SIZE,
    ) -> None:
        self._load = load_dictionary
        self._loaded = False
        self._dictionary: Dictionary | None = None
        self._max_window_size = max_window_size
        self._lock = threading.Lock()
        self._contexts = threading.local()

    @property
    def dictionary(self) -> Dictionary | None:
        """The file's dictionary, loaded now if it was not yet."""
        with self._lock:
            if not self._loaded:
                self._dictionary = self._load()
                self._loaded = True
        return self._dictionary

    def _dictionary_for(self, header: FrameHeader) -> Dictionary | None:
        if not header.dictionary_id:
            return self.dictionary
        dictionary = self.dictionary
        if dictionary is None or dictionary.id != header.dictionary_id:
            found = f"dictionary {dictionary.id}" if dictionary else "no dictionary"
            raise FormatError(f"the frame needs dictionary {header.dictionary_id}, but the file has {found}")
        return dictionary

    def _context(self, header: FrameHeader) -> Decompressor:
        if header.has_checksum and not header.dictionary_id:
            # Not loaded for it: a frame that needs the dictionary without naming it fails, as its checksum
            # shows, and is then decoded again.
            dictionary = self._dictionary
        else:
            dictionary = self._dictionary_for(header)
        key = dictionary.id if dictionary else 0
        context: Decompressor | None = getattr(self._contexts, "context", None)
        if context is None or self._contexts.key != key:
            # Not `_decompressor`: the first read of a file takes one call less.
            codec = dictionary.codec if dictionary else PLAIN
            context = codec.decompressor(max_window_size=self._max_window_size)
            self._contexts.context = context
            self._contexts.key = key
        return context

    def private(self) -> Callable[[bytes], bytes]:
        """Return a fast decompressor of whole frames for one user, which raises the codec's own errors."""
        return _decompressor(self.dictionary).decompress

    @property
    def gains_by_batches(self) -> bool:
        """Whether threads that decode small frames ahead are worth their cost."""
        return LIBRARY.BATCHES_WITH_DICTIONARY or self.dictionary is None

    def decode_many(self, data: bytes, places: array[int], sizes: array[int]) -> list[bytes]:
        """Decode many small whole frames at once; raises the codec's own errors."""
        context: Decompressor | None = getattr(self._contexts, "many", None)
        if context is None:
            context = self._contexts.many = _decompressor(self.dictionary)
        return LIBRARY.decompress_many(context, data, places, sizes)

    def decode(self, frame: Buffer, header: FrameHeader) -> bytes:
        """Decode a whole frame, whose stated size the caller has checked, and verify its checksum, if any."""
        dictionary = self._dictionary
        try:
            content = self._context(header).decompress(frame)
        except CodecError as error:
            if dictionary is None and self._dictionary_helps(header):
                return self.decode(frame, header)
            raise _damaged(error) from error
        if len(content) != header.content_size:
            raise ChecksumError(f"the frame holds {len(content)} bytes, not {header.content_size}")
        return content

    def decode_into(self, frame: Buffer, header: FrameHeader, out: memoryview, *, whole: bool) -> None:
        """Decode the first `len(out)` content bytes of a frame; its checksum is verified only if `whole`."""
        if header.window_size > self._max_window_size and not (whole and header.content_size is not None):
            raise self._window_error(header)
        dictionary = self._dictionary
        # Where the end is not reached no checksum can be looked at: the codec need not make one on the way.
        stored = frame if whole or not header.has_checksum else _without_checksum(frame)
        try:
            # A frame that does not state its size is done, and its checksum looked at, only when the codec
            # says that nothing follows.
            beyond = whole and header.content_size is None
            found = LIBRARY.decompress_into(self._context(header), stored, out, beyond=beyond)
        except CodecError as error:
            if dictionary is None and self._dictionary_helps(header):
                return self.decode_into(frame, header, out, whole=whole)
            raise _damaged(error) from error
        if found > len(out):
            raise ChecksumError(f"the frame holds more than {len(out)} bytes")
        if found < len(out):
            raise ChecksumError(f"the frame holds {found} bytes, not {len(out)}")
        return None

    def check(self, frame: memoryview, header: FrameHeader, scratch: Callable[[int], memoryview]) -> None:
        """Verify a whole frame that states its content size and has a checksum; see `decode_into`.

        Raw blocks, as films have, are their own content: their checksum is made where they are.
        """
        position, size, content = header.size, header.content_size or 0, xxhash.xxh64()
        first = int.from_bytes(frame[position : position + BLOCK_HEADER_SIZE], "little")
        whole = range(len(frame), len(frame) + 1)
        for block in raw_block_headers(header, size, whole, first) if size else ():
            begin = position + BLOCK_HEADER_SIZE
            if int.from_bytes(frame[position:begin], "little") != block:
                break
            position = begin + (block >> 3)
            content.update(frame[begin:position])
        else:
            found = content.intdigest() & 0xFFFF_FFFF
            if position > header.size and frame[position:] == found.to_bytes(CHECKSUM_SIZE, "little"):
                return
        # Anything else is for the codec to judge.
        self.decode_into(frame, header, scratch(size), whole=True)

    def incremental(self, header: FrameHeader) -> Callable[[bytes], bytes]:
        """Return a function that takes a frame piece by piece and returns what each piece decodes to."""
        if header.window_size > self._max_window_size:
            raise self._window_error(header)
        # Loaded even if it is not named: a stream cannot begin again once it has failed.
        dictionary = self._dictionary_for(header)
        # A context of its own: the caller may keep this for long, and use it in another thread.
        decompress = LIBRARY.stream(_decompressor(dictionary, max(self._max_window_size, 1 << 10)))

        def decode(piece: bytes) -> bytes:
            try:
                return decompress(piece)
            except CodecError as error:
                raise _damaged(error) from error

        return decode

    def _window_error(self, header: FrameHeader) -> LimitError:
        return window_error("the frame", header.window_size, self._max_window_size)

    def _dictionary_helps(self, header: FrameHeader) -> bool:
        """Tell whether to try again with the dictionary, which frames must name but not all writers do."""
        return not header.dictionary_id and self.dictionary is not None


def _decompressor(dictionary: Dictionary | None, max_window_size: int = 0) -> Decompressor:
    return (dictionary.codec if dictionary else PLAIN).decompressor(max_window_size=max_window_size)


def _without_checksum(frame: Buffer) -> bytearray:
    """Return a copy of a frame whose header says that it has no Content_Checksum."""
    copy = bytearray(frame)
    copy[DESCRIPTOR] &= ~CHECKSUM_FLAG
    return copy


def _damaged(error: Exception) -> ChecksumError:
    return ChecksumError(f"the frame is damaged ({str(error).rpartition(': ')[2]})")
