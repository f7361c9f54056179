"""A progress bar changes nothing of what is done: the same requests with and without one."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from seekwarc.cli import main, progress
from seekwarc.cli.progress import advancing, watch
from seekwarc.storage.local import BytesSource
from tests.cli.conftest import Answer, Crawl, run_on_terminal
from tests.support.foreign import Foreign, text
from tests.support.rangeserver import RangeServer
from tests.support.rounds import one_in

pytestmark = pytest.mark.needs("module:obstore")

VERBS = {
    "verify URL": b"verifying",
    "index URL -o NEW.cdxj": b"crawl",
    "convert URL NEW.warc.gz": b"converting",
    "concat URL -o NEW.warc.zst": b"joining",
    "dedupe URL -o NEW.warc.zst": b"",
    "split URL -o NEW --records 2": b"splitting",
    "dictionary train URL -o NEW.dictionary": b"sampling",
    "recover URL NEW.warc.zst": b"recovering",
    "extract URL -o NEW": b"",
}
"""What is run, and what its progress bar says."""


@pytest.fixture
def server(crawl: Crawl) -> Iterator[RangeServer]:
    """The crawl, with pages enough to train a dictionary from."""
    made = Foreign()
    made.data += crawl.zst.read_bytes()
    for number in range(300):
        made.record(text(3000, seed=number))
    with RangeServer(made.bytes()) as it:
        yield it


def asked(server: RangeServer) -> list[str]:
    """Return the ranges that were asked for; those asked for at the same time come in any order."""
    ranges = sorted(it.range or "all" for it in server.asked)
    server.forget()
    return ranges


@pytest.mark.posix
@pytest.mark.parametrize("words", one_in(5, VERBS))
def test_requests_are_the_same_with_a_progress_bar(
    words: str, server: RangeServer, tmp_path: Path, command
) -> None:
    def words_for(name: str) -> list[str]:
        return words.replace("URL", server.url).replace("NEW", str(tmp_path / name)).split()

    plain: Answer = command(*words_for("plain"))
    assert plain.stderr == "" or "%" not in plain.stderr
    without = asked(server)
    status, shown = run_on_terminal(*words_for("shown"))
    assert status == 0, shown.decode()
    assert b"B/s" in shown, "progress is shown"
    assert VERBS[words] in shown
    assert b"Traceback" not in shown
    assert not shown.rpartition(b"\r")[2].strip(), "the bar is taken away at the end"
    assert asked(server) == without


@pytest.mark.posix
def test_tables_read_first_are_no_progress(server: RangeServer, tmp_path: Path) -> None:
    server.latency = 0.15  # Longer than the bar takes to be drawn again.
    status, shown = run_on_terminal("convert", server.url, tmp_path / "new.warc.gz")
    assert status == 0
    shares = [int(word) for word in re.findall(rb"converting: +(\d+)%", shown)]
    assert shares == sorted(shares)
    assert shares[0] < 50
    assert shares[-1] == 100


def test_with_quiet_nothing_is_watched() -> None:
    source = BytesSource(b"x")
    assert watch(argparse.Namespace(quiet=True))(source, "reading") is source


# Without a terminal.


class Clock:
    """A clock that goes on by some seconds whenever it is looked at."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, step: float = 0.0) -> None:
        self.now, self.step = 1000.0, step
        monkeypatch.setattr(progress, "monotonic", self)

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def test_a_line_a_minute_says_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock(monkeypatch)
    with advancing(argparse.Namespace(quiet=False), "3 files", 8 << 20) as advance:
        for _ in range(8):
            clock.now += 25
            advance(1 << 20)
    assert capsys.readouterr().err.splitlines() == [
        "seekwarc: 3 files: 3.0 MiB of 8.0 MiB (38%) after 75 s",
        "seekwarc: 3 files: 6.0 MiB of 8.0 MiB (75%) after 2 min",
    ]


@pytest.mark.parametrize(
    "words", [("convert", "FILE", "NEW"), ("convert", "-n", "FILE", "NEW"), ("verify", "FILE")]
)
def test_what_took_long_ends_with_its_rate(
    words: tuple[str, ...],
    crawl: Crawl,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = {"FILE": str(crawl.path("warc.gz")), "NEW": str(tmp_path / "new.warc.zst")}
    words = tuple(names.get(it, it) for it in words)
    Clock(monkeypatch, step=7)
    assert main([*words, "--jobs", "1"]) == 0
    said = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"seekwarc: 1\.[0-9] MiB in [0-9]+ s, [0-9.]+ KiB/s", said[-1]), said
    for path in tmp_path.iterdir():
        path.unlink()
    assert main([*words, "--jobs", "1", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_what_was_quick_ends_without_a_rate(crawl: Crawl, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(crawl.zst)]) == 0
    assert capsys.readouterr().err == ""


def test_what_is_read_to_be_checked_does_not_count(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock(monkeypatch)
    options = argparse.Namespace(quiet=False)
    for label in ("converting", "checking"):
        watch(options)(BytesSource(bytes(1 << 20)), label).read(0, 1 << 20)
    clock.now += 16
    options.meter.end()
    assert capsys.readouterr().err == "seekwarc: 1.0 MiB in 16 s, 64.0 KiB/s\n"
