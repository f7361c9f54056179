"""Sizes and ranges as users write them."""

from __future__ import annotations

from seekwarc.errors import RangeError
from seekwarc.format.conditions import parse_size

__all__ = ["counts_from_end", "human_size", "parse_range"]


def human_size(size: float) -> str:
    """Format a number of bytes for people, such as 1.5 MiB."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(size) < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"


def parse_range(text: str, size: int) -> tuple[int, int]:
    """Turn a range as users write it into [start, stop) within `size` bytes; other text is a `RangeError`.

    It is START:STOP as a Python slice, START+LENGTH, or FIRST-LAST (FIRST-, -LENGTH) as curl and HTTP have
    it, where the last byte is included, with or without `bytes=`. Each number may be a size such as 64K.
    """
    try:
        found = _bounds(text, size)
    except RangeError:
        raise
    except ValueError:
        found = None
    if found is not None:
        return found
    raise RangeError(
        f"{text!r} is not a range: write START:STOP as a Python slice (1000:2000, :64K, -10M:), "
        "START+LENGTH, or FIRST-LAST as curl does (0-99)"
    )


def _bounds(text: str, size: int) -> tuple[int, int] | None:
    first, plus, length = text.partition("+")
    if plus:
        start = min(parse_size(first), size)
        return start, min(start + parse_size(length), size)
    first, colon, last = text.partition(":")
    if colon:
        start, stop, _ = slice(*(_bytes(it) if it else None for it in (first, last))).indices(size)
        if start > stop:
            raise RangeError(f"the range {text!r} ends before it begins")
        return start, stop
    first, minus, last = text.removeprefix("bytes=").partition("-")
    if not first:
        return max(size - parse_size(last), 0), size
    if not minus:
        return None
    start, stop = parse_size(first), parse_size(last) + 1 if last else size
    return (min(start, size), min(stop, size)) if start < stop or not last else None


def _bytes(text: str) -> int:
    return parse_size(text.removeprefix("-")) * (-1 if text.startswith("-") else 1)


def counts_from_end(text: str) -> bool:
    """Return whether a range that `parse_range` takes counts from the end."""
    return ":-" in text or text.removeprefix("bytes=").startswith("-")
