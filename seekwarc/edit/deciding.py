"""Verbs that decide about each record: all are listed, each is decided about, and new files are written.

The files are read twice. First all records are listed; then each is copied frame by frame, written as what it
becomes, or left out. If damage is found, the new files are dropped, and all records are checked before they
are copied; if that finds more of it, what is damaged is left out of the list, so that nothing refers to it.

    def decide(entry: Entry) -> Decision:
        return Drop("an image") if entry.mime == "image/png" else None

    done = copied(CopyJob.of("crawls/", "smaller.warc.zst"), lambda files, limits: EachRecord(decide))
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Container, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from typing import BinaryIO, Final, NamedTuple, Protocol, Self, TypeAlias, TypedDict, Unpack, cast

from seekwarc.closing import Closing
from seekwarc.collection.entry import Entry, OnDamage, describe
from seekwarc.collection.record_table import RecordTable
from seekwarc.edit.changing import Change, Place, place_of
from seekwarc.edit.copy_inputs import Part, check_targets, parts_of, settings_of
from seekwarc.edit.copy_source import LooseRecord, PlacedRecords, StoredRecord, check_record
from seekwarc.edit.copy_target import CopyTarget, Recompressed, Tally
from seekwarc.edit.listing import Described, Listing, listed
from seekwarc.errors import FormatError, NotFoundError, SourceChangedError
from seekwarc.format.warc_fields import DefinedFields
from seekwarc.frames.dictionary import Dictionary
from seekwarc.frames.encoder import OrderedWork
from seekwarc.jobs.passing import OnError
from seekwarc.jobs.progress import Progress, no_progress
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.read.options import ReadLimits, ReadOptions
from seekwarc.read.record import Record
from seekwarc.storage.expand import expand
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.opening import open_source
from seekwarc.system import threads_for
from seekwarc.write.files import Existing
from seekwarc.write.opening import committed_together, open_output

__all__ = [
    "Copied",
    "CopyJob",
    "CopyOptions",
    "Decision",
    "Decisions",
    "Drop",
    "EachRecord",
    "Target",
    "copied",
]

CHANGED: Final = "the file has changed while it was read; start again"

Target = str | os.PathLike[str] | BinaryIO


class Drop(NamedTuple):
    """The decision to leave a record out."""

    reason: str
    """Under which it is counted."""


Decision: TypeAlias = Change | Drop | None
"""What becomes of a record; None if it stays as it is."""


class CopyOptions(TypedDict, total=False):
    """What all verbs take that make new files of the records of others, as keyword arguments."""

    dry_run: bool
    """Write nothing; return what would be done."""
    verify: bool
    """Decode every copied frame and check its checksum, which is the default."""
    existing: Existing
    """Whether files that have the targets' names are refused ("error") or replaced ("overwrite")."""
    threads: int | None
    """Threads that decode and compress; one per core, at most four, unless given."""
    processes: int
    """How many processes may list the records of parts of a large local file; see `index`."""
    on_error: OnError
    """What is done with a file that cannot be opened, is empty, or is not an archive; see `OnError`."""
    on_warning: Callable[[str], object]
    """Called with a message for each file that will be compressed again."""
    on_damage: OnDamage
    """Called with each damage."""
    on_progress: Progress
    """Wraps each source that is read, to report progress."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyJob:
    """Files, the new files that are made of them, and how; made with `of`, which takes `CopyOptions`."""

    names: Sequence[str]
    targets: Sequence[Target | None]
    """The new file, or one for each of the others."""
    limits: ReadOptions
    dry_run: bool = False
    verify: bool = True
    existing: Existing = "error"
    threads: int | None = None
    processes: int = 1
    on_error: OnError = "raise"
    on_warning: Callable[[str], object] = lambda _: None
    on_damage: OnDamage = lambda _: None
    on_progress: Progress = no_progress

    @classmethod
    def of(
        cls,
        sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        target: Target | Sequence[str | os.PathLike[str]] | None,
        limits: ReadLimits | None = None,
        **options: Unpack[CopyOptions],
    ) -> Self:
        """Make a job of files, folders and patterns, and refuse targets that cannot be written.

        Raises:
            ValueError: There are no files, or not as many new ones in the list.
            TargetExistsError: A target exists.
            TargetError: A target is one of the files, or no .warc.zst.
        """
        names = [os.fspath(source) for source in expand(sources)]
        is_many = isinstance(target, list | tuple)
        targets = list(cast("Sequence[Target]", target)) if is_many else [cast("Target | None", target)]
        job = cls(names=names, targets=targets, limits=ReadOptions.of(**limits or {}), **options)
        checked = targets if is_many else targets * len(names)
        check_targets(names, checked, job.existing, dry_run=job.dry_run)
        return job

    def groups(self, parts: Sequence[Part]) -> list[tuple[Target | None, Sequence[Part]]]:
        """Return the new files, and those that each is made of, without the files that were left out."""
        if len(self.targets) == 1 and len(self.names) > 1:
            return [(self.targets[0], parts)]
        target_of = dict(zip(self.names, self.targets, strict=True))
        return [(target_of[str(part.target)], [part]) for part in parts]


@dataclass(slots=True)
class Copied:
    """The result of copying the records of files."""

    files: int = 0
    """Files that were read."""
    records: int = 0
    """Records of all of them together."""
    changed: dict[str, int] = field(default_factory=dict)
    """Records that became others, by kind."""
    dropped: dict[str, int] = field(default_factory=dict)
    """Records that were left out, by reason."""
    target_size: int | None = None
    """Size of all new files in bytes; None if nothing was written."""
    bytes_copied: int = 0
    """Compressed bytes of the frames that were copied."""
    bytes_recompressed: int = 0
    """Content bytes of the frames that were compressed again."""
    recompressed: tuple[Recompressed, ...] = ()
    """The records that were compressed again, by file and reason."""
    verified: bool = True
    """Whether the copied frames were decoded and their checksums are right."""
    damaged: tuple[FormatError, ...] = ()
    """Damage of the files. Damaged records are left out."""


class Decisions(Protocol):
    """What becomes of each record, decided when all are listed. Used as a context manager."""

    @property
    def listing(self) -> Listing[Entry]:
        """Makes the entries of a file for `add`."""

    def add(self, entries: Iterable[Entry], left_out: Container[Place]) -> None:
        """List the intact records of a file, but for some."""

    def finish(self) -> None:
        """End the list."""

    def entries(self) -> Iterator[Entry]:
        """Yield all that are listed, in order."""

    def of(self, entry: Entry) -> Decision:
        """Return what becomes of a record. Asked once of each, in order."""


class EachRecord(Closing):
    """Decisions that are made of each record by itself, or by those before it.

    Args:
        decide: Returns what becomes of a record.
        describe: Makes the entry of a record, in another process if there are several: by default of what
            its header states.
    """

    def __init__(
        self, decide: Callable[[Entry], Decision], describe: Callable[[Record], Entry] = describe
    ) -> None:
        self.of = decide
        self.listing: Listing[Entry] = Described(describe)
        self._table = RecordTable()
        self.entries = self._table.entries

    def add(self, entries: Iterable[Entry], left_out: Container[Place]) -> None:
        """See `Decisions.add`."""
        self._table.extend(entry for entry in entries if place_of(entry) not in left_out)

    def finish(self) -> None:
        """See `Decisions.finish`."""
        self._table.finish()

    def close(self) -> None:
        """Delete the list. Idempotent."""
        self._table.close()


Begin: TypeAlias = Callable[[Mapping[str, str], ReadOptions], AbstractContextManager[Decisions]]


def copied(job: CopyJob, begin: Begin) -> Copied:
    """Copy the records of files into new ones, as is decided. All new files get their names, or none.

    Frames are copied as by `concat`. A damaged record is reported and left out. If it is found only when some
    of it is in a new file, that is dropped, and `begin` is called again.

    Args:
        job: The files.
        begin: Begins to decide, and is given the paths of the files by their names, and the limits.

    Raises:
        NotFoundError: All files were left out, or all records.
        FormatError: A file is not an archive, and the job is to raise that.
        SourceError: A file cannot be read, or has changed since it was listed.
        TargetError: A target cannot be written.
    """
    damaged: dict[tuple[str | None, int | None], FormatError] = {}

    def damage(error: FormatError) -> None:
        if damaged.setdefault((error.source, error.offset), error) is error:
            job.on_damage(error)

    with parts_of(job.names, None, job.limits, job.on_error, job.on_progress) as parts:
        files = {part.name: str(part.target) for part in parts}

        def attempt(left_out: set[Place], *, checked: bool) -> Copied:
            with begin(files, job.limits) as decisions:
                for part in parts:
                    decisions.add(_entries(job, part, decisions.listing, damage), left_out)
                decisions.finish()
                run = _Run(job, decisions, damage if checked or damaged else None)
                if job.dry_run:
                    for entry in decisions.entries():
                        run.decide(entry)
                else:
                    run.write(job.groups(parts))
                return run.result(len(parts), damaged.values())

        try:
            try:
                return attempt(set(), checked=False)
            except FormatError:
                if damaged:
                    raise
                return attempt(set(), checked=True)
        except _MoreDamageError as more:
            return attempt(set(more.places), checked=True)


def _entries(job: CopyJob, part: Part, listing: Listing[Entry], on_damage: OnDamage) -> Iterator[Entry]:
    return listed(
        part.target,
        listing,
        "comparing",
        processes=job.processes,
        on_damage=on_damage,
        on_progress=job.on_progress,
        limits=job.limits,
    )


class _MoreDamageError(Exception):
    """Records were found to be damaged when they were copied."""

    def __init__(self, places: Sequence[Place]) -> None:
        super().__init__(places)
        self.places = places


class _Run:
    """What is done with the records once all are listed."""

    def __init__(self, job: CopyJob, decisions: Decisions, on_damage: OnDamage | None) -> None:
        self._job = job
        self._decisions = decisions
        self._on_damage = on_damage
        self._listed = _Listed(decisions.entries())
        self._tally = Tally()
        self._done = Copied(verified=job.verify)
        self._changed: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()
        self._damaged: list[Place] = []

    def decide(self, entry: Entry) -> Decision:
        """Decide about a record, and count it."""
        self._done.records += 1
        decision = self._decisions.of(entry)
        if isinstance(decision, Drop):
            self._dropped[decision.reason] += 1
        elif decision is not None:
            self._changed[decision.kind] += 1
        return decision

    def write(self, groups: Sequence[tuple[Target | None, Sequence[Part]]]) -> None:
        """Write each group of files into a new one. All of those get their names, or none."""
        job, size = self._job, 0
        with committed_together() as outputs, closing(OrderedWork(threads_for(job.threads))) as work:
            for target, parts in groups:
                settings = settings_of(parts, job.on_warning, verify=job.verify)
                outputs.append(open_output(cast("Target", target), existing=job.existing))
                file = CopyTarget(outputs[-1], work, settings, self._tally)
                for part in parts:
                    with closing(self._records(part, settings.dictionary)) as records:
                        for record in records:
                            file.add(record)
                if not file.records and (len(groups) > 1 or self._dropped):
                    # Nothing in it is intact, or is kept.
                    outputs.pop().abort()
                    continue
                file.seal()
                size += file.size
            if self._damaged:
                raise _MoreDamageError(self._damaged)
            if not outputs:
                raise NotFoundError("no record would be left, so nothing was written", source=job.names[0])
        self._done.target_size = size

    def _records(
        self, part: Part, dictionary: Dictionary | None
    ) -> Generator[StoredRecord | LooseRecord, None, None]:
        """Yield the records of a file that are written."""
        with closing(self._read(part, dictionary)) as found:
            for record, entry in found:
                if entry is None or DefinedFields(record.header).id != entry.id:
                    raise SourceChangedError(CHANGED, source=part.name)
                decision = self.decide(entry)
                if not isinstance(decision, Drop):
                    yield record if decision is None else decision.record(part.name)

    def _read(
        self, part: Part, dictionary: Dictionary | None
    ) -> Generator[tuple[StoredRecord | LooseRecord, Entry | None], None, None]:
        """Yield the listed records of a file; if damage is known, after each was checked."""
        job, listed, on_damage = self._job, self._listed.of(part.name), self._on_damage
        if on_damage is None:
            with closing(part.records(dictionary, job.on_progress, "copying")) as records:
                for record in records:
                    yield record, next(listed, None)
            if next(listed, None) is not None:
                raise SourceChangedError(CHANGED, source=part.name)
            return

        source = Fetcher(job.on_progress(open_source(part.target), "copying"))
        with closing(ArchiveFile(source, part.limits)) as file:
            problem = part.problem(dictionary)
            tried, found = (PlacedRecords(file, part.compression, problem) for _ in range(2))
            for entry in listed:
                try:
                    check_record(tried.at(entry.offset, entry.skip))
                    whole = found.at(entry.offset, entry.skip)
                except FormatError as error:
                    self._damaged.append(place_of(entry))
                    on_damage(error)
                else:
                    yield whole, entry

    def result(self, files: int, damaged: Iterable[FormatError]) -> Copied:
        """Return what was done."""
        done, tally = self._done, self._tally
        done.files, done.damaged = files, tuple(damaged)
        done.changed, done.dropped = dict(self._changed), dict(self._dropped)
        done.bytes_copied, done.bytes_recompressed = tally.bytes_copied, tally.bytes_recompressed
        done.recompressed = tally.recompressed
        return done


class _Listed:
    """The list of all records, file by file."""

    def __init__(self, entries: Iterator[Entry]) -> None:
        self._entries = entries
        self._next = next(entries, None)

    def of(self, name: str) -> Iterator[Entry]:
        """Yield those of the next file."""
        while self._next is not None and self._next.filename == name:
            entry, self._next = self._next, next(self._entries, None)
            yield entry
