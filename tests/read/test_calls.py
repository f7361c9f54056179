"""How many calls the ways take that are gone most often: a bound that grows only with a reason."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from types import FrameType

import pytest

import seekwarc
from seekwarc.frames.codec import LIBRARY
from tests.support.writing import noise

pytestmark = pytest.mark.skipif("zstandard" not in LIBRARY.NAME, reason="the bounds are python-zstandard's")

PACKAGE = str(Path(seekwarc.__file__).parent)
KIB = 1 << 10
FILM = noise(4 << 20, seed=7)

# What they take now. Raise one only for what cannot be had with fewer.
COLD = 24
COLD_OF_TWO_FRAMES = 44
WARM = 10
SMALL = 45
SMALL_MEMBER = 44
WRITTEN_MIB = 34
WRITTEN_SMALL = 120


class Calls(list[str]):
    """The Python functions of the package that were called, generated constructors included."""

    @contextmanager
    def counted(self) -> Iterator[None]:
        def note(frame: FrameType, event: str, _: object) -> None:
            name = frame.f_code.co_filename
            if event == "call" and (name.startswith((PACKAGE, "<string>"))):
                self.append(frame.f_code.co_qualname)

        sys.setprofile(note)
        try:
            yield
        finally:
            sys.setprofile(None)


@pytest.fixture
def archive(tmp_path) -> Iterator[seekwarc.Reader]:
    path = tmp_path / "crawl.warc.zst"
    with seekwarc.open(path, "w") as out:
        out.write_resource("http://example.org/film.mp4", FILM, "video/mp4")
        for number in range(3):
            page = b"<p>A page.</p>" * 100
            fields = [("Content-Type", "text/html")]
            out.write_response(f"http://example.org/{number}", page, status=200, http_headers=fields)
    with seekwarc.open(path) as archive:
        yield archive


@pytest.mark.parametrize(("start", "bound"), [(2 << 20, COLD), ((2 << 20) + 96 * KIB, COLD_OF_TWO_FRAMES)])
def test_a_cold_read_of_64_kib(archive, start, bound) -> None:
    payload = next(iter(archive)).payload
    payload.pread(0, 1)
    calls = Calls()
    requests = archive.stats.requests
    with calls.counted():
        part = payload.pread(start, 64 * KIB)
    assert part == FILM[start : start + 64 * KIB]
    assert len(calls) <= bound, " > ".join(calls)
    assert archive.stats.requests == requests + 1


def test_a_warm_read_of_64_kib(archive) -> None:
    payload = next(iter(archive)).payload
    payload.pread(2 << 20, 1)
    calls = Calls()
    with calls.counted():
        part = payload.pread(2 << 20, 64 * KIB)
    assert part == FILM[2 << 20 : (2 << 20) + 64 * KIB]
    assert len(calls) <= WARM, " > ".join(calls)


def test_a_small_record_with_its_head_and_payload(archive) -> None:
    records = iter(archive)
    next(records), next(records)
    calls = Calls()
    with calls.counted():
        record = next(records)
        assert record.http.status == 200
        page = record.payload.read()
    assert len(page) == 1400
    assert len(calls) <= SMALL, " > ".join(calls)


def test_a_small_record_of_a_gz_file(tmp_path) -> None:
    header = (
        b"WARC/1.1\r\nWARC-Type: response\r\nContent-Type: application/http\r\nContent-Length: 1019\r\n\r\n"
    )
    member = gzip.compress(header + b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1000 + b"\r\n\r\n")
    path = tmp_path / "crawl.warc.gz"
    path.write_bytes(member * 4)
    with seekwarc.open(path) as archive:
        records = iter(archive)
        # Patterns of field names are made once in a process.
        assert [next(records).http.status for _ in range(2)] == [200, 200]
        calls = Calls()
        with calls.counted():
            record = next(records)
            assert record.http.status == 200
            page = record.payload.read()
    assert page == b"x" * 1000
    assert len(calls) <= SMALL_MEMBER, " > ".join(calls)


def written(path: Path, size: int) -> int:
    """Return how many calls a film takes, without what comes by chance: IDs drawn, seconds that pass."""
    counts = []
    for number in range(5):
        calls = Calls()
        with seekwarc.open(path / f"{size}-{number}.warc.zst", "w", threads=1) as out, calls.counted():
            film = BytesIO(FILM * (size // 4))
            out.write_resource("http://example.org/film.mp4", film, "video/mp4", date="2026-11-01T00:00:00Z")
        counts.append(len(calls))
    return min(counts)


def test_a_mib_of_a_large_record_written(tmp_path) -> None:
    assert (written(tmp_path, 12) - written(tmp_path, 4)) / 8 <= WRITTEN_MIB


def test_a_small_record_written(tmp_path) -> None:
    page = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + b"<p>A page.</p>" * 100
    with seekwarc.open(tmp_path / "a.warc.zst", "w", threads=1) as out:
        all_calls = []
        for number in range(20):
            calls = Calls()
            with calls.counted():
                out.write_response(f"http://example.org/{number}", page)
            all_calls.append(calls)
    usual = sorted(all_calls, key=len)[10]
    assert len(usual) <= WRITTEN_SMALL, " > ".join(usual)
