"""The work on one of many files: what it has at hand, and what is made of its end.

`tools.batch` does it in this process, `tools.workers` in others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from seekwarc.errors import SeekWarcError
from seekwarc.tools.outcome import MEMORY, Failure, Job, Outcome, Status
from seekwarc.tools.progress import Progress
from seekwarc.write.files import Existing
from seekwarc.write.output import Output, PathOutput, open_output

__all__ = ["Desk", "Report", "Work", "attempt"]


@dataclass(frozen=True, slots=True)
class Desk:
    """What the work on one file has at hand.

    Attributes:
        emit: Told of what is found on the way.
        on_progress: Wraps each source that is read.
        folder: Where unfinished files are; beside their targets if None.
    """

    emit: Callable[[object], object]
    on_progress: Progress
    folder: str | None = None

    @contextmanager
    def output(self, target: str | BinaryIO, existing: Existing) -> Iterator[Output]:
        """Open the target. Unless the work commits it, nothing is left of it.

        Raises:
            TargetExistsError: There is such a file, and it is not to be replaced.
            TargetError: It cannot be written.
        """
        output: Output
        if self.folder is None or not isinstance(target, str):
            output = open_output(target, existing=existing)
        else:
            output = PathOutput(target, existing=existing, folder=self.folder)
        try:
            yield output
        except BaseException:
            output.abort()
            raise


Work = Callable[[Job, Desk], tuple[Status, object]]
"""Works on a file; returns how that ended and what is to be told of it. Must be picklable."""


class Report(Protocol):
    """Is told what happens while a batch runs, in the process that started it."""

    def on_event(self, job: Job, event: object) -> None:
        """Something was found in a file."""

    def on_progress(self, size: int) -> None:
        """So many more stored bytes of sources were read."""

    def on_outcome(self, outcome: Outcome) -> None:
        """The work on a file has ended, or will not begin."""


def attempt(job: Job, work: Work, desk: Desk) -> Outcome:
    """Work on one file; what goes wrong with it becomes part of the outcome.

    Errors of standard output, which have no file name, are not the file's and are raised.
    """
    try:
        status, result = work(job, desk)
    except BrokenPipeError:
        raise
    except (SeekWarcError, ValueError) as error:
        return Outcome(job, Status.FAILED, failure=Failure.of(error))
    except MemoryError:
        failure = Failure(MEMORY, f"{job.source}: there is too little memory to work on it")
        return Outcome(job, Status.FAILED, failure=failure)
    except OSError as error:
        if error.filename is None:
            raise
        return Outcome(job, Status.FAILED, failure=Failure.of(error))
    return Outcome(job, status, result)
