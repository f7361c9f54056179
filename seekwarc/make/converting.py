"""Converting a file to another compression without changing a byte of its content."""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import BinaryIO, Final, Unpack

from seekwarc.errors import ChecksumError, FormatError
from seekwarc.format.conditions import with_sizes
from seekwarc.frames.dictionary import MAX_DICTIONARY_SIZE
from seekwarc.frames.pieces import Compression
from seekwarc.jobs.parts import cut, in_parts
from seekwarc.jobs.progress import Progress, no_progress
from seekwarc.make.arc import copy_arc_records
from seekwarc.make.convert_parts import ConvertPart, Joined
from seekwarc.make.sinks import StreamSink, content_of, copy_records
from seekwarc.read.options import ReadLimits
from seekwarc.read.reader import WholeReader
from seekwarc.read.record import Record
from seekwarc.scale.split import Split
from seekwarc.storage.opening import open_source
from seekwarc.storage.source import RangeReadable, RangeSource
from seekwarc.storage.streams import PipeSource
from seekwarc.write.files import Existing, refuse_same_file
from seekwarc.write.forms import check_form
from seekwarc.write.opening import open_output
from seekwarc.write.options import FrameOptions, WriteOptions
from seekwarc.write.output import Output, PathOutput
from seekwarc.write.writer import Writer

__all__ = ["Conversion", "content_digest", "convert", "holds_same"]

SUFFIXES: Final[dict[str, Compression]] = {".zst": "zst", ".gz": "gz", ".warc": "none"}
ANY_SIZE: Final = sys.maxsize
"""No limit on the dictionary of a file that was just written: it is not a hostile one."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """The result of a conversion.

    Example:
        >>> done = seekwarc.tools.convert("crawl.warc.zst", "crawl.warc.gz")
        >>> done.records, done.verified
        (5, True)

    Attributes:
        records: Number of records.
        source_size: Size of the source in bytes.
        target_size: Size of the target in bytes.
        content_size: Size of the decompressed content, the same in both.
        sha256: SHA-256 of that content, as `zcat FILE | sha256sum` prints it.
        verified: Whether the new file was decompressed and has the same content.
    """

    records: int
    source_size: int
    target_size: int
    content_size: int
    sha256: str
    verified: bool


def content_digest(source: RangeSource, *, max_dictionary_size: int = MAX_DICTIONARY_SIZE) -> str:
    """Return the SHA-256, in hexadecimal, of everything that a file decompresses to, an ARC file as WARC."""
    digest = hashlib.sha256()
    for data in content_of(source, max_dictionary_size=max_dictionary_size):
        digest.update(data)
    return digest.hexdigest()


class _CheckedOutput(Output):
    """An output that is decompressed again, and compared, before it becomes the final file.

    A file is read back from the disk. Output to a pipe is decompressed by a thread on the way.
    """

    def __init__(self, output: Output, expected: Callable[[], str] | None, on_progress: Progress) -> None:
        self.name = output.name
        self.begin = output.begin
        self.spool_directory = output.spool_directory
        self.filename = output.filename
        self.size = 0
        """Bytes written so far."""
        self._output = output
        self._expected = expected
        self._on_progress = on_progress
        passes = expected is not None and not isinstance(output, PathOutput)
        self._passing = _PassingDigest() if passes else None

    def write(self, data: bytes) -> None:
        self.size += len(data)
        if self._passing is not None:
            self._passing.add(data)
        self._output.write(data)

    def flush(self) -> None:
        self._output.flush()

    def commit(self) -> None:
        try:
            if self._expected is not None:
                self._compare(self._expected())
        except BaseException:
            self.abort()
            raise
        self._output.commit()

    def _compare(self, expected: str) -> None:
        try:
            found = self._found()
        except FormatError as error:
            raise ChecksumError(f"the new file cannot be read back: {error}", source=self.name) from error
        if found != expected:
            raise ChecksumError(
                f"the new file decompresses to {found}, the original to {expected} (sha256)",
                source=self.name,
            )

    def _found(self) -> str:
        if self._passing is not None:
            return self._passing.result()
        if isinstance(self._output, PathOutput):
            # A wrapped source may show progress that must be removed.
            with (
                self._output.reopen() as file,
                closing(self._on_progress(open_source(file), "checking")) as source,
            ):
                return content_digest(source, max_dictionary_size=ANY_SIZE)
        raise TypeError(f"{self.name} cannot be read back")

    def abort(self) -> None:
        if self._passing is not None:
            self._passing.close()
        self._output.abort()


class _PassingDigest:
    def __init__(self) -> None:
        reader, writer = os.pipe()
        self._in = os.fdopen(writer, "wb", 0)
        self._out = os.fdopen(reader, "rb", 1 << 16)
        self._found = ""
        self._error: FormatError | None = None
        self._thread = threading.Thread(target=self._work, name="seekwarc-check", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        with self._out:
            try:
                self._found = content_digest(PipeSource(self._out), max_dictionary_size=ANY_SIZE)
            except FormatError as error:
                self._error = error
            # Read on after an error, or the writer would wait for ever.
            while self._out.read(1 << 16):
                pass

    def add(self, data: bytes) -> None:
        self._in.write(data)

    def result(self) -> str:
        self.close()
        if self._error is not None:
            raise self._error
        return self._found

    def close(self) -> None:
        self._in.close()
        self._thread.join()


def convert(
    source: str | os.PathLike[str] | BinaryIO | RangeReadable,
    target: str | os.PathLike[str] | BinaryIO | Output,
    compression: Compression | None = None,
    *,
    verify: bool = True,
    existing: Existing = "error",
    on_progress: Progress = no_progress,
    on_record: Callable[[Record], object] | None = None,
    limits: ReadLimits | None = None,
    processes: int = 1,
    **options: Unpack[FrameOptions],
) -> Conversion:
    """Write all records of a file, byte for byte, into a new file with another compression.

    The records of an ARC file get headers of WARC.

        done = tools.convert("crawl.warc.gz", "crawl.warc.zst", level=9)
        print(done.records, done.source_size, done.target_size)

    Args:
        source: .warc, .warc.gz, .warc.zst, .arc or .arc.gz, recognized by content; may be a pipe.
        target: The new file; may be a pipe.
        compression: "zst", "gz" or "none"; from the target's name unless given.
        verify: Decompress the new file and compare it before it gets its name.
        existing: Whether a file that has the target's name is refused ("error") or replaced ("overwrite").
        on_progress: Wraps each source that is read, to report how far.
        on_record: Called with each record before its block is read; it may look at the beginning of it.
        limits: Limits of reading; see `Reader`.
        processes: How many processes may work on parts of a large local file, unless `on_record` is given;
            see `index`.
        **options: Options of a `Writer` for zst; only "level" for gz.

    Raises:
        FormatError: The source is damaged or not a WARC file. No target is made.
        ChecksumError: The new file has other content; it was not kept.
        TargetExistsError: There is a file of the target's name.
        SourceError: The source cannot be read.
        TargetError: The target cannot be written.
        ValueError: The compression is not given, and the target's name does not end with one.
    """
    compression = compression or _compression_of(target)
    digest = hashlib.sha256()
    content_size = 0

    def on_data(data: bytes) -> None:
        nonlocal content_size
        content_size += len(data)
        digest.update(data)

    stored = open_source(source)
    refuse_same_file(stored.name, target)
    stored = on_progress(stored, "converting")
    with WholeReader(stored, **(limits or {})) as archive:
        is_arc = archive.is_arc
        records = archive.in_order(None if is_arc else on_data, mended=["shared"])
        opened = open_output(target, existing=existing)
        output = _CheckedOutput(opened, digest.hexdigest if verify else None, on_progress)
        try:
            if isinstance(opened, PathOutput) and on_record is None and not is_arc:
                parts = cut(source, processes, **(limits or {}))
                work = ConvertPart(
                    compression, _checked(opened, compression, options), limits or {}, processes
                )
                done = _joined(stored, parts, work, opened) if parts else None
                if done is not None:
                    return replace(done, verified=verify)
            sink = _sink(output, compression, options)
        except BaseException:
            output.abort()
            raise
        try:
            copy = partial(copy_arc_records, on_data) if is_arc else copy_records
            count = copy(records, sink, on_record)
            sink.close()
        except BaseException:
            sink.abort()
            raise
        return Conversion(
            records=count,
            source_size=archive.stats.bytes_fetched if archive.size is None else archive.size,
            target_size=output.size,
            content_size=content_size,
            sha256=digest.hexdigest(),
            verified=verify,
        )


def _joined(
    stored: RangeSource, parts: Sequence[Split], work: ConvertPart, output: PathOutput
) -> Conversion | None:
    """Convert parts in several processes; return None, and leave the output empty, unless all is well."""
    with closing(Joined(output, work)) as joined:
        for part in in_parts(stored, parts, work, work.processes, output.spool_directory):
            joined.add(part)
        if joined.parts == len(parts):
            sha256 = joined.finish()
            output.commit()
            size = stored.size or 0
            return Conversion(joined.records, size, joined.size, joined.content_size, sha256, verified=True)
    output.rollback(0)
    return None


def _checked(output: Output, compression: Compression, options: FrameOptions) -> WriteOptions:
    """Check options as that which takes them does."""
    if compression != "zst":
        _sink(output, compression, {**options})
        return WriteOptions(level=options.get("level"))
    checked = WriteOptions(**with_sizes(WriteOptions, options, "frame_size"))
    check_form(output.name, compression, checked)
    return checked


def _sink(output: Output, compression: Compression, options: FrameOptions) -> Writer | StreamSink:
    if compression == "zst":
        return Writer(output, compression="zst", on_error="discard", **options)
    level = options.pop("level", None)
    if options or (compression == "none" and level is not None):
        raise ValueError(f"a file of compression {compression!r} takes no {', '.join(options) or 'level'}")
    return StreamSink(output, compression, level)


def _compression_of(target: object) -> Compression:
    if isinstance(target, str | os.PathLike):
        name = os.fspath(target).lower()
        for suffix, compression in SUFFIXES.items():
            if name.endswith(suffix):
                return compression
    raise ValueError(
        f"{target}: name it .warc.zst, .warc.gz or .warc, or give the compression: 'zst', 'gz' or 'none'"
    )


def holds_same(
    source: str,
    target: str,
    *,
    on_progress: Progress = no_progress,
    max_dictionary_size: int = MAX_DICTIONARY_SIZE,
) -> bool:
    """Tell whether two files decompress to the same bytes; if the second one is damaged, they do not."""
    with closing(on_progress(open_source(source), "comparing")) as stored:
        expected = content_digest(stored, max_dictionary_size=max_dictionary_size)
    try:
        with closing(on_progress(open_source(target), "checking")) as stored:
            return content_digest(stored, max_dictionary_size=ANY_SIZE) == expected
    except FormatError:
        return False
