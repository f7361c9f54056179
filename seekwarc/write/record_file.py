"""One file that is being written: begun, finished, kept or aborted."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Protocol

from seekwarc.errors import SeekWarcError
from seekwarc.format.words import counted
from seekwarc.write.append import AppendOutput
from seekwarc.write.assembly import RecordAssembly
from seekwarc.write.file_layout import ExistingFile
from seekwarc.write.options import WriteOptions
from seekwarc.write.output import Output, PathOutput
from seekwarc.write.targets import Found, Target, new_output
from seekwarc.write.unfinished import OpenOutput, save_hint

__all__ = ["Assemble", "FileMaker", "RecordFile"]


class Assemble(Protocol):
    """Makes the assembly that puts records into an output."""

    def __call__(self, output: Output, *, existing: ExistingFile | None = None) -> RecordAssembly:
        """Make it for a new file, or for one that holds something."""


class RecordFile:
    """A file that is being written. The caller ends it by `finish`, `keep` or `abort`; each is idempotent.

    Raises:
        TargetError: The output cannot be written to.
    """

    def __init__(self, output: Output, assemble: Assemble, dictionary_frame: bytes | None = None) -> None:
        self._output = output
        self.name = output.name
        self.is_path = output.spool_directory is not None
        try:
            self.assembly = assemble(output)
            if dictionary_frame is not None:
                self.assembly.add_extension(dictionary_frame)
        except BaseException:
            output.abort()
            raise

    def finish(self) -> None:
        """End the file and give it its name.

        Raises:
            FormatError: It has no record.
            TargetError: It cannot be written.
        """
        self.seal()
        self._output.commit()

    def seal(self) -> None:
        """End the file; `finish` then gives it its name."""
        if not self.assembly.is_closed:
            self.assembly.end_file()
            self.assembly.close()
        if isinstance(self._output, PathOutput):
            self._output.seal()

    def keep(self) -> str | None:
        """Finish the file with all complete records; return a message, or None if it has no record.

        If it cannot be finished, it is left unfinished with what could be written.
        """
        assembly = self.assembly
        try:
            if not assembly.is_closed:
                assembly.keep_what_fits()
            if not assembly.has_records:
                self.abort()
                return None
            self.finish()
        except (SeekWarcError, OSError) as error:
            assembly.close()
            return self._unfinished(error)
        return f"{self.name}: kept with {counted(assembly.added, 'complete record')}"

    def _unfinished(self, error: Exception) -> str:
        """Leave the file unfinished, and return a message that says how to continue it."""
        if isinstance(self._output, OpenOutput):
            self._output.leave()
            return f"{error}; what was written is in {self._output.unfinished}: {save_hint(self.name)}"
        if isinstance(self._output, AppendOutput):
            self._output.leave()
            name = os.path.basename(self.name)
            return f'{error}; `seekwarc.open({name!r}, "a", repair=True)` continues what was written of it'
        self._output.abort()
        return f"{error}; what was written to it cannot be undone"

    def abort(self) -> None:
        """Leave nothing under the final name. Files that were made after this one must be aborted first."""
        self.assembly.abort()
        self._output.abort()

    def abort_committed(self) -> None:
        """Abort the file, and remove it if it has its name already."""
        self.abort()
        if isinstance(self._output, PathOutput):
            self._output.abort_committed()

    def is_written_to(self, output: Output) -> bool:
        """Tell whether this is the output of the file."""
        return self._output is output


class FileMaker:
    """Makes the files of a writer, all with the same settings.

    A signal may come between any two lines, also after a file was made and before the caller has stored the
    result. So each output is listed here before its file is made, until the caller confirms with `settle`.
    """

    def __init__(
        self,
        options: WriteOptions,
        assemble: Assemble,
        dictionary_frame: bytes | None,
    ) -> None:
        self._options = options
        self._assemble = assemble
        self._dictionary_frame = dictionary_frame
        self._pending: list[OpenOutput] = []

    @property
    def has_pending(self) -> bool:
        """Whether there are outputs that no caller has confirmed."""
        return bool(self._pending)

    @property
    def dictionary_size(self) -> int:
        """Bytes that the dictionary takes in each file."""
        return len(self._dictionary_frame or b"")

    def first(self, found: Found) -> RecordFile:
        """Make the first file, or continue the one that was found; see `make`."""
        if found.continued is None:
            return self.make(found.target if found.names is None else found.names.take())
        existing = found.continued.existing
        assemble: Assemble = partial(self._assemble, existing=existing)
        frame = self._dictionary_frame if existing is None else None
        return RecordFile(found.continued.output, assemble, frame)

    def make(self, target: Target) -> RecordFile:
        """Make a file; call `settle` or `abort_pending` next.

        Raises:
            TargetExistsError: The file exists, and may not be replaced.
            TargetError: The target cannot be written to.
            TypeError: `target` is neither a path nor a binary file object.
        """
        output = new_output(target, self._options, self._pending)
        return RecordFile(output, self._assemble, self._dictionary_frame)

    def settle(self) -> None:
        """Confirm that the caller has the files that were made, and will end them."""
        self._pending.clear()

    def abort_pending(self, files: Sequence[RecordFile] = ()) -> None:
        """Abort every file that was made and is not among `files`, which the caller has."""
        while self._pending:
            if not any(file.is_written_to(self._pending[-1]) for file in files):
                self._pending[-1].abort()
            self._pending.pop()
