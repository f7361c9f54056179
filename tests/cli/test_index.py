"""`seekwarc index`."""

from __future__ import annotations

import os
import re

import pyarrow.parquet as pq
import pytest

from seekwarc.format.cdxj import CdxjLine
from tests.cli.conftest import FILM_URI, FORMS, record_header
from tests.support.crawls import heritrix
from tests.support.foreign import Foreign, gzip_member


def lines_of(stored: bytes) -> list[CdxjLine]:
    return [CdxjLine.parse(line) for line in stored.splitlines()]


@pytest.mark.parametrize("form", FORMS)
def test_the_index_goes_to_standard_output(command, crawl, form) -> None:
    answer = command("index", crawl.path(form))
    lines = lines_of(answer.stdout)
    assert [it.key for it in lines] == ["org,example)/film.mp4", "org,example)/page.html"]
    put = crawl.put(3, form)
    assert (lines[0].uri, lines[0].offset, lines[0].length) == (FILM_URI, put.offset, put.length)
    assert lines[0].filename == f"crawl.{form}"
    assert answer.stderr == ""


def test_all_records_are_listed_if_asked(command, crawl) -> None:
    lines = lines_of(command("index", "--all", crawl.zst).stdout)
    assert [(it.key, it.fields.get("warc-type")) for it in lines] == [
        ("org,example)/", "metadata"),
        ("org,example)/film.mp4", None),
        ("org,example)/film.mp4", "request"),
        ("org,example)/page.html", None),
    ]


def test_the_index_goes_into_a_file(command, crawl, tmp_path) -> None:
    target = tmp_path / "out.cdxj"
    answer = command("index", crawl.path("warc"), crawl.zst, "-o", target)
    assert answer.out == f"{target}: 4 captures\n"
    assert target.read_bytes() == b"".join(sorted(target.read_bytes().splitlines(keepends=True)))
    assert os.listdir(tmp_path) == ["out.cdxj"]


def test_standard_input_is_called_what_one_says(command, crawl) -> None:
    data = crawl.zst.read_bytes()
    assert "--stdin-name" in command("index", "-", stdin=data, status=2).stderr
    answer = command("index", "-", "--stdin-name", "crawl.warc.zst", stdin=data)
    # What is read once, in order, is not compared with its tables: none is to be trusted.
    by_name = command("index", crawl.zst).stdout
    assert b"sha256:" in by_name
    assert {str(it.table) for it in lines_of(answer.stdout)} == {"none"}
    named = rb', "seekTable": "[^"]*"'
    assert re.sub(named, b"", answer.stdout) == re.sub(named, b"", by_name)


def test_files_are_distinguished_by_their_folders(command, crawl, tmp_path) -> None:
    paths = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        paths.append(tmp_path / name / "a.warc")
        paths[-1].write_bytes(crawl.content)
    stderr = command("index", *paths, status=2).stderr
    assert "two files have the name a.warc" in stderr
    found = lines_of(command("index", *paths, "--dir-root", tmp_path).stdout)
    assert {it.filename for it in found} == {"one/a.warc", "two/a.warc"}
    assert "not below" in command("index", *paths, "--dir-root", tmp_path / "one", status=2).stderr


def test_damage_is_reported_and_what_is_good_kept(command, crawl, tmp_path) -> None:
    cut = tmp_path / "cut.warc.gz"
    cut.write_bytes(crawl.path("warc.gz").read_bytes()[: crawl.put(3, "warc.gz").offset + 5000])
    target = tmp_path / "out.cdxj"
    answer = command("index", cut, crawl.path("warc"), "-o", target, status=1)
    assert f"seekwarc: {cut}, offset {crawl.put(3, 'warc.gz').offset}" in answer.stderr
    found = lines_of(target.read_bytes())
    assert [it.filename for it in found].count("cut.warc.gz") == 1
    assert [it.filename for it in found].count("crawl.warc") == 2


def test_damaged_places_are_counted(command, crawl, tmp_path) -> None:
    offset = crawl.put(1).offset
    data = bytearray(crawl.zst.read_bytes())
    data[offset] ^= 1
    path, target = tmp_path / "damaged.warc.zst", tmp_path / "out.cdxj"
    path.write_bytes(data)
    whole = len(lines_of(command("index", "--all", crawl.zst).stdout))
    counts = f"{whole - 1} captures, 1 place damaged (offset {offset})"
    answer = command("index", "--all", path, "-o", target, status=1)
    assert answer.out == f"{target}: {counts}\n"
    assert f"{path}, offset {offset}: " in answer.stderr
    assert command("index", "--all", path, status=1).stderr.endswith(f": {counts}\n")
    folder = tmp_path / "indexes"
    (told,) = command("index", "--json", "--all", path, "--to-dir", folder, status=1).json_lines
    assert (told["captures"], told["problems"], told["damaged"]) == (whole - 1, 1, [offset])


def test_of_many_problems_of_a_kind_a_few_are_printed(command, tmp_path) -> None:
    pair = Foreign().record(b"x").record(b"y").plain().bytes()
    path = tmp_path / "pairs.warc.gz"
    path.write_bytes(gzip_member(pair) * 50)
    stderr = command("index", path, status=1).stderr
    assert stderr.count("shares its frame") == 3
    assert stderr.count("more of this kind are not printed") == 1


def test_without_its_file_there_is_no_index(command, crawl, tmp_path) -> None:
    target = tmp_path / "out.cdxj"
    stderr = command("index", crawl.zst, tmp_path / "none.warc", "-o", target, status=2).stderr
    assert "none.warc: cannot be opened" in stderr
    assert os.listdir(tmp_path) == []


def test_an_archive_is_not_written_over(command, crawl) -> None:
    assert "same file" in command("index", crawl.zst, "-o", crawl.zst, status=2).stderr


def test_a_full_disk_leaves_no_index(command, crawl, small_disk) -> None:
    (small_disk / "filler").write_bytes(bytes((1 << 20) - 4096))
    with pytest.raises(OSError, match="No space"):
        (small_disk / "more").write_bytes(bytes(8192))
    (small_disk / "more").unlink()
    made = Foreign()
    for _ in range(300):
        made.record(b"x")
    (crawl.folder / "many.warc").write_bytes(made.plain().bytes())
    stderr = command("index", crawl.folder / "many.warc", "-o", small_disk / "out.cdxj", status=2).stderr
    assert "No space left on device" in stderr
    assert os.listdir(small_disk) == ["filler"]


def test_what_a_terminal_would_obey_is_escaped(command, tmp_path) -> None:
    made = Foreign()
    for date in ("2026-01-01T00:00:00Z", "\x1b[2J"):
        header = record_header("resource", 1, 0, ("WARC-Target-URI", "http://example.org/\x1b[1m\x07"))
        made.record(b"x", header=header.replace(b"2026-01-02T03:04:05Z", date.encode()))
    path = tmp_path / "hostile.warc.zst"
    path.write_bytes(made.bytes())
    answer = command("index", path, status=1)
    assert lines_of(answer.stdout)[0].uri == "http://example.org/\x1b[1m\x07"
    assert b"\x1b" not in answer.stdout
    assert "\x1b" not in answer.stderr
    assert "\\x1b[2J" in answer.stderr


def test_options_reach_the_reader(command, tmp_path) -> None:
    path = tmp_path / "window.warc.zst"
    path.write_bytes(Foreign().record(bytes(9 << 20), content_size=False, window_log=24).bytes())
    assert "window" in command("index", path, "--max-window", "1M", status=1).stderr
    command("index", path)


def test_indexes_of_files_are_kept_and_merged(command, crawl, tmp_path) -> None:
    sources = (crawl.path("warc"), crawl.zst)
    command("index", *sources, "-o", tmp_path / "plain.cdxj")
    words = ("index", *sources, "--to-dir", tmp_path / "each")
    answer = command(*words, "-o", tmp_path / "all.cdxj")
    assert answer.out.endswith(f"2 files: 2 done\n{tmp_path}/all.cdxj: 4 captures\n")
    assert sorted(os.listdir(tmp_path / "each")) == ["crawl.warc.cdxj", "crawl.warc.zst.cdxj"]
    (tmp_path / "each/crawl.warc.cdxj").unlink()
    answer = command(*words, "-o", tmp_path / "again.cdxj")
    assert "2 files: 1 done, 1 skipped\n" in answer.out, "only what is missing is read again"
    plain = (tmp_path / "plain.cdxj").read_bytes()
    assert (tmp_path / "all.cdxj").read_bytes() == (tmp_path / "again.cdxj").read_bytes() == plain


def test_files_that_fail_are_missing_only_if_one_says_so(command, crawl, tmp_path) -> None:
    words = (
        "index",
        crawl.zst,
        tmp_path / "none.warc",
        "--to-dir",
        tmp_path / "each",
        "-o",
        tmp_path / "all",
    )
    answer = command(*words, status=2)
    assert not (tmp_path / "all").exists()
    answer = command(*words, "--keep-going", status=2)
    assert f"    failed: {tmp_path}/none.warc (io)\n" in answer.out
    assert len(lines_of((tmp_path / "all").read_bytes())) == 2


def test_the_name_of_the_index_makes_it_a_cluster(command, crawl, tmp_path) -> None:
    answer = command("index", crawl.path("warc"), crawl.zst, "-o", tmp_path / "all.idx")
    assert answer.out == f"{tmp_path}/all.idx: 4 captures\n"
    assert sorted(os.listdir(tmp_path)) == ["all.cdx.gz", "all.idx"]
    assert command("lookup", tmp_path / "all.idx", FILM_URI, "--json").out.count(FILM_URI) == 2
    assert "exists" in command("index", crawl.zst, "-o", tmp_path / "all.idx", status=2).stderr


def test_an_index_is_not_also_that_of_one_file(command, crawl, tmp_path) -> None:
    words = ("--to-dir", tmp_path, "-o", f"{tmp_path}/crawl.warc.zst.cdxj")
    assert "of all files" in command("index", crawl.zst, *words, status=2).stderr


# Columnar indexes.


@pytest.mark.slow
def test_a_columnar_index_is_looked_up_like_any_other(command, crawl, tmp_path) -> None:
    target = tmp_path / "out.parquet"
    answer = command("index", "--parquet", crawl.path("warc"), crawl.zst, "-o", target)
    assert answer.out == f"{target}: 4 captures\n"
    assert os.listdir(tmp_path) == ["out.parquet"]
    lines = lines_of(command("lookup", target, FILM_URI, "--cdxj").stdout)
    put = crawl.put(3, "warc.zst")
    assert sorted(it.filename for it in lines) == ["crawl.warc", "crawl.warc.zst"]
    found = next(it for it in lines if it.filename == "crawl.warc.zst")
    assert (found.offset, found.length) == (put.offset, put.length)
    expected = command("cat", crawl.zst, "--uri", FILM_URI).stdout
    assert (
        command("cat", "--index", target, "--uri", FILM_URI, "--files", crawl.zst.parent).stdout == expected
    )
    assert command("index", "--parquet", crawl.zst).stdout.endswith(b"PAR1")


@pytest.mark.slow
def test_each_file_gets_a_columnar_index_once(command, crawl, tmp_path) -> None:
    arguments = ("index", "--parquet", crawl.zst, "--to-dir", tmp_path, "--json")
    assert '"captures": 2' in command(*arguments).out
    target = tmp_path / f"{crawl.zst.name}.parquet"
    made = target.read_bytes()
    assert "skipped" in command(*arguments).out
    target.write_bytes(made[:-9])
    assert "damaged" in command(*arguments, status=2).stderr
    command(*arguments, "--force")
    assert target.stat().st_size == len(made)


def test_a_damaged_columnar_index_gives_no_traceback(command, tmp_path) -> None:
    target = tmp_path / "out.parquet"
    target.write_bytes(b"PAR1" * 30)
    stderr = command("lookup", target, FILM_URI, status=1).stderr
    assert "out.parquet" in stderr
    assert "Traceback" not in stderr


@pytest.mark.slow
def test_columnar_indexes_of_files_are_merged(command, crawl, tmp_path) -> None:
    folder, target = tmp_path / "each", tmp_path / "all.parquet"
    command("index", "--parquet", crawl.path("warc"), crawl.zst, "--to-dir", folder, "-o", target)
    assert sorted(os.listdir(folder)) == ["crawl.warc.parquet", "crawl.warc.zst.parquet"]
    assert len(lines_of(command("lookup", target, "org", "--match", "domain", "--cdxj").stdout)) == 4
    assert pq.read_table(target)["record_type"].to_pylist() == ["response"] * 4
    cluster = tmp_path / "all.idx"
    assert "cluster" in command("index", "--parquet", crawl.zst, "-o", cluster, status=2).stderr


@pytest.mark.slow
def test_notes_come_after_captures_in_merged_columnar_indexes(command, tmp_path) -> None:
    (tmp_path / "a.warc.gz").write_bytes(heritrix().gzip().bytes())
    words = ("index", "--parquet", "--all", tmp_path / "a.warc.gz")
    command(*words, "--to-dir", tmp_path / "each", "-o", tmp_path / "all.parquet")
    for path in (tmp_path / "each/a.warc.gz.parquet", tmp_path / "all.parquet"):
        found = pq.read_table(path)["record_type"].to_pylist()
        assert found == ["response", "metadata", "metadata", "request"]


def test_files_that_were_not_begun_are_counted(command, crawl, tmp_path) -> None:
    words = ("index", "none.warc", crawl.zst, crawl.path("warc"), "-o", tmp_path / "x.cdxj")
    assert "3 files: 1 failed, 2 not started" in command(*words, status=2).stderr
    assert "1 of 3 files passed over" in command(*words, "--keep-going", status=2).stderr
