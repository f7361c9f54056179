"""Where a file is written: an incomplete one never has the final name."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import signal
import stat
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import seekwarc
from tests.support.leaks import new_threads
from tests.support.processes import PATIENT, wait_until
from tests.support.reading import blocks_of
from tests.support.writing import KIB, MIB, URI, Stream, WriteOnly, header_for, noise, text

FRAME = 64 * KIB
AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def write_some(target: Any, **options: Any) -> list[seekwarc.Written]:
    with seekwarc.Writer(target, frame_size=FRAME, **options) as writer:
        return [
            writer.write("resource", target_uri=URI, block=block)
            for block in (b"small", text(300_000), b"last")
        ]


def write_and_fail(target: Any, **options: Any) -> None:
    with seekwarc.Writer(target, frame_size=FRAME, on_error="discard", **options) as writer:
        writer.write("resource", target_uri=URI, block=text(300_000))
        raise ZeroDivisionError


BLOCKS = [b"small", text(300_000), b"last"]


# Paths.


def test_a_file_gets_its_name_when_it_is_finished(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    with seekwarc.Writer(path, frame_size=FRAME, on_error="discard") as writer:
        writer.write("resource", target_uri=URI, block=text(300_000))
        writer.flush()
        assert not path.exists()
        (temporary,) = os.listdir(tmp_path)
        assert temporary.startswith(".a.warc.zst.")
    assert os.listdir(tmp_path) == ["a.warc.zst"]
    assert blocks_of(path) == [text(300_000)]


@pytest.mark.posix
@pytest.mark.parametrize("on_error", ["keep", "discard"])
def test_a_file_is_put_on_disk_once_and_its_folder_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, on_error: str
) -> None:
    synced: list[bool] = []
    sync = os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda number: (synced.append(stat.S_ISDIR(os.fstat(number).st_mode)), sync(number))
    )
    write_some(tmp_path / "a.warc.zst", on_error=on_error)
    assert synced == [False, True]


@pytest.mark.parametrize("threads", [1, 2])
def test_an_exception_leaves_no_file(threads: int, tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        write_and_fail(tmp_path / "a.warc.zst", threads=threads)
    assert os.listdir(tmp_path) == []


def test_an_exception_leaves_an_existing_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    path.write_bytes(b"before")
    with pytest.raises(ZeroDivisionError):
        write_and_fail(path, existing="overwrite")
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["a.warc.zst"]


def test_a_writer_without_records_leaves_no_file(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="no record"), seekwarc.Writer(tmp_path / "a.warc.zst"):
        pass
    assert os.listdir(tmp_path) == []


def test_a_writer_without_records_replaces_no_file(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    path.write_bytes(b"before")
    with (
        pytest.warns(UserWarning, match="no record"),
        seekwarc.Writer(path, existing="overwrite"),
    ):
        pass
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["a.warc.zst"]


def test_a_killed_process_leaves_nothing_under_the_name(tmp_path: Path) -> None:
    """It leaves a file with the name of an unfinished one."""
    path = tmp_path / "a.warc.zst"
    script = """
        import os, sys, time, seekwarc
        writer = seekwarc.Writer(sys.argv[1], frame_size=65536)
        for _ in range(5):
            writer.write("resource", target_uri="urn:x:1", block=os.urandom(1 << 20))
        writer.flush()
        print("written", flush=True)
        time.sleep(60)
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"written\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert not path.exists()
    assert os.listdir(tmp_path) == ["a.warc.zst.open"]
    with seekwarc.open(tmp_path / "a.warc.zst.open") as archive:
        assert [record.content_length for record in archive] == [1 << 20] * 5


@pytest.mark.parametrize("how", ["sys.exit()", "raise KeyboardInterrupt", "del output; time.sleep(0)"])
def test_an_output_that_was_not_ended_is_removed(how: str, tmp_path: Path) -> None:
    script = f"""
        import sys, time
        from seekwarc.write.output import PathOutput
        output = PathOutput(sys.argv[1])
        output.write(b"half")
        {how}
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "a.warc.zst")]
    subprocess.run(command, stderr=subprocess.DEVNULL, check=False)
    assert os.listdir(tmp_path) == []


@pytest.mark.posix
def test_a_forked_process_removes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    script = """
        import os, sys
        from seekwarc.write.output import PathOutput
        output = PathOutput(sys.argv[1])
        if not os.fork():
            sys.exit()
        os.wait()
        output.write(b"whole")
        output.commit()
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script), str(path)], check=True)
    assert path.read_bytes() == b"whole"
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.posix
def test_an_existing_file_is_replaced_in_one_step(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    write_some(path)
    before = path.read_bytes()
    with path.open("rb") as reader:
        with seekwarc.Writer(path, existing="overwrite") as writer:
            writer.write("resource", target_uri=URI, block=b"new")
            assert path.read_bytes() == before
        assert blocks_of(path) == [b"new"]
        assert reader.read() == before, "who had it open goes on with the old file"


@pytest.mark.posix
def test_a_replaced_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    for mode in (0o600, 0o640, 0o444):
        path.touch()
        path.chmod(mode)
        write_some(path, existing="overwrite")
        assert stat.S_IMODE(path.stat().st_mode) == mode
        path.unlink()


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.posix
@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_has_the_mode_that_the_umask_allows(mask: int, mode: int, tmp_path: Path) -> None:
    os.umask(mask)
    write_some(tmp_path / "a.warc.zst")
    assert stat.S_IMODE((tmp_path / "a.warc.zst").stat().st_mode) == mode


def test_a_symbolic_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    target = tmp_path / "store" / "real.warc.zst"
    link = tmp_path / "a.warc.zst"
    link.symlink_to(Path("store") / "real.warc.zst")
    for _ in range(2):  # Dangling at first.
        write_some(link, existing="overwrite")
        assert link.is_symlink()
        assert not target.is_symlink()
        assert blocks_of(target) == BLOCKS
    assert os.listdir(tmp_path / "store") == ["real.warc.zst"]


def test_a_relative_path_survives_a_change_of_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    monkeypatch.chdir(tmp_path / "one")
    with seekwarc.Writer("a.warc.zst") as writer:
        monkeypatch.chdir(tmp_path / "two")
        writer.write("resource", target_uri=URI)
    assert os.listdir(tmp_path / "one") == ["a.warc.zst"]
    assert os.listdir(tmp_path / "two") == []


def test_a_long_name_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 246 + ".warc.zst")
    write_some(path)
    assert blocks_of(path) == BLOCKS


@pytest.mark.parametrize("name", ["missing/a.warc.zst", ".", "file/a.warc.zst"])
def test_an_unwritable_place_is_an_error_at_once(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(seekwarc.TargetError, match="cannot be written"):
        seekwarc.Writer(tmp_path / name)
    assert os.listdir(tmp_path) == ["file"]


def test_a_target_of_a_wrong_type_is_refused() -> None:
    with pytest.raises(TypeError):
        seekwarc.Writer(5)  # type: ignore[arg-type]


# A full disk.


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 4 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    if not AS_ROOT or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a small disk")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "fill",
    [
        pytest.param(lambda w, b: w.write_raw(header_for(len(b)), b), id="raw"),
        pytest.param(lambda w, b: w.write("resource", target_uri=URI, block=b), id="bytes"),
        pytest.param(
            lambda w, b: [
                w.write("resource", target_uri=URI, block=b[i : i + 50_000]) for i in range(0, len(b), 50_000)
            ],
            id="many",
        ),
    ],
)
def test_a_full_disk_is_a_target_error_and_keeps_records(fill: Any, threads: int, small_disk: Path) -> None:
    path = small_disk / "a.warc.zst"
    writer = seekwarc.Writer(path, threads=threads)
    writer.write("resource", target_uri=URI, block=b"small")
    with pytest.raises(seekwarc.TargetError, match=r"a\.warc\.zst.*No space left"):
        fill(writer, noise(16 * MIB))
    try:
        writer.close()
    except seekwarc.TargetError as error:
        (told,) = error.__notes__
        assert f"{path}.open" in told
        path = small_disk / "a.warc.zst.open"
    assert os.listdir(small_disk) == [path.name]
    lengths: list[int] = []
    with seekwarc.open(path) as archive, contextlib.suppress(seekwarc.TruncatedError):
        lengths.extend(record.content_length for record in archive if record.block.read() is not None)
    assert lengths[0] == 5
    assert lengths[1:] == [50_000] * (len(lengths) - 1)
    assert len(lengths) == 1 or len(lengths) > 60


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("size", [50_000, 2 * MIB])
def test_a_full_disk_leaves_nothing_with_discard(threads: int, size: int, small_disk: Path) -> None:
    def fill() -> None:
        with seekwarc.Writer(small_disk / "a.warc.zst", threads=threads, on_error="discard") as writer:
            for number in range(16 * MIB // size):
                writer.write("resource", target_uri=URI, block=noise(size, number))

    with pytest.raises(seekwarc.TargetError, match=r"a\.warc\.zst.*No space left"):
        fill()
    assert os.listdir(small_disk) == []


def test_a_writer_continues_when_the_disk_has_room_again(small_disk: Path) -> None:
    path = small_disk / "a.warc.zst"
    (small_disk / "filler").write_bytes(bytes(3 * MIB))
    with seekwarc.Writer(path, threads=1) as writer:
        writer.write("resource", target_uri=URI, block=noise(100_000))
        with pytest.raises(seekwarc.TargetError, match="No space left"):
            writer.write("resource", target_uri=URI, block=noise(2 * MIB))
        (small_disk / "filler").unlink()
        writer.write("resource", target_uri=URI, block=noise(3 * MIB))
    assert blocks_of(path) == [noise(100_000), noise(3 * MIB)]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_full_disk_in_the_spool_costs_that_record_only(threads: int, small_disk: Path) -> None:
    path = small_disk / "a.warc.zst"
    with seekwarc.Writer(path, threads=threads) as writer:
        writer.write_resource(URI, b"small", "text/plain")
        with pytest.raises(seekwarc.TargetError, match=r"a\.warc\.zst.*No space left"):
            writer.write_resource(URI, Stream(noise(16 * MIB), most=MIB), "image/jpeg")
        writer.write_resource(URI, b"goes on", "text/plain")
    assert os.listdir(small_disk) == ["a.warc.zst"]
    with seekwarc.open(path) as archive:
        assert [record.block.read() for record in archive] == [b"small", b"goes on"]


def test_a_disk_full_at_the_end_is_a_target_error(small_disk: Path) -> None:
    path = small_disk / "a.warc.zst"
    path.write_bytes(b"before")
    writer = seekwarc.Writer(path, existing="overwrite", on_error="discard")
    writer.write("resource", target_uri=URI, block=noise(100_000))
    with (small_disk / "filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(bytes(64 * KIB))
    with pytest.raises(seekwarc.TargetError, match="No space left"):
        writer.close()
    assert sorted(os.listdir(small_disk)) == ["a.warc.zst", "filler"]
    assert path.read_bytes() == b"before"


@pytest.mark.parametrize("size", [10, 3 * MIB])
def test_a_device_that_is_full_is_a_target_error(size: int) -> None:
    writer = seekwarc.Writer("/dev/full")

    def write() -> None:
        writer.write("resource", target_uri=URI, block=noise(size))
        writer.close()

    with pytest.raises(seekwarc.TargetError, match="No space left"):
        write()
    writer.abort()


# File objects.


def test_a_file_object_stays_open(tmp_path: Path) -> None:
    with (tmp_path / "a.warc.zst").open("wb") as file:
        write_some(file)
        assert not file.closed
        assert blocks_of(tmp_path / "a.warc.zst") == BLOCKS, "it is flushed"
    target = io.BytesIO()
    with pytest.raises(ZeroDivisionError):
        write_and_fail(target)
    assert not target.closed


def test_short_writes_of_a_target_are_completed(tmp_path: Path) -> None:
    target = WriteOnly(most=1000)
    write_some(target)
    assert blocks_of(bytes(target.data)) == BLOCKS
    path = tmp_path / "a.warc.zst"
    with path.open("wb", buffering=0) as file:
        write_some(file)
    assert blocks_of(path) == BLOCKS


def test_the_same_bytes_go_to_every_kind_of_target(tmp_path: Path) -> None:
    def write(target: Any) -> None:
        with seekwarc.Writer(target, frame_size=FRAME) as writer:
            for block in BLOCKS:
                writer.write_raw(header_for(len(block)), block)

    memory, pipe, path = io.BytesIO(), WriteOnly(), tmp_path / "a.warc.zst"
    for target in (memory, pipe, path):
        write(target)
    assert memory.getvalue() == bytes(pipe.data) == path.read_bytes()


def test_a_named_pipe_is_written_to_in_place(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with subprocess.Popen(["cat", str(path)], stdout=subprocess.PIPE) as process:
        write_some(path)
        out, _ = process.communicate(timeout=PATIENT)
    assert blocks_of(out) == BLOCKS
    assert stat.S_ISFIFO(path.stat().st_mode)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_closed_pipe_is_a_broken_pipe(threads: int) -> None:
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "wb", buffering=0) as file:
        os.close(read_end)
        writer = seekwarc.Writer(file, frame_size=FRAME, threads=threads)
        writer.write("resource", target_uri=URI, block=b"small")
        with pytest.raises(BrokenPipeError):
            writer.flush()
        with pytest.raises(seekwarc.SeekWarcError, match="cannot be cut back"):
            writer.write("resource", target_uri=URI)
        writer.abort()


def test_a_file_object_that_fails_is_a_target_error() -> None:
    class Failing(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            raise OSError(errno.EIO, "Input/output error")

    writer = seekwarc.Writer(Failing(), threads=1)
    place = writer.write("resource", target_uri=URI, block=b"x")
    with pytest.raises(seekwarc.TargetError, match="Input/output error"):
        writer.flush()
    with pytest.raises(seekwarc.SeekWarcError):
        _ = place.offset
    writer.abort()


def test_a_file_object_is_written_from_its_position(tmp_path: Path) -> None:
    """After another archive, as by `cat a b`, which is readable."""
    path = tmp_path / "a.warc.zst"
    write_some(path)
    with path.open("ab") as file:
        places = write_some(file)
        with pytest.raises(seekwarc.FormatError), seekwarc.Writer(file, frame_size=FRAME) as writer:
            writer.write_raw(header_for(MIB), io.BytesIO(noise(300_000)))
    with seekwarc.open(path) as archive:
        records = list(archive)
        assert [record.block.read() for record in records] == BLOCKS * 2
        assert [record.offset for record in records[3:]] == [place.offset for place in places]


def test_no_thread_outlives_the_writer(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    write_some(tmp_path / "a.warc.zst", threads=4)
    writer = seekwarc.Writer(tmp_path / "b.warc.zst", threads=4)
    writer.write("resource", target_uri=URI, block=text(MIB))
    writer.abort()
    wait_until(lambda: new_threads(before) == [])


def test_a_text_file_is_not_a_target() -> None:
    with pytest.raises(TypeError, match="target must be a path or a binary file object, not StringIO"):
        seekwarc.Writer(io.StringIO())  # type: ignore[arg-type]
