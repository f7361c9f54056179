"""Places where records begin, found by the bytes: those of the file, never those of an archive inside it."""

from __future__ import annotations

import gzip
import random
import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import seekwarc
from seekwarc.errors import FormatError
from tests.support.foreign import warc_header
from tests.support.rangeserver import RangeServer
from tests.support.writing import noise

SIZES = (0, 10, 300, 5_000, 30_000, 150_000)


def member(content: bytes, level: int) -> bytes:
    packer = zlib.compressobj(level, zlib.DEFLATED, 31)
    return packer.compress(content) + packer.flush()


def record(block: bytes, number: int = 0) -> bytes:
    return warc_header(len(block), number) + block + b"\r\n\r\n"


def inner(seed: int, *, count: int = 24) -> bytes:
    """Return a .warc.gz, nothing of which another compression would make smaller."""
    rng = random.Random(seed)
    return b"".join(
        member(record(noise(rng.choice(SIZES), seed=seed + number), number), 6) for number in range(count)
    )


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """Draw a .warc.gz with archives among its payloads that are stored as they are."""
    data = b""
    for number in range(draw(st.integers(1, 12))):
        kind = draw(st.sampled_from(["small", "large", "archive", "magic", "empty"]))
        if kind == "archive":
            block = draw(st.sampled_from([b"", b"x", noise(40_000)])) + inner(draw(st.integers(0, 5)))
        elif kind == "magic":
            block = gzip.compress(b"", mtime=0) * 40 + b"\x1f\x8b\x08" * 50 + member(record(b"alone"), 6)
        else:
            block = noise({"small": 700, "large": 200_000, "empty": 0}[kind], seed=number)
        data += member(record(block, number), draw(st.sampled_from([0, 1, 6, 9])))
    return data


def records_of(path: Path | str) -> list[tuple[int, bytes]]:
    with seekwarc.open(path) as archive:
        return [(it.offset, it.whole.read()) for it in archive]


def records_in_parts(path: Path | str, target: int) -> list[tuple[int, bytes]]:
    parts = seekwarc.splits(path, target_bytes=target)
    return [(it.offset, it.whole.read()) for part in parts for it in seekwarc.read_split(part)]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("drawn") / "a.warc.gz"


@given(data=files(), target=st.sampled_from([1, 3_000, 70_000, 300_000]))
def test_parts_of_a_gzip_file_have_each_record_once(drawn: Path, data: bytes, target: int) -> None:
    drawn.write_bytes(data)
    assert records_in_parts(drawn, target) == records_of(drawn)


def test_tables_of_the_parts_have_the_rows_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.gz"
    path.write_bytes(b"".join(member(record(noise(2_000, seed=it), it), 6) for it in range(200)))
    parts = list(seekwarc.splits(path, target_bytes=50_000))
    assert len(parts) > 5
    columns = ["offset", "length", "target_uri", "payload"]
    rows = [
        row for part in parts for row in seekwarc.batches(part, columns).to_reader().read_all().to_pylist()
    ]
    assert rows == seekwarc.batches(path, columns).to_reader().read_all().to_pylist()


def test_members_of_an_archive_in_a_payload_are_not_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.warc.gz"
    held = inner(1, count=60)
    members = [member(record(block, number), 6) for number, block in enumerate([b"a", held, b"b"])]
    path.write_bytes(b"".join(members))
    parts = list(seekwarc.splits(path, target_bytes=20_000))
    assert [part.start for part in parts] == [0, len(members[0] + members[1])]
    assert records_in_parts(path, 20_000) == records_of(path)
    # They are there as they are: a search that believed them would cut in the payload.
    monkeypatch.setattr("seekwarc.scale.searched._goes_on", lambda *_: True)
    assert len(list(seekwarc.splits(path, target_bytes=20_000))) > 10


def test_a_payload_made_to_deceive_is_an_error_not_a_record_twice(tmp_path: Path) -> None:
    # Its headers have a field of any bytes: there, those between two blocks are part of a member.
    false = member(record(b"false"), 6)
    head = false[:3] + b"\4" + false[4:10] + (40_005).to_bytes(2, "little") + noise(20_000, seed=1)
    rest = noise(20_000, seed=2) + false[10:]
    header = warc_header(3 * len(head + rest), 1)
    blocks = [header + head, rest + head, rest + head, rest + b"\r\n\r\n"]
    content = b"".join(blocks)
    stored = b"".join(
        struct.pack("<BHH", number == 3, len(block), len(block) ^ 0xFFFF) + block
        for number, block in enumerate(blocks)
    )
    tail = zlib.crc32(content).to_bytes(4, "little") + len(content).to_bytes(4, "little")
    deceiving = false[:10] + stored + tail
    assert zlib.decompress(deceiving, 31) == content
    path = tmp_path / "a.warc.gz"
    path.write_bytes(member(record(b"a"), 6) + deceiving + member(record(b"b"), 6))
    found: list[tuple[int, bytes]] = []
    with pytest.raises(FormatError, match="ends inside this record"):
        for part in seekwarc.splits(path, target_bytes=300):
            for it in seekwarc.read_split(part):
                found.append((it.offset, it.whole.read()))
    assert found == records_of(path)[: len(found)]
    assert found


def test_a_gzip_object_is_cut_with_a_read_or_two_for_each_place(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.gz"
    path.write_bytes(b"".join(member(record(noise(9_000, seed=it), it), 6) for it in range(900)))
    with RangeServer(path.read_bytes()) as server:
        parts = list(seekwarc.splits(server.url, target_bytes=2 << 20))
        assert len(parts) >= 4
        assert len(server.asked) <= 2 + 4 * (len(parts) - 1)
        assert [(part.start, part.stop, part.note) for part in parts] == [
            (part.start, part.stop, part.note) for part in seekwarc.splits(path, target_bytes=2 << 20)
        ]
        assert records_in_parts(server.url, 2 << 20) == records_of(path)


@pytest.mark.parametrize("shape", ["one member", "one record"])
def test_a_gzip_file_without_a_place_says_why_it_is_one_part(tmp_path: Path, shape: str) -> None:
    blocks = [noise(3_000, seed=it) for it in range(100)]
    content = b"".join(map(record, blocks)) if shape == "one member" else record(b"".join(blocks))
    path = tmp_path / "a.warc.gz"
    path.write_bytes(member(content, 6))
    (part,) = seekwarc.splits(path, target_bytes=10_000)
    assert (part.start, part.stop) == (0, None)
    assert "share gzip members" in (part.note or "")
