"""Building a record header, and checking it against the rules of the standard."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from seekwarc.errors import RuleError
from seekwarc.format.buffer import Buffer
from seekwarc.format.header_fields import format_fields
from seekwarc.format.rules import Severity, check_fields
from seekwarc.format.warc import RecordHeader, build_record_header

__all__ = ["HeaderCompletion", "HeaderDraft", "Headers", "bracketed", "new_id", "pairs_of"]

_UNFIT = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")

Headers = Mapping[str, str] | Iterable[tuple[str, str]]


def pairs_of(headers: Headers) -> list[tuple[str, str]]:
    """Return header fields as a list of (name, value) pairs."""
    return list(headers.items() if isinstance(headers, Mapping) else headers)


def bracketed(uri: str) -> str:
    """Put angle brackets around the URI of a record, unless it has them."""
    return uri if uri.startswith("<") else f"<{uri}>"


def new_id() -> str:
    """Return a new, unique record ID."""
    return f"<urn:uuid:{uuid.uuid4()}>"


class HeaderCompletion(Protocol):
    """Completes a header that states digests of the block after it."""

    def add(self, data: Buffer, /) -> None:
        """Add the next bytes of the block; called in another thread, but never twice at once."""

    def finish(self) -> RecordHeader:
        """Return the final header; its size must be that of the header before."""


class HeaderDraft:
    """The fields of a header: those that the caller gave, and those that are added."""

    def __init__(self, given: Headers = ()) -> None:
        self._given = pairs_of(given)
        self._added: list[tuple[str, str]] = []
        self._names = frozenset(name.lower() for name, _ in self._given)
        self._first: dict[str, str] = {}
        for name, value in self._given:
            self._first.setdefault(name.lower(), value)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter([*self._added, *self._given])

    def add(self, name: str, value: str | None) -> None:
        """Add a field, unless the caller gave one of that name or the value is None."""
        key = name.lower()
        if value is not None and key not in self._names:
            self._added.append((name, value))
            self._first.setdefault(key, value)

    def get(self, name: str) -> str | None:
        """Return the first value of a field."""
        return self._first.get(name.lower())

    def without(self, *names: str) -> HeaderDraft:
        """Return a copy without some fields; those that remain count as given."""
        unwanted = {name.lower() for name in names}
        return HeaderDraft([field for field in self if field[0].lower() not in unwanted])

    def check(self) -> None:
        """Check the fields against the rules of the standard.

        Raises:
            RuleError: A field is missing, forbidden, repeated or malformed.
            ValueError: A field is not valid in a header at all.
        """
        fields = [*self._added, *self._given]
        format_fields(fields)
        for name, value in fields:
            if _UNFIT.search(value):
                raise RuleError(
                    f"the value of {name} holds a control character or bytes that are not UTF-8: "
                    f"{value[:80]!r} (WARC 1.1, clause 4)"
                )
        if "content-length" not in self._first:
            fields.append(("Content-Length", "1"))
        for finding in check_fields(fields):
            if finding.severity is Severity.ERROR:
                raise RuleError(str(finding))

    def header(self, content_length: int) -> RecordHeader:
        """Return the finished header of a record whose block has that many bytes."""
        length = [] if "content-length" in self._first else [("Content-Length", str(content_length))]
        return build_record_header([*self._added, *length, *self._given])
