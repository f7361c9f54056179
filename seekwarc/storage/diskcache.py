"""Stored bytes of remote objects, kept on a local disk from one run to the next.

An object is kept in blocks of a fixed size, each in a file named after a hash of the object's identity (its
address and version) and the block's number. Any number of processes may share the folder without locks: a
block is renamed into place once it is complete, and a file that is missing or damaged counts as a miss.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import threading
from collections.abc import Callable
from typing import Final

from seekwarc.errors import SourceError
from seekwarc.storage.plan import plan_requests

__all__ = ["DiskCache"]

BLOCK: Final = 128 << 10
"""Size of a block. A read fetches less than two blocks more than it asked for."""
DIGEST_SIZE: Final = 32
ROUNDS: Final = 16
"""The folder is scanned each time that 1/ROUNDS of the limit was written."""
SUFFIX: Final = ".block"


class DiskCache:
    """A folder that keeps blocks of remote objects. Reads are answered from it; missing blocks are fetched.

    The least recently used blocks are removed to make room. A block that cannot be written, such as to a full
    disk, is not kept; that is not an error.

    Args:
        folder: Where the blocks are kept; created if missing. Only this user should be able to write there.
            Every file in it whose name ends in `.block` may be removed.
        limit: Maximum size of all blocks together, in bytes. Processes that share the folder and write at the
            same time may exceed it briefly, each by a sixteenth.

    Raises:
        SourceError: The folder cannot be created.

    Example:
        >>> cache = seekwarc.DiskCache("cached", limit=256 << 20)
        >>> with seekwarc.open("crawl.warc.zst", disk_cache=cache) as archive:  # a URL, as a rule
        ...     print(archive.name)
        crawl.warc.zst
    """

    def __init__(self, folder: str | os.PathLike[str], *, limit: int = 1 << 30) -> None:
        self.__setstate__((os.path.abspath(folder), limit))
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
        except OSError as error:
            raise SourceError(f"cannot be a cache folder: {error.strerror}", source=self._folder) from error

    def __getstate__(self) -> tuple[str, int]:
        return self._folder, self._limit

    def __setstate__(self, state: tuple[str, int]) -> None:
        self._folder, self._limit = state
        self._lock = threading.Lock()
        self._unseen = self._limit
        """Bytes written since the last scan of the folder, which may be full at first."""

    def read(
        self, identity: str, start: int, stop: int, fetch: Callable[[int, int], bytes], *, size: int
    ) -> bytes:
        """Return the bytes [start, stop) of an object; `fetch` is called for ranges of whole blocks."""
        first, last = start // BLOCK, -(-stop // BLOCK)
        found = {number: self._load(identity, number) for number in range(first, last)}
        missing = [(number * BLOCK, (number + 1) * BLOCK) for number, data in found.items() if data is None]
        for begin, block_end, _ in plan_requests(missing, gap=0, max_size=stop - start + 2 * BLOCK):
            end = min(block_end, size)
            data = fetch(begin, end)
            for position in range(0, len(data), BLOCK):
                number = (begin + position) // BLOCK
                block = found[number] = data[position : position + BLOCK]
                # After a short answer, the last block that came is incomplete and must not be kept.
                if len(data) == end - begin:
                    self._store(identity, number, block)
        whole = b"".join(found[number] or b"" for number in range(first, last))
        return whole[start - first * BLOCK : stop - first * BLOCK]

    def _path(self, identity: str, number: int) -> str:
        name = hashlib.blake2b(f"{number} {identity}".encode(), digest_size=20).hexdigest()
        return os.path.join(self._folder, name[:2], name + SUFFIX)

    def _load(self, identity: str, number: int) -> bytes | None:
        path = self._path(identity, number)
        try:
            with open(path, "rb") as file:
                stored = file.read(BLOCK + DIGEST_SIZE + 1)
            # The modification time says when the block was last used.
            os.utime(path)
        except OSError:
            return None
        digest, data = stored[:DIGEST_SIZE], stored[DIGEST_SIZE:]
        if digest != _digest(identity, number, data):
            with contextlib.suppress(OSError):
                os.unlink(path)
            return None
        return data

    def _store(self, identity: str, number: int, data: bytes) -> None:
        path = self._path(identity, number)
        folder = os.path.dirname(path)
        with contextlib.suppress(OSError):
            os.makedirs(folder, mode=0o700, exist_ok=True)
            descriptor, unfinished = tempfile.mkstemp(SUFFIX, dir=folder)
            try:
                with open(descriptor, "wb") as file:
                    file.write(_digest(identity, number, data))
                    file.write(data)
                os.replace(unfinished, path)
            except BaseException:
                os.unlink(unfinished)
                raise
        with self._lock:
            self._unseen += len(data) + DIGEST_SIZE
            look = self._unseen * ROUNDS > self._limit
            if look:
                self._unseen = 0
        if look:
            self._make_room()

    def _make_room(self) -> None:
        blocks = []
        for folder, _, names in os.walk(self._folder):
            for name in names:
                path = os.path.join(folder, name)
                if name.endswith(SUFFIX):
                    with contextlib.suppress(OSError):
                        status = os.stat(path)
                        blocks.append((status.st_mtime_ns, status.st_size, path))
        excess = sum(size for _, size, _ in blocks) - self._limit * (ROUNDS - 1) // ROUNDS
        for _, size, path in sorted(blocks):
            if excess <= 0:
                return
            # Another process may have removed it first.
            with contextlib.suppress(OSError):
                os.unlink(path)
            excess -= size


def _digest(identity: str, number: int, data: bytes) -> bytes:
    hasher = hashlib.blake2b(f"{number} {identity}\0".encode(), digest_size=DIGEST_SIZE)
    hasher.update(data)
    return hasher.digest()
