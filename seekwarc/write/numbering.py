"""The names of the files of a series, and which of them exist.

Source: WARC 1.1, annex C.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
from collections.abc import Iterator
from typing import Literal

from seekwarc.errors import TargetExistsError
from seekwarc.write.unfinished import UNFINISHED, save_hint, unfinished_name

__all__ = ["ExistingSeries", "SeriesNames", "numbered_names"]

ExistingSeries = Literal["error", "number", "overwrite"]
"""What to do if files of the series exist: refuse to begin, start after them, or replace them."""

_EXTENSION = re.compile(r"(\.warc)?(\.[a-z0-9]+)?$", re.IGNORECASE)


def _parts(path: str) -> tuple[str, str]:
    folder, base = os.path.split(path)
    match = _EXTENSION.search(base)
    cut = match.start() if match else len(base)
    return os.path.join(folder, base[:cut]) + "-", base[cut:]


def numbered_names(path: str) -> Iterator[str]:
    """Yield the names of the files of a series: "a.warc.zst" makes "a-00000.warc.zst" and so on."""
    before, after = _parts(path)
    return (f"{before}{number:05}{after}" for number in itertools.count())


class SeriesNames:
    """Names for new files of a series. The name of an existing file is used only if that may be replaced.

    Args:
        path: The path of all files; their number is put before ".warc".
        existing: What to do with existing files: "error" refuses them, "number" starts after them,
            "overwrite" replaces them.

    Attributes:
        last: Final name of the last file that exists, finished or not; None if there is no file.

    Raises:
        TargetExistsError: Files exist, and `existing` is "error".
    """

    def __init__(self, path: str, existing: ExistingSeries) -> None:
        self._before, self._after = _parts(path)
        self._existing = existing
        found = self._found()
        self.last = self._name(max(found)) if found else None
        if found and existing == "error":
            name = self._name(min(found))
            taken = name if os.path.lexists(name) else unfinished_name(name)
            more = f" (and {len(found) - 1} more of the series)" if len(found) > 1 else ""
            raise TargetExistsError(
                f'{taken}: exists already{more}; start after it (`--existing number`, existing="number"), '
                'replace it (`--force`, existing="overwrite") or continue it (mode "a")'
            )
        self._replaced = found if existing == "overwrite" else set()
        self._next = max(found) + 1 if found and existing == "number" else 0
        self._unused: list[str] = []

    def _name(self, number: int) -> str:
        return f"{self._before}{number:05}{self._after}"

    def _found(self) -> set[int]:
        folder, before = os.path.split(self._before)
        names = re.escape(before) + r"([0-9]{5,18})" + re.escape(self._after)
        pattern = re.compile(f"{names}({re.escape(UNFINISHED)})?")
        try:
            matches = list(filter(None, map(pattern.fullmatch, os.listdir(folder or "."))))
        except OSError:
            return set()
        # Each number has one name: "000012" is not the name of number 12.
        return {int(match[1]) for match in matches if f"{int(match[1]):05}" == match[1]}

    def take(self) -> str:
        """Return the next name.

        Raises:
            TargetExistsError: Another process took it after the series was begun.
        """
        if self._unused:
            return self._unused.pop()
        while True:
            name = self._name(self._next)
            self._next += 1
            taken = os.path.lexists(name) or os.path.exists(unfinished_name(name))
            if not taken or self._existing == "overwrite":
                return name
            if self._existing == "error":
                raise TargetExistsError(
                    "exists already; another process writes files of that name", source=name
                )

    def put_back(self, name: str) -> None:
        """Return a name that was not used."""
        self._unused.append(name)

    def remove_rest(self) -> None:
        """Remove the files of a replaced series that the new, shorter one has no files for."""
        for number in sorted(self._replaced):
            if number >= self._next - len(self._unused):
                with contextlib.suppress(OSError):
                    os.unlink(self._name(number))

    def unfinished(self, *, but_last: bool) -> list[str]:
        """Return a message for each unfinished file, or for all but the last of the series."""
        names = [self._name(number) for number in sorted(self._found())]
        return [
            f"a writer that was stopped left {unfinished_name(name)}; {save_hint(name)}"
            for name in names
            if not (but_last and name == self.last) and os.path.exists(unfinished_name(name))
        ]
