"""New files in a folder keep the tree of their sources, are all in it, and no two of them are one."""

from __future__ import annotations

import os
import random
import zipfile
from pathlib import Path

import pytest

from seekwarc.cli.batch import renamed
from seekwarc.errors import TargetError
from seekwarc.jobs.batch import jobs_into
from seekwarc.storage.expand import expand
from tests.support.rounds import rounds

PARTS = ("a", "b", "2025", "a.warc.zst", "..x", " ", "ü", "k", "archive", "new", "%2e%2e", "[a]", "*")
NAMES = (
    "a.warc",
    "a.warc.gz",
    "A.WARC.GZ",
    "b.arc",
    "a.megawarc.gz",
    "..warc",
    "ü.warc",
    "%2f.warc.gz",
    "[a].warc",
)
MEMBERS = ("archive/a.warc.gz", "archive/b.warc", "archive/a/a.warc.gz", "pages/pages.jsonl")


def plant(chance: random.Random, root: Path) -> None:
    """Make files, WACZ files, folders and links to folders, inside and outside."""
    for _ in range(chance.randrange(1, 9)):
        parent = root.joinpath(*(chance.choice(PARTS) for _ in range(chance.randrange(4))))
        kind = chance.random()
        try:
            parent.mkdir(parents=True, exist_ok=True)
            if kind < 0.15:
                (parent / "link").symlink_to(chance.choice([root, root.parent]))
            elif kind < 0.25:
                (parent / "link.warc.gz").symlink_to(root.parent / "elsewhere.warc.gz")
            elif kind < 0.45:
                with zipfile.ZipFile(parent / chance.choice(["k.wacz", "a.wacz"]), "w") as file:
                    for member in chance.sample(MEMBERS, chance.randrange(1, 5)):
                        file.writestr(member, b"x")
            else:
                (parent / chance.choice(NAMES)).write_bytes(b"x")
        except OSError:
            continue  # A file has the name already.
    (root / "last.warc").write_bytes(b"x")


def below(source: str, root: Path) -> str:
    """Return what a target below the folder is expected to be named after, without its last name."""
    path = os.path.relpath(source, root).replace(".wacz!/archive/", "/")
    return os.path.dirname(path)


def check(seed: int, folder: Path) -> None:
    chance = random.Random(seed)
    root, new = folder / "crawls", folder / "out"
    plant(chance, root)
    (folder / "elsewhere.warc.gz").touch()
    if chance.random() < 0.3:
        new = root / "new"
        (new / "deep").mkdir(parents=True, exist_ok=True)
        (new / "deep" / "made.warc.zst").touch()
    if chance.random() < 0.3:
        new.mkdir(exist_ok=True)
        if not (new / "a").exists():
            (new / "a").symlink_to(folder)
    named = [str(it) for it in [root, *root.iterdir()] if it.is_dir() and not it.is_symlink() and it != new]
    one = [str(root), str(root) + "/", str(root / "*"), str(root / "*" / "*")]
    given = chance.choice([*([it] for it in one), chance.sample(named, min(2, len(named)))])
    flat = chance.random() < 0.3
    try:
        sources = list(expand(given, leave_out=str(new)))
    except OSError:
        return  # One of the folders has no archives.
    try:
        jobs = jobs_into(str(new), given, lambda name: renamed(name, ".zst"), flat=flat)
    except TargetError as error:
        refusal = str(error)
    else:
        refusal = ""
    if refusal:
        assert any(it in refusal for it in ("would both become", "the folder for", "is outside of")), refusal
        assert "both become" not in refusal or refusal.count(str(root)) >= 2, "both are named"
        return
    assert [job.source for job in jobs] == sources
    inside = os.path.realpath(new) + os.sep
    assert all(os.path.realpath(job.target or "").startswith(inside) for job in jobs)
    assert len({job.target for job in jobs}) == len(jobs)
    if flat and jobs:
        assert {os.path.dirname(job.target or "") for job in jobs} == {str(new)}
    elif len(given) == 1:
        for job in jobs:
            found = os.path.dirname(os.path.relpath(job.target or "", new))
            assert found == below(job.source, Path(given[0]) if os.path.isdir(given[0]) else root), (
                given,
                job,
            )
    assert not [it for it in sources if new != root and os.path.realpath(it).startswith(inside)]
    for job in jobs:
        # In a new folder, no target is in the way of another.
        path = folder / "empty" / os.path.relpath(job.target or "", new)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(exist_ok=False)


def check_many(seeds: range, folder: Path) -> None:
    for seed in seeds:
        check(seed, folder / str(seed))


def test_trees_are_kept(tmp_path: Path) -> None:
    check_many(range(25), tmp_path)


@pytest.mark.slow
def test_thousands_of_trees_are_kept(tmp_path: Path) -> None:
    check_many(range(25, 25 + rounds(1000)), tmp_path)
