"""Files of fsspec file systems: the same bytes, checked, and without fsspec's caches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import seekwarc
from seekwarc.errors import RangeNotSupportedError, SourceError
from seekwarc.storage.fsspec import FileSystemSource
from seekwarc.storage.local import LocalFileSource
from seekwarc.storage.opening import open_source
from seekwarc.storage.plan import REMOTE
from seekwarc.storage.streams import FileObjectSource
from tests.support.foreign import Foreign
from tests.support.writing import noise

DATA = noise(100_000, seed=81)
BLOCK = noise(30_000, seed=82)


class Fake:
    """Has the methods of an fsspec file system."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.asked: list[tuple[int, int]] = []
        self.about: dict[str, Any] = {"size": len(data), "type": "file"}

    def info(self, path: str) -> dict[str, Any]:
        if path != "a/b":
            raise FileNotFoundError("https://host/a?sig=SECRET")
        return self.about

    def unstrip_protocol(self, name: str) -> str:
        return f"fake://{name}?sig=SECRET"

    def cat_file(self, path: str, start: int, end: int) -> bytes:
        self.asked.append((start, end))
        return self.data[start:end]


def test_ranges_are_read() -> None:
    source = FileSystemSource(Fake(DATA), "a/b")
    assert (source.size, source.name) == (len(DATA), "fake://a/b")
    assert source.policy is REMOTE
    for start, stop in ((0, 10), (500, 90_000), (7, 7)):
        assert source.read(start, stop) == DATA[start:stop]
    assert source.read(len(DATA) - 5, len(DATA) + 5) == DATA[-5:]
    assert source.read(len(DATA) + 5, len(DATA) + 10) == b""
    source.close()


@pytest.mark.parametrize("much", [DATA, DATA[:99], b""], ids=["everything", "less", "nothing"])
def test_an_answer_of_the_wrong_length_is_refused(much: bytes) -> None:
    fake = Fake(DATA)
    fake.cat_file = lambda *_, **__: much
    with pytest.raises(RangeNotSupportedError, match=f"fake://a/b, offset 50: {len(much)} bytes came where"):
        FileSystemSource(fake, "a/b").read(50, 150)


def test_errors_are_typed_and_reveal_no_secrets() -> None:
    with pytest.raises(SourceError, match="cannot be opened: FileNotFoundError") as caught:
        FileSystemSource(Fake(DATA), "missing")
    assert "SECRET" not in str(caught.value)
    fake = Fake(DATA)
    source = FileSystemSource(fake, "a/b")

    def fail(*_: object, **__: object) -> bytes:
        raise ValueError("?sig=SECRET")

    fake.cat_file = fail
    with pytest.raises(SourceError, match="fake://a/b, offset 5: cannot be read: ValueError"):
        source.read(5, 10)


@pytest.mark.parametrize("about", [{"size": None, "type": "file"}, {"size": 0, "type": "directory"}, {}])
def test_directories_and_files_without_a_size_are_refused(about: dict[str, Any]) -> None:
    fake = Fake(DATA)
    fake.about = about
    with pytest.raises(SourceError, match="is a directory, or a file of unknown size"):
        FileSystemSource(fake, "a/b")


# With fsspec itself.


@pytest.mark.needs("module:fsspec")
def test_files_of_fsspec_are_read_through_their_file_system(tmp_path: Path) -> None:
    import fsspec  # noqa: PLC0415

    made = Foreign().record(BLOCK, cuts=4000, table=True).record(b"second").file_table()
    path = tmp_path / "a.warc.zst"
    path.write_bytes(made.bytes())
    memory = fsspec.filesystem("memory")
    memory.pipe_file("/dir/a.warc.zst", made.bytes())
    targets = [
        FileSystemSource(memory, "/dir/a.warc.zst"),
        memory.open("/dir/a.warc.zst"),
        fsspec.open("memory://dir/a.warc.zst"),
    ]
    local = [fsspec.open(f"file://{path}"), fsspec.open(str(path)).open()]
    for target in [*targets, *local]:
        assert isinstance(open_source(target), LocalFileSource if target in local else FileSystemSource)
        with seekwarc.open(target) as archive:
            assert [record.block.read() for record in archive] == [BLOCK, b"second"]
            record = archive.record_at(made.records[0].offset, made.records[0].length)
            assert record.block.pread(12_345, 100) == BLOCK[12_345:12_445]
    local[1].close()
    memory.rm("/dir", recursive=True)


@pytest.mark.needs("module:fsspec")
def test_a_file_that_fsspec_decompresses_is_a_file_object(tmp_path: Path) -> None:
    import fsspec  # noqa: PLC0415

    path = tmp_path / "a.warc.gz"
    path.write_bytes(Foreign().record(BLOCK).gzip().bytes())
    with fsspec.open(str(path), compression="gzip") as file:
        assert isinstance(open_source(file), FileObjectSource)
        with seekwarc.open(file) as archive:
            assert archive.compression == "none"
            assert [record.block.read() for record in archive] == [BLOCK]
