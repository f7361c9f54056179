"""ZipNum clusters, made by hand in both forms: what is found is what the lines say, or a typed error."""

from __future__ import annotations

import gzip
import random
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from seekwarc.cdx.limits import MAX_BLOCK_SIZE
from seekwarc.cdx.lines import StoredLines
from seekwarc.cdx.zipnum import ZipNumCluster, is_cluster
from seekwarc.errors import ChecksumError, FormatError, LimitError, TruncatedError, UnsupportedError
from seekwarc.storage.local import BytesSource, LocalFileSource
from seekwarc.storage.source import RangeSource
from tests.support.cdx import cdxj_line, many_lines, tabbed_cluster, wacz_cluster
from tests.support.sources import RecordingSource

LINES = many_lines(200)
FORMS = pytest.mark.parametrize("make", [tabbed_cluster, wacz_cluster])
Make = Callable[[Path, list[bytes]], Path]


def open_cluster(path: Path) -> ZipNumCluster:
    first = path.read_bytes().partition(b"\n")[0]
    assert is_cluster(first)

    def open_part(name: str) -> RangeSource:
        return LocalFileSource(path.parent / name)

    return ZipNumCluster(LocalFileSource(path), first, open_part)


@FORMS
def test_lines_equal_those_of_the_plain_file(make: Make, tmp_path: Path) -> None:
    cluster = open_cluster(make(tmp_path, LINES))
    plain = StoredLines(BytesSource(b"".join(LINES)))
    rng = random.Random(3)
    for wanted in [b"", b"\xff", *(rng.choice(LINES)[: rng.randrange(45)] for _ in range(40))]:
        for way in ("ascending", "descending"):
            found = [line.data for line in getattr(cluster, way)(wanted)]
            assert found == [line.data for line in getattr(plain, way)(wanted)]


@FORMS
def test_lines_of_a_key_across_blocks_are_all_found(make: Make, tmp_path: Path) -> None:
    lines = [cdxj_line("org,a)/", f"{2000 + number}0101000000") for number in range(25)]
    cluster = open_cluster(make(tmp_path, [cdxj_line("org,0)/", "2000"), *lines]))
    assert [line.data for line in cluster.ascending(b"org,a)/ ")] == [line.rstrip() for line in lines]


def test_few_blocks_are_read(tmp_path: Path) -> None:
    path = wacz_cluster(tmp_path, LINES)
    part = RecordingSource((tmp_path / "index.cdx.gz").read_bytes())
    cluster = ZipNumCluster(LocalFileSource(path), path.read_bytes().partition(b"\n")[0], lambda _: part)
    head = b" ".join(LINES[105].split(b" ")[:2])
    assert next(cluster.ascending(head)).data == LINES[105].rstrip()
    assert len(part.requests) <= 2


def test_a_tabbed_index_is_taken_at_its_word(tmp_path: Path) -> None:
    path = tabbed_cluster(tmp_path, LINES, per_part=len(LINES))
    part = RecordingSource((tmp_path / "cdx-00000.gz").read_bytes())
    cluster = ZipNumCluster(LocalFileSource(path), path.read_bytes().partition(b"\n")[0], lambda _: part)
    head = b" ".join(LINES[105].split(b" ")[:2])
    assert next(cluster.descending(head)).data == LINES[104].rstrip()
    assert len(part.requests) == 1


def test_other_files_are_not_taken_for_a_cluster() -> None:
    assert not is_cluster(LINES[0])
    assert not is_cluster(b"")
    assert not is_cluster(b'!meta 0 {"format": "cdxj"}')
    assert not is_cluster(b"!meta 0 []")
    assert not is_cluster(b"!meta 0 {")
    with pytest.raises(UnsupportedError, match=r"cdxj-gzip-2\.0"):
        is_cluster(b'!meta 0 {"format": "cdxj-gzip-2.0"}')


def read_all(index: bytes, part: bytes, wanted: bytes = b"", **options: int) -> list[bytes]:
    first = index.partition(b"\n")[0]
    cluster = ZipNumCluster(
        BytesSource(index, "a.idx"), first, lambda name: BytesSource(part, name), **options
    )
    return [line.data for line in cluster.ascending(wanted)]


BLOCK = gzip.compress(b"a 2020 {}\nb 2020 {}\n")


def entry(offset: object = 0, length: object = len(BLOCK)) -> bytes:
    return f"a 2020\tpart.gz\t{offset}\t{length}\t1\n".encode()


def test_an_intact_block_is_read() -> None:
    assert read_all(entry(), BLOCK) == [b"a 2020 {}", b"b 2020 {}"]


@pytest.mark.parametrize(
    ("index", "part", "error"),
    [
        (entry(), BLOCK[:-9], TruncatedError),
        (entry(length=12), BLOCK, TruncatedError),
        (entry(offset=10**17), BLOCK, TruncatedError),
        (entry(offset=1), BLOCK, ChecksumError),
        (entry(), BLOCK[:-8] + b"\0" * 8, ChecksumError),
        (entry(length=0), BLOCK, LimitError),
        (entry(length=10**17), BLOCK, LimitError),
        (entry(), gzip.compress(b"nonsense\n"), FormatError),
        (entry(), gzip.compress(b"b 2020 {}\na 2020 {}\n"), FormatError),
    ],
    ids=range(9),
)
def test_a_damaged_block_is_reported_with_its_offset(
    index: bytes, part: bytes, error: type[FormatError]
) -> None:
    with pytest.raises(error) as caught:
        read_all(index, part)
    assert caught.value.source == "part.gz"
    assert caught.value.offset is not None


def packed(data: bytes) -> bytes:
    """Return a block, of bytes that may be many, compressed as well as gzip can."""
    compressor = zlib.compressobj(9, wbits=31)
    return compressor.compress(data) + compressor.flush()


def test_a_block_that_unpacks_to_too_much_is_refused() -> None:
    block = packed(bytes(MAX_BLOCK_SIZE + 1))
    with pytest.raises(LimitError, match=f"more than {MAX_BLOCK_SIZE} bytes; raise max_block_size") as caught:
        read_all(entry(length=len(block)), block)
    assert (caught.value.source, caught.value.offset) == ("part.gz", 0)


@pytest.mark.parametrize("length", [0, -1, 1])
def test_the_limit_of_a_block_is_exact_and_can_be_raised(length: int) -> None:
    data = b"a 2020 " + b"{}" * 500
    block = packed(data)
    limit = len(data) + length
    read = lambda: read_all(entry(length=len(block)), block, max_block_size=limit)  # noqa: E731
    if length < 0:
        with pytest.raises(LimitError):
            read()
    else:
        assert read() == [data]


def test_a_block_of_tiny_lines_costs_no_more_than_its_bytes() -> None:
    """61 KB that were 64 MiB of short lines took 2.5 GB."""
    tiny = b"a 1\n" * (MAX_BLOCK_SIZE // 4 - 8)
    block = packed(tiny + b"b 2020 {}\n")
    tracemalloc.start()
    try:
        assert read_all(entry(length=len(block)), block, wanted=b"b ") == [b"b 2020 {}"]
        with pytest.raises(FormatError, match="not a line of an index"):
            read_all(entry(length=len(block)), packed(b"\n" * (MAX_BLOCK_SIZE - 8)), wanted=b"b ")
        assert tracemalloc.get_traced_memory()[1] < 4 * MAX_BLOCK_SIZE
    finally:
        tracemalloc.stop()


def test_a_malformed_line_of_the_index_is_reported_with_its_offset() -> None:
    index = wacz_index = cdxj_line("!meta", "0", format="cdxj-gzip-1.0", filename="part.gz")
    for line in (b"a 2020 {}\n", b"a 2020 x\n", b'a 2020 {"offset": "x", "length": 4}\n'):
        with pytest.raises(FormatError, match="cluster's index") as caught:
            read_all(wacz_index + line, BLOCK)
        assert (caught.value.source, caught.value.offset) == ("a.idx", len(index))
