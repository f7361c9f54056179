"""Training dictionaries on records, and measuring what they save.

A dictionary holds text that is common at the beginning of records of a kind, so it helps small records, and
the beginnings of larger ones. A crawl is read once, in order, whatever its size, so the samples must be
chosen while it goes by (`_Reservoir`). They must be balanced, since most records of a crawl are of very few
kinds (`_Sampler`), and mixed, since the trainer looks at them piece by piece. Incompressible data,
such as images, must not fill the dictionary. One record of ten is not trained on but measured, so that a
dictionary that only knows its samples by heart is not mistaken for a good one.

The figures in this file were measured on crawls of 12,000 and 31,000 records (documentation of one site;
pages, scripts, data and images of six).
"""

from __future__ import annotations

import heapq
import os
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
from seekwarc.jobs.progress import Progress, no_progress
from seekwarc.options import check_range
from seekwarc.read.options import ReadLimits
from seekwarc.read.reader import WholeReader
from seekwarc.storage.expand import expand
from seekwarc.storage.opening import open_source
from seekwarc.storage.source import RangeReadable

if TYPE_CHECKING:
    from seekwarc.read.record import Record


__all__ = [
    "DEFAULT_SIZE",
    "MEASURED_SIZE",
    "Gain",
    "GainMeter",
    "Stratum",
    "Training",
    "beginning",
    "train",
    "trained_on",
]

Trained = str | os.PathLike[str] | BinaryIO | RangeReadable
"""A file whose records are samples."""

DEFAULT_SIZE: Final = 112_640
"""The default of the zstd command: 110 KiB."""
MAX_SIZE: Final = 1 << 30

SAMPLE_SIZE: Final = 32 << 10
"""Maximum size of a sample. 16 KiB made the files of one site 8 % larger, 64 KiB made none smaller."""
SAMPLES_TO_SIZE: Final = 200
"""Total size of the samples, as a multiple of the dictionary's: half of it made files 1 % larger, more of it
made none smaller."""
MAX_SAMPLES_SIZE: Final = 256 << 20
MIN_SAMPLES: Final = 7
"""Minimum number of samples that the codec accepts."""
SIZE_TO_SAMPLES: Final = 10
"""A dictionary larger than a tenth of its samples knows them by heart: a sixth made files 7 % larger."""
MAX_STRATA: Final = 64
"""Maximum number of kinds of records. A file may state any number of media types."""
MAX_NAME: Final = 60

TRIAL_SIZE: Final = 16 << 10
TRIAL_LEVEL: Final = 1
MIN_PAYLOAD: Final = 256
"""A shorter payload is not tried, and taken as a sample: it is hardly more than its head."""
COMPRESSES: Final = 0.9
"""If compression leaves more than this share of a payload, only the heads before it are a sample."""

HELD_OUT: Final = 10
"""One record in this many is not trained on."""
MEASURED_SIZE: Final = 128 << 10
"""Maximum size of what is measured of a record; the rest compresses as well without a dictionary."""
MIN_MEASURED: Final = 4 << 20
MAX_MEASURED: Final = 64 << 20

SEED: Final = 20260101
"""Fixed, so that the same files give the same samples."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """Records of one kind. Each kind gets the same share of the samples, however many records it has."""

    type: str
    """WARC-Type."""
    mime: str
    """Media type of a response's payload, or of another record's block."""
    records: int
    samples: int
    sample_size: int
    """Bytes of the samples."""


@dataclass(frozen=True, slots=True)
class Gain:
    """What a dictionary saves in one file, measured on a random sample of its records."""

    name: str
    records: int
    """Number of records in the file."""
    measured: int
    """Number of records that were measured; only the beginning of large ones."""
    size_without: int
    """Compressed size of these without the dictionary."""
    size_with: int
    """Compressed size of these with the dictionary."""
    content_size: int = 0
    """Bytes of these before they are compressed."""

    @property
    def share(self) -> float | None:
        """Compressed size with the dictionary divided by that without; None if nothing was measured."""
        return self.size_with / self.size_without if self.size_without else None

    @property
    def saving(self) -> int:
        """Estimate of the bytes saved in all records, without the size of the dictionary itself."""
        if not self.measured:
            return 0
        return (self.size_without - self.size_with) * self.records // self.measured


@dataclass(frozen=True, slots=True)
class Training:
    """A new dictionary, its samples, and what it saves.

    Example:
        >>> with seekwarc.open("pages.warc.gz", "w") as out:
        ...     for number in range(300):
        ...         page = f"<h1>Page {number}</h1><p>Written in {number % 7} parts by hand.".encode() * 9
        ...         _ = out.write_resource(f"http://example.org/{number}", page, "text/html")
        >>> done = seekwarc.tools.train("pages.warc.gz")
        >>> done.samples > 200, done.gains[0].share < 1
        (True, True)
    """

    dictionary: Dictionary
    samples: int
    sample_size: int
    strata: tuple[Stratum, ...]
    """The kinds of records; those with most bytes of samples first."""
    gains: tuple[Gain, ...]
    """One for each file, measured on records that were not trained on."""


class _Reservoir:
    """Pieces of an endless stream, chosen at random in bounded memory, balanced between groups.

    Every piece draws a random number. When there is too much, the largest group loses its piece with the
    highest number, and from then on accepts only lower ones. So a group always has those of all its pieces
    that drew the lowest numbers, and each of them had the same chance, wherever it was in the stream.
    """

    def __init__(self, capacity: int, max_count: int | None = None) -> None:
        self._capacity = capacity
        self._max_count = max_count
        self._random = random.Random(SEED)  # noqa: S311
        self._pieces: dict[object, list[tuple[float, bytes]]] = {}
        self._sizes: Counter[object] = Counter()
        self._bounds: dict[object, float] = {}
        self._size = 0
        self._count = 0

    def draw(self, group: object) -> float | None:
        """Draw the number of a piece; None if the piece is not chosen."""
        number = self._random.random()
        return number if number < self._bounds.get(group, 1) else None

    def put(self, group: object, number: float, piece: bytes) -> None:
        heapq.heappush(self._pieces.setdefault(group, []), (-number, piece))
        self._change(group, len(piece), 1)
        while self._size > self._capacity or (self._max_count is not None and self._count > self._max_count):
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
        """Return all pieces in the order of their numbers, which mixes the groups."""
        drawn = [pair for pieces in self._pieces.values() for pair in pieces]
        return [piece for _, piece in sorted(drawn, reverse=True)]


def beginning(record: Record, max_size: int) -> bytes:
    """Return the first bytes of a record, header included; they can be read again."""
    raw = record.header.raw
    length = min(record.content_length, max(max_size - len(raw), 0))
    block = record.body.read_some(len(raw), len(raw) + length, length) if length else b""
    return (raw + block + (RECORD_END if length == record.content_length else b""))[:max_size]


class GainMeter:
    """Keeps some of the records of files, to measure on them what a dictionary saves."""

    def __init__(self, files: int = 1) -> None:
        self._kept = _Reservoir(min(max(MIN_MEASURED, files * MEASURED_SIZE), MAX_MEASURED))
        self._records: Counter[str] = Counter()

    def add(self, record: Record, *, keep: bool = True) -> None:
        """Count a record, and perhaps keep it. Call this before its block is read."""
        name = record.source
        self._records[name] += 1
        if keep and (number := self._kept.draw(name)) is not None:
            self._kept.put(name, number, beginning(record, MEASURED_SIZE))

    def gains(self, dictionary: Dictionary, level: int | None) -> tuple[Gain, ...]:
        """Compress the kept records of each file with and without a dictionary."""
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
                    sum(map(len, pieces)),
                )
            )
        return tuple(gains)


class _Sampler:
    def __init__(self, capacity: int, max_samples: int | None) -> None:
        self._samples = _Reservoir(capacity, max_samples)
        self._records: Counter[tuple[str, str]] = Counter()
        self._trial = FrameEncoder(TRIAL_LEVEL, None)

    def add(self, record: Record) -> None:
        """Consider a record as a sample. Call this before its block is read."""
        if record.type == "continuation":
            return  # It begins in the middle of a block.
        sample = beginning(record, SAMPLE_SIZE)
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
            (record.type or "-")[:MAX_NAME],
            (mime or "-").partition(";")[0].strip().lower()[:MAX_NAME],
        )
        if stratum not in self._records and len(self._records) >= MAX_STRATA:
            stratum = ("other", "-")
        self._records[stratum] += 1
        return stratum

    def _compresses(self, payload: bytes) -> bool:
        if len(payload) < MIN_PAYLOAD:
            return True
        trial = payload[:TRIAL_SIZE]
        return len(self._trial.encode(trial).data) <= len(trial) * COMPRESSES

    def samples(self) -> list[bytes]:
        """Return the samples with their kinds mixed; if they are not, the dictionary helps much less."""
        return self._samples.all()

    def strata(self) -> tuple[Stratum, ...]:
        strata = []
        for stratum, records in self._records.items():
            pieces = self._samples.of(stratum)
            strata.append(Stratum(*stratum, records, len(pieces), sum(map(len, pieces))))
        return tuple(sorted(strata, key=lambda it: (-it.sample_size, it.type, it.mime)))


def _turns() -> Iterator[bool]:
    """Yield for each record whether it is held out: one in each ten, at random."""
    chance = random.Random(SEED)  # noqa: S311
    while True:
        chosen = chance.randrange(HELD_OUT)
        yield from (number == chosen for number in range(HELD_OUT))


def train(
    files: str | os.PathLike[str] | Iterable[Trained],
    *,
    size: int = DEFAULT_SIZE,
    level: int | None = None,
    samples: int | None = None,
    on_progress: Progress = no_progress,
    **limits: Unpack[ReadLimits],
) -> Training:
    """Train a dictionary on records of WARC files, which are read once and in order.

        done = tools.train(["monday.warc.gz", "tuesday.warc.gz"])
        tools.convert("monday.warc.gz", "monday.warc.zst", dictionary=done.dictionary)

    Samples are whole small records, header included, and the beginnings of larger ones. They are chosen at
    random, but the same each time, and balanced between types and media types. If a payload does not
    compress, only the heads before it are a sample. One record in ten is not a sample, but measured.

    Args:
        files: .warc, .warc.gz or .warc.zst, recognized by content; folders, and patterns. One, or several;
            may be pipes.
        size: Maximum size of the dictionary in bytes; it is smaller if the samples are few.
        level: Compression level that it will be used with, -7 to 22; the writer's default unless given.
        samples: Maximum number of samples; as many as help unless given.
        on_progress: Wraps each source that is read, to report progress.
        **limits: Limits of reading; see `Reader`.

    Raises:
        ValueError: An argument is out of range.
        FormatError: A file is damaged or not a WARC file, or a dictionary does not help, since the records
            are too few, or too similar or dissimilar.
        SourceError: A file cannot be read.
    """
    check_range("size", size, MIN_DICTIONARY_SIZE, MAX_SIZE)
    if level is not None:
        check_range("level", level, MIN_LEVEL, MAX_LEVEL)
    if samples is not None:
        check_range("samples", samples, 1, 1 << 62)
    names: list[Trained] = list(expand(files))

    def records_of(file: Trained) -> Iterator[Record]:
        with WholeReader(on_progress(open_source(file), "sampling"), **limits) as archive:
            yield from archive

    return trained_on(map(records_of, names), len(names), size=size, level=level, samples=samples)


def trained_on(
    archives: Iterable[Iterable[Record]],
    count: int,
    *,
    size: int = DEFAULT_SIZE,
    level: int | None = None,
    samples: int | None = None,
) -> Training:
    """Train a dictionary on the records of a number of archives; see `train`."""
    sampler = _Sampler(min(size * SAMPLES_TO_SIZE, MAX_SAMPLES_SIZE), samples)
    meter = GainMeter(count)
    turns = _turns()
    for archive in archives:
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


def _trained(samples: list[bytes], size: int, level: int | None) -> Dictionary:
    have = sum(map(len, samples))
    if len(samples) < MIN_SAMPLES or have < SIZE_TO_SAMPLES * MIN_DICTIONARY_SIZE:
        raise FormatError(
            f"too little to train a dictionary on: {counted(len(samples), 'sample')} of {have} bytes in all; "
            "give more records"
        )
    level = DEFAULT_LEVEL if level is None else level
    return Dictionary.train(samples, size=min(size, have // SIZE_TO_SAMPLES), level=level)
