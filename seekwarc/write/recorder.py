"""Completes records and puts them into files: adds digests, finds duplicates, makes segments.

There are four ways into a file. A block of at most one frame is read into memory. A larger one whose digests
and length are known first (it is in memory, or no digests are wanted) is compressed straight into the file.
So is one of which only the length is known, if what was written can be replaced: its header gets the digests
just before its last frame is written, in room that was kept for them. Any other is compressed into a spool
first (see `spool`), as is every one that may turn out to be a duplicate, and every large one if files have a
maximum size, since only its compressed size tells which file it goes into, and whether it must be cut into
segments.

Source: WARC 1.1, clauses 5.8, 5.9, 6.7.2 and 7.
"""

from __future__ import annotations

import hashlib
import os
from typing import Final, NamedTuple

from seekwarc.errors import FormatError
from seekwarc.format.buffer import Buffer
from seekwarc.format.digest import Digest, Hasher, WrittenAlgorithm
from seekwarc.format.http import HttpHead, is_http_block, parse_http_head
from seekwarc.format.profiles import IDENTICAL_PAYLOAD_DIGEST
from seekwarc.format.warc import RECORD_END, RecordHeader, edit_header, pad_header
from seekwarc.format.warc_fields import DefinedFields
from seekwarc.format.words import counted
from seekwarc.read.digests import BlockDigests
from seekwarc.write.assembly import OWN_TABLE, stored_bound
from seekwarc.write.block_reader import BlockSource, ReadableStream, length_of
from seekwarc.write.dedup import Original
from seekwarc.write.header import HeaderDraft, bracketed, new_id
from seekwarc.write.options import WriteOptions
from seekwarc.write.series import MARGIN, FileSeries
from seekwarc.write.spool import SpooledBlock
from seekwarc.write.written import Written

__all__ = ["Recorder"]

GROWTH: Final = 110
"""Size that a file may at least have after it was read, in percent of the size before."""
MAX_LENGTH: Final = 10**13
"""A length with more digits than that of any block, to estimate the size of a header before it is known."""


class _Block(NamedTuple):
    """The block of a record that is being written."""

    source: BlockSource
    beginning: bytes | memoryview
    """All of it, or a beginning that is longer than a frame."""
    is_whole: bool
    http: HttpHead | None
    length: int | None
    """Its length; None if it is not known."""
    expected: int | None = None
    """The length that it should have, if that is known; it may turn out to have another."""


class Recorder:
    """Completes records and puts them into the files of a writer."""

    def __init__(self, files: FileSeries, options: WriteOptions) -> None:
        self._files = files
        self._frame_size = options.frame_size
        self._digest: WrittenAlgorithm | None = options.digest
        self._dedup = options.dedup

    def write(self, draft: HeaderDraft, block: Buffer | ReadableStream, length: int | None) -> Written:
        """Write a record whose header is complete but for digests and Content-Length."""
        if draft.get("WARC-Type") != "warcinfo":
            self._files.begin()
        opened = self._open(block, length, draft)
        if len(opened.beginning) <= self._frame_size:
            return self._write_small(draft, opened)
        digests = self._digests(draft, opened.http)
        if self._files.max_size is not None or not (opened.is_whole or self._is_ready(opened, digests)):
            return self._write_spooled(draft, opened)
        if not opened.is_whole:
            return self._write_at_once(draft, opened, digests)
        digests.add(opened.beginning)
        revisit = self._complete(draft, digests, digests.block)
        if revisit is not None:
            return self._write_revisit(revisit, draft, opened)
        header = draft.header(len(opened.beginning))
        return self._noted(draft, self._files.current.assembly.add(header, opened.source, RECORD_END))

    def _is_ready(self, block: _Block, digests: BlockDigests) -> bool:
        """Tell whether a record can be written at once, its header completed after its block was read."""
        if block.expected is None or block.expected <= self._frame_size:
            return False
        if self._digest is None and block.length is not None:
            return True
        may_be_duplicate = self._dedup is not None and digests.payload is not None
        return not may_be_duplicate and self._files.current.assembly.layout.can_rewrite

    def _write_at_once(self, draft: HeaderDraft, block: _Block, digests: BlockDigests) -> Written:
        """Write a record of known length; its digests, if it gets any, are known after its block."""
        assembly, expected = self._files.current.assembly, block.expected or 0
        if self._digest is None and block.length is not None:
            header = draft.header(expected)
            return self._noted(draft, assembly.add(header, block.source, RECORD_END))
        late = _LateHeader(draft, self._digest, digests, expected)
        return self._noted(draft, assembly.add(late.unfinished, block.source, RECORD_END, late))

    def _open(self, block: Buffer | ReadableStream, length: int | None, draft: HeaderDraft) -> _Block:
        # A block that is already in memory, or small, is looked at as a whole.
        whole = _as_bytes(block, length)
        expected = length_of(block) if whole is None and length is None else length
        source = BlockSource(block, length)
        beginning = source.peek(self._frame_size + 1) if whole is None else whole
        is_whole = whole is not None or len(beginning) <= self._frame_size
        is_http = is_http_block(draft.get("Content-Type"))
        http = parse_http_head(beginning, whole=is_whole) if is_http else None
        return _Block(source, beginning, is_whole, http, length, expected)

    def _digests(self, draft: HeaderDraft, http: HttpHead | None) -> BlockDigests:
        """Return the digests to compute of a record: of its block and, if it has one, of its payload."""
        if self._digest is None:
            return BlockDigests(None)
        kind = draft.get("WARC-Type")
        is_response = kind == "response" and http is not None and http.status is not None
        has_payload = is_response or (kind == "resource" and self._dedup is not None)
        if draft.get("WARC-Segment-Number") is not None:
            has_payload = False  # The digest of a segment is that of the whole record's payload (clause 5.9).
        return BlockDigests(
            http if is_response else None,
            block=hashlib.new(self._digest),
            payload=hashlib.new(self._digest) if has_payload else None,
        )

    def _complete(
        self, draft: HeaderDraft, digests: BlockDigests, block: Hasher | None
    ) -> HeaderDraft | None:
        """Add the digests. If the payload was archived before, return the header of a revisit of it."""
        if not _add_digests(draft, self._digest, digests, block):
            return None
        stated = draft.get("WARC-Payload-Digest")
        if self._dedup is None or stated is None or not digests.payload_size:
            return None
        if draft.get("WARC-Truncated") is not None:
            return None
        original = self._dedup.find(Digest.parse(stated))
        return _revisit_of(draft, original) if original is not None else None

    def _noted(self, draft: HeaderDraft, written: Written) -> Written:
        """Remember a payload that was written, to find later duplicates of it."""
        is_whole = draft.get("WARC-Truncated") is None and draft.get("WARC-Segment-Number") is None
        if self._dedup is not None and is_whole and written.type in ("response", "resource"):
            digest, uri = DefinedFields(written.header).payload_digest, written.target_uri
            if digest is not None and uri:
                self._dedup.add(digest, Original(written.id, uri, written.header["WARC-Date"]))
        return written

    def _write_small(self, draft: HeaderDraft, block: _Block) -> Written:
        digests = self._digests(draft, block.http)
        digests.add(block.beginning)
        revisit = self._complete(draft, digests, digests.block)
        if revisit is not None:
            return self._write_revisit(revisit, draft, block)
        header = draft.header(len(block.beginning))
        file = self._files.room_for(stored_bound(len(header.raw) + len(block.beginning)))
        return self._noted(draft, file.assembly.add(header, block.source, RECORD_END))

    def _write_revisit(self, revisit: HeaderDraft, draft: HeaderDraft, block: _Block) -> Written:
        """Write a revisit: the header and, for a response, the HTTP head."""
        head = b""
        if draft.get("WARC-Type") == "response" and block.http is not None:
            head = bytes(block.beginning[: block.http.size])
            revisit.add("Content-Type", draft.get("Content-Type"))
        return self._write_small(revisit, _Block(BlockSource(head, None), head, True, None, None))

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
            block.source, block.http, digests.add, block.length, limits=limits, algorithm=self._digest
        ) as spooled:
            is_one = len(spooled.segments) == 1
            revisit = self._complete(draft, digests, spooled.segments[0].block if is_one else None)
            if revisit is not None:
                return self._write_revisit(revisit, draft, block)
            if not is_one:
                return self._noted(draft, self._write_segments(draft, spooled))
            file = self._files.room_for(spooled.size_bound + heads[0] + OWN_TABLE + MARGIN)
            return self._noted(draft, file.assembly.add_spooled(draft.header(spooled.length), spooled))

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
        later.add("WARC-Segment-Total-Length", str(MAX_LENGTH))
        later.add("WARC-Truncated", draft.get("WARC-Truncated"))
        lead = bytes(block.beginning[: block.http.size]) if block.http is not None else b""
        origin, continuation = (assembly.stored_size(part.header(MAX_LENGTH).raw) for part in (first, later))
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
        """Write a record that does not fit into one file as segments (clause 7)."""

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


class _LateHeader:
    """The header of a record whose digests are computed while its block is written.

    Until then it has none, but room for them at its end: so what a crash leaves of the record states nothing
    wrong, and its Content-Length shows that it is cut off.

    Attributes:
        unfinished: The header without digests.
        add: Takes the next bytes of the block.
    """

    def __init__(
        self, draft: HeaderDraft, algorithm: WrittenAlgorithm | None, digests: BlockDigests, length: int
    ) -> None:
        self._draft = draft
        self._algorithm: WrittenAlgorithm | None = algorithm
        self._digests = digests
        self.add = digests.add
        header = draft.header(length)
        wanted = {"WARC-Block-Digest": digests.block, "WARC-Payload-Digest": digests.payload}
        self._names = [name for name, hasher in wanted.items() if hasher and draft.get(name) is None]
        raw = hashlib.new(algorithm).digest_size if algorithm is not None else 0
        longest = str(Digest.of(algorithm or "sha1", bytes(raw)))
        whole = edit_header(header, (), [(name, longest) for name in self._names])
        growth = len(str(length * GROWTH // 100)) - len(str(length))
        self.unfinished = pad_header(header, len(whole.raw) + growth)

    def finish(self) -> RecordHeader:
        """Return the header with the digests; a payload whose chunks break off gets none.

        Raises:
            FormatError: The file that is read grew so much that there is no room for its length.
        """
        size = self._digests.size
        header = self._draft.header(size)
        _add_digests(self._draft, self._algorithm, self._digests, self._digests.block)
        found = [(name, value) for name in self._names if (value := self._draft.get(name)) is not None]
        header = edit_header(header, (), found)
        if len(header.raw) > len(self.unfinished.raw):
            raise FormatError(f"the file grew to {counted(size, 'byte')} while it was read")
        return pad_header(header, len(self.unfinished.raw))


def _add_digests(
    draft: HeaderDraft, algorithm: WrittenAlgorithm | None, digests: BlockDigests, block: Hasher | None
) -> bool:
    """End a block, and add its digests to the header; return whether there is one of its payload."""
    payload_is_whole = digests.finish()
    if algorithm is None:
        return False
    if block is not None:
        draft.add("WARC-Block-Digest", str(Digest.of(algorithm, block.digest())))
    if digests.payload is None or not payload_is_whole:
        return False
    draft.add("WARC-Payload-Digest", str(Digest.of(algorithm, digests.payload.digest())))
    return True


def _revisit_of(draft: HeaderDraft, original: Original) -> HeaderDraft | None:
    """Turn the header of a record into that of a revisit (clause 6.7.2).

    Returns:
        None if a field of the original is not valid in a header: then the payload is written again.
    """
    again = draft.without("WARC-Type", "WARC-Block-Digest", "Content-Length", "Content-Type")
    revisit = HeaderDraft([("WARC-Type", "revisit"), *again])
    revisit.add("WARC-Profile", IDENTICAL_PAYLOAD_DIGEST)
    revisit.add("WARC-Truncated", "length")
    revisit.add("WARC-Refers-To", bracketed(original.id))
    revisit.add("WARC-Refers-To-Target-URI", original.target_uri)
    revisit.add("WARC-Refers-To-Date", original.date)
    try:
        revisit.check()
    except ValueError:
        return None
    return revisit


def _as_bytes(block: Buffer | ReadableStream, length: int | None) -> memoryview | None:
    """Return a block that is in memory; None for a stream."""
    if not isinstance(block, bytes | bytearray | memoryview):
        return None
    view = memoryview(block).cast("B")
    if length is not None and length > len(view):
        raise FormatError(
            f"the block ended after {counted(len(view), 'byte')}, its Content-Length is {length}"
        )
    if length is not None and length < len(view):
        raise FormatError(f"the block has {counted(len(view), 'byte')}, its Content-Length is {length}")
    return view
