"""Parts of one record's payload: where to cut it, and what a worker reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from seekwarc.errors import FormatError
from seekwarc.read.body import TableStatus
from seekwarc.read.chunked_payload import ChunkedExtent
from seekwarc.read.extent import Extent
from seekwarc.read.record import Record

__all__ = ["PayloadPart", "checked", "payload_cuts"]

SEARCH_STEP: Final = 64 << 10
MAX_SEARCH: Final = 16 << 20
"""Bytes in which a delimiter is looked for; without one in them, the payload is not cut at that place."""


class PayloadPart(Extent):
    """A part of a payload, as `seekwarc.read_split` yields it. Positions count from its first byte.

    Args:
        record: The record.
        start: Where the part begins in the payload.
        stop: Where it ends; None for the end of the payload.
        check: Is called after each read; raises an error if the file may have another version by then.

    Attributes:
        record: See above.
        start: See above.
        stop: See above; a number.

    Raises:
        FormatError: The payload is shorter, or in chunked transfer coding.

    Example:
        >>> splits = seekwarc.splits("crawl.warc.zst", inside_records=True, target_bytes=1 << 20)
        >>> split = next(split for split in splits if split.kind == "payload" and split.start)
        >>> part = next(seekwarc.read_split(split))
        >>> part.start, part.stop, part.pread(0, 4) == part.record.payload.pread(1 << 20, 4)
        (1048576, 2097152, True)
    """

    __slots__ = ("__weakref__", "_check", "record", "start", "stop")

    def __init__(
        self,
        record: Record,
        start: int,
        stop: int | None = None,
        check: Callable[[], None] | None = None,
    ) -> None:
        payload = record.payload
        if isinstance(payload, ChunkedExtent):
            raise FormatError(
                "a payload in chunked transfer coding has no parts",
                source=record.source,
                offset=record.offset,
            )
        stop = payload.size if stop is None else stop
        if not start <= stop <= payload.size:
            raise FormatError(
                f"this payload of {payload.size} bytes has no part from {start} to {stop}",
                source=record.source,
                offset=record.offset,
            )
        base = _payload_start(record)
        super().__init__(record.body, base + start, base + stop, fields=record.http or record.header)
        self.record = record
        self.start = start
        self.stop = stop
        self._check = check

    def _read(self, start: int, length: int, *, verify: bool) -> bytes:
        with checked(self._check):
            return super()._read(start, length, verify=verify)

    def _read_into(self, start: int, out: memoryview, *, verify: bool) -> int:
        with checked(self._check):
            return super()._read_into(start, out, verify=verify)


@contextmanager
def checked(check: Callable[[], None] | None) -> Iterator[None]:
    """Call `check` when reading is over, or fails: if the file was written over, that is not damage."""
    try:
        yield
    except FormatError:
        if check is not None:
            check()
        raise
    if check is not None:
        check()


def _payload_start(record: Record) -> int:
    return len(record.header.raw) + record.content_length - record.payload.size


def payload_cuts(record: Record, target: int, delimiter: bytes | None = None) -> Sequence[int] | None:
    """Find where to cut a record's payload into parts of about `target` bytes.

    Cuts are where frames begin, so that no frame is decoded for two parts; or after the next delimiter. None
    if the payload cannot be cut: it is in chunked transfer coding, or can be read from its beginning only.
    """
    payload = record.payload
    if isinstance(payload, ChunkedExtent) or record.seek_table_status is TableStatus.STREAM:
        return None
    count = max(-(-payload.size // target), 1)
    cuts = [0]
    for number in range(1, count):
        place = _aligned(record, payload.size * number // count)
        if delimiter is not None:
            place = _after_delimiter(payload, place, delimiter)
        if cuts[-1] < place < payload.size:
            cuts.append(place)
    return cuts[1:]


def _aligned(record: Record, place: int) -> int:
    """Return where the frame begins, or ends, that holds a position of the payload: what is nearer."""
    frames = record.body.frames
    if frames is None:
        return place
    base = _payload_start(record)
    frame = frames[frames.locate(base + place, base + place + 1).start]
    begin, end = frame.content_start - base, frame.content_stop - base
    return begin if place - begin <= end - place else end


def _after_delimiter(payload: Extent, place: int, delimiter: bytes) -> int:
    """Return the first position from `place` on that comes after a delimiter; 0 without one near."""
    position = max(place - len(delimiter), 0)
    end = min(position + MAX_SEARCH, payload.size)
    kept = b""
    while position < end:
        data = kept + payload.pread(position, SEARCH_STEP)
        found = data.find(delimiter)
        if found >= 0:
            return position - len(kept) + found + len(delimiter)
        position += len(data) - len(kept)
        kept = data[len(data) - len(delimiter) + 1 :] if len(delimiter) > 1 else b""
    return 0
