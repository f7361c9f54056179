"""Crash a crawl with rotating files in each way, continue it, and lose no complete record."""

from __future__ import annotations

import random
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import pytest

import seekwarc

CRAWLER = """
    import os, random, signal, sys
    import seekwarc

    folder, first, how = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    path = os.path.join(folder, "crawl.warc.zst")
    with seekwarc.open(path, "a", max_file_size=4_000_000, repair=True) as out:
        for number in range(first, first + 60):
            page = random.Random(number).randbytes(150_000)
            out.write_resource(f"http://example.org/{number}", page, "application/octet-stream")
            out.flush()
            if number == first + 45 and how == "exception":
                raise RuntimeError("the crawler has a bug")
            if number == first + 45 and how != "well":
                os.kill(os.getpid(), getattr(signal, how))
"""


def crawl(folder: Path, first: int, how: str) -> int:
    """Run the crawler from a page on, until it ends well or crashes."""
    command = [sys.executable, "-c", textwrap.dedent(CRAWLER), str(folder), str(first), how]
    return subprocess.run(command, capture_output=True, check=False).returncode


def pages(folder: Path) -> list[int]:
    """Return the numbers of the pages that are in the files of the crawl, whole."""
    found = []
    for path in sorted(folder.glob("crawl-*.warc.zst")):
        with seekwarc.open(path) as archive:
            for record in archive:
                if record.type == "resource":
                    number = int(record.target_uri.rpartition("/")[2])
                    assert record.payload.read() == random.Random(number).randbytes(150_000)
                    assert all(record.check_digests())
                    found.append(number)
    return found


@pytest.mark.slow
@pytest.mark.posix
@pytest.mark.parametrize("how", ["SIGKILL", "SIGINT", "exception"])
def test_a_crashed_crawl_continues_without_loss(how: str, tmp_path: Path) -> None:
    assert crawl(tmp_path, 0, how) != 0
    assert crawl(tmp_path, 46, how) != 0
    assert crawl(tmp_path, 92, "well") == 0
    assert pages(tmp_path) == list(range(152))
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {f"crawl-{number:05}.warc.zst" for number in range(len(names))}
    assert all(path.stat().st_size < 4_000_000 for path in tmp_path.iterdir())


@pytest.mark.parametrize("how", ["exception", "well"])
def test_a_crawl_that_is_started_again_replaces_nothing(how: str, tmp_path: Path) -> None:
    crawl(tmp_path, 0, how)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(seekwarc.SeekWarcError, match=r"crawl-00000\.warc\.zst"):
        seekwarc.open(tmp_path / "crawl.warc.zst", "w", max_file_size=4_000_000)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.posix
def test_a_record_torn_by_a_power_cut_is_kept_separately(tmp_path: Path) -> None:
    crawl(tmp_path, 0, "SIGKILL")
    (unfinished,) = tmp_path.glob("*.open")
    with unfinished.open("r+b") as file:
        file.truncate(unfinished.stat().st_size - 500)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        options = {"max_file_size": 4_000_000, "repair": True}
        with seekwarc.open(tmp_path / "crawl.warc.zst", "a", **options) as out:
            out.write_resource("http://example.org/45", random.Random(45).randbytes(150_000), "text/plain")
    assert len(said) == 1
    assert pages(tmp_path) == list(range(46))
