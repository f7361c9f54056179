"""A file for both readers that only goes forward but can be read again once."""

from __future__ import annotations

from typing import Any, Final

from seekwarc.storage.streams import read_some

__all__ = ["MAX_KEPT", "ForwardFile"]

MAX_KEPT: Final = 1 << 20
"""What of a pipe is kept, until it is known to be a WARC file."""


class ForwardFile:
    """A file that only goes forward, whose beginning can be read again, once."""

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
