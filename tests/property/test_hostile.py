"""Files made to be expensive to read: sizes that lie, empty tables, endless frames.

Each bomb is read in every way there is, in a process of its own, by `tests/fuzz/ways.py`. Whatever the file
says, an answer must come in bounded time and memory, and be a typed error or right. What one wrong table or
Content-Length does to one reader is in tests/read/test_foreign.py; here the cost is what matters.
"""

from __future__ import annotations

import contextlib
import json
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import seekwarc
from tests.fuzz.ways import WAYS
from tests.support import foreign
from tests.support.foreign import (
    CRLF2,
    DICTIONARY_FRAME,
    SEEK_TABLE_FRAME,
    Entry,
    Foreign,
    gzip_member,
    seek_table,
    skippable,
    text,
    zstd_frame,
)
from tests.support.sources import RecordingSource

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
MIB = 1 << 20
EXABYTE = 10**17
"""Content-Length of this size is in range of what readers take for a number."""
PADDING = skippable(0x184D2A50)
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
RAW, RLE = 0, 1

FAST = tuple(way for way in WAYS if way not in ("at_far", "ls_json", "save_partly", "cat_decoded"))
THROUGH = ("iterate", "in_order", "verify", "save")
"""Ways that pass every frame; enough where there are very many."""


def head(length: int, *fields: bytes, kind: bytes = b"resource") -> bytes:
    lines = [b"WARC/1.1", b"WARC-Type: " + kind, *fields, b"Content-Length: %d" % length, b"", b""]
    return b"\r\n".join(lines)


def record(block: bytes = b"abc", *fields: bytes) -> bytes:
    return head(len(block), *fields) + block + CRLF2


def http(block: bytes, kind: bytes = b"response") -> bytes:
    content_type = b"Content-Type: application/http; msgtype=" + kind
    return head(len(block), content_type, kind=kind) + block + CRLF2


GOOD = zstd_frame(record())


def blocks_frame(
    blocks: list[tuple[int, int, bytes]], content_size: int | None = None, window: int = 0x58
) -> bytes:
    """Make a frame of blocks (kind, size, data); it states whatever content size, or none."""
    if content_size is None:
        made = ZSTD_MAGIC + bytes([0, window])
    else:
        made = ZSTD_MAGIC + b"\xe0" + struct.pack("<Q", content_size)
    last = len(blocks) - 1
    return made + b"".join(
        (size << 3 | kind << 1 | (number == last)).to_bytes(3, "little") + data
        for number, (kind, size, data) in enumerate(blocks)
    )


def raw(data: bytes) -> tuple[int, int, bytes]:
    return RAW, len(data), data


def rle(byte: bytes, count: int) -> list[tuple[int, int, bytes]]:
    """Return blocks that decode to `count` times 128 KiB, four stored bytes each."""
    return [(RLE, 128 << 10, byte)] * count


def tiny_frame(content: bytes) -> bytes:
    """Make a frame round less than 256 bytes in the fewest bytes there can be."""
    return ZSTD_MAGIC + bytes([0x20, len(content)]) + (len(content) << 3 | 1).to_bytes(3, "little") + content


@dataclass
class Bomb:
    """A hostile file, and what reading it must come to."""

    make: Callable[[], bytes]
    answers: dict[str, str] = field(default_factory=dict)
    """What is known of the answers; any other but an unexpected exception will do for the other ways."""
    ways: tuple[str, ...] = FAST
    memory: int = 80 * MIB
    """Memory that may come on top of what the process has."""


# Sizes that lie.


def exabyte_records(make: Callable[[bytes], bytes], count: int) -> bytes:
    return b"".join(make(head(EXABYTE + number) + b"only this") for number in range(count))


def exabyte_frames() -> bytes:
    size = len(head(EXABYTE)) + EXABYTE + 4
    return blocks_frame([raw(head(EXABYTE))], size) + GOOD


def exabyte_chunks() -> bytes:
    body = b"fffffffffffffff\r\nabc"
    return http(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body)


def more_than_stated(stated: int | None) -> bytes:
    """Make a record of which the second frame decodes to half a gigabyte."""
    block = b"x" * 100
    first = zstd_frame(record(block)[:-50])
    return first + blocks_frame(rle(b"x", 4096), stated) + GOOD


def stated_truly(*, content_size: bool) -> bytes:
    """Make a record of half a gigabyte in one frame of a few kilobytes, all of which is as it says."""
    size = 4096 * (128 << 10)
    blocks = [raw(head(size)), *rle(b"x", 4096), raw(CRLF2)]
    return blocks_frame(blocks, len(head(size)) + size + 4 if content_size else None) + GOOD


def gzip_bomb() -> bytes:
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    size = 128 * MIB
    made = [packer.compress(head(size))]
    made += [packer.compress(bytes(MIB)) for _ in range(128)]
    return b"".join([*made, packer.compress(CRLF2), packer.flush(), gzip_member(record())])


def coded_bomb() -> bytes:
    """Make a payload of a few hundred bytes that decodes to 128 MiB, coded twice."""
    once = zlib.compress(bytes(128 * MIB), 9)
    body = gzip_member(gzip_member(once))
    return http(b"HTTP/1.1 200 OK\r\nContent-Encoding: deflate, gzip, gzip\r\n\r\n" + body)


# Tables.


def counted(count: int, *, checksums: bool, record_table: bool) -> bytes:
    made = Foreign().record(text(30_000), cuts=3000)
    put = made.table if record_table else made.file_table
    put(lambda entries: entries[:1], count=count, checksums=checksums)
    return made.bytes()


def table_frame_of_4_gigabytes() -> bytes:
    made = Foreign().record(text(30_000), cuts=3000).record(b"abc")
    return made.bytes() + struct.pack("<II", SEEK_TABLE_FRAME, 0xFFFF_FFFF) + bytes(40)


def table_of_nothing() -> bytes:
    """Make a table of very many frames without bytes, at the very beginning of a file."""
    return GOOD + PADDING * 50_000 + seek_table([(0, 0, 0)] * 40_000, checksums=False)


def empty_tables() -> bytes:
    return GOOD + seek_table([]) * 15_000


def chained_tables() -> bytes:
    return GOOD + (PADDING + seek_table([(8, 0, 0)])) * 10_000


def tables_of_everything() -> bytes:
    """Make very many tables, each of which lists everything before it as one frame."""
    made = bytearray(GOOD + PADDING * 200_000)
    for _ in range(50_000):
        made += seek_table([(len(made), 0, 0)], checksums=False)
    return bytes(made)


def table_that_misleads_the_search() -> bytes:
    """Make very many damaged records under a table that lists very many places where none begins."""
    lures = (zstd_frame(head(EXABYTE)) + b"garbage!") * 300
    entries = [(len(GOOD), len(record()), 0), (len(lures), 0, 0), *[(8, 0, 0)] * 2000]
    return GOOD + lures + PADDING * 2000 + seek_table(entries)


def many_empty_entries() -> bytes:
    """Make a record with forty thousand frames without content, all listed as they should be."""
    made = Foreign()

    def fill(to: Foreign, _: int) -> None:
        for _ in range(20_000):
            to.extension()

    return made.record(text(3000), cuts=1000, between=fill, table=True).record(b"abc").bytes()


# Frames without content, and other nothings.


def fields_of_spaces() -> bytes:
    return zstd_frame(head(0, b"X:" + b" " * 300_000 + b"x") + CRLF2)


def folds_of_spaces() -> bytes:
    return zstd_frame(head(0, b"WARC-Target-URI: a" + b" " * 300_000 + b"x\r\n b") + CRLF2)


def fields_by_the_thousand() -> bytes:
    return zstd_frame(head(0, *[b"a:"] * 200_000) + CRLF2)


def repeated_fields() -> bytes:
    """Make records that break no rule, with very many fields, each record with others."""

    def made(number: int) -> bytes:
        fields = (
            b"WARC-Record-ID: <urn:x:%d>" % number,
            b"WARC-Date: 2026-01-02T03:04:05Z",
            b"WARC-Target-URI: http://example.org/",
            b"Content-Type: text/plain",
            *[b"WARC-Concurrent-To: <urn:x:%d>" % it for it in range(20_000 + number)],
        )
        return zstd_frame(head(0, *fields) + CRLF2)

    return b"".join(map(made, range(8)))


def request_of_spaces() -> bytes:
    return http(b"GET /" + b" " * 60_000 + b"x HTTP/1.1\r\nHost: a\r\n\r\n", b"request")


def response_of_spaces() -> bytes:
    return http(b"HTTP/1.1 200 OK\r\nX:" + b" " * 60_000 + b"x\r\n\r\n")


def endless_header(make: Callable[[bytes], bytes]) -> bytes:
    return make(b"WARC/1.1\r\nX: " + b"x" * (3 * MIB)) + make(record())


def endless_http_head() -> bytes:
    return http(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000) + record()


def tiny_blocks(count: int) -> bytes:
    data = b"WARC/1.1\r\nX: ".ljust(count, b"x")
    return blocks_frame([raw(data[at : at + 1]) for at in range(len(data))])


def tiny_frames(count: int) -> bytes:
    data = record(b"x" * count)
    cut = len(data) - count
    return zstd_frame(data[:cut]) + b"".join(tiny_frame(data[at : at + 1]) for at in range(cut, len(data)))


def begun_headers() -> bytes:
    """Make frames each of which might go on to be a header in the frames after it."""
    return zstd_frame(b"no record") + tiny_frame(b"WARC/") * 3000


def tiny_chunks() -> bytes:
    body = b"1\r\nx\r\n" * 60_000 + b"0\r\n\r\n"
    return http(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body)


def zero_chunk_lines() -> bytes:
    """Make a body whose one chunk line never ends."""
    return http(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"0" * 500_000)


def concurrent_crowd() -> bytes:
    """Make records that all say of each other that they belong together."""
    names = [b"<urn:x:%d>" % number for number in range(400)]
    fields = [b"WARC-Concurrent-To: " + name for name in names]
    return b"".join(zstd_frame(record(b"", b"WARC-Record-ID: " + name, *fields)) for name in names)


def revisits_in_circles() -> bytes:
    fields = (
        b"WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
        b"WARC-Payload-Digest: sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
        b"WARC-Target-URI: http://example.org/",
        b"WARC-Date: 2026-01-02T03:04:05Z",
    )
    made = [head(0, b"WARC-Record-ID: <urn:x:%d>" % n, *fields, kind=b"revisit") for n in range(500)]
    return b"".join(zstd_frame(data + CRLF2) for data in made)


def huge_dictionary(user_data: bytes, size: int | None = None) -> bytes:
    return struct.pack("<II", DICTIONARY_FRAME, len(user_data) if size is None else size) + user_data + GOOD


ALL_CLAIMED = {
    "strictly": "0 FormatError",
    "in_order": "1 TruncatedError",
    "piped": "1 TruncatedError",
}
"""Each record claims all that follow it. Some may be found all the same; none is passed in silence."""
NO_SIZE = zstd_frame(foreign.some_dictionary().as_bytes(), content_size=False)

BOMBS = {
    "exabytes, plain": Bomb(
        lambda: exabyte_records(bytes, 1000) + b"x" * (24 * MIB),
        {"iterate": "1", "strictly": "0 TruncatedError", "in_order": "1 TruncatedError"},
    ),
    "exabytes, gzip": Bomb(lambda: exabyte_records(gzip_member, 3000), ALL_CLAIMED),
    "exabytes, zst": Bomb(lambda: exabyte_records(zstd_frame, 2000), ALL_CLAIMED),
    "exabytes, zst without size": Bomb(
        lambda: exabyte_records(lambda data: zstd_frame(data, content_size=False), 1000), ALL_CLAIMED
    ),
    "exabytes in a frame": Bomb(exabyte_frames),
    "exabytes in a chunk": Bomb(exabyte_chunks, {"iterate": "1", "verify": "1 chunks header"}),
    "decodes to more than it says": Bomb(
        lambda: more_than_stated(54), {"at": "100 ChecksumError ChecksumError"}
    ),
    "decodes to more, says nothing": Bomb(lambda: more_than_stated(None)),
    "half a gigabyte in a frame": Bomb(lambda: stated_truly(content_size=True), {"iterate": "0 LimitError"}),
    "half a gigabyte, no size": Bomb(
        lambda: stated_truly(content_size=False),
        {"iterate": "2"},
        ("blocks", "at", "everything", "verify", "save", "cat"),
    ),
    "gzip bomb": Bomb(
        gzip_bomb, {"iterate": "2", "at": str(128 * MIB)}, ("iterate", "piped", "at", "everything", "save")
    ),
    "payload coded twice and more": Bomb(coded_bomb, {"iterate": "1"}, ways=("at", "cat", "cat_decoded")),
    "an index that lies": Bomb(
        lambda: Foreign().record(text(30_000), cuts=3000, table=True).bytes(),
        {"at_far": "30000"},
        ("at_far",),
    ),
    "2**32-1 entries, record table": Bomb(
        lambda: counted(2**32 - 1, checksums=True, record_table=True),
        {"at_length": "30000", "everything": "30000"},
    ),
    "2**32-1 entries, no checksums": Bomb(
        lambda: counted(2**32 - 1, checksums=False, record_table=True),
        {"at_length": "30000", "everything": "30000"},
    ),
    "2**32-1 entries, file table": Bomb(
        lambda: counted(2**32 - 1, checksums=True, record_table=False), {"at_length": "30000", "iterate": "1"}
    ),
    "2**29 entries, whose size wraps": Bomb(
        lambda: counted(2**29 + 1, checksums=False, record_table=False),
        {"at_length": "30000", "iterate": "1"},
    ),
    "a table frame of 4 GiB": Bomb(
        table_frame_of_4_gigabytes, {"at": "30000", "iterate": "2 TruncatedError"}
    ),
    "a table of nothing": Bomb(table_of_nothing, {"iterate": "1"}, ways=(*THROUGH, "at")),
    "empty tables": Bomb(empty_tables, {"iterate": "1"}, ways=(*THROUGH, "at")),
    "a long chain of tables": Bomb(chained_tables, {"iterate": "1"}, (*THROUGH, "at")),
    "tables of everything": Bomb(tables_of_everything, ways=("verify",)),
    "a table that misleads the search": Bomb(
        table_that_misleads_the_search, ways=("verify", "save", "save_partly")
    ),
    "many empty entries": Bomb(
        many_empty_entries, {"iterate": "2", "everything": "3000"}, ways=(*THROUGH, "everything")
    ),
    "padding": Bomb(
        lambda: GOOD + PADDING * 200_000 + GOOD,
        {"iterate": "2", "save": "2"},
        ("iterate", "verify"),
        memory=28 * MIB,
    ),
    "padding after a streamed record": Bomb(
        lambda: zstd_frame(record(), content_size=False) + PADDING * 200_000 + GOOD,
        {"iterate": "2", "save": "2"},
        ("iterate", "save"),
        memory=28 * MIB,
    ),
    "padding before a record": Bomb(
        lambda: PADDING * 200_000 + GOOD, {"iterate": "1", "at": "3"}, ("in_order", "at"), memory=28 * MIB
    ),
    "padding after damage": Bomb(
        lambda: zstd_frame(b"no record") + PADDING * 5000 + GOOD,
        {"verify": "1 damage header", "save": "1"},
        THROUGH,
    ),
    "dictionary frames": Bomb(
        lambda: GOOD + skippable(DICTIONARY_FRAME) * 200_000 + GOOD,
        {"iterate": "2"},
        ("verify",),
        memory=28 * MIB,
    ),
    "empty frames": Bomb(
        lambda: GOOD + zstd_frame() * 40_000 + GOOD, {"iterate": "2"}, THROUGH, memory=28 * MIB
    ),
    "empty frames without size": Bomb(
        lambda: GOOD + zstd_frame(content_size=False, checksum=False) * 20_000 + GOOD,
        {"iterate": "2"},
        THROUGH,
        memory=28 * MIB,
    ),
    "empty gzip members": Bomb(
        lambda: gzip_member(record()) + gzip_member(b"") * 60_000 + gzip_member(record()),
        {"iterate": "2"},
        THROUGH,
        memory=20 * MIB,
    ),
    "a frame for each byte": Bomb(
        lambda: tiny_frames(100_000), {"iterate": "1"}, (*THROUGH, "everything"), memory=40 * MIB
    ),
    "a header in blocks of a byte": Bomb(lambda: tiny_blocks(MIB), {"at": "FormatError"}, ("at",)),
    "headers that only begin": Bomb(begun_headers, {"iterate": "0 FormatError"}),
    "headers that begin line by line": Bomb(
        lambda: b"WARC/1.1\r\n" * 40_000, {"iterate": "0 TruncatedError"}
    ),
    "a header without end, plain": Bomb(
        lambda: endless_header(bytes), {"iterate": "0 FormatError", "verify": "1 damage header"}
    ),
    "a header without end, gzip": Bomb(
        lambda: endless_header(gzip_member), {"iterate": "0 FormatError", "verify": "1 damage header"}
    ),
    "a header without end, zst": Bomb(
        lambda: endless_header(zstd_frame), {"iterate": "0 FormatError", "verify": "1 damage header"}
    ),
    "a field of blanks": Bomb(fields_of_spaces, {"iterate": "1"}),
    "a folded field of blanks": Bomb(folds_of_spaces, {"iterate": "1"}),
    "fields by the thousand": Bomb(fields_by_the_thousand, {"iterate": "1"}),
    "fields that may be repeated": Bomb(repeated_fields, {"iterate": "8", "verify": "8"}, THROUGH),
    "a request of blanks": Bomb(request_of_spaces, {"iterate": "1"}),
    "a response of blanks": Bomb(response_of_spaces, {"iterate": "1"}),
    "an HTTP head without end": Bomb(endless_http_head, {"iterate": "2"}),
    "a chunk for each byte": Bomb(tiny_chunks, {"iterate": "1"}),
    "a chunk line without end": Bomb(zero_chunk_lines, {"iterate": "1"}),
    "records that all belong together": Bomb(concurrent_crowd, {"collect": "20 MemoryIndex"}, ("collect",)),
    "revisits in circles": Bomb(revisits_in_circles, {"collect": "20 MemoryIndex"}, ("collect", "cat")),
    "a dictionary of exabytes": Bomb(
        lambda: huge_dictionary(blocks_frame(rle(b"x", 4096), 2**60)), {"iterate": "0 LimitError", "at": "3"}
    ),
    "a dictionary that unpacks to more than it says": Bomb(
        lambda: huge_dictionary(blocks_frame(rle(b"x", 4096), 1000)), {"iterate": "0 FormatError"}
    ),
    "a dictionary that does not say": Bomb(
        lambda: huge_dictionary(NO_SIZE), {"iterate": "1", "in_order": "1", "at": "3"}
    ),
    "a dictionary of gigabytes that does not say": Bomb(
        lambda: huge_dictionary(blocks_frame(rle(b"x", 4096))), {"iterate": "0 LimitError"}
    ),
    "a dictionary frame of 4 GiB": Bomb(
        lambda: huge_dictionary(b"", 0xFFFF_FFFF), {"iterate": "0 LimitError"}
    ),
    "a dictionary beyond the limit": Bomb(
        lambda: huge_dictionary(b"\x37\xa4\x30\xec" + bytes(9 * MIB)), {"iterate": "0 LimitError"}
    ),
    "a dictionary that unpacks to the limit": Bomb(
        lambda: huge_dictionary(
            blocks_frame([raw(b"\x37\xa4\x30\xec\1\0\0\0"), *rle(b"x", 63)], 63 * (128 << 10) + 8)
        )
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_cheap_and_gives_a_typed_error_or_its_content(name: str, tmp_path: Path) -> None:
    bomb = BOMBS[name]
    path = tmp_path / "bomb"
    path.write_bytes(bomb.make())
    # All ways together may take a minute of the processor.
    command = [sys.executable, "-W", "error", "-m", "tests.fuzz.ways", "60", str(path), *bomb.ways]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, (bomb.ways[len(lines) :], done.returncode, done.stderr)
    assert done.stderr == ""
    for way, line in zip(bomb.ways, lines, strict=True):
        print(line)
        assert not line["answer"].startswith("RAISED"), line
        assert line["answer"] == bomb.answers.get(way, line["answer"]), line
        assert line["memory"] < bomb.memory, line


# Tables that contradict each other, or point where they should not. Foreign.table lists the last record, and
# Foreign.file_table everything so far.

LARGE, LAST = text(20_000, seed=3), b"the last record"


def swapped(entries: list[Entry]) -> list[Entry]:
    """Give two frames each other's content size."""
    (a, b, c), (d, e, f), *rest = entries
    return [(a, e, c), (d, b, f), *rest]


def joined(entries: list[Entry]) -> list[Entry]:
    """Make one entry of two frames."""
    (a, b, c), (d, e, _), *rest = entries
    return [(a + d, b + e, c), *rest]


def shifted(entries: list[Entry]) -> list[Entry]:
    """Move the border between two frames."""
    (a, b, c), (d, e, f), *rest = entries
    return [(a + 1, b, c), (d - 1, e, f), *rest]


def one(entries: list[Entry]) -> list[Entry]:
    """List everything as one frame."""
    return [(sum(it[0] for it in entries), sum(it[1] for it in entries), 0)]


def grown(entries: list[Entry]) -> list[Entry]:
    """Make the last frame larger than any can be."""
    return [*entries[:-1], (entries[-1][0], 2**32 - 1, 0)]


LIES = [swapped, joined, shifted, one, grown]


def large(made: Foreign | None = None) -> Foreign:
    return (made or Foreign()).record(LARGE, cuts=3000)


def right_then_wrong(lie: foreign.Change) -> Foreign:
    return large().table().table(lie).record(LAST)


def wrong_then_right(lie: foreign.Change) -> Foreign:
    return large().table(lie).table().record(LAST)


def own_right_file_wrong(lie: foreign.Change) -> Foreign:
    return large().table().record(LAST).file_table(lie)


def own_wrong_file_right(lie: foreign.Change) -> Foreign:
    return large().table(lie).record(LAST).file_table()


def two_of_the_file(lie: foreign.Change) -> Foreign:
    return large().record(LAST).file_table().file_table(lie)


def two_of_the_file_the_other_way(lie: foreign.Change) -> Foreign:
    return large().record(LAST).file_table(lie).file_table()


CONTRADICTIONS = [
    right_then_wrong,
    wrong_then_right,
    own_right_file_wrong,
    own_wrong_file_right,
    two_of_the_file,
    two_of_the_file_the_other_way,
]


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("make", CONTRADICTIONS)
def test_contradictory_tables_give_correct_bytes_or_an_error(
    make: Callable[[foreign.Change], Foreign], lie: foreign.Change
) -> None:
    made = make(lie)
    right_or_typed(made)
    assert_in_order(made)


def frames_of_the_neighbour() -> Foreign:
    """Let the second record's table list the first one's frames."""
    made = large()
    entries = list(made.record_entries)
    return large(made).table(lambda _: entries).record(LAST)


def from_inside_the_neighbour() -> Foreign:
    """Let the second record's table begin within the first one."""
    made = large()
    before = made.record_entries[-2:]
    return large(made).table(lambda entries: before + entries).record(LAST)


def from_the_middle_of_a_frame() -> Foreign:
    return large().table(lambda entries: [(entries[0][0] - 7, *entries[0][1:]), *entries[1:]]).record(LAST)


def inside_padding() -> Foreign:
    """Hide a table at the end of padding, the head of which it lists as a frame."""
    made = large()
    inner = seek_table([*made.record_entries, (8, 0, foreign.EMPTY)])
    return made.extension(0x184D2A50, inner).record(LAST)


def of_itself() -> Foreign:
    """Let a table list, as its record's last frames, a copy of itself without an end."""
    made = large()
    inner = seek_table([*made.record_entries, (8, len(LAST), 0)])
    return made.extension(SEEK_TABLE_FRAME, inner).record(LAST)


def of_the_next_record() -> Foreign:
    """Put the table of a record before the record."""
    following = large()
    return large().record(LAST).raw(seek_table(following.record_entries)).record(LARGE, cuts=3000)


@pytest.mark.parametrize(
    "make",
    [
        frames_of_the_neighbour,
        from_inside_the_neighbour,
        from_the_middle_of_a_frame,
        inside_padding,
        of_itself,
        of_the_next_record,
    ],
)
def test_a_table_of_another_place_gives_correct_bytes(make: Callable[[], Foreign]) -> None:
    made = make()
    right_or_typed(made)
    assert_in_order(made)


def right_or_typed(made: Foreign) -> None:
    """Read every record with all lengths that an index might have, then from every frame's offset."""
    ends = [None, len(made.data)]
    for put in made.records:
        for end in [*ends, put.offset + put.length]:
            with seekwarc.open(RecordingSource(made.bytes()), threads=1, cache_size=0) as archive:
                try:
                    record = archive.record_at(put.offset, end and end - put.offset)
                    assert record.header.raw == put.header
                    for start in range(0, len(put.block), 1900):
                        found = record.block.pread(start, 2500)
                        assert found == put.block[start : start + 2500]
                    assert record.block.read() == put.block
                except seekwarc.SeekWarcError:
                    continue
    position = 0
    for stored, _, _ in made.entries:
        with seekwarc.open(made.bytes(), threads=1) as archive, contextlib.suppress(seekwarc.SeekWarcError):
            found = archive.record_at(position)
            assert found.header.raw in [put.header for put in made.records]
            assert found.block.read() in (LARGE, LAST)
        position += stored


def assert_in_order(made: Foreign) -> None:
    """Assert that tables play no part in reading in order."""
    with seekwarc.open(made.bytes()) as archive:
        found = [(record.header.raw, record.block.read()) for record in archive.in_order()]
    assert found == [(put.header, put.block) for put in made.records]
