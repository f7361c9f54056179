"""The test vectors of the specification: files and what its manifest says of them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

NOTES: Final = Path(__file__).parents[2] / "spec-notes"
SAMPLES: Final = NOTES / "warc-zstd-seekable" / "samples"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True, slots=True)
class Range:
    start: int
    end: int
    sha256: str | None
    offset: int
    length: int | None
    frames: list[int] | None = None


@dataclass(frozen=True, slots=True)
class Table:
    offset: int
    size: int
    frames: int
    checksums: bool


@dataclass(frozen=True, slots=True)
class VectorRecord:
    offset: int
    length: int
    type: str
    size: int
    sha256: str
    complete: bool
    table: Table | None
    ranges: list[Range]


@dataclass(frozen=True, slots=True)
class Vector:
    file: str
    size: int
    sha256: str
    title: str
    sections: list[str]
    valid: bool
    mode: str | None
    writes: str
    breaks: list[str]
    requirements: list[str]
    readable: str
    records: list[VectorRecord]

    @property
    def name(self) -> str:
        return self.file.removesuffix(".warc.zst")

    @property
    def is_of_a_compressor(self) -> bool:
        """Whether a compressor made its frames, which are as large as those of archives."""
        return self.name.startswith("compressed") or self.name in ("foreign-stream", "foreign-pzstd-program")

    @property
    def data(self) -> bytes:
        return (SAMPLES / self.file).read_bytes()

    @property
    def reached_by_place(self) -> list[VectorRecord]:
        """The complete records that have a frame of their own (R9)."""
        offsets = [record.offset for record in self.records]
        return [record for record in self.records if record.complete and offsets.count(record.offset) == 1]


def _record(described: dict[str, Any]) -> VectorRecord:
    table = described.pop("table")
    place = {name: described[name] for name in ("offset", "length")}
    ranges = [Range(**(place | one)) for one in described.pop("ranges")]
    return VectorRecord(table=Table(**table) if table else None, ranges=ranges, **described)


def manifest() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SAMPLES / "manifest.json").read_text())
    return found


def vectors() -> list[Vector]:
    return [
        Vector(records=[_record(record) for record in described.pop("records")], **described)
        for described in manifest()["files"]
    ]
