"""Files for both readers: one that only goes forward but can be read again once, and a source as a file."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Final

from seekwarc.compiling import override
from seekwarc.storage.streams import read_some

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from seekwarc.storage.source import RangeSource

__all__ = ["MAX_KEPT", "ForwardFile", "SourceFile"]

MAX_KEPT: Final = 1 << 20
"""What of a pipe is kept, until it is known to be a WARC file."""


class ForwardFile:
    """A file that only goes forward, whose beginning can be read again, once.

    Args:
        file: The file, at any position.
    """

    def __init__(self, file: Any) -> None:  # noqa: ANN401 - all that has `read`
        self._file = file
        self.head = b""
        """The first bytes that were read."""
        self._again = b""
        self._position = self._begin = _position_of(file)

    def seekable(self) -> bool:
        """Return False."""
        return False

    def read(self, size: int = MAX_KEPT) -> bytes:
        """Return up to `size` bytes, none at the end."""
        if self._again:
            data, self._again = self._again[:size], self._again[size:]
        else:
            data = read_some(self._file, size)
            if len(self.head) < MAX_KEPT:
                self.head += data[: MAX_KEPT - len(self.head)]
        self._position += len(data)
        return data

    def tell(self) -> int:
        """Return the position, counted as the file itself does if it does."""
        return self._position

    def rewind(self) -> None:
        """Go back to the beginning."""
        self._again, self._position = self.head, self._begin

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _position_of(file: object) -> int:
    tell = getattr(file, "tell", None)
    try:
        position = tell() if tell is not None else 0
    except (OSError, ValueError):
        return 0
    return position if isinstance(position, int) else 0


class SourceFile(io.RawIOBase):
    """A source as a raw, read-only binary file.

    Args:
        source: The source; a pipe must be read in order.
    """

    def __init__(self, source: RangeSource) -> None:
        super().__init__()
        self._source = source
        self._position = 0

    @override
    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        """Tell whether the source is seekable: not a pipe."""
        return not self._source.is_pipe

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Fill `buffer` from the current position on; 0 at the end."""
        with memoryview(buffer).cast("B") as view:
            data = self._source.read(self._position, self._position + len(view))
            view[: len(data)] = data
        self._position += len(data)
        return len(data)

    @override
    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = (0, self._position, self._source.size or 0)[whence]
        self._position = max(base + offset, 0)
        return self._position

    @override
    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        """Close it, and the source."""
        super().close()
        self._source.close()
