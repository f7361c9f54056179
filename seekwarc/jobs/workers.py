"""Processes that work on files for `tools.batch`, each on one file at a time.

They are started with "spawn", so they share no locks, threads or open files with this process. Each has a
pipe to it, on which it receives jobs and sends events, progress and outcomes. If a process dies, killed by
the user or for lack of memory, only its file fails: its end of the pipe closes, this process notices, and
starts another one.

Unfinished files are in a hidden folder that this process makes and removes. So workers need not clean up, and
can be killed at any time, as they are when this process is interrupted.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from typing import Final

from seekwarc.errors import FormatWarning
from seekwarc.jobs.outcome import DIED, Failure, Job, Outcome, Status
from seekwarc.jobs.progress import counting
from seekwarc.jobs.work import JobContext, Report, Work, attempt, hidden_folder
from seekwarc.system import hold_interrupts

__all__ = ["run_in_order", "run_in_processes"]

PROGRESS_INTERVAL: Final = 0.1
"""Seconds between messages about progress."""


def run_in_processes(
    jobs: Sequence[Job],
    work: Work,
    report: Report,
    *,
    processes: int,
    keep_going: bool,
    folder: str | None,
) -> Iterator[Outcome]:
    """Yield the outcome for each file as soon as it is known; see `batch.Pool`."""
    with _crew(work, report, folder) as crew:
        yield from crew.run(jobs, processes, keep_going=keep_going)


def run_in_order(
    jobs: Sequence[Job], work: Work, report: Report, *, processes: int, ahead: int, folder: str | None
) -> Generator[Outcome, None, None]:
    """Yield the outcomes in the order of the jobs, which all differ, up to the first that failed.

    No more than `ahead` jobs have begun before the outcome of the first of them is yielded.
    """
    done: dict[Job, Outcome] = {}
    left = deque(jobs)
    with _crew(work, report, folder or tempfile.gettempdir()) as crew:
        for outcome in crew.run(jobs, processes, room=lambda waiting: len(left) - waiting < ahead):
            done[outcome.job] = outcome
            while left and left[0] in done:
                yield done.pop(left.popleft())


class _ParentGoneError(BrokenPipeError):
    """The parent process was killed, so no one is left to work for; passed on as broken pipes are."""


class _Worker:
    def __init__(self, work: Work, folder: str | None) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.job: Job | None = None
        self._process = context.Process(target=_serve, args=(theirs, work, folder), daemon=True)
        with _importable_main():
            self._process.start()
        # Then only the process holds it, and the pipe closes when the process ends.
        theirs.close()

    def begin(self, job: Job) -> None:
        self.job = job
        try:
            self.connection.send(job)
        except OSError:
            # It died while it was idle, which is noticed when its messages are received.
            return

    def kill(self) -> None:
        self._process.kill()
        self._process.join()
        self.connection.close()

    def end(self) -> str:
        self._process.join()
        code = self._process.exitcode
        if code is not None and code < 0:
            name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
            memory = (
                "; there may have been too little memory" if -code == getattr(signal, "SIGKILL", 9) else ""
            )
            return f"was killed ({name}){memory}"
        return f"ended with status {code}"


@contextmanager
def _importable_main() -> Iterator[None]:
    """Hide the name of a script that is read from standard input: a process would try to import that file.

    The work is never a part of it.
    """
    main = sys.modules["__main__"]
    name = getattr(main, "__file__", None)
    if name is None or os.path.exists(name):
        yield
        return
    del main.__file__
    try:
        yield
    finally:
        main.__file__ = name


class _Crew:
    def __init__(self, work: Work, report: Report, folder: str | None) -> None:
        self._work = work
        self._report = report
        self._folder = folder
        self._workers: list[_Worker] = []

    def run(
        self,
        jobs: Sequence[Job],
        processes: int,
        *,
        keep_going: bool = False,
        room: Callable[[int], bool] = lambda _: True,
    ) -> Iterator[Outcome]:
        """Yield outcomes as they come. `room` says whether one of that many waiting jobs may begin."""
        waiting = deque(jobs)
        while True:
            idle = [worker for worker in self._workers if worker.job is None]
            while waiting and (idle or len(self._workers) < processes) and room(len(waiting)):
                if not idle:
                    # In a process that is half started Python would show a traceback.
                    with hold_interrupts():
                        self._workers.append(_Worker(self._work, self._folder))
                    idle = self._workers[-1:]
                idle.pop().begin(waiting.popleft())
            busy = {worker.connection: worker for worker in self._workers if worker.job is not None}
            if not busy:
                break
            for connection in wait(list(busy)):
                outcome = self._take_message(busy[connection])  # type: ignore[index]
                if outcome is None:
                    continue
                yield outcome
                if outcome.status is Status.FAILED and not keep_going:
                    # Jobs that have begun are finished.
                    yield from (Outcome(it, Status.NOT_RUN) for it in waiting)
                    waiting.clear()

    def _take_message(self, worker: _Worker) -> Outcome | None:
        job = worker.job
        assert job is not None
        try:
            message = worker.connection.recv()
        except (EOFError, OSError):
            self._workers.remove(worker)
            worker.connection.close()
            text = f"{job.source}: the process that worked on it {worker.end()}"
            return Outcome(job, Status.FAILED, failure=Failure(DIED, text))
        match message:
            case Outcome():
                worker.job = None
                return message
            case ("progress", size):
                self._report.on_progress(size)
            case ("event", event):
                self._report.on_event(job, event)
            case ("warning", text):
                warnings.warn(text, FormatWarning, stacklevel=1)
        return None

    def kill(self) -> None:
        while self._workers:
            self._workers.pop().kill()


@contextmanager
def _crew(work: Work, report: Report, folder: str | None) -> Iterator[_Crew]:
    """Provide workers whose unfinished files are in a hidden folder; all are gone when the block ends."""
    with hidden_folder(folder) as hidden:
        crew = _Crew(work, report, hidden)
        try:
            yield crew
        finally:
            crew.kill()


def _serve(connection: Connection, work: Work, folder: str | None) -> None:
    """Run a worker process: work on files until the other end of the pipe closes."""
    # Ctrl-C reaches every process of a terminal; the parent process handles it. Until here it was held.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    lock = threading.Lock()

    def send(message: object) -> None:
        # Threads that prefetch report progress too.
        with lock:
            try:
                connection.send(message)
            except OSError as error:
                raise _ParentGoneError from error

    warnings.simplefilter("always", FormatWarning)
    warnings.showwarning = lambda message, *_, **__: send(("warning", str(message)))
    while True:
        try:
            job: Job = connection.recv()
        except (EOFError, OSError):
            # The second one if the parent process was killed before it had received all messages.
            return
        progress = _ProgressMessages(send)
        shown = counting(job.source, progress.add, job.part)
        context = JobContext(lambda event: send(("event", event)), shown, folder)
        try:
            outcome = attempt(job, work, context)
            progress.flush()
            send(outcome)
        except _ParentGoneError:
            return


class _ProgressMessages:
    def __init__(self, send: Callable[[object], object]) -> None:
        self._send = send
        self._size = 0
        self._sent = 0.0

    def add(self, size: int) -> None:
        self._size += size
        if time.monotonic() - self._sent >= PROGRESS_INTERVAL:
            self.flush()

    def flush(self) -> None:
        if self._size:
            self._send(("progress", self._size))
            self._size, self._sent = 0, time.monotonic()
