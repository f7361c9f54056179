"""Records as a CDXJ index lists them, so that the files it names need not be scanned."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from seekwarc.errors import FormatError, LimitError
from seekwarc.format.cdxj import MAX_LINE_SIZE, TYPE_FIELD, CdxjLine
from seekwarc.format.seektable import TableChoice, TableTrust
from seekwarc.serve.catalogue import Row, key_of
from seekwarc.serve.headers import clean
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

    def rows(self, numbers: dict[str, int]) -> Iterator[tuple[int, Row]]:
        """Yield a row for each line, each with the position at which the next line begins.

        Fields that the index does not have are None, and the size is that of the stored record.

        Raises:
            FormatError: A line is malformed.
        """
        for end, line in self._lines():
            digest = line.digest
            problem = None
            try:
                table: TableChoice = line.table
            except FormatError as error:
                # The record can be read without its table.
                table, problem = TableTrust.SCANNED, str(error)
            yield (
                end,
                Row(
                    file=numbers[line.filename],
                    offset=line.offset,
                    length=line.length,
                    type="revisit" if line.is_revisit else clean(line.fields.get(TYPE_FIELD, "response")),
                    uri=clean(line.uri),
                    date=f"{line.date.datetime:%Y-%m-%dT%H:%M:%SZ}",
                    mime=clean(line.mime),
                    status=line.status,
                    size=line.length or 0,
                    digest=clean(str(digest)) if digest is not None else None,
                    digest_key=key_of(digest) if digest is not None else None,
                    problem=clean(problem),
                    seek_table=str(table),
                ),
            )

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
