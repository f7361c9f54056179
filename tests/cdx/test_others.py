"""What is named instead of an index."""

from __future__ import annotations

import gzip
from io import BytesIO
from pathlib import Path

import pytest

import seekwarc
from seekwarc.cdx.others import refuse_others
from seekwarc.errors import NotFoundError, SeekWarcError
from tests.support.waczs import FILM, HOME, members, wacz, warc


@pytest.mark.parametrize("ending", [".warc", ".warc.gz", ".warc.zst"])
def test_an_archive_is_no_index(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a{ending}"
    path.write_bytes(warc(path.name))
    with pytest.raises(
        SeekWarcError, match=rf"is an archive, not an index: `seekwarc ls a{ending} --uri URI`"
    ):
        seekwarc.Index(path)
    path.rename(tmp_path / "a.cdxj")
    with pytest.raises(SeekWarcError, match="is an archive"):
        seekwarc.Index(tmp_path / "a.cdxj")


def test_arc_and_zip_files_are_refused_too(tmp_path: Path) -> None:
    for begin in (b"filedesc://a.arc 0.0.0.0 ", gzip.compress(b"filedesc://a.arc 0.0.0.0 ")):
        with pytest.raises(SeekWarcError, match="is an archive"):
            refuse_others(begin, "a")
    path = tmp_path / "crawl.zip"
    path.write_bytes(wacz(members()))
    with pytest.raises(SeekWarcError, match=r"ends with \.wacz"):
        seekwarc.Index(path)


@pytest.mark.parametrize(
    "begin", [b"", b"org,example)/ 2026", gzip.compress(b"org,example)/", mtime=0), b"\x1f\x8bxx", b"PAR1"]
)
def test_others_are_left_to_the_index(begin: bytes) -> None:
    refuse_others(begin, "a")


def test_the_latest_capture_and_the_nearest_to_a_date(tmp_path: Path) -> None:
    path = tmp_path / "x.wacz"
    path.write_bytes(wacz(members()))
    with seekwarc.Index(path) as index:
        assert index.latest(HOME).timestamp == "20261118060000"
        assert index.latest(HOME, "20261101").timestamp == "20261117060000"
        assert index.latest(FILM).open().payload.size == 300_000
        with pytest.raises(NotFoundError, match="no capture of http://missing/"):
            index.latest("http://missing/")


@pytest.mark.parametrize("host", ["localhost:8711", "example.org:8080", "http://localhost:8711/"])
def test_a_host_with_a_port_is_a_host(host: str) -> None:
    captures = (("localhost:8711)/", "localhost:8711"), ("org,example:8080)/", "example.org:8080"))
    lines = [
        f'{key} 20261117060000 {{"url": "http://{name}/", "filename": "a", "offset": "0"}}\n'
        for key, name in captures
    ]
    with seekwarc.Index(BytesIO("".join(lines).encode())) as index:
        (found,) = index.lookup(host, match="host")
        assert found.uri == f"http://{host.removeprefix('http://').removesuffix('/')}/"
