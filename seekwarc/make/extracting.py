"""Extracting payloads of selected records into files in a folder, with a manifest that lists their origin."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import KW_ONLY, dataclass
from typing import Any, Final, Unpack

from seekwarc.closing import Closing
from seekwarc.collection.collection import Collection, WholeCollection
from seekwarc.collection.record_index import MemoryIndex
from seekwarc.collection.revisits import is_alone
from seekwarc.errors import (
    FormatError,
    FormatWarning,
    LimitError,
    NotFoundError,
    SeekWarcError,
    SourceError,
    TargetError,
    TargetExistsError,
    UnsupportedError,
)
from seekwarc.format.json_text import json_text
from seekwarc.jobs.outcome import Failure, Job, Outcome, Status
from seekwarc.jobs.work import writing
from seekwarc.make.names import NamesInUse, name_of
from seekwarc.read.filled import filled_record, gaps_of
from seekwarc.read.options import ReadLimits
from seekwarc.read.reader import WholeReader
from seekwarc.read.record import Record
from seekwarc.read.resync import only_shares
from seekwarc.read.selection import Conditions, Selection, http_media_type
from seekwarc.storage.expand import expand
from seekwarc.storage.source import RangeSource
from seekwarc.storage.zip_members import split_name
from seekwarc.system import replace, write_all
from seekwarc.write.files import Existing, make_folder

__all__ = ["MANIFEST", "MAX_SIZE", "PAYLOAD_TYPES", "Extracted", "Extraction", "Extractor", "extract"]

MANIFEST: Final = "manifest.jsonl"
PAYLOAD_TYPES: Final = ("response", "resource", "revisit", "conversion")
"""Types of records whose payloads are extracted by default."""
MAX_SIZE: Final = 16 << 30
"""Maximum size of one payload. A few kilobytes may decode to more than any disk holds."""

UNFINISHED: Final = ".extract.part"
"""Name of a file that is not finished. No payload gets a name that begins with a dot."""
STEP: Final = 1 << 20
STEP_TO_DAMAGE: Final = 64 << 10
"""With `partial`: of what is read in one step, nothing is kept if it meets damage."""
DESCRIBED: Final = ("type", "uri", "date", "mime", "http_status", "size", "sha256", "problem", "truncated")
"""What the list says of a record and its payload."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """The result for one record, or for bytes in which no record could be read.

    Example:
        >>> found = []
        >>> _ = seekwarc.tools.extract("crawl.warc.zst", "films", mime="video/*", on_result=found.append)
        >>> found[0].target, found[0].uri
        ('example.org_film.mp4', 'http://example.org/film.mp4')
    """

    file: str
    """Name of the archive."""
    offset: int | None
    """Offset of the record, if that is known."""
    target: str | None = None
    """Name of the new file in the folder; None if there is no new file."""
    type: str | None = None
    """WARC-Type; None for damage between records."""
    uri: str | None = None
    date: str | None = None
    """WARC-Date as in the header."""
    mime: str | None = None
    http_status: int | None = None
    size: int | None = None
    """Bytes of the new file."""
    sha256: str | None = None
    """Digest of the new file, in hexadecimal."""
    problem: str | None = None
    """What is wrong with a payload that was written, such as an incomplete chunked body."""
    truncated: str | None = None
    failure: Failure | None = None
    """Why there is no new file."""

    @property
    def status(self) -> Status:
        """Whether it was written, with or without problems."""
        if self.failure is not None:
            return Status.FAILED
        return Status.PROBLEMS if self.problem is not None else Status.DONE

    @property
    def exit_status(self) -> int:
        """Exit status of the command that results from it: 0, 1 or 2."""
        return self.failure.status if self.failure is not None else int(self.problem is not None)

    def as_json(self) -> dict[str, object]:
        """Return its line of the manifest; see spec-notes/json.md."""
        return {
            "file": self.file,
            "offset": self.offset,
            "target": self.target,
            "status": self.status,
            **{name: getattr(self, name) for name in DESCRIBED},
            "error": self.failure.as_json() if self.failure is not None else None,
        }


@dataclass(eq=False)
class Extractor(Closing):
    """Writes payloads into a folder, and at the same time their list, `manifest.jsonl`.

    A record that fails does not stop the others; with `partial`, what is intact of it is written. The
    originals of revisits and the segments of records are found in all `files`.
    """

    files: Sequence[str]
    folder: str
    selection: Selection
    _: KW_ONLY
    open_file: Callable[[str], RangeSource | str] = str
    decoded: bool = True
    max_size: int = MAX_SIZE
    force: bool = False
    partial: bool = False
    limits: ReadLimits | None = None

    def __post_init__(self) -> None:
        self._types = self.selection.types or frozenset(PAYLOAD_TYPES)
        self._names = NamesInUse()
        self._collection: Collection | None = None
        self._named: Extracted | None = None
        """A file that has its name, or is about to get it, and is not in the manifest yet."""
        self._opened = ExitStack()
        self._unfinished = os.path.join(self.folder, UNFINISHED)
        make_folder(self.folder)
        with writing(self.folder):
            if not self.force and os.listdir(self.folder):
                raise TargetExistsError(
                    "is not empty; name a new folder, or replace files of the same names with --force",
                    source=self.folder,
                )
            manifest = os.path.join(self.folder, MANIFEST)
            # Removed, not opened for writing: they may be links to other files.
            for leftover in (manifest, self._unfinished):
                with suppress(FileNotFoundError):
                    os.unlink(leftover)
            self._manifest = self._opened.enter_context(open(manifest, "x", encoding="ascii"))  # noqa: SIM115

    def close(self) -> None:
        """Close everything; a file that just got its name gets its line of the manifest first. Idempotent."""
        if self._named is not None:
            self._note(self._named)
        self._opened.close()

    def extract(self, name: str) -> Iterator[Extracted | Outcome]:
        """Extract the payloads of one file.

        Yields:
            The result for each selected record and each damage; last, the outcome for the file.
        """
        written, worst = 0, 0
        failure: Failure | None = None
        try:
            for extracted in self._records(name):
                self._note(extracted)
                written += extracted.target is not None
                worst = max(worst, extracted.exit_status)
                yield extracted
        except (FormatError, SourceError) as error:
            failure = Failure.of(error)
        status = Status.FAILED if failure is not None else Status.PROBLEMS if worst else Status.DONE
        yield Outcome(Job(name, self.folder), status, written, failure)

    def _records(self, name: str) -> Iterator[Extracted]:
        damages: list[Extracted] = []
        has_failed = False

        def on_error(error: FormatError) -> None:
            # Damage in the block of a record was reported with the record.
            if not has_failed:
                damages.append(Extracted(name, error.offset, failure=Failure.of(error)))

        try:
            with WholeReader(self.open_file(name), on_error=on_error, **(self.limits or {})) as archive:
                for record in archive:
                    yield from damages
                    damages.clear()
                    extracted = self._extracted(name, record, is_pipe=archive.size is None)
                    has_failed = extracted is not None and (
                        extracted.failure is not None or (self.partial and extracted.problem is not None)
                    )
                    if extracted is not None:
                        yield extracted
        except (FormatError, SourceError):
            yield from damages
            raise
        yield from damages

    def _extracted(self, name: str, record: Record, *, is_pipe: bool) -> Extracted | None:
        """Extract the payload of a record; return None if it is not selected."""
        if (record.type or "").lower() not in self._types:
            return None
        known: dict[str, Any] = {
            "type": record.type,
            "uri": record.target_uri,
            "date": record.header.get("WARC-Date"),
            "truncated": record.truncated,
        }
        try:
            if not self.selection.matches(record):
                return None
            logical = self._logical(record, is_pipe=is_pipe)
            head = logical.http
            known["mime"] = http_media_type(logical)
            known["http_status"] = head.status if head is not None else None
            with self._copied(logical) as (size, digest, damage):
                default = f"{record.type}_{record.offset}"
                target = self._names.take(*name_of(logical.target_uri, known["mime"], default=default))
                problem = damage or logical.payload.problem
                if problem is None and not only_shares(logical.problem):
                    problem = logical.problem
                written = Extracted(
                    name, record.offset, target, **known, size=size, sha256=digest, problem=problem
                )
                self._give_name(written)
        except TargetError:
            raise
        except (SeekWarcError, OSError, ValueError) as error:
            return Extracted(name, record.offset, **known, failure=Failure.of(error))
        return written

    def _logical(self, record: Record, *, is_pipe: bool) -> Record:
        """Return a segmented record as a whole, or a revisit with the payload that it refers to."""
        if is_alone(record) or record.type == "continuation":
            return record
        if is_pipe:
            raise NotFoundError(
                "a pipe cannot be searched for other records; store it in a file", source=record.source
            )
        if self._collection is None:
            self._collection = self._opened.enter_context(self._indexed())
        return self._collection.open_record(record)

    def _indexed(self) -> Collection:
        """Open all files together, and index their records. Damage is reported elsewhere."""
        named = [it for it in self.files if it != "-"]
        names = [it for it in named if "://" in it or split_name(it) or os.path.isfile(it)]
        index = MemoryIndex()
        collection = WholeCollection(names, index=index, on_error="skip", **(self.limits or {}))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FormatWarning)
            for archive in collection.files:
                with suppress(FormatError, SourceError):
                    index.add_archive(archive)
        return collection

    @contextmanager
    def _copied(self, record: Record) -> Iterator[tuple[int, str, str | None]]:
        """Write the payload of a record; provide size, digest and damage of the new file without a name."""
        try:
            size, digest, error = self._copy(record)
            if error is not None and self.partial and (filled := filled_record(record)) is not record:
                os.unlink(self._unfinished)
                record = filled
                size, digest, error = self._copy(record)
            if error is not None and not (self.partial and size):
                raise error
            damage = gaps_of(record) if error is None else f"only the beginning is here: {error.message}"
            yield size, digest, damage
        except BaseException:
            with suppress(OSError):
                os.unlink(self._unfinished)
                self._named = None
            raise

    def _copy(self, record: Record) -> tuple[int, str, FormatError | None]:
        """Write a payload up to its end or to damage; return its size, digest and the damage."""
        size = 0
        digest = hashlib.sha256()
        with writing(self.folder):
            out = open(self._unfinished, "xb")  # noqa: SIM115
        buffer = memoryview(bytearray(STEP_TO_DAMAGE if self.partial else STEP))
        with out:
            try:
                payload = record.payload
                decoded = self.decoded and bool(payload.codings)
                if not decoded and (payload.known_size or 0) > self.max_size:
                    raise self._too_large(record)
                opened = payload.open_decoded(limit=self.max_size + 1) if decoded else payload.open()
                with opened as source:
                    while count := source.readinto(buffer) or 0:
                        size += count
                        if size > self.max_size:
                            raise self._too_large(record)
                        digest.update(buffer[:count])
                        with writing(self._unfinished):
                            write_all(out, buffer[:count])
            except (LimitError, UnsupportedError):
                raise
            except FormatError as error:
                return size, digest.hexdigest(), error
        return size, digest.hexdigest(), None

    def _give_name(self, written: Extracted) -> None:
        target = os.path.join(self.folder, written.target or "")
        if not self.force and os.path.lexists(target):
            raise TargetExistsError("exists already; --force replaces it", source=target)
        # Set before the file gets its name: a signal may come between the two lines.
        self._named = written
        replace(self._unfinished, target)

    def _note(self, extracted: Extracted) -> None:
        """Write a line of the manifest at once, so that it is complete whatever happens next."""
        with writing(os.path.join(self.folder, MANIFEST)):
            self._manifest.write(json_text(extracted.as_json()) + "\n")
            self._named = None
            self._manifest.flush()

    def _too_large(self, record: Record) -> LimitError:
        text = (
            f"the payload has more than {self.max_size} bytes, so it was not written; --max-size allows more"
        )
        return LimitError(text, source=record.source, offset=record.offset)


@dataclass(slots=True)
class Extraction:
    """The result of extracting payloads.

    Example:
        >>> done = seekwarc.tools.extract("crawl.warc.zst", "films", mime="video/*")
        >>> done.written, done.failed, done.size > 1_000_000
        (1, 0, True)
    """

    written: int = 0
    """Number of new files."""
    failed: int = 0
    """Number of payloads and files that could not be read, and of places with damage."""
    size: int = 0
    """Bytes of all new files."""
    exit_status: int = 0
    """Exit status of the command that results from it: 0, 1 or 2."""


def extract(
    files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    folder: str | os.PathLike[str],
    *,
    decoded: bool = True,
    max_size: int = MAX_SIZE,
    partial: bool = False,
    existing: Existing = "error",
    on_result: Callable[[Extracted | Outcome], object] = lambda _: None,
    open_file: Callable[[str], RangeSource | str] = str,
    limits: ReadLimits | None = None,
    **conditions: Unpack[Conditions],
) -> Extraction:
    """Write the payloads of records into a folder, one file each, with a list of them, `manifest.jsonl`.

        tools.extract("crawl.warc.zst", "films", mime="video/*", min_size=1_000_000)

    Payloads are copied in pieces, so large ones take no more memory than small ones. A revisit gets the
    payload that it refers to, and a segmented record all of its segments, if `files` hold them. A record that
    is damaged does not stop the others: it is counted, and listed in the manifest.

    Args:
        files: Paths, URLs, folders and patterns; one, or several.
        folder: Folder for the new files, which is made. They are named after the target URIs.
        decoded: Undo content codings such as gzip. Otherwise payloads are written as they were sent.
        max_size: Maximum size of a payload, in bytes. A larger one is refused.
        partial: Write what is intact of a damaged payload: with zero bytes in place of damaged frames, or its
            beginning. The manifest says so.
        existing: Whether a folder that is not empty is refused ("error"), or written into, where files of the
            same names are replaced ("overwrite").
        on_result: Called with an `Extracted` for each record, and last of each file with its outcome.
        open_file: Opens a file by its name.
        limits: Limits of reading; see `Reader`.
        **conditions: Which records; see `Conditions`. Without a type, responses, resources, revisits and
            conversions.

    Raises:
        TargetExistsError: The folder is not empty.
        TargetError: A file cannot be written.
        SourceError: A folder or pattern names no file.
        ValueError: A condition is invalid.
    """
    names = list(expand(files, leave_out=os.fspath(folder)))
    done = Extraction()
    with Extractor(
        names,
        os.fspath(folder),
        Selection.named(**conditions),
        open_file=open_file,
        decoded=decoded,
        max_size=max_size,
        partial=partial,
        force=existing == "overwrite",
        limits=limits,
    ) as extractor:
        for name in names:
            for result in extractor.extract(name):
                done.exit_status = max(done.exit_status, result.exit_status)
                done.failed += result.failure is not None
                if isinstance(result, Extracted):
                    done.written += result.target is not None
                    done.size += result.size or 0
                on_result(result)
    return done
