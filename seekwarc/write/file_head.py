"""The warcinfo record at the beginning of a file.

Source: WARC 1.1, clause 6.2 and annex C.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from typing import Final

from seekwarc.format.dates import format_date
from seekwarc.format.digest import Digest, WrittenAlgorithm
from seekwarc.format.header_fields import format_fields
from seekwarc.format.warc import RECORD_END, RecordHeader
from seekwarc.write.assembly import stored_bound
from seekwarc.write.block_reader import BlockSource
from seekwarc.write.header import HeaderDraft, new_id
from seekwarc.write.record_file import RecordFile
from seekwarc.write.written import Written

__all__ = ["FileHead"]

OWN_FIELDS: Final = ("warc-record-id", "warc-filename")
"""Header fields that belong to the warcinfo record of one file only."""


@dataclass(frozen=True, slots=True)
class FileHead:
    """A warcinfo record that each file of a series begins with.

    In each file it has another ID, date and WARC-Filename; everything else is the same.
    """

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
        """Return the maximum compressed size of the record.

        Raises:
            RuleError: The standard does not allow such a record.
            ValueError: A field is not valid in a header.
        """
        header, block = self._record(file)
        return stored_bound(len(header.raw) + len(block))

    def write(self, file: RecordFile) -> Written:
        """Write the record into a file.

        Raises:
            TargetError: The file cannot be written.
        """
        header, block = self._record(file)
        return file.assembly.add(header, BlockSource(block, len(block)), RECORD_END)

    def for_next(self) -> FileHead:
        """Return the same head without an ID or a file name that was given for one file."""
        shared = tuple(field for field in self.headers if field[0].lower() not in OWN_FIELDS)
        return replace(self, headers=shared, filename=None)

    def _record(self, file: RecordFile) -> tuple[RecordHeader, bytes]:
        """Build the record: its header and its block."""
        filename = self.filename
        if filename is None and file.is_path:
            filename = os.path.basename(file.name)
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
