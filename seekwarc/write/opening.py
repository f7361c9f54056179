"""`open_output`: from a path, a URL or a file object to the output that writes it."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Iterator
from typing import BinaryIO, TypeAlias

from seekwarc.storage.remote_url import is_url
from seekwarc.write.files import Existing, is_special
from seekwarc.write.output import FileObjectOutput, OpenOutput, Output, PathOutput

__all__ = ["Target", "committed", "committed_together", "open_output"]

Target: TypeAlias = str | os.PathLike[str] | BinaryIO | Output


def open_output(target: Target, *, existing: Existing = "overwrite", kept: bool = False) -> Output:
    """Return the output for a target. With `kept`, a path gets an `OpenOutput`, which has yet to be made."""
    if isinstance(target, str | os.PathLike):
        if is_url(target):
            from seekwarc.write.upload import UploadOutput

            return UploadOutput(target, existing=existing)
        if is_special(target):
            return FileObjectOutput(open(target, "wb"), owned=True)
        if kept:
            return OpenOutput(target, existing=existing)
        return PathOutput(target, existing=existing)
    if isinstance(target, Output):
        return target
    if hasattr(target, "write") and not isinstance(target, io.TextIOBase):
        return FileObjectOutput(target)
    raise TypeError(f"target must be a path or a binary file object, not {type(target).__name__}")


@contextlib.contextmanager
def committed(target: Target, *, existing: Existing = "overwrite") -> Iterator[Output]:
    """Open an output like `open_output`; commit it when the block ends, abort it if the block raises."""
    output = open_output(target, existing=existing)
    try:
        yield output
        output.commit()
    except BaseException:
        output.abort()
        raise


@contextlib.contextmanager
def committed_together(on_sealed: Callable[[], object] = lambda: None) -> Iterator[list[Output]]:
    """Commit the outputs that the block adds to a list, in that order, when it ends: all, or none.

    `on_sealed` is called when all are complete and on disk, and none has its name.
    """
    outputs: list[Output] = []
    try:
        yield outputs
        for output in outputs:
            output.seal()
        # All that can fail is done; what is left is to give each its name.
        on_sealed()
        for output in outputs:
            output.commit()
    except BaseException:
        for output in outputs:
            output.abort_committed()
        raise
