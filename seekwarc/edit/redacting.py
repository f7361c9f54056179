"""Records taken out of files for good: new files without them, compared with the old ones, and searched.

The frames of the other records are copied. If a file has a dictionary, which may hold fragments of what is
removed, all others are compressed again without it. Everything else is compared byte for byte, before
any new file gets its name; then nothing is left to find but what other records say of the removed ones, which
is searched for.
"""

from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Final, Unpack, cast

from seekwarc.edit.choosing import Choice, ChoiceConditions
from seekwarc.edit.closure import Catalogue
from seekwarc.edit.copy_inputs import Part, check_targets, parts_of
from seekwarc.edit.copy_source import LooseRecord, loose_records
from seekwarc.edit.copy_target import CopySettings, CopyTarget, Recompressed, Tally
from seekwarc.edit.mentions import Mention, fragment, in_record, needles_of
from seekwarc.edit.promoting import Promotions
from seekwarc.edit.reindexing import Remade, new_index
from seekwarc.edit.scanning import scan
from seekwarc.errors import FormatError, NotFoundError
from seekwarc.format.sidecar import SIDECAR_SUFFIX
from seekwarc.format.surt import surt
from seekwarc.format.uri import StoredUri
from seekwarc.frames.dictionary import Dictionary
from seekwarc.frames.encoder import OrderedWork
from seekwarc.jobs.passing import OnError
from seekwarc.jobs.progress import Progress, no_progress
from seekwarc.make.sidecars import sidecar
from seekwarc.make.training import trained_on
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.read.options import ReadLimits, ReadOptions
from seekwarc.read.reader import WholeReader
from seekwarc.read.record import Record
from seekwarc.storage.expand import expand
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.opening import open_source
from seekwarc.system import threads_for
from seekwarc.write.file_layout import TableMode
from seekwarc.write.files import Existing, refuse_url, remove
from seekwarc.write.forms import compression_of
from seekwarc.write.opening import committed_together
from seekwarc.write.output import Output, PathOutput
from seekwarc.write.writer import Writer

__all__ = ["Mention", "Redaction", "redact"]

STEP: Final = 1 << 20
MAX_OTHERS: Final = 20
STUBBED: Final = frozenset(("response", "resource", "revisit", "conversion"))
"""Types of records of which a stub is kept."""
STUB: Final = "a stub"


@dataclass(slots=True)
class Redaction:
    """The result of removing records.

    Example:
        >>> done = seekwarc.tools.redact("crawl.warc.zst", "rest.warc.zst", mime="video/*")
        >>> done.matched, done.removed, done.records
        (1, 1, 4)
    """

    files: int = 0
    """Files that were read."""
    read: int = 0
    """Records of the files."""
    matched: int = 0
    """Records that were chosen."""
    removed: int = 0
    """Records that were removed: those, and what belongs to them."""
    revisits: int = 0
    """Revisits among them that were removed with their originals."""
    promoted: int = 0
    """Revisits that became full records, since their originals were removed."""
    repointed: int = 0
    """Revisits that refer to another record now, since their originals were removed."""
    records: int = 0
    """Records that were kept, all compared with the old files."""
    stubs: int = 0
    """Records in the new files that say that one was removed."""
    written: int = 0
    """New files."""
    target_size: int = 0
    """Size of all new files in bytes."""
    bytes_copied: int = 0
    """Compressed bytes of the frames that were copied."""
    bytes_recompressed: int = 0
    """Content bytes of the frames that were compressed again."""
    recompressed: tuple[Recompressed, ...] = ()
    """The records that were compressed again, by reason."""
    mentions: list[Mention] = field(default_factory=list)
    """What still mentions a removed record, without the stubs."""
    others: dict[str, int] = field(default_factory=dict)
    """URIs that were not asked for but have the same key (`www.`, case, scheme) as one that was, and how many
    records of each were kept: at most 20, those with the most records."""
    further_others: int = 0
    """How many more such URIs there are."""


def redact(
    sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    target: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    *,
    in_place: bool = False,
    indexes: Iterable[str | os.PathLike[str]] = (),
    reason: str | None = None,
    stubs: bool = True,
    stub_uris: bool = True,
    closure: bool = True,
    with_revisits: bool = False,
    promote: bool = False,
    keep_dictionary: bool = False,
    retrain: bool = False,
    dry_run: bool = False,
    existing: Existing = "error",
    threads: int | None = None,
    processes: int = 1,
    limits: ReadLimits | None = None,
    on_error: OnError = "raise",
    on_progress: Progress = no_progress,
    **conditions: Unpack[ChoiceConditions],
) -> Redaction:
    """Make new .warc.zst files without the records that match, and say what still mentions these.

        done = tools.redact("crawl.warc.zst", "rest.warc.zst", uri="*/private/*", reason="by request 17")
        print(done.removed, done.mentions)

    The other records are copied as by `filter`, and compared with the old files byte for byte before any new
    one gets its name. With the records that match go, unless `closure` is False, the records concurrent to
    them (requests and metadata) and all segments of segmented records, in all files.

    A URI without `*` means all its spellings (`/%7Ea`, `/~a`). Records of other URIs that count as the same
    in an index are kept, and listed in the result (`others`).

    Offsets change, so an index that is not among `indexes` is to be made again. A sidecar beside a file
    (`NAME.seek`) may hold bytes of the removed records: a new file gets one of its own, if it needs one, and
    with `in_place` the old one goes. Copies of the files, and lines of other files, are not searched.

    Args:
        sources: Files, folders and patterns; one, or several.
        target: The new file, or a list with one for each source; None if `in_place` or `dry_run`. Either all
            new files are made, or none.
        in_place: Give the new files, once all are complete and compared, the names of the old ones. Files
            without records to remove stay unchanged, unless they have the dictionary of another one.
        indexes: CDXJ files, clusters (.idx) and Parquet files that name records of the files. Each is
            replaced, together with the files, by one with the lines of the new files instead.
        reason: Why, for the stubs.
        stubs: Add, after all others, a metadata record for each removed capture, which says when and why.
        stub_uris: Name the target URI of what was removed in its stub.
        closure: Also remove what belongs to the records that match.
        with_revisits: Remove revisits whose originals are removed. Otherwise such revisits are an error,
            since their payloads would be lost.
        promote: Let such revisits refer to another full record with the same payload; without one, the
            first of them gets the payload (and the HTTP head, if it has none itself).
        keep_dictionary: Copy frames even if the file has a dictionary, which may hold fragments of what is
            removed; the result says so if it does. Otherwise the other records are compressed again.
        retrain: Compress them with a new dictionary, trained on what is kept, instead of without one.
        dry_run: Write nothing; return what would be removed.
        existing: Whether a file that has a target's name is refused ("error") or replaced ("overwrite").
        threads: Threads that decode and compress; one per core, at most four, unless given.
        processes: How many processes may look for records in parts of a large local file; see `index`.
        limits: Limits of reading; see `Reader`.
        on_error: What is done with a file that cannot be opened, is empty, is not an archive, or is damaged:
            "raise"; "skip", to leave all of it out with a `FormatWarning`; or a function that is called with
            the error, to leave it out. Each file is then read to its end before anything is written.
            It is not searched, so it may hold what was to be removed, and revisits of removed records.
        on_progress: Wraps each source that is read, to report progress.
        **conditions: Which records; see `ChoiceConditions`.

    Raises:
        ValueError: A condition is invalid, no condition is given, a revisit would lose its original, or no
            record of a file would be left.
        NotFoundError: No record matches, or all files were left out.
        FormatError: A file is damaged, and `on_error` is "raise". Nothing is changed: `tools.recover` makes a
            file of what is intact.
        TargetExistsError: A target exists.
        SourceError: A file cannot be read.
        TargetError: A target cannot be written.
    """
    choice = Choice.of(**conditions)
    if not choice:
        raise ValueError("no condition is given, so every record would be removed")
    names = [os.fspath(it) for it in expand(sources)]
    many = isinstance(target, Sequence) and not isinstance(target, str)
    targets = [*cast("Sequence[str]", target)] if many else [cast("str | None", target)]
    if target is None and dry_run:
        targets *= len(names)
    finals = _finals(names, targets, existing, in_place=in_place, dry_run=dry_run)
    options = ReadOptions.of(**limits or {})
    with ExitStack() as opened:
        parts = opened.enter_context(parts_of(names, None, options, on_error, on_progress, whole=True))
        final_of = dict(zip(names, finals, strict=True))
        finals = [final_of[str(part.target)] for part in parts]
        keys = frozenset(surt(it.decode()) for it in choice.uris)
        removed = scan(parts, choice, _raise, on_progress, processes=processes, check_all=True, keys=keys)
        done = Redaction(len(parts), len(removed), removed.kept.count(1))
        if not done.matched:
            alike = f", but {removed.others[0][1]} has the same key" if removed.others else ""
            raise NotFoundError(f"no record matches{alike}; `seekwarc ls` lists the records", source=names[0])
        if closure:
            removed.keep_linked(Counter())
        promotions = opened.enter_context(Promotions(parts, removed, options))
        done.revisits = _settle_revisits(
            parts, removed, promotions, promote=promote, with_revisits=with_revisits, closure=closure
        )
        done.promoted, done.repointed = promotions.counts
        done.removed = removed.kept.count(1)
        done.records = done.read - done.removed
        others = Counter(uri for number, uri in removed.others if not removed.kept[number])
        done.others = dict(others.most_common(MAX_OTHERS))
        done.further_others = len(others) - len(done.others)
        for part, start, stop in zip(parts, removed.starts, removed.starts[1:], strict=False):
            if removed.kept.count(1, start, stop) == stop - start > 0:
                raise ValueError(f"{part.name}: no record would be left; delete the file instead")
        if dry_run:
            return done
        run = _Run(parts, removed, promotions, options, on_progress)
        run.stubs = (reason, stub_uris) if stubs else None
        run.dictionaries = "kept" if keep_dictionary else "trained" if retrain else "none"
        run.write(finals, "overwrite" if in_place else existing, indexes, threads, in_place=in_place)
    done.stubs, done.written, done.mentions = run.stubbed, run.written, run.mentions
    done.target_size = run.size
    done.bytes_copied, done.bytes_recompressed = run.tally.bytes_copied, run.tally.bytes_recompressed
    done.recompressed = tuple(it for it in run.tally.recompressed if it.reason != STUB)
    return done


def _finals(
    names: list[str],
    targets: Sequence[str | os.PathLike[str] | None],
    existing: Existing,
    *,
    in_place: bool,
    dry_run: bool,
) -> list[str]:
    """Return the names of the new files."""
    if in_place:
        for name in names:
            refuse_url(name)
            if compression_of(name) != "zst":
                raise ValueError(f"{name}: the new file is a .warc.zst; name another one")
        return names
    finals = [os.fspath(it) if it is not None else None for it in targets]
    for final in filter(None, finals):
        refuse_url(final)
    check_targets(names, finals, existing, dry_run=dry_run)
    return [final or "" for final in finals]


def _settle_revisits(
    parts: Sequence[Part],
    removed: Catalogue,
    promotions: Promotions,
    *,
    promote: bool,
    with_revisits: bool,
    closure: bool,
) -> int:
    """Decide on the revisits whose originals are removed; return how many are removed as well."""
    count = 0
    while True:
        lost = promotions.lost(promote=promote)
        if not lost:
            return count
        if not with_revisits:
            name = parts[removed.file_of(lost[0])].name
            raise ValueError(
                f"{name}: the payload of the revisit at offset {removed.offsets[lost[0]]} is in a record "
                f"that would be removed ({len(lost)} in all); --with-revisits also removes such revisits"
                + (" (their originals cannot be verified)" if promote else ", --promote keeps the payloads")
            )
        for number in lost:
            removed.kept[number] = 1
        count += len(lost)
        if closure:
            removed.keep_linked(Counter())


class _Run:
    """The new files, made once all is decided."""

    stubs: tuple[str | None, bool] | None = None
    """The reason, and whether they name URIs."""
    dictionaries = "none"
    """What becomes of them: "kept", "trained" or "none"."""

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
        self._captured: list[list[str | None]] = []
        """Target URIs of the removed captures of each file."""
        self.tally = Tally()
        self.mentions: list[Mention] = []
        self.stubbed = self.written = self.size = 0

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
        self._needles, self._captured = self._facts(finals)
        trained = self._trained(changed) if self.dictionaries == "trained" else None
        remade: dict[str, Remade] = {}

        def remove_stale() -> None:
            # Before a new file has its name: after a crash, no sidecar holds what is not in its file.
            for name, made in remade.items() if in_place else ():
                if made.sidecar is None:
                    remove(name + SIDECAR_SUFFIX)

        with committed_together(remove_stale) as outputs:
            for number, (part, final) in enumerate(zip(self._parts, finals, strict=True)):
                if in_place and number not in changed:
                    with WholeReader(part.target, **self._limits) as archive:
                        for record in archive:
                            self.mentions += in_record(record, final, self._needles)
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

    def _facts(self, finals: Sequence[str]) -> tuple[dict[bytes, str], list[list[str | None]]]:
        needles: dict[bytes, str] = {}
        captured: list[list[str | None]] = []
        saved = self._promotions.originals
        for number, (part, final) in enumerate(zip(self._parts, finals, strict=True)):
            captured.append([])
            if next(self._removed.kept_in(number), None) is None:
                continue
            with WholeReader(part.target, **self._limits) as archive:
                for each, record in self._numbered(number, archive, kept=False):
                    needles |= needles_of(record, with_digest=each not in saved)
                    if (record.type or "").lower() in STUBBED:
                        captured[-1].append(record.target_uri)
                    kept = part.dictionary if self.dictionaries == "kept" else None
                    if kept is not None and fragment(record, kept.data):
                        self.mentions.append(Mention(final, 0, "dictionary", "payload", record.id or ""))
        return needles, captured

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
            places = lambda: map(removed.place, kept)  # noqa: E731
            with closing(part.placed(settings.dictionary, places, self._on_progress, None)) as records:
                for each, record in zip(kept, records, strict=True):
                    change = self._promotions.change_of(each)
                    new.add(record if change is None else change.record(part.name))
            for stub in self._stubs(number):
                new.add(stub, again=True)
                self.stubbed += 1
            new.seal()
        self.size += new.size
        self.written += 1

    def _stubs(self, number: int) -> Iterator[LooseRecord]:
        uris = self._captured[number]
        if not uris or self.stubs is None:
            return
        reason, with_uris = self.stubs
        stored = io.BytesIO()
        fields = [
            ("removed", "a record was removed from this file"),
            *([("reason", reason)] if reason else []),
        ]
        with Writer(stored, compression="none") as out:
            for uri in uris:
                named = StoredUri(uri) if with_uris and uri is not None else None
                out.write_metadata(fields, target_uri=named)
        with closing(ArchiveFile(Fetcher(open_source(stored.getvalue())), self._limits)) as file:
            yield from loose_records(file, STUB)

    def _compare(self, number: int, made: str, final: str) -> None:
        """Compare a new file with what was to be kept, and note what it still mentions."""
        part = self._parts[number]
        source = self._on_progress(open_source(part.target), "comparing")
        with WholeReader(source, **self._limits) as old, WholeReader(made, **self._limits) as new:
            copies = iter(new)
            for each, record in self._numbered(number, old, kept=True):
                change, copy = self._promotions.change_of(each), next(copies, None)
                header = record.header if change is None else change.header
                pieces = _pieces(record) if change is None else change.pieces()
                if copy is None or copy.header.raw != header.raw or not _has_block(copy, pieces):
                    raise FormatError(
                        "the copy of this record is not equal to it, so no file was made; please report this",
                        source=part.name,
                        offset=record.offset,
                    )
                self.mentions += in_record(copy, final, self._needles)


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


def _raise(error: FormatError) -> None:
    raise error


def _pieces(record: Record) -> Iterator[bytes]:
    with record.block.open() as block:
        while data := block.read(STEP):
            yield data


def _has_block(record: Record, pieces: Iterator[bytes]) -> bool:
    with record.block.open() as block:
        return all(block.read(len(data)) == data for data in pieces) and not block.read(1)
