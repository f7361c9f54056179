"""Completes records and puts them into files: adds digests, finds duplicates, makes segments.

There are four ways into a file. A block of at most one frame is read into memory. A larger one whose digests
and length are known first (it is in memory, or no digests are wanted) is compressed straight into the file.
So is one of which only the length is known, if what was written can be replaced: its header gets the digests
just before its last frame is written, in room that was kept for them. Any other is compressed into a spool
first (see `spool`), as is every one that may turn out to be a duplicate, and every large one if files have a
maximum size, since only its compressed size decides which file it goes into, and whether it must be cut into
segments.

Source: WARC 1.1, clauses 5.8, 5.9, 6.7.2 and 7.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable
from typing import Final

from seekwarc.errors import FormatError
from seekwarc.format.digest import Digest, Hasher, WrittenAlgorithm, labelled
from seekwarc.format.http import HttpHead, is_http_block, parse_http_head
from seekwarc.format.warc import RecordHeader
from seekwarc.format.warc_fields import DefinedFields
from seekwarc.format.words import counted
from seekwarc.read.digests import BlockDigests
from seekwarc.write.assembly import OWN_TABLE, stored_bound
from seekwarc.write.block_reader import BlockSource
from seekwarc.write.dedup import Deduplicator, Original, revisit_of
from seekwarc.write.header import HeaderDraft, LateHeader, new_id
from seekwarc.write.options import WriteOptions
from seekwarc.write.series import MARGIN, FileSeries
from seekwarc.write.spool import SpooledBlock
from seekwarc.write.written import Written

__all__ = ["Recorder"]

HASHERS: Final[dict[WrittenAlgorithm, Callable[..., Hasher]]] = {
    "sha1": hashlib.sha1,
    "sha256": hashlib.sha256,
}
MAX_LENGTH: Final = 10**13
"""A length with more digits than that of any block, to estimate the size of a header before it is known."""


class _Block:
    """A block, with `beginning`: all of it, or a beginning that is longer than a frame."""

    __slots__ = ("beginning", "http", "is_whole", "source")

    def __init__(
        self,
        source: BlockSource,
        beginning: bytes | memoryview,
        http: HttpHead | None = None,
        *,
        is_whole: bool,
    ) -> None:
        self.source = source
        self.beginning = beginning
        self.is_whole = is_whole
        self.http = http


class Recorder:
    """Completes records and puts them into the files of a writer."""

    def __init__(self, files: FileSeries, options: WriteOptions) -> None:
        self._files = files
        self._frame_size = options.frame_size
        self._digest: WrittenAlgorithm | None = options.digest
        self._dedup = options.dedup
        self._warned = False

    def write(self, draft: HeaderDraft, source: BlockSource) -> Written:
        """Write a record whose header is complete but for digests and Content-Length.

        If the block was interrupted, and is kept, the exception is raised after the record was written.
        """
        if draft.get("WARC-Type") != "warcinfo":
            self._files.begin()
        opened = self._open(source, draft)
        if source.interruption is not None and not opened.beginning:
            raise source.interruption
        is_small = len(opened.beginning) <= self._frame_size
        if is_small or (opened.is_whole and self._files.max_size is None):
            written = self._write_whole(draft, opened)
        elif self._files.max_size is None and (source.expected or 0) > self._frame_size:
            written = self._write_expected(draft, opened)
        else:
            written = self._write_spooled(draft, opened)
        if self._dedup is not None:
            self._note(self._dedup, draft, written)
        if source.interruption is not None:
            source.interruption.add_note(
                f"{written.filename}: {counted(written.content_length, 'byte')} that came before are kept in "
                f"{written.id} (WARC-Truncated: {source.truncated})"
            )
            raise source.interruption
        return written

    def _write_expected(self, draft: HeaderDraft, block: _Block) -> Written:
        """Write a record of known length; its digests, if it gets any, are known after its block."""
        assembly, digests = self._files.current.assembly, self._digests(draft, block.http)
        if self._digest is None and block.source.length is not None and not block.source.keeps:
            return assembly.add(draft.header(block.source.length), block.source)
        may_be_duplicate = self._dedup is not None and digests.payload is not None
        if may_be_duplicate or not assembly.layout.can_rewrite:
            return self._write_spooled(draft, block)
        late = LateHeader(draft, block.source, self._digest, digests)
        return assembly.add(late.unfinished, block.source, completion=late)

    def _open(self, source: BlockSource, draft: HeaderDraft) -> _Block:
        # A block that is already in memory, or small, is looked at as a whole.
        whole, length = source.whole, source.length
        if whole is not None and length is not None and length != len(whole):
            verb = "ended after" if length > len(whole) else "has"
            raise FormatError(
                f"the block {verb} {counted(len(whole), 'byte')}, its Content-Length is {length}"
            )
        beginning = source.peek(self._frame_size + 1) if whole is None else whole
        is_whole = whole is not None or len(beginning) <= self._frame_size
        is_http = is_http_block(draft.get("Content-Type"))
        http = (source.head or parse_http_head(beginning, whole=is_whole)) if is_http else None
        return _Block(source, beginning, http, is_whole=is_whole)

    def _payload_of(self, draft: HeaderDraft, http: HttpHead | None) -> tuple[HttpHead | None, bool]:
        """Return the head that the payload follows, and whether a digest of the payload is wanted."""
        kind = draft.get("WARC-Type")
        is_response = kind == "response" and http is not None and http.status is not None
        has_payload = is_response or (kind == "resource" and self._dedup is not None)
        if draft.get("WARC-Segment-Number") is not None:
            has_payload = False  # The digest of a segment is that of the whole record's payload (clause 5.9).
        return http if is_response else None, has_payload

    def _digests(self, draft: HeaderDraft, http: HttpHead | None) -> BlockDigests:
        if self._digest is None:
            return BlockDigests(None)
        head, has_payload = self._payload_of(draft, http)
        hasher = HASHERS[self._digest]
        return BlockDigests(head, block=hasher(), payload=hasher() if has_payload else None)

    def _add_digests(self, draft: HeaderDraft, block: _Block) -> bool:
        """Add the digests of a whole block; return whether it has a payload that can be a duplicate."""
        head, has_payload = self._payload_of(draft, block.http)
        if self._digest is None or (has_payload and head is not None and head.chunked):
            digests = self._digests(draft, block.http)
            digests.add(block.beginning)
            return draft.end_block(block.source, self._digest, digests) and _is_repeatable(digests)
        # At once: this is on the way of each small record.
        hasher = HASHERS[self._digest]
        draft.add("WARC-Truncated", block.source.truncated)
        draft.add("WARC-Block-Digest", labelled(self._digest, hasher(block.beginning).digest()))
        if not has_payload:
            return False
        payload = memoryview(block.beginning)[head.size if head is not None else 0 :]
        draft.add("WARC-Payload-Digest", labelled(self._digest, hasher(payload).digest()))
        return len(payload) > 0

    def _revisit(self, draft: HeaderDraft, *, has_payload: bool) -> HeaderDraft | None:
        """Return the header of a revisit if the payload was archived before."""
        stated = draft.get("WARC-Payload-Digest")
        if (
            self._dedup is None
            or stated is None
            or not has_payload
            or draft.get("WARC-Truncated") is not None
        ):
            return None
        original = self._dedup.find(Digest.parse(stated))
        return revisit_of(draft, original) if original is not None else None

    def note_copy(self, written: Written) -> None:
        """Remember the payload of a record that was copied; warn if it would have been a revisit."""
        if self._dedup is None:
            return
        digest = DefinedFields(written.header).payload_digest
        if digest is None:
            return
        if not self._warned and written.type in ("response", "resource") and self._dedup.find(digest):
            self._warned = True
            warnings.warn(
                f"{written.filename}: write_raw copies records unchanged: {written.target_uri} was "
                "archived before, and did not become a revisit",
                stacklevel=4,
            )
        self._note(self._dedup, written.header, written)

    def _note(self, dedup: Deduplicator, draft: HeaderDraft | RecordHeader, written: Written) -> None:
        is_whole = draft.get("WARC-Truncated") is None and draft.get("WARC-Segment-Number") is None
        if is_whole and written.type in ("response", "resource"):
            digest, uri = DefinedFields(written.header).payload_digest, written.target_uri
            date = written.header.get("WARC-Date")
            if digest is not None and uri and written.id and date:
                dedup.add(digest, Original(written.id, uri, date))

    def _write_whole(self, draft: HeaderDraft, block: _Block) -> Written:
        revisit = self._revisit(draft, has_payload=self._add_digests(draft, block))
        if revisit is not None:
            return self._write_revisit(revisit, draft, block)
        header = draft.header(len(block.beginning))
        file = self._files.room_for(stored_bound(len(header.raw) + len(block.beginning)))
        return file.assembly.add(header, block.source)

    def _write_revisit(self, revisit: HeaderDraft, draft: HeaderDraft, block: _Block) -> Written:
        head = b""
        if draft.get("WARC-Type") == "response" and block.http is not None:
            head = bytes(block.beginning[: block.http.size])
            revisit.add("Content-Type", draft.get("Content-Type"))
        return self._write_whole(revisit, _Block(BlockSource(head, None), head, is_whole=True))

    def _write_spooled(self, draft: HeaderDraft, block: _Block) -> Written:
        """Write a record whose block must be read before its header, or its file, is known."""
        digests = self._digests(draft, block.http)
        # The spool computes the block digest: of each segment its own.
        digests.block = None
        heads, limits = (0, 0), None
        if self._files.max_size is not None:
            heads = self._heads(draft, block)
            if draft.get("WARC-Target-URI") is not None and draft.get("WARC-Segment-Number") is None:
                limits = self._files.limits(*heads, self._frame_size)
        with self._files.current.assembly.spool(
            block.source, block.http, digests.add, block.source.length, limits=limits, algorithm=self._digest
        ) as spooled:
            is_one = len(spooled.segments) == 1
            digests.block = spooled.segments[0].block if is_one else None
            has_digest = draft.end_block(block.source, self._digest, digests)
            revisit = self._revisit(draft, has_payload=has_digest and _is_repeatable(digests))
            if revisit is not None:
                return self._write_revisit(revisit, draft, block)
            if not is_one:
                return self._write_segments(draft, spooled)
            file = self._files.room_for(spooled.size_bound + heads[0] + OWN_TABLE + MARGIN)
            return file.assembly.add_spooled(draft.header(spooled.length), spooled)

    def _heads(self, draft: HeaderDraft, block: _Block) -> tuple[int, int]:
        """Return the compressed size of what comes before the block, in the first and in later segments."""
        assembly = self._files.current.assembly
        # Random bytes, since a digest is as long and as hard to compress.
        digest = None
        if self._digest is not None:
            digest = str(Digest.of(self._digest, os.urandom(hashlib.new(self._digest).digest_size)))
        first = HeaderDraft(draft)
        first.add("WARC-Payload-Digest", digest)
        later = self._continuation(draft)
        for part in (first, later):
            part.add("WARC-Segment-Number", "1")
            part.add("WARC-Block-Digest", digest)
            part.add("WARC-Truncated", draft.get("WARC-Truncated"))
            part.add("WARC-Truncated", "unspecified" if block.source.keeps else None)
        later.add("WARC-Segment-Total-Length", str(MAX_LENGTH))
        lead = bytes(block.beginning[: block.http.size]) if block.http is not None else b""
        origin, continuation = [assembly.stored_size(part.header(MAX_LENGTH).raw) for part in (first, later)]
        return origin + assembly.stored_size(lead), continuation

    def _continuation(self, draft: HeaderDraft) -> HeaderDraft:
        """Return the first fields of the header of a segment after the first."""
        part = HeaderDraft()
        part.add("WARC-Type", "continuation")
        part.add("WARC-Record-ID", new_id())
        part.add("WARC-Date", draft.get("WARC-Date"))
        part.add("WARC-Target-URI", draft.get("WARC-Target-URI"))
        part.add("WARC-Segment-Origin-ID", draft.get("WARC-Record-ID"))
        return part

    def _write_segments(self, draft: HeaderDraft, block: SpooledBlock) -> Written:

        def header(number: int) -> RecordHeader:
            segment = block.segments[number]
            part = self._continuation(draft) if number else draft.without("WARC-Truncated")
            part.add("WARC-Segment-Number", str(number + 1))
            if number == len(block.segments) - 1:
                part.add("WARC-Segment-Total-Length", str(block.length))
                part.add("WARC-Truncated", draft.get("WARC-Truncated"))
            part = part.without("WARC-Block-Digest", "Content-Length")
            if self._digest is not None and segment.block is not None:
                part.add("WARC-Block-Digest", str(Digest.of(self._digest, segment.block.digest())))
            return part.header(segment.length)

        return self._files.write_segments(
            len(block.segments),
            lambda file, number: file.assembly.add_spooled(header(number), block, number),
        )


def _is_repeatable(digests: BlockDigests) -> bool:
    """Tell whether a revisit can replace a block: it has a payload, and no trailer fields, which would go."""
    return digests.payload_size > 0 and not digests.has_trailer
