"""Search indexes: their size beside the size of the texts, how fast they are made, and how fast they answer.

Texts are made of a vocabulary of 300,000 words with Zipf's frequencies, frequent ones short; one word in
eight repeats another of its page, as in texts about something. Lengths of pages are distributed as those of
the web are, log-normally, around 450 words.
"""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from math import log
from pathlib import Path
from statistics import median

import numpy as np

import seekwarc
from seekwarc.inside.query import TextQuery
from seekwarc.inside.search import Conditions, SearchFile
from seekwarc.inside.search_file import Builder, Captured, Page

__all__ = ["Measured", "as_search_table", "measure", "texts"]

PAGES = 100_000
COMPARED = 3000
"""Pages by which ways to make an index are compared."""
ARCHIVED = 2000
"""Pages in each of the archives that are indexed."""
ARCHIVES = 4
VOCABULARY = 300_000
REPEATED = 0.12
TIMES = 5
SYLLABLES = [f"{c}{v}" for c in "bcdfghjklmnprstvwz" for v in "aeiou"] + ["an", "er", "in", "on", "st", "th"]
ASCII = "content='', tokenize='unicode61 remove_diacritics 2'"
WAYS = {
    "detail=none": f"detail=none, columnsize=0, {ASCII}",
    "detail=column": f"detail=column, {ASCII}",
    "detail=full": f"detail=full, {ASCII}",
    "detail=full, prefix='2 3'": f"detail=full, prefix='2 3', {ASCII}",
    "detail=none, trigrams": "detail=none, content='', columnsize=0, tokenize='trigram'",
}


@dataclass(frozen=True)
class Measured:
    """What was measured."""

    what: str
    figure: str


def word(rank: int) -> str:
    """Return the word of a rank: frequent ones are short, and no two are the same but a few."""
    mixed, left, pieces = (rank * 2654435761 + 12345) & 0xFFFFFFFF, rank, []
    for turn in range(max(1, round(1.2 + 0.24 * log(rank + 1)))):
        pieces.append(SYLLABLES[(left + (mixed >> (turn * 5))) % 96])
        left //= 96
    return "".join(pieces) + ("s" if mixed & 8 else "")


def texts(count: int, seed: int = 1) -> Iterator[str]:
    """Yield texts of pages."""
    rng = np.random.default_rng(seed)
    words = np.array([word(rank) for rank in range(VOCABULARY)], dtype=object)
    frequency = 1 / (np.arange(VOCABULARY) + 2.7) ** 1.05
    total = (frequency / frequency.sum()).cumsum()
    for _ in range(count):
        size = int(min(max(rng.lognormal(6.1, 0.9), 20), 20_000))
        chosen = np.minimum(np.searchsorted(total, rng.random(size)), VOCABULARY - 1)
        repeats = rng.random(size) < REPEATED
        chosen[repeats] = chosen[(rng.random(size) * np.arange(size)).astype(int)[repeats]]
        yield " ".join(words[chosen])


def measure(folder: Path, *, pages: int = PAGES, archived: int = ARCHIVED) -> Iterator[Measured]:
    """Measure an index of many pages, ways to make one, and the command."""
    yield from _large(folder, pages)
    yield from _ways(folder, min(COMPARED, pages))
    yield from _archives(folder, archived)


def _large(folder: Path, pages: int) -> Iterator[Measured]:
    path, draft = folder / "large.fts", folder / "large.draft"
    for it in (path, draft):
        it.unlink(missing_ok=True)
    size, spent = 0, 0.0
    with Builder(str(draft)) as builder:
        file = builder.begin_file("crawl.warc.zst", "1")
        for number, text in enumerate(texts(pages)):
            size += len(text)
            began = time.process_time()
            uri = f"http://www{number % 997}.example.org/path/to/some/page-{number}.html?id={number * 7}"
            captured = Captured(
                number * 2000, 2000, 1_700_000_000 + number * 37, "response", "text/html", number, uri
            )
            builder.add(file, captured, Page.of(text, text[:50]))
            spent += time.process_time() - began
        began = time.process_time()
        builder.finish(str(path))
        spent += time.process_time() - began
    draft.unlink()
    share = path.stat().st_size / size
    yield Measured(
        f"index of {pages:,} pages, {size / pages / 1000:.1f} KB of text each", f"{share:.1%} of the text"
    )
    yield Measured("making it of texts, one core", f"{pages / spent:,.0f} pages per second of CPU")
    rare, common = f"{word(3000)} {word(20_000)}", f"{word(0)} {word(1)}"
    queries = {
        "two rare words": rare,
        "two words of medium frequency": f"{word(500)} {word(2000)}",
        "two frequent words": f"{word(50)} {word(200)}",
        "the two most frequent words": common,
        "one of two frequent words": f"{word(50)} OR {word(100)}",
        "the beginning of words, three letters": f"{word(300)[:3]}*",
        "a frequent word on one host": f"{word(50)} site:www5.example.org",
    }
    with SearchFile(path) as index:
        for name, query in queries.items():
            yield Measured(f"search: {name}", _asked(index, query))
        yield Measured(
            "search: two frequent words, latest first", _asked(index, queries["two frequent words"], "date")
        )


def _asked(index: SearchFile, query: str, order: str = "rank") -> str:
    parsed = TextQuery.parse(query)
    which = Conditions().narrowed(parsed)
    times, spent = [], []
    for _ in range(TIMES):
        began, began_cpu = time.perf_counter(), time.process_time()
        found = index.find(parsed, which, order=order)  # type: ignore[arg-type]
        times.append(time.perf_counter() - began)
        spent.append(time.process_time() - began_cpu)
    count = f"{len(found.pages):,}" + ("" if found.is_whole else " or more")
    return f"{median(times) * 1000:.1f} ms ({median(spent) * 1000:.1f} ms of CPU), {count} pages"


def _ways(folder: Path, pages: int) -> Iterator[Measured]:
    all_texts = list(texts(pages))
    size = sum(map(len, all_texts))
    for name, options in WAYS.items():
        path = folder / "way.db"
        path.unlink(missing_ok=True)
        database = sqlite3.connect(path, isolation_level=None)
        database.execute("PRAGMA journal_mode = OFF")
        database.execute(f"CREATE VIRTUAL TABLE way USING fts5(text, {options})")
        database.execute("BEGIN")
        database.executemany("INSERT INTO way (rowid, text) VALUES (?, ?)", enumerate(all_texts, 1))
        database.execute("COMMIT")
        database.execute("INSERT INTO way (way) VALUES ('optimize')")
        database.execute("VACUUM")
        database.close()
        yield Measured(
            f"FTS5 alone, {pages:,} pages: {name}", f"{path.stat().st_size / size:.1%} of the text"
        )


def _archives(folder: Path, pages: int) -> Iterator[Measured]:
    names = []
    made = texts(pages * ARCHIVES, seed=2)
    rng = random.Random(1)
    for number in range(ARCHIVES):
        path = folder / f"pages-{number}.warc.zst"
        names.append(str(path))
        with seekwarc.open(path, "w", existing="overwrite") as out:
            for count in range(pages):
                text = next(made)
                body = "".join(
                    f'<p class="p{rng.randrange(9)}">{text[at : at + 600]}</p>\n'
                    for at in range(0, len(text), 600)
                )
                page = f"<html><head><title>{text[:40]}</title></head><body>{body}</body></html>".encode()
                head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
                out.write_response(
                    f"http://example.org/{number}/{count}", head + page, date="2026-11-16T12:00:00Z"
                )
    for jobs in (1, 2):
        target = folder / "pages.fts"
        target.unlink(missing_ok=True)
        command = [sys.executable, "-m", "seekwarc", "index", "--text", *names, "-o", str(target)]
        began = time.perf_counter()
        subprocess.run([*command, "--jobs", str(jobs)], check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - began
        processes = "1 process" if jobs == 1 else f"{jobs} processes"
        yield Measured(f"`index --text`, {processes}", f"{pages * ARCHIVES / seconds:,.0f} pages per second")
    for name in names:
        os.unlink(name)


def as_search_table(found: list[Measured]) -> str:
    """Return the table of spec-notes/benchmarks.md."""
    lines = [f"| {it.what} | {it.figure} |" for it in found]
    return "\n".join(["| measured | |", "| --- | --- |", *lines]) + "\n"
