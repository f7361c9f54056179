"""An interruption of a writer anywhere leaves each written record in the file, completely and once."""

from __future__ import annotations

import gc
import io
import os
import random
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import seekwarc
from tests.support.failing import Interrupter, SignalPlaces, found_in
from tests.support.rounds import rounds
from tests.support.writing import KIB, URI, noise, text

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few_objects")]

ROOT = Path(__file__).parents[2]
FRAME = 64 * KIB
MAX = 400 * KIB
SMALL = [text(3000, seed=number) for number in range(12)]
LARGE = [noise(150_000, seed=1), text(400_000, seed=2)]
SEGMENTED = noise(900_000, seed=3)


def crawl(target: Path, done: list[bytes], *, series: bool, threads: int) -> None:
    """Write records; each is noted once its method has returned."""
    options = {"max_file_size": MAX} if series else {}
    with seekwarc.open(target, "w", frame_size=FRAME, threads=threads, **options) as writer:
        for number, block in enumerate([*SMALL, *LARGE, *SMALL[:4], SEGMENTED, *SMALL]):
            # Some are of known length, some are spooled first.
            given = io.BytesIO(block) if number % 3 == 0 else block
            writer.write_resource(URI, given, "text/plain")
            done.append(block)
            if number == 5:
                writer.flush()


# What is interrupted while it is made cannot be closed by anything but its destructor.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("series", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_anywhere_keeps_what_was_written(series: bool, threads: int, tmp_path: Path) -> None:
    # Twice: the first time, modules are imported.
    for name in ("first", "whole"):
        (tmp_path / name).mkdir()
        with Interrupter(None) as lines:
            crawl(tmp_path / name / "a.warc.zst", [], series=series, threads=threads)
    chance = random.Random(f"{series} {threads}")
    last, tries, interrupted = lines.passed - 50, 0, 0
    # What happens at the end of a record, a file and the whole is rare, and where it is difficult.
    while interrupted < 25:
        place = chance.randrange(150, last)
        tries += 1
        folder = tmp_path / str(tries)
        folder.mkdir()
        done: list[bytes] = []
        try:
            with Interrupter(place) as lines:
                crawl(folder / "a.warc.zst", done, series=series, threads=threads)
        except KeyboardInterrupt:
            interrupted += 1
        else:
            # A run may pass some lines fewer than the one before, but no interruption is lost.
            assert lines.passed < place
            last = lines.passed
        assert [name for name in os.listdir(folder) if name.endswith(".open")] == [], place
        found = found_in(folder)
        assert found[: len(done)] == done, place
        assert len(found) <= len(done) + 1, place
    assert tries < 50


def short_crawl(target: Path, done: list[bytes], *, series: bool) -> None:
    options = {"max_file_size": MAX} if series else {}
    with seekwarc.open(target, "w", frame_size=FRAME, threads=1, **options) as writer:
        for block in (SMALL[0], LARGE[0], SMALL[1]):
            writer.write_resource(URI, block, "text/plain")
            done.append(block)


# What is interrupted while it is made cannot be closed by anything but its destructor.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("series", [False, True])
def test_ctrl_c_while_a_file_is_opened_or_closed_leaves_none_unfinished(series: bool, tmp_path: Path) -> None:
    """The one place where no code of a writer can help: `__exit__` was called, and has not begun."""
    for name in ("first", "whole"):
        (tmp_path / name).mkdir()
        with SignalPlaces(None) as all_places:
            short_crawl(tmp_path / name / "a.warc.zst", [], series=series)
    places = random.Random(str(series)).sample(range(1, all_places.passed), rounds(300))
    last = range(max(all_places.passed - 40, 1), all_places.passed)
    for place in sorted({*places, *range(1, 40), *last}):
        folder = tmp_path / str(place)
        folder.mkdir()
        done: list[bytes] = []
        with SignalPlaces(place) as interrupter:
            try:
                short_crawl(folder / "a.warc.zst", done, series=series)
            except KeyboardInterrupt:
                interrupted = True
            else:
                interrupted = False
        gc.collect()
        if interrupter.where == ("Writer.__exit__", True):
            continue
        assert interrupted or interrupter.passed < place
        assert [name for name in os.listdir(folder) if name.endswith((".open", ".partial"))] == [], place
        found = found_in(folder)
        assert found[: len(done)] == done, (place, interrupter.where)
        assert len(found) <= len(done) + 1, place


CRAWL = """
import os, signal, sys
import seekwarc
from tests.support.rounds import rounds
from tests.support.writing import noise

if sys.argv[2] == "exits":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
with seekwarc.open(sys.argv[1], "w", frame_size=65536, max_file_size=400_000) as writer:
    for number in range(10**6):
        writer.write_resource(f"urn:x:{number}", noise(30_000, seed=number % 50), "text/plain")
        if number % 5 == 0:
            writer.flush()
            print(number + 1, flush=True)
"""


@pytest.mark.parametrize(
    ("number", "how", "unfinished"),
    [(signal.SIGKILL, "dies", 1), (signal.SIGTERM, "dies", 1), (signal.SIGTERM, "exits", 0)],
)
def test_a_stopped_crawl_is_continued(number: int, how: str, unfinished: int, tmp_path: Path) -> None:
    target = tmp_path / "crawl.warc.zst"
    command = [sys.executable, "-c", CRAWL, str(target), how]
    flushed = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        while flushed < 30:
            flushed = int(process.stdout.readline())
        process.send_signal(number)
        for line in process.stdout:
            flushed = int(line)
    assert process.returncode == (7 if how == "exits" else -number)
    assert sum(name.endswith(".open") for name in os.listdir(tmp_path)) == unfinished
    with pytest.raises(seekwarc.TargetExistsError, match=r'mode "a"'):
        seekwarc.open(target, "w", max_file_size=400_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", seekwarc.FormatWarning)
        with seekwarc.open(target, "a", frame_size=FRAME, max_file_size=400_000, repair=True) as writer:
            for _ in range(20):
                writer.write_resource("urn:x:new", noise(30_000), "text/plain")
    names = sorted(path.name for path in tmp_path.iterdir() if ".torn-" not in path.name)
    assert names == [f"crawl-{place:05}.warc.zst" for place in range(len(names))]
    uris = []
    for name in names:
        assert (tmp_path / name).stat().st_size <= 400_000
        with seekwarc.open(tmp_path / name) as archive:
            records = list(archive)
        assert [record.type for record in records].count("warcinfo") == 1
        uris += [record.target_uri for record in records if record.type != "warcinfo"]
    old = len(uris) - 20
    assert old >= flushed
    assert uris == [f"urn:x:{place}" for place in range(old)] + ["urn:x:new"] * 20


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, SystemExit])
def test_an_exception_keeps_the_records_and_names_the_file(
    error: type[BaseException], tmp_path: Path
) -> None:
    path = tmp_path / "a.warc.zst"
    with pytest.raises(error) as raised, seekwarc.open(path, "w") as writer:
        for number in range(1000):
            writer.write_resource(f"urn:x:{number}", b"x", "text/plain")
        raise error
    assert raised.value.__notes__ == [f"{path}: kept with 1000 complete records"]
    with seekwarc.open(path) as archive:
        assert len(list(archive)) == 1000


def test_a_record_with_a_failing_stream_is_not_in_the_file(tmp_path: Path) -> None:
    class Failing(io.RawIOBase):
        left = 40

        def read(self, size: int = -1) -> bytes:
            self.left -= 1
            if not self.left:
                raise ConnectionError
            return b"x" * min(size, 10_000)

    path = tmp_path / "a.warc.zst"
    with pytest.raises(ConnectionError), seekwarc.open(path, "w", frame_size=FRAME) as writer:
        writer.write_resource("urn:x:1", b"before", "text/plain")
        writer.write_resource("urn:x:2", Failing(), "text/plain", length=10**6)
    with seekwarc.open(path) as archive:
        assert [record.target_uri for record in archive] == ["urn:x:1"]


def test_an_exception_before_the_first_record_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError) as raised, seekwarc.open(tmp_path / "a.warc.zst", "w"):
        raise ZeroDivisionError
    assert "no record was complete" in raised.value.__notes__[0]
    assert os.listdir(tmp_path) == []


def test_discard_leaves_nothing_of_a_series(tmp_path: Path) -> None:
    def write() -> None:
        with seekwarc.open(
            tmp_path / "a.warc.zst", "w", frame_size=FRAME, max_file_size=MAX, on_error="discard"
        ) as writer:
            for number in range(20):
                writer.write_resource(URI, noise(60_000, seed=number), "text/plain")
            assert [name for name in os.listdir(tmp_path) if not name.startswith(".")] == []
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write()
    assert os.listdir(tmp_path) == []
