"""Writing each type of record with the fields that clause 6 of WARC 1.1 gives it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from datetime import datetime
from typing import Literal, Protocol, TypeAlias, TypedDict, Unpack, cast

from seekwarc.compiling import Buffer
from seekwarc.format.dates import WarcDate
from seekwarc.format.digest import Digest
from seekwarc.format.header_fields import format_fields
from seekwarc.format.profiles import IDENTICAL_PAYLOAD_DIGEST
from seekwarc.write.block_reader import Block, BlockSource, ReadableStream
from seekwarc.write.header import HeaderDraft, Headers, pairs_of
from seekwarc.write.record_parts import http_type, record_parts, response_parts, typed_parts
from seekwarc.write.written import Written

__all__ = ["CommonFields", "TypedWrites"]


class Url(Protocol):
    """A URL object, such as those of httpx and yarl."""

    def __str__(self) -> str: ...


OnInterrupt: TypeAlias = Literal["discard", "truncate"]

RecordId = str | Written
"""A record: what `write_*` returned for it, or its WARC-Record-ID with or without angle brackets."""


class CommonFields(TypedDict, total=False):
    """Fields that most types of records may have. IDs may be given with or without angle brackets."""

    date: datetime | WarcDate | str | None
    """WARC-Date; the current second unless given."""
    record_id: str | None
    """WARC-Record-ID; a random one unless given."""
    length: int | None
    """Bytes to take from a stream; all of it unless given."""
    concurrent_to: RecordId | Iterable[RecordId]
    """Records of the same capture event: what `write_*` returned for them, or their IDs."""
    ip_address: str
    truncated: str
    """Why the block is not complete: "length", "time", "disconnect" or "unspecified"."""
    warcinfo_id: RecordId
    identified_payload_type: str
    """Type that an independent check of the payload found."""
    headers: Headers
    """Further fields."""
    on_interrupt: OnInterrupt
    """What to do if an exception interrupts the block, or it ends before `length`; see `Writer.write`."""


class TypedWrites(ABC):
    """A method for each type of record. All of them end in `write`."""

    @abstractmethod
    def _write_draft(self, draft: HeaderDraft, source: BlockSource) -> Written:
        """Write a record whose header is complete but for digests and Content-Length."""

    def write(
        self,
        type: str,  # noqa: A002
        *,
        target_uri: str | Url | None = None,
        block: Block = b"",
        content_type: str | None = None,
        date: datetime | WarcDate | str | None = None,
        record_id: str | None = None,
        length: int | None = None,
        headers: Headers = (),
        on_interrupt: OnInterrupt = "discard",
    ) -> Written:
        """Write a record, with the fields added that every record must have.

        `write_response` and the other methods know what each type of record needs; they all call this one.

        WARC-Record-ID, WARC-Date, Content-Length, WARC-Block-Digest and, for an HTTP response,
        WARC-Payload-Digest (of its body without chunked coding) are added unless `headers` has them. A stream
        is read once and not kept in memory. If its length is known, as that of a file, its digests are put
        into the header when the block was written. Otherwise, or with `dedup` or `max_file_size`, its
        *compressed* frames wait in a temporary file.

        Args:
            type: WARC-Type (clause 6): "response", "resource", "request", ...
            target_uri: WARC-Target-URI; text, or a URL object such as those of httpx and yarl.
            block: The block's bytes, a binary file of them, or an iterable of pieces of them.
            content_type: Content-Type of the block.
            date: WARC-Date; an aware datetime, or the field's text. The current second unless given.
            record_id: WARC-Record-ID, with or without angle brackets; a random `urn:uuid:` unless given.
            length: Bytes to take from a stream; all of it unless given.
            headers: Further fields, in order. They replace those that would be added.
            on_interrupt: What to do if reading the block raises an exception, as when a connection breaks, or
                if it ends before `length`: "discard" (the default) writes nothing of the record; "truncate"
                keeps what came, with WARC-Truncated: disconnect. In both cases the exception is raised; if
                anything was kept, a note on it names the record.

        Raises:
            RuleError: The standard does not allow such a record.
            ValueError: A field is not valid in a header.
            FormatError: The stream is shorter than `length`. Nothing of the record is left in the file, which
                takes further records.
            TargetError: The file cannot be written.
        """
        parts = record_parts(
            type,
            target_uri,
            block,
            content_type,
            headers,
            date=date,
            record_id=record_id,
            length=length,
            on_interrupt=on_interrupt,
        )
        return self._write_draft(*parts)

    def write_response(
        self,
        target_uri: str | Url,
        block: Block,
        *,
        status: int | None = None,
        reason: str | None = None,
        http_headers: Headers = (),
        content_type: str | None = None,
        **common: Unpack[CommonFields],
    ) -> Written:
        """Write a response as it was received (clause 6.3).

            out.write_response(uri, page, status=200, http_headers={"Content-Type": "text/html"})

        Args:
            target_uri: The URI that was requested.
            block: For http and https the whole message, with status line and header fields; if `status` is
                given, only the body.
            status: HTTP status code.
            reason: Reason phrase; the standard one unless given.
            http_headers: Fields of the HTTP message: a mapping, pairs of str or bytes, or the headers of an
                httpx, aiohttp, requests or Starlette object. They must describe the body as it is given: if a
                client has dechunked or decompressed it, leave out Transfer-Encoding or Content-Encoding.
                (`headers` is for the WARC record.)
            content_type: "application/http; msgtype=response" for http and https unless given.
            **common: See `CommonFields`.
        """
        parts = response_parts(
            target_uri,
            block,
            status=status,
            reason=reason,
            http_headers=http_headers,
            content_type=content_type,
            common=common,
        )
        return self._write_draft(*parts)

    def write_request(
        self,
        target_uri: str | Url,
        block: Block,
        *,
        content_type: str | None = None,
        **common: Unpack[CommonFields],
    ) -> Written:
        """Write a request as it was sent (clause 6.5).

        Args:
            target_uri: The URI that was requested.
            block: For http and https the whole message, with request line and header fields.
            content_type: "application/http; msgtype=request" for http and https unless given.
            **common: See `CommonFields`.
        """
        kind = content_type or http_type(target_uri, "request")
        return self._write_draft(*typed_parts("request", target_uri, block, kind, common))

    def write_resource(
        self,
        target_uri: str | Url,
        block: Block,
        content_type: str | None,
        **common: Unpack[CommonFields],
    ) -> Written:
        """Write a resource without the protocol by which it was retrieved (clause 6.4).

        Args:
            target_uri: Its URI.
            block: The resource.
            content_type: Its media type.
            **common: See `CommonFields`.
        """
        return self._write_draft(*typed_parts("resource", target_uri, block, content_type, common))

    def write_metadata(
        self,
        block: Headers | Buffer | ReadableStream,
        *,
        target_uri: str | Url | None = None,
        content_type: str | None = None,
        refers_to: RecordId | None = None,
        **common: Unpack[CommonFields],
    ) -> Written:
        """Write metadata about another record (clause 6.6).

        Args:
            block: Fields, which become an application/warc-fields block, or a block of another type.
            target_uri: The other record's target URI.
            content_type: Media type of a block that is not given as fields.
            refers_to: The other record's ID, unless it is of the same capture event.
            **common: See `CommonFields`.
        """
        made: Block
        if isinstance(block, Buffer) or hasattr(block, "read"):
            made = cast("Buffer | ReadableStream", block)
        else:
            made = format_fields(pairs_of(block))
            content_type = content_type or "application/warc-fields"
        given = {**common, "refers_to": refers_to}
        return self._write_draft(*typed_parts("metadata", target_uri, made, content_type, given))

    def write_revisit(
        self,
        target_uri: str | Url,
        block: Block = b"",
        *,
        profile: str = IDENTICAL_PAYLOAD_DIGEST,
        payload_digest: Digest | str | None = None,
        refers_to: RecordId | None = None,
        refers_to_target_uri: str | None = None,
        refers_to_date: datetime | WarcDate | str | None = None,
        content_type: str | None = None,
        **common: Unpack[CommonFields],
    ) -> Written:
        """Write a revisit of something that was archived before (clause 6.7).

        Args:
            target_uri: The URI that was requested.
            block: The head of the HTTP response, or nothing.
            profile: WARC-Profile.
            payload_digest: Digest of the payload that is left out; the profile identical-payload-digest
                requires it.
            refers_to: ID of the record that has the payload.
            refers_to_target_uri: That record's target URI.
            refers_to_date: That record's date.
            content_type: "application/http; msgtype=response" for a block from http or https unless given.
            **common: See `CommonFields`.
        """
        if profile == IDENTICAL_PAYLOAD_DIGEST:
            common.setdefault("truncated", "length")
        if content_type is None and block != b"":
            content_type = http_type(target_uri, "response")
        given = {
            **common,
            "profile": profile,
            "payload_digest": payload_digest,
            "refers_to": refers_to,
            "refers_to_target_uri": refers_to_target_uri,
            "refers_to_date": refers_to_date,
        }
        return self._write_draft(*typed_parts("revisit", target_uri, block, content_type, given))

    def write_conversion(
        self,
        target_uri: str | Url,
        block: Block,
        content_type: str,
        *,
        refers_to: RecordId | None = None,
        **common: Unpack[CommonFields],
    ) -> Written:
        """Write another version of a record's content, as for preservation (clause 6.8).

        Args:
            target_uri: The other record's target URI.
            block: The new version.
            content_type: Its media type.
            refers_to: The other record's ID.
            **common: See `CommonFields`.
        """
        given = {**common, "refers_to": refers_to}
        return self._write_draft(*typed_parts("conversion", target_uri, block, content_type, given))

    def write_continuation(
        self,
        target_uri: str | Url,
        block: Block,
        *,
        origin_id: RecordId,
        segment_number: int,
        total_length: int | None = None,
        **common: Unpack[CommonFields],
    ) -> Written:
        """Write a segment of a record that began in another file (clauses 6.9 and 7).

        A writer with `max_file_size` makes segments by itself.

        Args:
            target_uri: Target URI of the whole record.
            block: The next part of its block.
            origin_id: ID of its first segment.
            segment_number: Number of the segment, 2 or more.
            total_length: Length of the blocks of all segments together; only for the last segment.
            **common: See `CommonFields`.
        """
        given = {
            **common,
            "origin_id": origin_id,
            "segment_number": segment_number,
            "total_length": total_length,
        }
        return self._write_draft(*typed_parts("continuation", target_uri, block, None, given))
