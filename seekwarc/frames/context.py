"""What all frames of one file share while they are read: source, decoder, cache, threads, counters."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from seekwarc.errors import TruncatedError
from seekwarc.frames.cache import FrameCache
from seekwarc.frames.decoder import FrameDecoder
from seekwarc.storage.fetch import Fetcher

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

__all__ = ["FrameContext"]

MAX_SCRATCH: Final = 1 << 20
"""Memory that each thread keeps for frames of which only the beginning is decoded."""


class FrameContext:
    """What the frames of one file share."""

    def __init__(
        self,
        source: Fetcher,
        decoder: FrameDecoder,
        *,
        cache_size: int,
        threads: int,
    ) -> None:
        self.source = source
        self.decoder = decoder
        self.threads = threads
        self.cache = FrameCache(cache_size)
        self._stats = source.stats
        self._lock = threading.Lock()
        self._local = threading.local()
        self._is_closed = False
        self._pool: ThreadPoolExecutor | None = None

    def count(self, decoded: int = 0, *, cache_hits: int = 0) -> None:
        """Add to the archive's counters."""
        with self._lock:
            self._stats.bytes_decoded += decoded
            self._stats.cache_hits += cache_hits

    def cut(self, record: int) -> TruncatedError:
        """Return the error that the file ends inside the record at an offset."""
        text = "the file ends inside this record"
        return TruncatedError(text, source=self.source.name, offset=record)

    def scratch(self, size: int) -> memoryview:
        """Return a buffer that this thread may use until it asks for the next one."""
        return self._kept("scratch", size) or memoryview(bytearray(size))

    def room(self, size: int) -> memoryview | None:
        """Return another such buffer, for stored bytes; None if they are too many to keep one."""
        return self._kept("room", size)

    def _kept(self, name: str, size: int) -> memoryview | None:
        # Memory that is used again costs the system no work, as new memory does for each page.
        if size > MAX_SCRATCH or self._is_closed:
            return None
        # Another thread may close this, and then there is another place for buffers.
        kept = self._local.__dict__
        if name not in kept:
            kept[name] = bytearray(MAX_SCRATCH)
        return memoryview(kept[name])[:size]

    @property
    def pool(self) -> ThreadPoolExecutor:
        """Threads that decode beside the caller's; started when first used."""
        with self._lock:
            if self._pool is None:
                from concurrent.futures import ThreadPoolExecutor

                self._pool = ThreadPoolExecutor(max(self.threads - 1, 1), "seekwarc-decode")
            return self._pool

    def close(self) -> None:
        """Stop the threads, and give back the memory of frames and buffers.

        A closed archive is a part of cycles. If it took much with it, a worker that reads one after the other
        would grow until the garbage collector comes, which counts objects and not their bytes.
        """
        self.cache.clear()
        # Reads that other threads have begun may go on for a while.
        self._is_closed = True
        self._local = threading.local()
        with self._lock:
            if self._pool is not None:
                self._pool.shutdown(wait=True, cancel_futures=True)
                self._pool = None
