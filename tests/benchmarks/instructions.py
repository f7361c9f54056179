"""Instructions of hot paths, as valgrind counts them: the same however busy the machine is.

Two processes run the lines of `counted.py`, and Python is started for each line about starting. Valgrind
shows every program the same processor, so what glibc, zstd and isal choose by the processor is the same
on all machines of an architecture. Counts hold for one build of Python and one version of the C library, of
the codecs and of xxhash, which are the key of an entry in `instructions.json`. That file keeps what was
counted, newest last; a page of the site draws it.

On a machine whose key has no entry, the package of the newest entry's commit is counted as well, and
compared with.
"""

from __future__ import annotations

import datetime as dt
import importlib.util
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

import seekwarc
from seekwarc.frames.codec import LIBRARY
from tests.benchmarks.counted import LINES, SHARES, STARTED

__all__ = ["REFERENCE", "TOLERANCE", "Entry", "compare", "guard", "kept", "newest", "with_entry"]

REFERENCE = Path(__file__).with_name("instructions.json")
ROOT = Path(__file__).parents[2]
TOLERANCE = 0.03
"""Of itself, by which a count may exceed the one that is kept."""
SUMMARY = re.compile(r"^summary: (\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Entry:
    """What was counted of one commit by one Python with its codecs."""

    date: str
    commit: str
    version: str
    key: str
    counts: dict[str, int]


def kept() -> list[Entry]:
    """Return what the file has, newest last."""
    return [Entry(**fields) for fields in json.loads(REFERENCE.read_text())]


def with_entry(entries: list[Entry], entry: Entry) -> list[Entry]:
    """Return entries with one more, in place of one with its key and commit, or its key and date."""
    others = [
        it for it in entries if it.key != entry.key or (it.commit != entry.commit and it.date != entry.date)
    ]
    return sorted([*others, entry], key=lambda it: (it.date, it.key))


def newest(entries: list[Entry], key: str) -> Entry | None:
    return next((it for it in reversed(entries) if it.key == key), None)


def key_of_this_machine() -> str:
    """Return what a count depends on besides our code."""
    codecs = [
        LIBRARY.NAME,
        f"isal {metadata.version('isal')}" if importlib.util.find_spec("isal") else "zlib",
    ]
    codecs.append(f"xxhash {metadata.version('xxhash')}")
    # Two builds of one version differ in what their compilers made of it.
    python = f"Python {platform.python_version()} of {platform.python_build()[1]}"
    return ", ".join([platform.machine(), " ".join(platform.libc_ver()), python, *codecs])


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], capture_output=True, text=True, cwd=ROOT, check=False)
    return done.stdout.strip()


class _Counter:
    """Runs Python on the package in `root`, in an environment that is the same everywhere."""

    def __init__(self, root: Path, work: Path) -> None:
        self._work = work
        found = importlib.util.find_spec("xxhash")
        if found is None or found.origin is None:
            raise ModuleNotFoundError("xxhash")
        # Python starts without `site`, whose work depends on what else is installed.
        paths = [str(root), str(ROOT), str(Path(found.origin).parents[1])]
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(work),
            "LANG": "C.UTF-8",
            "PYTHONPATH": os.pathsep.join(paths),
            # The order of sets, and with it the way through the code, follows from this seed.
            "PYTHONHASHSEED": "0",
            "PYTHONPYCACHEPREFIX": str(work / "bytecode"),
        }
        if codec := os.environ.get("SEEKWARC_CODEC"):
            self._environment["SEEKWARC_CODEC"] = codec
        self._run("-m", "tests.benchmarks.counted", "make", str(work))

    def _run(self, *words: str, before: tuple[str, ...] = ()) -> str:
        done = subprocess.run(
            [*before, sys.executable, "-S", *words],
            capture_output=True,
            cwd=self._work,
            env=self._environment,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{words} fails:\n{done.stderr.decode(errors='replace')}")
        return done.stderr.decode(errors="replace")

    def _counted(self, name: str, *words: str) -> list[int]:
        """Return what was counted between calls of `getsid`, and at last to the end."""
        # What is compiled to bytecode on the way is not counted.
        self._run(*words)
        out = self._work / name
        tool = ("valgrind", "--tool=callgrind", "--dump-before=getsid", f"--callgrind-out-file={out}")
        self._run(*words, before=tool)
        parts = sorted(self._work.glob(f"{name}.*"), key=lambda path: int(path.suffix[1:]))
        found = [SUMMARY.search(path.read_text()) for path in [*parts, out]]
        return [int(it[1]) for it in found if it is not None]

    def share(self, number: int) -> dict[str, int]:
        names = SHARES[number]
        found = self._counted(
            f"share{number}", "-m", "tests.benchmarks.counted", "run", str(self._work), str(number)
        )
        assert len(found) == 2 * len(names) + 1, "valgrind saw other calls of getsid"
        return {name: count // LINES[name][1] for name, count in zip(names, found[1::2], strict=True)}

    def started(self) -> dict[str, int]:
        offset = (self._work / "offset").read_text()
        return {
            name: self._counted(f"start{number}", *(it.replace("OFFSET", offset) for it in words))[-1]
            for number, (name, words) in enumerate(STARTED.items())
        }

    def count(self) -> dict[str, int]:
        processors = list(os.sched_getaffinity(0))

        def pin() -> None:
            # What a thread starts has one processor: a verb starts no threads, on whatever machine.
            os.sched_setaffinity(0, {processors.pop()})

        with ThreadPoolExecutor(len(processors), initializer=pin) as pool:
            jobs = [pool.submit(self.share, number) for number in range(len(SHARES))]
            jobs.append(pool.submit(self.started))
            found = {name: count for job in jobs for name, count in job.result().items()}
        return {name: found[name] for name in (*STARTED, *LINES)}


def count(commit: str | None = None) -> dict[str, int]:
    """Return the instructions of one repetition of each line, with the package here or of a commit."""
    with tempfile.TemporaryDirectory() as folder:
        root = ROOT
        if commit is not None:
            root = Path(folder, "package")
            root.mkdir()
            packed = subprocess.run(
                ["git", "archive", commit, "seekwarc"], cwd=ROOT, capture_output=True, check=True
            )
            subprocess.run(["tar", "-x"], input=packed.stdout, cwd=root, check=True)
        work = Path(folder, "work")
        work.mkdir()
        return _Counter(root, work).count()


def compare(found: dict[str, int], before: dict[str, int]) -> tuple[list[str], bool]:
    """Return a text for each line, and whether none takes more than it may."""
    texts, fine = [], True
    for name, number in found.items():
        if name not in before:
            texts.append(f"{name}: {number:,}")
            continue
        change = number / before[name] - 1
        worse = change > TOLERANCE
        fine = fine and not worse
        texts.append(f"{name}: {number:,} ({change:+.1%}){' TOO MANY' if worse else ''}")
    return texts, fine


def guard(*, keep: bool = False, at: str | None = None) -> int:
    """Count, compare with what is kept, and print; return 1 if a line takes too many.

    Args:
        keep: Keep the new counts, and compare only to show what has changed.
        at: Count the package of this commit instead of the one here.
    """
    entries, key = kept(), key_of_this_machine()
    before = newest(entries, key)
    found = count(at)
    print(f"Instructions, {key}:")
    if before is not None:
        print(f"compared with those of {before.date} ({before.commit})")
    elif not keep and entries:
        before = _counted_here(entries[-1], key)
    texts, fine = compare(found, before.counts if before is not None else {})
    print(*texts, sep="\n")
    if keep:
        commit = _git("rev-parse", "--short=8", at or "HEAD")
        date = _git("show", "-s", "--format=%cs", commit) if at else f"{dt.datetime.now(dt.UTC):%F}"
        entries = with_entry(kept(), Entry(date, commit, seekwarc.__version__, key, found))
        REFERENCE.write_text(json.dumps([asdict(it) for it in entries], indent=1) + "\n")
        return 0
    if not fine:
        print(
            "More than 3 % more. Where a change is worth that, its message says so, and the counts are kept:"
        )
        print("python -m tests.benchmarks --instructions --keep")
    return int(not fine)


def _counted_here(entry: Entry, key: str) -> Entry | None:
    """Count the package of an entry's commit on this machine, if the clone has it."""
    if not _git("cat-file", "-t", entry.commit):
        print(f"nothing to compare with: no counts are kept for this, and this clone lacks {entry.commit}")
        return None
    print(f"no counts are kept for this: compared with {entry.commit} ({entry.date}), counted here as well")
    return Entry(entry.date, entry.commit, entry.version, key, count(entry.commit))
