"""Writing .warc.zst files whose large records can be read by range.

Source: spec-notes/warc-zstd-seekable, sections 2 to 5, annex A.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Final, Self, TypeVarTuple, Unpack

from seekwarc.errors import SeekWarcError
from seekwarc.format.conditions import with_sizes
from seekwarc.format.warc import RECORD_END, RecordHeader, parse_record_header
from seekwarc.frames.dictionary import Dictionary
from seekwarc.frames.encoder import OrderedWork
from seekwarc.options import check_range, shown
from seekwarc.system import threads_for
from seekwarc.write.assembly import RecordAssembly, stored_bound
from seekwarc.write.block_reader import Block, BlockSource, as_stream
from seekwarc.write.file_layout import ExistingFile, TableMode
from seekwarc.write.forms import check_form, compression_of, form_of
from seekwarc.write.header import HeaderDraft, Headers, pairs_of
from seekwarc.write.opening import Target
from seekwarc.write.options import WriteOptions, WriterOptions
from seekwarc.write.output import Output
from seekwarc.write.record_file import FileHead, FileMaker, RecordFile
from seekwarc.write.record_types import TypedWrites
from seekwarc.write.recorder import Recorder
from seekwarc.write.series import FileSeries
from seekwarc.write.targets import find_target
from seekwarc.write.written import Written

__all__ = ["Writer", "Written"]

_Arguments = TypeVarTuple("_Arguments")

MIN_FRAMES: Final = 3
"""A file of a series must have room for a segment of more than one frame."""
DEFAULT_WARCINFO: Final = [("software", "seekwarc"), ("format", "WARC File Format 1.1")]


class Writer(TypedWrites):
    """Writes .warc.zst files.

    While "crawl.warc.zst" is being written it is called "crawl.warc.zst.open"; it gets its name when it is
    whole. Each record is written completely or not at all, and what was written stays however the program
    ends: a `with` block that an exception leaves finishes the file. A file object, which may be a pipe, is
    written to directly.

    Several threads may share a writer: while one of them writes a record, the others wait.

    Example:
        >>> with seekwarc.open("new.warc.zst", "w") as out:
        ...     page = out.write_response("http://example.org/", b"<p>Hello", status=200)
        ...     film = out.write_resource("http://example.org/film.mp4", b"film" * (1 << 20), "video/mp4")
        >>> with seekwarc.open("new.warc.zst") as archive:
        ...     archive.record_at(film.offset).payload.pread(1 << 20, 4)
        b'film'

    Args:
        target: A path, a binary file object, or the URL of an object (s3, gs, az): it is uploaded while it is
            written, and appears when it is complete.
        compression: "zst", "gz" (one gzip member per record) or "none"; by the target's name (.warc.zst,
            .warc.gz or .warc) unless given. Only a .warc.zst can be read by range.
        level: Compression level, -7 to 22 (default: 6 for frames of up to 256 KiB without a dictionary, else
            3); for gzip 0 to 9 (default 6).
        frame_size: Maximum content of a frame, 64 KiB to 8 MiB (default 1 MiB): bytes, or "256K". Larger
            frames compress better, smaller ones make short reads cheaper.
        threads: Threads that compress; one per core, four at most, unless given. The number does not change
            the file.
        dictionary: Dictionary for all frames; it is stored at the beginning of the file.
        compress_dictionary: Whether the dictionary is stored compressed, which is the default.
        tables: "large" (the default) gives a seek table to large records and one to the file, at its end;
            "every" gives one to each record (the profile of iipc/warc-specifications#118); "none" writes
            none. A file that is continued keeps its kind.
        digest: Algorithm of the digests that are added, "sha1" (the default) or "sha256"; None to add none.
        max_file_size: Maximum size of a file: bytes, or "1G". With it, "crawl.warc.zst" becomes
            "crawl-00000.warc.zst" and so on, each beginning with a warcinfo record; a record that does not
            fit into a file of that size is written as segments (WARC 1.1, clause 7).
        existing: What to do if the file, or a file of the series, exists: "error" (the default) refuses to
            begin, "overwrite" replaces it when the new one is whole, "number" starts the series after it.
        on_error: What to do with the records when an exception leaves the `with` block, or closing fails:
            "keep" (the default) finishes the file with those that are whole, and adds a note with its name to
            the exception; "discard" leaves nothing, which suits a converter, since it can begin again. The
            files of a series then get their names together, when the last one is whole.
        dedup: Tells which payloads were archived before, such as a `Duplicates`: a response or resource with
            one of these is written as a revisit (WARC 1.1, clause 6.7.2). Needs digests.
        append: Continue the file at that path, or the last one of the series, with its dictionary and
            tables, even if a writer left it unfinished. If there is no file, a new one is made. Existing
            records are never changed.
        repair: When continuing, cut off an incomplete record at the end, as a crash leaves it. Its bytes are
            kept in a separate file, which a `FormatWarning` names.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: An argument is out of range.
        TargetExistsError: The file exists, or a writer that was stopped left an unfinished one.
        TargetError: The target cannot be written to, or another process is writing to it.
        FormatError: The file to be continued is damaged, or cannot be continued.
    """

    def __init__(
        self,
        target: Target,
        *,
        append: bool = False,
        **options: Unpack[WriterOptions],
    ) -> None:
        given = with_sizes(WriteOptions, options, "frame_size", "max_file_size")
        wanted = WriteOptions(append=append, **given)
        trained = wanted.dictionary
        dictionary = Dictionary(trained) if isinstance(trained, bytes) else trained
        self._options = wanted
        self._closed = False
        self._lock = threading.RLock()
        self._writing = False
        name = os.fspath(target) if isinstance(target, str | os.PathLike) else getattr(target, "name", "")
        has_path = isinstance(target, str | os.PathLike | Output)
        compression = wanted.compression or (compression_of(name) if has_path else "zst")
        check_form(str(name) or "<file object>", compression, wanted)
        found = find_target(target, compression, wanted)
        self._work = OrderedWork(threads_for(wanted.threads))
        first: RecordFile | None = None
        try:
            if found.existing is not None and compression == "zst":
                tables, dictionary = _as_before(found.existing, wanted.tables, dictionary)
                wanted = wanted.but(tables=tables)
            frame = dictionary.frame(compress=wanted.compress_dictionary) if dictionary is not None else None
            form = form_of(compression, wanted, dictionary)
            if wanted.max_file_size is not None:
                least = MIN_FRAMES * stored_bound(wanted.frame_size) + len(frame or b"")
                check_range("max_file_size", wanted.max_file_size, least, 1 << 62)
            maker = FileMaker(wanted, partial(RecordAssembly, form, self._work), frame)
            head = FileHead(DEFAULT_WARCINFO, wanted.digest)
            first = maker.first(found)
            first.make()
            self._files = FileSeries(first, head, maker, wanted, found.names)
            self._recorder = Recorder(self._files, wanted)
        except BaseException:
            self._work.close()
            if found.continued is not None:
                found.continued.leave()
            elif first is not None:
                first.abort()
            raise

    def __repr__(self) -> str:
        return f"<Writer to {self.name}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                self.close()
            else:
                self._end_by(error)
        except BaseException as late:
            # Ctrl-C may come before the first line of either, or while an error is handled.
            self._end_by(late)
            raise

    def _end_by(self, error: BaseException) -> None:
        """Keep or discard what was written, by `on_error`; a note on the error says what was kept."""
        if self._options.on_error == "discard":
            self.abort()
            return
        with self._lock:
            if not self._closed:
                error.add_note(self._files.keep())
                self._shut()

    def _shut(self) -> None:
        self._closed = True
        self._work.close()

    def _write_draft(self, draft: HeaderDraft, source: BlockSource) -> Written:
        return self._in_turn(self._recorder.write, draft, source)

    def write_warcinfo(
        self, fields: Headers, *, filename: str | None = None, headers: Headers = ()
    ) -> Written:
        """Write a warcinfo record (clause 6.2), which describes the records after it.

        With `max_file_size`, all following files begin with the same.

        Args:
            fields: Fields of the block, such as {"software": ..., "format": ...}.
            filename: WARC-Filename; the base name of the file unless given.
            headers: Further fields of the record header.
        """
        head = FileHead(pairs_of(fields, "fields"), self._options.digest, tuple(pairs_of(headers)), filename)
        return self._in_turn(self._files.write_warcinfo, head)

    def write_raw(
        self,
        header: bytes | RecordHeader,
        block: Block,
        *,
        trailer: bytes | Callable[[], bytes] = RECORD_END,
    ) -> Written:
        """Write a record byte for byte, as a converter does. Nothing is added or checked.

        With `dedup`, its payload is remembered, but it never becomes a revisit; a warning says so once.

        Args:
            header: The record header, from the version line to the blank line.
            block: As many bytes as its Content-Length states, or a binary stream that begins with them.
            trailer: The bytes after the block, or a function that returns them; it is called after the block
                was read.

        Raises:
            TypeError: An argument has the wrong type.
            FormatError: The header cannot be parsed, or the stream is shorter than it states. Nothing of the
                record is left in the file, which takes further records.
            TargetError: The file cannot be written.
        """
        if isinstance(header, RecordHeader):
            parsed = header
        elif isinstance(header, bytes):
            parsed = parse_record_header(header)
        else:
            raise TypeError(f"header must be bytes or a RecordHeader, not {shown(header)}")
        if not isinstance(trailer, bytes) and not callable(trailer):
            raise TypeError(f"trailer must be bytes or a function that returns them, not {shown(trailer)}")
        source = BlockSource(as_stream(block), parsed.content_length)
        return self._in_turn(self._copy, parsed, source, trailer)

    def _copy(
        self, header: RecordHeader, source: BlockSource, trailer: bytes | Callable[[], bytes]
    ) -> Written:
        if header.get("WARC-Type") != "warcinfo":
            self._files.begin()
        file = self._files.room_for(stored_bound(len(header.raw) + header.content_length))
        written = file.assembly.add(header, source, trailer)
        self._recorder.note_copy(written)
        return written

    def flush(self) -> None:
        """Compress every record so far and hand it to the system: it survives the end of this process.

        Raises:
            TargetError: The file cannot be written.
        """
        with self._lock:
            self._check_open()
            self._files.flush()

    def close(self) -> None:
        """Finish the file: write the table at its end, sync it, give it its name. Idempotent.

        If no record was written, no file is made, since a WARC file holds at least one; a warning says so.

        Raises:
            FormatError: No record was written, with `on_error="discard"`.
            TargetError: The file cannot be written. See `on_error`.
        """
        with self._lock:
            if self._closed:
                return
            try:
                if self._options.on_error == "keep" and not self._files.has_records:
                    self.abort()
                    warnings.warn(f"{self.name}: no record was written, so no file was made", stacklevel=3)
                    return
                self._files.finish()
            except BaseException as error:
                self._end_by(error)
                raise
            self._shut()

    def abort(self) -> None:
        """Discard what was written: leave no file without its final name. Idempotent, also after `close`.

        A file that was continued is as it was before. Finished files of a series stay.
        """
        with self._lock:
            if not self._closed:
                # Repeated by `_end_by` if it is interrupted.
                self._files.abort()
                self._shut()

    @property
    def name(self) -> str:
        """Name of the file that is being written."""
        return self._files.current.name

    def _in_turn(self, write: Callable[[*_Arguments], Written], *arguments: *_Arguments) -> Written:
        """Write one record at a time: refuse a block that writes records while it is read."""
        with self._lock:
            self._check_open()
            if self._writing:
                raise SeekWarcError(
                    "a block must not write records of its own while it is read", source=self.name
                )
            try:
                self._writing = True
                return write(*arguments)
            finally:
                self._writing = False

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError(f"{self.name}: the writer is closed")


def _as_before(
    existing: ExistingFile, tables: TableMode | None, dictionary: Dictionary | None
) -> tuple[TableMode, Dictionary | None]:
    """Return tables and dictionary of a file that is continued; neither can be changed."""
    if tables not in (None, existing.tables):
        raise ValueError(f'tables is {tables!r}, and the file has "{existing.tables}"')
    if dictionary is not None and (
        existing.dictionary is None or dictionary.data != existing.dictionary.data
    ):
        raise ValueError("the file has another dictionary, or none, which cannot be changed")
    return existing.tables, existing.dictionary
