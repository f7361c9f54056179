"""Lines of CDXJ and of columnar indexes, made of the records of a file.

The lines are those of cdxj-indexer, for .warc.zst, .warc.gz and .warc. Only the HTTP head of large records is
decompressed, unless the header states no digest of the payload, or a columnar index needs the size of a body
in chunked transfer coding. Lines of large records have an additional field, which names the record's seek
table if that agrees with the frames, and says that none is to be trusted otherwise. A sidecar is named if it
was made in the same run: nothing less shows that it is right.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import urljoin

from seekwarc.cdx.limits import MAX_CELL_SIZE
from seekwarc.collection.entry import is_listed, is_listed_as, with_next
from seekwarc.compiling import mypyc_attr
from seekwarc.errors import FormatError
from seekwarc.format.cdxj import (
    REVISIT,
    TABLE_FIELD,
    TYPE_FIELD,
    CdxjLine,
    is_capture,
    stated_type,
    timestamp_of,
)
from seekwarc.format.dates import WarcDate
from seekwarc.format.digest import Digest
from seekwarc.format.http import HttpHead
from seekwarc.format.post import MAX_BODY_SIZE, body_query, with_query
from seekwarc.format.seektable import SidecarReference, TableTrust
from seekwarc.format.surt import surt
from seekwarc.format.words import quoted
from seekwarc.jobs.problems import OncePerPlace, OnProblem
from seekwarc.read.digests import BlockDigests
from seekwarc.read.reader import Reader
from seekwarc.read.record import Record
from seekwarc.read.resync import is_shared
from seekwarc.read.zstd_body import table_choice
from seekwarc.scale.rows import size_of

__all__ = ["LineOptions", "Lines", "Place", "digest_block", "has_line", "timestamp_in_index"]

METHODS_WITH_BODY: Final = ("POST", "PUT")
NOTHING: Final = ("", "")
"""No method and body: for a request of another method."""
UNSTATED_BODY: Final = 8 << 10
"""Bytes of a request body that are used if there is no Content-Length."""
MAX_DATE: Final = 40
"""Characters of a date that is remembered."""
MAX_TEXT: Final = MAX_CELL_SIZE // 3
"""Characters of a text in a columnar index: escaped, as in a key, each may take three bytes."""
STEP: Final = 1 << 20
PAYLOAD_SIZE: Final = "payloadSize"
REDIRECTS: Final = (301, 302, 303, 307, 308)

Place: TypeAlias = tuple[str, int]
"""Name of a file in the index, and an offset in it."""


@mypyc_attr(native_class=False)
@dataclass(frozen=True, slots=True, kw_only=True)
class LineOptions:
    """Which records get lines, and what is in these; see `index`."""

    all_records: bool = False
    post_append: bool = False
    stated_digests: bool = False
    details: bool = False


class _Draft(NamedTuple):
    """What is known of a record's line before the next record is read."""

    record: Record
    fields: dict[str, str] | None
    """None if the record gets no line."""
    request: tuple[str, str] | None
    """Method and body of a request; None for other records, and for other methods than POST and PUT."""


class Lines:
    """The lines of a file, in file order.

    Resources of the type application/warc-fields get none, since they are notes of crawlers. Neither do
    metadata, which most crawlers give the URI and date of their page: replay would show them for it. Nor do
    answers to CONNECT.
    """

    def __init__(
        self,
        archive: Reader,
        filename: str,
        wanted: LineOptions,
        on_problem: OnProblem,
        sidecar: SidecarReference | None = None,
        *,
        listed: Container[int] = (),
    ) -> None:
        self._archive = archive
        self._sidecar = sidecar
        self._listed = listed
        self._filename = filename
        self._wanted = wanted
        self._report = OncePerPlace(on_problem)
        self.done: list[Place] = []
        """Where damage was found."""

    @property
    def is_damaged(self) -> bool:
        """Whether damage was found."""
        return bool(self.done)

    def lines(self) -> Iterator[bytes]:
        """Yield the lines as they are written."""
        for line in self:
            yield line.build()

    def __iter__(self) -> Iterator[CdxjLine]:
        sent: tuple[str, str] | None = None
        carried: tuple[str, str] | None = None
        try:
            for record, draft, following, is_damaged in with_next(self._archive, self._drafted, self._note):
                sent, carried = carried, None
                if sent is None and following is not None and self._wanted.post_append:
                    sent = carried = _sent_between(draft, following)
                if draft.fields is not None and not is_damaged:
                    try:
                        yield self._line(record, draft.fields, sent)
                    except FormatError as error:
                        self._report(error.located(record.source, record.offset))
        except FormatError as damage:
            self._note(damage)

    def _note(self, damage: FormatError) -> None:
        self.done.append((self._filename, damage.offset or 0))
        self._report(damage)

    def _drafted(self, record: Record) -> _Draft:
        wanted = self._wanted
        fields = request = None
        try:
            uri, kind = record.target_uri, record.type
            if wanted.post_append and kind == "request":
                request = sent_by(record)
            if uri is not None and (wanted.all_records or is_listed_as(record, uri, kind)):
                known = _fields(record, uri, kind, wanted)
                if wanted.details:
                    known |= _details(record)
                    _check_lengths(known)
                fields = known
                if wanted.details and PAYLOAD_SIZE not in fields:
                    fields[PAYLOAD_SIZE] = str(size_of(record))
        except FormatError as error:
            # Damage within the record; iteration shows whether the file can be read further.
            self._report(error.located(record.source, record.offset))
        return _Draft(record, fields, request)

    def _line(self, record: Record, fields: dict[str, str], sent: tuple[str, str] | None) -> CdxjLine:
        if record.is_cut_off and record.problem is not None:
            raise FormatError(record.problem)
        if is_shared(record) or not record.length:
            raise FormatError(
                "this record shares its frame or gzip member with others, so it gets no line; "
                "`seekwarc convert` repairs that"
            )
        timestamp = timestamp_in_index(record)
        fields |= {"length": str(record.length), "offset": str(record.offset), "filename": self._filename}
        is_in_sidecar = record.offset in self._listed
        table = self._sidecar if self._sidecar is not None and is_in_sidecar else table_choice(record)
        if table is not TableTrust.CLAIMED:
            fields[TABLE_FIELD] = str(table)
        uri = fields["url"]
        key = None
        if sent is not None and sent != NOTHING:
            method, query = sent
            key = surt(with_query(uri, method, query))
            if record.type == "response":
                fields |= {"requestBody": query, "method": method.upper()}
        return CdxjLine(surt(uri) if key is None else key, timestamp, fields)


def has_line(record: Record) -> bool:
    """Return whether a record gets a line in an index of captures, if nothing else is wrong with it."""
    try:
        return is_listed(record) and bool(timestamp_in_index(record))
    except FormatError:
        return False


def timestamp_in_index(record: Record) -> str:
    """Return the date of a record as its line has it; `FormatError` if it has none that a line can have."""
    stated = record.header.get("WARC-Date")
    timestamp = _timestamp(stated or "")
    if timestamp is None:
        has = f"a malformed WARC-Date, {quoted(stated[:40])}" if stated is not None else "no WARC-Date"
        raise FormatError(f"this record has {has}, so it gets no line")
    return timestamp


def _timestamp(stated: str) -> str | None:
    return _known_timestamp(stated) if len(stated) <= MAX_DATE else _new_timestamp(stated)


def _new_timestamp(stated: str) -> str | None:
    try:
        date = WarcDate.parse(stated)
    except FormatError:
        return None
    return timestamp_of(date)


# Records that were captured in a second follow each other.
_known_timestamp = lru_cache(64)(_new_timestamp)


def _sent_between(one: _Draft, other: _Draft) -> tuple[str, str] | None:
    """Return method and body of two records that are a request and its response; None if they are not."""
    first, second = one.record, other.record
    # Either may name the other, whichever comes first; cdxj-indexer asks the second only.
    is_named = second.concurrent_to[:1] == (first.id,) or first.concurrent_to[:1] == (second.id,)
    if first.target_uri != second.target_uri or not is_named:
        return None
    requests = {first.type: one.request, second.type: other.request}
    return (requests["request"] or NOTHING) if requests.keys() == {"request", "response"} else None


def _fields(record: Record, uri: str, kind: str | None, wanted: LineOptions) -> dict[str, str]:
    fields = {"url": uri}
    head = record.http
    mime: str | None = REVISIT
    if kind in ("response", "request"):
        mime = stated_type(head.get("Content-Type") if head is not None else None)
    elif kind != "revisit":
        mime = stated_type(record.content_type)
    # Unless all records are listed, only captures are.
    if wanted.all_records and not is_capture(kind, mime, uri):
        fields[TYPE_FIELD] = kind or ""
    if mime is not None:
        fields["mime"] = mime
    if head is not None and head.status is not None:
        fields["status"] = str(head.status)
    digest = record.header.get("WARC-Payload-Digest")
    if digest is None and kind not in ("revisit", "request"):
        digest, size = _made_digest(record, head, wanted)
        if size is not None:
            fields[PAYLOAD_SIZE] = str(size)
    if digest is not None:
        fields["digest"] = digest
    return fields


def _check_lengths(fields: Mapping[str, str]) -> None:
    """Refuse a text that would be a cell too large for readers, who would refuse other rows with it."""
    name = max(fields, key=lambda it: len(fields[it]))
    if len(fields[name]) > MAX_TEXT:
        raise FormatError(
            f"the {'target URI' if name == 'url' else name} of this record has {len(fields[name])} "
            f"characters, so it gets no line in a columnar index; the limit is {MAX_TEXT}"
        )


def _details(record: Record) -> dict[str, str]:
    """Return what a columnar index has besides, by the names that `cdx.columnar` knows."""
    head = record.http
    redirect = head.get("Location") if head is not None and head.status in REDIRECTS else None
    if redirect is not None and record.target_uri is not None:
        # A URL that cannot be parsed is kept unchanged.
        with contextlib.suppress(ValueError):
            redirect = urljoin(record.target_uri, redirect)
    detected = record.identified_payload_type
    charset = head.charset if head is not None else None
    frames = record.body.frames
    found: dict[str, object] = {
        "redirect": redirect,
        "mime-detected": detected.essence if detected is not None else None,
        "charset": charset.upper() if charset is not None else None,
        "truncated": record.truncated,
        "recordId": record.id,
        TYPE_FIELD: record.type,
        "payloadOffset": len(record.header.raw) + (head.size if head is not None else 0),
        "frames": len(frames) if frames is not None else None,
        "refersToUri": record.refers_to_target_uri,
        "refersToDate": record.header.get("WARC-Refers-To-Date"),
    }
    return {name: str(value) for name, value in found.items() if value is not None}


def _made_digest(record: Record, head: HttpHead | None, wanted: LineOptions) -> tuple[str | None, int | None]:
    """Return the digest of a payload, and, if its chunks were read for that, its size."""
    if head is None:
        # The payload is the block.
        stated = record.block_digest
        if stated is not None:
            raw = stated.raw if stated.name == "sha1" else None
            return str(Digest.of("sha1", raw) if raw is not None else stated), None
    if wanted.stated_digests:
        return None, None
    # Both come of one pass, for a pipe cannot be read twice.
    is_counted = wanted.details and head is not None and head.chunked
    stated = record.payload_digest if is_counted else None
    digests = BlockDigests(
        head,
        payload=stated.hasher() if stated is not None else None,
        transferred=(hasher := hashlib.sha1(usedforsecurity=False)),
        stated=stated.raw if stated is not None else None,
    )
    digest_block(record, digests)
    digests.finish(truncated=record.truncated is not None)
    return str(Digest.of("sha1", hasher.digest())), digests.payload_size if is_counted else None


def digest_block(record: Record, digests: BlockDigests) -> None:
    """Add the block of a record to digests, which are not finished."""
    position = 0
    while data := record.block.pread(position, STEP):
        position += len(data)
        digests.add(data)


def sent_by(request: Record) -> tuple[str, str] | None:
    """Return method and body of a request, the body as a query; None for methods without a body."""
    head = request.http
    if head is None or head.method is None or head.method.upper() not in METHODS_WITH_BODY:
        return None
    # As in cdxj-indexer, only a method in capitals has a body.
    has_body = head.method in METHODS_WITH_BODY
    return head.method, body_query(head.get("Content-Type") or "", _body(request, head)) if has_body else ""


def _body(request: Record, head: HttpHead) -> bytes:
    stated = head.get("Content-Length")
    size = UNSTATED_BODY if stated is None else head.content_length or 0
    size = min(size, MAX_BODY_SIZE)
    try:
        with request.payload.open_decoded(limit=MAX_BODY_SIZE) as file:
            found = b""
            while len(found) < size and (data := file.read(size - len(found))):
                found += data
            return found
    except FormatError:
        # The content coding is damaged or unknown.
        return request.payload.pread(0, size)
