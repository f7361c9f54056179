"""`seekwarc filter`: the part of a crawl that was asked for, and a report of it."""

from __future__ import annotations

import os

import pytest

from tests.support.captures import SITES, related
from tests.support.reading import uris_in


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "crawls"
    path.mkdir()
    (path / "a.warc.zst").write_bytes(related())
    return path


def left_in(folder) -> list[str]:
    return sorted(os.listdir(folder))


def test_a_part_is_copied_with_what_belongs_to_it(command, folder, tmp_path) -> None:
    (tmp_path / "hosts.txt").write_text("example.org\n")
    words = ("filter", folder, "--hosts", tmp_path / "hosts.txt", "--type", "response")
    answer = command(*words, "-o", tmp_path / "new.warc.zst")
    assert uris_in(tmp_path / "new.warc.zst") == [*SITES[:3]]
    lines = answer.out.splitlines()
    assert lines[0].startswith("3 of 14 records match; with 1 warcinfo, 6 concurrent: ")
    assert lines[1].endswith(f"10 records  {tmp_path}/new.warc.zst")
    assert lines[2].endswith("of frames copied, 0 B of content recompressed")
    assert answer.stderr == ""
    command("verify", tmp_path / "new.warc.zst")


def test_a_dry_run_refuses_a_target_that_exists_as_a_run_does(command, folder, tmp_path) -> None:
    target = tmp_path / "new.warc.zst"
    target.write_bytes(b"mine")
    words = ("filter", folder, "--type", "response", "-o", target)
    for more in (["--dry-run"], []):
        assert "exists already" in command(*words, *more, status=2).stderr
    command(*words, "--dry-run", "--force")
    assert target.read_bytes() == b"mine"


def test_the_rest_is_copied_by_inverted_options(command, folder, tmp_path) -> None:
    (tmp_path / "hosts.txt").write_text("example.org\n")
    common = ("filter", folder, "--no-closure", "--type", "response")
    command(*common, "--not-hosts", tmp_path / "hosts.txt", "-o", tmp_path / "a.warc.zst")
    assert uris_in(tmp_path / "a.warc.zst") == [SITES[3]]
    command(*common, "--status", "200", "--invert", "-o", tmp_path / "b.warc.zst")
    assert uris_in(tmp_path / "b.warc.zst") == [*SITES[1:]]


def test_what_would_be_copied_is_said_without_copying(command, folder, tmp_path) -> None:
    answer = command("filter", folder, "--status", "203", "-n", "--json")
    assert left_in(tmp_path) == ["crawls"]
    found = answer.json
    assert found["belonging"] == {"warcinfo": 1, "concurrent": 2, "segment": 0, "original": 0}
    assert (found["dry_run"], found["matched"], found["records"], found["pieces"]) == (True, 1, 0, [])
    assert (found["status"], found["error"], found["damaged"], found["target"]) == ("done", None, [], None)
    assert found["size"] > 0


def test_a_series_keeps_to_its_size(command, folder, tmp_path) -> None:
    answer = command("filter", folder, "--max-size", "2K", "-o", tmp_path / "part", "--json")
    pieces = answer.json["pieces"]
    assert [os.path.getsize(it["target"]) for it in pieces] == [it["target_size"] for it in pieces]
    assert len(pieces) > 1
    assert max(it["target_size"] for it in pieces) <= 2048


def test_damage_is_reported_and_the_rest_is_copied(command, damaged, tmp_path) -> None:
    answer = command("filter", damaged, "-o", tmp_path / "new.warc.zst", "--json", status=1)
    assert answer.stderr.startswith(f"seekwarc: {damaged}, offset ")
    assert answer.stderr.endswith("; left out\n")
    assert (answer.json["read"], answer.json["records"], len(answer.json["damaged"])) == (5, 4, 1)
    command("verify", tmp_path / "new.warc.zst")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("-o", "new.warc.zst"), "required"),
        (("crawls",), "name the new file with -o, or use --dry-run"),
        (("crawls", "-o", "-"), "can be a pipe"),
        (("-", "-o", "new.warc.zst"), "can be a pipe"),
        (("crawls", "-o", "new.warc.gz"), "copied into a .warc.zst"),
        (("crawls", "-o", "new.warc.zst", "--status", "404"), "no record matches"),
        (("crawls", "-o", "new.warc.zst", "--hosts", "none"), "none: cannot be read"),
        (("crawls", "-o", "new.warc.zst", "--cdxj", "none"), "none: cannot be opened"),
        (("crawls", "-o", "crawls/a.warc.zst", "-f"), "same file"),
        (("crawls", "-o", "part", "--max-size", "100"), "more than the maximum of 100"),
        (("none", "-o", "new.warc.zst"), "none: cannot be opened"),
        (("crawls", "-o", "new.warc.zst", "--type", "respons"), "did you mean response"),
    ],
)
def test_wrong_usage_is_reported_and_leaves_nothing(command, folder, tmp_path, words, told) -> None:
    before = (folder / "a.warc.zst").read_bytes()
    assert told in command("filter", *words, status=1 if "no record" in told else 2, cwd=tmp_path).stderr
    assert left_in(tmp_path) == ["crawls"]
    assert left_in(folder) == ["a.warc.zst"]
    assert (folder / "a.warc.zst").read_bytes() == before
