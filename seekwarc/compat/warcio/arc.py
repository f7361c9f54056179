"""ARC files as WARC files: warcio takes their records apart and makes headers of WARC for them."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

from warcio.exceptions import ArchiveLoadFailed

from seekwarc.compat.warcio.archiveiterator import ArchiveIterator
from seekwarc.compat.warcio.warcwriter import WARCWriter
from seekwarc.errors import FormatError, TruncatedError
from seekwarc.storage.opening import open_source
from seekwarc.tools.progress import no_progress

if TYPE_CHECKING:
    from seekwarc.tools.progress import Progress
from seekwarc.storage.source_file import SourceFile

__all__ = ["warc_of_arc"]

SAVING: Final = (
    "`python -m seekwarc.compat.warcio warcio recompress old.arc new.warc.zst` keeps what can be read of it"
)
"""What to do, as `recover` reads no ARC files."""


@contextmanager
def warc_of_arc(source: str | os.PathLike[str], *, on_progress: Progress = no_progress) -> Iterator[BinaryIO]:
    """Open an ARC file as a WARC file without compression, which is made in a temporary file.

    Its first record becomes a warcinfo record, each other one a response. Where a record is damaged, warcio
    goes on quietly; this does not.
    """
    name = os.fspath(source)
    with closing(on_progress(open_source(source), "reading")) as stored, tempfile.TemporaryFile() as file:
        archive = ArchiveIterator(cast("BinaryIO", io.BufferedReader(SourceFile(stored))), arc2warc=True)
        writer = WARCWriter(file, compression="none")
        try:
            for record in archive:
                offset = archive.offset
                _check_length(record, name, offset)
                if record.rec_type == "warcinfo":
                    # That of the machine that wrote the file: WARC has no place for it.
                    record.rec_headers.remove_header("WARC-IP-Address")
                stream = record.raw_stream
                writer.write_record(record)
                if getattr(stream, "limit", 0):
                    text = (
                        f"the file ends inside this record: {stream.limit} bytes of it are missing; {SAVING}"
                    )
                    raise TruncatedError(text, source=name, offset=offset)
                archive.read_to_end()
                if archive.err_count:
                    text = f"the record is longer than its header says; {SAVING}"
                    raise FormatError(text, source=name, offset=offset)
        except ArchiveLoadFailed as error:
            raise FormatError(f"{str(error).strip()}; {SAVING}", source=name) from error
        file.seek(0)
        yield cast("BinaryIO", file)


def _check_length(record: Any, name: str, offset: int) -> None:  # noqa: ANN401 - warcio has no types
    length = record.rec_headers.get_header("Content-Length", "")
    if not length.isdecimal():
        raise FormatError(
            f"the length of the record, {length!r}, is not a number; {SAVING}", source=name, offset=offset
        )
