"""`warcio.warcwriter` for .warc.zst: records are made and completed by warcio, and stored in frames.

warcio writes a record as its header, the HTTP head, and its payload piece by piece. In a .warc.zst the last
is left to a `Writer`, which takes the payload from its stream: a large record becomes frames as it is read.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from typing import Any, Final

import warcio.warcwriter

from seekwarc.closing import Closing
from seekwarc.frames.pieces import Compression
from seekwarc.write.writer import Writer

__all__ = ["BufferWARCWriter", "WARCWriter"]

MAX_IN_MEMORY: Final = 512 << 10
"""What a `BufferWARCWriter` holds before it uses a file, as warcio has it."""
ENDINGS: Final = (".zst", ".zstd")


class WARCWriter(warcio.warcwriter.WARCWriter, Closing):  # type: ignore[misc]  # warcio has no types
    """Writes WARC records to a file object; arguments and methods are those of warcio.

    A file whose name ends in `.zst` becomes a .warc.zst, of which large records are read by range; any other
    is compressed as `gzip` says. Each record is in the file when the method that writes it returns. `close`,
    or a `with` block, adds the seek table of the whole file, which programs written for warcio do without.

    Args:
        filebuf: A binary file object; it stays open.
        gzip: Whether a file that is no .warc.zst is compressed.
        compression: "zst", "gz" or "none", whatever the name is.
        warc_version: "1.0", which is the default, or "1.1".
        header_filter: A function from (name, value) of an HTTP field to such a pair, or None to leave it out.
        **options: For a .warc.zst, those of `Writer`: level, frame_size, threads, dictionary, tables.

    Raises:
        ValueError: Options of a .warc.zst for another file.

    Example:
        >>> import io
        >>> from seekwarc.compat.warcio import WARCWriter
        >>> with open("new.warc.zst", "wb") as file, WARCWriter(file) as writer:
        ...     record = writer.create_warc_record("http://example.org/film.mp4", "resource",
        ...         payload=io.BytesIO(b"film" * (1 << 20)), length=4 << 20, warc_content_type="video/mp4")
        ...     writer.write_record(record)
        >>> with seekwarc.open("new.warc.zst") as archive:
        ...     print([record.payload.pread(1 << 20, 4) for record in archive])
        [b'film']
    """

    def __init__(
        self,
        filebuf: Any,  # noqa: ANN401 - all that has `write`
        gzip: bool = True,  # noqa: FBT001, FBT002 - as warcio has it
        *,
        compression: Compression | None = None,
        warc_version: str | None = None,
        header_filter: Any = None,  # noqa: ANN401
        **options: Any,  # noqa: ANN401 - checked by `Writer`
    ) -> None:
        if compression is None:
            compression = "zst" if _has_name_of_zst(filebuf) else "gz" if gzip else "none"
        # Not the class between: it finds its parent by a name that `install` gives to this class.
        warcio.warcwriter.BaseWARCWriter.__init__(
            self, compression == "gz", warc_version=warc_version, header_filter=header_filter
        )
        self.out = filebuf
        if options and compression != "zst":
            raise ValueError(f"only a .warc.zst takes {', '.join(options)}")
        self._writer = Writer(filebuf, compression="zst", **options) if compression == "zst" else None
        self._record: _PendingRecord | None = None
        self._has_records = False

    def close(self) -> None:
        """Finish a .warc.zst; the file object stays open. Idempotent."""
        writer, self._writer = self._writer, None
        if writer is not None:
            if self._has_records:
                writer.close()
            else:
                writer.abort()

    def _write_warc_record(self, out: Any, record: Any) -> None:  # noqa: ANN401
        if self._writer is None:
            super()._write_warc_record(out, record)
            return
        self._record = _PendingRecord(self._writer)
        try:
            super()._write_warc_record(self._record, record)
        finally:
            self._record = None
        self._has_records = True

    def _iter_stream(self, stream: Any) -> Iterator[bytes]:  # noqa: ANN401
        # warcio reads a stream for its digests first, and then to write it.
        if self._record is not None and self._record.has_header:
            self._record.write_block(stream)
            return iter(())
        pieces: Iterator[bytes] = super()._iter_stream(stream)
        return pieces


class BufferWARCWriter(WARCWriter):
    """A `WARCWriter` into memory, or a temporary file if it becomes large.

    Example:
        >>> from seekwarc.compat.warcio import BufferWARCWriter
        >>> writer = BufferWARCWriter(compression="zst")
        >>> writer.write_record(writer.create_warcinfo_record("a.warc.zst", {"software": "crawler/1.0"}))
        >>> with writer.out:
        ...     print([record.type for record in seekwarc.open(writer.get_contents())])
        ['warcinfo']
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - as warcio has it
        super().__init__(tempfile.SpooledTemporaryFile(MAX_IN_MEMORY), *args, **kwargs)  # noqa: SIM115

    def get_contents(self) -> bytes:
        """Return all that was written."""
        position = self.out.tell()
        self.out.seek(0)
        contents = self.out.read()
        self.out.seek(position)
        return bytes(contents)

    def get_stream(self) -> Any:  # noqa: ANN401
        """Return the file, at its beginning."""
        self.out.seek(0)
        return self.out


class _PendingRecord:
    """What warcio writes of one record, until the stream of its payload is known."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._header = self._head = b""
        self._is_written = False

    @property
    def has_header(self) -> bool:
        return bool(self._header)

    def write(self, data: bytes) -> None:
        if not self._header:
            self._header = data
        elif not self._is_written:
            # The HTTP head; or the line breaks after a revisit, which `Writer` writes by itself.
            self._head += data

    def write_block(self, stream: Any) -> None:  # noqa: ANN401
        self._writer.write_raw(self._header, _Joined(self._head, stream))
        self._writer.flush()
        self._is_written = True

    def flush(self) -> None:
        if not self._is_written:
            self.write_block(io.BytesIO())


class _Joined:
    """Bytes, and a stream that goes on after them."""

    def __init__(self, head: bytes, stream: Any) -> None:  # noqa: ANN401
        self._head, self._stream = head, stream

    def read(self, size: int) -> bytes:
        head, self._head = self._head[:size], self._head[size:]
        return head or self._stream.read(size)


def _has_name_of_zst(file: Any) -> bool:  # noqa: ANN401
    # Files of fsspec have a path.
    names = (getattr(file, "name", None), getattr(file, "path", None))
    return any(isinstance(name, str) and name.lower().endswith(ENDINGS) for name in names)
