"""A table's column has the same values whatever other columns are asked for, and an index has them, too."""

from __future__ import annotations

import io
import random
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seekwarc
from seekwarc.make.indexing import index
from seekwarc.scale.columns import COLUMNS
from tests.conftest import ROOT, SAMPLES
from tests.support.chunks import HTTP, ODD, chunked, random_sizes
from tests.support.foreign import Foreign
from tests.support.rounds import one_in, rounds
from tests.support.sources import Pipe
from tests.support.writing import KIB, MIB, noise

FORMS = ("bytes", "gzip", "plain")
OTHER_HEADS = [
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n",
]
DAMAGED = sorted((ROOT / "spec-notes/warc-zstd-seekable/samples").glob("damaged*"))


def record(made: Foreign, block: bytes, number: int) -> None:
    lines = [
        "WARC/1.1",
        "WARC-Type: response",
        f"WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{number:012}>",
        "WARC-Date: 2026-01-02T03:04:05Z",
        f"WARC-Target-URI: http://example.org/{number}",
        "Content-Type: application/http; msgtype=response",
        *(["WARC-Payload-Digest: sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"] if number % 2 else []),
        f"Content-Length: {len(block)}",
    ]
    made.record(block, header="\r\n".join([*lines, "", ""]).encode(), cuts=256 * KIB, table=len(block) > MIB)


def crawl(form: str) -> bytes:
    """Return a file with chunked bodies, large and small, whole and not, half of them with a digest."""
    made = Foreign()
    for size in (10, 63 * KIB, 70 * KIB, 300 * KIB, 2 * MIB):
        body = chunked(noise(size), random_sizes(1, 20_000))
        for block in (HTTP + body, HTTP + body[: -size // 3], *(head + body for head in OTHER_HEADS)):
            record(made, block, len(made.records))
            record(made, block, len(made.records))
    for body in ODD:
        record(made, HTTP + body, len(made.records))
    return (made if form == "bytes" else getattr(made, form)()).bytes()


def table(path: Path, columns: list[str] | None, max_payload: int) -> pa.Table:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", seekwarc.FormatWarning)
        return pa.table(seekwarc.batches(path, columns, max_payload=max_payload))


def assert_columns_agree(path: Path, count: int, *, without: tuple[str, ...] = ()) -> None:
    names = [name for name in COLUMNS if name not in without]
    chance = random.Random(7)
    chosen = [[name] for name in names]
    chosen += [chance.sample(names, chance.randint(2, len(names))) for _ in range(count)]
    for max_payload in (1000, MIB):
        whole = table(path, None, max_payload)
        for columns in chosen:
            assert table(path, columns, max_payload).equals(whole.select(columns)), columns


@pytest.mark.parametrize("form", one_in(3, FORMS))
def test_a_column_has_its_values_whatever_the_others_are(form: str, tmp_path: Path) -> None:
    path = tmp_path / "a.warc"
    path.write_bytes(crawl(form))
    assert_columns_agree(path, rounds(20))


@pytest.mark.parametrize("path", one_in(4, sorted(SAMPLES.glob("*.warc*"))), ids=lambda path: path.name)
def test_columns_of_samples_are_the_same_in_every_table(path: Path) -> None:
    assert_columns_agree(path, rounds(10))


@pytest.mark.parametrize("path", DAMAGED, ids=lambda path: path.name)
def test_only_what_is_read_is_found_damaged(path: Path) -> None:
    assert_columns_agree(path, rounds(10), without=("error",))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("stated_digests", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_sizes_in_an_index_and_in_a_table_are_the_same(
    form: str, stated_digests: bool, tmp_path: Path
) -> None:
    path = tmp_path / "a.warc"
    path.write_bytes(crawl(form))
    with seekwarc.open(path) as archive:
        expected = [record.payload.size for record in archive]
    assert sum(expected) > 10 * MIB
    assert table(path, ["payload_size"], MIB)["payload_size"].to_pylist() == expected
    for source in (path, Pipe(path.read_bytes())):
        out = io.BytesIO()
        index({"a": source}, out, on_problem=print, parquet=True, stated_digests=stated_digests)
        found = pq.read_table(io.BytesIO(out.getvalue())).sort_by("warc_record_offset")
        assert found["payload_size"].to_pylist() == expected
