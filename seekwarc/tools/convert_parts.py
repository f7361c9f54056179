"""Converting parts of one file in several processes, into a file that is the same as by one process.

Each process writes the records of a part into a spool, without what a file has at its ends: the dictionary
and the table of all frames. Here the spools are joined in order. What was joined is read back and compared in
a thread, part by part, while other parts are converted. The digest of all content is made on that way, too,
since it must be made in order.
"""

from __future__ import annotations

import hashlib
import os
import sys
from array import array
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import BinaryIO, Final, NamedTuple

from seekwarc.errors import ChecksumError, FormatError
from seekwarc.frames.dictionary import Dictionary
from seekwarc.frames.encoder import OrderedWork
from seekwarc.frames.pieces import Compression
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.read.options import ReadLimits, ReadOptions
from seekwarc.read.sequential import StreamedRecords
from seekwarc.scale.split import Split
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.opening import open_source
from seekwarc.storage.source import RangeSource
from seekwarc.system import default_threads
from seekwarc.tools.parts import PartSource
from seekwarc.tools.sinks import PartSink, StreamSink, content_of, copy_records, zst_form
from seekwarc.write.assembly import RecordAssembly
from seekwarc.write.options import WriteOptions
from seekwarc.write.output import FileObjectOutput, PathOutput

__all__ = ["ConvertPart", "Converted", "Joined"]

STEP: Final = 1 << 20
MAX_WAITING: Final = 8
"""Parts that are written and not yet read back: each has a file open."""


class Converted(NamedTuple):
    """A part of the new file."""

    spool: str
    records: int
    digest: bytes
    """BLAKE2 of its content, to find out whether what was just written is what was read."""
    frames: Sequence[array[int]] = ()
    """Stored size, content size and checksum of each frame that the table at the file's end lists."""


@dataclass(frozen=True, slots=True)
class ConvertPart:
    """Converts a part of a file; see `tools.parts.PartWork`."""

    compression: Compression
    options: WriteOptions
    limits: ReadLimits
    processes: int

    def __call__(self, part: Split, source: RangeSource, spool: str) -> Converted:
        """Write the part into the spool."""
        content = hashlib.blake2b()
        with (
            open(spool, "xb") as target,
            closing(ArchiveFile(Fetcher(PartSource(source, part)), ReadOptions.of(**self.limits))) as file,
        ):
            file.silence("shared")
            window, compression = file.begin()
            records = StreamedRecords(file, window, part.start, compression, content.update)
            output = FileObjectOutput(target)
            if self.compression != "zst":
                with closing(StreamSink(output, self.compression, self.options.level)) as stream:
                    return Converted(spool, copy_records(records, stream), content.digest())
            threads = max(1, (self.options.threads or default_threads()) // self.processes)
            with closing(PartSink(output, self.options, threads, is_first=not part.start)) as sink:
                count = copy_records(records, sink)
                return Converted(spool, count, content.digest(), sink.frames())


class Joined:
    """The new file, which is written from the spools of its parts. The caller commits its output."""

    def __init__(self, output: PathOutput, work: ConvertPart) -> None:
        self._output = output
        self._work = OrderedWork(1)
        self._assembly: RecordAssembly | None = None
        if work.compression == "zst":
            frame = None
            if isinstance(work.options.dictionary, Dictionary):
                frame = work.options.dictionary.frame(compress=work.options.compress_dictionary)
            self._assembly = RecordAssembly(zst_form(work.options), self._work, output)
            if frame is not None:
                self._assembly.add_extension(frame)
        self._checks = ThreadPoolExecutor(1, "seekwarc-check")
        self._waiting: deque[tuple[Future[None], BinaryIO]] = deque()
        self._sha256 = hashlib.sha256()
        self.parts = self.records = self.content_size = self.size = 0

    def add(self, part: Converted) -> None:
        """Append a part, and have it read back."""
        write = self._output.write if self._assembly is None else self._assembly.layout.pour
        with open(part.spool, "rb") as spool:
            while data := spool.read(STEP):
                write(data)
        os.unlink(part.spool)
        if self._assembly is not None:
            self._assembly.layout.note(list(zip(*part.frames, strict=True)))
            self._assembly.records += part.records
        self.parts += 1
        self.records += part.records
        self._read_back(part.digest)

    def finish(self) -> str:
        """Write the end of the file; return the SHA-256 of its content when all of it was compared."""
        if self._assembly is not None:
            self._assembly.end_file()
        self._read_back(hashlib.blake2b().digest())
        self._wait(0)
        return self._sha256.hexdigest()

    def close(self) -> None:
        """Stop the threads. Idempotent."""
        self._checks.shutdown(cancel_futures=True)
        for _, file in self._waiting:
            file.close()
        self._work.close()

    def _read_back(self, digest: bytes) -> None:
        file = self._output.reopen()
        start, self.size = self.size, os.fstat(file.fileno()).st_size
        part = Split(self._output.name, "records", start, self.size)
        self._waiting.append((self._checks.submit(self._compare, file, part, digest), file))
        self._wait(MAX_WAITING)

    def _wait(self, most: int) -> None:
        # What is wrong should be known soon.
        while self._waiting and (self._waiting[0][0].done() or len(self._waiting) > most):
            self._waiting[0][0].result()
            self._waiting.popleft()

    def _compare(self, stored: BinaryIO, part: Split, digest: bytes) -> None:
        name, found = self._output.name, hashlib.blake2b()
        try:
            with stored, closing(PartSource(open_source(stored), part)) as source:
                for data in content_of(source, part.start, max_dictionary_size=sys.maxsize):
                    found.update(data)
                    self._sha256.update(data)
                    self.content_size += len(data)
        except FormatError as error:
            raise ChecksumError(f"the new file cannot be read back: {error}", source=name) from error
        if found.digest() != digest:
            text = "from here on, the new file decompresses to other content than the original"
            raise ChecksumError(text, source=name, offset=part.start)
