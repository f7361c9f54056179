"""Digests of a block and of its payload: made while a record is written, checked when it is read.

Source: WARC 1.1, clauses 5.8 and 5.9: the payload of an HTTP message is its entity-body, so that chunked
coding is undone for it. Wget and warcio take the body as it was transferred, chunk sizes included.
"""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from seekwarc.compiling import Buffer, mypyc_attr
from seekwarc.errors import FormatError
from seekwarc.format.chunked import IN_DOUBT, MAX_TRAILER, MAX_WEIGHED, ChunkedBody, Evidence, judge
from seekwarc.format.digest import Digest, Hasher, usual_sha1
from seekwarc.format.header_fields import MAX_DIGITS, find_header_end
from seekwarc.format.http import TYPES_WITHOUT_HTTP, HttpHead, is_http_block, parse_http_head
from seekwarc.format.profiles import is_identical_payload
from seekwarc.format.rules import known_shapes
from seekwarc.format.warc import RECORD_END
from seekwarc.format.warc_fields import DefinedFields
from seekwarc.read.extent import Extent

__all__ = [
    "BlockDigests",
    "DigestCheck",
    "DigestVerdict",
    "check_block",
    "check_digests",
    "check_payload_digest",
    "right_digests",
]

STEP: Final = 1 << 20
MAX_JUDGED: Final = MAX_WEIGHED + 2 * MAX_TRAILER
"""Bytes of a body that are kept until they are judged: `judge` never takes more."""
SMALL: Final = 64 << 10
"""Bytes of a block that is read whole."""


class BlockDigests:
    """Computes the digests of a block while it is read.

    A body in chunked transfer coding may have been stored decoded, which is known at its end at the latest:
    until then the digest of both readings is computed.

    Args:
        http: The head that the payload follows.
        block: Computes the digest of the block.
        payload: Computes that of the payload.
        transferred: Computes that of the body as it is stored.
        stated: The payload digest that the record header states; the decision may depend on it.
    """

    def __init__(
        self,
        http: HttpHead | None,
        *,
        block: Hasher | None = None,
        payload: Hasher | None = None,
        transferred: Hasher | None = None,
        stated: bytes | None = None,
    ) -> None:
        self.block = block
        self.payload = payload
        self.transferred = transferred
        self.size = 0
        """Bytes of the block so far."""
        self.payload_size = 0
        """Bytes of the payload so far; of a chunked body this is known at the end."""
        self._head_left = http.size if http is not None else 0
        self._chunked = ChunkedBody() if http is not None and http.chunked else None
        self.as_stored = payload.copy() if payload is not None and self._chunked is not None else None
        """Computes the digest of a chunked body as it is stored; None once it is not needed."""
        self.other: Hasher | None = None
        """The digest of the other reading of a chunked body, after `finish`; None if it has one reading."""
        self.problem: str | None = None
        """What is wrong with the chunks of the body, after `finish`; see `Extent.problem`."""
        self._stated = stated
        self._stored_size = 0
        self._beginning = bytearray()
        self._wanted = 1
        """Bytes of the beginning that it takes to judge it."""
        self._evidence: Evidence | None = None

    @property
    def has_trailer(self) -> bool:
        """Whether anything follows the last chunk, such as trailer fields, outside the payload."""
        return self._chunked is not None and bool(self._chunked.rest.strip())

    def add(self, data: Buffer) -> None:
        """Add the next bytes of the block."""
        self.size += len(data)
        if self.block is not None:
            self.block.update(data)
        body = memoryview(data)[self._head_left :]
        self._head_left = max(self._head_left - len(data), 0)
        if self.transferred is not None:
            self.transferred.update(body)
        if self._chunked is None:
            self.payload_size += len(body)
            if self.payload is not None:
                self.payload.update(body)
            return
        self._stored_size += len(body)
        if self.as_stored is not None:
            self.as_stored.update(body)
        self._add_payload(self._chunked.feed(body))
        if self._evidence is None:
            self._beginning += body[: MAX_JUDGED - len(self._beginning)]
            if len(self._beginning) >= self._wanted:
                self._judge(None)

    def _judge(self, size: int | None) -> None:
        found = judge(self._beginning, size)
        if isinstance(found, int):
            self._wanted = found
            return
        self._evidence = found
        if found is Evidence.SURE and self._stated is None:
            self.as_stored = None

    def finish(self, *, truncated: bool) -> bool:
        """End the block, and return whether its payload also ended: chunks may break off."""
        chunked, size = self._chunked, self._stored_size
        if chunked is None:
            return True
        if self._evidence is None:
            self._judge(size)
        evidence = self._evidence or Evidence.NONE
        is_chunked: bool | None = None
        takes_digest = evidence.takes_digest(size, breaks_off=chunked.broken, truncated=truncated)
        if self._stated is not None and takes_digest:
            if self.as_stored is not None and self.as_stored.digest() == self._stated:
                is_chunked = False
            elif self.payload is not None and self.payload.digest() == self._stated:
                is_chunked = True
        in_doubt = evidence is Evidence.CUT and is_chunked is None
        if is_chunked is None:
            is_chunked = evidence.is_chunked(truncated=truncated)
        if is_chunked:
            self.other = self.as_stored
            self.problem = chunked.problem
            return chunked.complete
        self.other = self.payload if evidence is not Evidence.NONE else None
        self.payload, self.payload_size, self._chunked = self.as_stored, size, None
        self.problem = IN_DOUBT if in_doubt else None
        return not in_doubt

    def _add_payload(self, parts: list[memoryview]) -> None:
        for part in parts:
            self.payload_size += len(part)
            if self.payload is not None:
                self.payload.update(part)


class DigestVerdict(StrEnum):
    """What came of checking a digest.

    Example:
        >>> with seekwarc.open("crawl.warc.zst") as archive:
        ...     *_, payload = next(archive.records(type="revisit")).check_digests()
        >>> payload.verdict, payload.verdict.is_good
        (<DigestVerdict.ELSEWHERE: 'elsewhere'>, True)
    """

    VALID = "valid"
    INVALID = "invalid"
    TRANSFERRED = "transferred"
    """Valid for the body as it was transferred: not what the standard says, but what some tools write.

    That is the payload with its chunk sizes; of a block, what follows the HTTP head. A large body that may or
    may not be chunked is given as it is stored: then this is the digest of its chunks.
    """
    TRUNCATED = "truncated"
    """Not valid for the payload that is there, which the record says was cut off."""
    ELSEWHERE = "elsewhere"
    """The payload is not in this record, but in that which a revisit refers to, or in several segments.

    Nor is the block that a revisit without one states the digest of.
    """
    UNKNOWN = "unknown"
    """An algorithm that cannot be computed here, or no digest at all."""

    @property
    def is_good(self) -> bool:
        """Whether nothing speaks against the record."""
        return self is not DigestVerdict.INVALID


@mypyc_attr(native_class=False)
@dataclass(frozen=True, slots=True)
class DigestCheck:
    """A digest of a record, and what came of checking it.

    Example:
        >>> with seekwarc.open("crawl.warc.zst") as archive:
        ...     checks = next(archive.records(type="response")).check_digests()
        >>> [(check.field, check.verdict.value) for check in checks]
        [('WARC-Block-Digest', 'valid'), ('WARC-Payload-Digest', 'valid')]
    """

    field: str
    """WARC-Block-Digest or WARC-Payload-Digest."""
    stated: str
    """Its value, as it is written."""
    verdict: DigestVerdict


def check_digests(record: DefinedFields, head: HttpHead | None, content: Extent) -> tuple[DigestCheck, ...]:
    """Check the digests that a record's header states, reading its block, the `content`, once."""
    return _checked(record, head, content, has_chunks=False)[0]


def check_block(
    record: DefinedFields, head: HttpHead | None, content: Extent
) -> tuple[tuple[DigestCheck, ...], str | None]:
    """Check the digests, and return also what is wrong with the chunks of a body, by the same reading.

    A record that says that it is cut off, or is part of another, need not have all chunks.
    """
    is_part = record.truncated is not None or record.header.get("WARC-Segment-Number") is not None
    return _checked(record, head, content, has_chunks=head is not None and head.chunked and not is_part)


def _checked(
    record: DefinedFields, head: HttpHead | None, content: Extent, *, has_chunks: bool
) -> tuple[tuple[DigestCheck, ...], str | None]:
    block = _stated(record, "WARC-Block-Digest")
    payload = _stated(record, "WARC-Payload-Digest")
    is_revisit = record.type == "revisit"
    elsewhere = payload
    if payload is not None and (is_revisit or record.header.get("WARC-Segment-Number") is not None):
        payload = None
    else:
        elsewhere = None
    # The block of a revisit is short, and its digest is often that of the body.
    transferred = block if head is not None and is_revisit else None
    digests = BlockDigests(
        head,
        block=block.hasher() if block is not None else None,
        payload=payload.hasher() if payload is not None else None,
        transferred=transferred.hasher() if transferred is not None else None,
        stated=payload.raw if payload is not None else None,
    )
    if digests.block is not None or digests.payload is not None or has_chunks:
        _feed(content, digests, truncated=record.truncated is not None)
    found = []
    if block is not None:
        check = block.check(digests.block, digests.transferred or digests.as_stored or digests.payload)
        # Wpull gives revisits of FTP, which have no block, the digest of the original's.
        is_bare = is_revisit and not content.size and is_identical_payload(record.profile)
        is_of_original = elsewhere is None or elsewhere.raw == block.raw
        if is_bare and is_of_original and block.raw is not None and not check.verdict.is_good:
            check = replace(check, verdict=DigestVerdict.ELSEWHERE)
        found.append(check)
    if payload is not None:
        found.append(payload.check(digests.payload, digests.other, record))
    if elsewhere is not None:
        found.append(DigestCheck(elsewhere.field, elsewhere.text, DigestVerdict.ELSEWHERE))
    return tuple(found), digests.problem if has_chunks else None


def check_payload_digest(
    revisit: DefinedFields, original: DefinedFields, head: HttpHead | None, content: Extent
) -> DigestCheck | None:
    """Check the WARC-Payload-Digest of a revisit against the payload of its original; None without one."""
    stated = _stated(revisit, "WARC-Payload-Digest")
    if stated is None:
        return None
    digests = BlockDigests(head, payload=stated.hasher(), stated=stated.raw)
    if digests.payload is not None:
        _feed(content, digests, truncated=original.truncated is not None)
    return stated.check(digests.payload, digests.other, original)


def right_digests(content: bytes) -> int:
    """Return how many digests a whole record has; -1 unless it is one that is seen at once to be right.

    Then its header breaks no rule, its block is as long as that says, and its digests are those of the bytes;
    and its body is not in chunks.
    """
    begin, end = find_header_end(content), len(content) - len(RECORD_END)
    # A frame may hold the header alone; compiled, a slice whose end is before its beginning fails.
    found = known_shapes.find(content[:begin]) if 0 < begin <= end else None
    if found is None or not content.endswith(RECORD_END):
        return -1
    shape, match = found
    block = content[begin:end]
    length = shape.value(match, "content-length") or ""
    if not shape.is_whole or len(length) > MAX_DIGITS or int(length) != len(block):
        return -1
    count = 0
    stated = shape.value(match, "warc-block-digest")
    if stated is not None:
        count += 1
        if not _is_right(stated, block):
            return -1
    kind = shape.kind
    if kind not in TYPES_WITHOUT_HTTP and is_http_block(shape.value(match, "content-type")):
        head = parse_http_head(block, whole=True)
        # Whatever else it is takes a closer look.
        if head is None or kind != ("request" if head.status is None else "response") or head.chunked:
            return -1
        block = block[head.size :]
    stated = shape.value(match, "warc-payload-digest")
    if stated is not None:
        count += 1
        if not _is_right(stated, block):
            return -1
    return count


def _is_right(stated: str, data: bytes) -> bool:
    raw = usual_sha1(stated)
    return raw is not None and hashlib.sha1(data, usedforsecurity=False).digest() == raw


def _feed(block: Extent, digests: BlockDigests, *, truncated: bool) -> None:
    size = block.size
    if size <= SMALL:
        digests.add(block.pread(0, size))
    else:
        position = 0
        with memoryview(bytearray(min(STEP, size))) as view:
            while count := block.pread_into(position, view):
                position += count
                with view[:count] as data:
                    digests.add(data)
    digests.finish(truncated=truncated)


def _stated(record: DefinedFields, field: str) -> _Stated | None:
    text = record.header.get(field)
    return _Stated(field, text) if text is not None else None


class _Stated:
    """A digest field."""

    __slots__ = ("_digest", "field", "raw", "text")

    def __init__(self, field: str, text: str) -> None:
        self.field = field
        self.text = text
        self.raw = usual_sha1(text)
        self._digest: Digest | None = None
        """None if the value is not a digest, or the usual one."""
        if self.raw is None:
            with contextlib.suppress(FormatError):
                self._digest = Digest.parse(text)
                self.raw = self._digest.raw

    def hasher(self) -> Hasher | None:
        if self._digest is not None:
            return self._digest.hasher()
        return hashlib.sha1(usedforsecurity=False) if self.raw is not None else None

    def check(
        self, found: Hasher | None, transferred: Hasher | None, payload_of: DefinedFields | None = None
    ) -> DigestCheck:
        if found is None:
            known = self._digest is not None and self._digest.is_known and self.raw is None
            verdict = DigestVerdict.INVALID if known else DigestVerdict.UNKNOWN
        elif found.digest() == self.raw:
            verdict = DigestVerdict.VALID
        elif transferred is not None and transferred.digest() == self.raw:
            verdict = DigestVerdict.TRANSFERRED
        else:
            is_cut = payload_of is not None and payload_of.truncated is not None
            verdict = DigestVerdict.TRUNCATED if is_cut else DigestVerdict.INVALID
        return DigestCheck(self.field, self.text, verdict)
