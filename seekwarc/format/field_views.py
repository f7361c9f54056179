"""What `items` and `values` of named fields return, where a name may occur more than once.

Not compiled: a compiled class never lets go of what the constructor of a base class in Python stored.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, Sequence, ValuesView

__all__ = ["FieldItems", "FieldValues"]


class FieldItems(ItemsView[str, str]):
    """All fields as (name, value), in order."""

    def __init__(self, fields: Mapping[str, str], pairs: Sequence[tuple[str, str]]) -> None:
        super().__init__(fields)
        self._pairs = pairs

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._pairs)


class FieldValues(ValuesView[str]):
    """The values of all fields, in order."""

    def __init__(self, fields: Mapping[str, str], pairs: Sequence[tuple[str, str]]) -> None:
        super().__init__(fields)
        self._pairs = pairs

    def __iter__(self) -> Iterator[str]:
        return iter([value for _, value in self._pairs])
