"""Whatever these tests write as .warc.zst is read by a second reader too."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.agreement import compare

MAX_SIZE = 32 * 1024 * 1024
"""Larger files are not read: the second reader holds them in memory, and is slow."""
BEGINNINGS = (b"\x28\xb5\x2f\xfd", b"\x5d\x2a\x4d\x18")
"""Of a .warc.zst file; some tests give its name to others."""


@pytest.fixture(autouse=True, scope="module")
def both_readers_agree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """After a module, compare what both readers get from the files that it has written and left."""
    base = tmp_path_factory.getbasetemp()
    before = set(base.iterdir())
    yield
    compared: set[bytes] = set()
    for folder in sorted(set(base.iterdir()) - before):
        for path in sorted(folder.rglob("*.warc.zst")) if folder.is_dir() else ():
            compare_file(path, compared)


def compare_file(path: Path, compared: set[bytes]) -> None:
    data = path.read_bytes() if path.is_file() and path.stat().st_size <= MAX_SIZE else b""
    digest = hashlib.sha256(data).digest()
    if data.startswith(BEGINNINGS) and digest not in compared:
        compared.add(digest)
        try:
            compare(data)
        except AssertionError as error:
            raise AssertionError(f"{path.name}: seekwarc and the independent reader differ") from error
