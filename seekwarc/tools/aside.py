"""Pipes for tools that go back and forth: what one gives or gets is stored in a file first."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import BinaryIO, Final, cast

from seekwarc.errors import SeekWarcError, TargetError
from seekwarc.storage.source import RangeSource
from seekwarc.storage.streams import FileObjectSource
from seekwarc.write.files import write_all
from seekwarc.write.output import FileObjectOutput

__all__ = ["revocable", "searchable"]

STEP: Final = 1 << 20
HEAD: Final = 8
"""Bytes that tell what kind of file it is."""


@contextmanager
def searchable(
    source: RangeSource,
    directory: str | None = None,
    *,
    check_head: Callable[[bytes], object] = lambda _: None,
) -> Iterator[RangeSource]:
    """Give a source that can be read in any order, and more than once.

    That is `source` itself, unless it is a pipe: then it is read to its end and a copy given; both are
    closed on exit. The copy cannot be seen by others, and does not stay if the process is killed.

    Args:
        source: The source. Unless it is a pipe it stays open on exit.
        directory: Where the copy goes; None for the system's place, which TMPDIR names.
        check_head: Shown the first bytes of a pipe before any more is read: it raises to refuse the file,
            since a pipe of something else may have no end.

    Raises:
        SourceError: The pipe cannot be read.
        TargetError: There is no room for the copy.

    Example:
        with searchable(open_source(sys.stdin.buffer)) as source:
            problems = list(Verifier(source))
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
            text = f"cannot be put aside: {error.strerror or error}"
            raise TargetError(text, source=source.name) from error
        copy = FileObjectSource(file)
        copy.name = source.name
        yield copy


@contextmanager
def revocable(target: BinaryIO, directory: str | None = None) -> Iterator[FileObjectOutput]:
    """Give an output from which records can be taken back, whatever `target` is.

    What is written goes into a temporary file, as of `searchable`. It is copied when the block ends, and not
    at all if that is by an exception.

    Args:
        target: A pipe or any other binary file; it stays open.
        directory: Where the temporary file goes.

    Raises:
        TargetError: There is no room for it, or `target` cannot be written.
    """
    final = FileObjectOutput(target)
    try:
        # On Windows it is a wrapper, which does all that a file does.
        file = cast("BinaryIO", tempfile.TemporaryFile(dir=directory))  # noqa: SIM115
    except OSError as error:
        raise TargetError(f"cannot be put aside: {error.strerror or error}", source=final.name) from error
    with file:
        output = FileObjectOutput(file)
        output.name = final.name
        yield output
        file.seek(0)
        while data := file.read(STEP):
            final.write(data)
        final.commit()
