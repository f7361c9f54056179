"""What every verb promises, whatever it does: the table of verbs is walked over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seekwarc.cli.verbs import RENAMED, VERBS
from tests.cli.conftest import FILM_URI, assert_well_behaved
from tests.support.jobs import JOBS

NEEDS = {
    "convert": ("-o", "OUT"),
    "recover": ("-o", "OUT"),
    "concat": ("-o", "OUT"),
    "pack": ("-o", "OUT"),
    "filter": ("-o", "OUT", "--type", "response"),
    "redact": ("-o", "OUT", "--uri", "http://example.org/"),
    "join": ("-o", "OUT"),
    "dedupe": ("-o", "OUT"),
    "extract": ("-o", "OUT"),
    "text": ("-o", "OUT.jsonl"),
    "split": ("-o", "OUT-%03d.warc.zst", "--records", "1"),
    "index": ("-o", "OUT"),
    "clip": ("--uri", "http://example.org/", "--from", "0:01", "--to", "0:02", "-o", "OUT.mp4"),
    "pictures": ("--uri", "http://example.org/", "--every", "10s", "-o", "OUT"),
    "search": ("tea",),
}
"""What a verb cannot run without, beside its file."""
OTHERS = {"completion", "demo", "wacz", "dictionary", "serve", "extract"}
"""Verbs whose first argument is not a file, and `extract`, whose manifest says that it failed."""
WITH_A_FILE = [name for name in VERBS if name not in OTHERS]
WITH_JSON = ["ls", "info", "verify", "lookup", "search", "convert", "recover", "concat", "filter", "dedupe"]


LISTED = "what it prints was asked for"
ONE = "it takes one file"
NO_FILE = "it takes no file"
NO_LIST = "it lists nothing, or all of a file"
WITHOUT = {
    "-q, --quiet": {
        "ls": LISTED,
        "cat": LISTED,
        "lookup": LISTED,
        "serve": "it prints where it serves, and runs until it is stopped",
        "demo": "what it prints is what it is for",
        "completion": LISTED,
    },
    "-k, --keep-going": {
        "pack": "it takes files of any kind, and writes nothing unless all can be read",
        "split": ONE,
        "lookup": ONE,
        "search": ONE,
        "serve": "it opens all that can be opened, and answers for each of them alone",
        "demo": NO_FILE,
        "dictionary": "a dictionary is a sample of all files: one that is missing changes it",
        "completion": NO_FILE,
    },
    "--limit N": dict.fromkeys(VERBS, NO_LIST),
}
"""The options that each verb has under one name, and why the others have not."""
for lists in ("ls", "info", "lookup", "search", "pictures"):
    del WITHOUT["--limit N"][lists]
DRY = ("convert", "recover", "split")
"""Verbs whose dry run is the run, but for what is kept."""
OTHER_FILES = ("index", "wacz")
"""Verbs with a new file that are not among `JOBS`, whose tests try what is there already and full disks."""
FOLDERS_AND_EXTRAS = {"extract", "text", "clip", "pictures"}
"""Verbs whose own tests try what is there already: they make folders, or need extras."""
WRITES = ("convert", "recover", "concat", "split", "filter", "redact", "index", "pack", "extract")


def words_of(verb: str, file: object, folder) -> list[str]:
    given = [word.replace("OUT", str(folder / "new.warc.zst")) for word in NEEDS.get(verb, ())]
    if verb in {"lookup", "cat"}:
        given = ["http://example.org/"] if verb == "lookup" else ["--uri", "http://example.org/"]
    return [verb, str(file), *given]


@pytest.mark.parametrize("verb", VERBS)
def test_help_says_what_a_verb_does(command, verb) -> None:
    out = command(verb, "--help").out
    assert out.startswith(f"usage: seekwarc {verb} ")
    assert out == command("help", verb).out


@pytest.mark.parametrize("verb", VERBS)
def test_an_option_of_all_verbs_has_one_name(command, verb) -> None:
    out = command(verb, *(["train"] if verb == "dictionary" else []), "--help").out
    for option, reasons in WITHOUT.items():
        assert (f"\n  {option} " in out or f"\n  {option}\n" in out) == (verb not in reasons), option


@pytest.mark.parametrize("verb", DRY)
def test_a_dry_run_writes_nothing_and_ends_as_the_run_does(run_cli, crawl, damaged, verb) -> None:
    folder = damaged.parent
    for name in ("sound", "damaged", "taken"):
        (folder / name).mkdir()
    for name in ("new.warc.zst", "new.warc.zst-00000.warc.zst", "new-00000.warc.zst"):
        (folder / "taken" / name).touch()
    files = {"sound": crawl.zst, "damaged": damaged, "taken": crawl.zst, "missing": crawl.zst}
    for name, file in files.items():
        words = words_of(verb, file, folder / name)
        before = sorted(folder.rglob("*"))
        dry = run_cli(*words, "--dry-run")
        assert sorted(folder.rglob("*")) == before, "nothing is written"
        done = run_cli(*words)
        assert dry.returncode == done.returncode, (name, dry.stderr, done.stderr)
        if name == "sound":
            assert str(folder / name / "new") in dry.stdout.decode()
            assert "would be written" in dry.stdout.decode()


def test_a_dry_run_of_a_folder_makes_no_folder(command, crawl, tmp_path) -> None:
    for verb in ("convert", "recover"):
        line = command(verb, crawl.path("warc"), "--to-dir", tmp_path / "new", "-n").out.splitlines()[0]
        target = tmp_path / "new" / "crawl.warc.zst"
        assert line.startswith(f"{crawl.path('warc')} -> {target}: would be written: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("verb", WRITES)
def test_quiet_leaves_out_what_was_done_and_nothing_else(command, crawl, verb, tmp_path) -> None:
    words = words_of(verb, crawl.zst, tmp_path)
    if verb == "redact":
        words.append("--no-stubs")
    answer = command(*words, "--quiet")
    assert (answer.out, answer.stderr) == ("", "")
    assert list(tmp_path.iterdir()), "it was done"


@pytest.mark.parametrize("verb", VERBS)
def test_an_unknown_option_is_wrong_usage(command, verb) -> None:
    answer = command(verb, "--no-such-option", status=2)
    assert answer.stdout == b""
    assert answer.stderr.startswith(f"seekwarc {verb}: ")


@pytest.mark.parametrize("verb", WITH_JSON)
def test_an_option_is_not_known_by_its_beginning(command, verb, tmp_path) -> None:
    answer = command(*words_of(verb, tmp_path / "no.warc.zst", tmp_path), "--jso", status=2)
    assert "--jso" in answer.stderr
    assert "no.warc.zst" not in answer.stderr, "the file was looked for"


@pytest.mark.parametrize("verb", WITH_A_FILE)
def test_a_missing_file_is_named_and_nothing_is_written(command, verb, tmp_path) -> None:
    answer = command(*words_of(verb, tmp_path / "no such file.warc.zst", tmp_path), status=2)
    assert "no such file.warc.zst" in answer.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("verb", WITH_JSON)
def test_a_failure_is_an_object_of_json_as_well(command, verb, tmp_path) -> None:
    file = tmp_path / "no such file.warc.zst"
    words = words_of(verb, file, tmp_path)
    answer = command(words[0], "--json", *words[1:], status=2)
    failures = [it for it in map(json.loads, answer.out.splitlines()) if it.get("status") == "failed"]
    assert [it["error"]["kind"] for it in failures] == ["io"]


@pytest.mark.parametrize("verb", OTHER_FILES)
def test_an_existing_file_is_refused_and_force_replaces_it(command, crawl, verb, tmp_path) -> None:
    target = tmp_path / "new.wacz"
    words = [verb, *(["create"] if verb == "wacz" else []), crawl.zst, "-o", target]
    target.write_bytes(b"important")
    assert f"{target}: exists already" in command(*words, status=2).stderr
    assert [it.read_bytes() for it in tmp_path.iterdir()] == [b"important"]
    command(*words, "--force")
    assert target.read_bytes() != b"important"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_there_already_is_tried_for_every_verb_with_force(command, verb) -> None:
    out = command(verb, *(["train"] if verb == "dictionary" else []), "--help").out
    tried = {job.arguments(Path())[0] for job in JOBS.values()} | FOLDERS_AND_EXTRAS | {*OTHER_FILES}
    assert ("--force" in out) == (verb in tried - {"append"})


@pytest.mark.parametrize("verb", ["verify", "convert", "recover", "concat", "index"])
def test_damage_is_in_the_json_and_makes_the_status_1(run_cli, damaged, verb, tmp_path) -> None:
    done = run_cli(*words_of(verb, damaged, tmp_path), "--json")
    assert done.returncode == 1
    objects = [json.loads(line) for line in done.stdout.splitlines()]
    assert str(damaged) in {it.get("file") for it in objects}
    assert {it.get("status") for it in objects} & {"failed", "problems"}


@pytest.mark.posix
@pytest.mark.parametrize("verb", ["ls", "info", "verify", "cat"])
def test_a_full_disk_under_standard_output_is_said(start, crawl, verb) -> None:
    words = [verb, crawl.zst, *(["--uri", FILM_URI] if verb == "cat" else [])]
    with open("/dev/full", "wb") as full:
        process = start(*words, stdout=full)
        stderr = process.communicate()[1]
    assert_well_behaved(process.returncode, stderr)
    assert process.returncode == 2
    assert b"No space left on device" in stderr


@pytest.mark.parametrize("old", RENAMED)
def test_an_old_name_is_not_listed(command, old) -> None:
    assert f"\n  {old} " not in command("--help").out
    assert RENAMED[old] in command(*old.split(), status=2).stderr
