"""What is left of removed records in others: their IDs, payload digests, URIs, and bytes in a dictionary."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from seekwarc.errors import FormatError
from seekwarc.format.digest import Digest, is_digest_of, labelled
from seekwarc.format.uri import as_utf8, normalized
from seekwarc.format.warc import RecordHeader
from seekwarc.read.record import Record

__all__ = ["REMOVED", "Mention", "fragment", "in_line", "in_record", "is_stub", "needles_of"]

STEP: Final = 1 << 20
MAX_SEARCHED: Final = 64 << 20
"""Bytes of a block of fields that are searched for what was removed."""
SEARCHED: Final = frozenset(("warcinfo", "metadata", "request"))
"""Types of records whose blocks are also searched."""
MIN_DIGEST: Final = 24
"""Characters that a digest and its label have at least."""
FRAGMENT: Final = 32
"""Bytes of a payload that must not be left in a dictionary."""
BLOCK: Final = FRAGMENT // 2
"""Any fragment holds a whole one of the blocks into which a dictionary is cut."""

REMOVED: Final = "a record was removed from this file"
"""What a stub says."""

_STUB: Final = f"removed: {REMOVED}\r\n".encode()
_WORD: Final = re.compile(rb"[^\s<>\"']+")
_DIGEST: Final = re.compile(rb"(?!sha1:[A-Z2-7]{32}$)[\w-]+:[\w+/=-]{16}")
"""How a digest begins that has not the spelling which nearly all have."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A record, a line of an index, or a dictionary that still mentions what was removed."""

    file: str
    """The new file, or in a dry run the old one; or the index."""
    offset: int
    """Its offset there."""
    type: str | None
    """The WARC-Type of the record; "line" or "dictionary"."""
    what: str
    """What it mentions: "id", "payload digest", "uri", or "payload", of which a dictionary has a fragment."""
    text: str
    """That ID, digest or URI, or the ID of the record of the payload."""
    kind: str
    """What it is, to be counted: "link" if a block holds a URI, "index line", "dictionary", or the type."""


def needles_of(record: Record, *, with_digest: bool) -> dict[bytes, str]:
    """Return what is to be searched for, with what each is."""
    digest = record.header.get("WARC-Payload-Digest") if with_digest else None
    if digest is not None and _is_of_nothing(digest):
        # Every GET states it.
        digest = None
    bare = (digest or "").partition(":")[2]
    found = (
        ("uri", record.target_uri),
        ("payload digest", digest),
        ("payload digest", bare),
        ("id", record.id),
    )
    named = [(what, value) for what, value in found if value]
    spelled = ((what, spelling) for what, value in named for spelling in (value, as_utf8(value)))
    needles = {value.encode("utf-8", "surrogateescape"): what for what, value in spelled}
    return needles | {usual: what for what, value in named if (usual := _usual(value))}


def in_record(
    record: Record, file: str, needles: Mapping[bytes, str], header: RecordHeader | None = None
) -> Iterator[Mention]:
    """Yield what a record mentions, or what a capture would with another header."""
    type_ = record.type if header is None else header.get("WARC-Type")
    kind = type_ or "record"
    header = header or record.header
    words = dict.fromkeys(_WORD.findall(header.raw), False)
    if kind.lower() in SEARCHED:
        block = record.block.pread(0, min(record.content_length, MAX_SEARCHED))
        for word in _WORD.findall(block):
            words.setdefault(word, True)
    for word, is_in_block in words.items():
        if what := _mentioned(word, needles):
            found = as_utf8(word.decode("utf-8", "surrogateescape"))
            named = "link" if is_in_block and what == "uri" else kind
            yield Mention(file, record.offset, type_, what, found, named)


def in_line(
    fields: Mapping[str, str], file: str, offset: int, needles: Mapping[bytes, str]
) -> Iterator[Mention]:
    """Yield what a line of an index mentions."""
    for value in fields.values():
        if what := _mentioned(as_utf8(value).encode(), needles):
            yield Mention(file, offset, "line", what, value, "index line")


def _mentioned(word: bytes, needles: Mapping[bytes, str]) -> str | None:
    """Return what a word mentions, in any spelling."""
    if word in needles:
        return needles[word]
    if b"://" in word or (len(word) > MIN_DIGEST and _DIGEST.match(word)):
        return needles.get(_usual(word.decode("utf-8", "surrogateescape")))
    return None


def _usual(value: str) -> bytes:
    """Return what is equal for all spellings of a URI or a digest; nothing if it is neither, or unknown."""
    if "://" in value:
        return normalized(value)
    with suppress(FormatError):
        digest = Digest.parse(value)
        if (raw := digest.raw) is not None:
            usual = labelled("sha1", raw) if digest.name == "sha1" else f"{digest.name}:{raw.hex()}"
            return usual.encode()
    return b""


def is_stub(record: Record) -> bool:
    """Tell whether a record says that another one was removed."""
    return record.type == "metadata" and record.block.pread(0, len(_STUB)) == _STUB


def _is_of_nothing(text: str) -> bool:
    """Tell whether a digest is that of no bytes, in any spelling, by any algorithm that this system has."""
    if is_digest_of(text, ()):
        return True
    algorithm, _, value = text.partition(":")
    try:
        hasher = hashlib.new(algorithm.lower().replace("-", "_"), usedforsecurity=False)
    except (TypeError, ValueError):
        # A name with bytes that are not UTF-8 is a TypeError.
        return False
    raw = hasher.digest() if hasher.digest_size else b""
    spelled = (
        raw.hex(),
        base64.b32encode(raw).decode().rstrip("="),
        base64.b64encode(raw).decode().rstrip("="),
    )
    return bool(raw) and (value.lower() == spelled[0] or value.rstrip("=") in spelled[1:])


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
