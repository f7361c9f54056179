"""Checking whole files: structure, frames, seek tables, the rules of the standard, digests.

Source: "Zstandard Compression for WARC Files 1.0"; WARC 1.1, clauses 4 to 7; spec-notes/warc-zstd-seekable.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import BinaryIO, Final, NamedTuple, Unpack

from seekwarc.check.examine import Damage, Intact, Tally, examine
from seekwarc.errors import FormatError, SourceError, TruncatedError
from seekwarc.format.rules import check_header
from seekwarc.format.seektable import SeekTable
from seekwarc.format.words import counted
from seekwarc.frames.audit import AuditedFrame, AuditedFrames, FrameAudit
from seekwarc.frames.scan import Window
from seekwarc.jobs.parts import PartSource, cut, in_parts
from seekwarc.jobs.problems import ProblemSeverity
from seekwarc.jobs.progress import Progress, no_progress
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.read.digests import DigestVerdict, check_block
from seekwarc.read.options import ReadLimits, ReadOptions
from seekwarc.read.record import Record
from seekwarc.read.resync import LEAD, is_shared
from seekwarc.scale.split import Split
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.opening import open_source
from seekwarc.storage.source import RangeReadable, RangeSource

__all__ = [
    "Problem",
    "ProblemKind",
    "ProblemSeverity",
    "Verification",
    "Verifier",
    "VerifyListener",
    "verify",
]

CONVERT: Final = "`seekwarc convert` writes a file without it"
RECOVER: Final = "`seekwarc recover` saves the other records"
TABLE: Final = "readers do without it; `seekwarc concat FILE -o NEW` writes right tables"

DAMAGE: Final = {
    "damage": RECOVER,
    "dictionary": "records that need the dictionary are lost, unless another file has it",
    "digest": "the bytes have changed since the digest was made: look for another copy",
    "empty": "a WARC file holds at least one record",
    "length": "readers that use another of the values find other records; look for another copy",
    "table-form": TABLE,
    "table-frames": TABLE,
    "table-place": CONVERT,
    "table-record": TABLE,
}
"""Advice for each kind of damage: bytes are lost or wrong, or some reader does not find them."""
DEVIATIONS: Final = {
    "frame-size": CONVERT,
    "frame-checksum": CONVERT,
    "frame-dictionary": CONVERT,
    "frame-window": CONVERT,
    "first-frame": CONVERT,
    "dictionary-place": "files with dictionaries cannot be joined with `cat`: use `seekwarc concat`",
    "table-other": "readers pass over it, if it was not a seek table before it was damaged",
    "table-end": "generic seekable readers misread the file; `seekwarc concat FILE -o NEW` repairs that, or "
    "`seekwarc convert` if each record has a table",
    "shared": CONVERT,
    "trailer": "readers cope with it; only writing the record again repairs it",
    "header": "readers cope with it; only the program that made the record can repair it",
    "chunks": "the payload has the bytes that came; look for another copy if they are not enough",
    "digest-transferred": "nothing is lost: some programs digest the body as it was transferred",
    "digest-unknown": "the digest was not checked",
}
"""Advice for each kind of deviation: a rule of a standard is broken, but every record can be read."""
LIMITS: Final = {"limit": "nothing is known to be wrong there: what it holds was not checked"}
"""Advice for what a limit of the reader kept from being read."""
REMEDIES: Final = DAMAGE | DEVIATIONS | LIMITS
"""Advice for each kind of problem."""
_VERDICTS: Final = {
    DigestVerdict.INVALID: ("digest", "is not that of the bytes"),
    DigestVerdict.TRANSFERRED: (
        "digest-transferred",
        "is that of the body as transferred, or of its chunks, not of the {}",
    ),
    DigestVerdict.UNKNOWN: ("digest-unknown", "is of an algorithm that cannot be computed here"),
}
MAX_WAITING: Final = 10_000
"""Maximum problems of one record that are described; further ones are only counted."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem of a file.

    Example:
        >>> problems = []
        >>> _ = seekwarc.tools.verify(b"WARC/1.1, a file that is cut", on_problem=problems.append)
        >>> print(problems[0].code, problems[0].severity, problems[0].offset)
        damage damage 0
    """

    code: str
    """Kind of problem, such as "digest"; see spec-notes/json.md."""
    source: str
    """Name of the file."""
    offset: int
    record_id: str | None
    message: str
    rule: str = ""
    """For a header: the field and how it breaks its rule, such as "WARC-Date form"."""
    requirement: str = ""
    """The requirement of the specification that a frame breaks, such as "W7"."""

    @property
    def severity(self) -> ProblemSeverity:
        """What it means for a reader of the file."""
        is_broken = ProblemSeverity.DAMAGE if self.code in DAMAGE else ProblemSeverity.DEVIATION
        return ProblemSeverity.LIMIT if self.code in LIMITS else is_broken

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return REMEDIES[self.code]


@dataclass(slots=True)
class ProblemKind:
    """All problems of a file with the same code and rule.

    Example:
        >>> result = seekwarc.tools.verify(b"WARC/1.1, a file that is cut")
        >>> for kind in result.kinds.values():
        ...     print(kind.count, kind.first.code)
        1 damage
        1 empty
    """

    first: Problem
    """The first of them."""
    count: int = 0
    """Number of them."""


@dataclass(slots=True)
class Verification:
    """The result of checking a file.

    Example:
        >>> result = seekwarc.tools.verify("crawl.warc.zst")
        >>> result.is_sound, result.records, result.deviations
        (True, 5, 0)
    """

    source: str
    """Name of the file."""
    compression: str = "-"
    """"zst", "gz" or "none"; "-" if no record was found."""
    records: int = 0
    """Number of intact records."""
    digests: int = 0
    """Number of digests that match."""
    tables: int = 0
    """Number of seek tables that agree with their frames."""
    stored_size: int = 0
    lost: int = 0
    """Compressed bytes from which no record could be read."""
    kinds: dict[tuple[str, str], ProblemKind] = field(default_factory=dict)
    """Problems by code and rule; their number is limited by that of the standards' rules."""

    @property
    def codes(self) -> Counter[str]:
        """Number of problems by code."""
        counts: Counter[str] = Counter()
        for (code, _), kind in self.kinds.items():
            counts[code] += kind.count
        return counts

    def of(self, severity: ProblemSeverity) -> list[ProblemKind]:
        """Return the kinds of problems of a severity, the most frequent first."""
        found = [kind for kind in self.kinds.values() if kind.first.severity == severity]
        return sorted(found, key=lambda kind: -kind.count)

    @property
    def damages(self) -> int:
        """Number of problems that are damage."""
        return sum(kind.count for kind in self.of(ProblemSeverity.DAMAGE))

    @property
    def deviations(self) -> int:
        """Number of problems that are deviations."""
        return sum(kind.count for kind in self.of(ProblemSeverity.DEVIATION))

    @property
    def is_sound(self) -> bool:
        """Whether everything was read, and there is no damage."""
        return not self.damages and not self.codes["limit"]


def verify(
    target: str | os.PathLike[str] | bytes | BinaryIO | RangeReadable,
    *,
    on_problem: Callable[[Problem], object] = lambda _: None,
    processes: int = 1,
    **limits: Unpack[ReadLimits],
) -> Verification:
    """Check a file: its structure, every checksum, every seek table, the rules of WARC, every digest.

        result = tools.verify("crawl.warc.zst")
        print(result.is_sound, result.damages, result.deviations)

    Args:
        target: A path, a URL, the bytes, a binary file object that can seek, or a source.
        on_problem: Called with each problem as it is found.
        processes: How many processes may work on parts of a large local file; see `index`.
        **limits: Limits of reading; see `Reader`.

    Returns:
        What was checked, and for each kind of damage or deviation the first problem and their number.

    Raises:
        SourceError: The file cannot be opened or read, or is a pipe.
    """
    verifier = Verifier(target, processes=processes, **limits)
    for problem in verifier:
        on_problem(problem)
    return verifier.result


class VerifyListener:
    """What is known of a file while it is verified. This one ignores all."""

    def on_audit(self, window: Window, dictionary_id: int) -> Callable[[AuditedFrame], object] | None:
        """Called before frames are read: at the beginning, and again after damage.

        What it returns is called at the end of each frame, in another thread, which may be ahead of the
        records.
        """

    def on_problem(self, problem: Problem) -> None:
        """Called with each problem; that of a frame comes from the other thread."""

    def on_record(self, record: Record) -> None:
        """Called with each record before its block is read."""

    def on_intact(self, found: Intact) -> None:
        """Called when a record was read to its end."""

    def on_damage(self, damage: Damage) -> None:
        """Called with each range that cannot be read."""

    def on_end(self, result: Verification) -> None:
        """Called when everything was checked."""


class Verifier:
    """Checks one file; iterating yields its problems as they are found.

    Memory grows with the number of frames, about 30 bytes each, and not with the size of records. If one
    record has very many problems, some are not yielded; `result` counts all of them. A pipe is refused.

    Example:
        >>> from seekwarc.check.verifying import Verifier
        >>> verifier = Verifier("crawl.warc.zst")
        >>> for problem in verifier:
        ...     print(problem.severity, problem.offset, problem.message)
        >>> verifier.result.is_sound
        True
    """

    def __init__(
        self,
        target: str | os.PathLike[str] | bytes | BinaryIO | RangeReadable,
        *,
        on_progress: Progress = no_progress,
        listener: VerifyListener | None = None,
        processes: int = 1,
        begin: int = 0,
        **options: Unpack[ReadLimits],
    ) -> None:
        source = open_source(target)
        if source.is_pipe:
            raise SourceError("a pipe cannot be verified; store it in a file first", source=source.name)
        parts = cut(source.name, processes, **options) if listener is None else []
        self._parts = parts if parts and parts[0].identity == source.version else []
        self._processes = processes
        self._begin: int | None = begin
        self._limits = options
        self._stored = on_progress(source, "verifying")
        self._file = ArchiveFile(Fetcher(self._stored), ReadOptions.of(**options))
        # A deviation that a `Reader` warns of once is one of the problems here.
        self._file.warned = True
        try:
            size = self._file.source.size or 0
        except BaseException:
            # A thread that waits for the answer of a server would keep the process from ending.
            self._file.close()
            raise
        self.result = Verification(source.name, stored_size=size)
        self._listener = listener or VerifyListener()
        self._is_heard = listener is not None
        # Frames are checked in another thread. Problems found there wait here, or are only counted.
        self._found: SimpleQueue[Problem] = SimpleQueue()
        self._counting = threading.Lock()
        self.audit: FrameAudit | None = None
        """The last finding about frames; None for files without frames."""
        self._frames: AuditedFrames | None = None
        """Frames of parts, for the tables after them."""

    def __iter__(self) -> Iterator[Problem]:
        try:
            for _ in self._steps():
                while not self._found.empty():
                    yield self._found.get()
            self._listener.on_end(self.result)
        finally:
            self._file.close()

    def _steps(self) -> Iterator[None]:
        file, result = self._file, self.result
        try:
            compression = result.compression = file.detect(file.window(), 0)
            dictionary = file.decoder.dictionary if compression == "zst" else None
        except FormatError as error:
            is_limit = ProblemSeverity.of(error) is ProblemSeverity.LIMIT
            code = "limit" if is_limit else "dictionary" if result.compression == "zst" else "empty"
            broken = "W27" if isinstance(error, TruncatedError) else "W30"
            self._note(code, error.offset or 0, error.message, broken if code == "dictionary" else "")
            yield
            return

        def audit(window: Window) -> FrameAudit:
            if self.audit is not None:
                # After damage, a new audit begins.
                result.tables += sum(map(len, self.audit.tables.values()))
            number = dictionary.id if dictionary else 0
            on_frame = self._listener.on_audit(window, number)
            self.audit = FrameAudit(window, number, self._note, on_frame, before=self._frames)
            self._frames = None
            return self.audit

        yield from self._join_parts()
        if self._begin is None:
            return
        tally = Tally(self._may_count)
        for stretch in examine(file, compression, self._check, audit, begin=self._begin, tally=tally):
            if isinstance(stretch, Intact):
                self._end(stretch)
            else:
                self._add_damage(stretch)
            yield
        result.records += tally.records
        result.digests += tally.digests
        if self.audit is not None:
            self._check_last_table(self.audit)
        if not result.records and not result.codes["limit"]:
            self._note("empty", 0, "no record could be read")
        yield

    def _may_count(self) -> bool:
        is_told = self._is_heard or (self.audit is not None and self.audit.tables)
        return not is_told and self._found.empty()

    def _join_parts(self) -> Iterator[None]:
        """Take what other processes find of parts without damage, and go on after them."""
        result, frames = self.result, AuditedFrames.none()
        for part in in_parts(self._stored, self._parts, _VerifyPart(self._limits), self._processes, None):
            count = len(frames.offsets)
            frames.extend(part.frames)
            if any(frames.difference(table, anchor, offset) for offset, anchor, table in part.tables):
                frames.cut(count)
                break
            result.records += part.result.records
            result.digests += part.result.digests
            result.tables += part.result.tables + len(part.tables)
            for key, kind in part.result.kinds.items():
                result.kinds.setdefault(key, ProblemKind(kind.first)).count += kind.count
            for problem in part.problems:
                self._found.put(problem)
            yield
            self._begin, self._frames = part.stop, frames

    def _note(
        self,
        code: str,
        offset: int,
        message: str,
        requirement: str = "",
        *,
        record: Record | None = None,
        rule: str = "",
    ) -> None:
        """Note a problem. That of a frame comes from another thread."""
        record_id = record.id if record is not None else None
        problem = Problem(code, self._file.name, offset, record_id, message, rule, requirement)
        self._listener.on_problem(problem)
        with self._counting:
            self.result.kinds.setdefault((code, rule), ProblemKind(problem)).count += 1
        if self._found.qsize() < MAX_WAITING:
            self._found.put(problem)

    def _check(self, record: Record, _: Callable[[], None]) -> None:
        # Before the digests are checked, which passes the block.
        self._listener.on_record(record)
        if is_shared(record):
            self._note("shared", record.offset, "the record shares its frame or gzip member", record=record)
        for finding in check_header(record.header):
            code, rule = "header", f"{finding.field} {finding.code}".strip()
            if rule == "Content-Length repeated" and len(set(record.header.get_all(finding.field))) > 1:
                code = "length"
            self._note(code, record.offset, str(finding), record=record, rule=rule)
        checks, chunks = check_block(record, record.http, record.block)
        if chunks is not None:
            # No byte of the record is lost: the transfer was cut off, or the server erred (RFC 9112, 8).
            text = f"the body is not a whole chunked one: {chunks}"
            self._note("chunks", record.offset, text, record=record)
        for check in checks:
            if check.verdict is DigestVerdict.VALID:
                self.result.digests += 1
            if check.verdict in _VERDICTS:
                code, text = _VERDICTS[check.verdict]
                part = "payload" if check.field == "WARC-Payload-Digest" else "block"
                text = f"{check.field} {check.stated} {text.format(part)}"
                self._note(code, record.offset, text, record=record)

    def _end(self, found: Intact) -> None:
        record = found.record
        if record.problem == LEAD and not self.result.records:
            self._note("trailer", record.offset, "other bytes come before the first record", record=record)
        self.result.records += 1
        self._listener.on_intact(found)
        if found.trailer != (end := record.body.file.grammar.end) and end:
            text = f"the record is followed by {found.trailer[:16]!r}, not by CRLF CRLF"
            self._note("trailer", record.offset, text, record=record)
        # Whatever its trailer: other tables than this record's own may begin with it.
        found_size = len(record.header.raw) + record.content_length + len(found.trailer)
        tables = self.audit.tables if self.audit is not None else {}
        for anchor in [it for it in list(tables) if record.offset <= it < found.end]:
            for offset, size in tables.pop(anchor):
                self.result.tables += 1
                # One that lists more is the file's table, whose anchor is the offset of the first record.
                is_own = anchor == record.offset and size >= found_size
                if not is_own or (size > found_size and offset < found.end):
                    text = (
                        f"the seek table at {offset} lists {size} bytes from {anchor} on, and the record "
                        f"has {found_size} from {record.offset} on"
                    )
                    self._note("table-record", record.offset, text, record=record)

    def _add_damage(self, damage: Damage) -> None:
        error, is_limit = damage.error, ProblemSeverity.of(damage.error) is ProblemSeverity.LIMIT
        self.result.lost += 0 if is_limit else damage.size
        self._listener.on_damage(damage)
        uri = damage.header.uri("WARC-Target-URI") if damage.header is not None else None
        of = f" ({uri})" if uri else ""
        verb, code = ("were not read", "limit") if is_limit else ("cannot be read", "damage")
        place = error.offset if error.offset is not None else damage.offset
        text = f"{counted(damage.size, 'byte')} up to {damage.end} {verb}{of}: {error.message} (at {place})"
        self._note(code, damage.offset, text)

    def _check_last_table(self, audit: FrameAudit) -> None:
        self.result.tables += sum(map(len, audit.tables.values()))
        last = audit.last_table
        if last is not None and last[0] != 0 and last[1] == self.result.stored_size:
            text = f"the file ends in a seek table of the frames from {last[0]} on, not of the whole file"
            self._note("table-end", last[0], text)


class _VerifiedPart(NamedTuple):
    """What was found of a part without damage."""

    stop: int | None
    result: Verification
    problems: list[Problem]
    frames: AuditedFrames
    tables: list[tuple[int, int, SeekTable]]
    """Those that list frames of earlier parts, which were not compared."""


@dataclass(frozen=True, slots=True)
class _VerifyPart:
    """Verifies a part; see `tools.parts.PartWork`."""

    limits: ReadLimits

    def __call__(self, part: Split, source: RangeSource, spool: str) -> _VerifiedPart | None:  # noqa: ARG002
        verifier = Verifier(PartSource(source, part), begin=part.start, **self.limits)
        # An error that ends a part does not end the file.
        verifier.result.stored_size = source.size or 0
        problems, audit = list(verifier), verifier.audit
        frames, tables = (audit.frames, audit.unknown) if audit is not None else (AuditedFrames.none(), [])
        found = _VerifiedPart(part.stop, verifier.result, problems, frames, tables)
        return found if verifier.result.is_sound else None
