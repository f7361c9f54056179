"""Makes Python on Linux do as on Windows, as far as that can be: put this folder on PYTHONPATH.

    PYTHONPATH=tests/support/windows:. python -m pytest tests/read tests/write

What Windows does not have is taken away before anything else is imported, in each process that is started.
What it does otherwise is done so: a file that this process has open cannot be replaced, renamed or removed,
names with `<>:"|?*` are refused, folders cannot be opened, and the command prints code page 1252 with CR LF.

What cannot be shown here: drive letters and backslashes, the real `msvcrt`, the error of a closed pipe, other
processes that hold a file open (virus scanners), Ctrl-C on a console, and how long all of it takes.
"""

import builtins
import errno
import fcntl
import io
import os
import random  # noqa: F401 - it asks for what is taken away below
import shutil
import signal
import subprocess  # noqa: F401 - it asks for what is taken away below
import sys
import tempfile
import types

FORBIDDEN = frozenset('<>:"|?*') | {chr(number) for number in range(32)}
RESERVED = {
    "CON",
    "PRN",
    "AUX",
    "NUL",
    *(f"{port}{number}" for port in ("COM", "LPT") for number in range(1, 10)),
}


def take_away() -> None:
    for name in ("pread", "preadv", "pwrite", "pwritev", "fchmod", "fork", "register_at_fork"):
        delattr(os, name)
    for name in ("SIGPIPE", "SIGALRM", "SIGHUP", "SIGUSR1", "SIGUSR2"):
        delattr(signal, name)
    for name in ("setitimer", "alarm", "pthread_kill", "pthread_sigmask"):
        delattr(signal, name)
    del signal.ITIMER_REAL
    for name in ("fcntl", "termios", "pty", "tty", "pwd", "grp", "resource"):
        sys.modules[name] = None
    shutil._use_fd_functions = False


def lend_msvcrt() -> None:
    """The lock of a byte that `msvcrt` provides: it belongs to an open file, not to a process."""
    msvcrt = types.ModuleType("msvcrt")
    msvcrt.LK_NBLCK, msvcrt.LK_UNLCK = 2, 0

    def locking(descriptor: int, mode: int, count: int) -> None:
        if os.lseek(descriptor, 0, os.SEEK_CUR) + count <= os.fstat(descriptor).st_size:
            raise AssertionError("nobody else could read the bytes that would be locked")
        try:
            fcntl.flock(
                descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB if mode == msvcrt.LK_NBLCK else fcntl.LOCK_UN
            )
        except BlockingIOError as error:
            raise PermissionError(errno.EACCES, "Permission denied") from error

    msvcrt.locking = locking
    sys.modules["msvcrt"] = msvcrt


def name_of(path: object) -> str | None:
    return os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else None


def check_name(path: object) -> None:
    text = name_of(path)
    if text is None or text.startswith(("/proc/", "/dev/", "/sys/")):
        return
    for part in text.split("/"):
        bad = FORBIDDEN & set(part) or part.partition(".")[0].upper() in RESERVED
        if bad or (part not in ("", ".", "..") and part[-1] in " ."):
            raise OSError(errno.EINVAL, "Invalid argument", text)


def check_not_open(*paths: object) -> None:
    caller = sys._getframe(2).f_code.co_filename
    if caller == tempfile.__file__:
        return  # It knows Windows.
    wanted = {os.path.realpath(text) for path in paths if (text := name_of(path)) is not None}
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            held = os.readlink(f"/proc/self/fd/{descriptor}")
        except OSError:
            continue
        if held in wanted:
            raise PermissionError(
                errno.EACCES, "The process cannot access the file because it is being used", held
            )


def wrap() -> None:
    os_open, io_open = os.open, builtins.open
    replace, rename, unlink = os.replace, os.rename, os.unlink

    def checked_os_open(path, flags, *args, **kwargs):
        check_name(path)
        if not flags & getattr(os, "O_TMPFILE", 0) and os.path.isdir(path):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return os_open(path, flags, *args, **kwargs)

    def checked_open(file, *args, **kwargs):
        check_name(file)
        return io_open(file, *args, **kwargs)

    def checked_replace(source, target, **kwargs):
        check_name(target)
        check_not_open(source, target)
        replace(source, target, **kwargs)

    def checked_rename(source, target, **kwargs):
        check_name(target)
        if os.path.exists(target):
            raise FileExistsError(errno.EEXIST, "Cannot create a file when that file already exists", target)
        check_not_open(source)
        rename(source, target, **kwargs)

    def checked_unlink(path, **kwargs):
        if not kwargs:
            check_not_open(path)
        unlink(path, **kwargs)

    os.open, builtins.open, io.open = checked_os_open, checked_open, checked_open
    os.replace, os.rename, os.unlink, os.remove = (
        checked_replace,
        checked_rename,
        checked_unlink,
        checked_unlink,
    )


if {"seekwarc", "tests.support.warm"} & {*sys.orig_argv} and sys.stdout is not None:
    # The command. Not for pytest, which prints more than this code page has.
    sys.stdout.reconfigure(encoding="cp1252", newline="\r\n")
lend_msvcrt()
take_away()
wrap()
