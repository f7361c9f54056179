"""Errors as programs that use warcio expect them: each is an `ArchiveLoadFailed`, and one of ours."""

from __future__ import annotations

from typing import Final

from warcio.exceptions import ArchiveLoadFailed

from seekwarc.errors import ChecksumError, FormatError, LimitError, TruncatedError, UnsupportedError

__all__ = [
    "ChecksumLoadError",
    "LimitLoadError",
    "LoadError",
    "TruncatedLoadError",
    "UnsupportedLoadError",
    "as_load_error",
]


class LoadError(ArchiveLoadFailed, FormatError):  # type: ignore[misc]  # warcio has no types
    """The file is not what the format allows; knows `source` and `offset`, as every `SeekWarcError`.

    Example:
        >>> from warcio.exceptions import ArchiveLoadFailed
        >>> from seekwarc.compat.warcio import ArchiveIterator
        >>> try:
        ...     list(ArchiveIterator(b"WARC/1.1 is how a record begins"))
        ... except ArchiveLoadFailed as error:
        ...     print(isinstance(error, seekwarc.TruncatedError), error.offset)
        True 0
    """

    def __init__(self, message: str, *, source: str | None = None, offset: int | None = None) -> None:
        FormatError.__init__(self, message, source=source, offset=offset)

    @property
    def msg(self) -> str:
        """The whole message, which warcio's errors keep under this name."""
        return str(self)


class TruncatedLoadError(LoadError, TruncatedError):
    """The file ends before a record does."""


class ChecksumLoadError(LoadError, ChecksumError):
    """The file is damaged."""


class LimitLoadError(LoadError, LimitError):
    """A declared size exceeds a limit."""


class UnsupportedLoadError(LoadError, UnsupportedError):
    """Something that is not supported."""


_KINDS: Final[dict[type[FormatError], type[LoadError]]] = {
    TruncatedError: TruncatedLoadError,
    ChecksumError: ChecksumLoadError,
    LimitError: LimitLoadError,
    UnsupportedError: UnsupportedLoadError,
}


def as_load_error(error: FormatError) -> LoadError:
    """Return an error of ours as one that is warcio's too."""
    if isinstance(error, LoadError):
        return error
    return _KINDS.get(type(error), LoadError)(error.message, source=error.source, offset=error.offset)
