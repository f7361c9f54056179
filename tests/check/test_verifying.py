"""Verification: each kind of problem is found in a file that has it, and nothing in a sound file."""

from __future__ import annotations

import base64
import hashlib
import io
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.check.verifying import (
    DAMAGE,
    DEVIATIONS,
    LIMITS,
    MAX_WAITING,
    REMEDIES,
    Problem,
    ProblemSeverity,
    Verification,
    Verifier,
)
from seekwarc.errors import SourceError
from seekwarc.storage.local import BytesSource
from tests.support.foreign import (
    CRLF2,
    DICTIONARY_FRAME,
    EMPTY,
    Foreign,
    checksum,
    cut,
    gzip_member,
    seek_table,
    skippable,
    some_dictionary,
    text,
    warc_header,
    zstd_frame,
)
from tests.support.series import write_series
from tests.support.sources import Pipe, RecordingSource
from tests.support.writing import DATE, HTTP_HEAD, URI, noise, small_dictionary, written

ROOT = Path(__file__).parents[2]
MIB = 1 << 20
FRAME = 64 << 10
BLOCK = text(3000)
LARGE = text(FRAME, seed=1) + noise(FRAME, seed=2)


def examined(data: bytes, **options: object) -> tuple[list[Problem], Verification]:
    verifier = Verifier(data, **options)
    return list(verifier), verifier.result


def codes(data: bytes) -> set[str]:
    return {problem.code for problem in examined(data)[0]}


def flipped(data: bytes, offset: int) -> bytes:
    return data[:offset] + bytes([data[offset] ^ 1]) + data[offset + 1 :]


def header(block: bytes, *fields: bytes, kind: str = "resource") -> bytes:
    lines = b"".join(field + b"\r\n" for field in fields)
    return warc_header(len(block), 1, kind=kind).replace(b"Content-Length", lines + b"Content-Length")


def sha1(data: bytes) -> bytes:
    return b"sha1:" + base64.b32encode(hashlib.sha1(data).digest())


def two(**options: object) -> Foreign:
    """A file with a large record, cut into frames, and a small one."""
    return Foreign().record(LARGE, cuts=FRAME, **options).record(BLOCK)


# One file for each kind of problem.


def with_a_wrong_table(change: Callable | None, **options: object) -> bytes:
    """Make a file whose second table, that of all frames before it, was changed."""
    return two(table=True).file_table(change, **options).record(b"behind").bytes()


def changed_entry(number: int, **by: int) -> Callable:
    def change(entries: list) -> list:
        stored, content, its_checksum = entries[number]
        entries[number] = (
            stored + by.get("stored", 0),
            content + by.get("content", 0),
            its_checksum ^ by.get("checksum", 0),
        )
        return entries

    return change


def swapped(entries: list) -> list:
    return [entries[1], entries[0], *entries[2:]]


def moved_border(entries: list) -> list:
    """Change entries but not their sums, so that the anchor stays right."""
    return changed_entry(1, stored=-9, content=-9)(changed_entry(0, stored=9, content=9)(entries))


def joined_first_two(entries: list) -> list:
    first, second, *others = entries
    return [(first[0] + second[0], first[1] + second[1], 0), *others]


def split_first(entries: list) -> list:
    (stored, content, its_checksum), *others = entries
    return [(8, 0, EMPTY), (stored - 8, content, its_checksum), *others]


def table_in_the_middle() -> Foreign:
    """A record table after the first two frames of three."""
    made = Foreign()
    made.record(LARGE, cuts=FRAME, between=lambda it, number: it.table() if number == 2 else None)
    return made.record(b"end")


def two_tables_that_disagree() -> bytes:
    made = Foreign().record(LARGE, cuts=FRAME, table=True)
    entries = made.record_entries
    table = changed_entry(1, checksum=1)(list(entries[:-1]))
    # Its anchor is the record's beginning only if it lists the first table too.
    made.raw(seek_table([*table, entries[-1]]))
    return made.record(BLOCK).bytes()


def sharing() -> bytes:
    made = Foreign().record(b"one")
    made.frame(warc_header(3, 1) + b"two" + CRLF2 + warc_header(5, 2) + b"three" + CRLF2)
    return made.bytes()


def sharing_gzip() -> bytes:
    return gzip_member(warc_header(3, 1) + b"two" + CRLF2 + warc_header(5, 2) + b"three" + CRLF2)


def with_digest(field: bytes) -> bytes:
    return Foreign().record(BLOCK, header=header(BLOCK, field)).bytes()


BODY = b"5\r\nhello\r\n0\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + BODY


def response_with_payload_digest(digest: bytes) -> bytes:
    field = b"WARC-Payload-Digest: " + digest
    raw = header(CHUNKED, field, kind="response")
    raw = raw.replace(b"text/plain", b"application/http; msgtype=response")
    return Foreign().record(CHUNKED, header=raw).bytes()


def response_with_body(block: bytes, *fields: bytes) -> bytes:
    raw = header(block, *fields, kind="response")
    raw = raw.replace(b"text/plain", b"application/http; msgtype=response")
    return Foreign().record(block, header=raw).bytes()


def damaged_dictionary(*, compressed: bool) -> bytes:
    data = Foreign().dictionary(compressed=compressed).record(BLOCK).bytes()
    return flipped(data, 40 if compressed else 9)


def two_dictionaries() -> Foreign:
    """Make a file whose dictionary frame holds two, of which its record needs the second."""
    frames = zstd_frame(small_dictionary().data) + zstd_frame(some_dictionary().as_bytes())
    made = Foreign(frame_options={"dictionary": some_dictionary(), "name_dictionary": False})
    return made.raw(skippable(DICTIONARY_FRAME, frames)).record(BLOCK, checksum=False)


def dictionary_in_the_middle() -> bytes:
    frame = skippable(DICTIONARY_FRAME, some_dictionary().as_bytes())
    return Foreign().record(b"one").raw(frame).record(b"two").bytes()


def cut_in_the_middle() -> bytes:
    data = two().bytes()
    return data[: len(data) - 100]


def with_header(raw: bytes) -> bytes:
    return Foreign().record(BLOCK, header=raw).bytes()


def table_in_padding() -> bytes:
    """Make a table of the record's frames, and of the head of the padding that it is in."""
    made = Foreign().record(LARGE, cuts=FRAME)
    table = seek_table([*made.record_entries, (8, 0, EMPTY)])
    return made.extension(0x184D2A50, table).bytes()


def table_in_a_block() -> bytes:
    """Make a record one of whose frames, of a block that is not compressed, ends in a table."""
    lure = bytes(500) + seek_table([(100, 100, 1), (30, 3, 2)])
    size = len(lure).to_bytes(4, "little")
    raw = b"\x28\xb5\x2f\xfd\xa0" + size + (len(lure) << 3 | 1).to_bytes(3, "little") + lure
    return zstd_frame(warc_header(len(lure + BLOCK))) + raw + zstd_frame(BLOCK + CRLF2)


CASES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "flipped bit": ("damage", lambda: flipped(two().bytes(), 50_000)),
    "cut": ("damage", cut_in_the_middle),
    "garbage behind": ("damage", lambda: two().bytes() + b"garbage behind the end"),
    "cut skippable frame": ("damage", lambda: two().bytes() + skippable(0x184D2A50, bytes(99))[:-1]),
    "gzip flipped": ("damage", lambda: flipped(two().gzip().bytes(), 70_000)),
    "gzip cut": ("damage", lambda: two().gzip().bytes()[:-1]),
    "plain cut": ("damage", lambda: two().plain().bytes()[:-100]),
    "no header": ("damage", lambda: Foreign().record(BLOCK).frame(b"no record\r\n\r\n").bytes()),
    "dictionary damaged": ("dictionary", lambda: damaged_dictionary(compressed=False)),
    "dictionary damaged, compressed": ("dictionary", lambda: damaged_dictionary(compressed=True)),
    "dictionary and other bytes": ("dictionary", lambda: two_dictionaries().bytes()),
    "dictionary cut": ("dictionary", lambda: Foreign().dictionary(compressed=True).bytes()[:-9]),
    "dictionary too large": ("limit", lambda: skippable(DICTIONARY_FRAME, bytes(9 << 20))),
    "no Frame_Content_Size": ("frame-size", lambda: Foreign().record(BLOCK, content_size=False).bytes()),
    "no Content_Checksum": ("frame-checksum", lambda: Foreign().record(BLOCK, checksum=False).bytes()),
    "no Dictionary_ID": (
        "frame-dictionary",
        lambda: Foreign().dictionary(compressed=True, name=False).record(BLOCK).bytes(),
    ),
    "frame without content without Dictionary_ID": (
        "frame-dictionary",
        lambda: Foreign().dictionary(compressed=True).record(BLOCK).empty(dictionary=None).bytes(),
    ),
    "large window": (
        "frame-window",
        lambda: Foreign().record(bytes(20 << 20), window_log=24, level=1).bytes(),
    ),
    "extension first": ("first-frame", lambda: Foreign().extension().record(BLOCK).bytes()),
    "late dictionary": ("dictionary-place", dictionary_in_the_middle),
    "table, footer": ("table-form", lambda: with_a_wrong_table(None, footer_magic=1)),
    "table, other use of its magic number": (
        "table-other",
        lambda: Foreign().record(BLOCK).extension(0x184D2A5E, b"some data").record(BLOCK).bytes(),
    ),
    "table, reserved bits": ("table-form", lambda: with_a_wrong_table(None, descriptor=0x84)),
    "table, count": ("table-form", lambda: with_a_wrong_table(None, count=3)),
    "table, count that wraps": ("table-form", lambda: with_a_wrong_table(None, count=0x1555_555A)),
    "table, anchor before the file": (
        "table-form",
        lambda: with_a_wrong_table(lambda it: [(99, 0, EMPTY), *it]),
    ),
    "table, anchor within a frame": (
        "table-frames",
        lambda: with_a_wrong_table(changed_entry(0, stored=-1)),
    ),
    "table, stored sizes": ("table-frames", lambda: with_a_wrong_table(moved_border)),
    "table, content size": ("table-frames", lambda: with_a_wrong_table(changed_entry(1, content=1))),
    "table, order": ("table-frames", lambda: with_a_wrong_table(swapped)),
    "table, checksum": ("table-frames", lambda: with_a_wrong_table(changed_entry(2, checksum=1))),
    "table, checksum of a table": ("table-frames", lambda: with_a_wrong_table(changed_entry(3, checksum=1))),
    "table, two frames as one": ("table-frames", lambda: with_a_wrong_table(joined_first_two)),
    "table, one frame as two": ("table-frames", lambda: with_a_wrong_table(split_first)),
    "table in padding": ("table-place", table_in_padding),
    "two tables": ("table-frames", two_tables_that_disagree),
    "table in the middle of its record": ("table-record", lambda: table_in_the_middle().bytes()),
    "table in the middle, and a right one of the file": (
        "table-record",
        lambda: table_in_the_middle().file_table().bytes(),
    ),
    "table without the record's first frame": (
        "table-record",
        lambda: two(table={"change": lambda entries: entries[1:]}).file_table().bytes(),
    ),
    "last record's table last": (
        "table-end",
        lambda: Foreign().record(BLOCK).record(LARGE, cuts=FRAME, table=True).bytes(),
    ),
    "two files joined": (
        "table-end",
        lambda: two(table=True).file_table().append(two(table=True).file_table()).bytes(),
    ),
    "two records in a frame": ("shared", sharing),
    "two records in a gzip member": ("shared", sharing_gzip),
    "no trailer": ("trailer", lambda: Foreign().record(BLOCK, trailer=b"").record(BLOCK).bytes()),
    "long trailer": ("trailer", lambda: Foreign().record(BLOCK, trailer=CRLF2 + b"\r\n").bytes()),
    "another trailer": ("trailer", lambda: Foreign().record(BLOCK, trailer=b"\n\n").bytes()),
    "two lengths": (
        "length",
        lambda: with_header(
            warc_header(3000).replace(b"\r\n\r\n", b"\r\nContent-Length: 2999\r\n\r\n"),
        ),
    ),
    "field missing": ("header", lambda: with_header(warc_header(3000).replace(b"WARC-Date", b"X-Date"))),
    "form of a field": ("header", lambda: with_header(warc_header(3000).replace(b"2026-01", b"2026-13"))),
    "block digest wrong": ("digest", lambda: with_digest(b"WARC-Block-Digest: " + sha1(b"other"))),
    "payload digest wrong": ("digest", lambda: response_with_payload_digest(sha1(b"other"))),
    "payload digest with chunks": ("digest-transferred", lambda: response_with_payload_digest(sha1(BODY))),
    "chunks that break off": ("chunks", lambda: response_with_body(CHUNKED[: -len(b"0\r\n\r\n")])),
    "bytes after the chunks": ("chunks", lambda: response_with_body(CHUNKED + b"more")),
    "digest unknown": ("digest-unknown", lambda: with_digest(b"WARC-Block-Digest: crc99:abcdef")),
    "empty file": ("empty", lambda: b""),
    "no WARC file": ("empty", lambda: b"<!doctype html>"),
    "nothing but a dictionary": ("empty", lambda: Foreign().dictionary(compressed=False).bytes()),
    "nothing but an empty frame": ("empty", lambda: zstd_frame(b"")),
}


def test_every_kind_of_problem_is_tested() -> None:
    assert {code for code, _ in CASES.values()} == set(REMEDIES)


def test_every_kind_has_one_severity() -> None:
    assert len(DAMAGE) + len(DEVIATIONS) + len(LIMITS) == len(REMEDIES)
    assert DAMAGE | DEVIATIONS | LIMITS == REMEDIES


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::seekwarc.FormatWarning")
def test_exactly_the_one_problem_is_found(name) -> None:
    code, make = CASES[name]
    found, result = examined(make())
    assert {problem.code for problem in found} == {code}
    severity = "damage" if code in DAMAGE else "limit" if code in LIMITS else "deviation"
    assert {problem.severity for problem in found} == {ProblemSeverity(severity)}
    assert {problem.remedy for problem in found} == {REMEDIES[code]}
    assert result.codes == {code: len(found)}
    assert result.damages == (len(found) if code in DAMAGE else 0)
    assert result.deviations == (len(found) if code in DEVIATIONS else 0)
    assert result.is_sound is (code in DEVIATIONS)


OF_THE_WHOLE_FILE = {"empty", "dictionary", "limit", "frame-dictionary", "first-frame", "table-end"}


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, (code, _) in CASES.items()
        if code not in OF_THE_WHOLE_FILE and "gzip" not in name and "before the file" not in name
    ],
)
@pytest.mark.filterwarnings("ignore::seekwarc.FormatWarning")
def test_a_problem_after_damage_is_found(name) -> None:
    code, make = CASES[name]
    data = make()
    damaged = flipped(zstd_frame(warc_header(3000) + noise(3000) + CRLF2), 1000)
    found = {problem.code for problem in examined(damaged + data)[0]}
    assert found >= {code, "damage"}


@pytest.mark.parametrize(
    "name",
    [name for name, (code, _) in CASES.items() if code != "empty"],
)
@pytest.mark.filterwarnings("ignore::seekwarc.FormatWarning")
def test_a_problem_is_reported_with_its_offset(name) -> None:
    code, make = CASES[name]
    data = make()
    for problem in examined(data)[0]:
        assert 0 <= problem.offset < len(data)
        assert problem.source == "<bytes>"
        assert problem.message
        if code in {"digest", "digest-unknown", "trailer", "header", "shared"}:
            assert problem.record_id is not None
            assert problem.record_id.startswith("urn:uuid:00000000-0000-4000-8000-")


# What is said.


def test_a_frame_is_named_by_its_offset() -> None:
    made = Foreign().record(b"one").record(b"two", checksum=False).record(b"three", content_size=False)
    places = [(problem.code, problem.offset) for problem in examined(made.bytes())[0]]
    offsets = [put.offset for put in made.records]
    assert places == [("frame-checksum", offsets[1]), ("frame-size", offsets[2])]


def test_damage_names_the_record_and_how_much_is_lost() -> None:
    made = Foreign().record(b"one").record(LARGE, cuts=FRAME).record(b"three")
    put = made.records[1]
    [problem], result = examined(flipped(made.bytes(), put.stop - 1000))
    assert problem.offset == put.offset
    assert f"{put.length} bytes up to {put.stop} cannot be read (http://example.org/1)" in problem.message
    assert result.lost == put.length
    assert result.records == 2


def test_an_intact_record_before_damage_is_not_lost() -> None:
    made = Foreign()
    for number in range(5):
        made.record(text(500, seed=number))
    put = made.records[2]
    [problem], result = examined(flipped(made.bytes(), put.offset + 60))
    assert problem.offset == put.offset
    assert (result.records, result.lost) == (4, put.length)


def test_a_right_table_after_damage_is_right() -> None:
    """It lists frames that could not be read, so it cannot be checked."""
    made = two(table=True).record(BLOCK).file_table()
    found, result = examined(flipped(made.bytes(), made.records[1].offset + 100))
    assert [problem.code for problem in found] == ["damage"]
    assert result.records == 2


def test_tables_before_damage_are_counted() -> None:
    made = two(table=True).record(LARGE, cuts=FRAME, table=True).file_table().record(BLOCK)
    _, result = examined(flipped(made.bytes(), made.records[3].offset + 100))
    assert result.tables == 3


@pytest.mark.parametrize("form", ["gzip", "plain"])
def test_damage_in_other_forms_names_the_record(form) -> None:
    made = getattr(Foreign().record(b"one").record(LARGE).record(b"three"), form)()
    put = made.records[1]
    place = put.offset + 60_000 if form == "gzip" else put.offset
    [problem], result = examined(flipped(made.bytes(), place))
    assert (problem.code, problem.offset) == ("damage", put.offset)
    assert result.records == 2
    assert result.lost == put.length


def test_every_wrong_frame_is_reported() -> None:
    made = Foreign().record(LARGE, cuts=10_000, content_size=False)
    found, result = examined(made.bytes())
    assert len(found) == result.codes["frame-size"] == len(made.entries)
    assert result.records == 1


def test_all_problems_of_one_record_are_reported() -> None:
    block = b"a block"
    raw = header(block, b"WARC-Block-Digest: " + sha1(b"x")).replace(b"WARC-Date", b"X-Date")
    data = Foreign().record(block, header=raw, trailer=b"\r\n", checksum=False).bytes()
    assert codes(data) == {"digest", "header", "trailer", "frame-checksum"}


def test_chunks_of_a_record_that_says_it_is_a_part_may_break_off() -> None:
    whole, part = CHUNKED, CHUNKED[: -len(b"0\r\n\r\n")]
    assert codes(response_with_body(whole)) == set()
    assert codes(response_with_body(part)) == {"chunks"}
    assert codes(response_with_body(part, b"WARC-Truncated: disconnect")) == set()
    assert codes(response_with_body(part, b"WARC-Segment-Number: 1")) == set()


def test_deviations_leave_a_file_sound() -> None:
    raw = warc_header(1).replace(b"WARC-Date", b"X-Date")
    data = Foreign().record(b"x", header=raw, checksum=False, content_size=False, trailer=b"\r\n").bytes()
    _, result = examined(data)
    assert result.is_sound
    assert {kind.first.code for kind in result.of(ProblemSeverity.DEVIATION)} == {
        "header",
        "frame-checksum",
        "frame-size",
        "trailer",
    }


@pytest.mark.parametrize("size", [True, False])
@pytest.mark.parametrize("check", [True, False])
def test_a_compressed_dictionary_needs_size_and_checksum(size, check) -> None:
    dictionary = some_dictionary()
    compressed = zstd_frame(dictionary.as_bytes(), content_size=size, checksum=check)
    record = warc_header(3) + b"abc" + CRLF2
    data = skippable(DICTIONARY_FRAME, compressed) + zstd_frame(record, dictionary=dictionary)
    verifier = Verifier(data)
    found = [(it.code, it.offset) for it in verifier]
    assert found == [("frame-size", 0)] * (not size) + [("frame-checksum", 0)] * (not check)
    assert verifier.result.is_sound
    assert verifier.result.records == 1


@pytest.mark.parametrize("form", ["plain", "gz", "zst"])
def test_warnings_of_the_reader_are_counted(form) -> None:
    """Whatever `Record.problem` says of a record, `verify` counts for its file."""
    make = {"plain": bytes, "gz": gzip_member, "zst": zstd_frame}[form]

    def record(number: int, stated: int = 300) -> bytes:
        return warc_header(stated, number) + text(300, seed=number) + CRLF2

    odd_line = record(1).replace(b"WARC/1.1\r\n", b"WARC/1.1\r\r\n", 1)
    odd = {
        "a version line": (make(record(0)) + make(odd_line) + make(record(2)), True),
        "a length too small": (make(record(0)) + make(record(1, 290)) + make(record(2)), False),
        "a length too large": (make(record(0)) + make(record(1, 310)) + make(record(2)), False),
        "a length beyond the end": (make(record(0)) + make(record(1, 10**9)) + make(record(2)), False),
    }
    if form != "plain":
        odd["one unit"] = (make(record(0) + record(1)) + make(record(2)), True)
    if form != "zst":
        odd["a cut"] = ((make(record(0)) + make(record(1)))[:-30], False)
    for name, (data, is_sound) in odd.items():
        with warnings.catch_warnings(), seekwarc.open(data) as archive:
            warnings.simplefilter("ignore")
            assert any(it.problem for it in list(archive)), name
        verifier = Verifier(data)
        assert list(verifier), name
        assert verifier.result.is_sound is is_sound, name
        assert bool(verifier.result.damages) is not is_sound, name
        assert verifier.result.damages or verifier.result.deviations, name


def test_deviations_of_headers_are_counted_by_rule() -> None:
    made = Foreign()
    for _ in range(30):
        made.record(b"x", header=warc_header(1).replace(b"WARC-Date", b"X-Date"))
    for _ in range(20):
        made.record(b"x", header=warc_header(1).replace(b"2026-01", b"2026-13"))
    _, result = examined(made.bytes())
    kinds = result.of(ProblemSeverity.DEVIATION)
    assert [(kind.first.rule, kind.count) for kind in kinds] == [
        ("WARC-Date missing", 30),
        ("WARC-Date form", 20),
    ]
    assert [kind.first.offset for kind in kinds] == [made.records[0].offset, made.records[30].offset]


def test_hostile_fields_do_not_make_more_kinds() -> None:
    made = Foreign()
    for number in range(500):
        raw = warc_header(1).replace(b"WARC-Type: resource", b"WARC-Type: made-up-%d" % number)
        made.record(b"x", header=raw.replace(b"2026-01", b"%d-13" % number))
    _, result = examined(made.bytes())
    assert len(result.kinds) < 10


def test_the_same_length_twice_is_a_deviation() -> None:
    raw = warc_header(3000).replace(b"\r\n\r\n", b"\r\nContent-Length: 3000\r\n\r\n")
    assert examined(with_header(raw))[1].is_sound


@pytest.mark.parametrize("kind", ["response", "revisit"])
def test_a_block_digest_of_the_body_alone_is_a_deviation(kind) -> None:
    """Webrecorder wrote them: the body is proved to be whole."""
    body = b"the body" if kind == "response" else b""
    block = HTTP_HEAD + body
    fields = [b"WARC-Block-Digest: " + sha1(body), b"WARC-Payload-Digest: " + sha1(body)]
    if kind == "revisit":
        fields += [
            b"WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
            b"WARC-Truncated: length",
        ]
    raw = header(block, *fields, kind=kind).replace(b"text/plain", b"application/http; msgtype=response")
    assert codes(Foreign().record(block, header=raw).bytes()) == {"digest-transferred"}
    damaged = Foreign().record(HTTP_HEAD + body + b"!", header=header(block + b"!", *fields, kind=kind))
    assert "digest" in codes(damaged.bytes())


def test_a_table_that_agrees_but_a_frame_that_does_not_is_damage() -> None:
    """What the frame states and what it holds differ, and the table repeats what it states."""
    frame = bytearray(zstd_frame(warc_header(5) + b"hello" + CRLF2))
    frame[-1] ^= 1
    content = len(warc_header(5)) + 9
    table = seek_table([(len(frame), content, int.from_bytes(frame[-4:], "little"))])
    assert "damage" in codes(bytes(frame) + table)


def test_limits_are_obeyed() -> None:
    data = Foreign().record(LARGE * 30, window_log=21).bytes()
    assert codes(data) == set()
    found, result = examined(data, max_window_size=1 << 20)
    assert [problem.severity for problem in found if problem.code == "limit"] == ["limit"]
    assert (result.damages, result.lost, result.is_sound) == (0, 0, False)
    data = Foreign().dictionary(compressed=True).record(b"x").bytes()
    found, result = examined(data, max_dictionary_size=99)
    assert {problem.code for problem in found} == {"limit"}
    assert (result.damages, result.is_sound) == (0, False)


@pytest.mark.parametrize("is_stated", [False, True], ids=["a window of 2 GiB", "a window above 1 TiB"])
def test_a_window_above_the_limit_is_no_damage(is_stated: bool) -> None:
    content = warc_header(5) + b"hello" + CRLF2
    window = 0xFF if is_stated else 21 << 3
    raw = b"\x28\xb5\x2f\xfd\0" + bytes([window]) + (len(content) << 3 | 1).to_bytes(3, "little") + content
    data = Foreign().record(b"one").bytes() + raw + Foreign().record(b"three").bytes()
    found, result = examined(data)
    limits = [problem for problem in found if problem.severity is ProblemSeverity.LIMIT]
    assert [problem.code for problem in limits] == ["limit"]
    way_out = "no decoder takes more than 2147483648" if is_stated else "raise max_window_size (--max-window)"
    assert way_out in limits[0].message
    assert ("--max-window" in limits[0].message) is not is_stated
    assert (result.records, result.damages, result.lost, result.is_sound) == (2, 0, 0, False)
    if not is_stated:
        found, result = examined(data, max_window_size=2 << 30)
        assert (result.records, result.is_sound) == (3, True)


# Sound files.


def records(writer: seekwarc.Writer) -> int:
    """Write records of every kind that one file can have; return how many digests they state."""
    writer.write_warcinfo({"software": "tests"}, filename="x.warc.zst")
    payload = text(200_000, seed=3)
    writer.write_response(URI, HTTP_HEAD + payload, date=DATE)
    writer.write_response(URI + "chunked", CHUNKED, date=DATE)
    writer.write("resource", target_uri=URI + "empty", block=b"", date=DATE, content_type="text/plain")
    writer.write("metadata", target_uri=URI, block=b"a: b\r\n", content_type="application/warc-fields")
    writer.write("conversion", target_uri=URI, block=noise(100_000), content_type="image/png")
    writer.write_response(URI + "last", HTTP_HEAD + BLOCK, date=DATE)
    return 7 + 3


@pytest.mark.parametrize("tables", ["large", "every", "none"])
@pytest.mark.parametrize("dictionary", ["none", "raw", "compressed"])
@pytest.mark.parametrize("frame_size", [FRAME, MIB])
def test_what_seekwarc_writes_is_sound(tables, dictionary, frame_size) -> None:
    target = io.BytesIO()
    with seekwarc.Writer(
        target,
        tables=tables,
        frame_size=frame_size,
        dictionary=None if dictionary == "none" else small_dictionary(),
        compress_dictionary=dictionary == "compressed",
    ) as writer:
        digests = records(writer)
    found, result = examined(target.getvalue())
    # That is the price of this mode (spec-notes, annex A.6).
    assert [problem.code for problem in found] == (["table-end"] if tables == "every" else [])
    assert result.is_sound
    assert (result.records, result.digests, result.lost) == (7, digests, 0)
    large = 2 if frame_size == FRAME else 0
    assert result.tables == {"large": large + 1, "every": 7, "none": 0}[tables]
    assert (result.compression, result.stored_size) == ("zst", len(target.getvalue()))


@pytest.mark.parametrize("tables", ["large", "every"])
def test_a_single_record_with_its_table_is_sound(tables) -> None:
    data, _ = written({"block": LARGE, "content_type": "text/plain"}, frame_size=FRAME, tables=tables)
    found, result = examined(data)
    assert (found, result.records, result.tables) == ([], 1, 1)


@pytest.mark.parametrize("form", ["gzip", "plain"])
def test_sound_files_of_other_forms_have_no_problem(form) -> None:
    made = getattr(two().record(b""), form)()
    found, result = examined(made.bytes())
    assert found == []
    assert (result.records, result.tables) == (3, 0)
    assert result.compression == {"gzip": "gz", "plain": "none"}[form]


SOUND = {
    "by hand": two,
    "with tables": lambda: two(table=True).file_table(),
    "tables without checksums": lambda: two(table={"checksums": False}).file_table(checksums=False),
    "unused bits of a table": lambda: two(table={"descriptor": 0x83}),
    "extensions": lambda: two(between=lambda it, n: it.extension(0x184D2A51, b"?")).extension(),
    "a foreign frame with a table's magic number and room": lambda: two().extension(0x184D2A5F, bytes(30)),
    "frames without content": lambda: Foreign().record(BLOCK).empty().record(BLOCK).empty(),
    "raw dictionary": lambda: Foreign().dictionary(compressed=False).record(LARGE, cuts=FRAME, table=True),
    "dictionary and file table": lambda: (
        Foreign().dictionary(compressed=True).record(LARGE, cuts=FRAME, table=True).file_table()
    ),
    "two file tables": lambda: two(table=True).file_table().record(BLOCK).file_table(),
    "header in many frames": lambda: Foreign().record(BLOCK, cuts=50).record(BLOCK, cuts=7),
    "one huge frame": lambda: Foreign().record(LARGE * 300, window_log=22),
}


@pytest.mark.parametrize("name", SOUND)
def test_everything_the_formats_allow_is_sound(name) -> None:
    made = SOUND[name]()
    found, result = examined(made.bytes())
    # The last record's table may be the last frame if a dictionary comes before it.
    assert [problem.code for problem in found if problem.code != "table-end"] == []
    assert result.is_sound
    assert result.records == len(made.records)


def test_a_table_of_two_records_is_not_the_first_one_s() -> None:
    made = Foreign().record(BLOCK).record(LARGE, cuts=FRAME).record(BLOCK)
    entries = list(made.entries)
    data = made.bytes() + seek_table(entries) + two().bytes() + seek_table(two().entries)
    found, result = examined(data)
    assert [problem.code for problem in found] == ["table-end"]
    assert result.tables == 2


def test_revisits_are_not_reported() -> None:
    target = io.BytesIO()
    with seekwarc.Writer(target, dedup=seekwarc.Duplicates()) as writer:
        for number in range(3):
            writer.write_response(f"{URI}{number}", HTTP_HEAD + BLOCK, date=DATE)
    with seekwarc.open(target.getvalue()) as archive:
        assert [record.type for record in archive] == ["response", "revisit", "revisit"]
    found, result = examined(target.getvalue())
    assert (found, result.records) == ([], 3)
    # The payload's digest is that of another record, so it cannot be checked here.
    assert result.digests == 2 + 1 + 1


def test_segments_are_not_reported(tmp_path) -> None:
    typed = {"content_type": "text/plain"}
    write_series(tmp_path, {"block": noise(900_000), **typed}, {"block": b"small", **typed})
    files = sorted(tmp_path.iterdir())
    assert len(files) > 2
    for file in files:
        verifier = Verifier(file)
        assert list(verifier) == []
        assert verifier.result.records


# How it is read.


def test_paths_bytes_files_and_sources_can_be_verified(tmp_path) -> None:
    data = flipped(two().bytes(), 50_000)
    path = tmp_path / "x.warc.zst"
    path.write_bytes(data)
    targets = [path, str(path), data, io.BytesIO(data), BytesSource(data), RecordingSource(data)]
    said = [[(p.code, p.offset, p.message) for p in Verifier(target)] for target in targets]
    assert all(each == said[0] for each in said)
    assert len(said[0]) == 1


def test_a_pipe_is_refused() -> None:
    with pytest.raises(SourceError):
        list(Verifier(Pipe(two().bytes())))


def test_the_source_is_closed_at_the_end() -> None:
    source = RecordingSource(two().bytes())
    assert list(Verifier(source)) == []
    assert source.closed


def test_the_source_is_closed_when_iteration_stops() -> None:
    made = Foreign()
    for _ in range(2000):
        made.record(BLOCK, checksum=False)
    source = RecordingSource(made.bytes())
    problems = iter(Verifier(source))
    assert next(problems).code == "frame-checksum"
    problems.close()
    assert source.closed


def test_the_file_is_read_once() -> None:
    source = RecordingSource(Foreign().record(noise(5 * MIB), cuts=MIB).record(LARGE, cuts=FRAME).bytes())
    assert list(Verifier(source)) == []
    assert source.bytes_asked <= source.size + 4 * MIB


def test_problems_are_yielded_as_they_are_found() -> None:
    source = RecordingSource(flipped(Foreign().record(BLOCK).record(noise(20 * MIB), cuts=MIB).bytes(), 100))
    problems = iter(Verifier(source))
    assert next(problems).code == "damage"
    assert source.bytes_asked < 15 * MIB
    problems.close()


def test_progress_is_reported() -> None:
    watched = []

    def watch(source, label):
        watched.append((source.name, label))
        return source

    assert list(Verifier(two().bytes(), on_progress=watch)) == []
    assert [name for name, _ in watched] == ["<bytes>"]


MEMORY = """
import sys
import warnings
from seekwarc.check.verifying import Verifier

verifier = Verifier(sys.argv[1])
problems = list(verifier)
with open("/proc/self/status") as status:
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) // 1024
print(verifier.result.records, verifier.result.digests, len(problems), peak)
"""
MAKE = """
import sys
import warnings
import seekwarc
import zstandard
from tests.support.foreign import warc_header
from tests.support.writing import URI, Repeated, noise, text

size = 300 << 20
stream = Repeated(text(3 << 20) + noise(1 << 20), size)
if sys.argv[2] == "frames":
    with seekwarc.Writer(sys.argv[1], level=1) as writer:
        writer.write("resource", target_uri=URI, block=stream, content_type="text/plain")
else:
    whole = warc_header(size), b"\\r\\n\\r\\n"
    total = size + sum(map(len, whole))
    if sys.argv[2] == "one frame":
        options = zstandard.ZstdCompressionParameters.from_level(1, write_checksum=True)
        codec = zstandard.ZstdCompressor(compression_params=options)
        out = codec.compressobj(size=total)
    else:
        import zlib
        out = zlib.compressobj(1, zlib.DEFLATED, 31)
    with open(sys.argv[1], "wb") as file:
        file.write(out.compress(whole[0]))
        while data := stream.read(1 << 20):
            file.write(out.compress(data))
        file.write(out.compress(whole[1]) + out.flush())
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="tells the memory of Linux processes")
@pytest.mark.parametrize("form", ["frames", "one frame"])
def test_memory_does_not_grow_with_a_record(tmp_path, form) -> None:
    path = tmp_path / "large"

    def run(script: str, *words: object) -> str:
        command = [sys.executable, "-c", script, *map(str, words)]
        return subprocess.run(command, check=True, capture_output=True, cwd=ROOT, text=True).stdout

    run(MAKE, path, form)
    records, digests, problems, peak = map(int, run(MEMORY, path).split())
    assert (records, digests, problems) == (1, 1 if form == "frames" else 0, 0)
    assert peak < 120, f"{peak} MiB"


@pytest.mark.slow
def test_damage_anywhere_is_reported_or_harmless() -> None:
    made = Foreign().record(b"one", table=True).record(text(300), cuts=250, table=True).file_table()
    data = made.bytes()
    for place in range(len(data)):
        found, result = examined(flipped(data, place))
        if found:
            continue
        assert result.records == 2
        with seekwarc.open(flipped(data, place)) as archive:
            got = [(record.header.raw, record.block.read()) for record in archive]
        assert got == [(put.header, put.block) for put in made.records]


def test_a_table_over_any_range_is_compared() -> None:
    """Among all tables that list consecutive frames of a file, only right ones pass."""
    content = warc_header(len(LARGE)) + LARGE + CRLF2
    frames = [zstd_frame(piece) for piece in cut(content, 40_000)]
    entries = [
        (len(frame), len(piece), checksum(piece))
        for frame, piece in zip(frames, cut(content, 40_000), strict=True)
    ]
    assert len(frames) == 4
    for first in range(4):
        for wrong in (0, 1):
            part = entries[first:]
            part[-1] = (part[-1][0], part[-1][1], part[-1][2] ^ wrong)
            found = codes(b"".join(frames) + seek_table(part) + zstd_frame(warc_header(1) + b"x" + CRLF2))
            if wrong:
                assert found == {"table-frames"}
            else:
                assert found == ({"table-record"} if first else set())


def test_a_table_at_the_end_of_a_block_is_found() -> None:
    found, _ = examined(table_in_a_block())
    # Only a frame without a checksum can end so.
    assert {problem.code for problem in found} == {"table-place", "frame-checksum"}


def test_thousands_of_problems_are_counted() -> None:
    made = two()
    for _ in range(25_000):
        made.extension(DICTIONARY_FRAME)
    found, result = examined(made.record(b"behind").bytes())
    misplaced = [problem for problem in found if problem.code == "dictionary-place"]
    assert result.codes["dictionary-place"] == 25_000
    # Those found while the record before was checked, and those after it.
    assert len(misplaced) <= 2 * MAX_WAITING
    assert result.records == 3


def test_severities_may_be_given_as_text() -> None:
    data = bytearray(two().bytes())
    data[-3] ^= 1
    result = tools.verify(bytes(data))
    assert result.of("damage") == result.of(ProblemSeverity.DAMAGE) != []
