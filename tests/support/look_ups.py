"""An archive with an index of each kind, and what look-ups in them find."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

from seekwarc.cli import main
from tests.support.writing import response


def record(uri: str, date: str, body: bytes) -> bytes:
    """Return a record; URIs may have bytes that no writer of ours lets through."""
    block = response(body, "text/plain")
    head = (
        f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:{uuid4()}>\r\nWARC-Date: {date}\r\n"
        f"WARC-Target-URI: {uri}\r\nContent-Type: application/http\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return head.encode("utf-8", "surrogateescape") + block + b"\r\n\r\n"


def named(folder: Path) -> dict[str, Path]:
    return {name: folder / f"crawl.{name}" for name in ("warc.gz", "cdxj", "parquet", "wacz")}


def make_indexes(files: dict[str, Path]) -> None:
    archive = files["warc.gz"]
    for words in (
        ("index", "-p", archive, "-o", files["cdxj"]),
        ("index", "-p", archive, "--parquet", "-o", files["parquet"]),
        ("wacz", "create", archive, "-o", files["wacz"]),
    ):
        assert main([str(word) for word in words]) == 0


def served(found) -> bytes:
    record = getattr(found, "served", found).record
    return record.payload.read()
