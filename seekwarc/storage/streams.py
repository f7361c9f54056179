"""Sources that are file objects of the caller: a seekable one, or a pipe."""

from __future__ import annotations

import io
import threading
from typing import IO, BinaryIO, Final, NoReturn, Protocol

from seekwarc.compiling import override
from seekwarc.errors import SourceError
from seekwarc.storage.source import RangeSource, read_fully

__all__ = ["FileObjectSource", "OpenedElsewhere", "PipeSource", "ReadableStream", "read_some"]

PIPE_STEP: Final = 1 << 20
"""How many bytes of a pipe are discarded at a time when a reader skips some."""


class ReadableStream(Protocol):
    """Any binary file object: bytes that are read in order."""

    def read(self, size: int, /) -> bytes | None:
        """Return up to `size` bytes, and none at the end."""


def read_some(file: ReadableStream, size: int) -> bytes:
    """Read up to `size` bytes once, none at the end; a non-blocking file may raise BlockingIOError."""
    if type(file) is io.BufferedReader:
        # Its `read` waits for all of `size` and runs no signal handler between two pieces: Ctrl-C would take
        # effect when the next piece arrives, if ever.
        return file.read1(size)
    data = file.read(size)
    if data is None:
        raise BlockingIOError("the file object is in non-blocking mode and has nothing ready")
    return data


class OpenedElsewhere(RangeSource):
    """A source that can be reached only through the caller's file object, and so cannot be pickled."""

    name: str

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"{self.name}: an archive that was opened as a file object cannot be pickled or copied; "
            "open it by its path and pass the path"
        )


class FileObjectSource(OpenedElsewhere):
    """A seekable binary file object, which belongs to the caller: closing the source leaves it open."""

    def __init__(self, file: IO[bytes]) -> None:
        self.name = str(getattr(file, "name", "<file object>"))
        self._file = file
        self._lock = threading.Lock()
        self.size: int = file.seek(0, io.SEEK_END)

    @override
    def read(self, start: int, stop: int) -> bytes:
        try:
            with self._lock:
                return read_fully(self._seek_and_read, start, stop)
        except (OSError, ValueError) as error:
            raise SourceError(f"cannot be read: {error}", source=self.name, offset=start) from error

    def _seek_and_read(self, start: int, stop: int) -> bytes:
        self._file.seek(start)
        return read_some(self._file, stop - start)


class PipeSource(OpenedElsewhere):
    """A binary stream that cannot seek: each byte can be read only once, in order."""

    size: None = None

    def __init__(self, file: BinaryIO, *, owned: bool = False) -> None:
        self._owned = owned
        self.name = str(getattr(file, "name", "<pipe>"))
        self._file = file
        self._position = 0
        self._lock = threading.Lock()

    def read(self, start: int, stop: int) -> bytes:
        """See `RangeSource.read`; bytes between the last read and `start` are discarded."""
        with self._lock:
            if start < self._position:
                raise SourceError(
                    "this part was read already, and a pipe cannot be read twice; store it in a file first",
                    source=self.name,
                    offset=start,
                )
            try:
                while self._position < start:
                    gap = min(start - self._position, PIPE_STEP)
                    if not self._take(self._position, self._position + gap):
                        return b""
                return read_fully(self._take, start, stop)
            except (OSError, ValueError) as error:
                raise SourceError(f"cannot be read: {error}", source=self.name, offset=start) from error

    def _take(self, start: int, stop: int) -> bytes:
        data = read_some(self._file, stop - start)
        self._position += len(data)
        return data

    @override
    def close(self) -> None:
        if self._owned:
            self._file.close()
