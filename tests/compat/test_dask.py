"""Records as a Dask dataframe or bag: the rows of a plain loop, whatever happens to workers and files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import seekwarc
from tests.support.crawls import crawls, kill_once
from tests.support.foreign import Foreign
from tests.support.s3 import new_bucket
from tests.support.writing import noise

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("module:distributed", "module:moto", "module:flask_cors"),
    pytest.mark.filterwarnings("ignore::seekwarc.FormatWarning"),
]
FILES = 12
TARGET = 30_000
ROWS = ["filename", "offset", "length", "record_id", "payload_size", "payload", "error"]


@pytest.fixture(scope="module")
def bucket() -> Iterator[tuple[str, Any]]:
    with new_bucket() as (name, client):
        for key, data in crawls(FILES):
            client.put_object(Bucket=name, Key=key, Body=data)
        yield name, client


@pytest.fixture(scope="module")
def cluster(bucket: object) -> Iterator[object]:
    import dask  # noqa: PLC0415
    from distributed import Client, LocalCluster  # noqa: PLC0415

    with (
        # By default, a worker that died unnoticed is waited for five minutes.
        dask.config.set({"distributed.scheduler.worker-ttl": "60 s"}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as made,
        Client(made) as client,
    ):
        yield client


def assert_same_rows(name: str, client: Any, parts: list[seekwarc.Split], folder: Path) -> None:
    """Read parts with the cluster after one file was replaced, and kill a worker meanwhile."""
    from seekwarc.compat.dask import read_warc  # noqa: PLC0415

    client.put_object(Bucket=name, Key="010.warc.zst", Body=Foreign().record(b"replaced").bytes())
    plain = pa.table(seekwarc.batches(parts, ROWS)).to_pylist()
    errors = [row for row in plain if row["error"] is not None]
    assert {row["filename"].rpartition("/")[2][:8] for row in errors} == {
        "003.warc",
        "004.warc",
        "005.warc",
        "010.warc",
    }
    marker = str(folder / "killed")
    frame = read_warc(parts, ROWS).map_partitions(kill_once, marker)
    found = frame.compute()
    assert os.path.exists(marker)
    assert pa.Table.from_pandas(found, preserve_index=False).to_pylist() == plain


def test_rows_are_those_of_a_plain_loop(bucket, cluster, tmp_path) -> None:
    from seekwarc.compat.dask import read_warc, records  # noqa: PLC0415

    name, client = bucket
    urls = [f"s3://{name}/{key}" for key, _ in crawls(FILES)]
    parts = list(seekwarc.splits(urls, target_bytes=TARGET))
    assert len(parts) > FILES
    assert_same_rows(name, client, parts, tmp_path)

    # A pattern names many; records in a bag are read where they are used.
    pattern = f"s3://{name}/00[12].warc.zst"
    types = records(pattern, target_bytes=TARGET).map(lambda it: it.type).frequencies().compute()
    assert dict(types) == {"warcinfo": 1, "response": 30, "resource": 3}
    sizes = read_warc(pattern, target_bytes=TARGET).groupby("type").payload_size.count().compute()
    assert sizes.to_dict() == dict(types)


def test_columns_that_are_not_used_are_not_read(tmp_path) -> None:
    import dask  # noqa: PLC0415

    from seekwarc.compat.dask import read_warc  # noqa: PLC0415

    path = tmp_path / "a.warc.zst"
    with seekwarc.open(path, "w", frame_size=64 << 10) as out:
        out.write_resource("urn:a", noise(500_000), "text/plain")
    data = bytearray(path.read_bytes())
    data[300_000] ^= 1
    path.write_bytes(data)
    with dask.config.set(scheduler="synchronous"):
        frame = read_warc(path)
        assert str(frame.dtypes["http_status"]) == "int16[pyarrow]"
        assert frame[["type", "error"]].compute().error.isna().all()
        assert frame.type.compute().to_list() == ["resource"]
        assert "ChecksumError" in frame.compute().error.iloc[0]
        assert len(frame) == 1


def test_what_is_wrong_is_said_before_anything_is_read(tmp_path) -> None:
    from seekwarc.compat.dask import read_warc, records  # noqa: PLC0415

    with pytest.raises(ValueError, match="unknown column: 'size'"):
        read_warc("a.warc.zst", ["size"])
    for read in (read_warc, records):
        with pytest.raises(FileNotFoundError, match="no file matches"):
            read(tmp_path / "*.warc.gz")


def test_partitions_with_payloads_are_smaller(tmp_path, monkeypatch) -> None:
    from seekwarc.compat import dask as dask_module  # noqa: PLC0415

    path = tmp_path / "a.warc.zst"
    with seekwarc.open(path, "w") as out:
        for number in range(40):
            out.write_resource(f"urn:{number}", noise(20_000, seed=number), "text/plain")
    assert 4 * dask_module.PAYLOAD_TARGET_BYTES == dask_module.TARGET_BYTES
    monkeypatch.setattr(dask_module, "PAYLOAD_TARGET_BYTES", 200_000)
    small = len(list(seekwarc.splits(path, target_bytes=200_000)))
    assert dask_module.read_warc(path).npartitions == small > 2
    assert dask_module.read_warc(path, columns=["target_uri"]).npartitions == 1
    assert 1 < dask_module.read_warc(path, target_bytes=500_000).npartitions < small
