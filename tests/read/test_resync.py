"""Records whose Content-Length is wrong, or that are cut off: read with a word, refused where that is asked.

What is read here is what warcio and FastWARC read, or more: tests/interop compares.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

import seekwarc
from seekwarc import FormatError, FormatWarning, TruncatedError
from tests.support.foreign import CRLF2, Foreign, gzip_member, text, warc_header, zstd_frame
from tests.support.sources import Pipe, RecordingSource
from tests.support.writing import noise

Make = Callable[[bytes], bytes]
FORMS: dict[str, Make] = {
    "plain": lambda content: content,
    "gzip": gzip_member,
    "zst": zstd_frame,
    "zst without size": lambda content: zstd_frame(content, content_size=False),
}
COMPRESSED = {name: make for name, make in FORMS.items() if name != "plain"}
BLOCKS = [text(300, seed=number) for number in range(3)]
each_form = pytest.mark.parametrize("make", FORMS.values(), ids=FORMS)
each_compressed = pytest.mark.parametrize("make", COMPRESSED.values(), ids=COMPRESSED)


def record(block: bytes, number: int, *, claimed: int | None = None) -> bytes:
    return warc_header(len(block) if claimed is None else claimed, number) + block + CRLF2


def crawl(make: Make, claimed: int, block: bytes = BLOCKS[1]) -> bytes:
    """Three records, the Content-Length of the second as it is claimed."""
    middle = record(block, 1, claimed=claimed)
    return b"".join(map(make, (record(BLOCKS[0], 0), middle, record(BLOCKS[2], 2))))


def read(target: object, **options: object) -> tuple[list[bytes], list[str | None], list[str]]:
    """Return the blocks, the problem of each record as it comes, and all warnings."""
    with warnings.catch_warnings(record=True) as caught, seekwarc.open(target, **options) as archive:
        warnings.simplefilter("always")
        found = [(it.block.read(), it.problem) for it in archive]
    assert {it.category for it in caught} <= {FormatWarning}
    return (
        [block for block, _ in found],
        [problem for _, problem in found],
        [str(it.message) for it in caught],
    )


@each_form
@pytest.mark.parametrize("missing", [1, 10, 200, 300])
def test_a_content_length_that_is_too_small_costs_no_other_record(make: Make, missing: int) -> None:
    data = crawl(make, 300 - missing)
    blocks, _, told = read(data)
    assert blocks == [BLOCKS[0], BLOCKS[1][: 300 - missing], BLOCKS[2]]
    assert len(told) == 1
    assert f"Content-Length {300 - missing} is too small: {missing + 4} more bytes" in told[0]
    with seekwarc.open(data, strict=True) as archive, pytest.raises(FormatError, match="too small"):
        list(archive)


@each_form
@pytest.mark.parametrize("excess", [15, 20, 100, 400])
def test_a_content_length_that_is_too_large_costs_no_other_record(make: Make, excess: int) -> None:
    data = crawl(make, 300 + excess)
    blocks, problems, told = read(data)
    assert blocks == BLOCKS, "and the block is what it is, not what its length says"
    assert problems == [
        None,
        f"Content-Length {300 + excess} is too large: the next record begins after 300 bytes of the block",
        None,
    ]
    assert len(told) == 1
    with seekwarc.open(data, strict=True) as archive, pytest.raises(FormatError, match="too large"):
        list(archive)


def test_in_a_plain_pipe_a_content_length_that_is_too_large_takes_from_the_next_record() -> None:
    data = crawl(FORMS["plain"], 300 + 100) + record(BLOCKS[0], 3)
    blocks, _, told = read(Pipe(data))
    begin = data.index(BLOCKS[1])
    assert blocks == [BLOCKS[0], data[begin : begin + 400], BLOCKS[0]], "as it says in spec-notes/reading.md"
    assert len(told) == 1
    assert "Content-Length 400" in told[0]


@each_form
@pytest.mark.parametrize("claimed", [1000, 5000, 10**17])
def test_a_content_length_beyond_the_end_of_the_file_is_seen_through(make: Make, claimed: int) -> None:
    stated = f"Content-Length {claimed} is too large: the next record begins after 300 bytes of the block"
    with seekwarc.open(crawl(make, claimed)) as archive:
        with pytest.warns(FormatWarning, match=stated) as told:
            records = list(archive)
        assert [it.block.read() for it in records] == BLOCKS
    assert [it.problem for it in records] == [None, stated, None]
    assert len(told) == 1
    with (
        seekwarc.open(crawl(make, claimed), strict=True) as archive,
        pytest.raises(FormatError, match="too large"),
    ):
        list(archive)


def test_going_to_a_record_that_claims_too_much_gives_what_it_has() -> None:
    data = crawl(FORMS["plain"], 10**17)
    offset = len(record(BLOCKS[0], 0))
    for length in (None, len(record(BLOCKS[1], 1, claimed=10**17))):
        with seekwarc.open(data) as archive, pytest.warns(FormatWarning, match="too large"):
            found = archive.record_at(offset, length)
        assert found.problem is not None
        assert found.length == len(record(BLOCKS[1], 1, claimed=10**17))
        with seekwarc.open(data) as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert archive.record_at(offset, length).block.read() == BLOCKS[1]
    with seekwarc.open(data[:-1]) as archive, pytest.raises(TruncatedError):
        archive.record_at(offset).block.pread(0, 10**17)


@pytest.mark.parametrize("claimed", [290, 320, 500, 10**17])
def test_going_to_a_plain_record_corrects_its_length_as_iterating_does(claimed: int) -> None:
    data = crawl(FORMS["plain"], claimed)
    with warnings.catch_warnings(), seekwarc.open(data) as archive:
        warnings.simplefilter("ignore")
        expected = [(it.offset, it.length, it.problem, it.block.read()) for it in archive]
    offset, length, problem, _ = expected[1]
    for known in (None, length):
        with seekwarc.open(data) as archive:
            with pytest.warns(FormatWarning, match=r"is too (small|large)"):
                found = archive.record_at(offset, known)
            assert (found.offset, found.length, found.problem, found.block.read()) == expected[1]
    with (
        seekwarc.open(data, strict=True) as archive,
        pytest.raises(FormatError, match=r"is too (small|large)"),
    ):
        archive.record_at(offset)
    # What an index by another tool has: without the line breaks after the record.
    with seekwarc.open(data) as archive:
        first = archive.record_at(0, expected[0][1] - 4)
        assert (first.problem, first.block.read()) == (None, BLOCKS[0])
    assert problem is not None


@each_compressed
def test_a_length_that_claims_other_records_gives_none_of_their_bytes(make: Make) -> None:
    data = crawl(make, 10**17)
    offset = len(make(record(BLOCKS[0], 0)))
    with seekwarc.open(data) as archive:
        block = archive.record_at(offset).block
        for read_all in (block.read, block.open().read, lambda: block.pread_into(0, bytearray(10_000))):
            with pytest.raises(TruncatedError):
                read_all()


CUTS = {
    "plain": None,
    "gzip": None,
    "zst": None,
    "zst without size": None,
    "several frames": {"cuts": 50_000},
    "several frames with a table": {"cuts": 50_000, "table": True},
}


@pytest.mark.parametrize("trailer", [b"XXXX", b"\r\n\r ", b"\n\r\n\r", b"\n\n", b"\r\n\r\n"], ids=repr)
@pytest.mark.parametrize("size", [300, 200_000])
@pytest.mark.parametrize("name", CUTS)
def test_other_bytes_after_a_block_are_refused_in_every_way(name: str, size: int, trailer: bytes) -> None:
    block, options = noise(size), CUTS[name]
    if options is None:
        pieces = [record(BLOCKS[0], 0), warc_header(size, 1) + block + trailer, record(BLOCKS[2], 2)]
        stored = [FORMS[name](it) for it in pieces]
        data, offset = b"".join(stored), len(stored[0])
        length = len(stored[1])
    else:
        made = Foreign().record(BLOCKS[0]).record(block, trailer=trailer, **options).record(BLOCKS[2])
        data, offset = made.bytes(), made.records[1].offset
        length = made.records[2].offset - offset
    ways: list[Callable[[seekwarc.Reader], object]] = [
        list,
        lambda archive: archive.record_at(offset),
        lambda archive: archive.record_at(offset, length),
    ]
    for way in ways:
        with seekwarc.open(data, strict=True) as archive:
            if trailer == CRLF2:
                way(archive)
            else:
                with pytest.raises(FormatError):
                    way(archive)


@pytest.mark.slow
@pytest.mark.parametrize("every", [1, 2, 7])
def test_lengths_beyond_the_end_cost_one_pass_in_all(every: int) -> None:
    many = [
        record(text(200, seed=number), number, claimed=10**17 if number % every == 0 else None)
        for number in range(20_000)
    ]
    source = RecordingSource(b"".join([*many, record(BLOCKS[0], 1)]), "wrong.warc")
    with warnings.catch_warnings(), seekwarc.open(source) as archive:
        warnings.simplefilter("ignore")
        assert [it.block.size for it in archive] == [200] * len(many) + [300]
    assert source.bytes_asked < 6 * source.size


def test_a_cut_file_whose_last_block_is_an_archive_is_not_taken_apart() -> None:
    inner = b"".join(record(block, 7) for block in BLOCKS)
    data = record(BLOCKS[0], 0) + record(inner, 1)
    for cut in range(8, 900, 3):
        for claimed in (None, 10**17):
            cut_off = record(BLOCKS[0], 0) + record(inner, 1, claimed=claimed)
            with warnings.catch_warnings(), seekwarc.open(cut_off[:-cut]) as archive:
                warnings.simplefilter("ignore")
                first, last = archive
            assert first.problem is None
            assert last.is_cut_off
    assert len(data) > 900


def test_records_after_a_length_beyond_the_end_are_not_cut_off_when_appending(tmp_path: Path) -> None:
    for name, make in FORMS.items():
        path = tmp_path / {"plain": "a.warc", "gzip": "a.warc.gz"}.get(name, "a.warc.zst")
        path.write_bytes(data := crawl(make, 10**17))
        for repair in (False, True):
            with pytest.raises(FormatError) as raised, seekwarc.open(path, "a", repair=repair):
                pass
            assert not isinstance(raised.value, TruncatedError)
            assert path.read_bytes() == data


@each_compressed
def test_a_large_record_with_a_wrong_length_is_passed_all_the_same(make: Make) -> None:
    block = noise(3 << 20, seed=4)
    for claimed in (len(block) - 500, len(block) + 100):
        with (
            warnings.catch_warnings(record=True) as told,
            seekwarc.open(crawl(make, claimed, block)) as archive,
        ):
            warnings.simplefilter("always")
            records = list(archive)
            assert [it.id[-1] for it in records] == ["0", "1", "2"]
            assert records[1].problem is not None
            assert records[1].block.read() == block[: min(claimed, len(block))]
        assert len(told) == 1


@each_form
def test_a_sound_record_that_holds_records_is_left_alone(make: Make) -> None:
    """Nested archives whose records begin frames or stand after blank lines are part of the block."""
    inner = b"".join(record(block, 7) for block in BLOCKS)
    outer = record(inner, 1)
    begin = len(outer) - len(inner) - len(CRLF2)
    cuts = [0, begin, begin + len(inner) // 3, len(outer)]
    pieces = [outer] if make is FORMS["plain"] else [outer[a:b] for a, b in pairwise(cuts)]
    data = make(record(BLOCKS[0], 0)) + b"".join(map(make, pieces)) + make(record(BLOCKS[2], 2))
    for target in (data, Pipe(data)):
        blocks, problems, told = read(target)
        assert blocks == [BLOCKS[0], inner, BLOCKS[2]]
        assert problems == [None] * 3
        assert told == []


@each_form
def test_a_nested_archive_with_a_wrong_length_is_not_taken_apart(make: Make) -> None:
    inner = b"".join(record(block, 7) for block in BLOCKS)
    data = crawl(make, len(inner) - 10, inner)
    if make is FORMS["plain"]:
        # Whether the records in the block are its own cannot be told.
        with seekwarc.open(data) as archive, pytest.raises(FormatError, match=r"no (WARC )?record"):
            list(archive)
    else:
        assert read(data)[0] == [BLOCKS[0], inner[:-10], BLOCKS[2]]


@each_form
def test_a_record_is_never_passed_unread(make: Make) -> None:
    """What looks like a record right after the damage is not skipped to come to the next one."""
    middle = warc_header(300, 1) + BLOCKS[1] + b"junk" + record(BLOCKS[0], 5)
    data = make(record(BLOCKS[0], 0)) + make(middle) + make(record(BLOCKS[2], 2))
    with (
        warnings.catch_warnings(),
        seekwarc.open(data) as archive,
        pytest.raises(FormatError, match="no WARC record starts here"),
    ):
        warnings.simplefilter("ignore")
        list(archive)


def test_a_pipe_is_read_on_after_a_wrong_length() -> None:
    for make in FORMS.values():
        assert read(Pipe(crawl(make, 290)))[0] == [BLOCKS[0], BLOCKS[1][:290], BLOCKS[2]]
    assert read(Pipe(crawl(gzip_member, 320)))[0] == BLOCKS


@pytest.mark.slow
@each_form
def test_a_file_of_wrong_lengths_is_given_up_before_it_costs_much(make: Make) -> None:
    data = b"".join(make(record(text(60), number, claimed=100_000)) for number in range(1000))
    source = RecordingSource(data)
    with warnings.catch_warnings(), seekwarc.open(source) as archive, contextlib.suppress(FormatError):
        warnings.simplefilter("ignore")
        assert len(list(archive)) == 1000
    assert source.bytes_asked < 200 * source.size


# What is cut off.


@each_form
@pytest.mark.parametrize("cut", [1, 3, 4, 5, 1000, 200_000])
def test_a_last_record_that_is_cut_off_is_read_as_far_as_it_goes(make: Make, cut: int) -> None:
    block = noise(400_000, seed=5)
    data = make(record(BLOCKS[0], 0)) + make(record(block, 1))
    data = data[:-cut]
    with warnings.catch_warnings(record=True) as told, seekwarc.open(data) as archive:
        warnings.simplefilter("always")
        first, last = archive
        assert first.block.read() == BLOCKS[0]
        assert first.problem is None
        assert last.block.pread(0, 100_000) == block[:100_000]
        if cut > 20:
            with pytest.raises(TruncatedError):
                last.block.pread(0, len(block))
        found = last.block.read()
        assert block.startswith(found)
        # The last block of a Zstandard frame is there whole, or not at all.
        assert len(found) >= len(block) - cut - (0 if make is FORMS["plain"] else 150_000)
        if make is FORMS["plain"] and cut <= len(CRLF2):
            assert not last.is_cut_off, "only the line breaks after it are"
        else:
            assert last.is_cut_off
            assert len(told) == 1
            assert "cut off" in str(told[0].message)
    with seekwarc.open(data, strict=True) as archive, pytest.raises(FormatError):
        list(archive)


def test_a_damaged_size_that_leads_past_the_end_of_the_file_is_not_a_cut() -> None:
    made = Foreign().record(b"before").record(noise(300_000, seed=5), cuts=100_000).record(b"after")
    put = made.records[1]
    third = put.offset + sum(stored for stored, _, _ in made.entries[1:3])
    data = bytearray(made.bytes())
    # Its only block, of 100,000 bytes, has more of them now than the file.
    assert data[third + 9 : third + 12] == (100_000 << 3 | 1).to_bytes(3, "little")
    data[third + 9 : third + 12] = (131_000 << 3 | 1).to_bytes(3, "little")
    data = data[: third + 131_000 - 5_000 - (len(made.bytes()) - put.stop)] + made.bytes()[put.stop :]
    with warnings.catch_warnings(), seekwarc.open(bytes(data)) as archive:
        warnings.simplefilter("ignore", FormatWarning)
        record = archive.record_at(put.offset)
        with pytest.raises(TruncatedError):
            record.block.read()
        assert record.block.pread(0, 100) == put.block[:100]


def test_a_record_that_is_cut_off_can_be_read_again_and_again() -> None:
    block = noise(2_000_000, seed=5)
    data = zstd_frame(record(BLOCKS[0], 0)) + zstd_frame(record(block, 1))[:-500_000]
    with warnings.catch_warnings(), seekwarc.open(data) as archive:
        warnings.simplefilter("ignore", FormatWarning)
        _, last = archive
        found = last.block.read()
        assert len(found) > 1_000_000
        assert all(last.block.read() == found for _ in range(30))


PAGE = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


# Of a Zstandard frame, a block of up to 128 KiB is there whole or not at all.
@pytest.mark.parametrize(
    ("name", "size"),
    [*((name, 200_000) for name in [*FORMS, "zst of several frames"]), ("plain", 2000), ("gzip", 2000)],
)
@pytest.mark.parametrize("pipe", [False, True], ids=["file", "pipe"])
def test_every_way_gives_the_bytes_before_a_cut(name: str, pipe: bool, size: int) -> None:
    """By `read` with a warning, by a file before it raises, and nothing by a range beyond the cut."""
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(it), it) for it in (noise(size // 2), noise(size // 2, seed=1)))
    block = PAGE + chunks + b"0\r\n\r\n"
    header = warc_header(len(block), 1, kind="response")
    header = header.replace(b"Content-Type: ", b"Content-Type: application/http\r\nX: ")
    made = Foreign().record(BLOCKS[0]).record(block, header=header, cuts=(len(header), 4 * size // 5))
    pieces = [put.header + put.block + CRLF2 for put in made.records]
    data = b"".join(map(FORMS[name], pieces)) if name in FORMS else made.bytes()
    offset = len(FORMS[name](pieces[0])) if name in FORMS else made.records[1].offset
    data = data[: offset + (len(data) - offset) * 9 // 10]

    def last(archive: seekwarc.Reader) -> seekwarc.Record:
        return list(archive)[-1] if not pipe else next(it for it in archive if it.type == "response")

    blocks = []
    for way in ("read", "file", "payload", "range"):
        with (
            warnings.catch_warnings(record=True) as told,
            seekwarc.open(Pipe(data) if pipe else data) as archive,
        ):
            warnings.simplefilter("always")
            record = last(archive)
            if way == "read":
                blocks.append(record.block.read())
            elif way == "file":
                file, found = record.block.open(), b""
                with pytest.raises(TruncatedError):
                    while piece := file.read(1000):
                        found += piece
                blocks.append(found)
            elif way == "payload":
                body = record.payload.read()
                assert noise(size // 2).startswith(body[: size // 2])
                assert len(body) >= len(blocks[0]) - len(PAGE) - 20
            else:
                with pytest.raises(TruncatedError):
                    record.payload.pread(0, size)
        assert len(told) == (1 if not pipe or way in {"read", "payload"} else 0), way
    if not pipe:
        with seekwarc.open(data) as archive, pytest.warns(FormatWarning, match=f"offset {offset}: .*cut off"):
            blocks.append(archive.record_at(offset).block.read())
    assert len({len(it) for it in blocks}) == 1
    assert all(block.startswith(it) for it in blocks)
    assert len(blocks[0]) > size // 10
    with seekwarc.open(data, strict=True) as archive, pytest.raises(TruncatedError):
        archive.record_at(offset).block.read() if not pipe else list(archive)


@pytest.mark.parametrize("strict", [False, True], ids=["tolerant", "strict"])
@pytest.mark.parametrize("asks", [False, True], ids=["iterated", "measured"])
@pytest.mark.parametrize("name", [*FORMS, "zst of several frames"])
def test_asking_a_cut_record_for_its_length_changes_nothing(name: str, asks: bool, strict: bool) -> None:
    made = Foreign().record(BLOCKS[0]).record(noise(400_000), cuts=50_000)
    pieces = [put.header + put.block + CRLF2 for put in made.records]
    data = b"".join(map(FORMS[name], pieces)) if name in FORMS else made.bytes()
    came, ended = 0, None
    with warnings.catch_warnings(), seekwarc.open(data[:-100_000], strict=strict) as archive:
        warnings.simplefilter("ignore")
        try:
            for it in archive:
                came += 1
                _ = asks and not strict and it.length
        except FormatError as error:
            ended = type(error)
    assert ended is (TruncatedError if strict else None)
    assert came == 2 or strict


@each_compressed
def test_a_record_that_claims_all_that_follows_does_not_hide_it(make: Make) -> None:
    data = crawl(make, 10**17)
    with seekwarc.open(data) as archive, pytest.warns(FormatWarning, match="too large"):
        assert [it.block.read() for it in list(archive)] == BLOCKS
    # A pipe cannot go back: it must not end as if nothing were left out.
    with seekwarc.open(Pipe(data)) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(TruncatedError):
            list(archive)


@each_form
def test_a_last_record_that_is_cut_off_in_its_header_is_damage(make: Make) -> None:
    header = warc_header(5, 1)
    first = make(record(BLOCKS[0], 0))
    data = first + (header[:80] if make is FORMS["plain"] else make(header + noise(100_000))[:30])
    with seekwarc.open(data) as archive, pytest.raises(FormatError):
        list(archive)


def test_a_tool_that_copies_does_not_leave_anything_out_in_silence() -> None:
    for make in FORMS.values():
        for data in (crawl(make, 290), crawl(make, 320), crawl(make, 300)[:-30]):
            with warnings.catch_warnings(), seekwarc.open(data) as archive, pytest.raises(FormatError):
                warnings.simplefilter("ignore")
                list(archive.in_order())


# Versions and line breaks.


@each_form
def test_a_version_line_may_end_with_two_returns(make: Make) -> None:
    middle = record(BLOCKS[1], 1).replace(b"WARC/1.1\r\n", b"WARC/1.1\r\r\n", 1)
    data = b"".join(map(make, (record(BLOCKS[0], 0), middle, record(BLOCKS[2], 2))))
    blocks, problems, told = read(data)
    assert blocks == BLOCKS
    assert problems == [None, "the version line ends with CR CR LF", None]
    assert len(told) == 1
    offset = len(make(record(BLOCKS[0], 0)))
    with (
        seekwarc.open(data, strict=True) as archive,
        pytest.raises(FormatError, match=f"{offset}: .*CR CR LF"),
    ):
        list(archive)
    with pytest.warns(FormatWarning), seekwarc.open(data) as archive:
        assert archive.record_at(offset).block.read() == BLOCKS[1]


@each_form
def test_all_lines_of_a_header_may_end_with_two_returns(make: Make) -> None:
    header = warc_header(300, 1).replace(b"\r\n", b"\r\r\n")
    middle = header + BLOCKS[1] + b"\r\r\n\r\r\n"
    data = b"".join(map(make, (record(BLOCKS[0], 0), middle, record(BLOCKS[2], 2))))
    blocks, problems, told = read(data)
    assert blocks == BLOCKS
    assert problems == [None, "the lines of the header end with CR CR LF", None]
    assert len(told) == 1
    offset = len(make(record(BLOCKS[0], 0)))
    with seekwarc.open(data) as archive:
        with pytest.warns(FormatWarning):
            found = archive.record_at(offset)
        assert (found.header.raw, found.block.read()) == (header, BLOCKS[1])
    with seekwarc.open(data, strict=True) as archive, pytest.raises(FormatError, match="CR CR LF"):
        list(archive)


def lower(data: bytes) -> bytes:
    return data.replace(b"WARC/1.1", b"warc/1.1", 1)


@each_form
@pytest.mark.parametrize("pipe", [False, True], ids=["file", "pipe"])
def test_a_version_line_in_lower_case_is_no_deviation(make: Make, pipe: bool) -> None:
    pieces = [lower(record(block, number)) for number, block in enumerate(BLOCKS)]
    for mixed in (pieces, [record(BLOCKS[0], 0), pieces[1], record(BLOCKS[2], 2)]):
        data = b"".join(map(make, mixed))
        assert read(Pipe(data) if pipe else data, strict=True) == (BLOCKS, [None] * 3, [])
        with seekwarc.open(data) as archive:
            assert archive.record_at(len(make(mixed[0]))).block.read() == BLOCKS[1]
            assert [it.length for it in archive] == [len(make(it)) for it in mixed]


@each_form
@pytest.mark.parametrize("claimed", [290, 320])
def test_the_record_after_a_wrong_length_is_found_in_any_case(make: Make, claimed: int) -> None:
    pieces = (record(BLOCKS[0], 0), record(BLOCKS[1], 1, claimed=claimed), record(BLOCKS[2], 2))
    blocks, _, told = read(b"".join(make(lower(it)) for it in pieces))
    assert blocks == [BLOCKS[0], BLOCKS[1][:claimed], BLOCKS[2]]
    assert len(told) == 1


@each_form
def test_the_record_after_damage_is_found_in_any_case(make: Make) -> None:
    first, *rest = (make(lower(record(block, number))) for number, block in enumerate(BLOCKS))
    data = first + b"#" * (2 << 20) + b"".join(rest)
    assert read(data, on_error="skip")[0] == BLOCKS


@each_form
@pytest.mark.parametrize("blank", [b"\r\n", CRLF2, CRLF2 * 25], ids=len)
@pytest.mark.parametrize("alone", [True, False])
def test_line_breaks_between_records_are_passed_on_every_path(make: Make, blank: bytes, alone: bool) -> None:
    """In a frame or member of their own, or at the head of the next record's."""
    parts = [record(block, number) for number, block in enumerate(BLOCKS)]
    between = make(blank) if alone else b""
    pieces = [make(parts[0]), between, make(parts[1] if alone else blank + parts[1]), between, make(parts[2])]
    data = b"".join(pieces)
    with warnings.catch_warnings():
        # At the head of a frame they keep the record from beginning it.
        warnings.simplefilter("error" if alone or make is FORMS["plain"] else "ignore")
        with seekwarc.open(data) as archive:
            records = list(archive)
            assert [it.block.read() for it in records] == BLOCKS
            with seekwarc.open(data) as again:
                in_order = [(it.offset, it.block.read()) for it in again.in_order()]
            assert [(it.offset, it.block.read()) for it in records] == in_order
            if alone and len(blank) <= 64:
                ends = [*(it.offset for it in records[1:]), len(data)]
                assert [it.offset + it.length for it in records] == ends
                for it in records:
                    assert archive.record_at(it.offset, it.length).length == it.length
                    assert archive.record_at(it.offset).length == it.length
    with seekwarc.open(data, strict=True) as archive, pytest.raises(FormatError):
        list(archive)


@each_compressed
def test_line_breaks_before_the_first_record_are_passed(make: Make) -> None:
    data = make(CRLF2) + crawl(make, 300)
    assert read(data) == (BLOCKS, [None] * 3, [])
    with seekwarc.open(data, strict=True) as archive, pytest.raises(FormatError):
        list(archive)


@each_form
def test_a_sound_file_is_read_strictly_without_a_word(make: Make) -> None:
    data = crawl(make, 300)
    assert read(data, strict=True) == (BLOCKS, [None] * 3, [])
    assert read(Pipe(data), strict=True) == (BLOCKS, [None] * 3, [])


# Records that share a frame.


@each_compressed
def test_a_record_that_shares_its_frame_has_the_length_of_that(make: Make) -> None:
    shared = make(record(BLOCKS[0], 0) + record(BLOCKS[1], 1))
    data = shared + make(record(BLOCKS[2], 2))
    with seekwarc.open(data) as archive:
        with pytest.warns(FormatWarning, match="share one frame"):
            records = list(archive)
        places = [(it.offset, it.length) for it in records]
    assert places == [(0, len(shared)), (0, len(shared)), (len(shared), len(data) - len(shared))]
    assert [it.problem is not None for it in records] == [True, True, False]


@pytest.mark.parametrize("make", [gzip_member, zstd_frame])
def test_going_to_a_shared_frame_tells_that_others_are_in_it(make: Make) -> None:
    shared = make(record(BLOCKS[0], 0) + record(BLOCKS[1], 1))
    data = shared + make(record(BLOCKS[2], 2))
    for length in (len(shared), None):
        with seekwarc.open(data) as archive:
            with pytest.warns(FormatWarning, match="share one frame"):
                first = archive.record_at(0, length)
            assert first.problem is not None
            assert first.block.read() == BLOCKS[0]
        with seekwarc.open(data, strict=True) as archive, pytest.raises(FormatError, match="share one frame"):
            archive.record_at(0, length)


def test_lengths_of_a_file_that_is_one_member_cost_no_pass_each() -> None:
    member = gzip_member(b"".join(record(text(100), number) for number in range(3000)))
    source = RecordingSource(member)
    with pytest.warns(FormatWarning), seekwarc.open(source) as archive:
        assert {it.length for it in archive} == {len(member)}
    assert source.bytes_asked <= 3 * source.size


@pytest.mark.parametrize("count", [50_000])
def test_empty_frames_are_passed_at_the_cost_of_reading_in_order(count: int) -> None:
    made = Foreign().record(b"x")
    data = made.bytes() + zstd_frame(b"") * count + made.bytes()
    with seekwarc.open(data) as archive:
        assert len(list(archive)) == 2
        calls = archive.stats.requests
    assert calls < 100
