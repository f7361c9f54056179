"""What a verb makes of each of its files, in a temporary folder until one output is made of all."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Generic, TypeVar, cast

from seekwarc.cli.targets import absolute
from seekwarc.jobs.outcome import Job
from seekwarc.write.output import FileObjectOutput, Output

__all__ = ["Spooled", "Spools"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Spooled(Generic[T]):
    """What was made of one file."""

    done: T
    sent: bytes | None
    """The spool, compressed with gzip, if it was made where the folder may not be seen."""


@dataclass(frozen=True, slots=True)
class Spools:
    """A file for each job, in one folder."""

    folder: str
    are_sent: bool = False
    """Whether workers are on other computers, and send what they make."""

    def path(self, job: Job) -> str:
        """Return where the spool of a file is, or will be."""
        name = absolute(job.source).encode(errors="surrogateescape")
        return os.path.join(self.folder, hashlib.sha256(name).hexdigest())

    def made(self, job: Job, make: Callable[[str | Output], T]) -> Spooled[T]:
        """Make the spool of one file, in a worker."""
        if not self.are_sent:
            return Spooled(make(self.path(job)), None)
        packed = io.BytesIO()
        with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1) as file:
            done = make(FileObjectOutput(cast("BinaryIO", file)))
        return Spooled(done, packed.getvalue())

    def keep(self, job: Job, spooled: Spooled[T]) -> None:
        """Put what a worker sent into the folder."""
        if spooled.sent is not None:
            with open(self.path(job), "wb") as file:
                shutil.copyfileobj(gzip.GzipFile(fileobj=io.BytesIO(spooled.sent)), file)

    def paths(self, jobs: Sequence[Job]) -> list[str]:
        """Return the spools that were made, in the order of their jobs."""
        return [path for job in jobs if os.path.exists(path := self.path(job))]
