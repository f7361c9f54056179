"""Files whose records are copied into other files, and whether their frames can be."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import BinaryIO, Final, TypeVar

from seekwarc.edit.copy_source import (
    LooseRecord,
    Place,
    PlacedRecords,
    StoredRecord,
    StoredRecords,
    check_record,
    has_table_each,
    loose_records,
)
from seekwarc.edit.copy_target import CopySettings
from seekwarc.edit.stored_runs import StoredRun, stored_together
from seekwarc.errors import FormatError, TargetError
from seekwarc.format.words import counted
from seekwarc.format.zstd import SKIPPABLE_HEADER_SIZE, parse_frame_header, parse_skippable_header
from seekwarc.frames.dictionary import Dictionary
from seekwarc.frames.pieces import Compression, detect
from seekwarc.jobs.passing import OnError, readable
from seekwarc.jobs.pipes import searchable
from seekwarc.jobs.progress import Progress, no_progress
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.read.options import ReadOptions
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.opening import open_source
from seekwarc.storage.source import RangeReadable
from seekwarc.write.file_layout import TableMode
from seekwarc.write.files import Existing, refuse_existing
from seekwarc.write.forms import compression_of

__all__ = ["Part", "PartTarget", "check_targets", "opens", "parts_of", "read_whole", "settings_of"]

PartTarget = str | os.PathLike[str] | bytes | BinaryIO | RangeReadable
Target = TypeVar("Target", bound=PartTarget)

MAX_WHOLE: Final = 64 << 20
"""Stored bytes of a record that are fetched at once from far away."""
GAP: Final = 1 << 10
"""Bytes that are not wanted, and fetched from far away to save a request."""
OTHER_FORM: Final = "the file is not a .warc.zst"
OTHER_DICTIONARY: Final = "the file and the new one have different dictionaries"
A_DICTIONARY: Final = "the file has a dictionary, the new one has none"
NO_DICTIONARY: Final = "the file has no dictionary, the new one has"


@dataclass(frozen=True, slots=True)
class Part:
    """A file whose records are copied into another file."""

    target: PartTarget
    name: str
    compression: Compression
    dictionary: Dictionary | None
    has_table_each: bool | None
    """Whether each record has a seek table and the file has none; None if that cannot be told."""
    limits: ReadOptions
    """Limits of reading."""

    def problem(self, dictionary: Dictionary | None) -> str | None:
        """Return why frames cannot be copied into a file with that dictionary or none; None if they can."""
        if self.compression != "zst":
            return OTHER_FORM
        if self.dictionary == dictionary:
            return None
        if self.dictionary is None:
            return NO_DICTIONARY
        return OTHER_DICTIONARY if dictionary is not None else A_DICTIONARY

    def dictionary_frame(self) -> bytes | None:
        """Return the dictionary's frame as in the file; a new one if that lacks required fields."""
        if self.dictionary is None:
            return None
        source = open_source(self.target)
        try:
            size = parse_skippable_header(source.read(0, SKIPPABLE_HEADER_SIZE))[1]
            frame = source.read(0, SKIPPABLE_HEADER_SIZE + size)
        finally:
            if isinstance(self.target, str | os.PathLike):
                source.close()
        data = memoryview(frame)[SKIPPABLE_HEADER_SIZE:]
        if data != self.dictionary.data:
            header = parse_frame_header(data)
            if not header.has_checksum or header.content_size is None:
                return self.dictionary.frame()
        return frame

    def records(
        self, dictionary: Dictionary | None, on_progress: Progress, label: str
    ) -> Generator[StoredRecord | LooseRecord, None, None]:
        """Yield the records for a file with that dictionary, or none. The file is open until the end."""
        source = Fetcher(on_progress(open_source(self.target), label))
        with closing(ArchiveFile(source, self.limits)) as file:
            problem = self.problem(dictionary)
            if problem is None:
                yield from StoredRecords(file)
            else:
                yield from loose_records(file, problem)

    def placed(
        self,
        dictionary: Dictionary | None,
        places: Callable[[], Iterator[Place]],
        on_progress: Progress,
        on_damage: Callable[[FormatError], object] | None,
        *,
        together: bool = False,
    ) -> Generator[StoredRecord | LooseRecord | StoredRun, None, None]:
        """Yield the records at some places, in file order, for a file with that dictionary, or none.

        Args:
            dictionary: The new file's.
            places: Returns where they are.
            on_progress: Wraps the source.
            on_damage: Called with the damage of each record that is damaged, and left out. To find that in
                time, all is read twice. If None, damage is raised, at the latest when the new file is sealed.
            together: Yield small records near each other as runs.
        """
        source = Fetcher(on_progress(open_source(self.target), "copying"))
        with closing(ArchiveFile(source, self.limits)) as file:
            found, tried = (PlacedRecords(file, self.compression, self.problem(dictionary)) for _ in range(2))
            is_far, left = source.policy.is_far, places()
            if together and on_damage is None and not is_far and found.stored is not None:
                yield from stored_together(found, left)
                return
            wanted = ((it.offset, min(it.end or it.offset, it.offset + MAX_WHOLE)) for it in places())
            batches = source.in_batches(wanted, gap=GAP) if is_far else [None]
            for offset, skip, end, _ in (it for count in batches for it in islice(left, count)):
                # Near, it costs nothing to read on; far away, nothing is read that is not wanted.
                place = offset, skip, end if is_far else None
                try:
                    if on_damage is not None:
                        check_record(tried.at(*place))
                    record = found.at(*place)
                except FormatError as error:
                    if on_damage is None:
                        raise
                    on_damage(error)
                else:
                    yield record


@contextlib.contextmanager
def parts_of(
    targets: Sequence[PartTarget],
    directory: str | None,
    limits: ReadOptions,
    on_error: OnError = "raise",
    on_progress: Progress = no_progress,
    *,
    whole: bool = False,
    least: int = 1,
) -> Iterator[list[Part]]:
    """Examine files that will be read later. Each is closed again, since there may be thousands.

    Unless `on_error` is "raise", one that is not an archive is left out, and if `whole`, each is read to its
    end, and left out if it is damaged; fewer than `least` are an error then.
    """
    # One copy of a dictionary that a thousand files share.
    known: dict[bytes, Dictionary] = {}

    def examine(target: PartTarget) -> Part:
        part = _part(target, directory, limits, stack, known)
        if whole and on_error != "raise":
            read_whole(part.target, limits, on_progress)
        return part

    with ExitStack() as stack:
        yield readable(targets, examine, on_error, least=least)


def opens(target: PartTarget, limits: ReadOptions, on_error: OnError) -> bool:
    """Tell whether a file can be opened and is an archive; True if an error is to be raised later."""
    with ExitStack() as stack:
        examine = partial(_part, directory=None, limits=limits, stack=stack, known={})
        return on_error == "raise" or bool(readable([target], examine, on_error, least=0))


def read_whole(target: Target, limits: ReadOptions, on_progress: Progress) -> None:
    """Decompress all records of a file; a FormatError if one is damaged."""
    source = Fetcher(on_progress(open_source(target), "checking"))
    with closing(ArchiveFile(source, limits)) as file:
        # The copy warns of what is kept.
        file.warned = True
        is_framed = file.detect(file.window(), 0) == "zst"
        for record in StoredRecords(file) if is_framed else loose_records(file, ""):
            check_record(record)


def _part(
    target: PartTarget,
    directory: str | None,
    limits: ReadOptions,
    stack: ExitStack,
    known: dict[bytes, Dictionary],
) -> Part:
    source = open_source(target)
    if source.is_pipe:
        name = source.name
        checked = searchable(source, directory, check_head=lambda head: detect(head, name))
        source = target = stack.enter_context(checked)
    try:
        file = ArchiveFile(Fetcher(source), limits)
        compression = file.detect(file.window(), 0)
        file.refuse_arc()
        dictionary, table_each = None, None
        if compression == "zst":
            dictionary = file.decoder.dictionary
            if dictionary is not None:
                dictionary = known.setdefault(dictionary.data, dictionary)
            table_each = has_table_each(file)
        return Part(target, source.name, compression, dictionary, table_each, limits)
    finally:
        if isinstance(target, str | os.PathLike):
            source.close()


def settings_of(parts: Sequence[Part], on_warning: Callable[[str], object], *, verify: bool) -> CopySettings:
    """Return the settings of a file made of others, and warn of those that will be compressed again.

    It has the dictionary of the first, and a table for each record if all of them have that.
    """
    dictionary = parts[0].dictionary
    for part in parts:
        problem = part.problem(dictionary)
        if problem is not None:
            on_warning(f"{part.name}: {problem}: its records will be compressed again")
    kinds = {part.has_table_each if part.compression == "zst" else False for part in parts}
    tables: TableMode = "every" if True in kinds and False not in kinds else "large"
    return CopySettings(tables, dictionary, parts[0].dictionary_frame(), verify)


def check_targets(
    names: Sequence[str],
    targets: Sequence[object],
    existing: Existing,
    *,
    dry_run: bool,
    is_zst: bool = True,
) -> None:
    """Refuse new files that are unnamed, too many or few, sources themselves, or there already.

    Unless `is_zst`, they need not be .warc.zst.
    """
    if not names:
        raise ValueError("there is no file to read, or none outside the folder of the new ones")
    if len(names) != len(targets):
        raise ValueError(f"there are {counted(len(names), 'file')} and {len(targets)} names for new ones")
    if None in targets and not dry_run:
        raise ValueError("target is None: name the new file, or set dry_run")
    paths = {os.path.realpath(name) for name in names}
    for target in dict.fromkeys(targets):
        if isinstance(target, str | os.PathLike):
            if os.path.realpath(target) in paths:
                raise TargetError("is itself a file to be read", source=os.fspath(target))
            if is_zst and compression_of(target) != "zst":
                text = "the new file is a .warc.zst; name it so, then convert it"
                raise TargetError(text, source=os.fspath(target))
            if existing == "error":
                refuse_existing(target)
