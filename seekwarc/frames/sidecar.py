"""Writing a sidecar: windows into frames as they come, then the directory, then the seek table of it all."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from hashlib import sha256
from typing import TYPE_CHECKING, BinaryIO, Final

from seekwarc.compiling import Buffer
from seekwarc.format.seektable import SeekTable
from seekwarc.format.sidecar import SAMPLE_SIZE, ArchiveIdentity, DirectoryBuilder
from seekwarc.frames.encoder import FrameEncoder

if TYPE_CHECKING:
    from seekwarc.format.sidecar import SidecarRecord
    from seekwarc.storage.source import RangeReadable

__all__ = ["archive_identity", "write_sidecar"]

FRAME_SIZE: Final = 256 << 10
"""Content of a frame: windows compress better together, and a read decodes one frame for one of them."""
LEVEL: Final = 3


def archive_identity(source: RangeReadable) -> ArchiveIdentity:
    """Return what a sidecar states of its archive: size, and SHA-256 of beginning and end."""
    size = source.size or 0
    head = source.read(0, min(SAMPLE_SIZE, size))
    tail = source.read(max(size - SAMPLE_SIZE, 0), size)
    return ArchiveIdentity(size, sha256(head).digest(), sha256(tail).digest())


def write_sidecar(target: BinaryIO, records: Iterable[SidecarRecord], identity: ArchiveIdentity) -> None:
    """Write a sidecar. Of windows no more than one frame is kept in memory.

    Args:
        target: Is written to, and not closed.
        records: By ascending offset, each with one span or more.
        identity: Tells the archive from others.

    Raises:
        ValueError: Records are not in order, or one has no span, or a window is larger than 32 KiB.
    """
    output = _Output(target)
    directory = DirectoryBuilder()
    for record in records:
        directory.add(record)
        for span in record.spans:
            output.add(span.window or b"")
    # Frames of the directory hold no windows, so that it is read without them.
    output.flush()
    output.add(directory.build(identity))
    output.close()


class _Output:
    """Cuts content into frames, and ends them with their seek table."""

    def __init__(self, target: BinaryIO) -> None:
        self._target = target
        self._encoder = FrameEncoder(LEVEL, None)
        self._pending = bytearray()
        self._columns = array("Q"), array("Q"), array("Q")

    def add(self, data: Buffer) -> None:
        self._pending += data
        while len(self._pending) >= FRAME_SIZE:
            self._write(self._pending[:FRAME_SIZE])
            del self._pending[:FRAME_SIZE]

    def flush(self) -> None:
        if self._pending:
            self._write(self._pending)
            self._pending = bytearray()

    def close(self) -> None:
        self.flush()
        self._target.write(SeekTable(*self._columns).build())

    def _write(self, content: Buffer) -> None:
        frame = self._encoder.encode(content)
        self._target.write(frame.data)
        for column, value in zip(self._columns, (len(frame.data), len(content), frame.checksum), strict=True):
            column.append(value)
