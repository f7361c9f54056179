"""`validate_wacz`: whether a WACZ keeps the rules of its specification, and whether players find what it has.

Rules are those of WACZ 1.1.1 (https://specs.webrecorder.net/wacz/1.1.1/), each named by its section, and what
follows from how players read: by the directory of the ZIP archive, and by the lines of the index.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal, NamedTuple

from seekwarc.cdx.index import Capture, Index
from seekwarc.cdx.wacz import json_lines
from seekwarc.errors import FormatError, NotFoundError, SourceNotFoundError
from seekwarc.format.cdxj import is_capture
from seekwarc.read.reader import Reader
from seekwarc.read.record import Record
from seekwarc.storage.opening import open_stored
from seekwarc.storage.source import RangeSource
from seekwarc.storage.zip_members import ZipArchive, is_wacz, open_zip
from seekwarc.tools.wacz_writing import pieces_of

__all__ = ["RULES", "WaczFinding", "WaczReport", "validate_wacz"]

MAX_FINDINGS: Final = 100
"""Findings of a rule that are kept; all are counted."""
MAX_JSON: Final = 16 << 20
GZIP: Final = b"\x1f\x8b"
ZSTD: Final = re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")
LOCAL_HEADER: Final = 30
MAX_TEXT: Final = 80

Severity = Literal["error", "warning"]


class Rule(NamedTuple):
    """A rule, and where it is from."""

    section: str
    severity: Severity = "error"


RULES: Final = {
    "W01": Rule("Zip Format File Extension"),
    "W02": Rule("Zip Format"),
    "W03": Rule("archive: one or more WARC files"),
    "W04": Rule("archive: names"),
    "W05": Rule("archive: what players read"),
    "W06": Rule("indexes: one or more, of CDXJ"),
    "W07": Rule("indexes: lines lead to records"),
    "W08": Rule("pages.jsonl"),
    "W09": Rule("pages.jsonl: pages are captured", "warning"),
    "W10": Rule("datapackage.json: required properties"),
    "W11": Rule("datapackage.json: resources lists all files"),
    "W12": Rule("datapackage.json: sizes and hashes"),
    "W13": Rule("datapackage.json: contextual information", "warning"),
    "W14": Rule("datapackage-digest.json is recommended", "warning"),
    "W15": Rule("datapackage-digest.json: properties"),
    "W16": Rule("datapackage-digest.json: other properties", "warning"),
    "W17": Rule("Other files and directories"),
    "W18": Rule("Zip Compression"),
    "W19": Rule("Zip Format: checksums"),
    "W20": Rule("Zip Format: players skip local headers", "warning"),
    "W21": Rule("indexes: captures have lines", "warning"),
    "W22": Rule("archive: records can be read"),
}
"""The rules by number: a section of the specification and what is looked at."""

_DATE = re.compile(
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt ]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?"
    r"([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)"
)
_FILES: Final = {
    "archive/": re.compile(r"[^/]+\.warc(\.gz|\.zst)?", re.IGNORECASE),
    "indexes/": re.compile(r"[^/]+\.(idx|cdxj?(\.gz)?)", re.IGNORECASE),
    "pages/": re.compile(r"[^/]+\.jsonl", re.IGNORECASE),
}
UNLISTED: Final = ("datapackage.json", "datapackage-digest.json")


@dataclass(frozen=True, slots=True)
class WaczFinding:
    """A rule that a WACZ breaks.

    Example:
        >>> finding = seekwarc.tools.validate_wacz("crawl.wacz").findings[0]
        >>> print(finding)
        W05 error: archive/crawl.warc.zst: no player reads Zstandard (WACZ 1.1.1, archive: what players read)
    """

    rule: str
    """Its number in `RULES`: W01 to W22."""
    severity: Severity
    path: str
    """The member that it is about; empty for the WACZ itself."""
    message: str

    def __str__(self) -> str:
        place = f"{self.path}: " if self.path else ""
        section = RULES[self.rule].section
        return f"{self.rule} {self.severity}: {place}{self.message} (WACZ 1.1.1, {section})"


@dataclass(frozen=True, slots=True)
class WaczReport:
    """What is wrong with a WACZ.

    Example:
        >>> report = seekwarc.tools.validate_wacz("crawl.wacz")
        >>> report.is_valid, report.lines
        (False, 3)
    """

    findings: tuple[WaczFinding, ...]
    """The first 100 of each rule."""
    counts: dict[str, int]
    """How many findings of each rule there are, by number."""
    members: int
    lines: int
    """Lines of the index."""
    pages: int

    @property
    def is_valid(self) -> bool:
        """Whether there are no errors; there may be warnings."""
        return all(RULES[rule].severity != "error" for rule in self.counts)


def validate_wacz(source: str | os.PathLike[str]) -> WaczReport:
    """Check a WACZ: the rules of the specification, all hashes, and each line of the index.

        for finding in tools.validate_wacz("crawl.wacz").findings:
            print(finding)

    Args:
        source: Path or URL. All of it is read, WARC files twice, and the records that the index names once
            more.

    Raises:
        SourceError: It cannot be read.
    """
    name = os.fspath(source)
    check = _Check(name)
    if not is_wacz(name):
        check.found("W01", "", "the name does not end with .wacz")
    stored = open_stored(name)
    try:
        archive = open_zip(name, stored)
    except FormatError as error:
        check.found("W02", "", error.message)
        return check.report(0)
    check.members(archive)
    check.package(archive)
    check.digest(archive)
    if is_wacz(name):
        check.index(name, archive)
        check.captures(archive)
    check.pages(archive)
    return check.report(len(archive.members))


class _Check:
    def __init__(self, name: str) -> None:
        self._name = name
        self._findings: list[WaczFinding] = []
        self._counts: Counter[str] = Counter()
        self._sums: dict[str, str] = {}
        self._sizes: dict[str, int] = {}
        self._index: Index | None = None
        self._places: set[tuple[str, int]] = set()
        self._lines = self._pages = 0

    def found(self, rule: str, path: str, message: str) -> None:
        self._counts[rule] += 1
        if self._counts[rule] <= MAX_FINDINGS:
            self._findings.append(WaczFinding(rule, RULES[rule].severity, path, message))

    def report(self, members: int) -> WaczReport:
        if self._index is not None:
            self._index.close()
        found = sorted(self._findings, key=lambda it: it.rule)
        return WaczReport(tuple(found), dict(self._counts), members, self._lines, self._pages)

    def members(self, archive: ZipArchive) -> None:
        """Read all members: names, compression, checksums; hashes are kept."""
        names = [name for name in archive.members if not name.endswith("/")]
        if not any(name.startswith("archive/") for name in names):
            self.found("W03", "", "no WARC file is in archive/")
        for name in names:
            info = archive.members[name]
            folder = name.partition("/")[0] + "/"
            if folder in _FILES and not _FILES[folder].fullmatch(name.removeprefix(folder)):
                self.found("W17", name, f"only the specified files may be in {folder}")
            if info.compress_type and (folder == "archive/" or name.endswith(".gz")):
                self.found(
                    "W18", name, "is compressed by ZIP; players read ranges of it, so it must be stored"
                )
            try:
                source = archive.open(name)
                self._sum(name, source, info.CRC)
                if not info.compress_type:
                    start = archive.start_of(info)
                    bare = info.header_offset + LOCAL_HEADER + len(info.orig_filename.encode())
                    if not info.extra and start != bare:
                        self.found(
                            "W20", name, "has fields in its local header that the directory does not have"
                        )
            except FormatError as error:
                self.found("W02", name, error.message)
                continue
            if folder == "archive/":
                self._archive_name(name, source)

    def _sum(self, name: str, source: RangeSource, expected: int) -> None:
        digest = hashlib.sha256()
        size = crc = 0
        for data in pieces_of(source):
            size += len(data)
            crc = zlib.crc32(data, crc)
            digest.update(data)
        self._sizes[name] = size
        self._sums[name] = digest.hexdigest()
        if crc != expected:
            self.found("W19", name, f"the CRC-32 is {crc:08x}, and {expected:08x} in the directory")

    def _archive_name(self, name: str, source: RangeSource) -> None:
        begin = source.read(0, 4)
        is_gzip = begin.startswith(GZIP)
        if ZSTD.match(begin):
            self.found("W05", name, "no player reads Zstandard")
        elif is_gzip != name.lower().endswith(".gz"):
            kind = "is gzip, and not named .warc.gz" if is_gzip else "is not gzip, and named so"
            self.found("W04", name, kind)

    def _json(self, archive: ZipArchive, name: str, rule: str) -> dict[str, object] | None:
        try:
            source = archive.open(name)
            if (source.size or 0) > MAX_JSON:
                self.found(rule, name, f"has more than {MAX_JSON} bytes")
                return None
            value = json.loads(source.read(0, MAX_JSON))
        except (SourceNotFoundError, FormatError, ValueError, RecursionError) as error:
            self.found(rule, name, "is missing" if isinstance(error, SourceNotFoundError) else str(error))
            return None
        if not isinstance(value, dict):
            self.found(rule, name, "is not a JSON object")
            return None
        return value

    def package(self, archive: ZipArchive) -> None:
        """Check the manifest, and the hashes in it."""
        name = "datapackage.json"
        package = self._json(archive, name, "W10")
        if package is None:
            return
        self._properties(name, package)
        resources = package.get("resources")
        if not isinstance(resources, list):
            self.found("W10", name, "resources is not a list")
            return
        listed: Counter[str] = Counter()
        for number, resource in enumerate(resources):
            path = resource.get("path") if isinstance(resource, dict) else None
            if not isinstance(resource, dict) or not isinstance(path, str):
                self.found("W11", name, f"resource {number} has no path")
                continue
            listed[path] += 1
            self._resource(path, resource, archive)
        for path, count in listed.items():
            if count > 1:
                self.found("W11", path, f"is listed {count} times")
        for path in sorted(self._sums.keys() - listed.keys() - {*UNLISTED}):
            self.found("W11", path, "is not listed")

    def _properties(self, name: str, package: dict[str, object]) -> None:
        if package.get("profile") not in ("data-package", "wacz"):
            self.found("W10", name, f"profile is {_text(package.get('profile'))}, not 'data-package'")
        if not isinstance(package.get("wacz_version"), str) and package.get("profile") != "wacz":
            self.found("W10", name, "wacz_version is missing")
        for key in ("created", "modified"):
            if key in package and not _is_date(package[key]):
                self.found("W13", name, f"{key} is {_text(package[key])}, not a date of RFC 3339")
        for key in ("title", "description", "software", "mainPageUrl", "mainPageDate"):
            if not isinstance(package.get(key, ""), str):
                self.found("W13", name, f"{key} is {_text(package[key])}, not text")

    def _resource(self, path: str, resource: dict[str, object], archive: ZipArchive) -> None:
        if path not in archive.members:
            self.found("W11", path, "is listed, and not in the WACZ")
        if not isinstance(resource.get("name"), str):
            self.found("W11", path, "its resource has no name")
        if path not in self._sums:
            return
        if resource.get("bytes") != self._sizes[path]:
            self.found(
                "W12", path, f"has {self._sizes[path]} bytes, and {_text(resource.get('bytes'))} are listed"
            )
        self._hash("W12", path, resource.get("hash"))

    def _hash(self, rule: str, path: str, stated: object) -> None:
        if not isinstance(stated, str) or not stated.startswith("sha256:"):
            self.found(rule, path, f"has the hash {_text(stated)}, and not one by SHA-256")
        elif self._sums[path] != stated.removeprefix("sha256:").lower():
            self.found(rule, path, "has another SHA-256 than is listed")

    def digest(self, archive: ZipArchive) -> None:
        """Check the hash of the manifest."""
        name = "datapackage-digest.json"
        if name not in archive.members:
            self.found("W14", name, "is missing")
            return
        digest = self._json(archive, name, "W15")
        if digest is None:
            return
        if digest.get("path") != "datapackage.json":
            self.found("W15", name, f"path is {_text(digest.get('path'))}, not 'datapackage.json'")
        if "datapackage.json" in self._sums:
            self._hash("W15", "datapackage.json", digest.get("hash"))
        if "signedData" in digest:
            self.found("W16", name, "has a signature, which is not checked")
        for key in sorted(digest.keys() - {"path", "hash", "signedData"}):
            self.found("W16", name, f"has the unknown property {_text(key)}")

    def index(self, name: str, archive: ZipArchive) -> None:
        """Open the record of each line."""
        try:
            self._index = index = Index(name)
        except FormatError as error:
            self.found("W06", "", error.message)
            return
        lines = self._guarded(iter(index), "W06")
        for capture in lines:
            self._lines += 1
            try:
                path = f"archive/{capture.filename}"
                if path not in archive.members:
                    self.found("W07", capture.filename, f"is not in archive/, and has {capture.uri}")
                    continue
                self._places.add((path, capture.offset))
                record = capture.open(resolve=False)
                if capture.length != record.length:
                    text = f"the record at {record.offset} has {record.length} bytes, not {capture.length}"
                    self.found("W07", path, text)
            except (FormatError, NotFoundError) as error:
                self.found("W07", getattr(error, "source", None) or "", error.message)
        if not self._lines:
            self.found("W06", "", "the index has no lines")

    def captures(self, archive: ZipArchive) -> None:
        """Read the records of all WARC files: players show only what has a line."""
        for name in archive.members:
            if not name.startswith("archive/") or name.endswith("/"):
                continue
            try:
                with Reader(archive.open(name)) as file:
                    for record in file.past_damage(partial(self._damage, name)):
                        self._capture(name, record)
            except FormatError as error:
                self.found("W22", name, error.message)

    def _damage(self, name: str, damage: FormatError) -> None:
        self.found("W22", name, str(damage))

    def _capture(self, name: str, record: Record) -> None:
        uri = record.target_uri
        if uri is None or record.skip or (name, record.offset) in self._places or not self._lines:
            return
        # Only of a resource the type of the block decides.
        media_type = record.payload.media_type if record.type == "resource" else None
        if is_capture(record.type, media_type.essence if media_type is not None else None):
            self.found("W21", name, f"the {record.type} at {record.offset} has no line: {uri[:MAX_TEXT]}")

    def _guarded(self, found: Iterator[Capture], rule: str) -> Iterator[Capture]:
        try:
            yield from found
        except FormatError as error:
            self.found(rule, "", str(error))

    def pages(self, archive: ZipArchive) -> None:
        """Check each page, and that it is captured."""
        names = [it for it in archive.members if it.startswith("pages/") and it.endswith(".jsonl")]
        if "pages/pages.jsonl" not in names:
            self.found("W08", "pages/pages.jsonl", "is missing")
        for name in names:
            try:
                for offset, page in json_lines(archive.open(name)):
                    if offset or "url" in page or "format" not in page:
                        self._page(name, offset, page)
            except FormatError as error:
                self.found("W08", name, str(error))

    def _page(self, name: str, offset: int, page: dict[str, object]) -> None:
        self._pages += 1
        uri = page.get("url")
        if not isinstance(uri, str):
            self.found("W08", name, f"the page at {offset} has no url")
            return
        if not _is_date(page.get("ts")):
            self.found("W08", name, f"the ts of {uri} is {_text(page.get('ts'))}, not a date of RFC 3339")
        for key, kind in (("title", str), ("text", str), ("size", int)):
            if key in page and type(page[key]) is not kind:
                self.found("W08", name, f"the {key} of {uri} is {_text(page[key])}")
        try:
            if self._index is not None and next(self._index.lookup(uri), None) is None:
                self.found("W09", name, f"{uri} is not in the index")
        except (FormatError, ValueError) as error:
            self.found("W09", name, f"{uri} cannot be looked up: {error}")


def _is_date(text: object) -> bool:
    return isinstance(text, str) and _DATE.fullmatch(text) is not None


def _text(value: object) -> str:
    return repr(value)[:MAX_TEXT]
