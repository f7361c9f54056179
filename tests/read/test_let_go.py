"""What was done with a record leaves nothing in memory: a compiled class can lose count of its references."""

from __future__ import annotations

import gc
import io
import pickle
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import seekwarc
from seekwarc.collection.entry import describe
from seekwarc.write.header import HeaderDraft
from tests.support.rounds import one_in

pytestmark = pytest.mark.skipif(
    not hasattr(sys, "getallocatedblocks"), reason="this Python does not count what it allocates"
)

CAPTURES = Path(__file__).parents[1] / "vectors" / "warcio-example-iana.org-chunked.warc"
TIMES = 50
ROUNDS = 10
"""What leaks does so each time; other threads allocate now and then."""
MOST = 0.5
"""Blocks of memory that may remain for each time: Python itself keeps some, now and then."""

Record = seekwarc.Record


def draft_again(record: Record) -> None:
    HeaderDraft(record.header).without("WARC-Date")


def read_buffered(record: Record) -> None:
    with io.TextIOWrapper(io.BufferedReader(record.payload.open()), "latin-1") as file:
        file.readline()


def write_again(record: Record) -> None:
    with seekwarc.open(io.BytesIO(), "w") as out:
        out.write(record.type or "", headers=record.header, block=record.block.read())


def exhaust(of: Callable[[Record], Iterable[object] | None]) -> Callable[[Record], None]:
    def run(record: Record) -> None:
        list(of(record) or ())

    return run


OPERATIONS: dict[str, Callable[[Record], object]] = {
    "header": exhaust(lambda record: record.header),
    "items": exhaust(lambda record: record.header.items()),
    "values": exhaust(lambda record: record.header.values()),
    "items of HTTP": exhaust(lambda record: record.http and record.http.items()),
    "values of HTTP": exhaust(lambda record: record.http and record.http.values()),
    "equality": lambda record: record.header == record.header,
    "pickled": lambda record: pickle.loads(pickle.dumps(record.header)),
    "digests": lambda record: record.check_digests(),
    "findings": lambda record: record.findings,
    "representation": repr,
    "HTML": lambda record: record._repr_html_(),
    "described": describe,
    "payload": lambda record: record.payload.read(),
    "opened": lambda record: record.payload.open().read(10),
    "buffered": read_buffered,
    "draft": draft_again,
    "written": write_again,
}


@pytest.fixture(scope="module", params=["warc", "warc.gz", "warc.zst"])
def archive(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterable[seekwarc.Reader]:
    path = CAPTURES
    if request.param != "warc":
        path = tmp_path_factory.mktemp("let-go") / f"a.{request.param}"
        with seekwarc.open(path, "w") as out, seekwarc.open(CAPTURES) as captures:
            for record in captures:
                out.write_raw(record.header.raw, record.block.read())
    with seekwarc.open(path, threads=1, cache_size=0) as reader:
        yield reader


def kept_by(operation: Callable[[], object]) -> float:
    """Return the blocks of memory that remain for each time; those of Python's own caches only come once."""
    kept = MOST
    for times in (TIMES // 10, *[TIMES] * ROUNDS):
        before = sys.getallocatedblocks()
        for _ in range(times):
            operation()
        gc.collect()
        if times == TIMES and (kept := (sys.getallocatedblocks() - before) / TIMES) < MOST:
            break
    return kept


@pytest.mark.usefixtures("few_objects")
@pytest.mark.parametrize("name", one_in(3, OPERATIONS))
def test_an_operation_leaves_nothing_in_memory(name: str, archive: seekwarc.Reader) -> None:
    offset = next(archive.records(type="response")).offset
    assert kept_by(lambda: OPERATIONS[name](archive.record_at(offset))) < MOST


@pytest.mark.usefixtures("few_objects")
def test_going_through_a_file_leaves_nothing_in_memory(archive: seekwarc.Reader) -> None:
    assert kept_by(lambda: [list(record.header.items()) for record in archive]) < MOST
