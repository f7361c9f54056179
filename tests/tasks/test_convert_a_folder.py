"""Convert a folder of archives, one of them damaged, with a report, and do it again for what is missing."""

from __future__ import annotations

import gzip
import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest

import seekwarc
from tests.tasks.conftest import write_crawl


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What an archivist has: .warc.gz and .warc files in folders, one of them damaged."""
    folder = tmp_path / "old"
    for number, name in enumerate(("2025/a.warc.gz", "2025/b.warc.gz", "2026/c.warc", "2026/d.warc.gz")):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        made = write_crawl(tmp_path / "made.warc.zst", pages=3, site=f"{number}.org")
        content = subprocess.run(["zstd", "-dc", made], capture_output=True, check=True).stdout
        made.unlink()
        with seekwarc.open(content) as archive:
            ends = [record.offset for record in archive] + [len(content)]
        members = [content[begin:end] for begin, end in itertools.pairwise(ends)]
        data = b"".join(map(gzip.compress, members)) if path.suffix == ".gz" else content
        path.write_bytes(data[:-3000] if name.endswith("d.warc.gz") else data)
    return folder


def convert(folder: Path, target: Path) -> tuple[int, dict[str, dict]]:
    words = ["convert", folder, "--to-dir", target, "--jobs", "2", "--keep-going", "--json"]
    done = subprocess.run([sys.executable, "-m", "seekwarc", *words], capture_output=True, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return done.returncode, {Path(line["file"]).name: line for line in lines if "file" in line}


@pytest.mark.slow
@pytest.mark.needs("zstd")
def test_a_folder_is_converted_with_a_report(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "seekable"
    status, report = convert(folder, target)
    assert status == 1, "one of them is damaged"
    assert set(report) == {"a.warc.gz", "b.warc.gz", "c.warc", "d.warc.gz"}
    damaged = report.pop("d.warc.gz")
    assert (damaged["status"], damaged["error"]["kind"]) == ("failed", "truncated")
    for line in report.values():
        assert (line["status"], line["records"], line["error"]) == ("done", 7, None)
        with seekwarc.open(line["target"]) as new, seekwarc.open(line["file"]) as old:
            assert [it.block.read() for it in new] == [it.block.read() for it in old]

    made = {path: path.stat() for path in target.rglob("*") if path.is_file()}
    assert len(made) == 3
    status, report = convert(folder, target)
    assert status == 1
    assert {name: line["status"] for name, line in report.items()} == {
        "a.warc.gz": "skipped",
        "b.warc.gz": "skipped",
        "c.warc": "skipped",
        "d.warc.gz": "failed",
    }
    assert {path: path.stat() for path in target.rglob("*") if path.is_file()} == made


@pytest.mark.needs("zstd")
def test_colliding_names_are_refused_before_anything_is_read(folder: Path, tmp_path: Path) -> None:
    (folder / "2025" / "c.warc.gz").write_bytes((folder / "2025" / "a.warc.gz").read_bytes())
    target = tmp_path / "seekable"
    words = ["convert", folder, "--to-dir", target, "--flat"]
    done = subprocess.run([sys.executable, "-m", "seekwarc", *words], capture_output=True, check=False)
    assert done.returncode == 2
    assert b"c.warc.zst" in done.stderr
    assert not target.exists() or not list(target.iterdir())
