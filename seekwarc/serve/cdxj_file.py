"""Records as a CDXJ index lists them, so that the files it names need not be scanned."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from seekwarc.collection.entry import Entry, entry_of_line
from seekwarc.errors import FormatError, LimitError
from seekwarc.format.cdxj import MAX_LINE_SIZE, CdxjLine
from seekwarc.storage.source import RangeSource

__all__ = ["IndexFile", "is_index"]

STEP: Final = 1 << 20


def is_index(target: object) -> bool:
    """Return whether a target is an index, which its name tells, and not an archive."""
    if not isinstance(target, str | os.PathLike):
        return False
    name = os.fspath(target)
    path = urlsplit(name).path if "://" in name else name
    return path.lower().endswith(".cdxj")


@dataclass(frozen=True, slots=True)
class IndexFile:
    """A CDXJ file.

    Attributes:
        source: Its bytes.
    """

    source: RangeSource

    def file_names(self) -> list[str]:
        """Return the names of the files that it lists, in the order of their first lines.

        Raises:
            FormatError: The file is not CDXJ.
        """
        return list(dict.fromkeys(line.filename for _, line in self._lines()))

    def entries(self, names: Mapping[str, str]) -> Iterator[tuple[int, Entry]]:
        """Yield an entry for each line, each with the position at which the next line begins.

        Raises:
            FormatError: A line is malformed.
        """
        for end, line in self._lines():
            yield end, entry_of_line(line, names[line.filename])

    def _lines(self) -> Iterator[tuple[int, CdxjLine]]:
        """Yield each line, with the position at which the next one begins."""
        position, rest = 0, b""
        while data := self.source.read(position + len(rest), position + len(rest) + STEP):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                start, position = position, position + len(line) + 1
                yield from self._parsed(line, start, position)
            if len(rest) > MAX_LINE_SIZE:
                raise LimitError("a line is longer than 16 MiB", source=self.source.name, offset=position)
        yield from self._parsed(rest, position, position + len(rest))

    def _parsed(self, line: bytes, start: int, stop: int) -> Iterator[tuple[int, CdxjLine]]:
        # Some indexes begin with lines about themselves, which sort before all others.
        if not line.strip() or line.startswith((b"!", b" CDX")):
            return
        try:
            yield stop, CdxjLine.parse(line)
        except FormatError as error:
            raise error.located(self.source.name, start) from None
