from __future__ import annotations

import errno
import pickle
from pathlib import Path

import pytest

import seekwarc
from seekwarc import errors
from seekwarc.errors import FormatError, SeekWarcError, SourceError, TargetError
from tests.support.foreign import Foreign
from tests.support.writing import URI

KINDS = [getattr(errors, name) for name in errors.__all__ if issubclass(getattr(errors, name), SeekWarcError)]


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_knows_its_file_and_offset(kind: type[SeekWarcError]) -> None:
    error = kind("is wrong", source="a.warc", offset=12)
    assert (error.source, error.offset, error.message) == ("a.warc", 12, "is wrong")
    assert str(error) == "a.warc, offset 12: is wrong"
    assert str(kind("is wrong", source="a.warc")) == "a.warc: is wrong"
    assert str(kind("is wrong")) == "is wrong"


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_comes_whole_out_of_another_process(kind: type[SeekWarcError]) -> None:
    copy = pickle.loads(pickle.dumps(kind("is wrong", source="a.warc", offset=12)))
    assert type(copy) is kind
    assert str(copy) == "a.warc, offset 12: is wrong"


WRONG = {
    "start is -1 and length 5": lambda archive: archive.record_at(0).block.pread(-1, 5),
    "start is 9 and stop 3": lambda archive: archive.record_at(0).block.plan(9, 3),
    "whence is 7": lambda archive: archive.record_at(0).block.open().seek(0, 7),
    "offset must be at least 0: -1": lambda archive: archive.record_at(-1),
    "start is -5 and stop None": lambda archive: archive.between(-5, None),
    "max_bytes is 0": lambda archive: seekwarc.gather([], max_bytes=0),
}


@pytest.mark.parametrize("message", WRONG)
def test_a_wrong_argument_is_named_with_its_value(message: str) -> None:
    with (
        seekwarc.open(Foreign().record(b"block").bytes()) as archive,
        pytest.raises(ValueError, match=message),
    ):
        WRONG[message](archive)


def test_the_innermost_place_is_kept() -> None:
    error = FormatError("is wrong", offset=12)
    error.located("a.warc", 99).located("b.warc", 0)
    assert (error.source, error.offset) == ("a.warc", 12)


def test_a_read_that_fails_names_file_and_offset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.warc.zst"
    with seekwarc.open(path, "w") as writer:
        writer.write_resource(URI, b"text", content_type="text/plain")

    def broken(*_: object) -> int:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("seekwarc.storage.local.read_at", broken)
    with seekwarc.open(path) as archive, pytest.raises(SourceError) as caught:
        next(iter(archive))
    assert (caught.value.source, caught.value.offset) == (str(path), 0)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        seekwarc.open(tmp_path / "gone.warc.zst")
    assert (caught.value.source, caught.value.offset) == (str(tmp_path / "gone.warc.zst"), None)


def test_a_write_that_fails_is_no_source_error(tmp_path: Path) -> None:
    target = tmp_path / "gone" / "a.warc.zst"
    with pytest.raises(TargetError, match="cannot be written") as caught:
        seekwarc.open(target, "w")
    assert isinstance(caught.value, OSError)
    assert not isinstance(caught.value, SourceError)
    assert caught.value.source == str(target)


def test_an_existing_target_is_no_source_error(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    path.write_bytes(b"")
    with pytest.raises(TargetError) as caught:
        seekwarc.open(path, "w")
    assert isinstance(caught.value, seekwarc.TargetExistsError)
    assert not isinstance(caught.value, SourceError)
