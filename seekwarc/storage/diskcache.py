"""Stored bytes of remote objects, kept on a local disk from one run to the next.

An object is kept in blocks, each of them a file of its own, whose name is made of the object's identity (its
address and its version) and the block's number. Any number of processes may share a folder: a block gets
its name when it is whole, a file that was removed or damaged is as good as none, and nothing is locked.
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
"""What is fetched and kept at a time: a read takes less than two of them more than it asked for."""
DIGEST_SIZE: Final = 32
ROUNDS: Final = 16
"""The folder is looked through each time that one part in so many of the limit was written."""
SUFFIX: Final = ".block"


class DiskCache:
    """A folder of blocks. Reads are answered from it, and what is missing is fetched and kept.

    The blocks that were used longest ago are removed to make room. Where a block cannot be written, because
    the disk is full, it is not kept: that is no error.

    Args:
        folder: Where the blocks are kept; made if it is not there. Only this user should be able to write
            there. Everything in it that ends in `.block` may be removed.
        limit: Most bytes of all blocks. Processes that share the folder and write at the same time may
            exceed it for a moment, each by a sixteenth.

    Raises:
        SourceError: The folder cannot be made.
    """

    def __init__(self, folder: str | os.PathLike[str], *, limit: int = 1 << 30) -> None:
        self._set_up(os.path.abspath(folder), limit)
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
        except OSError as error:
            raise SourceError(f"cannot be a cache folder: {error.strerror}", source=self._folder) from error

    def _set_up(self, folder: str, limit: int) -> None:
        self._folder = folder
        self._limit = limit
        self._lock = threading.Lock()
        self._unseen = limit
        """Bytes written since the folder was scanned last; at first, nobody knows what is there."""

    def __getstate__(self) -> tuple[str, int]:
        return self._folder, self._limit

    def __setstate__(self, state: tuple[str, int]) -> None:
        self._set_up(*state)

    def read(
        self, identity: str, start: int, stop: int, fetch: Callable[[int, int], bytes], *, size: int
    ) -> bytes:
        """Return the bytes [start, stop) of an object.

        Args:
            identity: Names one version of one object.
            start: First byte.
            stop: Behind the last, not beyond the end of the object.
            fetch: Returns a range of the object; asked for what is missing, in whole blocks.
            size: Bytes of the object.

        Raises:
            SourceError: From `fetch`.
        """
        first, last = start // BLOCK, -(-stop // BLOCK)
        found = {number: self._load(identity, number) for number in range(first, last)}
        missing = [(number * BLOCK, (number + 1) * BLOCK) for number, data in found.items() if data is None]
        for begin, behind, _ in plan_requests(missing, gap=0, most=stop - start + 2 * BLOCK):
            end = min(behind, size)
            data = fetch(begin, end)
            for position in range(0, len(data), BLOCK):
                number = (begin + position) // BLOCK
                block = found[number] = data[position : position + BLOCK]
                # The last block of an object may be short, but none because its source answered short.
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
            # So that it is known to have been used.
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
        """Remove the blocks used longest ago until a sixteenth of the limit is free."""
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
            # Another process may have been faster.
            with contextlib.suppress(OSError):
                os.unlink(path)
            excess -= size


def _digest(identity: str, number: int, data: bytes) -> bytes:
    """Return what tells that these are the right bytes, of the right object, and all of them."""
    hasher = hashlib.blake2b(f"{number} {identity}\0".encode(), digest_size=DIGEST_SIZE)
    hasher.update(data)
    return hasher.digest()
