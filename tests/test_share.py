"""What a wheel puts into `share`: a manual page that man shows, and scripts that shells find."""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
from pathlib import Path

import pytest

from seekwarc.cli.verbs import VERBS
from tests.conftest import ROOT

MANUAL = "man/man1/seekwarc.1"


@pytest.fixture(scope="module")
def share(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that a wheel has as `share`."""
    spec = importlib.util.spec_from_file_location("share_files", ROOT / ".build" / "share_files.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    folder = tmp_path_factory.mktemp("share")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "20")
        patch.setenv("NO_COLOR", "")
        module.main(folder)
    return folder


def run(*command: str | Path, **variables: str | Path) -> str:
    """Run a program that prints no error; return what it prints."""
    environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "dumb"}
    environment |= {name: str(value) for name, value in variables.items()}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_manual_has_every_verb_and_option(share: Path) -> None:
    page = (share / MANUAL).read_text().replace("\\-", "-")
    for verb in VERBS.values():
        assert f'.SS "seekwarc {verb.name}"' in page
        assert verb.text in page
        for action in verb.parser()._actions:
            if action.help == argparse.SUPPRESS:
                continue
            for name in action.option_strings:
                assert f"\\fB{name}\\fR" in page or "--help" in action.option_strings, name
    assert '.SS "seekwarc dictionary train"' in page
    assert "\x1b" not in page


def test_text_is_never_taken_for_a_request(share: Path) -> None:
    known = {".TH", ".SH", ".SS", ".PP", ".TP", ".B", ".I", ".RI", ".BR", ".RS", ".RE", ".br", ".nf", ".fi"}
    lines = (share / MANUAL).read_text().splitlines()
    assert {line.split(" ")[0] for line in lines if line.startswith((".", "'"))} <= known


@pytest.mark.needs("man")
def test_man_shows_the_page_without_a_warning(share: Path) -> None:
    text = run("man", "--warnings", "-E", "UTF-8", "-l", share / MANUAL, MANWIDTH="100", HOME=share)
    assert "web archives with random access inside their records" in text
    assert "seekwarc cat crawl.warc.zst 3117 --range 1000000000+65536\n" in text


def test_bash_finds_its_script(share: Path) -> None:
    path = share / "bash-completion" / "completions" / "seekwarc"
    assert run("bash", "-c", f'. "{path}"; complete -p seekwarc') == (
        "complete -o default -F _seekwarc seekwarc\n"
    )


@pytest.mark.needs("zsh")
def test_zsh_finds_its_script(share: Path) -> None:
    folder = share / "zsh" / "site-functions"
    begin = f'fpath=("{folder}" $fpath); autoload -Uz compinit; compinit -D -u'
    assert run("zsh", "-fc", f"{begin}; print $_comps[seekwarc]") == "_seekwarc\n"
    # The first call of an autoloaded function completes as well; what it finds is shown by `_describe`.
    called = "_describe() { print -l ${(P)2} }; words=(seekwarc v); CURRENT=2; _seekwarc"
    assert "verify:check files" in run("zsh", "-fc", f"{begin}; {called}")


@pytest.mark.needs("fish")
def test_fish_finds_its_script(share: Path, tmp_path: Path) -> None:
    # It completes what is a command.
    program = tmp_path / "seekwarc"
    program.touch(mode=0o755)
    path = f"{tmp_path}:/usr/bin:/bin"
    found = run("fish", "-c", 'complete -C "seekwarc ver"', PATH=path, XDG_DATA_DIRS=share, HOME=tmp_path)
    assert found.startswith("verify\t")
