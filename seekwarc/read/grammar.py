"""Which grammar the records of a file have: an ARC file is one whose content begins with a version block."""

from __future__ import annotations

from typing import Final

from seekwarc.format.arc import ARC_MAGIC, MAX_VERSION_BLOCK, arc_grammar
from seekwarc.format.warc import WARC, Grammar
from seekwarc.frames.inflate import gzip_codec
from seekwarc.frames.scan import Window

__all__ = ["grammar_of"]

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
            return arc_grammar(head) if head.startswith(ARC_MAGIC) else WARC
        size *= 4


def _content(stored: bytes) -> bytes:
    if stored[:2] != b"\x1f\x8b":
        return stored
    codec = gzip_codec()
    try:
        return codec.inflater().decompress(stored, MAX_VERSION_BLOCK)
    except codec.errors:
        return b""
