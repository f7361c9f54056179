"""The script spec-notes/conform.py, as the author of another reader runs it."""

from __future__ import annotations

import json
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.support.conformance import READER, make_samples

SCRIPT = ROOT / "spec-notes" / "conform.py"


@dataclass(frozen=True)
class Done:
    out: str
    stderr: str

    @property
    def json_lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture
def start_kit() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start the script without any package, and leave it running; at the end it is killed."""
    started = []

    def start(*words: object, cwd: Path | None = None) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-ES", SCRIPT, *map(str, words)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        started.append(subprocess.Popen(command, cwd=cwd, **pipes))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        with process:
            pass


@pytest.fixture
def kit(start_kit: Callable[..., subprocess.Popen[bytes]]) -> Callable[..., Done]:
    """Run the script, and assert its exit status and that it shows no traceback."""

    def run(*words: object, status: int = 0, cwd: Path | None = None) -> Done:
        process = start_kit(*words, cwd=cwd)
        out, err = process.communicate()
        assert process.returncode == status, err.decode()
        assert b"Traceback" not in err
        return Done(out.decode(), err.decode())

    return run


@pytest.fixture
def samples_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "samples"
    folder.mkdir()
    make_samples(folder)
    return folder


def script(folder: Path, code: str) -> tuple[object, ...]:
    path = folder.parent / "reader.py"
    path.write_text(code)
    return ("--", sys.executable, "-S", path)


@pytest.fixture
def good(samples_folder: Path) -> tuple[object, ...]:
    return script(samples_folder, READER)


def test_a_right_reader_meets_both_classes(kit, samples_folder, good) -> None:
    out = kit(samples_folder, *good).out
    assert out.splitlines()[0].split() == ["SAMPLE", "RECORDS", "RANGES"]
    assert out.splitlines()[1].split() == ["sound.warc.zst", "right", "3", "right"]
    assert out.endswith("class 'reads' is met\n")
    assert kit(samples_folder, "--class", "seeks", *good).out.endswith("class 'seeks' is met\n")


def test_questions_of_a_batch_have_the_same_answers(kit, samples_folder, good) -> None:
    alone = kit(samples_folder, "--class", "seeks", *good).out
    assert kit(samples_folder, "--class", "seeks", "--batch", *good).out == alone


def test_a_reader_that_knows_no_batches_is_told_so(kit, samples_folder) -> None:
    code = "import sys; sys.exit('unknown: ' + sys.argv[1])"
    out = kit(samples_folder, "--batch", *script(samples_folder, code), status=1).out
    assert "    records: wrong: it ended before it had answered: unknown: batch" in out


def test_json_has_an_object_for_each_question_and_the_result(kit, samples_folder, good) -> None:
    *answers, result = kit(samples_folder, "--json", *good).json_lines
    assert [it["question"] for it in answers] == [
        "records",
        *["range"] * 3,
        "records",
        *["range"] * 3,
        "records",
    ]
    assert all(it["kind"] == "answer" and it["allowed"] for it in answers)
    assert answers[1].keys() == answers[0].keys() | {"offset", "start", "end"}
    assert result["kind"] == "result"
    assert (result["class"], result["met"], result["samples"]) == ("reads", True, "1.3")
    assert sum(result["verdicts"].values()) == len(answers) == 9


def test_a_reader_that_lies_is_shown_what_it_said(kit, samples_folder) -> None:
    code = (
        "import sys\nprint('nonsense' if sys.argv[1] == 'records' else '??')\n"
        "print('\\x1b[2J', file=sys.stderr)\nsys.exit(1)"
    )
    lies = script(samples_folder, code)
    done = kit(samples_folder, *lies, status=1)
    out = done.out
    assert "    records: wrong: line 1 does not have the form" in out
    assert "not those of the block" in out
    assert "\x1b" not in out
    assert done.stderr == "conform.py: class 'reads' is not met\n"


def test_not_supported_is_no_crash(kit, samples_folder) -> None:
    out = kit(samples_folder, *script(samples_folder, "import sys; sys.exit(3)"), status=1).out
    assert "ranges of 3 samples: 6 not supported" in out


def test_a_reader_that_hangs_is_ended(kit, samples_folder) -> None:
    hangs = script(samples_folder, "import time; time.sleep(600)")
    out = kit(samples_folder, "--timeout", "0.2", *hangs, status=1).out
    assert "records of 3 samples: 3 timed out" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "required: MANIFEST, COMMAND"),
        (("samples",), "required: COMMAND"),
        (("samples", "--", "no-such-program"), "no-such-program: cannot be run: No such file"),
        (("samples", "--", "samples"), "samples: cannot be run: "),
        (("missing", "--", "true"), "missing: cannot be read"),
        (("samples/sound.warc.zst", "--", "true"), "not a manifest"),
        (("samples", "--timeout", "0", "--", "true"), "'0' is not a number of seconds"),
        (("samples", "--timeout", "nan", "--", "true"), "'nan' is not a number of seconds"),
        (("samples", "--class", "writes", "--", "true"), "invalid choice: 'writes'"),
        (("samples", "--jobs", "0", "--", "true"), "'0' is not a number from 1 to 256"),
    ],
)
def test_wrong_usage_is_explained(samples_folder, words, message, monkeypatch, capsys) -> None:
    monkeypatch.chdir(samples_folder.parent)
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *words])
    with pytest.raises(SystemExit) as stop:
        runpy.run_path(str(SCRIPT), run_name="__main__")
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def test_a_broken_manifest_is_told_with_the_place(kit, samples_folder, good) -> None:
    manifest = json.loads((samples_folder / "manifest.json").read_text())
    manifest["files"][1]["size"] = "large"
    (samples_folder / "manifest.json").write_text(json.dumps(manifest))
    failed = kit(samples_folder, "--json", *good, status=2)
    assert "files[1].size is not an integer" in failed.stderr
    [failure] = failed.json_lines
    assert (failure["status"], failure["error"]["kind"]) == ("failed", "usage")
    assert "files[1].size is not an integer" in failure["error"]["message"]


@pytest.mark.posix
@pytest.mark.parametrize("sent", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_interrupting_ends_the_reader(start_kit, samples_folder, sent) -> None:
    """The reader holds a pipe, whose end shows that no process has it any more."""
    pipe = samples_folder.parent / "pipe"
    os.mkfifo(pipe)
    code = (
        f"import signal, time\nsignal.signal(2, signal.SIG_IGN)\nheld = open({str(pipe)!r}, 'wb', 0)\n"
        "held.write(b'x')\ntime.sleep(600)\n"
    )
    hangs = script(samples_folder, code)
    process = start_kit(samples_folder, "--timeout", "500", "--jobs", "1", *hangs)
    with pipe.open("rb") as held:
        assert held.read(1) == b"x"
        process.send_signal(sent)
        assert process.wait(60) == 128 + sent
        assert held.read() == b""
    assert process.stderr.read() == b"conform.py: stopped\n"


def test_the_command_says_where_the_script_is(run_main, capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        run_main("conform", "samples", "--", "true")
    assert ended.value.code == 2
    assert "spec-notes/conform.py" in capsys.readouterr().err


@pytest.mark.posix
def test_progress_is_shown_on_a_terminal(samples_folder, good) -> None:
    terminal, end = os.openpty()
    command = [sys.executable, "-ES", SCRIPT, samples_folder, *good]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=end, check=False)
    shown = os.read(terminal, 1 << 16)
    os.close(end)
    os.close(terminal)
    assert done.returncode == 0
    assert b"asking: 9/9 " in shown


@pytest.mark.posix
def test_a_closed_pipe_ends_it_quietly(start_kit, samples_folder, good) -> None:
    process = start_kit(samples_folder, "--json", *good)
    process.stdout.close()
    assert process.wait(60) in (0, 141)
    assert process.stderr.read() == b""
