"""Words of messages."""

from __future__ import annotations

__all__ = ["counted"]


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: "1 record", "2 records".

    Args:
        number: How many.
        noun: What is counted, in the singular.
        plural: Its plural, where that is not the singular and "s".
    """
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
