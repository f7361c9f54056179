"""A payload as libav reads it: in steps that suit remote files, within a budget, and never raising.

libav reads 32 KiB at a time, from wherever a film's own index leads. Over HTTP each of these reads would be a
request. So what is known to be needed (`expect`) is read in large pieces, and the rest in pieces that grow as
long as reading goes on where it stopped.

An exception inside a read would cross C code that may drop it or go on regardless. So a read that fails
returns nothing, which libav takes for the end of the file, and the error waits: `check` raises it. Damage in
a place that turns out not to matter, such as what libav probes at the beginning, is forgotten by `forget`.

A hostile film can make a reader jump in circles. Bytes and calls are limited by multiples of the film's size.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Final, Protocol

from seekwarc.errors import FormatError, LimitError, NotFoundError

__all__ = ["FilmFile", "SeekableFile"]

FIRST_STEP: Final = 128 << 10
GROWTH: Final = 4
MAX_STEP: Final = 1 << 20
MAX_EXPECTED_STEP: Final = 8 << 20
MAX_PIECES: Final = 4
"""Pieces that are kept: sound and picture may be in different places."""
MERGED_GAP: Final = 256 << 10
"""Ranges that are needed and this near to each other are read as one."""
ROUNDS: Final = 4
"""Times that the whole film may be read for one task."""
FREE_BYTES: Final = 64 << 20
FREE_CALLS: Final = 100_000
BYTES_PER_CALL: Final = 512


class SeekableFile(Protocol):
    """A binary file, raw or buffered, that one can go to any place of."""

    def read(self, size: int = -1, /) -> bytes | None:
        """Return up to `size` bytes; none at the end."""

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Move the position, and return it."""


class FilmFile:
    """The file object that libav is given.

    Args:
        file: A seekable binary file.
    """

    def __init__(self, file: SeekableFile) -> None:
        self._file = file
        self.size = file.seek(0, io.SEEK_END)
        self._position = 0
        self._pieces: list[tuple[int, bytes]] = []
        self._expected: list[tuple[int, int]] = []
        self._step, self._end = FIRST_STEP, -1
        self._failure: BaseException | None = None
        self._is_over = False
        self._bytes_left = ROUNDS * self.size + FREE_BYTES
        self._calls_left = ROUNDS * self.size // BYTES_PER_CALL + FREE_CALLS
        self.bytes_read = 0

    def read(self, count: int = -1, /) -> bytes:
        """Return up to `count` bytes; none at the end, and none after a failure.

        They may be fewer although the end is not near.
        """
        if self._is_over:
            return b""
        try:
            self._count(count)
            data = self._read(count)
        except (FormatError, NotFoundError) as error:
            self._failure = error
            return b""
        except BaseException as error:  # noqa: BLE001 - C code is between here and the caller; see `check`
            self._stop(error)
            return b""
        self._position += len(data)
        return data

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Move the position, and return it."""
        base = (0, self._position, self.size)[whence]
        self._position = max(base + offset, 0)
        return self._position

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def expect(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Say which ranges [start, stop) will be read."""
        merged: list[tuple[int, int]] = []
        for start, stop in sorted(ranges):
            if merged and start <= merged[-1][1] + MERGED_GAP:
                merged[-1] = merged[-1][0], max(merged[-1][1], stop)
            else:
                merged.append((start, stop))
        self._expected = merged

    def bytes_at(self, start: int, count: int) -> bytes:
        """Return the bytes [start, start + count), fewer at the end or before damage."""
        self.seek(start)
        pieces = []
        while count > 0 and (piece := self.read(count)):
            pieces.append(piece)
            count -= len(piece)
        return b"".join(pieces)

    def check(self) -> None:
        """Raise the error that a read met."""
        if self._failure is not None:
            raise self._failure

    def forget(self) -> None:
        """Forget damage that was met so far; errors that end everything are not forgotten."""
        if not self._is_over:
            self._failure = None

    def _stop(self, error: BaseException) -> None:
        self._failure, self._is_over = error, True

    def _count(self, count: int) -> None:
        self._bytes_left -= count
        self._calls_left -= 1
        if self._bytes_left < 0 or self._calls_left < 0:
            self._is_over = True
            raise LimitError(
                "the film makes its reader go in circles: its index or its structure is damaged or hostile"
            )

    def _read(self, count: int) -> bytes:
        position = self._position
        if position >= self.size:
            return b""
        for start, piece in self._pieces:
            if start <= position < start + len(piece):
                return piece[position - start : position - start + count]
        piece = self._load(position, max(self._step_at(position), count), count)
        self._pieces = [*self._pieces[1 - MAX_PIECES :], (position, piece)]
        self._end = position + len(piece)
        self.bytes_read += len(piece)
        return piece[:count]

    def _step_at(self, position: int) -> int:
        for start, stop in self._expected:
            if start - MERGED_GAP <= position < stop:
                # The bytes after it are a place of their own.
                self._step = FIRST_STEP // GROWTH
                return min(stop - position, MAX_EXPECTED_STEP)
        self._step = min(self._step * GROWTH, MAX_STEP) if position == self._end else FIRST_STEP
        # Expected bytes are read by themselves, later.
        following = min((start for start, _ in self._expected if start > position), default=self.size)
        return min(self._step, following - position)

    def _load(self, position: int, step: int, least: int) -> bytes:
        """Read a piece; before damage, what of it is intact."""
        while True:
            self._file.seek(position)
            try:
                return _filled(self._file, step)
            except (FormatError, NotFoundError):
                if step == 1:
                    raise
                step = min(step // 2, least)


def _filled(file: SeekableFile, size: int) -> bytes:
    data = file.read(size) or b""
    while len(data) < size and (more := file.read(size - len(data))):
        data += more
    return data
