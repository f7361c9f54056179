"""Records taken out of files for good: new files without them, compared with the old ones, and searched.

The frames of the other records are copied. If a file has a dictionary, which may hold fragments of what is
removed, all others are compressed again without it. Everything else is compared byte for byte, before
any new file gets its name; then nothing is left to find but what other records say of the removed ones, which
is searched for.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Unpack, cast

from seekwarc.collection.entry import OnDamage
from seekwarc.edit.choosing import Choice, ChoiceConditions, with_entries
from seekwarc.edit.closure import Catalogue
from seekwarc.edit.copy_inputs import Part, check_targets, parts_of
from seekwarc.edit.copy_target import Recompressed
from seekwarc.edit.mentions import Mention
from seekwarc.edit.promoting import Promotions
from seekwarc.edit.removing import STUB, FileReport, Removal, RemovedRecord, check_backup
from seekwarc.edit.scanning import scan
from seekwarc.errors import FormatError, NotFoundError
from seekwarc.format.surt import surt
from seekwarc.format.uri import as_utf8
from seekwarc.jobs.passing import OnError, readable
from seekwarc.jobs.progress import Progress, no_progress
from seekwarc.read.options import ReadLimits, ReadOptions
from seekwarc.storage.expand import each_of, expand
from seekwarc.write.files import Existing, refuse_url
from seekwarc.write.forms import compression_of

__all__ = ["FileReport", "LostRevisit", "Mention", "Redaction", "RemovedRecord", "redact"]

MAX_OTHERS: Final = 20


@dataclass(frozen=True, slots=True)
class LostRevisit:
    """A revisit that would be kept, and would lose its payload."""

    file: str
    offset: int


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
    asked: dict[str, object] = field(default_factory=dict)
    """The conditions that were given, lists with their entries, and the reason."""
    file_reports: list[FileReport] = field(default_factory=list)
    """What became, or would become, of each file."""
    removed_records: list[RemovedRecord] = field(default_factory=list)
    """The records that were removed, or would be."""
    mentioned_by: dict[str, int] = field(default_factory=dict)
    """How many records, lines and dictionaries of each kind mention what was removed."""
    empty_files: list[str] = field(default_factory=list)
    """Files of which nothing is left but warcinfo records that no other record names, and stubs."""
    indexes_beside: list[str] = field(default_factory=list)
    """Indexes beside files that are changed in place, and not among `indexes`: they are neither searched nor
    made again, and may still name or find what is removed."""
    lost_revisits: list[LostRevisit] = field(default_factory=list)
    """In a dry run, the revisits that would lose their payloads, for which a run would be refused."""
    refusals: list[str] = field(default_factory=list)
    """In a dry run, why a run would be refused."""


def redact(
    sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    target: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    *,
    in_place: bool = False,
    indexes: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    reason: str | None = None,
    stubs: bool = True,
    stub_uris: bool = True,
    closure: bool = True,
    with_revisits: bool = False,
    promote: bool = False,
    keep_dictionary: bool = False,
    retrain: bool = False,
    delete_empty: bool = False,
    backup: str | os.PathLike[str] | None = None,
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

    Offsets change, so an index that is not among `indexes` is to be made again; those beside files changed in
    place are listed in the result (`indexes_beside`). A sidecar beside a file
    (`NAME.seek`) may hold bytes of the removed records: a new file gets one of its own, if it needs one, and
    with `in_place` the old one goes. Copies of the files, lines of other files, and the payloads of other
    captures are not searched.

    A file of which nothing would be left but warcinfo records that no other record names is listed in the
    result. With a list of targets it gets no new file; in place, it keeps these records and gets the stubs.

    Args:
        sources: Files, folders and patterns; one, or several.
        target: The new file, or a list with one for each source; None if `in_place` or `dry_run`. Either all
            new files are made, or none.
        in_place: Give the new files, once all are complete and compared, the names of the old ones. Files
            without records to remove stay unchanged, unless they have the dictionary of another one.
        indexes: CDXJ files, clusters (.idx) and Parquet files that name records of the files. Each is
            replaced, together with the files, by one with the lines of the new files instead.
        reason: Why, for the stubs and the report.
        stubs: Add, after all others, a metadata record for each removed capture, which says when and why.
            Those of earlier runs stay, unless new ones would not name the target URI.
        stub_uris: Name the target URI of what was removed in its stub.
        closure: Also remove what belongs to the records that match.
        with_revisits: Remove revisits whose originals are removed. Otherwise such revisits are an error,
            since their payloads would be lost.
        promote: Let such revisits refer to another full record with the same payload; without one, the
            first of them gets the payload (and the HTTP head, if it has none itself).
        keep_dictionary: Copy frames even if the file has a dictionary, which may hold fragments of what is
            removed; the result says so if it does. Otherwise the other records are compressed again.
        retrain: Compress them with a new dictionary, trained on what is kept, instead of without one.
        delete_empty: With `in_place`, delete such files when the others get their new content.
        backup: With `in_place`, a folder in which each file that is replaced or deleted is kept, at the path
            that it has in the folder of `sources`. No file there is overwritten by another one.
        dry_run: Write nothing; return what would be removed, what would still mention it, and why a run would
            be refused.
        existing: Whether a file that has a target's name is refused ("error") or replaced ("overwrite"),
            with its sidecar; one whose new file would have no record is then deleted.
        threads: Threads that decode and compress; one per core, at most four, unless given.
        processes: How many processes may look for records in parts of a large local file; see `index`.
        limits: Limits of reading; see `Reader`.
        on_error: What is done with a file that cannot be opened, is empty, is not an archive, or is damaged:
            "raise"; "skip", to leave all of it out with a `FormatWarning`; or a function that is called with
            the error, to leave it out. Each file is then read to its end before anything is written.
            It is not searched, so it may hold what was to be removed, and revisits of removed records. So
            is a file with a record of which it cannot be told whether it matches.
        on_progress: Wraps each source that is read, to report progress.
        **conditions: Which records; see `ChoiceConditions`.

    Raises:
        ValueError: A condition is invalid, no condition is given, a file to be changed in place is a link,
            revisits would lose their originals, or a new file would have no record. All of these are named.
        NotFoundError: No record matches, or all files were left out.
        FormatError: A file is damaged, and `on_error` is "raise". Nothing is changed: `tools.recover` makes a
            file of what is intact.
        TargetExistsError: A target, or another file of a backup's name, exists.
        SourceError: A file cannot be read.
        TargetError: A target cannot be written.
    """
    conditions = with_entries(conditions)
    if not (choice := Choice.of(**conditions)):
        raise ValueError("no condition is given, so every record would be removed")
    sources = [sources] if isinstance(sources, str | os.PathLike) else [*sources]
    indexes = each_of(indexes)
    names = [os.fspath(it) for it in expand(sources)]
    backups = _backups(sources, names, backup) if backup is not None else {}
    if not in_place and (delete_empty or backups):
        raise ValueError("--delete-empty and --backup (delete_empty, backup) are for files changed in place")
    many = isinstance(target, Sequence) and not isinstance(target, str)
    targets = [*cast("Sequence[str]", target)] if many else [cast("str | None", target)]
    if target is None and dry_run:
        targets *= len(names)
    finals = _finals(names, targets, existing, in_place=in_place, dry_run=dry_run)
    options = ReadOptions.of(**limits or {})
    with ExitStack() as opened:
        parts = opened.enter_context(parts_of(names, None, options, on_error, on_progress, whole=True))
        final_of = dict(zip(names, finals, strict=True))
        keys = frozenset(surt(it.decode("utf-8", "surrogateescape")) for it in choice.uris)
        removed = _scanned(
            parts,
            choice,
            on_error,
            on_progress,
            processes=processes,
            keys=keys,
            spare_stubs=stubs and stub_uris,
        )
        finals = [final_of[str(part.target)] for part in parts]
        done = Redaction(len(parts), len(removed), removed.kept.count(1))
        if not done.matched:
            alike = f", but {removed.others[0][1]} has the same key" if removed.others else ""
            raise NotFoundError(f"no record matches{alike}; `seekwarc ls` lists the records", source=names[0])
        if closure:
            removed.keep_linked(Counter())
        promotions = opened.enter_context(Promotions(parts, removed, options))
        done.revisits, lost = _settle_revisits(
            removed, promotions, promote=promote, with_revisits=with_revisits, closure=closure
        )
        done.promoted, done.repointed = promotions.counts
        _note_choice(done, removed)
        run = Removal(parts, removed, promotions, options, on_progress)
        run.stubs = (reason, stub_uris) if stubs else None
        run.dictionaries = "kept" if keep_dictionary else "trained" if retrain else "none"
        run.without_empty = delete_empty or (not in_place and (many or target is None))
        run.backups = backups
        run.examine(finals, in_place=in_place, replace=existing == "overwrite")
        done.lost_revisits = [
            LostRevisit(parts[removed.file_of(number)].name, removed.offsets[number]) for number in lost
        ]
        done.refusals = [*_refusals(done.lost_revisits, run, promote=promote, in_place=in_place)]
        if done.refusals and not dry_run:
            raise ValueError("; ".join(done.refusals))
        for it in run.files:
            if it.backup is not None:
                check_backup(it.file, it.backup)
        if dry_run:
            run.search(indexes)
        else:
            run.write(finals, "overwrite" if in_place else existing, indexes, threads, in_place=in_place)
    done.asked = {name: _plain(it) for name, it in [*conditions.items(), ("reason", reason)]}
    _note_result(done, run, indexes)
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
                raise ValueError(
                    f"{name}: only a .warc.zst is changed in place; name a new one, or convert it first"
                )
            if os.path.islink(name):
                # Other names, a sidecar or an index beside the file would be left as they are.
                raise ValueError(f"{name}: is a link to {os.path.realpath(name)}; name that file")
        return names
    finals = [os.fspath(it) if it is not None else None for it in targets]
    for final in filter(None, finals):
        refuse_url(final)
    check_targets(names, finals, existing, dry_run=dry_run)
    return [final or "" for final in finals]


def _backups(
    sources: Iterable[str | os.PathLike[str]], names: Iterable[str], target: str | os.PathLike[str]
) -> dict[str, str]:
    """Return where each file is kept: at its path in the folder that was named, or by its name."""
    folder = os.fspath(target)
    refuse_url(folder)
    kept = {name: os.path.join(folder, os.path.basename(name)) for name in names}
    for source in (os.fspath(it) for it in sources):
        if os.path.isdir(source):
            below = [name for name in kept if name.startswith(os.path.join(source, ""))]
            kept |= {name: os.path.join(folder, os.path.relpath(name, source)) for name in below}
    for backup, count in Counter(kept.values()).items():
        if count > 1:
            raise ValueError(
                f"{backup}: {count} files would have this backup; redact their folder as a whole"
            )
    return kept


def _scanned(
    parts: list[Part],
    choice: Choice,
    on_error: OnError,
    on_progress: Progress,
    *,
    processes: int,
    keys: frozenset[str],
    spare_stubs: bool,
) -> Catalogue:
    """Note all records; unless `on_error` is "raise", leave out files with one that cannot be judged."""
    damaged: dict[str | None, FormatError] = {}

    def note(error: FormatError) -> None:
        damaged.setdefault(error.source, error)

    def scanned(on_damage: OnDamage) -> Catalogue:
        return scan(
            parts,
            choice,
            on_damage,
            on_progress,
            processes=processes,
            check_all=True,
            keys=keys,
            spare_stubs=spare_stubs,
        )

    def examine(part: Part) -> Part:
        if part.name in damaged:
            raise damaged[part.name]
        return part

    removed = scanned(_raise if on_error == "raise" else note)
    if damaged:
        parts[:] = readable(parts, examine, on_error)
        removed = scanned(_raise)
    return removed


def _settle_revisits(
    removed: Catalogue, promotions: Promotions, *, promote: bool, with_revisits: bool, closure: bool
) -> tuple[int, list[int]]:
    """Decide on the revisits whose originals are removed.

    Returns:
        How many are removed as well, and those that would lose their payloads.
    """
    count = 0
    while (lost := promotions.lost(promote=promote)) and with_revisits:
        for number in lost:
            removed.kept[number] = 1
        count += len(lost)
        if closure:
            removed.keep_linked(Counter())
    return count, lost


def _plain(value: object) -> object:
    """Return a condition as JSON has it."""
    if isinstance(value, list | tuple | set | frozenset):
        return [*map(_plain, value)]
    if isinstance(value, datetime):
        return value.isoformat()
    return value if value is None or isinstance(value, int) else as_utf8(str(value))


def _note_choice(done: Redaction, removed: Catalogue) -> None:
    done.removed = removed.kept.count(1)
    done.records = done.read - done.removed
    others = Counter(uri for number, uri in removed.others if not removed.kept[number])
    done.others = dict(others.most_common(MAX_OTHERS))
    done.further_others = len(others) - len(done.others)


def _note_result(done: Redaction, run: Removal, indexes: Iterable[str | os.PathLike[str]]) -> None:
    done.indexes_beside = run.indexes_beside(indexes)
    done.stubs, done.written, done.mentions = run.stubbed, run.written, run.mentions
    done.target_size = run.size
    done.bytes_copied, done.bytes_recompressed = run.tally.bytes_copied, run.tally.bytes_recompressed
    done.recompressed = tuple(it for it in run.tally.recompressed if it.reason != STUB)
    done.file_reports, done.removed_records = run.files, run.records
    # A revisit may mention the ID, the URI and the digest of its original.
    places = dict.fromkeys((it.kind, it.file, it.offset) for it in run.mentions)
    done.mentioned_by = dict(Counter(kind for kind, _, _ in places))
    done.empty_files = [run.files[number].file for number in sorted(run.empty)]


def _refusals(lost: Sequence[LostRevisit], run: Removal, *, promote: bool, in_place: bool) -> Iterator[str]:
    """Say which revisits would lose their payloads, and which new files would have no record."""
    if lost:
        text = (
            f"{lost[0].file}: the payload of the revisit at offset {lost[0].offset} is in a record that "
            f"would be removed ({len(lost)} in all); --with-revisits also removes such revisits"
        )
        yield text + (
            " (their originals cannot be verified)" if promote else ", --promote keeps the payloads"
        )
        places: dict[str, list[str]] = {}
        for it in lost[1:]:
            places.setdefault(it.file, []).append(str(it.offset))
        for file, offsets in places.items():
            yield f"{file}: so is that of the {'revisits' if len(offsets) > 1 else 'revisit'} at offset " + (
                ", ".join(offsets)
            )
    bare = [it.file for number, it in enumerate(run.files) if run.is_bare(number)]
    if bare:
        way = "--delete-empty deletes the file" if in_place else "delete the file instead"
        yield f"{', '.join(bare)}: no record would be left; {way}"


def _raise(error: FormatError) -> None:
    raise error
