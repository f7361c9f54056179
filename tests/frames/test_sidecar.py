"""A sidecar as a file: frames of Zstandard that their seek table lists."""

from __future__ import annotations

import hashlib
import io
import os

import zstandard

from seekwarc.format.seektable import SeekTable, table_frame_size
from seekwarc.format.sidecar import Directory, SidecarRecord, Span
from seekwarc.frames.sidecar import FRAME_SIZE, archive_identity, write_sidecar
from seekwarc.storage.local import BytesSource

WINDOWS = [os.urandom(32 << 10) for _ in range(10)]


def written() -> bytes:
    spans = [Span(100 * n + 50, n % 8, 1000 * n, n, window) for n, window in enumerate(WINDOWS)]
    out = io.BytesIO()
    records = [
        SidecarRecord(0, 2000, 10_000, spans),
        SidecarRecord(2000, 9, 20, [Span(2003, 0, 0, 1, b"")]),
    ]
    write_sidecar(out, records, archive_identity(BytesSource(bytes(5000))))
    return out.getvalue()


def test_a_sidecar_is_a_seekable_file_of_zstandard():
    data = written()
    size = table_frame_size(data)
    table = SeekTable.parse(data[-size:])
    assert table.stored_size == len(data) - size
    content = zstandard.ZstdDecompressor().decompressobj(read_across_frames=True).decompress(data[:-size])
    assert table.content_size == len(content)
    assert max(table.content_sizes) == FRAME_SIZE
    directory = Directory(lambda start, stop: content[start:stop], len(content), 1 << 20)
    spans = directory.find(0)
    places = [spans.entry(number)[1] for number in range(len(spans))]
    assert [content[place.start : place.stop] for place in places] == WINDOWS
    assert directory.windows_size == sum(map(len, WINDOWS))


def test_no_frame_holds_windows_and_directory():
    data = written()
    table = SeekTable.parse(data[-table_frame_size(data) :])
    assert list(table.content_sizes[:-1]) == [FRAME_SIZE, 320 * 1024 - FRAME_SIZE]


def test_the_identity_is_of_beginning_and_end():
    data = os.urandom(200_000)
    identity = archive_identity(BytesSource(data))
    assert identity.size == 200_000
    assert identity.head_sha256 == hashlib.sha256(data[:65536]).digest()
    assert identity.tail_sha256 == hashlib.sha256(data[-65536:]).digest()
