"""`seekwarc dedupe`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.chains import apart
from tests.support.days import FILM, PAGE, day_of, payloads, types
from tests.support.leaks import open_below

REVISITS = ["revisit", "revisit", "response"]
RESPONSES = ["response"] * 3


@pytest.fixture
def crawls(tmp_path: Path) -> Path:
    folder = tmp_path / "crawls"
    folder.mkdir()
    day_of(folder / "a.warc.zst", 2, PAGE, FILM, b"a")
    day_of(folder / "b.warc.zst", 1, PAGE, FILM, b"b")
    return folder


def test_a_folder_becomes_one_file(command, crawls, tmp_path) -> None:
    answer = command("dedupe", crawls, "-o", tmp_path / "new.warc.zst")
    assert answer.out.splitlines()[:3] == [
        "2 files, 6 records",
        "2 became revisits, 0 revisits refer to another record now",
        "881.4 KiB of content saved, 882.1 KiB compressed",
    ]
    assert answer.stderr == ""
    assert types(tmp_path / "new.warc.zst") == REVISITS + RESPONSES
    answer = command("dedupe", "--undo", tmp_path / "new.warc.zst", "-o", tmp_path / "full.warc.zst")
    assert answer.out.splitlines()[1:3] == [
        "2 revisits became full records",
        "-881.4 KiB of content saved",
    ]
    assert payloads(tmp_path / "full.warc.zst") == payloads(crawls / "a.warc.zst", crawls / "b.warc.zst")


def test_each_file_becomes_one(command, crawls, tmp_path) -> None:
    new = tmp_path / "new"
    answer = command("dedupe", crawls, "--to-dir", new, "--json").json
    assert (answer["target"], answer["revisits"], answer["damaged"]) == (str(new), 2, [])
    assert answer["target_size"] == sum((new / name).stat().st_size for name in os.listdir(new))
    assert [types(new / name) for name in ("a.warc.zst", "b.warc.zst")] == [REVISITS, RESPONSES]
    assert "exists already" in command("dedupe", crawls, "--to-dir", new, status=2).stderr
    command("dedupe", crawls, "--to-dir", new, "--force")
    assert open_below(tmp_path) == []


def test_a_dry_run_writes_nothing(command, crawls, tmp_path) -> None:
    answer = command("dedupe", "--dry-run", crawls, "--min-size", "5K", "--json").json
    assert (answer["revisits"], answer["target"], answer["target_size"]) == (1, None, None)
    command("dedupe", "--dry-run", "--undo", crawls)
    assert os.listdir(tmp_path) == ["crawls"]
    assert sorted(os.listdir(crawls)) == ["a.warc.zst", "b.warc.zst"]


def test_a_damaged_record_is_reported_and_does_not_stop_the_others(command, crawls, tmp_path) -> None:
    (crawls / "c.warc.zst").write_bytes((crawls / "a.warc.zst").read_bytes()[:3000])
    (crawls / "d.warc.zst").write_bytes((crawls / "a.warc.zst").read_bytes()[:9000])
    answer = command("dedupe", crawls, "--to-dir", tmp_path / "new", "--json", status=1)
    assert answer.json["records"] == 7
    assert [it["file"] for it in answer.json["damaged"]] == [f"{crawls}/c.warc.zst", f"{crawls}/d.warc.zst"]
    assert sorted(os.listdir(tmp_path / "new")) == ["a.warc.zst", "b.warc.zst", "d.warc.zst"]
    assert "left out" in answer.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("", "-o, or a folder with --to-dir"),
        ("-o new.warc.zst --to-dir new", "either one new file"),
        ("-o new.warc.zst --to-dir new --dry-run", "either one new file"),
        ("--to-dir crawls", "none outside the folder of the new ones"),
        ("-o new.warc.gz", "is a .warc.zst"),
        ("- -o new.warc.zst", "cannot be read twice"),
        ("-o new.warc.zst --min-size small", "--min-size"),
    ],
)
def test_wrong_usage_is_refused(command, crawls, monkeypatch, words, told) -> None:
    monkeypatch.chdir(crawls.parent)
    assert told in command("dedupe", crawls, *words.split(), status=2).stderr
    assert os.listdir() == ["crawls"]


@pytest.mark.parametrize("target", [("-o", "new.warc.zst"), ("--to-dir", "new"), ()])
def test_a_dry_run_takes_the_same_words_as_the_run(command, crawls, monkeypatch, target) -> None:
    monkeypatch.chdir(crawls.parent)
    answer = command("dedupe", crawls, *target, "--dry-run", "--json").json
    assert (answer["revisits"] > 0, answer["target_size"]) == (True, None)
    assert os.listdir() == ["crawls"]


def test_files_that_were_crawled_apart_become_a_chain(command, tmp_path) -> None:
    found = apart(3, 8, seed=1)
    for name, data in found.files.items():
        (tmp_path / name).write_bytes(data)
    dry = command("dedupe", "--between", tmp_path, "--dry-run", "--json").json
    assert (dry["revisits"], dry["target"], dry["target_size"]) == (found.shared, None, None)
    new = tmp_path / "chain"
    answer = command("dedupe", "--between", tmp_path, "--to-dir", new, "--jobs", 2, "--json").json
    assert (answer["revisits"], answer["target"]) == (found.shared, str(new))
    assert {it.partition("!/")[0] for it in answer["files"]} == {str(tmp_path / it) for it in found.files}
    command("verify", "--closed", new)
    # The folder of the chain is in that of the files, and is not one of them.
    assert "exists already" in command("dedupe", "--between", tmp_path, "--to-dir", new, status=2).stderr
    command("dedupe", "--between", tmp_path, "--to-dir", new, "--force")
    answer = command("dedupe", "--between", "--undo", new, "--to-dir", tmp_path / "full", "--json").json
    assert answer["restored"] == dry["revisits"] + dry["repointed"]
    assert open_below(tmp_path) == []


def test_a_chain_is_made_in_a_folder(command, crawls, tmp_path) -> None:
    for arguments in (["-o", tmp_path / "new.warc.zst"], []):
        answer = command("dedupe", "--between", crawls, *arguments, status=2)
        assert "--to-dir" in answer.stderr
    answer = command("dedupe", "--between", "-", "--to-dir", tmp_path / "new", status=2)
    assert "standard input cannot be read twice" in answer.stderr
    command("dedupe", "--between", crawls, "--to-dir", crawls, status=2)
    assert command("dedupe", "--between", crawls, "--dry-run", "--to-dir", tmp_path / "new").stdout
    assert os.listdir(tmp_path) == ["crawls"]
