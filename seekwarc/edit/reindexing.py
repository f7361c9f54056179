"""Indexes whose lines of some files are made again, since those files were made again."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from seekwarc.cdx.columnar import COLUMNS
from seekwarc.cdx.index import PARQUET_MAGIC, Index
from seekwarc.cdx.places import base_name
from seekwarc.edit.mentions import Mention, in_line
from seekwarc.errors import FormatError, UnsupportedError
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
        FormatError: A new file cannot be indexed.
        UnsupportedError: A line is malformed, a column unknown, or no line names an old file.
    """
    by_base = {as_utf8(base_name(old)): new for old, new in remade.items()}
    with Index(name) as index:
        lines = _Lines(index, by_base, limits, needles)
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
    gone = {as_utf8(base_name(old)): Remade(None, new.final) for old, new in remade.items()}
    with Index(name) as index:
        lines = _Lines(index, gone, limits, needles)
        for _ in lines:
            pass
    return lines.mentions


def _check(name: str) -> bool:
    """Tell whether an index is a Parquet file; refuse those of which something would be lost."""
    with open(name, "rb") as file:
        is_parquet = file.read(len(PARQUET_MAGIC)) == PARQUET_MAGIC
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
        folders: dict[str, str] = {}
        try:
            for line in self._index.stored():
                key, date, fields = parse_line(line.data)
                folder, slash, base = fields.get("filename", "").rpartition("/")
                base = as_utf8(base)
                if base not in self._remade:
                    self.mentions += in_line(fields, name, line.offset, self._needles)
                    has_surrogates = b"\\ud" in line.data
                    kept = CdxjLine(key, date, fields).build() if has_surrogates else line.data
                    yield kept.rstrip(b"\r\n") + b"\n"
                    continue
                folders[base] = folder + slash
                self.wanted["all_records"] |= "warc-type" in fields
                self.wanted["post_append"] |= "__wb_method=" in key
        except FormatError as error:
            raise UnsupportedError(
                f"a line cannot be replaced: {error.message}; index the new file", source=name
            ) from None
        if not folders:
            raise UnsupportedError(f"names no record of {', '.join(self._remade)}", source=name)
        for base, folder in folders.items():
            made = self._remade[base]
            if made.place is None:
                continue
            reference = sidecar_reference(made.sidecar) if made.sidecar is not None else None
            listed = listed_offsets(made.sidecar, made.place) if made.sidecar is not None else ()
            with WholeReader(made.place, **self._limits) as archive:
                filename = folder + os.path.basename(made.final)
                found = Lines(archive, filename, LineOptions(**self.wanted), _raise, reference, listed=listed)
                yield from (line.build() for line in found)


def _raise(error: FormatError) -> None:
    raise error
