"""The result of writing a record."""

from __future__ import annotations

from collections.abc import Callable

from seekwarc.errors import FormatError, SeekWarcError, TargetError
from seekwarc.format.dates import WarcDate
from seekwarc.format.values import without_brackets
from seekwarc.format.warc import RecordHeader

__all__ = ["Written"]


class Written:
    """A record that a `Writer` has written: its fields, and where it is.

    Fields that the record does not have are empty strings, never None. `write_raw` adds nothing, so any of
    them may be missing there. All other fields are in `header`.

    Attributes:
        header: The record header as it was written.
        filename: Name of the file that the record is in.

    Example:
        >>> with seekwarc.open("new.warc.zst", "w") as out:
        ...     page = out.write_response("http://example.org/", b"Hello", status=200)
        ...     via = {"via": "http://example.com/"}
        ...     about = out.write_metadata(via, target_uri="http://example.org/", concurrent_to=page)
        >>> page.type, page.filename, page.offset, about.offset == page.length
        ('response', 'new.warc.zst', 0, True)
    """

    __slots__ = ("_length", "_offset", "_settle", "filename", "header")

    def __init__(self, header: RecordHeader, filename: str, settle: Callable[[], None]) -> None:
        self.header = header
        self.filename = filename
        self._settle = settle
        self._offset = -1
        self._length = -1

    def __repr__(self) -> str:
        place = f"at {self._offset}" if self._length >= 0 else "not yet placed"
        return f"<Written {self.type} in {self.filename} ({place}): {self.target_uri or self.id}>"

    @property
    def id(self) -> str:
        """WARC-Record-ID, without angle brackets (clause 5.2)."""
        return self.header.uri("WARC-Record-ID") or ""

    @property
    def type(self) -> str:
        """WARC-Type (clause 5.5): "revisit" if `dedup` knew the payload."""
        return self.header.get("WARC-Type") or ""

    @property
    def date(self) -> WarcDate:
        """WARC-Date (clause 5.4).

        Raises:
            FormatError: `write_raw` was given a header without one, or with a malformed one.
        """
        stated = self.header.get("WARC-Date")
        if stated is None:
            raise FormatError("the record header that `write_raw` was given has no WARC-Date")
        return WarcDate.parse(stated)

    @property
    def target_uri(self) -> str:
        """WARC-Target-URI (clause 5.14); empty if the record has none, as a warcinfo record."""
        return self.header.uri("WARC-Target-URI") or ""

    @property
    def content_length(self) -> int:
        """Content-Length: bytes of the block (clause 5.3); of the first segment if the record has several."""
        return self.header.content_length

    @property
    def block_digest(self) -> str:
        """WARC-Block-Digest as in the header (clause 5.8); empty with `digest=None`."""
        return self.header.get("WARC-Block-Digest") or ""

    @property
    def payload_digest(self) -> str:
        """WARC-Payload-Digest as in the header (clause 5.9); empty if the record has none."""
        return self.header.get("WARC-Payload-Digest") or ""

    @property
    def concurrent_to(self) -> tuple[str, ...]:
        """WARC-Concurrent-To: IDs of records of the same capture event (clause 5.7)."""
        return tuple(map(without_brackets, self.header.get_all("WARC-Concurrent-To")))

    @property
    def refers_to_id(self) -> str:
        """WARC-Refers-To, without angle brackets (clause 5.11); empty if the record has none."""
        return self.header.uri("WARC-Refers-To") or ""

    def place(self, offset: int, length: int) -> None:
        """Set where the record is in the file."""
        self._offset = offset
        self._length = length

    @property
    def offset(self) -> int:
        """Offset of the record in the file, as in a CDX line. Waits until the record is compressed."""
        self._wait()
        return self._offset

    @property
    def length(self) -> int:
        """Compressed bytes up to the next record, as in a CDX line. Waits until the record is compressed."""
        self._wait()
        return self._length

    def _wait(self) -> None:
        if self._length < 0:
            try:
                self._settle()
            except TargetError:
                raise  # Its message names the file and the reason.
            except SeekWarcError as error:
                raise SeekWarcError(f"the record was not written: {error}") from error
