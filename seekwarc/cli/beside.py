"""The index that lies beside a file, or is in its folder: used without being named, and said."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Final

from seekwarc.cdx.beside import IndexBeside, names_beside
from seekwarc.cdx.places import name_in_index
from seekwarc.cli.printing import say
from seekwarc.errors import SeekWarcError, SourceError, SourceNotFoundError
from seekwarc.storage.remote_url import is_url

if TYPE_CHECKING:
    from seekwarc.cdx.index import Capture
    from seekwarc.make.text_searching import SearchIndex
    from seekwarc.read.reader import Reader

__all__ = ["IndexesBeside", "is_search_index", "search_index_beside"]


USING: Final = "using index {}; --no-index reads the files"


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
                say(USING.format(name))
                self._used.add(name)
            return index
        return None

    def _opened(self, name: str) -> IndexBeside | None:
        try:
            return IndexBeside(name, {name_in_index(it) for it in self._files}, self._is_wanted)
        except SourceNotFoundError:
            return None
        except SeekWarcError as error:
            # What a server has beside an archive may be for other clients.
            if not (is_url(name) and isinstance(error, SourceError)):
                say(f"{error}; it is not used")
            return None


def search_index_beside(targets: Sequence[str], files: Sequence[str]) -> SearchIndex | None:
    """Open the search index that lies beside all that was named, if it has all files of it as they are."""
    from seekwarc.make.text_indexing import SEARCH_SUFFIX
    from seekwarc.make.text_searching import SearchIndex

    names = [[*names_beside(it, SEARCH_SUFFIX)] for it in targets]
    for name in [it for it in names[0] if all(it in others for others in names) and os.path.isfile(it)]:
        try:
            with ExitStack() as opened:
                index = opened.enter_context(SearchIndex(name, files=files))
                index.check()
                say(USING.format(name))
                opened.pop_all()
                return index
        except SeekWarcError as error:
            say(f"{name} is not used: {error.message}; `seekwarc index --text` brings it up to date")
    return None


def is_search_index(name: str) -> bool:
    """Return whether a search index is named; refuse another file of such a name, which is not damage."""
    from seekwarc.inside.search import HEAD, is_search_head
    from seekwarc.make.text_indexing import SEARCH_SUFFIX

    # What cannot be opened is said when it is read.
    with suppress(OSError, ValueError):
        if os.path.isfile(name):
            with open(name, "rb") as file:
                if is_search_head(file.read(HEAD)):
                    return True
            if name.lower().endswith(SEARCH_SUFFIX):
                raise SeekWarcError(
                    "is not a search index; make one with `seekwarc index --text FILE... -o NAME.fts`",
                    source=name,
                )
    return name.lower().endswith(SEARCH_SUFFIX)
