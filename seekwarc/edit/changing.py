"""What is written instead of a record, and where records are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias, cast

from seekwarc.collection.entry import Entry
from seekwarc.edit.copy_source import LooseRecord
from seekwarc.format.warc import RECORD_END, RecordHeader
from seekwarc.read.extent import Extent
from seekwarc.read.record import Record
from seekwarc.write.block_reader import ReadableStream, as_stream
from seekwarc.write.dedup import Original
from seekwarc.write.header import HeaderDraft, bracketed

__all__ = ["OF_REVISITS", "REPOINTED", "Change", "Place", "place_of", "repointed"]

STEP: Final = 1 << 20
REPOINTED: Final = "revisits that refer to another record now"
OF_REVISITS: Final = (
    "WARC-Profile",
    "WARC-Refers-To",
    "WARC-Refers-To-Target-URI",
    "WARC-Refers-To-Date",
    "WARC-Refers-To-Container",
)

Place: TypeAlias = tuple[str, int, int]
"""File, offset, and bytes of other records before it in its gzip member."""


def place_of(entry: Entry) -> Place:
    """Return where a record is."""
    return entry.filename, entry.offset, entry.skip


class Change(NamedTuple):
    """What is written instead of a record."""

    kind: str
    """Under which it is counted, such as `REVISIT`."""
    size: int
    """Size of the record that it replaces, decompressed."""
    header: RecordHeader
    block: tuple[bytes | Extent, ...]
    """Its parts, one after the other."""

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes of the block."""
        for part in self.block:
            if isinstance(part, bytes):
                yield part
            else:
                yield from (part.pread(start, STEP) for start in range(0, part.size, STEP))

    def record(self, filename: str) -> LooseRecord:
        """Return what is written instead of a record of a file."""
        pieces = cast("ReadableStream", as_stream(self.pieces()))
        return LooseRecord(filename, self.header, lambda: pieces, lambda: RECORD_END, self.kind)


def repointed(record: Record, original: Original, container: str | None = None) -> Change:
    """Return a revisit that refers to another original."""
    draft = HeaderDraft(record.header).without(*OF_REVISITS[1:])
    draft.add("WARC-Refers-To", bracketed(original.id))
    draft.add("WARC-Refers-To-Target-URI", original.target_uri)
    draft.add("WARC-Refers-To-Date", original.date)
    draft.add("WARC-Refers-To-Container", container)
    draft.check()
    return Change(REPOINTED, record.size, draft.header(record.content_length), (record.block,))
