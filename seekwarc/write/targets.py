"""What a writer is pointed at: a new file, a series of them, or one that is continued."""

from __future__ import annotations

import os
import warnings
from typing import BinaryIO, Literal, NamedTuple

from seekwarc.errors import FormatWarning
from seekwarc.frames.units import Compression
from seekwarc.write.append import Continued, continued
from seekwarc.write.files import Existing, is_special
from seekwarc.write.numbering import ExistingSeries, SeriesNames
from seekwarc.write.output import Output, PathOutput, open_output
from seekwarc.write.unfinished import OpenOutput

__all__ = ["Found", "OnError", "Target", "find_target", "new_output"]

Target = str | os.PathLike[str] | BinaryIO | Output
OnError = Literal["keep", "discard"]


class Found(NamedTuple):
    """What a writer is to write to."""

    target: Target
    """The first file."""
    names: SeriesNames | None
    """Names of the files after it, where there may be more."""
    continued: Continued | None
    """What is there and will be continued."""


def find_target(
    target: Target,
    compression: Compression,
    *,
    is_series: bool,
    existing: ExistingSeries,
    append: bool,
    repair: bool,
) -> Found:
    """Find out what there is where a writer is to write; open it if it is to be continued.

    Args:
        target: As a `Writer` takes it.
        compression: Of its files.
        is_series: Whether it names a series of files.
        existing: What becomes of files that are there.
        append: Continue the file, or the last of the series.
        repair: Cut off a record at its end that is not whole.

    Raises:
        ValueError: A file object cannot be continued, or be the first of several.
        TargetExistsError: There are files, and they are not to be replaced.
        TargetError: What is there cannot be written to.
        FormatError: It is damaged, or cannot be continued.
    """
    if not isinstance(target, str | os.PathLike):
        if append or is_series:
            option = 'mode "a"' if append else "max_file_size"
            raise ValueError(f"{option} makes or finds files by their names, so it needs a path")
        return Found(target, None, None)
    if not is_series:
        there = continued(target, compression=compression, repair=repair) if append else None
        return Found(target, None, there)
    names = SeriesNames(os.fspath(target), "number" if append else existing)
    if existing != "overwrite":
        for left in names.left(but_last=append):
            warnings.warn(left, FormatWarning, stacklevel=4)
    if not append or names.last is None:
        return Found(target, names, None)
    return Found(names.last, names, continued(names.last, compression=compression, repair=repair))


def new_output(target: Target, existing: ExistingSeries, on_error: OnError, made: list[OpenOutput]) -> Output:
    """Open what a new file goes into.

    Args:
        target: As a `Writer` takes it, or the name of one file of a series.
        existing: What becomes of a file that is there.
        on_error: "keep" makes a file that outlives its writer.
        made: See `OpenOutput`.

    Raises:
        TargetExistsError: There is such a file, and it is not to be replaced.
        TargetError: The target cannot be written to.
        TypeError: `target` is nothing to write to.
    """
    if not isinstance(target, str | os.PathLike) or is_special(target):
        return open_output(target)
    # A name of a series that is numbered on from was free a moment ago.
    replaced: Existing = "overwrite" if existing == "overwrite" else "error"
    if on_error == "keep":
        return OpenOutput(target, existing=replaced, made=made)
    return PathOutput(target, existing=replaced)
