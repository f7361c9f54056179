"""Converting parts of one file in several processes, into a file that is the same as by one process.

Each process writes the records of a part into a spool, without what a file has at its ends: the dictionary
and the table of all frames. Here the spools are joined in order. Joined parts are read back and compared in
a thread, part by part, while other parts are converted. The digest of all content is made on that way, too,
since it must be made in order.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import BinaryIO, Final, NamedTuple

from seekwarc.errors import ChecksumError, FormatError
from seekwarc.frames.decoder import content_hash
from seekwarc.frames.dictionary import Dictionary
from seekwarc.frames.encoder import OrderedWork
from seekwarc.jobs.parts import PartSource
from seekwarc.make.sinks import CopyPart, PartFile, StreamSink, content_of, copy_records, form_with
from seekwarc.scale.split import Split
from seekwarc.storage.opening import open_source
from seekwarc.storage.source import RangeSource
from seekwarc.write.assembly import RecordAssembly
from seekwarc.write.output import FileObjectOutput, PathOutput

__all__ = ["ConvertPart", "Converted", "Joined"]

STEP: Final = 1 << 20
MAX_WAITING: Final = 8
"""Parts that are written and not yet read back: each has a file open."""


class Converted(NamedTuple):
    """A part of the new file."""

    file: PartFile
    digest: bytes
    """XXH3 of its content, to find out whether what was just written is what was read."""


@dataclass(frozen=True, slots=True)
class ConvertPart(CopyPart):
    """Converts a part of a file; see `tools.parts.PartWork`."""

    def __call__(self, part: Split, source: RangeSource, spool: str) -> Converted:
        """Write the part into the spool."""
        content = content_hash()
        with self.records(source, part, content.update) as records:
            if self.compression == "zst":
                with closing(self.sink(spool, part)) as sink:
                    copy_records(records, sink)
                    return Converted(sink.finish(), content.digest())
            with open(spool, "xb") as file:
                output = FileObjectOutput(file)
                with closing(StreamSink(output, self.compression, self.options.level)) as stream:
                    return Converted(PartFile(spool, copy_records(records, stream)), content.digest())


class Joined:
    """The new file, which is written from the spools of its parts. The caller commits its output."""

    def __init__(self, output: PathOutput, work: ConvertPart) -> None:
        self._output = output
        self._work = OrderedWork(1)
        self._assembly: RecordAssembly | None = None
        if work.compression == "zst":
            self._assembly = RecordAssembly(form_with("zst", work.options), self._work, output)
            if isinstance(dictionary := work.options.dictionary, Dictionary):
                frame = dictionary.frame(compress=work.options.compress_dictionary)
                self._assembly.add_extension(frame)
        self._checks = ThreadPoolExecutor(1, "seekwarc-check")
        self._waiting: deque[tuple[Future[None], BinaryIO]] = deque()
        self._sha256 = hashlib.sha256()
        self.parts = self.records = self.content_size = self.size = 0

    def add(self, part: Converted) -> None:
        """Append a part, and have it read back."""
        if self._assembly is not None:
            part.file.pour(self._assembly)
        else:
            with open(part.file.path, "rb") as spool:
                while data := spool.read(STEP):
                    self._output.write(data)
        os.unlink(part.file.path)
        self.parts += 1
        self.records += part.file.records
        self._read_back(part.digest)

    def finish(self) -> str:
        """Write the end of the file; return the SHA-256 of its content when all of it was compared."""
        if self._assembly is not None:
            self._assembly.end_file()
        self._read_back(content_hash().digest())
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
        # Report errors early.
        while self._waiting and (self._waiting[0][0].done() or len(self._waiting) > most):
            self._waiting[0][0].result()
            self._waiting.popleft()

    def _compare(self, stored: BinaryIO, part: Split, digest: bytes) -> None:
        name, found = self._output.name, content_hash()
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
