"""The implementations that have an adapter here, and the page that says what they make of the samples.

    python -m tests.interop.implementations

writes the page again, `spec-notes/warc-zstd-seekable/results.md`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from conformance.answers import Answer, judged, meets
from conformance.batch_command import BatchCommand
from conformance.manifest import Manifest, read_manifest

ADAPTERS = Path(__file__).parent / "adapters"
SPECIFICATION = Path(__file__).parents[2] / "spec-notes" / "warc-zstd-seekable"
PAGE = SPECIFICATION / "results.md"
TIMEOUT = 60
"""Seconds that no answer takes, however busy the machine is."""
SHORT = {"not supported": "-"}


INTRODUCTION = """\
Written by `python -m tests.interop.implementations`, which asks the adapters in `tests/interop/adapters`; a
test compares. A cell says what became of the records, and of all ranges, of a sample: right; refused with
an error; short (records or bytes are missing and no error tells); wrong; must refuse (damaged bytes and no
error); crashed; timed out; `-` where the reader cannot do that. **Bold** is what a reader of class "seeks"
may not answer.

Samples of 2026-11-28. reader.js is [the reader in JavaScript](../reader/README.md), small_reader.py
[one of 150 lines](../small_reader.py) that needs Python 3.14 alone. FastWARC reads in order: its adapter
reads a range by reading the record. pyzstd and indexed_zstd know nothing of WARC: their adapters hand them
single records, and find records in the content that indexed_zstd shows of a file. So does that of the program
`zstd` (Debian 12), which decompresses whole files and no ranges. warcio reads no `.warc.zst`, so that it has
no adapter.
"""


class Implementation(NamedTuple):
    name: str
    package: str
    """Its distribution."""
    module: str
    adapter: str

    runs: str = ""
    """The program that runs its adapter, if that is not Python."""
    asks: str = ""
    """The program that its adapter asks."""

    @property
    def command(self) -> list[str]:
        """What runs its adapter."""
        return [self.runs or sys.executable, str(ADAPTERS / self.adapter)]

    @property
    def needs(self) -> str:
        """The program or module that it needs, as tests name it."""
        return self.runs or self.asks or f"module:{self.module}"

    @property
    def version(self) -> str:
        """Its version; that of the samples if it is made with them."""
        if self.name in OURS:
            return ""
        if not self.asks:
            return version(self.package)
        told = subprocess.run([self.asks, "--version"], capture_output=True, text=True, check=True).stdout
        found = re.search(r"v(\d[\d.]*)", told)
        return found[1] if found else ""


IMPLEMENTATIONS = [
    Implementation("seekwarc", "seekwarc", "seekwarc", "seekwarc_reader.py"),
    Implementation("reader.js", "", "", "javascript_reader.mjs", "node"),
    Implementation("small_reader.py", "", "backports.zstd", "small_reader.py"),
    Implementation("FastWARC", "FastWARC", "fastwarc", "fastwarc_reader.py"),
    Implementation("pyzstd", "pyzstd", "pyzstd", "pyzstd_reader.py"),
    Implementation("indexed_zstd", "indexed_zstd", "indexed_zstd", "indexed_zstd_reader.py"),
    Implementation("zstd", "", "", "zstd_reader.py", asks="zstd"),
]


OURS = {"seekwarc", "reader.js", "small_reader.py"}
"""Those whose version is that of the samples."""


def samples() -> Manifest:
    return read_manifest(SPECIFICATION / "samples")


def answers_of(implementation: Implementation, manifest: Manifest) -> list[Answer]:
    """Return what the judge says of an implementation."""
    command = BatchCommand(implementation.command, timeout=TIMEOUT)
    try:
        return list(judged(manifest, command.run))
    finally:
        command.stop()


def cells(answers: Sequence[Answer]) -> dict[str, str]:
    """Return for each sample what became of records and of ranges, as the page shows it."""
    shown = {}
    for file, group in groupby(answers, key=lambda answer: answer.file):
        records, *ranges = group
        shown[file] = f"{_word(records)} / {_counts(ranges)}" if ranges else _word(records)
    return shown


def _word(answer: Answer) -> str:
    word = SHORT.get(answer.verdict, str(answer.verdict))
    return word if answer.allowed or word == "-" else f"**{word}**"


def _counts(ranges: Sequence[Answer]) -> str:
    counts = Counter(map(_word, ranges))
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))


def page(manifest: Manifest, found: dict[str, list[Answer]], versions: dict[str, str]) -> str:
    return "\n".join(_lines(manifest, found, versions)) + "\n"


def _lines(manifest: Manifest, found: dict[str, list[Answer]], versions: dict[str, str]) -> Iterator[str]:
    yield "# What readers make of the samples"
    yield ""
    yield INTRODUCTION
    yield "| | " + " | ".join(f"{name} {versions[name]}".strip() for name in found) + " |"
    yield "|---|" + "---|" * len(found)
    for reader_class in ("reads", "seeks"):
        met = ("yes" if meets(answers, reader_class) else "no" for answers in found.values())
        yield f'| class "{reader_class}" | ' + " | ".join(met) + " |"
    columns = {name: cells(answers) for name, answers in found.items()}
    for sample in manifest.samples:
        name = sample.file.removesuffix(".warc.zst")
        yield f"| {name} | " + " | ".join(column[sample.file] for column in columns.values()) + " |"


def main() -> None:
    manifest = samples()
    found = {it.name: answers_of(it, manifest) for it in IMPLEMENTATIONS}
    versions = {it.name: it.version for it in IMPLEMENTATIONS}
    PAGE.write_text(page(manifest, found, versions))
    for name, answers in found.items():
        for answer in answers:
            if not answer.allowed and "-v" in sys.argv:
                print(name, answer)


if __name__ == "__main__":
    main()
