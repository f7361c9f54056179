"""How large what is made of files would become, and how long that would take, measured on a sample of them.

Goal: an answer within seconds for terabytes, which one film among a million pages does not spoil.

Plan: the stored bytes of all files are one line, cut into equal stretches; in each a byte is chosen. What is
measured is the work on the record that has this byte, with those after it, or on its beginning if it is
large. So a kind of record counts by its bytes, however few records it has. Stretches come in random order,
since time may run out before the last. The mean of new bytes for each stored byte estimates all, and its
standard error the range.

Worst case: a byte in the middle of a film of gigabytes. The film's beginning is looked for backward, which
costs one read of the bytes before; once time is over, what is left is not measured.

Source: W. G. Cochran, Sampling Techniques, chapters 5 (stratified) and 9A (with probability by size).
"""

from __future__ import annotations

import io
import random
import re
import struct
import time
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean, stdev
from typing import Any, Final, NamedTuple, TypeAlias

from seekwarc.errors import FormatError, FormatWarning, SeekWarcError
from seekwarc.format.zstd import DICTIONARY_FRAME_MAGIC, measure_frame
from seekwarc.frames.dictionary import MAX_DICTIONARY_SIZE, Dictionary
from seekwarc.frames.pieces import Compression
from seekwarc.make.converting import ANY_SIZE, content_digest, convert
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.read.options import ReadLimits, ReadOptions
from seekwarc.read.reader import WholeReader
from seekwarc.read.search import RecordSearch
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.local import BytesSource
from seekwarc.storage.opening import open_source
from seekwarc.storage.source import RangeSource
from seekwarc.write.output import FileObjectOutput

__all__ = ["Conversion", "Estimate", "Work", "dictionary_frame", "estimate"]

MIN_SIZE: Final = 16 << 20
"""Fewer bytes are worked on in about the time that a sample of them takes."""
STRETCHES: Final = 96
MAX_SECONDS: Final = 20.0
FEW: Final = 5
"""Pieces after which it is known whether all can be done in the time of a sample."""
WINDOW: Final = 2 << 20
STEP_BACK: Final = 4 << 20
SURE: Final = 2.0
"""Standard errors of the mean to each side."""
MIN_SPREAD: Final = 0.01
MIN_TIME_SPREAD: Final = 0.1
"""How far off the ends of the ranges are at least: disks and other work are not in the sample."""

HEAD: Final = struct.Struct("<II")
MAX_CONTENT: Final = 64 << 20
"""Bytes of a large record that are measured."""

Work: TypeAlias = Callable[[BytesSource], int]
"""Makes something of an archive; returns how many bytes that is."""

SMALL: Final = b"WARC/1.1\r\nWARC-Type: resource\r\nContent-Length: 0\r\n\r\n"
TIMES: Final = 3

_LENGTH = re.compile(rb"(?im)^content-length:[^\r\n]*")


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a sample says of all files."""

    source_size: int
    """Stored bytes of all of them."""
    samples: int
    """Pieces that were measured."""
    sampled_size: int
    """Stored bytes of these."""
    target_size: tuple[int, int]
    """Least and most bytes that all would become, as likely as two standard errors are (95 of 100)."""
    seconds: tuple[float, float]
    """Least and most seconds that this would take."""


class _Piece(NamedTuple):
    stored: int
    target: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Conversion:
    """Converts an archive into memory; see `Work`."""

    compression: Compression
    verify: bool
    """Whether the new file is read back."""
    limits: ReadLimits
    options: dict[str, Any]
    """As `convert` takes them."""

    def __call__(self, source: BytesSource) -> int:
        """Return the size of the new file, without a dictionary."""
        written = io.BytesIO()
        output = FileObjectOutput(written)
        convert(source, output, self.compression, verify=False, limits=self.limits, **self.options)
        if self.verify:
            content_digest(BytesSource(written.getvalue()), max_dictionary_size=ANY_SIZE)
        dictionary = self.options.get("dictionary")
        is_packed = self.options.get("compress_dictionary", True)
        head = len(dictionary.frame(compress=is_packed)) if isinstance(dictionary, Dictionary) else 0
        return max(output.size - head, 0)


def estimate(
    files: Sequence[tuple[str, int]],
    work: Work,
    *,
    processes: int,
    limits: ReadLimits,
    clock: Callable[[], float] = time.monotonic,
) -> Estimate | None:
    """Measure a sample of files for at most 20 seconds.

    Args:
        files: Names and sizes of local files.
        work: What would be done with each.
        processes: How many would share the work.
        limits: Limits of reading.
        clock: Returns seconds.

    Returns:
        The estimate; None if all can be done in the time that a sample takes, or nothing is measured.
    """
    total = sum(size for _, size in files)
    if total < MIN_SIZE:
        return None
    begin = clock()
    measure = _Measure(work, limits, clock)
    measure.calibrate()
    pieces: list[_Piece] = []
    for name, place in _places(files, total):
        if clock() - begin > MAX_SECONDS:
            break
        with warnings.catch_warnings():
            # A window ends inside a record.
            warnings.simplefilter("ignore", FormatWarning)
            try:
                piece = measure(_window(name, place, limits))
            except SeekWarcError:
                continue
        pieces.append(piece)
        if len(pieces) == FEW:
            seconds = total * fmean(it.seconds / it.stored for it in pieces) / processes
            if seconds < MAX_SECONDS - (clock() - begin):
                return None
    if len(pieces) < 2:
        return None
    least, most = _range(total, [it.target / it.stored for it in pieces], MIN_SPREAD)
    return Estimate(
        total,
        len(pieces),
        sum(it.stored for it in pieces),
        (int(least), int(most)),
        _range(total / processes, [it.seconds / it.stored for it in pieces], MIN_TIME_SPREAD),
    )


def _range(total: float, shares: list[float], least: float) -> tuple[float, float]:
    mean = fmean(shares)
    spread = max(SURE * stdev(shares) / len(shares) ** 0.5, least * mean)
    return total * max(mean - spread, 0), total * (mean + spread)


def _places(files: Sequence[tuple[str, int]], total: int) -> Iterator[tuple[str, int]]:
    """Yield a file and an offset in it for each stretch, the same in every run."""
    ends = [*accumulate(size for _, size in files)]
    rng = random.Random(total)  # noqa: S311 - a sample, not a secret
    for stretch in rng.sample(range(STRETCHES), STRETCHES):
        place = int((stretch + rng.random()) * total / STRETCHES)
        number = bisect_right(ends, place)
        name, size = files[number]
        yield name, place - (ends[number] - size)


class _Measure:
    """Does the work on pieces."""

    def __init__(self, work: Work, limits: ReadLimits, clock: Callable[[], float]) -> None:
        self._work = work
        self._limits = limits
        self._clock = clock
        self._cost = 0.0

    def __call__(self, window: _Window) -> _Piece:
        """Measure the records of a window that end in it, or else the one that begins it."""
        last = _cut_off(window, self._limits)
        if last is None or last > 0:
            data = window.data[:last]
            stored = window.lead + data
        else:
            data, stored = self._beginning(window)
        begin = self._clock()
        size = self._work(BytesSource(stored))
        seconds = self._clock() - begin - self._cost
        return _Piece(len(data), size, max(seconds, 0.0))

    def calibrate(self) -> None:
        """Measure what a piece costs beside its bytes: threads that start, and a file that ends."""
        self._cost = min(self(_Window(b"", SMALL + b"\r\n\r\n", is_end=True)).seconds for _ in range(TIMES))

    def _beginning(self, window: _Window) -> tuple[bytes, bytes]:
        """Return the stored bytes of the beginning of a record, and a file of what they hold.

        It is compressed as the record is: files are decompressed while what is made is compressed.
        """
        data = _whole_frames(window.data)
        while True:
            with WholeReader(BytesSource(window.lead + data), **self._limits) as archive:
                record = next(iter(archive.in_order(tolerant=True)))
                block = record.block.read(MAX_CONTENT + 1)
                if not block:
                    raise FormatError("no frame of the record is small enough to be measured")
                if len(block) <= MAX_CONTENT:
                    header = _LENGTH.sub(b"Content-Length: %d" % len(block), record.header.raw, count=1)
                    return data, _stored(header + block + b"\r\n\r\n", archive.compression)
            data = _whole_frames(data[: len(data) // 4])


class _Window(NamedTuple):
    lead: bytes
    """The dictionary frame that the file begins with, if any."""
    data: bytes
    """Stored bytes from a record on."""
    is_end: bool
    """Whether the file ends with them."""


def _window(name: str, place: int, limits: ReadLimits) -> _Window:
    """Return bytes of a file from a record on: that with the byte at `place`, or one shortly before."""
    with closing(ArchiveFile(Fetcher(open_source(name)), ReadOptions.of(**limits))) as file:
        compression = file.begin()[1]
        search = RecordSearch(file, compression)
        lead = dictionary_frame(file.source)
        begin = len(lead)
        stop = max(place - WINDOW, begin)
        start = search.first_between(stop, place + 1)
        if start is None and compression == "none" and stop > begin:
            # Uncompressed, all of a large record is as its beginning.
            data = _read(file.source, place)[0]
            return _Window(b"", SMALL.replace(b": 0", b": %d" % (len(data) + 1)) + data, is_end=False)
        while start is None and stop > begin:
            stop, after = max(stop - STEP_BACK, begin), stop
            start = _last_between(search, stop, after)
        start = begin if start is None else start
        window = _Window(lead, *_read(file.source, start))
        last = _cut_off(window, limits)
        # The byte is in the record that the window cuts off, or before it: that is measured by its beginning.
        return (
            window
            if last is None or place < start + last
            else _Window(lead, *_read(file.source, start + last))
        )


def _cut_off(window: _Window, limits: ReadLimits) -> int | None:
    """Return where the last record of a window begins, which may end after it; None at the end of a file."""
    if window.is_end:
        return None
    with WholeReader(BytesSource(window.lead + window.data), **limits) as archive:
        offset = len(window.lead)
        # A window may end inside a frame.
        with suppress(FormatError):
            for record in archive.in_order(tolerant=True):
                offset = record.offset
        return offset - len(window.lead)


def _stored(content: bytes, compression: Compression) -> bytes:
    """Return a record in a compression, as fast as that can be made."""
    if compression == "none":
        return content
    stored = io.BytesIO()
    convert(BytesSource(content), FileObjectOutput(stored), compression, verify=False, level=1)
    return stored.getvalue()


def _whole_frames(data: bytes) -> bytes:
    """Return data up to the end of its last whole Zstandard frame; all of it if it is something else."""
    end = 0
    while (frame := measure_frame(data, end)) is not None:
        end = frame[0]
    return data[:end] if end else data


def _read(source: RangeSource, start: int) -> tuple[bytes, bool]:
    data = source.read(start, start + 2 * WINDOW)
    return data, start + len(data) == source.size


def dictionary_frame(source: RangeSource) -> bytes:
    """Return the dictionary frame that a file begins with; nothing if it has none."""
    head = source.read(0, HEAD.size)
    if len(head) < HEAD.size:
        return b""
    magic, size = HEAD.unpack(head)
    return (
        source.read(0, HEAD.size + size)
        if magic == DICTIONARY_FRAME_MAGIC and size <= MAX_DICTIONARY_SIZE
        else b""
    )


def _last_between(search: RecordSearch, start: int, stop: int) -> int | None:
    """Return where the last record begins in a range, found by halves, since there may be thousands."""
    found = search.first_between(start, stop)
    while found is not None and stop - found > 1:
        middle = (found + stop + 1) // 2
        later = search.first_between(middle, stop)
        if later is None:
            stop = middle
        else:
            found = later
    return found
