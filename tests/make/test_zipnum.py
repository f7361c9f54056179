"""Writing ZipNum clusters."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

import seekwarc
from seekwarc.errors import TargetExistsError
from seekwarc.make import zipnum
from seekwarc.make.zipnum import ClusterOutput
from seekwarc.write.opening import committed
from tests.support.cdx import cdxj_line, many_lines


def write(path: Path, lines: list[bytes], **options: str) -> None:
    with committed(ClusterOutput(str(path), **options)) as output:
        for line in lines:
            output.write(line)


def test_blocks_hold_all_lines_and_are_listed(tmp_path) -> None:
    lines = many_lines(1000)
    write(tmp_path / "all.idx", lines)
    stored = (tmp_path / "all.cdx.gz").read_bytes()
    assert gzip.decompress(stored) == b"".join(lines)
    meta, *blocks = (tmp_path / "all.idx").read_bytes().splitlines(keepends=True)
    assert meta == cdxj_line("!meta", "0", format="cdxj-gzip-1.0", filename="all.cdx.gz")
    assert len(blocks) == 4
    end = 0
    for number, block in enumerate(blocks):
        key, date, place = block.split(b" ", 2)
        assert b" ".join((key, date, b"")) == lines[number * 300][: len(key) + len(date) + 2]
        place = json.loads(place)
        assert place["offset"] == end
        end += place["length"]
        assert gzip.decompress(stored[place["offset"] : end]) == b"".join(lines[number * 300 :][:300])
    assert end == len(stored)


def test_every_capture_is_found_again(tmp_path) -> None:
    lines = many_lines(700)
    write(tmp_path / "all.idx", lines)
    with seekwarc.Index(tmp_path / "all.idx") as index:
        for line in lines[::97] + lines[-1:]:
            uri = json.loads(line.split(b" ", 2)[2])["url"]
            assert [it.build() for it in index.lookup(uri)] == [
                it for it in lines if it.startswith(line.split(b" ")[0] + b" ")
            ]


def test_long_lines_make_short_blocks(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(zipnum, "MAX_SIZE", 5000)
    lines = many_lines(50, filler=1000)
    write(tmp_path / "all.idx", lines)
    assert len((tmp_path / "all.idx").read_bytes().splitlines()) > 10
    assert gzip.decompress((tmp_path / "all.cdx.gz").read_bytes()) == b"".join(lines)


def test_an_empty_index_is_a_cluster_without_blocks(tmp_path) -> None:
    write(tmp_path / "all.idx", [])
    with seekwarc.Index(tmp_path / "all.idx") as index:
        assert list(index.lookup("http://example.org/")) == []


@pytest.mark.parametrize("taken", ["all.idx", "all.cdx.gz"])
def test_existing_files_are_refused_or_replaced_together(tmp_path, taken) -> None:
    (tmp_path / taken).write_bytes(b"old")
    with pytest.raises(TargetExistsError):
        write(tmp_path / "all.idx", many_lines(3))
    assert os.listdir(tmp_path) == [taken]
    assert (tmp_path / taken).read_bytes() == b"old"
    write(tmp_path / "all.idx", many_lines(3), existing="overwrite")
    assert sorted(os.listdir(tmp_path)) == ["all.cdx.gz", "all.idx"]
    assert gzip.decompress((tmp_path / "all.cdx.gz").read_bytes()) == b"".join(many_lines(3))


def test_a_failure_leaves_neither_file(tmp_path) -> None:
    def fail() -> None:
        with committed(ClusterOutput(str(tmp_path / "all.idx"))) as output:
            output.write(many_lines(1)[0])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert os.listdir(tmp_path) == []


def test_an_index_never_lists_blocks_of_another(tmp_path, monkeypatch) -> None:
    write(tmp_path / "all.idx", many_lines(400))
    output = ClusterOutput(str(tmp_path / "all.idx"), existing="overwrite")
    output.write(many_lines(1)[0])
    monkeypatch.setattr(output._index, "commit", lambda: os._exit)
    output.commit()  # As if the process had ended between the two.
    assert os.listdir(tmp_path).count("all.idx") == 0


def test_blocks_without_an_index_do_not_stay(tmp_path, monkeypatch) -> None:
    output = ClusterOutput(str(tmp_path / "all.idx"))
    output.write(many_lines(1)[0])
    (tmp_path / "all.idx").write_bytes(b"made by another meanwhile")
    with pytest.raises(TargetExistsError):
        output.commit()
    assert os.listdir(tmp_path) == ["all.idx"]
    assert (tmp_path / "all.idx").read_bytes() == b"made by another meanwhile"
