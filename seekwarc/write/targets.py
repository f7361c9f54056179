"""What a writer writes to: a new file, a series of numbered files, or one that is continued.

Source: WARC 1.1, annex C.
"""

from __future__ import annotations

import itertools
import os
import re
import warnings
from collections.abc import Iterator
from typing import NamedTuple

from seekwarc.errors import FormatWarning, TargetError, TargetExistsError
from seekwarc.frames.pieces import Compression
from seekwarc.storage.expand import UNFINISHED
from seekwarc.storage.remote_url import is_url, shown_url
from seekwarc.write.append import continued
from seekwarc.write.file_layout import ExistingFile
from seekwarc.write.files import (
    ExistingSeries,
    is_left,
    is_taken,
    names_beside,
    remove,
    save_hint,
    unfinished_name,
)
from seekwarc.write.opening import Target
from seekwarc.write.options import WriteOptions
from seekwarc.write.output import OpenOutput

__all__ = ["Found", "SeriesNames", "find_target", "numbered_names"]

_EXTENSION = re.compile(r"(\.warc)?(\.[a-z0-9]+)?$", re.IGNORECASE)


class Found(NamedTuple):
    """What a writer writes to."""

    target: Target
    """The first file."""
    names: SeriesNames | None = None
    """Names of the files of a series; None for a single file."""
    continued: OpenOutput | None = None
    """The file that will be continued, opened; None for a new one."""
    existing: ExistingFile | None = None
    """What is in it; None if it has no whole record."""


def find_target(target: Target, compression: Compression, options: WriteOptions) -> Found:
    """Find the file that a writer begins with; open it if it is to be continued."""
    append, is_series = options.append, options.max_file_size is not None
    if append and is_url(target):
        raise TargetError(
            "an object in a store cannot be changed, so it cannot be continued; write a new one, or more of "
            'a series with mode "w" and existing="number"',
            source=shown_url(target),
        )
    if not isinstance(target, str | os.PathLike):
        if append or is_series:
            option = 'mode "a"' if append else "max_file_size"
            raise ValueError(f"{option} needs a path: it makes or finds files by their names")
        return Found(target)
    names = None
    if is_series:
        names = SeriesNames(os.fspath(target), "number" if append else options.existing)
        if options.existing != "overwrite":
            for message in names.unfinished(but_last=append):
                warnings.warn(message, FormatWarning, stacklevel=4)
        if names.last is None:
            return Found(target, names)
        target = names.last
    there = continued(target, compression=compression, repair=options.repair) if append else None
    return Found(target, names, *(there or ()))


def _parts(path: str) -> tuple[str, str]:
    stem = _EXTENSION.sub("", path, count=1)
    return stem + "-", path[len(stem) :]


def numbered_names(path: str) -> Iterator[str]:
    """Yield the names of the files of a series: "a.warc.zst" makes "a-00000.warc.zst" and so on."""
    before, after = _parts(path)
    return (f"{before}{number:05}{after}" for number in itertools.count())


class SeriesNames:
    """Names for new files of a series. The name of an existing file is used only if that may be replaced."""

    def __init__(self, path: str, existing: ExistingSeries) -> None:
        self._before, self._after = _parts(path)
        self._existing = existing
        self._found = found = self._numbers()
        self.last = self._name(max(found)) if found else None
        if found and existing == "error":
            name = self._name(min(found))
            taken = name if is_url(name) or os.path.lexists(name) else unfinished_name(name)
            more = f" (and {len(found) - 1} more of the series)" if len(found) > 1 else ""
            raise TargetExistsError(
                f'{taken}: exists already{more}; start after it (`--existing number`, existing="number"), '
                'replace it (`--force`, existing="overwrite")'
                + ("" if is_url(name) else ' or continue it (mode "a")')
            )
        self._next = max(found) + 1 if found and existing == "number" else 0

    def _name(self, number: int) -> str:
        return f"{self._before}{number:05}{self._after}"

    def _numbers(self) -> list[int]:
        before = os.path.basename(self._before)
        names = re.escape(before) + r"([0-9]{5,18})" + re.escape(self._after)
        pattern = re.compile(f"{names}({re.escape(UNFINISHED)})?")
        matches = list(filter(None, map(pattern.fullmatch, names_beside(self._before))))
        # Each number has one name: "000012" is not the name of number 12.
        return sorted({int(match[1]) for match in matches if f"{int(match[1]):05}" == match[1]})

    def take(self) -> str:
        """Return the next name."""
        while True:
            name = self._name(self._next)
            self._next += 1
            if self._existing == "overwrite" or not is_taken(name):
                return name
            if self._existing == "error":
                raise TargetExistsError(
                    "exists already; another process writes files of that name", source=name
                )

    def put_back(self, name: str) -> None:
        """Return the name that was taken last and not put back, which was not used."""
        self._next = int(name[len(self._before) : len(name) - len(self._after)])

    def remove_rest(self) -> None:
        """Remove the files of a replaced series that the new, shorter one has no files for."""
        for number in self._found:
            if self._existing == "overwrite" and number >= self._next:
                remove(self._name(number))

    def unfinished(self, *, but_last: bool) -> list[str]:
        """Return a message for each file that a writer left unfinished, or for all but the last one."""
        names = map(self._name, self._found[:-1] if but_last else self._found)
        return [
            f"a writer that was stopped left {unfinished_name(name)}; {save_hint(name)}"
            for name in names
            if not is_url(name) and is_left(unfinished_name(name))
        ]
