"""Which records a tool works on: by the conditions of `ls`, by lists of any length, or by their inverse.

A choice is sent to other processes, so tests are functions of this module with their lists, and no closures.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Self, cast

from seekwarc.cdx.index import Index
from seekwarc.errors import FormatError, SourceError
from seekwarc.format.cdxj import CdxjLine, timestamp_of
from seekwarc.format.dates import WarcDate
from seekwarc.format.surt import surt
from seekwarc.format.uri import as_utf8, checked_host, has_host, normalized
from seekwarc.format.values import without_brackets
from seekwarc.read.record import Record
from seekwarc.read.selection import Conditions, Selection

__all__ = ["Choice", "ChoiceConditions", "ListTarget", "with_entries"]

MARK: Final = 8
BLANKS: Final = " \t\r\n"
"""Around the entries of a list. A no-break space may be part of a URI."""

ListTarget = str | os.PathLike[str] | Iterable[str]
"""A list: the path of a text file with an entry per line, or the entries."""


class ChoiceConditions(Conditions, total=False):
    """The conditions of `Conditions`, and lists, as keyword arguments; each list also inverted.

    Example:
        >>> wanted = {"type": "response", "hosts": ["example.org"]}
        >>> seekwarc.tools.filter("crawl.warc.zst", "site.warc.zst", **wanted).matched
        2
    """

    uris: ListTarget | None
    """Target URIs, each in any spelling."""
    hosts: ListTarget | None
    """Hosts of target URIs, each as `host` takes them."""
    ids: ListTarget | None
    """Record IDs, with or without angle brackets."""
    cdxj: str | os.PathLike[str] | None
    """An index; its lines name the records by file name (without folders) and offset. A record there that
    has not the URI and the date of the line is an error: the index is of another state of the file."""
    not_uris: ListTarget | None
    """Any target URI but these; records without one match, as for the other inverted lists."""
    not_hosts: ListTarget | None
    """Any host but these and their subdomains."""
    not_ids: ListTarget | None
    """Any record ID but these."""
    not_cdxj: str | os.PathLike[str] | None
    """Any record that the index does not name."""
    invert: bool
    """The records that do not match all of the other conditions."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What records must be like to be chosen; made with `of`, which takes `ChoiceConditions`."""

    selection: Selection
    lists: tuple[tuple[Callable[[Record], bool], bool], ...]
    """Tests, and the result that each must have."""
    invert: bool = False
    has_ids: bool = False
    """Whether there are lists of record IDs."""
    uris: frozenset[bytes] = frozenset()
    """The URIs that are chosen, as `normalized` returns them; patterns are not among them."""

    @classmethod
    def of(cls, *, invert: bool = False, **conditions: Any) -> Self:  # noqa: ANN401
        """Make a choice of `ChoiceConditions`; a wrong one is a TypeError or ValueError."""
        lists: list[tuple[Callable[[Record], bool], bool]] = []
        uris = frozenset[bytes]()
        if (named := conditions.pop("uris", None)) is not None:
            uris = _normalized(named)
            lists.append((partial(_has_uri, uris), True))
        has_ids = conditions.get("ids") is not None or conditions.get("not_ids") is not None
        for name, test in _LISTS.items():
            for argument in (name, f"not_{name}"):
                target = conditions.pop(argument, None)
                if target is not None:
                    lists.append((test(target), argument == name))
        selection = Selection.named(**conditions)
        return cls(selection, tuple(lists), invert, has_ids, selection.same_uris | uris)

    def __bool__(self) -> bool:
        return bool(self.selection or self.lists or self.invert)

    def matches(self, record: Record) -> bool:
        """Tell whether a record is chosen. Lists are searched first, since a block may have to be read."""
        return self._matches(record) != self.invert

    def _matches(self, record: Record) -> bool:
        for test, wanted in self.lists:
            if test(record) != wanted:
                return False
        return self.selection.matches(record)


def with_entries(conditions: ChoiceConditions) -> ChoiceConditions:
    """Return the conditions that are given, with the entries of lists instead of the files that hold them.

    A size of 0 is as if it were not given.
    """
    given: dict[str, Any] = {name: it for name, it in conditions.items() if it not in (None, False, 0)}
    for name in given.keys() & {f"{negation}{list_}" for negation in ("", "not_") for list_ in _ENTRIES}:
        given[name] = sorted(_entries(given[name]))
    return cast("ChoiceConditions", given)


def _entries(target: ListTarget) -> set[str]:
    if not isinstance(target, str | os.PathLike):
        return {it for line in target if (it := line.strip(BLANKS))}
    try:
        with open(target, encoding="utf-8-sig", errors="surrogateescape") as file:
            return {it for line in file if (it := line.strip(BLANKS))}
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", source=os.fspath(target)) from error


def _by_uri(target: ListTarget) -> Callable[[Record], bool]:
    return partial(_has_uri, _normalized(target))


def _normalized(target: ListTarget) -> frozenset[bytes]:
    return frozenset(normalized(without_brackets(entry)) for entry in _entries(target))


def _has_uri(uris: frozenset[bytes], record: Record) -> bool:
    uri = record.target_uri
    return uri is not None and normalized(uri) in uris


def _by_host(target: ListTarget) -> Callable[[Record], bool]:
    return partial(_has_host, frozenset(map(checked_host, _entries(target))))


def _has_host(hosts: frozenset[str], record: Record) -> bool:
    return has_host(record.target_uri, hosts)


def _by_id(target: ListTarget) -> Callable[[Record], bool]:
    return partial(_has_id, {entry.removeprefix("<").removesuffix(">") for entry in _entries(target)})


def _has_id(ids: set[str], record: Record) -> bool:
    return record.id in ids


def _by_line(target: str | os.PathLike[str]) -> Callable[[Record], bool]:
    places: dict[tuple[str, int], list[tuple[str, bytes]]] = {}
    with Index(target) as index:
        for line in index:
            path = "/" + _slashed(line.fields.get("filename", ""))
            mark = _mark(line.uri, line.date)
            places.setdefault(place_of(line, index.name), []).append((path, mark))
        return partial(_is_at, index.name, places)


def _mark(uri: str | None, date: WarcDate | None) -> bytes:
    """Return what is equal for a line and its record, and small: there may be millions of lines."""
    text = f"{timestamp_of(date) if date is not None else ''} {surt(uri or '')}"
    return hashlib.blake2b(text.encode(), digest_size=MARK).digest()


def _is_at(name: str, places: Mapping[tuple[str, int], Sequence[tuple[str, bytes]]], record: Record) -> bool:
    """Tell whether a line of an index is that of a record.

    Raises:
        FormatError: It is of this place, but of another record: the index is not of this file as it is now.
    """
    lines = places.get((_base(record.source), record.offset), ())
    if not lines or record.target_uri is None:
        return bool(lines)
    mark = _mark(record.target_uri, record.date)
    if any(it == mark for _, it in lines):
        return True
    source = "/" + _slashed(os.path.abspath(record.source))
    if any(source.endswith(path) for path, _ in lines):
        raise FormatError(
            f"{name} names another URI or date here: make the index again with `seekwarc index`",
            source=record.source,
            offset=record.offset,
        )
    # A file of the same name in another folder.
    return False


def place_of(line: CdxjLine, name: str) -> tuple[str, int]:
    """Return the file name without folders and the offset that a line of an index names."""
    filename, offset = line.fields.get("filename"), str(line.fields.get("offset", ""))
    if not filename or not offset.isdecimal():
        raise FormatError(f"a line of {line.fields.get('url')} names no file and offset", source=name)
    return _base(str(filename)), int(offset)


def _slashed(name: str) -> str:
    return as_utf8(name).replace("\\", "/")


def _base(name: str) -> str:
    return _slashed(name).rpartition("/")[2]


_ENTRIES: Final = ("uris", "hosts", "ids")
_LISTS: Final[dict[str, Callable[[Any], Callable[[Record], bool]]]] = {
    "uris": _by_uri,
    "hosts": _by_host,
    "ids": _by_id,
    "cdxj": _by_line,
}
