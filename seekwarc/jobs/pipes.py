"""Pipes for tools that need random access: a temporary file holds what is read or written."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import BinaryIO, Final, cast

from seekwarc.errors import SeekWarcError, TargetError
from seekwarc.storage.source import RangeSource
from seekwarc.storage.streams import FileObjectSource
from seekwarc.system import write_all
from seekwarc.write.files import Existing
from seekwarc.write.opening import committed
from seekwarc.write.output import FileObjectOutput

__all__ = ["revocable", "searchable"]

STEP: Final = 1 << 20
HEAD: Final = 8
"""Bytes that identify the kind of a file."""


@contextmanager
def searchable(
    source: RangeSource,
    directory: str | None = None,
    *,
    check_head: Callable[[bytes], object] = lambda _: None,
) -> Iterator[RangeSource]:
    """Provide a source that can be read in any order, and more than once.

    That is `source` itself, unless it is a pipe: then the pipe is read to its end into a temporary file, and
    both are closed on exit. The file has no name, so it disappears even if the process is killed.

    `check_head` is called with the first bytes of a pipe before any more is read, and raises to refuse it: a
    pipe that is not an archive may be endless.
    """
    if not source.is_pipe:
        yield source
        return
    with closing(source), ExitStack() as opened:
        try:
            file = opened.enter_context(tempfile.TemporaryFile(dir=directory))
            data = source.read(0, HEAD)
            check_head(data)
            position = 0
            while data:
                write_all(file, data)
                position += len(data)
                data = source.read(position, position + STEP)
            file.flush()
        except SeekWarcError:
            raise
        except OSError as error:
            raise _no_copy(error, source.name) from error
        copy = FileObjectSource(file)
        copy.name = source.name
        yield copy


@contextmanager
def revocable(
    target: BinaryIO | str, directory: str | None = None, *, existing: Existing = "overwrite"
) -> Iterator[FileObjectOutput]:
    """Provide a temporary output, which can be cut; it is copied to `target` unless the block raises."""
    with committed(target, existing=existing) as final:
        try:
            # On Windows it is a wrapper that does all that a file does.
            file = cast("BinaryIO", tempfile.TemporaryFile(dir=directory))  # noqa: SIM115
        except OSError as error:
            raise _no_copy(error, final.name) from error
        with file:
            output = FileObjectOutput(file)
            output.name = final.name
            yield output
            file.seek(0)
            while data := file.read(STEP):
                final.write(data)


def _no_copy(error: OSError, name: str) -> TargetError:
    return TargetError(f"cannot be copied to a temporary file: {error.strerror or error}", source=name)
