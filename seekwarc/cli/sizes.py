"""Sizes and ranges as users write them."""

from __future__ import annotations

import argparse
import re

from seekwarc.errors import RangeError

__all__ = ["counts_from_end", "human_size", "parse_range", "parse_size"]

_SLICE = r"(-?[0-9]{1,18})?:(-?[0-9]{1,18})?"
_START_AND_LENGTH = r"([0-9]{1,18})\+([0-9]{1,18})"
_HTTP_RANGE = r"(?:bytes=)?(?:([0-9]{1,18})-([0-9]{1,18})?|-([0-9]{1,18}))"
_SIZE = r"([0-9]{1,15})([kKmMgG]i?[bB]?|[bB])?"


def human_size(size: float) -> str:
    """Format a number of bytes for people, such as 1.5 MiB."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(size) < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"


def parse_size(text: str) -> int:
    """Parse a size such as 65536, 64K or 1MiB (all powers of 1024), for argparse."""
    match = re.fullmatch(_SIZE, text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 65536, 64K or 1M")
    unit = (match[2] or "B")[0].upper()
    return int(match[1]) << {"B": 0, "K": 10, "M": 20, "G": 30}[unit]


def parse_range(text: str, size: int) -> tuple[int, int]:
    """Turn a range as users write it into [start, stop) within `size` bytes.

    It is START:STOP as a Python slice, START+LENGTH, or FIRST-LAST (FIRST-, -LENGTH) as curl and HTTP have
    it, where the last byte is included, with or without `bytes=`.

    Raises:
        RangeError: `text` has another form.
    """
    if match := re.fullmatch(_START_AND_LENGTH, text):
        start = min(int(match[1]), size)
        return start, min(start + int(match[2]), size)
    if match := re.fullmatch(_SLICE, text):
        bounds = slice(*(int(group) if group else None for group in match.groups()))
        start, stop, _ = bounds.indices(size)
        return start, max(start, stop)
    if match := re.fullmatch(_HTTP_RANGE, text):
        first, last, suffix = (int(group) if group else None for group in match.groups())
        if suffix is not None:
            return max(size - suffix, 0), size
        if first is not None and (last is None or first <= last):
            return min(first, size), size if last is None else min(last + 1, size)
    raise RangeError(
        f"{text!r} is not a range: write START:STOP as a Python slice (1000:2000, :100, -4096:), "
        "START+LENGTH, or FIRST-LAST as curl does (0-99)"
    )


def counts_from_end(text: str) -> bool:
    """Return whether a range that `parse_range` takes counts from the end."""
    return ":-" in text or text.removeprefix("bytes=").startswith("-")
