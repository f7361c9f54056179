"""Many threads, with the global lock or without: what they share stays right as long as `--soak` says."""

from __future__ import annotations

import pickle
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from io import BytesIO

import pytest

import seekwarc
from tests.support.writing import noise, text

FILM = noise(3 << 20, seed=1) + text(1 << 20, seed=2)
PAGES = [text(size, seed=size % 16) for size in range(1, 6000, 20)]
THREADS = 6


def archive_of(pages: list[bytes], **options: object) -> bytes:
    out = BytesIO()
    with seekwarc.open(out, "w", frame_size=128 << 10, **options) as writer:
        for number, page in enumerate(pages):
            writer.write_resource(f"http://example.org/{number}", page, "text/plain")
        writer.write_resource("http://example.org/film", FILM, "video/mp4")
    return out.getvalue()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("soak") / "a.warc.zst"
    path.write_bytes(archive_of(PAGES))
    return path


def read_of_film(record: seekwarc.Record, chance: random.Random) -> None:
    start = chance.randrange(len(FILM))
    size = chance.choice((1, 4096, 70_000, 1 << 20))
    assert record.payload.pread(start, size, verify=chance.random() < 0.8) == FILM[start : start + size]


def in_threads(*works: Callable[[], object]) -> None:
    """Run each in a thread, often interrupted, and raise the first error of any."""
    errors: list[BaseException] = []
    begin = threading.Barrier(len(works))

    def run(work: Callable[[], object]) -> None:
        begin.wait()
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised below
            errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=run, args=(work,)) for work in works]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    if errors:
        raise errors[0]


def counts(archive: seekwarc.Reader) -> Counter[str]:
    return Counter({it: getattr(archive.stats, it) for it in ("requests", "bytes_fetched", "bytes_decoded")})


def test_counters_lose_nothing(path) -> None:
    with seekwarc.open(path, cache_size=0) as archive:
        record = list(archive)[-1]
        record.payload.pread(0, 1)
        before = counts(archive)
        record.payload.pread(5, 10)
        each = counts(archive) - before
        assert min(each.values()) > 0

        def read(number: int) -> None:
            # Frames of their own: threads that want the same one share a read.
            for _ in range(100):
                record.payload.pread((number << 18) + 5, 10)

        in_threads(*[partial(read, number) for number in range(THREADS)])
        found = counts(archive) - before
        assert found == Counter({name: (1 + 100 * THREADS) * one for name, one in each.items()})


@pytest.mark.slow
def test_threads_that_open_iterate_read_pickle_write_and_close(path, pytestconfig) -> None:
    end = time.monotonic() + pytestconfig.getoption("--soak")
    with seekwarc.open(path, threads=2) as shared:
        records = list(shared)
        offsets = [record.offset for record in records]

        def read() -> None:
            chance = random.Random(threading.get_ident())
            while time.monotonic() < end:
                read_of_film(records[-1], chance)
                number = chance.randrange(len(PAGES))
                assert shared.record_at(offsets[number]).payload.read() == PAGES[number]
                assert records[number].payload.read() == PAGES[number]

        def iterate() -> None:
            while time.monotonic() < end:
                with seekwarc.open(path, threads=3) as own:
                    assert [record.offset for record in own] == offsets
                assert [record.offset for record in shared] == offsets

        def send() -> None:
            chance = random.Random(1)
            while time.monotonic() < end:
                copy = pickle.loads(pickle.dumps(records[-1]))
                read_of_film(copy, chance)
                with pickle.loads(pickle.dumps(shared)) as again:
                    assert again.record_at(offsets[3]).payload.read() == PAGES[3]

        def close() -> None:
            chance = random.Random(2)
            while time.monotonic() < end:
                own = seekwarc.open(path, threads=2)
                record = own.record_at(offsets[-1])
                reading = threading.Thread(target=read_until_closed, args=(record,))
                reading.start()
                time.sleep(chance.random() / 50)
                own.close()
                reading.join()

        def write() -> None:
            while time.monotonic() < end:
                with seekwarc.open(archive_of(PAGES[:40], threads=2)) as own:
                    found = [record.payload.read() for record in own]
                assert found == [*PAGES[:40], FILM]

        in_threads(read, read, iterate, send, close, write)


def read_until_closed(record: seekwarc.Record) -> None:
    chance = random.Random(3)
    with pytest.raises(seekwarc.SourceError, match="the archive is closed"):
        while True:
            read_of_film(record, chance)
