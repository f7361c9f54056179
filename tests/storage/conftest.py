"""A file that the sources of these tests read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.sources import DATA


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "some.warc.zst"
    file.write_bytes(DATA)
    return file
