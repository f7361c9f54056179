"""What a writer gives back for a record."""

from __future__ import annotations

from collections.abc import Callable

from seekwarc.errors import SeekWarcError, SourceError
from seekwarc.format.fields import DefinedFields
from seekwarc.format.warc import RecordHeader

__all__ = ["Written"]


class Written(DefinedFields):
    """A record that was handed to a `Writer`.

    Attributes:
        header: The record header as it was written.
        file: Name of the file that it is in.
    """

    __slots__ = ("_length", "_offset", "_settle", "file")

    def __init__(self, header: RecordHeader, file: str, settle: Callable[[], None]) -> None:
        super().__init__(header)
        self.file = file
        self._settle = settle
        self._offset = -1
        self._length = -1

    def __repr__(self) -> str:
        place = f"at {self._offset}" if self._length >= 0 else "not yet placed"
        return f"<Written {self.type} in {self.file} ({place}): {self.target_uri or self.id}>"

    # What a writer has written has these, but for `write_raw`, where nothing is added: there they are empty.

    @property
    def id(self) -> str:
        """WARC-Record-ID (clause 5.2)."""
        return super().id or ""

    @property
    def type(self) -> str:
        """WARC-Type (clause 5.5)."""
        return super().type or ""

    @property
    def target_uri(self) -> str:
        """WARC-Target-URI (clause 5.14); empty where the record has none, as a warcinfo record."""
        return super().target_uri or ""

    def place(self, offset: int, length: int) -> None:
        """Say where the record was put."""
        self._offset = offset
        self._length = length

    @property
    def offset(self) -> int:
        """Offset of the record in the file, as CDX has it. Waits until the record is compressed."""
        self._wait()
        return self._offset

    @property
    def length(self) -> int:
        """Stored bytes up to the next record, as CDX has it. Waits until the record is compressed."""
        self._wait()
        return self._length

    def _wait(self) -> None:
        if self._length < 0:
            try:
                self._settle()
            except SourceError:
                raise  # It names the file, and why it cannot be written.
            except SeekWarcError as error:
                raise SeekWarcError(f"the record was not written: {error}") from error
