"""Instructions that the hot paths take, as valgrind counts them: the same however busy the machine is.

Each path runs in an interpreter of its own, once with few repetitions and once with more; the difference is
what the repetitions take, without what starting takes. Numbers hold for one version of Python and of the
codec; `instructions.json` keeps those that were counted last for each.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

__all__ = ["PATHS", "REFERENCE", "TOLERANCE", "compare", "count", "key_of_this_machine"]

REFERENCE = Path(__file__).with_name("instructions.json")
ROOT = Path(__file__).parents[2]
TOLERANCE = 0.03
"""Of itself, by which a count may exceed the one that is kept."""
FEW = 5

PREPARE = """
import sys
import seekwarc
from tests.support.writing import text
path, repeats = sys.argv[1], int(sys.argv[2])
if repeats == 0:
    # Small frames, so that the codec's share does not hide ours.
    with seekwarc.open(path, "w", threads=1, frame_size=64 << 10) as out:
        out.write("resource", target_uri="http://example.org/large", block=text(8 << 20))
        for number in range(200):
            out.write("resource", target_uri=f"http://example.org/{number}", block=text(2000, number))
    sys.exit()
"""
RANGES = """
with seekwarc.open(path, threads=1, cache_size=0) as archive:
    record = next(record for record in archive if record.type == "resource")
    block = archive.record_at(record.offset, record.length).block
    for number in range(repeats):
        block.pread(number * 7919 * 13 % (7 << 20), 4096, verify={verify})
"""
PATHS = {
    "4 KiB read, verified": (PREPARE + RANGES.format(verify=True), 60),
    "4 KiB read, not verified": (PREPARE + RANGES.format(verify=False), 60),
    "opening, and a 4 KiB read": (
        PREPARE
        + """
with seekwarc.open(path) as archive:
    record = next(record for record in archive if record.type == "resource")
    place = record.offset, record.length
for number in range(repeats):
    with seekwarc.open(path, threads=1) as archive:
        archive.record_at(*place).block.pread(3 << 20, 4096)
""",
        30,
    ),
    "going through 200 small records, headers": (
        PREPARE
        + """
for _ in range(repeats):
    with seekwarc.open(path, threads=1) as archive:
        assert sum(len(record.target_uri) for record in archive) > 200
""",
        8,
    ),
    "writing a small record": (
        PREPARE
        + """
import io
page = text(2000)
with seekwarc.open(io.BytesIO(), "w", threads=1) as out:
    for number in range(repeats):
        out.write("resource", target_uri=f"http://example.org/{number}", block=page, date="2026-11-05")
""",
        100,
    ),
}
"""What is counted: the script, and how often its more repetitions repeat."""


def key_of_this_machine() -> str:
    """Return what a count depends on besides our code."""
    codec = f"zstandard {metadata.version('zstandard')}, xxhash {metadata.version('xxhash')}"
    return f"{platform.machine()}, Python {platform.python_version()}, {codec}"


def _instructions(script: str, path: Path, repeats: int) -> int:
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, "-c", script]
    # The order of sets, and with it the way through the code, follows from this seed.
    environment = os.environ | {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [*command, str(path), str(repeats)],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
    )
    found = re.search(r"Collected : (\d+)", done.stderr)
    if found is None:
        raise ValueError(f"valgrind counted nothing:\n{done.stderr}")
    return int(found[1])


def count() -> dict[str, int]:
    """Return the instructions of one repetition of each path."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "counted.warc.zst"
        subprocess.run([sys.executable, "-c", PREPARE, str(path), "0"], check=True, cwd=ROOT)
        for name, (script, more) in PATHS.items():
            few, many = (_instructions(script, path, repeats) for repeats in (FEW, FEW + more))
            found[name] = (many - few) // more
    return found


def compare(found: dict[str, int], kept: dict[str, int]) -> tuple[list[str], bool]:
    """Return a line for each path, and whether none takes more than it may."""
    lines, fine = [], True
    for name, number in found.items():
        before = kept.get(name)
        if before is None:
            lines.append(f"{name}: {number:,}")
            continue
        change = number / before - 1
        worse = change > TOLERANCE
        fine = fine and not worse
        lines.append(f"{name}: {number:,} ({change:+.1%}){' TOO MANY' if worse else ''}")
    return lines, fine


def guard(*, update: bool) -> int:
    """Count, compare with what is kept, and print; return 1 where a path takes too many.

    Args:
        update: Keep the new counts instead.
    """
    kept = json.loads(REFERENCE.read_text()) if REFERENCE.exists() else {}
    key = key_of_this_machine()
    found = count()
    lines, fine = compare(found, kept.get(key, {}))
    print(f"Instructions, {key}:", *lines, sep="\n  ")
    if update:
        REFERENCE.write_text(json.dumps(kept | {key: found}, indent=1) + "\n")
    elif key not in kept:
        print("nothing to compare with; --update keeps these")
    return 0 if fine or update else 1
