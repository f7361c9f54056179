"""One file that is being written: begun with a warcinfo record, finished, kept or aborted.

Source: WARC 1.1, clause 6.2 and annex C.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from seekwarc.errors import SeekWarcError
from seekwarc.format.dates import format_date
from seekwarc.format.digest import Digest, WrittenAlgorithm
from seekwarc.format.header_fields import format_fields
from seekwarc.format.warc import RECORD_END, RecordHeader
from seekwarc.format.words import counted
from seekwarc.write.assembly import RecordAssembly, stored_bound
from seekwarc.write.block_reader import BlockSource
from seekwarc.write.file_layout import ExistingFile
from seekwarc.write.header import HeaderDraft, new_id
from seekwarc.write.opening import Target, open_output
from seekwarc.write.options import WriteOptions
from seekwarc.write.output import Output
from seekwarc.write.targets import Found
from seekwarc.write.written import Written

__all__ = ["FileHead", "FileMaker", "RecordFile"]

Assemble: TypeAlias = Callable[[Output, ExistingFile | None], RecordAssembly]
"""Makes the assembly that puts records into an output, which may hold something already."""

OWN_FIELDS: Final = ("warc-record-id", "warc-filename")
"""Header fields that belong to the warcinfo record of one file only."""


class RecordFile:
    """A file that is being written. The caller ends it by `finish`, `keep` or `abort`; each is idempotent.

    Nothing is on disk before `make`, so the caller can have it in its list of files by then.
    """

    def __init__(
        self,
        output: Output,
        assemble: Assemble,
        dictionary_frame: bytes | None = None,
        existing: ExistingFile | None = None,
    ) -> None:
        self.output = output
        self.name = output.name
        self.assembly = assemble(output, existing)
        self._dictionary_frame = dictionary_frame
        self.has_own_head = False
        """Whether it begins with a warcinfo record that the series adds, and the caller wrote none."""

    @property
    def is_head_alone(self) -> bool:
        """Whether what is in the output is at most the warcinfo record that the series adds."""
        last = self.assembly.last
        first = self.output.begin + len(self._dictionary_frame or b"")
        return self.has_own_head and (last is None or last.offset == first)

    def make(self) -> None:
        """Make the file, with the frame of its dictionary."""
        try:
            self.output.make()
            if self._dictionary_frame is not None:
                self.assembly.add_extension(self._dictionary_frame)
        except BaseException:
            self.output.abort()
            raise

    def finish(self) -> None:
        """End the file and give it its name."""
        self._end()
        self.output.commit()

    def seal(self) -> None:
        """End the file; `finish` then gives it its name."""
        self._end()
        self.output.seal()

    def _end(self) -> None:
        if not self.assembly.is_closed:
            self.assembly.end_file()
            self.assembly.close()

    def keep(self) -> str | None:
        """Finish the file with all complete records; return a message, or None if it has no record.

        If it cannot be finished, it is left unfinished with what could be written.
        """
        assembly = self.assembly
        try:
            if not assembly.is_closed:
                assembly.keep_what_fits()
            if self.is_head_alone or not assembly.has_records:
                self.abort()
                return None
            self.finish()
        except (SeekWarcError, OSError) as error:
            assembly.close()
            return f"{error}; {self.output.leave()}"
        return f"{self.name}: kept with {counted(assembly.added, 'complete record')}"

    def abort(self) -> None:
        """Leave nothing under the final name. Files that were made after this one must be aborted first."""
        self.assembly.abort()
        self.output.abort()

    def abort_committed(self) -> None:
        """Abort the file, and remove it if it has its name already."""
        self.assembly.abort()
        self.output.abort_committed()


class FileMaker:
    """Makes the files of a writer, all with the same settings."""

    def __init__(self, options: WriteOptions, assemble: Assemble, dictionary_frame: bytes | None) -> None:
        self._options = options
        self._assemble = assemble
        self._dictionary_frame = dictionary_frame

    @property
    def dictionary_size(self) -> int:
        """Bytes that the dictionary takes in each file."""
        return len(self._dictionary_frame or b"")

    def first(self, found: Found) -> RecordFile:
        """Return the first file: a new one, or the one that was found and is continued."""
        if found.continued is None:
            return self.new(found.target if found.names is None else found.names.take())
        frame = self._dictionary_frame if found.existing is None else None
        return RecordFile(found.continued, self._assemble, frame, found.existing)

    def new(self, target: Target) -> RecordFile:
        """Return a file that has yet to be made."""
        output = open_output(
            target,
            # With "number", the series found this name free a moment ago.
            existing="overwrite" if self._options.existing == "overwrite" else "error",
            kept=self._options.on_error == "keep",
        )
        return RecordFile(output, self._assemble, self._dictionary_frame)


@dataclass(frozen=True, slots=True)
class FileHead:
    """A warcinfo record that begins each file of a series, with an ID, date and WARC-Filename of its own."""

    fields: list[tuple[str, str]]
    """The fields in the block."""
    digest: WrittenAlgorithm | None
    """Algorithm of WARC-Block-Digest; None to omit it."""
    headers: tuple[tuple[str, str], ...] = ()
    """Further fields of the record header."""
    filename: str | None = None
    """WARC-Filename; the base name of the file if None."""

    def size(self, file: RecordFile) -> int:
        """Return the compressed size of a file like `file` that holds this record and nothing else."""
        header, block = self._record(file)
        return file.assembly.head_size(header.raw + block + RECORD_END)

    def bound(self, file: RecordFile) -> int:
        """Return the maximum compressed size of the record."""
        header, block = self._record(file)
        return stored_bound(len(header.raw) + len(block))

    def write(self, file: RecordFile) -> Written:
        """Write the record into a file."""
        header, block = self._record(file)
        return file.assembly.add(header, BlockSource(block, len(block)))

    def for_next(self) -> FileHead:
        """Return the same head without an ID or a file name that was given for one file."""
        shared = tuple(field for field in self.headers if field[0].lower() not in OWN_FIELDS)
        return replace(self, headers=shared, filename=None)

    def _record(self, file: RecordFile) -> tuple[RecordHeader, bytes]:
        filename = self.filename
        if filename is None:
            filename = file.output.filename
        draft = HeaderDraft(self.headers)
        draft.add("WARC-Type", "warcinfo")
        draft.add("WARC-Record-ID", new_id())
        draft.add("WARC-Date", format_date(None))
        draft.add("WARC-Filename", filename or None)
        draft.add("Content-Type", "application/warc-fields")
        draft.check()
        block = format_fields(self.fields)
        if self.digest is not None:
            digest = hashlib.new(self.digest, block).digest()
            draft.add("WARC-Block-Digest", str(Digest.of(self.digest, digest)))
        return draft.header(len(block)), block
