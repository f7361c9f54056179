"""Files are read whole however little the system returns, and errors are typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from seekwarc.errors import SourceError
from seekwarc.storage.local import BytesSource, LocalFileSource
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
