"""Saving the intact records of a damaged file.

The file is read once, by `examine`. A record is written into the new file as it is read, and rolled back
there if it turns out to be damaged. The damaged file itself is never written to.

Other processes save the sound parts of a large file. A damaged part is saved here, where the whole file can
be searched for the next record, up to a record that another part begins with.

With `partial`, a damaged record is read a second time, frame by frame. If its frames are known, as those of a
large record in a .warc.zst are, the damaged ones are filled with zero bytes, so that all others keep their
positions; otherwise, everything before the damage becomes a shorter record. Either has WARC-Truncated, and
the first one names its gaps in X-Missing-Bytes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import closing
from dataclasses import InitVar, dataclass, field, replace
from typing import BinaryIO, Final, NamedTuple, Unpack, cast

from seekwarc.check.examine import Damage, Intact, Known, examine
from seekwarc.errors import FormatError, LimitError, NotFoundError, SourceError, TruncatedError
from seekwarc.format.arc import ArcHeader
from seekwarc.format.warc import RECORD_END, RecordHeader, edit_header
from seekwarc.frames.dictionary import Dictionary
from seekwarc.frames.encoder import MAX_FRAME_SIZE
from seekwarc.frames.pieces import Compression, Piece, pieces_from
from seekwarc.frames.scan import Window
from seekwarc.jobs.parts import cut, each_part
from seekwarc.jobs.problems import ProblemSeverity
from seekwarc.jobs.progress import Progress, no_progress
from seekwarc.make.arc import Tapped, warc_header, warc_record
from seekwarc.make.sinks import CopyPart, PartFile, PartSink, PartsWriter
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.read.filled import filled_body
from seekwarc.read.options import ReadLimits, ReadOptions
from seekwarc.read.record import Record
from seekwarc.read.search import RecordSearch
from seekwarc.scale.split import Split
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.opening import open_source
from seekwarc.storage.source import RangeReadable, RangeSource
from seekwarc.write.block_reader import BlockSource, ReadableStream, as_stream
from seekwarc.write.files import Existing, refuse_same_file
from seekwarc.write.forms import compression_of
from seekwarc.write.opening import open_output
from seekwarc.write.options import RecordOptions
from seekwarc.write.output import Output
from seekwarc.write.writer import Writer

__all__ = ["Loss", "Recovery", "recover"]

MISSING: Final = "X-Missing-Bytes"
"""Header field that names the gaps of a record: the first and last byte of each, in its block."""
MAX_GAPS: Final = 100
"""A record that has more is kept up to the next one: its header would be too long."""
STEP: Final = 1 << 20
COMPRESSIONS: Final[tuple[Compression, ...]] = ("zst", "gz", "none")

_Kept = tuple[int, list[tuple[int, int]]]
"""How many bytes of a block were kept, and its gaps."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A range of the damaged file that could not be saved, or only in part.

    Example:
        >>> import io
        >>> with open("crawl.warc.zst", "rb") as file:
        ...     torn = io.BytesIO(file.read(1_000_000))
        >>> seekwarc.tools.recover(torn, "saved.warc.zst").losses[0].kept is None
        True
    """

    offset: int
    end: int
    reason: str
    uri: str | None
    """Target URI of the lost record, if it could be read."""
    kept: int | None = None
    """Bytes of its block that were kept; None if nothing was."""
    missing: int | None = None
    """Bytes of its block that were not kept; None if nothing was kept."""
    gaps: tuple[tuple[int, int], ...] = ()
    """Ranges [start, stop) of the kept block that are zero bytes in place of what is missing."""
    severity: ProblemSeverity = ProblemSeverity.DAMAGE
    """Whether it is damaged, or a limit kept it from being read: then it may be right."""


@dataclass(slots=True)
class Recovery:
    """What was saved, and what was not.

    Example:
        >>> import io
        >>> with open("crawl.warc.zst", "rb") as file:
        ...     torn = io.BytesIO(file.read(1_000_000))
        >>> done = seekwarc.tools.recover(torn, "saved.warc.zst")
        >>> done.records, len(done.losses)
        (2, 1)
    """

    source: str
    records: int = 0
    """Records that were saved completely."""
    truncated: int = 0
    """Records of which a part was saved."""
    suspect: list[tuple[int, str | None]] = field(default_factory=list)
    """Offset and ID of saved records whose block digest is wrong."""
    losses: list[Loss] = field(default_factory=list)

    @property
    def lost(self) -> int:
        """Bytes of the damaged file from which nothing could be saved."""
        return self._without(ProblemSeverity.DAMAGE)

    @property
    def unread(self) -> int:
        """Bytes that a limit kept from being read."""
        return self._without(ProblemSeverity.LIMIT)

    def _without(self, severity: ProblemSeverity) -> int:
        nothing_kept = (loss for loss in self.losses if loss.kept is None and loss.severity is severity)
        return sum(loss.end - loss.offset for loss in nothing_kept)

    @property
    def kept(self) -> int:
        """Bytes that were kept of the blocks of damaged records."""
        return sum(loss.kept or 0 for loss in self.losses)

    @property
    def missing(self) -> int:
        """Bytes that are missing in these blocks."""
        return sum(loss.missing or 0 for loss in self.losses)


def recover(
    source: str | os.PathLike[str] | BinaryIO | RangeReadable,
    target: str | os.PathLike[str] | Output,
    *,
    partial: bool = False,
    existing: Existing = "error",
    source_dictionary: Dictionary | None = None,
    limits: ReadLimits | None = None,
    on_progress: Progress = no_progress,
    processes: int = 1,
    **options: Unpack[RecordOptions],
) -> Recovery:
    """Write all intact records of a damaged file into a new .warc.zst.

        done = tools.recover("broken.warc.zst", "saved.warc.zst", partial=True)
        print(done.records, "saved,", done.lost, "bytes lost")

    Args:
        source: .warc.zst, .warc.gz or .warc, recognized by what is left of the content.
        target: The new file.
        partial: Keep what is intact of a damaged record, as a record with WARC-Truncated: all but its damaged
            frames, which are filled with zero bytes and named in X-Missing-Bytes; or its beginning, if its
            frames are not known (.warc.gz, .warc, and .warc.zst without tables).
        existing: Whether a file that has the target's name is refused ("error") or replaced ("overwrite").
        source_dictionary: The dictionary of the file, if its own copy is damaged.
        limits: Limits of reading; see `Reader`.
        on_progress: Wraps each source that is read, to report progress.
        processes: How many processes may work on parts of a large local file; see `index`.
        **options: Options of the `Writer`.

    Raises:
        NotFoundError: No record is intact.
        TargetExistsError: The target exists.
        SourceError: The source cannot be read, or is a pipe.
        TargetError: The target cannot be written.
    """
    stored = open_source(source)
    if stored.is_pipe:
        raise SourceError(
            "a pipe cannot be searched for records; store it in a file first", source=stored.name
        )
    refuse_same_file(stored.name, target)
    limits = limits or {}
    shown = on_progress(stored, "recovering")
    file = ArchiveFile(Fetcher(shown), ReadOptions.of(**limits), dictionary=source_dictionary)
    # It is a loss, which is reported.
    file.silence("cut")
    # Each record gets a frame of its own.
    file.silence("shared")
    try:
        output = open_output(target, existing=existing)
        try:
            compression, begin, losses = _find_first(file)
            settings: RecordOptions = {**options}
            form = options.get("compression") or compression_of(output.name)
            if compression == "zst":
                dictionary, damage = _dictionary_of(file, begin)
                losses += damage
                if form == "zst":
                    settings.setdefault("dictionary", dictionary)
            with PartsWriter(output, on_error="discard", **settings) as writer:
                saver = _Saver(file, compression, writer, losses, partial=partial)
                parts = cut(stored.name, processes, dictionary=source_dictionary, **limits)
                place: int | None = begin
                # `dedup` sees only records written here.
                if parts and parts[0].identity == stored.version and options.get("dedup") is None:
                    work = RecoverPart(form, writer.options, limits, processes, source_dictionary)
                    results = each_part(shown, parts, work, processes, output.spool_directory)
                    with closing(results):
                        place = saver.save_parts(parts, results, begin)
                if place is not None:
                    saver.save(place)
                if not saver.result.records and not saver.result.truncated:
                    raise NotFoundError("no record in it is intact", source=file.name)
        except BaseException:
            output.abort()
            raise
        return saver.result
    finally:
        file.close()


def _find_first(file: ArchiveFile) -> tuple[Compression, int, list[Loss]]:
    """Return the compression of a file, where its first record is, and the loss of the bytes before it."""
    try:
        return file.detect(Window(file.source), 0), 0, []
    except FormatError as error:
        size = file.source.size or 0
        found: list[tuple[int, Compression]] = [(size, "none")]
        hopeless: FormatError | None = None
        for it in COMPRESSIONS:
            try:
                found.append((RecordSearch(file, it).next_after(0, None), it))
            except LimitError as limit:
                hopeless = limit
        begin, compression = min(found)
        if begin == size:
            raise hopeless or NotFoundError("no record in it is intact", source=file.name) from error
        return compression, begin, [Loss(0, begin, error.message, None, severity=ProblemSeverity.of(error))]


def _dictionary_of(file: ArchiveFile, begin: int) -> tuple[Dictionary | None, list[Loss]]:
    try:
        return file.decoder.dictionary, []
    except FormatError as error:
        text = f"{error.message}; give the dictionary, if another file has it"
        return None, [Loss(0, begin, text, None, severity=ProblemSeverity.of(error))]


class SavedPart(NamedTuple):
    """A part of the new file, and the records in it that are suspect."""

    file: PartFile
    suspect: list[tuple[int, str | None]]


@dataclass(frozen=True, slots=True)
class RecoverPart(CopyPart):
    """Saves a part of a file; see `tools.parts.PartWork`."""

    def __call__(self, part: Split, source: RangeSource, spool: str) -> SavedPart | None:
        """Write the part into the spool; return None if it is damaged."""
        suspect: list[tuple[int, str | None]] = []
        try:
            with self.records(source, part) as records, closing(self.sink(spool, part)) as sink:
                for record in records:
                    suspect += _copy(record, records.finish, sink)
                return SavedPart(sink.finish(), suspect)
        except FormatError:
            return None


def _copy(
    record: Record, finish: Callable[[], None], sink: PartSink | Writer
) -> list[tuple[int, str | None]]:
    """Copy a record; return its offset and ID if its block digest is wrong."""

    def trailer() -> bytes:
        # Called before the record is complete: if its last frame is damaged, it is rolled back.
        finish()
        return RECORD_END

    if isinstance(record.header, ArcHeader):
        header, spool = warc_record(record)
        with spool:
            sink.write_raw(header, spool, trailer=trailer)
        return []
    with record.block.open() as block:
        # A malformed digest says nothing about the record; `verify` reports it.
        digest = record.block_digest
        hasher = digest.hasher() if digest is not None else None
        reader = block if hasher is None else Tapped(cast("BinaryIO", block), hasher.update)
        sink.write_raw(record.header, reader, trailer=trailer)
    is_wrong = digest is not None and hasher is not None and hasher.digest() != digest.raw
    return [(record.offset, record.id)] if is_wrong else []


class _PartReachedError(Exception):
    """A record begins where a part does, which may have been saved already."""

    def __init__(self, offset: int) -> None:
        self.offset = offset


@dataclass
class _Saver:
    file: ArchiveFile
    compression: Compression
    writer: PartsWriter
    losses: InitVar[list[Loss]]
    partial: bool

    def __post_init__(self, losses: list[Loss]) -> None:
        self._known = Known(self.file, self.compression)
        self.result = Recovery(self.file.name, losses=losses)

    def save_parts(
        self, parts: Sequence[Split], results: Iterator[SavedPart | None], begin: int
    ) -> int | None:
        """Save as many parts as there are results; return where the rest begins, if any is left."""
        starts = {part.start for part in parts}
        result = self.result
        place: int | None = begin
        for part, found in zip(parts, results, strict=False):
            # Other parts begin in what was saved, or lost, with an earlier one.
            is_next = place is not None and part.start in (0, place)
            # The first record of the new file may be in other frames than all others.
            fits = not part.start or result.records or result.truncated
            if found is not None and is_next and fits:
                self.writer.add_part(found.file)
                result.records += found.file.records
                result.suspect += found.suspect
                place = part.stop
            elif is_next and place is not None:
                place = self.save(place, starts)
            if found is not None:
                os.unlink(found.file.path)
        return place

    def save(self, begin: int, starts: Container[int] = ()) -> int | None:
        """Save what is in the file from there on, to its end or to a record at one of these offsets."""

        def copy(record: Record, finish: Callable[[], None]) -> None:
            if record.offset in starts and record.offset > begin and not record.skip:
                raise _PartReachedError(record.offset)
            self.result.suspect += _copy(record, finish, self.writer)

        try:
            for stretch in examine(self.file, self.compression, copy, begin=begin, known=self._known):
                if isinstance(stretch, Intact):
                    self.result.records += 1
                else:
                    self._lose(stretch)
        except _PartReachedError as reached:
            return reached.offset
        return None

    def _lose(self, damage: Damage) -> None:
        header = damage.header
        uri = header.uri("WARC-Target-URI") if header is not None else None
        severity = ProblemSeverity.of(damage.error)
        loss = Loss(damage.offset, damage.end, damage.error.message, uri, severity=severity)
        if self.partial and header is not None:
            kept = self._keep_filled(damage, header) or self._keep_beginning(damage.offset, header)
            if kept is not None:
                size, gaps = kept
                missing = header.content_length - size
                loss = replace(loss, kept=size, missing=missing, gaps=tuple(gaps))
        self.result.losses.append(loss)

    def _keep_filled(self, damage: Damage, header: RecordHeader) -> _Kept | None:
        """Write a record with its gaps filled; return what was kept of its block, if it has some."""
        body = filled_body(self.file, damage.offset, damage.size)
        # Records found after the damage are not saved twice.
        if body is None or body.header.raw != header.raw or body.stored_end() > damage.end:
            return None
        record = Record(body)
        length = _readable(record)
        gaps = [gap for gap in body.gaps if gap[0] < length]
        if len(gaps) > MAX_GAPS:
            length = gaps[MAX_GAPS][0]
            gaps = gaps[:MAX_GAPS]
        if gaps and gaps[-1][1] >= length:
            # A record that is damaged at its end ends before that.
            length = gaps.pop()[0]
        if not gaps:
            return None
        self._write_part(header, length, record.block.open(), gaps)
        return length - sum(stop - start for start, stop in gaps), gaps

    def _keep_beginning(self, offset: int, header: RecordHeader) -> _Kept | None:
        intact = sum(map(len, _intact_content(self.file, self.compression, offset)))
        length = min(intact - len(header.raw), header.content_length)
        if length <= 0:
            return None
        content = BlockSource(as_stream(_intact_content(self.file, self.compression, offset)), None)
        content.read(len(header.raw))
        self._write_part(header, length, content, [])
        return length, []

    def _write_part(
        self,
        header: RecordHeader,
        length: int,
        block: ReadableStream,
        gaps: Sequence[tuple[int, int]],
    ) -> None:
        ranges = [f"{start}-{stop - 1}" for start, stop in gaps]
        before = header.get(MISSING)
        fields = [
            ("Content-Length", str(length)),
            ("WARC-Truncated", header.get("WARC-Truncated") or "unspecified"),
        ]
        if before is not None or ranges:
            fields.append((MISSING, ", ".join([*([before] if before is not None else []), *ranges])))
        header = warc_header(header) if isinstance(header, ArcHeader) else header
        edited = edit_header(header, (*(name for name, _ in fields), "WARC-Block-Digest"), fields)
        self.writer.write_raw(edited, block, trailer=RECORD_END)
        self.result.truncated += 1


def _readable(record: Record) -> int:
    """Return how many bytes of a block can be read from its beginning on, gaps included."""
    position = 0
    try:
        while data := record.block.pread(position, STEP):
            position += len(data)
    except FormatError:
        pass
    return position


def _intact_content(file: ArchiveFile, compression: Compression, offset: int) -> Iterator[bytes]:
    """Yield the content from `offset` to the first damage.

    Nothing of a damaged frame is used, since any of its content may be wrong. From a frame that is cut
    off, everything that can be decoded is used.
    """
    waiting: list[bytes] = []
    size = 0
    try:
        for piece in pieces_from(Window(file.source), offset, compression, file.decoder):
            if isinstance(piece, Piece):
                waiting.append(piece.data)
                size += len(piece.data)
                # A frame is used once its checksum was right; one of unlimited size, as it comes.
                if piece.end is not None or size > MAX_FRAME_SIZE:
                    yield from waiting
                    waiting.clear()
                    size = 0 if piece.end is not None else size
    except TruncatedError:
        yield from waiting
    except FormatError:
        return
