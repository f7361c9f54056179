"""Records of a file that is decompressed in order: .warc.gz, pipes, and whatever cannot be seeked in."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import TYPE_CHECKING

from seekwarc.archive.content import StreamContent
from seekwarc.archive.record import Layout, Record, TableStatus
from seekwarc.errors import FormatError, TruncatedError
from seekwarc.format.words import counted

if TYPE_CHECKING:
    from seekwarc.archive.file import ArchiveFile
    from seekwarc.format.warc import RecordHeader
    from seekwarc.frames.scan import Window
    from seekwarc.frames.stream import ContentStream
    from seekwarc.frames.units import Compression, Extension

__all__ = ["StreamedRecords", "extensions_end", "stream_content", "streamed_group", "streamed_length"]


def stream_content(
    file: ArchiveFile,
    offset: int,
    skip: int,
    compression: Compression,
    live: tuple[ContentStream, int] | None = None,
    *,
    limit: int | None = None,
) -> StreamContent:
    """Return the content of a record that is read from its beginning on.

    Args:
        file: The file.
        offset: Offset of the unit that the record begins in.
        skip: Content bytes in front of the record in that unit.
        compression: What the file is compressed with.
        live: A stream that is being read, and the position in it at which the record begins.
        limit: Offset that no more than what is wanted is read beyond.
    """

    def reopen() -> ContentStream:
        return file.stream(file.window(limit), offset, compression)

    stream, position = live or (reopen(), skip)
    return StreamContent(file.source, offset, skip, reopen, live=stream, live_position=position)


class _StreamPlace:
    __slots__ = ("_compression", "_limit", "_live", "file", "offset", "skip")

    def __init__(
        self,
        file: ArchiveFile,
        offset: int,
        skip: int,
        compression: Compression,
        live: tuple[ContentStream, int],
        *,
        limit: int | None,
    ) -> None:
        self.file = file
        self._compression: Compression = compression
        self._live: tuple[ContentStream, int] | None = live
        self._limit = limit
        self.offset = offset
        self.skip = skip

    def __getstate__(self) -> tuple[None, dict[str, object]]:
        # A copy reads the record from its beginning, in a stream of its own.
        return None, {**{name: getattr(self, name) for name in self.__slots__}, "_live": None}

    def layout(self, header: RecordHeader) -> Layout:  # noqa: ARG002
        content = stream_content(
            self.file, self.offset, self.skip, self._compression, self._live, limit=self._limit
        )
        return Layout(content, TableStatus.STREAM)

    def length(self, header: RecordHeader, layout: Layout) -> int:  # noqa: ARG002
        return streamed_length(self.file, self.offset, self._compression)


def extensions_end(end: int, extensions: Iterable[Extension], record_offset: int) -> int:
    """Return where the frames without content behind a record are over.

    They belong to the record, but for a table that lists other records too (spec-notes, section 6.5).
    """
    for extension in extensions:
        if extension.anchor is not None and extension.anchor < record_offset:
            break
        end = extension.end
    return end


def streamed_length(file: ArchiveFile, offset: int, compression: Compression) -> int:
    """Return how many stored bytes the record takes that begins at `offset`, by decompressing it."""
    records = StreamedRecords(file, file.window(), offset, compression)
    record = records.step()
    if record is None:
        return 0
    records.finish()
    return record.length


class StreamedRecords:
    """All records from some offset on, in order. Each is yielded before its block is decompressed.

    Args:
        file: The file.
        window: What the stored bytes are read through.
        offset: Offset of the first unit.
        compression: What the file is compressed with.
        tap: Shown all content in order, before it is parsed.
        stream: The content from `offset` on, where the caller has its own way to decompress it.
    """

    def __init__(
        self,
        file: ArchiveFile,
        window: Window,
        offset: int,
        compression: Compression,
        tap: Callable[[bytes], object] | None = None,
        *,
        stream: ContentStream | None = None,
    ) -> None:
        self._file = file
        self._compression: Compression = compression
        self._stream = stream if stream is not None else file.stream(window, offset, compression, tap)
        self._limit = window.limit
        self._record: Record | None = None
        self._block_end = 0
        self.next_offset = offset
        """Offset of the unit in which the next record begins; the end of the last unit behind the last."""
        self.at_unit = True
        """Whether the next record begins its unit, as it should."""
        self.trailer = b""
        """The line breaks behind the record that was finished last: CRLF CRLF unless its writer erred."""

    def __iter__(self) -> Iterator[Record]:
        while (record := self.step()) is not None:
            yield record

    def step(self) -> Record | None:
        """Pass the rest of the current record and return the next one, None at the end of the file.

        Raises:
            TruncatedError: The file ends inside a record.
            FormatError: What follows is no record.
        """
        self.finish()
        file, stream = self._file, self._stream
        mark = stream.mark()
        if mark is None:
            return None
        if mark.skip:
            file.warn_shared(mark.unit)
        try:
            raw = stream.read_header()
        except FormatError as error:
            raise error.located(file.name, mark.unit) from None
        if not raw.endswith((b"\n\r\n", b"\n\n")):
            raise TruncatedError(
                "the file ends inside this record's header", source=file.name, offset=mark.unit
            )
        header = file.parse_header(raw, mark.unit)
        live = (stream, mark.position)
        place = _StreamPlace(file, mark.unit, mark.skip, self._compression, live, limit=self._limit)
        self._record = Record(header, place)
        self._block_end = mark.position + len(raw) + header.content_length
        return self._record

    def finish(self) -> None:
        """Pass the rest of the current record and the line breaks behind it.

        Raises:
            TruncatedError: The file ends inside the block.
        """
        record, self._record = self._record, None
        if record is None:
            return
        reached = self._stream.skip_to(self._block_end)
        if reached < self._block_end:
            raise TruncatedError(
                f"the file ends inside this record: {self._block_end - reached} of "
                f"{counted(record.content_length, 'byte')} of its block are missing",
                source=self._file.name,
                offset=record.offset,
            )
        try:
            self.trailer = self._stream.read_blank_lines()
            mark = self._stream.mark()
        except FormatError:
            # What follows is damaged; this record is not.
            record.note_length(max(self._stream.unit_end - record.offset, 0))
            raise
        self.at_unit = mark is None or not mark.skip
        end, extensions = self._stream.passed
        self.next_offset = mark.unit if mark else end
        if self._compression == "none" or not self.at_unit:
            end = self.next_offset
        else:
            end = extensions_end(end, extensions, record.offset)
        record.note_length(end - record.offset)


def streamed_group(
    file: ArchiveFile, window: Window, offset: int, compression: Compression, *, yielded: bool = False
) -> Generator[Record, None, int]:
    """Yield records in order until one begins a unit of its own again; return that unit's offset.

    Args:
        file: The file.
        window: What the stored bytes are read through.
        offset: Offset of the unit that the first of them begins.
        compression: What the file is compressed with.
        yielded: The first of them has been yielded already.
    """
    records = StreamedRecords(file, window, offset, compression)
    while (record := records.step()) is not None:
        if not yielded:
            yield record
        yielded = False
        records.finish()
        if records.at_unit:
            return records.next_offset
    return file.source.size or offset
