"""`seekwarc verify`."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from seekwarc.check.verifying import REMEDIES
from tests.cli.conftest import FORMS, Answer, assert_well_behaved
from tests.support import rangeserver
from tests.support.foreign import Foreign, text, warc_header
from tests.support.processes import PATIENT
from tests.support.vectors import SAMPLES
from tests.support.writing import noise

MANY = 25


@pytest.fixture
def command(run_cli) -> Callable[..., Answer]:
    """Run the command as elsewhere, but what it finds is told on standard output."""

    def run(*args: object, status: int = 0, **options: object) -> Answer:
        done = run_cli(*args, **options)
        assert_well_behaved(done.returncode if not done.stdout else 0, done.stderr)
        assert done.returncode == status, done.stderr.decode()
        return Answer(done.returncode, done.stdout, done.stderr.decode())

    return run


@pytest.fixture
def many_problems(tmp_path) -> Path:
    """A file with 25 frames without a checksum, and a record whose trailer is wrong."""
    made = Foreign()
    for number in range(MANY):
        made.record(b"%d" % number, checksum=False)
    made.record(b"last", trailer=b"\n")
    path = tmp_path / "many.warc.zst"
    path.write_bytes(made.bytes())
    return path


# What is printed.


@pytest.mark.parametrize("form", FORMS)
def test_a_sound_file_is_said_to_be_sound(command, crawl, form) -> None:
    answer = command("verify", crawl.path(form))
    [line] = answer.out.splitlines()
    assert line.startswith(f"{crawl.path(form)}: sound: 5 records, ")
    tables = 2 if form == "warc.zst" else 0
    assert line.endswith(f", 0 digests and {tables} seek tables right")
    assert answer.stderr == ""


@pytest.mark.parametrize("form", FORMS)
def test_standard_input_is_checked_like_a_file(command, crawl, form) -> None:
    of_a_file = command("verify", crawl.path(form)).out
    of_a_pipe = command("verify", "-", stdin=crawl.path(form).read_bytes()).out
    assert of_a_pipe == of_a_file.replace(str(crawl.path(form)), "<stdin>")


def test_a_pipe_of_something_else_is_refused_while_it_is_open(start) -> None:
    process = start("verify", "-")
    process.stdin.write(b"y\n" * 1000)
    process.stdin.flush()
    assert process.wait(timeout=60) == 1
    expected = b"seekwarc: <stdin>, offset 0: not a WARC file: found b'y\\ny\\ny\\ny\\n'"
    assert process.stderr.read().startswith(expected)


def test_damage_in_standard_input_is_found(command, damaged) -> None:
    out = command("verify", "-", stdin=damaged.read_bytes(), status=1).out
    assert out == command("verify", damaged, status=1).out.replace(str(damaged), "<stdin>")


def test_damage_is_printed_with_place_and_remedy(command, crawl, damaged) -> None:
    answer = command("verify", damaged, status=1)
    problem, remedy, *summary = answer.out.splitlines()
    put = crawl.film_put
    assert problem.startswith(f"{damaged}: {put.offset}: damage: ")
    assert "http://example.org/film.mp4" in problem
    assert remedy == f"    {REMEDIES['damage']}"
    assert any(line.startswith(f"{damaged}: ") and " lost" in line for line in summary)
    assert answer.stderr == ""


def test_deviations_are_counted_by_kind_with_the_first(command, many_problems) -> None:
    summary, *kinds = command("verify", many_problems).out.splitlines()
    deviations = f"{MANY + 1} deviations of 2 kinds"
    assert summary.startswith(f"{many_problems}: sound, {deviations}: {MANY + 1} records, ")
    assert kinds[0] == (
        f"    {MANY} deviations: frame-checksum, first at 0: the frame has no Content_Checksum"
    )
    assert kinds[1] == f"        {REMEDIES['frame-checksum']}"
    assert kinds[2].startswith("    1 deviation: trailer, first at ")
    assert len(kinds) == 4


def test_deviations_are_a_failure_only_if_strict(command, crawl, many_problems) -> None:
    command("verify", many_problems)
    command("verify", "--strict", many_problems, status=1)
    command("verify", "--strict", crawl.zst)
    assert command("verify", "--strict", "--json", many_problems, status=1).json_lines[-1]["sound"] is True


def test_one_is_never_called_several(command, tmp_path) -> None:
    path = tmp_path / "one.warc.zst"
    path.write_bytes(Foreign().record(b"one", checksum=False).bytes())
    out = command("verify", path).out
    assert f"{path}: sound, 1 deviation of 1 kind: 1 record, " in out
    assert "1 deviation: frame-checksum" in out


@pytest.fixture
def many_damages(tmp_path) -> Path:
    """A file with 25 wrong digests."""
    made = Foreign()
    for number in range(MANY):
        wrong = b"\r\nWARC-Block-Digest: sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ\r\n\r\n"
        made.record(b"%02d" % number, header=warc_header(2).replace(b"\r\n\r\n", wrong))
    path = tmp_path / "damages.warc.zst"
    path.write_bytes(made.bytes())
    return path


def test_ten_damages_of_a_kind_are_printed(command, many_damages) -> None:
    lines = command("verify", many_damages, status=1).out.splitlines()
    assert sum(": damage: WARC-Block-Digest" in line for line in lines) == 10
    assert sum("--all prints it" in line for line in lines) == 1
    assert f"damaged ({MANY} digest): {MANY} records" in lines[-1]


def test_all_are_printed_when_asked_for(command, many_damages, many_problems) -> None:
    lines = command("verify", "--all", many_damages, many_problems, status=1).out.splitlines()
    assert sum(": damage: WARC-Block-Digest" in line for line in lines) == MANY
    assert sum(": deviation: the frame has no Content_Checksum" in line for line in lines) == MANY
    assert not any("--all" in line for line in lines)


def test_quiet_leaves_out_the_summary(command, crawl, many_problems) -> None:
    assert command("verify", "--quiet", crawl.zst).out == ""
    lines = command("verify", "--quiet", many_problems).out.splitlines()
    assert len(lines) == 4
    assert lines[0].startswith(f"{many_problems}: {MANY} deviations: frame-checksum, ")
    assert not any(" records, " in line for line in lines)


def test_json_tells_damage_from_deviations(command, crawl, many_damages, many_problems) -> None:
    answer = command("verify", "--json", crawl.zst, many_damages, many_problems, status=1)
    sound, *damages, damaged, odd = answer.json_lines
    assert sound == {
        "kind": "file",
        "file": str(crawl.zst),
        "target": None,
        "status": "done",
        "error": None,
        "sound": True,
        "compression": "zst",
        "records": 5,
        "digests": 0,
        "tables": 2,
        "stored_size": crawl.zst.stat().st_size,
        "lost": 0,
        "damage": [],
        "deviations": [],
        "limits": [],
    }
    assert len(damages) == MANY, "all of it, without being asked"
    first = damages[0]
    assert first == {
        "kind": "problem",
        "severity": "damage",
        "code": "digest",
        "rule": None,
        "requirement": None,
        "file": str(many_damages),
        "offset": 0,
        "id": first["id"],
        "message": first["message"],
        "remedy": REMEDIES["digest"],
    }
    shared = ("code", "rule", "offset", "id", "message", "remedy")
    assert damaged["sound"] is False
    assert damaged["damage"] == [{"count": MANY, **{name: first[name] for name in shared}}]
    assert damaged["deviations"] == []
    assert (odd["sound"], odd["damage"]) == (True, [])
    assert [(kind["code"], kind["count"]) for kind in odd["deviations"]] == [
        ("frame-checksum", MANY),
        ("trailer", 1),
    ]
    everything = command("verify", "--json", "--all", many_problems).json_lines
    assert [it.get("severity") for it in everything] == ["deviation"] * (MANY + 1) + [None]


def test_several_files_are_checked_in_order(command, crawl, damaged) -> None:
    answer = command("verify", crawl.zst, damaged, crawl.path("warc"), status=1)
    lines = [line for line in answer.out.splitlines() if " records, " in line]
    assert [line.split(": ")[0] for line in lines] == [
        str(crawl.zst),
        str(damaged),
        str(crawl.path("warc")),
    ]


def test_a_table_of_less_than_the_file_is_no_failure(command, tmp_path) -> None:
    path = tmp_path / "a.warc.zst"
    path.write_bytes(Foreign().record(b"one").record(text(9000), cuts=4000, table=True).bytes())
    answer = command("verify", path)
    assert ": the file ends in a seek table" in answer.out
    assert f"{path}: sound, 1 deviation of 1 kind: 2 records, " in answer.out


def test_an_empty_file_and_what_is_no_archive_are_reported(command, tmp_path) -> None:
    for name, data in (("empty", b""), ("page", b"<!doctype html>")):
        path = tmp_path / name
        path.write_bytes(data)
        answer = command("verify", path, status=1)
        assert f"{path}: 0: damage: " in answer.out
        assert REMEDIES["empty"] in answer.out


def test_what_is_hostile_does_nothing_to_the_terminal(command, hostile) -> None:
    for words in ((), ("--json",), ("--all",)):
        answer = command("verify", hostile, *words)
        assert "\x1b" not in answer.out
        assert "\x9b" not in answer.out
        assert "\x07" not in answer.out


def test_shared_frames_are_reported_once(command, tmp_path) -> None:
    path = tmp_path / "a.warc.gz"
    made = Foreign().record(b"one").record(b"two").record(b"three").plain()
    path.write_bytes(Foreign().record(b"", header=made.bytes(), trailer=b"").gzip(trailer=b"").bytes())
    answer = command("verify", "--json", path)
    [summary] = answer.json_lines
    assert [(kind["code"], kind["count"]) for kind in summary["deviations"]] == [("shared", 2)]
    assert summary["records"] == 3
    assert answer.stderr == "", "it is among the problems already"


def test_limits_can_be_given(command, tmp_path) -> None:
    path = tmp_path / "a.warc.zst"
    path.write_bytes(Foreign().record(text(3 << 20), window_log=21).bytes())
    command("verify", path)
    answer = command("verify", path, "--max-window", "1M", status=1)
    assert "1 place above a limit" in answer.out
    assert "--max-window" in answer.out
    assert "damage" not in answer.out
    summary = command("verify", "--json", path, "--max-window", "1M", status=1).json_lines[-1]
    assert (summary["sound"], summary["damage"], summary["lost"]) == (False, [], 0)
    assert [(kind["code"], kind["count"]) for kind in summary["limits"]] == [("limit", 1)]
    path.write_bytes(Foreign().dictionary(compressed=False).record(b"x").bytes())
    command("verify", path)
    assert "--max-dictionary" in command("verify", path, "--max-dictionary", "1K", status=1).out


# What cannot be checked.


def test_files_before_a_missing_one_are_checked(command, crawl, tmp_path) -> None:
    answer = command("verify", crawl.zst, tmp_path / "missing.warc.zst", status=2)
    assert f"{crawl.zst}: sound" in answer.out


@pytest.mark.parametrize(
    "words", [(), ("--json",), ("--none", "x"), ("x", "--max-window", "much")], ids=" ".join
)
def test_wrong_words_are_refused(command, words) -> None:
    stderr = command("verify", *words, status=2).stderr
    assert "see `seekwarc verify --help`" in stderr


def test_a_folder_is_reported(command, tmp_path) -> None:
    assert str(tmp_path) in command("verify", tmp_path, status=2).stderr


# How it runs.


@pytest.mark.slow
def test_problems_are_printed_as_they_are_found(start) -> None:
    printed = threading.Event()

    def held(_: object, answer: rangeserver.Answer) -> rangeserver.Answer:
        assert printed.wait(PATIENT)
        return answer

    made = Foreign().record(b"first", checksum=False)
    for seed in range(12):
        made.record(noise(1 << 20, seed=seed))
    # A mebibyte at a time: the end of the file comes only after the first line was read.
    with rangeserver.RangeServer(made.bytes(), fault=rangeserver.after(12, held)) as server:
        process = start("verify", "--json", "--all", server.url)
        assert json.loads(process.stdout.readline())["code"] == "frame-checksum"
        printed.set()
        assert process.wait(PATIENT) == 0
        assert len(server.asked) > 12


# The profile.


def test_profile_names_the_class_of_a_file(command, crawl) -> None:
    answer = command("verify", "--profile", crawl.zst)
    assert answer.out.splitlines()[1:] == ['    class of writers: "large"']
    assert command("verify", "--profile", "-", stdin=crawl.zst.read_bytes()).out == answer.out.replace(
        str(crawl.zst), "<stdin>"
    )


def test_profile_tells_each_broken_requirement_and_its_place(command) -> None:
    path = SAMPLES / "large-first-header-bare.warc.zst"
    lines = command("verify", "--profile", path, status=1).out.splitlines()
    assert lines[1:] == [
        '    class of writers: none; as "large" it breaks W13',
        "    W13, section A.2: the file's first frame with content holds more than a header",
        "        broken in 1 place, first at 0: the first frame of the file holds a record header alone",
    ]
    assert command("verify", path).status == 0, "it is no damage"


def test_profile_tells_what_should_be_too(command) -> None:
    out = command("verify", "--profile", SAMPLES / "every-dictionary.warc.zst").out
    assert 'class of writers: "every"\n    W32, section A.7 (only a SHOULD)' in out


def test_profile_of_several_files_in_json(command, crawl) -> None:
    path = SAMPLES / "foreign-no-content-size.warc.zst"
    lines = command(
        "verify", "--profile", "--json", crawl.zst, path, crawl.path("warc.gz"), status=1
    ).json_lines
    right, wrong, gz = [line for line in lines if line["kind"] == "file"]
    assert right["profile"] == {"class": "large", "judged_by": "large", "broken": [], "advice": []}
    assert right["status"] == "done"
    assert wrong["profile"]["class"] is None
    [broken] = wrong["profile"]["broken"]
    assert (broken["requirement"], broken["section"], broken["offset"]) == ("W7", "2.3", 0)
    assert broken["count"] > 1
    assert wrong["status"] == "problems"
    assert gz["profile"] is None
    assert "profile" not in command("verify", "--json", path).json_lines[-1]


@pytest.mark.slow
def test_profile_in_other_processes_is_the_same(command) -> None:
    here = command("verify", "--profile", SAMPLES, status=1).out
    there = command("verify", "--profile", SAMPLES, "--jobs", "2", status=1).out
    assert sorted(here.splitlines()) == sorted(there.splitlines())


def test_profile_of_a_missing_file_is_an_error(command, tmp_path) -> None:
    [line] = command("verify", "--profile", "--json", tmp_path / "none.warc.zst", status=2).json_lines
    assert (line["status"], line["profile"]) == ("failed", None)


def test_a_report_is_continued(command, crawl, tmp_path) -> None:
    cut = tmp_path / "cut.warc"
    cut.write_bytes(crawl.path("warc").read_bytes()[:-10])
    report = tmp_path / "report.jsonl"
    words = ("verify", crawl.zst, crawl.path("warc"), cut, "--keep-going", "--report", report)
    assert "2 done, 1 done with problems" in command(*words, status=1).out
    told = [json.loads(line) for line in report.read_bytes().splitlines()]
    assert {it["file"]: it["sound"] for it in told} == {
        str(crawl.zst): True,
        str(crawl.path("warc")): True,
        str(cut): False,
    }
    # A run that was killed leaves half a line.
    report.write_bytes(report.read_bytes() + report.read_bytes()[:50])
    answer = command(*words, status=1)
    assert f"{crawl.zst}: sound, as {report} says\n" in answer.out
    assert "1 done with problems, 2 skipped" in answer.out
    cut.write_bytes(crawl.path("warc").read_bytes())
    assert "3 files: 1 done, 2 skipped" in command(*words).out, "it was mended"
    os.utime(crawl.zst, (0, 0))
    assert "3 files: 1 done, 2 skipped" in command(*words).out, "it was changed"
    assert "3 files: 3 skipped" in command(*words).out
    assert "3 files: 3 skipped" not in command(*words, "--profile", status=1).out, "more is asked"


@pytest.mark.parametrize(
    "line", [b"no json", b"[]", b'{"file": 1, "version": [], "sound": true}', b"[" * 9999]
)
def test_a_report_of_anything_harms_nothing(command, crawl, tmp_path, line) -> None:
    report = tmp_path / "report.jsonl"
    report.write_bytes(line)
    command("verify", crawl.zst, "--report", report)
    assert json.loads(report.read_bytes().splitlines()[-1])["sound"] is True


@pytest.mark.parametrize("line", [b'{"format": "json-pages-1.0"}\n', b"org,e)/ 2026 {}\n", b"\x1f\x8b\x08"])
def test_other_files_are_no_reports(command, crawl, tmp_path, line) -> None:
    (report := tmp_path / "pages.jsonl").write_bytes(line)
    assert "is not a report of `verify`" in command("verify", crawl.zst, "--report", report, status=2).stderr
    assert report.read_bytes() == line


def test_a_report_that_cannot_be_written_is_refused(command, crawl, tmp_path) -> None:
    stderr = command("verify", crawl.zst, "--report", tmp_path / "none" / "x", status=2).stderr
    assert "cannot be written" in stderr


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_missing_file_is_an_error_and_the_others_are_checked(command, crawl, jobs) -> None:
    words = ("verify", "none.warc", crawl.zst, crawl.path("warc"), "--jobs", jobs)
    assert "3 files: 2 done, 1 failed\n    failed: none.warc (io)" in command(*words, status=2).out
