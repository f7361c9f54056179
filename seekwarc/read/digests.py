"""Digests of a block and of its payload: made while a record is written, checked when it is read.

Source: WARC 1.1, clauses 5.8 and 5.9: the payload of an HTTP message is its entity-body, so that chunked
coding is undone for it. Wget and warcio take the body as it was transferred, chunk sizes included.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from seekwarc.errors import FormatError
from seekwarc.format.buffer import Buffer
from seekwarc.format.chunked import ChunkedBody
from seekwarc.format.digest import Digest, Hasher
from seekwarc.format.http import HttpHead
from seekwarc.format.warc_fields import DefinedFields
from seekwarc.read.extent import Extent

__all__ = ["BlockDigests", "DigestCheck", "DigestVerdict", "check_digests", "check_payload_digest"]

STEP: Final = 1 << 20


class BlockDigests:
    """Computes the digests of a block while it is read."""

    def __init__(
        self,
        http: HttpHead | None,
        *,
        block: Hasher | None = None,
        payload: Hasher | None = None,
        transferred: Hasher | None = None,
    ) -> None:
        self.block = block
        self.payload = payload
        self.transferred = transferred
        self._head_left = http.size if http is not None else 0
        self._chunked = ChunkedBody() if http is not None and http.chunked else None
        self.size = 0
        """Bytes of the block so far."""
        self.payload_size = 0
        """Bytes of the payload so far."""

    def add(self, data: Buffer) -> None:
        """Add the next bytes of the block."""
        self.size += len(data)
        if self.block is not None:
            self.block.update(data)
        body = memoryview(data)[self._head_left :]
        self._head_left = max(self._head_left - len(data), 0)
        if self.transferred is not None:
            self.transferred.update(body)
        if self.payload is not None:
            self._add_payload([body] if self._chunked is None else self._chunked.feed(body))

    def finish(self) -> bool:
        """End the block, and tell whether its payload came to an end too: chunks may break off."""
        if self._chunked is None:
            return True
        if self.payload is not None:
            self._add_payload(self._chunked.finish())
        return self._chunked.complete or self._chunked.plain

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

    That is the payload with its chunk sizes; of a block, what follows the HTTP head.
    """
    TRUNCATED = "truncated"
    """Not valid for the payload that is there, which the record says was cut off."""
    ELSEWHERE = "elsewhere"
    """The payload is not in this record, but in that which a revisit refers to, or in several segments."""
    UNKNOWN = "unknown"
    """An algorithm that cannot be computed here, or no digest at all."""

    @property
    def is_good(self) -> bool:
        """Whether nothing speaks against the record."""
        return self is not DigestVerdict.INVALID


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
    is_revisit = record.type == "revisit"
    elsewhere = is_revisit or record.header.get("WARC-Segment-Number") is not None
    block = _Stated.of(record, "WARC-Block-Digest")
    payload = None if elsewhere else _Stated.of(record, "WARC-Payload-Digest")
    # The block of a revisit is short, and its digest is often that of the body.
    transferred = (
        payload if head is not None and head.chunked else block if head is not None and is_revisit else None
    )
    digests = BlockDigests(
        head,
        block=block.hasher() if block else None,
        payload=payload.hasher() if payload else None,
        transferred=transferred.hasher() if transferred else None,
    )
    if digests.block is not None or digests.payload is not None:
        _feed(content, digests)
    found = [block.check(digests.block, digests.transferred or digests.payload)] if block else []
    if payload:
        found.append(
            payload.check(digests.payload, digests.transferred, truncated=record.truncated is not None)
        )
    elif elsewhere and (stated := record.header.get("WARC-Payload-Digest")) is not None:
        found.append(DigestCheck("WARC-Payload-Digest", stated, DigestVerdict.ELSEWHERE))
    return tuple(found)


def check_payload_digest(
    revisit: DefinedFields, original: DefinedFields, head: HttpHead | None, content: Extent
) -> DigestCheck | None:
    """Check the WARC-Payload-Digest of a revisit against the payload of its original; None without one."""
    stated = _Stated.of(revisit, "WARC-Payload-Digest")
    if stated is None:
        return None
    digests = BlockDigests(
        head,
        payload=stated.hasher(),
        transferred=stated.hasher() if head is not None and head.chunked else None,
    )
    if digests.payload is not None:
        _feed(content, digests)
    truncated = original.truncated is not None
    return stated.check(digests.payload, digests.transferred, truncated=truncated)


def _feed(block: Extent, digests: BlockDigests) -> None:
    buffer = bytearray(min(STEP, block.size))
    with memoryview(buffer) as view, block.open() as file:
        while count := file.readinto(view):
            with view[:count] as data:
                digests.add(data)
    digests.finish()


@dataclass(frozen=True, slots=True)
class _Stated:
    """A digest field; `digest` is None if its value is not one."""

    field: str
    text: str
    digest: Digest | None

    @classmethod
    def of(cls, record: DefinedFields, field: str) -> _Stated | None:
        text = record.header.get(field)
        if text is None:
            return None
        try:
            return cls(field, text, Digest.parse(text))
        except FormatError:
            return cls(field, text, None)

    def hasher(self) -> Hasher | None:
        return self.digest.hasher() if self.digest is not None else None

    def check(
        self, found: Hasher | None, transferred: Hasher | None = None, *, truncated: bool = False
    ) -> DigestCheck:
        raw = self.digest.raw if self.digest is not None else None
        if found is None:
            known = self.digest is not None and self.digest.is_known and raw is None
            verdict = DigestVerdict.INVALID if known else DigestVerdict.UNKNOWN
        elif found.digest() == raw:
            verdict = DigestVerdict.VALID
        elif transferred is not None and transferred.digest() == raw:
            verdict = DigestVerdict.TRANSFERRED
        else:
            verdict = DigestVerdict.TRUNCATED if truncated else DigestVerdict.INVALID
        return DigestCheck(self.field, self.text, verdict)
