"""Files that were crawled apart become a chain: each leaves out the payloads that an earlier one has.

The files are put in order, the oldest first. A response becomes a revisit only of one in an earlier file, and
names that file as Browsertrix does (`WARC-Refers-To-Container: file://april.wacz`). The manifest of a WACZ
lists such files with size and hash (`relation.requires`): so an earlier one is written first, and none
requires one that requires it.

A new file is of the kind of the old one. Where nothing changes, it is a copy. Else the stored bytes of all
other records are copied, or in a .warc.zst their frames. A WACZ gets a new index and manifest; its pages and
all else are copied.

Source: iipc/warc-specifications#111 for the field; `relation` is what browsertrix-crawler writes.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from functools import partial
from itertools import chain, islice, takewhile
from typing import Final, NamedTuple, SupportsIndex

from seekwarc.cdx.chain import MANIFEST, Required, manifest_of, required_by
from seekwarc.cdx.places import base_name, is_wacz_name
from seekwarc.cdx.wacz import pieces_of
from seekwarc.closing import Recent
from seekwarc.collection.entry import Entry
from seekwarc.collection.revisits import container_of, holders_of
from seekwarc.compiling import override
from seekwarc.edit.changing import Change
from seekwarc.edit.copy_inputs import Part, check_targets, parts_of, settings_of
from seekwarc.edit.copy_source import LooseRecord, PlacedRecords, StoredRecord, check_record
from seekwarc.edit.copy_target import CopyTarget, Tally
from seekwarc.edit.deciding import CHANGED, Copied, CopyJob
from seekwarc.edit.duplicates import ELIGIBLE, MAX_COMPARED, Changes, Duplicates, Originals
from seekwarc.edit.listing import listed
from seekwarc.errors import (
    FormatError,
    NotFoundError,
    SourceChangedError,
    TargetError,
    UnsupportedError,
)
from seekwarc.format.digest import Digest
from seekwarc.frames.encoder import OrderedWork
from seekwarc.jobs.passing import readable
from seekwarc.make.sinks import StreamSink
from seekwarc.make.wacz_creating import Made
from seekwarc.make.wacz_writing import WaczOutput
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.read.options import ReadOptions
from seekwarc.read.reader import WholeReader
from seekwarc.read.record import Record
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.opening import open_source, open_stored
from seekwarc.storage.zip_members import ARCHIVE, SEPARATOR, is_wacz, open_zip
from seekwarc.system import temporary_folder, threads_for
from seekwarc.write.files import make_folder
from seekwarc.write.opening import committed, committed_together, open_output
from seekwarc.write.output import Output

__all__ = ["ChainDuplicates", "ChainOriginals", "chained"]


MADE_AGAIN: Final = (ARCHIVE, "indexes/", MANIFEST, "datapackage-digest.json")
"""How the names of members begin that are not copied from one WACZ to another."""


def _archive_of(filename: str) -> str:
    """Return the WACZ of a WARC file, or the file itself if it is in none."""
    return filename.rpartition(SEPARATOR)[0] or filename


class ChainDuplicates(Duplicates):
    """Responses that become revisits of those with the same payload in earlier files."""

    types = ("response",)

    def __init__(self, files: Mapping[str, str], limits: ReadOptions, min_size: SupportsIndex) -> None:
        super().__init__(files, limits, min_size)
        self._order = {name: number for number, name in enumerate(dict.fromkeys(map(_archive_of, files)))}
        self._first: Recent[tuple[str, bytes], list[Entry]] = Recent(1000)

    @override
    def _older(self, entry: Entry, digest: Digest) -> list[Entry]:
        if (first := self._first.get(digest.key)) is None:
            # A digest may have a million of them, of which only the first few count.
            found = self._table.first(MAX_COMPARED, digest, ELIGIBLE)
            first = self._first.put(digest.key, list(found))
        own = _archive_of(entry.filename)
        return list(takewhile(lambda it: _archive_of(it.filename) != own, first))

    @override
    def _container(self, entry: Entry, original: Entry) -> str | None:
        own, other = _archive_of(entry.filename), _archive_of(original.filename)
        # A revisit of a record of a later file can have another original in one that is later as well.
        return f"file://{base_name(other)}" if self._order[other] < self._order[own] else None


class ChainOriginals(Originals):
    """Revisits that name another file become full records again."""

    @override
    def _change_of(self, entry: Entry) -> Change | str | None:
        if entry.type != "revisit" or entry.skip or container_of(self._record(entry)) is None:
            return None
        return super()._change_of(entry)


class _Archive(NamedTuple):
    """A file of the chain."""

    name: str
    parts: list[Part]
    """Its WARC files: itself, or those in a WACZ."""
    begin: int
    """Its first date, in nanoseconds."""
    required: list[Required]
    """What its manifest lists."""

    @property
    def base(self) -> str:
        return base_name(self.name)


def chained(
    job: CopyJob,
    folder: str | None,
    begin: Callable[[Mapping[str, str], ReadOptions], Changes],
) -> Copied:
    """Write files of a chain into a folder, as is decided: all of them, or none.

    Damaged records are left out. Those of a .warc.zst are found only when others may refer to them; but what
    becomes a revisit was compared with its original.

    Args:
        job: The files.
        folder: Where the new ones are, with the same names; None for a dry run.
        begin: Makes the decisions, and is given the paths of the WARC files, in order, by their names.

    Raises:
        NotFoundError: All files were left out, or one has no intact record.
        FormatError: A file is not an archive, and the job is to raise that.
        SourceError: A file cannot be read, or has changed since it was listed.
        TargetError: A target cannot be written, or two would have the same name.
        UnsupportedError: Some files are WACZ, and others are not.
    """
    with ExitStack() as opened:
        names = dict.fromkeys(map(_archive_of, job.names))
        archives = _in_order(readable(names, partial(_opened, job, opened), job.on_error))
        targets = [os.path.join(folder, it.base) if folder is not None else None for it in archives]
        _check_names(archives)
        names_read = [it.name for it in archives]
        check_targets(names_read, targets, job.existing, dry_run=job.dry_run, is_zst=False)
        parts = [part for it in archives for part in it.parts]
        changes = opened.enter_context(begin({it.name: str(it.target) for it in parts}, job.limits))
        work = opened.enter_context(closing(OrderedWork(threads_for(job.threads))))
        run = _Run(job, changes, archives, work)
        run.list(parts)
        if folder is None or job.dry_run:
            for entry in changes.entries():
                run.decide(entry)
        else:
            make_folder(folder)
            with committed_together() as outputs:
                for archive, target in zip(archives, targets, strict=True):
                    outputs.append(open_output(str(target), existing=job.existing))
                    run.write(archive, outputs[-1])
        return run.result()


def _opened(job: CopyJob, opened: ExitStack, name: str) -> _Archive:
    if not is_wacz(name):
        parts = opened.enter_context(parts_of([name], None, job.limits))
        return _Archive(name, parts, _first_date(parts, job.limits), [])
    archive = open_zip(name, open_stored(name))
    paths = [f"{name}{SEPARATOR}{it}" for it in archive.members if it.startswith(ARCHIVE) and it[-1] != "/"]
    if not paths:
        raise FormatError("is a WACZ without WARC files", source=name)
    parts = opened.enter_context(parts_of(paths, None, job.limits))
    return _Archive(name, parts, _first_date(parts, job.limits), required_by(archive))


def _first_date(parts: Iterable[Part], limits: ReadOptions) -> int:
    """Return the earliest of the dates with which files begin, in nanoseconds."""
    found = []
    for part in parts:
        with WholeReader(str(part.target), **limits) as archive:
            # The date of a warcinfo record may be that of a conversion.
            records = (it for it in archive.past_damage(lambda _: None) if it.type != "warcinfo")
            found.append(next((it.date.nanoseconds for it in records if it.date is not None), sys.maxsize))
    return min(found)


def _in_order(archives: Iterable[_Archive]) -> list[_Archive]:
    """Return files in the order of their dates, but each after those that it requires already."""
    left = sorted(archives, key=lambda it: (it.begin, it.base, it.name))
    found: list[_Archive] = []
    while left:
        names = {it.base for it in left}
        ready = (it for it in left if not {of.filename for of in it.required} & (names - {it.base}))
        if (one := next(ready, None)) is None:
            raise FormatError("requires a file that requires it, maybe by way of others", source=left[0].name)
        left.remove(one)
        found.append(one)
    return found


def _check_names(archives: Iterable[_Archive]) -> None:
    """Refuse files that revisits could not name."""
    seen: dict[str, _Archive] = {}
    first = next(iter(archives))
    for it in archives:
        if is_wacz(it.name) != is_wacz(first.name):
            text = f"cannot be in a chain with {first.name}: either all files are WACZ or none is"
            raise UnsupportedError(text, source=it.name)
        if not (is_wacz_name(it.base) if is_wacz(it.name) else it.base.isprintable() and "/" not in it.base):
            raise TargetError("has a name that no revisit can refer to; rename the file", source=it.name)
        (container,) = holders_of(it.base)
        if (other := seen.setdefault(container.casefold(), it)) is not it:
            raise TargetError(f"has the name of {other.name}; rename one of the files", source=it.name)


class _Hashed:
    """An output and the hash of what is written to it."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self.digest, self.size = hashlib.sha256(), 0

    def write(self, data: bytes) -> None:
        self.digest.update(data)
        self.size += len(data)
        self._output.write(data)


class _Index(Made):
    """The index of a WACZ that is made again, and the containers that its revisits name."""

    def __init__(self) -> None:
        super().__init__()
        self.containers: set[str | None] = set()

    @override
    def look_at(self, record: Record) -> None:
        if record.type == "revisit":
            self.containers.add(container_of(record))


class _NewFile:
    """A WARC file that is made of another one, in the same compression."""

    def __init__(self, job: CopyJob, part: Part, output: Output, work: OrderedWork, tally: Tally) -> None:
        self._part, self._output, self._tally = part, output, tally
        self._source = Fetcher(job.on_progress(open_source(part.target), "copying"))
        self._file = ArchiveFile(self._source, part.limits)
        self._found = PlacedRecords(self._file, part.compression, part.problem(part.dictionary))
        self._frames = self._sink = None
        self._run = (0, 0)
        """The stored bytes that are copied next."""
        if part.compression == "zst":
            settings = settings_of([part], job.on_warning, verify=job.verify)
            self._frames = CopyTarget(output, work, settings, tally)
        else:
            self._sink = StreamSink(output, part.compression)

    def keep(self, entry: Entry, *, is_shared: bool) -> None:
        """Copy a record; one that shares its gzip member gets one of its own."""
        if self._frames is not None or is_shared or not entry.length:
            self.add(self._found.at(entry.offset, entry.skip))
            return
        if entry.offset != self._run[1]:
            self._flush(entry.offset)
        self._run = self._run[0], entry.offset + entry.length

    def _flush(self, start: int) -> None:
        copied, stop = self._run
        for data in pieces_of(self._source, copied, stop) if copied < stop else ():
            self._output.write(data)
            copied += len(data)
        if copied < stop:
            raise SourceChangedError(CHANGED, source=self._part.name)
        self._tally.bytes_copied += stop - self._run[0]
        self._run = start, start

    def add(self, record: StoredRecord | LooseRecord) -> None:
        """Write another record."""
        if self._frames is not None:
            self._frames.add(record)
        elif self._sink is not None and isinstance(record, LooseRecord):
            self._flush(0)
            self._sink.write_raw(record.header, record.open_block(), trailer=record.trailer)
            self._tally.add_reason(record.filename, record.reason, record.header.record_size)

    def finish(self) -> None:
        """End the file."""
        self._flush(0)
        if self._frames is not None:
            self._frames.seal()

    def close(self) -> None:
        """Close the old file. Idempotent."""
        self._file.close()


class _Run:
    """What is done with the records once all are listed."""

    def __init__(self, job: CopyJob, changes: Changes, archives: list[_Archive], work: OrderedWork) -> None:
        self._job, self._changes, self._work = job, changes, work
        self._given = {it.base for it in archives}
        self._files = len(archives)
        self._written: dict[str, Required] = {}
        """The new WACZ files, by name."""
        self._rows: dict[str, range] = {}
        """Which records of the list are those of each WARC file."""
        self._tally = Tally()
        self._changed: Counter[str] = Counter()
        self._damaged: dict[tuple[str | None, int | None], FormatError] = {}
        self._size: int | None = None

    def list(self, parts: Iterable[Part]) -> None:
        """List the records of all files."""
        job, changes = self._job, self._changes
        for part in parts:
            entries = listed(
                part.target,
                changes.listing,
                "comparing",
                processes=job.processes,
                on_damage=self._damage,
                on_progress=job.on_progress,
                limits=job.limits,
            )
            start = changes.rows
            changes.add(entries, ())
            self._rows[part.name] = range(start, changes.rows)
            if not self._rows[part.name]:
                raise _without_records(part)
        changes.finish()

    def _damage(self, error: FormatError) -> None:
        if self._damaged.setdefault((error.source, error.offset), error) is error:
            self._job.on_damage(error)

    def decide(self, entry: Entry) -> Change | None:
        """Decide about a record, and count it."""
        change = self._changes.of(entry)
        if change is not None:
            self._changed[change.kind] += 1
        return change

    def write(self, archive: _Archive, output: Output) -> None:
        """Write a new file, which the caller commits."""
        hashed = _Hashed(output)
        with temporary_folder(".dedupe.", ".partial", folder=output.spool_directory) as folder:
            made = {
                part.name: self._made(part, os.path.join(folder, str(number)))
                for number, part in enumerate(archive.parts)
            }
            stored = made[archive.parts[0].name] if not is_wacz(archive.name) else None
            if is_wacz(archive.name) and (any(made.values()) or self._requires_others(archive)):
                self._pack(archive, made, hashed, folder)
            else:
                with closing(self._job.on_progress(open_stored(stored or archive.name), "copying")) as source:
                    for data in pieces_of(source):
                        hashed.write(data)
                self._tally.bytes_copied += hashed.size if stored is None else 0
        self._written[archive.base] = Required(archive.base, hashed.digest.hexdigest(), hashed.size)
        self._size = (self._size or 0) + hashed.size

    def _made(self, part: Part, path: str) -> str | None:
        """Write a WARC file again, if some of its records change; return its path."""
        rows, damaged = self._rows[part.name], {source for source, _ in self._damaged}
        lost = 0
        with ExitStack() as opened:
            file = opened.enter_context(closing(ArchiveFile(Fetcher(open_source(part.target)), part.limits)))
            tried = PlacedRecords(file, part.compression, part.problem(part.dictionary))
            new: _NewFile | None = None
            for number, (entry, is_shared) in enumerate(_with_shared(self._changes.entries(rows))):
                change, before = self.decide(entry), lost
                if change is None and part.compression == "zst":
                    # Others were decompressed to their ends when they were listed.
                    try:
                        check_record(tried.at(entry.offset, entry.skip))
                    except FormatError as error:
                        lost += 1
                        self._damage(error)
                if new is None and (change is not None or lost or part.name in damaged):
                    output = opened.enter_context(committed(path))
                    new = _NewFile(self._job, part, output, self._work, self._tally)
                    opened.callback(new.close)
                    for one, shares in islice(_with_shared(self._changes.entries(rows)), number):
                        new.keep(one, is_shared=shares)
                if change is not None and new is not None:
                    new.add(change.record(part.name))
                elif new is not None and lost == before:
                    new.keep(entry, is_shared=is_shared)
            if lost == len(rows):
                raise _without_records(part)
            if new is not None:
                new.finish()
            return path if new is not None else None

    def _requires_others(self, archive: _Archive) -> bool:
        """Return whether the manifest of a WACZ lists files of the chain otherwise than they are now."""
        return any(self._written.get(it.filename, it) != it for it in archive.required)

    def _pack(self, archive: _Archive, made: Mapping[str, str | None], hashed: _Hashed, folder: str) -> None:
        job, zipped = self._job, open_zip(archive.name, open_stored(archive.name))
        index, file = _Index(), WaczOutput(hashed)

        def lines() -> Iterator[bytes]:
            for part in archive.parts:
                path = part.name.rpartition(SEPARATOR)[2]
                name = path.removeprefix(ARCHIVE)
                stored = job.on_progress(open_source(made[part.name] or part.name), "packing")
                yield from index.lines_of(file, path, name, stored, job.limits, on_problem=self._note)

        with ExitStack() as opened:
            index.open(folder, opened)
            index.finish_index(file, lines(), folder)
            for path in zipped.members:
                if not path.startswith(MADE_AGAIN) and not path.endswith("/"):
                    file.add_source(path, zipped.open(path))
            file.finish(self._metadata(manifest_of(zipped), index.containers))

    def _note(self, problem: FormatError) -> None:
        self._job.on_warning(str(problem))

    def _metadata(self, package: dict[str, object], used: set[str | None]) -> dict[str, object]:
        """Return a manifest without its list of members, that requires the files which revisits name."""
        stated = package.get("relation")
        relation = dict(stated) if isinstance(stated, dict) else {}
        listed = relation.pop("requires", [])
        known = [it for it in listed if isinstance(it, dict)] if isinstance(listed, list) else []
        of_name = {it.get("filename"): it for it in known}
        others = [it for it in known if it.get("filename") not in self._given]
        these = [
            {**of_name.get(name, {}), **it._asdict()} for name, it in self._written.items() if name in used
        ]
        if these or others:
            relation["requires"] = [*others, *these]
        kept = {name: it for name, it in package.items() if name not in ("resources", "relation")}
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        return {**kept, "modified": now, "relation": relation or None}

    def result(self) -> Copied:
        """Return what was done."""
        return Copied(
            files=self._files,
            records=self._changes.rows,
            changed=dict(self._changed),
            target_size=self._size,
            bytes_copied=self._tally.bytes_copied,
            bytes_recompressed=self._tally.bytes_recompressed,
            recompressed=self._tally.recompressed,
            verified=True,
            damaged=tuple(self._damaged.values()),
        )


def _without_records(part: Part) -> NotFoundError:
    return NotFoundError("no record is intact, so nothing was written", source=part.name)


def _with_shared(entries: Iterator[Entry]) -> Iterator[tuple[Entry, bool]]:
    """Yield records, and whether each shares its gzip member with others."""
    before: Entry | None = None
    for entry in chain(entries, [None]):
        if before is not None:
            yield before, bool(before.skip) or (entry is not None and entry.offset == before.offset)
        before = entry
