"""Joining files: every byte of every record in order, frames copied, one right table."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import seekwarc
from seekwarc.check.verifying import verify
from seekwarc.edit.concatenating import Concatenation, concat
from seekwarc.edit.copy_inputs import PartTarget
from seekwarc.edit.copy_target import Recompressed
from seekwarc.errors import (
    ChecksumError,
    FormatError,
    SourceError,
    TargetError,
    TargetExistsError,
    TruncatedError,
    UnsupportedError,
)
from seekwarc.frames.encoder import FrameEncoder
from seekwarc.storage.local import BytesSource, LocalFileSource
from tests.support.foreign import (
    DICTIONARY_FRAME,
    Foreign,
    seek_table,
    skippable,
    some_dictionary,
    text,
    warc_header,
)
from tests.support.joined import assert_right, decompressed, records_in
from tests.support.rounds import rounds
from tests.support.sources import Pipe, RecordingSource, ShortFile
from tests.support.strategies import layouts
from tests.support.writing import (
    HTTP_HEAD,
    KIB,
    RESPONSE,
    FailingFile,
    WriteOnly,
    header_for,
    noise,
    plain,
    small_dictionary,
    walk,
    written,
)

FRAME = 64 * KIB
SMALL = (header_for(5), b"small")
EMPTY = (header_for(0), b"")
NOISE = (header_for(300_000), noise(300_000))
TEXT = (header_for(300_000), text(300_000))
HTTP = (header_for(len(HTTP_HEAD) + 300_000, content_type=RESPONSE), HTTP_HEAD + text(300_000, seed=7))
RECORDS = (SMALL, NOISE, EMPTY, HTTP, TEXT)
OTHERS = (TEXT, SMALL, SMALL, NOISE)
BEFORE = written(*RECORDS, frame_size=FRAME)[0]
"""Made before anything is replaced."""


def joined(*sources: PartTarget, **options) -> tuple[bytes, Concatenation]:
    target = io.BytesIO()
    done = concat(sources, target, **options)
    assert done.files == len(sources)
    assert done.target_size == len(target.getvalue())
    return target.getvalue(), done


def stored(*records: tuple[bytes, bytes], **options) -> bytes:
    return written(*records, frame_size=FRAME, **options)[0]


# What is in the new file.


@pytest.mark.one_in(5)
@pytest.mark.parametrize("first", [RECORDS, OTHERS, RECORDS[3:], (SMALL,), (NOISE,)])
@pytest.mark.parametrize("second", [OTHERS, (SMALL,), (NOISE,), (EMPTY,)])
@pytest.mark.parametrize("tables", ["large", "none"])
def test_all_records_are_in_order_under_one_right_table(first, second, tables) -> None:
    parts = [stored(*first), stored(*second, tables=tables), stored(*first)]
    data, done = joined(*parts)
    found = assert_right(data)
    assert [(record.header, record.block) for record in found] == [*first, *second, *first]
    assert decompressed(data) == plain(*first, *second, *first)
    assert done.records == len(found)
    assert done.tables == "large"
    assert (done.bytes_recompressed, done.recompressed) == (0, ())
    assert done.verified


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_compressed_bytes_of_records_do_not_change(threads) -> None:
    """Not even their tables: [offset, offset + length) is what it was, so digests of it stay right."""
    parts = [written(*records, frame_size=FRAME) for records in (RECORDS, OTHERS, RECORDS)]
    data, _ = joined(*(part for part, _ in parts), threads=threads)
    slices = [part[p.offset : p.offset + p.length] for part, places in parts for p in places]
    with seekwarc.open(data) as archive:
        assert [data[r.offset : r.offset + r.length] for r in archive] == slices


def test_a_single_file_comes_out_unchanged() -> None:
    for records in (RECORDS, OTHERS, (NOISE,), (SMALL,), (HTTP,)):
        part = stored(*records)
        assert joined(part)[0] == part


def test_the_counts_add_up() -> None:
    first, second = stored(*RECORDS), stored(*OTHERS)
    gzip = Foreign().record(text(3000)).record(b"x").gzip().bytes()
    data, done = joined(first, second, gzip)
    frames = [frame for frame in walk(first + second) if frame.is_data]
    headers = len(warc_header(3000)) + len(warc_header(1))
    assert done == Concatenation(
        files=3,
        records=len(RECORDS) + len(OTHERS) + 2,
        target_size=len(data),
        tables="large",
        bytes_copied=sum(frame.size for frame in frames),
        bytes_recompressed=headers + 3000 + 1,
        recompressed=(Recompressed("<bytes>", "the file is not a .warc.zst", 2),),
        verified=True,
    )


@pytest.mark.parametrize("form", ["gzip", "plain"])
def test_other_compressions_can_be_joined(form) -> None:
    made = Foreign().record(b"").record(text(2_500_000)).record(noise(300_000)).record(b"x")
    said = []
    data, done = joined(
        stored(*RECORDS), getattr(made, form)().bytes(), stored(*OTHERS), on_warning=said.append
    )
    found = assert_right(data)
    assert decompressed(data) == plain(*RECORDS) + made.plain().bytes() + plain(*OTHERS)
    assert found[len(RECORDS) + 1].data_frames[0].content == made.records[1].header
    assert said == ["<bytes>: the file is not a .warc.zst: its records will be compressed again"]
    assert [it.records for it in done.recompressed] == [4]


@pytest.mark.parametrize("form", ["gzip", "plain"])
def test_one_large_record_of_another_compression_has_one_table(form) -> None:
    made = Foreign().record(text(2_500_000))
    data, _ = joined(getattr(made, form)().bytes())
    assert_right(data)
    assert sum(frame.is_table for frame in walk(data)) == 1


def test_a_file_can_be_joined_to_itself() -> None:
    part = stored(*RECORDS)
    data, _ = joined(part, part)
    assert decompressed(data) == plain(*RECORDS) * 2
    assert_right(data)


def test_more_files_than_the_system_opens_can_be_joined(tmp_path) -> None:
    path = tmp_path / "a.warc.zst"
    path.write_bytes(stored(SMALL))
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 20, hard))
    try:
        data, done = joined(*[path] * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert done.records == 100
    assert decompressed(data) == plain(SMALL) * 100


# Reading it.


def test_records_are_at_their_offsets() -> None:
    data, _ = joined(stored(*RECORDS), stored(*OTHERS), stored(*RECORDS))
    expected = [*RECORDS, *OTHERS, *RECORDS]
    with seekwarc.open(data) as archive:
        places = [(record.offset, record.length) for record in archive]
    for (offset, length), (header, block) in zip(places, expected, strict=True):
        for known in (None, length):
            with seekwarc.open(data) as archive:
                record = archive.record_at(offset, known)
                assert record.header.raw == header
                assert record.length == length
                assert record.block.pread(100_000, 1000) == block[100_000:101_000]


def test_a_range_read_costs_the_same_as_before() -> None:
    part = stored(SMALL, NOISE, SMALL)
    data, _ = joined(stored(*RECORDS), part, stored(*OTHERS))
    costs = []
    for file, number in ((part, 1), (data, len(RECORDS) + 1)):
        with seekwarc.open(file) as archive:
            place = [(record.offset, record.length) for record in archive][number]
        source = RecordingSource(file)
        with seekwarc.open(source) as archive:
            record = archive.record_at(*place)
            assert record.block.pread(200_000, 1000) == NOISE[1][200_000:201_000]
            assert record.seek_table_status == "record"
            costs.append((len(source.requests), source.bytes_asked, archive.stats.bytes_decoded))
    assert costs[0][0] == costs[1][0] <= 3
    assert costs[0][2] == costs[1][2]
    assert abs(costs[0][1] - costs[1][1]) < 64 * KIB


@pytest.mark.parametrize("join", ["cat", "concat"])
def test_files_joined_by_cat_are_read_by_their_table_chain(join) -> None:
    """Of which `seekwarc concat` makes one link."""
    first, second = joined(stored(*RECORDS), stored(*OTHERS))[0], stored(*RECORDS)
    data = first + second if join == "cat" else joined(first + second)[0]
    expected = [*RECORDS, *OTHERS, *RECORDS]
    source = RecordingSource(data)
    with seekwarc.open(source) as archive:
        records = list(archive)
        assert [(r.header.raw, r.block.read()) for r in records] == expected
        source.forget()
    for number in (1, 3, 5, 8, 10):
        with seekwarc.open(source) as archive:
            record = archive.record_at(records[number].offset)
            assert record.block.pread(200_000, 500) == expected[number][1][200_000:200_500]
            assert record.seek_table_status in ("file", "record")
    if join == "concat":
        assert sum(not frame.content and frame.is_table for frame in walk(data)) == 1 + sum(
            len(block) > FRAME for _, block in expected
        )
        assert_right(data)


def test_every_table_of_a_chain_is_dropped() -> None:
    data = stored(*RECORDS)
    for _ in range(3):
        data += stored(*OTHERS)
    once, done = joined(data)
    assert_right(once)
    assert done.bytes_recompressed == 0
    assert joined(once)[0] == once, "what is right stays"


# The first record.


@pytest.mark.parametrize("tables", ["none", "every"])
@pytest.mark.parametrize("record", [NOISE, TEXT, HTTP])
def test_the_file_table_does_not_pass_for_the_first_record_s(record, tables) -> None:
    """Readers of proposal 118 must not take the file's table for the first record's (annex A.2)."""
    parts = [stored(record, record, tables=tables), stored(*RECORDS)]
    data, done = joined(*parts)
    found = assert_right(data)
    assert found[0].frames[0].content != record[0]
    assert found[1].frames[0].content == record[0]
    assert [(it.reason, it.records) for it in done.recompressed] == [
        ("the first record of a file with a table (its first two frames only)", 1)
    ]
    assert done.bytes_recompressed <= len(record[0]) + FRAME
    assert done.bytes_copied > len(plain(record)) // 10


@pytest.mark.parametrize("record", [NOISE, HTTP])
def test_the_first_record_of_a_later_file_is_unchanged(record) -> None:
    part, places = written(record, SMALL, frame_size=FRAME)
    data, done = joined(stored(SMALL), part)
    found = assert_right(data)[1]
    assert data[found.offset : found.offset + places[0].length] == part[: places[0].length]
    assert len(found.frames[0].content) > len(record[0])
    assert not done.recompressed


# Which tables.


def test_files_with_a_table_each_are_joined_as_by_cat() -> None:
    parts = [stored(*records, tables="every") for records in (RECORDS, OTHERS, (NOISE,), (SMALL,))]
    data, done = joined(*parts)
    assert done.tables == "every"
    assert data == b"".join(parts)
    assert_right(data, tables="every")


def test_mixed_files_get_one_table_for_the_file() -> None:
    data, done = joined(stored(*RECORDS, tables="every"), stored(*OTHERS))
    found = assert_right(data)
    assert done.tables == "large"
    assert [(record.header, record.block) for record in found] == [*RECORDS, *OTHERS]
    assert [(it.reason, it.records) for it in done.recompressed] == [("a small record in several frames", 1)]


# Dictionaries.


@pytest.mark.parametrize("kinds", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("tables", ["large", "every"])
def test_a_shared_dictionary_is_stored_once(kinds, tables) -> None:
    dictionary = small_dictionary()
    parts = [
        stored(*records, dictionary=dictionary, compress_dictionary=compress, tables=tables)
        for records, compress in zip((RECORDS, OTHERS), kinds, strict=True)
    ]
    data, done = joined(*parts)
    found = assert_right(data, dictionary=dictionary.data, tables=tables)
    assert decompressed(data, dictionary.data) == plain(*RECORDS, *OTHERS)
    assert done.recompressed == ()
    before = [f.data for part in parts for f in walk(part, dictionary.data) if f.is_data]
    assert [f.data for record in found for f in record.data_frames] == before
    frame = dictionary.frame(compress=kinds[0])
    assert data.startswith(frame)
    with seekwarc.open(data) as archive:
        assert [record.block.read() for record in archive] == [block for _, block in (*RECORDS, *OTHERS)]


def test_a_large_first_record_can_follow_a_dictionary() -> None:
    dictionary = small_dictionary()
    data, _ = joined(*[stored(*OTHERS, dictionary=dictionary, tables="none")] * 2)
    assert_right(data, dictionary=dictionary.data)


def other_dictionary() -> seekwarc.Dictionary:
    return seekwarc.Dictionary(some_dictionary().as_bytes())


@pytest.mark.parametrize(
    ("first", "second", "problem"),
    [
        (small_dictionary, other_dictionary, "the file and the new one have different dictionaries"),
        (small_dictionary, None, "the file has no dictionary, the new one has"),
        (None, other_dictionary, "the file has a dictionary, the new one has none"),
    ],
)
def test_another_dictionary_is_recompressed_with_a_warning(first, second, problem) -> None:
    first, second = first and first(), second and second()
    target, said = WriteOnly(), []

    def announce(text: str) -> None:
        assert not target.data, "nothing was written yet"
        said.append(text)

    sources = [
        RecordingSource(stored(*RECORDS, dictionary=first), "a.warc.zst"),
        RecordingSource(stored(*OTHERS, dictionary=second), "b.warc.zst"),
        RecordingSource(stored(SMALL, dictionary=first), "c.warc.zst"),
    ]
    done = concat(sources, target, on_warning=announce)
    assert said == [f"b.warc.zst: {problem}: its records will be compressed again"]
    assert done.recompressed == (Recompressed("b.warc.zst", problem, len(OTHERS)),)
    assert done.bytes_recompressed == len(plain(*OTHERS)) - 4 * len(OTHERS)
    data, dictionary = bytes(target.data), first.data if first else None
    assert_right(data, dictionary=dictionary)
    assert decompressed(data, dictionary) == plain(*RECORDS, *OTHERS, SMALL)


def test_recompressed_records_use_the_first_dictionary() -> None:
    dictionary = small_dictionary()
    made = Foreign()
    for number in range(50):
        made.record(text(300, seed=number))
    with_it, _ = joined(stored(SMALL, dictionary=dictionary), made.bytes())
    without, _ = joined(stored(SMALL), made.bytes())
    assert len(with_it) - len(dictionary.frame()) < len(without)


def test_frames_without_the_dictionary_id_are_recompressed() -> None:
    made = (
        Foreign().dictionary(compressed=True, name=False).record(text(3000)).record(text(200_000), cuts=FRAME)
    )
    dictionary = some_dictionary().as_bytes()
    data, done = joined(made.bytes())
    assert_right(data, dictionary=dictionary)
    assert [it.reason for it in done.recompressed] == ["a frame does not name the file's dictionary"]
    assert decompressed(data, dictionary) == made.plain().bytes()


def test_a_dictionary_in_the_middle_is_dropped() -> None:
    dictionary = small_dictionary()
    part = stored(*RECORDS, dictionary=dictionary)
    data, _ = joined(part + part)
    assert_right(data, dictionary=dictionary.data)
    assert decompressed(data, dictionary.data) == plain(*RECORDS) * 2


def test_files_wrongly_joined_by_cat_are_refused() -> None:
    data = stored(*RECORDS, dictionary=small_dictionary()) + stored(SMALL, dictionary=other_dictionary())
    with pytest.raises(FormatError, match="the frame needs dictionary"):
        joined(data)


# Frames that break a rule.


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"content_size": False}, "a frame does not state its size"),
        ({"checksum": False}, "a frame has no checksum"),
        ({"content_size": False, "checksum": False}, "a frame does not state its size"),
    ],
    ids=str,
)
@pytest.mark.parametrize("cuts", [(), 100_000])
def test_frames_without_required_fields_are_recompressed(options, reason, cuts) -> None:
    made = (
        Foreign().record(b"fine").record(text(3000), **options).record(noise(300_000), cuts=cuts, **options)
    )
    made.record(b"fine")
    data, done = joined(stored(*RECORDS), made.bytes())
    assert_right(data)
    assert decompressed(data) == plain(*RECORDS) + made.plain().bytes()
    assert done.recompressed == (Recompressed("<bytes>", reason, 2),)


def test_records_that_share_a_frame_are_separated() -> None:
    made = Foreign().frame(
        b"".join(warc_header(1000, n) + text(1000, seed=n) + b"\r\n\r\n" for n in range(9))
    )
    made.record(b"last")
    with pytest.warns(seekwarc.FormatWarning, match="several records share one frame"):
        data, done = joined(made.bytes())
    assert len(assert_right(data)) == 10
    assert decompressed(data) == decompressed(made.bytes())
    assert [it.records for it in done.recompressed] == [9]


@pytest.mark.parametrize("trailer", [b"", b"\r\n", b"\n\n", b"\r\n" * 3])
def test_wrong_line_breaks_are_kept(trailer) -> None:
    made = Foreign().record(b"one", trailer=trailer).record(noise(300_000), cuts=FRAME, trailer=trailer)
    data, done = joined(made.bytes(), stored(*RECORDS))
    assert decompressed(data) == made.plain(trailer=trailer).bytes() + plain(*RECORDS)
    assert sum(it.records for it in done.recompressed) == 2


def test_a_seek_table_that_cannot_be_used_is_not_copied(tmp_path) -> None:
    table = bytearray(seek_table([(9, 9, 9)] * 3))
    for damaged in (-9, -5, -1):  # in the count, among the reserved bits, in the magic number
        copy = bytearray(table)
        copy[damaged] ^= 4
        source = Foreign().record(b"first").raw(bytes(copy)).record(b"last").bytes()
        assert "table-form" in verify(source).codes
        concat([source], tmp_path / "all.warc.zst", existing="overwrite")
        assert verify(tmp_path / "all.warc.zst").codes == {}


def test_extension_frames_are_kept_and_wrong_tables_are_not() -> None:
    part = Foreign().empty().extension(0x184D2A51, b"front").record(text(200_000), cuts=FRAME, table=True)
    part.extension(0x184D2A5F, b"behind").record(b"x").raw(seek_table([(9, 9, 9)] * 3)).file_table()
    data, _ = joined(part.bytes(), part.bytes())
    found = assert_right(data)
    both = [skippable(0x184D2A51, b"front"), skippable(0x184D2A5F, b"behind")]
    assert [record.extensions for record in found] == [both, []] * 2
    assert decompressed(data) == part.plain().bytes() * 2


# Where it comes from and where it goes.


def test_pipes_work_at_both_ends() -> None:
    target = WriteOnly()
    concat([Pipe(stored(*RECORDS)), io.BytesIO(stored(*OTHERS)), Pipe(stored(*RECORDS))], target)
    assert bytes(target.data) == joined(stored(*RECORDS), stored(*OTHERS), stored(*RECORDS))[0]


def test_sources_may_be_anything_readable(tmp_path) -> None:
    part = stored(*RECORDS)
    path = tmp_path / "a.warc.zst"
    path.write_bytes(part)
    sources = [path, str(path), part, io.BytesIO(part), ShortFile(stored(SMALL)), BytesSource(part)]
    data, _ = joined(*sources, LocalFileSource(path))
    assert decompressed(data) == plain(*RECORDS) * 4 + plain(SMALL) + plain(*RECORDS) * 2


def test_folders_and_patterns_are_joined_in_path_order(tmp_path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    for name, records in (("b", [SMALL]), ("a", RECORDS)):
        (parts / f"{name}.warc.zst").write_bytes(stored(*records))
    expected = plain(*RECORDS) + plain(SMALL)
    for sources in (parts, str(parts), [parts / "*.zst"]):
        concat(sources, tmp_path / "all.warc.zst", existing="overwrite")
        assert decompressed((tmp_path / "all.warc.zst").read_bytes()) == expected


def test_a_file_object_is_written_after_its_content() -> None:
    target = io.BytesIO(b"something")
    target.seek(0, io.SEEK_END)
    concat([stored(*RECORDS), stored(*OTHERS)], target)
    assert target.getvalue() == b"something" + joined(stored(*RECORDS), stored(*OTHERS))[0]


def test_a_replaced_file_keeps_its_mode(tmp_path) -> None:
    path = tmp_path / "new.warc.zst"
    path.write_bytes(b"older")
    path.chmod(0o640)
    with pytest.raises(TargetExistsError):
        concat([stored(*RECORDS)], path)
    assert path.read_bytes() == b"older"
    concat([stored(*RECORDS)], path, existing="overwrite")
    assert decompressed(path.read_bytes()) == plain(*RECORDS)
    assert path.stat().st_mode & 0o777 == 0o640


def test_progress_covers_every_file(tmp_path) -> None:
    seen = []

    def watch(source, label: str):
        seen.append((source.name, label))
        return source

    path = tmp_path / "a.warc.zst"
    path.write_bytes(stored(*RECORDS))
    joined(path, stored(SMALL), on_progress=watch)
    assert seen == [(str(path), "joining"), ("<bytes>", "joining")]


# What goes wrong.


def test_no_files_are_refused() -> None:
    with pytest.raises(ValueError, match="no files to join"):
        concat([], io.BytesIO())


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", UnsupportedError),
        (b"some text", UnsupportedError),
        (stored(*RECORDS)[:-200_000], TruncatedError),
        (stored(*RECORDS)[:30], TruncatedError),
        (stored(SMALL) + b"garbage behind", FormatError),
        (skippable(DICTIONARY_FRAME, b"none") + stored(SMALL), FormatError),
        (Foreign().record(b"x").gzip().bytes()[:-9], TruncatedError),
        (Foreign().record(noise(3000)).plain().bytes()[:-9], TruncatedError),
    ],
    ids=range(8),
)
def test_a_damaged_source_is_named_and_leaves_nothing(tmp_path, number, data, error) -> None:
    path = tmp_path / "bad.warc.zst"
    path.write_bytes(data)
    sources = [stored(*RECORDS), stored(*OTHERS)]
    sources.insert(number, path)
    with pytest.raises(error) as raised:
        concat(sources, tmp_path / "new.warc.zst")
    assert str(raised.value).startswith(f"{path}, offset ")
    assert os.listdir(tmp_path) == ["bad.warc.zst"]


@pytest.mark.slow
def test_every_damaged_byte_is_found_or_harmless() -> None:
    made = Foreign().record(b"x").record(noise(700), cuts=200, table=True).record(text(500)).file_table()
    expected = made.plain().bytes()
    data = made.bytes()
    for place in range(len(data)):
        changed = data[:place] + bytes([data[place] ^ 0x41]) + data[place + 1 :]
        try:
            result, _ = joined(changed)
        except FormatError as error:
            assert str(error).startswith("<bytes>, offset ")  # noqa: PT017
        else:
            assert decompressed(result) == expected


def test_without_verifying_large_records_are_not_decoded(monkeypatch) -> None:
    made = Foreign().record(b"x").record(noise(3_000_000), cuts=1 << 20)
    data = bytearray(made.bytes())
    data[1_500_000] ^= 1
    with pytest.raises(ChecksumError):
        joined(bytes(data))
    copied, done = joined(bytes(data), verify=False)
    assert not done.verified
    assert copied[: len(data)] == bytes(data)


@pytest.mark.parametrize("where", ["first", "second"])
def test_a_source_is_refused_as_target(tmp_path, where) -> None:
    path = tmp_path / "a.warc.zst"
    path.write_bytes(stored(*RECORDS))
    sources: list[Path | bytes] = [stored(SMALL)]
    sources.insert(0 if where == "first" else 1, path)
    (tmp_path / "link").symlink_to(path)
    for target in (path, tmp_path / "link"):
        with pytest.raises(TargetError, match="the same file"):
            concat(sources, target)
    assert sorted(os.listdir(tmp_path)) == ["a.warc.zst", "link"]
    assert path.read_bytes() == stored(*RECORDS)


def test_a_source_that_fails_leaves_nothing(tmp_path) -> None:
    with pytest.raises(SourceError, match="gone"):
        concat([stored(SMALL), FailingFile(stored(*RECORDS), 300_000)], tmp_path / "new.warc.zst")
    assert os.listdir(tmp_path) == []


def test_an_encoder_that_fails_leaves_nothing(tmp_path, monkeypatch) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(FrameEncoder, "encode_each", fail)
    with pytest.raises(MemoryError):
        concat([BEFORE, Foreign().record(b"x").plain().bytes()], tmp_path / "new.warc.zst")
    assert os.listdir(tmp_path) == []


def test_a_missing_folder_is_an_error(tmp_path) -> None:
    with pytest.raises(TargetError, match="cannot be written: there is no folder"):
        concat([stored(SMALL)], tmp_path / "missing" / "new.warc.zst")


def test_limits_of_reading_can_be_raised() -> None:
    made = Foreign().record(noise(3_000_000), content_size=False, window_log=22)
    with pytest.raises(FormatError, match="max_window_size"):
        joined(made.bytes(), max_window_size=1 << 21)
    assert decompressed(joined(made.bytes())[0]) == made.plain().bytes()


# Any files.


FORMS = st.sampled_from(["bytes", "bytes", "bytes", "gzip", "plain"])


@pytest.mark.slow
@given(made=st.lists(st.tuples(layouts(), FORMS), min_size=1, max_size=4), threads=st.sampled_from([1, 2]))
@settings(max_examples=rounds(80), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_any_generated_files_can_be_joined(made: list[tuple[Foreign, str]], threads: int) -> None:
    sources = [m.bytes() if form == "bytes" else getattr(m, form)().bytes() for m, form in made]
    data, done = joined(*sources, threads=threads)
    first, form = made[0]
    dictionary = first.frame_options.get("dictionary") if form == "bytes" else None
    codec = dictionary.as_bytes() if dictionary else None
    puts = [put for m, _ in made for put in m.records]
    expected = b"".join(m.plain().bytes() for m, _ in made)
    found = assert_right(data, tables=done.tables, dictionary=codec)
    assert [(record.header, record.block) for record in found] == [(put.header, put.block) for put in puts]
    assert decompressed(data, codec) == expected
    assert done.records == len(puts)
    with seekwarc.open(data) as archive:
        records = list(archive)
        assert [record.offset for record in records] == [record.offset for record in found]
        for record, put in zip(records, puts, strict=True):
            assert record.block.read() == put.block
    assert joined(data, threads=threads)[0] == data, "a file that is right stays as it is"


FLIPS = st.lists(st.tuples(st.floats(0, 1), st.integers(1, 255)), min_size=1, max_size=3)


@pytest.mark.slow
@given(made=st.lists(layouts(), min_size=1, max_size=3), flips=FLIPS)
@settings(max_examples=rounds(80), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@pytest.mark.filterwarnings("ignore::seekwarc.FormatWarning")
def test_damaged_files_are_refused_or_stay_readable(made, flips) -> None:
    data = bytearray(b"".join(m.bytes() for m in made))
    for place, change in flips:
        data[min(int(place * len(data)), len(data) - 1)] ^= change
    try:
        result, _ = joined(bytes(data))
    except (FormatError, UnsupportedError):
        return
    with seekwarc.open(result) as archive:
        for record in archive:
            record.block.read()


def test_a_hostile_table_is_ignored() -> None:
    inner = stored(SMALL)
    made = Foreign().record(b"x").record(inner * 3 + noise(200_000), cuts=FRAME)
    made.raw(seek_table([(1 << 31, 1 << 31, 0)] * 5)).file_table(change=lambda entries: entries[::-1])
    data, _ = joined(made.bytes())
    assert decompressed(data) == made.plain().bytes()
    assert len(records_in(data)) == 2
