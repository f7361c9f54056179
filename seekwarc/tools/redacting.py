"""Records taken out of a file for good: a new file without them, compared with the old one, and searched.

The frames of the other records are copied. If the file has a dictionary, which may hold fragments of what is
removed, all others are compressed again without one. What was not removed is compared byte for byte, before
the new file gets its name; then nothing is left to find but what other records say of the removed ones, which
is searched for.
"""

from __future__ import annotations

import io
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Unpack

from seekwarc.errors import FormatError, NotFoundError
from seekwarc.frames.encoder import OrderedWork
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.read.options import ReadLimits, ReadOptions
from seekwarc.read.reader import Reader
from seekwarc.read.record import Record
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.opening import open_source
from seekwarc.system import default_threads
from seekwarc.tools.choosing import Choice, ChoiceConditions
from seekwarc.tools.closure import Catalogue
from seekwarc.tools.copy_inputs import Part, Place, parts_of
from seekwarc.tools.copy_source import LooseRecord, loose_records
from seekwarc.tools.copy_target import CopySettings, CopyTarget, Recompressed, Tally
from seekwarc.tools.filtering import scan
from seekwarc.tools.progress import Progress, no_progress
from seekwarc.tools.reindexing import new_index
from seekwarc.write.files import Existing, refuse_same_file, refuse_url
from seekwarc.write.forms import compression_of
from seekwarc.write.output import PathOutput
from seekwarc.write.writer import Writer

__all__ = ["Mention", "Redaction", "redact"]

STEP: Final = 1 << 20
MAX_SEARCHED: Final = 64 << 20
"""Bytes of a block of fields that are searched for what was removed."""
SEARCHED: Final = frozenset(("warcinfo", "metadata", "request"))
"""Types of records whose blocks are searched, too."""
STUBBED: Final = frozenset(("response", "resource", "revisit", "conversion"))
"""Types of records of which a stub is kept."""
STUB: Final = "a stub"

_WORD: Final = re.compile(rb"[^\s<>\"']+")


@dataclass(frozen=True, slots=True)
class Mention:
    """A record that still mentions what was removed."""

    offset: int
    """Its offset in the new file."""
    type: str | None
    """Its WARC-Type."""
    what: str
    """What it mentions: "id", "payload digest" or "uri"."""
    text: str
    """That ID, digest or URI."""


@dataclass(slots=True)
class Redaction:
    """The result of removing records.

    Example:
        >>> done = seekwarc.tools.redact("crawl.warc.zst", "rest.warc.zst", mime="video/*")
        >>> done.matched, done.removed, done.records
        (1, 1, 4)
    """

    read: int = 0
    """Records of the file."""
    matched: int = 0
    """Records that were chosen."""
    removed: int = 0
    """Records that were removed: those, and what belongs to them."""
    revisits: int = 0
    """Revisits among them that were removed with their originals."""
    records: int = 0
    """Records that were kept, all compared with the old file."""
    stubs: int = 0
    """Records in the new file that say that one was removed."""
    target_size: int = 0
    """Size of the new file in bytes."""
    bytes_copied: int = 0
    """Compressed bytes of the frames that were copied."""
    bytes_recompressed: int = 0
    """Content bytes of the frames that were compressed again."""
    recompressed: tuple[Recompressed, ...] = ()
    """The records that were compressed again, by reason."""
    mentions: list[Mention] = field(default_factory=list)
    """Records that still mention a removed one, without the stubs."""


def redact(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str] | None = None,
    *,
    in_place: bool = False,
    indexes: Iterable[str | os.PathLike[str]] = (),
    reason: str | None = None,
    stubs: bool = True,
    stub_uris: bool = True,
    closure: bool = True,
    with_revisits: bool = False,
    keep_dictionary: bool = False,
    dry_run: bool = False,
    existing: Existing = "error",
    threads: int | None = None,
    limits: ReadLimits | None = None,
    on_progress: Progress = no_progress,
    **conditions: Unpack[ChoiceConditions],
) -> Redaction:
    """Make a new .warc.zst without the records that match, and say which others still mention these.

        done = tools.redact("crawl.warc.zst", "rest.warc.zst", uri="*/private/*", reason="by request 17")
        print(done.removed, done.mentions)

    The other records are copied as by `filter`, and compared with the old file byte for byte before the new
    one gets its name. With the records that match go, unless `closure` is False, the records concurrent to
    them (requests and metadata) and all segments of segmented records.

    Offsets change, so an index that is not among `indexes` is to be made again. Copies of the file, and
    lines of other files, are not searched.

    Args:
        source: The file.
        target: The new file; None if `in_place` or `dry_run`.
        in_place: Give the new file, once it is complete and compared, the name of the old one.
        indexes: CDXJ files that name the records of the file. Each is replaced, together with the file, by
            one with the lines of the new file instead.
        reason: Why, for the stubs.
        stubs: Add, after all others, a metadata record for each removed capture, which says when and why.
        stub_uris: Name the target URI of what was removed in its stub.
        closure: Remove what belongs to the records that match, too.
        with_revisits: Remove revisits whose originals are removed. Otherwise such revisits are an error,
            since their payloads would be lost.
        keep_dictionary: Copy frames even if the file has a dictionary, which may hold fragments of what is
            removed. Otherwise the other records are compressed again without one.
        dry_run: Write nothing; return what would be removed.
        existing: Whether a file that has the target's name is refused ("error") or replaced ("overwrite").
        threads: Threads that decode and compress; one per core, at most four, unless given.
        limits: Limits of reading; see `Reader`.
        on_progress: Wraps each source that is read, to report progress.
        **conditions: Which records; see `ChoiceConditions`.

    Raises:
        ValueError: A condition is invalid, no condition is given, a revisit would lose its original, or no
            record would be left.
        NotFoundError: No record matches.
        FormatError: The file is damaged. Nothing is changed: `tools.recover` makes a file of what is intact.
        TargetExistsError: The target exists.
        SourceError: The file cannot be read.
        TargetError: The target cannot be written.
    """
    choice = Choice.of(**conditions)
    name = os.fspath(source)
    final = name if in_place else os.fspath(target) if target is not None else None
    _check_arguments(name, final, choice, in_place=in_place, dry_run=dry_run)
    done = Redaction()
    options = ReadOptions.of(**limits or {})
    with parts_of([name], None, options) as (part,):
        removed = scan([part], choice, _raise, on_progress, check_all=True)
        done.read, done.matched = len(removed), removed.kept.count(1)
        if not done.matched:
            raise NotFoundError("no record matches; `seekwarc ls` lists the records", source=name)
        if closure:
            removed.keep_linked(Counter())
        done.revisits = _add_revisits(removed, name, allowed=with_revisits, closure=closure)
        done.removed = removed.kept.count(1)
        done.records = done.read - done.removed
        if not done.records:
            raise ValueError(f"{name}: no record would be left; delete the file instead")
        if final is None or dry_run:
            return done
        needles, captured = _facts(part, removed)
        captured = [uri if stub_uris else None for uri in captured] if stubs else []
        inverse = bytearray(not it for it in removed.kept)
        was_removed, removed.kept = removed.kept, inverse
        settings = CopySettings("every" if part.has_table_each else "large")
        if keep_dictionary:
            settings = CopySettings(settings.tables, part.dictionary, part.dictionary_frame())
        output = PathOutput(final, existing="overwrite" if in_place else existing)
        outputs = [output]
        try:
            tally, done.target_size = _write(
                part,
                output,
                partial(removed.places, 0),
                settings,
                _stubs(captured, reason, options),
                threads=threads or default_threads(),
                on_progress=on_progress,
            )
            done.stubs = len(captured)
            done.mentions = _compare(part, output.place, was_removed, needles, on_progress)
            outputs.extend(new_index(os.fspath(it), name, output.place, final, options) for it in indexes)
            # All that can fail is done; what is left is to give each its name.
            for made in outputs:
                made.commit()
        except BaseException:
            for made in outputs:
                made.abort()
            raise
    done.bytes_copied, done.bytes_recompressed = tally.bytes_copied, tally.bytes_recompressed
    done.recompressed = tuple(it for it in tally.recompressed if it.reason != STUB)
    return done


def _write(
    part: Part,
    output: PathOutput,
    places: Callable[[], Iterator[Place]],
    settings: CopySettings,
    stubs: Iterable[LooseRecord],
    *,
    threads: int,
    on_progress: Progress,
) -> tuple[Tally, int]:
    """Write the kept records and the stubs, and return what that took, and the size of the new file."""
    tally = Tally()
    with closing(OrderedWork(threads)) as work:
        new = CopyTarget(output, work, settings, tally)
        with closing(part.placed(settings.dictionary, places, on_progress, None)) as records:
            for record in records:
                new.add(record)
        for stub in stubs:
            new.add(stub, again=True)
        new.seal()
    return tally, new.size


def _raise(error: FormatError) -> None:
    raise error


def _check_arguments(name: str, final: str | None, choice: Choice, *, in_place: bool, dry_run: bool) -> None:
    if not choice:
        raise ValueError("no condition is given, so every record would be removed")
    if final is None:
        if not dry_run:
            raise ValueError("target is None: name the new file, or set in_place or dry_run")
        return
    refuse_url(final)
    if not in_place:
        refuse_same_file(name, final)
    if compression_of(final) != "zst":
        raise ValueError(f"{final}: the new file is a .warc.zst; name it so")


def _add_revisits(removed: Catalogue, name: str, *, allowed: bool, closure: bool) -> int:
    """Remove the revisits whose originals are removed, and what belongs to them; return how many."""
    count = 0
    while revisits := removed.revisits_of_kept():
        if not allowed:
            raise ValueError(
                f"{name}: the payload of the revisit at offset {removed.offsets[revisits[0]]} is in a record "
                f"that would be removed ({len(revisits)} in all); --with-revisits removes such revisits, too"
            )
        for number in revisits:
            removed.kept[number] = 1
        count += len(revisits)
        if closure:
            removed.keep_linked(Counter())
    return count


def _facts(part: Part, removed: Catalogue) -> tuple[dict[bytes, str], list[str | None]]:
    """Return what is to be searched for, with what each is, and the target URIs of the removed captures."""
    needles: dict[bytes, str] = {}
    captured = []
    with Reader(part.target, **part.limits) as archive:
        for record in _numbered(archive, removed.kept):
            digest = record.header.get("WARC-Payload-Digest")
            for what, value in (("uri", record.target_uri), ("payload digest", digest), ("id", record.id)):
                if value:
                    needles[value.encode("utf-8", "surrogateescape")] = what
            if (record.type or "").lower() in STUBBED:
                captured.append(record.target_uri)
    return needles, captured


def _stubs(uris: Sequence[str | None], reason: str | None, options: ReadOptions) -> Iterator[LooseRecord]:
    if not uris:
        return
    stored = io.BytesIO()
    fields = [("removed", "a record was removed from this file"), *([("reason", reason)] if reason else [])]
    with Writer(stored, compression="none") as out:
        for uri in uris:
            out.write_metadata(fields, target_uri=uri)
    with closing(ArchiveFile(Fetcher(open_source(stored.getvalue())), options)) as file:
        yield from loose_records(file, STUB)


def _numbered(archive: Reader, wanted: bytearray) -> Iterator[Record]:
    return (record for number, record in enumerate(archive) if wanted[number])


def _compare(
    part: Part, made: str, removed: bytearray, needles: dict[bytes, str], on_progress: Progress
) -> list[Mention]:
    """Compare a new file with the records that were to be kept, and return what it still mentions."""
    kept = bytearray(not it for it in removed)
    mentions: list[Mention] = []
    source = on_progress(open_source(part.target), "comparing")
    with Reader(source, **part.limits) as old, Reader(made, **part.limits) as new:
        copies = iter(new)
        for record in _numbered(old, kept):
            copy = next(copies, None)
            if copy is None or copy.header.raw != record.header.raw or not _same_block(record, copy):
                raise FormatError(
                    "the copy of this record is not equal to it, so no file was made; please report this",
                    source=part.name,
                    offset=record.offset,
                )
            mentions += _mentions(copy, needles)
    return mentions


def _same_block(one: Record, other: Record) -> bool:
    with one.block.open() as left, other.block.open() as right:
        while data := left.read(STEP):
            if right.read(len(data)) != data:
                return False
        return not right.read(1)


def _mentions(record: Record, needles: dict[bytes, str]) -> Iterator[Mention]:
    text = record.header.raw
    if (record.type or "").lower() in SEARCHED:
        text += b" " + record.block.pread(0, min(record.content_length, MAX_SEARCHED))
    for word in dict.fromkeys(_WORD.findall(text)):
        if what := needles.get(word):
            shown = word.decode("utf-8", "replace")
            yield Mention(record.offset, record.type, what, shown)
