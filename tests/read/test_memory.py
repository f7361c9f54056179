"""Memory does not grow with a record: its size is bounded by frames, threads and the cache."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
MIB = 1 << 20
MOST = 200 * MIB

SCRIPT = """
import os, random, resource, sys, threading
import seekwarc
from tests.support.writing import URI, Repeated, noise, text

path, size, options = sys.argv[1], int(sys.argv[2]), eval(sys.argv[3])
MIB = 1 << 20


def stream():
    return Repeated(text(2 * MIB) + noise(2 * MIB), size)


def peak():
    # Linux lets a process inherit the ru_maxrss of the one that started it, but not its VmHWM.
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def report(stage):
    rss = peak()
    print(f"{stage}: at most {rss // MIB} MiB so far", flush=True)
    return rss


content = stream().content
report("start")
with seekwarc.Writer(path, level=1, **options) as writer:
    writer.write("resource", target_uri=URI, block=b"small")
    place = writer.write("resource", target_uri=URI, block=stream())
report("written")
chance = random.Random(1)
with seekwarc.open(path) as archive:
    record = archive.record_at(place.offset, place.length)
    for length in [4096] * 300 + [8 * MIB] * 5:
        start = chance.randrange(size - length)
        assert record.block.pread(start, length) == content(start, start + length)
report("ranges")
with seekwarc.open(path) as archive:
    for record in archive:
        position = 0
        with record.block.open() as file:
            while data := file.read(MIB):
                if len(data) > 5:
                    assert data == content(position, position + len(data))
                position += len(data)
    assert position == size
report("in order")
read_end, write_end = os.pipe()

def feed():
    with open(path, "rb") as file, os.fdopen(write_end, "wb") as pipe:
        while data := file.read(MIB):
            pipe.write(data)


feeder = threading.Thread(target=feed)
feeder.start()
with os.fdopen(read_end, "rb") as pipe, seekwarc.open(pipe) as archive:
    for record in archive:
        position = 0
        with record.block.open() as file:
            while data := file.read(MIB):
                position += len(data)
    assert position == size
feeder.join()
print(report("piped"))
"""


def peak_of(path: Path, size: int, **options: object) -> int:
    command = [sys.executable, "-W", "error", "-c", SCRIPT, str(path), str(size), repr(options)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *stages, peak = done.stdout.splitlines()
    print("\n".join([f"{size // MIB} MiB {options}", *stages]))
    return int(peak)


@pytest.mark.parametrize("options", [{}, {"tables": "none", "threads": 1}], ids=["default", "plain"])
def test_half_a_gigabyte_passes_through_little_memory(options: dict[str, object], tmp_path: Path) -> None:
    assert peak_of(tmp_path / "a.warc.zst", 512 * MIB, **options) < MOST


def test_the_largest_frames_take_their_share_and_no_more(tmp_path: Path) -> None:
    peak = peak_of(tmp_path / "a.warc.zst", 512 * MIB, frame_size=8 * MIB, threads=2)
    assert peak < 2 * MOST


@pytest.mark.large
def test_eight_gigabytes_take_no_more_memory_than_half_a_gigabyte(tmp_path: Path) -> None:
    assert peak_of(tmp_path / "a.warc.zst", 8192 * MIB) < MOST
