"""An index in which a file was made again: its lines are new, those of others are as they were."""

from __future__ import annotations

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.edit.reindexing import Remade, new_index
from seekwarc.errors import SourceError
from seekwarc.read.options import ReadOptions
from tests.support.captures import related


def test_lines_name_the_new_file_in_the_folder_of_the_old_one(tmp_path) -> None:
    for name in ("old.warc.zst", "made.part"):
        (tmp_path / name).write_bytes(related())
    index = tmp_path / "all.cdxj"
    tools.index([tmp_path / "old.warc.zst"], index)
    text = index.read_text().replace('"old.warc.zst"', '"sub/old.warc.zst"')
    index.write_text(text)
    made = str(tmp_path / "made.part")
    remade = {"/y/old.warc.zst": Remade(made, "/x/new.warc.zst")}
    output, _ = new_index(str(index), remade, ReadOptions(), {})
    assert index.read_text() == text
    output.commit()
    with seekwarc.Index(index) as lines:
        assert {line.fields["filename"] for line in lines} == {"sub/new.warc.zst"}


def test_an_index_that_is_missing_is_named(tmp_path) -> None:
    with pytest.raises(SourceError, match="none"):
        new_index(str(tmp_path / "none"), {}, ReadOptions(), {})
