"""wacz and warcit, run with our classes in the place of warcio's, read and write .warc.zst.

Both are in a virtual environment of their own, in which seekwarc is installed too.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

import seekwarc
from seekwarc import tools
from tests.conftest import VECTORS

pytestmark = pytest.mark.slow

GZ = VECTORS / "warcio-example.warc.gz"


def run(program: str, *arguments: object, cwd: Path) -> None:
    found = shutil.which(program)
    assert found is not None
    command = [str(Path(found).with_name("python")), "-m", "seekwarc.compat.warcio", program]
    done = subprocess.run(
        [*command, *map(str, arguments)], cwd=cwd, capture_output=True, check=False, text=True
    )
    assert done.returncode == 0, done.stderr


def wacz_of(archive: Path, folder: Path) -> tuple[list[dict[str, Any]], list[str], bytes]:
    """Return the lines of the index, the pages, and the archive that a WACZ file holds."""
    path = folder / f"{archive.name}.wacz"
    run("wacz", "create", "-o", path, "--detect-pages", archive, cwd=folder)
    with zipfile.ZipFile(path) as found:
        lines = gzip.decompress(found.read("indexes/index.cdx.gz")).decode().splitlines()
        entries = [json.loads(line[line.index("{") :]) for line in lines if "{" in line]
        pages = [json.loads(it)["url"] for it in found.read("pages/pages.jsonl").splitlines()[1:]]
        return entries, pages, found.read(f"archive/{archive.name}")


@pytest.mark.needs("wacz")
def test_wacz_packs_and_indexes_the_same(tmp_path: Path) -> None:
    zst = tmp_path / "warcio-example.warc.zst"
    tools.convert(str(GZ), str(zst))
    entries, pages, stored = wacz_of(zst, tmp_path)
    expected, expected_pages, _ = wacz_of(GZ, tmp_path)
    assert stored == zst.read_bytes()
    assert pages == expected_pages != []
    with seekwarc.open(stored) as archive:
        for entry in entries:
            begin, size = int(entry["offset"]), int(entry["length"])
            assert archive.record_at(begin, size).target_uri == entry["url"]
            stored_digest = hashlib.sha256(stored[begin : begin + size]).hexdigest()
            assert entry["recordDigest"] == f"sha256:{stored_digest}"
    assert about(entries) == about(expected) != []


def about(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what entries tell of records, not of how they are stored."""
    stored = {"filename", "length", "offset", "recordDigest"}
    return [{key: value for key, value in entry.items() if key not in stored} for entry in entries]


@pytest.mark.needs("warcit")
def test_warcit_packs_a_folder_into_a_zst_file(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text("<p>Hello")
    (site / "film.mp4").write_bytes(bytes(range(256)) * 16_384)
    run("warcit", "-n", "site.warc.zst", "http://example.org/", "site", cwd=tmp_path)
    with seekwarc.open(tmp_path / "site.warc.zst", strict=True) as archive:
        found = {(it.type, it.target_uri): it for it in archive}
        film = found["resource", "http://example.org/film.mp4"]
        assert film.payload.pread(4_000_000, 2) == (site / "film.mp4").read_bytes()[4_000_000:4_000_002]
        assert found["resource", "http://example.org/index.html"].payload.read() == b"<p>Hello"
        assert {kind for kind, _ in found} == {"warcinfo", "resource", "revisit"}
