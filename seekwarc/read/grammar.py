"""Which grammar the records of a file have: an ARC file is one whose content begins with a version block."""

from __future__ import annotations

from typing import Final

from seekwarc.format.warc import ARC_MAGIC, WARC, Grammar
from seekwarc.frames.scan import Window

__all__ = ["grammar_of"]

MAX_VERSION_BLOCK: Final = 16 << 10
"""Bytes within which the first three lines of an ARC file end."""
FIRST_LOOK: Final = 64
"""A pipe need not give more than a record header has, which is waited for in any case."""


def grammar_of(window: Window) -> Grammar:
    """Return the grammar of a file, compressed with gzip or not."""
    size = FIRST_LOOK
    while True:
        stored = window.take(0, size)
        head = _content(stored)
        if not ARC_MAGIC.startswith(head[: len(ARC_MAGIC)]):
            return WARC
        if head.count(b"\n") > 2 or len(stored) < size or size > MAX_VERSION_BLOCK:
            if not head.startswith(ARC_MAGIC):
                return WARC
            from seekwarc.format.arc import arc_grammar

            return arc_grammar(head)
        size *= 4


def _content(stored: bytes) -> bytes:
    if stored[:2] != b"\x1f\x8b":
        return stored
    from seekwarc.frames.inflate import gzip_codec

    codec = gzip_codec()
    try:
        return codec.inflater().decompress(stored, MAX_VERSION_BLOCK)
    except codec.errors:
        return b""
