"""A run of frames read by content range: the one way down for everything that seeks.

content range -> `SeekTable.locate` -> frames -> few requests of the source -> decode and verify -> the
caller's bytes.

Goals: a short read out of one frame, which most are, takes few calls and one copy, the slice that the caller
gets. A long one fetches many frames with few requests, decodes them in several threads straight into the
caller's buffer, and holds at most one frame a thread besides.

Plan: a read inside one frame goes through the cache, in which each frame is decoded by one thread only. Of
longer reads, frames in the cache are copied and frames that another thread is decoding are left to it; all
others are fetched together, those that lie wholly in the range decoded into the buffer, the one at either
edge into the cache. Frames are taken one at a time, never listed: a file may have one for each of its bytes.

Worst case: a table that is not that of the frames. Every frame is therefore checked against its entry, its
end included, before one byte of it is used (spec-notes, section 6.3).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Final, NamedTuple

from seekwarc.errors import ChecksumError, FormatError, LimitError, SeekWarcError
from seekwarc.format.seektable import FrameEntry, SeekTable
from seekwarc.frames.cache import FrameKey
from seekwarc.frames.context import FrameContext
from seekwarc.frames.verify import check_content, check_frame
from seekwarc.storage.plan import plan_requests

if TYPE_CHECKING:
    from concurrent.futures import Future

    from seekwarc.compiling import Buffer
    from seekwarc.frames.prefetch import PrefetchWindow

__all__ = ["FrameRun", "ReadPlan", "Target"]

PARALLEL_FROM: Final = 3 << 20
"""Content bytes below which handing frames to other threads costs more than it saves."""
PREFETCH_SHARE: Final = 4
"""Prefetched frames take no more than one part in four of the cache."""


class ReadPlan(NamedTuple):
    """What a read of some content range costs, known before any frame is fetched.

    Example:
        >>> with seekwarc.open("crawl.warc.zst") as archive:
        ...     film = next(archive.records(uri="*/film.mp4")).payload
        ...     plan = film.plan(2_000_000, 2_000_100)
        >>> plan.frames, plan.bytes_decoded
        (1, 131072)
    """

    ranges: tuple[tuple[int, int], ...]
    """Stored byte ranges [start, stop) that would be fetched, not counting what caches hold."""
    bytes_decoded: int
    """Content bytes that would be decompressed; 0 where the stored bytes are the content."""
    frames: int
    """Frames that would be decoded; 0 where the content is not in frames that can be reached."""
    is_verified: bool = False
    """Whether all of it would be compared with the checksums of frames or gzip members, where these have
    one. False where the range is read as it is stored, or decoding stops within a frame."""

    @property
    def bytes_fetched(self) -> int:
        """Stored bytes that would be fetched."""
        return sum(stop - start for start, stop in self.ranges)


class Target:
    """Where the content of frames goes."""

    __slots__ = ("out", "start", "verify")

    def __init__(self, start: int, out: memoryview, *, verify: bool) -> None:
        self.start = start
        self.out = out
        self.verify = verify

    def begin(self, frame: FrameEntry) -> int:
        """Return which byte of the frame's content is the first that is wanted."""
        return max(self.start - frame.content_start, 0)

    def part(self, frame: FrameEntry) -> memoryview:
        """Return the place of a frame's content, or of what is wanted of it."""
        begin = max(frame.content_start - self.start, 0)
        return self.out[begin : frame.content_stop - self.start]

    def copy(self, frame: FrameEntry, content: bytes) -> None:
        """Fill the place of a frame's content."""
        start = self.begin(frame)
        with self.part(frame) as out:
            out[:] = memoryview(content)[start : start + len(out)]


class FrameRun:
    """Consecutive frames of a file, as content that can be read by range."""

    def __init__(self, context: FrameContext, offset: int, table: SeekTable, head: bytes = b"") -> None:
        self.offset = offset
        self.table = table
        self._context = context
        self._head = head
        self._window: PrefetchWindow | None = None
        most = context.source.policy.max_prefetch
        if most:
            from seekwarc.frames.prefetch import PrefetchWindow

            largest = max(table.content_sizes, default=0) or 1
            self._window = PrefetchWindow(min(most, context.cache.capacity // PREFETCH_SHARE // largest))

    def plan(self, start: int, stop: int) -> ReadPlan:
        """Tell what reading content bytes [start, stop) costs with whole frames verified."""
        wanted = self.table.locate(start, stop)
        policy = self._context.source.policy
        requests = plan_requests(self._spans([wanted]), gap=policy.gap, max_size=policy.max_request)
        ranges = tuple((request.start, request.stop) for request in requests)
        sizes = self.table.content_sizes[wanted.start : wanted.stop]
        return ReadPlan(ranges, sum(sizes), len(sizes) - sizes.count(0), is_verified=True)

    def read(self, start: int, stop: int, *, verify: bool = True) -> bytes:
        """Return content bytes [start, stop); the caller has checked that there are as many."""
        wanted = self.table.locate(start, stop)
        if verify and 1 <= len(wanted) <= 2:
            if self._window is not None:
                self._prefetch(self._window.note(wanted.start, wanted.stop))
            frame = self.table[wanted.start]
            begin = frame.content_start
            if len(wanted) == 1:
                return self._content(frame)[start - begin : stop - begin]
            second = self.table[wanted.start + 1]
            content, more = self._contents(frame, second)
            return b"".join(
                (memoryview(content)[start - begin :], memoryview(more)[: stop - second.content_start])
            )
        out = bytearray(stop - start)
        with memoryview(out) as view:
            self.read_into(start, view, verify=verify)
        return bytes(out)

    def read_some(self, start: int, stop: int, least: int = 1) -> bytes:
        """Return content from `start` to a frame's end or `stop`, `least` bytes or more, without prefetch."""
        if start >= stop:
            return b""
        wanted = self.table.locate(start, min(start + least, stop))
        frame = self.table[wanted.stop - 1]
        stop = min(frame.content_start + frame.content_size, stop)
        if len(wanted) == 1:
            return self._content(frame)[start - frame.content_start : stop - frame.content_start]
        out = bytearray(stop - start)
        with memoryview(out) as view:
            self._fill(wanted, Target(start, view, verify=True))
        return bytes(out)

    def read_into(self, start: int, out: memoryview, *, verify: bool = True) -> None:
        """Fill `out` with the content from `start` on. The caller has checked that there is as much."""
        wanted = self.table.locate(start, start + len(out))
        if self._window is not None:
            self._prefetch(self._window.note(wanted.start, wanted.stop))
        self._fill(wanted, Target(start, out, verify=verify))

    def _fill(self, wanted: range, target: Target) -> None:
        """Fill the target from the cache, from what other threads are decoding, and from the source."""
        if len(wanted) == 1 and self._read_one(self.table[wanted.start], target):
            return
        cache = self._context.cache
        missing: list[range] = []
        others: list[FrameEntry] = []
        begin = wanted.start
        for number in self._numbers([wanted]):
            frame = self.table[number]
            key = self._key(frame)
            content = cache.get(key)
            if content is not None:
                self._context.count(cache_hits=1)
                target.copy(frame, content)
            elif cache.is_under_way(key):
                others.append(frame)
            else:
                continue
            missing.append(range(begin, number))
            begin = number + 1
        missing.append(range(begin, wanted.stop))
        self._decode_all(missing, target)
        for frame in others:
            target.copy(frame, self._content(frame))

    def _contents(self, first: FrameEntry, second: FrameEntry) -> tuple[bytes, bytes]:
        """Return the contents of a frame and of the next one, fetched together where neither is cached."""
        cache, size = self._context.cache, first.stored_size
        is_cached = cache.get(self._key(first)) is not None or cache.get(self._key(second)) is not None
        if is_cached or size + second.stored_size > self._context.source.policy.max_request:
            return self._content(first), self._content(second)
        begin = first.stored_start
        stored = memoryview(self._stored_bytes(begin, second.stored_stop - begin))
        rest = stored[second.stored_start - begin :]
        return self._content(first, stored[:size]), self._content(second, rest)

    def _content(self, frame: FrameEntry, stored: Buffer | None = None) -> bytes:
        """Return the content of a frame, whose stored bytes are fetched unless they are given."""
        context = self._context
        # Not `_key`: each read takes one call less.
        start = self.offset + frame.stored_start
        key = start, start + frame.stored_size, frame.content_size
        cached = context.cache.begin(key)
        if cached is not None:
            context.count(cache_hits=1)
            return cached
        try:
            if stored is None:
                stored = self._stored_of(frame)
            content = self._whole(frame, stored)
        except BaseException:
            context.cache.end(key, None)
            raise
        context.cache.end(key, content)
        return content

    def _read_one(self, frame: FrameEntry, target: Target) -> bool:
        """Fill the target from one frame; False where that is cached or being decoded, and all is wanted."""
        if target.verify and len(target.out) < frame.content_size:
            target.copy(frame, self._content(frame))
            return True
        cache, key = self._context.cache, self._key(frame)
        if cache.get(key) is not None or cache.is_under_way(key):
            return False
        self._decode(frame, self._stored_of(frame), target)
        return True

    def _stored_of(self, frame: FrameEntry) -> Buffer:
        return self._stored_bytes(frame.stored_start, frame.stored_size)

    def _stored_bytes(self, start: int, size: int) -> Buffer:
        if start + size <= len(self._head):
            return self._head[start : start + size]
        start += self.offset
        data = self._context.source.read(start, start + size)
        if len(data) < size:
            raise self._context.cut(self.offset)
        return data

    def _key(self, frame: FrameEntry) -> FrameKey:
        start = self.offset + frame.stored_start
        return start, start + frame.stored_size, frame.content_size

    def _numbers(self, runs: Iterable[range]) -> Iterator[int]:
        sizes = self.table.content_sizes
        for run in runs:
            for number in run:
                if sizes[number]:
                    yield number

    def _spans(self, runs: Iterable[range], skip: int = 0) -> Iterator[tuple[int, int]]:
        """Yield where frames with content are stored, without the first `skip` of them."""
        for number in islice(self._numbers(runs), skip, None):
            start, stop, _ = self._key(self.table[number])
            yield start, stop

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
        source = self._context.source
        spans = self._spans(runs, len(at_hand))
        for request, data in source.fetch(spans, in_flight=in_flight, room=self._context.room):
            if len(data) < request.stop - request.start:
                raise self._context.cut(self.offset)
            yield array("Q", islice(numbers, request.ranges)), request.start - self.offset, memoryview(data)

    def _decode_all(self, runs: list[range], target: Target) -> None:
        for numbers, base, stored in self._stored(runs):

            def decode(some: array[int], base: int = base, stored: memoryview = stored) -> None:
                for number in some:
                    frame = self.table[number]
                    part = stored[frame.stored_start - base : frame.stored_stop - base]
                    self._decode(frame, part, target)

            threads = min(self._context.threads, len(numbers))
            size = self.table[numbers[-1]].content_stop - self.table[numbers[0]].content_start
            if threads < 2 or size < PARALLEL_FROM:
                decode(numbers)
                continue
            pool = self._context.pool
            others = [pool.submit(decode, numbers[i::threads]) for i in range(1, threads)]
            try:
                decode(numbers[::threads])
            finally:
                # Nobody may write into the caller's buffer once this call is over.
                errors = [other.exception() for other in others]
            for error in errors:
                if error is not None:
                    raise error

    def _decode(self, frame: FrameEntry, stored: Buffer, target: Target) -> None:
        # An error's traceback must not keep hold of the caller's buffer.
        with target.part(frame) as out:
            if len(out) == frame.content_size:
                self._decode_into(frame, stored, out, verify=target.verify)
            elif target.verify:
                start = target.begin(frame)
                content = self._whole(frame, stored)
                self._context.cache.put(self._key(frame), content)
                out[:] = memoryview(content)[start : start + len(out)]
            else:
                start = target.begin(frame)
                scratch = self._context.scratch(start + len(out))
                self._decode_into(frame, stored, scratch, verify=False)
                out[:] = scratch[start:]

    def _decode_into(self, frame: FrameEntry, stored: Buffer, out: memoryview, *, verify: bool) -> None:
        try:
            header = check_frame(frame, stored)
            self._context.decoder.decode_into(stored, header, out, whole=len(out) == frame.content_size)
            if verify and not header.has_checksum:
                check_content(out, frame)
        except FormatError as error:
            raise self._named(error, frame) from error
        self._context.count(decoded=len(out))

    def _whole(self, frame: FrameEntry, stored: Buffer) -> bytes:
        try:
            header = check_frame(frame, stored)
            if header.content_size is not None:
                content = self._context.decoder.decode(stored, header)
            else:
                room = bytearray(frame.content_size)
                self._context.decoder.decode_into(stored, header, memoryview(room), whole=True)
                content = bytes(room)
            if not header.has_checksum:
                check_content(content, frame)
        except FormatError as error:
            raise self._named(error, frame) from error
        self._context.count(decoded=len(content))
        return content

    def _prefetch(self, wanted: range) -> None:
        if not wanted:
            return
        context = self._context
        sought = self._numbers([range(wanted.start, min(wanted.stop, len(self.table)))])
        numbers = [number for number in sought if context.cache.reserve(self._key(self.table[number]))]
        if numbers:

            def abort(task: Future[None]) -> None:
                if task.cancelled():
                    self._abort(numbers)

            context.source.submit(self._do_prefetch, numbers).add_done_callback(abort)

    def _do_prefetch(self, numbers: list[int]) -> None:
        waiting = numbers.copy()
        try:
            # An error belongs to the reader of the frame: it occurs again, and is raised, when that is read.
            with suppress(SeekWarcError):
                runs = [range(number, number + 1) for number in numbers]
                # One request at a time: a thread of the pool must not wait for others of it.
                for some, base, stored in self._stored(runs, in_flight=1):
                    for number in some:
                        frame = self.table[number]
                        part = stored[frame.stored_start - base : frame.stored_stop - base]
                        content = self._whole(frame, part)
                        waiting.remove(number)
                        self._context.cache.end(self._key(frame), content)
        finally:
            self._abort(waiting)

    def _abort(self, numbers: list[int]) -> None:
        for number in numbers:
            self._context.cache.end(self._key(self.table[number]), None)

    def _named(self, error: FormatError, frame: FrameEntry) -> FormatError:
        """Say which frame of which record is damaged, and what of the record is lost by it."""
        kind = type(error) if isinstance(error, ChecksumError | LimitError) else ChecksumError
        start = self.offset + frame.stored_start
        named = kind(
            f"frame {frame.number} (stored bytes {start} to {start + frame.stored_size}, record bytes "
            f"{frame.content_start} to {frame.content_stop}): {error.message}",
            source=self._context.source.name,
            offset=self.offset,
        )
        named.frame = frame.number
        return named
