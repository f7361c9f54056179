"""What is left of removed records in others: their IDs, payload digests, URIs, and bytes in a dictionary."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from seekwarc.format.uri import as_utf8
from seekwarc.read.record import Record

__all__ = ["Mention", "fragment", "in_line", "in_record", "needles_of"]

STEP: Final = 1 << 20
MAX_SEARCHED: Final = 64 << 20
"""Bytes of a block of fields that are searched for what was removed."""
SEARCHED: Final = frozenset(("warcinfo", "metadata", "request"))
"""Types of records whose blocks are also searched."""
FRAGMENT: Final = 32
"""Bytes of a payload that must not be left in a dictionary."""
BLOCK: Final = FRAGMENT // 2
"""Any fragment holds a whole one of the blocks into which a dictionary is cut."""

_WORD: Final = re.compile(rb"[^\s<>\"']+")


@dataclass(frozen=True, slots=True)
class Mention:
    """A record, a line of an index, or a dictionary that still mentions what was removed."""

    file: str
    """The new file, or the index."""
    offset: int
    """Its offset there."""
    type: str | None
    """The WARC-Type of the record; "line" or "dictionary"."""
    what: str
    """What it mentions: "id", "payload digest", "uri", or "payload", of which a dictionary has a fragment."""
    text: str
    """That ID, digest or URI, or the ID of the record of the payload."""


def needles_of(record: Record, *, with_digest: bool) -> dict[bytes, str]:
    """Return what is to be searched for, with what each is."""
    digest = record.header.get("WARC-Payload-Digest") if with_digest else None
    bare = (digest or "").partition(":")[2]
    found = (
        ("uri", record.target_uri),
        ("payload digest", digest),
        ("payload digest", bare),
        ("id", record.id),
    )
    spelled = ((what, spelling) for what, value in found if value for spelling in (value, as_utf8(value)))
    return {value.encode("utf-8", "surrogateescape"): what for what, value in spelled}


def in_record(record: Record, file: str, needles: Mapping[bytes, str]) -> Iterator[Mention]:
    """Yield what a record mentions."""
    text = record.header.raw
    if (record.type or "").lower() in SEARCHED:
        text += b" " + record.block.pread(0, min(record.content_length, MAX_SEARCHED))
    for word in dict.fromkeys(_WORD.findall(text)):
        if what := needles.get(word):
            yield Mention(
                file, record.offset, record.type, what, as_utf8(word.decode("utf-8", "surrogateescape"))
            )


def in_line(
    fields: Mapping[str, str], file: str, offset: int, needles: Mapping[bytes, str]
) -> Iterator[Mention]:
    """Yield what a line of an index mentions."""
    for value in fields.values():
        if what := needles.get(as_utf8(value).encode()):
            yield Mention(file, offset, "line", what, value)


def fragment(record: Record, dictionary: bytes) -> bool:
    """Tell whether a dictionary holds 32 bytes of a payload."""
    blocks = {dictionary[at : at + BLOCK] for at in range(0, len(dictionary), BLOCK)}
    payload = record.payload
    for start in range(0, payload.size, STEP):
        data = payload.pread(start, STEP + FRAGMENT)
        for at in range(len(data) - BLOCK + 1):
            if data[at : at + BLOCK] in blocks:
                around = range(max(at - BLOCK, 0), min(at + 1, len(data) - FRAGMENT + 1))
                if any(data[first : first + FRAGMENT] in dictionary for first in around):
                    return True
    return False
