"""Whether a record ends as it should in its frame or gzip member, and the checksum of that is right.

Goal: no wrong byte of a record without an error or a problem. The checksum is at the end of the member, which
a damaged one may reach only after other bytes than those of the record, or never.

Plan: a read that comes near the end of the record goes on to the end of the member. Line breaks and that end
follow a sound record. After other bytes the checksum decides: if it is right, the record's length is wrong.

Worst case: a member of many records, such as a whole file. Reading it to its end for each record would take
quadratic time. If another record follows and the member goes on for more than `NEARBY`, its checksum is not
compared, and the record has a problem that says so. An iteration reads on itself, and compares it then.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from seekwarc.errors import ChecksumError, FormatError, TruncatedError
from seekwarc.read.body import CUT_OFF
from seekwarc.read.resync import NEARBY, SHARED, is_end, too_small

if TYPE_CHECKING:
    from seekwarc.format.warc import Grammar
    from seekwarc.frames.stream import ContentStream
    from seekwarc.read.archive_file import ArchiveFile
    from seekwarc.read.body import RecordBody

__all__ = ["NEAR_END", "beyond_frame", "checked_end"]

NEAR_END: Final = 16 << 10
"""A read that ends this near the end of a record, or nearer, goes on to it."""
FIRST_LOOK: Final = 64
"""Enough to tell another record from the end of the member."""
UNCOMPARED: Final = (
    f"{SHARED}. The end of this one was not reached, so that its checksum was not compared; "
    "`seekwarc verify` compares it"
)


def checked_end(
    body: RecordBody, stream: ContentStream, position: int, *, is_passed: bool
) -> tuple[str | None, bool]:
    """Return what is wrong after a record, None if nothing is, and whether its end was found.

    Args:
        body: The record.
        stream: Its content.
        position: Where its block ends in that.
        is_passed: Whether an iteration will read on in the stream.

    Raises:
        ChecksumError: The frame or member is damaged.
        FormatError: Neither its end nor another record follows nearby.
    """
    file, length = body.file, body.header.content_length
    try:
        found = _problem(stream, file.grammar, position, length, is_passed=is_passed)
    except TruncatedError:
        # The file ends inside the block: bytes before that are delivered, and a read beyond it raises.
        return None, False
    except FormatError as error:
        raise error.located(file.name, body.offset) from None
    if found is None:
        return None, True
    file.deviates(*found, body.offset)
    return found[1], True


def _problem(
    stream: ContentStream, grammar: Grammar, position: int, length: int, *, is_passed: bool
) -> tuple[str, str] | None:
    rest, is_whole, error = stream.rest_of_frame(position, FIRST_LOOK)
    after = rest.lstrip(b"\r\n")
    if is_whole and not after:
        return None
    is_shared = bool(after) and grammar.may_begin(after)
    if not (is_shared and is_passed):
        rest, is_whole, error = stream.rest_of_frame(position, NEARBY)
        after = rest.lstrip(b"\r\n")
    is_cut = isinstance(error, TruncatedError)
    if is_shared:
        if error is not None and not (is_cut or is_passed):
            raise error
        return "shared", SHARED if is_whole else UNCOMPARED
    if is_whole:
        gap = grammar.after_gap.search(rest)
        return ("length", too_small(length, gap.end() if gap else len(rest))) if after else None
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
    if not grammar.begins_at(partial(stream.look, stop)) or end - stop > NEARBY:
        return False, False
    if not file.may_mend(end - stop):
        return False, False
    rest = stream.look(end - 1, 8)
    return False, not rest or not is_end(grammar, rest[1:])
