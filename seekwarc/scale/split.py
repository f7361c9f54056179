"""`Split`: a part of a file, or of one record's payload, that one worker reads."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, Self, TypeAlias
from urllib.parse import urlsplit

from seekwarc.errors import FormatError, RangeError, SourceError, SourceNotFoundError
from seekwarc.format.seektable import TableTrust, parse_table_choice
from seekwarc.storage.expand import expand
from seekwarc.storage.remote_url import SCHEMES, shown_url
from seekwarc.storage.zip_members import split_name

__all__ = ["Source", "Split", "files_of"]


Source: TypeAlias = "str | os.PathLike[str] | Split"


@dataclass(frozen=True, slots=True)
class Split:
    """A part of a file that is read by itself, by any process: small, hashable, and made of plain values.

    `seekwarc.splits` makes them and `seekwarc.read_split` reads them.

    Raises:
        RangeError: The numbers are not ranges, or the fields are not those of the kind.
        FormatError: `table` names no seek table.

    Example:
        >>> split = next(seekwarc.splits("crawl.warc.zst"))
        >>> split.kind, split.start, split.stop
        ('records', 0, None)
        >>> seekwarc.Split.from_json(split.to_json()) == split
        True
    """

    filename: str
    """What `seekwarc.open` takes: a URL, or an absolute path."""
    kind: Literal["records", "payload"]
    start: int
    """For "records": the records that start in the stored bytes [start, stop). For "payload": that range of
    the payload."""
    stop: int | None = None
    """None for the end of the file or of the payload."""
    record: int | None = None
    """For "payload": offset of the record in the stored file."""
    length: int | None = None
    """For "payload": stored length of the record."""
    table: str = TableTrust.CLAIMED.value
    """For "payload": text of the seek table by which the record is read, as a line of an index has it; see
    `Reader.record_at`."""
    identity: str | None = None
    """Version of the file (`Reader.version`): one that was replaced since is refused."""
    note: str | None = None
    """Why the split is larger than was asked for, where that could be helped."""

    def __repr__(self) -> str:
        # A signed URL is a secret.
        what = f"{self.kind} [{self.start}, {'' if self.stop is None else self.stop})"
        record = f" of the record at {self.record}" if self.record is not None else ""
        return f"<Split of {shown_url(self.filename)}: {what}{record}>"

    def __post_init__(self) -> None:
        if self.kind not in ("records", "payload"):
            raise RangeError(f"kind is {self.kind!r}, not 'records' or 'payload'")
        if self.start < 0 or (self.stop is not None and self.stop < self.start):
            raise RangeError(f"start is {self.start} and stop {self.stop}, not a range of bytes")
        is_placed = (self.record or 0) >= 0 and (self.length is None or self.length > 0)
        parse_table_choice(self.table)
        if (self.record is not None) != (self.kind == "payload") or not is_placed:
            raise RangeError(
                f"record is {self.record} and length {self.length}: a split of a payload names its record, "
                "a split of records none"
            )

    def to_json(self) -> dict[str, str | int | None]:
        """Return the fields, all of which JSON can hold."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Make a split of what `to_json` returned, perhaps elsewhere.

        Raises:
            FormatError: It is not such a value.
        """
        known = {field.name: str(field.type) for field in fields(cls)}
        if not isinstance(value, Mapping) or not value.keys() <= known.keys():
            raise FormatError(f"not a split: {str(value)[:100]}")
        for name, found in value.items():
            kind = int if "int" in known[name] else str
            # True is an int, and no offset.
            if not (type(found) is kind or (found is None and "None" in known[name])):
                raise FormatError(f"field {name!r} of a split cannot be {found!r:.100}")
        try:
            return cls(**value)
        except (TypeError, RangeError) as error:
            raise FormatError(f"not a split: {error}") from error


def files_of(sources: Source | Iterable[Source]) -> list[str | Split]:
    """Return sources with folders and patterns expanded; `SourceNotFoundError` if nothing matches."""
    found = list(expand([sources] if isinstance(sources, Split) else sources, repeat=True))
    for name in found:
        if isinstance(name, Split):
            continue
        if "://" not in name and not os.path.exists(name) and split_name(name) is None:
            raise SourceNotFoundError("no such file", source=name)
        if "://" in name and urlsplit(name).scheme.lower() not in SCHEMES:
            raise SourceError(f"not a URL of {', '.join(SCHEMES)}", source=shown_url(name))
    return found
