"""Dictionaries made of the records that they are to compress, and what they save.

A dictionary knows what records of the same kind begin with, so it helps small records, and the beginnings of
larger ones. The figures in this file were measured on crawls of 12,000 and 31,000 records (documentation of
one site; pages, scripts, data and images of six).
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Final, Unpack

from seekwarc.errors import FormatError
from seekwarc.format.http import HttpHead, is_http_block, parse_http_head
from seekwarc.format.warc import RECORD_END
from seekwarc.format.words import counted
from seekwarc.frames.dictionary import MIN_DICTIONARY_SIZE, Dictionary
from seekwarc.frames.encoder import DEFAULT_LEVEL, MAX_LEVEL, MIN_LEVEL, FrameEncoder
from seekwarc.read.options import ReadLimits
from seekwarc.read.reader import Reader
from seekwarc.storage.opening import open_source
from seekwarc.storage.source import RangeReadable
from seekwarc.tools.progress import Progress, no_progress
from seekwarc.write.options import check_range

if TYPE_CHECKING:
    import os

    from seekwarc.read.record import Record


__all__ = ["DEFAULT_SIZE", "Gain", "GainMeter", "Stratum", "Training", "train"]

DEFAULT_SIZE: Final = 112_640
"""What the zstd command takes: 110 KiB."""
MAX_SIZE: Final = 1 << 30

SAMPLE_SIZE: Final = 32 << 10
"""Most of a record to train on. 16 KiB made the files of one site 8 % larger, 64 KiB none smaller."""
SAMPLES_TO_SIZE: Final = 200
"""Samples in all, in sizes of the dictionary: half as many made files 1 % larger, more no smaller."""
MOST_SAMPLES_SIZE: Final = 256 << 20
LEAST_SAMPLES: Final = 7
"""The codec takes no fewer."""
SIZE_TO_SAMPLES: Final = 10
"""A dictionary larger than a tenth of its samples knows them by heart: a sixth made files 7 % larger."""
MOST_STRATA: Final = 64
"""Kinds of records that are told apart. What records say of themselves is not to be trusted."""
MOST_OF_NAME: Final = 60

TRIAL_SIZE: Final = 16 << 10
TRIAL_LEVEL: Final = 1
LEAST_PAYLOAD: Final = 256
"""A payload shorter than this is not tried: it is hardly more than its head."""
COMPRESSES: Final = 0.9
"""A payload of which more than this share is left is not trained on, only the heads in front of it."""

HELD_OUT: Final = 10
"""One record of so many is not trained on."""
MEASURED_SIZE: Final = 128 << 10
"""Most of a record to measure on; what lies behind compresses as well without a dictionary."""
LEAST_MEASURED: Final = 4 << 20
MOST_MEASURED: Final = 64 << 20

SEED: Final = 20260101
"""The same files give the same samples."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """Records of one kind: each kind has the same right to be trained on, however many records it has."""

    type: str
    """WARC-Type."""
    mime: str
    """Media type of a response's payload, of other records the block's."""
    records: int
    samples: int
    sample_size: int
    """Bytes of the samples."""


@dataclass(frozen=True, slots=True)
class Gain:
    """What a dictionary saves in one file, measured on some of its records, chosen at random."""

    name: str
    records: int
    """Records of the file."""
    measured: int
    """Records that were measured, their beginnings if they are large."""
    size_without: int
    """What those take without the dictionary."""
    size_with: int
    """What they take with it."""

    @property
    def share(self) -> float | None:
        """What is left of a byte; None where nothing was measured."""
        return self.size_with / self.size_without if self.size_without else None

    @property
    def saving(self) -> int:
        """Bytes saved in all records, reckoned from those measured; what the dictionary takes not counted."""
        if not self.measured:
            return 0
        return (self.size_without - self.size_with) * self.records // self.measured


@dataclass(frozen=True, slots=True)
class Training:
    """A new dictionary, what it was made of, and what it saves."""

    dictionary: Dictionary
    samples: int
    sample_size: int
    strata: tuple[Stratum, ...]
    """The largest samples first."""
    gains: tuple[Gain, ...]
    """One a file, measured on records that were not trained on."""


class _Reservoir:
    """Pieces chosen at random, in bounded memory, of which each group may have as much as any other.

    Every piece draws a number. Where there is too much, the group that has most loses the piece of the
    highest number, and takes none of a higher one any more: what is left of a group are those of all its
    pieces that drew the lowest numbers, so each had the same chance.
    """

    def __init__(self, capacity: int, most: int | None = None) -> None:
        self._capacity = capacity
        self._most = most
        self._random = random.Random(SEED)  # noqa: S311
        self._pieces: dict[object, list[tuple[float, bytes]]] = {}
        self._sizes: Counter[object] = Counter()
        self._bounds: dict[object, float] = {}
        self._size = 0
        self._count = 0

    def draw(self, group: object) -> float | None:
        """Draw a number for a piece, None where it is out of the running."""
        number = self._random.random()
        return number if number < self._bounds.get(group, 1) else None

    def put(self, group: object, number: float, piece: bytes) -> None:
        heapq.heappush(self._pieces.setdefault(group, []), (-number, piece))
        self._change(group, len(piece), 1)
        while self._size > self._capacity or (self._most is not None and self._count > self._most):
            largest = max(self._sizes, key=self._sizes.__getitem__)
            bound, dropped = heapq.heappop(self._pieces[largest])
            self._bounds[largest] = -bound
            self._change(largest, -len(dropped), -1)

    def _change(self, group: object, size: int, count: int) -> None:
        self._sizes[group] += size
        self._size += size
        self._count += count

    def of(self, group: object) -> list[bytes]:
        return [piece for _, piece in self._pieces.get(group, ())]

    def all(self) -> list[bytes]:
        """Return all pieces in the order of their numbers: mixed."""
        drawn = [pair for pieces in self._pieces.values() for pair in pieces]
        return [piece for _, piece in sorted(drawn, reverse=True)]


def _beginning(record: Record, most: int) -> bytes:
    """Return the first bytes of a record as it is stored, without passing them."""
    raw = record.header.raw
    length = min(record.content_length, max(most - len(raw), 0))
    block = record.body.read_some(len(raw), len(raw) + length, length) if length else b""
    return (raw + block + (RECORD_END if length == record.content_length else b""))[:most]


class GainMeter:
    """Keeps some of the records that go by, to measure on them what a dictionary saves.

    Args:
        files: How many files there are.
    """

    def __init__(self, files: int = 1) -> None:
        self._kept = _Reservoir(min(max(LEAST_MEASURED, files * MEASURED_SIZE), MOST_MEASURED))
        self._records: Counter[str] = Counter()

    def add(self, record: Record, *, keep: bool = True) -> None:
        """Count a record, whose block was not read yet, and keep it perhaps.

        Args:
            record: The record.
            keep: Whether it may be measured on.
        """
        name = record.source
        self._records[name] += 1
        if keep and (number := self._kept.draw(name)) is not None:
            self._kept.put(name, number, _beginning(record, MEASURED_SIZE))

    def gains(self, dictionary: Dictionary, level: int) -> tuple[Gain, ...]:
        """Compress what was kept of each file with and without a dictionary."""
        without, with_it = FrameEncoder(level, None), FrameEncoder(level, dictionary)
        gains = []
        for name, records in self._records.items():
            pieces = self._kept.of(name)
            gains.append(
                Gain(
                    name,
                    records,
                    len(pieces),
                    sum(len(without.encode(piece).data) for piece in pieces),
                    sum(len(with_it.encode(piece).data) for piece in pieces),
                )
            )
        return tuple(gains)


class _Sampler:
    """Chooses what to train on, from each kind of records as much as from any other."""

    def __init__(self, capacity: int, most: int | None) -> None:
        self._samples = _Reservoir(capacity, most)
        self._records: Counter[tuple[str, str]] = Counter()
        self._trial = FrameEncoder(TRIAL_LEVEL, None)

    def add(self, record: Record) -> None:
        """Look at a record whose block was not read yet."""
        if record.type == "continuation":
            return  # The middle of something: nothing begins there.
        sample = _beginning(record, SAMPLE_SIZE)
        head_size = len(record.header.raw)
        head = None
        if is_http_block(record.content_type):
            block = sample[head_size : head_size + record.content_length]
            head = parse_http_head(block, whole=len(block) == record.content_length)
            head_size += head.size if head is not None else 0
        stratum = self._stratum(record, head)
        number = self._samples.draw(stratum)
        if number is None:
            return
        if not self._compresses(sample[head_size:]):
            sample = sample[:head_size]
        self._samples.put(stratum, number, sample)

    def _stratum(self, record: Record, head: HttpHead | None) -> tuple[str, str]:
        mime = record.content_type
        if head is not None and record.type == "response":
            mime = head.get("Content-Type")
        stratum = (
            (record.type or "-")[:MOST_OF_NAME],
            (mime or "-").partition(";")[0].strip().lower()[:MOST_OF_NAME],
        )
        if stratum not in self._records and len(self._records) >= MOST_STRATA:
            stratum = ("other", "-")
        self._records[stratum] += 1
        return stratum

    def _compresses(self, payload: bytes) -> bool:
        if len(payload) < LEAST_PAYLOAD:
            return True
        trial = payload[:TRIAL_SIZE]
        return len(self._trial.encode(trial).data) <= len(trial) * COMPRESSES

    def samples(self) -> list[bytes]:
        """Return the samples, those of different kinds mixed, without which a dictionary helps much less."""
        return self._samples.all()

    def strata(self) -> tuple[Stratum, ...]:
        """Return what kinds of records there were."""
        strata = []
        for stratum, records in self._records.items():
            pieces = self._samples.of(stratum)
            strata.append(Stratum(*stratum, records, len(pieces), sum(map(len, pieces))))
        return tuple(sorted(strata, key=lambda it: (-it.sample_size, it.type, it.mime)))


def _turns() -> Iterator[bool]:
    """Tell of one record in each ten, which of them by chance, that it is held out."""
    chance = random.Random(SEED)  # noqa: S311
    while True:
        chosen = chance.randrange(HELD_OUT)
        yield from (number == chosen for number in range(HELD_OUT))


def train(
    files: Iterable[str | os.PathLike[str] | BinaryIO | RangeReadable],
    *,
    size: int = DEFAULT_SIZE,
    level: int = DEFAULT_LEVEL,
    samples: int | None = None,
    on_progress: Progress = no_progress,
    **limits: Unpack[ReadLimits],
) -> Training:
    """Train a dictionary on records of WARC files, which are read once and in order.

    Samples are whole small records, header included, and the beginnings of larger ones, chosen at random and
    the same each time; as much of each type and media type as there is of others. Of payloads that do not
    compress, only the heads in front of them are taken. One record in ten is kept out of the samples, to
    measure on.

    Args:
        files: .warc, .warc.gz or .warc.zst, told apart by content; may be pipes.
        size: Most bytes of the dictionary; it is smaller where there is little to train on.
        level: Compression level that it is to be used with, -7 to 22.
        samples: Most samples; as many as help unless given.
        on_progress: Wraps each source that is read, to report how far.
        **limits: For each `Reader`.

    Raises:
        ValueError: An argument out of its range.
        FormatError: A file is damaged or no WARC file, or its records are too few, or too much alike or too
            little, for a dictionary to help.
        SourceError: A file cannot be read.
    """
    check_range("size", size, MIN_DICTIONARY_SIZE, MAX_SIZE)
    check_range("level", level, MIN_LEVEL, MAX_LEVEL)
    if samples is not None:
        check_range("samples", samples, 1, 1 << 62)
    files = list(files)
    sampler = _Sampler(min(size * SAMPLES_TO_SIZE, MOST_SAMPLES_SIZE), samples)
    meter = GainMeter(len(files))
    turns = _turns()
    for file in files:
        source = open_source(file)
        with Reader(on_progress(source, "sampling"), **limits) as archive:
            for record in archive:
                held_out = next(turns)
                meter.add(record, keep=held_out)
                if not held_out:
                    sampler.add(record)
    chosen = sampler.samples()
    dictionary = _trained(chosen, size, level)
    gains = meter.gains(dictionary, level)
    measured = sum(gain.size_without for gain in gains)
    if measured and sum(gain.size_with for gain in gains) >= measured:
        raise FormatError(
            f"a dictionary does not help here: trained on {counted(len(chosen), 'sample')}, it saves "
            "nothing in other records of the same files"
        )
    return Training(dictionary, len(chosen), sum(map(len, chosen)), sampler.strata(), gains)


def _trained(samples: list[bytes], size: int, level: int) -> Dictionary:
    have = sum(map(len, samples))
    if len(samples) < LEAST_SAMPLES or have < SIZE_TO_SAMPLES * MIN_DICTIONARY_SIZE:
        raise FormatError(
            f"too little to train a dictionary on: {counted(len(samples), 'sample')} of {have} bytes in all; "
            "take more records"
        )
    return Dictionary.train(samples, size=min(size, have // SIZE_TO_SAMPLES), level=level)
