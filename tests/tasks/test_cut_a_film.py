"""Cut five seconds from an archived film with ffmpeg, which reads it from `seekwarc serve` by range."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tasks.conftest import FILM_URI, write_crawl

SECONDS = 60


@pytest.fixture
def film(tmp_path: Path) -> Path:
    path = tmp_path / "film.mp4"
    source = f"testsrc2=duration={SECONDS}:size=320x240:rate=25"
    options = ["-c:v", "mpeg4", "-b:v", "2M", "-g", "25", "-movflags", "+faststart"]
    command = ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", source, *options, str(path)]
    subprocess.run(command, check=True)
    return path


@pytest.fixture
def address(film: Path, tmp_path: Path) -> Iterator[str]:
    """What `seekwarc lookup --url` prints while `seekwarc serve` runs."""
    crawl = write_crawl(tmp_path / "crawl.warc.zst", film=film.read_bytes())
    seekwarc = [sys.executable, "-m", "seekwarc"]
    with subprocess.Popen(
        [*seekwarc, "serve", "--port", "0", crawl], stdout=subprocess.PIPE, text=True
    ) as server:
        port = re.search(r"http://127.0.0.1:(\d+)", server.stdout.readline())[1]
        asked = [*seekwarc, "lookup", crawl, FILM_URI, "--url", "--server", f"http://127.0.0.1:{port}"]
        yield subprocess.run(asked, capture_output=True, check=True, text=True).stdout.strip()
        server.terminate()


def duration_of(film: Path) -> float:
    command = ["ffprobe", "-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", str(film)]
    return float(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


@pytest.mark.slow
@pytest.mark.needs("ffmpeg")
def test_five_seconds_are_cut_from_an_archived_film(film: Path, address: str, tmp_path: Path) -> None:
    cuts = {name: tmp_path / f"{name}.mp4" for name in ("archived", "file")}
    for name, source in (("archived", address), ("file", str(film))):
        options = ["-v", "error", "-ss", "40", "-i", source, "-t", "5", "-c", "copy"]
        subprocess.run(["ffmpeg", *options, str(cuts[name])], check=True)
    assert duration_of(cuts["archived"]) == pytest.approx(5, abs=0.2)
    assert cuts["archived"].read_bytes() == cuts["file"].read_bytes()
