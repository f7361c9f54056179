"""What a writer writes to: a new file, a series of files, or one that is continued."""

from __future__ import annotations

import os
import warnings
from typing import BinaryIO, NamedTuple

from seekwarc.errors import FormatWarning
from seekwarc.frames.pieces import Compression
from seekwarc.write.append import Continued, continued
from seekwarc.write.files import Existing, is_special
from seekwarc.write.numbering import SeriesNames
from seekwarc.write.options import WriteOptions
from seekwarc.write.output import Output, PathOutput, open_output
from seekwarc.write.unfinished import OpenOutput

__all__ = ["Found", "Target", "find_target", "new_output"]

Target = str | os.PathLike[str] | BinaryIO | Output


class Found(NamedTuple):
    """What a writer writes to."""

    target: Target
    """The first file."""
    names: SeriesNames | None
    """Names of the files of a series; None for a single file."""
    continued: Continued | None
    """The file that will be continued, opened; None for a new one."""


def find_target(target: Target, compression: Compression, options: WriteOptions) -> Found:
    """Find the file that a writer begins with; open it if it is to be continued.

    Raises:
        ValueError: A file object cannot be continued, or be the first file of a series.
        TargetExistsError: Files exist, and may not be replaced.
        TargetError: The file to be continued cannot be written to.
        FormatError: It is damaged, or cannot be continued.
    """
    append, repair, is_series = options.append, options.repair, options.max_file_size is not None
    if not isinstance(target, str | os.PathLike):
        if append or is_series:
            option = 'mode "a"' if append else "max_file_size"
            raise ValueError(f"{option} needs a path: it makes or finds files by their names")
        return Found(target, None, None)
    if not is_series:
        there = continued(target, compression=compression, repair=repair) if append else None
        return Found(target, None, there)
    names = SeriesNames(os.fspath(target), "number" if append else options.existing)
    if options.existing != "overwrite":
        for message in names.unfinished(but_last=append):
            warnings.warn(message, FormatWarning, stacklevel=4)
    if not append or names.last is None:
        return Found(target, names, None)
    return Found(names.last, names, continued(names.last, compression=compression, repair=repair))


def new_output(target: Target, options: WriteOptions, made: list[OpenOutput]) -> Output:
    """Open the output of a new file.

    Raises:
        TargetExistsError: The file exists, and may not be replaced.
        TargetError: The target cannot be written to.
        TypeError: `target` is neither a path nor a binary file object.
    """
    if not isinstance(target, str | os.PathLike) or is_special(target):
        return open_output(target)
    # With "number", the series found this name free a moment ago.
    replaced: Existing = "overwrite" if options.existing == "overwrite" else "error"
    if options.on_error == "keep":
        return OpenOutput(target, existing=replaced, made=made)
    return PathOutput(target, existing=replaced)
