"""The advice to make an index, once a verb has made many requests for what an index would find in a few."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

from seekwarc.cli.printing import say
from seekwarc.read.reader import Reader
from seekwarc.storage.remote_url import is_url

__all__ = ["RequestAdvice"]

T = TypeVar("T")
SEPARATOR: Final = "!/"
"""What comes between a WACZ and a file in it."""
MAX_REQUESTS: Final = 100
"""Requests after which an index is worth a word."""


class RequestAdvice:
    """Counts the requests of a verb, and says once which index would save them."""

    def __init__(self) -> None:
        self._count = 0
        self._is_given = False

    def watch(self, archive: Reader, records: Iterable[T]) -> Iterator[T]:
        """Return what is made of the records of an archive, and give the advice after too many requests."""
        return self._watched(archive, records) if is_url(archive.name) else iter(records)

    def _watched(self, archive: Reader, records: Iterable[T]) -> Iterator[T]:
        before = archive.stats.requests
        for record in records:
            yield record
            before = self._add(archive, before)
        self._add(archive, before)

    def _add(self, archive: Reader, before: int) -> int:
        count = archive.stats.requests
        self._count += count - before
        if self._count > MAX_REQUESTS and not self._is_given:
            self._is_given = True
            say(_advice(archive.name))
        return count


def _advice(url: str) -> str:
    url = url.partition(SEPARATOR)[0]
    folder, _, name = url.rpartition("/")
    index = f"{name}.cdxj"
    return (
        f"more than {MAX_REQUESTS} requests were made; to save them, make an index once with "
        f"`seekwarc index {url} -o {index}`, and use it with "
        f"`seekwarc cat --index {index} --files {folder}/ --uri URI` and `seekwarc lookup {index} URI`"
    )
