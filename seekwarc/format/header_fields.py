"""Header fields as WARC and HTTP write them: `Name: value` lines, and a mapping of them.

Source: WARC 1.1, clause 4; RFC 9110, section 5 (fields); RFC 9112, section 5.2 (folded lines).
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from functools import lru_cache
from typing import Final

from seekwarc.compiling import Buffer
from seekwarc.format.field_views import FieldItems, FieldValues

__all__ = [
    "MAX_DIGITS",
    "TOKEN",
    "FieldMapping",
    "field_pattern",
    "find_header_end",
    "format_fields",
    "is_token",
    "parse_fields",
    "unfolded",
    "whole_number",
]

TOKEN: Final = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"  # noqa: S105
"""A token, such as the name of a field (RFC 9110, section 5.6.2), as a regular expression."""
MAX_DIGITS: Final = 18
"""Digits of a number that is accepted: it then fits into 64 bits."""

_NUMBER = re.compile(rf"[0-9]{{1,{MAX_DIGITS}}}")
_NAME = re.compile(TOKEN)
_LINE_BREAK_OR_NUL = re.compile(r"[\r\n\0]")
_LINE_END = re.compile(r"\n(?![ \t])")
_FOLD = r"(?:(?<![ \t])[ \t]++)?\r{0,2}\n[ \t]++"
# Some write bare LF, or CR CR LF. One search takes less than half the time of one for each line break.
_BLANK_LINE = re.compile(rb"\n\r{0,2}\n")


def whole_number(text: str) -> int | None:
    """Return a number that is written in ASCII digits only; None for any other text, or a longer one."""
    return int(text) if _NUMBER.fullmatch(text) else None


def find_header_end(data: Buffer, start: int = 0) -> int:
    """Return the index after the blank line that ends a header, or -1 if `data` has no blank line yet."""
    blank_line = _BLANK_LINE.search(data, start)
    return blank_line.end() if blank_line is not None else -1


def parse_fields(data: Buffer) -> Iterator[tuple[str, str]]:
    """Yield (name, value) of each field: folded lines joined, what is not UTF-8 as surrogate escapes."""
    text = bytes(data).decode("utf-8", "surrogateescape")
    has_folds = _has_folds(text)
    for line in _LINE_END.split(text) if has_folds else text.split("\n"):
        name, colon, value = line.partition(":")
        # A blank at the very beginning continues the start line, which is not a field; and no name is folded.
        if colon and line[0] not in " \t" and "\n" not in name:
            yield name.strip(" \t"), (re.sub(_FOLD, " ", value) if has_folds else value).strip(" \t\r")


class FieldMapping(Mapping[str, str]):
    """Named fields as a mapping whose names are not case-sensitive.

    A field may be repeated: `header[name]` and `get` return its first value, `get_all` every value.
    Iteration, `len`, `keys`, `values` and `items` cover every field, in order, with names as written.

    Attributes:
        raw: All bytes of the header, from its first line, which is not a field, to the blank line.
    """

    __slots__ = ("raw",)

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    @property
    @abstractmethod
    def _pairs(self) -> Sequence[tuple[str, str]]:
        """All fields as (name, value), in order."""

    def get_all(self, name: str) -> tuple[str, ...]:
        """Return every value of a field that may be repeated, such as WARC-Concurrent-To or Set-Cookie."""
        return tuple(map(unfolded, field_pattern(name).findall(self.raw)))

    def get(self, name: str, default: str | None = None) -> str | None:  # type: ignore[override]
        """Return the first value of a field, or `default` if it is missing."""
        # Searched in the bytes: most readers want a few fields of each header, never all of them.
        match = field_pattern(name).search(self.raw)
        return unfolded(match[1]) if match else default

    def __eq__(self, other: object) -> bool:
        return self.__reduce__() == other.__reduce__() if isinstance(other, FieldMapping) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.raw)

    def __getitem__(self, name: str) -> str:
        value = self.get(name)
        if value is None:
            raise KeyError(name)
        return value

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, _ in self._pairs])

    def __len__(self) -> int:
        return len(self._pairs)

    def __bool__(self) -> bool:
        # `if record.http:` asks for a head; even one without fields is a head.
        return True

    def items(self) -> ItemsView[str, str]:
        """Return every field as (name, value)."""
        return FieldItems(self, self._pairs)

    def values(self) -> ValuesView[str]:
        """Return the value of every field."""
        return FieldValues(self, self._pairs)


@lru_cache(maxsize=256)
def field_pattern(name: str) -> re.Pattern[bytes]:
    """Return a pattern of a field with that name, including folded lines."""
    escaped = re.escape(name.encode("utf-8", "surrogateescape"))
    return re.compile(rb"\n(?i:" + escaped + rb")[ \t]*+:([^\n]*+(?:\n[ \t][^\n]*+)*)")


def unfolded(raw: bytes) -> str:
    """Return the text of a field's value, folded lines joined by one space."""
    text = raw.decode("utf-8", "surrogateescape")
    return (_joined(text) if "\n" in text else text).strip(" \t\r")


def _joined(text: str) -> str:
    # The pattern is tried at each character: hardly any header has folded lines.
    return re.sub(_FOLD, " ", text) if _has_folds(text) else text


def _has_folds(text: str) -> bool:
    return "\n " in text or "\n\t" in text


def format_fields(fields: Iterable[tuple[str, str]]) -> bytes:
    """Serialise named fields, one CRLF-ended line each; a name or value that cannot be is a ValueError."""
    pairs = list(fields)
    text = "".join([f"{name}: {value}\r\n" for name, value in pairs])
    # All at once: hardly any field is refused, and the names are few.
    has_breaks = text.count("\r") != len(pairs) or text.count("\n") != len(pairs) or "\0" in text
    for name, value in pairs:
        if not is_token(name):
            raise ValueError(f"{name!r} cannot name a field (WARC 1.1, clause 4: token)")
        if has_breaks and _LINE_BREAK_OR_NUL.search(value):
            raise ValueError(f"the value of {name} contains a line break or NUL: {value[:80]!r}")
    return text.encode("utf-8", "surrogateescape")


@lru_cache(maxsize=256)
def is_token(text: str) -> bool:
    """Return whether a text is a token, such as the name of a field."""
    return _NAME.fullmatch(text) is not None
