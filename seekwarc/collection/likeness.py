"""Which captures are meant by a URI: those of exactly this URI, or else of one that resembles it.

An index is sorted by keys (`format.surt`) that many URIs may share: `www.` and `www2.`, `/AbC` and `/abc`. So
all look-ups rank what they find in the same way, and say if it is a capture of another URI.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from functools import cached_property
from typing import Final, TypeVar

from seekwarc.collection.entry import Entry, nearest
from seekwarc.format.dates import WarcDate
from seekwarc.format.surt import surt
from seekwarc.format.uri import as_utf8, normalized

__all__ = ["Likeness", "Meant", "in_order", "nearest_alike"]

T = TypeVar("T")
MAX_OTHERS: Final = 10_000
"""Captures of other URIs with the same key that are remembered while those of a URI are looked for."""


class Likeness(IntEnum):
    """How a captured URI resembles one that is asked for; the smaller, the better."""

    SAME = 0
    SPELLING = 1
    """The same in another spelling: percent-encodings, IDNA, a default port, a fragment."""
    KEY = 2
    """Another URI, which counts as the same in an index."""


class Meant:
    """Compares captured URIs with one that is asked for.

    Example:
        >>> from seekwarc.collection.likeness import Meant
        >>> meant = Meant("http://example.org/%7Ea")
        >>> meant("http://example.org/~a"), meant("https://example.org/~A"), meant("http://example.org/b")
        (<Likeness.SPELLING: 1>, <Likeness.KEY: 2>, None)
    """

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._written = as_utf8(uri)

    @cached_property
    def _normalized(self) -> bytes:
        return normalized(self.uri)

    @cached_property
    def _key(self) -> str:
        return surt(self.uri)

    def __call__(self, found: str | None) -> Likeness | None:
        """Return how a captured URI resembles the one that is asked for; None if it does not."""
        if self.is_same(found):
            return Likeness.SAME
        if found is None:
            return None
        if self.is_spelled(found):
            return Likeness.SPELLING
        return Likeness.KEY if surt(found) == self._key else None

    def is_same(self, found: str | None) -> bool:
        """Return whether it is exactly the URI; bytes that are not UTF-8 may be written as in any output."""
        return found == self.uri or (found is not None and as_utf8(found) == self._written)

    def is_spelled(self, found: str | None) -> bool:
        """Return whether it is the URI in any spelling."""
        # Spellings of what names no valid host and port have keys of their own, and no index could tell.
        return found is not None and normalized(found) == self._normalized and surt(found) == self._key

    def note(self, found: str | None) -> str | None:
        """Return the sentence that says that this is another URI; None if it is the same in any spelling."""
        if self.is_same(found) or self.is_spelled(found):
            return None
        return f"no capture of {self.uri}; this is {found}, which has the same key"


def in_order(uri: str, captures: Iterable[T], uri_of: Callable[[T], str | None]) -> Iterator[T]:
    """Yield captures of the key of a URI by likeness, and those that are equally alike in the given order.

    Those of exactly this URI are yielded as they come, and of the others 10,000 of each kind.
    """
    meant = Meant(uri)
    others: dict[Likeness | None, list[T]] = {Likeness.SPELLING: [], Likeness.KEY: [], None: []}
    for capture in captures:
        likeness = meant(uri_of(capture))
        if likeness is Likeness.SAME:
            yield capture
        elif len(others[likeness]) < MAX_OTHERS:
            others[likeness].append(capture)
    for some in others.values():
        yield from some


def nearest_alike(uri: str, entries: Iterable[Entry], date: WarcDate | None) -> Entry | None:
    """Return the capture that a URI and date mean, or with no date the latest.

    It is one of those that are the most alike: of exactly this URI, or another spelling, or its key.
    """
    meant = Meant(uri)
    found: dict[Likeness, list[Entry]] = {}
    for entry in entries:
        if entry.date is not None and (likeness := meant(entry.uri)) is not None:
            found.setdefault(likeness, []).append(entry)
    return nearest(found[min(found)], date) if found else None
