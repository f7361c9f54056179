"""Files whose records are copied: what they are, and whether their frames can be copied."""

from __future__ import annotations

import io
import os
import threading
from contextlib import closing
from pathlib import Path

import pytest

from seekwarc.edit.copy_inputs import Part, PartTarget, parts_of, settings_of
from seekwarc.edit.copy_source import LooseRecord, StoredRecord
from seekwarc.errors import FormatError, LimitError, SourceError, TargetError, UnsupportedError
from seekwarc.frames.dictionary import Dictionary
from seekwarc.read.options import ReadOptions
from seekwarc.storage.local import LocalFileSource
from seekwarc.storage.source import RangeSource
from tests.support.foreign import DICTIONARY_FRAME, Foreign, skippable, some_dictionary, text, zstd_frame
from tests.support.leaks import open_below
from tests.support.sources import Pipe
from tests.support.writing import header_for, noise, small_dictionary, written

SMALL = [(header_for(5), b"small")]
EMPTY = [(header_for(0), b"")]


def part_of(target: PartTarget) -> Part:
    with parts_of([target], None, ReadOptions()) as (part,):
        return part


def records(part: Part, dictionary: Dictionary | None = None) -> list[StoredRecord | LooseRecord]:
    with closing(part.records(dictionary, lambda source, _: source, "")) as found:
        return [record.kept() if isinstance(record, LooseRecord) else record for record in found]


@pytest.mark.parametrize("form", ["zst", "gz", "none"])
def test_a_file_is_recognized_by_its_content(tmp_path, form) -> None:
    made = Foreign().record(b"one").record(b"two")
    data = {"zst": made, "gz": made.gzip(), "none": made.plain()}[form].bytes()
    (tmp_path / "named wrongly").write_bytes(data)
    for target in (data, tmp_path / "named wrongly", io.BytesIO(data)):
        part = part_of(target)
        assert part.compression == form
        assert part.problem(None) == (None if form == "zst" else "the file is not a .warc.zst")
        kind = StoredRecord if form == "zst" else LooseRecord
        assert [type(record) for record in records(part)] == [kind] * 2


@pytest.mark.parametrize("data", [b"", b"something else", b"\x28\xb5"])
def test_a_file_that_is_not_a_warc_is_refused(data) -> None:
    with pytest.raises(UnsupportedError):
        part_of(data)


def test_a_missing_file_is_an_error(tmp_path) -> None:
    with pytest.raises(SourceError, match="cannot be opened"):
        part_of(tmp_path / "missing")


# Dictionaries.


@pytest.mark.parametrize("compressed", [True, False])
def test_the_dictionary_frame_is_kept(compressed) -> None:
    made = Foreign().dictionary(compressed=compressed).record(text(3000))
    part = part_of(made.bytes())
    assert part.dictionary == Dictionary(some_dictionary().as_bytes())
    assert part.dictionary_frame() == made.bytes()[: made.records[0].offset]


@pytest.mark.parametrize("missing", ["checksum", "content_size"])
def test_an_incomplete_dictionary_frame_is_made_again(missing) -> None:
    """It must have both ("Dictionary frame format"), and a new file should keep the rules."""
    data = some_dictionary().as_bytes()
    frame = skippable(DICTIONARY_FRAME, zstd_frame(data, **{missing: False}))
    part = part_of(frame + Foreign().dictionary(compressed=True).record(b"x").bytes())
    assert part.dictionary_frame() != frame
    assert part.dictionary_frame() == Dictionary(data).frame()


def test_whether_frames_can_be_copied_depends_on_the_dictionary() -> None:
    ours, other = Dictionary(some_dictionary().as_bytes()), small_dictionary()
    with_it = part_of(Foreign().dictionary(compressed=True).record(text(3000)).bytes())
    without = part_of(Foreign().record(text(3000)).bytes())
    assert with_it.problem(ours) is None
    assert with_it.problem(other) == "the file and the new one have different dictionaries"
    assert with_it.problem(None) == "the file has a dictionary, the new one has none"
    assert without.problem(None) is None
    assert without.problem(ours) == "the file has no dictionary, the new one has"
    assert [type(r) for r in records(with_it, ours)] == [StoredRecord]
    assert [type(r) for r in records(with_it, other)] == [LooseRecord]
    assert [r.open_block().read(-1) for r in records(with_it, None)] == [text(3000)]


def test_dictionaries_with_the_same_id_may_differ() -> None:
    data = some_dictionary().as_bytes()
    part = part_of(Foreign().dictionary(compressed=True).record(text(3000)).bytes())
    assert (
        part.problem(Dictionary(data[:-1] + b"!")) == "the file and the new one have different dictionaries"
    )


def test_equal_dictionaries_share_memory() -> None:
    data = [Foreign().dictionary(compressed=kind).record(b"x").bytes() for kind in (True, False)]
    with parts_of(data, None, ReadOptions()) as (first, second):
        assert first.dictionary is second.dictionary
        assert part_of(Foreign().record(b"x").bytes()).dictionary_frame() is None


def test_a_damaged_dictionary_is_an_error() -> None:
    with pytest.raises(FormatError, match=r"^<bytes>, offset 0: "):
        part_of(skippable(DICTIONARY_FRAME, b"no dictionary") + zstd_frame(b""))


def test_limits_are_passed_to_the_reader() -> None:
    data = Foreign().dictionary(compressed=True).record(text(3000)).bytes()
    with (
        pytest.raises(LimitError, match="exceeds the limit"),
        parts_of([data], None, ReadOptions(max_dictionary_size=100)),
    ):
        pass


# Pipes.


def test_a_pipe_is_copied_and_read_repeatedly(tmp_path) -> None:
    made = Foreign().record(noise(300_000), cuts=50_000).record(b"x")
    pipe = Pipe(made.bytes())
    with parts_of([pipe], str(tmp_path), ReadOptions()) as (part,):
        assert part.name == "<pipe>"
        for _ in range(2):
            assert [record.header.raw for record in records(part)] == [put.header for put in made.records]
    assert os.listdir(tmp_path) == []
    assert not pipe.closed, "it is the caller's"


def test_a_named_pipe_is_copied_too(tmp_path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    data = Foreign().record(b"x").bytes()
    writer = threading.Thread(target=path.write_bytes, args=(data,))
    writer.start()
    assert part_of(path).compression == "zst"
    writer.join()


def test_no_space_for_the_copy_of_a_pipe_is_an_error(tmp_path) -> None:
    with (
        pytest.raises(TargetError, match="<pipe>: cannot be copied to a temporary file: No such file"),
        parts_of([Pipe(b"data")], str(tmp_path / "missing"), ReadOptions()),
    ):
        pass


def test_a_broken_pipe_is_an_error() -> None:
    class Broken(Pipe):
        def readinto(self, buffer) -> int:
            raise ConnectionResetError("the other side is gone")

    with pytest.raises(SourceError, match="the other side is gone"):
        part_of(Broken(b""))


# What is open.


def test_not_all_files_are_open_at_once(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.warc.zst" for number in range(20)]
    for path in paths:
        path.write_bytes(Foreign().record(noise(300_000), cuts=50_000).bytes())
    with parts_of(paths, None, ReadOptions()) as parts:
        assert open_below(tmp_path) == []
        with closing(parts[0].records(None, lambda source, _: source, "")) as found:
            next(found)
            assert len(open_below(tmp_path)) == 1
        assert open_below(tmp_path) == []


def test_progress_covers_each_file_to_its_end(tmp_path) -> None:
    path = tmp_path / "a.warc.zst"
    path.write_bytes(Foreign().record(b"x").bytes())
    seen = []

    class Watched(LocalFileSource):
        def close(self) -> None:
            seen.append("closed")
            super().close()

    def watch(source: RangeSource, label: str) -> RangeSource:
        seen.append(label)
        source.close()
        return Watched(path)

    assert len(list(part_of(path).records(None, watch, "looking"))) == 1
    assert seen == ["looking", "closed"]


# Which tables a file of several gets.


@pytest.mark.parametrize(
    ("modes", "expected"),
    [
        (["large"], "large"),
        (["every"], "every"),
        (["none"], "large"),
        (["every", "every"], "every"),
        (["every", "large"], "large"),
        (["every", "none"], "large"),
        (["every", "gz"], "large"),
        (["empty"], "large"),
        (["empty", "every"], "every"),
        (["empty", "large"], "large"),
    ],
    ids=str,
)
def test_a_table_each_stays_if_all_files_have_it(modes, expected) -> None:
    files = {mode: written(*SMALL, *SMALL, tables=mode)[0] for mode in ("large", "every", "none")}
    files["gz"] = Foreign().record(b"x").gzip().bytes()
    files["empty"] = written(*EMPTY, tables="every")[0]
    with parts_of([files[mode] for mode in modes], None, ReadOptions()) as parts:
        assert settings_of(parts, lambda _: None, verify=True).tables == expected
