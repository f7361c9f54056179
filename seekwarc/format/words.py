"""Wording that messages share."""

from __future__ import annotations

__all__ = ["counted"]


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: "1 record", "2 records".

    Args:
        number: How many.
        noun: What is counted, singular.
        plural: Its plural, if that is not the singular with an "s".
    """
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
