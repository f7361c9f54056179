"""A readable part of a record: its block or its payload."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, BinaryIO, ClassVar, Final, Literal, NoReturn, SupportsIndex, cast, overload

from seekwarc.compiling import mypyc_attr
from seekwarc.errors import FormatError, LimitError, RangeError, TruncatedError
from seekwarc.format.values import MediaType, without_brackets
from seekwarc.format.words import counted
from seekwarc.options import integer
from seekwarc.read.body import CUT_OFF

if TYPE_CHECKING:
    from collections.abc import Mapping

    from _typeshed import WriteableBuffer

    from seekwarc.frames.run import ReadPlan
    from seekwarc.inside.text import PageText
    from seekwarc.read.body import RecordBody

__all__ = ["Extent", "ExtentFile"]

MAX_STEP = 32 << 20
"""Memory that is allocated on the word of a Content-Length alone. Not `Final`: tests set it."""
EVERYTHING: Final = 1 << 62
MAX_DECODED = 1 << 30
"""Bytes that come out of content codings for one call of `read` or `pread`, those before `start` included.
Not `Final`, as above."""
DECODING_STEP: Final = 256 << 10
PEEK: Final = 4 << 10
SHORT_READ: Final = 64 << 10
"""Up to this size, an extra copy is cheaper than a zero-copy buffer."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Extent:
    """Bytes of a record that can be read by range, from any thread.

    Positions count from the first byte of the extent; ranges are half-open, [start, stop).

    Args:
        body: The record's bytes.
        start: Where the extent begins in them.
        stop: Where it ends.
        codings: HTTP content codings that are on it, in the order in which they were applied.
        truncated: Whether the record says that it was cut off.
        fields: Tell its Content-Type.

    Attributes:
        codings: See above.

    Example:
        >>> with seekwarc.open("crawl.warc.zst") as archive:
        ...     film = next(archive.records(uri="*/film.mp4")).payload
        ...     print(film.size, len(film.pread(2_000_000, 65_536)))
        ...     with film.open() as file:
        ...         position = file.seek(-4096, 2)
        ...         end = file.read()
        3145728 65536
        >>> print(film.media_type.essence, len(end))
        video/mp4 4096
    """

    __slots__ = ("_body", "_fields", "_length", "_start", "_truncated", "codings")
    _short_read: ClassVar[int] = SHORT_READ
    """Bytes that can be read again where the file ends before them, even from a pipe."""

    def __init__(
        self,
        body: RecordBody,
        start: int,
        stop: int,
        codings: tuple[str, ...] = (),
        *,
        truncated: bool = False,
        fields: Mapping[str, str] | None = None,
    ) -> None:
        self._body = body
        self._start = start
        # The maximum length: the chunks of a chunked body may not have been counted yet.
        self._length = stop - start
        self._truncated = truncated
        self.codings = codings
        self._fields = fields

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "the payload or block of a record cannot be pickled or copied; pickle the record and take its "
            "`payload` or `block` again"
        )

    def __repr__(self) -> str:
        size = self.known_size
        known = "of unknown size" if size is None else counted(size, "byte")
        return f"<{type(self).__name__} {known} in the record at {self._body.offset}: {self.name}>"

    @property
    def name(self) -> str:
        """Target URI of the record, or else its ID."""
        header = self._body.header
        return without_brackets(header.get("WARC-Target-URI") or header.get("WARC-Record-ID") or "")

    @property
    def size(self) -> int:
        """Length in bytes.

        For a body in chunked transfer coding all chunks have to be passed, once; see `known_size`.
        """
        return self._length

    @property
    def known_size(self) -> int | None:
        """Length in bytes; None of a body in chunked transfer coding whose end was not reached yet."""
        return self._length

    def look_ahead(self, position: int, seconds: float = math.inf) -> bool:  # noqa: ARG002
        """Find out whether this has `position` bytes, for no longer than `seconds`.

        Only a body in chunked transfer coding takes any time. The next call goes on where this one ended.

        Returns:
            Whether that is known now: it has them, or `known_size` is how many it has.

        Raises:
            ChecksumError: A frame that must be read for that is damaged.
            SourceError: The stored bytes are unavailable.
        """
        return True

    @property
    def problem(self) -> str | None:
        """Why these may not be the bytes that were sent, such as chunks that break off.

        None if nothing is wrong, or the end was not reached yet.
        """
        return None

    @property
    def end_problem(self) -> str | None:
        """What is wrong with how the record of these bytes ends in its frame or gzip member.

        Of bytes that are in several records, that of the first that has such a problem. None if nothing is
        known to be wrong.
        """
        return self._body.problem

    @property
    def deviation(self) -> str | None:
        """What is not as the record says, although all bytes that were stored are here.

        Many crawlers undo chunked transfer coding and keep the head that names it. None if there is
        nothing of the kind, or the body was not read yet.
        """
        return None

    @property
    def holes(self) -> tuple[tuple[int, int], ...]:
        """Ranges [start, stop) that no record has, in order: of a payload that is assembled from its parts.

        A read that touches one raises `HoleError`. Empty for all other payloads.
        """
        return tuple((start - self._start, stop - self._start) for start, stop in self._body.holes)

    @property
    def media_type(self) -> MediaType | None:
        """What the HTTP head says that it is, or else the record header.

        None if neither says so, or what it says is not a media type.
        """
        value = self._fields.get("Content-Type") if self._fields is not None else None
        try:
            return MediaType.parse(value) if value is not None else None
        except FormatError:
            return None

    def pread(
        self, start: SupportsIndex, length: SupportsIndex, *, verify: bool = True, decoded: bool = False
    ) -> bytes:
        """Read up to `length` bytes from `start` on, as `os.pread` does.

        Args:
            start: Position of the first byte, 0 or more.
            length: Bytes wanted; fewer come where the extent ends before, none after its end.
            verify: Decode whole frames and check them, but not those of more than 32 MiB: see
                `ReadPlan.is_verified`. Without it decoding may stop where the range ends, and damage may go
                unnoticed.
            decoded: Count in the body with its content codings (gzip, deflate, br, zstd) undone.
                Such a body can only be decoded from its beginning, which each call does again: for more than
                a few ranges use `open(decoded=True)`.

        Raises:
            TypeError: `start` or `length` is not an integer.
            RangeError: One of them is negative.
            LimitError: More than 1 GiB would have to be decoded.
            UnsupportedError: A coding that is not known, or whose package is not installed.
            ChecksumError: A frame that the range touches is damaged.
            SourceError: The stored bytes are unavailable.
        """
        if not isinstance(start, int) or not isinstance(length, int):
            start, length = integer("start", start), integer("length", length)
        if start < 0 or length < 0:
            raise RangeError(f"start is {start} and length {length}: neither can be negative")
        if decoded and self.codings:
            return self._read_decoded(start, length)
        length = min(length, self._length - start)
        if length <= SHORT_READ:
            return self._read(start, length, verify=verify) if length > 0 else b""
        return self._pread_long(start, length, verify=verify)

    def _pread_long(self, start: int, length: int, *, verify: bool, to_cut: bool = False) -> bytes:
        room = min(length, MAX_STEP)
        # A BytesIO hands out the bytes object that it was filled in, so nothing is copied.
        out = io.BytesIO(bytes(room))
        done = 0
        while done < length:
            if done == room:
                # Content-Length may lie: no more room is made before what was asked for so far has come.
                out.seek(room)
                room += out.write(bytes(min(length - room, MAX_STEP)))
            try:
                with out.getbuffer() as view, view[done:room] as target:
                    count = self._read_into(start + done, target, verify=verify)
            except TruncatedError as error:
                if not to_cut or not done or self._body.hides_records():
                    raise
                file = self._body.file
                file.deviates("cut", f"{CUT_OFF}: {error.message}", self._body.offset)
                count = 0
            done += count
            if not count:
                out.truncate(done)
                break
        return out.getvalue()

    def pread_into(self, start: SupportsIndex, buffer: WriteableBuffer, *, verify: bool = True) -> int:
        """Fill `buffer` from `start` on and return how many bytes came; see `pread`.

        Where the file ends inside the record, the bytes before come first; the next call raises.
        """
        start = integer("start", start)
        with memoryview(buffer).cast("B") as view:
            if start < 0:
                raise RangeError(f"start is {start}, not 0 or more")
            length = min(len(view), self._length - start)
            if length <= 0:
                return 0
            with view[:length] as target:
                return self._read_into(start, target, verify=verify)

    def read(self, n: SupportsIndex | None = -1, *, decoded: bool = False) -> bytes:
        """Read all of it, or the first `n` bytes.

        An extent has no position, since several threads may read it: each call begins at its first byte. So
        the second `read(n)` with the same `n` is an error, without which a loop that reads piece after piece
        would never end. `open` makes a file, which has a position; `pread` reads any range.

        If the end of the file cuts the record off, the bytes that are there are returned, with a
        `FormatWarning`; `seekwarc.open(..., strict=True)` has an error raised instead, and so does `pread`.

        Args:
            n: Bytes wanted; all if it is negative or None.
            decoded: Undo the content codings (gzip, deflate, br, zstd).

        Raises:
            LimitError: More than 1 GiB would have to be decoded.
            UnsupportedError: A coding that is not known, or whose package is not installed.
            ChecksumError: A frame is damaged.
            TruncatedError: Nothing of it is in the file, or the file is read strictly.
            SourceError: The stored bytes are unavailable.
            ValueError: The same first bytes, but not all, were read before.
        """
        length = -1 if n is None else n if isinstance(n, int) else integer("n", n)
        if length < 0:
            length = EVERYTHING
        elif 0 < length < self._length:
            self._refuse_loop(length, -length if decoded else length)
        if decoded and self.codings:
            return self._read_decoded(0, length)
        length = min(length, self._length)
        if length <= self._short_read:
            # Not `suppress`, which takes as long as all of a short read.
            try:
                return self._read(0, length, verify=True) if length > 0 else b""
            except TruncatedError:
                pass
        return self._pread_long(0, length, verify=True, to_cut=True)

    def _refuse_loop(self, length: int, key: int) -> None:
        part = self._start, key
        if self._body.last_part == part:
            raise ValueError(
                f"read({length}) was called before, and returns the first {length} bytes each time; to read "
                f"piece after piece, use `with record.payload.open() as file`, or pread(start, {length})"
            )
        self._body.last_part = part

    def _read_decoded(self, start: int, length: int) -> bytes:
        stop, position, pieces = start + length, 0, []
        with self.open_decoded(limit=MAX_DECODED + 1) as file:
            while position < stop and (data := file.read(min(stop - position, DECODING_STEP))):
                if position + len(data) > MAX_DECODED:
                    raise LimitError(
                        f"the decoded payload is longer than {MAX_DECODED} bytes, too many for one read; "
                        "read it from `open(decoded=True)`"
                    )
                pieces.append(data[max(start - position, 0) :])
                position += len(data)
        return b"".join(pieces)

    @overload
    def open(self, *, decoded: Literal[False] = False) -> ExtentFile: ...

    @overload
    def open(self, *, decoded: bool) -> io.RawIOBase: ...

    def open(self, *, decoded: bool = False) -> io.RawIOBase:
        """Open it as a raw binary file; wrap it in `io.BufferedReader` as you like.

        Args:
            decoded: Undo the content codings (gzip, deflate, br, zstd). Such a file only goes forward. A
                body that is not in the coding its head names comes as it is.

        Raises:
            UnsupportedError: A coding that is not known, or whose package is not installed.
        """
        return self.open_decoded(limit=EVERYTHING) if decoded else ExtentFile(self)

    def open_decoded(self, *, limit: int) -> io.RawIOBase:
        """Open it with its content codings undone, for a caller who reads no more than `limit` bytes.

        A coding that gives more, which is what a small payload can be made for, is a `LimitError` when it is
        read. So tools read: they meet payloads of anyone. The rest is as for `open`.
        """
        if not self.codings:
            return ExtentFile(self)
        from seekwarc.frames.codings import DecodedFile

        return DecodedFile(ExtentFile(self), self.codings, limit=limit, truncated=self._truncated)

    def text(
        self,
        *,
        main: bool = False,
        text_only: bool = False,
        max_size: int | None = None,
        max_text: int | None = None,
    ) -> PageText | None:
        """Return the text of a page: HTML, PDF or plain text, with its content codings undone.

            page = record.payload.text()
            if page is not None:
                print(page.title, page.lang, page.text)

        What it is follows from its media type and its first bytes. Its encoding is UTF-8 if it can be that,
        or else what the HTTP head or the page states, or as detected. Large pages and PDF are parsed in
        another process, which is started for the first of them.

        Args:
            main: Leave out menus, footers and the like, as far as they are recognized.
            text_only: Find neither title nor language, which takes a third of the time.
            max_size: Bytes that are read, content codings undone; 32 MiB by default. The text of a longer
                page is that of its beginning.
            max_text: Characters of the text, at most; 4 Mi by default.

        Returns:
            The text, with title and language; None if this is not HTML, PDF or plain text.

        Raises:
            FormatError: A content coding or a PDF is damaged, or the PDF is encrypted.
            LimitError: Parsing takes more than 20 seconds, or more than 3 GiB of memory.
            UnsupportedError: A coding that is not known, or a package that is not installed
                (`pip install 'seekwarc[text]'`).
            ChecksumError: A frame is damaged.
            SourceError: The stored bytes are unavailable.
        """
        from seekwarc.inside.text import MAX_SIZE, MAX_TEXT, may_have_text, text_of

        media_type = self.media_type
        if not may_have_text(media_type):
            return None
        size = self.known_size
        is_short = size is not None and size <= self._short_read and not self.codings
        # One read, where a file would take three.
        most = max_size if max_size is not None else MAX_SIZE
        limit = max(most, SHORT_READ) + 1
        file = io.BytesIO(self.pread(0, SHORT_READ)) if is_short else self.open_decoded(limit=limit)
        with file:
            return text_of(
                cast("BinaryIO", file),
                media_type,
                main=main,
                text_only=text_only,
                max_size=most,
                max_text=max_text if max_text is not None else MAX_TEXT,
            )

    def plan(self, start: SupportsIndex, stop: SupportsIndex) -> ReadPlan:
        """Tell what reading [start, stop) costs, without fetching any frame.

        The record's seek table, or the headers of the blocks of a large frame, are read if they were not yet,
        and of a chunked body the chunks up to `stop`: that is the only I/O.

        Raises:
            RangeError: A negative or inverted range.
        """
        start, stop = integer("start", start), integer("stop", stop)
        if start < 0 or stop < start:
            raise RangeError(f"start is {start} and stop {stop}, not a range of bytes")
        return self._plan(start, stop)

    # How the bytes are reached, positions and lengths being those of the extent. A chunked body is not one
    # stretch of the record. `_read_into` fills less at the end of the payload, or of the file.

    def _read(self, start: int, length: int, *, verify: bool) -> bytes:
        if not start:
            self._body.begins = True
        start += self._start
        return self._body.read(start, start + length, verify=verify)

    def _read_into(self, start: int, out: memoryview, *, verify: bool) -> int:
        if not start:
            self._body.begins = True
        return self._body.read_up_to_cut(self._start + start, out, verify=verify)

    def _plan(self, start: int, stop: int) -> ReadPlan:
        start, stop = min(start, self._length), min(stop, self._length)
        return self._body.plan(self._start + start, self._start + stop)


class ExtentFile(io.RawIOBase):
    """An extent as a raw, read-only binary file with a position of its own, named by URI or record ID."""

    mode = "rb"

    def __init__(self, extent: Extent) -> None:
        super().__init__()
        self._extent = extent
        self._position = 0
        self.name = extent.name

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Fill `buffer` from the current position on; 0 at the end."""
        self._check_open()
        count = self._extent.pread_into(self._position, buffer)
        self._position += count
        return count

    def read1(self, size: int = -1) -> bytes:
        """Read up to `size` bytes by one read, as `io.BufferedReader` does."""
        return self.read(size if size >= 0 else SHORT_READ) or b""

    def peek(self, size: int = 0) -> bytes:
        """Return `size` of the next bytes, or some, without moving the position; fewer at the end."""
        self._check_open()
        return self._extent.pread(self._position, size if size > 0 else PEEK)

    def write(self, _: object) -> NoReturn:
        """Raise `io.UnsupportedOperation`."""
        raise io.UnsupportedOperation("not writable: a record cannot be changed")

    def readall(self) -> bytes:
        """Read from the current position to the end, as one range."""
        self._check_open()
        data = self._extent.pread(self._position, EVERYTHING)
        self._position += len(data)
        return data

    def seek(self, offset: SupportsIndex, whence: int = io.SEEK_SET) -> int:
        """Move the position, as `io.IOBase.seek`; a position after the end reads nothing."""
        self._check_open()
        if whence not in (io.SEEK_SET, io.SEEK_CUR, io.SEEK_END):
            raise ValueError(f"whence is {whence}, not 0, 1 or 2")
        offset = integer("offset", offset)
        base = (0, self._position, self._extent.size)[whence]
        if base + offset < 0:
            raise RangeError(f"offset is {offset}: the position would be {base + offset}")
        self._position = base + offset
        return self._position

    def tell(self) -> int:
        """Return the position."""
        self._check_open()
        return self._position

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file")
