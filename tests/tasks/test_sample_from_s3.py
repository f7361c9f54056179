"""Read a hundred random records of an archive on S3, and fetch little more than their own bytes."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import seekwarc
from tests.tasks.conftest import write_crawl


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A bucket, with the service's address and credentials in the environment."""
    import boto3  # noqa: PLC0415
    from moto.server import DomainDispatcherApplication, create_backend_app  # noqa: PLC0415
    from werkzeug.serving import make_server  # noqa: PLC0415

    server = make_server("127.0.0.1", 0, DomainDispatcherApplication(create_backend_app), threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "anyone")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "anything")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    name = f"crawls-{random.randrange(10**9)}"
    boto3.client("s3").create_bucket(Bucket=name)
    yield name
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.slow
@pytest.mark.needs("module:moto", "module:boto3", "module:obstore", "module:flask_cors")
def test_a_hundred_records_cost_their_own_bytes(bucket: str, tmp_path: Path) -> None:
    import boto3  # noqa: PLC0415

    crawl = write_crawl(tmp_path / "crawl.warc.zst", pages=1_000)
    boto3.client("s3").upload_file(str(crawl), bucket, crawl.name)

    # seekwarc index crawl.warc.zst -o crawl.cdxj
    index = tmp_path / "crawl.cdxj"
    subprocess.run([sys.executable, "-m", "seekwarc", "index", crawl, "-o", index], check=True)
    captures = [json.loads(line.split(" ", 2)[2]) for line in index.read_text().splitlines() if "{" in line]
    sample = random.Random(1).sample(captures, 100)

    with seekwarc.open(f"s3://{bucket}/{crawl.name}") as archive:
        for capture in sample:
            record = archive.record_at(capture["offset"], capture["length"])
            assert record.target_uri == capture["url"]
            assert record.http.status == 200
            assert len(record.payload.read()) > 500
        fetched = archive.stats.bytes_fetched
    own = sum(int(capture["length"]) for capture in sample)
    print(fetched / own, "times their own bytes")
    assert fetched <= 1.2 * own


@pytest.mark.slow
@pytest.mark.needs("module:moto", "module:boto3", "module:obstore", "module:flask_cors")
def test_a_sample_without_an_index_reads_little_more(bucket: str, tmp_path: Path) -> None:
    import boto3  # noqa: PLC0415

    crawl = write_crawl(tmp_path / "crawl.warc.zst", pages=1_000)
    boto3.client("s3").upload_file(str(crawl), bucket, crawl.name)

    with seekwarc.open(f"s3://{bucket}/{crawl.name}") as archive:
        own = 0
        for record in archive.sample(100, seed=1):
            own += record.length
            assert record.type == "warcinfo" or len(record.payload.read()) > 500
        fetched = archive.stats.bytes_fetched
    print(fetched / own, "times their own bytes:", fetched - own, "for the tables that list all records")
    assert fetched - own < 160 << 10
    assert fetched <= 1.25 * own
