"""Saving the intact records of a damaged file.

The file is read once, by `examine`. A record is written into the new file as it is read, and rolled back
there if it turns out to be damaged. The damaged file itself is never written to.

With `partial`, a damaged record is read a second time, frame by frame. If its frames are known, as those of a
large record in a .warc.zst are, the damaged ones are filled with zero bytes, so that all others keep their
positions; otherwise, everything before the damage becomes a shorter record. Either has WARC-Truncated, and
the first one names its gaps in X-Missing-Bytes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import BinaryIO, Final, Unpack, cast

from seekwarc.errors import FormatError, NotFoundError, SourceError, TruncatedError
from seekwarc.format.arc import ArcHeader
from seekwarc.format.digest import Hasher
from seekwarc.format.warc import RECORD_END, RecordHeader, edit_header
from seekwarc.frames.dictionary import Dictionary
from seekwarc.frames.encoder import MAX_FRAME_SIZE
from seekwarc.frames.pieces import Compression, Piece, pieces_from
from seekwarc.frames.scan import Window
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.read.filled import filled_body
from seekwarc.read.options import ReadLimits, ReadOptions
from seekwarc.read.record import Record
from seekwarc.read.search import RecordSearch
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.opening import open_source
from seekwarc.storage.source import RangeReadable
from seekwarc.tools.arc import warc_header, warc_record
from seekwarc.tools.examine import Damage, Intact, examine
from seekwarc.tools.progress import Progress, no_progress
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
        return sum(loss.end - loss.offset for loss in self.losses if loss.kept is None)

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
    file = ArchiveFile(
        Fetcher(on_progress(stored, "recovering")),
        ReadOptions.of(**limits or {}),
        dictionary=source_dictionary,
    )
    try:
        output = open_output(target, existing=existing)
        try:
            return _Saver(file, partial=partial).save(output, options)
        except BaseException:
            output.abort()
            raise
    finally:
        file.close()


class _Saver:
    def __init__(self, file: ArchiveFile, *, partial: bool) -> None:
        self._file = file
        self._partial = partial
        self._result = Recovery(file.name)

    def save(self, target: Output, options: RecordOptions) -> Recovery:
        file, result = self._file, self._result
        compression, begin = self._find_first()
        dictionary = None
        if compression == "zst":
            try:
                dictionary = file.decoder.dictionary
            except FormatError as error:
                text = f"{error.message}; give the dictionary, if another file has it"
                result.losses.append(Loss(0, begin, text, None))
        settings: RecordOptions = {**options}
        if compression_of(target.name) == "zst":
            settings.setdefault("dictionary", dictionary)
        with Writer(target, on_error="discard", **settings) as writer:
            for stretch in examine(file, compression, lambda *it: self._copy(writer, *it), begin=begin):
                if isinstance(stretch, Intact):
                    result.records += 1
                else:
                    self._lose(writer, compression, stretch)
            if not result.records and not result.truncated:
                raise NotFoundError("no record in it is intact", source=file.name)
        return result

    def _find_first(self) -> tuple[Compression, int]:
        """Return the compression of the file, and where its first record is; bytes before it are lost."""
        file = self._file
        try:
            return file.detect(Window(file.source), 0), 0
        except FormatError as error:
            size = file.source.size or 0
            begin, compression = min((RecordSearch(file, it).next_after(0, None), it) for it in COMPRESSIONS)
            if begin == size:
                raise NotFoundError("no record in it is intact", source=file.name) from error
            self._result.losses.append(Loss(0, begin, error.message, None))
            return compression, begin

    def _copy(self, writer: Writer, record: Record, finish: Callable[[], None]) -> None:
        def trailer() -> bytes:
            # Called before the record is complete: if its last frame is damaged, it is rolled back.
            finish()
            return RECORD_END

        if isinstance(record.header, ArcHeader):
            header, spool = warc_record(record)
            with spool:
                writer.write_raw(header, spool, trailer=trailer)
            return
        with record.block.open() as block:
            # A malformed digest says nothing about the record; `verify` reports it.
            digest = record.block_digest
            hasher = digest.hasher() if digest is not None else None
            reader = _Digested(cast("BinaryIO", block), hasher)
            writer.write_raw(record.header, reader, trailer=trailer)
        if digest is not None and hasher is not None and hasher.digest() != digest.raw:
            self._result.suspect.append((record.offset, record.id))

    def _lose(self, writer: Writer, compression: Compression, damage: Damage) -> None:
        header = damage.header
        uri = header.uri("WARC-Target-URI") if header is not None else None
        loss = Loss(damage.offset, damage.end, damage.error.message, uri)
        if self._partial and header is not None:
            kept = self._keep_filled(writer, damage, header) or self._keep_beginning(
                writer, compression, damage.offset, header
            )
            if kept is not None:
                size, gaps = kept
                missing = header.content_length - size
                loss = replace(loss, kept=size, missing=missing, gaps=tuple(gaps))
        self._result.losses.append(loss)

    def _keep_filled(self, writer: Writer, damage: Damage, header: RecordHeader) -> _Kept | None:
        """Write a record with its gaps filled; return what was kept of its block, if it has some."""
        body = filled_body(self._file, damage.offset, damage.size)
        # What was found after the damage is not saved twice.
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
        self._write_part(writer, header, length, record.block.open(), gaps)
        return length - sum(stop - start for start, stop in gaps), gaps

    def _keep_beginning(
        self, writer: Writer, compression: Compression, offset: int, header: RecordHeader
    ) -> _Kept | None:
        intact = sum(map(len, _intact_content(self._file, compression, offset)))
        length = min(intact - len(header.raw), header.content_length)
        if length <= 0:
            return None
        content = BlockSource(as_stream(_intact_content(self._file, compression, offset)), None)
        content.read(len(header.raw))
        self._write_part(writer, header, length, content, [])
        return length, []

    def _write_part(
        self,
        writer: Writer,
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
        writer.write_raw(edited, block, trailer=RECORD_END)
        self._result.truncated += 1


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


class _Digested:
    def __init__(self, file: BinaryIO, hasher: Hasher | None) -> None:
        self._file = file
        self._hasher = hasher

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        if self._hasher is not None:
            self._hasher.update(data)
        return data
