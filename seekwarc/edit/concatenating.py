"""Joining files: frames are copied where possible, and the other records compressed again.

Source: "Zstandard Compression for WARC Files 1.0", section Combining files; spec-notes/warc-zstd-seekable,
annex A.4.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from typing import BinaryIO, Unpack

from seekwarc.edit.copy_inputs import PartTarget, parts_of, settings_of
from seekwarc.edit.copy_target import CopyTarget, Recompressed, Tally
from seekwarc.errors import TargetError
from seekwarc.frames.encoder import OrderedWork
from seekwarc.jobs.passing import OnError
from seekwarc.jobs.progress import Progress, no_progress
from seekwarc.read.options import ReadLimits, ReadOptions
from seekwarc.storage.expand import expand
from seekwarc.system import threads_for
from seekwarc.write.file_layout import TableMode
from seekwarc.write.files import Existing, refuse_same_file
from seekwarc.write.forms import compression_of
from seekwarc.write.opening import committed

__all__ = ["Concatenation", "concat"]


@dataclass(frozen=True, slots=True)
class Concatenation:
    """The result of joining files.

    Example:
        >>> done = seekwarc.tools.concat(["crawl.warc.zst", "crawl.warc.zst"], "all.warc.zst")
        >>> done.files, done.records, done.recompressed
        (2, 10, ())

    Attributes:
        files: Files that were joined.
        records: Records of all of them together.
        target_size: Size of the new file in bytes.
        tables: "large" if the new file ends in a table of all its frames; "every" if each record has a table,
            as in all the files.
        bytes_copied: Compressed bytes of the frames that were copied.
        bytes_recompressed: Content bytes of the frames that were compressed again.
        recompressed: The records that were compressed again, by file and reason.
        verified: Whether the copied frames were decoded and their checksums are right.
    """

    files: int
    records: int
    target_size: int
    tables: TableMode
    bytes_copied: int
    bytes_recompressed: int
    recompressed: tuple[Recompressed, ...]
    verified: bool


def concat(
    sources: str | os.PathLike[str] | Iterable[PartTarget],
    target: str | os.PathLike[str] | BinaryIO,
    *,
    verify: bool = True,
    existing: Existing = "error",
    threads: int | None = None,
    on_error: OnError = "raise",
    on_warning: Callable[[str], object] = lambda _: None,
    on_progress: Progress = no_progress,
    **limits: Unpack[ReadLimits],
) -> Concatenation:
    """Join files into one .warc.zst that holds all their records in order, byte for byte.

        done = tools.concat(["a.warc.zst", "b.warc.zst"], "all.warc.zst")
        print(done.records, done.bytes_copied, done.bytes_recompressed)

    Frames are copied from every .warc.zst that has the same dictionary as the first file, or no dictionary if
    the first file has none. The records of all other files are compressed again with the first file's
    dictionary, and so are records whose frames break a rule of the format or do not fit into the new file
    (see `tools.copy_target`). Seek tables are made again. Extension frames are kept, except those among
    records that are compressed again.

    As with `cat`, the records of a file without a warcinfo record follow that of another file, so readers
    take them to be described by it (WARC 1.1, clause 6.2).

    The new file has one seek table at its end. If all files have a table for each record and none for the
    file, so has the new one.

    Args:
        sources: The files: .warc.zst, .warc.gz or .warc, recognized by content; folders, and patterns. One,
            or several. A pipe is first copied to a temporary file.
        target: The new file; may be a pipe.
        verify: Decode every copied frame and check its checksum.
        existing: Whether a file that has the target's name is refused ("error") or replaced ("overwrite").
        threads: Threads that decode and compress; one per core, at most four, unless given.
        on_error: What is done with a file that cannot be opened, is empty, is not an archive, or is damaged:
            "raise"; "skip", to leave all of it out with a `FormatWarning`; or a function that is called with
            the error, to leave it out. Each file is then read to its end before anything is written.
        on_warning: Called, before anything is written, with a message for each file that will be compressed
            again.
        on_progress: Wraps each source that is read, to report progress.
        **limits: Limits of reading; see `Reader`.

    Raises:
        ValueError: There are no files.
        NotFoundError: All files were left out. No target is made.
        FormatError: A file is damaged or not a WARC file, and `on_error` is "raise". No target is made.
        TargetExistsError: The target exists.
        SourceError: A file cannot be read.
        TargetError: The target cannot be written.
    """
    sources = list(expand(sources, repeat=True))
    if not sources:
        raise ValueError("sources is empty: there are no files to join")
    for source in sources:
        if isinstance(source, str | os.PathLike):
            refuse_same_file(os.fspath(source), target)
    if isinstance(target, str | os.PathLike) and compression_of(target) != "zst":
        raise TargetError(
            "files are joined into a .warc.zst; name it so, then convert it", source=os.fspath(target)
        )
    options = ReadOptions.of(**limits)
    with (
        committed(target, existing=existing) as output,
        parts_of(sources, output.spool_directory, options, on_error, on_progress, whole=True) as parts,
    ):
        settings = settings_of(parts, on_warning, verify=verify)
        tally = Tally()
        with closing(OrderedWork(threads_for(threads))) as work:
            file = CopyTarget(output, work, settings, tally)
            for part in parts:
                with closing(part.records(settings.dictionary, on_progress, "joining")) as records:
                    for record in records:
                        file.add(record)
            file.seal()
    return Concatenation(
        files=len(parts),
        records=tally.records,
        target_size=file.size,
        tables=settings.tables,
        bytes_copied=tally.bytes_copied,
        bytes_recompressed=tally.bytes_recompressed,
        recompressed=tally.recompressed,
        verified=verify,
    )
