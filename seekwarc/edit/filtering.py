"""A part of an archive: the chosen records, and what belongs to them, copied without compressing them again.

Plan: a first pass reads the headers of all records, and notes which are chosen. Records that belong to these
are found in the notes. A second pass copies the records from their places, small ones near each other
together. If it finds a damaged one, which shows only when some of it is in the new file, that file is
dropped; the next attempt checks every record before it is copied.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import chain
from typing import Final, Unpack, cast

from seekwarc.collection.entry import OnDamage
from seekwarc.edit.choosing import Choice, ChoiceConditions
from seekwarc.edit.closure import RELATIONS, Catalogue
from seekwarc.edit.copy_inputs import Part, opens, parts_of, settings_of
from seekwarc.edit.copy_source import LooseRecord, StoredRecord
from seekwarc.edit.copy_target import CopySettings, CopyTarget, Recompressed, Tally
from seekwarc.edit.indexed import IndexedFile, chosen_lines
from seekwarc.edit.originals import NumberedRecords, Originals
from seekwarc.edit.scanning import scan
from seekwarc.edit.splitting import Piece, PieceNames, Pieces, pieces_of
from seekwarc.edit.stored_runs import StoredRun
from seekwarc.errors import FormatError, NotFoundError
from seekwarc.format.warc import RecordHeader
from seekwarc.frames.encoder import OrderedWork
from seekwarc.jobs.passing import OnError
from seekwarc.jobs.progress import Progress, no_progress
from seekwarc.jobs.work import hidden_folder
from seekwarc.read.options import ReadLimits, ReadOptions
from seekwarc.read.reader import WholeReader
from seekwarc.storage.expand import expand, index_ending
from seekwarc.storage.opening import open_source
from seekwarc.system import threads_for
from seekwarc.write.files import Existing, refuse_existing, refuse_same_file
from seekwarc.write.forms import compression_of
from seekwarc.write.opening import committed
from seekwarc.write.output import Output

__all__ = ["Filtering", "filter"]

MAX_INFO: Final = 1 << 20
"""Stored bytes in which a warcinfo record is expected."""


@dataclass(slots=True)
class Filtering:
    """The result of copying chosen records.

    Example:
        >>> done = seekwarc.tools.filter("crawl.warc.zst", "films.warc.zst", mime="video/*")
        >>> done.matched, done.dangling, done.records
        (1, 0, 1)
    """

    files: int = 0
    """Files of the input."""
    read: int = 0
    """Records of the input."""
    matched: int = 0
    """Records that were chosen."""
    belonging: dict[str, int] = field(default_factory=dict)
    """Further records that belong to these, by relation: warcinfo, concurrent, segment, original (of a
    revisit)."""
    dangling: int = 0
    """Kept revisits without a payload: their original is not in the input, or their profile is unknown; 0 if
    nothing was to be brought along."""
    size: int = 0
    """Stored bytes, in the input, of the records to copy."""
    records: int = 0
    """Records that were copied."""
    pieces: tuple[Piece, ...] = ()
    """The new files."""
    bytes_copied: int = 0
    """Compressed bytes of the frames that were copied."""
    bytes_recompressed: int = 0
    """Content bytes of the frames that were compressed again."""
    recompressed: tuple[Recompressed, ...] = ()
    """The records that were compressed again, by file and reason."""
    damaged: list[FormatError] = field(default_factory=list)
    """Damage of the input. Damaged records are left out."""


def filter(  # noqa: A001 - the name of the verb
    sources: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    target: str | os.PathLike[str] | None,
    *,
    files: str | os.PathLike[str] | None = None,
    closure: bool = True,
    max_size: int | None = None,
    dry_run: bool = False,
    verify: bool = True,
    existing: Existing = "error",
    threads: int | None = None,
    processes: int = 1,
    limits: ReadLimits | None = None,
    on_error: OnError = "raise",
    on_warning: Callable[[str], object] = lambda _: None,
    on_damage: OnDamage = lambda _: None,
    on_progress: Progress = no_progress,
    **conditions: Unpack[ChoiceConditions],
) -> Filtering:
    """Copy the records that match, and what belongs to them, into a new .warc.zst, byte for byte.

        done = tools.filter("crawls/", "site.warc.zst", hosts=["example.org"])
        print(done.matched, done.belonging, done.dangling)

    Frames are copied from every .warc.zst that has the dictionary of the first file, or none if that has
    none, as `concat` does. Other records are compressed again. Extension frames between records are left out.

    With the records that match come, unless `closure` is False: the warcinfo records that they name, the
    records that are concurrent to them (requests and metadata), all segments of segmented records, and the
    originals of revisits. Records that are not in the input cannot come along.

    A damaged record is reported and left out; the others are copied. A revisit whose original is in a file
    that `on_error` leaves out counts as one without.

    Args:
        sources: Files, URLs, folders, patterns and indexes (.cdxj, .idx, .parquet); one, or several. The
            lines of an index tell which records match, and nothing is read of the files but what is copied:
            these records, the originals of revisits, and the warcinfo record that begins the file.
            Requests, metadata and further segments do not come along.
        target: The new file; may be None if `dry_run`.
        files: Folder or URL of the files that indexes name; that of each index by default.
        closure: Bring along what belongs to the records that match.
        max_size: Maximum size of a new file in bytes. The records then become a series, named as by `split`,
            each file of which begins with its warcinfo record if `closure` is True.
        dry_run: Write nothing; return what would be copied.
        verify: Decode every copied frame and check its checksum.
        existing: Whether an existing file is refused ("error") or replaced ("overwrite").
        threads: Threads that decode and compress; one per core, at most four, unless given.
        processes: How many processes may look for records in parts of a large local file; see `index`.
        limits: Limits of reading; see `Reader`.
        on_error: What is done with a file that cannot be opened, is empty, or is not an archive: "raise";
            "skip", to leave it out with a `FormatWarning`; or a function that is called with the error, to
            leave it out.
        on_warning: Called, before anything is written, with a message for each file that will be compressed
            again.
        on_damage: Called with each damage.
        on_progress: Wraps each source that is read, to report progress.
        **conditions: Which records; see `ChoiceConditions`.

    Raises:
        ValueError: A condition is invalid, or a record alone needs more than `max_size`.
        NotFoundError: No record matches, or all files were left out.
        FormatError: A file is not a WARC file, and `on_error` is "raise".
        TargetExistsError: The target exists.
        SourceError: A file cannot be read.
        TargetError: The target cannot be written.
    """
    choice = Choice.of(**conditions)
    names = list(expand(sources))
    _check_target(names, target, existing, is_series=max_size is not None)
    folder = os.path.dirname(os.path.abspath(target)) if target is not None else None
    done = Filtering(len(names))

    def damage(error: FormatError) -> None:
        done.damaged.append(error)
        on_damage(error)

    base = os.fspath(files) if files is not None else None
    archives = [name for name in names if index_ending(name) is None]
    options = ReadOptions.of(**limits or {})
    is_left = cache(partial(opens, limits=options, on_error=on_error))
    indexes = [
        chosen_lines(name, choice, base, is_left, closure=closure) for name in names if index_ending(name)
    ]
    indexed = [file for lines in indexes for file in lines.files]
    with (
        parts_of(archives, folder, options, on_error, on_progress, least=not indexed) as searched,
        parts_of([file.name for file in indexed], folder, options) as placed,
    ):
        parts = [*searched, *placed]
        done.files -= len(archives) - len(searched)
        catalogue = scan(searched, choice, damage, on_progress, processes=processes, linked=closure)
        done.read = catalogue.read + sum(lines.read for lines in indexes)
        done.matched = catalogue.kept.count(1) + sum(lines.matched for lines in indexes)
        if not done.matched:
            raise NotFoundError("no record matches; `seekwarc ls` lists the records", source=_named(names))
        if closure:
            with NumberedRecords(searched, catalogue, options) as records:
                added, done.dangling = catalogue.close(Originals(catalogue, records, in_place=False))
            done.dangling += sum(lines.dangling for lines in indexes)
            added["original"] += sum(lines.originals for lines in indexes)
            added["warcinfo"] += _add_indexed(catalogue, placed, indexed, with_infos=True)
            done.belonging = {relation: added[relation] for relation in RELATIONS}
        else:
            _add_indexed(catalogue, placed, indexed, with_infos=False)
        done.size = catalogue.size
        if dry_run:
            return done
        if target is None:
            raise ValueError("target is None: name the new file, or set dry_run")
        settings = settings_of(parts, on_warning, verify=verify)
        copy = _Copy(parts, catalogue, settings, threads_for(threads), on_progress)
        try:
            pieces = copy.write(target, max_size, existing, None, repeat=closure)
        except FormatError:
            copy = _Copy(parts, catalogue, settings, threads_for(threads), on_progress)
            pieces = copy.write(target, max_size, existing, damage, repeat=closure)
    tally = copy.tally
    done.pieces, done.records = tuple(pieces), tally.records
    done.bytes_copied, done.bytes_recompressed = tally.bytes_copied, tally.bytes_recompressed
    done.recompressed = tally.recompressed
    return done


def _check_target(
    names: Sequence[str], target: str | os.PathLike[str] | None, existing: Existing, *, is_series: bool
) -> None:
    if not names:
        raise ValueError("sources is empty: there are no files to choose records from")
    if target is None or is_series:
        return
    for name in names:
        refuse_same_file(name, target)
    if compression_of(target) != "zst":
        raise ValueError(f"{os.fspath(target)}: records are copied into a .warc.zst; name it so")
    if existing == "error":
        refuse_existing(target)


def _add_indexed(
    catalogue: Catalogue, parts: Sequence[Part], files: Sequence[IndexedFile], *, with_infos: bool
) -> int:
    """Note the records that indexes name, and the warcinfo record that begins each file; return how many."""
    infos = 0
    for part, file in zip(parts, files, strict=True):
        if with_infos and file.first > 0:
            with WholeReader(open_source(part.target), **part.limits) as archive, suppress(FormatError):
                record = archive.record_at(0, min(file.first, MAX_INFO))
                if record.type == "warcinfo":
                    catalogue.add_place(record.offset, file.first)
                    infos += 1
        for offset, length in sorted(file.places.items()):
            catalogue.add_place(offset, length)
        catalogue.end_file(part.name)
    return infos


class _Copy:
    """One attempt to copy the kept records."""

    def __init__(
        self,
        parts: Sequence[Part],
        catalogue: Catalogue,
        settings: CopySettings,
        threads: int,
        on_progress: Progress,
    ) -> None:
        self._parts = parts
        self._catalogue = catalogue
        self._settings = settings
        self._threads = threads
        self._on_progress = on_progress
        self.tally = Tally()

    def write(
        self,
        target: str | os.PathLike[str],
        max_size: int | None,
        existing: Existing,
        on_damage: OnDamage | None,
        *,
        repeat: bool,
    ) -> list[Piece]:
        """Write the new file, or the series."""
        if max_size is None:
            with committed(target, existing=existing) as output:
                return self._whole(output, on_damage)
        names = PieceNames(target)
        with hidden_folder(names.folder) as hidden:
            outputs = Pieces(hidden, names, existing)
            pieces = self._pieces(outputs.begin, on_damage, max_size, repeat=repeat)
            outputs.publish()
        return pieces

    def _whole(self, output: Output, on_damage: OnDamage | None) -> list[Piece]:
        together = self._settings.tables != "every"
        with (
            closing(OrderedWork(self._threads)) as work,
            closing(self._records(on_damage, together=together)) as records,
        ):
            first = next(records, None)
            if first is None:
                return []
            file = CopyTarget(output, work, self._settings, self.tally)
            for record in chain([first], records):
                file.add(record)
            file.seal()
            return [Piece(file.name, file.records, file.size)]

    def _pieces(
        self, begin: Callable[[], Output], on_damage: OnDamage | None, max_size: int, *, repeat: bool
    ) -> list[Piece]:
        def is_full(piece: CopyTarget, record: StoredRecord | LooseRecord, count: int, others: int) -> bool:
            return bool(others if repeat else count) and not piece.has_room(record, max_size)

        def check(piece: Piece, last: RecordHeader) -> None:
            if piece.size > max_size:
                name = last.get("WARC-Target-URI") or last.get("WARC-Record-ID")
                raise ValueError(
                    f"a file with nothing but the record {name} has {piece.size} bytes, more than the "
                    f"maximum of {max_size}; allow more, or leave the record out"
                )

        with (
            closing(OrderedWork(self._threads)) as work,
            closing(self._records(on_damage, together=False)) as records,
        ):
            return pieces_of(
                cast("Iterator[StoredRecord | LooseRecord]", records),
                lambda: CopyTarget(begin(), work, self._settings, self.tally),
                is_full,
                repeat_warcinfo=repeat,
                on_piece=check,
            )

    def _records(
        self, on_damage: OnDamage | None, *, together: bool
    ) -> Generator[StoredRecord | LooseRecord | StoredRun, None, None]:
        dictionary = self._settings.dictionary
        for number, part in enumerate(self._parts):
            places = partial(self._catalogue.places, number)
            with closing(
                part.placed(dictionary, places, self._on_progress, on_damage, together=together)
            ) as found:
                yield from found


def _named(names: Sequence[str]) -> str | None:
    return names[0] if len(names) == 1 else None
