"""Binary search in sorted lines: compared with going through all of them, and counted."""

from __future__ import annotations

import io
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.cdx import lines as module
from seekwarc.cdx.lines import BLOCK, StoredLines
from seekwarc.errors import FormatError, LimitError, SourceError
from seekwarc.storage.streams import PipeSource
from tests.support.cdx import many_lines
from tests.support.sources import RecordingSource
from tests.support.work import at_most_calls

LINES = many_lines(3000, filler=100)
DATA = b"".join(LINES)


def stored(data: bytes) -> StoredLines:
    return StoredLines(RecordingSource(data, "a.cdxj"))


def expected(lines: list[bytes], wanted: bytes) -> tuple[list[bytes], list[bytes]]:
    """Return the lines at or after `wanted`, and those before it in reverse order, by a scan of all."""
    heads = [(b" ".join(line.split(b" ", 2)[:2]), line.rstrip(b"\r\n")) for line in lines]
    return [line for head, line in heads if head >= wanted], [line for head, line in heads if head < wanted][
        ::-1
    ]


def assert_found(data: bytes, lines: list[bytes], wanted: bytes) -> None:
    found = stored(data)
    after, before = expected(lines, wanted)
    assert [line.data for line in found.ascending(wanted)] == after
    assert [line.data for line in found.descending(wanted)] == before


@pytest.mark.parametrize("number", [0, 1, 500, 1499, 2999])
def test_every_line_is_found(number: int) -> None:
    head = b" ".join(LINES[number].split(b" ")[:2])
    line = next(stored(DATA).ascending(head))
    assert line.data == LINES[number].rstrip()
    assert DATA[line.offset :].startswith(LINES[number])
    assert line.source == "a.cdxj"


def test_what_earlier_searches_met_changes_no_later_one() -> None:
    rng = random.Random(2)
    found = stored(DATA)
    for _ in range(100):
        wanted = rng.choice(LINES)[: rng.randrange(40)]
        after, before = expected(LINES, wanted)
        first = [line.data for _, line in zip(range(3), found.ascending(wanted), strict=False)]
        assert first == after[:3]
        if rng.random() < 0.1:
            assert [line.data for _, line in zip(range(3), found.descending(wanted), strict=False)] == before[
                :3
            ]


def test_lines_after_and_before_any_key_are_in_order() -> None:
    rng = random.Random(1)
    places = [
        b"",
        b"\xff",
        b"org,site5)",
        b"org,site5)/page/0000005 2021",
        *(rng.choice(LINES)[: rng.randrange(40)] for _ in range(20)),
    ]
    for wanted in places:
        assert_found(DATA, LINES, wanted)


KEYS = st.lists(st.text("abc", min_size=1, max_size=3), max_size=40)


@given(
    KEYS,
    st.text("abc 012", max_size=8),
    st.sampled_from([0, 1, 30]),
    st.booleans(),
    st.sampled_from([16, 80]),
)
def test_a_search_finds_what_a_scan_finds(
    keys: list[str], wanted: str, filler: int, last: bool, block: int
) -> None:
    # Some have the same key and date.
    lines = sorted(f"{key} {number // 8:04} {{{'x' * filler}\n".encode() for number, key in enumerate(keys))
    data = b"".join(lines)
    if last:
        data = data.removesuffix(b"\n")
    heads = [b" ".join(line.split(b" ")[:2]) for line in lines]
    with pytest.MonkeyPatch.context() as patch:
        # So that lines lie across blocks, and over several.
        patch.setattr(module, "BLOCK", block)
        patch.setattr(module, "FEW_LINES", 4)
        for some in {wanted.encode(), *heads[:5]}:
            assert_found(data, lines, some)


def test_all_lines_of_one_key_and_date_are_found() -> None:
    lines = [b"a 2020 {}\n", *(b"b 2020 {%06d}\n" % number for number in range(30_000)), b"c 2020 {}\n"]
    assert len(b"".join(lines)) > 6 * BLOCK
    found = [*stored(b"".join(lines)).ascending(b"b 2020")]
    assert len(found) == 30_001
    assert next(stored(b"".join(lines)).descending(b"b 2020")).data == b"a 2020 {}"


def test_a_search_reads_few_blocks_and_the_next_ones_fewer() -> None:
    data = b"".join(many_lines(20_000, filler=1000))
    source = RecordingSource(data, "a.cdxj")
    found = StoredLines(source)
    most = math.ceil(math.log2(len(data) / BLOCK)) + 2
    assert most < 12
    heads = [b"org,site%d)/page/%07d" % (number % 97, number) for number in range(0, 6000, 60)]
    for head in heads:
        source.forget()
        assert next(found.ascending(head)).data.startswith(head)
        assert len(source.requests) <= most
        assert source.bytes_asked <= most * BLOCK
    source.forget()
    for head in heads:
        assert next(found.ascending(head)).data.startswith(head)
    assert len(source.requests) <= 2 * len(heads), "what was learnt is remembered"


@pytest.mark.parametrize("tail", [b"", b"z 2020 {" + b"x" * 3 * BLOCK])
def test_descending_from_the_end_reads_little_more_than_a_block(tail: bytes) -> None:
    source = RecordingSource(b"".join(many_lines(20_000, filler=1000)) + tail, "a.cdxj")
    backward = StoredLines(source).descending(b"zz")
    if tail:
        assert next(backward).data == tail
    assert next(backward).data == source.data[: -len(tail) or None].splitlines()[-1]
    assert source.bytes_asked < 24 * BLOCK


def test_the_line_before_a_place_is_made_alone() -> None:
    """All lines of its block were made, for the sake of the last."""
    lines = many_lines(600)
    found = stored(b"".join(lines))
    assert next(found.descending(b"zz")).data == lines[-1].rstrip()
    with at_most_calls(80):
        assert next(found.descending(b"zz")).data == lines[-1].rstrip()


def test_consecutive_lines_are_read_in_growing_steps() -> None:
    data = b"".join(many_lines(20_000, filler=1000))
    source = RecordingSource(data, "a.cdxj")
    assert sum(1 for _ in StoredLines(source).ascending(b"")) == 20_000
    assert source.bytes_asked < len(data) * 1.05
    assert len(source.requests) < 45


def test_memory_for_long_keys_is_bounded(monkeypatch) -> None:
    monkeypatch.setattr(module, "MAX_REMEMBERED", 1 << 20)
    lines = [b"%03d%b 2026 {}\n" % (number, b"k" * 100_000) for number in range(60)]
    found = stored(b"".join(lines))
    for line in lines:
        assert next(found.ascending(line[:200])).data == line.rstrip()
    assert sum(len(it.data) for it in found._known.values() if it is not None) <= 1 << 20


def test_empty_lines_and_windows_line_breaks_do_not_count() -> None:
    data = b"\na 2020 {}\r\n\r\nb 2020 {}\n\n"
    assert [line.data for line in stored(data).ascending(b"")] == [b"a 2020 {}", b"b 2020 {}"]


def test_an_empty_file_has_no_lines() -> None:
    assert [*stored(b"").ascending(b"")] == [*stored(b"").descending(b"a")] == []


def test_a_line_out_of_order_is_reported_with_its_offset() -> None:
    data = b"b 2020 {}\nc 2020 {}\na 2020 {}\n"
    with pytest.raises(FormatError, match="not sorted") as caught:
        [*stored(data).ascending(b"")]
    assert (caught.value.source, caught.value.offset) == ("a.cdxj", 20)
    with pytest.raises(FormatError, match="not sorted"):
        [*stored(data).descending(b"z")]


def test_an_unsorted_file_is_reported_by_the_search() -> None:
    shuffled = random.Random(2).sample(LINES, len(LINES))
    with pytest.raises(FormatError, match=r"LC_ALL=C sort"):
        [*stored(b"".join(shuffled)).ascending(b"org,site5)")]


def test_the_search_itself_detects_lines_out_of_order() -> None:
    data = b"z 2020 {}\n" * 40_000 + b"m 2020 {}\n" * 60_000
    with pytest.raises(FormatError, match="not sorted"):
        next(stored(data).ascending(b"a"))
    data = b"z 2020 {}\n" * 100_000 + b"m 2020 {}\n" * 20_000
    with pytest.raises(FormatError, match="not sorted"):
        next(stored(data).ascending(b"zz"))


def test_lines_of_one_key_and_date_may_be_in_any_order() -> None:
    data = b'a 2020 {"b"}\na 2020 {"a"}\n'
    assert len([*stored(data).ascending(b"")]) == 2


def test_a_line_without_a_date_is_reported_with_its_offset() -> None:
    for data in (b"a 2020 {}\nnonsense\nz 2020 {}\n", b"a 2020 {}\n" * 10_000 + b"nonsense\n" * 20_000):
        with pytest.raises(FormatError, match="not a line of an index") as caught:
            [*stored(data).ascending(b"b")]
        assert caught.value.source == "a.cdxj"
        assert data[caught.value.offset or 0 :].startswith(b"nonsense")


@pytest.mark.parametrize("data", [b"x" * (40 << 20), b"a 2020 {}\n" + b"x" * (40 << 20)])
def test_a_file_without_line_breaks_is_not_read_to_its_end(data: bytes) -> None:
    source = RecordingSource(data, "a.cdxj")
    with pytest.raises(LimitError, match="not a sorted index"):
        [*StoredLines(source).ascending(b"y")]
    assert source.bytes_asked < len(data)


def test_a_source_that_ends_early_is_reported() -> None:
    source = RecordingSource(DATA, "a.cdxj")
    source.data = DATA[:100_000]
    with pytest.raises(SourceError, match="the file ends at 327680, but has"):
        [*StoredLines(source).ascending(b"")]
    with pytest.raises(SourceError, match="the file ends at 327680, but has"):
        [*StoredLines(source).ascending(b"zzz")]


def test_a_pipe_cannot_be_searched() -> None:
    with pytest.raises(SourceError, match="cannot be searched"):
        StoredLines(PipeSource(io.BytesIO(DATA)))
