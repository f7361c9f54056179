"""Small records of one frame each that are near each other: read, checked and written together.

Goal: half of a crawl of small records at about the cost of its bytes. To open each record again, when a first
pass has read its header and knows where it is, takes ten times as long as to copy it.

Plan: what a first pass found, that a frame holds one record and how many bytes of content, is believed only
where the frames are decoded once more, a run of them by one call, from the bytes that are written. A frame
that cannot be copied as it is ends its run.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Final

from seekwarc.edit.copy_source import LooseRecord, Place, PlacedRecords, StoredRecord
from seekwarc.edit.frame_list import FrameList
from seekwarc.errors import FormatError, TruncatedError
from seekwarc.format.zstd import parse_frame_header
from seekwarc.frames.codec import CodecError
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.write.file_layout import Entries

__all__ = ["StoredRun", "stored_together"]

MAX_RUN: Final = 1 << 20
"""Bytes from the first to the last frame of a run, and bytes of content; a single frame may have more."""
MAX_GAP: Final = 64 << 10
"""Bytes between two frames of a run that are read, and not wanted."""
CHECKSUM_SIZE: Final = 4


@dataclass(slots=True)
class StoredRun:
    """Records of one frame each, in order, that are copied as they are."""

    file: ArchiveFile
    frames: FrameList
    data: bytes
    """The frames, one after the other."""

    def entries(self) -> Entries:
        """Return what tables list of each frame, after all were decoded.

        Raises:
            FormatError: A frame is damaged.
        """
        frames, decoder = self.frames, self.file.decoder
        ends = list(accumulate(frames.stored))
        places = array("Q", chain.from_iterable(zip([0, *ends], frames.stored, strict=False)))
        try:
            contents = decoder.decode_many(self.data, places, array("Q", frames.contents))
        except CodecError:
            contents = []
        if [*map(len, contents)] != [*frames.contents]:
            self._decode_each(ends)
        checksums = [int.from_bytes(self.data[end - CHECKSUM_SIZE : end], "little") for end in ends]
        return frames.stored, frames.contents, array("I", checksums)

    def _decode_each(self, ends: Iterable[int]) -> None:
        """Find the frame that is damaged."""
        frames, view = self.frames, memoryview(self.data)
        for number, end in enumerate(ends):
            frame = view[end - frames.stored[number] : end]
            try:
                self.file.decoder.check(frame, parse_frame_header(frame), self.file.frames.scratch)
            except FormatError as error:
                raise error.located(self.file.name, frames.offsets[number]) from None


def stored_together(
    found: PlacedRecords, places: Iterable[Place]
) -> Iterator[StoredRun | StoredRecord | LooseRecord]:
    """Yield the records at some places, in order, of a file that is near: in runs where that is possible."""
    for group in _groups(places):
        yield from _run(found, group) if group[0].content else (found.at(*group[0][:2]),)


def _groups(places: Iterable[Place]) -> Iterator[list[Place]]:
    group: list[Place] = []
    begin = content = 0
    for place in places:
        content += place.content
        if group and (
            not (place.content and group[0].content)
            or max(content, (place.end or 0) - begin) > MAX_RUN
            or place.offset - (group[-1].end or 0) > MAX_GAP
        ):
            yield group
            group, content = [], place.content
        if not group:
            begin = place.offset
        group.append(place)
    if group:
        yield group


def _run(found: PlacedRecords, places: list[Place]) -> Iterator[StoredRun | StoredRecord | LooseRecord]:
    begin, end, stored = places[0].offset, places[-1].end or 0, found.stored
    data = found.file.source.read(begin, end)
    if len(data) < end - begin:
        raise TruncatedError("the file ends inside this frame", source=found.file.name, offset=begin)
    frames, pieces = FrameList(), []
    for place in places:
        index, size = place.offset - begin, (place.end or 0) - place.offset
        if stored is not None and stored.can_copy(data, index):
            frames.add(place.offset, size, place.content)
            pieces.append(data[index : index + size])
            continue
        if frames:
            yield StoredRun(found.file, frames, b"".join(pieces))
            frames, pieces = FrameList(), []
        yield found.at(place.offset, place.skip)
    if frames:
        yield StoredRun(found.file, frames, b"".join(pieces))
