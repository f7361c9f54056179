"""The content of a file piece by piece, whatever it is compressed with.

Zstandard frames and gzip members are decompressed piece by piece, so that memory is bounded by the pieces,
never by a frame's or a record's size.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from functools import partial
from typing import Final, Literal, NamedTuple

from seekwarc.errors import ChecksumError, FormatError, LimitError, TruncatedError, UnsupportedError
from seekwarc.format.seektable import MAX_TABLE_SIZE, SeekTable, max_table_size_at
from seekwarc.format.warc import ARC_MAGIC, is_record_magic
from seekwarc.format.zstd import (
    MAX_FRAME_HEADER_SIZE,
    SEEK_TABLE_MAGIC,
    FrameHeader,
    is_skippable,
    measure_frame,
    walk_blocks,
)
from seekwarc.frames.ahead import Small
from seekwarc.frames.decoder import FrameDecoder
from seekwarc.frames.scan import Window, cut_frame, frame_start_at

__all__ = [
    "GZIP_STEP",
    "WHOLE_FRAME",
    "Compression",
    "EmptyFrame",
    "FrameObserver",
    "Piece",
    "detect",
    "end_of_empty_frames",
    "pieces_from",
    "skippable_frame_at",
    "whole_frame",
]

Compression = Literal["zst", "gz", "none"]
FrameObserver = Callable[[int, int, FrameHeader | None], object]
"""Called before each frame is decoded, with its offset, magic number and, for Zstandard, its header."""

WHOLE_FRAME: Final = 1 << 20
"""Frames of at most this size, stored and decoded, are decoded in one call."""
MAX_PADDING_AFAR: Final = 16 << 20
"""Zeros after a gzip member that are passed where each read takes its time: they may have no end."""
GZIP_STEP: Final = 32 << 10
GZIP_PIECE: Final = 256 << 10
PLAIN_PIECE: Final = 256 << 10


class Piece(NamedTuple):
    """Some decompressed bytes of one frame or gzip member, or bytes of a file without compression."""

    data: bytes
    offset: int
    """Offset of the frame or member; of a file without compression, that of the bytes."""
    first: bool
    """Whether the piece begins its frame or member."""
    end: int | None
    """Offset after the frame or member if the piece ends it, else None."""


class EmptyFrame(NamedTuple):
    """A frame without content: skippable, or empty."""

    end: int
    """Offset after it."""
    anchor: int | None
    """Where the first frame starts that it lists, if it is a seek table."""


INDEX: Final = "an index, which `seekwarc lookup` reads"
OTHERS: Final = {
    ".cdxj": INDEX,
    ".idx": INDEX,
    ".parquet": INDEX,
    ".fts": "a search index, which `seekwarc search` reads",
}
"""What is named in place of an archive, by the ends of names."""


def detect(head: bytes, name: str, offset: int = 0) -> Compression:
    """Tell the compression of a file, or of a record in it, by its first bytes, or raise UnsupportedError."""
    if head[:2] == b"\x1f\x8b":
        return "gz"
    if is_record_magic(head) or (not offset and head[:8] == ARC_MAGIC[:8]):
        return "none"
    magic = int.from_bytes(head[:4], "little")
    if head[:4] == b"\x28\xb5\x2f\xfd" or is_skippable(magic):
        return "zst"
    if head:
        what = "not a WARC file" if offset == 0 else "no record starts here"
        problem = f"{what}: found {head[:8]!r}, not WARC/, a gzip member or a Zstandard frame"
        other = next((it for it in OTHERS if name.lower().endswith(it)), None)
        problem += f"; its name is that of {OTHERS[other]}" if other is not None else ""
    elif offset == 0:
        problem = "the file is empty; a WARC file holds at least one record"
    else:
        problem = "no record starts here: the file ends before this offset"
    raise UnsupportedError(problem, source=name, offset=offset)


def pieces_from(
    window: Window,
    offset: int,
    compression: Compression,
    decoder: FrameDecoder,
    observe: FrameObserver | None = None,
    *,
    strict: bool = False,
    threads: int = 1,
) -> Generator[Piece | EmptyFrame, None, None]:
    """Yield the content from `offset` to the end of the file. Close it, for it may have threads.

    `observe` is called for each frame before its content. With `strict` the last block of a frame whose
    checksum is cut off is left out. More `threads` than one inflate small gzip members ahead.
    """
    if compression == "gz":
        # A pipe cannot be read by two, and beyond a limit nothing is to be read ahead.
        alone = window.limit is not None or window.source.is_pipe
        return _gzip_pieces(window, offset, 1 if alone else threads)
    if compression == "none":
        return _plain_pieces(window, offset)
    return _zstd_pieces(window, offset, decoder, observe, strict=strict)


def _plain_pieces(window: Window, offset: int) -> Generator[Piece, None, None]:
    while data := window.at_hand(offset, PLAIN_PIECE):
        yield Piece(data, offset, True, offset + len(data))
        offset += len(data)


def _gzip_pieces(window: Window, offset: int, threads: int) -> Generator[Piece, None, None]:
    from seekwarc.frames.members import small_members

    first = True
    with closing(small_members(window, offset, partial(_inflated, window), threads)) as members:
        for end, data, _ in members:
            yield Piece(bytes(data), offset, first, end or None)
            first = end > 0
            offset = end or offset


def _inflated(window: Window, offset: int) -> Iterator[Small]:
    """Yield the content of gzip members piece by piece, with the end of each."""
    name = window.source.name
    from seekwarc.frames.inflate import gzip_codec

    codec = gzip_codec()
    padding = 0
    data = window.at_hand(offset, GZIP_STEP)
    while data:
        if data[:2] != b"\x1f\x8b"[: len(data)]:
            if not data.strip(b"\0"):
                offset += len(data)
                padding += len(data)
                if padding > MAX_PADDING_AFAR and window.source.policy.is_far:
                    text = f"{MAX_PADDING_AFAR >> 20} MiB of zeros come before it; what follows is not read"
                    raise LimitError(text, source=name, offset=offset)
                data = window.at_hand(offset, GZIP_STEP)
                continue
            raise FormatError(f"no gzip member starts here: found {data[:8]!r}", source=name, offset=offset)
        begin = offset
        inflater = codec.inflater()
        while not inflater.eof:
            if not data:
                raise TruncatedError("the file ends inside this gzip member", source=name, offset=begin)
            try:
                out = inflater.decompress(data, GZIP_PIECE)
            except codec.errors as error:
                text = f"this gzip member is damaged ({error})"
                raise ChecksumError(text, source=name, offset=begin) from error
            rest = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
            offset += len(data) - len(rest)
            if out or inflater.eof:
                yield offset if inflater.eof else 0, out, True
            # An inflater that held back output needs no new input to go on.
            data = rest or window.at_hand(offset, GZIP_STEP)


def _zstd_pieces(
    window: Window, offset: int, decoder: FrameDecoder, observe: FrameObserver | None, *, strict: bool
) -> Generator[Piece | EmptyFrame, None, None]:
    while (start := frame_start_at(window, offset)) is not None:
        magic, header, size = start
        if observe is not None:
            observe(offset, magic, header)
        if header is None:
            yield skippable_frame_at(window, offset, size)
            offset += size
            continue
        try:
            frame = whole_frame(window, offset, header)
            if frame:
                end = offset + len(frame)
                yield Piece(decoder.decode(frame, header), offset, True, end)
                offset = end
                continue
            decode = decoder.incremental(header)
        except FormatError as error:
            raise error.located(window.source.name, offset) from None
        offset = yield from _frame_pieces(window, offset, header, decode, strict=strict)


def _frame_pieces(
    window: Window, offset: int, header: FrameHeader, decode: Callable[[bytes], bytes], *, strict: bool
) -> Generator[Piece | EmptyFrame, None, int]:
    """Yield the content of one frame block by block, and return the offset of what comes after it."""
    position = offset + header.size
    data = window.take(offset, header.size)
    first, done = True, False
    while not done:
        blocks, done, is_cut = _next_blocks(window, position, offset, checksum=header.has_checksum)
        position += len(blocks)
        try:
            out = decode(data + blocks)
        except FormatError as error:
            raise error.located(window.source.name, offset) from None
        data = b""
        end = position if done and not is_cut else None
        if out and not (is_cut and strict):
            yield Piece(out, offset, first, end)
            first = False
        elif end is not None:
            # The end of a frame, or the whole of an empty one.
            yield EmptyFrame(end, None) if first else Piece(b"", offset, False, end)
        if is_cut:
            raise cut_frame(window.source, offset)
    return position


def skippable_frame_at(window: Window, offset: int, size: int) -> EmptyFrame:
    """Describe the skippable frame of `size` bytes at `offset`."""
    anchor = None
    magic = int.from_bytes(window.take(offset, 4), "little")
    # A table that lists more than there can be before it is not worth reading, and a huge one may cost more
    # memory than there is: without an anchor it counts as part of the record.
    if magic == SEEK_TABLE_MAGIC and size <= min(max_table_size_at(offset), MAX_TABLE_SIZE):
        try:
            anchor = SeekTable.parse(window.take(offset, size)).anchor(offset)
        except FormatError:
            anchor = None  # An extension frame like any other.
    if not window.take(offset + size - 1, 1):
        raise cut_frame(window.source, offset, size)
    return EmptyFrame(offset + size, anchor)


def end_of_empty_frames(end: int, empty_frames: Iterable[EmptyFrame], record_offset: int) -> int:
    """Return where the frames without content after a record end.

    They belong to the record, but for a table that lists other records too (spec-notes, annex B.1).
    """
    for empty in empty_frames:
        if empty.anchor is not None and empty.anchor < record_offset:
            break
        end = empty.end
    return end


def whole_frame(window: Window, offset: int, header: FrameHeader) -> bytes:
    """Return a small frame if it takes no more room than its content should need, else nothing."""
    if header.content_size is None or header.content_size > WHOLE_FRAME:
        return b""
    data, index = window.get(offset, offset + header.size)
    measured = measure_frame(data, index)
    expected = MAX_FRAME_HEADER_SIZE + 4 + header.content_size * 257 // 256 + 64
    if measured is None:
        data, index = window.reach(offset, offset + expected)
        measured = measure_frame(data, index)
        if measured is None:
            # All of that, should the limit have cut it off.
            data, index = window.get(offset, offset + expected)
            measured = measure_frame(data, index)
    return data[index : measured[0]] if measured and measured[0] <= index + expected else b""


def _next_blocks(window: Window, position: int, offset: int, *, checksum: bool) -> tuple[bytes, bool, bool]:
    """Return a block, the last with the checksum; whether it is the last; whether the checksum is cut."""
    header = window.take(position, 3)
    try:
        # Only one header is shown to the walker, so it stops after one block: at most 128 KiB come out.
        size, done = walk_blocks(header, 0) if len(header) == 3 else (4, False)
    except FormatError as error:
        raise error.located(window.source.name, offset) from None
    with_checksum = size + 4 * (done and checksum)
    block = window.take(position, with_checksum)
    if len(block) < size:
        raise cut_frame(window.source, offset)
    is_cut = len(block) < with_checksum
    return block[:size] if is_cut else block, done, is_cut
