"""`seekwarc redact`: what is gone, what is kept, and what is said of it."""

from __future__ import annotations

import os
import signal

import pytest

import seekwarc
from tests.support.captures import SITES, related
from tests.support.foreign import Foreign
from tests.support.processes import PATIENT, wait_until
from tests.support.writing import noise


@pytest.fixture
def path(tmp_path):
    (tmp_path / "crawl.warc.zst").write_bytes(related())
    return tmp_path / "crawl.warc.zst"


def left_in(folder) -> list[str]:
    return sorted(os.listdir(folder))


def test_a_new_file_is_made_without_the_records(command, path, tmp_path) -> None:
    target = tmp_path / "rest.warc.zst"
    answer = command("redact", path, "--uri", SITES[1], "--reason", "request 17", "-o", target)
    lines = answer.out.splitlines()
    assert lines[0] == "3 of 14 records matched, 3 removed"
    assert lines[1].startswith(f"{target}: 11 records kept and compared, 1 stub: ")
    assert answer.stderr == ""
    with seekwarc.open(target) as archive:
        assert SITES[1] not in [record.target_uri for record in archive.records(type="response")]


@pytest.mark.slow
def test_other_uris_with_the_same_key_are_said_to_be_left(command, tmp_path) -> None:
    path, asked = tmp_path / "a.warc.zst", "http://example.org/a"
    with seekwarc.open(path, "w") as out:
        for uri in (
            asked,
            *["http://example.org/A"] * 2,
            *[f"http://www{it}.example.org/a" for it in range(22)],
        ):
            out.write("resource", block=b"x", target_uri=uri)
    words = ("redact", path, "--uri", asked, "--dry-run")
    line = command(*words).out.splitlines()[-1]
    assert line.startswith(
        "also here, with the same key, and left: http://example.org/A (2 records), http://www"
    )
    assert line.endswith(".example.org/a (1 record), 3 more URIs")
    found = command(*words, "--json").json
    assert (len(found["others"]), found["further_others"]) == (20, 3)
    assert found["others"]["http://example.org/A"] == 2


def test_each_file_becomes_one_in_a_folder(command, path, tmp_path) -> None:
    other = tmp_path / "other.warc.zst"
    other.write_bytes(path.read_bytes())
    words = ("redact", path, other, "--uri", SITES[1], "--no-stubs", "--to-dir", tmp_path / "new")
    found = command(*words, "--json").json
    assert (found["removed"], found["written"], found["files"]) == (6, 2, [str(path), str(other)])
    assert left_in(tmp_path / "new") == ["crawl.warc.zst", "other.warc.zst"]


def test_what_still_mentions_them_is_said(command, path, tmp_path) -> None:
    words = ("redact", path, "--uri", SITES[1], "--type", "response", "--no-closure", "--no-uri", "--json")
    answer = command(*words, "-o", tmp_path / "rest.warc.zst", status=1)
    assert answer.stderr.count(" record mentions a removed ") == 4
    found = answer.json
    assert (found["status"], found["removed"], found["stubs"], len(found["mentions"])) == ("done", 1, 1, 4)
    assert set(found["mentions"][0]) == {"file", "offset", "type", "what", "text", "kind"}


def test_a_file_is_replaced_in_place(command, path, tmp_path) -> None:
    size = path.stat().st_size
    command("redact", path, "--uri", SITES[1], "--in-place", "--no-stubs")
    assert path.stat().st_size < size
    assert left_in(tmp_path) == ["crawl.warc.zst"]
    command("verify", path)


def test_a_dry_run_says_what_would_be_removed(command, path, tmp_path) -> None:
    before = path.read_bytes()
    words = ("redact", path, "--uri", SITES[0], "--with-revisits", "-n")
    answer = command(*words, "--to-dir", tmp_path / "new")
    lines = answer.out.splitlines()
    assert lines[0] == "3 of 14 records matched, 4 to be removed, 1 revisit among them"
    assert f"{path}: would be written: 4 records removed, 10 kept" in lines
    assert sum(line.startswith("  to be removed: ") for line in lines) == 4
    assert lines[-1] == "still mentioned by: nothing that was searched"
    assert (path.read_bytes(), left_in(tmp_path)) == (before, ["crawl.warc.zst"])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--uri", "a"), "or use --in-place"),
        (("--uri", "a", "-o", "new.warc.zst", "--in-place"), "or use --in-place"),
        (("-o", "new.warc.zst"), "every record would be removed"),
        (("--uri", "a", "-o", "new.warc.zst"), "no record matches"),
        (("--uri", SITES[0], "-o", "new.warc.zst"), "--with-revisits also removes such revisits"),
        (("--uri", SITES[1], "-o", "-"), "can be a pipe"),
        (("--uri", SITES[1], "-o", "new.warc"), "is a .warc.zst; name it so"),
        (("--uri", SITES[1], "-o", "none/new.warc.zst"), "cannot be written"),
    ],
)
def test_wrong_usage_is_reported_and_leaves_nothing(command, path, tmp_path, words, told) -> None:
    before = path.read_bytes()
    status = 1 if "no record" in told else 2
    assert told in command("redact", path.name, *words, status=status, cwd=tmp_path).stderr
    assert (path.read_bytes(), left_in(tmp_path)) == (before, ["crawl.warc.zst"])


def test_damage_is_reported_and_changes_nothing(command, damaged) -> None:
    before = damaged.read_bytes()
    stderr = command("redact", damaged, "--type", "request", "--in-place", status=1).stderr
    assert stderr.startswith(f"seekwarc: {damaged}, offset ")
    assert damaged.read_bytes() == before


@pytest.mark.one_in(3)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_run_leaves_the_file(start, tmp_path, number) -> None:
    made = Foreign()
    for seed in range(300):
        made.record(noise(60_000, seed=seed))
    source = tmp_path / "source.warc.zst"
    # On a busy machine the signal may come too late.
    for _ in range(20):
        source.write_bytes(made.bytes())
        process = start("redact", source, "--uri", "*/1", "--in-place")
        wait_until(lambda process=process: list(tmp_path.glob(".source*")) or process.poll() is not None)
        process.send_signal(number)
        process.communicate(timeout=PATIENT)
        if process.returncode != 0:
            break
    assert process.returncode == (143 if number == signal.SIGTERM else -9)
    assert source.read_bytes() == made.bytes()
