"""No verb replaces a file that is there unless it is told to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import decompressed
from tests.support.durability import APPEND
from tests.support.foreign import Foreign
from tests.support.jobs import BEFORE, JOBS, contents, make_sources
from tests.support.processes import PATIENT

REPLACING = [name for name, job in JOBS.items() if job.replaces and name != APPEND]


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("sources")
    make_sources(folder)
    return folder


def words_without_force(name: str, sources: Path) -> list[str]:
    return [word for word in JOBS[name].arguments(sources) if word != "--force"]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", REPLACING)
def test_a_file_that_is_there_is_refused_without_force(command, run_cli, sources, tmp_path, name) -> None:
    folder = tmp_path / "work"
    words = JOBS[name].begin(folder, sources)
    for made in JOBS[name].made:
        stderr = command(*words_without_force(name, sources), cwd=folder, status=2).stderr
        assert f"{made}: exists already" in stderr
        assert "--force" in stderr
        assert stderr.count("\n") == 1
        assert (folder / made).read_bytes() == BEFORE
        (folder / made).unlink()
    assert [path for path in folder.rglob("*") if path.is_file()] == []
    for made in JOBS[name].made:
        (folder / made).write_bytes(BEFORE)
    assert run_cli(*words, cwd=folder).returncode == JOBS[name].status
    for made in JOBS[name].made:
        assert contents(folder / made)


def test_the_loop_that_archivists_type_loses_no_file(tmp_path) -> None:
    files = {"a.warc": b"one", "a.warc.gz": b"two", "b.warc.gz": b"three"}
    for name, block in files.items():
        made = Foreign().record(block)
        (tmp_path / name).write_bytes((made.gzip() if name.endswith("gz") else made.plain()).bytes())
    loop = (
        f'for f in *.warc *.warc.gz; do "{sys.executable}" -m seekwarc convert $f ${{f%%.*}}.warc.zst; done'
    )
    done = subprocess.run(["bash", "-c", loop], capture_output=True, check=False, cwd=tmp_path)
    assert done.stderr.startswith(b"seekwarc: a.warc.zst: exists already")
    assert sorted(os.listdir(tmp_path)) == ["a.warc", "a.warc.gz", "a.warc.zst", "b.warc.gz", "b.warc.zst"]
    assert decompressed(tmp_path / "a.warc.zst") == (tmp_path / "a.warc").read_bytes()


def test_a_file_that_appears_meanwhile_is_kept(start, tmp_path) -> None:
    source, target = tmp_path / "a.warc", tmp_path / "a.warc.zst"
    os.mkfifo(source)
    process = start("convert", source, target, cwd=tmp_path)
    with source.open("wb") as pipe:
        pipe.write(Foreign().record(b"x").plain().bytes())
        target.write_bytes(b"theirs")
    stderr = process.communicate(timeout=PATIENT)[1].decode()
    assert process.returncode == 2
    assert stderr.startswith(f"seekwarc: {target}: ")
    assert target.read_bytes() == b"theirs"
    assert sorted(os.listdir(tmp_path)) == ["a.warc", "a.warc.zst"]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1"])
@pytest.mark.parametrize("redirect", [">", ">>"])
def test_standard_output_into_a_file_is_no_file_to_replace(crawl, tmp_path, name, redirect) -> None:
    target = tmp_path / "all.warc.zst"
    target.write_bytes(BEFORE if redirect == ">>" else b"")
    words = f'"{sys.executable}" -m seekwarc convert {crawl.path("warc.gz")} {name} {redirect} {target}'
    done = subprocess.run(["bash", "-c", words], capture_output=True, check=True)
    assert b"the new file holds the same" in done.stderr
    written = target.read_bytes()
    assert written.startswith(BEFORE * (redirect == ">>"))
    target.write_bytes(written.removeprefix(BEFORE))
    assert decompressed(target) == crawl.content


@pytest.mark.parametrize("target", ["/dev/null", "fifo"])
def test_devices_and_pipes_are_written_to_without_force(command, crawl, tmp_path, target) -> None:
    if target == "fifo":
        os.mkfifo(tmp_path / "fifo")
        reader = subprocess.Popen(["cat", tmp_path / "fifo"], stdout=subprocess.DEVNULL)
    out = command("convert", crawl.zst, target, "--to", "gz", cwd=tmp_path).out
    assert "the new file holds the same" in out
    if target == "fifo":
        assert reader.wait(PATIENT) == 0


def test_an_empty_name_is_refused(command, crawl, tmp_path) -> None:
    stderr = command("convert", crawl.zst, "", "--to", "gz", status=2, cwd=tmp_path).stderr
    assert "name the new file too" in stderr
