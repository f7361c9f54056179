"""Blanks, zeros and byte order marks before a record: it is found all the same, in every kind of file."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

import seekwarc
from seekwarc import tools
from seekwarc.errors import FormatError
from seekwarc.format.warc import blank_size

LEADS = [b"\xef\xbb\xbf", bytes(4), b"\r\n \t", b"\r\n"]
FORMS: dict[str, Callable[[list[bytes]], bytes]] = {
    "warc": b"".join,
    "warc.gz": lambda records: b"".join(gzip.compress(it, mtime=0) for it in records),
    "warc.zst": lambda records: b"".join(map(zstandard.compress, records)),
    "in tiny frames.warc.zst": lambda records: b"".join(
        zstandard.compress(it[at : at + 3]) for it in records for at in range(0, len(it), 3)
    ),
}

pytestmark = pytest.mark.filterwarnings("ignore::seekwarc.FormatWarning")


def record(number: int) -> bytes:
    block = b"block %d " % number * 9
    return (
        b"WARC/1.1\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:x:%d>\r\n"
        b"WARC-Date: 2026-01-01T00:00:00Z\r\nWARC-Target-URI: http://example.org/%d\r\n"
        b"Content-Type: text/plain\r\nContent-Length: %d\r\n\r\n"
        b"%s\r\n\r\n"
    ) % (number, number, len(block), block)


def records(at: int, lead: bytes) -> list[bytes]:
    return [(lead if number == at else b"") + record(number) for number in range(3)]


def block(number: int) -> bytes:
    return b"block %d " % number * 9


class Pipe(io.BytesIO):
    def seekable(self) -> bool:
        return False


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize("at", [0, 2])
def test_all_records_are_found_in_order_by_offset_and_by_uri(
    tmp_path: Path, form: str, lead: bytes, at: int
) -> None:
    path = tmp_path / f"a.{form}"
    path.write_bytes(FORMS[form](records(at, lead)))
    expected = [block(number) for number in range(3)]
    with seekwarc.open(path) as archive:
        assert [it.block.read() for it in archive] == expected
        # Where frames are tiny, one may end within what comes before the record.
        places = [(it.offset, it.skip, it.length) for it in archive if "tiny" not in form or not it.skip]
        for offset, skip, length in places:
            again = archive.record_at(offset, length)
            assert (again.block.read(), again.skip) == (expected[int(again.id[-1])], skip)
            assert again.block.pread(6, 3) == again.block.read()[6:9]
    with seekwarc.open(Pipe(path.read_bytes())) as archive:
        assert [it.block.read() for it in archive] == expected
    with seekwarc.Collection([path]) as crawl:
        found = [crawl.open_record(uri=f"http://example.org/{number}") for number in range(3)]
        assert [it.block.read() for it in found] == expected
    assert tools.verify(path).is_sound
    assert tools.verify(path).records == 3
    index = tmp_path / "a.cdxj"
    done = tools.index(path, index)
    if "tiny" not in form:
        assert done.lines == 3
        with seekwarc.Index(index, files=tmp_path) as known:
            lines = [next(known.lookup(f"http://example.org/{number}")) for number in range(3)]
            assert [it.open().block.read() for it in lines] == expected


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("at", [0, 1])
def test_strict_readers_refuse_it(tmp_path: Path, form: str, at: int) -> None:
    path = tmp_path / f"a.{form}"
    path.write_bytes(FORMS[form](records(at, b"\xef\xbb\xbf")))
    with pytest.raises(FormatError), seekwarc.open(path, strict=True) as archive:
        [it.block.read() for it in archive]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("lead", LEADS)
def test_conversion_keeps_every_byte_or_refuses(tmp_path: Path, form: str, lead: bytes) -> None:
    new, back = tmp_path / "new.warc.zst", tmp_path / "back.warc"
    for at in (1, 2):
        path = tmp_path / f"{at}.{form}"
        path.write_bytes(FORMS[form](records(at, lead)))
        tools.convert(path, new, existing="overwrite")
        tools.convert(new, back, existing="overwrite")
        assert back.read_bytes() == b"".join(records(at, lead))
    path.write_bytes(FORMS[form](records(0, lead)))
    with pytest.raises(FormatError, match=r"offset 0: .* comes before the first record"):
        tools.convert(path, new, existing="overwrite")
    tools.recover(path, back, existing="overwrite")
    assert back.read_bytes() == b"".join(records(0, b""))


@pytest.mark.parametrize("form", ["warc", "warc.gz", "warc.zst"])
def test_such_a_record_is_found_after_damage(tmp_path: Path, form: str) -> None:
    some = [record(0), b"no record", b"\xef\xbb\xbf" + record(1), record(2)]
    path = tmp_path / f"a.{form}"
    path.write_bytes(FORMS[form](some))
    with seekwarc.open(path, on_error="skip") as archive:
        assert [it.id for it in archive] == ["urn:x:0", "urn:x:1", "urn:x:2"]


@pytest.mark.parametrize("form", ["warc", "warc.gz", "warc.zst"])
@pytest.mark.parametrize("stated", [0, 30, 85, 1000, 10**6])
def test_such_a_record_is_found_after_a_length_that_is_wrong(tmp_path: Path, form: str, stated: int) -> None:
    wrong = record(1).replace(b"Content-Length: 72", b"Content-Length: %d" % stated)
    path = tmp_path / f"a.{form}"
    path.write_bytes(FORMS[form]([record(0), wrong, b"\xef\xbb\xbf" + record(2), record(3)]))
    assert path.read_bytes() != FORMS[form]([record(0), record(1), b"\xef\xbb\xbf" + record(2), record(3)])
    with seekwarc.open(path, on_error="skip") as archive:
        found = [(it.id, it.block.read()) for it in archive]
    assert [name for name, _ in found] == [f"urn:x:{number}" for number in range(4)]
    assert [data for _, data in found][2:] == [block(2), block(3)]
    if stated > 72:
        assert found[1][1] == block(1)


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (b"WARC/1.1", 0),
        (b"\r\n\r\nWARC/1.1", 4),
        (b"\r\n \0warc/1.1", 4),
        (b"\xef\xbb\xbfWARC/", 3),
        (b" " * 16 + b"WARC/", 16),
        (b" " * 17 + b"WARC/", 0),
        (b" \r\nWARC/", 0),
        (b"x WARC/", 0),
        (b"  ", 0),
    ],
)
def test_what_may_come_before_a_record(data: bytes, size: int) -> None:
    assert blank_size(data) == size
