"""The audit of frames: what WARC-Zstandard demands of each, and tables held against what was decoded."""

from __future__ import annotations

import pytest

from seekwarc.frames.audit import GUARANTEED_WINDOW, FrameAudit
from seekwarc.frames.decoder import FrameDecoder
from seekwarc.frames.dictionary import Dictionary
from seekwarc.frames.pieces import EmptyFrame, Piece, pieces_from
from seekwarc.frames.scan import Window
from tests.support.foreign import (
    EMPTY,
    EXTENSIONS,
    Foreign,
    checksum,
    cut,
    seek_table,
    skippable,
    some_dictionary,
    text,
    zstd_frame,
)
from tests.support.sources import RecordingSource
from tests.support.writing import noise

CONTENT = text(200_000, seed=8)

Found = list[tuple[str, int]]


def audited(data: bytes, *, begin: int = 0, dictionary: bool = False) -> tuple[FrameAudit, Found, bytes]:
    """Return the audit, (code, offset) of what it reported, and the content that it passed on."""
    found: Found = []

    def report(code: str, offset: int, message: str, requirement: str) -> None:
        assert message
        assert requirement == "" or requirement[0] == "W"
        found.append((code, offset))

    own = Dictionary(some_dictionary().as_bytes()) if dictionary else None
    window = Window(RecordingSource(data))
    audit = FrameAudit(window, own.id if own else 0, report)
    pieces = pieces_from(window, begin, "zst", FrameDecoder(lambda: own), audit.observe)
    content = b"".join(piece.data for piece in audit.watch(pieces) if isinstance(piece, Piece))
    return audit, found, content


def reported(data: bytes, **options: object) -> Found:
    return audited(data, **options)[1]


def noted(audit: FrameAudit) -> dict[int, list[tuple[int, int]]]:
    """Return offset and content size of the tables that were noted, by their anchors."""
    return {anchor: list(them) if isinstance(them, list) else [them] for anchor, them in audit.tables.items()}


def frames_of(made: Foreign) -> list[int]:
    """Return where the frames of a file begin."""
    starts, position = [], 0
    for size, _, _ in made.entries:
        starts.append(position)
        position += size
    return starts


# Frames.


@pytest.mark.parametrize("size", [0, 1, 1000, 200_000, 2_000_000])
@pytest.mark.parametrize("make", [text, noise])
def test_what_is_watched_is_passed_on_unchanged(size, make) -> None:
    content = make(size)
    data = zstd_frame(content) + skippable(EXTENSIONS[0], b"x") + zstd_frame(b"more")
    audit, found, passed = audited(data)
    assert passed == content + b"more"
    assert found == []
    assert audit.tables == {}


def test_empty_are_passed_on() -> None:
    window = Window(RecordingSource(skippable(EXTENSIONS[0], b"x")))
    audit = FrameAudit(window, 0, lambda *_: None)
    pieces = pieces_from(window, 0, "zst", FrameDecoder(lambda: None), audit.observe)
    assert list(audit.watch(pieces)) == [EmptyFrame(9, None)]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({}, None),
        ({"content_size": False}, "frame-size"),
        ({"checksum": False}, "frame-checksum"),
        ({"window_log": 23, "content_size": False}, "frame-size"),
        ({"dictionary": some_dictionary()}, "frame-dictionary"),
    ],
)
def test_each_demand_on_a_frame_is_checked(options, code) -> None:
    made = Foreign().frame(b"sound").frame(CONTENT, **options).frame(b"sound")
    # Decoded with a dictionary whatever the audit knows of one.
    found: Found = []
    window = Window(RecordingSource(made.bytes()))
    audit = FrameAudit(window, 0, lambda code, offset, *_: found.append((code, offset)))
    own = Dictionary(some_dictionary().as_bytes())
    list(audit.watch(pieces_from(window, 0, "zst", FrameDecoder(lambda: own), audit.observe)))
    assert found == ([(code, frames_of(made)[1])] if code else [])


def test_a_window_of_eight_mebibytes_is_the_most() -> None:
    content = bytes(GUARANTEED_WINDOW + 1)
    large = zstd_frame(content, window_log=24, level=1)
    assert reported(zstd_frame(content[:-1], window_log=23, level=1)) == []
    # A frame of a single segment needs a window of its content's size.
    assert reported(large) == [("frame-window", 0)]


def test_the_dictionary_s_id_is_demanded_where_there_is_one() -> None:
    made = Foreign().dictionary(compressed=True).frame(CONTENT).frame(CONTENT, name_dictionary=False)
    assert reported(made.bytes(), dictionary=True) == [("frame-dictionary", frames_of(made)[2])]


@pytest.mark.parametrize("magic", EXTENSIONS)
def test_a_file_may_not_begin_with_any_extension(magic) -> None:
    codes = [code for code, _ in reported(skippable(magic, b"some data") + zstd_frame(b"x"))]
    assert codes[0] == "first-frame"
    # What has a table's magic number and is none is told too.
    assert codes[1:] == (["table-other"] if magic == 0x184D2A5E else [])


# Tables.


def entries_of(frames: list[bytes], contents: list[bytes]) -> list[tuple[int, int, int]]:
    return [(len(f), len(c), checksum(c)) for f, c in zip(frames, contents, strict=True)]


CONTENTS = cut(CONTENT, 60_000)
FRAMES = [zstd_frame(content) for content in CONTENTS]
ENTRIES = entries_of(FRAMES, CONTENTS)
STORED = b"".join(FRAMES)


@pytest.mark.parametrize("checksums", [False, True])
def test_a_right_table_is_noted_by_its_anchor(checksums) -> None:
    table = seek_table(ENTRIES, checksums=checksums)
    audit, found, _ = audited(STORED + table)
    assert found == []
    assert noted(audit) == {0: [(len(STORED), len(CONTENT))]}
    assert audit.last_table == (0, len(STORED) + len(table))


def test_a_table_that_frames_follow_is_not_the_last() -> None:
    audit, _, _ = audited(STORED + seek_table(ENTRIES) + FRAMES[0])
    assert audit.tables
    assert audit.last_table is None


def test_tables_of_parts_are_noted() -> None:
    table = seek_table(ENTRIES[2:])
    audit, found, _ = audited(STORED + table)
    assert found == []
    anchor = sum(map(len, FRAMES[:2]))
    assert list(audit.tables) == [anchor]
    assert audit.last_table == (anchor, len(STORED) + len(table))


def test_two_tables_with_one_anchor_are_both_noted() -> None:
    table = seek_table(ENTRIES)
    second = seek_table([*ENTRIES, (len(table), 0, EMPTY)])
    audit, found, _ = audited(STORED + table + second)
    assert found == []
    assert noted(audit) == {0: [(len(STORED), len(CONTENT)), (len(STORED + table), len(CONTENT))]}


def test_tables_list_tables_and_empty() -> None:
    first = seek_table(ENTRIES)
    between = skippable(EXTENSIONS[3], b"between")
    entries = [*ENTRIES, (len(first), 0, EMPTY), (len(between), 0, EMPTY)]
    audit, found, _ = audited(STORED + first + between + seek_table(entries))
    assert found == []
    assert list(audit.tables) == [0]


@pytest.mark.parametrize("number", range(len(ENTRIES)))
@pytest.mark.parametrize("field", [0, 1, 2])
@pytest.mark.parametrize("by", [1, -1, 256])
def test_any_changed_field_is_found(number, field, by) -> None:
    entries = [list(entry) for entry in ENTRIES]
    entries[number][field] += by
    data = STORED + seek_table(list(map(tuple, entries)))
    audit, found, _ = audited(data)
    assert len(found) == 1
    assert found[0][0] in {"table-frames", "table-form"}
    assert found[0][1] == len(STORED)
    assert audit.tables == {}


@pytest.mark.parametrize(
    "entries",
    [
        ENTRIES[:-1],
        [*ENTRIES, (1, 0, EMPTY)],
        [ENTRIES[1], ENTRIES[0], *ENTRIES[2:]],
        [(sum(e[0] for e in ENTRIES), len(CONTENT), checksum(CONTENT))],
        [*ENTRIES[:-1], (0, 0, EMPTY), ENTRIES[-1]],
    ],
    ids=["one less", "one more", "swapped", "all in one", "an empty one"],
)
def test_tables_of_other_frames_are_found(entries) -> None:
    audit, found, _ = audited(STORED + seek_table(entries))
    assert [code for code, _ in found] in (["table-frames"], ["table-form"])
    assert audit.tables == {}


def test_a_checksum_is_computed_and_not_taken_from_the_frame() -> None:
    """The frame says what the table says, and holds something else: then the frame is damaged."""
    frame = zstd_frame(b"content", checksum=False)
    right = seek_table([(len(frame), 7, checksum(b"content"))])
    wrong = seek_table([(len(frame), 7, checksum(b"another"))])
    assert reported(frame + right) == [("frame-checksum", 0)]
    assert reported(frame + wrong) == [("frame-checksum", 0), ("table-frames", len(frame))]


def test_a_table_that_claims_more_than_there_is_is_not_read() -> None:
    size = 50 << 20
    data = FRAMES[0] + skippable(0x184D2A5E, bytes(size))
    source = RecordingSource(data)
    found: Found = []
    window = Window(source)
    audit = FrameAudit(window, 0, lambda code, offset, *_: found.append((code, offset)))
    pieces = audit.watch(pieces_from(window, 0, "zst", FrameDecoder(lambda: None), audit.observe))
    assert len(list(pieces)) == 2
    assert found == [("table-other", len(FRAMES[0]))]
    assert source.bytes_asked < 4 << 20


def test_a_table_of_what_was_not_seen_is_not_called_right() -> None:
    data = STORED + seek_table(ENTRIES)
    audit, found, _ = audited(data, begin=len(FRAMES[0]))
    assert [code for code, _ in found] in ([], ["table-frames"])
    assert audit.tables == {}


def test_large_frames_are_compared_too() -> None:
    """They come in pieces."""
    content = text(3_000_000, seed=5)
    frame = zstd_frame(content)
    table = seek_table([(len(frame), len(content), checksum(content))])
    audit, found, _ = audited(frame + table)
    assert found == []
    assert noted(audit) == {0: [(len(frame), len(content))]}
    wrong = seek_table([(len(frame), len(content), checksum(content) ^ 1)])
    assert reported(frame + wrong) == [("table-frames", len(frame))]
