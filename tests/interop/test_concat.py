"""Files that were joined, and pieces of files, as other implementations see them."""

from __future__ import annotations

import io
import random
import subprocess
from pathlib import Path

import pytest

from seekwarc.edit.concatenating import concat
from seekwarc.edit.splitting import split
from tests.support.foreign import Foreign
from tests.support.writing import (
    HTTP_HEAD,
    KIB,
    RESPONSE,
    header_for,
    noise,
    plain,
    small_dictionary,
    text,
    written,
)

FRAME = 64 * KIB
FIRST = [
    (header_for(5), b"small"),
    (header_for(300_000), text(300_000)),
    (header_for(0), b""),
    (header_for(len(HTTP_HEAD) + 500_000, content_type=RESPONSE), HTTP_HEAD + noise(500_000)),
]
SECOND = [FIRST[3], FIRST[0], FIRST[1]]


def parts(**options) -> list[bytes]:
    return [written(*records, frame_size=FRAME, **options)[0] for records in (FIRST, SECOND)]


def foreign() -> Foreign:
    """A file that cannot be copied."""
    return Foreign({"content_size": False}).record(text(100_000)).record(b"x").record(noise(400_000))


def joined(*sources: bytes) -> bytes:
    target = io.BytesIO()
    concat(sources, target)
    return target.getvalue()


CASES = {
    "two files": (lambda: joined(*parts()), plain(*FIRST, *SECOND)),
    "large first": (lambda: joined(*reversed(parts())), plain(*SECOND, *FIRST)),
    "without tables": (lambda: joined(*reversed(parts(tables="none"))), plain(*SECOND, *FIRST)),
    "tables of all kinds": (
        lambda: joined(*parts(tables="every"), *parts(), *parts(tables="none")),
        plain(*FIRST, *SECOND) * 3,
    ),
    "joined by cat": (lambda: joined(b"".join(parts())), plain(*FIRST, *SECOND)),
    "compressed again": (
        lambda: joined(parts()[0], foreign().bytes(), foreign().gzip().bytes()),
        plain(*FIRST) + foreign().plain().bytes() * 2,
    ),
    "one record": (lambda: joined(written(FIRST[1], frame_size=FRAME, tables="none")[0]), plain(FIRST[1])),
}


def pieces(folder: Path, **options) -> list[Path]:
    split(joined(*parts()), folder / "part", max_size=300_000, **options)
    return sorted(folder.iterdir())


# zstd: what it all decompresses to.


def zstd(*args: object) -> bytes:
    done = subprocess.run(["zstd", *map(str, args)], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


@pytest.mark.needs("zstd")
@pytest.mark.parametrize("case", CASES)
def test_zstd_decompresses_concatenated_parts(case: str, tmp_path: Path) -> None:
    made, expected = CASES[case]
    path = tmp_path / "new.warc.zst"
    path.write_bytes(made())
    assert zstd("-dc", path) == expected


@pytest.mark.needs("zstd")
@pytest.mark.parametrize("tables", ["large", "every"])
def test_zstd_decompresses_them_with_the_dictionary(tables: str, tmp_path: Path) -> None:
    dictionary = small_dictionary()
    path, other = tmp_path / "new.warc.zst", tmp_path / "dictionary"
    path.write_bytes(joined(*parts(dictionary=dictionary, tables=tables), *parts()))
    other.write_bytes(dictionary.data)
    assert zstd("-D", other, "-dc", path) == plain(*FIRST, *SECOND) * 2


@pytest.mark.needs("zstd")
def test_zstd_decompresses_the_pieces_to_the_whole(tmp_path: Path) -> None:
    paths = pieces(tmp_path, repeat_warcinfo=False)
    assert len(paths) > 2
    assert zstd("-dc", *paths) == plain(*FIRST, *SECOND)


# pyzstd: the whole file is one that can be seeked in.


def seek_with_pyzstd(stored: bytes, expected: bytes, dictionary: bytes | None = None) -> None:
    import pyzstd  # noqa: PLC0415

    codec = pyzstd.ZstdDict(dictionary) if dictionary else None
    with pyzstd.SeekableZstdFile(io.BytesIO(stored), "r", zstd_dict=codec) as file:
        assert file.read() == expected
        chance = random.Random(1)
        for _ in range(40):
            start = chance.randrange(len(expected))
            file.seek(start)
            assert file.read(5000) == expected[start : start + 5000]


@pytest.mark.needs("module:pyzstd")
@pytest.mark.parametrize("case", CASES)
def test_pyzstd_seeks_in_the_whole_file(case: str) -> None:
    made, expected = CASES[case]
    seek_with_pyzstd(made(), expected)


@pytest.mark.needs("module:pyzstd")
def test_pyzstd_seeks_with_a_dictionary() -> None:
    dictionary = small_dictionary()
    data = joined(*parts(dictionary=dictionary), foreign().bytes())
    seek_with_pyzstd(data, plain(*FIRST, *SECOND) + foreign().plain().bytes(), dictionary.data)


@pytest.mark.needs("module:pyzstd")
def test_pyzstd_seeks_in_every_piece(tmp_path: Path) -> None:
    import pyzstd  # noqa: PLC0415

    content = b""
    for path in pieces(tmp_path, repeat_warcinfo=False):
        with pyzstd.SeekableZstdFile(path, "r") as file:
            content += file.read()
    assert content == plain(*FIRST, *SECOND)


# indexed_zstd, the engine of ratarmount.


def seek_with_indexed_zstd(path: Path, expected: bytes) -> None:
    import indexed_zstd  # noqa: PLC0415

    file = indexed_zstd.IndexedZstdFile(str(path))
    try:
        assert file.size() == len(expected)
        assert file.read(len(expected) + 1) == expected
        chance = random.Random(1)
        for _ in range(40):
            start = chance.randrange(len(expected))
            file.seek(start)
            assert file.read(5000) == expected[start : start + 5000]
    finally:
        file.close()


@pytest.mark.needs("module:indexed_zstd")
@pytest.mark.parametrize("case", CASES)
def test_indexed_zstd_seeks_in_the_whole_file(case: str, tmp_path: Path) -> None:
    made, expected = CASES[case]
    path = tmp_path / "new.warc.zst"
    path.write_bytes(made())
    seek_with_indexed_zstd(path, expected)


@pytest.mark.needs("module:indexed_zstd", "zstd")
def test_indexed_zstd_seeks_in_every_piece(tmp_path: Path) -> None:
    for path in pieces(tmp_path):
        seek_with_indexed_zstd(path, zstd("-dc", path))


# FastWARC: the records and their offsets.


@pytest.mark.needs("module:fastwarc")
@pytest.mark.parametrize("case", CASES)
def test_fastwarc_finds_the_records_where_they_are(case: str) -> None:
    from fastwarc.warc import ArchiveIterator  # noqa: PLC0415

    import seekwarc  # noqa: PLC0415

    data = CASES[case][0]()
    with seekwarc.open(data) as archive:
        ours = [(record.offset, record.block.read()) for record in archive]
    theirs = [
        (record.stream_pos, record.reader.read())
        for record in ArchiveIterator(io.BytesIO(data), parse_http=False)
    ]
    assert theirs == ours
