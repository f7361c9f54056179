"""Scripts that complete words in a shell: run by the shells where they are installed."""

from __future__ import annotations

import subprocess

import pytest

from seekwarc.cli.verbs import VERBS


def completed(script: str, *words: str) -> list[str]:
    """Return what bash would offer for the last of the words."""
    line = " ".join(f"'{word}'" for word in words)
    ask = f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _seekwarc; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "-c", f"{script}\n{ask}"], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_bash_completes_verbs_and_options(command) -> None:
    script = command("completion", "bash").out
    assert set(completed(script, "seekwarc", "")) == {*VERBS, "help"}
    assert completed(script, "seekwarc", "ver") == ["verify"]
    assert completed(script, "seekwarc", "cat", "--ra") == ["--range"]
    assert "--output" in completed(script, "seekwarc", "dictionary", "--")
    assert completed(script, "seekwarc", "cat", "crawl") == []


@pytest.mark.parametrize(
    "shell",
    [
        "bash",
        pytest.param("zsh", marks=pytest.mark.needs("zsh")),
        pytest.param("fish", marks=pytest.mark.needs("fish")),
    ],
)
def test_each_shell_takes_its_script(command, shell, tmp_path) -> None:
    path = tmp_path / "script"
    path.write_text(command("completion", shell).out)
    done = subprocess.run([shell, "-n", path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(verb in path.read_text() for verb in VERBS)


def test_another_shell_is_refused(command) -> None:
    assert "invalid choice: 'tcsh'" in command("completion", "tcsh", status=2).stderr
