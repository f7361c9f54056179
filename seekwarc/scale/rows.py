"""The rows of a file: what a table says of each record, and of what cannot be read.

Plan: a record is described while iteration stands at it, for then its first frame is decoded; it becomes a
row when the next record was found, for then its length is known, and whether it is damaged. Iteration tells
what is wrong (`on_error` of the `Reader`): that is the error of the row if it lies within the record, and a
row of its own if it lies between two.

A row keeps headers as their bytes, from which `columns.py` takes the columns of many rows at a time: a header
of 1 MiB may have half a million fields, and each of them would be several Python objects.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from seekwarc.errors import FormatError, SeekWarcError, TruncatedError
from seekwarc.read.extent import Extent
from seekwarc.read.options import ReadOptions
from seekwarc.read.record import Record
from seekwarc.read.resync import SHARED
from seekwarc.read.selection import Selection
from seekwarc.read.zstd_body import ZstdBody
from seekwarc.scale.split import Split
from seekwarc.scale.splits import read_records

if TYPE_CHECKING:
    from seekwarc.format.http import HttpHead

__all__ = ["OnError", "Row", "Rows", "Wanted", "size_of"]

ROW_WEIGHT: Final = 512
"""Bytes that a row takes besides its text."""
FIELD_WEIGHT: Final = 64
"""Bytes that a field of a header takes besides its text."""
STEP: Final = 1 << 20

OnError: TypeAlias = Literal["row", "skip", "raise"]
"""What becomes of a record that cannot be read."""


class Row:
    """What a table says of a record, or of what cannot be read.

    Attributes:
        filename: The file.
        offset: Where the record, or what cannot be read, begins in it.
        length: Its stored bytes.
        header: The bytes of the record header; None if there is no record, as for the others.
        http: The HTTP head, if it is wanted.
        payload_size: Bytes of the payload, if wanted.
        payload: The payload, if wanted and not too large.
        error: What is wrong.
        problem: The same while the row is being put together.
        weight: Bytes that the row takes, about.
    """

    __slots__ = (
        "error",
        "filename",
        "header",
        "http",
        "length",
        "offset",
        "payload",
        "payload_size",
        "problem",
        "weight",
    )

    def __init__(self, filename: str, offset: int | None, header: bytes | None = None) -> None:
        self.filename = filename
        self.offset = offset
        self.length: int | None = None
        self.header = header
        self.http: HttpHead | None = None
        self.payload_size: int | None = None
        self.payload: bytes | None = None
        self.error: str | None = None
        self.problem: SeekWarcError | None = None
        self.weight = ROW_WEIGHT


class Wanted:
    """What rows have of a record besides its header and its place.

    Args:
        http: Its HTTP head.
        payload_size: Bytes of its payload. A body in chunked transfer coding is read for it, all chunks.
        payload: The payload.
        fields: Weigh each field of a header, since each will be a value.
        max_payload: Largest payload that a row has.
        decoded: Undo content codings of payloads.
    """

    def __init__(
        self, *, http: bool, payload_size: bool, payload: bool, fields: bool, max_payload: int, decoded: bool
    ) -> None:
        self._http = http
        self._payload_size = payload_size
        self._payload = payload
        self._fields = fields
        self._max_payload = max_payload
        self._decoded = decoded

    def describe(self, record: Record, filename: str) -> Row:
        """Return the row of a record, without its length."""
        row = Row(filename, record.offset, record.header.raw)
        try:
            if self._http:
                row.http = record.http
            if self._payload_size:
                row.payload_size = size_of(record)
            if self._payload:
                row.payload = self._payload_of(record)
        except SeekWarcError as error:
            row.problem = error
        row.weight += len(filename) + self._weight(row.header)
        if row.http is not None:
            row.weight += self._weight(row.http.raw)
        if row.payload is not None:
            row.weight += len(row.payload)
        return row

    def _weight(self, head: bytes | None) -> int:
        if head is None:
            return 0
        return len(head) + (FIELD_WEIGHT * head.count(b":") if self._fields else 0)

    def _payload_of(self, record: Record) -> bytes | None:
        payload = record.payload
        if self._decoded and payload.codings:
            return _decoded(payload, self._max_payload)
        if payload.known_size is None:
            payload.look_ahead(self._max_payload + 1)
        size = payload.known_size
        # Unlike `read`, this raises where the file ends inside the record.
        return payload.pread(0, size) if size is not None and size <= self._max_payload else None


def size_of(record: Record) -> int:
    """Return the bytes of a record's payload, for which a body in chunked transfer coding has to be read.

    Raises:
        FormatError: A frame that has to be read is damaged.
        SourceError: The stored bytes are unavailable.
    """
    payload = record.payload
    if payload.known_size is None and record.body.file.source.policy.max_prefetch:
        # What is read in order is prefetched. Counted alone, the chunks of each frame would take a request.
        with payload.open() as file:
            while file.read(STEP):
                pass
    return payload.size


def _decoded(payload: Extent, limit: int) -> bytes | None:
    found = bytearray()
    with payload.open(decoded=True) as file:
        while len(found) <= limit:
            data = file.read(limit + 1 - len(found))
            if not data:
                return bytes(found)
            found += data
    return None


class Rows:
    """The rows of a file, or of a part of it; iterated once.

    Args:
        part: The file, or the part of it.
        wanted: What rows have.
        selection: Which records have one.
        on_error: See `batches`.
        options: See `batches`.
    """

    def __init__(
        self, part: Split, wanted: Wanted, selection: Selection, on_error: OnError, options: ReadOptions
    ) -> None:
        self._part = part
        self._source = part.url
        self._wanted = wanted
        self._selection = selection or None
        self._on_error = on_error
        self._options = options
        self._damage: list[SeekWarcError] = []
        """What was found to be wrong since the last record."""

    def __iter__(self) -> Iterator[Row]:
        """Yield a row for each record that is wanted, and for what cannot be read.

        Raises:
            SeekWarcError: Something cannot be read, and that is to be raised.
        """
        records = self._records()
        before: Record | None = None
        row_before: Row | None = None
        while True:
            record: Record | None = None
            try:
                record = next(records, None)
            except SeekWarcError as error:
                self._damage.append(error)
            # It is described before the one before it is given away, whose frame is no longer at hand.
            row = self._described(record) if record is not None else None
            if before is not None:
                settled = self._settled(before, row_before)
                if settled is not None:
                    yield settled
            if self._damage:
                for found in self._damage:
                    if self._on_error == "raise":
                        raise found
                    if self._on_error == "row":
                        yield self._between_records(found)
                self._damage.clear()
            if record is None:
                return
            before, row_before = record, row

    def _records(self) -> Iterator[Record]:
        on_error: Literal["raise"] | Callable[[FormatError], object] = "raise"
        if self._on_error != "raise":
            on_error = self._damage.append
        return read_records(self._part, **replace(self._options, on_error=on_error))

    def _described(self, record: Record) -> Row | None:
        """Return the row of a record; None if it is not wanted."""
        try:
            if self._selection is not None and not self._selection.matches(record):
                return None
        except SeekWarcError as error:
            row = Row(self._source, record.offset)
            row.problem = error
            return row
        return self._wanted.describe(record, self._source)

    def _settled(self, record: Record, row: Row | None) -> Row | None:
        """Complete the row of a record, after the next one was looked for; None if it is left out.

        Raises:
            SeekWarcError: The record cannot be read, and that is to be raised.
        """
        if self._damage and _holds(record, self._damage[0]):
            # Reading a part of the record may have met it already.
            error = self._damage.pop(0)
            if row is None:
                row = Row(self._source, record.offset)
            row.problem = row.problem or error
        if row is None:
            return None
        if row.problem is None and record.is_cut_off:
            row.problem = TruncatedError(str(record.problem), source=self._source, offset=record.offset)
        if row.problem is not None:
            if self._on_error == "skip":
                return None
            if self._on_error == "raise":
                raise row.problem
            row.error = _text(row.problem)
            # Its traceback would hold on to what it was found in.
            row.problem = None
        elif record.skip or record.problem == SHARED:
            row.error = SHARED
        row.length = record.length if record.has_length else None
        return row

    def _between_records(self, error: SeekWarcError) -> Row:
        """Return the row of something that is wrong between records, or with the file."""
        row = Row(self._source, error.offset)
        row.error = _text(error)
        return row


def _holds(record: Record, damage: SeekWarcError) -> bool:
    """Tell whether damage that was met after a record was yielded lies within it."""
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
