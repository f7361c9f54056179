"""Reading WARC files: iterate all records, or go to one by its offset."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, ClassVar, Self, SupportsIndex, TypeVar, Unpack

from seekwarc.closing import Closing
from seekwarc.compiling import override
from seekwarc.errors import FormatError, FormatWarning, RangeError, SeekWarcError, SourceError
from seekwarc.format.seektable import TableTrust
from seekwarc.format.words import counted
from seekwarc.options import integer
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.read.by_offset import record_at
from seekwarc.read.options import ReaderOptions, ReadOptions, SidecarOptions
from seekwarc.read.sequential import StreamedRecords
from seekwarc.read.zstd_records import framed_records
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.opening import open_source
from seekwarc.storage.source import RangeReadable

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator
    from typing import BinaryIO, Literal, TypeAlias

    from seekwarc.format.seektable import TableChoice
    from seekwarc.frames.dictionary import Dictionary
    from seekwarc.frames.pieces import Compression
    from seekwarc.frames.scan import Window
    from seekwarc.read.record import Record, Relations
    from seekwarc.read.selection import Conditions
    from seekwarc.storage.source import Stats

    OnError: TypeAlias = Literal["raise", "skip"] | Callable[[FormatError], object]

__all__ = ["Reader", "WholeReader", "begun"]

_T = TypeVar("_T")


class Reader(Closing):
    """An open WARC file: .warc.zst, .warc.gz or .warc, recognized by its content.

    Iterating yields every record in file order; each iteration starts again from the first. Records stay
    usable, in any order and from several threads, until the reader is closed.

    A copy, or a pickle as other processes get it, opens the path or URL again when it is first read, and
    raises `SourceChangedError` then if the file was replaced. A pipe or file object cannot be copied:
    `TypeError` says to pass the path.

    Args:
        target: A path, a URL (http, https, s3, gs, az), the bytes themselves, a `RangeSource`, or a binary
            file object. One that cannot seek is read once, in order.
        threads: Threads that decode a long read; the number of cores, four at most, unless given.
        cache_size: Bytes of decoded frames to keep, of which each counts as 300 at least: 32 MiB by default;
            0 for none. This and the sizes that follow may also be text, such as "64M".
        max_window_size: Largest Zstandard window to allocate for frames that have to be streamed, 1 KiB to
            2 GiB, 128 MiB by default.
        max_dictionary_size: Largest dictionary to load, stored or decompressed; 8 MiB by default.
        max_table_size: Largest seek table to load, 64 MiB by default. A record with a larger one is scanned;
            with 0 every record is, as if there were no tables.
        strict: Refuse what breaks the format though it could be read: a record that does not begin a frame or
            gzip member of its own, a Content-Length that is not that of the block, other line breaks after a
            block than CRLF CRLF, header lines ended by CR CR LF, a last record that is cut off. Otherwise
            a `FormatWarning` is issued once per file for each kind, and `Record.problem` is set. And use a
            seek table of a local file only after comparing it with all frames of the record, which takes
            some 40 ms for a GiB: a short read by offset would see through all other false tables, but not
            through one that was made to displace frames (spec-notes/warc-zstd-seekable, section 9).
        sidecar: Whether to read large records of a .warc.gz, and large frames of a .warc.zst, by the sidecar
            that lies beside it ("NAME.seek", see spec-notes/sidecar.md), which is done unless the file is
            read strictly; or the path or URL of the sidecar. One that was made of another archive is not
            used, with a warning. Reads in order from a record's beginning decompress without it.
        on_error: What iterating does at damage: "raise"; "skip", to go on with the next record that can be
            found; or a function, which is called with the damage first. The damaged record has been yielded
            before, if its header could be read.
        relations: Knows how the records are related to those of other files; a `Collection` does.
        disk_cache: Keeps what is fetched from a URL for the next time it is opened.

    Raises:
        TypeError: An option has the wrong type.
        ValueError: An option is out of range.
        SourceError: The target cannot be opened. For a URL this is not known before the first read.

    Example:
        >>> with seekwarc.open("crawl.warc.zst") as archive:
        ...     for record in archive.records(type="response"):
        ...         print(record.target_uri, record.payload.size)
        ...     last = archive.record_at(record.offset)
        ...     print(last.payload.pread(2_000_000, 4).hex())
        http://example.org/ 23000
        http://example.org/film.mp4 3145728
        7f009972
    """

    _options_type: ClassVar[type[ReadOptions]] = SidecarOptions

    def __init__(
        self,
        target: str | os.PathLike[str] | bytes | BinaryIO | RangeReadable,
        *,
        relations: Relations | None = None,
        **options: Unpack[ReaderOptions],
    ) -> None:
        checked = self._options_type.of(**options)
        source = Fetcher(open_source(target), disk=checked.disk_cache)
        self._file = ArchiveFile(source, checked, relations=relations)
        self._on_error = checked.on_error
        self._passed = False

    def __repr__(self) -> str:
        return f"<Reader of {self.name}>"

    def _repr_html_(self) -> str:
        from seekwarc.format.markup import MAX_ROWS, html_table

        if self.size is None:
            # Looking would take records from the pipe.
            return html_table(repr(self), [], [])
        rows: list[tuple[object, ...]] = []
        note = ""
        try:
            for record in self:
                if len(rows) == MAX_ROWS:
                    note = "and more records"
                    break
                kind = record.content_type
                rows.append((record.offset, record.type, record.date, kind, record.size, record.target_uri))
        except SeekWarcError as error:
            note = str(error)
        head = ("offset", "type", "date", "Content-Type", "size", "target URI")
        return html_table(f"{self.name}, {counted(self.size, 'byte')}", head, rows, note=note)

    def close(self) -> None:
        """Close the file, unless it was handed over open, and stop the threads. Idempotent."""
        self._file.close()

    def __copy__(self) -> Self:
        from copy import deepcopy

        return deepcopy(self)  # Shared objects would be closed for both.

    @property
    def stats(self) -> Stats:
        """What the archive has cost so far: requests, bytes fetched, bytes decoded, cache hits."""
        return self._file.source.stats

    @property
    def name(self) -> str:
        """What messages call the file."""
        return self._file.name

    @property
    def size(self) -> int | None:
        """Bytes of the stored file; None for a pipe."""
        return self._file.source.size

    @property
    def version(self) -> str | None:
        """A version string that changes when the file is replaced; None before the first read, or if unknown.

        For a local file it is made of size and modification time, for an object it is the ETag.
        """
        return self._file.source.version

    def check_unchanged(self) -> None:
        """Find out whether what was read so far is of one version of the file.

        An object on a server is checked with each request. A local file that is written over while it is read
        is noticed only here, or where a checksum fails; so is one that grows.

        Raises:
            SourceChangedError: It may not be.
        """
        self._file.source.check_unchanged()

    @property
    def compression(self) -> Compression:
        """What the file is compressed with: "zst", "gz" or "none".

        Raises:
            UnsupportedError: The file is not a WARC file.
        """
        self._file.prefetch_file(tables=False)
        return self._file.detect(self._file.window(), 0)

    @property
    def is_arc(self) -> bool:
        """Whether this is an ARC file, whose records have the fields that WARC would have for them."""
        return self._file.grammar.is_arc

    @property
    def dictionary(self) -> Dictionary | None:
        """The dictionary of a .warc.zst file; None if it has none."""
        return self._file.decoder.dictionary if self.compression == "zst" else None

    def __iter__(self) -> Iterator[Record]:
        """Yield every record, in file order.

        Raises:
            FormatError: When damage is reached, unless `on_error` says otherwise; what was yielded before
                stays good. Also if the file is not a WARC file or has no record, its dictionary is damaged,
                or it is a pipe, which cannot be searched.
            SourceError: The stored bytes are unavailable.
        """
        return self._records(self._on_error)

    def past_damage(self, on_damage: Callable[[FormatError], object]) -> Iterator[Record]:
        """Yield every record that can be read, in file order, also if `on_error` is "raise".

        Args:
            on_damage: Called with each damage, before the next record is looked for, unless `on_error` says
                what to do.

        Raises:
            FormatError: The file is not a WARC file, or is a pipe, which cannot be searched, and damaged.
            SourceError: The stored bytes are unavailable.
        """
        return self._records(on_damage if self._on_error == "raise" else self._on_error)

    def _records(self, on_error: OnError) -> Iterator[Record]:
        file = self._file
        if file.source.is_pipe:
            return iter(self.in_order(tolerant=True))
        file.prefetch_file(tables=True)
        window, compression = file.begin()
        if on_error == "raise":
            return _records_from(file, compression, window)
        return self._past_damage(compression, 0, None, on_error)

    def between(self, start: SupportsIndex, stop: SupportsIndex | None = None) -> Iterator[Record]:
        """Yield the records whose first byte lies in the stored bytes [start, stop), in file order.

        So parts of a file can be read by several processes; `seekwarc.splits` finds where to cut it. Each
        record of the file is in one part only, and goes on beyond `stop` if it is longer.

        Args:
            start: Where a record begins: 0, or an offset as an index has it.
            stop: Where another record begins; the end of the file if None.

        Raises:
            FormatError: Damage was reached, unless `on_error` says otherwise, or no record begins at `start`.
                After the last record also if `stop` is inside a record: another part then begins with
                what is not a record of the file. A function given as `on_error` is also called with that;
                "skip" does not pass over it.
            RangeError: `start` is negative, or after `stop`.
            SourceError: The stored bytes are unavailable, or a pipe.
        """
        file = self._file
        start = integer("start", start)
        stop = integer("stop", stop) if stop is not None else None
        if start < 0 or (stop is not None and stop < start):
            raise RangeError(f"start is {start} and stop {stop}, not a range of stored bytes")
        if file.source.is_pipe:
            raise SourceError("a pipe has no parts: it is read once, in order", source=self.name)
        file.prefetch_file(start, stop, tables=True)
        _, compression = file.begin()
        return self._past_damage(compression, start, stop, self._on_error)

    def _past_damage(
        self, compression: Compression, start: int, stop: int | None, told: OnError
    ) -> Iterator[Record]:
        from seekwarc.read.onward import reach_of, records_past_damage

        file, reach = self._file, reach_of(stop, compression)

        def records_from(offset: int) -> Iterator[Record]:
            return _records_from(file, compression, file.window(reach), offset)

        on_error = told if callable(told) else _raise if told == "raise" else lambda _: None
        on_misfit = told if callable(told) else _raise
        return records_past_damage(
            file, compression, records_from, on_error, start=start, stop=stop, on_misfit=on_misfit
        )

    def records(self, **conditions: Unpack[Conditions]) -> Iterator[Record]:
        """Yield the records that match all conditions, in file order.

        Args:
            **conditions: `type`, `status`, `mime`, `uri`, `host`, `min_size`, `since`, `until`: `Conditions`.

        Raises:
            TypeError: A condition has a wrong type.
            ValueError: A type is misspelt; a status, size or date is not valid; or a datetime has no time
                zone.
            FormatError: As iterating does.

        Example:
            for record in archive.records(type="response", status=200, mime="text/html"):
                print(record.target_uri, len(record.payload.read(decoded=True)))
        """
        from seekwarc.read.selection import Selection

        return filter(Selection.named(**conditions).matches, self)

    def sample(self, count: SupportsIndex, *, seed: int | None = None) -> list[Record]:
        """Return records chosen at random, in file order; all of them if the file has at most `count`.

        In a .warc.zst whose tables list the whole file, frames are drawn from the tables, and of each drawn
        only that frame is read: every frame that begins as a record does is as likely as any other. In a
        sound file these are the records; a frame inside a record that happens to begin with a record of an
        archived WARC file counts too, and records that do not begin a frame are never drawn. All other files
        are read once from beginning to end, and every record that has an offset of its own is equally likely.

        Args:
            count: How many.
            seed: The same seed gives the same sample of the same file.

        Raises:
            RangeError: `count` is negative.
            FormatError: The file has to be read through, and is damaged.
        """
        count = integer("count", count)
        if count < 0:
            raise RangeError(f"count must not be negative: {count}")
        from seekwarc.read.sampling import sampled

        return sampled(self, self.record_at, self._file, self.compression, count, seed=seed)

    def in_order(
        self,
        tap: Callable[[bytes], object] | None = None,
        *,
        tolerant: bool = False,
        mended: Iterable[str] = (),
    ) -> StreamedRecords:
        """Read the file once from beginning to end, decompressing everything.

        What a tool that copies whole files wants: unlike iterating, it does not go on after a Content-Length
        that is wrong, nor end quietly with a record that is cut off.

        Args:
            tap: Shown every decompressed byte of the file, in order, before it is parsed.
            tolerant: Do both all the same, as iterating does.
            mended: Kinds of deviations that the copy will not have, of which no warning is issued.

        Raises:
            SourceError: A pipe was iterated before.
        """
        file = self._file
        if file.source.is_pipe and self._passed:
            raise SourceError("a pipe can be read once only", source=self.name)
        self._passed = True
        for kind in mended:
            file.silence(kind)
        file.prefetch_file(tables=False)
        window, compression = file.begin()
        return StreamedRecords(file, window, 0, compression, tap, tolerant=tolerant)

    def in_batches(self, ranges: Iterable[tuple[int, int]]) -> Iterator[int]:
        """Fetch many stored ranges with few requests, some at a time, for the reads that follow.

        Where many records are read by their places this saves most requests. A local file is not touched.

        Args:
            ranges: Ranges [start, stop) of the stored file, by ascending start.

        Yields:
            How many more of the ranges are prefetched; they are kept until the next batch is asked for.

        Raises:
            SourceError: The stored bytes are unavailable.

        Example:
            places = [(record.offset, record.offset + record.length) for record in wanted]
            left = iter(places)
            for count in archive.in_batches(places):
                for start, stop in islice(left, count):
                    print(archive.record_at(start, stop - start).payload.read())
        """
        return self._file.source.in_batches(ranges)

    def use_each(self, ranges: Iterable[tuple[int, int]], use: Callable[[int, int], _T]) -> Iterator[_T]:
        """Fetch many stored ranges, several at a time, and use each as soon as its bytes have come.

        Args:
            ranges: As for `in_batches`.
            use: Called in several threads, with first number and stop of ranges that came together. While
                it runs, they are read without a request.

        Yields:
            What it returns, in order.

        Raises:
            SourceError: The archive was closed.
        """
        return self._file.source.use_each(ranges, use)

    def record_at(
        self,
        offset: SupportsIndex | str,
        length: SupportsIndex | str | None = None,
        *,
        table: TableChoice = TableTrust.CLAIMED,
    ) -> Record:
        """Return the record that starts at a stored offset, as an index gives it.

        With a length nothing is read beyond the record: its first 16 KiB or, where each read takes its time,
        all of a small one at once. Nothing is fetched twice.

        A wrong Content-Length is corrected as by iterating if it shows at once: in a .warc that is not
        remote, or by a length that it does not fit; of a record that is one small gzip member, or one small
        frame of known length. Otherwise the block is as long as Content-Length says: to find out would take
        decompressing what follows. Strict reading does that for the end of the record.

        Args:
            offset: Offset of the record's first frame, gzip member or byte; also as a string of digits, which
                CDXJ lines have.
            length: Stored bytes up to the next record. With it the record's seek table is found by one
                read; without it, through the table at the end of the file, or by scanning.
            table: The record's seek table, as a line of an index names it (`Capture.table`). No other is
                trusted then, and if it is not there, the record is scanned. Or a `TableTrust`: whether to
                believe what the file claims, as far as it can be checked without looking at all frames.

        Raises:
            FormatError: No record starts there.
            TypeError: `offset` or `length` is of another type.
            RangeError: `offset` is negative, `length` not positive, or one of them not a number.
        """
        return record_at(self._file, offset, length, table)


class WholeReader(Reader):
    """A reader without a sidecar: all bytes are those that the file itself holds.

    Whatever writes, compares, or states what a file holds opens it with this. It has no option `sidecar`.

    Args:
        target, **options: As of `Reader`.
        part: Where the records begin that `past_damage` yields, as of `between`.
        on_record: Shown each of these records before it is yielded.
    """

    _options_type = ReadOptions

    def __init__(
        self,
        target: str | os.PathLike[str] | bytes | BinaryIO | RangeReadable,
        *,
        part: tuple[int, int | None] = (0, None),
        on_record: Callable[[Record], object] | None = None,
        **options: Unpack[ReaderOptions],
    ) -> None:
        super().__init__(target, **options)
        self._part = part
        self._on_record = on_record

    @override
    def past_damage(self, on_damage: Callable[[FormatError], object]) -> Iterator[Record]:
        if self._part == (0, None):
            records = super().past_damage(on_damage)
        else:
            self._on_error = on_damage
            records = self.between(*self._part)
        return records if (show := self._on_record) is None else _shown(records, show)


def _shown(records: Iterable[Record], show: Callable[[Record], object]) -> Iterator[Record]:
    for record in records:
        show(record)
        yield record


def begun(archive: Reader, begin: Callable[[], Iterator[Record]]) -> Iterator[Record]:
    """Begin to read one of several files. One that is not an archive has no records, if `on_error` is given.

    If that is "skip", a `FormatWarning` says so; a function is called with the error.
    """
    try:
        return begin()
    except FormatError as error:
        on_error = archive._on_error  # noqa: SLF001 - its own module
        if on_error == "raise":
            raise
        if callable(on_error):
            on_error(error)
        else:
            warnings.warn(f"{error}; the file is passed over", FormatWarning, stacklevel=3)
        return iter(())


def _records_from(
    file: ArchiveFile, compression: Compression, window: Window, offset: int = 0
) -> Iterator[Record]:
    if compression == "zst":
        return framed_records(file, window, offset)
    if compression == "gz":
        from seekwarc.read.gzip_members import gzip_records

        return gzip_records(file, window, offset)
    from seekwarc.read.plain import plain_records

    return plain_records(file, window, offset)


def _raise(error: FormatError) -> None:
    raise error
