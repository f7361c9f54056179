"""Work on many files by the workers of a Dask cluster: a pool of `tools.batch`.

A file is a task. Its findings come back in its result, so a worker that dies reports nothing twice when
another one begins its task again. Progress and the beginning of tasks are events of the scheduler, which may
come late or twice, and so name how far the work is instead of by how much it went on.

Dask cannot end a task that runs. So each asks now and then whether it is still wanted, and raises an error
if not: after Ctrl-C, or when the client is gone. Unfinished files are in a hidden folder that the client
removes.
"""

from __future__ import annotations

import os
import pickle
import re
import threading
import time
import uuid
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Final, TypeAlias

from distributed import Client, Future, KilledWorker, Worker, get_worker

from seekwarc import __version__
from seekwarc.errors import FormatWarning, SeekWarcError, SourceError
from seekwarc.jobs.outcome import DIED, Failure, Job, Outcome, Status
from seekwarc.jobs.progress import counting
from seekwarc.jobs.work import JobContext, Report, Work, attempt, hidden_folder

__all__ = ["Cluster"]

CONNECT_TIMEOUT: Final = 10
"""Seconds within which the scheduler answers."""
INTERVAL: Final = 0.5
"""Seconds between messages about the progress of a task, and between questions whether it is still wanted."""
MAX_EVENTS: Final = 10_000
"""Problems of a file that are reported one by one; they are in memory until the file is done."""
UNWANTED: Final = ("cancelled", "released", "forgotten")
"""States of a task in its worker, once no job waits for it."""

_ADDRESS = re.compile(r"(?:tcp|tls|ucx|ws|wss)://[^/]+:[0-9]{1,5}")

_Message: TypeAlias = tuple[int, int] | int
"""How far the work on a job is, as (number, bytes); or the number of a job that has ended."""


class Cluster:
    """The workers of a Dask cluster, as a pool of `tools.batch.run`.

    Workers need this version of seekwarc. They open files by the names of the jobs, which therefore are URLs
    or absolute paths of a file system that all of them share.
    """

    def __init__(self, address: str) -> None:
        self._address = address

    def __call__(
        self,
        jobs: Sequence[Job],
        work: Work,
        report: Report,
        *,
        keep_going: bool,
        folder: str | None,
    ) -> Iterator[Outcome]:
        """Yield the outcome for each file as soon as it is known; see `tools.batch.Pool`."""
        with hidden_folder(folder) as hidden, self._client() as client:
            run = _Run(client, jobs, work, report, hidden)
            try:
                yield from run.outcomes(self._address, keep_going=keep_going)
            finally:
                run.end()

    def _client(self) -> Client:
        if _ADDRESS.fullmatch(self._address) is None:
            raise SeekWarcError(
                f"{self._address!r} is not an address of a Dask scheduler such as tcp://10.0.0.1:8786"
            )
        try:
            return Client(self._address, timeout=CONNECT_TIMEOUT, name="seekwarc", set_as_default=False)
        except OSError as error:
            raise SourceError(
                f"no Dask scheduler answers: {error}; start one with `dask scheduler`", source=self._address
            ) from error


class _Run:
    """The tasks of one run, as the client sees them."""

    def __init__(
        self, client: Client, jobs: Sequence[Job], work: Work, report: Report, folder: str | None
    ) -> None:
        self._client = client
        self._jobs = jobs
        self._report = report
        self._folder = folder
        self._topic = f"seekwarc-{uuid.uuid4().hex}"
        self._messages: SimpleQueue[_Message] = SimpleQueue()
        self._futures: dict[int, Future[_Done]] = {}
        self._read: dict[int, int] = {}
        """Bytes read of the source of each job."""
        client.subscribe_topic(self._topic, lambda event: self._messages.put(tuple(event[1])))
        # A task of its own: it is sent to each worker once, and is made again if the worker that has it dies.
        self._work = client.submit(_received, __version__, pickle.dumps(work), key=f"{self._topic}-work")

    def _begin(self, number: int) -> None:
        future = self._client.submit(
            _run_job,
            self._work,
            self._jobs[number],
            number,
            self._folder,
            self._topic,
            key=f"{self._topic}-{number}",
        )
        self._futures[number] = future
        future.add_done_callback(lambda _: self._messages.put(number))

    def outcomes(self, address: str, *, keep_going: bool) -> Iterator[Outcome]:
        waiting = deque(range(len(self._jobs)))
        while waiting or self._futures:
            # Submitted work has begun: the scheduler begins it at some time. Where the first failure ends
            # it all, workers get no more at a time than they have threads.
            room = len(waiting) if keep_going else max(1, self._threads()) - len(self._futures)
            for _ in range(min(room, len(waiting))):
                self._begin(waiting.popleft())
            message = self._messages.get()
            if not isinstance(message, int):
                self._on_progress(*message)
                continue
            future = self._futures.pop(message, None)
            if future is None:
                continue
            outcome = self._outcome(self._jobs[message], future, address)
            yield outcome
            if outcome.status is Status.FAILED and not keep_going:
                yield from (Outcome(self._jobs[number], Status.NOT_RUN) for number in waiting)
                waiting.clear()

    def _threads(self) -> int:
        return sum(self._client.nthreads().values())

    def _on_progress(self, number: int, size: int) -> None:
        before = self._read.setdefault(number, 0)
        if size > before:
            self._report.on_progress(size - before)
            self._read[number] = size

    def _outcome(self, job: Job, future: Future[_Done], address: str) -> Outcome:
        try:
            done = future.result()
        except KilledWorker as error:
            text = f"{job.source}: {error.allowed_failures + 1} workers died while they worked on it"
            return Outcome(
                job, Status.FAILED, failure=Failure(DIED, f"{text}; there may have been too little memory")
            )
        except Exception as error:
            if future.cancelled():
                text = f"{job.source}: the connection to the scheduler {address} was lost"
                return Outcome(job, Status.FAILED, failure=Failure(DIED, text))
            raise SeekWarcError(
                f"a worker failed ({type(error).__name__}: {error}); install seekwarc "
                f"{__version__} on every worker",
                source=address,
            ) from error
        for text in done.warned:
            warnings.warn(text, FormatWarning, stacklevel=1)
        for event in done.events:
            self._report.on_event(job, event)
        return done.outcome

    def end(self) -> None:
        if self._futures:
            self._client.cancel(list(self._futures.values()))
        self._client.unsubscribe_topic(self._topic)


# Code that runs on workers.


@dataclass(frozen=True, slots=True)
class _Done:
    outcome: Outcome
    events: list[object]
    warned: list[str]


def _received(version: str, work: bytes) -> Work:
    if version != __version__:
        raise SeekWarcError(f"this worker has seekwarc {__version__}")
    loaded: Work = pickle.loads(work)  # noqa: S301 - a client of a cluster can run anything on it
    return loaded


def _run_job(work: Work, job: Job, number: int, folder: str | None, topic: str) -> _Done:
    worker = get_worker()
    if folder is not None and not os.path.isdir(folder):
        text = f"the worker {worker.address} does not see this folder; name one that all workers share"
        text = f"{os.path.dirname(folder)}: {text}"
        return _Done(Outcome(job, Status.FAILED, failure=Failure("io", text)), [], [])
    task = _Task(worker, number, topic)
    context = JobContext(task.on_event, counting(job.source, task.on_bytes), folder)
    with _Warnings() as warned:
        outcome = attempt(job, work, context)
    task.flush()
    if task.unsaid:
        warned.append(f"{job.source}: {task.unsaid} more problems were found than the {MAX_EVENTS} printed")
    return _Done(outcome, task.events, warned)


class _Task:
    def __init__(self, worker: Worker, number: int, topic: str) -> None:
        self.events: list[object] = []
        self.unsaid = 0
        """Events beyond `MAX_EVENTS`."""
        self._worker = worker
        self._key = worker.get_current_task()
        self._number = number
        self._topic = topic
        self._size = 0
        self._sent = 0.0
        self.flush()

    def on_event(self, event: object) -> None:
        if len(self.events) < MAX_EVENTS:
            self.events.append(event)
        else:
            self.unsaid += 1

    def on_bytes(self, size: int) -> None:
        self._size += size
        if time.monotonic() - self._sent >= INTERVAL:
            self.flush()
            state = self._worker.state.tasks.get(self._key)
            if state is None or state.state in UNWANTED:
                raise SourceError("not read further: its result is no longer wanted")

    def flush(self) -> None:
        self._sent = time.monotonic()
        self._worker.log_event(self._topic, (self._number, self._size))


class _Warnings:
    """Collects the warnings of a thread. `warnings.catch_warnings` would catch those of all threads."""

    _collecting: Final[dict[int, list[str]]] = {}
    _show: Any = None

    def __enter__(self) -> list[str]:
        warnings.filterwarnings("always", category=FormatWarning)
        if _Warnings._show is None:
            _Warnings._show = warnings.showwarning
            warnings.showwarning = _Warnings._collect
        return self._collecting.setdefault(threading.get_ident(), [])

    def __exit__(self, *_: object) -> None:
        del self._collecting[threading.get_ident()]

    @staticmethod
    def _collect(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:  # noqa: ANN401
        found = _Warnings._collecting.get(threading.get_ident())
        if found is not None and issubclass(category, FormatWarning):
            found.append(str(message))
        else:
            _Warnings._show(message, category, *rest, **more)
