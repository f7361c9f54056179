"""The examples of README.md, run as a reader would run them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

README = Path(__file__).parents[1] / "README.md"
LEAST_EXAMPLES = 5
_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<code>.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)


class Example(NamedTuple):
    """One fenced block."""

    line: int
    """Line of its first line of code."""
    kind: str
    code: str

    def run(self, namespace: dict[str, object]) -> None:
        """Run it in the current folder."""
        if self.kind == "console":
            for command in commands_of(self.code):
                run_command(command)
        else:
            # Line numbers of the README, so that a traceback leads there.
            exec(compile("\n" * (self.line - 1) + self.code, str(README), "exec"), namespace)


def examples_of(text: str) -> Iterator[Example]:
    """Yield the blocks that are to be run, in order."""
    for fence in _FENCE.finditer(text):
        kind, *words = fence["info"].split() or [""]
        if kind in ("python", "console") and "no-test" not in words:
            yield Example(text.count("\n", 0, fence.start("code")) + 1, kind, fence["code"])


def commands_of(code: str) -> list[str]:
    """Return what is typed in a console: lines that begin with `$ `, and those behind a backslash."""
    commands: list[str] = []
    for line in code.splitlines():
        if line.startswith("$ "):
            commands.append(line[2:])
        elif commands and commands[-1].endswith("\\"):
            commands[-1] += "\n" + line.removeprefix("> ")
    return commands


def run_command(command: str) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", command],
        capture_output=True,
        check=False,
        env={**os.environ, "PATH": path},
    )
    assert done.returncode == 0, f"$ {command}\n{done.stdout.decode()}{done.stderr.decode()}"


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for example in examples_of(README.read_text()):
        try:
            example.run(namespace)
        except Exception as error:
            raise AssertionError(f"{README.name}, line {example.line}: {error}") from error


def test_there_are_examples() -> None:
    text = README.read_text()
    if len(text.splitlines()) > 10:
        assert len(list(examples_of(text))) >= LEAST_EXAMPLES


# That blocks are found, for a test that runs nothing passes too.

SAMPLE = """\
# Title

```python
x = 1
```

Text, and `code`.

```console no-test
$ false
```

```console
$ echo one \\
>   two
one two
$ true
```

```
$ not run
```

```python
assert x == 1
```
"""


def test_blocks_are_found_with_their_lines() -> None:
    python, console, more = examples_of(SAMPLE)
    assert python == Example(4, "python", "x = 1\n")
    assert (console.line, console.kind) == (14, "console")
    assert commands_of(console.code) == ["echo one \\\n  two", "true"]
    assert more.code == "assert x == 1\n"


def test_blocks_share_what_they_define() -> None:
    namespace: dict[str, object] = {}
    for example in examples_of(SAMPLE):
        example.run(namespace)
    assert namespace["x"] == 1


@pytest.mark.parametrize("command", ["false", "false | true", "seekwarc ls not-there"])
def test_a_command_that_fails_is_a_failure(command: str) -> None:
    with pytest.raises(AssertionError, match=re.escape(f"$ {command}")):
        run_command(command)


def test_the_command_is_on_the_path() -> None:
    run_command("seekwarc --version | grep -q seekwarc")
