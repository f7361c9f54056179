"""The lines of the indexes in a WACZ, compared with the records that they lead to.

Goal: a reader that follows a line gets the record that the line describes, and all of it. Lines come in the
order of their keys, records in that of their offsets. So lines are sorted by place in temporary files, and
each WARC file is read once, in order, however it is compressed; no record is looked for.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple
from urllib.parse import unquote

from seekwarc.cdx.wacz import lines_in, pieces_of
from seekwarc.cdx.zipnum import FORMAT, GZIP_WINDOW, META
from seekwarc.check.examine import Intact
from seekwarc.check.verifying import Problem, ProblemSeverity, Verifier, VerifyListener
from seekwarc.check.wacz_rules import MAX_TEXT, Dates, Findings, json_object, shown
from seekwarc.collection.entry import is_listed
from seekwarc.compiling import override
from seekwarc.errors import FormatError
from seekwarc.format.cdxj import MAX_LINE_SIZE, REVISIT, CdxjLine, line_head, stated_type, timestamp_of
from seekwarc.format.dates import WarcDate
from seekwarc.format.digest import Digest
from seekwarc.format.surt import surt
from seekwarc.format.uri import as_utf8
from seekwarc.make.index_lines import digest_block
from seekwarc.read.digests import BlockDigests
from seekwarc.read.record import Record
from seekwarc.read.resync import is_shared
from seekwarc.storage.zip_members import ARCHIVE, ZipArchive, check_ratio

__all__ = ["check_records", "read_lines"]

PACKED: Final = (".cdx.gz", ".cdxj.gz")
PLAIN: Final = (".cdx", ".cdxj")
STEP: Final = 1 << 20
STAMP: Final = 14
MAX_HEAD: Final = 64 << 10

_POST = re.compile(r"[?&]__wb_method=")


class _Block(NamedTuple):
    """A gzip member of an index."""

    offset: int
    length: int
    head: bytes
    digest: str


class _Unpacked:
    """The lines of a compressed index, and what is known of its blocks when they are read."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self.blocks: list[_Block] = []

    def __iter__(self) -> Iterator[bytes]:
        offset = size = 0
        data = next(self._pieces, b"")
        while data:
            decoder, digest, length, begin = zlib.decompressobj(GZIP_WINDOW), hashlib.sha256(), 0, b""
            while not decoder.eof:
                try:
                    found = decoder.decompress(data, STEP)
                except zlib.error as error:
                    raise FormatError(f"cannot be decompressed: {error}", offset=offset) from error
                rest = decoder.unused_data if decoder.eof else decoder.unconsumed_tail
                digest.update(data[: len(data) - len(rest)])
                length += len(data) - len(rest)
                size += len(found)
                check_ratio(size, offset + length)
                begin += found[: max(MAX_HEAD - len(begin), 0)]
                yield found
                data = rest
                if not (data or found or decoder.eof) and not (data := next(self._pieces, b"")):
                    raise FormatError("ends inside a gzip member", offset=offset)
            self.blocks.append(
                _Block(offset, length, line_head(begin) or b"", f"sha256:{digest.hexdigest()}")
            )
            offset += length
            data = data or next(self._pieces, b"")


def read_lines(archive: ZipArchive, findings: Findings, dates: Dates) -> Iterator[bytes]:
    """Check the lines of all indexes; yield each after the number of its member and its offset, to be sorted.

    The dates of captures are added to those of the pages that are in `dates`.
    """
    check = _LineCheck(archive, findings, dates)
    names = [it for it in archive.members if it.startswith("indexes/") and not it.endswith("/")]
    blocks: dict[str, list[_Block]] = {}
    found = [it for it in names if it.endswith((*PLAIN, *PACKED))]
    for name in found:
        try:
            pieces: Iterable[bytes] = pieces_of(archive.open(name))
            if name.endswith(PACKED):
                pieces = unpacked = _Unpacked(pieces)
                blocks[name] = unpacked.blocks
            yield from check.lines(name, pieces)
        except FormatError as error:
            findings.add("W06", name, str(error))
    if not found:
        findings.add("W06", "", "has no index in its folder indexes/")
    for name in [it for it in names if it.endswith(".idx")]:
        try:
            _check_cluster(archive, name, blocks, findings)
        except FormatError as error:
            findings.add("W06", name, str(error))


class _LineCheck:
    """Checks what lines say of themselves."""

    def __init__(self, archive: ZipArchive, findings: Findings, dates: Dates) -> None:
        names = [(number, name) for number, name in enumerate(archive.members) if name.startswith(ARCHIVE)]
        self._numbers = {name.removeprefix(ARCHIVE): number for number, name in names}
        self._findings = findings
        self._dates = dates

    def lines(self, name: str, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the lines of an index with their places."""
        before = b""
        for offset, line in lines_in(pieces, MAX_LINE_SIZE):
            data = line.rstrip(b"\r")
            if not data or data.startswith((META, b" CDX")):
                continue
            head = line_head(data) or b""
            if data == before:
                self._findings.add("W24", name, f"has the line at {offset} twice")
            elif head < (line_head(before) or b""):
                self._findings.add("W06", name, f"the line at {offset} is not in order: {shown(head)}")
            before = data
            try:
                if (place := self._place_of(data, name)) is not None:
                    yield b"%08d %018d %b\n" % (*place, data)
            except FormatError as error:
                self._findings.add("W06", name, f"the line at {offset}: {error.message}")

    def _place_of(self, data: bytes, name: str) -> tuple[int, int] | None:
        """Check a line; return the number of its member and its offset there."""
        head = line_head(data)
        if head is None:
            raise FormatError(f"not a line of an index (key, date, values): {data[:60]!r}")
        json_object(data[len(head) :])
        line = CdxjLine.parse(data)
        if line.uri is None:
            raise FormatError("has no url")
        key = surt(line.uri)
        if line.is_capture and (known := self._dates.get(key)) is not None:
            known.get(line.uri, known[""]).add(line.timestamp[:STAMP])
        if not _is_key_of(line.key, key, line.uri):
            self._findings.add("W06", name, f"the key {shown(line.key)} is not that of {line.uri}")
        if line.filename not in self._numbers:
            self._findings.add("W07", line.filename, f"is not in archive/, and has {line.uri}")
            return None
        return self._numbers[line.filename], line.offset


def _is_key_of(key: str, expected: str, uri: str) -> bool:
    """Return whether a line has a key of its URI as Python's or JavaScript's tools make it."""
    if key == expected:
        return True
    if _POST.search(key):
        # The query of a POST request is in the key, and arguments are sorted.
        return _plain(key).partition("?")[0] == _plain(expected).partition("?")[0]
    if not uri.lower().startswith(("http:", "https:")):
        return key == uri
    return key == key.lower() and _plain(key) == _plain(expected)


def _plain(key: str) -> str:
    path, _, query = unquote(key).lower().partition("?")
    return re.sub("/+", "/", path).removesuffix("/") + "?" + "&".join(sorted(query.split("&")))


def _check_cluster(
    archive: ZipArchive, name: str, blocks: dict[str, list[_Block]], findings: Findings
) -> None:
    """Compare the index of a cluster with its blocks."""
    listed: Counter[str] = Counter()
    default = next(iter(blocks)) if len(blocks) == 1 else ""
    for offset, line in lines_in(pieces_of(archive.open(name)), MAX_LINE_SIZE):
        if not line.strip():
            continue
        head, _, values = line.partition(b"{")
        try:
            fields = json_object(b"{" + values)
        except FormatError as error:
            raise FormatError(f"the line at {offset}: {error.message}") from error
        if line.startswith(META):
            default = f"indexes/{fields.get('filename', '')}"
            if head != META + b"0 " or fields.get("format") != FORMAT:
                findings.add("W06", name, f"the first line is {shown(line)}, not `!meta 0` and {FORMAT!r}")
            continue
        path = f"indexes/{fields['filename']}" if "filename" in fields else default
        block = next(iter(blocks.get(path, ())[listed[path] :][:1]), None)
        listed[path] += 1
        for rule, text in _block_differences(head, fields, block):
            findings.add(rule, name, f"the line at {offset} {text}")
    for path, found in blocks.items():
        if (count := len(found) - listed[path]) > 0:
            findings.add("W06", name, f"does not list {count} blocks of {path}")


def _block_differences(
    head: bytes, fields: dict[str, object], block: _Block | None
) -> Iterator[tuple[str, str]]:
    """Yield what a line of a cluster's index says that is not true of its block."""
    place = fields.get("offset"), fields.get("length")
    if block is None or place != (block.offset, block.length):
        yield "W06", f"leads to {shown(place)}, where the next block is not"
    elif not block.head.startswith(head.strip()):
        yield "W24", f"has {shown(head)}, and its block begins with {shown(block.head)}"
    elif fields.get("digest", block.digest) != block.digest:
        yield "W06", "has another SHA-256 than its block"


class _Places:
    """Lines in the order of their places, as they are needed."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._lines = iter(lines)
        self.count = 0
        self._step()

    def _step(self) -> None:
        data = next(self._lines, b"")
        self.count += bool(data)
        self.place = (int(data[:8]), int(data[9:27])) if data else None
        self._data = data[28:]

    def until(self, number: int, offset: int) -> Iterator[tuple[int, CdxjLine]]:
        """Yield the lines before a place, each with its offset."""
        while self.place is not None and self.place < (number, offset):
            place, line = self.place, CdxjLine.parse(self._data)
            self._step()
            yield place[1], line


def check_records(archive: ZipArchive, lines: Iterable[bytes], findings: Findings) -> int:
    """Read all WARC files, and compare each record with its lines; return how many lines there are."""
    places = _Places(lines)
    for number, name in enumerate(archive.members):
        if name.startswith(ARCHIVE) and not name.endswith("/"):
            comparison = _Comparison(name, number, places, findings)
            try:
                for _ in Verifier(archive.open(name), listener=comparison):
                    pass
            except FormatError as error:
                findings.add("W22", name, error.message)
        for offset, line in places.until(number + 1, 0):
            findings.add("W07", name, f"no record begins at {offset}, where the index has {line.uri}")
    return places.count


class _Comparison(VerifyListener):
    """Compares the records of a WARC file with their lines while the file is verified."""

    def __init__(self, name: str, number: int, places: _Places, findings: Findings) -> None:
        self._name = name
        self._number = number
        self._places = places
        self._findings = findings
        self._lengths: set[int | None] = set()

    @override
    def on_problem(self, problem: Problem) -> None:
        if problem.severity is not ProblemSeverity.DEVIATION:
            self._findings.add("W22", self._name, f"{problem.message} (at {problem.offset})")
        elif problem.code == "digest-unknown":
            self._findings.add("W25", self._name, f"{problem.message} (at {problem.offset})")

    @override
    def on_record(self, record: Record) -> None:
        for offset, line in self._places.until(self._number, record.offset):
            self._found(f"no record begins at {offset}, where the index has {line.uri}")
        self._lengths = set()
        if not is_shared(record):
            for _, line in self._places.until(self._number, record.offset + 1):
                self._lengths.add(line.length)
                if record.type == "response" and (missing := _missing(line, record)):
                    text = f"the line of the record at {record.offset} has no {' and no '.join(missing)}"
                    self._findings.add("W24", self._name, text)
                for text in _differences(line, record):
                    self._found(f"the record at {record.offset} {text}")
        if not self._lengths and self._places.count and is_listed(record):
            text = "shares its gzip member, so no line can lead to it" if is_shared(record) else "has no line"
            uri = record.target_uri or ""
            self._findings.add(
                "W21", self._name, f"the {record.type} at {record.offset} {text}: {uri[:MAX_TEXT]}"
            )

    @override
    def on_intact(self, found: Intact) -> None:
        begin = found.record.offset
        right = found.end - begin
        for length in self._lengths:
            # Some tools do not count the line breaks after an uncompressed record.
            is_bare = self._name.endswith(".warc") and length == right - len(found.trailer)
            if length != right and not is_bare:
                self._found(f"the record at {begin} has {right} bytes, not {length}")

    def _found(self, message: str) -> None:
        self._findings.add("W07", self._name, message)


def _type_of(text: str | None) -> str:
    return as_utf8(stated_type(text) or "").lower()


def _missing(line: CdxjLine, record: Record) -> list[str]:
    """Return the fields that other tools give the line of a response, and this one does not have."""
    head = record.http
    media_type = stated_type(head.get("Content-Type")) if head is not None else None
    known = {"mime": media_type, "digest": True, "status": head.status if head is not None else None}
    return [name for name, value in known.items() if value is not None and name not in line.fields]


def _differences(line: CdxjLine, record: Record) -> Iterator[str]:
    """Yield what a line says that is not true of its record."""
    head, kind = record.http, record.type
    if as_utf8(line.uri or "") != as_utf8(record.target_uri or ""):
        yield f"is of {shown(record.target_uri)}, but the index has {shown(line.uri)}"
    stated = record.header.get("WARC-Date") or ""
    try:
        date = WarcDate.parse(stated)
        digits = f"{timestamp_of(date)}{date.nanoseconds // 10**6 % 1000:03d}"
    except FormatError:
        digits = ""
    if len(line.timestamp) < STAMP or not digits.startswith(line.timestamp):
        yield f"has the date {shown(stated)}, not {line.timestamp}"
    # A line without a status or a media type is a warning.
    status, right = line.fields.get("status"), head.status if head is not None else None
    if right is None:
        is_right = kind == "revisit" or status in (None, "", "-", "200", "204", "0")
    else:
        is_right = status in (None, str(right)) or (kind == "revisit" and status in ("", "-"))
    if not is_right:
        yield f"has the status {right}, not {shown(status)}"
    is_http = head is not None and kind == "response"
    media_type = _type_of(head.get("Content-Type") if head is not None and is_http else record.content_type)
    given = _type_of(line.mime)
    if (given == REVISIT) != (kind == "revisit") or (
        kind != "revisit" and media_type and given not in (media_type, "unk", "-", "")
    ):
        yield f"is a {kind} of the type {shown(media_type)}, not {shown(line.mime)}"
    text = line.fields.get("digest")
    payload = record.header.get("WARC-Payload-Digest")
    if text and text != "-" and not _is_digest_of(text, payload, record):
        yield f"has the payload digest {shown(payload)}, not {shown(text)}"


def _is_digest_of(text: str, stated: str | None, record: Record) -> bool:
    """Return whether a digest is that which a record states, or of its payload; true if unknown."""
    written = as_utf8(stated or "")
    if text in (written, written.partition(":")[2]):
        return True
    label = "" if ":" in text else "sha256:" if len(text) == 2 * hashlib.sha256().digest_size else "sha1:"
    try:
        given = Digest.parse(label + text)
        if stated is not None and Digest.parse(stated).name == given.name:
            return Digest.parse(stated).key == given.key
    except FormatError:
        return False
    hashers = [given.hasher() for _ in range(3)]
    if record.type == "revisit" or record.header.get("WARC-Segment-Number") is not None:
        return True
    if hashers[0] is None:
        return False
    made = BlockDigests(record.http, block=hashers[0], payload=hashers[1], transferred=hashers[2])
    digest_block(record, made)
    return given.raw in {it.digest() for it in hashers if it is not None}
