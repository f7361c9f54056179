"""`validate_wacz`: whether a WACZ keeps the rules of its specification, and whether players find what it has.

`wacz_rules` has the rules. `wacz_zip` checks the ZIP archive, `wacz_pages` the lists of pages, `wacz_lines`
the index and the records that it leads to; what `datapackage.json` lists is checked here.
"""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Final

from seekwarc.check.chain import ChainReport, check_chain
from seekwarc.check.wacz_lines import check_records, read_lines
from seekwarc.check.wacz_pages import check_captured, check_pages, is_date
from seekwarc.check.wacz_rules import RULES, Dates, Findings, WaczFinding, json_object, shown
from seekwarc.check.wacz_zip import check_zip, content_of
from seekwarc.errors import FormatError, SeekWarcError, SourceNotFoundError
from seekwarc.jobs.sorting import sorted_lines
from seekwarc.storage.opening import open_stored
from seekwarc.storage.source import RangeSource
from seekwarc.storage.zip_members import ARCHIVE, SEPARATOR, ZipArchive, is_wacz, open_zip

__all__ = ["RULES", "WaczFinding", "WaczReport", "validate_wacz"]

GZIP: Final = b"\x1f\x8b"
ZSTD: Final = re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")
CHAIN_RULES: Final = ("W26", "W27")
MAX_JSON: Final = 16 << 20
VERSIONS: Final = ("1.0.0", "1.1.0", "1.1.1", "1.2.0")

_FILES: Final = {
    ARCHIVE: re.compile(r"[^/]+\.warc(\.gz|\.zst)?", re.IGNORECASE),
    "indexes/": re.compile(r"[^/]+\.(idx|cdxj?(\.gz)?)", re.IGNORECASE),
    "pages/": re.compile(r"[^/]+\.jsonl", re.IGNORECASE),
}
UNLISTED: Final = ("datapackage.json", "datapackage-digest.json")


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
        return all(it.severity != "error" for it in self.findings)


def validate_wacz(
    source: str | os.PathLike[str], *, chain: ChainReport | None = None, closed: bool = False
) -> WaczReport:
    """Check a WACZ: the rules of the specification, all hashes, each line of the index, and each revisit.

        for finding in tools.validate_wacz("crawl.wacz").findings:
            print(finding)

    Args:
        source: Path or URL. All of it is read, WARC files three times; the lines of a large index are sorted
            in temporary files.
        chain: What `check_chain` found of this WACZ and those that it belongs to; by default, it is checked
            with the files that it requires, of those that are beside it.
        closed: Revisits without originals, and required files that are not here, are errors, not warnings.

    Raises:
        SourceError: It cannot be read.
    """
    name = os.fspath(source)
    check = _Check(CHAIN_RULES if closed else ())
    if not is_wacz(name):
        check.found("W01", "", "the name does not end with .wacz")
    stored = open_stored(name)
    try:
        archive = open_zip(name, stored)
    except FormatError as error:
        check.found("W02", "", error.message)
        return check.report(0)
    check_zip(archive, check.findings)
    check.members(archive)
    check.package(archive)
    check.digest(archive)
    check.contents(archive)
    check.chain(name, chain)
    return check.report(len(archive.members))


class _Check:
    def __init__(self, errors: Container[str]) -> None:
        self.findings = Findings(errors)
        self.found = self.findings.add
        self._sums: dict[str, str] = {}
        self._sizes: dict[str, int] = {}
        self._lines = self._pages = 0

    def report(self, members: int) -> WaczReport:
        found = sorted(self.findings.kept, key=lambda it: it.rule)
        return WaczReport(tuple(found), dict(self.findings.counts), members, self._lines, self._pages)

    def chain(self, name: str, report: ChainReport | None) -> None:
        """Note what is wrong with the revisits of a WACZ, and with what it requires."""
        try:
            report = check_chain(name) if report is None else report
        except SeekWarcError:
            # What cannot be read was found by other checks.
            return
        for finding in report.findings:
            wacz, _, member = finding.file.rpartition(SEPARATOR)
            if finding.offset is None and finding.file == name:
                self.found("W27", "datapackage.json", finding.message)
            elif finding.offset is not None and wacz == name:
                self.found("W26", member, f"{finding.message} (at {finding.offset})")

    def contents(self, archive: ZipArchive) -> None:
        """Compare pages, lines of the index and records."""
        self._pages, listed = check_pages(archive, self.findings)
        dates: Dates = {page.key: {"": set()} for page in listed}
        for page in listed:
            dates[page.key][page.uri] = set()
        lines = sorted_lines(read_lines(archive, self.findings, dates))
        self._lines = check_records(archive, lines, self.findings)
        if not self._lines:
            self.found("W06", "", "the index has no lines")
        check_captured(listed, dates, self.findings)

    def members(self, archive: ZipArchive) -> None:
        """Read all members: names, compression, checksums; hashes are kept."""
        names = [name for name in archive.members if not name.endswith("/")]
        if not any(name.startswith(ARCHIVE) for name in names):
            self.found("W03", "", "no WARC file is in archive/")
        for name in names:
            info = archive.members[name]
            folder = name.partition("/")[0] + "/"
            if folder in _FILES and not _FILES[folder].fullmatch(name.removeprefix(folder)):
                self.found("W17", name, f"only the specified files may be in {folder}")
            if info.compress_type and (folder == ARCHIVE or name.endswith(".gz")):
                self.found(
                    "W18", name, "is compressed by ZIP; players read ranges of it, so it must be stored"
                )
            try:
                self._sum(name, content_of(archive, info), info.CRC)
                source = archive.open(name)
            except FormatError as error:
                self.found("W02", name, error.message)
                continue
            if folder == ARCHIVE:
                self._archive_name(name, source)

    def _sum(self, name: str, pieces: Iterator[bytes], expected: int) -> None:
        digest = hashlib.sha256()
        size = crc = 0
        for data in pieces:
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
            return json_object(source.read(0, MAX_JSON))
        except (SourceNotFoundError, FormatError) as error:
            self.found(rule, name, "is missing" if isinstance(error, SourceNotFoundError) else error.message)
            return None

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
            self.found("W10", name, f"profile is {shown(package.get('profile'))}, not 'data-package'")
        version = package.get("wacz_version")
        if not isinstance(version, str) and package.get("profile") != "wacz":
            self.found("W10", name, "wacz_version is missing")
        elif version is not None and version not in VERSIONS:
            self.found("W10", name, f"wacz_version is {shown(version)}, which is not known")
        for key in ("created", "modified"):
            if key in package and not is_date(package[key]):
                self.found("W13", name, f"{key} is {shown(package[key])}, not a date of RFC 3339")
        for key in ("title", "description", "software", "mainPageUrl", "mainPageDate"):
            if not isinstance(package.get(key, ""), str):
                self.found("W13", name, f"{key} is {shown(package[key])}, not text")

    def _resource(self, path: str, resource: dict[str, object], archive: ZipArchive) -> None:
        if path not in archive.members:
            self.found("W11", path, "is listed, and not in the WACZ")
        if not isinstance(resource.get("name"), str):
            self.found("W11", path, "its resource has no name")
        if path not in self._sums:
            return
        if resource.get("bytes") != self._sizes[path]:
            self.found(
                "W12", path, f"has {self._sizes[path]} bytes, and {shown(resource.get('bytes'))} are listed"
            )
        self._hash("W12", path, resource.get("hash"))

    def _hash(self, rule: str, path: str, stated: object) -> None:
        if not isinstance(stated, str) or not stated.startswith("sha256:"):
            self.found(rule, path, f"has the hash {shown(stated)}, and not one by SHA-256")
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
            self.found("W15", name, f"path is {shown(digest.get('path'))}, not 'datapackage.json'")
        if "datapackage.json" in self._sums:
            self._hash("W15", "datapackage.json", digest.get("hash"))
        if "signedData" in digest:
            self.found("W16", name, "has a signature, which is not checked")
        for key in sorted(digest.keys() - {"path", "hash", "signedData"}):
            self.found("W16", name, f"has the unknown property {shown(key)}")
