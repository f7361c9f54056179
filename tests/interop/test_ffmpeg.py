"""A real ffmpeg reads an archived film through the address that `seekwarc lookup --url` prints."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import seekwarc
from tests.conftest import ROOT

pytestmark = pytest.mark.needs("ffmpeg", "module:starlette", "module:uvicorn")

URI = "http://example.org/film.mp4"
SECONDS = 120


@dataclass(frozen=True)
class Served:
    """A film, the archive it is in, and its address."""

    archive: Path
    address: str
    port: int


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("film")
    film, archive = folder / "film.mp4", folder / "film.warc.zst"
    picture = ["-f", "lavfi", "-i", "testsrc2=size=320x180:rate=10,noise=alls=30:allf=t", "-t", str(SECONDS)]
    codec = ["-c:v", "libx264", "-preset", "ultrafast", "-g", "10", "-pix_fmt", "yuv420p"]
    subprocess.run(["ffmpeg", "-v", "error", *picture, *codec, film], check=True)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n"
    with seekwarc.open(archive, "w") as out:
        out.write_response(URI, head + film.read_bytes(), date="2026-11-16T12:00:00Z")
    command = [sys.executable, "-m", "seekwarc", "serve", "--port", "0", archive]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            port = re.search(r"http://\S+:(\d+)/", process.stdout.readline())[1]
            words = ["lookup", archive, URI, "--url", "--server", f"http://127.0.0.1:{port}/"]
            done = subprocess.run(
                [sys.executable, "-m", "seekwarc", *words],
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=True,
            )
            yield Served(archive, done.stdout.strip(), int(port))
        finally:
            process.terminate()


def duration(file: str | Path) -> float:
    command = ["ffprobe", "-v", "error", "-show_entries", "format=duration", "-of", "json", str(file)]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    return float(json.loads(done.stdout)["format"]["duration"])


@pytest.mark.slow
def test_ffprobe_tells_how_long_an_archived_film_is(served) -> None:
    assert duration(served.address) == pytest.approx(SECONDS, abs=1)


@pytest.mark.slow
def test_cut_five_seconds_from_an_archived_film(served, tmp_path) -> None:
    cut = tmp_path / "cut.mp4"
    command = ["ffmpeg", "-v", "error", "-ss", "60", "-t", "5", "-i", served.address, "-c", "copy", cut]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert duration(cut) == pytest.approx(5, abs=1.2)
    # The pictures are those of the sixtieth second.
    with seekwarc.open(served.archive) as archive:
        film = tmp_path / "film.mp4"
        film.write_bytes(next(record for record in archive if record.target_uri == URI).payload.read())
    expected = tmp_path / "expected.mp4"
    subprocess.run(
        ["ffmpeg", "-v", "error", "-ss", "60", "-t", "5", "-i", film, "-c", "copy", expected], check=True
    )
    sums = [
        subprocess.run(
            ["ffmpeg", "-v", "error", "-i", file, "-f", "framemd5", "-"], capture_output=True, check=True
        ).stdout
        for file in (cut, expected)
    ]
    assert sums[0] == sums[1]
