"""Progress: how far a source has been read."""

from __future__ import annotations

from seekwarc.jobs.progress import counting
from seekwarc.storage.local import BytesSource


def test_progress_counts_what_was_read_of_the_source_once() -> None:
    read = []
    wrapped = counting("a", read.append)
    other = BytesSource(b"x" * 10, "b")
    assert wrapped(other, "checking") is other
    source = wrapped(BytesSource(b"x" * 10, "a"), "converting")
    for start, stop in ((0, 4), (2, 3), (0, 4), (3, 30)):
        source.read(start, stop)
    assert sum(read) == 10
