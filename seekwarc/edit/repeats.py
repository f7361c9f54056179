"""Keys that may have been seen more than once: a filter in memory before look-ups in a table.

Two arrays of bits: a key that finds its bit set in the first sets it in the second. With ten million keys a
third of those seen once are taken for repeated, with a million 3 %, and those are looked up as well.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

__all__ = ["Repeats"]

BITS: Final = 1 << 25
"""8 MiB for both arrays: the system gives memory only to what is written."""


class Repeats:
    """Keys, of which each that was added more than once is found.

    Example:
        >>> from seekwarc.edit.repeats import Repeats
        >>> repeats = Repeats()
        >>> for key in ("a", "b", "a"):
        ...     repeats.add(key)
        >>> "a" in repeats
        True
    """

    def __init__(self) -> None:
        self._once = bytearray(BITS >> 3)
        self._more = bytearray(BITS >> 3)

    def add(self, key: Hashable) -> None:
        """Add a key."""
        number = hash(key) % BITS
        place, bit = number >> 3, 1 << (number & 7)
        if self._once[place] & bit:
            self._more[place] |= bit
        else:
            self._once[place] |= bit

    def __contains__(self, key: Hashable) -> bool:
        """Return whether a key was added more than once; seldom True for another one."""
        number = hash(key) % BITS
        return bool(self._more[number >> 3] & 1 << (number & 7))
