"""A payload as a file."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

import seekwarc
from seekwarc.compat.file import WarcFile
from seekwarc.compat.fsspec import WarcFileSystem
from tests.compat.conftest import FILM, SITE
from tests.support.sources import RecordingSource


@pytest.fixture
def film(crawl: Path) -> Iterator[WarcFile]:
    archive = WarcFileSystem(crawl / "crawl.warc.zst")
    with archive.open(SITE + "film.mp4") as file:
        yield file
    archive.close()


def test_it_behaves_as_a_file_in_memory_does(film: WarcFile) -> None:
    memory = io.BytesIO(FILM)
    for whence, offset, size in ((0, 1_000_000, 9), (1, 50, 100_000), (2, -5, 9), (0, 5, 0), (0, 1 << 30, 5)):
        assert film.seek(offset, whence) == memory.seek(offset, whence)
        assert film.read(size) == memory.read(size)
        assert film.tell() == memory.tell()
    film.seek(7)
    buffer = bytearray(33)
    assert film.readinto(buffer) == 33
    assert bytes(buffer) == FILM[7:40]
    assert (film.mode, film.readable(), film.seekable(), film.writable()) == ("rb", True, True, False)
    with pytest.raises(io.UnsupportedOperation):
        film.write(b"x")


def test_a_pickle_goes_on_at_its_position(film: WarcFile) -> None:
    film.seek(1_000)
    again = pickle.loads(pickle.dumps(film))
    assert again.read(5) == FILM[1_000:1_005]
    again.close()
    again.fs.close()


def test_small_reads_far_apart_fetch_a_frame_each(crawl: Path) -> None:
    source = RecordingSource((crawl / "crawl.warc.zst").read_bytes())
    archive = WarcFileSystem(source, threads=1)
    with archive.open(SITE + "film.mp4", block_size=1 << 10) as film:
        source.forget()
        for start in (2_000_000, 2_000_100, 2_001_000, 100_000):
            film.seek(start)
            assert film.read(10) == FILM[start : start + 10]
        assert source.bytes_asked < 600_000
    archive.close()


def test_an_archive_opens_the_file_of_another(crawl: Path, tmp_path: Path) -> None:
    with seekwarc.open(tmp_path / "outer.warc.zst", "w") as out:
        out.write_resource("http://a.example/in", (crawl / "crawl.warc.zst").read_bytes(), "application/warc")
    archive = WarcFileSystem(tmp_path / "outer.warc.zst")
    with archive.open("http://a.example/in") as file, seekwarc.open(file) as inner:
        assert next(inner.records(uri="*/film.mp4")).payload.pread(5, 5) == FILM[5:10]
    archive.close()
