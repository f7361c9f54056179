"""Builds the site: gathers the pages of the repository in a folder, and has Sphinx make HTML of them.

    python .site/build.py FOLDER

Every warning is an error: a link or an anchor that leads nowhere, or a page that the table of contents lacks.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
LINK = re.compile(r"(!?\[[^\[\]]*\])\(([^)#:\s]+)(#[\w-]+)?\)")
FENCED = re.compile(r"^(```.*?^```[ \t]*$)", re.MULTILINE | re.DOTALL)


def pages() -> Iterator[tuple[Path, str]]:
    """Yield each page of the repository, and its name on the site."""
    yield HERE / "index.md", "index.md"
    yield ROOT / "README.md", "readme.md"
    for page in sorted((ROOT / "spec-notes").rglob("*.md")):
        yield page, page.relative_to(ROOT / "spec-notes").as_posix()
    for page in sorted((ROOT / ".github").glob("*.md")):
        yield page, f"development/{page.stem.lower()}.md"
    yield ROOT / "seekwarc" / "README.md", "development/house.md"
    for page in sorted((ROOT / "seekwarc").glob("*/README.md")):
        yield page, f"development/{page.parent.name}.md"


def gather(folder: Path) -> None:
    """Copy the pages, and the files that they name, to where the site has them."""
    names = dict(pages())

    def lead(link: re.Match[str], page: Path) -> str:
        """Return a link of a page as it is on the site. Folders have no page there: their text stays."""
        text, target, anchor = link.groups(default="")
        there = (page.parent / target).resolve()
        if there.is_dir():
            return text[1:-1]
        if there not in names:
            names[there] = f"files/{there.name}"
            copied = folder / names[there]
            copied.parent.mkdir(exist_ok=True)
            shutil.copyfile(there, copied)
        return f"{text}({'../' * names[page].count('/')}{names[there]}{anchor})"

    for page, name in list(names.items()):
        parts = FENCED.split(page.read_text("utf-8"))
        parts[::2] = [LINK.sub(lambda link, page=page: lead(link, page), part) for part in parts[::2]]
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("".join(parts), "utf-8")


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: python .site/build.py FOLDER", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        gathered = Path(folder, "pages")
        gather(gathered)
        command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-j", "auto", "-c", str(HERE)]
        command += ["-d", str(Path(folder, "read")), str(gathered), sys.argv[1]]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
