"""Work on one of many files."""

from __future__ import annotations

import os

import pytest

from seekwarc.errors import TargetExistsError
from seekwarc.jobs.outcome import Job, Status
from seekwarc.jobs.work import JobContext, attempt


def test_errors_of_standard_output_are_not_the_file_s() -> None:
    def print_to_a_full_disk(job: Job, context: JobContext) -> tuple[Status, object]:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        attempt(Job("a"), print_to_a_full_disk, JobContext(print, lambda source, _: source))


@pytest.mark.parametrize("hidden", [False, True])
def test_an_output_is_committed_or_gone(tmp_path, hidden) -> None:
    folder = tmp_path / ".hidden"
    folder.mkdir()
    context = JobContext(print, lambda source, _: source, str(folder) if hidden else None)
    target = tmp_path / "a.warc.zst"
    with context.output(str(target), "error") as output:
        output.write(b"data")
        assert len(os.listdir(folder)) == hidden
        output.commit()
    assert target.read_bytes() == b"data"
    with pytest.raises(TargetExistsError), context.output(str(target), "error"):
        pass
    with pytest.raises(KeyError), context.output(str(target), "overwrite") as output:
        output.write(b"other")
        raise KeyError
    assert target.read_bytes() == b"data"
    assert sorted(os.listdir(tmp_path)) == [".hidden", "a.warc.zst"]
    assert os.listdir(folder) == []
