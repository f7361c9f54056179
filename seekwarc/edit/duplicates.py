"""Which records have the payload of an older one, and how they are changed: into revisits of it, and back.

All records are listed in a table on disk, by what their headers state. Of those with equal payload digests,
each is compared byte by byte with the oldest ones, and becomes a revisit of the first that is equal. This
makes no chains: if that one were equal to an older one, the record would equal that as well.

These records are left alone because a revisit of them could not be resolved, or could not be undone:

- records that are truncated, segmented, share a gzip member, or lack an ID, a URI or a date;
- records that share their ID with another, and those whose digests are wrong;
- those whose chunked body is followed by trailer fields, which no revisit keeps;
- those to which a revisit refers that has no HTTP head or is a server-not-modified one, and those whose URI
  it has or names: it takes the head of its original;
- records without an HTTP head, unless type and Content-Type are those of the original.

Source: WARC 1.1, clause 6.7.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections import Counter, OrderedDict
from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import Final, SupportsIndex

from seekwarc.closing import Closing, Recent
from seekwarc.collection.entry import Entry, describe
from seekwarc.collection.record_table import RecordTable
from seekwarc.collection.revisits import originals
from seekwarc.compiling import override
from seekwarc.edit.changing import OF_REVISITS, Change, Place, place_of, repointed
from seekwarc.edit.listed_captures import MAX_FOLLOWED, TYPES, ListedCapture, dated, followed, may_lead_to
from seekwarc.edit.listing import Described, Listing
from seekwarc.edit.repeats import Repeats
from seekwarc.errors import FormatError, NotFoundError
from seekwarc.format.digest import Digest, WrittenAlgorithm, labelled
from seekwarc.format.profiles import is_identical_payload, is_server_not_modified
from seekwarc.format.seektable import TableChoice, TableTrust
from seekwarc.format.uri import normalized
from seekwarc.format.warc import RECORD_END
from seekwarc.options import integer
from seekwarc.read.chunked_payload import ChunkedExtent
from seekwarc.read.digests import DigestVerdict, check_payload_digest
from seekwarc.read.extent import Extent
from seekwarc.read.options import ReadOptions
from seekwarc.read.reader import Reader, WholeReader
from seekwarc.read.record import Record
from seekwarc.write.dedup import Original, revisit_of
from seekwarc.write.forms import form_of
from seekwarc.write.header import HeaderDraft
from seekwarc.write.options import WriteOptions

__all__ = [
    "AGAIN",
    "REVISIT",
    "Changes",
    "Duplicates",
    "OpenFiles",
    "Originals",
    "can_be_full",
    "full",
    "have_same",
    "have_same_bytes",
]

MAX_OPEN: Final = 16
"""Files that are open at a time, to compare their records."""
MAX_KEPT: Final = 4
"""Records of each that stay open: of one that is compared, more than its payload is asked for."""
CACHE_SIZE: Final = 4 << 20
"""Bytes of decoded frames that are kept of each."""
MAX_COMPARED: Final = 4
"""Oldest records of a digest with which others are compared. More than one are only different if one lies."""
STEP: Final = 1 << 20
NEEDS_HEAD: Final = 304
"""Marks, as its status, a revisit that takes the HTTP head of its original; its `mime` is the URI named."""
ELIGIBLE: Final = 2
"""Status that marks records that may become revisits, or the originals of some."""
MAX_DISPUTED: Final = 16
"""Records of a digest and type that are compared to see whether one lies."""

REVISIT: Final = "revisits of older records now"
AGAIN: Final = "full records again"

DAMAGED: Final = "damaged, or a digest is wrong"
OTHER_BYTES: Final = "other bytes with the same digest, or of another type"
SHARED_ID: Final = "another record has the same ID"
TRAILER: Final = "trailer fields follow its chunked body, which a revisit would not keep"
HEAD_IS_NEEDED: Final = "a revisit without an HTTP head, or server-not-modified, refers to it or its URI"
AGAINST_RULES: Final = "its header breaks a rule of the standard"
NO_ORIGINAL: Final = "the original is not in these files"
SHARES_MEMBER: Final = "it shares its gzip member with other records"
OTHER_PROFILE: Final = "a revisit of another profile, or without a payload digest"

OF_BLOCKS: Final = ("WARC-Type", "WARC-Truncated", "WARC-Block-Digest", "Content-Length")


class OpenFiles(Closing):
    """Files whose records are read in any order; the last few stay open."""

    def __init__(self, files: Mapping[str, str], limits: ReadOptions) -> None:
        self._files = files
        self._limits = limits.but(cache_size=CACHE_SIZE)
        self._open: OrderedDict[str, tuple[Reader, Recent[tuple[object, ...], Record]]] = OrderedDict()

    def record(
        self, name: str, offset: int, length: int | None, *, table: TableChoice = TableTrust.CLAIMED
    ) -> Record:
        """Open a record of a file."""
        if name not in self._open:
            self._open[name] = WholeReader(self._files[name], **self._limits), Recent(MAX_KEPT)
            if len(self._open) > MAX_OPEN:
                self._open.popitem(last=False)[1][0].close()
        self._open.move_to_end(name)
        reader, recent = self._open[name]
        known = recent.get(key := (offset, length, table))
        return known or recent.put(key, reader.record_at(offset, length or None, table=table))

    def close(self) -> None:
        """Close the files. Idempotent."""
        while self._open:
            self._open.popitem()[1][0].close()


class Changes(Closing):
    """The records of several files, by name, and which of them are changed."""

    def __init__(self, files: Mapping[str, str], limits: ReadOptions) -> None:
        self._files = OpenFiles(files, limits)
        self._table = RecordTable()
        self.entries = self._table.entries
        self._disputed: Recent[tuple[str, bytes], bool] = Recent(1000)
        self.left: Counter[str] = Counter()
        """Records that stay, by reason."""
        self.content_saved = self.stored_saved = 0
        """Bytes that the changed records have less, decompressed and, of revisits, compressed."""
        self._encoder = form_of("zst", WriteOptions()).encoder

    def close(self) -> None:
        """Close the files and delete the table. Idempotent."""
        self._table.close()
        self._files.close()

    def add(self, entries: Iterable[Entry], left_out: Container[Place]) -> None:
        """List the intact records of a file, but for some."""
        self._table.extend(entry for entry in entries if place_of(entry) not in left_out)

    @property
    def rows(self) -> int:
        """How many records are listed."""
        return self._table.rows

    def finish(self) -> None:
        """End the list."""
        self._table.finish()

    def of(self, entry: Entry) -> Change | None:
        """Return what a record becomes, or None if it stays."""
        try:
            found = self._change_of(entry)
        except FormatError:
            found = DAMAGED
        except ValueError:
            found = AGAINST_RULES
        if isinstance(found, str):
            self.left[found] += 1
            return None
        if found is not None:
            self.content_saved += found.size - found.header.record_size
            if found.kind == REVISIT:
                content = b"".join([found.header.raw, *found.pieces(), RECORD_END])
                self.stored_saved += (entry.length or 0) - len(self._encoder.encode(content).data)
        return found

    @property
    @abstractmethod
    def listing(self) -> Listing[Entry]:
        """Makes the entries of a file for `add`."""

    @abstractmethod
    def _change_of(self, entry: Entry) -> Change | str | None:
        """Return what a record becomes, why it stays, or None if it is not in question."""

    def _is_disputed(self, digest: Digest, record: Record) -> bool:
        """Tell whether another record states the digest of this one's payload for other bytes.

        Which of them a revisit of that digest gets may depend on which of them is a revisit itself.
        """
        key = digest.key
        if (known := self._disputed.get(key)) is None:
            alike = [it for kind in TYPES for it in self._table.oldest(MAX_DISPUTED, digest, type=kind)]
            payloads = (self._record(it).payload for it in alike if not it.skip)
            known = not all(have_same_bytes(record.payload, other) for other in payloads)
            self._disputed.put(key, known)
        return known

    def _record(self, entry: Entry) -> Record:
        if entry.skip:
            raise FormatError(SHARES_MEMBER, source=entry.filename, offset=entry.offset)
        return self._files.record(entry.filename, entry.offset, entry.length, table=entry.table)


class Duplicates(Changes):
    """Records that become revisits of older ones with the same payload, and revisits of those."""

    types: tuple[str, ...] = TYPES
    """Types of the records that become revisits, or the originals of some."""

    def __init__(self, files: Mapping[str, str], limits: ReadOptions, min_size: SupportsIndex) -> None:
        super().__init__(files, limits)
        self._min_size = max(integer("min_size", min_size), 1)
        self._known: Recent[Place, Entry | str | None] = Recent(1000)
        self._repeats = Repeats()
        """Digests of the records that may become revisits, or the originals of some."""
        self._ids = Repeats()
        """IDs of all records."""
        self._has_revisits = self._needs_heads = False
        """Whether there is a revisit, and one that needs the head of its original."""

    @property
    @override
    def listing(self) -> Listing[Entry]:
        return Described(partial(_described, self._min_size, self.types))

    @override
    def add(self, entries: Iterable[Entry], left_out: Container[Place]) -> None:
        super().add(map(self._noted, entries), left_out)

    def _noted(self, entry: Entry) -> Entry:
        if entry.status == ELIGIBLE and entry.payload_digest is not None:
            self._repeats.add(entry.payload_digest.key)
        self._ids.add(entry.id)
        self._has_revisits |= entry.type == "revisit"
        self._needs_heads |= entry.status == NEEDS_HEAD
        return entry

    def _change_of(self, entry: Entry) -> Change | str | None:
        if entry.type == "revisit":
            return self._repointed(entry)
        original = self._original(entry)
        if not isinstance(original, Entry):
            return original
        record = self._record(entry)
        http = record.http
        draft = HeaderDraft(record.header)
        draft.add("WARC-Payload-Digest", str(entry.payload_digest))
        revisit = revisit_of(draft, _named(original))
        if revisit is None:
            return AGAINST_RULES
        revisit.add("Content-Type", record.header.get("Content-Type") if http is not None else None)
        revisit.add("WARC-Refers-To-Container", self._container(entry, original))
        return _changed(REVISIT, record, revisit, record.block.pread(0, http.size if http is not None else 0))

    def _repointed(self, entry: Entry) -> Change | None:
        """Change a revisit that names its original, if that becomes a revisit: few tools follow chains."""
        if entry.status == NEEDS_HEAD or entry.skip:
            return None
        revisit = ListedCapture.of(self._record(entry), self._table, self._record)
        named = {it.key: self._original(it.entry) for it in (*revisit.by_id(), *revisit.by_date())}
        # Most name none that changes, and need not be followed.
        found = originals(revisit) if any(isinstance(it, Entry) for it in named.values()) else ()
        original = named.get(found[0].key) if found else None
        if not isinstance(original, Entry):
            return None
        return repointed(revisit.stored, _named(original), self._container(entry, original))

    def _container(self, entry: Entry, original: Entry) -> str | None:  # noqa: ARG002 - see `chaining`
        """Return the WARC-Refers-To-Container of a revisit."""
        return None

    def _older(self, entry: Entry, digest: Digest) -> list[Entry]:
        """Return records that state the digest of one, and of which it may become a revisit."""
        same = self._table.oldest(MAX_COMPARED, digest, status=ELIGIBLE)
        return list(takewhile(lambda it: place_of(it) != place_of(entry), same))

    def _original(self, entry: Entry) -> Entry | str | None:
        """Return the older record that has a record's payload, None if no other states it, or a reason."""
        digest = entry.payload_digest
        if digest is None or entry.status != ELIGIBLE or digest.key not in self._repeats:
            return None
        known = self._known.get(place_of(entry))
        return known or self._known.put(place_of(entry), self._oldest_equal(entry, digest))

    def _oldest_equal(self, entry: Entry, digest: Digest) -> Entry | str | None:
        older = self._older(entry, digest)
        if not older:
            return None
        if (reason := self._reason_to_stay(entry)) is not None:
            return reason
        record = self._record(entry)
        if record.payload.size < self._min_size:
            return None
        reason = TRAILER if _has_trailer(record) else OTHER_BYTES
        for other in older:
            try:
                if not self._shares_id(other) and have_same(record, self._record(other)):
                    if not all(check.verdict.is_good for check in record.check_digests()):
                        return DAMAGED
                    return OTHER_BYTES if self._may_mislead(digest, record, other) else other
            except FormatError:
                reason = DAMAGED
        return reason

    def _reason_to_stay(self, entry: Entry) -> str | None:
        """Return why a record must not become a revisit, by what others name.

        Revisits that need its head are not followed: a feed may have 500,000 of them, each with as many
        candidates. So any record stays that such a one names, or whose URI it names or has. A few that state
        its digest are followed, as others with the same may have the payload just as well.
        """
        if self._shares_id(entry):
            return SHARED_ID
        if not self._needs_heads:
            return None
        name = normalized(entry.uri or "")
        text = name.decode()
        named = ("refers_to", entry.id), ("uri", entry.uri), ("uri", text), ("spelling", name), ("mime", text)
        some = self._table.some
        is_needed = any(some(1, oldest=False, status=NEEDS_HEAD, **{field: it}) for field, it in named)
        if not is_needed and (digest := entry.payload_digest) is not None:
            alike = self._table.oldest(MAX_FOLLOWED + 1, digest, status=NEEDS_HEAD)
            is_needed = may_lead_to(place_of(entry), alike, self._table, self._record)
        return HEAD_IS_NEEDED if is_needed else None

    def _may_mislead(self, digest: Digest, record: Record, original: Entry) -> bool:
        """Tell whether a reader might find other bytes for a revisit of an original."""
        is_stated = self._record(original).header.get("WARC-Payload-Digest") is not None
        if not (self._has_revisits and self._table.oldest(1, digest, type="revisit")):
            return not is_stated and self._is_disputed(digest, record)
        # The new revisit would be the first to state the digest, and lead others there.
        is_new = not is_stated and record.header.get("WARC-Payload-Digest") is None
        return is_new or self._is_disputed(digest, record)

    def _shares_id(self, entry: Entry) -> bool:
        return entry.id in self._ids and len(self._table.some(2, id=entry.id)) > 1


def _described(min_size: int, types: tuple[str, ...], record: Record) -> Entry:
    """Return the entry of a record, with its payload digest if it can become a revisit."""
    entry = dated(describe(record))
    if entry.type == "revisit":
        if record.content_length and not is_server_not_modified(record.profile):
            return entry
        name = normalized(record.refers_to_target_uri or "").decode()
        return replace(entry, status=NEEDS_HEAD, mime=name)
    digest = entry.payload_digest
    status: int | None = ELIGIBLE
    if (
        entry.type not in types
        or (record.content_length < min_size or record.problem is not None or record.skip)
        or (record.truncated is not None or record.header.get("WARC-Segment-Number") is not None)
        or not (entry.id and entry.uri and entry.date)
    ):
        status = None
    elif digest is None and record.header.get("WARC-Payload-Digest") is None:
        digest = _sha1_of(record.payload)
    elif digest is not None and digest.hasher() is None:
        status = None
    return replace(entry, payload_digest=digest, status=status)


def _dated(record: Record) -> Entry:
    return dated(describe(record))


class Originals(Changes):
    """Revisits that become full records again, with the payloads of their originals."""

    listing = Described(_dated)

    def _change_of(self, entry: Entry) -> Change | str | None:
        if entry.type != "revisit":
            return None
        if entry.skip:
            return SHARES_MEMBER
        revisit = ListedCapture.of(self._record(entry), self._table, self._record)
        if not can_be_full(revisit.stored):
            return OTHER_PROFILE
        try:
            revisit.check()
            found = originals(revisit)
        except NotFoundError:
            found = ()
        if not found or entry.payload_digest is None:
            return NO_ORIGINAL
        original = found[-1].logical
        made = full(revisit.stored, original)
        misleads = isinstance(made, Change) and self._may_mislead(entry.payload_digest, original)
        return OTHER_BYTES if misleads else made

    def _may_mislead(self, digest: Digest, original: Record) -> bool:
        """Tell whether a full record with a digest might give other revisits of it another payload."""
        if not self._is_disputed(digest, original):
            return False
        # If all of them lead to the same bytes, they do so whichever of them are full records.
        others = self._table.oldest(MAX_FOLLOWED + 1, digest, type="revisit")
        paths = followed(others, self._table, self._record) or [()]
        return not all(it and have_same_bytes(it[-1].logical.payload, original.payload) for it in paths)


def can_be_full(revisit: Record) -> bool:
    """Tell whether a revisit can become a full record again, if its original is there."""
    is_whole = revisit.header.get("WARC-Segment-Number") is None and not revisit.skip
    return is_identical_payload(revisit.profile) and revisit.payload_digest is not None and is_whole


def full(revisit: Record, original: Record) -> Change | str:
    """Return the full record that a revisit represents, or why it must stay."""
    check = check_payload_digest(revisit, original, original.http, original.block)
    right = [DigestVerdict.VALID]
    if revisit.http is None or (_is_chunked(revisit) and _is_chunked(original)):
        right.append(DigestVerdict.TRANSFERRED)
    if check is None or check.verdict not in right or original.truncated is not None:
        return DAMAGED
    return _full(revisit, original)


def _full(revisit: Record, original: Record) -> Change:
    """Return the full record that a revisit represents."""
    draft = HeaderDraft(revisit.header).without(*OF_REVISITS, *OF_BLOCKS)
    http, other = revisit.http, original.http
    if http is None:
        # Nothing but the payload is known of it: the rest is as of the original.
        kind, content_type = original.type or "resource", original.header.get("Content-Type")
        draft = HeaderDraft([("WARC-Type", kind), *draft.without("Content-Type")])
        draft.add("Content-Type", content_type)
        return _changed(AGAIN, revisit, draft, original.block)
    draft = HeaderDraft([("WARC-Type", "response"), *draft])
    head, payload = revisit.block.pread(0, http.size), original.payload
    if not http.chunked:
        return _changed(AGAIN, revisit, draft, head, payload)
    if other is not None and other.chunked:
        start = len(original.header.raw)
        body = Extent(original.body, start + other.size, start + original.content_length)
        return _changed(AGAIN, revisit, draft, head, body)
    chunk = (b"%x\r\n" % payload.size, payload, b"\r\n") if payload.size else ()
    return _changed(AGAIN, revisit, draft, head, *chunk, b"0\r\n\r\n")


def _is_chunked(record: Record) -> bool:
    return record.http is not None and record.http.chunked


def _has_trailer(record: Record) -> bool:
    """Return whether trailer fields follow a chunked body, whose size was asked for."""
    payload = record.payload
    return isinstance(payload, ChunkedExtent) and bool(payload.trailer.strip())


def have_same(record: Record, older: Record) -> bool:
    """Tell whether a record can be a revisit of another one, whose payload is equal byte by byte."""
    http, other = record.http, older.http
    if http is None:
        # A revisit without a head does not say of what type it was.
        if other is not None or record.type != older.type or record.content_type != older.content_type:
            return False
    elif other is not None and http.chunked != other.chunked:
        return False
    one, two = record.payload, older.payload
    if one.problem is not None or two.problem is not None or not have_same_bytes(one, two):
        return False
    return not (_has_trailer(record) or _has_trailer(older))


def have_same_bytes(one: Extent, two: Extent) -> bool:
    """Tell whether two payloads are equal byte by byte."""
    if one.size != two.size:
        return False
    return all(one.pread(start, STEP) == two.pread(start, STEP) for start in range(0, one.size, STEP))


def _named(entry: Entry) -> Original:
    return Original(entry.id or "", entry.uri or "", entry.date.text if entry.date is not None else "")


def _changed(kind: str, record: Record, draft: HeaderDraft, *block: bytes | Extent) -> Change:
    """Complete the header of a record whose block is changed."""
    stated = draft.get("WARC-Payload-Digest") or ""
    algorithm: WrittenAlgorithm = "sha256" if stated.lower().startswith("sha256:") else "sha1"
    change, hasher, size = Change(kind, record.size, draft.header(0), block), hashlib.new(algorithm), 0
    for piece in change.pieces():
        hasher.update(piece)
        size += len(piece)
    draft.add("WARC-Block-Digest", labelled(algorithm, hasher.digest()))
    draft.check()
    return change._replace(header=draft.header(size))


def _sha1_of(payload: Extent) -> Digest | None:
    hasher = hashlib.sha1(usedforsecurity=False)
    try:
        for start in range(0, payload.size, STEP):
            hasher.update(payload.pread(start, STEP))
    except FormatError:
        return None
    return Digest.of("sha1", hasher.digest())
