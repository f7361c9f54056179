"""Recovery: all records without damage are saved, and nothing else."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import seekwarc
from seekwarc.check import recovering
from seekwarc.check.recovering import Loss, Recovery, recover
from seekwarc.check.verifying import Verifier
from seekwarc.errors import NotFoundError, SourceError, TargetError
from seekwarc.storage.local import BytesSource
from tests.support.foreign import (
    Foreign,
    gzip_member,
    seek_table,
    skippable,
    some_dictionary,
    text,
    warc_header,
)
from tests.support.mutants import Maker
from tests.support.series import labelled
from tests.support.sources import Pipe, RecordingSource
from tests.support.writing import DATE, HTTP_HEAD, URI, noise, walk, written

FRAME = 64 << 10
CRLF2 = b"\r\n\r\n"
LARGE = text(3 * FRAME, seed=1)

IN_HEADERS = {"digest", "digest-unknown", "header"}
"""Problems that a record keeps."""

Content = tuple[bytes, bytes]


@pytest.fixture
def saved(tmp_path) -> Callable[..., tuple[Recovery, list[Content]]]:
    """Recover some bytes; return what was said, and header and block of each record of the new file."""

    def run(data: bytes, **options: object) -> tuple[Recovery, list[Content]]:
        target = tmp_path / "saved.warc.zst"
        done = recover(BytesSource(data, "broken"), target, threads=1, **options)
        problems = [problem for problem in Verifier(target) if problem.code not in IN_HEADERS]
        assert problems == []
        with seekwarc.open(target) as archive:
            found = [(record.header.raw, record.block.read()) for record in archive]
        target.unlink()
        assert os.listdir(tmp_path) == []
        assert len(found) == done.records + done.truncated
        return done, found

    return run


def contents(made: Foreign, *without: int) -> list[Content]:
    return [(put.header, put.block) for number, put in enumerate(made.records) if number not in without]


def flipped(data: bytes, *places: int) -> bytes:
    out = bytearray(data)
    for place in places:
        out[place] ^= 1
    return bytes(out)


def overwritten(data: bytes, begin: int, end: int, with_: bytes = b"") -> bytes:
    return data[:begin] + (with_ or noise(end - begin, seed=9))[: end - begin] + data[end:]


def some_records(**options: object) -> Foreign:
    made = Foreign()
    made.record(b"first").record(text(2000)).record(LARGE, cuts=FRAME, **options)
    return made.record(text(3000, seed=2)).record(b"last")


FORMS = {
    "zst": some_records,
    "zst with tables": lambda: some_records(table=True).file_table(),
    "zst without sizes": lambda: some_records(content_size=False),
    "gz": lambda: some_records().gzip(),
    "plain": lambda: some_records().plain(),
}


# Nothing wrong.


@pytest.mark.parametrize("form", FORMS)
def test_a_sound_file_is_recovered_completely(saved, form) -> None:
    made = FORMS[form]()
    done, found = saved(made.bytes())
    assert found == contents(made)
    assert done == Recovery("broken", records=5)
    assert done.lost == 0


def test_options_apply_to_the_new_file(tmp_path) -> None:
    target = tmp_path / "saved.warc.zst"
    recover(some_records().bytes(), target, tables="every", frame_size=128 << 10, level=1)
    with seekwarc.open(target) as archive:
        assert [record.seek_table_status for record in archive] == ["record"] * 5


def test_a_dictionary_is_kept(saved, tmp_path) -> None:
    made = Foreign().dictionary(compressed=True).record(text(500)).record(LARGE, cuts=FRAME)
    assert saved(made.bytes())[1] == contents(made)
    target = tmp_path / "kept.warc.zst"
    recover(made.bytes(), target)
    with seekwarc.open(target) as archive:
        assert archive.dictionary.data == some_dictionary().as_bytes()


# Cut.


@pytest.mark.slow
def test_a_file_cut_anywhere_gives_all_complete_records(saved) -> None:
    made = Foreign().record(b"one").record(text(700), cuts=400, table=True).record(b"three").file_table()
    data = made.bytes()
    frames = [frame for frame in walk(data) if frame.is_data]
    ends = [
        max(f.end for f in frames if put.offset <= f.offset < put.offset + put.length) for put in made.records
    ]
    for size in range(1, len(data)):
        there = [content for content, end in zip(contents(made), ends, strict=True) if end <= size]
        if not there:
            with pytest.raises(NotFoundError, match="no record in it is intact"):
                saved(data[:size])
            continue
        done, found = saved(data[:size])
        assert found == there, size
        assert done.lost <= size - ends[len(there) - 1]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["gz", "plain"])
def test_other_forms_may_be_cut_anywhere(saved, form) -> None:
    made = Foreign().record(b"one").record(text(300)).record(b"three")
    made = made.gzip() if form == "gz" else made.plain()
    data = made.bytes()
    for size in range(made.records[0].length, len(data)):
        found = saved(data[:size])[1]
        # The line breaks after an uncompressed record may be missing.
        room = 0 if form == "gz" else 4
        there = [(put.header, put.block) for put in made.records if put.stop - room <= size]
        assert found == there, size


# Damaged in the middle.


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("number", range(5))
def test_only_the_damaged_record_is_lost(saved, form, number) -> None:
    made = FORMS[form]()
    put = made.records[number]
    begin = put.offset + (len(put.header) // 2 if form == "plain" else 20)
    broken = overwritten(made.bytes(), begin, begin + 30, b"\0\xff" * 20)
    if form == "plain":
        # Only its head shows that a plain record is damaged.
        broken = overwritten(made.bytes(), put.offset, put.offset + 5)
    done, found = saved(broken)
    assert found == contents(made, number)
    assert done.records == 4
    [loss] = done.losses
    # The table before it may be lost with it, or the one after it.
    assert loss.offset <= put.offset
    assert loss.end >= put.stop
    most = 200 if form == "zst with tables" else 0
    assert done.lost == loss.end - loss.offset <= put.length + most


@pytest.mark.one_in(3)
@pytest.mark.parametrize("form", ["zst", "zst with tables"])
def test_a_damaged_frame_header_is_skipped(saved, form) -> None:
    made = FORMS[form]()
    for number, put in enumerate(made.records):
        for byte in range(18):
            done, found = saved(flipped(made.bytes(), put.offset + byte))
            # Some bits of a frame header may be changed without harm.
            assert [each for each in contents(made, number) if each not in found] == [], (number, byte)
            assert [each for each in found if each not in contents(made)] == []
            assert done.records == len(found)


def test_a_record_before_damage_is_saved_once(saved) -> None:
    made = some_records()
    put = made.records[3]
    for partial in (False, True):
        done, found = saved(flipped(made.bytes(), put.offset + 60), partial=partial)
        assert found == contents(made, 3)
        assert (done.records, done.truncated) == (4, 0)
        assert [(loss.offset, loss.end) for loss in done.losses] == [(put.offset, put.stop)]


@pytest.mark.parametrize("last", [True, False])
def test_a_record_with_a_wrong_checksum_is_not_saved(saved, last) -> None:
    """Where all of a block comes before its checksum, which tells that some byte of it is wrong."""
    made = Foreign().record(b"one").record(noise(50_000)).gzip()
    if not last:
        made.append(Foreign().record(b"three").gzip())
    put = made.records[1]
    broken = flipped(made.bytes(), put.offset + 25_000)
    for partial in (False, True):
        done, found = saved(broken, partial=partial)
        assert [content for content in found if content not in contents(made)] == []
        assert found == contents(made, 1)
        assert [(loss.offset, loss.end) for loss in done.losses] == [(put.offset, put.stop)]


@pytest.mark.parametrize("partial", [False, True])
def test_an_empty_last_block_does_not_hide_a_wrong_checksum(saved, partial) -> None:
    size = (256 << 10) - len(warc_header(999_999)) - 4
    made = Foreign().record(noise(size), content_size=False).record(b"behind")
    put = made.records[0]
    assert made.bytes()[put.stop - 7 : put.stop - 4] == b"\x01\x00\x00", "an empty block, the last"
    done, found = saved(flipped(made.bytes(), put.offset + 100_000), partial=partial)
    assert [content for content in found if content not in contents(made)] == []
    assert found == contents(made, 0)
    assert [(loss.offset, loss.end) for loss in done.losses] == [(put.offset, put.stop)]


def test_damage_in_several_places_is_reported_in_order(saved) -> None:
    made = some_records()
    first, third = made.records[0], made.records[2]
    done, found = saved(flipped(made.bytes(), first.offset + 40, third.offset + 400, third.stop - 50))
    assert found == contents(made, 0, 2)
    assert [(loss.offset, loss.end, loss.kept) for loss in done.losses] == [
        (first.offset, first.stop, None),
        (third.offset, third.stop, None),
    ]
    assert [loss.uri for loss in done.losses][1] in {None, "http://example.org/2"}
    assert done.lost == first.length + third.length
    assert all(loss.reason for loss in done.losses)


def test_a_loss_names_the_uri_if_it_is_readable(saved) -> None:
    made = some_records()
    put = made.records[2]
    done, _ = saved(flipped(made.bytes(), put.stop - 50))
    assert [loss.uri for loss in done.losses] == ["http://example.org/2"]


@pytest.mark.parametrize("form", ["zst", "zst with tables", "gz", "plain"])
@pytest.mark.parametrize("fill", ["noise", "zeros"])
def test_an_overwritten_range_costs_only_its_records(saved, form, fill) -> None:
    made = FORMS[form]()
    begin, end = made.records[1].offset, made.records[3].offset + 9
    broken = overwritten(made.bytes(), begin, end, bytes(end - begin) if fill == "zeros" else b"")
    assert saved(broken)[1] == contents(made, 1, 2, 3)


def test_garbage_between_records_costs_none(saved) -> None:
    for form in ("zst", "gz", "plain"):
        made = FORMS[form]()
        middle = made.records[2].offset
        for garbage in (noise(1000), bytes(700), b"\x28\xb5\x2f\xfd" * 40, b"WARC/1.1\r\n\r\n" * 9):
            data = made.bytes()[:middle] + garbage + made.bytes()[middle:]
            assert saved(data)[1] == contents(made), form


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "garbage",
    [noise(3000), bytes(3000), b"x", skippable(0x184D2A50, bytes(50))[:-1]],
    ids=["noise", "zeros", "a byte", "cut frame"],
)
def test_garbage_after_the_end_costs_nothing(saved, form, garbage) -> None:
    made = FORMS[form]()
    done, found = saved(made.bytes() + garbage)
    assert found == contents(made)
    if garbage.strip(b"\0"):
        assert [(loss.end, loss.uri) for loss in done.losses] == [(len(made.bytes()) + len(garbage), None)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "garbage",
    [noise(3000), bytes(3000), b"x", b"<!doctype html>\n"],
    ids=["noise", "zeros", "a byte", "page"],
)
def test_garbage_before_the_first_record_costs_nothing(saved, form, garbage) -> None:
    made = FORMS[form]()
    done, found = saved(garbage + made.bytes())
    assert found == contents(made)
    assert [(loss.offset, loss.end) for loss in done.losses if loss.offset == 0] == [(0, len(garbage))]


def test_a_file_without_its_beginning_loses_one_record(saved) -> None:
    for form in ("zst", "zst with tables", "gz", "plain"):
        made = FORMS[form]()
        assert saved(made.bytes()[made.records[1].offset - 30 :])[1] == contents(made, 0)


# Tables.


def test_recovery_needs_no_tables(saved) -> None:
    made = some_records()
    put = made.records[2]
    # The stated sizes of the blocks lead astray.
    header = 4 + 1 + 4 + 1
    broken = overwritten(made.bytes(), put.offset + header - 2, put.offset + header + 3)
    assert saved(broken)[1] == contents(made, 2)


FALSE: dict[str, Callable[[list], list]] = {
    "shifted": lambda entries: [(entries[0][0] - 7, *entries[0][1:]), *entries[1:]],
    "swapped": lambda entries: [entries[1], entries[0], *entries[2:]],
    "longer": lambda entries: [*entries, (9, 9, 9)],
    "of nothing": lambda entries: [],
}


@pytest.mark.parametrize("change", FALSE)
@pytest.mark.parametrize("damage", [3, 8, 11, 100, 1000])
def test_false_tables_do_no_harm(saved, change, damage) -> None:
    made = some_records(table={"change": FALSE[change]}).file_table(FALSE[change])
    put = made.records[2]
    assert saved(made.bytes())[1] == contents(made)
    found = saved(overwritten(made.bytes(), put.offset + damage, put.offset + damage + 8))[1]
    assert found == contents(made, 2)


@pytest.mark.parametrize("damage", [0, 4, 9])
def test_a_table_that_covers_a_record_hides_nothing(saved, damage) -> None:
    made = Foreign().record(b"one").record(noise(3000), cuts=(1000, 2000)).record(b"two").record(b"three")
    entries = list(made.entries)
    at = 2  # The second frame of the second record.
    broken = sum(it[0] for it in entries[:at]) + damage
    data = overwritten(made.bytes(), broken, broken + 6, bytes(6))
    wanted = saved(data)[1]
    assert [block for _, block in wanted] == [b"one", b"two", b"three"]
    for last in range(at, len(entries)):
        for content in (entries[at][1], sum(it[1] for it in entries[at : at + 3])):
            swallowing = (sum(it[0] for it in entries[at : last + 1]), content, entries[at][2])
            false = [*entries[:at], swallowing, *entries[last + 1 :]]
            assert saved(data + seek_table(false))[1] == wanted, (last, content)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::seekwarc.FormatWarning")
@pytest.mark.parametrize("first", range(0, 80, 20))
def test_false_tables_do_not_change_what_is_saved(saved, first) -> None:
    for number in range(first, first + 20):
        maker = Maker(number)
        mutant = maker.mutant()
        for _ in range(3):
            # Within the frames of a record; tables are damaged elsewhere.
            frame = maker.rng.choice([part for part in maker.parts if part.record is not None])
            start = mutant.data.index(frame.stored) + maker.rng.choice((0, 4, 5, 9, len(frame.stored) - 1))
            data = overwritten(mutant.data, start, min(start + 6, len(mutant.data)))
            found, without = [], []
            with contextlib.suppress(NotFoundError):
                without = saved(data, limits={"max_table_size": 0})[1]
            with contextlib.suppress(NotFoundError):
                found = saved(data)[1]
            assert found == without, (number, mutant.kind, start)


@pytest.mark.slow
def test_a_damaged_table_costs_nothing(saved) -> None:
    made = some_records(table=True).file_table()
    data = made.bytes()
    for frame in walk(data):
        if frame.is_table:
            for place in range(frame.offset, frame.end):
                assert saved(flipped(data, place))[1] == contents(made), place - frame.offset


# The dictionary.


@pytest.mark.parametrize("compressed", [False, True])
def test_without_its_dictionary_nothing_can_be_read(saved, compressed) -> None:
    made = Foreign().dictionary(compressed=compressed).record(text(500)).record(text(700, seed=1))
    with pytest.raises(NotFoundError):
        saved(flipped(made.bytes(), 40 if compressed else 9))


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("damage", ["flip", "gone", "zeros"])
def test_a_dictionary_can_be_given(saved, compressed, damage) -> None:
    made = Foreign().dictionary(compressed=compressed).record(text(500)).record(text(700, seed=1))
    begin = made.records[0].offset
    data = {
        "flip": flipped(made.bytes(), 40 if compressed else 9),
        "gone": made.bytes()[begin:],
        "zeros": bytes(begin) + made.bytes()[begin:],
    }[damage]
    its_dictionary = seekwarc.Dictionary(some_dictionary().as_bytes())
    assert saved(data, source_dictionary=its_dictionary)[1] == contents(made)


def test_frames_without_a_dictionary_are_saved(saved) -> None:
    made = Foreign().dictionary(compressed=False).record(text(500))
    made.record(b"without", dictionary=None).record(text(700, seed=1))
    done, found = saved(flipped(made.bytes(), 9))
    assert found == contents(made, 0, 2)
    assert done.losses[0].reason.endswith("give the dictionary, if another file has it")


# Archives in archives.


def inner_archive(form: str) -> bytes:
    inner = Foreign()
    for number in range(40):
        inner.record(noise(4000, seed=100 + number), header=warc_header(4000, 1000 + number))
    return (inner if form == "zst" else inner.gzip() if form == "gz" else inner.plain()).bytes()


def with_an_inner_archive(form: str, tables: str) -> tuple[bytes, list[seekwarc.Written], list[Content]]:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\r\n"
    response = {
        "type": "response",
        "block": head + inner_archive(form),
        "content_type": "application/http; msgtype=response",
    }
    data, done = written(
        {"block": b"one"}, response, {"block": b"three"}, frame_size=FRAME, tables=tables, digest=None
    )
    with seekwarc.open(data) as archive:
        return data, done, [(record.header.raw, record.block.read()) for record in archive]


@pytest.mark.parametrize("form", ["zst", "gz", "plain"])
@pytest.mark.parametrize("tables", ["large", "every", "none"])
def test_archived_archives_stay_closed_if_frames_are_intact(saved, form, tables) -> None:
    data, done, whole = with_an_inner_archive(form, tables)
    begin, end = done[1].offset, done[1].offset + done[1].length
    frames = [frame for frame in walk(data) if begin <= frame.offset < end and frame.is_data]
    assert len(frames) > 3
    # Without its header nobody can tell an archived WARC file in frames of its own from records.
    for frame in frames[1:] if form == "plain" else frames:
        # Its content, not the sizes of its blocks.
        assert saved(flipped(data, frame.end - 1))[1] == [whole[0], whole[2]], (form, frame.offset - begin)


@pytest.mark.parametrize("form", ["zst", "gz", "plain"])
@pytest.mark.parametrize("place", [0, 4, 9, 12])
def test_archived_archives_stay_closed_if_tables_are_intact(saved, form, place) -> None:
    data, done, whole = with_an_inner_archive(form, "large")
    begin, end = done[1].offset, done[1].offset + done[1].length
    for frame in walk(data):
        if begin + (form == "plain") <= frame.offset < end and frame.is_data:
            broken = overwritten(data, frame.offset + place, frame.offset + place + 6, bytes(6))
            assert saved(broken)[1] == [whole[0], whole[2]], (form, place, frame.offset - begin)


# Suspects.


def test_a_record_with_a_wrong_digest_is_kept_and_reported(saved) -> None:
    raw = warc_header(5).replace(b"WARC-Date", b"WARC-Block-Digest: sha1:%b\r\nWARC-Date" % (b"A" * 32))
    made = Foreign().record(b"other").record(b"right", header=raw)
    done, found = saved(made.bytes())
    assert found == contents(made)
    assert done.suspect == [(made.records[1].offset, "urn:uuid:00000000-0000-4000-8000-000000000000")]
    assert done.losses == []


@pytest.mark.parametrize("stated", [b"nonsense", b"sha1:", b"sha1:short", b"quark:ABC"])
def test_a_record_with_a_malformed_digest_is_kept(saved, stated) -> None:
    raw = warc_header(5).replace(b"WARC-Date", b"WARC-Block-Digest: %b\r\nWARC-Date" % stated)
    made = Foreign().record(b"other").record(b"right", header=raw)
    done, found = saved(made.bytes())
    assert found == contents(made)
    assert (done.suspect, done.losses) == ([], [])


def test_right_digests_are_not_suspect(saved) -> None:
    blocks = [b"one", LARGE, b""]
    data, _ = written(*({"block": block} for block in blocks), frame_size=FRAME)
    done, found = saved(data)
    assert done.suspect == []
    assert [block for _, block in found] == blocks


def test_a_digest_that_cannot_be_computed_is_not_suspect(saved) -> None:
    raw = warc_header(5).replace(b"WARC-Date", b"WARC-Block-Digest: crc9:1234\r\nWARC-Date")
    done, found = saved(Foreign().record(b"right", header=raw).bytes())
    assert (done.suspect, len(found)) == ([], 1)


# Beginnings of records.


def shortened(header: bytes) -> dict[str, str]:
    lines = header.decode().split("\r\n")
    assert lines[0] == "WARC/1.1"
    assert lines[-2:] == ["", ""]
    return dict(line.split(": ", 1) for line in lines[1:-2])


def partial_record(found: list[Content], made: Foreign) -> Content:
    """Return the record that was not saved as it was, when all others were."""
    assert [it for it in found if it in contents(made)] == [it for it in contents(made) if it in found]
    [other] = [it for it in found if it not in contents(made)]
    return other


@pytest.mark.parametrize("form", ["zst", "zst with tables"])
def test_partial_fills_a_damaged_frame_and_keeps_the_rest(saved, form) -> None:
    made = FORMS[form]()
    put = made.records[2]
    broken = flipped(made.bytes(), put.offset + _stored_end(made, put, 2) - 1)
    done, found = saved(broken, partial=True)
    header, block = partial_record(found, made)
    start, stop = FRAME - len(put.header), 2 * FRAME - len(put.header)
    assert block == put.block[:start] + bytes(FRAME) + put.block[stop:]
    fields = shortened(header)
    assert fields.pop("WARC-Truncated") == "unspecified"
    assert fields.pop("X-Missing-Bytes") == f"{start}-{stop - 1}"
    assert fields == shortened(put.header)
    assert (done.records, done.truncated) == (4, 1)
    [loss] = done.losses
    assert (loss.kept, loss.missing, loss.gaps) == (len(block) - FRAME, FRAME, ((start, stop),))
    assert (loss.uri, loss.offset) == ("http://example.org/2", put.offset)
    assert (done.kept, done.missing, done.lost) == (loss.kept, FRAME, 0)
    assert found.index((header, block)) == 2, "records stay in order"


@pytest.mark.parametrize("place", ["magic number", "frame header", "block header"])
def test_partial_passes_a_frame_whose_end_only_a_table_tells(saved, place) -> None:
    made = FORMS["zst with tables"]()
    put = made.records[2]
    begin = put.offset + _stored_end(made, put, 1)
    at = {"magic number": begin, "frame header": begin + 4, "block header": begin + 10}[place]
    _, found = saved(overwritten(made.bytes(), at, at + 1, b"\xff"), partial=True)
    _, block = partial_record(found, made)
    start, stop = FRAME - len(put.header), 2 * FRAME - len(put.header)
    assert block == put.block[:start] + bytes(FRAME) + put.block[stop:]


def test_partial_without_a_table_keeps_what_comes_before_a_frame_without_end(saved) -> None:
    made = FORMS["zst"]()
    put = made.records[2]
    begin = put.offset + _stored_end(made, put, 1)
    done, found = saved(flipped(made.bytes(), begin), partial=True)
    header, block = partial_record(found, made)
    kept = FRAME - len(put.header)
    assert block == put.block[:kept]
    assert shortened(header)["Content-Length"] == str(kept)
    assert "X-Missing-Bytes" not in shortened(header)
    [loss] = done.losses
    assert (loss.kept, loss.missing, loss.gaps) == (kept, len(put.block) - kept, ())


def test_partial_ends_a_record_before_damage_at_its_end(saved) -> None:
    made = Foreign().record(noise(6 * FRAME), cuts=FRAME).record(b"after").file_table()
    put = made.records[0]
    frames = [it for it in walk(made.bytes()) if it.offset < put.stop and it.is_data]
    damaged = (frames[1].end - 1, frames[-2].end - 1, frames[-1].end - 1)
    done, found = saved(flipped(made.bytes(), *damaged), partial=True)
    header, block = partial_record(found, made)
    assert len(block) == (len(frames) - 2) * FRAME - len(put.header)
    assert shortened(header)["Content-Length"] == str(len(block))
    start = FRAME - len(put.header)
    assert done.losses[0].gaps == ((start, start + FRAME),)


def test_partial_names_no_more_gaps_than_fit_into_a_header(saved, monkeypatch) -> None:
    monkeypatch.setattr(recovering, "MAX_GAPS", 2)
    made = Foreign().record(noise(10 * FRAME), cuts=FRAME).record(b"after").file_table()
    put = made.records[0]
    frames = [it for it in walk(made.bytes()) if it.offset < put.stop and it.is_data]
    done, found = saved(flipped(made.bytes(), *(frames[it].end - 1 for it in (1, 3, 5, 7))), partial=True)
    header, block = partial_record(found, made)
    assert len(block) == 5 * FRAME - len(put.header)
    assert len(done.losses[0].gaps) == 2
    assert shortened(header)["X-Missing-Bytes"].count("-") == 2


def test_gaps_of_an_earlier_recovery_stay_named(saved, tmp_path) -> None:
    made = Foreign().record(noise(6 * FRAME), cuts=FRAME).record(b"after").file_table()
    frames = [it for it in walk(made.bytes()) if it.is_data]
    (tmp_path / "broken").write_bytes(flipped(made.bytes(), frames[1].end - 1))
    first = tmp_path / "first.warc.zst"
    recover(tmp_path / "broken", first, partial=True, frame_size=FRAME)
    again = [it for it in walk(first.read_bytes()) if it.is_data]
    data = flipped(first.read_bytes(), again[4].end - 1)
    first.unlink()
    (tmp_path / "broken").unlink()
    _, found = saved(data, partial=True)
    assert shortened(found[0][0])["X-Missing-Bytes"].count("-") == 2


def _stored_end(made: Foreign, put: object, frames: int) -> int:
    """Return where the first frames of a record end, counted from its beginning."""
    found = [frame for frame in walk(made.bytes()) if frame.offset >= put.offset and frame.is_data]
    return found[frames - 1].end - put.offset


@pytest.mark.parametrize("form", ["zst", "gz", "plain"])
def test_partial_keeps_all_of_a_cut_record(saved, form) -> None:
    made = Foreign().record(b"one").record(noise(300_000)).record(b"three")
    made = {"zst": lambda: made, "gz": made.gzip, "plain": made.plain}[form]()
    put = made.records[1]
    cut = made.bytes()[: put.offset + 200_000]
    done, found = saved(cut, partial=True)
    assert found[0] == contents(made)[0]
    [(header, block)] = found[1:]
    assert put.block.startswith(block)
    # A block of a Zstandard frame comes out whole or not at all.
    assert len(block) > (199_000 if form != "zst" else 130_000)
    assert shortened(header)["Content-Length"] == str(len(block))
    assert (done.records, done.truncated) == (1, 1)


def test_partial_alone_is_enough_for_a_file(saved) -> None:
    made = Foreign().record(LARGE, cuts=FRAME)
    done, found = saved(made.bytes()[:-1], partial=True)
    assert (done.records, done.truncated) == (0, 1)
    # The last frame lacks its checksum's last byte, but not its content.
    assert LARGE.startswith(found[0][1])


def test_partial_drops_only_the_block_digest(saved) -> None:
    fields = {
        "WARC-Block-Digest": labelled("sha1", LARGE),
        "WARC-Payload-Digest": labelled("sha1", LARGE),
        "X-Odd": "kept",
    }
    data, _ = written({"block": LARGE, "headers": fields}, {"block": b"x"}, frame_size=FRAME, tables="none")
    frames = walk(data)
    broken = flipped(data, frames[2].end - 1)
    _, found = saved(broken, partial=True)
    kept = shortened(found[0][0])
    assert "WARC-Block-Digest" not in kept
    assert kept["X-Odd"] == "kept"
    assert kept["WARC-Payload-Digest"] == fields["WARC-Payload-Digest"]
    assert len(found[0][1]) == len(LARGE)


def test_partial_keeps_an_existing_warc_truncated(saved) -> None:
    raw = warc_header(len(LARGE)).replace(b"WARC-Date", b"WARC-Truncated: time\r\nWARC-Date")
    made = Foreign().record(LARGE, header=raw, cuts=FRAME)
    _, found = saved(flipped(made.bytes(), len(made.bytes()) - 1), partial=True)
    assert shortened(found[0][0])["WARC-Truncated"] == "time"
    assert found[0][0].count(b"WARC-Truncated") == 1


def test_damage_in_the_first_frame_leaves_nothing_to_keep(saved) -> None:
    made = some_records()
    put = made.records[2]
    done, found = saved(flipped(made.bytes(), put.offset + _stored_end(made, put, 1) - 1), partial=True)
    assert found == contents(made, 2)
    assert [loss.kept for loss in done.losses] == [None]


def test_without_partial_no_beginning_is_kept(saved) -> None:
    made = some_records()
    put = made.records[2]
    done, found = saved(flipped(made.bytes(), put.stop - 1))
    assert found == contents(made, 2)
    assert (done.truncated, [loss.kept for loss in done.losses]) == (0, [None])


# Nothing is intact, nothing is written.


@pytest.mark.parametrize(
    "data",
    [b"", b"<!doctype html>", noise(5000), bytes(5000), Foreign().dictionary(compressed=True).bytes()],
    ids=["empty", "page", "noise", "zeros", "dictionary only"],
)
@pytest.mark.parametrize("partial", [False, True])
def test_a_file_without_intact_records_makes_no_target(tmp_path, data, partial) -> None:
    target = tmp_path / "saved.warc.zst"
    with pytest.raises(NotFoundError, match="no record in it is intact"):
        recover(BytesSource(data), target, partial=partial)
    assert os.listdir(tmp_path) == []


def test_a_failed_recovery_keeps_an_older_target(tmp_path) -> None:
    target = tmp_path / "saved.warc.zst"
    target.write_bytes(b"older")
    with pytest.raises(NotFoundError):
        recover(b"nothing", target, existing="overwrite")
    assert target.read_bytes() == b"older"
    assert os.listdir(tmp_path) == [target.name]


def test_the_new_file_gets_its_name_when_it_is_finished(tmp_path) -> None:
    target = tmp_path / "saved.warc.zst"
    seen = []

    class Watched(RecordingSource):
        def read(self, start: int, stop: int) -> bytes:
            seen.append(target.exists())
            return super().read(start, stop)

    recover(Watched(some_records().bytes()), target)
    assert seen
    assert not any(seen)
    assert target.exists()


def test_a_source_that_fails_leaves_nothing(tmp_path) -> None:
    class Failing(RecordingSource):
        def read(self, start: int, stop: int) -> bytes:
            if start > 50_000:
                raise SourceError("gone")
            return super().read(start, stop)

    with pytest.raises(SourceError, match="gone"):
        recover(Failing(Foreign().record(noise(3 << 20)).record(b"x").bytes()), tmp_path / "new.warc.zst")
    assert os.listdir(tmp_path) == []


def test_the_damaged_file_is_never_the_target(tmp_path) -> None:
    path, link = tmp_path / "a.warc.zst", tmp_path / "link.warc.zst"
    data = some_records().bytes()[:-9]
    path.write_bytes(data)
    link.symlink_to(path)
    for target in (path, link):
        with pytest.raises(TargetError, match="same file"):
            recover(path, target)
    assert path.read_bytes() == data


def test_the_source_is_unchanged_and_closed(tmp_path) -> None:
    source = RecordingSource(some_records().bytes()[:-9])
    before = source.data
    recover(source, tmp_path / "new.warc.zst", partial=True)
    assert source.data == before
    assert source.closed


def test_a_pipe_is_refused(tmp_path) -> None:
    with pytest.raises(SourceError, match="pipe"):
        recover(Pipe(some_records().bytes()), tmp_path / "new.warc.zst")
    assert os.listdir(tmp_path) == []


def test_a_file_object_can_be_recovered(tmp_path) -> None:
    made = some_records()
    done = recover(io.BytesIO(made.bytes()), tmp_path / "new.warc.zst")
    assert done.records == 5


def test_several_records_in_one_frame_are_separated(saved) -> None:
    member = b"".join(warc_header(3, n) + b"abc" + CRLF2 for n in range(3))
    done, found = saved(gzip_member(member) + gzip_member(member)[:-9])
    assert done.records == len(found) >= 3
    assert found[:3] == [(warc_header(3, n), b"abc") for n in range(3)]


@pytest.mark.parametrize("form", ["zst", "gz", "plain"])
@pytest.mark.parametrize("trailer", [b"", b"\r\n", b"\n\n", CRLF2 * 2])
def test_wrong_line_breaks_after_records_are_mended(saved, form, trailer) -> None:
    made = Foreign().record(b"one", trailer=trailer).record(b"two", trailer=trailer)
    if form != "zst":
        made = made.gzip(trailer=trailer) if form == "gz" else made.plain(trailer=trailer)
    done, found = saved(made.bytes())
    assert found == contents(made)
    assert done.losses == []


def test_a_loss_has_range_and_reason() -> None:
    loss = Loss(10, 30, "damaged", None)
    assert loss.kept is None
    assert Recovery("x", losses=[loss, Loss(50, 51, "cut", "http://example.org/")]).lost == 21
    part = Loss(60, 90, "damaged", None, kept=70, missing=30)
    assert Recovery("x", losses=[loss, part]).lost == 20


def test_a_large_record_is_saved_despite_a_false_table(saved) -> None:
    """The stated sizes of a table must not be used to read a record."""
    made = Foreign().record(b"one").record(LARGE, cuts=FRAME)
    entries = [(stored, content + 1, 0) for stored, content, _ in made.record_entries]
    data = made.bytes() + seek_table(entries)
    done, found = saved(data)
    assert found == contents(made)
    assert done.losses == []


def test_dates_and_http_heads_are_kept(saved) -> None:
    data, _ = written(
        {"type": "response", "block": HTTP_HEAD + b"x", "content_type": "application/http", "date": DATE}
    )
    _, found = saved(data)
    with seekwarc.open(data) as archive:
        assert found == [(record.header.raw, record.block.read()) for record in archive]
    assert f"WARC-Target-URI: {URI}".encode() in found[0][0]


def test_a_target_given_as_text_or_path_is_the_same(tmp_path) -> None:
    data = some_records().bytes()
    recover(data, tmp_path / "a.warc.zst", threads=1)
    recover(data, str(tmp_path / "b.warc.zst"), threads=2)
    assert (tmp_path / "a.warc.zst").read_bytes() == Path(tmp_path / "b.warc.zst").read_bytes()
