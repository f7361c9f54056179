"""What makes packages beside wheels agrees with pyproject.toml, and does what it is for."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

import seekwarc
from seekwarc.cli.verbs import VERBS
from tests.conftest import ROOT
from tests.fuzz.targets import TARGETS
from tests.support.extras import package

yaml = package("yaml")

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
FUZZ = ROOT / ".clusterfuzzlite"
CONTAINER = (ROOT / ".packaging" / "Containerfile").read_text()
PYTHONS = [it.rpartition(" ")[2] for it in PROJECT["classifiers"] if "Python :: 3." in it]
CONDA_NAMES = {"xxhash": "python-xxhash"}
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def loaded(*parts: str) -> Any:
    return yaml.safe_load(ROOT.joinpath(*parts).read_text())


def instruction(name: str) -> str:
    """Return the last instruction of the container file with this name."""
    return re.findall(rf"^{name} (.*)$", CONTAINER, re.MULTILINE)[-1]


def test_versions_are_the_same_everywhere() -> None:
    assert seekwarc.__version__ == PROJECT["version"]
    assert loaded(".packaging", "conda", "recipe.yaml")["context"]["version"] == PROJECT["version"]
    assert loaded(".github", "CITATION.cff")["version"] == PROJECT["version"]


def test_the_recipe_asks_for_what_the_package_needs() -> None:
    recipe = loaded(".packaging", "conda", "recipe.yaml")
    needed = [re.match(r"([\w-]+)(>=[\d.]+)", it) for it in PROJECT["dependencies"]]
    wanted = {f"{CONDA_NAMES.get(it[1], it[1])} {it[2]}" for it in needed if it is not None}
    python = "python >=${{ python_min }}"
    assert set(recipe["requirements"]["run"]) == {python, *wanted}
    assert wanted <= set(recipe["requirements"]["host"])
    assert f">={recipe['context']['python_min']}" == PROJECT["requires-python"]
    scripts = [f"{name} = {place}" for name, place in PROJECT["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == scripts


def test_the_citation_has_what_its_format_requires() -> None:
    citation = loaded(".github", "CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    assert citation["license"] == PROJECT["license"]
    assert citation["authors"] == PROJECT["authors"]


def test_the_container_serves_a_folder_and_is_not_root() -> None:
    assert instruction("USER").split(":")[0] not in ("0", "root")
    assert json.loads(instruction("ENTRYPOINT")) == list(PROJECT["scripts"])
    verb, *words = json.loads(instruction("CMD"))
    options = VERBS[verb].parser().parse_args(words)
    assert str(options.port) == instruction("EXPOSE")
    assert options.host == "0.0.0.0"
    assert words[-1] == instruction("WORKDIR")


def test_the_container_installs_extras_that_exist() -> None:
    found = re.search(r"/source\[([\w,]+)\]", CONTAINER)
    assert found is not None
    assert set(found[1].split(",")) <= PROJECT["optional-dependencies"].keys()
    assert set(re.findall(r"^FROM python:([\d.]+)-slim", CONTAINER, re.MULTILINE)) <= set(PYTHONS)


@pytest.mark.parametrize("path", [*WORKFLOWS, ROOT / ".github" / "dependabot.yml"], ids=lambda it: it.stem)
def test_workflows_are_yaml(path: Path) -> None:
    read = yaml.safe_load(path.read_text())
    for job in read.get("jobs", {}).values():
        assert "runs-on" in job or "uses" in job


def test_wheels_are_built_for_each_python_and_system() -> None:
    job = loaded(".github", "workflows", "wheels.yml")["jobs"]["compiled"]
    built = {key: value for step in job["steps"] for key, value in step.get("env", {}).items()}
    assert built["CIBW_BUILD"].split() == [f"cp{it.replace('.', '')}-*" for it in PYTHONS]
    assert "musl" not in built["CIBW_SKIP"]
    systems = job["strategy"]["matrix"]["system"]
    # macos-13 is gone; the Intel machines have a name of their own.
    assert systems == [
        "ubuntu-latest",
        "ubuntu-24.04-arm",
        "macos-15-intel",
        "macos-latest",
        "windows-latest",
    ]


def test_the_tests_run_on_each_python() -> None:
    job = loaded(".github", "workflows", "ci.yml")["jobs"]["systems"]
    assert job["strategy"]["matrix"]["python"] == PYTHONS


@pytest.fixture(scope="module")
def fuzzers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder in which build.sh has put its programs; they stay scripts here."""
    folder = tmp_path_factory.mktemp("fuzz")
    programs = {"pip3": "true", "compile_python_fuzzer": 'cp "$1" "$OUT"'}
    for name, line in programs.items():
        path = folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)
    path = f"{folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    source = folder / "source"
    (source / "tests" / "fuzz").mkdir(parents=True)
    (source / "tests" / "fuzz" / "corpus").symlink_to(ROOT / "tests" / "fuzz" / "corpus")
    (source / ".clusterfuzzlite").symlink_to(FUZZ)
    (folder / "out").mkdir()
    subprocess.run(
        [".clusterfuzzlite/build.sh"], cwd=source, env={"PATH": path, "OUT": str(folder / "out")}, check=True
    )
    assert {path.name for path in source.iterdir()} == {"tests", ".clusterfuzzlite"}
    return folder / "out"


@pytest.mark.posix
def test_each_target_is_a_program_with_its_corpus(fuzzers: Path) -> None:
    assert {path.name for path in fuzzers.iterdir()} == {
        f"fuzz_{name}{ending}" for name in TARGETS for ending in (".py", "_seed_corpus.zip")
    }
    for name in TARGETS:
        ast.parse((fuzzers / f"fuzz_{name}.py").read_text())
        stored = {path.name for path in (ROOT / "tests" / "fuzz" / "corpus" / name).iterdir()}
        assert set(zipfile.ZipFile(fuzzers / f"fuzz_{name}_seed_corpus.zip").namelist()) == stored


def test_the_project_file_is_one_that_services_take() -> None:
    project = loaded(".clusterfuzzlite", "project.yaml")
    assert project == {
        "language": "python",
        "fuzzing_engines": ["libfuzzer"],
        "sanitizers": ["address", "undefined"],
    }


@pytest.mark.slow
@pytest.mark.needs("module:atheris")
def test_a_program_runs_its_corpus(fuzzers: Path, tmp_path: Path) -> None:
    # One, since instrumenting takes half a minute. tests/fuzz/test_targets.py runs all targets on all inputs.
    name = "table"
    corpus = tmp_path / "corpus"
    with zipfile.ZipFile(fuzzers / f"fuzz_{name}_seed_corpus.zip") as stored:
        stored.extractall(corpus)
        count = len(stored.namelist())
    done = subprocess.run(
        [sys.executable, str(fuzzers / f"fuzz_{name}.py"), "-runs=0", str(corpus)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # Twice the first one, to measure, or the empty input beside them.
    executed = re.search(r"Done (\d+) runs", done.stderr)
    assert executed is not None, done.stderr
    assert int(executed[1]) >= count
