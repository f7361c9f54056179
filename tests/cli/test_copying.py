"""A verb that decides about records, in forty lines: all that others do, it does as well."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.cli import main
from seekwarc.cli.verbs import VERBS, Verb
from tests.support import tenth
from tests.support.days import day_of
from tests.support.processes import PATIENT, wait_until
from tests.support.writing import noise

VERB = Verb("tenth", "change", "keep every tenth capture", home="tests.support.tenth")
LAUNCHER = """
from seekwarc.cli import main
from seekwarc.cli.verbs import VERBS, Verb
VERBS["tenth"] = Verb("tenth", "change", "keep every tenth capture", home="tests.support.tenth")
raise SystemExit(main())
"""


@pytest.fixture(autouse=True)
def verb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(VERBS, "tenth", VERB)


@pytest.fixture
def crawls(tmp_path: Path) -> Path:
    folder = tmp_path / "crawls"
    folder.mkdir()
    for day in (1, 2):
        day_of(folder / f"{day}.warc.zst", day, *(noise(200, seed=n) for n in range(25)))
    return folder


def ids(*paths: Path) -> list[str | None]:
    return [record.id for path in paths for record in seekwarc.open(path)]


EXPECTED = ["urn:x:1-0", "urn:x:1-10", "urn:x:1-20", "urn:x:2-5", "urn:x:2-15"]


def test_it_is_forty_lines_at_most() -> None:
    tree = ast.parse(Path(tenth.__file__).read_text(encoding="utf-8"))
    last = {line for node in tree.body[1:] for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    lines = Path(tenth.__file__).read_text(encoding="utf-8").splitlines()
    assert sum(bool(lines[number - 1].strip()) for number in last) <= 40


def test_what_is_decided_is_written(crawls: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = tmp_path / "new.warc.zst"
    assert main(["tenth", str(crawls), "-o", str(new), "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert ids(new) == EXPECTED
    assert (done["files"], done["records"]) == ([str(it) for it in sorted(crawls.iterdir())], 50)
    assert (done["dropped"], done["status"], done["passed_over"]) == ({"not a tenth": 45}, "done", [])
    assert done["target_size"] == new.stat().st_size
    assert tools.verify(new).is_sound


def test_each_file_becomes_one(crawls: Path, tmp_path: Path) -> None:
    new = tmp_path / "new"
    assert main(["tenth", str(crawls), "--to-dir", str(new)]) == 0
    assert ids(*sorted(new.iterdir())) == EXPECTED


def test_a_dry_run_writes_nothing(crawls: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tenth", str(crawls), "--dry-run"]) == 0
    assert capsys.readouterr().out == "50 records, 45 of them left out\n"
    assert os.listdir(tmp_path) == ["crawls"]


def test_what_exists_is_refused_unless_forced(crawls: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.warc.zst"
    new.write_bytes(b"mine")
    assert main(["tenth", str(crawls), "-o", str(new)]) == 2
    assert new.read_bytes() == b"mine"
    assert main(["tenth", str(crawls), "-o", str(new), "--force"]) == 0
    assert ids(new) == EXPECTED


@pytest.mark.parametrize("jobs", [1, 2])
def test_damage_is_left_out_and_said(
    jobs: int, crawls: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = bytearray((crawls / "1.warc.zst").read_bytes())
    with seekwarc.open(bytes(data)) as archive:
        place = list(archive)[10].offset
    data[place + 60] ^= 1
    (crawls / "1.warc.zst").write_bytes(data)
    new = tmp_path / "new.warc.zst"
    assert main(["tenth", str(crawls), "-o", str(new), "--json", "--jobs", str(jobs)]) == 1
    answer = capsys.readouterr()
    assert json.loads(answer.out)["damaged"] == [{"file": str(crawls / "1.warc.zst"), "offset": place}]
    assert "left out" in answer.err
    assert len(ids(new)) == 5
    assert "urn:x:1-10" not in ids(new)


def test_files_that_are_no_archives_stop_it_or_are_passed_over(crawls: Path, tmp_path: Path) -> None:
    (crawls / "0.warc.zst").write_bytes(b"no archive")
    new = tmp_path / "new.warc.zst"
    assert main(["tenth", str(crawls), "-o", str(new)]) == 1
    assert not new.exists()
    assert main(["tenth", str(crawls), "-o", str(new), "--keep-going"]) == 1
    assert ids(new) == EXPECTED


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_nothing(crawls: Path, tmp_path: Path, number: int, status: int) -> None:
    (tmp_path / "out").mkdir()
    # A pipe that nobody writes to: it waits there, in the midst of its work.
    pipe = tmp_path / "pipe.warc.zst"
    os.mkfifo(pipe)
    words = ["tenth", str(crawls), str(pipe), "-o", str(tmp_path / "out" / "new.warc.zst")]
    process = subprocess.Popen([sys.executable, "-c", LAUNCHER, *words], stderr=subprocess.PIPE)
    opened: list[int] = []

    def is_waiting() -> bool:
        with suppress(OSError):  # Until somebody has opened the pipe to read it.
            opened.append(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        return bool(opened) or process.poll() is not None

    wait_until(is_waiting)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=PATIENT)
    for it in opened:
        os.close(it)
    assert (process.returncode, stderr) == (status, b"seekwarc: stopped\n")
    assert os.listdir(tmp_path / "out") == []
