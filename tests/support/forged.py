"""Every way to read files with false seek tables, compared with a reader that has no tables.

Whatever a table says, the bytes that are delivered are those of the records that are there; or an error or a
warning tells that something is wrong. Only `record_at` without an index, which this does not cover, may be
misled by a table that was made for it: see `tests.support.mutants`.
"""

from __future__ import annotations

import random
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import seekwarc
from seekwarc.collection.record_table import Query
from seekwarc.compat.fsspec import WarcFileSystem
from seekwarc.compat.warcio import ArchiveIterator
from seekwarc.errors import SeekWarcError
from seekwarc.make.indexing import index
from seekwarc.serve.library import Library

if TYPE_CHECKING:
    from tests.support.mutants import Mutant, Truth

PARQUET = 5
"""One batch of files in so many gets a Parquet index, too."""
FILE_SYSTEM = 4
"""One file in so many is read as a file system, which is made for each."""

WAYS = (
    "index .cdxj",
    "collection",
    "served .zst",
    "served .cdxj",
    "splits",
    "splits inside records",
    "drop-in",
    "warc://",
)
"""Every way that each batch of files is read in; a Parquet index comes besides."""

Part = Callable[[int, int], bytes]
"""Returns a range of a block."""


def check_ways(paths: Sequence[Path], mutants: Sequence[Mutant], rng: random.Random) -> Counter[str]:
    """Read files in every way.

    Args:
        paths: Where the files are, all in one folder.
        mutants: What is in them.
        rng: Chooses ranges.

    Returns:
        How many records were read right in each way, and how many with an error ("way, error").

    Raises:
        AssertionError: Other bytes were delivered, without a word.
    """
    truths = {
        (path.name, truth.offset): truth
        for path, mutant in zip(paths, mutants, strict=True)
        for truth in mutant.records
    }
    seen: Counter[str] = Counter()
    folder = paths[0].parent
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", seekwarc.FormatWarning)
        _check_indexes(folder, paths, truths, rng, seen)
        _check_collection(paths, truths, rng, seen)
        _check_served([*paths], truths, rng, seen)
        _check_served([folder / "all.cdxj"], truths, rng, seen)
        for path, mutant in zip(paths, mutants, strict=True):
            for inside in (False, True):
                _check_splits(path, mutant, rng, seen, inside_records=inside)
            _check_drop_in(path, mutant, seen)
            if not rng.randrange(FILE_SYSTEM):
                _check_file_system(path, mutant, rng, seen)
    return seen


def _check_block(way: str, truth: Truth, part: Part, rng: random.Random, seen: Counter[str]) -> None:
    """See that some ranges of a block, and all of it, are what they should be."""
    size = len(truth.block)
    ranges = [
        (size // 3, size * 2 // 3),
        (begin := rng.randint(0, size), rng.randint(begin, size)),
        (0, size),
    ]
    for start, stop in ranges:
        try:
            data = part(start, stop)
        except SeekWarcError:
            seen[f"{way}, error"] += 1
            return
        assert data == truth.block[start:stop], (
            f"{way}: other bytes, offset {truth.offset}, [{start}, {stop})"
        )
    seen[way] += 1


def _pread(record: seekwarc.Record) -> Part:
    return lambda start, stop: record.block.pread(start, stop - start)


Truths = dict[tuple[str, int], "Truth"]


def _check_indexes(
    folder: Path, paths: Sequence[Path], truths: Truths, rng: random.Random, seen: Counter[str]
) -> None:
    named = {path.name: path for path in paths}
    problems: list[object] = []
    places = {folder / "all.cdxj": False}
    if not rng.randrange(PARQUET):
        places[folder / "all.parquet"] = True
    for place, parquet in places.items():
        problems.clear()
        index(named, place, on_problem=problems.append, parquet=parquet)
        with seekwarc.Index(place, cache_size=0) as lines:
            found = set()
            for capture in lines:
                truth = truths[capture.filename, capture.offset]
                found.add((capture.filename, capture.offset))
                _check_block(f"index {place.suffix}", truth, _pread(capture.open()), rng, seen)
        # A record that cannot be read has no line, and is told of.
        assert len(found) + len(problems) >= len(truths)


def _check_collection(paths: Sequence[Path], truths: Truths, rng: random.Random, seen: Counter[str]) -> None:
    with seekwarc.Collection(paths, cache_size=0) as crawl:
        for number in range(max(truth.number for truth in truths.values()) + 1):
            for entry in crawl.index.by_uri(f"http://example.org/{number}"):
                truth = truths[Path(entry.filename).name, entry.offset]
                _check_block("collection", truth, _pread(crawl.record(entry)), rng, seen)


def _check_served(served: Sequence[Path], truths: Truths, rng: random.Random, seen: Counter[str]) -> None:
    way = f"served {served[0].suffix}"
    with Library(served) as library:
        library.read()
        for row in library.catalogue.page(Query(), 0, library.catalogue.rows).entries:
            truth = truths[row.filename, row.offset]
            record = library.open(library.record_id(row.filename, row.offset)).record
            _check_block(way, truth, _pread(record), rng, seen)


def _check_splits(
    path: Path, mutant: Mutant, rng: random.Random, seen: Counter[str], *, inside_records: bool
) -> None:
    way = "splits inside records" if inside_records else "splits"
    target = rng.choice((64, 300, 1000, 3000))
    blocks: dict[int, bytes] = {}
    order: list[int] = []
    try:
        for part in seekwarc.splits(path, target_bytes=target, inside_records=inside_records):
            for found in seekwarc.read_split(part, cache_size=0):
                offset, data = (
                    (found.record.offset, found.read())
                    if isinstance(found, seekwarc.PayloadPart)
                    else (found.offset, found.block.read())
                )
                if offset not in blocks:
                    order.append(offset)
                blocks[offset] = blocks.get(offset, b"") + data
    except SeekWarcError:
        seen[f"{way}, error"] += 1
        return
    wanted = [truth.offset for truth in mutant.records]
    assert order == wanted, f"{way} of {target} bytes: {path}: {order} instead of {wanted}"
    for truth in mutant.records:
        assert blocks[truth.offset] == truth.block, f"{way} of {target} bytes: {path}: other bytes"
    seen[way] += 1


def _check_drop_in(path: Path, mutant: Mutant, seen: Counter[str]) -> None:
    left = iter(mutant.records)
    with path.open("rb") as stream:
        try:
            for record in ArchiveIterator(stream):
                truth = next(left)
                assert record.raw_stream.read() == truth.block, f"drop-in: {path}: other bytes"
        except SeekWarcError:
            seen["drop-in, error"] += 1
            return
    assert next(left, None) is None, f"drop-in: {path}: a record is missing"
    seen["drop-in"] += 1


def _check_file_system(path: Path, mutant: Mutant, rng: random.Random, seen: Counter[str]) -> None:
    with closing(WarcFileSystem(path, cache_size=0)) as files:
        for truth in mutant.records:
            uri = f"http://example.org/{truth.number}"
            _check_block("warc://", truth, _cat(files, uri), rng, seen)


def _cat(files: WarcFileSystem, uri: str) -> Part:
    return lambda start, stop: files.cat_file(uri, start, stop)
