"""The one hierarchy of errors.

Every error that seekwarc raises on purpose is a `SeekWarcError`. Each also derives from the built-in
exception that a caller would expect, so `except ValueError` and `except OSError` work too. An error knows
the file and the byte offset that it is about, if there are any, and its message says what to do.
"""

from __future__ import annotations

from typing import Self

__all__ = [
    "ChecksumError",
    "FormatError",
    "FormatWarning",
    "HoleError",
    "LimitError",
    "NotFoundError",
    "RangeError",
    "RangeNotSupportedError",
    "RuleError",
    "SeekWarcError",
    "SegmentError",
    "SourceChangedError",
    "SourceError",
    "SourceNotFoundError",
    "SourceTimeoutError",
    "TargetError",
    "TargetExistsError",
    "TruncatedError",
    "UnsupportedError",
]


class SeekWarcError(Exception):
    """Base of all errors raised by seekwarc.

    Args:
        message: What is wrong, without the place.
        source: Name of the file or object that the error is about, where known.
        offset: Byte offset in the stored file, where known.

    Attributes:
        message: See above.
        source: See above.
        offset: See above.

    Example:
        >>> try:
        ...     seekwarc.open("missing.warc.zst")
        ... except seekwarc.SeekWarcError as error:
        ...     print(type(error).__name__, isinstance(error, OSError), error.source)
        SourceNotFoundError True missing.warc.zst
    """

    def __init__(self, message: str, *, source: str | None = None, offset: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.source = source
        self.offset = offset

    def __str__(self) -> str:
        place = [self.source] if self.source is not None else []
        if self.offset is not None:
            place.append(f"offset {self.offset}")
        return ": ".join([", ".join(place), self.message] if place else [self.message])

    def located(self, source: str | None, offset: int | None) -> Self:
        """Fill in the file and offset unless they are known already, and return the error."""
        self.source = self.source if self.source is not None else source
        self.offset = self.offset if self.offset is not None else offset
        return self


class FormatError(SeekWarcError, ValueError):
    """The bytes are not what the format allows.

    Attributes:
        frame: Number of the damaged frame in its record, if it is in one.
    """

    frame: int | None = None


class TruncatedError(FormatError):
    """The file ends before the structure does."""


class ChecksumError(FormatError):
    """Decoded bytes do not match a checksum or a declared size: the file is damaged."""


class LimitError(FormatError):
    """A declared size exceeds a limit that the caller may raise."""


class UnsupportedError(FormatError):
    """A known format, or a feature of a format, that seekwarc does not read or write."""


class SegmentError(FormatError):
    """Segments of a record are missing, or do not belong together."""


class RuleError(SeekWarcError, ValueError):
    """A record that the WARC standard does not allow to be written."""


class SourceError(SeekWarcError, OSError):
    """Stored bytes are unavailable: a file cannot be opened or read, or a server does not send them."""


class SourceChangedError(SourceError):
    """The object has changed since it was opened; open it again."""


class RangeNotSupportedError(SourceError):
    """A server does not send the byte ranges that it is asked for."""


class SourceNotFoundError(SourceError, FileNotFoundError):
    """A path names nothing, or nothing matches a pattern."""


class SourceTimeoutError(SourceError, TimeoutError):
    """The bytes did not come in time, in spite of retries."""


class TargetError(SeekWarcError, OSError):
    """A file cannot be written: its folder is missing, the disk is full, another process writes to it."""


class TargetExistsError(TargetError, FileExistsError):
    """A file of that name exists, and the caller did not say that it may be replaced."""


class NotFoundError(SeekWarcError, LookupError):
    """No record matches what was asked for."""


class HoleError(NotFoundError):
    """Bytes that no part of a joined payload has.

    Attributes:
        start: Where the missing bytes begin in the payload.
        stop: Where they end.
    """

    start: int = 0
    stop: int = 0


class RangeError(SeekWarcError, ValueError):
    """A range of bytes or of time that is invalid: negative, inverted, or not a range at all."""


class FormatWarning(UserWarning):
    """The file breaks a rule of the format but can still be read."""
