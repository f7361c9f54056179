"""Sizes and ranges as users write them."""

from __future__ import annotations

import re
from typing import Final

from seekwarc.cli.arguments import argument
from seekwarc.errors import RangeError
from seekwarc.format.conditions import SIZE_PATTERN, parse_size

__all__ = ["SIZE", "counts_from_end", "human_size", "parse_range"]

_SLICE = rf"(-?{SIZE_PATTERN})?:(-?{SIZE_PATTERN})?"
_START_AND_LENGTH = rf"({SIZE_PATTERN})\+({SIZE_PATTERN})"
_HTTP_RANGE = rf"(?:bytes=)?(?:({SIZE_PATTERN})-({SIZE_PATTERN})?|-({SIZE_PATTERN}))"


def human_size(size: float) -> str:
    """Format a number of bytes for people, such as 1.5 MiB."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(size) < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"


SIZE: Final = argument(parse_size)
"""A size, as a type of arguments."""


def parse_range(text: str, size: int) -> tuple[int, int]:
    """Turn a range as users write it into [start, stop) within `size` bytes; other text is a `RangeError`.

    It is START:STOP as a Python slice, START+LENGTH, or FIRST-LAST (FIRST-, -LENGTH) as curl and HTTP have
    it, where the last byte is included, with or without `bytes=`. Each number may be a size such as 64K.
    """
    try:
        found = _bounds(text, size)
    except ValueError:
        found = None
    if found is not None:
        return found
    raise RangeError(
        f"{text!r} is not a range: write START:STOP as a Python slice (1000:2000, :64K, -10M:), "
        "START+LENGTH, or FIRST-LAST as curl does (0-99)"
    )


def _bounds(text: str, size: int) -> tuple[int, int] | None:
    if match := re.fullmatch(_START_AND_LENGTH, text):
        start = min(_bytes(match[1]), size)
        return start, min(start + _bytes(match[2]), size)
    if match := re.fullmatch(_SLICE, text):
        start, stop, _ = slice(*(_bytes(group) if group else None for group in match.groups())).indices(size)
        return start, max(start, stop)
    if match := re.fullmatch(_HTTP_RANGE, text):
        first, last, suffix = match.groups()
        if suffix is not None:
            return max(size - _bytes(suffix), 0), size
        if last is None:
            return min(_bytes(first), size), size
        if _bytes(first) <= _bytes(last):
            return min(_bytes(first), size), min(_bytes(last) + 1, size)
    return None


def _bytes(text: str) -> int:
    return parse_size(text.removeprefix("-")) * (-1 if text.startswith("-") else 1)


def counts_from_end(text: str) -> bool:
    """Return whether a range that `parse_range` takes counts from the end."""
    return ":-" in text or text.removeprefix("bytes=").startswith("-")
