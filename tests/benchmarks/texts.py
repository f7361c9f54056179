"""Text of pages: pages per second of `seekwarc.tools.text`, and of loops that others write.

Each way writes JSON Lines with URI, date and text of the same pages, in a process of its own; "with title and
language" is what ours writes in any case. The ways take turns, round after round; reported is the median of
each. datatrove is measured where a Python is named that has it: its reader gives HTML, so its way has the
same extraction after it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median

from seekwarc import tools
from tests.benchmarks.tables import PAGES, Speed, make, run

__all__ = ["measure"]

ROUNDS = 3

OURS = """
from seekwarc import tools
def read():
    return tools.text(path, path + ".jsonl", existing="overwrite", processes={processes}).pages
"""
BATCHES = """
import seekwarc
def read():
    found = seekwarc.batches(path, ["target_uri", "date", "text"], type="response")
    return sum(batch.num_rows - batch.column("text").null_count for batch in found)
"""
LOOP = """
from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.encoding import bytes_to_str, detect_encoding
from resiliparse.parse.html import HTMLTree
from resiliparse.parse.lang import detect_fast
def fields_of(html):
    if not {full}:
        return {{"text": extract_plain_text(html)}}
    tree = HTMLTree.parse(html)
    title = tree.title
    text = extract_plain_text(tree)
    return {{"title": title, "lang": detect_fast(text)[0], "text": text}}
def read():
    rows = 0
    with open(path + ".other", "w") as out:
        for uri, date, html in pages():
            row = {{"uri": uri, "date": date, **fields_of(html)}}
            out.write(json.dumps(row, ensure_ascii=False) + "\\n")
            rows += 1
    return rows
"""
FASTWARC = """
from fastwarc.warc import ArchiveIterator, WarcRecordType
def pages():
    with open(path, "rb") as file:
        for record in ArchiveIterator(file, record_types=WarcRecordType.response):
            body = record.reader.read()
            html = bytes_to_str(body, detect_encoding(body, from_html_meta=True))
            yield record.headers.get("WARC-Target-URI"), record.headers.get("WARC-Date"), html
"""
DATATROVE = """
import os
from datatrove.pipeline.readers import WarcReader
def pages():
    folder, name = os.path.split(path)
    for page in WarcReader(folder, glob_pattern=name, file_progress=False).run():
        yield page.metadata["url"], page.metadata["date"], page.text
"""
WAYS = {
    "seekwarc.tools.text": OURS.format(processes=1),
    "seekwarc.tools.text, two processes": OURS.format(processes=2),
    "seekwarc.batches, the text alone": BATCHES,
    "FastWARC, resiliparse": FASTWARC + LOOP.format(full=False),
    "FastWARC, resiliparse, with title and language": FASTWARC + LOOP.format(full=True),
}


def measure(
    folder: Path,
    *,
    pages: int = PAGES,
    times: int = 1,
    rounds: int = ROUNDS,
    datatrove: Path | None = None,
) -> list[Speed]:
    """Measure with a crawl of so many pages, as .warc.gz and .warc.zst.

    Args:
        folder: Where the crawl is made and kept.
        pages: Its pages.
        times: Times that count, in each round, after a first one.
        rounds: Rounds.
        datatrove: A Python that has datatrove and resiliparse.
    """
    stored = folder / f"pages-{pages}.warc.zst"
    if not stored.exists():
        make(stored, pages)
    packed = stored.with_suffix(".gz")
    if not packed.exists():
        tools.convert(stored, packed)
    speeds = []
    for path in (packed, stored):
        # datatrove's reader is warcio, which reads no Zstandard.
        ways = dict(WAYS)
        if datatrove is not None and path is packed:
            ways["datatrove's WarcReader, resiliparse"] = DATATROVE + LOOP.format(full=False)
        found: dict[str, list[tuple[int, float, float, float]]] = {way: [] for way in ways}
        for _ in range(rounds):
            for way, script in ways.items():
                python = str(datatrove) if script.startswith(DATATROVE) else sys.executable
                found[way].append(run(script, path, times, python=python))
        for way, several in found.items():
            rows, seconds, cpu, peak = map(median, zip(*several, strict=True))
            speeds.append(Speed(path.name, way, int(rows), seconds, cpu, peak))
    return speeds
