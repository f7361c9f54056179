"""Indexes whose lines of some files are made again, since those files were made again."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Final, NamedTuple

from seekwarc.cdx.columnar import COLUMNS
from seekwarc.cdx.index import Index
from seekwarc.cdx.places import base_name
from seekwarc.edit.mentions import Mention, in_line
from seekwarc.errors import FormatError, UnsupportedError
from seekwarc.format import parquet
from seekwarc.format.cdxj import CdxjLine, parse_line
from seekwarc.format.uri import as_utf8
from seekwarc.jobs.sorting import sorted_lines
from seekwarc.make.index_lines import LineOptions, Lines
from seekwarc.make.indexing import write_lines
from seekwarc.make.sidecars import sidecar_reference
from seekwarc.make.zipnum import BLOCKS_SUFFIX, SUFFIX, index_output
from seekwarc.read.options import ReadOptions
from seekwarc.read.reader import WholeReader
from seekwarc.read.sidecar_file import listed_offsets
from seekwarc.write.output import Output

__all__ = ["Remade", "kept_mentions", "new_index"]

MAX_SHOWN: Final = 200


class Remade(NamedTuple):
    """A file that was made again."""

    place: str | None
    """Path at which it is now; None if there is no new file."""
    final: str
    """Path at which it will be."""
    sidecar: str | None = None
    """Path at which its sidecar is now."""


def new_index(
    name: str, remade: Mapping[str, Remade], limits: ReadOptions, needles: Mapping[bytes, str]
) -> tuple[Output, list[Mention]]:
    """Write an index in which new files take the places of old ones. The caller commits or aborts it.

    Lines of other files are kept. If the old files have lines for all records, or for what was sent by POST,
    so have the new ones.

    Args:
        name: Path of the index: CDXJ, a cluster (.idx) or Parquet.
        remade: New files by the paths of the old ones, whose base names, after any folders, the index has.
        limits: Limits of reading.
        needles: What is searched for in lines that are kept, with what each is.

    Returns:
        The index, and what is found in it.

    Raises:
        FormatError: A new file is damaged.
        UnsupportedError: A line is malformed, a column unknown, no line names an old file, or one may name
            several.
    """
    with Index(name) as index:
        lines = _Lines(index, remade, limits, needles)
        is_parquet = _check(name)
        lines.wanted["details"] = is_parquet
        output = index_output(name, existing="overwrite", parquet=is_parquet)
        try:
            write_lines(sorted_lines(lines, folder=output.spool_directory), output, parquet=is_parquet)
            output.seal()
        except BaseException:
            output.abort()
            raise
    return output, lines.mentions


def kept_mentions(
    name: str, remade: Mapping[str, Remade], limits: ReadOptions, needles: Mapping[bytes, str]
) -> list[Mention]:
    """Return what is found in the lines of an index that `new_index` would keep."""
    gone = {old: Remade(None, new.final) for old, new in remade.items()}
    with Index(name) as index:
        lines = _Lines(index, gone, limits, needles)
        for _ in lines:
            pass
    return lines.mentions


def _check(name: str) -> bool:
    """Tell whether an index is a Parquet file; refuse those of which something would be lost."""
    with open(name, "rb") as file:
        is_parquet = file.read(len(parquet.MAGIC)) == parquet.MAGIC
    if is_parquet:
        import pyarrow.parquet as pq

        other = [column for column in pq.read_schema(name).names if column not in COLUMNS]
        if other:
            raise UnsupportedError(f"has the columns {', '.join(other)}, which would be lost", source=name)
    elif name.endswith(SUFFIX) and not os.path.exists(name.removesuffix(SUFFIX) + BLOCKS_SUFFIX):
        text = f"the blocks of this cluster are not in a file beside it that ends with {BLOCKS_SUFFIX}"
        raise UnsupportedError(f"{text}; index the new file", source=name)
    return is_parquet


class _Lines:
    """The lines of an index: those that are kept, then those of new files."""

    def __init__(
        self, index: Index, remade: Mapping[str, Remade], limits: ReadOptions, needles: Mapping[bytes, str]
    ) -> None:
        self._index = index
        self._remade = remade
        self._limits = limits
        self._needles = needles
        self.wanted = {"all_records": False, "post_append": False}
        self.mentions: list[Mention] = []

    def __iter__(self) -> Iterator[bytes]:
        name = self._index.name
        named = _Named(self._index, self._remade)
        folders: dict[str, str] = {}
        try:
            for line in self._index.stored():
                key, date, fields = parse_line(line.data)
                filename = fields.get("filename", "")
                old = named[filename]
                if old is None:
                    self.mentions += in_line(fields, name, line.offset, self._needles)
                    has_surrogates = b"\\ud" in line.data
                    kept = CdxjLine(key, date, fields).build() if has_surrogates else line.data
                    yield kept.rstrip(b"\r\n") + b"\n"
                    continue
                folders[old] = "".join(filename.rpartition("/")[:2])
                self.wanted["all_records"] |= "warc-type" in fields
                self.wanted["post_append"] |= "__wb_method=" in key
        except FormatError as error:
            raise UnsupportedError(
                f"a line cannot be replaced: {error.message}; index the new file", source=name
            ) from None
        if not folders:
            raise UnsupportedError(
                f"names no record of {', '.join(map(base_name, self._remade))}", source=name
            )
        for old, folder in folders.items():
            made = self._remade[old]
            if made.place is None:
                continue
            reference = sidecar_reference(made.sidecar) if made.sidecar is not None else None
            listed = listed_offsets(made.sidecar, made.place) if made.sidecar is not None else ()
            with WholeReader(made.place, **self._limits) as archive:
                filename = folder + os.path.basename(made.final)
                found = Lines(archive, filename, LineOptions(**self.wanted), _pass, reference, listed=listed)
                yield from (line.build() for line in found)
                if found.is_damaged:
                    raise FormatError("the new file is damaged, so it cannot be indexed", source=made.final)


class _Named(dict[str, str | None]):
    """Which file that was made again a name in an index means; None if it means another file.

    The index may have names without folders, or with folders that are elsewhere now. A file is meant by the
    longest name that its path ends with; if there is no such name, by the only one with its base name.
    """

    def __init__(self, index: Index, remade: Iterable[str]) -> None:
        super().__init__()
        self._index = index
        self._paths = {old: "/" + as_utf8(os.path.abspath(old).replace(os.sep, "/")) for old in remade}
        self._bases = {path.rpartition("/")[2] for path in self._paths.values()}
        self._meant: dict[str, list[str]] | None = None

    def __missing__(self, filename: str) -> str | None:
        name = as_utf8(filename)
        if name.rpartition("/")[2] not in self._bases:
            return None
        if self._meant is None:
            self._meant = self._matched()
        found = self._meant.get(name, [])
        if len(found) > 1:
            files = ", ".join(found)
            raise FormatError(f"{filename[:MAX_SHOWN]} may be several of the files: {files}")
        self[filename] = found[0] if found else None
        return self[filename]

    def _matched(self) -> dict[str, list[str]]:
        """Return the files that each name of the index means."""
        lines = map(attrgetter("data"), self._index.stored())
        names = {as_utf8(parse_line(it)[2].get("filename", "")) for it in lines}
        meant: dict[str, list[str]] = {}
        for old, path in self._paths.items():
            alike = [it for it in names if it.rpartition("/")[2] == path.rpartition("/")[2]]
            ends = [it for it in alike if path.endswith(f"/{it}")]
            if ends or len(alike) == 1:
                meant.setdefault(max(ends or alike, key=len), []).append(old)
            elif alike:
                raise FormatError(f"{' and '.join(sorted(alike))[:MAX_SHOWN]} may both be {old}")
        return meant


def _pass(_: FormatError) -> None:
    """Do nothing: a record that gets no line had none before."""
