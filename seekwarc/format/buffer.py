"""The type of arguments that hold bytes."""

from __future__ import annotations

__all__ = ["Buffer"]

Buffer = bytes | bytearray | memoryview
