"""A source as a file, for libraries that read files."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from seekwarc.compiling import override

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from seekwarc.storage.source import RangeSource

__all__ = ["SourceFile"]


class SourceFile(io.RawIOBase):
    """A source as a raw, read-only binary file."""

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
