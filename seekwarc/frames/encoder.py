"""Content to frames: one at a time, adaptively split, or many in parallel and in order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import groupby
from typing import Final, NamedTuple, Protocol, TypeVar

import xxhash

from seekwarc.compiling import Buffer
from seekwarc.format.zstd import raw_frames
from seekwarc.frames.codec import LIBRARY, PLAIN, Compressor
from seekwarc.frames.dictionary import Dictionary

__all__ = [
    "DEFAULT_LEVEL",
    "DEFAULT_SMALL_LEVEL",
    "MAX_FRAME_SIZE",
    "MAX_LEVEL",
    "MIN_FRAME_SIZE",
    "MIN_LEVEL",
    "SMALL_FRAME_SIZE",
    "EncodedFrame",
    "FrameEncoder",
    "OrderedWork",
    "RecordEncoder",
]

MIN_LEVEL: Final = -7
MAX_LEVEL: Final = 22
DEFAULT_LEVEL: Final = 3
DEFAULT_SMALL_LEVEL: Final = 6
"""Of frames of up to `MAX_SMALL` without a dictionary. At level 3 small pages are 1 to 5 % larger than by
gzip -6; at 6 they are as large, and made as fast as by gzip. With a dictionary 6 takes four times as long as
3 and saves 2 %."""
MAX_SMALL: Final = 256 << 10
"""Up to this size the codec has parameters of its own."""
MIN_FRAME_SIZE: Final = 64 << 10
MAX_FRAME_SIZE: Final = 8 << 20
"""No frame holds more content, so that none needs a window above what every decoder must have."""
SMALL_FRAME_SIZE: Final = 128 << 10
"""Frame size for data that does not compress."""
MAX_ADDED: Final = 64
"""What the last frame may hold beyond its size: the line breaks after a block get no frame of their own."""
NOT_WORTH_IT: Final = 0.95
"""A frame that takes more than this share of its content counts as not compressible."""

MAX_ASIDE: Final = 4
"""Calls beside the jobs that may wait."""

_T = TypeVar("_T")


class EncodedFrame(NamedTuple):
    """A frame ready to be written."""

    data: bytes
    content_size: int
    checksum: int
    """Content_Checksum of a Zstandard frame, CRC-32 of a part of a gzip member, else 0."""


class RecordEncoder(Protocol):
    """Makes frames, or what a file without frames has instead. May be used from several threads."""

    def encode(self, content: Buffer) -> EncodedFrame:
        """Make one frame."""

    def encode_each(self, contents: Sequence[Buffer]) -> list[EncodedFrame]:
        """Make a frame of each content."""

    def encode_smallest(self, content: Buffer) -> EncodedFrame:
        """Make one frame, the smallest there is."""

    def store(self, content: Buffer) -> EncodedFrame:
        """Make one frame that is as long for all content of that length, so that it can be replaced."""

    def encode_chunk(self, content: Buffer, small_frame: int) -> list[EncodedFrame]:
        """Make one frame, or several of `small_frame` bytes where the content does not compress."""


class FrameEncoder:
    """Makes frames that state size, checksum and dictionary, the same for the same content, in any thread.

    Without a level, that of each frame follows from the size of its content.
    """

    def __init__(self, level: int | None, dictionary: Dictionary | None) -> None:
        # Level 0 is the codec's name for its default, which not all of its functions know.
        self._level = level or DEFAULT_LEVEL
        self._small_level = DEFAULT_SMALL_LEVEL if level is None and dictionary is None else self._level
        self._dictionary = dictionary
        self._contexts = threading.local()

    def _encode_all(self, contents: Sequence[Buffer], level: int) -> list[EncodedFrame]:
        compressors: dict[int, Compressor] | None = getattr(self._contexts, "by_level", None)
        if compressors is None:
            compressors = self._contexts.by_level = {}
        compressor = compressors.get(level)
        if compressor is None:
            codec = self._dictionary.codec if self._dictionary is not None else PLAIN
            compressor = compressors[level] = codec.compressor(level)
        made: Iterable[bytes] = map(compressor.compress, contents)
        if len(contents) > 1:
            made = LIBRARY.compress_many(compressor, contents)
        # A frame ends in its Content_Checksum.
        return [
            EncodedFrame(data, len(content), int.from_bytes(data[-4:], "little"))
            for data, content in zip(made, contents, strict=True)
        ]

    def _level_of(self, content: Buffer) -> int:
        return self._small_level if len(content) <= MAX_SMALL else self._level

    def encode(self, content: Buffer) -> EncodedFrame:
        """Make one frame."""
        return self._encode_all((content,), self._level_of(content))[0]

    def encode_each(self, contents: Sequence[Buffer]) -> list[EncodedFrame]:
        """Make a frame of each content."""
        frames: list[EncodedFrame] = []
        for level, run in groupby(contents, self._level_of):
            frames += self._encode_all([*run], level)
        return frames

    def encode_smallest(self, content: Buffer) -> EncodedFrame:
        """Make one frame, at the level of `encode` or that of data that do not compress: the smaller."""
        low = self._encode_all((content,), min(self._level, 1))
        return min(self.encode(content), *low, key=lambda frame: len(frame.data))

    def store(self, content: Buffer) -> EncodedFrame:
        """Make one frame of raw blocks: it is as long for all content of that length."""
        return self._store_all((content,))[0]

    def _store_all(self, contents: Sequence[Buffer]) -> list[EncodedFrame]:
        dictionary_id = self._dictionary.id if self._dictionary is not None else 0
        checksums = [digest & 0xFFFF_FFFF for digest in map(xxhash.xxh64_intdigest, contents)]
        frames = raw_frames(contents, checksums, dictionary_id)
        return [*map(EncodedFrame._make, zip(frames, map(len, contents), checksums, strict=True))]

    def encode_chunk(self, content: Buffer, small_frame: int) -> list[EncodedFrame]:
        """Make one frame, or several of `small_frame` bytes, cheap to read, of incompressible content."""
        level = self._level if len(content) > MAX_SMALL else self._small_level
        (frame,) = self._encode_all((content,), level)
        if len(content) <= small_frame or len(frame.data) <= len(content) * NOT_WORTH_IT:
            return [frame]
        # The lowest effort does: there is little to be gained whatever is tried.
        view = memoryview(content)
        starts = range(0, len(view) - MAX_ADDED, small_frame)
        stops = [*starts[1:], len(view)]
        parts = [*map(view.__getitem__, map(slice, starts, stops))]
        if len(frame.data) > len(content):
            # Nothing was found to compress, as in most films: the codec would store each part as it is.
            return self._store_all(parts)
        return self._encode_all(parts, min(self._level, 1))


class _Waiting(NamedTuple):
    finish: Callable[[], object]
    """Waits for the result and delivers it."""
    is_job: bool


class Aside:
    """Calls made one after the other in a thread beside the jobs, such as to compute a digest."""

    def __init__(self, pool: ThreadPoolExecutor | None) -> None:
        self._pool = pool
        self._waiting: deque[Future[None]] = deque()

    def call(self, function: Callable[[_T], None], argument: _T) -> None:
        """Call a function after those before; wait if many calls are waiting, as each holds its argument."""
        if self._pool is None:
            function(argument)
            return
        while len(self._waiting) >= MAX_ASIDE:
            self._waiting.popleft().result()
        self._waiting.append(self._pool.submit(function, argument))

    def finish(self) -> None:
        """Wait until all calls are done."""
        while self._waiting:
            self._waiting.popleft().result()


class OrderedWork:
    """Jobs done in other threads, their results delivered in the order of the jobs.

    Delivery happens in the caller's thread, inside `submit`, `mark` and `drain`; with one thread the jobs do,
    too. No more than a few jobs a thread are ever waiting, which bounds the memory that they hold. A delivery
    that fails, or that a signal interrupts, is repeated by the next of these calls unless it is dropped.
    """

    def __init__(self, threads: int) -> None:
        self._max_jobs = 2 * threads
        self._pool = ThreadPoolExecutor(threads, "seekwarc-encode") if threads > 1 else None
        self._aside = ThreadPoolExecutor(1, "seekwarc-aside") if threads > 1 else None
        self._waiting: deque[_Waiting] = deque()
        self._delivered = 0

    @property
    def submitted(self) -> int:
        """How many jobs and marks there were, but for those that were dropped."""
        return self._delivered + len(self._waiting)

    def submit(self, job: Callable[[], _T], deliver: Callable[[_T], None]) -> None:
        """Start `job`; hand its result to `deliver` after all that was submitted before."""
        if self._pool is None:
            self._waiting.append(_Waiting(lambda: deliver(job()), True))
            self.drain()
            return
        while sum(waiting.is_job for waiting in self._waiting) >= self._max_jobs:
            self._deliver_one()
        future: Future[_T] = self._pool.submit(job)
        self._waiting.append(_Waiting(lambda: deliver(future.result()), True))

    def aside(self) -> Aside:
        """Return a way to make calls in one further thread, in order."""
        return Aside(self._aside)

    def mark(self, reached: Callable[[], object]) -> None:
        """Call `reached` once everything that was submitted before is delivered."""
        self._waiting.append(_Waiting(reached, False))
        if len(self._waiting) == 1:
            self._deliver_one()

    def drain(self) -> None:
        """Wait until everything is delivered."""
        while self._waiting:
            self._deliver_one()

    def _deliver_one(self) -> None:
        self._waiting[0].finish()
        self._waiting.popleft()
        self._delivered += 1

    def rollback(self, submitted: int = 0) -> None:
        """Forget what is still waiting, but for the first `submitted` of all jobs and marks ever."""
        while self._waiting and self.submitted > submitted:
            self._waiting.pop()

    def close(self) -> None:
        """Stop the threads; what is still waiting is dropped."""
        self.rollback()
        for pool in (self._pool, self._aside):
            if pool is not None:
                pool.shutdown(wait=True, cancel_futures=True)
