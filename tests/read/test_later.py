"""A Content-Length beyond the end of a file: cut off there, or wrong, with other records in the block."""

from __future__ import annotations

from pathlib import Path

import pytest

import seekwarc
from seekwarc import tools
from tests.support.sources import RecordingSource

pytestmark = pytest.mark.filterwarnings("ignore::seekwarc.FormatWarning")


def record(number: int, block: bytes, *, more: int = 0) -> bytes:
    head = (
        f"WARC/1.1\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:x:{number}>\r\n"
        f"WARC-Date: 2026-01-01T00:00:00Z\r\nContent-Length: {len(block) + more}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"


def ids(data: bytes, path: Path) -> list[str | None]:
    path.write_bytes(data)
    with seekwarc.open(path) as archive:
        return [it.id for it in archive]


TEXT = b"line\r\n" * 20
INNER = record(7, TEXT) + record(8, TEXT)


def http(body: bytes, *fields: bytes) -> bytes:
    return b"\r\n".join([b"HTTP/1.1 200 OK", b"Content-Type: text/plain", *fields, b"", b""]) + body


@pytest.mark.parametrize(
    "block", [http(TEXT, b"Content-Length: 120"), http(b"", b"content-length:0 "), http(TEXT), TEXT]
)
@pytest.mark.parametrize("cut", [0, 2, 50])
def test_records_after_a_false_length_are_found(block: bytes, cut: int, tmp_path: Path) -> None:
    data = record(0, TEXT) + record(1, block, more=10**6) + record(2, TEXT) + record(3, TEXT)
    found = ids(data[: len(data) - cut], tmp_path / "a.warc")
    assert found == [f"urn:x:{number}" for number in range(4)]


@pytest.mark.parametrize(
    "block",
    [
        INNER,
        http(INNER),
        http(INNER, b"Content-Length: %d" % len(INNER)),
        http(b"\xef\xbb\xbf" + INNER),
        http(b"%x\r\n%s\r\n0\r\n\r\n" % (len(INNER), INNER), b"Transfer-Encoding: chunked"),
        b"<pre>\r\n\r\n" + INNER,
    ],
)
@pytest.mark.parametrize("cut", [30, 50, 300])
def test_an_archive_in_the_last_record_is_part_of_it(block: bytes, cut: int, tmp_path: Path) -> None:
    data = record(0, TEXT) + record(1, block)
    assert ids(data[:-cut], tmp_path / "a.warc") == ["urn:x:0", "urn:x:1"]
    assert tools.verify(tmp_path / "a.warc").records == 1, "nor is it one to verify"


def test_the_rest_of_a_file_that_takes_its_time_is_not_read() -> None:
    source = RecordingSource(record(0, TEXT) + record(1, bytes(20 << 20))[:-100], "cut.warc")
    with seekwarc.open(source) as archive:
        assert [it.is_cut_off for it in archive] == [False, True]
    assert source.bytes_asked < 1 << 20
