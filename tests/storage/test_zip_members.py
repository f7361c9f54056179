"""Members of ZIP archives as sources, and archives that lie."""

from __future__ import annotations

import io
import os
import random
import struct
from pathlib import Path
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZipFile, ZipInfo

import pytest

import seekwarc
from seekwarc.errors import FormatError, LimitError, SeekWarcError, SourceError, SourceNotFoundError
from seekwarc.storage import zip_members
from seekwarc.storage.expand import expand
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.local import BytesSource
from seekwarc.storage.opening import open_source
from seekwarc.storage.zip_members import ZipArchive, is_wacz, split_name
from tests.support.rangeserver import RangeServer, status
from tests.support.sources import RemoteFake
from tests.support.waczs import members, wacz, warc
from tests.support.writing import noise

DATA = noise(40_000, seed=3)


def archive_of(data: bytes) -> ZipArchive:
    return ZipArchive(Fetcher(BytesSource(data, "x.wacz")))


def zipped(*infos: ZipInfo, method: int = 0, data: bytes = DATA) -> bytes:
    stored = io.BytesIO()
    with ZipFile(stored, "w") as out:
        for info in infos or (ZipInfo("archive/a.warc"),):
            out.writestr(info, data, method)
    return stored.getvalue()


def patched(data: bytes, offset: int, value: bytes, *, entry: int = 0) -> bytes:
    """Return an archive with some bytes of an entry of its directory replaced."""
    place = -1
    for _ in range(entry + 1):
        place = data.index(b"PK\1\2", place + 1)
    return data[: place + offset] + value + data[place + offset + len(value) :]


@pytest.mark.parametrize("method", [0, ZIP_DEFLATED])
def test_a_member_is_read_by_range(method: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for decoded in (0, 1 << 20):
        monkeypatch.setattr(zip_members, "MAX_DECODED", decoded)
        source = archive_of(zipped(ZipInfo("a"), ZipInfo("b"), method=method)).open("a")
        assert source.size == len(DATA)
        assert source.read(39_000, 50_000) == DATA[39_000:]
        assert source.read(10, 20) == DATA[10:20]
        assert source.read(50_000, 50_001) == b""
        out = bytearray(100)
        assert source.read_into(39_950, memoryview(out)) == 50
        assert source.small_reads().read(100, 39_990) == DATA[39_990:]
        assert source.read_end(5) == (39_995, DATA[-5:])


def remote_members(sizes: list[int], ending: str = ".warc.gz") -> tuple[RemoteFake, list[bytes], ZipArchive]:
    stored, files = io.BytesIO(), [noise(size, seed=number) for number, size in enumerate(sizes)]
    with ZipFile(stored, "w") as out:
        for number, data in enumerate(files):
            out.writestr(f"archive/{number:03}{ending}", data)
        out.writestr("indexes/index.cdxj", noise(300_000, seed=99))
    source = RemoteFake(stored.getvalue())
    return source, files, ZipArchive(Fetcher(source))


def read_in_order(archive: ZipArchive) -> list[bytes]:
    found = []
    for name in archive.members:
        if name.startswith("archive/"):
            member = archive.open(name)
            member.announce()
            assert member.size is not None
            steps = range(0, member.size, 50_000)
            found.append(b"".join(member.read(it, it + 50_000) for it in steps))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_small_members_afar_that_are_read_in_order_take_few_requests(seed: int) -> None:
    rnd = random.Random(seed)
    source, files, archive = remote_members([rnd.randrange(1, 600_000) for _ in range(30)])
    source.forget()
    assert read_in_order(archive) == files
    assert len(source.requests) <= 6
    assert sum(stop - start for start, stop in source.requests) <= 1.02 * sum(map(len, files))


def test_what_may_be_read_by_tables_is_not_fetched_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_members, "MAX_STRETCH", 2_000_000)
    source, _, archive = remote_members([300_000, 1_500_000, 1_500_000], ".warc.zst")
    source.forget()
    for name in archive.members:
        archive.open(name).announce()
    assert sum(stop - start for start, stop in source.requests) <= 620_000


def test_without_being_announced_no_more_is_read_than_asked_for() -> None:
    source, files, archive = remote_members([100_000] * 5)
    source.forget()
    assert archive.open("archive/001.warc.gz").read(0, 10) == files[1][:10]
    assert sum(stop - start for start, stop in source.requests) <= 100


def test_a_closed_member_is_not_read() -> None:
    source = archive_of(zipped()).open("archive/a.warc")
    source.close()
    with pytest.raises(SourceError, match="the archive is closed"):
        source.read(0, 1)


def test_a_local_header_may_be_longer_than_the_directory_says() -> None:
    info = ZipInfo("archive/a.warc")
    data = zipped(info, ZipInfo("b"))
    # As Info-ZIP does: times of access in the local header only.
    extra = struct.pack("<HHBI", 0x5455, 5, 1, 0)
    head = 30 + len(info.filename)
    data = data[:28] + struct.pack("<H", len(extra)) + data[30:head] + extra + data[head:]
    data = patched(data, 42, struct.pack("<I", head + len(extra) + len(DATA)), entry=1)
    end = data.index(b"PK\5\6")
    data = data[: end + 16] + struct.pack("<I", data.index(b"PK\1\2")) + data[end + 20 :]
    assert archive_of(data).open("archive/a.warc").read(0, 100) == DATA[:100]
    assert archive_of(data).open("b").read(0, 100) == DATA[:100]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "is not a ZIP archive"),
        (b"PK\3\4" + bytes(1000), "is not a ZIP archive"),
        (patched(zipped(), 24, struct.pack("<I", 7)), "has two sizes"),
        (patched(zipped(), 20, struct.pack("<II", 1 << 30, 1 << 30)), "overlaps"),
        (patched(zipped(), 42, struct.pack("<I", 1 << 31)), "lies outside"),
        (patched(zipped(ZipInfo("a"), ZipInfo("b")), 42, bytes(4), entry=1), "overlaps"),
        (patched(zipped(), 34, b"\1\0"), "is split into several files"),
        (patched(zipped(ZipInfo("a"), ZipInfo("b")), 46, b"a", entry=1), "two members have the same name"),
        (zipped(ZipInfo("../a.warc")), "not a path within"),
        (zipped(ZipInfo("/etc/passwd")), "not a path within"),
        (zipped(ZipInfo("archive//a")), "not a path within"),
        (zipped(ZipInfo("archive\\a")), "not a path within"),
        (zipped(ZipInfo("archive/\x1b[2J")), "not a path within"),
        (patched(zipped(), 6, b"\xff\0"), "version"),
        (zipped()[:-30] + zipped()[-22:], "directory"),
    ],
)
def test_a_directory_that_contradicts_itself_is_refused(data: bytes, text: str) -> None:
    with pytest.raises(FormatError, match=rf"x\.wacz: .*{text}"):
        archive_of(data)


def test_a_directory_above_the_limit_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    # ZIP64: the directory is said to have 2^62 bytes, of a million entries.
    end64 = b"PK\6\6" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, 10**6, 10**6, 1 << 62, 0)
    locator = b"PK\6\7" + struct.pack("<IQI", 0, 0, 1)
    end = b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    with pytest.raises(FormatError):
        archive_of(end64 + locator + end)
    monkeypatch.setattr(zip_members, "MAX_DIRECTORY", 5000)
    with pytest.raises(LimitError, match=r"x\.wacz: the directory has \d+ bytes, above the limit of 5000"):
        archive_of(zipped(*(ZipInfo(f"{number}") for number in range(200)), data=b""))


def test_members_that_cannot_be_read_are_refused_when_they_are_opened() -> None:
    encrypted = archive_of(patched(zipped(), 8, b"\1\0"))
    with pytest.raises(FormatError, match=r"x\.wacz!/archive/a\.warc: this member is encrypted"):
        encrypted.open("archive/a.warc")
    with pytest.raises(FormatError, match="compression method 12"):
        archive_of(zipped(method=ZIP_BZIP2)).open("archive/a.warc")
    with pytest.raises(SourceNotFoundError, match="has no member 'b'"):
        encrypted.open("b")
    # The header is read if there is room for other fields than the directory has.
    shorter = patched(b"X" + zipped()[1:], 20, struct.pack("<II", 9, 9))
    with pytest.raises(FormatError, match="offset 0: a member has no header here"):
        archive_of(shorter).open("archive/a.warc").read(0, 1)


def test_a_deflated_member_is_as_long_as_it_says_or_damaged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_members, "MAX_DECODED", 0)
    data = zipped(method=ZIP_DEFLATED, data=bytes(1 << 20))
    longer = archive_of(patched(data, 24, struct.pack("<I", 1 << 31))).open("archive/a.warc")
    assert longer.size == 1 << 31
    with pytest.raises(FormatError, match="fewer bytes than the directory says"):
        longer.read(1 << 20, (1 << 20) + 1)
    # A bomb gives no more than the directory says.
    shorter = archive_of(patched(data, 24, struct.pack("<I", 100))).open("archive/a.warc")
    with pytest.raises(FormatError, match="cannot be decompressed: Bad CRC"):
        shorter.read(0, 1 << 30)
    broken = bytearray(data)
    broken[60:80] = b"\xff" * 20
    with pytest.raises(FormatError, match="cannot be decompressed"):
        archive_of(bytes(broken)).open("archive/a.warc").read(0, 1 << 20)


@pytest.mark.filterwarnings("ignore::seekwarc.FormatWarning")
def test_mutants_are_read_or_refused(tmp_path: Path) -> None:
    """Any change ends in records or in a typed error, and never in more than a moment."""
    data = wacz(members())
    directory = data.index(b"PK\1\2")
    path = tmp_path / "x.wacz"
    chance = random.Random(32)
    refused = 0
    for _ in range(150):
        mutant = bytearray(data)
        for _ in range(chance.choice((1, 1, 3))):
            at = chance.choice((chance.randrange(directory, len(data)), chance.randrange(80)))
            mutant[at] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        path.write_bytes(mutant)
        refused += _is_refused(path)
    assert 20 < refused < 150


def _is_refused(path: Path) -> bool:
    try:
        with seekwarc.Wacz(path, on_error="skip") as archive:
            for record in archive:
                record.block.read()
            list(archive.pages())
            list(archive.index.by_uri("http://example.org/"))
    except SeekWarcError as error:
        return "x.wacz" in str(error)
    return False


def test_names_of_archives_and_members_are_told_apart(tmp_path: Path) -> None:
    assert is_wacz("https://h/x.WACZ?sig=1")
    assert not is_wacz("x.wacz!/archive/a.warc")
    assert not is_wacz(os.fspath(tmp_path))
    assert split_name("https://h/x.wacz?a=b!/archive/a.warc") == ("https://h/x.wacz?a=b", "archive/a.warc")
    assert split_name("x.warc") is None
    folder = tmp_path / "x.wacz!"
    folder.mkdir()
    (folder / "a.warc").write_bytes(b"")
    assert split_name(f"{folder}/a.warc") is None, "a file of this very name"


def test_a_wacz_stands_for_its_warc_files(tmp_path: Path) -> None:
    path = tmp_path / "x.wacz"
    path.write_bytes(wacz(members({"a.warc": warc("a.warc"), "b/c.warc.gz": warc("c.warc.gz")})))
    expected = [f"{path}!/archive/a.warc", f"{path}!/archive/b/c.warc.gz"]
    assert list(expand(path)) == list(expand(tmp_path / "*.wacz")) == list(expand(tmp_path)) == expected
    with seekwarc.Reader(expected[1]) as archive:
        assert archive.name == expected[1]
        assert len(list(archive)) == 3
    missing = os.fspath(tmp_path / "missing.wacz")
    assert list(expand(missing)) == [missing]
    with pytest.raises(FormatError, match="is a WACZ, not a WARC file"):
        open_source(path)


def test_members_share_the_directory_while_one_is_open(tmp_path: Path) -> None:
    with RangeServer(wacz(members({"a.warc": warc("a.warc"), "b.warc": warc("b.warc")}))) as server:
        url = f"{server.root}/x.wacz"
        with seekwarc.Collection(url) as archive:
            assert [it.size for it in archive.files] == [len(warc("a.warc"))] * 2
            assert len(server.asked) == 1
        server.fault = status(404)
        with pytest.raises(SourceError):
            open_source(f"{server.root}/y.wacz!/archive/a.warc")


@pytest.mark.posix
def test_a_replaced_archive_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "x.wacz"
    path.write_bytes(zipped())
    first = open_source(f"{path}!/archive/a.warc")
    path.unlink()
    path.write_bytes(zipped(data=b"other"))
    assert open_source(f"{path}!/archive/a.warc").read(0, 9) == b"other"
    assert first.read(0, 9) == DATA[:9]
