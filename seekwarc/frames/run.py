"""A run of frames read by content range: the one way down for everything that seeks.

content range -> `SeekTable.locate` -> frames -> one read of the source -> decode and verify -> the
caller's buffer. Frames that lie wholly in the range are decoded straight into the buffer, in parallel
where there are several; the frame at either edge goes through the cache.
"""

from __future__ import annotations

import threading
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from seekwarc.errors import ChecksumError, FormatError, LimitError, TruncatedError
from seekwarc.format.seektable import FrameEntry, SeekTable
from seekwarc.format.zstd import FrameHeader, parse_frame_header, walk_blocks
from seekwarc.frames.decoder import FrameCache, FrameDecoder, content_checksum
from seekwarc.storage.source import RangeSource, Stats

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

__all__ = ["MAX_FRAME_CONTENT", "FrameReader", "FrameRun", "ReadPlan", "SingleFrame"]

MAX_FRAME_CONTENT: Final = 32 << 20
"""Larger frames are streamed: a range read holds at most one frame a thread in memory."""
MOST_PER_READ: Final = 16 << 20
"""Most stored bytes asked of the source at a time, one larger frame excepted."""
LARGEST_GAP: Final = 256 << 10
"""Stored bytes between two frames that are read along rather than asked around."""
MOST_SCRATCH: Final = 1 << 20
"""Memory that each thread keeps for frames of which only the beginning is decoded."""
PARALLEL_FROM: Final = 512 << 10
"""Content bytes below which handing frames to other threads costs more than it saves."""


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """What a read of some content range costs, told before any frame is fetched."""

    ranges: tuple[tuple[int, int], ...]
    """Stored byte ranges [start, stop) that would be fetched, caches left out of account."""
    bytes_decoded: int
    """Content bytes that would be decompressed; 0 where the stored bytes are the content."""
    frames: int
    """Frames that would be decoded; 0 where the content is not in frames that can be reached."""

    @property
    def bytes_fetched(self) -> int:
        """Stored bytes that would be fetched."""
        return sum(stop - start for start, stop in self.ranges)


class FrameReader:
    """What the runs of one file share: source, decoder, cache, threads, counters.

    Args:
        source: Where the frames are stored.
        decoder: Decodes them.
        stats: Counts what was decoded.
        cache_size: Bytes of decoded frames to keep.
        threads: Threads that decode, the caller's included.
    """

    def __init__(
        self,
        source: RangeSource,
        decoder: FrameDecoder,
        stats: Stats,
        *,
        cache_size: int,
        threads: int,
    ) -> None:
        self.source = source
        self.decoder = decoder
        self.threads = threads
        self.cache = FrameCache(cache_size)
        self._stats = stats
        self._lock = threading.Lock()
        self._local = threading.local()
        self._pool: ThreadPoolExecutor | None = None

    def count(self, *, decoded: int = 0, cache_hits: int = 0) -> None:
        """Add to the archive's counters."""
        with self._lock:
            self._stats.bytes_decoded += decoded
            self._stats.cache_hits += cache_hits

    def scratch(self, size: int) -> memoryview:
        """Return a buffer that this thread may use until it asks for the next one."""
        if size > MOST_SCRATCH:
            return memoryview(bytearray(size))
        if len(getattr(self._local, "scratch", b"")) < size:
            self._local.scratch = bytearray(MOST_SCRATCH)
        return memoryview(self._local.scratch)[:size]

    @property
    def pool(self) -> ThreadPoolExecutor:
        """Threads that decode beside the caller's; started when first used."""
        with self._lock:
            if self._pool is None:
                # Imported here: a short read needs no threads, and this takes milliseconds.
                from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

                self._pool = ThreadPoolExecutor(max(self.threads - 1, 1), "seekwarc-decode")
            return self._pool

    def close(self) -> None:
        """Stop the threads."""
        with self._lock:
            if self._pool is not None:
                self._pool.shutdown(wait=True, cancel_futures=True)
                self._pool = None


@dataclass(frozen=True, slots=True)
class _Part:
    """A frame and the part of it that goes to one place of the caller's buffer."""

    frame: FrameEntry
    start: int
    """First byte of the frame's content that is wanted."""
    out: memoryview

    @property
    def whole(self) -> bool:
        return len(self.out) == self.frame.content_size


class FrameRun:
    """Consecutive frames of a file, as content that can be read by range.

    Args:
        reader: What this file's runs share.
        offset: Offset of the first frame in the file.
        table: The frames' sizes, from a seek table or from a scan.
        head: Stored bytes from `offset` on that are at hand already.
    """

    def __init__(self, reader: FrameReader, offset: int, table: SeekTable, head: bytes = b"") -> None:
        self.offset = offset
        self.table = table
        self._reader = reader
        self._head = head

    def plan(self, start: int, stop: int) -> ReadPlan:
        """Tell what reading content bytes [start, stop) costs with whole frames verified."""
        ranges: list[tuple[int, int]] = []
        decoded = frames = 0
        for number in self.table.locate(start, stop):
            frame = self.table[number]
            if frame.content_size:
                begin = self.offset + frame.stored_start
                if ranges and begin - ranges[-1][1] <= LARGEST_GAP:
                    begin = ranges.pop()[0]
                ranges.append((begin, self.offset + frame.stored_stop))
                decoded += frame.content_size
                frames += 1
        return ReadPlan(tuple(ranges), decoded, frames)

    def cheap_stop(self, start: int) -> int:
        """Return the end of the frame that holds content byte `start`, which is decoded with it."""
        return self.table[self.table.locate(start, start + 1)[0]].content_stop

    def peek(self, start: int, stop: int) -> bytes:
        """Return content bytes [start, stop)."""
        out = bytearray(stop - start)
        self.read_into(start, memoryview(out))
        return bytes(out)

    def read_into(self, start: int, out: memoryview, *, verify: bool = True) -> None:
        """Fill `out` with the content from `start` on. The caller has checked that there is as much.

        Raises:
            ChecksumError: A frame is damaged or is not what the table says.
            SourceError: The stored bytes cannot be had.
        """
        parts = self._split(start, out)
        try:
            self._read(parts, verify=verify)
        finally:
            # An error's traceback must not keep hold of the caller's buffer.
            for part in parts:
                part.out.release()

    def _read(self, parts: list[_Part], *, verify: bool) -> None:
        parts = list(parts)
        # Only the edges can be in the cache usefully: what lies between is decoded into place.
        for edge in (0, -1):
            if parts and self._from_cache(parts[edge]):
                del parts[edge]
        batch: list[_Part] = []
        for part in parts:
            frame = part.frame
            if batch and (
                frame.stored_stop - batch[0].frame.stored_start > MOST_PER_READ
                or frame.stored_start - batch[-1].frame.stored_stop > LARGEST_GAP
            ):
                self._read_batch(batch, verify=verify)
                batch = []
            batch.append(part)
        if batch:
            self._read_batch(batch, verify=verify)

    def _split(self, start: int, out: memoryview) -> list[_Part]:
        stop = start + len(out)
        parts = []
        for index in self.table.locate(start, stop):
            frame = self.table[index]
            if frame.content_size:
                begin = max(frame.content_start, start)
                end = min(frame.content_stop, stop)
                view = out[begin - start : end - start]
                parts.append(_Part(frame, begin - frame.content_start, view))
        return parts

    def _from_cache(self, part: _Part) -> bool:
        content = self._reader.cache.get(self.offset + part.frame.stored_start)
        if content is None or len(content) != part.frame.content_size:
            return False
        part.out[:] = memoryview(content)[part.start : part.start + len(part.out)]
        self._reader.count(cache_hits=1)
        return True

    def _fetch(self, start: int, stop: int) -> memoryview:
        """Return the stored bytes [start, stop), counted from the run's first frame."""
        if stop <= len(self._head):
            return memoryview(self._head)[start:stop]
        source = self._reader.source
        data = source.read(self.offset + start, self.offset + stop)
        if len(data) < stop - start:
            raise TruncatedError("the file ends inside this record", source=source.name, offset=self.offset)
        return memoryview(data)

    def _read_batch(self, parts: list[_Part], *, verify: bool) -> None:
        first, last = parts[0].frame, parts[-1].frame
        base = first.stored_start
        stored = self._fetch(base, last.stored_stop)

        def decode(some: list[_Part]) -> None:
            for part in some:
                begin = part.frame.stored_start - base
                self._decode(part, stored[begin : begin + part.frame.stored_size], verify=verify)

        threads = min(self._reader.threads, len(parts))
        if threads < 2 or sum(part.frame.content_size for part in parts) < PARALLEL_FROM:
            decode(parts)
            return
        pool = self._reader.pool
        others = [pool.submit(decode, parts[i::threads]) for i in range(1, threads)]
        try:
            decode(parts[::threads])
        finally:
            # Nobody may write into the caller's buffer once this call is over.
            errors = [other.exception() for other in others]
        for error in errors:
            if error is not None:
                raise error

    def _decode(self, part: _Part, stored: memoryview, *, verify: bool) -> None:
        frame = part.frame
        decoder = self._reader.decoder
        try:
            if frame.content_size > MAX_FRAME_CONTENT:
                raise FormatError(f"the frame holds {frame.content_size} bytes: too large to seek in")
            header = parse_frame_header(stored)
            _check_fields(stored, header, frame)
            if part.whole:
                decoder.decode_into(stored, header, part.out, whole=True)
                content: memoryview | bytes = part.out
            elif verify:
                content = self._decode_whole(stored, header, frame)
                part.out[:] = memoryview(content)[part.start : part.start + len(part.out)]
            else:
                content = self._reader.scratch(part.start + len(part.out))
                decoder.decode_into(stored, header, content, whole=False)
                part.out[:] = content[part.start :]
            if verify and frame.checksum is not None and not header.has_checksum:
                found = content_checksum(content)
                if found != frame.checksum:
                    raise ChecksumError(
                        f"the content's checksum is {found:08x}, the seek table says {frame.checksum:08x}"
                    )
        except FormatError as error:
            raise self._named(error, frame) from error
        self._reader.count(decoded=len(content))
        if verify and not part.whole:
            # `content` is a bytes object here, so this copies nothing.
            self._reader.cache.put(self.offset + frame.stored_start, bytes(content))

    def _decode_whole(self, stored: memoryview, header: FrameHeader, frame: FrameEntry) -> bytes:
        if header.content_size is not None:
            return self._reader.decoder.decode(stored, header)
        content = bytearray(frame.content_size)
        self._reader.decoder.decode_into(stored, header, memoryview(content), whole=True)
        return bytes(content)

    def _named(self, error: FormatError, frame: FrameEntry) -> FormatError:
        """Say which frame of which record is damaged, and what of the record is lost by it."""
        kind = type(error) if isinstance(error, ChecksumError | LimitError) else ChecksumError
        start = self.offset + frame.stored_start
        return kind(
            f"frame {frame.number} (stored bytes {start} to {start + frame.stored_size}, record bytes "
            f"{frame.content_start} to {frame.content_stop}): {error.message}",
            source=self._reader.source.name,
            offset=self.offset,
        )


class SingleFrame:
    """A record that is one small frame, which is always decoded, and kept, whole.

    Args:
        reader: What this file's frames share.
        offset: Offset of the frame.
        stored_size: Bytes it takes in the file.
        content_size: Bytes it holds.
    """

    __slots__ = ("_offset", "_reader", "_size", "_stored_size")

    def __init__(self, reader: FrameReader, offset: int, stored_size: int, content_size: int) -> None:
        self._reader = reader
        self._offset = offset
        self._stored_size = stored_size
        self._size = content_size

    def _content(self) -> bytes:
        content = self._reader.cache.get(self._offset)
        if content is not None:
            self._reader.count(cache_hits=1)
            return content
        table = SeekTable(array("Q", [self._stored_size]), array("Q", [self._size]))
        content = FrameRun(self._reader, self._offset, table).peek(0, self._size)
        self._reader.cache.put(self._offset, content)
        return content

    def read_into(self, start: int, out: memoryview, *, verify: bool = True) -> None:  # noqa: ARG002
        """See `FrameRun.read_into`."""
        out[:] = memoryview(self._content())[start : start + len(out)]

    def peek(self, start: int, stop: int) -> bytes:
        """See `FrameRun.peek`."""
        return self._content()[start:stop]

    def cheap_stop(self, start: int) -> int:  # noqa: ARG002
        """See `FrameRun.cheap_stop`."""
        return self._size

    def plan(self, start: int, stop: int) -> ReadPlan:
        """See `FrameRun.plan`."""
        if stop <= start:
            return ReadPlan((), 0, 0)
        return ReadPlan(((self._offset, self._offset + self._stored_size),), self._size, 1)


def _check_fields(stored: memoryview, header: FrameHeader, frame: FrameEntry) -> None:
    """Compare the frame's own fields with what the table says (spec-notes, section 6.3)."""
    if frame.checksum is None:
        # Nothing else would show that the frame ends where the next entry does not begin.
        end, done = walk_blocks(stored, header.size)
        if not done or end + 4 * header.has_checksum != len(stored):
            raise ChecksumError("the frame does not end where the seek table says")
    if header.content_size not in (None, frame.content_size):
        raise ChecksumError(
            f"the frame states {header.content_size} bytes of content, the seek table {frame.content_size}"
        )
    if frame.checksum is not None and header.has_checksum:
        stated = int.from_bytes(stored[-4:], "little")
        if stated != frame.checksum:
            raise ChecksumError(
                f"the frame's checksum is {stated:08x}, the seek table says {frame.checksum:08x}"
            )
