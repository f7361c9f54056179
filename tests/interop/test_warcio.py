"""warcio has no .zst of its own, but reads our files through a stream of `zstandard`.

What it cannot do: find offsets (it sees decompressed bytes only), or load the dictionary by itself.
"""

from __future__ import annotations

import io
from typing import Any

import pytest
import zstandard

from tests.support.writing import HTTP_HEAD, KIB, RESPONSE, noise, small_dictionary, text, written

pytestmark = pytest.mark.needs("module:warcio")

FRAME = 64 * KIB
BLOCKS = [text(300_000), b"small", b"", noise(500_000), text(FRAME), b"last"]


def read(data: bytes, dictionary: bytes | None = None) -> list[Any]:
    from warcio.archiveiterator import ArchiveIterator  # noqa: PLC0415

    codec = zstandard.ZstdCompressionDict(dictionary) if dictionary else None
    stream = zstandard.ZstdDecompressor(dict_data=codec).stream_reader(
        io.BytesIO(data), read_across_frames=True
    )
    found = []
    for record in ArchiveIterator(stream, check_digests="raise"):
        found.append((record.rec_headers, record.http_headers, record.raw_stream.read()))
    return found


@pytest.mark.parametrize("tables", ["large", "every", "none"])
@pytest.mark.parametrize("with_dictionary", [False, True])
def test_all_records_are_read_and_their_digests_are_right(tables: str, with_dictionary: bool) -> None:
    dictionary = small_dictionary() if with_dictionary else None
    records = [{"block": block, "target_uri": "urn:x:1", "content_type": "text/plain"} for block in BLOCKS]
    block = HTTP_HEAD + text(300_000)
    uri = "https://example.org/"
    records.append({"type": "response", "block": block, "content_type": RESPONSE, "target_uri": uri})
    data, places = written(*records, tables=tables, frame_size=FRAME, dictionary=dictionary)
    found = read(data, dictionary.data if dictionary else None)
    assert [body for *_, body in found] == [*BLOCKS, text(300_000)]
    for (headers, _, _), place in zip(found, places, strict=True):
        assert headers.headers == list(place.header)
    http = found[-1][1]
    assert http.get_statuscode() == "200"
    assert http.get_header("X-Test") == "yes"
