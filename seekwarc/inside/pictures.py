"""Pictures of films: decoded from the keyframe before a time, made small, encoded as JPEG or PNG."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, takewhile
from typing import TYPE_CHECKING, Final, Literal

from seekwarc.errors import LimitError, UnsupportedError
from seekwarc.inside.exact_clips import check_decodable, decoded
from seekwarc.inside.films import Film, media_library, reported
from seekwarc.inside.times import time_text

if TYPE_CHECKING:
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

__all__ = [
    "MAX_DECODED",
    "MAX_SIDE",
    "PIXELS",
    "Picture",
    "PictureFormat",
    "Pictures",
    "encoded",
    "scaled",
    "times_every",
]

PictureFormat = Literal["jpg", "png"]

MAX_SIDE: Final = 8192
MAX_DECODED: Final = 3000
"""Pictures that are decoded from a keyframe on for one that is wanted."""
MAX_PIXEL_RATIO: Final = 8
ONWARD: Final = 1
"""Seconds up to which decoding on is better than going back to a keyframe."""
PIXELS: Final[dict[PictureFormat, str]] = {"jpg": "yuvj420p", "png": "rgb24"}
"""The form of pixels in each kind of file."""
_ENCODERS: Final[dict[PictureFormat, tuple[str, dict[str, str]]]] = {
    "jpg": ("mjpeg", {"qmin": "3", "qmax": "5"}),
    "png": ("png", {}),
}
_TURNS: Final = {
    90: (("transpose", "cclock"),),
    180: (("hflip", ""), ("vflip", "")),
    270: (("transpose", "clock"),),
}
"""Filters that turn a picture by degrees, counter-clockwise."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a film. Times are in seconds from its beginning."""

    wanted: Fraction
    """The time that was asked for."""
    time: Fraction
    """When the picture is first shown: the last one at or before that time, or the film's first."""
    keyframe: Fraction
    """The keyframe that it was decoded from."""
    frame: VideoFrame
    pixel_ratio: Fraction = Fraction(1)
    """Width of its pixels, as a multiple of their height."""


def times_every(duration: Fraction | None, every: Fraction, limit: int) -> Iterator[Fraction]:
    """Return 0, `every` and so on up to the end of a film of that duration, `limit` times at most."""
    times = (number * every for number in range(limit))
    return takewhile(lambda time: duration is None or time < duration, times)


class Pictures:
    """The pictures of a film, at any times.

    Args:
        film: The film, whose packets are not read elsewhere meanwhile.
        max_decoded: Pictures that may be decoded from a keyframe on for each.
        take_last: If there are more, take the one that was decoded last, instead of raising.

    Raises:
        UnsupportedError: The film has no pictures, or in a codec that cannot be decoded.
        LimitError: They are too large.
    """

    def __init__(self, film: Film, *, max_decoded: int = MAX_DECODED, take_last: bool = False) -> None:
        if film.video is None:
            raise UnsupportedError("has sound and no pictures")
        check_decodable(film.video)
        self._film, self._video = film, film.video
        self._max_decoded, self._take_last = max_decoded, take_last
        self._showing: _Showing | None = None

    def at(self, time: Fraction) -> Picture | None:
        """Return the picture that is shown at a time, in seconds; None if the film ends before.

        Going on to a time soon after the last one decodes what is between them; any other begins at a
        keyframe.

        Raises:
            FormatError: The film is damaged there, or between there and the keyframe before.
            LimitError: Too many pictures would have to be decoded.
        """
        showing, self._showing = self._showing, None
        if showing is None or not showing.time <= time <= showing.time + ONWARD:
            self._video.codec_context.flush_buffers()
            showing = _Showing(self._film, self._video, time)
        picture = showing.at(time, self._max_decoded, take_last=self._take_last)
        # After an error it would be in the middle of nowhere.
        self._showing = showing
        return picture


class _Showing:
    """Pictures in the order in which they are shown, from a keyframe on."""

    def __init__(self, film: Film, video: VideoStream, start: Fraction) -> None:
        self._film, self._video = film, video
        self._packets = film.packets(start, (video,), until=start)
        self._frames = self._decoded()
        self._shown: tuple[Fraction, VideoFrame, Fraction] | None = None
        self._next: tuple[Fraction, VideoFrame, Fraction] | None = None
        self._advance()

    @property
    def time(self) -> Fraction:
        """When the current picture is first shown."""
        return self._shown[0] if self._shown is not None else Fraction(0)

    def at(self, time: Fraction, limit: int, *, take_last: bool) -> Picture | None:
        """Return the picture that is shown at a time, or None if the film ends before."""
        count = 0
        while self._next is not None and self._next[0] <= time:
            count += 1
            if count > limit:
                if take_last:
                    break
                raise LimitError(f"more than {limit} pictures lie between a keyframe and {time_text(time)}")
            self._advance()
        if self._shown is None:
            return None
        shown, frame, keyframe = self._shown
        if self._next is None and time >= shown + max(_length(frame), Fraction(ONWARD)):
            return None
        ratio = self._video.codec_context.sample_aspect_ratio or Fraction(1)
        is_usual = 1 / MAX_PIXEL_RATIO <= ratio <= MAX_PIXEL_RATIO
        return Picture(time, shown, keyframe, frame, ratio if is_usual else Fraction(1))

    def _advance(self) -> None:
        if self._shown is None:
            self._next = next(self._frames, None)
        self._shown, self._next = self._next or self._shown, next(self._frames, None)

    def _decoded(self) -> Iterator[tuple[Fraction, VideoFrame, Fraction]]:
        keyframe = None
        for packet in chain(self._packets, (None,)):
            for frame in decoded(self._film, self._video, packet):
                if (time := self._film.frame_time(frame)) is not None:
                    if frame.key_frame or keyframe is None:
                        keyframe = time
                    yield time, frame, keyframe


def _length(frame: VideoFrame) -> Fraction:
    return (frame.duration or 0) * (frame.time_base or Fraction(0))


def scaled(picture: Picture, width: int | None, *, form: str) -> VideoFrame:
    """Return a picture in a width and a form of pixels, upright and with square pixels.

    Without a width, it keeps its own. Its height follows.

    Raises:
        LimitError: It would be too large.
    """
    frame, turn = picture.frame, round(picture.frame.rotation) % 360
    own = max(round(frame.width * picture.pixel_ratio), 1), frame.height
    shown = own[::-1] if turn in (90, 270) else own
    wide = shown[0] if width is None else width
    high = max(round(Fraction(shown[1] * wide, shown[0])), 1)
    if max(wide, high) > MAX_SIDE:
        raise LimitError(f"a picture would have {wide} x {high} pixels, more than {MAX_SIDE} on a side")
    with reported(None, "a picture cannot be scaled"):
        size = (high, wide) if turn in (90, 270) else (wide, high)
        # PyAV 19 keeps what scales for each thread, and a child process cannot free threads of it.
        made = frame.reformat(width=size[0], height=size[1], format=form, threads=1)
        return _turned(made, turn) if turn in _TURNS else made


def _turned(frame: VideoFrame, turn: int) -> VideoFrame:
    graph = media_library().filter.Graph()
    source = graph.add_buffer(
        width=frame.width, height=frame.height, format=frame.format, time_base=Fraction(1, 1000)
    )
    filters = [graph.add(name, argument) for name, argument in _TURNS[turn]]
    graph.link_nodes(source, *filters, graph.add("buffersink")).configure()
    graph.vpush(frame)
    turned: VideoFrame = graph.vpull()
    return turned


def encoded(frame: VideoFrame, form: PictureFormat) -> bytes:
    """Return a picture as the bytes of a file; its pixels must be as `PIXELS` has them for that form."""
    encoder, options = _ENCODERS[form]
    with reported(None, f"a picture cannot be written as {form}"):
        context = media_library().CodecContext.create(encoder, "w")
        context.width, context.height, context.pix_fmt = frame.width, frame.height, PIXELS[form]
        context.time_base, context.options = Fraction(1, 1000), options
        frame.pts, frame.pict_type = 0, 0
        return b"".join(map(bytes, [*context.encode(frame), *context.encode(None)]))
