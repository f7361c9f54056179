"""A progress bar changes nothing of what is done: the same requests with and without one."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from seekwarc.cli.progress import watch
from seekwarc.storage.local import BytesSource
from tests.cli.conftest import Answer, Crawl, run_on_terminal
from tests.support.foreign import Foreign, text
from tests.support.rangeserver import RangeServer
from tests.support.rounds import one_in

pytestmark = pytest.mark.needs("module:obstore")

VERBS = {
    "verify": ("verify", "URL"),
    "index": ("index", "URL", "-o", "NEW.cdxj"),
    "convert": ("convert", "URL", "NEW.warc.gz"),
    "concat": ("concat", "URL", "-o", "NEW.warc.zst"),
    "dedupe": ("dedupe", "URL", "-o", "NEW.warc.zst"),
    "split": ("split", "URL", "-o", "NEW", "--records", "2"),
    "train": ("dictionary", "train", "URL", "-o", "NEW.dictionary"),
    "recover": ("recover", "URL", "NEW.warc.zst"),
}


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


@pytest.mark.one_in(3)
@pytest.mark.posix
@pytest.mark.parametrize("words", one_in(4, VERBS.values()), ids=VERBS)
def test_requests_are_the_same_with_a_progress_bar(
    words: tuple[str, ...], server: RangeServer, tmp_path: Path, command
) -> None:
    def words_for(name: str) -> list[str]:
        target = str(tmp_path / name)
        return [word.replace("URL", server.url).replace("NEW", target) for word in words]

    plain: Answer = command(*words_for("plain"))
    assert plain.stderr == "" or "%" not in plain.stderr
    without = asked(server)
    status, shown = run_on_terminal(*words_for("shown"))
    assert status == 0, shown.decode()
    assert b"B/s" in shown, "progress is shown"
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


def test_without_a_terminal_nothing_is_watched() -> None:
    source = BytesSource(b"x")
    assert watch(argparse.Namespace())(source, "reading") is source
