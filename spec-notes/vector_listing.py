"""The listing of the test vectors in hexadecimal, for those who want to see each field."""

from __future__ import annotations

import textwrap
from typing import Final

from vector_files import Record, Vector

MAX_HEX: Final = 9
"""Bytes of a field that are shown; of longer fields the listing gives the size only."""
TEXT_WIDTH: Final = 108

INTRODUCTION: Final = """\
# The samples, field by field

This file is made from the same data as the files beside it and [manifest.json](manifest.json). Offsets are
those in the file, in decimal; bytes are hexadecimal; all numbers are little-endian.
"""


def listing(vectors: list[Vector]) -> str:
    """Return the text of listing.md."""
    return "\n".join([INTRODUCTION, *(section(vector) for vector in vectors)])


def section(vector: Vector) -> str:
    """Return the part of one vector."""
    lines = []
    offset = 0
    for frame in vector.frames:
        for part in frame.parts:
            size = len(part.data)
            shown = part.data.hex(" ") if size <= MAX_HEX else f"({size} bytes)"
            if size and part.meaning:
                lines.append(f"{offset:5}  {shown:14}  {part.meaning}".rstrip())
            offset += size
    text = f"{vector.title} Specification: {', '.join(vector.sections.split())}. {verdict(vector)}"
    paragraph = textwrap.fill(text, TEXT_WIDTH, break_long_words=False, break_on_hyphens=False)
    return f"## {vector.file}\n\n{paragraph}\n\n```text\n" + "\n".join(lines) + "\n```\n"


def verdict(vector: Vector) -> str:
    """Say whether the file is valid, and what a reader gets."""
    number = sum(isinstance(item, Record) for item in vector.items)
    records = f"{number} record" + ("" if number == 1 else "s")
    if not vector.breaks:
        return f'A file of mode "{vector.writes}" with {records}.'
    breaks = ", ".join(vector.breaks.split())
    return f'Judged as a file of mode "{vector.writes}", it breaks {breaks}. It has {records}.'
