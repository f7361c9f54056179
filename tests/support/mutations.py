"""Changes the package in one place at a time, and finds the changes that no test notices.

    python -m tests.support.mutations --seed 7                       50 changes of the whole package
    python -m tests.support.mutations --count 20 seekwarc/write      20 of a folder or file
    python -m tests.support.mutations seekwarc/write/append.py:164   up to 50 of a line

A change is one that a slip of the hand makes: `<` for `<=`, `==` for `!=`, `in` for `not in`, `+` for `-`,
`and` for `or`, a `not` left out, or a number that is compared, added or an index, and is too large by one.
The seed decides which are drawn. For each, the test file that mirrors the module is run in a copy of the
repository and, if it passes, all tests of the room. A change is noticed if a test fails, or if the tests take
ten times as long as without it.

Those that live are printed as file, line and change, and the exit status is 1; it is 2 if the tests fail
without a change. Each either shows a test that is missing, or changes nothing that a user could see: then
simpler code may have no room for it.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Final

from tests.conftest import MORE_SAMPLES, ROOT

SWAPPED: Final[dict[type[ast.AST], type[ast.AST]]] = {
    one: other
    for pair in [
        (ast.Lt, ast.LtE),
        (ast.Gt, ast.GtE),
        (ast.Eq, ast.NotEq),
        (ast.Is, ast.IsNot),
        (ast.In, ast.NotIn),
        (ast.Add, ast.Sub),
        (ast.And, ast.Or),
    ]
    for one, other in (pair, pair[::-1])
}
JOINED: Final = (ast.JoinedStr, ast.List, ast.Tuple)
"""What `+` joins, and `-` does not take: such a change shows nothing but that the line is run."""
NOT_COPIED: Final = (".git", "__pycache__", ".*_cache", ".hypothesis", ".venv*", "*.so", "*.pyd")
PASSED: Final = (0, 5)
"""Exit statuses of pytest: all tests passed, there are none."""
SLOWER: Final = 10
"""How many times as long as without a change tests may take."""
MIN_TIME: Final = 20
"""Seconds that they always may."""
MAX_BYTES: Final = 8 << 30
"""Memory that a change may take, and the size of a file that it may write."""


@dataclass(frozen=True)
class Mutation:
    """A change of one expression or statement."""

    path: Path
    """Of the module, from the folder of the repository."""
    line: int
    start: int
    """Where the expression begins in the file, in bytes."""
    before: str
    after: str

    def __str__(self) -> str:
        before, after = (" ".join(text.split()) for text in (self.before, self.after))
        return f"{self.path}:{self.line}: `{before}` -> `{after}`"

    def applied_to(self, source: bytes) -> bytes:
        stop = self.start + len(self.before.encode())
        return source[: self.start] + self.after.encode() + source[stop:]


def mutations_of(path: Path, source: str) -> list[Mutation]:
    """Return all mutations of a module, in the order of its lines."""
    tree = ast.parse(source)
    # Before Python 3.12, what is inside of an f-string does not know its place.
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    misplaced = {id(part) for text in texts for part in ast.walk(text)}
    data = source.encode()
    lines = [0, *accumulate(len(line) + 1 for line in data.split(b"\n"))]
    found = []
    for node in ast.walk(tree):
        for after in _changes(node) if id(node) not in misplaced else ():
            start = lines[node.lineno - 1] + node.col_offset
            stop = lines[node.end_lineno - 1] + node.end_col_offset
            found.append(Mutation(path, node.lineno, start, data[start:stop].decode(), after))
    return sorted(found, key=lambda it: (it.start, it.before, it.after))


def _changes(node: ast.AST) -> Iterator[str]:
    """Yield what may take the place of an expression or statement."""
    match node:
        case ast.Compare(left, operators, others):
            for index, operator in enumerate(operators):
                swapped = SWAPPED[type(operator)]()
                changed = [*operators[:index], swapped, *operators[index + 1 :]]
                yield ast.unparse(ast.Compare(left, changed, others))
            yield from _boundaries(node, left, *others)
        case ast.BinOp(left, ast.Add() | ast.Sub() as operator, right):
            if not _is_joined(left) and not _is_joined(right):
                yield ast.unparse(ast.BinOp(left, SWAPPED[type(operator)](), right))
                yield from _boundaries(node, left, right)
        case ast.AugAssign(target, ast.Add() | ast.Sub() as operator, value) if not _is_joined(value):
            yield ast.unparse(ast.AugAssign(target, SWAPPED[type(operator)](), value))
            yield from _boundaries(node, value)
        case ast.BoolOp(operator, values):
            yield ast.unparse(ast.BoolOp(SWAPPED[type(operator)](), values))
        case ast.UnaryOp(ast.Not(), operand):
            # Its operators may bind less tightly than `not` does.
            yield f"({ast.unparse(operand)})"
        case ast.Subscript(slice=ast.Slice(lower, upper)):
            yield from _boundaries(node, lower, upper)
        case ast.Subscript(slice=index):
            yield from _boundaries(node, index)


def _boundaries(node: ast.AST, *operands: ast.expr | None) -> Iterator[str]:
    for operand in operands:
        number = operand.operand if isinstance(operand, ast.UnaryOp) else operand
        if isinstance(number, ast.Constant) and type(number.value) is int:
            number.value += 1
            yield ast.unparse(node)
            number.value -= 1


def _is_joined(node: ast.expr) -> bool:
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    return is_text or isinstance(node, JOINED)


@dataclass
class Trial:
    """A copy of the repository, in which one mutation at a time is made."""

    folder: Path
    """An empty one."""
    root: Path = ROOT
    """Of the repository."""
    _times: dict[str, float] = field(default_factory=dict)
    _written: int = 0

    def __post_init__(self) -> None:
        self._copy = self.folder / "copy"
        self._scratch = self.folder / "scratch"
        self._scratch.mkdir()
        shutil.copytree(self.root, self._copy, ignore=shutil.ignore_patterns(*NOT_COPIED))

    def killer(self, mutation: Mutation) -> str | None:
        """Return the tests that notice a mutation; None if it lives."""
        module = self._copy / mutation.path
        source = module.read_bytes()
        for tests in suites_of(mutation.path, self._copy):
            usual = self._time(tests)
            self._write(module, mutation.applied_to(source))
            try:
                if not self._passes(tests, max(MIN_TIME, SLOWER * usual)):
                    return tests
            finally:
                self._write(module, source)
        return None

    def _time(self, tests: str) -> float:
        if tests not in self._times:
            begin = time.monotonic()
            if not self._passes(tests, None):
                print(f"{tests} fails without a mutation", file=sys.stderr)
                raise SystemExit(2)
            self._times[tests] = time.monotonic() - begin
        return self._times[tests]

    def _write(self, module: Path, source: bytes) -> None:
        # What Python compiled is used again if the file has the same time, in seconds, and size.
        self._written += 1
        module.write_bytes(source)
        os.utime(module, (self._written, self._written))

    def _passes(self, tests: str, seconds: float | None) -> bool:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--hypothesis-seed=0", tests]
        environment = {
            **os.environ,
            "PYTHONPATH": str(self._copy),
            "SEEKWARC_SAMPLES": str(MORE_SAMPLES),
            "TMPDIR": str(self._scratch),
        }
        process = subprocess.Popen(
            # What takes seconds to import, or writes into the copy.
            [*command, "-p", "no:schemathesis", "-p", "no:cacheprovider"],
            cwd=self._copy,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=_limit,  # noqa: PLW1509 - no threads here
        )
        try:
            return process.wait(seconds) in PASSED
        except subprocess.TimeoutExpired:
            return False
        finally:
            # Whatever the tests started ends with them.
            _end_group(process)


def _limit() -> None:
    import resource  # noqa: PLC0415 - Windows has none, and reads mutations only

    for name in (resource.RLIMIT_AS, resource.RLIMIT_FSIZE):
        resource.setrlimit(name, (MAX_BYTES, MAX_BYTES))


def _end_group(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()


def suites_of(module: Path, root: Path) -> Iterator[str]:
    """Yield the tests of a module as arguments of pytest: the file that mirrors it, then its room."""
    place = Path("tests") / module.relative_to("seekwarc")
    mirror = place.with_name(f"test_{module.stem.strip('_')}.py")
    room = Path(*place.parts[:2])
    for tests in (mirror, room):
        if (root / tests).exists():
            yield str(tests)


def drawn(places: Sequence[str], root: Path, *, seed: int, count: int) -> list[Mutation]:
    """Draw from the mutations of folders, files, and lines of files (`FILE:LINE`)."""
    found = []
    for place in places:
        name, _, line = place.partition(":")
        top = root / name
        for path in [top] if top.is_file() else sorted(top.rglob("*.py")):
            module = path.relative_to(root)
            # A few modules in no room are tested by the tests of all that use them.
            if any(suites_of(module, root)):
                mutations = mutations_of(module, path.read_text())
                found += [it for it in mutations if not line or it.line == int(line)]
    return random.Random(seed).sample(found, min(count, len(found)))


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.mutations",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("places", metavar="PLACE", nargs="*", default=["seekwarc"], help="what to change")
    parser.add_argument("--seed", type=int, default=0, help="decides which changes are drawn")
    parser.add_argument("--count", type=int, default=50, help="how many are drawn (%(default)s)")
    options = parser.parse_args(arguments)
    mutations = drawn(options.places, root, seed=options.seed, count=options.count)
    if not mutations:
        parser.error(f"nothing to change in {', '.join(options.places)}")
    lived = 0
    with tempfile.TemporaryDirectory(prefix="seekwarc-mutations-") as folder:
        trial = Trial(Path(folder), root)
        for number, mutation in enumerate(mutations, 1):
            killer = trial.killer(mutation)
            print(f"{number} of {len(mutations)}: {killer or 'lived'}", file=sys.stderr)
            if killer is None:
                lived += 1
                print(mutation, flush=True)
    print(f"{len(mutations) - lived} killed, {lived} lived", file=sys.stderr)
    return 1 if lived else 0


if __name__ == "__main__":
    sys.exit(main())
