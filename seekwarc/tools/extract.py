"""Extracting payloads of selected records into files in a folder, with a manifest that lists their origin."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

from seekwarc.closing import Closing
from seekwarc.collection.collection import Collection
from seekwarc.collection.record_index import MemoryIndex
from seekwarc.errors import (
    FormatError,
    FormatWarning,
    LimitError,
    NotFoundError,
    SeekWarcError,
    SourceError,
    TargetError,
    TargetExistsError,
)
from seekwarc.read.options import ReadLimits
from seekwarc.read.reader import Reader
from seekwarc.read.record import Record
from seekwarc.read.selection import Selection, http_media_type
from seekwarc.storage.source import RangeSource
from seekwarc.system import replace
from seekwarc.tools.names import NamesInUse, name_of
from seekwarc.tools.outcome import Failure, Job, Outcome, Status
from seekwarc.write.files import unwritable, write_all

__all__ = ["MANIFEST", "MAX_SIZE", "PAYLOAD_TYPES", "Extracted", "Extractor"]

MANIFEST: Final = "manifest.jsonl"
PAYLOAD_TYPES: Final = ("response", "resource", "revisit", "conversion")
"""Types of records whose payloads are extracted by default."""
MAX_SIZE: Final = 16 << 30
"""Maximum size of one payload. A few kilobytes may decode to more than any disk holds."""

UNFINISHED: Final = ".extract.part"
"""Name of a file that is not finished. No payload gets a name that begins with a dot."""
STEP: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Extracted:
    """The result for one record, or for bytes in which no record could be read.

    Attributes:
        file: Name of the archive.
        offset: Offset of the record, if that is known.
        target: Name of the new file in the folder; None if there is no new file.
        type: WARC-Type; None for damage between records.
        uri: Target URI.
        date: WARC-Date as in the header.
        mime: Media type of the payload.
        http_status: Status code of the HTTP head.
        size: Bytes of the new file.
        sha256: Digest of the new file, in hexadecimal.
        problem: What is wrong with a payload that was written, such as an incomplete chunked body.
        truncated: WARC-Truncated, if the record was not captured completely.
        failure: Why there is no new file.
    """

    file: str
    offset: int | None
    target: str | None = None
    type: str | None = None
    uri: str | None = None
    date: str | None = None
    mime: str | None = None
    http_status: int | None = None
    size: int | None = None
    sha256: str | None = None
    problem: str | None = None
    truncated: str | None = None
    failure: Failure | None = None

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
            "type": self.type,
            "uri": self.uri,
            "date": self.date,
            "mime": self.mime,
            "http_status": self.http_status,
            "size": self.size,
            "sha256": self.sha256,
            "problem": self.problem,
            "truncated": self.truncated,
            "error": self.failure.as_json() if self.failure is not None else None,
        }


class Extractor(Closing):
    """Writes payloads into a folder, and at the same time their list, `manifest.jsonl`.

    Payloads are copied in pieces, so large ones take no more memory than small ones. A record that fails does
    not stop the others.

    Args:
        files: Names of all files, in which the originals of revisits and the segments of records are found.
        folder: Folder of the payloads; created if it does not exist.
        selection: Selects the records; of the types `PAYLOAD_TYPES` if it names no types.
        open_file: Opens one of the files.
        decoded: Remove content codings (gzip, deflate, br, zstd).
        max_size: Maximum size of one payload in bytes.
        force: Write into a folder that is not empty, and replace files of the same names.
        limits: Limits of reading; see `Reader`.

    Raises:
        TargetExistsError: The folder is not empty.
        TargetError: The folder cannot be created or written to.

    Example:
        with Extractor(["a.warc.gz"], "images", Selection.of(mime="image/*")) as extractor:
            for name in extractor.files:
                for extracted in extractor.extract(name):
                    print(extracted.target, extracted.uri)
    """

    def __init__(
        self,
        files: Sequence[str],
        folder: str,
        selection: Selection,
        *,
        open_file: Callable[[str], RangeSource | str] = str,
        decoded: bool = True,
        max_size: int = MAX_SIZE,
        force: bool = False,
        limits: ReadLimits | None = None,
    ) -> None:
        self.files = files
        self._folder = folder
        self._selection = selection
        self._types = selection.types or frozenset(PAYLOAD_TYPES)
        self._open_file = open_file
        self._decoded = decoded
        self._max_size = max_size
        self._force = force
        self._limits = limits or {}
        self._names = NamesInUse()
        self._collection: Collection | None = None
        self._named: Extracted | None = None
        """A file that has its name, or is about to get it, and is not in the manifest yet."""
        self._opened = ExitStack()
        self._unfinished = os.path.join(folder, UNFINISHED)
        try:
            os.makedirs(folder, exist_ok=True)
            if not force and os.listdir(folder):
                raise TargetExistsError(
                    "is not empty; name a new folder, or replace files of the same names with --force",
                    source=folder,
                )
            manifest = os.path.join(folder, MANIFEST)
            # Removed, not opened for writing: they may be links to other files.
            for leftover in (manifest, self._unfinished):
                with suppress(FileNotFoundError):
                    os.unlink(leftover)
            self._manifest = self._opened.enter_context(open(manifest, "x", encoding="ascii"))  # noqa: SIM115
        except OSError as error:
            if isinstance(error, SeekWarcError):
                raise
            raise unwritable(error, folder) from error

    def close(self) -> None:
        """Close the manifest and the files that were opened to resolve revisits. Idempotent.

        If the program was interrupted just after a file got its name, its line of the manifest is written
        first.
        """
        if self._named is not None:
            self._note(self._named)
        self._opened.close()

    def extract(self, name: str) -> Iterator[Extracted | Outcome]:
        """Extract the payloads of one file.

        Yields:
            The result for each selected record and each damage; last, the outcome for the file.

        Raises:
            TargetError: Files cannot be written, as on a full disk.
        """
        written, worst = 0, 0
        failure: Failure | None = None
        for extracted in self._records(name):
            if isinstance(extracted, Failure):
                failure = extracted
                continue
            self._note(extracted)
            written += extracted.target is not None
            worst = max(worst, extracted.exit_status)
            yield extracted
        status = Status.FAILED if failure is not None else Status.PROBLEMS if worst else Status.DONE
        yield Outcome(Job(name, self._folder), status, written, failure)

    def _records(self, name: str) -> Iterator[Extracted | Failure]:
        damages: list[Extracted] = []
        has_failed = False

        def on_error(error: FormatError) -> None:
            # Damage in the block of a record was reported with the record.
            if not has_failed:
                damages.append(Extracted(name, error.offset, failure=Failure.of(error)))

        try:
            with Reader(self._open_file(name), on_error=on_error, **self._limits) as archive:
                for record in archive:
                    yield from damages
                    damages.clear()
                    extracted = self._extracted(name, record, is_pipe=archive.size is None)
                    has_failed = extracted is not None and extracted.failure is not None
                    if extracted is not None:
                        yield extracted
        except (FormatError, SourceError) as error:
            yield from damages
            yield Failure.of(error)
        else:
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
            if not self._selection.matches(record):
                return None
            logical = self._logical(record, is_pipe=is_pipe)
            head = logical.http
            known["mime"] = http_media_type(logical)
            known["http_status"] = head.status if head is not None else None
            with self._copied(logical) as (size, digest):
                default = f"{record.type}_{record.offset}"
                target = self._names.take(*name_of(logical.target_uri, known["mime"], default=default))
                problem = logical.payload.problem or record.problem
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
        in_segments = record.type != "continuation" and record.segment_number is not None
        if record.type != "revisit" and not in_segments:
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
        names = [it for it in self.files if it != "-" and ("://" in it or os.path.isfile(it))]
        index = MemoryIndex()
        collection = Collection(names, index=index, on_error="skip", **self._limits)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FormatWarning)
            for archive in collection.files:
                with suppress(FormatError, SourceError):
                    index.add_archive(archive)
        return collection

    @contextmanager
    def _copied(self, record: Record) -> Iterator[tuple[int, str]]:
        """Write the payload of a record; provide size and digest of the new file, which has no name yet."""
        payload = record.payload
        decoded = self._decoded and bool(payload.codings)
        if not decoded and (payload.known_size or 0) > self._max_size:
            raise self._too_large(record)
        size = 0
        digest = hashlib.sha256()
        buffer = memoryview(bytearray(STEP))
        try:
            with payload.open(decoded=decoded) as source, self._created(self._unfinished) as out:
                while count := source.readinto(buffer) or 0:
                    size += count
                    if size > self._max_size:
                        raise self._too_large(record)
                    digest.update(buffer[:count])
                    _write_all(out, buffer[:count])
            yield size, digest.hexdigest()
        except BaseException:
            with suppress(OSError):
                os.unlink(self._unfinished)
                self._named = None
            raise

    def _created(self, path: str) -> BinaryIO:
        try:
            return open(path, "xb")
        except OSError as error:
            raise unwritable(error, self._folder) from error

    def _give_name(self, written: Extracted) -> None:
        target = os.path.join(self._folder, written.target or "")
        if not self._force and os.path.lexists(target):
            raise TargetExistsError("exists already; --force replaces it", source=target)
        # Set before the file gets its name: a signal may come between the two lines.
        self._named = written
        replace(self._unfinished, target)

    def _note(self, extracted: Extracted) -> None:
        """Write a line of the manifest at once, so that it is complete whatever happens next."""
        try:
            self._manifest.write(json.dumps(extracted.as_json()) + "\n")
            self._named = None
            self._manifest.flush()
        except OSError as error:
            raise unwritable(error, os.path.join(self._folder, MANIFEST)) from error

    def _too_large(self, record: Record) -> LimitError:
        text = (
            f"the payload has more than {self._max_size} bytes, so it was not written; --max-size allows more"
        )
        return LimitError(text, source=record.source, offset=record.offset)


def _write_all(out: BinaryIO, data: memoryview) -> None:
    try:
        write_all(out, data)
    except OSError as error:
        raise unwritable(error, out.name) from error
