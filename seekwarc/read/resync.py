"""Where a record really ends whose Content-Length is wrong.

A Content-Length is believed as long as the line breaks and the next record, or the end of the file, follow
the block that it measures. If they do not, the next record is searched for nearby: first within the block,
which is then too long, and then after it. warcio and FastWARC read many of these files; reading the rest of
the file is worth more than insisting. Findings are in `Record.problem`.

If a Content-Length reaches beyond the end of the file, `later` decides whether the file is cut off.

Only a record that begins a frame or gzip member, or follows a blank line, is found: text that looks like
a header in the middle of a page is not.

The checksum of a gzip member or frame is at its end, which a damaged one may reach only after other bytes
than those of the record, or never. So a read that comes near the end of the record goes on to that of the
member. If another record follows, and the member goes on for more than `NEARBY`, as one that is a whole file
does, only a read up to the record's end does so: once, as the file remembers what came of it. An iteration
reads on itself, and compares it then.
"""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING, Final

from seekwarc.errors import ChecksumError, FormatError, LimitError, TruncatedError
from seekwarc.format.warc import MAX_LEAD, RECORD_MAGIC, Grammar
from seekwarc.frames.scan import Window
from seekwarc.read.body import CUT_OFF

if TYPE_CHECKING:
    from seekwarc.frames.pieces import Compression
    from seekwarc.frames.stream import ContentStream, Mark
    from seekwarc.read.archive_file import ArchiveFile
    from seekwarc.read.body import RecordBody
    from seekwarc.read.record import Record

__all__ = [
    "LEAD",
    "NEARBY",
    "NEARBY_BEFORE",
    "NEAR_END",
    "SHARED",
    "beyond_frame",
    "check_trailer",
    "checked_end",
    "has_wrong_length",
    "is_followed",
    "is_shared",
    "next_record",
    "note_deviation",
    "note_surplus",
    "only_shares",
    "pass_surplus",
    "swallowed_record",
    "too_large",
    "too_small",
]

END_OF_FRAME: Final = "the end of its frame or gzip member"
NEARBY: Final = 1 << 20
"""How far after a block the next record is looked for."""
NEARBY_BEFORE: Final = 64 << 10
"""How far back from the end of a block that is not compressed it is looked for."""
SHARED: Final = (
    "several records share one frame or gzip member, or do not begin their own; they can be read in order, "
    "but their offsets lead to the first one only. `seekwarc convert` repairs that"
)
LENGTH: Final = "Content-Length"
LEAD: Final = (
    "blanks, line breaks or a byte order mark come before this record; `seekwarc recover` leaves them out"
)

NEAR_END: Final = 16 << 10
"""A read that ends this near the end of a record, or nearer, goes on to it."""
FIRST_LOOK: Final = 64
"""Enough to tell another record from the end of the member."""
NOT_YET: Final = f"{SHARED}. The end of this one, and so its checksum, was not reached yet"
CUT_SHARED: Final = (
    "the file ends inside the frame or gzip member of this record, so that its checksum is missing: the "
    "record may be damaged"
)


def only_shares(problem: str | None) -> bool:
    """Return whether no more is wrong with a record than that it shares its frame or gzip member."""
    return problem is not None and problem.startswith(SHARED)


def is_shared(record: Record) -> bool:
    """Return whether the offset of a record leads to another one, or to it and others."""
    return only_shares(record.problem) or (record.skip > 0 and record.problem != LEAD)


def has_wrong_length(problem: str | None) -> bool:
    """Return whether what is wrong with a record is that its Content-Length is not that of its block."""
    return problem is not None and problem.startswith(LENGTH)


def too_small(stated: int, surplus: int, end: str = "the next record") -> str:
    """Say that a block is followed by bytes of its own."""
    return f"{LENGTH} {stated} is too small: {surplus} more bytes come before {end}"


def too_large(stated: int, found: int) -> str:
    """Say that a block would reach into the next record."""
    return f"{LENGTH} {stated} is too large: the next record begins after {found} bytes of the block"


def check_trailer(file: ArchiveFile, offset: int, trailer: bytes) -> None:
    """Refuse other line breaks after a block than CRLF CRLF, if the file is read strictly."""
    if file.strict and trailer != file.grammar.end and file.grammar.end:
        raise FormatError(
            f"the record is followed by {trailer[:16]!r}, not by CRLF CRLF", source=file.name, offset=offset
        )


def note_deviation(record: Record, kind: str, problem: str, content_length: int | None = None) -> None:
    """Tell what is wrong with a record, and keep it there; see `ArchiveFile.deviates`."""
    record.body.file.deviates(kind, problem, record.offset)
    record.note_problem(problem, content_length)


def is_end(grammar: Grammar, rest: bytes) -> bool:
    """Tell whether these bytes may follow a block: line breaks, then a record or the end of the file."""
    after = rest.lstrip(b"\r\n")
    return not after or (len(after) < len(rest) and grammar.may_begin(after))


def next_record(stream: ContentStream, position: int) -> int | None:
    """Return the position of the nearest record after `position`, None if none is near.

    Something between that looks like a record ends the search: it must not be passed unread.
    """
    size, grammar = 4 << 10, stream.grammar
    while True:
        try:
            data = stream.look(position, size)
        except FormatError:
            # Damage is near: if the bytes before it were not enough, nothing is.
            return None
        lookalike = grammar.beginning.search(data)
        first = lookalike.start() if lookalike is not None else len(data)
        head = stream.head_after(position)
        if head is not None and head.position <= position + first:
            return head.position
        if lookalike is not None:
            is_after_gap = grammar.last_gap.search(data, max(first - MAX_LEAD - 4, 0), first) is not None
            return position + first if is_after_gap else None
        if len(data) < size or size >= NEARBY:
            return None
        size *= 4


def swallowed_record(grammar: Grammar, window: Window, begin: int, end: int) -> tuple[int | None, bool]:
    """Look for the record that begins within a block, without compression, which should end at `end`.

    A block may hold an archive whose records look as real ones do. So the records must lead one to the next,
    two line breaks between them, until one ends after the block. Returned are the offset of the record, None
    without one, and whether something in the block looks like a record: to pass the block might be to pass
    records.
    """
    start = max(begin - len(grammar.gaps[0]), end - NEARBY_BEFORE)
    data = window.take(start, end - start + NEARBY_BEFORE)
    # Chains that meet go on together: none is followed twice.
    seen: set[int] = set()
    for match in grammar.after_gap.finditer(data):
        position = match.end()
        if position >= end - start:
            break
        while 0 <= position < end - start and position not in seen:
            seen.add(position)
            position = _end_of_record(grammar, data, position)
        if position >= end - start and _follows(grammar, window, start + position):
            return start + match.end(), True
    return None, bool(seen)


def _end_of_record(grammar: Grammar, data: bytes, position: int) -> int:
    """Return where the record after the one at `position` should begin; -1 if no record is there."""
    stop = grammar.header_end(data, position)
    if stop < 0 or not grammar.beginning.match(data, position):
        return -1
    try:
        header = grammar.parse(data[position:stop])
    except FormatError:
        return -1
    return stop + header.content_length + len(grammar.gaps[0])


def _follows(grammar: Grammar, window: Window, offset: int) -> bool:
    return not window.take(offset, 1) or grammar.begins_at(partial(window.take, offset))


def is_followed(file: ArchiveFile, damage: int, compression: Compression) -> bool:
    """Return whether a record begins after the frame or member at `damage`, where the file seems to end."""
    if file.source.is_pipe:
        return False
    # A record that is cut off may be read again and again, and is searched for what follows only once.
    if file.followed[0] != damage:
        from seekwarc.read.search import RecordSearch

        size = file.source.size or 0
        is_followed = True
        if file.may_mend(size - damage):
            search = RecordSearch(file, compression)
            with contextlib.suppress(LimitError):
                is_followed = search.next_after(damage, damage) < size
        file.followed = damage, is_followed
    return file.followed[1]


def note_surplus(record: Record, rest: bytes) -> bool:
    """Say that the rest of its frame or gzip member belongs to a block; return False if it does not."""
    surplus, grammar = rest.strip(b"\r\n"), record.body.file.grammar
    if not surplus or grammar.beginning.search(rest):
        return False
    note_deviation(record, "length", too_small(record.content_length, len(rest), END_OF_FRAME))
    return True


def pass_surplus(record: Record, stream: ContentStream, block_end: int) -> Mark | None:
    """Pass the bytes of a block that its Content-Length does not count.

    They end with the frame or gzip member, if that ends nearby and no other record is in it, or else where a
    record follows nearby.
    """
    may_mend = record.body.file.may_mend(NEARBY_BEFORE)
    rest, is_whole, error, _ = stream.rest_of_frame(block_end, NEARBY_BEFORE)
    if may_mend and not stream.is_plain and is_whole and not error and note_surplus(record, rest):
        stream.skip_to(block_end + len(rest.rstrip(b"\r\n")))
        stream.read_blank_lines()
        return stream.mark()
    position = next_record(stream, stream.position) if may_mend else None
    if position is not None:
        note_deviation(record, "length", too_small(record.content_length, position - block_end))
        stream.skip_to(position)
    return stream.mark()


def checked_end(
    body: RecordBody, stream: ContentStream, position: int, *, is_passed: bool, is_all: bool
) -> tuple[str | None, bool]:
    """Return what is wrong after a record, None if nothing is, and whether its checksum was compared.

    Args:
        body: The record.
        stream: Its content.
        position: Where its block ends in that.
        is_passed: Whether an iteration will read on in the stream.
        is_all: Whether nothing will be read after its block: the stream may end there.

    Raises:
        ChecksumError: The frame or member is damaged.
        FormatError: Neither its end nor another record follows nearby.
    """
    file, length = body.file, body.header.content_length
    try:
        found = _problem(file, stream, position, length, is_passed=is_passed, is_all=is_all)
    except TruncatedError:
        # The file ends inside the block: bytes before that are delivered, and a read beyond it raises.
        return None, False
    except FormatError as error:
        raise error.located(file.name, body.offset) from None
    if found is None:
        return None, True
    kind, problem = found
    file.deviates(kind, SHARED if only_shares(problem) else problem, body.offset)
    return problem, problem != NOT_YET


def _problem(
    file: ArchiveFile, stream: ContentStream, position: int, length: int, *, is_passed: bool, is_all: bool
) -> tuple[str, str] | None:
    grammar = file.grammar
    rest, is_whole, error, offset = stream.rest_of_frame(position, FIRST_LOOK)
    after = rest.lstrip(b"\r\n")
    if is_whole and not after:
        return None
    is_shared = bool(after) and grammar.may_begin(after)
    if is_shared and is_all and not (is_passed or is_whole or error):
        error = file.frame_error(offset, partial(stream.end_frame, position))
        is_whole = error is None
    elif not (is_shared and is_passed):
        rest, is_whole, error, _ = stream.rest_of_frame(position, NEARBY)
        after = rest.lstrip(b"\r\n")
    is_cut = isinstance(error, TruncatedError)
    if is_shared:
        if error is not None and not (is_cut or is_passed):
            raise error
        if is_cut:
            return "shared", CUT_SHARED
        return "shared", SHARED if is_whole else NOT_YET
    if is_whole:
        gap = grammar.after_gap.search(rest)
        place = (gap.end(), "the next record") if gap else (len(rest), END_OF_FRAME)
        return ("length", too_small(length, *place)) if after else None
    if error is not None and is_cut and not after:
        return "cut", f"{CUT_OFF}: {error.message}"
    if error is not None and not is_cut:
        raise error
    text = f"{rest[:16]!r} follows this record in its frame or gzip member, which does not end nearby"
    kind = FormatError if error is None else ChecksumError
    raise kind(f"{text}: it is damaged, or Content-Length {length} is too small")


def beyond_frame(file: ArchiveFile, stream: ContentStream, end: int, stop: int) -> tuple[bool, bool]:
    """Tell whether the frame that ends at `stop` has another record, and whether the block goes on beyond it.

    The block should end at `end`.
    """
    grammar = file.grammar
    if end <= stop:
        return grammar.begins(stream.look(end, stop - end).lstrip(b"\r\n")), False
    look = partial(stream.look, stop)
    is_followed = grammar.begins_at(look) or grammar.blank_size(look(MAX_LEAD + len(RECORD_MAGIC))) > 0
    if not is_followed or end - stop > NEARBY:
        return False, False
    if not file.may_mend(end - stop):
        return False, False
    rest = stream.look(end - 1, 8)
    return False, not rest or not is_end(grammar, rest[1:])
