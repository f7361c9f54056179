"""One large file, worked on by several processes: it is cut at records, and results come in file order.

Where it is cut is a guess by the bytes from there on, which is wrong in an archive inside an archive. But
work on a part reads it to its end, and fails if that is inside a record. So the parts before the first that
fails hold the records that one process would find, each once. A part also fails if it is damaged, if its
process dies, or if the file is replaced. Then the caller goes on at its beginning in this process, and
reports what one process would have reported. If it reads on to a record that a later part begins with, it may
take the result of that part again.

Worst case: the first part takes long. Until it is done, no more than `AHEAD` parts for each process are
begun, and what they make is in files.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Final, Generic, NamedTuple, Protocol, TypeVar, Unpack, cast

from seekwarc.collection.entry import with_next
from seekwarc.compiling import override
from seekwarc.errors import FormatError, FormatWarning, SeekWarcError, SourceChangedError
from seekwarc.format.warc import RecordHeader
from seekwarc.frames.dictionary import Dictionary
from seekwarc.jobs.outcome import Job, Status
from seekwarc.jobs.problems import OncePerPlace, OnProblem
from seekwarc.jobs.work import JobContext, Reading, Report, writing
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.read.options import ReadLimits, ReadOptions
from seekwarc.read.reader import Reader, WholeReader
from seekwarc.read.record import Record
from seekwarc.scale.searched import searched_starts
from seekwarc.scale.split import Split
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.opening import open_source
from seekwarc.storage.source import RangeSource, SmallReads, SourceWrapper

__all__ = [
    "MIN_SIZE",
    "Found",
    "FoundInPart",
    "Notes",
    "PartSource",
    "cut",
    "each_part",
    "found_in",
    "in_parts",
]

MIN_SIZE: Final = 16 << 20
"""A smaller file is done by one process in about the time that others take to start."""
MIN_PART: Final = 4 << 20
MAX_PART: Final = 64 << 20
PARTS: Final = 4
"""Parts a process, unless they would be too small or too large: then all end at about the same time."""
AHEAD: Final = 2


_Result = TypeVar("_Result")
_Result_co = TypeVar("_Result_co", covariant=True)
_Done = TypeVar("_Done")
_Noted = TypeVar("_Noted")
_Done_co = TypeVar("_Done_co", covariant=True)


class PartWork(Protocol[_Result_co]):
    """The work on a part. Must be picklable; raises, or returns None, unless all is well with the part."""

    def __call__(self, part: Split, source: RangeSource, spool: str) -> _Result_co | None:
        """Read a part of a source; `spool` is the path of a file that may be made."""


def cut(
    name: object,
    processes: int,
    fits: Callable[[RecordHeader], bool] | None = None,
    *,
    dictionary: Dictionary | None = None,
    **limits: Unpack[ReadLimits],
) -> list[Split]:
    """Cut a file before records whose header fits; return no part if one process is to work on it."""
    if processes < 2 or not isinstance(name, str | os.PathLike) or not os.path.isfile(name):
        return []
    name = os.fspath(name)
    size = os.path.getsize(name)
    if size < MIN_SIZE:
        return []
    step = max(MIN_PART, min(size // (PARTS * processes), MAX_PART))
    places = [0]
    try:
        source, options = Fetcher(open_source(name)), ReadOptions.of(**limits)
        with closing(ArchiveFile(source, options, dictionary=dictionary)) as file:
            # The version may be unknown before the first read.
            compression = file.begin()[1]
            version = file.source.version
            places += searched_starts(file, compression, step, fits)
    except SeekWarcError:
        return []
    stops = [*places[1:], None]
    parts = [Split(name, "records", *it, identity=version) for it in zip(places, stops, strict=True)]
    return parts if len(parts) > 1 else []


def in_parts(
    stored: RangeSource, parts: Sequence[Split], work: PartWork[_Result], processes: int, folder: str | None
) -> Iterator[_Result]:
    """Yield the result of the work on each part, in order, up to the first that is not well."""
    with closing(each_part(stored, parts, work, processes, folder)) as results:
        for result in results:
            if result is None:
                return
            yield result


def each_part(
    stored: RangeSource, parts: Sequence[Split], work: PartWork[_Result], processes: int, folder: str | None
) -> Generator[_Result | None, None, None]:
    """Yield the result of the work on each part, in order; None of one that the caller is to work on.

    It ends early if the work fails: then no process is to work on what is left.

    Args:
        stored: The file, open in this process, as what reports progress has wrapped it.
        parts: What `cut` returned.
        work: Is sent to each process.
        processes: How many there are.
        folder: Where a folder for spools is made; None for the system's.
    """
    if not parts:
        return
    # Imported only when needed: it takes a while.
    from seekwarc.jobs.workers import run_in_order

    jobs = [Job(part.filename, part=part) for part in parts]
    count = min(processes, len(jobs))
    progress = _Progress(stored)
    outcomes = run_in_order(
        jobs, _Checked(work), progress, processes=count, ahead=AHEAD * count, folder=folder
    )
    with closing(outcomes):
        for part, outcome in zip(parts, outcomes, strict=False):
            if outcome.status not in (Status.DONE, Status.PROBLEMS):
                return
            yield cast("_Result", outcome.result) if outcome.status is Status.DONE else None
            # If a part was not read to its end, the caller has read the rest.
            progress.reach(part.stop)


class Found(Protocol[_Done_co]):
    """What is found in a file, or in a part of one: a line for each record, or for some."""

    @property
    def done(self) -> _Done_co:
        """What was done, once there are all lines. Must be picklable."""

    @property
    def is_damaged(self) -> bool:
        """Whether there was damage on the way to a record."""

    def lines(self) -> Iterable[bytes]:
        """Yield the lines in file order. Called once."""


class Notes(ABC, Generic[_Noted]):
    """What is found in an archive, a line for each record or for some; see `Found`.

    Damage is passed over: each place of it goes to `on_problem` once.
    """

    def __init__(self, archive: Reader, on_problem: OnProblem) -> None:
        self._archive = archive
        self._report = OncePerPlace(on_problem)
        self.is_damaged = False

    def lines(self) -> Iterator[bytes]:
        """See `Found.lines`."""
        try:
            yield from self._lines()
        except FormatError as damage:
            self._note(damage)

    @abstractmethod
    def _lines(self) -> Iterator[bytes]:
        """Yield the lines of what is `_noted`."""

    @abstractmethod
    def _found(self, record: Record) -> _Noted | None:
        """Return what is found in a record, if anything is."""

    def _noted(self) -> Iterator[tuple[Record, _Noted]]:
        """Yield the records in which something is found, without those that are damaged."""
        for record, found, _, is_damaged in with_next(self._archive, self._described, self._note):
            if found is not None and not is_damaged:
                yield record, found

    def _described(self, record: Record) -> _Noted | None:
        try:
            return self._found(record)
        except FormatError as error:
            # Iteration shows whether the file can be read further.
            self._report(error.located(record.source, record.offset))
            return None

    def _note(self, damage: FormatError) -> None:
        self.is_damaged = True
        self._report(damage)


class Begin(Protocol[_Done_co]):
    """Begins to look through a file, or a part of one. Must be picklable."""

    def __call__(self, archive: Reader, /, *, on_problem: OnProblem) -> Found[_Done_co]:
        """Return what will be found; each problem goes to `on_problem`."""


def found_in(
    source: object,
    label: str,
    begin: Begin[_Done],
    reading: Reading,
    *,
    folder: str | None,
    on_problem: OnProblem,
    fits: Callable[[RecordHeader], bool] | None = None,
    arrange: Callable[[Iterable[bytes]], Iterable[bytes]] = iter,
) -> Generator[Found[_Done], None, None]:
    """Yield what is found in each part of a file, then what `begin` finds in the rest of it in this process.

    The lines of each are to be read before the next. `arrange` puts those of a part in order, in its process.
    """
    limits, processes = reading.limits, reading.processes
    parts, work = cut(source, processes, fits, **limits), _PartLines(begin, limits, arrange)
    with closing(reading.on_progress(open_source(cast("str", source)), label)) as stored:
        start: int | None = 0
        for part in in_parts(stored, parts, work, processes, folder):
            for problem in part.problems:
                on_problem(problem)
            yield part
            os.unlink(part.spool)
            start = part.stop
        if start is not None:
            with WholeReader(stored, part=(start, None), **limits) as archive:
                yield begin(archive, on_problem=on_problem)


class FoundInPart(NamedTuple, Generic[_Done]):
    """What another process found in a part of a file."""

    stop: int | None
    spool: str
    """Path of a file with the lines, one after the other."""
    problems: list[FormatError]
    done: _Done
    is_damaged: bool = False

    def lines(self) -> Iterator[bytes]:
        """See `Found.lines`."""
        with open(self.spool, "rb") as file:
            yield from file


@dataclass(frozen=True, slots=True)
class _PartLines(Generic[_Done]):
    """Writes the lines of a part into a spool; see `PartWork`."""

    begin: Begin[_Done]
    limits: ReadLimits
    arrange: Callable[[Iterable[bytes]], Iterable[bytes]]

    def __call__(self, part: Split, source: RangeSource, spool: str) -> FoundInPart[_Done] | None:
        problems: list[FormatError] = []
        with WholeReader(source, part=(part.start, part.stop), **self.limits) as archive:
            found = self.begin(archive, on_problem=problems.append)
            with open(spool, "xb") as file:
                file.writelines(self.arrange(found.lines()))
        return None if found.is_damaged else FoundInPart(part.stop, spool, problems, found.done)


@dataclass(frozen=True, slots=True)
class _Checked:
    """Work on a part, which fails if anything is not as it should be; see `tools.work.Work`."""

    work: PartWork[object]

    def __call__(self, job: Job, context: JobContext) -> tuple[Status, object]:
        part = job.part
        assert part is not None
        source = context.on_progress(open_source(job.source), "")
        with closing(source), warnings.catch_warnings(record=True) as told:
            # Of one process each kind of warning comes once, and with the first record of its kind.
            warnings.simplefilter("always", FormatWarning)
            _refuse_changed(source, part)
            spool = os.path.join(context.folder or "", str(part.start))
            # What fails is most likely a disk full of spools. The caller goes on without.
            with writing(spool):
                result = self.work(part, source, spool)
        with closing(open_source(job.source)) as source:
            _refuse_changed(source, part)
        is_well = result is not None and not told
        if not is_well:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(spool)
        return Status.DONE if is_well else Status.PROBLEMS, result


def _refuse_changed(source: RangeSource, part: Split) -> None:
    if source.version != part.identity:
        raise SourceChangedError("the file has changed since it was cut", source=source.name)


class _Progress(Report):
    """Moves the progress of a source in this process by what others read of it."""

    def __init__(self, source: RangeSource) -> None:
        self._on_read = source.on_read if isinstance(source, SourceWrapper) else lambda *_: None
        self._end = source.size or 0
        self._size = 0

    def reach(self, offset: int | None) -> None:
        """Note that the source was read up to there, or to its end."""
        self._on_read(0, self._end if offset is None else offset)

    @override
    def on_progress(self, size: int) -> None:
        self._size += size
        self._on_read(0, self._size)


class PartSource(SourceWrapper):
    """A file that ends where a part of it does."""

    def __init__(self, source: RangeSource, part: Split) -> None:
        super().__init__(source)
        self._stop = part.stop if part.stop is not None else source.size or 0

    @property
    @override
    def size(self) -> int:  # type: ignore[override]
        return self._stop

    @property
    @override
    def known_size(self) -> int:
        return self._stop

    @override
    def read(self, start: int, stop: int) -> bytes:
        return self._source.read(start, max(start, min(stop, self._stop)))

    @override
    def read_into(self, start: int, out: memoryview) -> int:
        return self._source.read_into(start, out[: max(self._stop - start, 0)])

    @override
    def read_end(self, count: int) -> tuple[int, bytes]:
        start = max(self._stop - count, 0)
        return start, self.read(start, self._stop)

    @override
    def small_reads(self) -> SmallReads:
        read, keeps = self._source.small_reads()
        return SmallReads(lambda size, start: read(max(min(size, self._stop - start), 0), start), keeps)
