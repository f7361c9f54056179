"""FastWARC, the one other Python reader of .warc.zst, reads our files and finds the same offsets."""

from __future__ import annotations

import io
from typing import Any

import pytest

import seekwarc
from seekwarc import FormatWarning
from seekwarc.tools.verify import Verifier
from tests.support.writing import HTTP_HEAD, KIB, RESPONSE, noise, small_dictionary, text, written

pytestmark = pytest.mark.needs("module:fastwarc")

FRAME = 64 * KIB
MODES = ("large", "every", "none")
BLOCKS = [text(300_000), b"small", b"", noise(500_000), text(FRAME), text(FRAME + 1), b"last"]


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
def test_digests_are_found_right(size: int, digest: str) -> None:
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
