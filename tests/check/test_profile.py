"""Which class of writers a file meets: each requirement broken on purpose, and what is written here."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterator

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

import seekwarc
from seekwarc import tools
from seekwarc.check import profile as profile_module
from seekwarc.check.profile import ProfileCheck
from seekwarc.check.requirements import REQUIREMENTS, Profile
from seekwarc.check.verifying import Problem, Verifier
from tests.support.foreign import (
    DICTIONARY_FRAME,
    Foreign,
    skippable,
    some_dictionary,
    text,
    warc_header,
    zstd_frame,
)
from tests.support.vectors import Vector, vectors
from tests.support.writing import HTTP_HEAD, KIB, RESPONSE, header_for, noise, small_dictionary, written

FRAME = 64 * KIB
BIG = text(3 * FRAME)
HUGE = b"a" * 17_000_000
VECTORS = vectors()
ABOVE_LIMITS = {"claimed-dictionary", "claimed-dictionary-frame"}
"""What these dictionaries claim is not read, so nothing is known of the files."""
MODES = ("large", "every", "none")


def checked(target: bytes | io.BytesIO, **options: int) -> tuple[list[Problem], Profile | None]:
    check = ProfileCheck()
    return list(Verifier(target, listener=check, **options)), check.profile


def profile_of(data: bytes) -> Profile:
    _, profile = checked(data)
    assert profile is not None
    return profile


def broken(profile: Profile) -> set[str]:
    return {it.requirement.number for it in profile.broken}


def advice(profile: Profile) -> set[str]:
    return {it.requirement.number for it in profile.advice}


@pytest.mark.parametrize(
    "vector", [it for it in VECTORS if it.name not in ABOVE_LIMITS], ids=lambda vector: vector.name
)
def test_samples_break_what_they_are_said_to_break(vector: Vector) -> None:
    profile = profile_of(vector.data)
    assert (profile.mode, profile.judged_by) == (vector.mode, vector.writes)
    assert broken(profile) == set(vector.breaks)


# Each requirement, broken on purpose.


def cut_record(made: Foreign, block: bytes = BIG, *places: int, kind: str | None = None) -> Foreign:
    """Put a record that is cut after its header and at places of its block."""
    header = (
        warc_header(len(block), len(made.records))
        if kind is None
        else header_for(len(block), content_type=kind)
    )
    cuts = tuple(len(header) + place for place in (0, *places))
    return made.record(block, header=header, cuts=cuts)


def small_first(**options: object) -> Foreign:
    return Foreign(**options).record(b"small")


def http_not_alone() -> Foreign:
    return cut_record(small_first(), HTTP_HEAD + BIG, kind=RESPONSE).table().file_table()


def no_frame_size() -> Foreign:
    return cut_record(small_first(), HUGE, 3_000_000, 8_900_000).table().file_table()


def trailer_alone() -> Foreign:
    return cut_record(small_first(), BIG, FRAME, len(BIG)).table().file_table()


def trailer_and_last_byte_apart() -> Foreign:
    made = small_first()
    header = warc_header(len(BIG), 1)
    return (
        made.record(BIG, header=header, cuts=(len(header), len(header) + len(BIG) + 2)).table().file_table()
    )


def two_frames_over_the_limit() -> Foreign:
    return Foreign().record(HUGE)


def table_after_padding() -> Foreign:
    return cut_record(small_first(), BIG, FRAME).extension().table().file_table()


def small_in_one_frame_with_table() -> Foreign:
    return Foreign().record(b"one").record(b"two", table=True).record(b"three")


def part_of_head_in_first_frame(first: Foreign) -> Foreign:
    block = HTTP_HEAD + BIG
    header = header_for(len(block), content_type=RESPONSE)
    return first.record(block, header=header, cuts=(len(header) + 20,)).table().record(b"last").file_table()


def every(*, dictionary: bool = False) -> Foreign:
    made = Foreign()
    if dictionary:
        made.dictionary(compressed=False)
    return cut_record(cut_record(made, b"small").table(), BIG, FRAME).table()


def small_id() -> Foreign:
    data = bytearray(some_dictionary().as_bytes())
    data[4:8] = struct.pack("<I", 5)
    return (
        Foreign()
        .dictionary(compressed=False, dictionary=zstandard.ZstdCompressionDict(bytes(data)))
        .record(b"a")
    )


BREAKING: dict[str, tuple[Callable[[], Foreign], set[str]]] = {
    "W1": (lambda: part_of_head_in_first_frame(small_first()), {"W1"}),
    "W13": (lambda: part_of_head_in_first_frame(Foreign()), {"W13"}),
    "W2": (http_not_alone, {"W2"}),
    "W3": (no_frame_size, {"W3"}),
    "W4": (trailer_alone, {"W4"}),
    "W4, trailer in two frames": (trailer_and_last_byte_apart, {"W4"}),
    "W5": (table_after_padding, {"W5"}),
    "W6": (lambda: small_in_one_frame_with_table().file_table(), {"W6"}),
    "W10": (two_frames_over_the_limit, {"W10"}),
    "W16": (lambda: small_first().extension(data=b"text").extension(data=b"more text"), {"W16"}),
    "W20": (lambda: cut_record(small_first(), BIG).table(checksums=False).file_table(), {"W20"}),
    "W24": (lambda: every().record(b"one frame", table=True), {"W24"}),
    "W25": (lambda: every().file_table(), {"W25"}),
    "W26": (small_in_one_frame_with_table, {"W26"}),
    "W31": (small_id, {"W31"}),
    "W32": (lambda: every(dictionary=True), {"W32"}),
    "W35": (lambda: Foreign().record(b"a", header=warc_header(1).replace(b"WARC/", b"warc/", 1)), {"W35"}),
    "W33": (lambda: small_first().file_table().file_table(), {"W33"}),
}


@pytest.mark.parametrize("case", BREAKING)
def test_what_is_broken_on_purpose_is_told(case: str) -> None:
    make, expected = BREAKING[case]
    profile = profile_of(make().bytes())
    assert broken(profile) | advice(profile) == expected
    must = {number for number in expected if REQUIREMENTS[number].is_must}
    assert broken(profile) == must
    assert (profile.mode is None) == bool(must)


def test_too_long_a_table_is_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    data = cut_record(small_first(), BIG, FRAME).table().file_table().bytes()
    # The table has three entries: of the header, a frame of the block, and the rest.
    monkeypatch.setattr(profile_module, "MAX_RECORD_TABLE", 3)
    assert advice(profile_of(data)) == set()
    monkeypatch.setattr(profile_module, "MAX_RECORD_TABLE", 2)
    assert advice(profile_of(data)) == {"W12"}


def test_a_file_of_too_many_frames_ends_in_padding(monkeypatch: pytest.MonkeyPatch) -> None:
    made = cut_record(small_first(), BIG, FRAME).table()
    assert broken(profile_of(made.bytes())) == {"W22"}
    monkeypatch.setattr(profile_module, "MAX_ENTRIES", 4)
    profile = profile_of(made.bytes())
    assert (profile.judged_by, broken(profile)) == ("large", {"W34"})
    profile = profile_of(made.extension().bytes())
    assert (profile.mode, broken(profile)) == ("large", set())


@pytest.mark.parametrize("has_table", [False, True], ids=["only record tables", "only a file table"])
def test_one_record_more_does_not_change_the_mode_that_a_file_is_judged_by(has_table: bool) -> None:
    for count in range(1, 5):
        made = small_first()
        for _ in range(count):
            made = cut_record(made, BIG, FRAME)
            made = made if has_table else made.table()
        profile = profile_of((made.file_table() if has_table else made).bytes())
        assert (profile.judged_by, broken(profile)) == ("large", {"W21" if has_table else "W22"})


def test_every_requirement_on_files_is_broken_by_some_test() -> None:
    tried = {number for vector in VECTORS for number in vector.breaks} | {"W12", "W34"}
    tried |= {number for _, expected in BREAKING.values() for number in expected}
    assert set(REQUIREMENTS) - tried == {"W28"}, "which is a requirement on tools"


def test_count_and_first_place_are_told() -> None:
    made = Foreign().record(b"a")
    places = []
    for number in range(3):
        places.append(len(made.data))
        made.record(b"%d" % number, content_size=False)
    [found] = profile_of(made.bytes()).broken
    assert (found.requirement.number, found.count, found.offset) == ("W7", 3, places[0])


DICTIONARY = some_dictionary().as_bytes()
NOT_ONE_DICTIONARY = {
    "nothing": b"",
    "other bytes": b"raw content is no dictionary",
    "no ID": DICTIONARY[:4] + bytes(4) + DICTIONARY[8:],
    "empty frame": zstd_frame(b""),
    "two frames": zstd_frame(DICTIONARY) + zstd_frame(DICTIONARY),
    "bytes after the frame": zstd_frame(DICTIONARY) + b"more",
    "other bytes, compressed": zstd_frame(b"raw content is no dictionary"),
    "no ID, compressed": zstd_frame(DICTIONARY[:4] + bytes(4) + DICTIONARY[8:]),
    "a frame that is cut off": zstd_frame(DICTIONARY)[:-1],
    "a frame that names a dictionary": zstd_frame(DICTIONARY, dictionary=some_dictionary()),
}


@pytest.mark.parametrize("data", NOT_ONE_DICTIONARY.values(), ids=NOT_ONE_DICTIONARY)
def test_a_dictionary_frame_that_does_not_hold_one_breaks_w30(data: bytes) -> None:
    stored = skippable(DICTIONARY_FRAME, data) + Foreign().record(b"a").bytes()
    [problem] = Verifier(stored)
    assert (problem.code, problem.offset, problem.requirement) == ("dictionary", 0, "W30")
    profile = profile_of(stored)
    assert (broken(profile), profile.mode) == ({"W30"}, None)


def test_a_dictionary_that_cannot_be_loaded_for_another_reason_does_not_break_w30() -> None:
    data = Foreign().dictionary(compressed=False).record(b"a").bytes()
    assert broken(profile_of(data[:1000])) == {"W27"}
    [problem], profile = checked(data, max_dictionary_size=1000)
    assert (problem.code, problem.requirement) == ("limit", "")
    assert profile is not None
    assert (profile.broken, profile.mode) == ((), None)


# What is written here.

BLOCKS = [text(300_000), b"small", b"", noise(500_000), text(FRAME), text(FRAME + 1), b"last"]


def records(first: int) -> Iterator[dict]:
    for block in BLOCKS[first:] + BLOCKS[:first]:
        yield {"block": block}
    yield {"type": "response", "block": HTTP_HEAD + text(200_000), "content_type": RESPONSE}
    yield {"type": "response", "block": HTTP_HEAD + b"page", "content_type": RESPONSE}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("with_dictionary", [False, True])
@pytest.mark.parametrize(
    "first", [0, *(pytest.param(it, marks=pytest.mark.slow) for it in range(1, len(BLOCKS)))]
)
def test_files_of_the_writer_meet_their_class(mode: str, with_dictionary: bool, first: int) -> None:
    dictionary = small_dictionary() if with_dictionary else None
    data, _ = written(*records(first), tables=mode, frame_size=FRAME, dictionary=dictionary)
    profile = profile_of(data)
    assert (profile.mode, profile.broken) == (mode, ())
    assert advice(profile) == ({"W32"} if with_dictionary and mode == "every" else set())


@pytest.mark.parametrize("first", [0, 3])
def test_http_records_may_come_first(first: int) -> None:
    several = list(records(0))
    order = several[-2:] if first == 0 else several[-1:] + several[-2:-1]
    for mode in MODES:
        data, _ = written(*order, tables=mode, frame_size=FRAME)
        assert profile_of(data).mode == mode


def test_appended_files_stay_in_their_class(tmp_path) -> None:
    path = tmp_path / "a.warc.zst"
    for mode in ("w", "a", "a"):
        with seekwarc.open(path, mode, frame_size=FRAME) as out:
            out.write_resource("http://example.org/", BIG, "text/plain")
            out.write_resource("http://example.org/", b"small", "text/plain")
    assert profile_of(path.read_bytes()).mode == "large"


@pytest.mark.parametrize(
    "line", [b"HTTP/1.1 0 No Content\r\nA: b\r\n\r\n", b"HTTP/1.0 302 \r\r\nA: b\r\r\n\r\r\n"]
)
def test_writer_and_profile_find_the_same_head(line: bytes) -> None:
    """A head in its own frame is what W2 asks for; one with the body is what it forbids."""
    small = {"block": b"small", "target_uri": "urn:x:1"}
    data, (_, place) = written(
        small, {"block": line + BIG, "target_uri": "urn:x:2", "content_type": RESPONSE}, frame_size=FRAME
    )
    with seekwarc.open(data) as archive:
        record = archive.record_at(place.offset, place.length)
        frames = record.body.frames
        assert frames is not None
        assert frames[1].content_size == len(line)
    assert broken(profile_of(data)) == set()
    header = header_for(len(line) + len(BIG), content_type=RESPONSE)
    joined = small_first().record(line + BIG, header=header, cuts=(len(header), len(header) + FRAME))
    assert "W2" in broken(profile_of(joined.table().file_table().bytes()))


@pytest.mark.parametrize("form", ["gz", "none"])
def test_other_compressions_have_no_class(form: str) -> None:
    made = Foreign().record(b"a")
    assert checked((made.gzip() if form == "gz" else made.plain()).bytes()) == ([], None)


# Files that are not what they seem.


@given(st.data())
def test_any_damage_is_survived(data: st.DataObject) -> None:
    vector = data.draw(st.sampled_from(VECTORS))
    stored = bytearray(vector.data)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(stored) - 1))
        stored[place] = data.draw(st.integers(0, 255))
    del stored[data.draw(st.integers(len(stored) // 2, len(stored))) :]
    problems, profile = checked(bytes(stored))
    if profile is not None and profile.mode is not None:
        assert not any(it.code in ("damage", "empty", "dictionary") for it in problems)
        assert not profile.broken


def test_a_file_that_cannot_be_read_has_no_class() -> None:
    for data in (b"", b"WARC/1.1", b"\x28\xb5\x2f\xfd", b"\x50\x2a\x4d\x18" + bytes(4)):
        _, profile = checked(io.BytesIO(data))
        assert profile is None or profile.mode is None


@pytest.mark.parametrize("first", range(len(BLOCKS)))
def test_joined_files_meet_their_class(first: int, tmp_path) -> None:
    paths = []
    for number in range(2):
        paths.append(tmp_path / f"{number}.warc.zst")
        paths[-1].write_bytes(written(*records(first), frame_size=FRAME)[0])
    tools.concat(paths, tmp_path / "all.warc.zst")
    assert profile_of((tmp_path / "all.warc.zst").read_bytes()).mode == "large"
