"""What operating systems do differently, in one place: Linux and macOS on one side, Windows on the other.

Everything else in the package calls these names and asks no system what it is. This module asks whether a
function exists, not what the system is called, so that tests can take a function away and read the other half
(tests/support/windows).
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from types import ModuleType
from typing import IO, Any, BinaryIO, Final, TextIO

try:
    import fcntl as _fcntl

    fcntl: ModuleType | None = _fcntl
except ImportError:
    fcntl = None

__all__ = [
    "HOLDS_OPEN_FILES",
    "READS_AT",
    "SIGPIPE",
    "after_fork_in_child",
    "begin_partial",
    "configure_text",
    "cores",
    "default_threads",
    "has_global_lock",
    "hold_interrupts",
    "is_at",
    "is_broken_pipe",
    "is_readable",
    "lock_for_writing",
    "max_open_files",
    "raise_signal_after",
    "read_at",
    "read_into_at",
    "replace",
    "seek_and_read",
    "set_mode",
    "sync",
    "temporary_folder",
    "threads_for",
    "write_all",
]

SIGPIPE: Final[int] = getattr(signal, "SIGPIPE", 13)
"""The number from which a shell makes status 141, also on systems without this signal."""

HOLDS_OPEN_FILES: Final = fcntl is None
"""Whether a file cannot be renamed or removed while a process has it open, as on Windows."""

LOCKED_BYTE: Final = 1 << 43
"""Where Windows locks a byte: after the end of any file, as no other process can read a locked byte."""

MAX_DEFAULT_THREADS: Final = 4

OPEN_FILES_OF_WINDOWS: Final = 512
"""What its C library opens at a time."""
NO_LIMIT: Final = 1 << 20

RENAME_TRIES: Final = 10
RENAME_WAIT: Final = 0.05
"""Seconds between two tries."""

_SEEKING: Final = [threading.Lock() for _ in range(64)]
"""If a read has to move the position of a file, no other thread may move it in between."""


def seek_and_read(descriptor: int, size: int, offset: int) -> bytes:
    """Do what `os.pread` does, by moving the position of the file; see `read_at`."""
    with _SEEKING[descriptor % len(_SEEKING)]:
        os.lseek(descriptor, offset, os.SEEK_SET)
        return os.read(descriptor, size)


READS_AT: Final = hasattr(os, "pread")
"""Whether reading at an offset leaves the position of the file where it is."""

read_at: Final[Callable[[int, int, int], bytes]] = getattr(os, "pread", seek_and_read)
"""Reads up to `size` bytes of a descriptor from `offset` on, from any number of threads. Raises OSError."""


def read_into_at(descriptor: int, out: memoryview, offset: int) -> int:
    """Fill `out` from `offset` on, as `os.preadv` does, and return how many bytes came."""
    if hasattr(os, "preadv"):
        count: int = os.preadv(descriptor, [out], offset)
        return count
    data = read_at(descriptor, len(out), offset)
    out[: len(data)] = data
    return len(data)


def is_readable(pipe: IO[bytes], seconds: float) -> bool:
    """Wait until a pipe has bytes or has ended, for so long at most, and tell whether it has.

    On Windows, which cannot wait for a pipe, it says so at once, and the read waits.
    """
    import select

    if not hasattr(select, "poll"):
        return True
    poll, has_input = select.poll(), getattr(select, "POLLIN")  # noqa: B009 - Windows has neither
    poll.register(pipe, has_input)
    return bool(poll.poll(seconds * 1000))


def write_all(file: IO[bytes], data: bytes | bytearray | memoryview) -> None:
    """Write all of `data`: one `write` of a raw file, such as unbuffered standard output, may take less."""
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


def lock_for_writing(file: BinaryIO) -> None:
    """Keep others that lock `file` from writing to it until it is closed; BlockingIOError if one has it."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    import msvcrt  # Windows only

    windows: Any = msvcrt
    position = os.lseek(file.fileno(), 0, os.SEEK_CUR)
    os.lseek(file.fileno(), LOCKED_BYTE, os.SEEK_SET)
    try:
        windows.locking(file.fileno(), windows.LK_NBLCK, 1)
    except PermissionError as error:
        raise BlockingIOError(errno.EAGAIN, "another process has the lock") from error
    finally:
        os.lseek(file.fileno(), position, os.SEEK_SET)


def cores() -> int:
    """Return how many cores this process may use."""
    allowed: Callable[[int], set[int]] | None = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


def has_global_lock() -> bool:
    """Tell whether threads take turns, as they do but in a free-threaded Python."""
    has_lock: bool = getattr(sys, "_is_gil_enabled", lambda: True)()
    return has_lock


@cache
def default_threads() -> int:
    """Return how many threads compress: one per core that this process may use, at most four."""
    return min(cores(), MAX_DEFAULT_THREADS)


def threads_for(wanted: int | None) -> int:
    """Return how many threads decode or compress: as many as are wanted, or `default_threads`.

    One without a global lock before Python 3.16: there, slices of one buffer must not be used, or dropped, by
    more than one thread, since it would be freed too early (CPython issues 127716 and 155606).
    """
    if not has_global_lock() and sys.version_info < (3, 16):
        return 1
    return wanted or default_threads()


def max_open_files() -> int:
    """Return how many files this process may have open; on Windows that is its C library's number."""
    try:
        import resource  # not on Windows
    except ImportError:
        return OPEN_FILES_OF_WINDOWS
    posix: Any = resource
    limit: int = posix.getrlimit(posix.RLIMIT_NOFILE)[0]
    return limit if limit != posix.RLIM_INFINITY else NO_LIMIT


def sync(file: BinaryIO) -> None:
    """Wait until what was written to `file` is on disk."""
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if fcntl is not None and full is not None:
        # On macOS `fsync` leaves data in the disk's buffer. Not every file system supports F_FULLFSYNC.
        try:
            fcntl.fcntl(file.fileno(), full)
        except OSError:
            pass
        else:
            return
    os.fsync(file.fileno())


def set_mode(file: BinaryIO, mode: int) -> None:
    """Set who may read and write an open file; on Windows, which has no modes, the folder decides."""
    if hasattr(os, "fchmod"):
        os.fchmod(file.fileno(), mode)


def is_at(status: os.stat_result | None, path: str) -> bool:
    """Tell whether a path leads to a file that `os.fstat` has identified."""
    try:
        return status is not None and os.path.samestat(status, os.stat(path))
    except OSError:
        return False


def replace(source: str, target: str) -> None:
    """Rename `source` to `target`; Windows refuses while, for a moment, a virus scanner has one open."""
    for _ in range(0 if fcntl is not None else RENAME_TRIES):
        try:
            os.replace(source, target)
        except PermissionError:
            time.sleep(RENAME_WAIT)
        else:
            return
    os.replace(source, target)


def is_broken_pipe(error: OSError) -> bool:
    """Tell whether the reader of a pipe has gone, which Windows calls an invalid argument."""
    if isinstance(error, BrokenPipeError):
        return True
    return fcntl is None and error.errno == errno.EINVAL and error.filename is None


def configure_text(stream: TextIO) -> None:
    """Print, also in a pipe or file of Windows, UTF-8 with line feeds; escape what a terminal cannot show."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
        if fcntl is None and not stream.isatty():
            stream.reconfigure(encoding="utf-8", newline="\n")


def raise_signal_after(seconds: float, number: int) -> None:
    """Have a signal handled in the main thread after a while. Must be called in the main thread.

    The handler is the one that is set then: an event loop may have set its own. On systems without alarms a
    waiting system call is not interrupted.
    """
    if hasattr(signal, "setitimer"):
        posix: Any = signal
        posix.signal(posix.SIGALRM, lambda *_: signal.raise_signal(number))
        posix.setitimer(posix.ITIMER_REAL, seconds)
    else:
        threading.Timer(seconds, signal.raise_signal, (number,)).start()


@cache
def _machine() -> str:
    """Return a word for what numbers the processes here; another machine or container has another one."""
    import platform

    words = [platform.node()]
    with contextlib.suppress(OSError):
        words.append(str(os.stat("/proc/self/ns/pid").st_ino))
        with open("/etc/machine-id") as file:
            words.append(file.read())
    import zlib

    return f"{zlib.crc32(' '.join(words).encode(errors='replace')):08x}"


@lru_cache(maxsize=64)
def _left_in(folder: str) -> list[str]:
    """Return what processes of this machine left in a folder. It is listed once, not for each file."""
    if fcntl is None:
        return []
    with contextlib.suppress(OSError):
        return [it for it in os.listdir(folder) if f"{_machine()}-" in it]
    return []


def begin_partial(folder: str, prefix: str, suffix: str) -> str:
    """Return `prefix` with a token of this process, for the name of what is not finished yet.

    What has a name like it is removed if the process of its token certainly is gone: it was killed. Windows
    cannot ask that.
    """
    import shutil

    token = f"{prefix}{_machine()}-"
    names = [it for it in _left_in(folder) if it.startswith(token) and it.endswith(suffix)]
    for name in names:
        number, _, rest = name.removeprefix(token).partition("-")
        if rest and re.fullmatch("[1-9][0-9]{0,8}", number) and _is_gone(int(number)):
            path = os.path.join(folder, name)
            shutil.rmtree(path, ignore_errors=True)
            with contextlib.suppress(OSError):
                os.unlink(path)
    return f"{token}{os.getpid()}-"


def _is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    return False


@contextlib.contextmanager
def temporary_folder(prefix: str, suffix: str = "", *, folder: str | None = None) -> Iterator[str]:
    """Make a folder, and remove it with all that is in it however the block ends, also by a signal.

    Those of the same prefix that killed processes have left are also removed; see `begin_partial`.

    Args:
        prefix: How its name begins.
        suffix: How its name ends.
        folder: Where it is made; None for the system's folder of temporary files.
    """
    import tempfile

    prefix = begin_partial(folder or tempfile.gettempdir(), prefix, suffix)
    with contextlib.ExitStack() as made:
        # Otherwise a signal could come when the folder is there and nothing knows of it yet.
        with _signals_held():
            name = made.enter_context(tempfile.TemporaryDirectory(suffix, prefix, folder))
        yield name


@contextlib.contextmanager
def hold_interrupts() -> Iterator[None]:
    """Delay Ctrl-C and SIGTERM until the block ends, so that none comes while a process is half started.

    Python processes that are started in it never receive Ctrl-C; on Windows they do.
    """
    # Another thread may receive a signal, so a mask is not enough. Only the main thread runs handlers.
    with _signals_held(), _interrupts_masked():
        yield


@contextlib.contextmanager
def _signals_held() -> Iterator[None]:
    held: list[int] = []
    before: dict[int, Any] = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if threading.current_thread() is threading.main_thread() and handler is not None:
                before[number] = handler
                signal.signal(number, lambda number, _: held.append(number))
        yield
    finally:
        for taken, handler in before.items():
            signal.signal(taken, handler)
        for came in held:
            signal.raise_signal(came)


@contextlib.contextmanager
def _interrupts_masked() -> Iterator[None]:
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    # The first process that `multiprocessing` starts is preceded by this one, whose start ends such a block.
    resource_tracker.ensure_running()
    posix: Any = signal
    before = posix.pthread_sigmask(posix.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        posix.pthread_sigmask(posix.SIG_SETMASK, before)


def after_fork_in_child(call: Callable[[], object]) -> None:
    """Have `call` called in each process that is forked from this one; Windows forks none."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=call)
