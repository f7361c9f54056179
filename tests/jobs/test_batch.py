"""Work on many files: finding them, planning, and reporting each outcome."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from seekwarc.errors import FormatError, SourceError, TargetError
from seekwarc.jobs.batch import jobs_into, run
from seekwarc.jobs.outcome import Job, Status
from seekwarc.jobs.work import JobContext
from tests.support.outcomes import Heard

FILES = ["a.warc.gz", "b/c.warc", "b/d.WARC.ZST", "b/e.megawarc.gz", "b/deep/er/f.warc.zstd"]
OTHERS = ["a.txt", ".hidden.warc.gz", "b/._c.warc", "b/g.warc.gz.part", "b/h.cdxj", "b/warc"]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [*FILES, *OTHERS]:
        path = tmp_path / "crawls" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    monkeypatch.chdir(tmp_path)
    return tmp_path


# What is made of them.


def zst(name: str) -> str:
    return name.rpartition(".")[0] + ".zst"


def test_each_file_gets_a_target_in_the_folder(tree) -> None:
    jobs = jobs_into("new", ["crawls/a.warc.gz", "https://example.org/x.warc.gz"], zst)
    assert [job.target for job in jobs] == ["new/a.warc.zst", "new/x.warc.zst"]


def test_names_that_collide_are_refused_and_listed(tree) -> None:
    (tree / "crawls/b/a.warc.bz2").touch()
    with pytest.raises(
        TargetError, match=r"crawls/a.warc.gz and crawls/b/a.warc.bz2 would both become new/a"
    ):
        jobs_into("new", ["crawls/a.warc.gz", "crawls/b/a.warc.bz2"], zst)
    for number in range(5):
        for folder in "pq":
            (tree / folder).mkdir(exist_ok=True)
            (tree / folder / f"{number}.warc.gz").touch()
    with pytest.raises(TargetError, match=r"2\.warc\.zst; and 2 more\. .*nothing was written"):
        jobs_into("new", ["p", "q"], zst)


def test_the_tree_below_a_named_folder_or_pattern_is_kept(tree) -> None:
    def targets(*given: str, **options: bool) -> list[str | None]:
        return [job.target for job in jobs_into("new", given, zst, **options)]

    deep = ["new/a.warc.zst", "new/b/c.zst", "new/b/d.WARC.zst", "new/b/e.megawarc.zst"]
    assert targets("crawls") == targets("crawls/") == [*deep, "new/b/deep/er/f.warc.zst"]
    assert targets("crawls", flat=True)[-1] == "new/f.warc.zst"
    assert targets("crawls/b") == [*(it.replace("/b", "") for it in deep[1:]), "new/deep/er/f.warc.zst"]
    assert targets("crawls/*/[cd]*") == ["new/b/c.zst", "new/b/d.WARC.zst", "new/b/deep/er/f.warc.zst"]
    assert targets("crawls/*/../a.w*") == targets("crawls/b/../a.w*") == ["new/a.warc.zst"]
    assert targets("crawls/b/c.warc", "crawls/**/er/*") == ["new/c.zst", "new/b/deep/er/f.warc.zst"]
    assert targets("crawls/*/../../crawls/a.w*") == ["new/a.warc.zst"], "never out of the folder"


def test_a_pattern_finds_no_files_made_by_an_earlier_run(tree) -> None:
    (tree / "crawls/new/b").mkdir(parents=True)
    (tree / "crawls/new/b/c.zst").touch()
    (tree / "crawls/new/x.warc.zst").touch()
    for pattern in ("crawls/*", "crawls/**/*"):
        sources = [job.source for job in jobs_into("crawls/new", [pattern], zst)]
        assert not [it for it in sources if "new" in it]
    (job,) = jobs_into("crawls", ["crawls/a.w*"], zst)
    assert job.target == "crawls/a.warc.zst", "the folder of the sources may be that of the new files"


def test_a_target_is_never_the_folder_of_another(tree) -> None:
    (tree / "crawls/b.warc.zst").mkdir()
    (tree / "crawls/b.warc.zst/x.warc.gz").touch()
    (tree / "crawls/b.warc.gz").touch()
    with pytest.raises(
        TargetError, match=r"b\.warc\.gz would become new/b.warc.zst, the folder for .*x.warc.gz"
    ):
        jobs_into("new", ["crawls"], zst)


def test_links_in_the_folder_for_new_files_lead_to_no_target_outside(tree) -> None:
    (tree / "new").mkdir()
    (tree / "other").mkdir()
    (tree / "new/b").symlink_to(tree / "other")
    with pytest.raises(
        TargetError, match=r"new/b/c.zst: is outside of new, where a symbolic link leads: .*other/c"
    ):
        jobs_into("new", ["crawls"], zst)
    (tree / "new/b").unlink()
    (tree / "new/a.warc.zst").symlink_to(tree / "other/a.warc.zst")
    with pytest.raises(TargetError, match=r"new/a\.warc\.zst: is outside of new"):
        jobs_into("new", ["crawls"], zst)
    (tree / "link").symlink_to(tree / "new")
    (tree / "new/a.warc.zst").unlink()
    assert len(jobs_into("link", ["crawls"], zst)) == len(FILES), "the folder itself may be a link"


def test_files_made_by_an_earlier_run_are_no_sources(tree) -> None:
    (tree / "crawls/a.warc.zst").touch()
    jobs = jobs_into("crawls", ["crawls"], lambda name: "a.warc.zst" if name.startswith("a.") else zst(name))
    assert "crawls/a.warc.zst" not in [job.source for job in jobs]
    with pytest.raises(TargetError, match="same file"):
        jobs_into("crawls", ["crawls/a.warc.zst"], lambda name: name)


def test_a_target_is_never_one_of_the_sources(tree) -> None:
    with pytest.raises(TargetError, match=r"crawls/b/c.warc: is the output for crawls/a.warc.gz"):
        jobs_into(
            "crawls/b", ["crawls/a.warc.gz", "crawls/b/c.warc"], {"a.warc.gz": "c.warc", "c.warc": "x"}.get
        )


@pytest.mark.parametrize("name", ["-", "https://example.org/", "https://example.org/%2e%2e%2fup.warc.gz"])
def test_a_source_without_a_file_name_is_refused(tree, name) -> None:
    with pytest.raises(TargetError, match="name"):
        jobs_into("new", [name], lambda base: base)


# What becomes of them.


def work(job: Job, context: JobContext) -> tuple[Status, object]:
    """Do what the source's name says."""
    context.emit(f"at {job.source}")
    if job.source == "damaged":
        raise FormatError("damaged", source=job.source, offset=3)
    if job.source == "missing":
        raise SourceError("missing: No such file")
    if job.source == "memory":
        raise MemoryError
    if job.source == "problems":
        return Status.PROBLEMS, 1
    return Status.DONE, os.getpid()


def test_each_outcome_is_reported_and_the_worst_status_returned() -> None:
    heard = Heard()
    jobs = [Job(name) for name in ("one", "problems", "two")]
    assert run(jobs, work, heard) == 1
    assert heard.statuses == {"one": "done", "problems": "problems", "two": "done"}
    assert heard.events == [(name, f"at {name}") for name in ("one", "problems", "two")]
    assert heard.outcomes["one"].result == os.getpid(), "in this process"


@pytest.mark.parametrize(("bad", "status"), [("damaged", 1), ("missing", 2), ("memory", 2)])
def test_a_failure_stops_the_others_without_keep_going(bad, status) -> None:
    jobs = [Job(name) for name in ("one", bad, "two", "three")]
    heard = Heard()
    assert run(jobs, work, heard) == status
    assert heard.statuses == {"one": "done", bad: "failed", "two": "not-run", "three": "not-run"}
    heard = Heard()
    assert run(jobs, work, heard, keep_going=True) == status
    assert heard.statuses == {"one": "done", bad: "failed", "two": "done", "three": "done"}
    assert heard.outcomes[bad].failure.kind in ("format", "io", "memory")
