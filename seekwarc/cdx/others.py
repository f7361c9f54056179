"""What users name instead of an index, and what they meant."""

from __future__ import annotations

import os
import re
import zlib
from typing import Final

from seekwarc.cdx.zipnum import GZIP_WINDOW
from seekwarc.errors import SeekWarcError

__all__ = ["refuse_others"]

BEGINNINGS: Final = (b"WARC/", b"filedesc://", b"\x28\xb5\x2f\xfd", b"\x5d\x2a\x4d\x18", b"\x5e\x2a\x4d\x18")
"""How records, ARC files and Zstandard files begin, the last with a frame, a dictionary or a seek table."""
GZIP: Final = b"\x1f\x8b"
ZIP: Final = b"PK\3\4"
ENOUGH: Final = 16
MARKS: Final = (b"{", b"\t", b"!", b"CDX", b"WARC/", b"filedesc:", b"PK\3\4")
"""What the first line of an index has, or of what is refused for another reason."""
SHOWN: Final = 40
_DATED = re.compile(rb"[^ ]+ [0-9]+ ")


def refuse_others(begin: bytes, name: str) -> None:
    """Refuse a file that begins as an archive does, or other text.

    Raises:
        SeekWarcError: It is an archive, or text that is not an index, or a ZIP file not named as a WACZ.
    """
    first, end, _ = begin.partition(b"\n")
    is_line = any(it in first for it in MARKS) or _DATED.match(first) is not None
    if end and first.isascii() and first.strip() and not is_line:
        raise SeekWarcError(
            f"is not an index: it begins with {first[:SHOWN]!r}; `seekwarc index` makes one", source=name
        )
    if begin.startswith(ZIP):
        raise SeekWarcError(
            "is a ZIP file, not an index; a WACZ needs a name that ends with .wacz", source=name
        )
    if begin.startswith(GZIP):
        try:
            begin = zlib.decompressobj(GZIP_WINDOW).decompress(begin, ENOUGH)
        except zlib.error:
            return
    if begin.startswith(BEGINNINGS):
        file = os.path.basename(name)
        raise SeekWarcError(
            f"is an archive, not an index: `seekwarc ls {file} --uri URI` looks for records in it, and "
            f"`seekwarc index {file} -o {file}.cdxj` makes an index of it",
            source=name,
        )
