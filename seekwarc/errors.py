"""The one hierarchy of errors.

Every error that seekwarc raises on purpose is a `SeekWarcError`. Each also derives from the built-in
exception a caller would expect, so `except ValueError` and `except OSError` do what they say.
Messages name the file, the byte offset in it and, where there is one, the way out.
"""

from __future__ import annotations

from typing import Self

__all__ = [
    "ChecksumError",
    "FormatError",
    "FormatWarning",
    "LimitError",
    "NotFoundError",
    "RangeError",
    "RangeNotSupportedError",
    "RuleError",
    "SeekWarcError",
    "SegmentError",
    "SourceChangedError",
    "SourceError",
    "SourceTimeoutError",
    "TargetExistsError",
    "TruncatedError",
    "UnsupportedError",
]


class SeekWarcError(Exception):
    """Base of all errors raised by seekwarc.

    Example:
        >>> try:
        ...     seekwarc.open("missing.warc.zst")
        ... except seekwarc.SeekWarcError as error:
        ...     print(type(error).__name__, isinstance(error, OSError))
        SourceError True
    """


class FormatError(SeekWarcError, ValueError):
    """The bytes are not what the format allows.

    Attributes:
        message: What is wrong, without the place.
        source: Name of the file or object, where known.
        offset: Byte offset in the stored file, where known.
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
        """Return the same error with the place filled in where it was not known."""
        return type(self)(
            self.message,
            source=self.source if self.source is not None else source,
            offset=self.offset if self.offset is not None else offset,
        )


class TruncatedError(FormatError):
    """The file ends before the structure does."""


class ChecksumError(FormatError):
    """Decoded bytes do not match a checksum or a declared size: the file is damaged."""


class LimitError(FormatError):
    """A declared size exceeds a limit that the caller may raise."""


class UnsupportedError(FormatError):
    """A known format, or a feature of it, that seekwarc does not read or write."""


class SegmentError(FormatError):
    """The segments of a record are not all there, or do not belong together."""


class RuleError(SeekWarcError, ValueError):
    """A record that the WARC standard does not allow to be written."""


class SourceError(SeekWarcError, OSError):
    """Bytes could not be had from where they are stored."""


class SourceChangedError(SourceError):
    """The object is no longer the one that was opened; open it anew."""


class RangeNotSupportedError(SourceError):
    """A server that does not send the byte ranges it is asked for."""


class SourceTimeoutError(SourceError, TimeoutError):
    """Bytes did not come in time, however often they were asked for."""


class TargetExistsError(SourceError, FileExistsError):
    """A file of that name is there, and nobody said that it may be replaced."""


class NotFoundError(SeekWarcError, LookupError):
    """No record answers to what was asked for."""


class RangeError(SeekWarcError, ValueError):
    """A byte range that cannot be meant: negative, inverted, or not a range at all."""


class FormatWarning(UserWarning):
    """The file breaks a rule of the format but can still be read."""
