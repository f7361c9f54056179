"""Builds the site: gathers the pages of the repository in a folder, and has Sphinx make HTML of them.

    python .site/build.py FOLDER

Every warning is an error: a link or an anchor that leads nowhere, or a page that the table of contents lacks.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import figures
from sphinx.cmd.build import build_main

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
LINK = re.compile(r"(!?\[[^\[\]]*\])\(([^)#:\s]+)(#[\w-]+)?\)")
FENCED = re.compile(r"^(```.*?^```[ \t]*$)", re.MULTILINE | re.DOTALL)


def pages() -> Iterator[tuple[Path, str]]:
    """Yield each page of the repository, and its name on the site."""
    yield HERE / "index.md", "index.md"
    yield ROOT / "README.md", "readme.md"
    for page in sorted((ROOT / "spec-notes").rglob("*.md")):
        name = page.relative_to(ROOT / "spec-notes").as_posix()
        # search.html is Sphinx's own.
        yield page, "searching.md" if name == "search.md" else name
    for page in sorted((ROOT / ".github").glob("*.md")):
        yield page, f"development/{page.stem.lower()}.md"
    yield ROOT / "seekwarc" / "README.md", "development/house.md"
    for page in sorted((ROOT / "seekwarc").glob("*/README.md")):
        yield page, f"development/{page.parent.name}.md"
    yield ROOT / ".packaging" / "README.md", "development/packages.md"
    yield HERE / "README.md", "development/site.md"
    yield ROOT / "tests" / "interop" / "adapters" / "README.md", "development/adapters.md"


def titled(text: str) -> str:
    """Return a page below one title: that of the fields at its head, if it has some."""
    found = re.match(r"---\ntitle: (.+)\n(?:.+\n)*?---\n", text)
    if not found:
        return text
    parts = FENCED.split(text[found.end() :])
    parts[::2] = [re.sub(r"^#", "##", part, flags=re.MULTILINE) for part in parts[::2]]
    return f"# {found[1]}\n{''.join(parts)}"


def indexed(text: str) -> str:
    """Return the API page with entries of an index, by which the search finds members of classes."""
    head, *parts = re.split(r"^(?=### )", text, flags=re.MULTILINE)
    for number, part in enumerate(parts):
        # They are listed after the example.
        _, has_example, listed = part.rpartition("```\n")
        members = re.findall(r"^- `(?:[^`(]* )?(\w+)[(`]", listed, re.MULTILINE)
        if has_example and members:
            parts[number] = f"```{{index}} {', '.join(members)}\n```\n\n{part}"
    return head + "".join(parts)


def gather(folder: Path) -> None:
    """Copy the pages, and the files that they name, to where the site has them."""
    names = dict(pages())
    (folder / "files").mkdir(parents=True)

    def lead(link: re.Match[str], page: Path) -> str:
        """Return a link of a page as it is on the site. Folders have no page there: their text stays."""
        text, target, anchor = link.groups(default="")
        there = (page.parent / target).resolve()
        if there.is_dir():
            return text[1:-1]
        if not there.is_file():
            # Sphinx says which link it is, and where.
            return link[0]
        if there not in names:
            names[there] = f"files/{there.name}"
            shutil.copyfile(there, folder / names[there])
        return f"{text}({'../' * names[page].count('/')}{names[there]}{anchor})"

    for page, name in list(names.items()):
        text = page.read_text("utf-8")
        parts = FENCED.split(indexed(text) if name == "api.md" else titled(text))
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
        figures.make(gathered)
        strict = ["-q", "-W", "--keep-going", "-j", "auto"]
        places = ["-c", str(HERE), "-d", str(Path(folder, "read")), str(gathered), sys.argv[1]]
        return build_main([*strict, *places])


if __name__ == "__main__":
    sys.exit(main())
