"""Deduplication of whole files: identical payloads become revisits, and revisits full records again.

The files are read twice. First all records are listed; then each is copied frame by frame, or written as
what it becomes (see `tools.duplicates`). If damage is found, the new files are dropped, and all records are
checked before they are copied; if that finds more of it, what is damaged is left out of the list, so that no
revisit refers to it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import BinaryIO, Final, SupportsIndex, Unpack, cast

from seekwarc.collection.entry import Entry, OnDamage
from seekwarc.edit.copy_inputs import Part, check_targets, parts_of, settings_of
from seekwarc.edit.copy_source import LooseRecord, PlacedRecords, StoredRecord, check_record
from seekwarc.edit.copy_target import CopyTarget, Recompressed, Tally
from seekwarc.edit.duplicates import (
    AGAIN,
    REPOINTED,
    REVISIT,
    Change,
    Changes,
    Duplicates,
    Originals,
    Place,
    place_of,
)
from seekwarc.edit.listing import listed
from seekwarc.errors import FormatError, SourceChangedError
from seekwarc.format.warc import RECORD_END
from seekwarc.format.warc_fields import DefinedFields
from seekwarc.frames.dictionary import Dictionary
from seekwarc.frames.encoder import OrderedWork
from seekwarc.jobs.passing import OnError
from seekwarc.jobs.progress import Progress, no_progress
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.read.options import ReadLimits, ReadOptions
from seekwarc.storage.expand import expand
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.opening import open_source
from seekwarc.system import threads_for
from seekwarc.write.files import Existing
from seekwarc.write.forms import form_of
from seekwarc.write.opening import committed_together, open_output
from seekwarc.write.options import WriteOptions

__all__ = ["MIN_SIZE", "Deduplication", "dedupe"]

MIN_SIZE: Final = 1024
"""Bytes of a payload that is worth a revisit, which takes some 300 bytes itself."""
CHANGED: Final = "the file has changed while it was read; start again"


@dataclass(frozen=True, slots=True)
class Deduplication:
    """The result of deduplicating files, or of undoing that.

    Example:
        >>> done = seekwarc.tools.dedupe("crawl.warc.zst", dry_run=True)
        >>> done.records, done.revisits, done.left
        (5, 0, {})

    Attributes:
        files: Files that were read.
        records: Records of all of them together.
        revisits: Records that became revisits of older ones.
        repointed: Revisits that refer to another record now, since theirs became a revisit.
        restored: Revisits that became full records again.
        left: Number of records that stay though another record has their digest, or that are revisits which
            could not be undone; by reason.
        content_saved: Decompressed bytes that the changed records have less; negative after undoing.
        stored_saved: The same, compressed; None after undoing, since records are then copied in full.
        target_size: Size of all new files in bytes; None if nothing was written.
        bytes_copied: Compressed bytes of the frames that were copied.
        bytes_recompressed: Content bytes of the frames that were compressed again.
        recompressed: The records that were compressed again, by reason.
        verified: Whether the copied frames were decoded and their checksums are right.
        damaged: Damage of the files. Damaged records are left out.
    """

    files: int
    records: int
    revisits: int
    repointed: int
    restored: int
    left: dict[str, int]
    content_saved: int
    stored_saved: int | None
    target_size: int | None
    bytes_copied: int
    bytes_recompressed: int
    recompressed: tuple[Recompressed, ...]
    verified: bool
    damaged: tuple[FormatError, ...] = ()


Target = str | os.PathLike[str] | BinaryIO


def dedupe(
    sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    target: Target | Sequence[str | os.PathLike[str]] | None = None,
    *,
    undo: bool = False,
    min_size: SupportsIndex = MIN_SIZE,
    dry_run: bool = False,
    verify: bool = True,
    existing: Existing = "error",
    threads: int | None = None,
    processes: int = 1,
    on_error: OnError = "raise",
    on_warning: Callable[[str], object] = lambda _: None,
    on_damage: OnDamage = lambda _: None,
    on_progress: Progress = no_progress,
    **limits: Unpack[ReadLimits],
) -> Deduplication:
    """Turn records whose payload an older record has into revisits of that one, over all files.

        done = tools.dedupe(["monday.warc.zst", "tuesday.warc.zst"], "both.warc.zst")
        print(done.revisits, done.content_saved)

    Payloads are compared byte by byte; the oldest capture stays as it is. The new revisits keep their ID,
    their date and the HTTP head (profile identical-payload-digest). Revisits of a record that becomes one
    itself refer to its original then. All other records are copied frame by frame, as by `concat`.

    `undo` makes full records of revisits of that profile again, where the original is in the files and its
    payload has the digest that the revisit states. A chunked body may then be in other chunks, and
    fields of the header in another order; payloads, IDs, dates and HTTP heads are as they were.

    A damaged record is reported and left out; the others are written, and none becomes a revisit of it, nor
    of one in a file that `on_error` leaves out.

    The records are listed in a temporary file, some 500 bytes each; memory does not grow with their number.

    Args:
        sources: The files: .warc.zst, .warc.gz or .warc, recognized by content; folders, and patterns.
        target: The new file, or a list with one for each source; may be None if `dry_run`. Either all new
            files are made, or none.
        undo: Make revisits full records again.
        min_size: Payloads with fewer bytes stay where they are.
        dry_run: Write nothing; return what would be done.
        verify: Decode every copied frame and check its checksum.
        existing: Whether files that have the targets' names are refused ("error") or replaced ("overwrite").
        threads: Threads that decode and compress; one per core, at most four, unless given.
        processes: How many processes may list the records of parts of a large local file; see `index`.
        on_error: What is done with a file that cannot be opened, is empty, or is not an archive: "raise";
            "skip", to leave it out with a `FormatWarning`; or a function that is called with the error, to
            leave it out.
        on_warning: Called with a message for each file that will be compressed again.
        on_damage: Called with each damage.
        on_progress: Wraps each source that is read, to report progress.
        **limits: Limits of reading; see `Reader`.

    Raises:
        ValueError: There are no files, or not as many new ones in the list.
        NotFoundError: All files were left out.
        FormatError: A file is not a WARC file, and `on_error` is "raise". No target is made.
        TargetExistsError: A target exists.
        SourceError: A file cannot be read, or has changed since the first time.
        TargetError: A target cannot be written.
    """
    names = [os.fspath(source) for source in expand(sources)]
    is_many = isinstance(target, list | tuple)
    targets = (
        list(cast("Sequence[Target]", target)) if is_many else [cast("Target | None", target)] * len(names)
    )
    check_targets(names, targets, existing, dry_run=dry_run)
    options = ReadOptions.of(**limits)
    damaged: dict[tuple[str | None, int | None], FormatError] = {}

    def damage(error: FormatError) -> None:
        if damaged.setdefault((error.source, error.offset), error) is error:
            on_damage(error)

    with parts_of(names, None, options, on_error, on_progress) as parts:
        target_of = dict(zip(names, targets, strict=True))
        files = {part.name: str(part.target) for part in parts}

        def attempt(left_out: set[Place], *, checked: bool) -> Deduplication:
            with Originals(files, options) if undo else Duplicates(files, options, min_size) as changes:
                for part in parts:
                    entries = listed(
                        part.target,
                        changes.listing,
                        "comparing",
                        processes=processes,
                        on_damage=damage,
                        on_progress=on_progress,
                        limits=options,
                    )
                    changes.add(entries, left_out)
                changes.finish()
                checked |= bool(damaged)
                run = _Run(changes, on_warning, damage if checked else None, on_progress, verify=verify)
                if dry_run:
                    run.count()
                elif is_many:
                    each = [(target_of[str(part.target)], [part]) for part in parts]
                    run.write(each, existing, threads)
                else:
                    run.write([(targets[0], parts)], existing, threads)
                return run.result(parts, list(damaged.values()))

        try:
            try:
                return attempt(set(), checked=False)
            except FormatError:
                if damaged:
                    raise
                return attempt(set(), checked=True)
        except _MoreDamageError as more:
            return attempt(set(more.places), checked=True)


class _MoreDamageError(Exception):
    """Records were found to be damaged when they were copied."""

    def __init__(self, places: Sequence[Place]) -> None:
        super().__init__(places)
        self.places = places


class _Run:
    """What is done with the records once all are listed."""

    def __init__(
        self,
        changes: Changes,
        on_warning: Callable[[str], object],
        on_damage: OnDamage | None,
        on_progress: Progress,
        *,
        verify: bool,
    ) -> None:
        self._changes = changes
        self._on_warning = on_warning
        self._on_damage = on_damage
        self._on_progress = on_progress
        self._verify = verify
        self._tally = Tally()
        self._changed: Counter[str] = Counter()
        self._encoder = form_of("zst", WriteOptions()).encoder
        self._content_saved = self._stored_saved = self._records = 0
        self._target_size: int | None = None

    def count(self) -> None:
        """Count what would be done."""
        for entry in self._changes.entries():
            self._change_of(entry)

    def write(
        self, groups: Sequence[tuple[Target | None, Sequence[Part]]], existing: Existing, threads: int | None
    ) -> None:
        """Write each group of files into a new one. All of those get their names, or none."""
        entries, size = _Entries(self._changes), 0
        with committed_together() as outputs, closing(OrderedWork(threads_for(threads))) as work:
            for target, parts in groups:
                settings = settings_of(parts, self._on_warning, verify=self._verify)
                outputs.append(open_output(cast("Target", target), existing=existing))
                file = CopyTarget(outputs[-1], work, settings, self._tally)
                for part in parts:
                    with closing(self._read(part, settings.dictionary, entries)) as found:
                        for record, entry in found:
                            file.add(self._written(part, record, entry))
                if not file.records and len(groups) > 1:
                    # Nothing in it is intact.
                    outputs.pop().abort()
                    continue
                file.seal()
                size += file.size
            if entries.damaged:
                raise _MoreDamageError(entries.damaged)
        self._target_size = size

    def _read(
        self, part: Part, dictionary: Dictionary | None, entries: _Entries
    ) -> Generator[tuple[StoredRecord | LooseRecord, Entry | None], None, None]:
        """Yield the listed records of a file; if damage is known, after each was checked."""
        listed, on_damage = entries.of(part.name), self._on_damage
        if on_damage is None:
            with closing(part.records(dictionary, self._on_progress, "copying")) as records:
                for record in records:
                    yield record, next(listed, None)
            if next(listed, None) is not None:
                raise SourceChangedError(CHANGED, source=part.name)
            return

        source = Fetcher(self._on_progress(open_source(part.target), "copying"))
        with closing(ArchiveFile(source, part.limits)) as file:
            problem = part.problem(dictionary)
            tried, found = (PlacedRecords(file, part.compression, problem) for _ in range(2))
            for entry in listed:
                try:
                    check_record(tried.at(entry.offset, entry.skip))
                    whole = found.at(entry.offset, entry.skip)
                except FormatError as error:
                    entries.damaged.append(place_of(entry))
                    on_damage(error)
                else:
                    yield whole, entry

    def result(self, parts: Sequence[Part], damaged: Sequence[FormatError]) -> Deduplication:
        """Return what was done."""
        tally = self._tally
        return Deduplication(
            files=len(parts),
            records=self._records,
            revisits=self._changed[REVISIT],
            repointed=self._changed[REPOINTED],
            restored=self._changed[AGAIN],
            left=dict(self._changes.left),
            content_saved=self._content_saved,
            stored_saved=self._stored_saved if not self._changed[AGAIN] else None,
            target_size=self._target_size,
            bytes_copied=tally.bytes_copied,
            bytes_recompressed=tally.bytes_recompressed,
            recompressed=tally.recompressed,
            verified=self._verify,
            damaged=tuple(damaged),
        )

    def _written(
        self, part: Part, record: StoredRecord | LooseRecord, entry: Entry | None
    ) -> StoredRecord | LooseRecord:
        if entry is None or DefinedFields(record.header).id != entry.id:
            raise SourceChangedError(CHANGED, source=part.name)
        change = self._change_of(entry)
        return record if change is None else change.record(part.name)

    def _change_of(self, entry: Entry) -> Change | None:
        self._records += 1
        change = self._changes.change_of(entry)
        if change is not None:
            self._changed[change.kind] += 1
            self._content_saved += change.size - change.header.record_size
            if change.kind == REVISIT:
                content = b"".join([change.header.raw, *change.pieces(), RECORD_END])
                self._stored_saved += (entry.length or 0) - len(self._encoder.encode(content).data)
        return change


class _Entries:
    """The list of all records, file by file."""

    def __init__(self, changes: Changes) -> None:
        self._entries = changes.entries()
        self._next = next(self._entries, None)
        self.damaged: list[Place] = []

    def of(self, name: str) -> Iterator[Entry]:
        """Yield those of the next file."""
        while self._next is not None and self._next.filename == name:
            entry, self._next = self._next, next(self._entries, None)
            yield entry
