"""Frames of a file that are copied: where they are, and how many of them are read at a time."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import accumulate
from typing import Final

from seekwarc.errors import FormatError
from seekwarc.frames.scan import UNSEEN, scan_run
from seekwarc.storage.fetch import Fetcher

__all__ = ["DICTIONARY_FLAGS", "MAX_LISTED", "FrameList", "frames_near"]

DICTIONARY_FLAGS: Final = 3
"""Bits of Frame_Header_Descriptor that say of how many bytes the dictionary ID is."""
MAX_LISTED: Final = 0xFFFF_FFFF
"""Maximum size that a seek table can state."""


class FrameList:
    """Frames of a file to copy, in order; those without content are extension frames."""

    __slots__ = ("contents", "offsets", "stored")

    def __init__(self) -> None:
        self.offsets = array("Q")
        self.stored = array("I")
        self.contents = array("I")

    def __len__(self) -> int:
        return len(self.stored)

    def add(self, offset: int, stored: int, content: int) -> None:
        """Add a frame."""
        self.offsets.append(offset)
        self.stored.append(stored)
        self.contents.append(content)

    def runs(self, start: int, stop: int, max_size: int) -> Iterator[range]:
        """Yield the frames with numbers in [start, stop) in runs that are contiguous in the file."""
        first, stored, content = start, 0, 0
        for number in range(start, stop):
            stored += self.stored[number]
            content += self.contents[number]
            apart = self.offsets[number] != self.offsets[number - 1] + self.stored[number - 1]
            if number > first and (apart or stored > max_size or content > max_size):
                yield range(first, number)
                first, stored, content = number, self.stored[number], self.contents[number]
        if first < stop:
            yield range(first, stop)


def frames_near(source: Fetcher, offset: int, size: int) -> FrameList | None:
    """Return the frames that hold `size` bytes, if all can be copied and none names a dictionary.

    None unless reads of the source are cheap, and wherever frames are to be looked at one by one.
    """
    if not source.policy.is_near:
        return None
    try:
        run = scan_run(source, offset, size)
    except FormatError:
        return None
    if (
        run.content_size != size
        or UNSEEN in run.checksums
        or 0 in run.content_sizes
        or any(descriptor & DICTIONARY_FLAGS for descriptor in run.descriptors)
        or max(*run.stored_sizes, *run.content_sizes) > MAX_LISTED
    ):
        return None
    frames = FrameList()
    frames.offsets.extend([*accumulate(run.stored_sizes, initial=offset)][:-1])
    frames.stored.extend([*run.stored_sizes])
    frames.contents.extend([*run.content_sizes])
    return frames
