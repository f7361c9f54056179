"""`clip`: a part of an archived film into a file of its own."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from fractions import Fraction
from typing import BinaryIO, Final

from seekwarc.errors import SeekWarcError, UnsupportedError
from seekwarc.inside.film_kinds import kind_of_name
from seekwarc.inside.films_apart import FilmApart
from seekwarc.inside.times import checked_time
from seekwarc.read.extent import Extent
from seekwarc.write.files import Existing, unwritable
from seekwarc.write.opening import committed

__all__ = ["Clip", "clip", "open_film"]

IN_MEMORY: Final = 16 << 20
"""Size of a clip that is kept in memory until it is complete; larger ones are in a temporary file."""
STEP: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """A clip that was written. Times are in seconds from the beginning of the film.

    Example:
        >>> seekwarc.Clip(start=62, begin=60.5, stop=72, end=72.04, format="mp4", codecs=("h264", "aac"),
        ...               is_exact=False, packets=812, size=2_411_000, bytes_read=2_700_000).early
        1.5
    """

    start: float
    """Where it was asked to begin."""
    begin: float
    """Where it begins: at a keyframe, if its packets were copied."""
    stop: float
    """Where it was asked to end."""
    end: float
    """Where it ends: its last picture or sound included."""
    format: str
    """mp4, mkv, webm, mp3, ogg, wav or flac."""
    codecs: tuple[str, ...]
    """Of its streams, pictures first."""
    is_exact: bool
    """Whether it was encoded again, to begin and end exactly there."""
    packets: int
    """Number of packets."""
    size: int
    """Bytes of the new file."""
    bytes_read: int
    """Bytes of the payload that were read for it."""

    @property
    def early(self) -> float:
        """Seconds by which it begins before it was asked to; never negative."""
        return max(self.start - self.begin, 0.0)


def clip(
    payload: Extent,
    start: float | Fraction | str,
    stop: float | Fraction | str,
    target: str | os.PathLike[str] | BinaryIO,
    *,
    exact: bool = False,
    existing: Existing = "error",
) -> Clip:
    """Write a part of an archived film or of sound into a file of its own.

        seekwarc.clip(record.payload, "1:02:00", "1:02:10", "cut.mp4")

    Only the index of the film and the bytes of that part are read. Packets are copied unchanged, from the
    last keyframe before `start` on; `Clip.early` is how much earlier that is. With `exact`, the part is
    decoded and encoded again. Films are mp4, mkv or webm, sound also mp3, ogg, wav or flac. Nothing that a
    film names, such as a playlist's files, is ever opened.

    Args:
        payload: The payload of a record. It must have no content coding.
        start: Where the part begins, in seconds or as text: `75.5`, `"1:15.5"`, `"1:02:10"`.
        stop: Where it ends.
        target: A path or a binary file object, which may be a pipe; it gets the clip when that is complete.
            The ending of a path chooses the format; otherwise it is that of the film.
        exact: Encode the part, to have it begin and end exactly there.
        existing: Whether an existing file is refused ("error") or replaced ("overwrite").

    Raises:
        RangeError: `stop` is not after `start`, or `start` is after the end of the film.
        UnsupportedError: PyAV is not installed (`pip install 'seekwarc[media]'`); this is not a film, or one
            of another kind; the target's format cannot hold its codecs.
        FormatError: The film is damaged in that part or where its index is.
        HoleError: A joined payload has not all of the part.
        LimitError: Its pictures are too large, or a keyframe is too far away.
        TargetExistsError: The file exists.
        TargetError: It cannot be written.
        ValueError: A time is malformed.
    """
    begin, end = checked_time("start", start), checked_time("stop", stop)
    name = os.fspath(target) if isinstance(target, str | os.PathLike) else ""
    try:
        with committed(target, existing=existing) as output, open_film(payload) as film:
            kind = kind_of_name(name, film.kind)
            is_exact = exact or kind.is_encoded_again
            with tempfile.SpooledTemporaryFile(IN_MEMORY, dir=output.spool_directory) as made:
                try:
                    cut = film.clip(begin, end, made, kind, exact=is_exact)
                    size = made.seek(0, os.SEEK_END)
                    made.seek(0)
                    while data := made.read(STEP):
                        output.write(data)
                except SeekWarcError:
                    raise
                except OSError as error:
                    raise unwritable(error, output.name) from error
    except SeekWarcError as error:
        error.located(payload.name or None, None)
        raise
    return Clip(
        start=float(begin),
        begin=float(cut.begin),
        stop=float(end),
        end=float(cut.end),
        format=kind.name,
        codecs=cut.streams,
        is_exact=is_exact,
        packets=cut.packets,
        size=size,
        bytes_read=film.bytes_read,
    )


def open_film(payload: Extent, *, has_pictures: bool = False) -> FilmApart:
    """Open a payload as a film; see `FilmApart`."""
    if payload.codings:
        raise UnsupportedError(
            f"has the content coding {', '.join(payload.codings)}, which can only be read from its "
            "beginning: write it decoded (`seekwarc cat --decoded`), and cut that"
        )
    return FilmApart(payload.open(), has_pictures=has_pictures)
