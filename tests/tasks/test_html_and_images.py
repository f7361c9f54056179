"""Make a table of the HTML pages and a folder of the images of several files, one of which is damaged."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import seekwarc
from tests.tasks.conftest import PICTURE, write_crawl


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Two sound files, and one with a byte changed within its fourth record."""
    made = [write_crawl(tmp_path / f"{name}.warc.zst", site=f"{name}.org") for name in ("a", "b", "c")]
    with seekwarc.open(made[1]) as archive:
        record = list(archive)[3]
    data = bytearray(made[1].read_bytes())
    data[record.offset + record.length // 2] ^= 0xFF
    made[1].write_bytes(data)
    return made


def responses(files: list[Path], media_type: str) -> Iterator[tuple[str, seekwarc.Record]]:
    """Yield the responses of a media type; what is damaged is printed, and the loop goes on after it."""
    for path in files:
        with seekwarc.open(path, on_error=print) as archive:
            for record in archive:
                named = record.payload.media_type
                if record.type == "response" and named is not None and named.essence.startswith(media_type):
                    yield path.name, record


@pytest.mark.needs("module:pandas")
def test_html_pages_become_a_table(files: list[Path]) -> None:
    import pandas as pd  # noqa: PLC0415

    rows = []
    for name, record in responses(files, "text/html"):
        text = record.payload.read(decoded=True).decode(record.http.charset or "utf-8", "replace")
        title = re.search(r"<title>(.*?)</title>", text)
        rows.append(
            {
                "file": name,
                "url": record.target_uri,
                "status": record.http.status,
                "date": record.date.datetime,
                "title": title[1] if title else None,
            }
        )
    pages = pd.DataFrame(rows)
    assert set(pages.query("file != 'b.warc.zst'").title) == {f"Page {number}" for number in range(5)}
    assert pages.groupby("file").size().to_dict() == {"a.warc.zst": 5, "b.warc.zst": 4, "c.warc.zst": 5}


def test_images_become_a_folder(files: list[Path], tmp_path: Path) -> None:
    # seekwarc extract a.warc.zst b.warc.zst c.warc.zst --mime 'image/*' -o images
    words = [sys.executable, "-m", "seekwarc", "extract", *files, "--mime", "image/*", "-o", "images"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    folder = tmp_path / "images"

    # Of the damaged file it says what is missing, with the place, and the exit status says that something is.
    with seekwarc.open(files[1], on_error="skip") as archive:
        urls = {record.target_uri for record in archive if record.type == "response"}
    assert done.returncode == 1
    assert f"{files[1]}, offset " in done.stderr
    assert done.stdout.startswith("images: ")

    # Every picture of the sound files, and those of the damaged one that are whole, are there.
    wanted = {f"http://{site}.org/{number}.png" for site in "abc" for number in range(5)}
    lines = [json.loads(line) for line in (folder / "manifest.jsonl").read_text().splitlines()]
    made = {line["uri"]: folder / line["target"] for line in lines if line["target"]}
    assert set(made) >= {url for url in wanted if "b.org" not in url or url in urls}
    for url, path in made.items():
        number = int(url.removesuffix(".png")[-1])
        assert path.name == f"{url.split('/')[2]}_{number}.png"
        assert path.read_bytes() == PICTURE + number.to_bytes(4)
    assert {path.name for path in folder.iterdir()} == {path.name for path in made.values()} | {
        "manifest.jsonl"
    }
