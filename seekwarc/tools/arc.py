"""Telling ARC files, the format of web archives before WARC, from all others."""

from __future__ import annotations

import os
from contextlib import closing
from typing import BinaryIO, Final

from seekwarc.format.warc import ARC_MAGIC
from seekwarc.frames.inflate import gzip_codec
from seekwarc.storage.opening import open_source

__all__ = ["is_arc"]

HEAD_SIZE: Final = 64 << 10
"""Stored bytes within which a gzip member gives its first content."""


def is_arc(source: str | os.PathLike[str] | BinaryIO) -> bool:
    """Tell whether a file is an ARC file, compressed with gzip or not. Pipes are not read: False."""
    if not isinstance(source, str | os.PathLike):
        return False
    name = os.fspath(source)
    if "://" not in name and os.path.exists(name) and not os.path.isfile(name):
        # To open a named pipe is to take what is in it.
        return False
    with closing(open_source(source)) as stored:
        head = stored.read(0, HEAD_SIZE)
    codec = gzip_codec()
    try:
        head = codec.inflater().decompress(head, len(ARC_MAGIC)) if head[:2] == b"\x1f\x8b" else head
    except codec.errors:
        return False
    return head.startswith(ARC_MAGIC)
