"""Spools of a verb's files: the same, whether a worker sees the folder or sends what it makes."""

from pathlib import Path

import pytest

from seekwarc.cli.spools import Spools
from seekwarc.jobs.outcome import Job
from seekwarc.write.opening import open_output
from seekwarc.write.output import Output

LINES = b"a line\n" * 1000


def lines_into(target: str | Output) -> int:
    output = open_output(target)
    output.write(LINES)
    output.commit()
    return len(LINES)


@pytest.mark.parametrize("are_sent", [False, True])
def test_a_spool_is_in_the_folder_wherever_it_was_made(tmp_path: Path, are_sent) -> None:
    spools = Spools(str(tmp_path), are_sent)
    jobs = [Job("a.warc.zst"), Job("missing.warc.zst"), Job("b.warc.zst")]
    for job in (jobs[2], jobs[0]):
        made = spools.made(job, lines_into)
        assert made.done == len(LINES)
        assert spools.paths([job]) == ([] if are_sent else [spools.path(job)])
        spools.keep(job, made)
    assert spools.paths(jobs) == [spools.path(jobs[0]), spools.path(jobs[2])]
    assert [Path(path).read_bytes() for path in spools.paths(jobs)] == [LINES, LINES]


def test_files_of_one_name_in_two_folders_have_two_spools(tmp_path: Path) -> None:
    spools = Spools(str(tmp_path))
    assert spools.path(Job("a/crawl.warc.gz")) != spools.path(Job("b/crawl.warc.gz"))
