"""The outcome of work on a file, in terms that are the same for all tools.

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
from seekwarc.scale.split import Split

__all__ = ["DIED", "KINDS", "MEMORY", "Failure", "Job", "Outcome", "Status"]

FOUND_PROBLEMS: Final = 1
FAILED: Final = 2

_KIND_OF: Final[tuple[tuple[type[Exception], str], ...]] = (
    # Subclasses come before their base classes.
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
"""Kinds of failure after which `seekwarc recover` can save records."""
DIED: Final = "died"
"""The process that worked on the file ended before it was done."""
MEMORY: Final = "memory"
KINDS: Final = (*(kind for _, kind in _KIND_OF), MEMORY, DIED)
"""All kinds of failures."""


class Status(StrEnum):
    """How work on a file ended."""

    DONE = "done"
    PROBLEMS = "problems"
    """Done, but problems were found: damage, losses, records without a line."""
    SKIPPED = "skipped"
    """The target existed already, and was sound."""
    FAILED = "failed"
    NOT_RUN = "not-run"
    """Not begun, because another file failed."""


@dataclass(frozen=True, slots=True)
class Job:
    """A file to work on, and the file to make of it, if any."""

    source: str
    target: str | None = None
    part: Split | None = None
    """The part of the source to work on; None for all of it."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why work on a file failed."""

    kind: str
    """One of `KINDS`."""
    message: str
    """What is wrong, with the name of the file and the offset."""
    offset: int | None = None
    """Offset in the file, if known."""
    status: int = FAILED
    """Exit status of the command: 1 if data is damaged or not found, 2 for everything else."""

    @classmethod
    def of(cls, error: Exception) -> Failure:
        """Describe an error."""
        kind = next(kind for base, kind in _KIND_OF if isinstance(error, base))
        offset = error.offset if isinstance(error, SeekWarcError) else None
        is_found = isinstance(error, FormatError | NotFoundError)
        return cls(kind, str(error), offset, FOUND_PROBLEMS if is_found else FAILED)

    @property
    def way_out(self) -> str:
        """Advice to append to the message of a damaged archive; empty if the message gives some."""
        if self.kind not in DAMAGE or "`" in self.message:
            return ""
        return "; `seekwarc verify` lists all damage, `seekwarc recover FILE NEW.warc.zst` saves the rest"

    def as_json(self) -> dict[str, object]:
        """Return its JSON form; see spec-notes/json.md."""
        return {"kind": self.kind, "offset": self.offset, "message": self.message}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a job: how it ended, with the result of the tool if it has one, or why it failed."""

    job: Job
    status: Status
    result: object = None
    failure: Failure | None = None

    @property
    def exit_status(self) -> int:
        """Exit status of the command that results from this file: 0, 1 or 2."""
        if self.failure is not None:
            return self.failure.status
        return FOUND_PROBLEMS if self.status is Status.PROBLEMS else 0
