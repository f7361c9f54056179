"""Make a table of the HTML pages and a folder of the images of several files, one of which is damaged."""

from __future__ import annotations

import re
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
    folder = tmp_path / "images"
    folder.mkdir()
    for number, (name, record) in enumerate(responses(files, "image/")):
        ending = record.payload.media_type.essence.removeprefix("image/")
        (folder / f"{number:05}.{name}.{ending}").write_bytes(record.payload.read(decoded=True))
    made = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert [sum(f".{name}." in made_name for made_name in made) for name in "abc"] == [5, 5, 5]
    assert all(name.endswith(".png") and data.startswith(PICTURE) for name, data in made.items())
