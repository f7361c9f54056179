"""A contact sheet: many pictures of a film in one, each with its time under it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from seekwarc.errors import LimitError
from seekwarc.inside.films import media_library
from seekwarc.inside.pictures import MAX_SIDE, PIXELS, Picture, encoded, scaled
from seekwarc.inside.times import time_text

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

__all__ = ["SHEET_WIDTH", "contact_sheet"]

SHEET_WIDTH: Final = 240
"""Width of a picture on a sheet, in pixels."""
COLUMNS: Final = 5
GAP: Final = 8
CAPTION: Final = 20
"""Height of the line under a picture."""
SCALE: Final = 2
"""Pixels of a sheet for one of a digit."""
PAPER, INK = b"\x12\x14\x15", b"\xe6\xe4\xde"
DIGITS: Final = {
    "0": "111101101101111",
    "1": "010110010010111",
    "2": "111001111100111",
    "3": "111001111001111",
    "4": "101101111001001",
    "5": "111100111001111",
    "6": "111100111101111",
    "7": "111001010010010",
    "8": "111101111101111",
    "9": "111101111001111",
    ":": "000010000010000",
    ".": "000000000000010",
}
"""Digits of 3 by 5 pixels, row by row: there may be no font on this machine."""


def contact_sheet(pictures: Iterable[Picture], *, width: int = SHEET_WIDTH, columns: int = COLUMNS) -> bytes:
    """Return a PNG with all pictures, `columns` in a row, each `width` pixels wide with its time under it.

    Raises:
        LimitError: It would be too large.
    """
    cells: list[tuple[VideoFrame, str]] = []
    count = area = 0
    for count, it in enumerate(pictures, 1):  # noqa: B007 - how many there were
        # Pictures no longer on the largest sheet need not be in memory.
        if area <= MAX_SIDE * MAX_SIDE:
            cells.append((scaled(it, width, form=PIXELS["png"]), time_text(it.time)))
            area += width * cells[-1][0].height
    columns = max(min(columns, count), 1)
    high = max((frame.height for frame, _ in cells), default=0) + CAPTION
    rows = -(-count // columns)
    size = GAP + columns * (width + GAP), GAP + rows * (high + GAP)
    if max(size) > MAX_SIDE or len(cells) < count:
        raise LimitError(
            f"the sheet would have {size[0]} x {size[1]} pixels, more than {MAX_SIDE} on a side: take fewer "
            "or smaller pictures"
        )
    sheet = _Sheet(*size)
    for number, (frame, text) in enumerate(cells):
        row, column = divmod(number, columns)
        left, top = GAP + column * (width + GAP), GAP + row * (high + GAP)
        sheet.paste(frame, left, top)
        sheet.write(text, left, top + frame.height + (CAPTION - 5 * SCALE) // 2)
    return encoded(sheet.frame, "png")


class _Sheet:
    def __init__(self, width: int, height: int) -> None:
        self.frame: VideoFrame = media_library().VideoFrame(width, height, PIXELS["png"])
        self._stride = self.frame.planes[0].line_size
        self._pixels = memoryview(self.frame.planes[0])
        row = (PAPER * width).ljust(self._stride, b"\0")
        for at in range(0, len(row) * height, len(row)):
            self._pixels[at : at + len(row)] = row

    def paste(self, frame: VideoFrame, left: int, top: int) -> None:
        plane = frame.planes[0]
        pixels, size = memoryview(bytes(plane)), 3 * frame.width
        for row in range(frame.height):
            self._put(left, top + row, pixels[row * plane.line_size :][:size])

    def write(self, text: str, left: int, top: int) -> None:
        for place, character in enumerate(text):
            for at, dot in enumerate(DIGITS[character]):
                if dot == "1":
                    row, column = divmod(at, 3)
                    for line in range(SCALE):
                        self._put(left + (place * 4 + column) * SCALE, top + row * SCALE + line, INK * SCALE)

    def _put(self, left: int, row: int, pixels: bytes | memoryview) -> None:
        start = row * self._stride + 3 * left
        self._pixels[start : start + len(pixels)] = pixels
