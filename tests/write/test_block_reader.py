"""The block of a record that is being written."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import pytest

from seekwarc.errors import FormatError
from seekwarc.write.block_reader import BlockSource, length_of
from tests.support.writing import HTTP_HEAD, KIB, Stream, text

BLOCK = text(200_000)
KINDS = [bytes, bytearray, memoryview, io.BytesIO, Stream, lambda block: Stream(block, most=7)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [None, 1000])
def test_read_returns_all_bytes_until_the_block_ends(kind: Any, length: int | None) -> None:
    block = BLOCK[:1000]
    source = BlockSource(kind(block), length)
    assert source.read(0) == b""
    assert source.read(1) == block[:1]
    assert source.read(600) == block[1:601]
    assert source.read(600) == block[601:]
    assert source.read(600) == b""


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_a_stream_may_return_any_buffer(kind: Any) -> None:
    class Lending(io.BytesIO):
        def read(self, size: int | None = -1) -> Any:
            return kind(super().read(size))

    source = BlockSource(Lending(BLOCK[:1000]), None)
    assert source.read(600) == BLOCK[:600]
    assert source.peek(5000) == source.read(5000) == BLOCK[600:1000]
    assert source.read(1) == b""


@pytest.mark.parametrize("kind", KINDS)
def test_peek_keeps_the_bytes(kind: Any) -> None:
    source = BlockSource(kind(BLOCK[:1000]), None)
    assert source.peek(10) == BLOCK[:10]
    assert source.peek(500) == BLOCK[:500]
    assert source.read(20) == BLOCK[:20]
    assert source.peek(5000) == BLOCK[20:1000]
    assert source.peek(5) == BLOCK[20:25]
    assert source.read(5000) == BLOCK[20:1000]
    assert source.peek(1) == b""


def test_no_byte_after_the_length_is_read() -> None:
    stream = io.BytesIO(BLOCK)
    source = BlockSource(stream, 1000)
    assert source.peek(64 * KIB) == BLOCK[:1000]
    assert source.read(64 * KIB) == BLOCK[:1000]
    assert source.read(1) == b""
    assert stream.tell() == 1000


@pytest.mark.parametrize("kind", KINDS)
def test_a_block_shorter_than_its_length_is_an_error(kind: Any) -> None:
    source = BlockSource(kind(BLOCK[:1000]), 1001)
    assert source.read(1000) == BLOCK[:1000]
    with pytest.raises(FormatError, match="ended after 1000 bytes, its Content-Length is 1001"):
        source.read(1)


def test_peeking_beyond_a_short_block_is_an_error() -> None:
    with pytest.raises(FormatError, match="ended after 1000 bytes"):
        BlockSource(io.BytesIO(BLOCK[:1000]), 2000).peek(1500)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [None, 1000])
@pytest.mark.parametrize(
    ("first", "size"), [(100, 100), (1, 999), (1000, 1), (999, 5000), (300, 350), (7, 1)]
)
def test_the_last_chunk_is_marked(kind: Any, length: int | None, first: int, size: int) -> None:
    block = BLOCK[:1000]
    chunks = list(BlockSource(kind(block), length).chunks(first, size))
    assert b"".join(chunk for chunk, _ in chunks) == block
    assert [last for _, last in chunks] == [False] * (len(chunks) - 1) + [True]
    assert len(chunks[0][0]) == min(first, 1000)
    assert {len(chunk) for chunk, _ in chunks[1:-1]} <= {size}


def test_an_empty_block_has_no_chunks() -> None:
    assert list(BlockSource(b"", None).chunks(10, 10)) == []


def test_an_http_head_is_found_and_kept() -> None:
    source = BlockSource(Stream(HTTP_HEAD + BLOCK), None)
    head = source.http_head()
    assert head is not None
    assert head.raw == HTTP_HEAD
    assert source.read(len(HTTP_HEAD) + 10) == HTTP_HEAD + BLOCK[:10]


def test_a_block_without_an_http_head_is_kept_too() -> None:
    source = BlockSource(Stream(BLOCK), None)
    assert source.http_head() is None
    assert source.read(len(BLOCK)) == BLOCK


def test_the_length_of_a_large_file_is_known(tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    path.write_bytes(BLOCK)
    for file in (path.open("rb"), path.open("rb", buffering=0), path.open("r+b"), io.BytesIO(BLOCK)):
        with file:
            assert length_of(file) == len(BLOCK)
            file.seek(10)
            assert length_of(file) == len(BLOCK) - 10
            file.seek(0, io.SEEK_END)
            assert length_of(file) is None


def test_the_length_of_other_streams_is_not_known(tmp_path: Path) -> None:
    path = tmp_path / "film.gz"
    path.write_bytes(gzip.compress(BLOCK) + bytes(1 << 20))

    class Other(io.BytesIO):
        pass

    class Raw(io.RawIOBase):
        def readable(self) -> bool:
            return True

    with gzip.open(path) as unzipped, Path("/dev/null").open("rb") as device:
        # Its `fileno` is that of the compressed file.
        buffered = io.BufferedReader(unzipped)
        streams = (unzipped, buffered, device, io.BufferedReader(Raw()), Other(BLOCK), Stream(BLOCK), BLOCK)
        for stream in (*streams, io.BytesIO(BLOCK[:1000])):
            assert length_of(stream) is None
