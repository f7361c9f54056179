"""Coverage-guided fuzzing of what reads files, with atheris.

    python -m tests.fuzz                          all targets, a minute each
    python -m tests.fuzz header http --seconds 600
    python -m tests.fuzz reader --seconds 36000 --found /tmp/found

Each target of `tests/fuzz/targets.py` runs in a process of its own, from the stored inputs in `corpus/`, with
the seekwarc package alone instrumented. An input that breaks a target, or keeps it busy for more than ten
seconds, is written to the folder of `--found`, once for each place in the code that raises, and the exit
status is 1. What else the fuzzer finds worth keeping goes to `corpus` in that folder; a run with the same
folder goes on from there.

An input becomes a vector, which `tests/fuzz/test_targets.py` runs ever after, by an entry in `BROKE` of
`tests/fuzz/make_corpus.py`, and `python -m tests.fuzz.make_corpus`.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Final

CORPUS: Final = Path(__file__).parent / "corpus"
SLOW: Final = 10
"""Seconds that one input may take, instrumented."""
MAX_MEMORY: Final = 1024
"""MiB that a process may take; the instrumented package alone takes 150."""
MAX_INPUT: Final = 4096
MAX_RESTARTS: Final = 20


def main() -> int:
    names = sorted(path.name for path in CORPUS.iterdir())
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "targets", metavar="TARGET", nargs="*", help=f"of {', '.join(names)}; all unless given"
    )
    parser.add_argument("--seconds", type=float, default=60, help="how long to run each target")
    parser.add_argument(
        "--found", type=Path, help="where to put what breaks a target; a new folder unless given"
    )
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if unknown := set(options.targets) - set(names):
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    found = options.found or Path(tempfile.mkdtemp(prefix="seekwarc-fuzz-"))
    if options.one:
        _fuzz(options.targets[0], found, options.seconds)
        return 0
    broken: list[Path] = []
    for name in options.targets or names:
        broken += _run(name, found, options.seconds)
    if broken:
        print("\nWhat broke a target:", *broken, sep="\n")
        print("To make a vector of one: an entry in BROKE of tests/fuzz/make_corpus.py.")
    return bool(broken)


def _run(name: str, found: Path, seconds: float) -> list[Path]:
    """Run one target, again after an input that kills the fuzzer; return the inputs that break it."""
    before = _inputs(name, found)
    end = time.monotonic() + seconds
    for _ in range(MAX_RESTARTS):
        left = end - time.monotonic()
        command = [
            sys.executable,
            "-m",
            "tests.fuzz",
            name,
            "--one",
            "--found",
            str(found),
            "--seconds",
            str(left),
        ]
        status = subprocess.run(command, check=False).returncode
        if status == 0 or time.monotonic() + 1 > end:
            break
    new = _inputs(name, found) - before
    if status and not new:
        sys.exit(f"the fuzzer itself fails with exit status {status}")
    return sorted(new)


def _inputs(name: str, found: Path) -> set[Path]:
    return set(found.glob(f"{name}-*"))


def _fuzz(name: str, found: Path, seconds: float) -> None:
    """Run one target in this process, which does not return from it."""
    import atheris  # noqa: PLC0415

    with contextlib.redirect_stderr(io.StringIO()), atheris.instrument_imports(include=["seekwarc"]):
        import seekwarc  # noqa: PLC0415

        # Now, for what a function imports when it first needs it would not be instrumented.
        for public in seekwarc.__all__:
            getattr(seekwarc, public)
        from tests.fuzz.targets import TARGETS  # noqa: PLC0415

    kept = found / "corpus" / name
    kept.mkdir(parents=True, exist_ok=True)
    arguments = [
        sys.argv[0],
        f"-max_total_time={max(round(seconds), 1)}",
        f"-timeout={SLOW}",
        f"-rss_limit_mb={MAX_MEMORY}",
        f"-max_len={MAX_INPUT}",
        f"-artifact_prefix={found}/{name}-",
        "-verbosity=0",
        "-print_final_stats=1",
        str(kept),
        str(CORPUS / name),
    ]
    if os.environ.get("CI"):
        # The same inputs each time: a change is judged by what it changed.
        arguments.insert(1, "-seed=1")
    atheris.Setup(arguments, _kept(TARGETS[name], name, found))
    atheris.Fuzz()


def _kept(target: Callable[[bytes], None], name: str, found: Path) -> Callable[[bytes], None]:
    """Return the target with what breaks it written down, so that the fuzzer goes on."""
    known: set[str] = set()

    def run(data: bytes) -> None:
        try:
            target(data)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a defect
            frame = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{type(error).__name__} {frame.filename}:{frame.lineno}"
            if place not in known:
                known.add(place)
                path = found / f"{name}-{hashlib.sha256(place.encode()).hexdigest()[:8]}"
                path.write_bytes(data)
                traceback.print_exception(error)
                print(f"{name}: {path} ({len(data)} bytes) breaks it", file=sys.stderr, flush=True)

    return run


if __name__ == "__main__":
    sys.exit(main())
