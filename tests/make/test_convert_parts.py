"""Converting in parts: the options and forms of new files, and what goes wrong."""

from __future__ import annotations

import os
import signal

import pytest

from seekwarc.errors import ChecksumError
from seekwarc.jobs import parts as parts_of_files
from seekwarc.make import converting
from seekwarc.make.convert_parts import Converted, ConvertPart
from seekwarc.make.sinks import PartFile
from seekwarc.scale.split import Split
from seekwarc.storage.source import RangeSource
from seekwarc.write.assembly import RecordAssembly
from tests.support.parts import Parts, archive, converted, small_parts
from tests.support.writing import small_dictionary


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Parts:
    return small_parts(monkeypatch)


@pytest.mark.parametrize(
    "options",
    [{"tables": "every"}, {"tables": "none"}, {"dictionary": small_dictionary()}, {"frame_size": "64K"}],
)
def test_options_of_new_files_hold_in_parts(tmp_path, parts, options) -> None:
    path = tmp_path / "a.warc"
    path.write_bytes(archive("zst"))
    assert converted(path, 3, **options) == converted(path, 1, **options)
    assert parts.done > 10


@pytest.mark.parametrize("to", ["gz", "warc"])
def test_other_forms_are_made_in_parts(tmp_path, parts, to) -> None:
    path = tmp_path / "a.warc"
    path.write_bytes(archive("zst"))
    assert converted(path, 3, to) == converted(path, 1, to)
    assert parts.done > 10


def test_a_part_that_was_written_wrong_is_found(tmp_path, parts, monkeypatch) -> None:
    path = tmp_path / "a.warc"
    path.write_bytes(archive("gz"))
    pour = PartFile.pour

    def poured(part: PartFile, assembly: RecordAssembly) -> None:
        with open(part.path, "r+b") as spool:
            spool.seek(-9, os.SEEK_END)
            spool.write(b"x")
        pour(part, assembly)

    monkeypatch.setattr(PartFile, "pour", poured)
    kind, told, there, _ = converted(path, 3)
    assert kind is ChecksumError
    assert "cannot be read back" in told
    assert not there
    assert os.listdir(tmp_path) == ["a.warc"]


class Dying(ConvertPart):
    """Work whose process is killed in the middle of the file."""

    def __call__(self, part: Split, source: RangeSource, spool: str) -> Converted:
        if part.start > 30_000:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(part, source, spool)


@pytest.mark.slow
@pytest.mark.parametrize("work", [ConvertPart, Dying])
def test_processes_make_the_same_file_even_if_one_is_killed(tmp_path, monkeypatch, work) -> None:
    for name, value in (("MIN_SIZE", 1), ("MIN_PART", 4096), ("MAX_PART", 4096)):
        monkeypatch.setattr(parts_of_files, name, value)
    monkeypatch.setattr(converting, "ConvertPart", work)
    path = tmp_path / "a.warc"
    path.write_bytes(archive("zst"))
    assert converted(path, 2) == converted(path, 1)
    assert os.listdir(tmp_path) == ["a.warc"]
    monkeypatch.undo()
