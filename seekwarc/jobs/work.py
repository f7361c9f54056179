"""Work on one of many files: what the work is given, and how its end becomes an outcome.

`tools.batch` runs it in this process, `tools.workers` in others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import BinaryIO

from seekwarc.errors import SeekWarcError
from seekwarc.jobs.outcome import MEMORY, Failure, Job, Outcome, Status
from seekwarc.jobs.progress import Progress
from seekwarc.read.options import ReadLimits
from seekwarc.storage.remote_url import is_url
from seekwarc.system import temporary_folder
from seekwarc.write.files import Existing, unwritable
from seekwarc.write.opening import open_output
from seekwarc.write.output import Output, PathOutput

__all__ = ["JobContext", "Reading", "Report", "Work", "attempt", "hidden_folder", "writing"]


@dataclass(frozen=True, slots=True)
class JobContext:
    """What the work on one file is given."""

    emit: Callable[[object], object]
    """Called with each event, such as a problem found."""
    on_progress: Progress
    """Wraps each source that is read, to report progress."""
    folder: str | None = None
    """Folder of unfinished files; None for the folders of their targets."""
    processes: int = 1
    """How many processes may work on the file at the same time."""

    @contextmanager
    def output(self, target: str | BinaryIO, existing: Existing) -> Iterator[Output]:
        """Open the target. It is aborted if the block raises; otherwise the work commits it."""
        output: Output
        if self.folder is None or not isinstance(target, str) or is_url(target):
            output = open_output(target, existing=existing)
        else:
            output = PathOutput(target, existing=existing, folder=self.folder)
        try:
            yield output
        except BaseException:
            output.abort()
            raise


@dataclass(frozen=True, slots=True)
class Reading:
    """How the files of a job are read."""

    on_progress: Progress
    """Wraps each source that is read, to report progress."""
    processes: int
    """How many processes may work on a file at the same time."""
    limits: ReadLimits


Work = Callable[[Job, JobContext], tuple[Status, object]]
"""Works on a file; returns how that ended, and a result to report. Must be picklable."""


class Report:
    """Receives what happens while a batch runs, in the process that started it. This one ignores it."""

    def on_event(self, job: Job, event: object) -> None:
        """Called with each event of the work on a file."""

    def on_progress(self, size: int) -> None:
        """Called with the number of further bytes of sources that were read."""

    def on_outcome(self, outcome: Outcome) -> None:
        """Called when work on a file has ended, or will not begin."""


@contextmanager
def hidden_folder(folder: str | None) -> Iterator[str | None]:
    """Make a hidden folder for the unfinished files of other processes, and remove it however the block ends.

    So these processes need not clean up, and can be killed at any time.
    """
    if folder is None:
        yield None
        return
    with ExitStack() as made:
        with writing(folder):
            name = made.enter_context(temporary_folder(".seekwarc-", ".partial", folder=folder))
        yield name


@contextmanager
def writing(path: str) -> Iterator[None]:
    """Name what could not be written, if the system refuses something in the block."""
    try:
        yield
    except (SeekWarcError, BrokenPipeError):
        raise
    except OSError as error:
        raise unwritable(error, path) from error


def attempt(job: Job, work: Work, context: JobContext) -> Outcome:
    """Work on one file. Errors become part of the outcome, but those of standard output are raised."""
    try:
        status, result = work(job, context)
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
