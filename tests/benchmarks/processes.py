"""Lines of whole processes: how fast they start, and how much memory they take."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.benchmarks.data import KIB, Data, content_of
from tests.benchmarks.ranges import place_of_large
from tests.benchmarks.running import Line, Peer, Result, alternate, compare, timed

__all__ = ["LINES"]

LARGE = 8
"""Times the size of the other large payloads: 8 GiB of 1 GiB."""
OPTIONAL = {"brotli", "blake3", "isal", "numpy", "obstore", "starlette", "tqdm", "uvicorn"}
ROOT = Path(__file__).parents[2]

MEMORY = """
import random, sys
import seekwarc
path, action, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
page = random.Random(1).randbytes(1 << 14)

class Cheap:
    left = size
    def read(self, most=-1):
        count = min(self.left, most if most >= 0 else self.left, 1 << 22)
        self.left -= count
        return (page * (count // len(page) + 1))[:count]

if action == "write":
    with seekwarc.open(path, "w", threads=2, existing="overwrite") as out:
        out.write("resource", target_uri="http://example.org/", block=Cheap(), length=size)
else:
    with seekwarc.open(path) as archive:
        block = next(record for record in archive if record.type == "resource").block
        chance = random.Random(2)
        for length in [1 << 12] * 300 + [1 << 16] * 300 + [1 << 24] * 10:
            start = chance.randrange(size - length)
            shift = start % len(page)
            assert block.pread(start, length) == (page * (length // len(page) + 2))[shift : shift + length]

# Linux lets a process inherit the ru_maxrss of the one that started it, but not its VmHWM.
with open("/proc/self/status") as status:
    print(next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024)
"""


def output_of(data: Data, command: list[str]) -> bytes:
    """Run a command with its modules compiled beforehand, as an installed package has them."""
    environment = os.environ | {"PYTHONPYCACHEPREFIX": str(data.folder / "compiled")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return subprocess.run(command, check=True, capture_output=True, cwd=ROOT, env=environment).stdout


def python(data: Data, *arguments: object) -> bytes:
    return output_of(data, [sys.executable, *map(str, arguments)])


def cat(data: Data) -> list[Result]:
    path = data.warc(data.text)
    offset, _ = place_of_large(path)
    start = data.size // 2 + 12_345
    script = shutil.which("seekwarc", path=str(Path(sys.executable).parent))
    command = [script] if script else [sys.executable, "-m", "seekwarc"]
    command += ["cat", str(path), str(offset), "--range", f"{start}+{64 * KIB}"]
    expected = content_of(data.text)[start : start + 64 * KIB]
    return compare(
        "`seekwarc cat` of 64 KiB, whole process",
        timed(lambda: output_of(data, command), expected),
        [Peer("python -c pass", timed(lambda: python(data, "-c", "pass")), 4, "times")],
    )


def imports(data: Data) -> list[Result]:
    results = []
    nothing = timed(lambda: python(data, "-c", "pass"))
    for code in ("import seekwarc", "from seekwarc import Reader"):
        script = f"{code}; import sys, json; print(json.dumps(sorted(sys.modules)))"
        loaded = {name.partition(".")[0] for name in json.loads(python(data, "-c", script))}
        assert not loaded & OPTIONAL, f"{code} loads {loaded & OPTIONAL}"
        rounds = alternate([timed(lambda code=code: python(data, "-c", code)), nothing], budget=4)
        beyond = tuple((ours - theirs) * 1e3 for ours, theirs in rounds)
        results.append(Result(f"`{code}`", "beyond the interpreter", beyond, 60, "ms"))
    return results


def memory(data: Data) -> list[Result]:
    path, size = data.folder / "out.warc.zst", LARGE * data.size
    results = []
    for action, doing, most in (("write", "writing", 200), ("read", "ranges read in", 100)):
        peak = float(python(data, "-c", MEMORY, path, action, size))
        what = f"peak memory, {doing} a record of {size / (KIB**3):g} GiB"
        results.append(Result(what, "", (peak,), most, "MiB"))
    path.unlink()
    return results


LINES = (Line("cat", cat), Line("import", imports), Line("memory", memory))
