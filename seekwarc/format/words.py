"""Wording that messages share."""

from __future__ import annotations

__all__ = ["counted"]


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: "1 record", "2 records"."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
