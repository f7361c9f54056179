"""The index that lies beside a file, or is in its folder: used without being named, and said."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from seekwarc.cdx.beside import IndexBeside, names_beside
from seekwarc.cdx.places import base_name
from seekwarc.cli.printing import say
from seekwarc.errors import SeekWarcError, SourceError, SourceNotFoundError
from seekwarc.storage.remote_url import is_url

if TYPE_CHECKING:
    from seekwarc.cdx.index import Capture
    from seekwarc.read.reader import Reader

__all__ = ["IndexesBeside"]


class IndexesBeside:
    """Finds the indexes of files, and says which of them are used, or why not.

    Args:
        files: The files.
        is_wanted: Tells whether a line is wanted.
    """

    def __init__(self, files: Iterable[str], is_wanted: Callable[[Capture], bool]) -> None:
        self._files = [*files]
        self._is_wanted = is_wanted
        self._known: dict[str, IndexBeside | None] = {}
        self._used: set[str] = set()

    def of(self, archive: Reader) -> IndexBeside | None:
        """Return the index of an archive; None if it has none, or none that is of all of it."""
        if archive.name not in self._files:
            return None
        for name in names_beside(archive.name):
            if name not in self._known:
                self._known[name] = self._opened(name)
            index = self._known[name]
            if index is None:
                continue
            try:
                index.check(archive)
            except SeekWarcError as error:
                say(f"{name} is not used: {error.message}; `seekwarc index` makes it again")
                continue
            if name not in self._used:
                say(f"using index {name}; --no-index reads the files")
                self._used.add(name)
            return index
        return None

    def _opened(self, name: str) -> IndexBeside | None:
        try:
            return IndexBeside(name, {base_name(it) for it in self._files}, self._is_wanted)
        except SourceNotFoundError:
            return None
        except SeekWarcError as error:
            # What a server has beside an archive may be for other clients.
            if not (is_url(name) and isinstance(error, SourceError)):
                say(f"{error}; it is not used")
            return None
