"""Wheels: which kind is built where, and what is in it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("module:hatchling"),
    pytest.mark.needs("module:hatch_fancy_pypi_readme"),
    pytest.mark.needs("module:mypyc"),
    pytest.mark.needs("module:setuptools"),
]

COMPILED = tomllib.loads(Path(ROOT, "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"][
    "wheel"
]["hooks"]["custom"]["modules"]

SHARED = {
    "bash-completion/completions/seekwarc",
    "fish/vendor_completions.d/seekwarc.fish",
    "man/man1/seekwarc.1",
    "zsh/site-functions/_seekwarc",
}
USE = """
import pickle, seekwarc
for name in ("a.warc.zst", "a.warc.gz"):
    with seekwarc.open(name, "w") as out:
        for number in range(300):
            out.write_response(f"http://example.org/{number}", b"page " * number, status=200)
    with seekwarc.open(name) as archive:
        records = [(pickle.loads(pickle.dumps(it.http)), it.payload.read()) for it in archive]
    read = [(head.status, body) for head, body in records if head is not None]
print(seekwarc.__compiled__, read == [(200, b"page " * number) for number in range(300)])
"""
"""Enough records for all ways of reading ahead."""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of what a wheel is built from."""
    tree = tmp_path / "tree"
    ignored = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd")
    shutil.copytree(ROOT / "seekwarc", tree / "seekwarc", ignore=ignored)
    shutil.copytree(ROOT / ".build", tree / ".build", ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    return tree


def hatch(tree: Path, target: str, **variables: str) -> subprocess.CompletedProcess[str]:
    ours = ("SEEKWARC_COMPILE", "CC")
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    return subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(tree.with_name("wheels"))],
        cwd=tree,
        env={**environment, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def build(tree: Path, target: str = "wheel", **variables: str) -> tuple[str, set[str], str]:
    """Build a wheel; return its name, the names of what is in it, and what was printed."""
    before = {path for path in tree.rglob("*") if "__pycache__" not in path.parts}
    folder = tree.with_name("wheels")
    done = hatch(tree, target, **variables)
    assert done.returncode == 0, done.stdout
    assert {path for path in tree.rglob("*") if "__pycache__" not in path.parts} == before
    (wheel,) = folder.iterdir()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "unpacked")
        return wheel.name, set(archive.namelist()), done.stdout


def sources(tree: Path) -> set[str]:
    files = (path for path in (tree / "seekwarc").rglob("*") if path.is_file())
    return {path.relative_to(tree).as_posix() for path in files if "__pycache__" not in path.parts}


def shared_in(files: set[str]) -> set[str]:
    """Return what goes to `share` of an environment."""
    return {file.partition(".data/data/share/")[2] for file in files if ".data/" in file}


def modules_in(files: set[str]) -> set[str]:
    return {file for file in files if ".dist-info/" not in file and ".data/" not in file}


def assert_pure(tree: Path, name: str, files: set[str]) -> None:
    assert name.endswith("-py3-none-any.whl")
    assert modules_in(files) == sources(tree)
    assert shared_in(files) == SHARED


def test_a_wheel_is_pure_unless_a_compiled_one_is_asked_for(tree: Path) -> None:
    name, files, printed = build(tree)
    assert_pure(tree, name, files)
    assert "building the pure wheel: SEEKWARC_COMPILE=1 is not set" in printed


def test_the_page_of_a_package_index_has_no_dead_links(tree: Path) -> None:
    name, _, _ = build(tree)
    unpacked = tree.with_name("wheels") / "unpacked"
    fields, _, page = next(unpacked.glob("*.dist-info/METADATA")).read_text().partition("\n\n")
    assert name.startswith("seekwarc-")
    assert "Description-Content-Type: text/markdown" in fields
    assert "Project-URL: Specification, https://" in fields
    links = re.findall(r"\]\(([^)]*)\)", page)
    assert links
    assert all(link.startswith("https://") for link in links)
    assert "| reading |" in page, "the text of a link stays"


def test_a_source_distribution_holds_what_the_pages_link_to(tree: Path) -> None:
    for folder in (".github", "spec-notes"):
        shutil.copytree(ROOT / folder, tree / folder)
    folder = tree.with_name("sdist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(folder)]
    subprocess.run(command, cwd=tree, check=True, capture_output=True)
    with tarfile.open(next(folder.iterdir())) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    linked = set(re.findall(r"\]\(([^)#:]+)[)#]", (tree / "README.md").read_text()))
    assert {".github/CONTRIBUTING.md", ".github/CHANGELOG.md", "spec-notes/recipes.md"} <= linked
    assert linked - {"seekwarc"} <= names | {name.rpartition("/")[0] for name in names}


def test_a_wheel_is_built_where_its_manual_cannot_be(tree: Path) -> None:
    (tree / "seekwarc" / "cli" / "verbs.py").write_text("raise ImportError('no codec')\n")
    _, files, printed = build(tree)
    assert shared_in(files) == set()
    assert modules_in(files) == sources(tree)
    assert "building without a manual page: ImportError: no codec" in printed


@pytest.mark.needs("module:editables")
def test_an_editable_install_is_pure(tree: Path) -> None:
    name, files, printed = build(tree, target="wheel:editable")
    assert name.endswith("-py3-none-any.whl")
    assert not {file for file in files if file.endswith((".so", ".pyd"))}
    assert shared_in(files) == set()
    assert "building the pure wheel: the install is editable" in printed


@pytest.mark.parametrize(
    ("variables", "problem"),
    [
        pytest.param(
            {"CC": "no-such-compiler"}, "the C compiler no-such-compiler is missing", marks=pytest.mark.posix
        ),
        ({"PYTHONPATH": "{broken}"}, "mypyc failed: RuntimeError: out of order"),
    ],
)
def test_who_asks_for_a_compiled_wheel_gets_no_pure_one_without_a_word(
    tree: Path, tmp_path: Path, variables: dict[str, str], problem: str
) -> None:
    broken = tmp_path / "broken" / "mypyc"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise RuntimeError('out of order')\n")
    variables = {name: value.format(broken=broken.parent) for name, value in variables.items()}
    done = hatch(tree, "wheel", SEEKWARC_COMPILE="1", **variables)
    assert done.returncode != 0
    assert f"SEEKWARC_COMPILE=1 is set, but {problem}." in done.stdout
    assert "Traceback" not in done.stdout
    assert not list(tree.parent.glob("wheels/*"))


def test_compiled_wheel_holds_sources_and_modules(tree: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    # To optimize takes most of the time, and changes nothing that is looked at here.
    compiler = tree.with_name("cc")
    compiler.write_text('#!/bin/sh\nexec cc "$@" -O0\n')
    compiler.chmod(0o755)
    name, files, printed = build(tree, SEEKWARC_COMPILE="1", CC=str(compiler))
    assert f"building the compiled wheel of {len(COMPILED)} modules" in printed
    assert not name.endswith("-any.whl")
    made = {file for file in files if file.endswith((".so", ".pyd"))}
    modules = {file.partition(".")[0].replace("/", ".") for file in made}
    assert modules == {*COMPILED, "seekwarc__mypyc"}
    assert modules_in(files - made) == sources(tree)
    assert shared_in(files) == SHARED
    unpacked = tree.with_name("wheels") / "unpacked"
    done = subprocess.run(
        [sys.executable, "-c", USE],
        cwd=unpacked,
        env={**os.environ, "PYTHONPATH": str(unpacked)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("True True\n", "")
