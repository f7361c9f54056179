"""A new .warc.zst file made of records of other files, whose frames are copied where that can be done.

What makes a record that is copied fit into its new file (spec-notes/seekable-records.md, sections 2 to 5):

- Its seek table is made anew from its frames, and so is the one at the end of the file.
- The first record of a file that ends in a table must not have its header in a frame of its own, if it has
  more frames (section 2.5). Of such a record the first two frames are made anew; all others are copied.
- A small record is one frame (section 2.2). One in several, as files with a table for each record have
  them, is compressed anew; in a file of that mode it is the other way round (section 4.2).
- What was the first record of another file stays as it is, its header in one frame with what follows:
  readers have no trouble with that, and nothing would be gained by undoing it.
"""

from __future__ import annotations

import os
from typing import BinaryIO, Final

from seekwarc.frames.encoder import MAX_FRAME_SIZE, MIN_FRAME_SIZE, OrderedWork
from seekwarc.tools.copying import CopyAssembly, CopySettings, Tally, copied_bound
from seekwarc.tools.stored import LooseRecord, StoredRecord
from seekwarc.write.assembly import stored_bound
from seekwarc.write.block_reader import BlockSource
from seekwarc.write.output import Output
from seekwarc.write.series import NewFile

__all__ = ["CopiedFile"]

IN_SEVERAL: Final = "a small record in several frames"
NOT_APART: Final = "the record header has no frame of its own"
FIRST_LARGE: Final = "the first record of a file with a table, in frames of more than 8 MiB"


class CopiedFile:
    """A file that is being made of records of other files.

    Whoever makes it calls `finish`, or `discard` where anything went wrong.

    Args:
        target: Where it goes.
        work: Threads to verify and compress in.
        settings: What it is to be like.
        tally: Counts what was copied.

    Raises:
        SourceError: The target cannot be written to.
    """

    def __init__(
        self,
        target: str | os.PathLike[str] | BinaryIO | Output,
        work: OrderedWork,
        settings: CopySettings,
        tally: Tally,
    ) -> None:
        self._file = NewFile(
            target, lambda output: CopyAssembly(output, work, settings, tally), settings.dictionary_frame
        )
        self._assembly = self._file.assembly
        self.name = self._file.name
        self._tables = settings.tables
        self._tally = tally
        self._is_settled = True

    @property
    def records(self) -> int:
        """Records in it."""
        return self._assembly.records

    @property
    def size(self) -> int:
        """Stored bytes, once it is finished."""
        return self._assembly.file_size

    def add(self, record: StoredRecord | LooseRecord, *, again: bool = False) -> None:
        """Add a record, by copying its frames if that can be done.

        Args:
            record: The record.
            again: It is in another file already, and not counted as one more.

        Raises:
            FormatError: It is damaged.
            SourceError: The file cannot be written.
        """
        self._tally.records += not again
        reason = record.reason if isinstance(record, LooseRecord) else self._misfit(record)
        # What is compressed anew may have another size than was thought.
        self._is_settled &= reason is None and self.records > 0
        if isinstance(record, StoredRecord) and reason is None:
            self._assembly.copy(record)
            return
        loose = record if isinstance(record, LooseRecord) else record.loose(reason or "")
        self._assembly.add(
            loose.header, BlockSource(loose.open_block(), loose.header.content_length), loose.trailer
        )
        self._tally.add_reason(
            loose.source,
            loose.reason,
            len(loose.header.raw) + loose.header.content_length,
            records=0 if again else 1,
        )
        if isinstance(record, StoredRecord):
            self._assembly.copy_extensions(record)

    def has_room(self, record: StoredRecord | LooseRecord, max_size: int) -> bool:
        """Tell whether the file would have at most `max_size` bytes with this record."""
        if isinstance(record, StoredRecord):
            bound = copied_bound(record)
        else:
            bound = stored_bound(len(record.header.raw) + record.header.content_length)
        if not self._is_settled or self._assembly.most_size + bound > max_size:
            # Known exactly once everything is in the file.
            self._assembly.flush()
            self._is_settled = True
        return self._assembly.most_size + bound <= max_size

    def _misfit(self, record: StoredRecord) -> str | None:
        """Tell why a record's frames do not fit into this file."""
        count, length = record.data_frames, record.header.content_length
        if self._tables == "every":
            if not length:
                return IN_SEVERAL if count > 1 else None
            return None if count > 1 and record.header_is_apart else NOT_APART
        if count == 1:
            return None
        with_block_in_one = count == 2 and record.header_is_apart and record.size <= MAX_FRAME_SIZE
        if length <= MIN_FRAME_SIZE or with_block_in_one:
            return IN_SEVERAL
        second = max(record.frames.stored[record.second], record.frames.contents[record.second])
        if not self.records and record.header_is_apart and second > MAX_FRAME_SIZE:
            return FIRST_LARGE
        return None

    def finish(self) -> None:
        """See `NewFile.finish`; where that fails, leave nothing."""
        try:
            self._file.finish()
        except BaseException:
            self.discard()
            raise

    def discard(self) -> None:
        """See `NewFile.discard`."""
        self._file.discard()
