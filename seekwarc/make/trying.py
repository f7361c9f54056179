"""Whether a dictionary would pay for a file, tried on a sample of its records.

Goal: an answer within two seconds for a file of any size, which is the same for the same bytes. A dictionary
is of use to small records, so a film among them must not look like something that it makes smaller.

Plan: the stored bytes are cut into at most 32 equal stretches. Of each, the records that begin in its first
256 KiB are read. All of them together are sampled and measured as those of a whole file are (`training`): one
in ten is not trained on but measured. How many records the file has is estimated from the stored bytes that
were looked at, and with that what the dictionary saves in all of it. So stretches without a beginning, which
are inside films, count as bytes in which nothing is saved.

Worst case: `STRETCHES` windows, in each of which `MAX_CONTENT` bytes are decompressed. The limits are numbers
of bytes and records, never seconds.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from typing import BinaryIO, Final, Unpack

from seekwarc.errors import FormatError, FormatWarning
from seekwarc.frames.dictionary import Dictionary
from seekwarc.make.estimating import dictionary_frame
from seekwarc.make.training import MEASURED_SIZE, Gain, beginning, trained_on
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.read.options import ReadLimits, ReadOptions
from seekwarc.read.reader import WholeReader
from seekwarc.read.record import Record
from seekwarc.read.search import RecordSearch
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.local import BytesSource
from seekwarc.storage.opening import open_source
from seekwarc.storage.source import RangeReadable

__all__ = ["Trial", "tried"]

STRETCHES: Final = 32
WINDOW: Final = 256 << 10
MAX_RECORDS: Final = 1024
"""Records of the sample; twice as many make a dictionary that saves one percent more."""
MAX_CONTENT: Final = 8 << 20
"""Content of the records of one window."""
NAME: Final = "sample"
MIN_SAVING: Final = 0.1
"""A dictionary that saves less is not worth it: some programs cannot read a file that has one."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A dictionary that was tried on a sample of a file."""

    dictionary: Dictionary
    gain: Gain
    """Measured on records that were not trained on; `records` is an estimate."""
    share: float
    """What the new file would be smaller by, its dictionary included, as a share of its size without one."""

    @property
    def pays(self) -> bool:
        """Whether it saves more than a tenth."""
        return self.share > MIN_SAVING


class _Sample:
    """The records of some windows of a file, to be read once."""

    def __init__(self, file: ArchiveFile, limits: ReadLimits) -> None:
        self._source = file.source
        self._limits = limits
        compression = file.begin()[1]
        self._search = RecordSearch(file, compression)
        self._lead = dictionary_frame(file.source)
        self.is_plain = compression == "none"
        self.size = file.source.size or 0
        self._stretches = max(min(STRETCHES, -(-self.size // WINDOW)), 1)
        self.records = 0
        self.looked_at = 0
        """Stored bytes of the windows, up to the last record that was taken of each."""

    def __iter__(self) -> Iterator[Record]:
        for number in range(self._stretches):
            start, end = (self.size * it // self._stretches for it in (number, number + 1))
            yield from self._of_window(max(start, len(self._lead)), min(start + WINDOW, end))

    def _of_window(self, start: int, stop: int) -> Iterator[Record]:
        reached = stop
        begin = self._search.first_between(start, stop)
        if begin is not None:
            data = self._lead + self._source.read(begin, stop)
            count = content = 0
            # The window may end inside a record, whose beginning cannot be read then.
            with suppress(FormatError), WholeReader(BytesSource(data, NAME), **self._limits) as window:
                for record in window.in_order(tolerant=True):
                    if record.content_length > MAX_CONTENT:
                        break
                    if count == MAX_RECORDS // self._stretches or content > MAX_CONTENT:
                        reached = begin + record.offset - len(self._lead)
                        break
                    beginning(record, MEASURED_SIZE)
                    count += 1
                    content += record.content_length
                    yield record
            self.records += count
        self.looked_at += reached - start


def tried(
    source: str | os.PathLike[str] | BinaryIO | RangeReadable,
    *,
    level: int | None = None,
    **limits: Unpack[ReadLimits],
) -> Trial | None:
    """Train a dictionary on a sample of a file, and measure what it would save in all of it.

    Args:
        source: .warc, .warc.gz or .warc.zst, recognized by content; not a pipe.
        level: Compression level of the new file; the writer's default unless given.
        **limits: Limits of reading; see `Reader`.

    Returns:
        The dictionary and what it saves; None if no dictionary helps.

    Raises:
        FormatError: The file is not a WARC file.
        SourceError: The file cannot be read.
    """
    with closing(ArchiveFile(Fetcher(open_source(source)), ReadOptions.of(**limits))) as file:
        sample = _Sample(file, limits)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FormatWarning)
            try:
                training = trained_on([sample], 1, level=level)
            except FormatError:
                return None
    (gain,) = training.gains
    size, share = sample.size, sample.size / sample.looked_at
    gain = replace(gain, name=file.source.name, records=round(sample.records * share))
    if sample.is_plain:
        # What is compressed has about the size that it will have; what is not, shrinks as the sample does.
        size -= (gain.content_size - gain.size_without) * gain.records // max(gain.measured, 1)
    saved = gain.saving - len(training.dictionary.compressed)
    return Trial(training.dictionary, gain, saved / max(size, 1))
