"""Pictures of a film into a folder, each named by its time, or onto one sheet."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from seekwarc.errors import RangeError, SeekWarcError
from seekwarc.inside.films_apart import FilmApart, Shot
from seekwarc.inside.pictures import PIXELS, PictureFormat, times_every
from seekwarc.inside.sheets import SHEET_WIDTH
from seekwarc.inside.times import checked_time, time_for_name
from seekwarc.jobs.outcome import Failure
from seekwarc.options import check_range
from seekwarc.read.extent import Extent
from seekwarc.write.clips import open_film
from seekwarc.write.files import Existing, make_folder
from seekwarc.write.opening import committed
from seekwarc.write.output import Output

__all__ = ["MAX_PICTURES", "Framing", "Saved", "pictures"]

MAX_PICTURES: Final = 100
"""Pictures that are made unless more are asked for."""
MAX_ASKED: Final = 10_000
MAX_WIDTH: Final = 8192
MAX_FAILURES: Final = 20
"""Damaged places after which a film is given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """A picture of a film, or why it is missing. Times are in seconds from the beginning of the film."""

    wanted: float
    """The time that was asked for."""
    time: float | None = None
    """When the picture is first shown; None if it could not be decoded."""
    keyframe: float | None = None
    """The keyframe that it was decoded from."""
    target: str | None = None
    """The new file in the folder; None if there is no folder."""
    size: int = 0
    """Bytes of that file."""
    failure: Failure | None = None


@dataclass(slots=True)
class Framing:
    """What was made of a film.

    Example:
        >>> seekwarc.make.framing.Framing(pictures=12, size=480_000).failed
        0
    """

    pictures: int = 0
    """Number of pictures."""
    failed: int = 0
    """Number of those that could not be decoded."""
    size: int = 0
    """Bytes of their files, that of the sheet included."""
    duration: float | None = None
    """Of the film, in seconds; None if it does not say."""
    is_complete: bool = True
    """Whether there were no more pictures than `limit`."""


def pictures(
    payload: Extent,
    folder: str | os.PathLike[str] | None,
    *,
    every: float | Fraction | str,
    sheet: str | os.PathLike[str] | None = None,
    width: int | None = None,
    form: PictureFormat = "jpg",
    limit: int = MAX_PICTURES,
    existing: Existing = "error",
    on_picture: Callable[[Saved], object] = lambda _: None,
) -> Framing:
    """Save a picture of an archived film every so many seconds, and a sheet with all of them.

        tools.pictures(record.payload, "pictures", every=30, sheet="sheet.png")

    Each is decoded from the keyframe before it; what lies between is not read. A damaged place does not stop
    the others.

    Args:
        payload: The payload of a record. It must have no content coding.
        folder: Where the pictures go, such as `00-01-30.000.jpg`; it is made. None: only the sheet is wanted.
        every: Seconds between them, or text such as `"1:15"`. The first one is at 0.
        sheet: Path of a PNG with all pictures, small, their times under them.
        width: Width in pixels; unless given, that of the film, and 240 on the sheet.
        form: "jpg" or "png", for the folder.
        limit: Maximum number of pictures.
        existing: Whether existing files are refused ("error") or replaced ("overwrite").
        on_picture: Called with each.

    Raises:
        UnsupportedError: PyAV is not installed (`pip install 'seekwarc[media]'`), this is not a film, or has
            no pictures.
        FormatError: The film is damaged where its index is, or everywhere.
        LimitError: The sheet would be too large.
        TargetExistsError: A file exists.
        TargetError: A file cannot be written.
        ValueError: An argument is out of range.
    """
    step = checked_time("every", every)
    if step <= 0:
        raise RangeError("pictures cannot be 0 seconds apart")
    check_range("limit", limit, 1, MAX_ASKED)
    check_range("width", 1 if width is None else width, 1, MAX_WIDTH)
    if folder is None and sheet is None:
        raise ValueError("neither a folder nor a sheet is named")
    if form not in PIXELS:
        raise ValueError(f'form is {form!r}, not "jpg" or "png"')
    if folder is not None:
        make_folder(os.fspath(folder))
    try:
        with open_film(payload, has_pictures=True) as film:
            done = Framing(duration=None if film.duration is None else float(film.duration))
            times = [*times_every(film.duration, step, limit + 1)]
            done.is_complete = len(times) <= limit
            saving = _Saving(film, folder, width, form, existing, done, on_picture)
            with nullcontext() if sheet is None else committed(sheet, existing=existing) as output:
                saving.save(times[:limit], output)
    except SeekWarcError as error:
        error.located(payload.name or None, None)
        raise
    return done


@dataclass(slots=True)
class _Saving:
    film: FilmApart
    folder: str | os.PathLike[str] | None
    width: int | None
    form: PictureFormat
    existing: Existing
    done: Framing
    on_picture: Callable[[Saved], object]

    def save(self, times: list[Fraction], sheet: Output | None) -> None:
        """Save the pictures at these times, and the sheet with all of them."""

        def write(data: bytes) -> None:
            if sheet is not None:
                sheet.write(data)
                self.done.size += len(data)

        shots = self.film.pictures(
            times,
            width=self.width,
            form=self.form if self.folder is not None else None,
            on_sheet=(self.width or SHEET_WIDTH, write) if sheet is not None else None,
        )
        for shot in shots:
            if shot.failure is not None:
                self.done.failed += 1
                if self.done.failed > MAX_FAILURES and not self.done.pictures:
                    raise shot.failure
                self.on_picture(Saved(wanted=float(shot.wanted), failure=Failure.of(shot.failure)))
            else:
                self.on_picture(self._saved(shot))
                self.done.pictures += 1

    def _saved(self, shot: Shot) -> Saved:
        target = None
        if self.folder is not None:
            target = f"{time_for_name(shot.wanted)}.{self.form}"
            with committed(os.path.join(self.folder, target), existing=self.existing) as output:
                output.write(shot.data)
            self.done.size += len(shot.data)
        return Saved(
            wanted=float(shot.wanted),
            time=float(shot.time),
            keyframe=float(shot.keyframe),
            target=target,
            size=len(shot.data),
        )
