"""More local files in use than are open."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from seekwarc.errors import SourceChangedError, SourceError
from seekwarc.storage import local as local_module
from seekwarc.storage.local import LocalFileSource, OpenFiles
from seekwarc.storage.source_file import SourceFile
from tests.support.processes import PATIENT

COUNT = 12

shows_open_files = pytest.mark.skipif(
    not os.path.isdir("/proc/self/fd"), reason="only Linux shows which files a process has open"
)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> OpenFiles:
    """Three files may be open."""
    files = OpenFiles(3)
    monkeypatch.setattr(local_module, "OPEN_FILES", files)
    return files


@pytest.fixture
def sources(few: OpenFiles, tmp_path: Path) -> list[LocalFileSource]:
    for number in range(COUNT):
        (tmp_path / str(number)).write_bytes(bytes([number]) * 1000)
    return [LocalFileSource(tmp_path / str(number)) for number in range(COUNT)]


def open_in(folder: Path) -> set[str]:
    """Return the names of the files of a folder that this process has open."""
    links = (f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd"))
    paths = [Path(os.readlink(link)) for link in links if os.path.islink(link)]
    return {path.name for path in paths if path.parent == folder}


@shows_open_files
def test_the_file_that_was_opened_first_is_closed_first(sources, tmp_path) -> None:
    assert open_in(tmp_path) == {"9", "10", "11"}
    assert sources[0].read(0, 5) == bytes(5)
    assert open_in(tmp_path) == {"10", "11", "0"}
    sources[10].close()
    sources[11].close()
    assert sources[1].read(0, 1) + sources[2].read(0, 1) == b"\x01\x02"
    assert open_in(tmp_path) == {"0", "1", "2"}


def test_garbage_that_closes_its_file_may_be_collected_meanwhile(monkeypatch, tmp_path) -> None:
    (tmp_path / "file").write_bytes(b"1")
    file = SourceFile(LocalFileSource(tmp_path / "file"))
    monkeypatch.setattr(local_module, "OPEN_FILES", OpenFiles())

    def collect() -> int:
        gc.collect()
        return 100

    monkeypatch.setattr(local_module, "max_open_files", collect)
    file.itself = file  # type: ignore[attr-defined]
    closed = weakref.ref(file)
    del file
    registering = threading.Thread(target=LocalFileSource, args=(tmp_path / "file",), daemon=True)
    registering.start()
    registering.join(PATIENT)
    assert not registering.is_alive()
    assert closed() is None


@pytest.mark.slow
@shows_open_files
def test_deleted_sources_do_not_count(few, sources, tmp_path) -> None:
    first = LocalFileSource(tmp_path / "0")
    for _ in range(10):
        LocalFileSource(tmp_path / "1").close()
        LocalFileSource(tmp_path / "2")
        gc.collect()
    assert "0" in open_in(tmp_path)
    first.close()


def test_many_threads_read_from_all_of_them(sources) -> None:
    def read(turn: int) -> bool:
        number = turn * 7 % COUNT
        return sources[number].read(turn % 900, turn % 900 + 50) == bytes([number]) * 50

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(read, range(3000)))


def test_a_file_that_was_replaced_while_it_was_closed_is_refused(sources, tmp_path) -> None:
    (tmp_path / "0").write_bytes(b"another")
    with pytest.raises(SourceChangedError, match="changed or replaced"):
        sources[0].read(0, 1)


def test_a_source_that_was_closed_for_good_stays_closed(sources) -> None:
    for each in (sources[0], sources[-1]):
        each.close()
        with pytest.raises(SourceError, match="closed"):
            each.read(0, 1)


def test_a_read_that_has_begun_keeps_its_file(sources) -> None:
    reads = sources[-1].small_reads()
    for each in sources[:5]:
        each.read(0, 1)
    assert reads.read(3, 10) == bytes([COUNT - 1]) * 3
