"""What every verb promises, whatever it does: the table of verbs is walked over."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from seekwarc.cli.verbs import RENAMED, VERBS
from tests.cli.conftest import FILM_URI, assert_well_behaved, response
from tests.support.foreign import Foreign
from tests.support.jobs import JOBS
from tests.support.pages import answer, crawl_of, html
from tests.support.processes import PATIENT, wait_until
from tests.support.rangeserver import Content, RangeServer, delayed
from tests.support.rounds import one_in
from tests.support.writing import noise

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
ONE_FILE = {*WITHOUT["-k, --keep-going"], "cat", "clip", "pictures"}
"""Verbs that take one file, and those that go on with the next only if an index names it."""
WITH_JOBS = ["info", "verify", "text", "convert", "recover", "filter", "redact", "join", "dedupe", "index"]
OF_MANY = {
    "convert": ("--to-dir", "OUT"),
    "recover": ("--to-dir", "OUT"),
    "redact": ("--to-dir", "OUT", "--uri", "http://example.org/0", "--no-stubs"),
    "wacz": ("-o", "OUT"),
}
"""What a verb cannot run without that takes several files, if that is something else."""
NOT_REMOTE = {
    "pack": "it takes files of this computer",
    "search": "its index is on this computer",
    "lookup": "the file that it is given is no index, which the first answer shows",
    "dictionary": "it has verbs of its own",
    "wacz": "it has verbs of its own",
    "serve": "it runs until it is stopped, which its own tests try",
    "demo": NO_FILE,
    "completion": NO_FILE,
}
PRINTS = {
    "ls": "FILE",
    "ls --json": "FILE",
    "info": "FILE",
    "verify": "FILE",
    "cat": f"FILE --uri {FILM_URI}",
    "convert": "FILE -",
    "convert --to gz": "FILE -",
    "recover": "FILE NEW",
    "concat": "FILE FILE -o -",
    "filter": "FILE -o NEW --type response",
    "dedupe": "FILE -o NEW",
    "index": "FILE",
    "completion": "bash",
    "lookup": f"INDEX {FILM_URI}",
}
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


@pytest.mark.parametrize("verb", [*WITH_A_FILE, "extract", "serve"])
def test_an_empty_name_of_a_file_is_called_so(command, tmp_path, verb) -> None:
    words = words_of(verb, "", tmp_path) if verb != "extract" else [verb, "", "-o", str(tmp_path / "new")]
    said = command(*words, status=2).stderr
    assert "empty" in said
    assert "No such file" not in said


@pytest.mark.parametrize("verb", ["search", "index --sidecar", "wacz create", "wacz validate", "wacz merge"])
def test_what_needs_a_file_refuses_standard_input(command, tmp_path, verb) -> None:
    more = {"search": ["tea"], "wacz validate": []}.get(verb, ["-o", str(tmp_path / "new.wacz")])
    said = command(*verb.split(), "-", *more, status=2).stderr
    assert "stdin" in said.replace("standard input", "stdin")
    assert "store it in" in said


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
    assert answer.stderr.count("\n") == 1
    assert f"see `seekwarc {verb} --help`" in answer.stderr


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


INTO_FULL_DISK = {
    "ls": "FILE",
    "convert --to gz": "FILE -",
    "info": "FILE",
    "concat": "FILE FILE -o -",
    "verify": "DAMAGED",
    "dictionary train": "PAGES -o -",
    "cat": f"FILE --uri {FILM_URI}",
    "convert": "FILE -",
    "verify --quiet": "DAMAGED",
}


@pytest.mark.posix
@pytest.mark.parametrize("verb", one_in(2, INTO_FULL_DISK))
def test_a_full_disk_under_standard_output_is_said(start, crawl, damaged, verb, tmp_path) -> None:
    given = {"FILE": crawl.zst, "DAMAGED": damaged, "PAGES": tmp_path / "pages.warc"}
    if verb == "dictionary train":
        crawl_of(given["PAGES"], [answer(html(f"tea {number}" * 50)) for number in range(200)])
    with open("/dev/full", "wb") as full:
        words = (given.get(word, word) for word in INTO_FULL_DISK[verb].split())
        process = start(*verb.split(), *words, stdout=full)
        stderr = process.communicate()[1]
    assert_well_behaved(process.returncode, stderr)
    assert process.returncode == 2
    assert stderr.count(b"\n") == 1
    assert b"No space left on device" in stderr


INTO_NO_ROOM = [
    "convert FILE new.warc.zst",
    "convert FILE new.warc.gz",
    "convert FILE new.warc",
    "concat FILE FILE -o new.warc.zst",
    "pack FILE -o new.warc.zst",
    "recover FILE new.warc.zst",
]


@pytest.mark.posix
@pytest.mark.parametrize("words", INTO_NO_ROOM)
@pytest.mark.parametrize("place", ["small_disk", "only_readable"])
def test_a_file_that_cannot_be_written_is_named(command, crawl, request, words, place) -> None:
    folder, why = request.getfixturevalue(place), "No space left on device\n" * (place == "small_disk")
    given = [str(crawl.zst) if word == "FILE" else word for word in words.split()]
    target = str(folder / given.pop())
    stderr = command(*given, target, status=2).stderr
    assert stderr.startswith(f"seekwarc: {target}: cannot be written: {why}")
    assert stderr.count("\n") == 1
    assert os.listdir(folder) == []


NOT_FOR_TERMINALS = {"convert": "FILE -", "concat": "FILE -o -", "dictionary train": "FILE -o -"}


@pytest.mark.posix
@pytest.mark.parametrize("verb", one_in(3, NOT_FOR_TERMINALS))
def test_standard_output_that_is_a_terminal_gets_no_archive(start, crawl, verb) -> None:
    ours, theirs = pytest.importorskip("pty").openpty()
    words = NOT_FOR_TERMINALS[verb].replace("FILE", str(crawl.zst))
    process = start(*verb.split(), *words.split(), stdout=theirs)
    stderr = process.communicate()[1]
    os.close(theirs)
    os.close(ours)
    assert process.returncode == 2
    assert b"standard output is a terminal" in stderr


@pytest.mark.parametrize("old", RENAMED)
def test_an_old_name_is_not_listed(command, old) -> None:
    assert f"\n  {old} " not in command("--help").out
    assert RENAMED[old] in command(*old.split(), status=2).stderr


class Three(NamedTuple):
    """Two archives, and what is none between them."""

    folder: Path
    names: tuple[str, ...] = ("a.warc.zst", "b.warc.zst", "c.warc.gz")

    def words(self, verb: str, *names: str) -> list[str]:
        """Return a command that makes `new` from files."""
        files = [str(self.folder / name) for name in names or self.names]
        more = [word.replace("OUT", "new") for word in OF_MANY.get(verb) or NEEDS.get(verb, ())]
        return [verb, *(["create"] if verb == "wacz" else []), *files, *more]


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Three:
    folder = tmp_path_factory.mktemp("three")
    crawl_of(folder / "a.warc.zst", [answer(html(it)) for it in ("tea", "milk")])
    (folder / "b.warc.zst").write_bytes(b"no archive" * 100)
    film = response(Foreign(), FILM_URI, noise(300_000))
    (folder / "c.warc.gz").write_bytes(film.gzip().bytes())
    return Three(folder)


def made_in(folder: Path) -> dict[str, bytes]:
    files = [it for it in folder.rglob("*") if it.is_file()]
    return {it.relative_to(folder).as_posix(): it.read_bytes() for it in files}


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in ONE_FILE])
def test_what_is_no_archive_stops_none_of_the_others(run_cli, three, verb, tmp_path) -> None:
    for name in ("alone", "among"):
        (tmp_path / name).mkdir()
    alone = run_cli(*three.words(verb, "a.warc.zst", "c.warc.gz"), cwd=tmp_path / "alone")
    among = run_cli(*three.words(verb), "--keep-going", cwd=tmp_path / "among")
    assert among.returncode == 1
    assert b"Traceback" not in among.stderr
    assert b"b.warc.zst" in among.stdout + among.stderr
    expected, found = made_in(tmp_path / "alone"), made_in(tmp_path / "among")
    assert found.keys() == expected.keys()
    if verb != "wacz":  # It has the time in it.
        for name, content in expected.items():
            assert set(content.splitlines()) <= set(found[name].splitlines()), "lists name the failure too"
    assert expected or set(alone.stdout.splitlines()) & set(among.stdout.splitlines())


@pytest.mark.parametrize("verb", VERBS)
def test_verbs_that_work_in_processes_are_tried(command, verb) -> None:
    assert ("--jobs" in command(verb, "--help").out) == (verb in WITH_JOBS)


@pytest.mark.parametrize("verb", WITH_JOBS)
def test_two_processes_make_and_print_what_one_does(run_cli, three, verb, tmp_path) -> None:
    results = []
    for jobs in (1, 2):
        folder = tmp_path / str(jobs)
        folder.mkdir()
        done = run_cli(*three.words(verb, "a.warc.zst", "c.warc.gz"), "--jobs", jobs, cwd=folder)
        assert_well_behaved(done.returncode, done.stderr)
        # Files are reported as they are done.
        lines = [sorted(it.splitlines()) for it in (done.stdout, done.stderr)]
        results.append((done.returncode, lines, made_in(folder)))
    assert results[0] == results[1]


@pytest.mark.posix
@pytest.mark.parametrize("name", one_in(3, PRINTS))
def test_a_closed_pipe_ends_it_quietly(command, start, crawl, name, tmp_path) -> None:
    index = tmp_path / "index.cdxj"
    if name == "lookup":
        command("index", crawl.zst, "-o", index)
    given = {"FILE": crawl.zst, "NEW": tmp_path / "new.warc.zst", "INDEX": index}
    process = start(*name.split(), *(given.get(word, word) for word in PRINTS[name].split()))
    process.stdout.close()
    stderr = process.stderr.read()
    assert (process.wait(timeout=PATIENT), stderr) == (141, b"")


class OneFile(RangeServer):
    """A server that has no index beside its file."""

    def content_of(self, target: str) -> Content | None:
        return None if target.endswith(".cdxj") else self.content


@pytest.fixture(scope="module")
def hanging(crawl) -> Iterator[RangeServer]:
    """A server that answers no request in time."""
    with OneFile(crawl.zst.read_bytes(), fault=delayed(600)) as server:
        yield server


@pytest.mark.posix
@pytest.mark.one_in(4)
@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in NOT_REMOTE])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_nothing_and_shows_no_traceback(start, hanging, number, verb, tmp_path) -> None:
    # A process before this one can have asked for something that the server reads only now.
    mine = f"?{verb}={number}"
    process = start(*words_of(verb, hanging.url + mine, tmp_path), cwd=tmp_path)
    wait_until(lambda: any(mine in it.target for it in [*hanging.asked]) or process.poll() is not None)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=PATIENT)
    assert (process.returncode, stdout, stderr) == (128 + number, b"", b"seekwarc: stopped\n")
    manifest = [tmp_path / "new.warc.zst", tmp_path / "new.warc.zst" / "manifest.jsonl"]
    assert sorted(tmp_path.rglob("*")) == (manifest if verb == "extract" else [])
