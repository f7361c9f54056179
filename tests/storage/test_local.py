"""Files are read whole however little the system returns, and errors are typed."""

from __future__ import annotations

import errno
import io
import os
import pickle
import shutil
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from seekwarc.errors import SourceChangedError, SourceError, SourceNotFoundError
from seekwarc.storage.local import BytesSource, LocalFileSource, OpenedFileSource
from seekwarc.storage.opening import open_source
from seekwarc.system import read_at
from tests.support.sources import DATA


def test_short_reads_of_a_file_are_looped(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def short(descriptor: int, size: int, offset: int) -> bytes:
        calls.append(size)
        return read_at(descriptor, min(size, 1000), offset)

    source = LocalFileSource(path)
    monkeypatch.setattr("seekwarc.storage.local.read_at", short)
    assert source.read(10, 5010) == DATA[10:5010]
    assert len(calls) == 5
    assert source.read(len(DATA) - 1500, len(DATA) + 1500) == DATA[-1500:]
    source.close()


def test_reading_a_closed_archive_names_it(path: Path) -> None:
    source = LocalFileSource(path)
    source.close()
    with pytest.raises(SourceError, match=r"some\.warc\.zst.*closed"):
        source.read(0, 1)


def test_a_failing_read_names_file_and_offset(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bytes:
        raise OSError(5, "Input/output error")

    source = LocalFileSource(path)
    monkeypatch.setattr("seekwarc.storage.local.read_at", fail)
    with pytest.raises(SourceError, match=r"some\.warc\.zst.*offset 123.*Input/output error"):
        source.read(123, 456)
    source.close()


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800"], ids=["empty", "null", "surrogate"])
def test_a_name_that_no_file_can_have_is_a_source_error(name: str) -> None:
    with pytest.raises(SourceError, match="cannot be opened"):
        LocalFileSource(name)


@pytest.mark.posix
def test_an_open_file_that_another_takes_the_place_of_is_unchanged(path: Path) -> None:
    source = LocalFileSource(path)
    path.with_name("new").write_bytes(DATA[::-1])
    path.with_name("new").replace(path)
    source.check_unchanged()
    source.close()


def test_a_file_that_is_written_over_is_no_longer_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(DATA)
    source = LocalFileSource(path)
    source.check_unchanged()
    path.write_bytes(DATA)
    os.utime(path, ns=(1, 1))
    with pytest.raises(SourceChangedError, match="data: the file was changed or replaced"):
        source.check_unchanged()
    source.close()


def write_over(path: Path) -> None:
    """Write other bytes into a file, and give it the modification time that it had."""
    status = path.stat()
    tick(path)
    path.write_bytes(DATA[::-1])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (status.st_size, status.st_mtime_ns)


def tick(path: Path) -> None:
    """Wait until what changes now is given a later time than the file has."""
    beside = path.with_name("clock")
    beside.touch()
    while beside.stat().st_ctime_ns <= path.stat().st_ctime_ns:
        time.sleep(0.002)
        beside.chmod(0o600)
    beside.unlink()


@pytest.mark.posix
@pytest.mark.parametrize("rests", [False, True])
def test_a_file_that_is_written_over_and_dated_back_is_no_longer_unchanged(path: Path, rests: bool) -> None:
    source = LocalFileSource(path)
    if rests:
        source.rest()
    write_over(path)
    with pytest.raises(SourceChangedError, match="the file was changed or replaced"):
        source.check_unchanged()
    source.close()


@pytest.mark.posix
def test_a_file_that_was_cut_does_not_end_there(path: Path) -> None:
    with closing(LocalFileSource(path)) as source:
        os.truncate(path, 1000)
        assert source.read(0, 1000) == DATA[:1000]
        for start in (900, 1000, 5000):
            with pytest.raises(SourceChangedError):
                source.read(start, start + 200)
            with pytest.raises(SourceChangedError):
                source.read_into(start, memoryview(bytearray(200)))
        assert source.read(len(DATA), len(DATA) + 10) == b""
        assert source.read_into(len(DATA), memoryview(bytearray(10))) == 0


def test_a_file_that_the_caller_has_open_is_watched_too(path: Path) -> None:
    with path.open("rb") as file:
        source = OpenedFileSource(file)
        source.check_unchanged()
        write_over(path)
        with pytest.raises(SourceChangedError):
            source.check_unchanged()
        source.close()


CHANGES: dict[str, Callable[[Path], object]] = {
    "mode": lambda it: it.chmod(0o600),
    "link": lambda it: it.with_name("link").hardlink_to(it),
    "renamed": lambda it: it.rename(it.with_name("other")),
    "removed": lambda it: it.unlink(),
    "replaced": lambda it: (it.with_name("new").write_bytes(DATA), it.with_name("new").replace(it)),
}


@pytest.mark.posix
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_file_that_nothing_was_written_to_is_unchanged(
    path: Path, change: Callable[[Path], object]
) -> None:
    path.chmod(0o644)
    source = LocalFileSource(path)
    tick(path)
    change(path)
    source.check_unchanged()
    source.check_unchanged()
    assert source.read(0, 9) == DATA[:9]
    source.close()


@pytest.mark.posix
@pytest.mark.parametrize("change", ["mode", "link"])
def test_a_file_is_watched_on_after_its_mode_or_links_changed(path: Path, change: str) -> None:
    path.chmod(0o644)
    source = LocalFileSource(path)
    tick(path)
    CHANGES[change](path)
    source.rest()
    source.check_unchanged()
    write_over(path)
    with pytest.raises(SourceChangedError):
        source.check_unchanged()
    source.close()


@pytest.mark.posix
def test_a_copy_takes_a_file_with_another_time_of_change(path: Path) -> None:
    """Another machine may have a copy of the file, or state other times of it."""
    with closing(LocalFileSource(path)) as source:
        copied = pickle.loads(pickle.dumps(source))
    tick(path)
    path.with_name("copy").write_bytes(DATA)
    shutil.copystat(path, path.with_name("copy"))
    path.with_name("copy").replace(path)
    copied.check_unchanged()
    assert copied.read(0, 9) == DATA[:9]
    copied.close()


@pytest.mark.parametrize(
    ("start", "size"), [(0, 10), (5, 0), (len(DATA) - 7, 20), (len(DATA), 5), (10**18, 5), (3, 200_000)]
)
def test_a_local_file_fills_the_callers_buffer(start: int, size: int, tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(DATA)
    source = LocalFileSource(path)
    out = bytearray(b"?" * size)
    count = source.read_into(start, memoryview(out))
    assert out == DATA[start : start + size].ljust(size, b"?")
    assert count == len(DATA[start : start + size])
    source.close()
    with pytest.raises(SourceError, match="closed"):
        source.read_into(0, memoryview(out))


def test_bytes_fill_the_callers_buffer() -> None:
    source = BytesSource(DATA)
    out = bytearray(b"?" * 10)
    assert source.read_into(len(DATA) - 4, memoryview(out)) == 4
    assert out == DATA[-4:] + b"??????"
    assert source.read_into(len(DATA) + 4, memoryview(out)) == 0


@pytest.mark.posix
@pytest.mark.parametrize("buffering", [-1, 0])
def test_an_open_file_keeps_its_position(buffering: int, path: Path) -> None:
    with path.open("rb", buffering=buffering) as file:
        assert file.read(5) == DATA[:5]
        source = open_source(file)
        assert isinstance(source, OpenedFileSource)
        assert source.read(1000, 2000) == DATA[1000:2000]
        assert file.tell() == 5
        assert file.read(5) == DATA[5:10]
    # The caller may close the file, and other files may get its number.
    with path.with_name("other").open("wb"):
        assert source.read(1000, 2000) == DATA[1000:2000]
    source.close()
    with pytest.raises(SourceError, match="the archive is closed"):
        source.read(0, 1)


@pytest.mark.posix
def test_a_closed_archive_leaves_an_open_file_as_it_was(path: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    with path.open("rb") as file:
        open_source(file).close()
        assert file.read() == DATA
    assert len(os.listdir("/dev/fd")) == before


def test_an_archive_of_an_open_file_cannot_be_pickled(path: Path) -> None:
    with path.open("rb") as file, pytest.raises(TypeError, match="open it by its path"):
        pickle.dumps(open_source(file))


@pytest.mark.parametrize("buffering", [-1, 0])
def test_what_is_written_to_an_open_file_is_read(buffering: int, tmp_path: Path) -> None:
    with (tmp_path / "new").open("wb+", buffering=buffering) as file:
        file.write(DATA)
        source = open_source(file)
        assert not isinstance(source, LocalFileSource)
        assert source.read(0, len(DATA)) == DATA


class Upper(io.FileIO):
    """A file that is not what is stored."""

    def readinto(self, buffer: memoryview) -> int:
        count = super().readinto(buffer)
        buffer[:count] = bytes(buffer[:count]).upper()
        return count


def test_a_file_that_changes_what_is_stored_is_asked_itself(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    with io.BufferedReader(Upper(tmp_path / "a")) as file:
        assert open_source(file).read(0, 3) == b"ABC"


@pytest.mark.posix
def test_without_a_descriptor_left_the_callers_is_used(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with path.open("rb") as file:
        monkeypatch.setattr(os, "dup", refuse)
        assert open_source(file).read(7, 70) == DATA[7:70]


def test_a_closed_file_object_is_refused(path: Path) -> None:
    file = path.open("rb")
    file.close()
    with pytest.raises(ValueError, match="closed file"):
        open_source(file)


def test_a_path_of_bytes_has_a_name_of_text(tmp_path: Path) -> None:
    tmp_path.joinpath("a.warc").write_bytes(DATA)
    tmp_path.joinpath("a.warc.seek").write_bytes(DATA[:9])
    with os.scandir(os.fsencode(tmp_path)) as entries:
        found = next(it for it in entries if it.name == b"a.warc")
    source = LocalFileSource(found)
    assert source.name == str(tmp_path / "a.warc")
    beside = source.beside(".seek")
    assert beside is not None
    assert beside.size == 9
    beside.close()
    source.close()
    tmp_path.joinpath("a.warc").unlink()
    with pytest.raises(SourceNotFoundError) as caught:
        open_source(found)
    assert str(caught.value).startswith(f"{tmp_path / 'a.warc'}: cannot be opened")
