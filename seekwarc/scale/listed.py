"""Where records begin according to an index, thinned out: a few of many lines are enough to cut files by."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import takewhile
from typing import Final
from urllib.parse import unquote

from seekwarc.cdx.index import Index
from seekwarc.errors import FormatError
from seekwarc.format.uri import as_utf8

__all__ = ["ListedRecords"]

PLACES_PER_PART: Final = 4
"""A part may be larger than was asked for by one in so many."""


class ListedRecords:
    """Offsets of records by file. However large the index, a few for each part of a file are kept."""

    def __init__(self, index: str | os.PathLike[str] | Index, target_bytes: int) -> None:
        spacing = max(target_bytes // PLACES_PER_PART, 1)
        files: defaultdict[str, dict[int, int]] = defaultdict(dict)
        with ExitStack() as opened:
            lines = index if isinstance(index, Index) else opened.enter_context(Index(index))
            for capture in lines:
                try:
                    name, offset = capture.filename, capture.offset
                except FormatError as error:
                    raise error.located(capture.source, capture.place) from None
                places = files[name]
                place = offset // spacing
                places[place] = min(places.get(place, offset), offset)
        self._offsets = {name: sorted(places.values()) for name, places in files.items()}
        self._names: defaultdict[str, list[str]] = defaultdict(list)
        for name in self._offsets:
            self._names[as_utf8(os.path.basename(name))].append(name)

    def of(self, url: str) -> Sequence[int] | None:
        """Return offsets of records of a file, ascending; None if the index has none.

        The index names files as seen from its own folder: of those with the same last part the one is taken
        that agrees with most of the URL.
        """
        path = unquote(url.partition("?")[0]) if "://" in url else url
        path = as_utf8(path.replace(os.sep, "/"))
        names = self._names.get(path.rpartition("/")[2], ())
        if not names:
            return None
        return self._offsets[max(names, key=lambda name: _agreement(name, path))]


def _agreement(name: str, path: str) -> int:
    pairs = zip(reversed(name.split("/")), reversed(path.split("/")), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
