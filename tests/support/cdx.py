"""Indexes: CDXJ lines and ZipNum clusters made without seekwarc, and Parquet in small row groups."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from seekwarc.make.parquet import write_parquet
from seekwarc.write.output import FileObjectOutput


def cdxj_line(key: str, timestamp: str, **fields: Any) -> bytes:
    return f"{key} {timestamp} {json.dumps(fields)}\n".encode()


def many_lines(count: int, *, filler: int = 0) -> list[bytes]:
    """Return sorted lines of `count` captures, three of each URI."""
    made = [
        cdxj_line(
            f"org,site{number // 3 % 97})/page/{number // 3:07}",
            f"{2020 + number % 3}0102030405",
            url=f"http://site{number // 3 % 97}.org/page/{number // 3:07}",
            mime="text/html",
            offset=str(number),
            filename="a.warc.gz",
            filler="x" * filler,
        )
        for number in range(count)
    ]
    return sorted(made)


def tabbed_cluster(folder: Path, lines: list[bytes], *, per_block: int = 10, per_part: int = 30) -> Path:
    """Make a cluster as the tools of the Internet Archive do: several files of blocks."""
    index = b""
    parts: dict[str, bytes] = {}
    for number, start in enumerate(range(0, len(lines), per_block)):
        name = f"cdx-{start // per_part:05}.gz"
        block = gzip.compress(b"".join(lines[start : start + per_block]))
        offset = len(parts.setdefault(name, b""))
        parts[name] += block
        head = b" ".join(lines[start].split(b" ")[:2]).decode()
        index += f"{head}\t{name}\t{offset}\t{len(block)}\t{number + 1}\n".encode()
    for name, data in parts.items():
        (folder / name).write_bytes(data)
    (folder / "cluster.idx").write_bytes(index)
    return folder / "cluster.idx"


def wacz_cluster(folder: Path, lines: list[bytes], *, per_block: int = 10) -> Path:
    """Make a cluster as cdxj-indexer does: one file of blocks, and an index in JSON."""
    index = cdxj_line("!meta", "0", format="cdxj-gzip-1.0", filename="index.cdx.gz")
    stored = b""
    for start in range(0, len(lines), per_block):
        block = gzip.compress(b"".join(lines[start : start + per_block]))
        key, timestamp = lines[start].decode().split(" ")[:2]
        index += cdxj_line(key, timestamp, offset=len(stored), length=len(block))
        stored += block
    (folder / "index.cdx.gz").write_bytes(stored)
    (folder / "index.idx").write_bytes(index)
    return folder / "index.idx"


def columnar(lines: list[bytes], monkeypatch: pytest.MonkeyPatch, *, group: int = 150) -> bytes:
    """Return lines as Parquet, in row groups of so many."""
    monkeypatch.setattr("seekwarc.make.parquet.GROUP_ROWS", group)
    monkeypatch.setattr("seekwarc.make.parquet.BATCH_ROWS", min(group, 1024))
    file = io.BytesIO()
    write_parquet(lines, FileObjectOutput(file))
    return file.getvalue()


def browsers_cluster(folder: Path, lines: list[bytes], *, how: str, per_block: int = 10) -> Path:
    """Make a cluster as tools in JavaScript do, each in its own way.

    Args:
        folder: Where it is made.
        lines: The sorted lines.
        how: "dateless" (js-wacz), "overlapping" (js-wacz as well: a block begins with the last line of the
            one before it), "no meta" (ArchiveWeb.page), or "second" (Browsertrix: a block is listed with the
            head of its second line).
        per_block: Lines of a block.
    """
    index = (
        b"" if how == "no meta" else cdxj_line("!meta", "0", format="cdxj-gzip-1.0", filename="index.cdx.gz")
    )
    stored = b""
    for start in range(0, len(lines), per_block):
        some = lines[max(start - (how == "overlapping"), 0) : start + per_block]
        block = gzip.compress(b"".join(some))
        named = some[1] if how == "second" and start and len(some) > 1 else some[0]
        key, date, _ = named.decode().split(" ", 2)
        fields = {
            "offset": len(stored),
            "length": len(block),
            "digest": "sha256:0",
            "filename": "index.cdx.gz",
        }
        head = key if how == "dateless" else f"{key} {date}"
        index += f"{head} {json.dumps(fields)}\n".encode()
        stored += block
    (folder / "index.cdx.gz").write_bytes(stored)
    (folder / "index.idx").write_bytes(index)
    return folder / "index.idx"
