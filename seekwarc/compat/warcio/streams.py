"""The bytes of a record as files that warcio's programs read: seekable, and read when they are asked for."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from seekwarc.compat.warcio.errors import as_load_error
from seekwarc.compiling import override
from seekwarc.errors import FormatError
from seekwarc.read.extent import Extent

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["CheckedFile", "DecodedPayload", "PayloadFile", "buffered"]

BUFFER_SIZE: Final = 64 << 10
"""Each read of a record takes a lock or two, and programs read by 16 KiB or by lines."""
STEP: Final = 256 << 10


class PayloadFile(io.RawIOBase):
    """Part of a record as a raw file with warcio's errors; `open_file` is called again to go back."""

    def __init__(
        self, open_file: Callable[[], io.RawIOBase], on_end: Callable[[], object] | None = None
    ) -> None:
        super().__init__()
        self._open_file = open_file
        self._file: io.RawIOBase | None = None
        self._on_end = on_end

    @property
    def file(self) -> io.RawIOBase:
        """The file that is read, opened when it is first needed."""
        if self._file is None:
            self._file = self._open_file()
        return self._file

    @override
    def readable(self) -> bool:
        return True

    @override
    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Fill `buffer` from the current position on; 0 at the end."""
        with memoryview(buffer).cast("B") as view:
            if self.closed:
                raise ValueError("I/O operation on closed file")
            try:
                count = self.file.readinto(view) or 0
            except FormatError as error:
                raise as_load_error(error) from error
            if not count and len(view) and self._on_end is not None:
                self._on_end()
            return count

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move the position, as `io.IOBase.seek`."""
        try:
            return self.file.seek(offset, whence)
        except FormatError as error:
            raise as_load_error(error) from error

    @override
    def tell(self) -> int:
        return self.file.tell()


class DecodedPayload(PayloadFile):
    """A payload with its content coding undone. To go back is to decode it from its beginning again."""

    _position = 0

    @override
    def readinto(self, buffer: WriteableBuffer) -> int:
        count = super().readinto(buffer)
        self._position += count
        return count

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move the position, as `io.IOBase.seek`; not beyond the end, which is where decoding finds it."""
        if whence == io.SEEK_END:
            self._pass(None)
        target = offset + (0 if whence == io.SEEK_SET else self._position)
        if target < 0:
            raise ValueError(f"cannot seek to position {target}")
        if target < self._position:
            self._file, self._position = None, 0
        self._pass(target)
        return self._position

    @override
    def tell(self) -> int:
        return self._position

    def _pass(self, position: int | None) -> None:
        room = bytearray(STEP)
        while position is None or self._position < position:
            size = STEP if position is None else min(STEP, position - self._position)
            with memoryview(room)[:size] as view:
                if not self.readinto(view):
                    return


class CheckedFile(PayloadFile):
    """A payload whose bytes go through the digests of its record the first time they are read, in order."""

    def __init__(self, extent: Extent, verifier: Any) -> None:  # noqa: ANN401 - warcio has no types
        super().__init__(extent.open)
        self._extent = extent
        self._verifier = verifier
        self._shown = 0

    def readinto(self, buffer: WriteableBuffer) -> int:
        """See `PayloadFile.readinto`."""
        begin = self.tell()
        count = super().readinto(buffer)
        if begin <= self._shown < begin + count:
            with memoryview(buffer).cast("B") as view:
                self._show(bytes(view[self._shown - begin : count]))
        return count

    def finish(self) -> None:
        """Show the digests what has not been read yet."""
        try:
            while data := self._extent.pread(self._shown, STEP):
                self._show(data)
        except FormatError as error:
            raise as_load_error(error) from error

    def _show(self, data: bytes) -> None:
        self._shown += len(data)
        self._verifier._update(data)  # noqa: SLF001 - its `read` calls it with what it has read


def buffered(file: io.RawIOBase) -> io.BufferedReader:
    """Return a file that reads as many bytes as it is asked for, and lines."""
    return io.BufferedReader(file, BUFFER_SIZE)
