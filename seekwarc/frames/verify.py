"""Verifying a frame: is it what the entry of the seek table says, and is its content?

A reader must deliver with a table what it would deliver without. So an entry is never believed: before a
frame is decoded, its own header and blocks must show the same end and the same content size, and the checksum
must be that of the content that was decoded (spec-notes, section 6.3).
"""

from __future__ import annotations

from typing import Final

from seekwarc.compiling import Buffer
from seekwarc.errors import ChecksumError, FormatError
from seekwarc.format.seektable import FrameEntry
from seekwarc.format.zstd import FrameHeader, parse_frame_header, walk_blocks
from seekwarc.frames.decoder import content_checksum

__all__ = ["MAX_FRAME_CONTENT", "check_content", "check_frame"]

MAX_FRAME_CONTENT: Final = 32 << 20
"""Larger frames are streamed: a range read holds at most one frame a thread in memory."""


def check_frame(frame: FrameEntry, stored: Buffer) -> FrameHeader:
    """Return a frame's header, if the frame is what the table says (spec-notes, section 6.3)."""
    if frame.content_size > MAX_FRAME_CONTENT:
        raise FormatError(f"the frame holds {frame.content_size} bytes: too large to seek in")
    header = parse_frame_header(stored)
    # The codec stops at the frame's end and ignores what follows. And the last four bytes, which a checksum
    # is compared with, are those of the frame only if it ends here.
    end, done = walk_blocks(stored, header.size)
    if not done or end + 4 * header.has_checksum != len(stored):
        raise ChecksumError("the frame does not end where the seek table says")
    if header.content_size not in (None, frame.content_size):
        raise ChecksumError(
            f"the frame states {header.content_size} bytes of content, the seek table {frame.content_size}"
        )
    if frame.checksum is not None and header.has_checksum:
        stated = int.from_bytes(stored[-4:], "little")
        if stated != frame.checksum:
            raise ChecksumError(
                f"the frame's checksum is {stated:08x}, the seek table says {frame.checksum:08x}"
            )
    return header


def check_content(content: Buffer, frame: FrameEntry) -> None:
    """Compare the content of a frame without a checksum of its own with the one in the table."""
    found = content_checksum(content) if frame.checksum is not None else None
    if found != frame.checksum:
        raise ChecksumError(
            f"the content's checksum is {found:08x}, the seek table says {frame.checksum:08x}"
        )
