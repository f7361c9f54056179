"""What stays open, and how long: until a `with` block ends, or until others were used more recently."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Generic, Self, TypeVar

__all__ = ["Closing", "Recent", "keep", "keeping"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


_KEPT: list[list[object]] = []
"""What each of the `keeping` blocks keeps."""


@contextmanager
def keeping() -> Iterator[None]:
    """Keep what was given to `keep` last, so that it is not opened once for each use.

    The directory of a remote WACZ is then read once, not for each file in it.
    """
    kept: list[object] = []
    _KEPT.append(kept)
    try:
        yield
    finally:
        _KEPT[:] = [it for it in _KEPT if it is not kept]


def keep(value: object) -> None:
    """Keep something that is open until the next is kept or the `keeping` block ends, if there is one."""
    if _KEPT:
        _KEPT[-1][:] = [value]


class Closing(ABC):
    """Something that is closed when its `with` block ends, however that ends."""

    __slots__ = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Close it. Idempotent."""


class Recent(Generic[K, V]):
    """The most recently used values, by their keys. Safe to use from several threads.

    Values that are dropped are not closed, since they may be in use.

    Args:
        limit: Maximum number of values.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._values: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        """Return the value of a key, or None if it is unknown or was dropped."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: K, value: V, *, replace: bool = True) -> V:
        """Keep a value, and return it; without `replace`, the value that the key already has."""
        with self._lock:
            if replace or key not in self._values:
                self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._limit:
                self._values.popitem(last=False)
            return self._values[key]

    def values(self) -> tuple[V, ...]:
        """Return all values that are kept."""
        with self._lock:
            return tuple(self._values.values())

    def clear(self) -> None:
        """Drop all values."""
        with self._lock:
            self._values.clear()
