"""What a look-up returns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, NoReturn, TypeVar

__all__ = ["OneByOne"]

Item = TypeVar("Item")


class OneByOne(Generic[Item]):
    """The iterator over captures that a look-up returns: it says what to do instead of `lookup(uri)[0]`."""

    def __init__(self, captures: Iterator[Item]) -> None:
        self._captures = captures

    def __iter__(self) -> Iterator[Item]:
        return self

    def __next__(self) -> Item:
        return next(self._captures)

    def __getitem__(self, _: object) -> NoReturn:
        raise TypeError(
            "the captures of a look-up come one after the other, and are not a list: use next(...) for the "
            "first, list(...) for all, or `latest(uri)` for the latest"
        )
