"""Whole folders in one command, with a report of every file."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

import seekwarc
from tests.cli.conftest import Answer, decompressed, run_on_terminal
from tests.support.foreign import Foreign, text
from tests.support.processes import PATIENT, wait_until
from tests.support.writing import noise

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four files in a tree: two sound ones, a damaged one, one that is sound."""
    files = {
        "2025/a.warc.gz": Foreign().record(b"a").record(text(3000)).gzip().bytes(),
        "2025/b.warc": Foreign().record(noise(100_000)).plain().bytes(),
        "2026/cut.warc.gz": Foreign().record(noise(100_000)).gzip().bytes()[:-50],
        "2026/z.warc.zst": Foreign().record(b"z").bytes(),
        "2026/notes.txt": b"no archive",
    }
    for name, data in files.items():
        path = tmp_path / "crawls" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path / "crawls"


@pytest.fixture
def told(run_cli, tmp_path):
    """Run a verb; return its exit status, and what JSON says, by base names of sources."""

    def run(*words: object) -> tuple[int, dict[str, dict]]:
        done = run_cli(*words, "--json", cwd=tmp_path)
        lines = Answer(done.returncode, done.stdout, "").json_lines
        files = [line for line in lines if "status" in line]
        assert b"Traceback" not in done.stderr
        return done.returncode, {Path(line["file"]).name: line for line in files}

    return run


def made(folder: Path) -> list[str]:
    return sorted(str(it.relative_to(folder)) for it in folder.rglob("*") if it.is_file())


def statuses(found: dict[str, dict]) -> dict[str, str]:
    return {name: line["status"] for name, line in found.items()}


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_folder_is_converted_with_a_report(told, folder, tmp_path, jobs) -> None:
    status, found = told("convert", folder, "--to-dir", "new/deep", "--keep-going", "--jobs", jobs)
    assert status == 1
    sound = {"a.warc.gz": "done", "b.warc": "done", "z.warc.zst": "done"}
    assert statuses(found) == {**sound, "cut.warc.gz": "failed"}
    assert found["cut.warc.gz"]["error"]["kind"] == "truncated"
    assert found["cut.warc.gz"]["error"]["offset"] is not None
    assert made(tmp_path / "new/deep") == ["2025/a.warc.zst", "2025/b.warc.zst", "2026/z.warc.zst"]
    for name in sound:
        line = found[name]
        source, target = folder.parent / line["file"], tmp_path / line["target"]
        assert decompressed(target) == decompressed(source)
        assert line["stored_size"] == source.stat().st_size
        assert line["target_size"] == target.stat().st_size
        assert line["content_size"] == len(decompressed(source))
        assert line["error"] is None


def test_what_is_there_and_sound_is_passed_over(told, folder, tmp_path) -> None:
    words = ("convert", folder, "--to-dir", "new", "--keep-going")
    told(*words)
    new = tmp_path / "new"
    (new / "2025/b.warc.zst").unlink()
    (new / "2026/z.warc.zst").write_bytes((new / "2026/z.warc.zst").read_bytes()[:-3])
    before = (new / "2025/a.warc.zst").stat().st_mtime_ns
    status, found = told(*words)
    assert status == 2
    expected = {"a.warc.gz": "skipped", "b.warc": "done", "cut.warc.gz": "failed", "z.warc.zst": "failed"}
    assert statuses(found) == expected
    assert found["z.warc.zst"]["error"]["kind"] == "exists"
    assert (new / "2025/a.warc.zst").stat().st_mtime_ns == before
    status, found = told(*words, "--force")
    assert statuses(found)["z.warc.zst"] == "done"
    assert decompressed(new / "2026/z.warc.zst") == decompressed(folder / "2026/z.warc.zst")


def test_a_target_of_another_source_is_no_target_of_this(told, folder, tmp_path) -> None:
    told("convert", folder / "2025", "--to-dir", "new")
    (folder / "2025/a.warc.gz").write_bytes(Foreign().record(b"other").gzip().bytes())
    status, found = told("convert", folder / "2025/a.warc.gz", "--to-dir", "new")
    assert (status, found["a.warc.gz"]["error"]["kind"]) == (2, "exists")


def test_without_verifying_age_and_beginning_are_enough(told, folder, tmp_path) -> None:
    words = ("convert", folder / "2025", "--to-dir", "new", "--no-verify")
    told(*words)
    assert set(statuses(told(*words)[1]).values()) == {"skipped"}
    os.utime(tmp_path / "new/a.warc.zst", (0, 0))
    assert told(*words)[1]["a.warc.gz"]["error"]["kind"] == "exists"


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_first_failure_stops_the_others(told, folder, jobs) -> None:
    first = folder / "2025/_.warc.gz"
    shutil.copy(folder / "2026/cut.warc.gz", first)
    status, found = told("convert", first, "missing.warc", folder, "--to-dir", "new", "--jobs", jobs)
    assert status in (1, 2)
    assert len(found) == 6
    assert "not-run" in statuses(found).values()


def test_equal_names_in_a_tree_collide_only_with_flat(command, folder, tmp_path) -> None:
    (folder / "2026/cut.warc.gz").unlink()
    shutil.copy(folder / "2025/a.warc.gz", folder / "2026/a.warc.gz")
    for words in (["--flat"], ["--flat", "--dry-run"]):
        stderr = command("convert", folder, "--to-dir", tmp_path / "new", *words, status=2).stderr
        assert f"{folder}/2025/a.warc.gz and {folder}/2026/a.warc.gz would both become" in stderr
        assert "without --flat" in stderr
        assert not (tmp_path / "new").exists()
    command("convert", folder, "--to-dir", tmp_path / "new")
    expected = ["2025/a.warc.zst", "2025/b.warc.zst", "2026/a.warc.zst", "2026/z.warc.zst"]
    assert made(tmp_path / "new") == expected
    two = command("convert", folder / "2025", folder / "2026", "--to-dir", tmp_path / "two", status=2).stderr
    assert f"{folder}/2025/a.warc.gz and {folder}/2026/a.warc.gz would both become" in two
    assert not (tmp_path / "two").exists()


@pytest.mark.parametrize("verb", ["recover", "dedupe", "redact", "index", "index --sidecar --min-size 1"])
def test_every_verb_with_a_folder_for_new_files_keeps_the_tree(command, tmp_path, verb) -> None:
    for year in ("2025", "2026"):
        (tmp_path / "crawls" / year).mkdir(parents=True)
        data = Foreign().record(year.encode()).record(text(3000)).gzip().bytes()
        (tmp_path / "crawls" / year / "a.warc.gz").write_bytes(data)
    more = ["--min-size", 2000] if verb == "redact" else []
    new = tmp_path / "new"
    command(*verb.split(), tmp_path / "crawls", "--to-dir", new, *more)
    suffix = {"index": ".gz.cdxj", "index --sidecar --min-size 1": ".gz.seek"}.get(verb, ".zst")
    assert made(new) == [f"2025/a.warc{suffix}", f"2026/a.warc{suffix}"]


@pytest.fixture
def with_wacz(command, folder, tmp_path) -> Path:
    """The folder with a WACZ in a subfolder that has a file of its own."""
    data = Foreign().record(b"in a WACZ").gzip().bytes()
    (tmp_path / "inner.warc.gz").write_bytes(data)
    (folder / "2026/cut.warc.gz").unlink()
    command("wacz", "create", tmp_path / "inner.warc.gz", "-o", folder / "2026/k.wacz")
    return folder


def test_verbs_that_write_take_the_files_of_a_wacz_in_a_folder(told, with_wacz, tmp_path) -> None:
    for words in (("convert",), ("convert",), ("convert", "--no-verify"), ("recover",)):
        verb, *more = words
        status, found = told(verb, with_wacz, "--to-dir", "new", *more)
        assert status == 0, found
    assert "2026/k/inner.warc.zst" in made(tmp_path / "new")


def test_what_is_written_into_or_beside_files_passes_over_those_of_a_wacz(
    command, with_wacz, tmp_path
) -> None:
    name = f"{with_wacz}/2026/k.wacz!/archive/inner.warc.gz"
    answer = command("index", "--sidecar", with_wacz)
    assert f"{name}: is in a WACZ, and its sidecar would be beside it" in answer.stderr
    assert "is in a WACZ" in command("index", "--sidecar", with_wacz / "2026/k.wacz", status=2).stderr
    for it in (with_wacz / "2025").iterdir():
        it.unlink()
    (with_wacz / "2025/a.warc.zst").write_bytes(Foreign().record(b"a").record(text(3000)).bytes())
    before = (with_wacz / "2026/k.wacz").read_bytes()
    answer = command("redact", with_wacz, "--in-place", "--min-size", 2000, "--json", status=1)
    assert [it["file"] for it in answer.json["passed_over"]] == [name]
    assert "not searched" in answer.stderr
    assert (with_wacz / "2026/k.wacz").read_bytes() == before


READING = ["ls {} --json", "verify {} --json", "info {} --json", "index {} --all", "cat {} --uri {uri}"]


@pytest.mark.parametrize("words", [*READING, "extract {} -o {new} -q"])
def test_verbs_that_read_take_a_wacz_in_a_folder_as_if_it_was_named(command, crawl, tmp_path, words) -> None:
    (tmp_path / "crawls/sub").mkdir(parents=True)
    wacz = tmp_path / "crawls/sub/k.wacz"
    command("wacz", "create", crawl.path("warc.gz"), "-o", wacz)
    found = []
    for name in (wacz, tmp_path / "crawls"):
        new = tmp_path / f"{name.name}.jsonl"
        # A capture that is found by the index of the WACZ, or by scanning.
        fields = {"new": str(new), "uri": "http://example.org/page.html"}
        answer = command(*(it.format(name, **fields) for it in words.split()))
        written = new / "manifest.jsonl" if new.is_dir() else new
        found.append((answer.stdout, written.read_bytes() if new.exists() else b""))
    assert found[0] == found[1] != (b"", b"")


def test_an_index_of_a_folder_names_the_files_of_a_wacz_so_that_they_are_found(
    command, with_wacz, tmp_path
) -> None:
    command("index", with_wacz / "2026", "--all", "-o", with_wacz / "2026/k.cdxj")
    lines = (with_wacz / "2026/k.cdxj").read_text()
    assert '"filename": "k.wacz!/archive/inner.warc.gz"' in lines
    with seekwarc.Index(with_wacz / "2026/k.cdxj") as index:
        assert sum(1 for line in index if "wacz" in line.filename and index.record(line).type) > 0


def test_flat_without_a_folder_for_new_files_is_refused(command, folder, tmp_path) -> None:
    source = folder / "2025/b.warc"
    for verb in ("convert", "recover"):
        stderr = command(verb, source, tmp_path / "x.warc.zst", "--flat", status=2).stderr
        assert "--flat is for the new files in a folder" in stderr
    for verb in ("index", "dedupe"):
        stderr = command(verb, source, "-o", tmp_path / "x.warc.zst", "--flat", status=2).stderr
        assert "--flat is for the new files in a folder" in stderr


def test_the_last_line_says_what_was_passed_over_in_a_folder(command, folder, tmp_path) -> None:
    (folder / "2026/cut.warc.gz").unlink()
    for name in ("2025/x.warc.gz.open", "y.warc.open", "2026/e.warc.gz", "a.warc.gz.bad", "a.warc.gz.cdxj"):
        (folder / name).touch()
    expected = "seekwarc: 4 files; 4 others not read: 2 unfinished (.open), 2 not an archive"
    told = command("ls", folder, status=1).stderr.splitlines()
    assert told[-1] == expected
    assert told[-2].endswith(" records, 1 of 4 files passed over"), "files are counted once"
    words = ("convert", folder, "--to-dir", tmp_path / "new", "-k")
    assert command(*words, status=1).stderr.splitlines()[-1] == expected
    assert "not read" not in command(*words, "-q", status=1).stderr
    assert "passed over" not in command("ls", folder / "2025/b.warc").stderr


@pytest.mark.parametrize(("to", "suffix"), [("gz", ".warc.gz"), ("none", ".warc"), ("zst", ".warc.zst")])
def test_names_follow_the_compression(told, folder, tmp_path, to, suffix) -> None:
    told("convert", folder / "2025", "--to-dir", "new", "--to", to)
    assert sorted(os.listdir(tmp_path / "new")) == [f"a{suffix}", f"b{suffix}"]


def test_a_folder_can_be_converted_in_place_again_and_again(told, folder) -> None:
    expected = [{"a.warc.gz": "done", "b.warc": "done"}, {"a.warc.gz": "skipped", "b.warc": "skipped"}]
    for statuses_expected in expected:
        status, found = told("convert", folder / "2025", "--to-dir", folder / "2025")
        assert (status, statuses(found)) == (0, statuses_expected)


def test_files_that_are_all_new_ones_already_leave_nothing_to_do(command, folder) -> None:
    new = folder / "new"
    command("convert", folder / "2025", "--to-dir", new)
    said = command("convert", new, "--to-dir", new).stdout.decode()
    assert said == "nothing to do: every file found is in the folder of the new ones, as its own new one\n"


def test_output_tells_of_each_file_and_of_all(command, folder, tmp_path) -> None:
    out = command("convert", folder / "2025", "--to-dir", tmp_path / "new").out
    assert f"{folder}/2025/a.warc.gz -> {tmp_path}/new/a.warc.zst: 2 records" in out
    assert "\n2 files: 2 done\n" in out
    assert " became " in out.splitlines()[-1]
    out = command("convert", folder / "2025", "--to-dir", tmp_path / "new").out
    assert out.endswith("2 files: 2 skipped\n")


def test_a_terminal_is_shown_how_far_all_files_are(folder, tmp_path) -> None:
    words = ("convert", folder / "2025", "--to-dir", tmp_path / "new", "--jobs", 2)
    status, shown = run_on_terminal(*words)
    assert status == 0
    assert b"2 files" in shown


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("a.warc.gz",), "name the new file too"),
        (("a.warc", "b.warc", "c.warc.zst"), "--to-dir"),
        ((".", "new.warc.zst"), "is a directory"),
        (("a.warc", "-o", "b.warc.zst", "--to-dir", "new"), "give only one of them"),
        (("-", "--to-dir", "new"), "standard input has no name"),
        (("", "--to-dir", "new"), "name is empty"),
        (("a.warc", "--to-dir", "file"), "file: the folder cannot be created"),
        (("a.warc", "--to-dir", "new", "--jobs", "0"), "--jobs"),
        (("a.warc", "--to-dir", "new", "--jobs", "many"), "--jobs"),
    ],
)
def test_invalid_arguments_are_refused(command, tmp_path, words, told) -> None:
    (tmp_path / "file").touch()
    assert told in command("convert", *words, status=2, cwd=tmp_path).stderr
    assert os.listdir(tmp_path) == ["file"]


def test_the_new_file_may_be_named_by_an_option(command, folder, tmp_path) -> None:
    command("convert", folder / "2025/b.warc", "-o", tmp_path / "new.warc.gz")
    assert decompressed(tmp_path / "new.warc.gz") == (folder / "2025/b.warc").read_bytes()


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_all_processes_at_once_and_leaves_nothing(start, tmp_path, number, status) -> None:
    sources = tmp_path / "in"
    sources.mkdir()
    for name in "ab":
        (sources / f"{name}.warc").write_bytes(Foreign().record(noise(8 << 20)).plain().bytes() * 8)
    target = tmp_path / "new"
    words = ("convert", sources, "--to-dir", target, "--jobs", 2, "--level", 19)
    process = start(*words, start_new_session=True)
    wait_until(lambda: len(list(target.glob(".seekwarc-*/.*.partial"))) == 2)
    # As a terminal does: to every process of the group.
    os.killpg(process.pid, number)
    stdout, stderr = process.communicate(timeout=PATIENT)
    assert process.returncode == status
    assert (stdout, stderr) == (b"", b"seekwarc: stopped\n")
    assert os.listdir(target) == []
    wait_until(lambda: not processes_of(process.pid))


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", ["convert {0}/a.warc {0}/new.warc.zst --level 19", "index {0}/a.warc -o {0}/new.cdxj"]
)
def test_a_signal_ends_work_on_parts_of_a_file_and_leaves_nothing(start, tmp_path, words) -> None:
    (tmp_path / "a.warc").write_bytes(Foreign().record(noise(20_000)).plain().bytes() * 4000)
    process = start(*words.format(tmp_path).split(), "--jobs", 2, start_new_session=True)
    wait_until(lambda: len(list(tmp_path.glob("**/.seekwarc-*/[0-9]*"))) == 2)
    os.killpg(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate(timeout=PATIENT)
    assert (process.returncode, stdout, stderr) == (130, b"", b"seekwarc: stopped\n")
    assert os.listdir(tmp_path) == ["a.warc"]
    wait_until(lambda: not processes_of(process.pid))


def processes_of(group: int) -> list[str]:
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            found.append(status.parent.name)
    return found
