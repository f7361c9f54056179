"""Searching the texts of the files that are served, in an index that `seekwarc index --text` made.

Records are read from the served files alone, whatever the index names: it may be someone else's. The index is
opened for each request, so a new version of it is used at once.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request

from seekwarc.errors import SourceTimeoutError
from seekwarc.format.header_fields import whole_number
from seekwarc.inside.query import MAX_QUERY
from seekwarc.inside.search import Order
from seekwarc.make.text_indexing import SEARCH_SUFFIX
from seekwarc.make.text_searching import Hit, SearchIndex
from seekwarc.read.reader import Reader
from seekwarc.serve.library import Library

__all__ = ["MAX_HITS", "TextSearch", "is_text_index"]

MAX_HITS: Final = 50
"""Pages in one answer, each of which is read for its snippet."""
HITS: Final = 20
MAX_START: Final = 10_000
ORDERS: Final[tuple[Order, ...]] = ("rank", "date")


def is_text_index(target: str) -> bool:
    """Return whether a target is a search index, by its name."""
    return target.lower().endswith(SEARCH_SUFFIX) and "://" not in target


class TextSearch:
    """The search of a server. It raises what `SearchIndex` raises unless the index is sound.

    Args:
        library: The files that are served.
        path: The index.
        files: Paths of archives: only what the index has of these is searched; empty for all.
    """

    def __init__(self, library: Library, path: str, files: Sequence[str] = ()) -> None:
        self._library = library
        self._path = path
        self._files = files
        self._readers = {_known_as(name): reader for name, reader in library.archives.items()}
        self._by_base: dict[str, Reader | None] = {}
        for name, reader in self._readers.items():
            base = os.path.basename(name)
            # Which of two files of the same name is meant, only their folders tell.
            self._by_base[base] = None if base in self._by_base else reader
        SearchIndex(path).close()

    def answer(self, request: Request) -> dict[str, Any]:
        """Answer a request for pages; see `openapi.py`."""
        params = request.query_params
        order = next((it for it in ORDERS if it == params.get("order", "rank")), None)
        if order is None:
            raise HTTPException(400, f"pages can be ordered by {' or '.join(ORDERS)}")
        given = {name: params[name] for name in ("since", "until", "mime", "host") if params.get(name)}
        if given.get("mime", "*")[-1] == "/":
            given["mime"] += "*"
        start = _number(request, "start", 0, MAX_START)
        try:
            with SearchIndex(self._path, find=self._find, files=self._files) as index:
                found = index.search(
                    params.get("q", "")[: MAX_QUERY + 1],
                    limit=max(_number(request, "count", HITS, MAX_HITS), 1),
                    start=start,
                    order=order,
                    **given,  # type: ignore[arg-type]
                )
        except SourceTimeoutError as error:
            raise HTTPException(400, error.message) from error
        except ValueError as error:
            if isinstance(error, OSError) or hasattr(error, "source"):
                raise
            raise HTTPException(400, str(error)) from error
        return {
            "total": found.total,
            "exact": found.is_total_exact,
            "unread": found.unread,
            "start": start,
            "hits": [self._hit(it) for it in found.hits],
        }

    def _hit(self, hit: Hit) -> dict[str, Any]:
        reader = self._find(hit.file)
        known = self._library.record_id(reader.name, hit.offset) if reader is not None else None
        name = reader.name if reader is not None else os.path.basename(hit.file)
        return {"id": known, **hit.as_json(), "file": name}

    def _find(self, path: str) -> Reader | None:
        """Return the served file that an index names, also if all was moved to another folder."""
        return self._readers.get(_known_as(path)) or self._by_base.get(os.path.basename(path))


def _known_as(name: str) -> str:
    return name if "://" in name else os.path.realpath(name)


def _number(request: Request, name: str, default: int, high: int) -> int:
    text = request.query_params.get(name)
    number = whole_number(text) if text else default
    if number is None or number > high:
        raise HTTPException(400, f"{name} must be a number up to {high}")
    return number
