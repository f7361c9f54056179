"""Files named .warc.zst, .warc.gz or .warc, each with everything that a writer can do."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

import seekwarc
from seekwarc.write.forms import compression_of
from tests.support.reading import blocks_of
from tests.support.writing import HTTP_HEAD, KIB, URI, Stream, noise, small_dictionary, text

# Small frames, so that small blocks are written as large ones are.
pytestmark = pytest.mark.filterwarnings("ignore:.*frame_size is for .warc.zst")

FRAME = 64 * KIB
SUFFIXES = (".warc.gz", ".warc")
BLOCKS = [b"", b"small", text(300_000), noise(200_000), HTTP_HEAD + text(90_000, seed=1)]


def written(path: Path, blocks: list[bytes] = BLOCKS, mode: str = "w", **options: Any) -> list[Any]:
    with seekwarc.open(path, mode, frame_size=FRAME, **options) as writer:  # type: ignore[call-overload]
        # Known at once, of known length, of unknown length.
        return [
            writer.write_response(
                URI,
                [block, io.BytesIO(block), Stream(block)][number % 3],
                **({"length": len(block)} if number % 3 == 1 else {}),
            )
            for number, block in enumerate(blocks)
        ]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("digest", ["sha1", None])
def test_records_are_found_at_their_offsets(suffix: str, threads: int, digest: Any, tmp_path) -> None:
    path = tmp_path / f"a{suffix}"
    places = written(path, threads=threads, digest=digest)
    assert os.listdir(tmp_path) == [path.name]
    assert blocks_of(path) == BLOCKS
    with seekwarc.open(path) as archive:
        assert archive.compression == {".warc.gz": "gz", ".warc": "none"}[suffix]
        for place, block in zip(places, BLOCKS, strict=True):
            record = archive.record_at(place.offset, place.length)
            assert record.block.read() == block
            assert all(check.verdict.is_good for check in record.check_digests())


def test_other_gzip_readers_read_the_file(tmp_path) -> None:
    path = tmp_path / "a.warc.gz"
    places = written(path)
    subprocess.run(["gzip", "--test", path], check=True)
    data = path.read_bytes()
    content = gzip.decompress(data)
    plain = tmp_path / "a.warc"
    plain.write_bytes(content)
    assert blocks_of(plain) == BLOCKS
    # One member a record.
    for place in places:
        member = gzip.decompress(data[place.offset : place.offset + place.length])
        assert member.startswith(b"WARC/1.1\r\n")
        assert member.count(b"WARC-Record-ID") == 1


@pytest.mark.needs("module:warcio")
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_warcio_reads_the_file(suffix: str, tmp_path) -> None:
    from warcio.archiveiterator import ArchiveIterator  # noqa: PLC0415

    path = tmp_path / f"a{suffix}"
    places = written(path)
    with path.open("rb") as file:
        records = ArchiveIterator(file, no_record_parse=True)
        # Its offset is known once it has been read.
        found = [(record.content_stream().read(), records.get_record_offset()) for record in records]
    assert found == [(block, place.offset) for place, block in zip(places, BLOCKS, strict=True)]


@pytest.mark.needs("module:fastwarc")
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_fastwarc_reads_the_file(suffix: str, tmp_path) -> None:
    from fastwarc.warc import ArchiveIterator  # noqa: PLC0415

    path = tmp_path / f"a{suffix}"
    places = written(path)
    with path.open("rb") as file:
        found = [
            (record.stream_pos, record.reader.read())
            for record in ArchiveIterator(file, parse_http=False, verify_digests=True)
        ]
    assert found == [(place.offset, block) for place, block in zip(places, BLOCKS, strict=True)]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_series_keeps_its_maximum_size_and_makes_segments(suffix: str, tmp_path) -> None:
    large = noise(1_000_000)
    blocks = [*(noise(30_000, seed=number) for number in range(20)), large, b"last"]
    places = written(tmp_path / f"a{suffix}", blocks, max_file_size=400_000)
    names = sorted(os.listdir(tmp_path))
    assert names == [f"a-{number:05}{suffix}" for number in range(len(names))]
    assert len(names) > 4
    assert max((tmp_path / name).stat().st_size for name in names) <= 400_000
    with seekwarc.Collection(tmp_path / name for name in names) as crawl:
        found = [crawl.open_record(place.id).block.read() for place in places]
    assert found == blocks


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_gz_file_is_continued_and_a_torn_record_cut_off(suffix: str, tmp_path) -> None:
    path = tmp_path / f"a{suffix}"
    written(path)
    (more,) = written(path, [b"more"], "a")
    assert blocks_of(path) == [*BLOCKS, b"more"]
    data = path.read_bytes()
    for cut in (1, 3, 30, more.length - 1):
        path.write_bytes(data[:-cut])
        with pytest.raises(seekwarc.TruncatedError, match="repair=True"):
            written(path, [b"new"], "a")
        with pytest.warns(seekwarc.FormatWarning, match="torn"):
            written(path, [b"new"], "a", repair=True)
        assert blocks_of(path) == [*BLOCKS, b"new"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_failed_record_is_rolled_back(suffix: str, tmp_path) -> None:
    path = tmp_path / f"a{suffix}"
    with pytest.raises(ZeroDivisionError), seekwarc.open(path, "w", frame_size=FRAME, digest=None) as writer:
        writer.write_resource(URI, b"one", "text/plain")
        with pytest.raises(seekwarc.FormatError):
            writer.write_resource(URI, io.BytesIO(noise(300_000)), "text/plain", length=400_000)
        writer.write_resource(URI, text(200_000), "text/plain")
        raise ZeroDivisionError
    assert blocks_of(path) == [b"one", text(200_000)]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_payloads_archived_before_become_revisits(suffix: str, tmp_path) -> None:
    places = written(tmp_path / f"a{suffix}", [BLOCKS[4]] * 2, dedup=seekwarc.Duplicates())
    assert [place.type for place in places] == ["response", "revisit"]


@pytest.mark.parametrize(
    ("suffix", "options", "message"),
    [
        (".warc.gz", {"tables": "large"}, "tables is for .warc.zst"),
        (".warc.gz", {"dictionary": small_dictionary()}, "dictionary is for .warc.zst"),
        (".warc.gz", {"level": 19}, "level is 19, not within 0 to 9"),
        (".warc", {"level": 3}, "a .warc is not compressed"),
    ],
)
def test_options_for_another_compression_are_refused(
    suffix: str, options: Any, message: str, tmp_path
) -> None:
    with pytest.raises(ValueError, match=message):
        seekwarc.open(tmp_path / f"a{suffix}", "w", **options)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "compression"),
    [
        ("a.warc.zst", "zst"),
        ("A.WARC.GZ", "gz"),
        ("a.gz", "gz"),
        ("a.warc", "none"),
        ("crawl", "zst"),
        ("a.b.warc.zst", "zst"),
        ("a.warc.zst.part", "zst"),
    ],
)
def test_the_name_determines_the_compression(name: str, compression: str) -> None:
    assert compression_of(f"folder.gz/{name}") == compression


@pytest.mark.parametrize("name", ["a.warc.bz2", "a.wacz", "a.arc.gz", "a.cdxj", "a.warc.xz", "a.tar.zst"])
def test_a_name_of_another_format_is_refused(name: str, tmp_path) -> None:
    with pytest.raises(seekwarc.TargetError, match=rf"{name}: .*name it \.warc\.zst, \.warc\.gz or \.warc"):
        seekwarc.open(tmp_path / name, "w")
    assert os.listdir(tmp_path) == []


def test_the_compression_of_a_file_object_is_an_option(tmp_path) -> None:
    for compression in ("zst", "gz", "none"):
        target = io.BytesIO()
        with seekwarc.open(target, "w", compression=compression) as writer:
            writer.write_resource(URI, b"x", "text/plain")
        with seekwarc.open(target.getvalue()) as archive:
            assert archive.compression == compression
            assert [record.block.read() for record in archive] == [b"x"]
