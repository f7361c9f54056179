"""FastWARC, the one other Python reader of .warc.zst, reads our files and finds the same offsets."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import seekwarc
from seekwarc import FormatWarning
from seekwarc.check.verifying import Verifier
from tests.support.foreign import CRLF2, gzip_member, warc_header, zstd_frame
from tests.support.writing import HTTP_HEAD, KIB, RESPONSE, noise, small_dictionary, text, written

pytestmark = pytest.mark.needs("module:fastwarc")

FRAME = 64 * KIB
MODES = ("large", "every", "none")
BLOCKS = [text(300_000), b"small", b"", noise(500_000), text(FRAME), text(FRAME + 1), b"last"]


def odd_record(number: int, claimed: int = 300, trailer: bytes = CRLF2) -> bytes:
    return warc_header(claimed, number) + text(300, number) + trailer


RETURNS = odd_record(1).replace(b"WARC/1.1\r\n", b"WARC/1.1\r\r\n")
ODD = {
    "two returns": [odd_record(0), RETURNS, odd_record(2)],
    "blank lines between": [odd_record(0), CRLF2, odd_record(1), odd_record(2)],
    "many blank lines between": [odd_record(0), CRLF2 * 25, odd_record(1), odd_record(2)],
    "blank lines first": [CRLF2, odd_record(0), odd_record(1), odd_record(2)],
    "blank lines at the head": [odd_record(0), CRLF2 + odd_record(1), odd_record(2)],
    "no line breaks after a block": [odd_record(0), odd_record(1, trailer=b""), odd_record(2)],
    "some line breaks counted to a block": [odd_record(0), odd_record(1, claimed=302), odd_record(2)],
}


def read(data: bytes, **options: Any) -> list[Any]:
    from fastwarc.warc import ArchiveIterator, WarcRecordType  # noqa: PLC0415

    found = []
    for record in ArchiveIterator(io.BytesIO(data), parse_http=False, **options):
        body = record.reader.read()
        found.append(
            (record.stream_pos, record.record_id, record.record_type == WarcRecordType.resource, body)
        )
    return found


@pytest.mark.parametrize("tables", MODES)
@pytest.mark.parametrize("with_dictionary", [False, True])
@pytest.mark.parametrize("first", range(len(BLOCKS)))
def test_all_records_are_read_and_offsets_agree(tables: str, with_dictionary: bool, first: int) -> None:
    blocks = BLOCKS[first:] + BLOCKS[:first]
    data, places = written(
        *({"block": block, "target_uri": "urn:x:1"} for block in blocks),
        tables=tables,
        frame_size=FRAME,
        dictionary=small_dictionary() if with_dictionary else None,
    )
    found = read(data)
    assert [body for *_, body in found] == blocks
    assert all(is_resource for _, _, is_resource, _ in found)
    assert [identity.strip("<>") for _, identity, _, _ in found] == [place.id for place in places]
    assert [offset for offset, *_ in found] == [place.offset for place in places]


@pytest.mark.parametrize("compress", [True, False])
def test_both_kinds_of_dictionary_frame_are_understood(compress: bool) -> None:
    dictionary = small_dictionary()
    data, _ = written({"block": text(5000)}, dictionary=dictionary, compress_dictionary=compress)
    assert [body for *_, body in read(data)] == [text(5000)]


@pytest.mark.parametrize("size", [1000, 300_000])
@pytest.mark.parametrize("digest", ["sha1", "sha256"])
def test_digests_are_correct(size: int, digest: str) -> None:
    from fastwarc.warc import ArchiveIterator  # noqa: PLC0415

    data, _ = written(
        {"type": "response", "block": HTTP_HEAD + text(size), "content_type": RESPONSE},
        {"block": noise(size)},
        frame_size=FRAME,
        digest=digest,
    )
    count = 0
    for number, record in enumerate(ArchiveIterator(io.BytesIO(data), parse_http=False)):
        record.freeze()
        assert record.verify_block_digest()
        if number == 0:
            record.parse_http()
            assert record.verify_payload_digest()
            assert record.reader.read() == text(size)
        count += 1
    assert count == 2


@pytest.mark.parametrize("tables", MODES)
def test_records_can_be_read_from_their_offsets(tables: str) -> None:
    data, places = written(*({"block": block} for block in BLOCKS), tables=tables, frame_size=FRAME)
    for place, block in zip(places, BLOCKS, strict=True):
        assert read(data[place.offset : place.offset + place.length])[0][3] == block
        assert read(data[place.offset :])[0][3] == block


@pytest.mark.parametrize("compress", [True, False])
def test_files_with_a_dictionary_that_it_writes_are_read(compress: bool) -> None:
    """The frame of a compressed dictionary does not state its content size then, which it must."""
    from fastwarc.stream_io import ZstdWriter  # noqa: PLC0415
    from fastwarc.warc import WarcRecord, WarcRecordType  # noqa: PLC0415

    target = io.BytesIO()
    dictionary = small_dictionary()
    writer = ZstdWriter(target, dictionary=dictionary.data, compress_dictionary_frame=compress)
    for number, block in enumerate(BLOCKS):
        record = WarcRecord()
        record.init_headers(WarcRecordType.resource)
        record.headers["WARC-Target-URI"] = f"urn:x:{number}"
        record.set_bytes_content(block)
        record.write(writer)
    writer.close()
    with seekwarc.open(target.getvalue()) as archive:
        assert archive.dictionary == dictionary
        with pytest.warns(FormatWarning, match="share one frame"):
            assert [record.block.read() for record in archive] == BLOCKS
    assert len(read(target.getvalue())) == len(BLOCKS)
    verifier = Verifier(target.getvalue())
    assert "damage" not in {problem.code for problem in verifier}
    assert verifier.result.records == len(BLOCKS)


def blocks_here(data: bytes) -> list[bytes]:
    """Return the blocks that are read here, whatever is warned of."""
    with warnings.catch_warnings(), seekwarc.open(data) as archive:
        warnings.simplefilter("ignore", FormatWarning)
        return [record.block.read() for record in archive]


@pytest.mark.parametrize("make", [bytes, gzip_member, zstd_frame])
@pytest.mark.parametrize("oddity", sorted(ODD))
def test_odd_files_are_read_alike(oddity: str, make: Callable[[bytes], bytes]) -> None:
    data = b"".join(map(make, ODD[oddity]))
    if oddity == "blank lines first" and make is bytes:
        pytest.skip("a file that is not compressed is known by its first bytes")
    expected = [body for *_, body in read(data)]
    assert len(expected) == 3
    assert blocks_here(data) == expected
    with seekwarc.open(data, strict=True) as archive, pytest.raises(seekwarc.FormatError):
        list(archive)


@pytest.mark.parametrize("make", [bytes, gzip_member, zstd_frame])
@pytest.mark.parametrize("cut", [1, 8])
def test_both_return_a_truncated_last_record(make: Callable[[bytes], bytes], cut: int) -> None:
    data = make(odd_record(0)) + make(odd_record(1))
    data = data[: -min(cut, 4) if make is zstd_frame else -cut]
    theirs = []
    with contextlib.suppress(OSError):
        from fastwarc.warc import ArchiveIterator  # noqa: PLC0415

        theirs.extend(record.record_id for record in ArchiveIterator(io.BytesIO(data), parse_http=False))
    with warnings.catch_warnings(), seekwarc.open(data) as archive:
        warnings.simplefilter("ignore", FormatWarning)
        ours = [record.header.get("WARC-Record-ID") for record in archive]
    assert ours == theirs
    assert len(ours) == 2


def test_both_return_the_bytes_of_a_truncated_last_record() -> None:
    data = odd_record(0) + odd_record(1)[:-50]
    blocks = blocks_here(data)
    assert blocks == [text(300, 0), text(300, 1)[:254]]
    assert blocks == [body for *_, body in read(data)]
