"""What answers claim to have of a resource, and how parts cover it (RFC 9110, section 15.3.7.3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.format.http import parse_http_head
from seekwarc.format.partial import (
    MAX_BODY_PARTS,
    MAX_PART_HEAD,
    ByteRange,
    body_parts,
    claim_of,
    cover,
    resource_of,
)

URI = "http://example.org/film.mp4"
VIDEO = "https://r3---sn-4g5.googlevideo.com/videoplayback?id=o-A&itag=137&clen=5000"
TAG = 'ETag: "one"'
MODIFIED = "Last-Modified: Mon, 16 Nov 2026 06:00:00 GMT"


def claim(*lines: str, status: int = 206, uri: str = URI, codings: tuple[str, ...] = ()):
    head = parse_http_head(f"HTTP/1.1 {status} X\r\n".encode() + "\r\n".join([*lines, "", ""]).encode())
    return claim_of(uri, head.status, head, codings)


def test_a_part_is_what_content_range_says() -> None:
    found = claim("Content-Range: bytes 100-199/1000", TAG)
    assert (found.resource, found.held, found.total) == (URI, (100, 200), 1000)
    assert found.is_proved
    assert not found.is_whole
    assert claim("Content-Range:  BYTES 0-999/1000 ", TAG).is_whole


@pytest.mark.parametrize(
    "stated",
    [
        "bytes 0-99/*",
        "bytes */1000",
        "bytes 100-99/1000",
        "bytes 0-1000/1000",
        "bytes -1-99/1000",
        "bytes 0--99/1000",
        "bytes 0-99/-1000",
        "bytes 0-0/0",
        "items 0-99/1000",
        "bytes=0-99/1000",
        "bytes 0-99,200-299/1000",
        "bytes 0-99/1" + "0" * 30,
        "bytes 0-99/\N{ARABIC-INDIC DIGIT ONE}00",
        "",
    ],
)
def test_a_range_without_total_or_with_a_lie_is_left_out(stated: str) -> None:
    assert claim(f"Content-Range: {stated}", TAG) is None


def test_only_a_strong_tag_is_proof() -> None:
    part = "Content-Range: bytes 0-99/1000"
    assert claim(part, 'ETag: W/"one"', MODIFIED) is None
    assert claim(part, 'ETag: w/"one"', MODIFIED) is None
    assert claim(part) is None
    assert not claim(part, MODIFIED).is_proved
    assert claim(part, "ETag: one") is None
    # A tag that is malformed proves nothing, but another one is another resource.
    assert not claim(part, "ETag: one", MODIFIED).is_proved
    assert claim(part, "ETag: one", MODIFIED).identity != claim(part, "ETag: two", MODIFIED).identity
    assert claim(part, TAG, 'ETag: "two"') is None
    assert claim(part, TAG, "Content-Range: bytes 0-99/2000") is None


def test_identity_is_tag_codings_and_size() -> None:
    first = claim("Content-Range: bytes 0-99/1000", TAG, MODIFIED)
    assert claim("Content-Range: bytes 100-199/1000", TAG).identity == first.identity
    for other in (
        claim("Content-Range: bytes 0-99/1001", TAG),
        claim("Content-Range: bytes 0-99/1000", 'ETag: "two"'),
        claim("Content-Range: bytes 0-99/1000", TAG, codings=("gzip",)),
    ):
        assert other.identity != first.identity


def test_a_complete_answer_is_a_whole() -> None:
    found = claim("Content-Length: 1000", TAG, status=200)
    assert found.is_whole
    assert found.identity == claim("Content-Range: bytes 0-99/1000", TAG).identity
    assert claim(TAG, status=200) is None
    assert claim("Content-Length: 1000", TAG, status=404) is None


@pytest.mark.parametrize(
    ("uri", "whole", "held"),
    [
        (f"{URI}?range=0-99", URI, (0, 100)),
        (f"{URI}?a=1&range=5-5&b=%20#top", f"{URI}?a=1&b=%20#top", (5, 6)),
        (f"{URI}?bytestart=7&x&byteend=9", f"{URI}?x", (7, 10)),
        (f"{VIDEO}&range=100-199&rn=4&rbuf=0", VIDEO, (100, 200)),
    ],
)
def test_range_parameters_are_no_part_of_the_uri(uri: str, whole: str, held: tuple[int, int]) -> None:
    assert resource_of(uri)[:2] == (whole, held)


@pytest.mark.parametrize(
    "uri",
    [
        URI,
        f"{URI}?range=all",
        f"{URI}?range=9-1",
        f"{URI}?range=1-2&range=3-4",
        f"{URI}?arange=1-2",
        f"{URI}?bytestart=1",
        f"{URI}?rn=1&rbuf=2",
        f"{URI}#?range=1-2",
        f"{URI}?range={'9' * 40}-{'9' * 40}",
    ],
)
def test_other_parameters_are_kept(uri: str) -> None:
    assert resource_of(uri) == (uri, None, None)


def test_a_video_host_answers_200_and_names_the_size_in_the_uri() -> None:
    found = claim(MODIFIED, "Content-Length: 100", status=200, uri=f"{VIDEO}&range=100-199&rn=4")
    assert (found.resource, found.held, found.total, found.is_proved) == (VIDEO, (100, 200), 5000, False)
    assert claim(MODIFIED, status=200, uri=f"{VIDEO}&range=4990-5000") is None
    # Elsewhere, nothing says what a 200 with a range in its URI is; it is no complete answer.
    assert claim(TAG, "Content-Length: 100", status=200, uri=f"{URI}?range=0-99&clen=5000") is None
    assert claim(TAG, status=200, uri=f"{VIDEO.replace('.com', '.com.evil.org')}&range=0-99") is None


def test_a_range_in_the_uri_that_content_range_does_not_mean_names_a_resource() -> None:
    inner = claim("Content-Range: bytes 0-9/100", TAG, uri=f"{URI}?range=500-599")
    assert inner.resource == f"{URI}?range=500-599"
    assert claim("Content-Range: bytes 500-599/9999", TAG, uri=f"{URI}?range=500-599").resource == URI


RANGES = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 25)).map(lambda it: ByteRange(it[0], it[0] + it[1])),
    max_size=12,
)


@given(RANGES)
def test_each_byte_that_is_held_is_in_one_piece(ranges: list[ByteRange]) -> None:
    pieces, again = cover(ranges)
    assert [byte for it in pieces for byte in range(it.start, it.stop)] == sorted(
        {byte for it in ranges for byte in range(*it)}
    )
    for piece in (*pieces, *again):
        assert ranges[piece.part].start <= piece.start < piece.stop <= ranges[piece.part].stop
    # What a part has, and no piece takes from it, is compared.
    for number, it in enumerate(ranges):
        taken = [byte for piece in (*pieces, *again) if piece.part == number for byte in range(*piece[1:])]
        assert sorted(taken) == list(range(*it))
    for number, start, stop in again:
        assert sum(it.start < stop and start < it.stop for it in pieces) <= 2, number


def test_many_parts_that_overlap_take_linear_time() -> None:
    class Looked(list[ByteRange]):
        times = 0

        def __getitem__(self, number: Any) -> Any:
            self.times += 1
            return super().__getitem__(number)

        def __iter__(self) -> Iterator[ByteRange]:
            self.times += len(self)
            return super().__iter__()

    count = 3000
    all_to_the_end = Looked(ByteRange(number, 10**17 - number % 7) for number in range(count))
    pieces, again = cover(all_to_the_end)
    assert (len(pieces), len(again)) == (1, count - 1)
    steps = Looked(ByteRange(number, number + 1000) for number in range(count))
    pieces, again = cover(steps)
    assert len(pieces) + len(again) >= count
    assert max(all_to_the_end.times, steps.times) <= 10 * count


def test_many_ranges_cost_a_read_each_up_to_a_limit() -> None:
    part = b"\r\n--b\r\nContent-Range: bytes 5-9/90\r\n\r\n12345"
    data = part * 3000
    reads = []

    def pread(start: int, length: int) -> bytes:
        reads.append(length)
        return data[start : start + length]

    found = list(body_parts(pread, "b"))
    assert len(found) == MAX_BODY_PARTS
    assert len(reads) == MAX_BODY_PARTS + 1
    assert max(reads) <= MAX_PART_HEAD
    assert data[found[7].start :].startswith(b"12345")
