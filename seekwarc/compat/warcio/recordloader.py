"""Records as warcio's programs know them, whose heads are parsed and bytes read when they are asked for."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, TypeVar, cast

from warcio.bufferedreaders import BufferedReader
from warcio.digestverifyingreader import DigestChecker, DigestVerifyingReader
from warcio.recordloader import ArcWarcRecord, ArcWarcRecordLoader

from seekwarc.compat.warcio.errors import as_load_error
from seekwarc.compat.warcio.heads import Head, ParsedHead, parse_head, record_head
from seekwarc.compat.warcio.streams import CheckedFile, DecodedPayload, PayloadFile, buffered
from seekwarc.errors import FormatError
from seekwarc.frames.codings import DecodedFile
from seekwarc.read.chunked_payload import ChunkedExtent
from seekwarc.read.extent import EVERYTHING, Extent
from seekwarc.read.record import Record

__all__ = ["ParseOptions", "SeekableRecord"]

_HTTP_URI: Final = re.compile(rb"\n(?i:WARC-Target-URI)[ \t]*:[ \t]*<?https?:")
MAX_HEAD_SIZE: Final = 1 << 20
"""An HTTP head ends here at the latest: a page that was stored without one may have no blank line."""
MAX_AT_ONCE: Final = 256 << 10
"""A payload of up to this size is read as a whole."""


_Value = TypeVar("_Value")


class _FoundOnce(Generic[_Value]):
    """An attribute that is found when it is first asked for, and may be set."""

    def __init__(self, find: Callable[[Any], _Value]) -> None:
        self._find = find
        self._name = find.__name__
        self.__doc__ = find.__doc__

    def __get__(self, record: Any, _: type | None = None) -> _Value:  # noqa: ANN401
        value = record.__dict__[self._name] = self._find(record)
        return value


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """How an `ArchiveIterator` was asked to read records; see there."""

    no_record_parse: bool
    verify_http: bool
    ensure_http_headers: bool
    check_digests: bool | str


class SeekableRecord(ArcWarcRecord):  # type: ignore[misc]  # warcio has no types
    """A record with the face of warcio's `ArcWarcRecord`.

    `rec_headers`, `http_headers` and `raw_stream` come into being when they are asked for, and may be set, as
    programs do. `raw_stream` begins with the payload: `seek(0)` goes there.

    Attributes:
        record: The same record with the face of seekwarc, whose payload is read by range.

    Example:
        >>> from seekwarc.compat.warcio import ArchiveIterator
        >>> for record in ArchiveIterator("crawl.warc.zst"):
        ...     if record.rec_type == "response" and record.payload_length > 1_000_000:
        ...         position = record.raw_stream.seek(2_000_000)
        ...         print(record.http_headers.get_statuscode(), record.raw_stream.read(4).hex())
        200 7f009972
    """

    format = "warc"

    def __init__(self, record: Record, options: ParseOptions) -> None:
        self.record = record
        self._options = options
        self._own_stream: object = None
        self._verifier: Any = self._make_verifier() if options.check_digests else None
        if self._verifier is not None:
            _ = self._checked
        if options.verify_http:
            _ = self.http_headers

    @_FoundOnce
    def digest_checker(self) -> Any:  # noqa: ANN401 - warcio has no types
        """Tells whether digests that were checked are right."""
        return DigestChecker(self._options.check_digests)

    @_FoundOnce
    def rec_type(self) -> str | None:
        """WARC-Type."""
        return self._field("WARC-Type")

    @_FoundOnce
    def content_type(self) -> str | None:
        """Content-Type of the record."""
        return self._field("Content-Type")

    @_FoundOnce
    def length(self) -> int | None:
        """Bytes of the block."""
        return self.record.content_length

    @_FoundOnce
    def rec_headers(self) -> Any:  # noqa: ANN401 - warcio has no types
        """The record header, a `StatusAndHeaders`."""
        return record_head(self.record.header.raw)

    @_FoundOnce
    def http_headers(self) -> Any:  # noqa: ANN401 - warcio has no types
        """The HTTP head, a `StatusAndHeaders`; None if the block has no such head."""
        head = self._http_head
        if head is None and self._options.ensure_http_headers:
            return ArcWarcRecordLoader().default_http_headers(self.record.content_length, self.content_type)
        return head.headers if head is not None else None

    @_FoundOnce
    def payload_length(self) -> int:
        """Bytes after the HTTP head, -1 for a block without one."""
        return self.record.content_length - self._http_head.size if self._http_head is not None else -1

    @_FoundOnce
    def raw_stream(self) -> Any:  # noqa: ANN401 - programs set what they like
        """The payload as it is stored: a seekable binary file."""
        self._own_stream = stream = self._open_payload()
        return stream

    def _open_payload(self) -> io.BufferedIOBase:
        if self._verifier is not None:
            return buffered(self._checked)
        record, head = self.record, self._http_head
        stop = len(record.header.raw) + record.content_length
        start = stop - record.content_length + (head.size if head is not None else 0)
        if stop - start <= MAX_AT_ONCE:
            # Damage is raised where it is read.
            with suppress(FormatError):
                return io.BytesIO(record.body.read(start, stop))
        return buffered(PayloadFile(self._payload.open))

    def content_stream(self) -> Any:  # noqa: ANN401 - programs set what they like
        """Return the payload with chunked and content coding undone: a seekable binary file.

        For a payload without them this is `raw_stream`. With content coding, going back decodes from the
        beginning again. gzip, deflate, zstd and br are undone, the last where brotli is installed.
        """
        headers = self.http_headers
        if headers is None or self.__dict__.get("raw_stream") is not self._own_stream:
            return super().content_stream()
        if isinstance(headers, ParsedHead) and not headers.has_codings:
            return self.raw_stream
        coding = (headers.get_header("content-encoding") or "").lower()
        if coding != "zstd" and coding not in BufferedReader.get_supported_decompressors():
            coding = ""
        chunked = headers.get_header("transfer-encoding") == "chunked"
        if not coding and not chunked:
            return self.raw_stream
        extent = self._payload
        if chunked:
            start = len(self.record.header.raw) + self.record.content_length
            extent = ChunkedExtent(
                self.record.body,
                start - extent.size,
                start,
                truncated=self.record.truncated is not None,
                stated=self._field("WARC-Payload-Digest"),
            )
        on_end = self.finish if self._verifier is not None else None
        if not coding:
            return buffered(PayloadFile(extent.open, on_end))
        # A body that breaks off ends where it does, as a program that reads what servers sent expects.
        decoded = partial(DecodedFile, codings=(coding,), limit=EVERYTHING, truncated=True)
        return buffered(DecodedPayload(lambda: decoded(extent.open()), on_end))

    def finish(self) -> None:
        """Read what has not been read, where digests are checked."""
        if self._verifier is not None:
            self._checked.finish()

    def _field(self, name: str) -> str | None:
        header = self.record.header
        # Usually both are the same, and this one costs less.
        value = header.get(name) if header.raw.isascii() else record_head(header.raw).get_header(name)
        return cast("str | None", value)

    @_FoundOnce
    def _http_head(self) -> Head | None:
        record, kind = self.record, self.rec_type
        if self._options.no_record_parse or kind not in ArcWarcRecordLoader.HTTP_RECORDS:
            return None
        if not record.content_length or _HTTP_URI.search(record.header.raw) is None:
            return None
        verify = self._options.verify_http
        protocols: Sequence[str] = ()
        if verify:
            is_request = kind == "request"
            protocols = ArcWarcRecordLoader.HTTP_VERBS if is_request else ArcWarcRecordLoader.HTTP_TYPES
        start = len(record.header.raw)
        end = start + record.content_length
        limit = min(end, start + MAX_HEAD_SIZE)
        least = 1
        try:
            while True:
                some = record.body.read_some(start, limit, least)
                is_all = start + len(some) == limit
                head = parse_head(some, is_all=is_all, protocols=protocols, verify=verify)
                if head is not None:
                    return head
                least = min(4 * len(some), limit - start)
        except FormatError as error:
            raise as_load_error(error) from error

    @property
    def _payload(self) -> Extent:
        start = len(self.record.header.raw)
        head = self._http_head.size if self._http_head is not None else 0
        return Extent(self.record.body, start + head, start + self.record.content_length)

    @_FoundOnce
    def _checked(self) -> CheckedFile:
        verifier, payload = self._verifier, self._payload
        head = self.record.content_length - payload.size
        if head:
            verifier._update(self.record.block.pread(0, head))  # noqa: SLF001 - see `CheckedFile`
        verifier.begin_payload()
        return CheckedFile(payload, verifier)

    def _make_verifier(self) -> Any:  # noqa: ANN401 - warcio has no types
        get = self.record.header.get
        payload, block = get("WARC-Payload-Digest"), get("WARC-Block-Digest")
        if not payload and not block:
            return None
        return DigestVerifyingReader(
            None,
            self.record.content_length,
            self.digest_checker,
            record_type=self.rec_type,
            payload_digest=payload,
            block_digest=block,
            segment_number=get("WARC-Segment-Number"),
        )
