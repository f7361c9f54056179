"""One content in every form that a file comes in."""

from __future__ import annotations

from seekwarc.frames.decoder import FrameDecoder
from seekwarc.frames.pieces import Piece, pieces_from
from seekwarc.frames.scan import Window
from seekwarc.storage.opening import open_source
from tests.support.foreign import cut, gzip_member, text, zstd_frame
from tests.support.sources import Pipe, RecordingSource

CONTENT = text(500_000, seed=31)
FORMS = {
    "none": (CONTENT, "none"),
    "gz": (gzip_member(CONTENT), "gz"),
    "gz members": (b"".join(map(gzip_member, cut(CONTENT, 70_000))), "gz"),
    "zst": (zstd_frame(CONTENT), "zst"),
    "zst frames": (b"".join(map(zstd_frame, cut(CONTENT, 70_000))), "zst"),
    "zst without size": (zstd_frame(CONTENT, content_size=False), "zst"),
    "zst without checksum": (zstd_frame(CONTENT, content_size=False, checksum=False), "zst"),
}


def pieces(data: bytes, compression: str, *, pipe: bool = False) -> list[Piece]:
    source = open_source(Pipe(data)) if pipe else RecordingSource(data)
    found = pieces_from(Window(source), 0, compression, FrameDecoder(lambda: None))
    return [piece for piece in found if isinstance(piece, Piece)]
