"""New files without some records, the old ones that are kept or deleted, and what is reported of each.

What is promised (spec-notes/editing) takes this, of films:

- Nothing is made of a damaged file: frames are verified while they are copied (`copy_target`).
- What is kept is equal: old and new bytes are read once more, and compared as they are stored.
- The report has the SHA-256 of each file before and after: two to five times as long as all the rest.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal

from seekwarc.cdx.beside import names_beside
from seekwarc.compiling import override
from seekwarc.edit.closure import Catalogue
from seekwarc.edit.comparing import Comparison
from seekwarc.edit.copy_inputs import Part, PartTarget
from seekwarc.edit.copy_source import LooseRecord, Place, loose_records
from seekwarc.edit.copy_target import CopySettings, CopyTarget, Tally
from seekwarc.edit.mentions import REMOVED, Mention, fragment, in_record, needles_of
from seekwarc.edit.promoting import Promotions
from seekwarc.edit.reindexing import Remade, kept_mentions, new_index
from seekwarc.edit.stored_runs import StoredRun
from seekwarc.errors import FormatError, TargetError
from seekwarc.format.seektable import TableTrust
from seekwarc.format.sidecar import SIDECAR_SUFFIX
from seekwarc.format.uri import StoredUri, as_utf8
from seekwarc.frames.dictionary import Dictionary
from seekwarc.frames.encoder import OrderedWork
from seekwarc.jobs.progress import Progress
from seekwarc.make.sidecars import sidecar
from seekwarc.make.training import trained_on
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.read.options import ReadOptions
from seekwarc.read.reader import Reader, WholeReader
from seekwarc.read.record import Record
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.opening import open_source
from seekwarc.system import threads_for
from seekwarc.write.file_layout import TableMode
from seekwarc.write.files import Existing, make_folder, refuse_existing, remove, sync_folder, unwritable
from seekwarc.write.opening import committed, committed_together
from seekwarc.write.output import Output, PathOutput
from seekwarc.write.writer import Writer

__all__ = ["STUB", "FileReport", "Removal", "RemovedRecord", "check_backup"]

STEP: Final = 1 << 20
STUBBED: Final = frozenset(("response", "resource", "revisit", "conversion"))
"""Types of records of which a stub is kept."""
STUB: Final = "a stub"
FEW: Final = 4
"""One of how many records may be opened at its place: to read all headers in order takes less if more are."""
OF_INDEXES: Final = (".cdxj", ".fts", ".parquet")
"""How the names end of indexes beside a file."""


@dataclass(frozen=True, slots=True)
class RemovedRecord:
    """A record that was removed."""

    file: str
    """The old file."""
    offset: int
    """Its offset there."""
    uri: str | None
    """Its target URI, as it is stored."""
    date: str | None
    id: str | None
    type: str | None
    size: int
    """Bytes of its block."""
    stored_size: int
    """Compressed bytes in the old file, which it may share with other records."""


@dataclass(slots=True)
class FileReport:
    """What became of a file."""

    file: str
    target: str | None
    """The new file; if none is made, the one of an earlier run, which is deleted, or None."""
    outcome: Literal["unchanged", "written", "replaced", "left out", "deleted"] = "unchanged"
    """"left out" if no new file was made, since it would have been empty."""
    removed: int = 0
    """Records that were removed from it."""
    records: int = 0
    """Records of it that were kept."""
    size_before: int = 0
    sha256_before: str = ""
    size_after: int | None = None
    """Size of the new file, or of the one that stays; None if it was deleted or not made."""
    sha256_after: str | None = None
    backup: str | None = None
    """Where the old file was kept."""


class Removal:
    """The new files, made once all is decided."""

    stubs: tuple[str | None, bool] | None = None
    """The reason, and whether they name URIs."""
    dictionaries = "none"
    """What becomes of them: "kept", "trained" or "none"."""
    without_empty = False
    """Whether no file is made that would hold nothing but warcinfo records and stubs."""
    backups: Mapping[str, str] = {}
    """Where each old file is kept that is replaced or deleted."""

    def __init__(
        self,
        parts: Sequence[Part],
        removed: Catalogue,
        promotions: Promotions,
        limits: ReadOptions,
        on_progress: Progress,
    ) -> None:
        self._parts = parts
        self._removed = removed
        self._promotions = promotions
        self._limits = limits
        self._on_progress = on_progress
        self._needles: dict[bytes, str] = {}
        self._captured: list[list[str | None]] = [[] for _ in parts]
        """Target URIs of the removed captures of each file."""
        self.tally = Tally()
        self.mentions: list[Mention] = []
        self.records: list[RemovedRecord] = []
        self.files: list[FileReport] = []
        self.empty: set[int] = set()
        """Numbers of files of which nothing is left but warcinfo records that no other record names."""
        self.stubbed = self.written = self.size = 0

    def indexes_beside(self, indexes: Iterable[str | os.PathLike[str]]) -> list[str]:
        """Return the indexes beside files changed in place that are not among those to be made again."""
        given = {os.path.realpath(it) for it in indexes}
        changed = [it.file for it in self.files if it.outcome in ("replaced", "deleted")]
        names = (name for it in changed for end in OF_INDEXES for name in names_beside(it, end))
        found = dict.fromkeys(it for it in names if os.path.realpath(it) not in given)
        return [it for it in found if os.path.isfile(it)]

    def is_bare(self, number: int) -> bool:
        """Tell whether a new file would have no record."""
        report, captured = self.files[number], self._captured[number]
        is_made = report.outcome in ("written", "replaced") and report.removed and not report.records
        has_stubs = report.outcome == "replaced" and self.stubs is not None and captured
        return bool(is_made and not has_stubs)

    def search(self, indexes: Iterable[str | os.PathLike[str]]) -> None:
        """Note what would still mention the removed records, and where in the old files, without writing."""
        for number, part in enumerate(self._parts):
            if number not in self._without:
                with WholeReader(part.target, **self._limits) as archive:
                    for each, record in self._numbered(number, archive, kept=True):
                        change = self._promotions.change_of(each)
                        header = change.header if change is not None else None
                        self.mentions += in_record(record, part.name, self._needles, header)
        remade = {it.file: Remade(None, it.file) for it in self.files if it.outcome != "unchanged"}
        for name in (os.fspath(it) for it in indexes):
            self.mentions += kept_mentions(name, remade, self._limits, self._needles)

    def write(
        self,
        finals: Sequence[str],
        existing: Existing,
        indexes: Iterable[str | os.PathLike[str]],
        threads: int | None,
        *,
        in_place: bool,
    ) -> None:
        """Make all files, and search what they and the indexes mention."""
        changed = self._changed()
        trained = self._trained(changed) if self.dictionaries == "trained" else None
        remade: dict[str, Remade] = {}
        deleted: list[Output] = []

        def finish() -> None:
            self._finish(remade, existing)

        with committed_together(finish) as outputs:
            for number, (part, final) in enumerate(zip(self._parts, finals, strict=True)):
                outcome = self.files[number].outcome
                if outcome == "unchanged":
                    with WholeReader(part.target, **self._limits) as archive:
                        for record in archive:
                            self.mentions += in_record(record, final, self._needles)
                    continue
                remade[part.name] = Remade(None, final)
                if outcome in ("left out", "deleted"):
                    stale = part.name if outcome == "deleted" else self.files[number].target
                    deleted += [_Deletion(stale)] if stale is not None else []
                    continue
                output = PathOutput(final, existing=existing)
                outputs.append(output)
                self._write(number, output, self._settings(part, trained), threads)
                self._compare(number, output.place, final)
                beside = _sidecar_of(part.name, output, existing)
                if beside is not None:
                    outputs.append(beside)
                remade[part.name] = Remade(output.place, final, beside.place if beside is not None else None)
            for name in (os.fspath(it) for it in indexes):
                index, found = new_index(name, remade, self._limits, self._needles)
                outputs.append(index)
                self.mentions += found
            if in_place:
                # After a crash the same command goes on: records are found in the old files until the end.
                outputs.reverse()
            outputs.extend(deleted)

    def _finish(self, remade: Mapping[str, Remade], existing: Existing) -> None:
        """Keep the old files, and delete sidecars that hold what is not in their files any more.

        This is done before a new file has its name, so that both is true after a crash.
        """
        for report in self.files:
            if report.backup is not None:
                _keep(report.file, report.backup)
            if report.outcome == "unchanged":
                report.size_after, report.sha256_after = report.size_before, report.sha256_before
            elif (place := remade[report.file].place) is not None:
                report.size_after, report.sha256_after = _digest(place)
        for made in remade.values() if existing == "overwrite" else ():
            if made.sidecar is None:
                remove(made.final + SIDECAR_SUFFIX)

    @property
    def _without(self) -> set[int]:
        """Numbers of the files of which no new one is made."""
        return self.empty if self.without_empty else set()

    def _changed(self) -> set[int]:
        """Return the numbers of the files that are made again if they need not be."""
        removed = self._removed
        changed = self._promotions.files
        changed |= {
            number for number in range(len(self._parts)) if next(removed.kept_in(number), None) is not None
        }
        shared = {it.data for number in changed if (it := self._parts[number].dictionary) is not None}
        if self.dictionaries != "kept":
            changed |= {
                n for n, it in enumerate(self._parts) if it.dictionary and it.dictionary.data in shared
            }
        return changed

    def _numbered(
        self, number: int, archive: Iterable[Record], *, kept: bool
    ) -> Iterator[tuple[int, Record]]:
        """Yield the records of a file that are kept, or the others, with their numbers."""
        for each, record in enumerate(archive, self._removed.starts[number]):
            if self._removed.kept[each] != kept:
                yield each, record

    def examine(self, finals: Sequence[str], *, in_place: bool, replace: bool) -> None:
        """Note the removed records and what becomes of each file."""
        named, changed = self._removed.infos_named(), self._changed()
        saved = self._promotions.originals
        for number, (part, final) in enumerate(zip(self._parts, finals, strict=True)):
            report = FileReport(part.name, final or None)
            report.size_before, report.sha256_before = _digest(part.target)
            self.files.append(report)
            first, stop = self._removed.starts[number : number + 2]
            report.removed = self._removed.kept.count(1, first, stop)
            report.records = stop - first - report.removed
            if report.removed:
                self._note(number, final or part.name, saved)
                if not self._has_more(number, named):
                    self.empty.add(number)
            if number in self._without:
                report.outcome = "deleted" if in_place else "left out"
                # The new file of an earlier run may have what is removed now.
                report.target = final if replace and os.path.lexists(final) and not in_place else None
            elif not in_place or number in changed:
                report.outcome = "replaced" if in_place else "written"
            if report.outcome in ("replaced", "deleted"):
                report.backup = self.backups.get(part.name)

    def _note(self, number: int, final: str, saved: set[int]) -> None:
        """Note the removed records of a file."""
        part = self._parts[number]
        kept = part.dictionary if self.dictionaries == "kept" else None
        with WholeReader(part.target, **self._limits) as archive:
            for each, record in self._gone(number, archive):
                self._needles |= needles_of(record, with_digest=each not in saved)
                self.records.append(_as_removed(record, part.name))
                if (record.type or "").lower() in STUBBED:
                    self._captured[number].append(record.target_uri)
                if kept is not None and fragment(record, kept.data):
                    self.mentions.append(
                        Mention(final, 0, "dictionary", "payload", record.id or "", "dictionary")
                    )

    def _gone(self, number: int, archive: Reader) -> Iterator[tuple[int, Record]]:
        """Yield the removed records of a file, with their numbers: a few are opened at their places."""
        removed, (first, stop) = self._removed, self._removed.starts[number : number + 2]
        gone = [*removed.kept_in(number)]
        if len(gone) * FEW > stop - first or any(removed.skips[each] for each in gone):
            yield from self._numbered(number, archive, kept=False)
            return
        for each in gone:
            length = removed.lengths[each] or None
            yield each, archive.record_at(removed.offsets[each], length, table=TableTrust.SCANNED)

    def _has_more(self, number: int, named: set[int]) -> bool:
        """Tell whether more is left of a file than warcinfo records without use."""
        removed, (first, stop) = self._removed, self._removed.starts[number : number + 2]
        left = (each for each in range(first, stop) if not removed.kept[each])
        if any(removed.kinds[each] or removed.ids[each] in named for each in left):
            return True
        with WholeReader(self._parts[number].target, **self._limits) as archive:
            return any(it.type != "warcinfo" for _, it in self._numbered(number, archive, kept=True))

    def _trained(self, changed: Iterable[int]) -> Dictionary | None:
        """Return a dictionary for files that have had one, trained on what is kept of them."""
        wanted = [number for number in changed if self._parts[number].dictionary is not None]

        def kept(number: int) -> Iterator[Record]:
            with WholeReader(
                self._on_progress(open_source(self._parts[number].target), "sampling"), **self._limits
            ) as it:
                yield from (record for _, record in self._numbered(number, it, kept=True))

        return trained_on(map(kept, wanted), len(wanted)).dictionary if wanted else None

    def _settings(self, part: Part, trained: Dictionary | None) -> CopySettings:
        tables: TableMode = "every" if part.has_table_each else "large"
        if part.dictionary is None or self.dictionaries == "none":
            return CopySettings(tables)
        if trained is not None:
            return CopySettings(tables, trained, trained.frame())
        return CopySettings(tables, part.dictionary, part.dictionary_frame())

    def _write(self, number: int, output: Output, settings: CopySettings, threads: int | None) -> None:
        """Write the kept records of a file, unchanged or as what they become, and the stubs."""
        part, removed = self._parts[number], self._removed
        first, stop = removed.starts[number : number + 2]
        kept = [each for each in range(first, stop) if not removed.kept[each]]
        with closing(OrderedWork(threads_for(threads))) as work:
            new = CopyTarget(output, work, settings, self.tally)
            together, left = settings.tables != "every", iter(kept)
            found = part.placed(
                settings.dictionary,
                lambda: map(self._place, kept),
                self._on_progress,
                None,
                together=together,
            )
            with closing(found) as records:
                for record in records:
                    first, *_ = islice(left, len(record.frames) if isinstance(record, StoredRun) else 1)
                    change = self._promotions.change_of(first)
                    new.add(record if change is None else change.record(part.name))
            for stub in self._stubs(number):
                new.add(stub, again=True)
                self.stubbed += 1
            new.seal()
        self.size += new.size
        self.written += 1

    def _place(self, number: int) -> Place:
        """Return where a kept record is. One that is changed is not copied together with others."""
        place = self._removed.place(number)
        return place._replace(content=0) if number in self._promotions else place

    def _stubs(self, number: int) -> Iterator[LooseRecord]:
        uris = self._captured[number]
        if not uris or self.stubs is None:
            return
        reason, with_uris = self.stubs
        stored = io.BytesIO()
        fields = [("removed", REMOVED), *([("reason", reason)] if reason else [])]
        with Writer(stored, compression="none") as out:
            for uri in uris:
                named = StoredUri(uri) if with_uris and uri is not None else None
                out.write_metadata(fields, target_uri=named)
        with closing(ArchiveFile(Fetcher(open_source(stored.getvalue())), self._limits)) as file:
            yield from loose_records(file, STUB)

    def _compare(self, number: int, made: str, final: str) -> None:
        """Compare a new file with what was to be kept, and note what it still mentions."""
        part, removed = self._parts[number], self._removed
        is_same = part.problem(None) is None or (part.compression == "zst" and self.dictionaries == "kept")
        first, stop = removed.starts[number : number + 2]
        with Comparison(part, made, self._on_progress, has_same_form=is_same) as pair:
            copies = pair.copies()
            for each in (it for it in range(first, stop) if not removed.kept[it]):
                copy, change, place = (
                    next(copies, None),
                    self._promotions.change_of(each),
                    removed.place(each),
                )
                if copy is None or not pair.is_equal(copy, place, change):
                    raise FormatError(
                        "the copy of this record is not equal to it, so no file was made; please report this",
                        source=part.name,
                        offset=place.offset,
                    )
                self.mentions += in_record(copy, final, self._needles)


class _Deletion(Output):
    """A file that is deleted when others get their names."""

    def __init__(self, name: str) -> None:
        self.name = name

    @override
    def write(self, data: bytes) -> None:
        raise TargetError("is to be deleted", source=self.name)

    @override
    def flush(self) -> None:
        pass

    @override
    def seal(self) -> None:
        if not os.access(os.path.dirname(self.name) or ".", os.W_OK):
            raise TargetError("cannot be deleted: the folder is read-only", source=self.name)

    @override
    def commit(self) -> None:
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.name)
        except OSError as error:
            raise unwritable(error, self.name) from error
        sync_folder(os.path.dirname(self.name) or ".")

    @override
    def abort(self) -> None:
        pass


def _keep(name: str, backup: str) -> None:
    """Copy a file to a name that no other file has. One that has its bytes is from a run that was killed."""
    if os.path.lexists(backup) and _digest(backup) == _digest(name):
        return
    folder = os.path.dirname(backup) or "."
    make_folder(folder)
    with committed(PathOutput(backup, existing="error")) as output, open(name, "rb") as old:
        while data := old.read(STEP):
            output.write(data)
    while (parent := os.path.dirname(folder)) not in (folder, ""):
        sync_folder(folder := parent)


def check_backup(name: str, backup: str) -> None:
    """Refuse to overwrite a file that is not the same."""
    if os.path.lexists(backup) and _digest(backup) != _digest(name):
        refuse_existing(backup)


def _digest(target: PartTarget) -> tuple[int, str]:
    """Return the size of a file, and its SHA-256."""
    source, sha256, at = Fetcher(open_source(target)), hashlib.sha256(), 0
    try:
        while data := source.read(at, at + STEP):
            sha256.update(data)
            at += len(data)
    finally:
        if isinstance(target, str | os.PathLike):
            source.close()
    return at, sha256.hexdigest()


def _as_removed(record: Record, file: str) -> RemovedRecord:
    fields = record.target_uri, record.header.get("WARC-Date"), record.id, record.type
    uri, date, name, kind = (it if it is None else as_utf8(it) for it in fields)
    return RemovedRecord(file, record.offset, uri, date, name, kind, record.content_length, record.length)


def _sidecar_of(old: str, made: PathOutput, existing: Existing) -> PathOutput | None:
    """Make the sidecar of a new file if the old one has one; None if the new one needs none."""
    if not os.path.isfile(old + SIDECAR_SUFFIX):
        return None
    stored = io.BytesIO()
    if not sidecar(made.place, stored).records:
        return None
    output = PathOutput(made.name + SIDECAR_SUFFIX, existing=existing)
    output.write(stored.getvalue())
    output.flush()
    return output
