"""What a test vector is: a file of records and other frames, and what a reader has to make of it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Final, Literal

from vector_frames import DICTIONARY_ID, Frame, table_of, zstandard_frame
from vectors_requirements import requirements_of

RECORD_END: Final = b"\r\n\r\n"
FRAME_SIZE: Final = 64 * 1024
LEAD: Final = 4096
RUN: Final = 1021
"""Length of the runs that large blocks consist of: a prime, so that no two frames are equal."""
HTTP_HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"

Mode = Literal["large", "every", "none"]


def runs(size: int, run: int = RUN) -> bytes:
    """Return content of which every `run` bytes are the same printable character."""
    letters = range(0x21, 0x7F)
    count = size // run + 1
    return b"".join(bytes([letters[number % len(letters)]]) * run for number in range(count))[:size]


def record_header(kind: str, number: int, length: int, *fields: str) -> bytes:
    """Write a WARC record header."""
    lines = [
        "WARC/1.1",
        f"WARC-Type: {kind}",
        f"WARC-Record-ID: <urn:example:{number}>",
        "WARC-Date: 2026-11-21T00:00:00Z",
        *fields,
        f"Content-Length: {length}",
    ]
    return "\r\n".join(lines).encode() + RECORD_END


@dataclass(frozen=True, slots=True)
class Asked:
    """A range of a block, asked for with another offset or length than the record's."""

    start: int
    end: int
    length: int | None = None
    """None if none is given."""
    before: int = 0
    """Bytes from the offset that is given to the record's."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record: its frames and all that belongs to its length, and what a reader gets."""

    kind: str
    header: bytes
    block: bytes
    frames: tuple[Frame, ...]
    table: Frame | None = None
    """The table that a reader uses."""
    seekable: bool = True
    """A reader can seek in it, by its table or by scanning."""
    intact: int | None = None
    """Bytes of the block before the first that is missing or damaged; None: all are there."""
    shared: Frame | None = None
    """The frame that it shares with the record before, if it has no frame of its own."""
    asked: tuple[tuple[int, int], ...] | None = None
    """The ranges in the manifest; None for some in each frame."""
    trailer: bytes = RECORD_END
    asked_at: tuple[Asked, ...] = ()
    is_cut: bool = False
    """The file ends inside its last frame; what that holds before the cut may be delivered."""
    missing: int = 0
    """Bytes at its end that no frame holds."""

    @property
    def content(self) -> bytes:
        """The record as in an uncompressed WARC file."""
        content = self.header + self.block + self.trailer
        return content[: len(content) - self.missing]

    def with_table(self, table: Frame, *, used: bool = True) -> Record:
        """Return the record with another table in place of its own."""
        frames = tuple(frame for frame in self.frames if frame is not self.table)
        return replace(self, frames=(*frames, table), table=table if used else None)

    def without_table(self) -> Record:
        """Return the record without its table."""
        return replace(self, frames=tuple(f for f in self.frames if f is not self.table), table=None)

    @property
    def data_frames(self) -> tuple[Frame, ...]:
        """The frames up to the last that has content of the record."""
        last = max((number for number, frame in enumerate(self.frames) if frame.content), default=-1)
        return self.frames[: last + 1]

    def ranges(self) -> Iterator[tuple[int, int, list[int]]]:
        """Yield ranges of the block, and the numbers of the frames that hold them."""
        block = self.block if self.intact is None else self.block[: self.intact]
        if not block:
            return
        spans = []
        start = -len(self.header)
        for number, frame in enumerate(self.data_frames):
            end = start + len(frame.content)
            if max(start, 0) < min(end, len(block)):
                spans.append((max(start, 0), min(end, len(block)), number))
            start = end
        wanted = _in_each_frame(spans, block) if self.asked is None else self.asked
        for first, last in sorted(wanted):
            numbers = [number for begin, end, number in spans if begin < last and first < end]
            yield first, last, numbers if self.seekable else []


def _in_each_frame(spans: list[tuple[int, int, int]], block: bytes) -> set[tuple[int, int]]:
    """Return a range at the middle of each frame, where two runs meet, one across each cut, and both ends."""
    wanted = {(0, min(10, len(block))), (max(0, len(block) - 7), len(block))}
    for first, last, _ in spans:
        middle = (first + last) // 2
        edge = next((at for at in range(middle, last) if block[at - 1] != block[at]), middle)
        wanted.add((max(first, edge - 10), min(last, edge + 10)))
        wanted.add((max(0, last - 5), min(last + 5, len(block))))
    return wanted


@dataclass(frozen=True, slots=True)
class Vector:
    """One file."""

    name: str
    title: str
    items: tuple[Record | Frame, ...]
    """Records, and frames that belong to the length of none."""
    _: KW_ONLY
    writes: Mode
    """The class of writers that the file is judged by."""
    sections: str
    """Of the specification, separated by blanks."""
    breaks: str = ""
    """Numbers of the requirements that it breaks, separated by blanks."""
    readable: Literal["all", "some", "none"] = "all"

    @property
    def frames(self) -> tuple[Frame, ...]:
        """All frames of the file."""
        return tuple(
            frame for item in self.items for frame in ((item,) if isinstance(item, Frame) else item.frames)
        )

    @property
    def data(self) -> bytes:
        """All bytes of the file."""
        return b"".join(frame.data for frame in self.frames)

    @property
    def file(self) -> str:
        """The name of the file."""
        return f"{self.name}.warc.zst"

    def manifest(self) -> dict[str, Any]:
        """Return what the manifest says of it."""
        return {
            "file": self.file,
            "size": len(self.data),
            "sha256": sha256(self.data),
            "title": self.title,
            "sections": self.sections.split(),
            "valid": not self.breaks,
            "mode": None if self.breaks else self.writes,
            "writes": self.writes,
            "breaks": self.breaks.split(),
            "requirements": requirements_of(self.name, self.breaks),
            "readable": self.readable,
            "records": self._records() if self.readable != "none" else [],
        }

    def ranges(self) -> Iterator[bytes]:
        """Yield the bytes of each range that the manifest lists."""
        for item in self.items if self.readable != "none" else ():
            if isinstance(item, Record):
                block = item.block[: item.intact]
                yield from (block[start:end] for start, end, _ in item.ranges())
                yield from (block[it.start : it.end] for it in item.asked_at)

    def _records(self) -> list[dict[str, Any]]:
        found = []
        offset = 0
        for item in self.items:
            frames = (item,) if isinstance(item, Frame) else item.frames
            size = sum(len(frame.data) for frame in frames)
            if isinstance(item, Record) and item.shared:
                length = len(item.shared.data)
                found.append(_described(item, offset - length, length))
            elif isinstance(item, Record):
                found.append(_described(item, offset, size))
            offset += size
        return found


def _described(record: Record, offset: int, length: int) -> dict[str, Any]:
    """Return what the manifest says of a record."""
    block = record.block if record.intact is None else record.block[: record.intact]
    if record.is_cut:
        length -= len(record.frames[-1].data)
    table = None
    at = offset
    for frame in record.frames:
        if frame is record.table:
            count = int.from_bytes(frame.data[-9:-5], "little")
            table = {
                "offset": at,
                "size": len(frame.data),
                "frames": count,
                "checksums": frame.data[-5] >= 0x80,
            }
        at += len(frame.data)
    return {
        "offset": offset,
        "length": length,
        "type": record.kind,
        "size": len(block),
        "sha256": sha256(block),
        "complete": record.intact is None,
        "table": table,
        "ranges": [*_ranges(record, block, offset)],
    }


def _ranges(record: Record, block: bytes, offset: int) -> Iterator[dict[str, Any]]:
    """Yield what the manifest says of the ranges of a record, of whose block so much is intact."""
    for start, end, numbers in record.ranges():
        yield {"start": start, "end": end, "sha256": sha256(block[start:end]), "frames": numbers}
    for it in record.asked_at:
        known = {"start": it.start, "end": it.end, "sha256": sha256(block[it.start : it.end])}
        yield known | {"offset": offset - it.before, "length": it.length}
    if len(block) < len(record.block):
        start = len(record.block) - 10 if record.is_cut else len(block)
        yield {"start": start, "end": min(start + 10, len(record.block)), "sha256": None}


def contents_of(ranges: Iterable[bytes]) -> dict[str, str]:
    """Return what a manifest has in `contents`: bytes of ranges in Base64, by their SHA-256."""
    return dict(sorted((sha256(it), base64.b64encode(it).decode()) for it in ranges))


def sha256(data: bytes) -> str:
    """Return a digest in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """How the frames of a record are made."""

    dictionary: bool = False
    named: int = DICTIONARY_ID
    copies: bool = True
    """The frames take bytes from the dictionary where they can."""
    size: bool = True
    checked: bool = True
    checksums: bool = True
    """The record's table has checksums."""

    def frame(self, content: bytes, name: str, what: str) -> Frame:
        """Make a Zstandard frame."""
        sum_of = b"" if self.checked else None
        return zstandard_frame(
            content,
            name,
            what,
            dictionary=self.dictionary,
            named=self.named,
            copies=self.copies,
            size=self.size,
            sum_of=sum_of,
        )

    def frames(self, letter: str, pieces: list[tuple[bytes, str]]) -> tuple[Frame, ...]:
        """Make the frames of a record."""
        return tuple(
            self.frame(content, f"{letter}.F{number}", what) for number, (content, what) in enumerate(pieces)
        )


USUAL: Final = Making()
OF_FIELDS: Final = ("Content-Type: application/warc-fields",)
"""The header field of small records that have a block."""


def letter_of(number: int) -> str:
    """Return the letter by which the listing calls a record."""
    return chr(ord("A") + number - 1)


def with_own_table(record: Record, making: Making = USUAL) -> Record:
    """Return a record with the table of its frames."""
    table = table_of(f"{record.frames[0].name[0]}.T", record.frames, checksums=making.checksums)
    return replace(record, frames=(*record.frames, table), table=table)


def small_record(
    number: int,
    block: bytes = b"",
    *,
    kind: str = "metadata",
    making: Making = USUAL,
) -> Record:
    """Return a record in one frame."""
    header = record_header(kind, number, len(block), *(OF_FIELDS if block else ()))
    frames = making.frames(letter_of(number), [(header + block + RECORD_END, "the whole record")])
    return Record(kind, header, block, frames)


def every_record(
    number: int,
    block: bytes = b"",
    *,
    kind: str = "metadata",
    making: Making = USUAL,
    trailer: bytes = RECORD_END,
) -> Record:
    """Return a small record as mode "every" has it."""
    header = record_header(kind, number, len(block), *(OF_FIELDS if block else ()))
    pieces = [(header, "the record header"), (block + trailer, "block and trailer")]
    if not block:
        pieces = [(header + trailer, "the record header and trailer")]
    record = Record(kind, header, block, making.frames(letter_of(number), pieces), trailer=trailer)
    return with_own_table(record, making)


def large_record(
    number: int,
    body: bytes,
    *,
    head: bytes = b"",
    first: bool = False,
    kind: str = "",
    fields: tuple[str, ...] = (),
    making: Making = USUAL,
    frame_size: int = FRAME_SIZE,
    trailer: bytes = RECORD_END,
) -> Record:
    """Return a large record with its table.

    Args:
        number: Its number in the file, from 1 on.
        body: The block after the HTTP head.
        head: The HTTP head, for a response.
        first: It is the first of its file, so F0 holds more than the header (A.2).
        kind: WARC-Type; by default as `head` suggests.
        fields: Further header fields.
        making: How its frames are made.
        frame_size: Where the body is cut.
        trailer: What follows the block.
    """
    kind = kind or ("response" if head else "resource")
    of_type = "application/http; msgtype=response" if head else "text/plain"
    uri = "WARC-Target-URI: http://a.example/"
    header = record_header(kind, number, len(head + body), uri, f"Content-Type: {of_type}", *fields)
    pieces = [(header, "the record header alone")]
    if head and first:
        pieces = [(header + head, "the record header and the HTTP head")]
    elif head:
        pieces.append((head, "the HTTP head"))
    elif first:
        pieces = [(header + body[:LEAD], f"the record header and {LEAD} bytes of the block")]
    lead = LEAD if first and not head else 0
    for start in range(0, len(body), frame_size):
        begin, end = max(start, lead), min(start + frame_size, len(body))
        what = f"body bytes {begin} to {end}"
        last = end == len(body)
        pieces.append(
            (body[begin:end] + (trailer if last else b""), what + (" and the trailer" if last else ""))
        )
    record = Record(kind, header, head + body, making.frames(letter_of(number), pieces), trailer=trailer)
    return with_own_table(record, making)


def with_file_table(
    *items: Record | Frame, checksums: bool = True, name: str = "file table"
) -> tuple[Record | Frame, ...]:
    """Add the table of all frames."""
    frames = tuple(frame for item in items for frame in ((item,) if isinstance(item, Frame) else item.frames))
    return (*items, table_of(name, frames, checksums=checksums))
