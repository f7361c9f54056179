"""The rows of a file: what a table says of each record, and of what cannot be read.

Plan: a record is described while it is the current one, since its first frame is then decoded; it becomes a
row when the next record was found, since its length, and whether it is damaged, are then known. Iteration
says what is wrong (`on_error` of the `Reader`): that is the error of the row if it lies within the record,
and a row of its own if it lies between two.

A row keeps headers as their bytes, from which `columns.py` takes the columns of many rows at a time: a header
of 1 MiB may have half a million fields, and each of them would be several Python objects.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from seekwarc.errors import FormatError, SeekWarcError, TruncatedError
from seekwarc.format.arc import ArcHeader
from seekwarc.read.extent import Extent
from seekwarc.read.options import SidecarOptions
from seekwarc.read.record import Record
from seekwarc.read.resync import SHARED, is_shared
from seekwarc.read.selection import Selection
from seekwarc.read.zstd_body import ZstdBody
from seekwarc.scale.split import Split
from seekwarc.scale.splits import read_records

if TYPE_CHECKING:
    from seekwarc.format.http import HttpHead
    from seekwarc.inside.text import PageText

__all__ = ["OnError", "Row", "Rows", "Wanted", "size_of"]

ROW_WEIGHT: Final = 512
"""Bytes that a row takes besides its text."""
FIELD_WEIGHT: Final = 64
"""Bytes that a field of a header takes besides its text."""
STEP: Final = 1 << 20

OnError: TypeAlias = Literal["row", "skip", "raise"]
"""What becomes of a record that cannot be read."""


@dataclass(slots=True, eq=False)
class Row:
    """What a table says of a record, or of what cannot be read."""

    filename: str
    offset: int | None
    """Where the record, or what cannot be read, begins in the file."""
    header: bytes | None = None
    """The bytes of the record header; None if there is no record."""
    length: int | None = None
    """Stored bytes of the record."""
    http: HttpHead | None = None
    payload_size: int | None = None
    payload: bytes | None = None
    text: PageText | None = None
    error: str | None = None
    """What is wrong."""
    problem: SeekWarcError | None = None
    """The same while the row is being put together."""
    weight: int = ROW_WEIGHT
    """Bytes that the row takes, about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What rows have of a record besides its header and its place."""

    http: bool
    payload_size: bool
    """A body in chunked transfer coding is read for it, all chunks."""
    payload: bool
    text: bool
    """Make the text of a page, as of all of it or of its main content."""
    text_only: bool
    """Find neither title nor language of a page."""
    fields: bool
    """Weigh each field of a header, since each will be a value."""
    max_payload: int
    decoded: bool
    main: bool

    def describe(self, record: Record, filename: str) -> Row:
        """Return the row of a record, without its length."""
        # The fields of an ARC record have their names in WARC, as `Record` has them.
        header = record.header.warc if isinstance(record.header, ArcHeader) else record.header
        row = Row(filename, record.offset, header.raw)
        try:
            if self.http:
                row.http = record.http
            if self.payload_size:
                row.payload_size = size_of(record)
            if self.payload:
                row.payload = self._payload_of(record)
            if self.text:
                row.text = record.payload.text(main=self.main, text_only=self.text_only)
        except SeekWarcError as error:
            row.problem = error
        row.weight += len(filename) + self._weight(header.raw)
        if row.http is not None:
            row.weight += self._weight(row.http.raw)
        if row.payload is not None:
            row.weight += len(row.payload)
        if row.text is not None:
            # A character takes up to four bytes, and so does what is made of it.
            row.weight += row.text.text.__sizeof__()
        return row

    def _weight(self, head: bytes) -> int:
        return len(head) + (FIELD_WEIGHT * head.count(b":") if self.fields else 0)

    def _payload_of(self, record: Record) -> bytes | None:
        payload = record.payload
        if self.decoded and payload.codings:
            return _decoded(payload, self.max_payload)
        if payload.known_size is None:
            payload.look_ahead(self.max_payload + 1)
        size = payload.known_size
        # Unlike `read`, this raises where the file ends inside the record.
        return payload.pread(0, size) if size is not None and size <= self.max_payload else None


def size_of(record: Record) -> int:
    """Return the bytes of a record's payload, for which a body in chunked transfer coding has to be read."""
    payload = record.payload
    if payload.known_size is None and record.body.file.source.policy.max_prefetch:
        # Reads in order are prefetched. Counted alone, the chunks of each frame would take a request.
        with payload.open() as file:
            while file.read(STEP):
                pass
    return payload.size


def _decoded(payload: Extent, limit: int) -> bytes | None:
    found = bytearray()
    with payload.open_decoded(limit=limit + 1) as file:
        while len(found) <= limit:
            data = file.read(limit + 1 - len(found))
            if not data:
                return bytes(found)
            found += data
    return None


@dataclass(frozen=True, slots=True)
class Rows:
    """Which rows files have, and what is in them."""

    wanted: Wanted
    selection: Selection | None
    on_error: OnError
    options: SidecarOptions

    def of(self, part: Split) -> Iterator[Row]:
        """Yield a row for each record of a part that is wanted, and for what cannot be read."""
        # Problems found since the last record.
        damage: list[SeekWarcError] = []
        on_error: Literal["raise"] | Callable[[FormatError], object] = damage.append
        if self.on_error == "raise":
            on_error = "raise"
        records = read_records(part, **self.options.but(on_error=on_error))
        before: Record | None = None
        row_before: Row | None = None
        while True:
            record: Record | None = None
            try:
                record = next(records, None)
            except SeekWarcError as error:
                damage.append(error)
            # It is described while its first frame is decoded, before the row of the previous one is yielded.
            row = self._described(record, part.filename) if record is not None else None
            if before is not None:
                if damage and _holds(before, damage[0]):
                    # Reading a part of the record may have found it already.
                    row_before = row_before or Row(part.filename, before.offset)
                    row_before.problem = row_before.problem or damage[0]
                    del damage[0]
                if row_before is not None and self._settle(row_before, before):
                    yield row_before
            yield from self._between_records(damage, part.filename)
            damage.clear()
            if record is None:
                return
            before, row_before = record, row

    def _between_records(self, damage: Sequence[SeekWarcError], filename: str) -> Iterator[Row]:
        for found in damage:
            if self.on_error == "raise":
                raise found
            if self.on_error == "row":
                yield Row(filename, found.offset, error=_text(found))

    def _described(self, record: Record, filename: str) -> Row | None:
        try:
            if self.selection is not None and not self.selection.matches(record):
                return None
        except SeekWarcError as error:
            return Row(filename, record.offset, problem=error)
        return self.wanted.describe(record, filename)

    def _settle(self, row: Row, record: Record) -> bool:
        """Complete the row of a record, after the next one was looked for; False if it is left out."""
        if row.problem is None and record.is_cut_off:
            row.problem = TruncatedError(str(record.problem), source=row.filename, offset=record.offset)
        if row.problem is not None:
            if self.on_error == "skip":
                return False
            if self.on_error == "raise":
                raise row.problem
            row.error = _text(row.problem)
            # Its traceback would hold on to what it was found in.
            row.problem = None
        elif is_shared(record):
            row.error = SHARED
        row.length = record.length if record.has_length else None
        return True


def _holds(record: Record, damage: SeekWarcError) -> bool:
    """Tell whether damage that was found after a record was yielded lies within it."""
    if record.has_length:
        return False
    if damage.offset is not None and isinstance(record.body, ZstdBody):
        with contextlib.suppress(SeekWarcError):
            end = record.body.data_end
            if end is not None and end <= damage.offset:
                record.note_length(end - record.offset)
                return False
    return True


def _text(error: SeekWarcError) -> str:
    return f"{type(error).__name__}: {error.message}"
