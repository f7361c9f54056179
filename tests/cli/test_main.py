"""The command itself: verbs, help, exit statuses, warnings, pipes that close, errors of the system."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path

import pytest

import seekwarc
from seekwarc.cli.verbs import GROUPS, RENAMED, VERBS
from seekwarc.frames.codec import LIBRARY
from tests.support.foreign import Foreign, gzip_member, warc_header
from tests.support.processes import PATIENT
from tests.support.rounds import one_in


def test_the_version_is_the_packages(command) -> None:
    kind = "compiled" if seekwarc.__compiled__ else "pure Python"
    first, *rest = command("--version").out.splitlines()
    assert first == f"seekwarc {seekwarc.__version__} ({kind}; {LIBRARY.NAME})"
    assert len(rest) == (not seekwarc.__compiled__)


@pytest.mark.parametrize("words", [("--help",), ("-h",)])
def test_help_lists_every_verb_and_the_exit_statuses(command, words) -> None:
    out = command(*words).out
    assert all(f"  {verb} " in out for verb in VERBS)
    assert "exit status" in out


def test_without_arguments_three_first_commands_are_shown(command) -> None:
    out = command().out
    shown = [line.split()[:2] for line in out.splitlines() if line.startswith("  seekwarc ")]
    assert shown == [["seekwarc", "demo"], ["seekwarc", "convert"], ["seekwarc", "serve"]]
    assert "seekwarc --help" in out


@pytest.mark.parametrize("verb", ["ls", "info", "verify"])
def test_a_name_that_begins_with_a_minus_follows_two(command, crawl, tmp_path, verb) -> None:
    (tmp_path / "-dash.warc.zst").write_bytes(crawl.zst.read_bytes())
    dashed = command(verb, "--", "-dash.warc.zst", cwd=tmp_path).out
    assert dashed == command(verb, "./-dash.warc.zst", cwd=tmp_path).out.replace("./", "")


@pytest.mark.parametrize("verb", one_in(4, VERBS))
def test_every_verb_has_help_of_its_own(command, verb) -> None:
    # Started by itself: a verb must not need what another has imported.
    done = subprocess.run([sys.executable, "-m", "seekwarc", verb, "--help"], capture_output=True, check=True)
    assert f"usage: seekwarc {verb}" in done.stdout.decode()
    assert (done.stdout, done.stderr) == (command(verb, "--help").stdout, b"")


def test_every_file_of_a_verb_is_listed() -> None:
    folder = Path(seekwarc.__file__).parent / "cli"
    files = {path.stem for path in folder.glob("*.py")} - {
        "__init__",
        "addresses",
        "advice",
        "arguments",
        "batch",
        "beside",
        "copying",
        "estimates",
        "options",
        "passing",
        "payloads",
        "printing",
        "progress",
        "records",
        "selecting",
        "sidecar",
        "sizes",
        "spools",
        "targets",
        "text_index",
        "train",
        "verbs",
    }
    assert files == set(VERBS)


@pytest.mark.parametrize(("old", "new"), RENAMED.items())
def test_an_old_name_is_refused_with_the_new_command(command, old, new) -> None:
    told = command(*old.split(), "crawl.warc.zst", status=2).stderr
    assert told == f"seekwarc: `seekwarc {old}` is now `{new}`\n"
    assert f"\n  {old} " not in command("--help").out


def test_help_lists_verbs_in_groups(command) -> None:
    out = command("--help").out
    assert re.findall(r"^([a-z ]+):$", out, re.MULTILINE) == ["options", *GROUPS]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--json ls x", "--json goes after the verb: seekwarc ls --json x"),
        ("--jobs 4 verify x --all", "--jobs goes after the verb: seekwarc verify --jobs 4 x --all"),
        ("--range=0-9 cat x", "--range goes after the verb: seekwarc cat --range=0-9 x"),
        ("--frobnicate", "unknown option --frobnicate; see `seekwarc --help`"),
    ],
)
def test_an_option_before_the_verb_is_wrong_usage(command, words, told) -> None:
    assert command(*words.split(), status=2).stderr == f"seekwarc: {told}\n"


def test_an_unknown_verb_is_wrong_usage(command) -> None:
    told = command("frobnicate", status=2).stderr
    assert told == "seekwarc: unknown verb 'frobnicate'; see `seekwarc --help`\n"


def test_damage_is_reported_with_the_way_out(command, crawl, tmp_path) -> None:
    data = crawl.zst.read_bytes()
    (tmp_path / "cut.warc.zst").write_bytes(data[: len(data) // 2])
    told = command("convert", tmp_path / "cut.warc.zst", tmp_path / "new.warc.zst", status=1).stderr
    assert "`seekwarc recover FILE NEW.warc.zst`" in told


@pytest.mark.parametrize(
    "words",
    [("convert", "{}", "--to-dir"), ("split", "{}", "--size", "1M", "-o"), ("extract", "{}", "-o")],
    ids=lambda words: words[0],
)
def test_a_url_is_refused_where_many_files_are_made(command, crawl, words) -> None:
    words = [word.format(crawl.zst) for word in words]
    told = command(*words, "s3://bucket/new.warc.zst", status=2).stderr
    assert "s3://bucket/new.warc.zst: must be a path on this machine, not a URL" in told


@pytest.mark.parametrize("words", [("convert", "{}"), ("pack", "{}", "-o")], ids=lambda words: words[0])
def test_a_web_server_cannot_be_written_to(command, crawl, words) -> None:
    words = [word.format(crawl.zst) for word in words]
    told = command(*words, "https://example.org/new.warc.zst", status=2).stderr
    assert (
        "https://example.org/new.warc.zst: a web server cannot be written to; name an object by s3://" in told
    )


def test_the_installed_script_does_the_same(command) -> None:
    script = Path(sysconfig.get_path("scripts"), "seekwarc")
    if not script.exists():
        pytest.skip("seekwarc is not installed, only on the path")
    done = subprocess.run([script, "--version"], capture_output=True, check=True)
    assert done.stdout == command("--version").stdout


READING = [("ls",), ("info",), ("cat", "0"), ("convert", "out.warc.zst")]


def words_with(words: tuple[str, ...], path: object) -> tuple[object, ...]:
    return (words[0], path, *words[1:])


@pytest.mark.parametrize("words", READING)
def test_a_missing_file_is_an_error_of_use(command, tmp_path, words) -> None:
    stderr = command(*words_with(words, "not-there.warc.zst"), status=2, cwd=tmp_path).stderr
    assert "not-there.warc.zst" in stderr
    assert "No such file" in stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("words", READING)
def test_a_folder_is_no_file(command, tmp_path, words) -> None:
    folder = tmp_path / "folder.warc.zst"
    folder.mkdir()
    assert str(folder) in command(*words_with(words, folder), status=2, cwd=tmp_path).stderr


JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01" + bytes(100)
STRANGE = {
    "empty": b"",
    "one byte": b"W",
    "jpeg": JPEG,
    "random": bytes(range(7, 256)) * 9,
    "text": b"WARC is a file format.\n" * 40,
    "header only": warc_header(100)[:-2],
    "gzip magic": b"\x1f\x8b",
    "zstd magic": b"\x28\xb5\x2f\xfd",
    "gzip of text": gzip_member(b"some text, and no record\n" * 10),
    "zeros": bytes(1000),
}


@pytest.mark.parametrize("words", READING)
@pytest.mark.parametrize("kind", STRANGE)
def test_what_is_not_a_warc_file_is_reported_as_such(command, tmp_path, words, kind) -> None:
    path = tmp_path / "strange.warc.zst"
    path.write_bytes(STRANGE[kind])
    stderr = command(*words_with(words, path), status=1, cwd=tmp_path).stderr
    assert str(path) in stderr
    assert stderr.count("\n") == 1, "one line, not more"
    assert os.listdir(tmp_path) == ["strange.warc.zst"]


def test_an_empty_file_is_called_empty(command, tmp_path) -> None:
    path = tmp_path / "nothing.warc.gz"
    path.touch()
    assert f"{path}, offset 0: the file is empty" in command("ls", path, status=1).stderr


def test_a_file_that_breaks_rules_gives_a_warning(command, tmp_path) -> None:
    made = Foreign().record(b"first").record(b"second").record(b"third").plain()
    path = tmp_path / "single.warc.gz"
    path.write_bytes(gzip_member(made.bytes()))
    answer = command("ls", path)
    assert answer.stderr.startswith(f"seekwarc: warning: {path}, offset 0: several records share")
    assert answer.stderr.count("\n") == 1
    assert answer.out.count("\n") == 4


@pytest.mark.one_in(3)
@pytest.mark.parametrize("words", [("cat", "--uri", "http://example.org/film.mp4"), ("convert", "-")])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_closed_pipe_ends_other_verbs_as_quietly(crawl, words, unbuffered) -> None:
    verb, *more = words
    command = " ".join([sys.executable, "-m seekwarc", verb, str(crawl.zst), *more])
    script = f"{command} | head -c 10 | wc -c; echo ${{PIPESTATUS[0]}}"
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True, env=environment)
    assert b"Traceback" not in done.stderr
    assert done.stdout.split() == [b"10", b"141"]


def test_a_closed_standard_output_is_no_traceback(crawl) -> None:
    script = f"{sys.executable} -m seekwarc ls {crawl.zst} >&-"
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=False)
    assert b"Traceback" not in done.stderr
    assert done.returncode == 2


def test_a_closed_standard_error_sends_no_message_elsewhere(crawl) -> None:
    script = f"{sys.executable} -m seekwarc cat {crawl.zst} --id none 2>&-"
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=False)
    assert done.stdout == b""
    assert done.returncode == 1


@pytest.mark.parametrize("words", ["convert {crawl} new.warc.gz", "pack {crawl} -o new.warc.zst"])
def test_without_standard_error_files_are_written_all_the_same(crawl, tmp_path, words) -> None:
    script = f"{sys.executable} -m seekwarc {words.format(crawl=crawl.zst)} 2>&-"
    subprocess.run(["bash", "-c", script], check=True, cwd=tmp_path, stdout=subprocess.DEVNULL)
    assert len(os.listdir(tmp_path)) == 1


@pytest.mark.parametrize("words", ["ls -", "info -", "convert - new.warc.gz"])
def test_a_closed_standard_input_is_reported(tmp_path, words) -> None:
    script = f"{sys.executable} -m seekwarc {words} <&-"
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=False, cwd=tmp_path)
    assert b"Traceback" not in done.stderr
    assert b"standard input" in done.stderr
    assert done.returncode == 2
    assert os.listdir(tmp_path) == []


def test_a_full_disk_never_cuts_a_payload_in_silence(crawl, small_disk) -> None:
    for unbuffered in ("", "1"):
        environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
        command = [sys.executable, "-m", "seekwarc", "cat", crawl.zst, "--uri", "http://example.org/film.mp4"]
        with (small_disk / "film.mp4").open("wb") as film:
            done = subprocess.run(command, stdout=film, stderr=subprocess.PIPE, check=False, env=environment)
        assert b"No space left on device" in done.stderr
        assert done.returncode == 2


def test_a_terminal_that_knows_ascii_only_is_no_traceback(command, crawl) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    command("info", crawl.zst, "--uri", "http://example.org/film.mp4", env=environment)


def test_main_returns_the_exit_status(run_main, crawl, capsys) -> None:
    assert run_main("ls", crawl.zst) == 0
    assert run_main("ls", "not-there.warc") == 2
    assert run_main("cat", crawl.zst, "--id", "urn:none") == 1
    assert "not-there.warc" in capsys.readouterr().err


@pytest.mark.posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_comes_while_something_is_taken_away_stops_all_the_same(number: int) -> None:
    script = f"""
        import os, sys, time, types
        import seekwarc.cli

        class Last:
            def __del__(self):
                os.kill(os.getpid(), {int(number)})
                for _ in range(1000):
                    pass

        def run(options):
            last = Last()
            del last
            time.sleep(600)

        sys.modules["seekwarc.cli.ls"] = types.SimpleNamespace(add_arguments=lambda _: None, run=run)
        sys.exit(seekwarc.cli.main(["ls"]))
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENT)
    assert (done.returncode, done.stderr) == (128 + number, "seekwarc: stopped\n")


@pytest.mark.posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_after_one_that_was_lost_stops_the_command(number: int) -> None:
    script = f"""
        import os, sys, time, types
        import seekwarc.cli

        def run(options):
            for _ in range(2):
                try:
                    os.kill(os.getpid(), {int(number)})
                    time.sleep(600)
                except BaseException as error:
                    last = error
            raise last

        sys.modules["seekwarc.cli.ls"] = types.SimpleNamespace(add_arguments=lambda _: None, run=run)
        sys.exit(seekwarc.cli.main(["ls"]))
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENT)
    assert (done.returncode, done.stderr) == (128 + number, "seekwarc: stopped\n")


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps a folder that is in use")
def test_a_current_folder_that_was_removed_is_not_called_standard_output(
    run_main, capfd, crawl, tmp_path, monkeypatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert run_main("convert", str(crawl.zst), "-o", "new.warc.gz") == 2
    said = capfd.readouterr().err
    assert said == "seekwarc: the current folder was removed: change to another one\n"
    assert run_main("convert", str(crawl.zst), "-o", str(tmp_path / "new.warc.gz")) == 0
    monkeypatch.chdir(tmp_path)
