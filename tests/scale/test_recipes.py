"""Recipes: how programs that seekwarc has no module for read crawls. Copy what you need."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import seekwarc
from tests.support.crawls import crawls

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("crawls")
    for name, data in crawls(6):
        (folder / name).write_bytes(data)
    return [str(it) for it in sorted(folder.iterdir())]


@pytest.mark.slow
@pytest.mark.needs("module:polars")
def test_polars_scans_lazily(paths: list[str]) -> None:
    import polars as pl  # noqa: PLC0415
    from polars.io.plugins import register_io_source  # noqa: PLC0415

    asked = []

    def scan_warc(urls: list[str]) -> pl.LazyFrame:
        """Scan records; the columns that a query uses, and how many rows, are handed down by polars."""

        def read(
            columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, size: int | None
        ) -> Iterator[pl.DataFrame]:
            asked.append(columns)
            for batch in seekwarc.batches(urls, columns, batch_rows=size or 10_000):
                frame = pl.DataFrame(batch) if rows is None else pl.DataFrame(batch).head(rows)
                yield frame if predicate is None else frame.filter(predicate)
                rows = None if rows is None else rows - len(frame)
                if rows == 0:
                    return

        return register_io_source(read, schema=pl.DataFrame(seekwarc.batches([])).schema)

    frame = scan_warc(paths)
    found = frame.filter(pl.col("http_status") == 200).select(pl.col("payload_size").sum()).collect()
    assert found.item() == sum(it["payload_size"] for it in rows_of(paths) if it["http_status"] == 200)
    assert set(asked.pop()) == {"http_status", "payload_size"}
    assert frame.select("type").head(2).collect().height == 2


@pytest.mark.slow
@pytest.mark.needs("module:duckdb")
def test_duckdb_queries_and_leads_to_payloads(paths: list[str]) -> None:
    import duckdb  # noqa: PLC0415

    # Without `payload`, a large record costs its first frame; the reference leads to it afterwards.
    wanted = ["filename", "offset", "length", "type", "http_status", "payload_size"]
    pages = seekwarc.batches(paths, wanted, on_error="skip")  # noqa: F841 - the query names it
    largest = duckdb.sql(
        """select filename, "offset", length from pages
           where type = 'response' order by payload_size desc limit 3"""
    ).fetchall()
    sizes = []
    for filename, offset, length in largest:
        with seekwarc.open(filename) as archive:
            sizes.append(archive.record_at(offset, length).payload.size)
    assert sizes == sorted((it["payload_size"] or 0 for it in rows_of(paths)), reverse=True)[:3]


@pytest.mark.large  # Ray itself takes most of a gigabyte.
@pytest.mark.needs("module:ray")
def test_ray_reads_parts_of_files(paths: list[str]) -> None:
    import ray  # noqa: PLC0415

    def read(parts: dict[str, Any]) -> pa.Table:
        """Read the parts of a block, on whichever machine it is."""
        splits = [seekwarc.Split.from_json(json.loads(it)) for it in parts["item"]]
        return pa.table(seekwarc.batches(splits, ["type", "payload_size", "error"]))

    parts = [json.dumps(it.to_json()) for it in seekwarc.splits(paths, target_bytes=50_000)]
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=80 << 20)
    try:
        records = ray.data.from_items(parts).map_batches(read, batch_size=1, concurrency=2)
        found = Counter(row["type"] for row in records.iter_rows())
    finally:
        ray.shutdown()
    assert found == Counter(row["type"] for row in rows_of(paths))


def rows_of(paths: list[str]) -> list[dict]:
    return pa.table(seekwarc.batches(paths)).to_pylist()
