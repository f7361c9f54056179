"""Options, markers and fixtures that all tests share."""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import seekwarc
from seekwarc.cli import main
from tests.support import warm
from tests.support.disks import leave_unsynced
from tests.support.extras import MAY_SKIP, needs_package
from tests.support.rounds import rounds, run_one_in
from tests.support.warm import WarmCommand

ROOT = Path(__file__).parents[1]
VECTORS = ROOT / "tests" / "vectors"
"""Files by other tools whose licence lets this repository hold them."""
MORE_SAMPLES = Path(os.environ.get("SEEKWARC_SAMPLES", ROOT.parent / "shared" / "samples"))
"""More of them, which are not part of the repository. They include those of VECTORS."""
SAMPLES = MORE_SAMPLES if MORE_SAMPLES.is_dir() else VECTORS
STANDARD = MORE_SAMPLES.parent / "seeds" / "warc-1.1.txt"
"""The text of WARC 1.1, a paragraph a line, without headings; not part of the repository either."""
ODD_SAMPLES = MORE_SAMPLES.parent / "more-samples"
"""Files that break rules, beside MORE_SAMPLES; not part of the repository either."""

WABAC = Path(os.environ.get("SEEKWARC_WABAC", ROOT.parent / "wabac.tgz"))
"""The service worker of replays as `npm pack @webrecorder/wabac` leaves it: its licence is not ours."""

PLAYER = Path(os.environ.get("SEEKWARC_PLAYER", ROOT.parent / "replaywebpage.tgz"))
"""replayweb.page as `npm pack replaywebpage` leaves it: its licence is not ours."""

NODE_TOOLS = Path(os.environ.get("SEEKWARC_NODE_TOOLS", ROOT.parent / "node-tools"))
"""The folder in which `npm install warcio @harvard-lil/js-wacz` was run."""

PROGRAMS = {
    "chromium": "apt-get install chromium",
    "ffmpeg": "apt-get install ffmpeg",
    "firefox-esr": "apt-get install firefox-esr",
    "man": "apt-get install man-db",
    "nginx": "apt-get install nginx",
    "node": "apt-get install nodejs",
    "openssl": "apt-get install openssl",
    "wget": "apt-get install wget",
    "zstd": "apt-get install zstd",
    "zsh": "apt-get install zsh",
    "fish": "apt-get install fish",
    "wrk": "apt-get install wrk",
    "wayback": "install pywb in a virtual environment of its own, whose bin folder is last in PATH",
    "wacz": "install wacz beside seekwarc[warcio] in an environment whose bin folder is last in PATH",
    "warcprox": "install warcprox in a virtual environment of its own, whose bin folder is last in PATH",
    "warcit": "install warcit and setuptools<80 as wacz, beside it",
}
"""Programs that tests use, and how each is installed."""
FILES = {
    "samples": (SAMPLES is MORE_SAMPLES, "files by other tools, which SEEKWARC_SAMPLES names the folder of"),
    "odd samples": (
        ODD_SAMPLES.is_dir(),
        "files that break rules, in ../more-samples beside SEEKWARC_SAMPLES",
    ),
    "wabac": (WABAC.is_file(), "the .tgz of `npm pack @webrecorder/wabac`, which SEEKWARC_WABAC names"),
    "player": (PLAYER.is_file(), "the .tgz of `npm pack replaywebpage`, which SEEKWARC_PLAYER names"),
    "node tools": (
        (NODE_TOOLS / "node_modules" / ".bin" / "js-wacz").exists(),
        "the folder of `npm install warcio @harvard-lil/js-wacz`, which SEEKWARC_NODE_TOOLS names",
    ),
    "standard": (STANDARD.is_file(), "the text of WARC 1.1, in ../seeds beside the folder SEEKWARC_SAMPLES"),
}
"""Files outside the repository that tests use: whether they are there, and what they are."""


def _is_there(component: str) -> bool:
    """Tell whether a component can be used: files, a program, or a Python module."""
    if component in FILES:
        return FILES[component][0]
    if component.startswith("module:"):
        return importlib.util.find_spec(component.removeprefix("module:")) is not None
    return shutil.which(component) is not None


def _how_to_get(component: str) -> str:
    """Say what a test needs that is missing, and what to do about it."""
    if component in FILES:
        return f"needs {FILES[component][1]}; they are not part of this repository"
    if component.startswith("module:"):
        return needs_package(component.removeprefix("module:"))
    return f"needs the program {component}: {PROGRAMS[component]}"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the tests that take long by their nature, too")
    parser.addoption(
        "--soak", type=float, default=30, metavar="SECONDS", help="how long many threads run (slow)"
    )
    parser.addoption("--large", action="store_true", help="run the tests that take gigabytes, too")
    parser.addoption(
        "--compiled",
        action="store_true",
        help="see that the package is compiled; leave out what shows no more",
    )
    parser.addoption("--cold", action="store_true", help="start Python for every command that tests run")


SAME_IN_ANY_BUILD = {
    "tests/benchmarks/": "they show that the benchmarks run",
    "tests/browser/": "the page is JavaScript, and what it asks the server for is in tests/serve",
    "tests/fuzz/test_targets.py::test_a_short_run_of_the_fuzzer": "the fuzzer follows bytecode alone",
    "tests/property/test_writer_schedules.py::test_a_file_of_a_series": "it places signals by bytecode",
    "tests/support/": "it is what tests are made of",
    "tests/test_architecture.py": "it reads the sources",
    "tests/test_site.py": "it makes HTML of the pages",
    "tests/test_system.py::test_tests_pass_without_posix": "seekwarc.system is not compiled",
    "tests/test_wheel.py": "it builds wheels of its own",
    "tests/test_words.py": "it reads the sources",
    "tests/typing/": "type checkers read the sources",
    "tests/write/test_file_layout.py::test_a_file_with_too_many_frames": "it makes a limit smaller",
}
"""Tests that show no more of a compiled package: `--compiled` leaves them out; the pure one has them."""
QUICK = 10
"""Without `--slow`, one in so many examples of properties is tried."""


def share_bytecode(config: pytest.Config) -> None:
    """Let no worker, and no process that a test starts, compile what another has compiled.

    Where PYTHONDONTWRITEBYTECODE is set, a folder of the session has it: nothing is written beside sources.
    """
    if not sys.dont_write_bytecode or "PYTEST_XDIST_WORKER" in os.environ:
        return
    folder = tempfile.TemporaryDirectory(prefix="seekwarc-bytecode-", ignore_cleanup_errors=True)
    config.add_cleanup(folder.cleanup)
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = folder.name
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False


def pytest_configure(config: pytest.Config) -> None:
    leave_unsynced()
    # Files of tests become a million objects that stay. Looking through them again and again, as their number
    # grows, takes a third of the time of collecting tests.
    gc.disable()
    share_bytecode(config)
    if config.getoption("--compiled") and not getattr(seekwarc, "__compiled__", False):
        pytest.exit(f"{seekwarc.__file__} is not compiled", returncode=pytest.ExitCode.USAGE_ERROR)
    run_one_in(1 if config.getoption("--slow") else QUICK)
    # How long an example takes says how busy the machine is: what must be fast is measured by itself.
    settings.register_profile("unhurried", deadline=None, max_examples=rounds(100))
    settings.load_profile("unhurried")
    # A shell without job control starts what runs in the background deaf to Ctrl-C, and the programs that
    # tests start and interrupt would be as deaf.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what only runs when asked: a million skips would hide those that matter."""
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        (left_out if _is_left_out(item, config) else kept).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


def pytest_collection(session: pytest.Session) -> None:
    """Share the work of preparing assertions, which takes a third of a second for a large file of tests.

    Every worker needs every file. As each begins at another one, it finds many prepared by the others.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw")
    if not worker or session.config.args != session.config.getini("testpaths"):
        return
    paths = sorted((ROOT / "tests").rglob("test_*.py"))
    first = len(paths) * int(worker) // int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    for path in [*paths[first:], *paths[:first]]:
        # What goes wrong, or skips a file, does so again when it is collected, and is reported then.
        with contextlib.suppress(Exception, pytest.skip.Exception):
            importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


def pytest_collection_finish() -> None:
    # No later collection of garbage need look at them, either; what is garbage already is little.
    gc.freeze()
    gc.enable()


def _is_left_out(item: pytest.Item, config: pytest.Config) -> bool:
    if config.getoption("--compiled") and item.nodeid.startswith(tuple(SAME_IN_ANY_BUILD)):
        return True
    # A test that is asked for by its full name runs, whatever its markers.
    if any("::" in argument for argument in config.args):
        return False
    marks = {mark.name: mark for mark in reversed([*item.iter_markers()])}
    if not config.getoption("--slow") and (sampled := marks.get("one_in")):
        # By the sum of their places every value of a parameter comes with some values of the others.
        return sum(_places(item)) % sampled.args[0] != 0
    return any(name in marks and not config.getoption(name) for name in ("slow", "large"))


_SEEN: dict[tuple[str, tuple[str, ...]], dict[tuple[int, ...], int]] = {}
"""The values of each parameter of each test, in the order in which they come."""


def _places(item: pytest.Item) -> list[int]:
    """Return which value of each of its parameters a test has; pytest only says which combination it is."""
    test, params = item.nodeid.partition("[")[0], item.callspec.params
    groups = [mark.args[0] for mark in item.iter_markers("parametrize")]
    named = [tuple(re.split(r"[, ]+", it)) if isinstance(it, str) else tuple(it) for it in groups]
    others = [(name,) for name in params if not any(name in names for names in named)]
    places = []
    for names in [*named, *others]:
        seen = _SEEN.setdefault((test, names), {})
        places.append(seen.setdefault(tuple(id(params[name]) for name in names), len(seen)))
    return places


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("posix") and not hasattr(os, "fork"):
        pytest.skip("Windows has nothing like it")
    for marker in item.iter_markers("needs"):
        for component in marker.args:
            if not _is_there(component):
                if not MAY_SKIP:
                    pytest.fail(f"SEEKWARC_MAY_SKIP is not set: {_how_to_get(component)}")
                pytest.skip(_how_to_get(component))


@pytest.fixture(scope="session")
def samples() -> Path:
    """The folder of files by other tools; `needs("samples")` is for those that are not warcio's."""
    return SAMPLES


@pytest.fixture
def few_objects() -> None:
    """Let collections of garbage pass over what there is: where a test makes hundreds, each takes long."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def warm_command(request: pytest.FixtureRequest) -> Iterator[WarmCommand | None]:
    """The command without the start of Python; None where each run is to be a start of its own."""
    if request.config.getoption("--cold") or not warm.CAN_FORK:
        yield None
        return
    command = WarmCommand()
    yield command
    command.close()


@pytest.fixture
def run_main() -> Iterator[Callable[..., int]]:
    """Run the command within this process, where what it uses can be replaced."""
    handler = signal.getsignal(signal.SIGTERM)
    with warnings.catch_warnings():
        yield lambda *args: main([str(arg) for arg in args])
    signal.signal(signal.SIGTERM, handler)


@pytest.fixture
def run_cli(warm_command: WarmCommand | None) -> Callable[..., subprocess.CompletedProcess]:
    """Run the command as a user does: a process of its own."""

    def run(*args: object, stdin: bytes | None = None, **options: object) -> subprocess.CompletedProcess:
        if warm_command is not None and options.keys() <= {"cwd"}:
            return warm_command.run(*args, stdin=stdin, **options)
        command = [sys.executable, "-m", "seekwarc", *map(str, args)]
        return subprocess.run(command, input=stdin, capture_output=True, check=False, **options)

    return run
