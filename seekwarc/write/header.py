"""Building a record header, and checking it against the rules of the standard."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, Protocol

from seekwarc.errors import FormatError, RuleError
from seekwarc.format.digest import Digest, WrittenAlgorithm, labelled
from seekwarc.format.header_fields import format_fields, is_token
from seekwarc.format.rules import Severity, check_fields, known_shapes
from seekwarc.format.uri import StoredUri
from seekwarc.format.warc import (
    MAX_HEADER_SIZE,
    RecordHeader,
    build_record_header,
    edit_header,
    pad_header,
    parse_record_header,
)
from seekwarc.format.words import counted, quoted
from seekwarc.options import shown
from seekwarc.read.digests import BlockDigests
from seekwarc.write.block_reader import BlockSource

__all__ = ["HeaderDraft", "Headers", "LateHeader", "bracketed", "new_id", "pairs_of"]

VERSION: Final = b"WARC/1.1\r\n"
KEYS: Final = {
    name: name.lower()
    for name in (
        "Content-Length",
        "Content-Type",
        "WARC-Block-Digest",
        "WARC-Date",
        "WARC-Payload-Digest",
        "WARC-Record-ID",
        "WARC-Segment-Number",
        "WARC-Target-URI",
        "WARC-Truncated",
        "WARC-Type",
    )
}
"""Names that are asked for with each record, in lower case: it costs less to find them than to make them."""
IDS_AT_ONCE: Final = 256
_ids: list[str] = []
if hasattr(os, "register_at_fork"):
    # Otherwise two processes would use the same IDs.
    os.register_at_fork(after_in_child=_ids.clear)

GROWTH: Final = 110
"""Size that a file may at least have after it was read, in percent of the size before."""

_UNFIT = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")


class _HeaderObject(Protocol):
    """Header fields as of requests, httpx, aiohttp, urllib3, Starlette or `http.client`."""

    def items(self) -> Iterable[tuple[str | bytes, str | bytes]]:
        """Return (name, value) of all fields."""


Headers = _HeaderObject | Iterable[tuple[str | bytes, str | bytes]]
"""Header fields: a mapping, an object of an HTTP client or server, or pairs of name and value."""


def pairs_of(headers: Headers, argument: str = "headers") -> list[tuple[str, str]]:
    """Return header fields as a list of (name, value) pairs."""
    pairs: Any = headers
    if isinstance(headers, list | tuple):
        if not headers:
            return []
    elif hasattr(headers, "raw_items"):
        # `http.client` decodes each byte to one character.
        pairs = [(name, value.encode("latin-1", "replace")) for name, value in headers.raw_items()]
    elif isinstance(raw := getattr(headers, "raw", None), list):
        # httpx and Starlette also have the fields as received; their mapping may join repeated ones.
        pairs = raw
    elif hasattr(headers, "items"):
        pairs = headers.items()
    try:
        found = [(name, value) for name, value in pairs]
    except (TypeError, ValueError):
        raise TypeError(f"{argument} must be a mapping, or pairs of a name and a value") from None
    return [(_text(argument, name), _text(argument, value)) for name, value in found]


def _text(argument: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    raise TypeError(f"{argument} must hold names and values that are str or bytes, not {value!r:.80}")


def bracketed(uri: str) -> str:
    """Put angle brackets around the URI of a record, unless it has them."""
    return uri if uri.startswith("<") else f"<{uri}>"


def new_id() -> str:
    """Return a new, unique record ID."""
    try:
        return _ids.pop()
    except IndexError:
        # Many at a time: asking the system for random bytes takes longer than anything else here.
        drawn = os.urandom(16 * IDS_AT_ONCE)
        _ids.extend(_uuid_of(drawn[start : start + 16]) for start in range(0, len(drawn), 16))
        return new_id()


def _uuid_of(drawn: bytes) -> str:
    # A third of the time of `uuid.UUID`: version 4 (RFC 9562, section 5.4).
    digits = drawn.hex()
    variant = "89ab"[drawn[8] & 3]
    return f"<urn:uuid:{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}>"


def _lines(fields: list[tuple[str, str]]) -> bytes:
    return "".join([f"{name}: {value}\r\n" for name, value in fields]).encode("utf-8", "surrogateescape")


class HeaderDraft:
    """The fields of a header: those that the caller gave, and those that are added."""

    def __init__(self, given: Headers = ()) -> None:
        self._stored: set[str] = set()
        self._given = pairs_of(given)
        self._added: list[tuple[str, str]] = []
        self._first: dict[str, str] = {}
        self._made = 0, VERSION
        """How many added fields are written already, with the version line: those that were checked."""
        for name, value in self._given:
            self._first.setdefault(name.lower(), value)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter([*self._added, *self._given])

    def add(self, name: str, value: object) -> None:
        """Add a field, unless there is one of that name or the value is None."""
        key = KEYS.get(name) or name.lower()
        if value is not None and key not in self._first:
            if not isinstance(value, str):
                raise TypeError(f"{name} must be text, not {shown(value)}")
            if isinstance(value, StoredUri):
                self._stored.add(name)
            self._added.append((name, value))
            self._first[key] = value

    def end_block(
        self, source: BlockSource, algorithm: WrittenAlgorithm | None, digests: BlockDigests
    ) -> bool:
        """Add what is known at the end of a block; return whether that is a digest of its payload."""
        self.add("WARC-Truncated", source.truncated)
        payload_is_whole = digests.finish(truncated=self.get("WARC-Truncated") is not None)
        if algorithm is None:
            return False
        if digests.block is not None:
            self.add("WARC-Block-Digest", str(Digest.of(algorithm, digests.block.digest())))
        if digests.payload is None or not payload_is_whole:
            return False
        self.add("WARC-Payload-Digest", str(Digest.of(algorithm, digests.payload.digest())))
        return True

    def get(self, name: str) -> str | None:
        """Return the first value of a field."""
        return self._first.get(KEYS.get(name) or name.lower())

    def without(self, *names: str) -> HeaderDraft:
        """Return a copy without some fields; those that remain count as given."""
        unwanted = {name.lower() for name in names}
        return HeaderDraft([field for field in self if field[0].lower() not in unwanted])

    def check(self) -> None:
        """Check the fields against the rules of the standard."""
        fields = [*self._added, *self._given]
        self._made = len(self._added), VERSION + _lines(self._added)
        if "content-length" not in self._first:
            fields.append(("Content-Length", "1"))
        raw = self._made[1] + _lines(fields[len(self._added) :]) + b"\r\n"
        # Only if reading it gives the same names and values, blanks included.
        is_exact = (
            raw.count(b"\n") == len(fields) + 2
            and b"  " not in raw
            and b"\t" not in raw
            and all(is_token(name) for name, _ in self._given)
        )
        is_known = is_exact and known_shapes.find(raw) is not None
        if not is_known and self._check_each(fields) and raw.isascii():
            known_shapes.add(RecordHeader(raw, 1))
        for name in ("WARC-Block-Digest", "WARC-Payload-Digest"):
            stated = self.get(name)
            if stated is not None and (digest := Digest.parse(stated)).is_known and digest.raw is None:
                raise RuleError(
                    f"{name} is {quoted(stated[:80])}, not a digest of the algorithm {digest.name}"
                )

    def _check_each(self, fields: list[tuple[str, str]]) -> bool:
        """Refuse what the standard forbids; return whether there is not even a warning."""
        format_fields(fields)
        for name, value in fields:
            if name not in self._stored and not value.isprintable() and _UNFIT.search(value):
                raise RuleError(
                    f"the value of {name} holds a control character or bytes that are not UTF-8: "
                    f"{quoted(value[:80])} (WARC 1.1, clause 4)"
                )
        findings = check_fields(fields)
        for finding in findings:
            if finding.severity is Severity.ERROR and finding.field not in self._stored:
                raise RuleError(str(finding))
        return not findings

    def header(self, content_length: int) -> RecordHeader:
        """Return the finished header of a record whose block has that many bytes."""
        if "content-length" in self._first:
            return build_record_header([*self._added, *self._given])
        # `check` has seen them all but for those that were made here.
        count, made = self._made
        later = [*self._added[count:], ("Content-Length", str(content_length)), *self._given]
        raw = made + _lines(later) + b"\r\n"
        return RecordHeader(raw, content_length) if len(raw) <= MAX_HEADER_SIZE else parse_record_header(raw)


class LateHeader:
    """The header of a record that is completed when its block was written: with digests, and WARC-Truncated.

    Until then it has room for them at its end: so what a crash leaves of the record states nothing wrong, and
    its Content-Length shows that it is cut off.
    """

    def __init__(
        self,
        draft: HeaderDraft,
        source: BlockSource,
        algorithm: WrittenAlgorithm | None,
        digests: BlockDigests,
    ) -> None:
        self._draft = draft
        self._source = source
        self._algorithm: WrittenAlgorithm | None = algorithm
        self._digests = digests
        self.add = digests.add
        length = source.expected or 0
        header = draft.header(length)
        digest = ""
        if algorithm is not None:
            digest = labelled(algorithm, bytes(hashlib.new(algorithm).digest_size))
        wanted = (
            ("WARC-Block-Digest", digest, digests.block is not None),
            ("WARC-Payload-Digest", digest, digests.payload is not None),
            ("WARC-Truncated", "unspecified", source.keeps),
        )
        longest = [(name, value) for name, value, may_be in wanted if may_be and draft.get(name) is None]
        self._names = [name for name, _ in longest]
        growth = len(str(length * GROWTH // 100)) - len(str(length))
        self.unfinished = pad_header(header, len(edit_header(header, (), longest).raw) + growth)

    def finish(self) -> RecordHeader:
        """Return the whole header; a payload whose chunks break off gets no digest."""
        size = self._digests.size
        header = self._draft.header(size)
        self._draft.end_block(self._source, self._algorithm, self._digests)
        found = [(name, value) for name in self._names if (value := self._draft.get(name)) is not None]
        header = edit_header(header, (), found)
        if len(header.raw) > len(self.unfinished.raw):
            raise FormatError(f"the file grew to {counted(size, 'byte')} while it was read")
        return pad_header(header, len(self.unfinished.raw))
