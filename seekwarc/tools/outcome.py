"""What became of a file that a tool worked on, in words that mean the same for every tool.

Source: spec-notes/json.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from seekwarc.errors import (
    ChecksumError,
    FormatError,
    LimitError,
    NotFoundError,
    RangeNotSupportedError,
    SeekWarcError,
    SegmentError,
    SourceChangedError,
    SourceTimeoutError,
    TargetExistsError,
    TruncatedError,
    UnsupportedError,
)

__all__ = ["DIED", "KINDS", "MEMORY", "Failure", "Job", "Outcome", "Status"]

FOUND_PROBLEMS: Final = 1
FAILED: Final = 2

_KIND_OF: Final[tuple[tuple[type[Exception], str], ...]] = (
    # Subclasses stand before what they derive from.
    (TruncatedError, "truncated"),
    (ChecksumError, "checksum"),
    (LimitError, "limit"),
    (UnsupportedError, "unsupported"),
    (SegmentError, "segment"),
    (FormatError, "format"),
    (NotFoundError, "not-found"),
    (TargetExistsError, "exists"),
    (SourceChangedError, "changed"),
    (RangeNotSupportedError, "range-not-supported"),
    (SourceTimeoutError, "timeout"),
    (OSError, "io"),
    (Exception, "usage"),
)
DAMAGE: Final = frozenset(("truncated", "checksum"))
"""Kinds of failure that `seekwarc recover` gets past."""
DIED: Final = "died"
"""The process that worked on the file ended before its work."""
MEMORY: Final = "memory"
KINDS: Final = (*(kind for _, kind in _KIND_OF), MEMORY, DIED)
"""Every kind of failure."""


class Status(StrEnum):
    """How the work on a file ended."""

    DONE = "done"
    PROBLEMS = "problems"
    """Done, and what was found is not as it should be: damage, losses, records without a line."""
    SKIPPED = "skipped"
    """The target was there already, and sound."""
    FAILED = "failed"
    NOT_RUN = "not-run"
    """It was not begun, because another file failed."""


@dataclass(frozen=True, slots=True)
class Job:
    """A file to work on, and the file to make of it, where one is made.

    Example:
        Job("crawls/a.warc.gz", "new/a.warc.zst")
    """

    source: str
    target: str | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why the work on a file failed."""

    kind: str
    """One of `KINDS`."""
    message: str
    """What is wrong, with the file and the place."""
    offset: int | None = None
    """Where in the stored file, if that is known."""
    status: int = FAILED
    """What the command exits with: 1 for damaged data and what is not found, 2 for all else."""

    @classmethod
    def of(cls, error: Exception) -> Failure:
        """Describe an error."""
        kind = next(kind for base, kind in _KIND_OF if isinstance(error, base))
        offset = error.offset if isinstance(error, SeekWarcError) else None
        is_found = isinstance(error, FormatError | NotFoundError)
        return cls(kind, str(error), offset, FOUND_PROBLEMS if is_found else FAILED)

    @property
    def way_out(self) -> str:
        """What saves the rest of a damaged archive, where the message does not say; to follow the message."""
        if self.kind not in DAMAGE or "`" in self.message:
            return ""
        return "; `seekwarc verify` lists all damage, `seekwarc recover FILE NEW.warc.zst` saves the rest"

    def as_json(self) -> dict[str, object]:
        """Return what JSON says of it."""
        return {"kind": self.kind, "offset": self.offset, "message": self.message}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a job.

    Attributes:
        job: The job.
        status: How it ended.
        result: What the tool returned, None where it returned nothing.
        failure: Why it failed, None where it did not.
    """

    job: Job
    status: Status
    result: object = None
    failure: Failure | None = None

    @property
    def exit_status(self) -> int:
        """What the command exits with because of this file: 0, 1 or 2."""
        if self.failure is not None:
            return self.failure.status
        return FOUND_PROBLEMS if self.status is Status.PROBLEMS else 0
