"""What the names of files on the command line stand for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from seekwarc.cli.targets import absolute, input_target
from seekwarc.errors import SourceError


def test_names_for_workers_elsewhere_do_not_depend_on_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = ["a.warc.zst", "https://example.org/a.warc.zst", "s3://bucket/a.warc.zst", "-"]
    assert [absolute(name) for name in names] == [str(tmp_path / "a.warc.zst"), *names[1:]]


def test_standard_input_that_is_closed_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert input_target("crawl.warc.zst") == "crawl.warc.zst"
    with pytest.raises(SourceError, match="standard input is closed"):
        input_target("-")
