"""Several WACZ files as one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.errors import FormatError
from tests.support.waczs import FILM, FILM_BYTES, members, wacz, warc


def test_files_are_copied_and_lists_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.wacz").write_bytes(wacz(members()))
    Path("b.wacz").write_bytes(wacz(members({"a.warc.gz": warc("a.warc.gz"), "b/c.warc": warc("c.warc")})))
    done = tools.merge_wacz(["a.wacz", "b.wacz"], "both.wacz", title="Both")
    assert (done.files, done.lines, done.pages) == (3, 9, 2)
    report = tools.validate_wacz("both.wacz")
    assert report.is_valid
    assert not report.findings
    with seekwarc.Wacz("both.wacz") as archive:
        names = {Path(it.name).name for it in archive.files}
        assert names == {"a.warc.gz", "a-2.warc.gz", "b_c.warc"}
        found = archive.index.by_uri(FILM)
        assert {it.filename for it in found} == names
        assert all(archive.record(it).payload.read() == FILM_BYTES for it in found)


def test_what_cannot_be_merged_is_refused(tmp_path: Path) -> None:
    found = members(cluster=False)
    found["indexes/index.cdxj"] = found["indexes/index.cdxj"].replace(b"a.warc.gz", b"other.gz")
    path = tmp_path / "a.wacz"
    path.write_bytes(wacz(found))
    with pytest.raises(FormatError, match=r"names other\.gz, which is not in archive/"):
        tools.merge_wacz([path], tmp_path / "new.wacz")
    with pytest.raises(ValueError, match="no files to merge"):
        tools.merge_wacz([], tmp_path / "new.wacz")
    assert [it.name for it in tmp_path.iterdir()] == ["a.wacz"]


def test_the_keys_of_browsers_become_those_of_the_others(tmp_path: Path) -> None:
    found = members(cluster=False)
    found["indexes/index.cdxj"] = found["indexes/index.cdxj"].replace(
        b"org,example)/film", b"org,example)//film"
    )
    (tmp_path / "a.wacz").write_bytes(wacz(found))
    tools.merge_wacz([tmp_path / "a.wacz"], tmp_path / "new.wacz")
    assert {line.key for line in seekwarc.Index(tmp_path / "new.wacz").lookup(FILM)} == {
        "org,example)/film.mp4"
    }


def test_a_merge_that_fails_prints_nothing(tmp_path: Path) -> None:
    code = """
from seekwarc import tools
try:
    tools.merge_wacz("missing.wacz", "new.wacz")
except OSError as error:
    kept = error
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")
    assert not [*tmp_path.iterdir()]
