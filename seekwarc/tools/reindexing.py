"""A CDXJ whose lines of one file are made again, since the file was made again."""

from __future__ import annotations

import os
from itertools import chain

from seekwarc.errors import FormatError, SourceError, UnsupportedError
from seekwarc.format.cdxj import parse_line
from seekwarc.read.options import ReadOptions
from seekwarc.read.reader import Reader
from seekwarc.tools.index_lines import LineOptions, Lines
from seekwarc.tools.sorting import sorted_lines
from seekwarc.write.output import PathOutput

__all__ = ["new_index"]


def new_index(index: str, old: str, made: str, final: str, limits: ReadOptions) -> PathOutput:
    """Write a CDXJ in which a new file takes the place of an old one. The caller commits or aborts it.

    Lines of other files are kept. If the old file has lines for all records, or for what was sent by POST,
    so has the new one.

    Args:
        index: Path of the CDXJ.
        old: Path of the old file; the index has its base name, which may follow folders.
        made: Path at which the new file is now.
        final: Path at which it will be.
        limits: Limits of reading.

    Raises:
        FormatError: A line is malformed, or the new file cannot be indexed.
        UnsupportedError: The index is not a CDXJ, or names no record of the old file.
    """
    folder = None
    kept: list[bytes] = []
    wanted = {"all_records": False, "post_append": False}
    try:
        with open(index, "rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    key, _, fields = parse_line(line)
                except FormatError as error:
                    text = f"line {number} cannot be replaced: {error.message}; index the new file"
                    raise UnsupportedError(text, source=index) from None
                head, _, base = fields.get("filename", "").rpartition("/")
                if base != os.path.basename(old):
                    kept.append(line)
                    continue
                folder = head
                wanted["all_records"] |= "warc-type" in fields
                wanted["post_append"] |= "__wb_method=" in key
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", source=index) from error
    if folder is None:
        raise UnsupportedError(f"names no record of {os.path.basename(old)}", source=index)
    name = f"{folder}/{os.path.basename(final)}".removeprefix("/")
    output = PathOutput(index)
    try:
        with Reader(made, **limits) as archive:
            found = Lines(archive, name, LineOptions(**wanted), _raise)
            lines = chain(kept, (line.build() for line in found))
            for line in sorted_lines(lines, folder=output.spool_directory):
                output.write(line)
        output.seal()
    except BaseException:
        output.abort()
        raise
    return output


def _raise(error: FormatError) -> None:
    raise error
