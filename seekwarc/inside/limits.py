"""How much of a page is read, and kept as its text; apart from `text.py`, which takes longer to import."""

from __future__ import annotations

from typing import Final

__all__ = ["MAX_SIZE", "MAX_TEXT"]

MAX_SIZE: Final = 32 << 20
"""Bytes of a file that are read."""
MAX_TEXT: Final = 4 << 20
"""Characters of a text."""
