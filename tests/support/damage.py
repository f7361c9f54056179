"""A small crawl in each form, and its bytes damaged."""

from __future__ import annotations

from seekwarc.read.archive_file import ArchiveFile
from seekwarc.storage.fetch import Fetcher
from tests.support.foreign import Foreign, text
from tests.support.sources import RecordingSource
from tests.support.writing import noise

FRAME = 64 << 10


FORMS = ("zst", "gz", "none")


def crawl(form: str, *, tables: bool = True) -> Foreign:
    made = Foreign().record(b"one").record(text(150_000), cuts=FRAME, table=tables).record(b"")
    made.record(noise(3000)).record(text(400_000, seed=1), cuts=FRAME, table=tables).record(b"last")
    if form == "zst":
        return made.file_table() if tables else made
    return made.gzip() if form == "gz" else made.plain()


def opened(data: bytes) -> ArchiveFile:
    return ArchiveFile(Fetcher(RecordingSource(data)))


def flipped(data: bytes, *places: int) -> bytes:
    out = bytearray(data)
    for place in places:
        out[place] ^= 0x10
    return bytes(out)
