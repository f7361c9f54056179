"""The examples of README.md and of the chapters, run as a reader would run them."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.extras import skip_if_missing
from tests.support.repository import FENCE
from tests.support.rounds import one_in
from tests.support.warm import run_here

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
RECIPES = ROOT / "spec-notes" / "recipes.md"
NOT_RUN = {"api", "recipes"}
"""Pages whose examples are run by other tests."""
CHAPTERS = sorted(page for page in (ROOT / "spec-notes").glob("*.md") if page.stem not in NOT_RUN)
FIRST_PAGE = ROOT / ".site" / "index.md"
"""That of the site, to which nothing else leads."""
ROOMS = sorted((ROOT / "seekwarc").glob("*/README.md"))
NOTES = [
    FIRST_PAGE,
    ROOT / ".site" / "README.md",
    *sorted((ROOT / "spec-notes").rglob("*.md")),
    ROOT / ".github" / "CONTRIBUTING.md",
]
SHELL = re.compile(r"[|<>&;$*?`~{}\[\]\\\n#]")
"""What a shell does something about, where it is not quoted."""
MAX_WORDS = 1000
MIN_EXAMPLES = 5


class Example(NamedTuple):
    """One fenced block."""

    line: int
    """Line of its first line of code."""
    kind: str
    code: str

    def run(self, namespace: dict[str, object], page: Path = README) -> None:
        """Run it in the current folder."""
        if self.kind == "console":
            for command in commands_of(self.code):
                run_command(command)
        else:
            # Line numbers of the page, so that a traceback leads there.
            exec(compile("\n" * (self.line - 1) + self.code, str(page), "exec"), namespace)


def examples_of(text: str) -> Iterator[Example]:
    """Yield the blocks that are to be run, in order."""
    for fence in FENCE.finditer(text):
        kind, *words = fence["info"].split() or [""]
        if kind in ("python", "console") and "no-test" not in words:
            yield Example(text.count("\n", 0, fence.start("code")) + 1, kind, fence["code"])


def commands_of(code: str) -> list[str]:
    """Return what is typed in a console: lines that begin with `$ `, and those that a backslash continues."""
    commands: list[str] = []
    for line in code.splitlines():
        if line.startswith("$ "):
            commands.append(line[2:])
        elif commands and commands[-1].endswith("\\"):
            commands[-1] += "\n" + line.removeprefix("> ")
    return commands


def run_command(command: str) -> None:
    """Run a command: one of ours that needs no shell within this process, which saves the start of Python."""
    words = [] if SHELL.search(command) else shlex.split(command)
    if words[:1] == ["seekwarc"]:
        ran = run_here(*words[1:])
        assert ran.returncode == 0, f"$ {command}\n{ran.stdout.decode()}{ran.stderr.decode()}"
        return
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", command],
        capture_output=True,
        check=False,
        env={**os.environ, "PATH": path},
    )
    assert done.returncode == 0, f"$ {command}\n{done.stdout.decode()}{done.stderr.decode()}"


def run_examples(page: Path, folder: Path, examples: Iterable[Example] | None = None) -> None:
    """Run the examples of a page in a folder, in order."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    with contextlib.chdir(folder):
        for example in examples_of(page.read_text()) if examples is None else examples:
            try:
                example.run(namespace, page)
            except Exception as error:
                skip_if_missing(error)
                raise AssertionError(f"{page}, line {example.line}: {error}") from error


@pytest.fixture(scope="module")
def first_steps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder in which the examples of README.md were run, with the files that they make."""
    folder = tmp_path_factory.mktemp("readme")
    run_examples(README, folder)
    return folder


def test_examples_of_readme_run(first_steps: Path) -> None:
    assert {"crawl.warc.zst", "crawl.cdxj"} <= {path.name for path in first_steps.iterdir()}


@pytest.mark.parametrize(
    "page",
    one_in(5, [page for page in [FIRST_PAGE, *CHAPTERS] if list(examples_of(page.read_text()))]),
    ids=lambda page: page.stem,
)
def test_examples_of_chapter_go_on_with_the_files_of_readme(
    page: Path, first_steps: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "copy"
    # Linked: examples replace files, if at all, and never change one.
    shutil.copytree(first_steps, folder, copy_function=os.link)
    run_examples(page, folder)


def recipes() -> dict[str, list[Example]]:
    """Return the blocks of each recipe, by its title."""
    text = RECIPES.read_text()
    titles = [
        (text.count("\n", 0, it.start()), it[1]) for it in re.finditer(r"^## (.+)$", text, re.MULTILINE)
    ]
    found: dict[str, list[Example]] = {title: [] for _, title in titles}
    for example in examples_of(text):
        found[[title for line, title in titles if line < example.line][-1]].append(example)
    return found


@pytest.fixture(scope="module")
def crawled(first_steps: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files of README.md, and those of the first recipe."""
    folder = tmp_path_factory.mktemp("recipes") / "copy"
    shutil.copytree(first_steps, folder, copy_function=os.link)
    run_examples(RECIPES, folder, next(iter(recipes().values())))
    return folder


@pytest.mark.one_in(3)
@pytest.mark.parametrize("title", list(recipes())[1:])
def test_a_recipe_runs(title: str, crawled: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(crawled, folder, copy_function=os.link)
    run_examples(RECIPES, folder, recipes()[title])


def test_each_recipe_has_a_block_and_a_line_in_the_contents() -> None:
    assert all(recipes().values())
    listed = re.findall(r"^- \[(.+)\]", RECIPES.read_text(), re.MULTILINE)
    assert listed == list(recipes())


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("python", "import not_there.at_all"),
        ("python", "raise OSError(\"needs: pip install 'seekwarc[remote]'\")"),
        ("console", "$ echo \"needs: pip install 'seekwarc[arrow]'\"; false"),
    ],
)
def test_what_needs_a_missing_extra_is_skipped(
    kind: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.support.extras.MAY_SKIP", True)
    with pytest.raises(pytest.skip.Exception, match="pip install"):
        run_examples(README, tmp_path, [Example(1, kind, code)])
    monkeypatch.setattr("tests.support.extras.MAY_SKIP", False)
    with pytest.raises(pytest.fail.Exception, match="pip install"):
        run_examples(README, tmp_path, [Example(1, kind, code)])


def test_there_are_examples() -> None:
    assert len(list(examples_of(README.read_text()))) >= MIN_EXAMPLES
    assert sum(len(list(examples_of(page.read_text()))) for page in CHAPTERS) > 2 * MIN_EXAMPLES


LINK = re.compile(r"\]\(([^)#:]*)(?:#([\w-]+))?\)")


def anchors_of(page: Path) -> set[str]:
    """Return the names that a page's titles have in links, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", [README, *ROOMS, *NOTES], ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in LINK.findall(page.read_text()):
        there = (page.parent / target).resolve() if target else page
        assert there.exists(), f"{page}: {target}"
        if anchor:
            assert anchor in anchors_of(there), f"{page}: {target}#{anchor}"


def test_links_lead_from_readme_to_every_chapter() -> None:
    reached: set[Path] = set()
    waiting = [README]
    while waiting:
        page = waiting.pop()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            waiting += [
                (page.parent / target).resolve() for target, _ in LINK.findall(page.read_text()) if target
            ]
    assert reached >= {*CHAPTERS}


def test_readme_is_short() -> None:
    assert len(README.read_text().split()) <= MAX_WORDS


@pytest.mark.parametrize("page", ROOMS, ids=lambda page: page.parent.name)
def test_a_room_page_is_for_contributors_alone(page: Path) -> None:
    text = page.read_text()
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Working on it"]
    assert list(examples_of(text)) == []


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
