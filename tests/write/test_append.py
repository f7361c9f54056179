"""Continuing files: old records stay, new ones are found, and a failure leaves the file as it was."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest

import seekwarc
from seekwarc.check.verifying import Verifier
from seekwarc.errors import (
    FormatError,
    FormatWarning,
    SeekWarcError,
    TargetError,
    TruncatedError,
    UnsupportedError,
)
from seekwarc.write import output
from seekwarc.write.append import existing_file
from seekwarc.write.output import OpenOutput
from tests.support.foreign import Foreign, dictionary_frame, some_dictionary, zstd_frame
from tests.support.reading import blocks_of
from tests.support.writing import (
    DATE,
    HTTP_HEAD,
    KIB,
    URI,
    content_of,
    entries_of,
    noise,
    record_id,
    small_dictionary,
    table_entries,
    text,
    walk,
)

ROOT = Path(__file__).parents[2]
FRAME = 64 * KIB
LARGE = text(3 * FRAME)
OLD = [b"one", LARGE, b"", text(4000)]
NEW = [text(5 * FRAME, seed=1), b"new", noise(2 * FRAME, seed=2)]
MODES = ("large", "every", "none")


def put(writer: seekwarc.Writer, blocks: list[bytes], first: int = 0) -> list[seekwarc.Written]:
    return [
        writer.write(
            "resource",
            target_uri=URI,
            block=block,
            date=DATE,
            record_id=record_id(first + number),
            content_type="text/plain",
        )
        for number, block in enumerate(blocks)
    ]


def make(path: Path, blocks: list[bytes] = OLD, **options: object) -> bytes:
    with seekwarc.Writer(path, frame_size=FRAME, **options) as writer:
        put(writer, blocks)
    return path.read_bytes()


def continue_with(path: Path, blocks: list[bytes], first: int = 100, **options: object) -> list[tuple]:
    with seekwarc.open(path, "a", frame_size=FRAME, **options) as writer:
        return [(it.offset, it.length) for it in put(writer, blocks, first)]


def places_of(target: Path | bytes) -> list[tuple[int, int]]:
    with seekwarc.open(target) as archive:
        return [(record.offset, record.length) for record in archive]


def assert_found(target: Path | bytes, places: list[tuple[int, int]], blocks: list[bytes]) -> None:
    """Assert that records are found by offset, with and without length, and by range."""
    for (offset, length), block in zip(places, blocks, strict=True):
        for known in (None, length):
            with seekwarc.open(target) as archive:
                record = archive.record_at(offset, known)
                assert record.block.pread(len(block) // 2, 1000) == block[len(block) // 2 :][:1000]
                assert record.block.read() == block


def assert_sound(path: Path, tables: str) -> None:
    problems = {problem.code for problem in Verifier(path)}
    assert problems == ({"table-end"} if tables == "every" else set())


def assert_listed(data: bytes, dictionary: bytes | None = None) -> None:
    """Assert that the file ends in a table of everything before it."""
    *frames, last = walk(data, dictionary)
    assert last.is_table
    assert table_entries(last) == entries_of(frames)


# A file that goes on.


@pytest.mark.parametrize("tables", MODES)
def test_appending_to_no_file_makes_the_file_that_writing_makes(tmp_path, tables) -> None:
    written = make(tmp_path / "w.warc.zst", tables=tables)
    with seekwarc.open(tmp_path / "a.warc.zst", "a", frame_size=FRAME, tables=tables) as writer:
        put(writer, OLD)
        assert not (tmp_path / "a.warc.zst").exists(), "it appears when it is whole"
    assert (tmp_path / "a.warc.zst").read_bytes() == written


@pytest.mark.parametrize("tables", MODES)
@pytest.mark.parametrize("dictionary", ["none", "raw", "compressed"])
def test_existing_records_stay_and_new_ones_are_found(tmp_path, tables, dictionary) -> None:
    path = tmp_path / "a.warc.zst"
    options = {"dictionary": small_dictionary()} if dictionary != "none" else {}
    before = make(path, tables=tables, compress_dictionary=dictionary == "compressed", **options)
    old_places = places_of(path)
    new_places = continue_with(path, NEW)
    data = path.read_bytes()
    assert data.startswith(before)
    assert blocks_of(path) == OLD + NEW
    assert places_of(path) == old_places + new_places
    assert_found(path, old_places + new_places, OLD + NEW)
    assert_sound(path, tables)
    raw = small_dictionary().data if options else None
    frames = walk(data, raw)
    if tables == "large":
        assert_listed(data, raw)
        assert new_places[0][0] == len(before)
        assert sum(frame.is_table for frame in frames) == 1 + 1 + 2 + 1
    elif tables == "every":
        assert sum(frame.is_table for frame in frames) == 7
        assert frames[-1].is_table
    else:
        assert not any(frame.is_table for frame in frames)
    if options:
        own = small_dictionary().id
        assert {frame.dictionary_id for frame in frames if frame.is_data} == {own}
        assert sum(frame.magic == 0x184D2A5D for frame in frames) == 1


@pytest.mark.parametrize("tables", MODES)
def test_a_file_can_be_continued_many_times(tmp_path, tables) -> None:
    path = tmp_path / "a.warc.zst"
    make(path, tables=tables)
    blocks, places = list(OLD), places_of(path)
    for turn in range(4):
        before = path.read_bytes()
        new = [text(100 + turn), *([noise(90_000, seed=turn)] if turn % 2 else [])]
        places += continue_with(path, new, first=200 + 10 * turn)
        blocks += new
        assert path.read_bytes().startswith(before)
    assert blocks_of(path) == blocks
    assert_found(path, places, blocks)
    assert_sound(path, tables)
    if tables == "large":
        assert_listed(path.read_bytes())


@pytest.mark.parametrize(
    ("tables", "old"),
    [
        (tables, old)
        for tables in MODES
        for old in ([b"small"], [LARGE], [b""], [b"", b""], [LARGE, b"small"], [b"small", LARGE])
        # With one empty record, the file is the same as with "large".
        if (tables, old) != ("every", [b""])
    ],
)
def test_a_continued_file_keeps_its_kind_of_tables(tmp_path, tables, old) -> None:
    path = tmp_path / "a.warc.zst"
    before = make(path, old, tables=tables)
    assert existing_file(path).tables == tables
    continue_with(path, [b"small", LARGE], tables=tables)
    assert path.read_bytes().startswith(before)
    assert blocks_of(path) == [*old, b"small", LARGE]
    assert_sound(path, tables)
    if tables == "large":
        assert_listed(path.read_bytes())
    else:
        made = {"every": 2, "none": 0}[tables]
        tail = walk(path.read_bytes()[len(before) :])
        assert sum(frame.is_table for frame in tail) == made


@pytest.mark.parametrize("tables", ["large", "none"])
def test_a_continued_file_decompresses_to_all_records(tmp_path, tables) -> None:
    path = tmp_path / "a.warc.zst"
    before = content_of(walk(make(path, tables=tables)))
    continue_with(path, NEW)
    after = content_of(walk(path.read_bytes()))
    assert after.startswith(before)
    assert after.count(b"WARC/1.1\r\n") == len(OLD + NEW)


@pytest.mark.needs("module:pyzstd")
@pytest.mark.parametrize("dictionary", [False, True])
def test_readers_of_the_seekable_format_read_a_continued_file(tmp_path, dictionary) -> None:
    import pyzstd  # noqa: PLC0415

    path = tmp_path / "a.warc.zst"
    options = {"dictionary": small_dictionary()} if dictionary else {}
    make(path, **options)
    continue_with(path, NEW)
    raw = small_dictionary().data if dictionary else None
    content = content_of(walk(path.read_bytes(), raw))
    its_dictionary = pyzstd.ZstdDict(raw) if raw else None
    with pyzstd.SeekableZstdFile(path, "r", zstd_dict=its_dictionary) as file:
        assert file.read() == content
        for place in (0, 100_000, len(content) // 2, len(content) - 5000):
            file.seek(place)
            assert file.read(3000) == content[place : place + 3000]


def test_a_file_without_its_table_gets_one(tmp_path) -> None:
    path = tmp_path / "a.warc.zst"
    data = make(path)
    path.write_bytes(data[: walk(data)[-1].offset])
    continue_with(path, [b"new"])
    assert_listed(path.read_bytes())
    assert blocks_of(path) == [*OLD, b"new"]


def test_a_file_that_ends_in_a_record_table_keeps_its_mode(tmp_path) -> None:
    """A file whose writer stopped after a large record."""
    path = tmp_path / "a.warc.zst"
    data = make(path, [b"one", LARGE])
    path.write_bytes(data[: walk(data)[-1].offset])
    assert existing_file(path).tables == "large"
    continue_with(path, [b"new"])
    assert_listed(path.read_bytes())


def test_files_of_other_tools_are_continued(tmp_path) -> None:
    path = tmp_path / "a.warc.zst"
    made = Foreign().record(b"one").record(LARGE, cuts=FRAME).empty().extension()
    path.write_bytes(made.bytes())
    continue_with(path, [b"new"])
    assert path.read_bytes().startswith(made.bytes())
    assert blocks_of(path) == [b"one", LARGE, b"new"]
    assert existing_file(path).tables == "none"


def test_a_frame_with_only_the_magic_of_a_table_is_no_table(tmp_path) -> None:
    path = tmp_path / "a.warc.zst"
    made = Foreign().record(b"one").extension(0x184D2A5E, b"something else").record(b"two")
    path.write_bytes(made.bytes())
    continue_with(path, [b"new"])
    assert path.read_bytes().startswith(made.bytes())
    assert blocks_of(path) == [b"one", b"two", b"new"]


def test_options_that_are_not_of_the_file_may_change(tmp_path) -> None:
    path = tmp_path / "a.warc.zst"
    make(path)
    options = {"level": 9, "threads": 1, "digest": "sha256", "frame_size": 128 * KIB}
    with seekwarc.open(path, "a", **options) as writer:
        [done] = put(writer, [LARGE], 100)
    assert done.header.get("WARC-Block-Digest").startswith("sha256:")
    with seekwarc.open(path) as archive:
        record = archive.record_at(done.offset)
        assert all(check.verdict.is_good for check in record.check_digests())
        assert max(record.body.frames.content_sizes) > FRAME + 4
    assert_listed(path.read_bytes())


def test_payloads_of_the_continued_file_become_revisits(tmp_path) -> None:
    path = tmp_path / "a.warc.zst"
    known = seekwarc.Duplicates()
    with seekwarc.open(path, "a", dedup=known) as writer:
        writer.write_response(URI, HTTP_HEAD + LARGE, date=DATE)
    with seekwarc.open(path, "a", dedup=known) as writer:
        again = writer.write_response(URI + "again", HTTP_HEAD + LARGE, date=DATE)
        fresh = writer.write_response(URI + "other", HTTP_HEAD + b"other", date=DATE)
    assert again.type == "revisit"
    assert fresh.type == "response"
    with seekwarc.open(path) as archive:
        assert [record.type for record in archive] == ["response", "revisit", "response"]
        checks = [check for record in archive for check in record.check_digests()]
    assert all(check.verdict.is_good for check in checks)
    assert len(checks) == 6
    assert_sound(path, "large")


def test_a_stream_of_unknown_length_can_be_appended(tmp_path) -> None:
    path = tmp_path / "a.warc.zst"
    make(path)
    with seekwarc.open(path, "a", frame_size=FRAME) as writer:
        done = writer.write("resource", target_uri=URI, block=io.BytesIO(NEW[0]), date=DATE)
    assert_found(path, [(done.offset, done.length)], [NEW[0]])
    assert sorted(os.listdir(tmp_path)) == ["a.warc.zst"]


def test_a_continued_file_keeps_its_mode_and_its_links(tmp_path) -> None:
    path, link, hard = (tmp_path / name for name in ("a.warc.zst", "link.warc.zst", "hard.warc.zst"))
    make(path)
    path.chmod(0o640)
    hard.hardlink_to(path)
    link.symlink_to(path)
    continue_with(link, [b"new"])
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert path.samefile(hard)
    assert blocks_of(hard) == [*OLD, b"new"]


# Giving up.


@pytest.mark.parametrize("tables", MODES)
@pytest.mark.parametrize("how", ["abort", "exception", "interrupt"])
def test_abort_leaves_the_continued_file_as_it_was(tmp_path, tables, how) -> None:
    path = tmp_path / "a.warc.zst"
    before = make(path, tables=tables)
    if how == "abort":
        writer = seekwarc.open(path, "a", frame_size=FRAME)
        put(writer, NEW)
        writer.flush()
        assert path.stat().st_size >= len(before)
        writer.abort()
    else:
        error = ZeroDivisionError if how == "exception" else KeyboardInterrupt
        options = {"frame_size": FRAME, "on_error": "discard"}
        with pytest.raises(error), seekwarc.open(path, "a", **options) as writer:
            put(writer, NEW)
            writer.flush()
            raise error
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_an_interruption_while_it_is_finished_removes_no_continued_file(tmp_path, monkeypatch) -> None:
    path = tmp_path / "a.warc.zst"
    before = make(path, tables="every")
    writer = seekwarc.open(path, "a", frame_size=FRAME, on_error="discard")
    put(writer, NEW)
    monkeypatch.setattr(output, "sync_folder", interrupted)
    with pytest.raises(KeyboardInterrupt), writer:
        pass
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("tables", MODES)
def test_closing_without_a_record_changes_nothing(tmp_path, tables) -> None:
    path = tmp_path / "a.warc.zst"
    before = make(path, tables=tables)
    with seekwarc.open(path, "a"):
        pass
    assert path.read_bytes() == before


def test_a_failed_record_is_rolled_back_alone(tmp_path) -> None:
    path = tmp_path / "a.warc.zst"
    make(path)
    with seekwarc.open(path, "a", frame_size=FRAME) as writer:
        first = put(writer, NEW[:1], 100)
        with pytest.raises(FormatError):
            writer.write("resource", target_uri=URI, block=io.BytesIO(bytes(300_000)), length=400_000)
        second = put(writer, NEW[1:], 101)
    places = [(it.offset, it.length) for it in first + second]
    assert blocks_of(path) == OLD + NEW
    assert_found(path, places, NEW)
    assert_listed(path.read_bytes())
    assert_sound(path, "large")


def test_abort_after_close_does_not_touch_the_file(tmp_path) -> None:
    path = tmp_path / "a.warc.zst"
    make(path)
    writer = seekwarc.open(path, "a", frame_size=FRAME)
    put(writer, NEW)
    writer.close()
    data = path.read_bytes()
    writer.abort()
    writer.close()
    assert path.read_bytes() == data
    with pytest.raises(ValueError, match="closed"):
        put(writer, NEW)


@pytest.mark.slow
@pytest.mark.parametrize("tables", MODES)
def test_old_records_survive_an_interruption_anywhere(tmp_path, tables) -> None:
    path = tmp_path / "a.warc.zst"
    old = [b"one", text(70_000), b"three"]
    before = make(path, old, tables=tables)
    places = places_of(path)
    new = [text(300), b"new"]
    continue_with(path, new)
    data = path.read_bytes()
    for size in range(len(before), len(data) + 1):
        cut = data[:size]
        for strict in (False, True):
            found = []
            with warnings.catch_warnings(record=True) as told, seekwarc.open(cut, strict=strict) as archive:
                warnings.simplefilter("always")
                try:
                    found.extend((record.offset, record.block.read()) for record in archive)
                except FormatError:
                    assert size < len(data)
            assert found[:3] == [(offset, block) for (offset, _), block in zip(places, old, strict=True)]
            assert [block for _, block in found[3:]] == new[: len(found) - 3], "what is read is whole"
            assert all("cut off" in str(it.message) for it in told)
            assert not told or (size < len(data) and not strict)
        with seekwarc.open(cut) as archive:
            for (offset, length), block in zip(places, old, strict=True):
                assert archive.record_at(offset, length).block.read() == block
                assert archive.record_at(offset).block.read() == block


KILLED = """
import os, sys, time
import seekwarc
from tests.support.writing import URI, noise, text

with seekwarc.open(sys.argv[1], "a", frame_size=65536, threads=1) as writer:
    number = 0
    while True:
        block = noise(200_000, seed=number % 50) if number % 3 else text(2000, seed=number % 50)
        writer.write("resource", target_uri=URI, block=block)
        number += 1
        if number % 10 == 0:
            writer.flush()
            print(number, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("tables", MODES)
def test_old_records_survive_a_killed_process(tmp_path, tables) -> None:
    path = tmp_path / "a.warc.zst"
    before = make(path, tables=tables)
    places = places_of(path)
    command = [sys.executable, "-c", KILLED, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as process:
        for _ in range(3):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    data = path.read_bytes()
    assert len(data) > len(before) + 100_000
    assert data.startswith(before)
    assert_found(path, places, OLD)
    found = []
    # The last record may be cut off.
    with seekwarc.open(path) as archive, contextlib.suppress(FormatError, FormatWarning):
        found.extend(record.block.read() for record in archive)
    assert found[: len(OLD)] == OLD
    assert len(found) > 10


# One at a time.


def test_a_second_writer_of_a_file_is_refused(tmp_path) -> None:
    path = tmp_path / "a.warc.zst"
    before = make(path)
    first = seekwarc.open(path, "a", frame_size=FRAME)
    with pytest.raises(TargetError, match="another process is writing to it"):
        seekwarc.open(path, "a")
    put(first, NEW)
    first.flush()
    with pytest.raises(SeekWarcError, match="another process is writing to it"):
        seekwarc.open(path, "a")
    first.close()
    assert path.read_bytes().startswith(before)
    assert blocks_of(path) == OLD + NEW
    continue_with(path, [b"then"])
    assert blocks_of(path) == [*OLD, *NEW, b"then"]


def test_a_writer_in_another_process_is_refused(tmp_path) -> None:
    path = tmp_path / "a.warc.zst"
    make(path)
    script = "import sys, seekwarc; seekwarc.open(sys.argv[1], 'a')"
    with seekwarc.open(path, "a") as writer:
        command = [sys.executable, "-c", script, str(path)]
        done = subprocess.run(command, capture_output=True, check=False, cwd=ROOT)
        put(writer, [b"new"], 100)
    assert done.returncode == 1
    assert b"another process is writing to it" in done.stderr
    assert blocks_of(path) == [*OLD, b"new"]


def test_records_of_another_writer_are_not_overwritten(tmp_path, monkeypatch) -> None:
    """The file must not change between its examination and its lock."""
    path = tmp_path / "a.warc.zst"
    make(path)
    begin = OpenOutput.__init__
    others = [b"of another"]

    def after_another_one(self: OpenOutput, *words: object, **options: object) -> None:
        monkeypatch.setattr(OpenOutput, "__init__", begin)
        try:
            continue_with(path, [b"of another"])
        except TargetError:
            others.clear()
        begin(self, *words, **options)

    monkeypatch.setattr(OpenOutput, "__init__", after_another_one)
    continue_with(path, [b"mine"], first=300)
    # Whatever was written and closed without an error is there.
    assert blocks_of(path) == [*OLD, *others, b"mine"]


def test_abort_does_not_cut_off_records_of_another_writer(tmp_path, monkeypatch) -> None:
    """Once the lock is released, another writer may have the file."""
    path = tmp_path / "a.warc.zst"
    make(path)
    first = seekwarc.open(path, "a", frame_size=FRAME)
    put(first, NEW, 100)
    truncate, others = os.truncate, []

    def after_another_one(name: str, size: int) -> None:
        with contextlib.suppress(SeekWarcError):
            continue_with(path, [b"of another"], first=300)
            others.append(b"of another")
        truncate(name, size)

    monkeypatch.setattr(os, "truncate", after_another_one)
    first.abort()
    assert blocks_of(path) == OLD + others


def test_concurrent_writers_do_no_harm(tmp_path) -> None:
    path = tmp_path / "a.warc.zst"
    make(path)
    done: list[bytes] = []

    def append(number: int) -> None:
        for turn in range(6):
            block = b"%d, %d" % (number, turn)
            try:
                continue_with(path, [block], first=1000 + 10 * number + turn)
            except SeekWarcError:
                continue
            done.append(block)

    threads = [threading.Thread(target=append, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done
    assert blocks_of(path)[: len(OLD)] == OLD
    assert sorted(blocks_of(path)[len(OLD) :]) == sorted(done)
    assert_listed(path.read_bytes())


# What cannot go on.


def bare_first_header() -> bytes:
    """A first record with its header in a frame of its own, and a table of the file."""
    made = Foreign().record(LARGE, cuts=(len(Foreign().record(LARGE).records[0].header),), table=True)
    return made.record(b"second").file_table().bytes()


REFUSED = {
    "empty": (b"", UnsupportedError, "empty"),
    "gzip": (
        Foreign().record(b"x").gzip().bytes(),
        UnsupportedError,
        "only a file of compression 'zst' .*`seekwarc convert`",
    ),
    "plain": (Foreign().record(b"x").plain().bytes(), UnsupportedError, "only a file of compression 'zst'"),
    "other": (b"<!doctype html>", UnsupportedError, "not a WARC file"),
    "no record": (zstd_frame(b""), FormatError, "the file has no record"),
    "no size": (
        Foreign().record(b"x", content_size=False).bytes(),
        UnsupportedError,
        "does not state its size or checksum.*`seekwarc convert`",
    ),
    "no checksum": (
        Foreign().record(b"x").record(b"y", checksum=False).bytes(),
        UnsupportedError,
        "does not state its size or checksum",
    ),
    "bare first header": (bare_first_header(), UnsupportedError, "header has a frame of its own"),
    "garbage behind": (Foreign().record(b"x").bytes() + b"garbage", FormatError, "no frame starts here"),
    "cut frame": (Foreign().record(b"x").record(text(500)).bytes()[:-9], TruncatedError, "ends inside"),
    "cut block": (
        Foreign().record(b"x").frame(Foreign().record(b"y" * 99).plain().bytes()[:-50]).bytes(),
        TruncatedError,
        "`seekwarc recover` saves the whole records",
    ),
    "damaged dictionary": (
        dictionary_frame(some_dictionary(), compressed=False)[:60] + bytes(9000),
        FormatError,
        "dictionary",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_files_that_cannot_be_continued_are_refused_unchanged(tmp_path, name) -> None:
    data, error, message = REFUSED[name]
    path = tmp_path / "a.warc.zst"
    path.write_bytes(data)
    with pytest.raises(error, match=message) as raised:
        seekwarc.open(path, "a")
    assert str(path) in str(raised.value)
    assert path.read_bytes() == data
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.slow
@pytest.mark.parametrize("tables", MODES)
def test_a_cut_file_is_refused_or_continued_correctly(tmp_path, tables) -> None:
    """Nothing is ever written after an incomplete frame or record."""
    path = tmp_path / "a.warc.zst"
    data = make(path, [text(300), text(200, seed=1)], tables=tables)
    last = places_of(path)[1][0]
    gone_on = 0
    for size in range(last - 30, len(data)):
        path.write_bytes(data[:size])
        try:
            continue_with(path, [b"new"])
        except FormatError:
            assert path.read_bytes() == data[:size]
            continue
        gone_on += 1
        found = blocks_of(path)
        assert found[0] == text(300)
        assert found[-1] == b"new"
        assert path.read_bytes().startswith(data[:size])
        assert {problem.code for problem in Verifier(path)} <= {"table-end"}
    assert gone_on


def test_other_tables_are_refused(tmp_path) -> None:
    for mode in MODES:
        path = tmp_path / f"{mode}.warc.zst"
        before = make(path, tables=mode)
        for other in set(MODES) - {mode}:
            with pytest.raises(ValueError, match=f'tables is {other!r}, and the file has "{mode}"'):
                seekwarc.open(path, "a", tables=other)
        assert path.read_bytes() == before
        continue_with(path, [b"new"], tables=mode)


def test_another_dictionary_is_refused(tmp_path) -> None:
    without, with_it = tmp_path / "without.warc.zst", tmp_path / "with.warc.zst"
    make(without)
    make(with_it, dictionary=small_dictionary())
    other = seekwarc.Dictionary(some_dictionary().as_bytes())
    for path, dictionary in ((without, other), (with_it, other)):
        before = path.read_bytes()
        with pytest.raises(ValueError, match="another dictionary"):
            seekwarc.open(path, "a", dictionary=dictionary)
        assert path.read_bytes() == before
    continue_with(with_it, [b"new"], dictionary=small_dictionary().data)
    assert blocks_of(with_it) == [*OLD, b"new"]


def test_file_objects_are_refused(tmp_path) -> None:
    path = tmp_path / "a.warc.zst"
    before = make(path)
    with path.open("r+b") as file, pytest.raises(ValueError, match="needs a path"):
        seekwarc.open(file, "a")
    with pytest.raises(ValueError, match="needs a path"):
        seekwarc.open(io.BytesIO(before), "a")
    assert path.read_bytes() == before


# After a crash.


@pytest.mark.slow
@pytest.mark.parametrize("tables", MODES)
@pytest.mark.parametrize("unfinished", [True, False])
def test_repair_cuts_off_a_torn_record_and_keeps_its_bytes(tmp_path, tables, unfinished) -> None:
    path = tmp_path / "a.warc.zst"
    data = make(path, [text(300), text(200, seed=1)], tables=tables)
    last = places_of(path)[1][0]
    path.unlink()
    place = tmp_path / "a.warc.zst.open" if unfinished else path
    for size in range(last - 30, len(data), 5 if tables == "large" else 11):
        place.write_bytes(data[:size])
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            with seekwarc.open(path, "a", frame_size=FRAME, repair=True) as writer:
                put(writer, [b"new"], 100)
        found = blocks_of(path)
        # A record whose table is torn is whole.
        assert found[:-1] == [text(300), text(200, seed=1)][: len(found) - 1]
        assert len(found) > 1 or size < last
        assert found[-1] == b"new"
        assert {problem.code for problem in Verifier(path)} <= {"table-end"}
        kept = [name for name in os.listdir(tmp_path) if ".torn-" in name]
        assert len(told) == len(kept) <= 1
        for name in kept:
            assert str(tmp_path / name) in str(told[0].message)
            offset = int(name.rpartition("-")[2])
            assert data[:size][offset:] == (tmp_path / name).read_bytes()
            (tmp_path / name).unlink()
        assert os.listdir(tmp_path) == [path.name]
        path.unlink()


def test_a_torn_record_is_refused_with_advice(tmp_path) -> None:
    path = tmp_path / "a.warc.zst"
    data = make(path)[:-100]
    path.unlink()
    (tmp_path / "a.warc.zst.open").write_bytes(data)
    with pytest.raises(TruncatedError, match=r"repair=True .*`seekwarc recover`"):
        seekwarc.open(path, "a")
    assert (tmp_path / "a.warc.zst.open").read_bytes() == data


def test_a_half_completed_header_is_cut_off_with_its_record(tmp_path) -> None:
    """The digests of a record that was read from a stream are written before its last frame."""
    path = tmp_path / "a.warc.zst"
    with seekwarc.open(path, "w", frame_size=FRAME, tables="none") as writer:
        put(writer, [b"one"])
        last = writer.write("resource", target_uri=URI, block=io.BytesIO(LARGE), length=len(LARGE))
    digest = last.header["WARC-Block-Digest"].encode()
    data = path.read_bytes()
    torn = data[: walk(data)[-1].offset].replace(digest[-16:], bytes(16))
    assert digest not in torn
    path.write_bytes(torn)
    with pytest.raises(TruncatedError, match="repair=True"):
        seekwarc.open(path, "a")
    with pytest.warns(seekwarc.FormatWarning, match="torn"):
        continue_with(path, [b"new"], repair=True)
    assert blocks_of(path) == [b"one", b"new"]
    assert (tmp_path / f"{path.name}.torn-{last.offset}").read_bytes() == torn[last.offset :]


@pytest.mark.parametrize(("records", "tables"), [(1, "none"), (2, "every"), (3, "every")])
def test_a_torn_last_table_shows_in_those_before_it_what_it_was(tmp_path, records, tables) -> None:
    path = tmp_path / "a.warc.zst"
    blocks = [text(300, seed=number) for number in range(records)]
    data = make(path, blocks, tables="every")
    path.write_bytes(data[:-5])
    with pytest.warns(seekwarc.FormatWarning, match="torn"):
        continue_with(path, [b"new"], repair=True, tables=tables)
    assert path.read_bytes().startswith(data[: walk(data)[-1].offset])
    assert blocks_of(path) == [*blocks, b"new"]
    assert_sound(path, tables)


def test_zeros_that_a_power_failure_left_are_cut_off(tmp_path) -> None:
    path = tmp_path / "a.warc.zst"
    data = make(path)
    path.write_bytes(data + bytes(5000))
    with pytest.raises(FormatError, match="repair=True"):
        seekwarc.open(path, "a")
    with pytest.warns(seekwarc.FormatWarning, match="torn"), seekwarc.open(path, "a", repair=True) as writer:
        put(writer, [b"new"], 100)
    # The last record ends before the zeros: it is whole, and stays.
    assert blocks_of(path) == [*OLD, b"new"]
    assert_sound(path, "large")


def test_damage_before_whole_records_is_never_cut_off(tmp_path) -> None:
    path = tmp_path / "a.warc.zst"
    data = bytearray(make(path))
    data[places_of(path)[2][0]] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(FormatError):
        seekwarc.open(path, "a", repair=True)
    assert path.read_bytes() == data
    assert os.listdir(tmp_path) == [path.name]


def test_an_unfinished_file_is_continued(tmp_path) -> None:
    path = tmp_path / "a.warc.zst"
    make(path)
    path.rename(tmp_path / "a.warc.zst.open")
    with pytest.raises(seekwarc.TargetExistsError, match=r"a\.warc\.zst\.open; continue it"):
        seekwarc.open(path, "w")
    with seekwarc.open(path, "a") as writer:
        assert os.listdir(tmp_path) == ["a.warc.zst.open"]
        put(writer, [b"new"], 100)
    assert os.listdir(tmp_path) == ["a.warc.zst"]
    assert blocks_of(path) == [*OLD, b"new"]


def test_a_file_and_its_unfinished_successor_are_refused(tmp_path) -> None:
    path = tmp_path / "a.warc.zst"
    make(path)
    (tmp_path / "a.warc.zst.open").write_bytes(b"x")
    with pytest.raises(seekwarc.TargetExistsError, match="remove one of the two"):
        seekwarc.open(path, "a")


def test_an_empty_unfinished_file_is_begun_again(tmp_path) -> None:
    path = tmp_path / "a.warc.zst"
    (tmp_path / "a.warc.zst.open").touch()
    continue_with(path, [b"new"])
    assert blocks_of(path) == [b"new"]


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, SystemExit])
def test_an_exception_keeps_what_was_appended(tmp_path, error) -> None:
    path = tmp_path / "a.warc.zst"
    make(path)
    with pytest.raises(error) as raised, seekwarc.open(path, "a", frame_size=FRAME) as writer:
        put(writer, NEW, 100)
        raise error
    assert raised.value.__notes__ == [f"{path}: kept with 3 complete records"]
    assert blocks_of(path) == OLD + NEW
    assert_sound(path, "large")


def test_a_refused_option_frees_the_file(tmp_path) -> None:
    path = tmp_path / "a.warc.zst"
    make(path)
    with pytest.raises(ValueError, match="tables"):
        seekwarc.open(path, "a", tables="none")
    continue_with(path, [b"new"])
    assert blocks_of(path) == [*OLD, b"new"]


# No room.


FULL = """
import hashlib, resource, signal, sys
import seekwarc
from tests.support.writing import URI, noise

path, room, kind = sys.argv[1], int(sys.argv[2]), sys.argv[3]
if room:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
try:
    with seekwarc.open(path, "a", frame_size=65536, on_error="discard") as writer:
        for number in range(100):
            writer.write("resource", target_uri=URI, block=noise(int(kind), seed=number))
except seekwarc.TargetError as error:
    print(error)
"""


def fill(path: Path, room: int, kind: int) -> str:
    command = [sys.executable, "-c", FULL, str(path), str(room), str(kind)]
    done = subprocess.run(command, capture_output=True, check=True, cwd=ROOT, text=True)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.one_in(3)
@pytest.mark.posix
@pytest.mark.parametrize("size", [3000, 300_000])
def test_a_file_that_cannot_grow_stays_as_before(tmp_path, size) -> None:
    path = tmp_path / "a.warc.zst"
    before = make(path)
    assert "cannot be written: File too large" in fill(path, len(before) + 100_000, size)
    assert path.read_bytes() == before
    continue_with(path, [b"new"])
    assert blocks_of(path) == [*OLD, b"new"]


@pytest.mark.one_in(3)
@pytest.mark.posix
@pytest.mark.parametrize("size", [3000, 100_000])
def test_a_full_disk_leaves_the_file_as_before(tmp_path, size) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    if os.geteuid() or mount is None:
        pytest.skip("a file system can be mounted by root only")
    options = ["-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    if subprocess.run([mount, *options], capture_output=True, check=False).returncode:
        pytest.skip("a file system cannot be mounted here")
    try:
        path = disk / "a.warc.zst"
        before = make(path)
        assert "cannot be written: No space left on device" in fill(path, 0, size)
        assert path.read_bytes() == before
        assert os.listdir(disk) == [path.name]
        continue_with(path, [b"new"])
        assert blocks_of(path) == [*OLD, b"new"]
    finally:
        subprocess.run(["umount", str(disk)], check=True)
