"""A run of frames read by content range: the one way down for everything that seeks.

content range -> `SeekTable.locate` -> frames -> few requests of the source -> decode and verify -> the
caller's buffer. Frames that lie wholly in the range are decoded straight into the buffer, in parallel
where there are several; the frame at either edge goes through the cache. Frames are taken one at a time,
never listed: a file may have one for each of its bytes.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Final, NamedTuple

from seekwarc.errors import ChecksumError, FormatError, LimitError, SeekWarcError, TruncatedError
from seekwarc.format.seektable import FrameEntry, SeekTable
from seekwarc.format.zstd import Buffer, FrameHeader, parse_frame_header, walk_blocks
from seekwarc.frames.decoder import content_checksum
from seekwarc.frames.flight import Flight, StoredSpan
from seekwarc.frames.readahead import ReadAhead
from seekwarc.frames.reader import FrameReader
from seekwarc.storage.plan import plan_requests

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = ["MAX_FRAME_CONTENT", "FrameRun", "ReadPlan"]

MAX_FRAME_CONTENT: Final = 32 << 20
"""Larger frames are streamed: a range read holds at most one frame a thread in memory."""
PARALLEL_FROM: Final = 3 << 20
"""Content bytes below which handing frames to other threads costs more than it saves."""
SHARE_AHEAD: Final = 4
"""What is decoded ahead takes no more than one part in four of the cache."""


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """What a read of some content range costs, told before any frame is fetched.

    Example:
        >>> with seekwarc.open("crawl.warc.zst") as archive:
        ...     film = next(archive.records(uri="*/film.mp4")).payload
        ...     plan = film.plan(2_000_000, 2_000_100)
        >>> plan.frames, plan.bytes_decoded
        (1, 131072)
    """

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


class _Target(NamedTuple):
    """The caller's buffer, to be filled with the content from `start` on."""

    start: int
    out: memoryview
    verify: bool

    def begin(self, frame: FrameEntry) -> int:
        """Return which byte of the frame's content is the first that is wanted."""
        return max(self.start - frame.content_start, 0)

    def part(self, frame: FrameEntry) -> memoryview:
        """Return the part of the buffer that the frame fills."""
        begin = max(frame.content_start - self.start, 0)
        return self.out[begin : frame.content_stop - self.start]

    def copy(self, frame: FrameEntry, content: bytes) -> None:
        """Take what is wanted of a frame's content."""
        start = self.begin(frame)
        with self.part(frame) as out:
            out[:] = memoryview(content)[start : start + len(out)]


class FrameRun:
    """Consecutive frames of a file, as content that can be read by range.

    Args:
        reader: What this file's runs share.
        offset: Offset of the first frame in the file.
        table: The frames' sizes, from a seek table or from a scan.
        head: Stored bytes from `offset` on that are at hand already.
    """

    in_one_piece = False

    def __init__(self, reader: FrameReader, offset: int, table: SeekTable, head: bytes = b"") -> None:
        self.offset = offset
        self.table = table
        self._reader = reader
        self._head = head
        self._ahead: ReadAhead | None = None
        most = reader.source.policy.ahead
        if most:
            largest = max(table.content_sizes, default=0) or 1
            self._ahead = ReadAhead(min(most, reader.cache_size // SHARE_AHEAD // largest))

    def plan(self, start: int, stop: int) -> ReadPlan:
        """Tell what reading content bytes [start, stop) costs with whole frames verified."""
        wanted = self.table.locate(start, stop)
        policy = self._reader.source.policy
        requests = plan_requests(self._spans([wanted]), gap=policy.gap, most=policy.most)
        ranges = tuple((request.start, request.stop) for request in requests)
        sizes = self.table.content_sizes[wanted.start : wanted.stop]
        return ReadPlan(ranges, sum(sizes), len(sizes) - sizes.count(0))

    def cheap_stop(self, start: int) -> int:
        """Return the end of the frame that holds content byte `start`, which is decoded with it."""
        return self.table[self.table.locate(start, start + 1)[0]].content_stop

    def peek(self, start: int, stop: int) -> bytes:
        """Return content bytes [start, stop)."""
        out = bytearray(stop - start)
        self._read(self.table.locate(start, stop), _Target(start, memoryview(out), verify=True))
        return bytes(out)

    def read_into(self, start: int, out: memoryview, *, verify: bool = True) -> None:
        """Fill `out` with the content from `start` on. The caller has checked that there is as much.

        Raises:
            ChecksumError: A frame is damaged or is not what the table says.
            SourceError: The stored bytes cannot be had.
        """
        wanted = self.table.locate(start, start + len(out))
        if self._ahead is not None:
            self._begin_ahead(self._ahead.note(wanted.start, wanted.stop))
        self._read(wanted, _Target(start, out, verify=verify))

    def frame_content(self, number: int) -> bytes:
        """Return all content of one frame, decoded once for all threads that want it at the same time.

        Raises:
            ChecksumError: The frame is damaged or is not what the table says.
            SourceError: The stored bytes cannot be had.
        """
        frame = self.table[number]
        key = self._span(frame)
        flights = self._reader.flights
        while True:
            content = self._cached(frame)
            if content is not None:
                return content
            flight = flights.begin(key)
            if flight is None:
                break
            content = flight.wait()
            if content is not None and len(content) == frame.content_size:
                self._reader.count(cache_hits=1)
                return content
        try:
            content = self._whole(frame, self._stored_frame(frame), frame.stored_start)
        finally:
            flights.end(key, content)
        return content

    def _cached(self, frame: FrameEntry) -> bytes | None:
        content = self._reader.cache.get(self._span(frame))
        # Another table, for another record, may say otherwise of what it holds.
        if content is None or len(content) != frame.content_size:
            return None
        self._reader.count(cache_hits=1)
        return content

    def _read(self, wanted: range, target: _Target) -> None:
        """Fill the target from the cache, from what other threads are decoding, and from the source."""
        if len(wanted) == 1 and self._read_one(self.table[wanted.start], target):
            return
        missing: list[range] = []
        others: list[tuple[FrameEntry, Flight]] = []
        begin = wanted.start
        for number in wanted:
            if not self.table.content_sizes[number]:
                continue
            frame = self.table[number]
            content = self._cached(frame)
            if content is not None:
                target.copy(frame, content)
            elif flight := self._reader.flights.find(self._span(frame)):
                others.append((frame, flight))
            else:
                continue
            missing.append(range(begin, number))
            begin = number + 1
        missing.append(range(begin, wanted.stop))
        self._decode_all(missing, target)
        for frame, flight in others:
            content = flight.wait()
            if content is not None and len(content) == frame.content_size:
                self._reader.count(cache_hits=1)
                target.copy(frame, content)
            else:
                self._decode_all([range(frame.number, frame.number + 1)], target)

    def _read_one(self, frame: FrameEntry, target: _Target) -> bool:
        """Fill the target from one frame, as most reads do; False where `_read` has to do it."""
        if target.verify and len(target.out) < frame.content_size:
            target.copy(frame, self.frame_content(frame.number))
            return True
        key = self._span(frame)
        if self._reader.cache.get(key) is not None or self._reader.flights.find(key) is not None:
            return False
        self._decode(frame, self._stored_frame(frame), frame.stored_start, target)
        return True

    def _span(self, frame: FrameEntry) -> StoredSpan:
        return self.offset + frame.stored_start, self.offset + frame.stored_stop

    def _stored_frame(self, frame: FrameEntry) -> memoryview:
        if frame.stored_stop <= len(self._head):
            return memoryview(self._head)[frame.stored_start : frame.stored_stop]
        data = self._reader.source.read(*self._span(frame))
        if len(data) < frame.stored_size:
            raise self._cut()
        return memoryview(data)

    def _cut(self) -> TruncatedError:
        text = "the file ends inside this record"
        return TruncatedError(text, source=self._reader.source.name, offset=self.offset)

    def _numbers(self, runs: Iterable[range]) -> Iterator[int]:
        """Yield the numbers of the frames with content."""
        sizes = self.table.content_sizes
        return (number for run in runs for number in run if sizes[number])

    def _spans(self, runs: Iterable[range], skip: int = 0) -> Iterator[tuple[int, int]]:
        """Yield where frames with content are stored, without the first `skip` of them."""
        for number in islice(self._numbers(runs), skip, None):
            yield self._span(self.table[number])

    def _stored(
        self, runs: list[range], *, in_flight: int | None = None
    ) -> Iterator[tuple[array[int], int, memoryview]]:
        """Yield the numbers of frames, the place in the run where bytes that hold them begin, and those."""
        numbers = self._numbers(runs)
        ready = takewhile(
            lambda number: self.table[number].stored_stop <= len(self._head), self._numbers(runs)
        )
        at_hand = array("Q", ready if self._head else ())
        if at_hand:
            yield array("Q", islice(numbers, len(at_hand))), 0, memoryview(self._head)
        source = self._reader.source
        spans = self._spans(runs, len(at_hand))
        for request, data in source.fetch(spans, in_flight=in_flight, room=self._reader.room):
            if len(data) < request.stop - request.start:
                raise self._cut()
            yield array("Q", islice(numbers, request.ranges)), request.start - self.offset, memoryview(data)

    def _decode_all(self, runs: list[range], target: _Target) -> None:
        for numbers, base, stored in self._stored(runs):

            def decode(some: array[int], base: int = base, stored: memoryview = stored) -> None:
                for number in some:
                    self._decode(self.table[number], stored, base, target)

            threads = min(self._reader.threads, len(numbers))
            size = self.table[numbers[-1]].content_stop - self.table[numbers[0]].content_start
            if threads < 2 or size < PARALLEL_FROM:
                decode(numbers)
                continue
            pool = self._reader.pool
            others = [pool.submit(decode, numbers[i::threads]) for i in range(1, threads)]
            try:
                decode(numbers[::threads])
            finally:
                # Nobody may write into the caller's buffer once this call is over.
                errors = [other.exception() for other in others]
            for error in errors:
                if error is not None:
                    raise error

    def _decode(self, frame: FrameEntry, stored: memoryview, base: int, target: _Target) -> None:
        # An error's traceback must not keep hold of the caller's buffer.
        with target.part(frame) as out:
            if len(out) == frame.content_size:
                self._decode_into(frame, stored, base, out, verify=target.verify)
            elif target.verify:
                start = target.begin(frame)
                out[:] = memoryview(self._whole(frame, stored, base))[start : start + len(out)]
            else:
                start = target.begin(frame)
                scratch = self._reader.scratch(start + len(out))
                self._decode_into(frame, stored, base, scratch, verify=False)
                out[:] = scratch[start:]

    def _decode_into(
        self, frame: FrameEntry, stored: memoryview, base: int, out: memoryview, *, verify: bool
    ) -> None:
        """Decode the first `len(out)` bytes of a frame, and check them if that is all of it."""
        try:
            stored, header = _checked(frame, stored, base)
            self._reader.decoder.decode_into(stored, header, out, whole=len(out) == frame.content_size)
            if verify:
                _check_content(out, header, frame)
        except FormatError as error:
            raise self._named(error, frame) from error
        self._reader.count(decoded=len(out))

    def _whole(self, frame: FrameEntry, stored: memoryview, base: int) -> bytes:
        """Decode and check all of a frame, and keep it."""
        try:
            stored, header = _checked(frame, stored, base)
            if header.content_size is not None:
                content = self._reader.decoder.decode(stored, header)
            else:
                room = bytearray(frame.content_size)
                self._reader.decoder.decode_into(stored, header, memoryview(room), whole=True)
                content = bytes(room)
            _check_content(content, header, frame)
        except FormatError as error:
            raise self._named(error, frame) from error
        self._reader.count(decoded=len(content))
        self._reader.cache.put(self._span(frame), content)
        return content

    def _begin_ahead(self, wanted: range) -> None:
        """Have frames decoded into the cache by a thread that works beside this one."""
        reader = self._reader
        numbers: list[int] = []
        for number in self._numbers([range(wanted.start, min(wanted.stop, len(self.table)))]):
            key = self._span(self.table[number])
            if reader.cache.get(key) is None and reader.flights.begin(key) is None:
                numbers.append(number)
        if numbers:

            def give_up(task: Future[None]) -> None:
                if task.cancelled():
                    self._end_ahead(numbers)

            reader.source.submit(self._work_ahead, numbers).add_done_callback(give_up)

    def _work_ahead(self, numbers: list[int]) -> None:
        waiting = numbers.copy()
        try:
            # An error belongs to whoever asks for the frame: it is met again, and told, when that is read.
            with suppress(SeekWarcError):
                runs = [range(number, number + 1) for number in numbers]
                # One request at a time: a thread of the pool must not wait for others of it.
                for some, base, stored in self._stored(runs, in_flight=1):
                    for number in some:
                        content = self._whole(self.table[number], stored, base)
                        waiting.remove(number)
                        self._reader.flights.end(self._span(self.table[number]), content)
        finally:
            self._end_ahead(waiting)

    def _end_ahead(self, numbers: list[int]) -> None:
        for number in numbers:
            self._reader.flights.end(self._span(self.table[number]), None)

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


def _checked(frame: FrameEntry, stored: memoryview, base: int) -> tuple[memoryview, FrameHeader]:
    """Return a frame and its header, if they are what the table says (spec-notes, section 6.3)."""
    if frame.content_size > MAX_FRAME_CONTENT:
        raise FormatError(f"the frame holds {frame.content_size} bytes: too large to seek in")
    stored = stored[frame.stored_start - base : frame.stored_stop - base]
    header = parse_frame_header(stored)
    # The codec stops at the frame's end and does not mind what follows. And the last four bytes, which a
    # checksum is compared with, are those of the frame only if it ends here.
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
    return stored, header


def _check_content(content: Buffer, header: FrameHeader, frame: FrameEntry) -> None:
    """Compare the content with the table's checksum, where the frame has none of its own."""
    if frame.checksum is not None and not header.has_checksum:
        found = content_checksum(content)
        if found != frame.checksum:
            raise ChecksumError(
                f"the content's checksum is {found:08x}, the seek table says {frame.checksum:08x}"
            )
