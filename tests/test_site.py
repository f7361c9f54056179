"""The site is built from the pages: every link leads somewhere, and nothing comes from another host."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("module:sphinx"),
    pytest.mark.needs("module:myst_parser"),
    pytest.mark.needs("module:furo"),
]

LOADED = re.compile(r"<(?:script|img|link|iframe|source)\b[^>]*?\b(?:src|href)=\"((?:https?:)?//[^\"]+)")
FOLDERS = (
    ".github",
    ".packaging",
    ".site",
    "seekwarc",
    "spec-notes",
    "tests/interop/adapters",
    "tests/benchmarks",
)


def build(root: Path, target: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / ".site" / "build.py"), str(target)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the site, which was built without a warning."""
    folder = tmp_path_factory.mktemp("site") / "html"
    done = build(ROOT, folder)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def test_each_page_of_the_notes_has_an_address(site: Path) -> None:
    for page in (ROOT / "spec-notes").rglob("*.md"):
        name = page.relative_to(ROOT / "spec-notes").with_suffix(".html")
        assert (site / ("searching.html" if name.name == "search.html" else name)).is_file(), page
    assert "Seekable Records" in (site / "warc-zstd-seekable" / "index.html").read_text()


def test_instructions_over_time_have_a_page(site: Path) -> None:
    kept = json.loads((ROOT / "tests" / "benchmarks" / "instructions.json").read_text())
    page = (site / "figures.html").read_text()
    assert all(name in page and entry["key"] in page for entry in kept for name in entry["counts"])


def test_nothing_is_loaded_from_another_host(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert LOADED.findall(page.read_text()) == [], page
    for style in site.rglob("*.css"):
        assert not re.search(r"@import|url\(\s*['\"]?(?:https?:)?//", style.read_text()), style


def test_the_search_knows_the_names_of_the_library_and_of_the_command(site: Path) -> None:
    text = (site / "searchindex.js").read_text()
    index = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    api = index["docnames"].index("api")
    assert any(page == api for page, *_ in index["indexentries"]["pread"])
    assert any(page == api for page, _ in index["alltitles"]["Duplicates()"])
    assert {"megawarc", "revisit", "sidecar"} <= index["terms"].keys()


def test_a_link_that_leads_nowhere_fails(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    for name in FOLDERS:
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "README.md", copy)
    page = copy / "spec-notes" / "text.md"
    page.write_text(page.read_text() + "\n[one](nowhere.md), [two](mining.md#no-such-title)\n")
    done = build(copy, tmp_path / "html")
    assert done.returncode == 1
    assert "nowhere.md" in done.stderr
    assert "no-such-title" in done.stderr
