"""Deduplication of whole files: identical payloads become revisits, and revisits full records again.

Which records become what is decided in `edit.duplicates`; the new files are written by `edit.deciding`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, SupportsIndex, Unpack

from seekwarc.collection.entry import OnDamage
from seekwarc.edit.chaining import ChainDuplicates, ChainOriginals, chained
from seekwarc.edit.changing import REPOINTED
from seekwarc.edit.copy_target import Recompressed
from seekwarc.edit.deciding import CopyJob, CopyOptions, Target, copied
from seekwarc.edit.duplicates import AGAIN, REVISIT, Changes, Duplicates, Originals
from seekwarc.errors import FormatError
from seekwarc.jobs.passing import OnError
from seekwarc.jobs.progress import Progress, no_progress
from seekwarc.read.options import ReadLimits, ReadOptions
from seekwarc.storage.expand import expand
from seekwarc.write.files import Existing

__all__ = ["MIN_SIZE", "Deduplication", "dedupe"]

MIN_SIZE: Final = 1024
"""Bytes of a payload that is worth a revisit, which takes some 300 bytes itself."""


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


def dedupe(
    sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    target: Target | Sequence[str | os.PathLike[str]] | None = None,
    *,
    undo: bool = False,
    between: bool = False,
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

    With `between`, the files were crawled apart, and become a chain: only a response whose payload an earlier
    file has becomes a revisit, and names that file (WARC-Refers-To-Container). Either all files are WACZ, or
    none is. Each gets a new one of the same name and compression, in which the bytes of all other records are
    as they were. A WACZ gets a new index, and lists in its manifest which files it requires, with size and
    hash: so it must be kept with those, as they are written. Signatures of manifests are left out. `undo`
    makes full records of all revisits that name another file.

    A damaged record is reported and left out; the others are written, and none becomes a revisit of it, nor
    of one in a file that `on_error` leaves out.

    The records are listed in a temporary file, some 500 bytes each; memory does not grow with their number.

    Args:
        sources: The files: .warc.zst, .warc.gz or .warc, recognized by content; folders, and patterns.
        target: The new file, or a list with one for each source; with `between`, the folder of the new files,
            which is made. May be None if `dry_run`. Either all new files are made, or none.
        undo: Make revisits full records again.
        between: Make a chain of the files, the oldest first.
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
        UnsupportedError: With `between`, some files are WACZ, and others are not.
    """
    given: CopyOptions = {
        "dry_run": dry_run,
        "verify": verify,
        "existing": existing,
        "threads": threads,
        "processes": processes,
        "on_error": on_error,
        "on_warning": on_warning,
        "on_damage": on_damage,
        "on_progress": on_progress,
    }
    changes: Changes | None = None

    def begin(files: Mapping[str, str], options: ReadOptions) -> Changes:
        nonlocal changes
        if undo:
            changes = (ChainOriginals if between else Originals)(files, options)
        else:
            changes = (ChainDuplicates if between else Duplicates)(files, options, min_size)
        return changes

    if between:
        if not (target is None or isinstance(target, str | os.PathLike)):
            raise TypeError(f"target must be a folder, not {type(target).__name__}")
        folder = os.fspath(target) if target is not None else None
        names = [os.fspath(it) for it in expand(sources, leave_out=folder)]
        job = CopyJob(names=names, targets=(), limits=ReadOptions.of(**limits), **given)
        done = chained(job, folder, begin)
    else:
        done = copied(CopyJob.of(sources, target, limits, **given), begin)
    return Deduplication(
        files=done.files,
        records=done.records,
        revisits=done.changed.get(REVISIT, 0),
        repointed=done.changed.get(REPOINTED, 0),
        restored=done.changed.get(AGAIN, 0),
        left=dict(changes.left if changes is not None else {}),
        content_saved=changes.content_saved if changes is not None else 0,
        stored_saved=changes.stored_saved if changes is not None and not done.changed.get(AGAIN, 0) else None,
        target_size=done.target_size,
        bytes_copied=done.bytes_copied,
        bytes_recompressed=done.bytes_recompressed,
        recompressed=done.recompressed,
        verified=verify,
        damaged=done.damaged,
    )
