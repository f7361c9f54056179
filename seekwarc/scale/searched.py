"""Where records begin in a file that has no tables, as the bytes tell from some places on.

Goal: cut a large file into parts without reading it, for several processes or machines.

Plan: from each place on, look for bytes that begin a frame, a gzip member or a header, and of which the
header of a record can be read. In a .warc.gz such a member may be part of a payload: an archive that a site
offers does not compress, so deflate stores it as it is. But only in blocks of at most 65,535 bytes, with a
few bytes between these (RFC 1951, section 3.2.4), which damage every member that they are in. So members that
follow one another for longer than a block, their checksums right, are members of the file.

Worst case: a payload made with intent, or any archive inside an archive that is not a .warc.gz: it may be cut
inside a record. `Reader.between` finds that out where two parts meet, and raises. Much is inflated if
members hold a thousand times what they take; no more of them than `WALK` for each place that is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from seekwarc.format.warc import RecordHeader
from seekwarc.frames.inflate import gzip_codec
from seekwarc.frames.pieces import Compression
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.read.search import RecordSearch

__all__ = ["searched_starts"]

REACH: Final = 4 << 20
"""Bytes from each place on in which a record is looked for: in the midst of a large one, none begins."""
REACH_AFAR: Final = 512 << 10
MAX_ATTEMPTS: Final = 4
"""Members that begin like a record, but are not the file's own, before a place is given up."""
MAX_MISSES: Final = 3
"""Places in a row without a record after which no more are tried in a file that is far: its server may claim
any size."""
MAX_BLOCK: Final = (1 << 16) - 1
"""Bytes of a block that is stored as it is (RFC 1951, section 3.2.4)."""
WALK: Final = 8 * MAX_BLOCK
"""A member that is longer was not damaged by the blocks of another one: there would be eight of them."""
BLANK: Final = frozenset({b"", b"\r", b"\n"})
STEP: Final = 32 << 10
PIECE: Final = 256 << 10


def searched_starts(
    file: ArchiveFile,
    compression: Compression,
    step: int,
    fits: Callable[[RecordHeader], bool] | None = None,
) -> Iterator[int]:
    """Yield where records begin whose header fits: from each multiple of `step` on, the first."""
    search = RecordSearch(file, compression)
    is_far, size = file.source.policy.is_far, file.source.size or 0
    reach = REACH_AFAR if is_far else REACH
    place, misses = step, 0
    while place < size and not (is_far and misses == MAX_MISSES):
        begin = place
        for _ in range(MAX_ATTEMPTS):
            found = search.first_between(begin, place + reach, fits)
            if found is None or compression != "gz" or _goes_on(file, found):
                break
            begin = found + 1
        else:
            place = max(place + step, begin)
            continue
        if found is None:
            misses += 1
            place += max(step, reach)
        else:
            yield found
            misses, place = 0, max(place, found // step * step) + step


def _goes_on(file: ArchiveFile, offset: int) -> bool:
    """Tell whether members, the first with a record, follow one another from here on as a file's own do."""
    codec = gzip_codec()
    window = file.window()
    # Where each read takes its time, this is one.
    window.get(offset, offset + MAX_BLOCK + STEP)
    position, head = offset, b""
    while data := window.at_hand(position, STEP):
        inflater = codec.inflater()
        while not inflater.eof:
            if not data or position - offset > WALK:
                return bool(data) and head not in BLANK
            try:
                content = inflater.decompress(data, PIECE)
            except codec.errors:
                return False
            head = head or content[:1]
            rest = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
            position += len(data) - len(rest)
            data = rest or window.at_hand(position, STEP)
        # A member of the blank lines after a record, or that begins with them, is not where one begins.
        if head in BLANK:
            return False
        if position - offset > MAX_BLOCK:
            return True
    return True
