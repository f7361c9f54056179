"""What systems do differently: each half is tested here, on whichever system this is."""

from __future__ import annotations

import errno
import io
import os
import select
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import seekwarc
from seekwarc import system
from seekwarc.system import (
    SIGPIPE,
    configure_text,
    default_threads,
    hold_interrupts,
    is_broken_pipe,
    lock_for_writing,
    max_open_files,
    raise_signal_after,
    read_at,
    read_into_at,
    replace,
    seek_and_read,
    set_mode,
    sync,
    temporary_folder,
    threads_for,
)
from tests.support.processes import wait_until

PACKAGE = Path(seekwarc.__file__).parent
TESTS = Path(__file__).parent
WINDOWS = TESTS / "support" / "windows"

DATA = bytes(range(256)) * 400


@pytest.fixture
def no_posix(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what Windows does not have."""
    for module, names in (
        (os, ("pread", "preadv", "fchmod", "register_at_fork")),
        (signal, ("SIGALRM", "setitimer", "pthread_sigmask")),
    ):
        for name in names:
            monkeypatch.delattr(module, name, raising=False)
    monkeypatch.setattr(system, "fcntl", None)


# Reads.


@pytest.mark.parametrize("way", ["as it is", "no_posix"])
def test_reads_from_many_threads_do_not_disturb_each_other(way, tmp_path, request, monkeypatch) -> None:
    read_here = read_at
    if way == "no_posix":
        request.getfixturevalue("no_posix")
        read_here = seek_and_read
        monkeypatch.setattr(system, "read_at", seek_and_read)
    path = tmp_path / "a"
    path.write_bytes(DATA)
    with path.open("rb") as file, ThreadPoolExecutor(8) as threads:

        def read(start: int) -> bool:
            out = bytearray(1000)
            count = read_into_at(file.fileno(), memoryview(out), start)
            return out[:count] == DATA[start : start + 1000] == read_here(file.fileno(), 1000, start)

        assert all(threads.map(read, range(0, len(DATA), 77)))


# Locks.


def windows_lock() -> ModuleType:
    """The module `msvcrt`, as far as it is used: one file object has the byte, whoever asks first."""
    msvcrt = ModuleType("msvcrt")
    locked: dict[tuple[int, int], int] = {}

    def locking(descriptor: int, mode: int, count: int) -> None:
        status = os.fstat(descriptor)
        place = os.lseek(descriptor, 0, os.SEEK_CUR)
        assert (mode, count) == (msvcrt.LK_NBLCK, 1)
        assert place >= status.st_size, "a byte that is locked cannot be read"
        if locked.setdefault((status.st_ino, place), descriptor) != descriptor:
            raise PermissionError(errno.EACCES, "Permission denied")

    msvcrt.LK_NBLCK = 2
    msvcrt.locking = locking
    return msvcrt


@pytest.mark.parametrize("way", ["as it is", "no_posix"])
def test_a_file_is_locked_once(way, tmp_path, request, monkeypatch) -> None:
    if way == "no_posix":
        request.getfixturevalue("no_posix")
        monkeypatch.setitem(sys.modules, "msvcrt", windows_lock())
    path = tmp_path / "a"
    path.write_bytes(b"some bytes")
    with path.open("r+b", 0) as first, path.open("r+b", 0) as second:
        first.seek(4)
        lock_for_writing(first)
        assert first.tell() == 4
        with pytest.raises(BlockingIOError):
            lock_for_writing(second)
        first.write(b" BYTES"[1:])
        assert second.read() == b"someBYTESs"


# How many files.


def test_the_number_of_files_is_the_limit_of_the_process() -> None:
    resource = pytest.importorskip("resource")
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert max_open_files() == (limit if limit != resource.RLIM_INFINITY else 1 << 20)


def test_without_limits_of_processes_it_is_that_of_windows(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "resource", None)
    assert max_open_files() == 512


# Names.


@pytest.mark.usefixtures("no_posix")
def test_a_name_that_is_held_for_a_moment_is_waited_for(tmp_path, monkeypatch) -> None:
    (tmp_path / "new").write_bytes(b"new")
    tries = []

    def refuse_twice(source: str, target: str) -> None:
        tries.append(source)
        if len(tries) < 3:
            raise PermissionError(errno.EACCES, "used by another process")
        os.rename(source, target)

    monkeypatch.setattr(os, "replace", refuse_twice)
    monkeypatch.setattr(system, "RENAME_WAIT", 0)
    replace(str(tmp_path / "new"), str(tmp_path / "old"))
    assert os.listdir(tmp_path) == ["old"]


@pytest.mark.parametrize("way", ["as it is", "no_posix"])
def test_a_name_that_stays_held_is_an_error(way, monkeypatch, request) -> None:
    if way == "no_posix":
        request.getfixturevalue("no_posix")
    tries = []

    def refuse(source: str, target: str) -> None:
        tries.append(source)
        raise PermissionError(errno.EACCES, "used by another process", target)

    monkeypatch.setattr(os, "replace", refuse)
    monkeypatch.setattr(system, "RENAME_WAIT", 0)
    with pytest.raises(PermissionError):
        replace("a", "b")
    assert len(tries) == (1 if way == "as it is" else 11)


@pytest.mark.usefixtures("no_posix")
def test_where_files_have_no_mode_none_is_set(tmp_path) -> None:
    with (tmp_path / "a").open("wb") as file:
        set_mode(file, 0o600)


# On disk.


def test_what_is_synced_on_macos_is_out_of_the_disks_buffer(tmp_path, monkeypatch) -> None:
    asked = []
    full = SimpleNamespace(F_FULLFSYNC=51, fcntl=lambda descriptor, what: asked.append((descriptor, what)))
    monkeypatch.setattr(system, "fcntl", full)
    with (tmp_path / "a").open("wb") as file:
        sync(file)
        assert asked == [(file.fileno(), 51)]


def test_where_only_fsync_works_it_is_used(tmp_path, monkeypatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOTSUP, "Operation not supported")

    asked = []
    monkeypatch.setattr(system, "fcntl", SimpleNamespace(F_FULLFSYNC=51, fcntl=refuse))
    monkeypatch.setattr(os, "fsync", asked.append)
    with (tmp_path / "a").open("wb") as file:
        sync(file)
        assert asked == [file.fileno()]


# Pipes, text, signals.


def test_a_closed_pipe_is_known() -> None:
    assert is_broken_pipe(BrokenPipeError(errno.EPIPE, "Broken pipe"))
    assert not is_broken_pipe(OSError(errno.ENOSPC, "No space left on device"))
    assert SIGPIPE == 13


@pytest.mark.usefixtures("no_posix")
def test_a_closed_pipe_of_windows_is_known() -> None:
    assert is_broken_pipe(OSError(errno.EINVAL, "Invalid argument"))
    assert not is_broken_pipe(OSError(errno.EINVAL, "Invalid argument", "a:b"))


@pytest.mark.usefixtures("no_posix")
def test_a_pipe_on_windows_gets_the_same_bytes_as_elsewhere() -> None:
    pipe = io.BytesIO()
    stream = io.TextIOWrapper(pipe, "cp1252", newline="\r\n")
    configure_text(stream)
    print("中 é", file=stream, flush=True)
    assert pipe.getvalue() == "中 é\n".encode()


@pytest.mark.parametrize("way", ["as it is", "no_posix"])
def test_a_signal_comes_in_the_main_thread_to_the_handler_of_that_moment(way, request) -> None:
    if way == "no_posix":
        request.getfixturevalue("no_posix")
    came = []
    alarm = getattr(signal, "SIGALRM", signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, alarm)}
    try:
        # One that comes before the second handler is set, on a busy machine, is asked for again.
        signal.signal(signal.SIGTERM, lambda *_: raise_signal_after(0.01, signal.SIGTERM))
        raise_signal_after(0.01, signal.SIGTERM)
        signal.signal(signal.SIGTERM, lambda *_: came.append(threading.current_thread()))
        wait_until(lambda: came != [])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert came == [threading.main_thread()]


class Stop(BaseException):
    pass


def stop(*_: object) -> None:
    raise Stop


@pytest.mark.parametrize("way", ["as it is", "no_posix"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("raise_in", ["this thread", "another"])
def test_a_signal_that_is_held_comes_at_the_end_of_the_block(way, number, raise_in, request) -> None:
    if way == "no_posix":
        request.getfixturevalue("no_posix")
    held, begun = False, threading.Event()
    # A thread has the mask of the one that starts it, so it is started before.
    another = threading.Thread(target=lambda: begun.wait() and signal.raise_signal(number), daemon=True)
    another.start()
    before = signal.signal(number, stop)
    try:
        with pytest.raises(Stop), hold_interrupts():
            if raise_in == "this thread":
                signal.raise_signal(number)
            else:
                begun.set()
                another.join()
            held = True
        assert signal.getsignal(number) is stop
    finally:
        signal.signal(number, before)
    assert held


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_a_folder_is_made_leaves_none(number, tmp_path, monkeypatch) -> None:
    make = tempfile.mkdtemp

    def make_and_raise(*arguments):
        made = make(*arguments)
        signal.raise_signal(number)
        return made

    monkeypatch.setattr(tempfile, "mkdtemp", make_and_raise)
    before = signal.signal(number, stop)
    try:
        with pytest.raises(Stop), temporary_folder(".new-", folder=str(tmp_path)):
            pytest.fail("the signal did not come")
    finally:
        signal.signal(number, before)
    assert list(tmp_path.iterdir()) == []


# What killed processes leave.


def held(folder: Path) -> subprocess.Popen[bytes]:
    """Start a process that has made a temporary folder, until its standard input is closed."""
    code = (
        "import sys; from seekwarc.system import temporary_folder\n"
        "with temporary_folder('.new-', '.partial', folder=sys.argv[1]):\n print(flush=True)\n input()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=PACKAGE.parent,
    )
    process.stdout.readline()
    return process


@pytest.mark.skipif(system.HOLDS_OPEN_FILES, reason="Windows cannot ask which processes there are")
def test_only_what_a_killed_process_left_is_removed(tmp_path) -> None:
    with held(tmp_path) as killed, held(tmp_path) as living:
        left = next(it.name for it in tmp_path.iterdir() if f"-{killed.pid}-" in it.name)
        token = left.removeprefix(".new-").partition("-")[0]
        foreign = [
            left.replace(token, f"{int(token, 16) ^ 1:08x}"),
            left.replace(f"-{killed.pid}-", f"-0{killed.pid}-"),
            left.replace(f"-{killed.pid}-", "-x-"),
            left.replace(f"-{killed.pid}-", "-99999999999999999999-"),
            left.replace(f"-{killed.pid}-", "-"),
            left.replace(".new-", ".newer-"),
            left.replace(".partial", ".part"),
        ]
        for name in foreign:
            (tmp_path / name).mkdir()
        (tmp_path / left / "draft").write_bytes(b"half")
        with temporary_folder(".new-", ".partial", folder=str(tmp_path)):
            assert (tmp_path / left).exists(), "its process is alive"
        killed.kill()
        killed.wait()
        with temporary_folder(".new-", ".partial", folder=str(tmp_path)):
            names = {it.name for it in tmp_path.iterdir()}
        assert left not in names
        assert names > set(foreign)
        assert any(f"-{living.pid}-" in name for name in names)
        living.communicate(b"\n")


# All of it, in processes that have nothing else.


def run_without_posix(*words: object, **options: object) -> subprocess.CompletedProcess:
    path = os.pathsep.join([str(WINDOWS), str(PACKAGE.parent)])
    return subprocess.run(
        [sys.executable, *map(str, words)],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
        **options,
    )


SCENE = """
import os, pickle, sys
import seekwarc
from concurrent.futures import ThreadPoolExecutor

assert not hasattr(os, "pread")
folder = sys.argv[1]
path = os.path.join(folder, "a.warc.zst")
big = bytes(range(256)) * 10_000
with seekwarc.open(path, "w", frame_size=1 << 16) as writer:
    writer.write_resource("http://example.org/1", big, content_type="video/mp4")
with seekwarc.open(path, "a") as writer:
    writer.write_resource("http://example.org/2", b"two", content_type="text/plain")
    try:
        seekwarc.open(path, "a")
    except seekwarc.TargetError as error:
        assert "another process is writing to it" in str(error), error
    else:
        raise AssertionError("two wrote to one file")
    with seekwarc.open(path) as archive:
        assert [record.block.read() for record in archive][0] == big, "a locked file can be read"
with seekwarc.open(path) as archive, ThreadPoolExecutor(4) as threads:
    record = next(iter(archive))
    right = lambda at: record.block.pread(at, 99) == big[at : at + 99]
    assert all(threads.map(right, range(0, len(big), 9999)))
    assert len(list(pickle.loads(pickle.dumps(archive)))) == 2
assert os.listdir(folder) == ["a.warc.zst"], os.listdir(folder)
"""


@pytest.mark.posix
def test_an_archive_is_written_read_and_continued_without_posix(tmp_path) -> None:
    done = run_without_posix("-c", textwrap.dedent(SCENE), tmp_path)
    assert (done.returncode, done.stderr.decode()) == (0, "")


@pytest.mark.slow
@pytest.mark.posix
@pytest.mark.needs("module:starlette", "module:uvicorn", "module:obstore", "module:blosc2")
def test_every_module_is_imported_without_posix() -> None:
    modules = [
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        for path in PACKAGE.rglob("*.py")
        # What these import looks which system this is, or is not in the extra `test`.
        if path.stem not in ("__init__", "__main__", "pywb", "cluster", "dask", "spark")
    ]
    done = run_without_posix("-c", f"import importlib\nfor name in {modules}: importlib.import_module(name)")
    assert (done.returncode, done.stderr.decode()) == (0, "")


SUITES = {
    "storage": ["storage"],
    "reading": ["read/test_reader.py", "read/test_copies.py"],
    "writing": ["write/test_output.py", "write/test_record_types.py", "write/test_written.py"],
    "append": ["write/test_append.py", "-k", "another or giving_up or gone_on or refused"],
    "tools": [
        "jobs/test_batch.py",
        "make/test_extracting.py",
        "make/test_packing.py",
        "make/test_names.py",
    ],
    "command": ["cli/test_main.py", "cli/test_ls.py", "cli/test_lookup.py"],
}


@pytest.mark.slow
@pytest.mark.posix
@pytest.mark.parametrize("suite", SUITES)
def test_tests_pass_without_posix(suite) -> None:
    words = SUITES[suite]
    paths = [TESTS / word if (TESTS / word).exists() else word for word in words]
    options = ["-q", "-x", "-p", "no:cacheprovider", "-m", "not posix"]
    done = run_without_posix("-m", "pytest", *options, *paths, cwd=PACKAGE.parent)
    assert " passed" in done.stdout.decode()
    assert done.returncode == 0, done.stdout.decode()[-3000:]


def test_buffers_go_to_no_other_thread_where_python_miscounts_their_uses(monkeypatch) -> None:
    for version, has_lock, threads in (
        ((3, 15, 2), True, (3, default_threads())),
        ((3, 15, 2), False, (1, 1)),
        ((3, 16, 0), False, (3, default_threads())),
    ):
        python = SimpleNamespace(version_info=version, _is_gil_enabled=lambda has_lock=has_lock: has_lock)
        monkeypatch.setattr(system, "sys", python)
        assert (threads_for(3), threads_for(None)) == threads


def test_cores_that_a_process_may_not_use_do_not_count(monkeypatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    default_threads.cache_clear()
    try:
        assert default_threads() == 1
    finally:
        default_threads.cache_clear()


def test_a_pipe_is_readable_when_it_has_bytes_or_has_ended(monkeypatch) -> None:
    reader, writer = os.pipe()
    with open(reader, "rb", buffering=0) as pipe:
        with open(writer, "wb", buffering=0) as other:
            if hasattr(select, "poll"):
                assert not system.is_readable(pipe, 0)
            other.write(b"x")
            assert system.is_readable(pipe, 60)
            assert pipe.read(1) == b"x"
        assert system.is_readable(pipe, 60)
        monkeypatch.delattr(select, "poll", raising=False)
        assert system.is_readable(pipe, 0)
