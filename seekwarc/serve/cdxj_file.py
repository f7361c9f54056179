"""Records as a CDXJ index lists them, so that the files it names need not be scanned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from seekwarc.collection.entry import Entry, entry_of_line
from seekwarc.errors import FormatError, LimitError
from seekwarc.format.cdxj import MAX_LINE_SIZE, CdxjLine
from seekwarc.format.post import indexed_uri
from seekwarc.storage.source import RangeSource

__all__ = ["file_names", "index_entries"]

STEP: Final = 1 << 20


def file_names(index: RangeSource) -> list[str]:
    """Return the names of the files that an index lists, in the order of their first lines."""
    return list(dict.fromkeys(line.filename for _, line in _lines(index)))


def index_entries(index: RangeSource, names: Mapping[str, str]) -> Iterator[tuple[int, Entry]]:
    """Yield an entry for each line of an index that is of one of these files (keys), as these are known.

    With each comes the position at which the next line begins.
    """
    for end, line in _lines(index):
        if line.filename not in names:
            continue
        entry = entry_of_line(line, names[line.filename])
        yield end, replace(entry, uri=indexed_uri(line.fields))


def _lines(index: RangeSource) -> Iterator[tuple[int, CdxjLine]]:
    for start, line in _raw_lines(index):
        # Some indexes begin with lines about themselves, which sort before all others.
        if not line.strip() or line.startswith((b"!", b" CDX")):
            continue
        try:
            yield start + len(line) + 1, CdxjLine.parse(line)
        except FormatError as error:
            raise error.located(index.name, start) from None


def _raw_lines(index: RangeSource) -> Iterator[tuple[int, bytes]]:
    position, rest = 0, b""
    while data := index.read(position + len(rest), position + len(rest) + STEP):
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            yield position, line
            position += len(line) + 1
        if len(rest) > MAX_LINE_SIZE:
            raise LimitError("a line is longer than 16 MiB", source=index.name, offset=position)
    yield position, rest
