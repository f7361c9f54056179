"""A part of a film that begins and ends exactly where it is asked to: decoded, and encoded again."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from fractions import Fraction
from typing import IO, TYPE_CHECKING, Any, Final

from seekwarc.compiling import override
from seekwarc.errors import LimitError, RangeError, UnsupportedError
from seekwarc.inside.clips import Cut, check_times, writing
from seekwarc.inside.film_kinds import WAV, FilmKind
from seekwarc.inside.films import MAX_PIXELS, Film, limit_threads, media_library, reported
from seekwarc.inside.times import time_text

if TYPE_CHECKING:
    from av.audio.frame import AudioFrame
    from av.audio.stream import AudioStream
    from av.container import OutputContainer
    from av.packet import Packet
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

__all__ = ["check_decodable", "decoded", "encode_part"]

DEFAULT_RATE: Final = Fraction(25)
MAX_RATE: Final = 240
OPUS_RATE: Final = 48_000
USUAL_RATES: Final = frozenset((8_000, 12_000, 16_000, 24_000, 32_000, 44_100, 48_000))
"""Samples a second that every encoder of sound takes, but for that of Opus."""
AFTER: Final = 2
"""Seconds of the film after the clip in which sound is looked for that belongs to it."""
VIDEO_OPTIONS: Final = {
    "libx264": {"preset": "veryfast", "crf": "20"},
    "libvpx-vp9": {"deadline": "realtime", "cpu-used": "6", "crf": "31", "b": "0"},
}


def encode_part(film: Film, start: Fraction, stop: Fraction, target: IO[bytes], kind: FilmKind) -> Cut:
    """Encode what is shown and heard from `start` to `stop`.

    Raises:
        RangeError: There is nothing between the times.
        UnsupportedError: Pictures cannot be encoded into a file of that kind, or sound cannot.
        FormatError: The film is damaged there, or between there and the keyframe before.
        LimitError: Its pictures are too large.
    """
    check_times(film, start, stop)
    if film.video is not None and kind.video_codec is None:
        raise UnsupportedError(
            f"pictures cannot be encoded into {kind.name}: name a file such as .mp4 or .webm"
        )
    streams: tuple[Any, ...] = film.streams[:1] if film.video is None else (film.video, *film.audio[:1])
    packets = film.packets(start, streams, until=stop)
    with writing(target, kind) as out:
        parts: dict[int, _Part] = {}
        for stream in streams:
            check_decodable(stream)
            make = _Pictures if stream is film.video else _Sound
            parts[stream.index] = make(film, stream, out, kind, (start, stop))
        for packet in packets:
            part = parts[packet.stream_index]
            for frame in decoded(film, packet.stream, packet):
                part.put(frame)
            is_after = packet.stream is streams[0] and (film.time(packet) or 0) > stop + AFTER
            if is_after or all(it.is_done for it in parts.values()):
                break
        for stream in streams:
            for frame in decoded(film, stream, None):
                parts[stream.index].put(frame)
        for part in parts.values():
            part.finish()
        if not any(part.count for part in parts.values()):
            raise RangeError(f"the film has nothing between {time_text(start)} and {time_text(stop)}")
    return Cut(
        start,
        min(max(part.end for part in parts.values()), stop),
        sum(part.count for part in parts.values()),
        tuple(part.codec for part in parts.values()),
    )


def check_decodable(stream: AudioStream | VideoStream) -> None:
    """Refuse a stream whose pictures are too large.

    Raises:
        LimitError: Its pictures are too large.
    """
    context = stream.codec_context
    limit_threads(context)
    if isinstance(context, media_library().VideoCodecContext):
        context.options = {"max_pixels": str(MAX_PIXELS)}
        if context.width * context.height > MAX_PIXELS:
            raise LimitError(
                f"has pictures of {context.width} x {context.height}: more than {MAX_PIXELS} pixels"
            )


def decoded(film: Film, stream: AudioStream | VideoStream, packet: Packet[Any] | None) -> Iterator[Any]:
    """Yield the frames that a packet completes; None for the packet: those that the decoder still has."""
    with reported(film.file, f"{stream.type} is damaged"):
        for frame in stream.codec_context.decode(packet):
            if frame.time_base is None:
                frame.time_base = stream.time_base
            yield frame


class _Part(ABC):
    """Pictures or sound of a clip: frames in, encoded packets out."""

    codec: str
    _stream: Any

    def __init__(
        self,
        film: Film,
        source: Any,  # noqa: ANN401 - one of two classes of streams
        out: OutputContainer,
        kind: FilmKind,
        span: tuple[Fraction, Fraction],
    ) -> None:
        self._film = film
        self._out = out
        self._start, self._stop = span
        self.count = 0
        self.end = self._start
        self.is_done = False
        self._add(source, kind)

    @abstractmethod
    def _add(self, source: Any, kind: FilmKind) -> None: ...  # noqa: ANN401 - as above

    @abstractmethod
    def put(self, frame: Any) -> None:  # noqa: ANN401 - a picture or sound
        """Take the next frame of the film."""

    @abstractmethod
    def finish(self) -> None:
        """Write what is left."""

    def _encode(self, frame: Any) -> None:  # noqa: ANN401 - as above
        for packet in self._stream.encode(frame):
            self._out.mux_one(packet)
            self.count += 1


class _Pictures(_Part):
    def _add(self, source: VideoStream, kind: FilmKind) -> None:
        context = source.codec_context
        rate = source.average_rate or DEFAULT_RATE
        assert kind.video_codec is not None
        self.codec = kind.video_codec
        stream: Any = self._out.add_stream(
            self.codec,
            rate=rate if 0 < rate <= MAX_RATE else DEFAULT_RATE,
            options=VIDEO_OPTIONS[self.codec],
        )
        # Halved colours need even sizes.
        stream.codec_context.width = max(context.width & ~1, 2)
        stream.codec_context.height = max(context.height & ~1, 2)
        stream.codec_context.pix_fmt = "yuv420p"
        stream.codec_context.time_base = source.time_base
        limit_threads(stream.codec_context)
        if context.sample_aspect_ratio:
            stream.codec_context.sample_aspect_ratio = context.sample_aspect_ratio
        self._stream = stream
        self._before: VideoFrame | None = None

    @override
    def put(self, frame: VideoFrame) -> None:
        time = self._film.frame_time(frame)
        if time is None or self.is_done:
            return
        if time < self._start:
            self._before = frame
        elif time >= self._stop:
            self.is_done = True
        else:
            if self._before is not None and time > self._start and self.end == self._start:
                self._show(self._before, self._start)
            self._before = None
            self._show(frame, time)

    def _show(self, frame: VideoFrame, time: Fraction) -> None:
        assert frame.time_base is not None
        frame.pts = round((time - self._start) / frame.time_base)
        self.end = time + max(frame.duration or 0, 1) * frame.time_base
        # The encoder chooses its own keyframes.
        frame.pict_type = 0
        self._encode(frame)

    @override
    def finish(self) -> None:
        if self._before is not None and self.end == self._start:
            # A single picture is shown all the time.
            self._show(self._before, self._start)
            self.end = self._stop
        self._encode(None)


class _Sound(_Part):
    def _add(self, source: AudioStream, kind: FilmKind) -> None:
        context = source.codec_context
        is_same = context.name == kind.audio_codec or (kind is WAV and context.name.startswith("pcm_"))
        self.codec = context.name if is_same else kind.audio_codec
        is_usual = self.codec != "libopus" and context.sample_rate in USUAL_RATES
        rate = context.sample_rate if is_usual or self.codec.startswith(("flac", "pcm_")) else OPUS_RATE
        self._stream = self._out.add_stream(self.codec, rate=rate)
        if self.codec == "flac":
            # 16 or 24 bits are kept; floating-point samples get 16.
            self._stream.codec_context.format = "s32" if context.format.name.startswith("s32") else "s16"
        if context.channels == 1:
            self._stream.codec_context.layout = "mono"
        self._graph: Any = None

    @override
    def put(self, frame: AudioFrame) -> None:
        time = self._film.frame_time(frame)
        if time is None or self.is_done:
            return
        end = time + Fraction(frame.samples, frame.sample_rate)
        if time >= self._stop:
            self.is_done = True
        elif end > self._start:
            self.end = min(end, self._stop)
            self._graph = self._graph or self._trimming(frame)
            frame.pts = round((time - self._start) * frame.sample_rate)
            frame.time_base = Fraction(1, frame.sample_rate)
            with reported(None, "the audio format changes midway, so it cannot be cut exactly"):
                self._graph.push(frame)
            self._pull()

    def _trimming(self, frame: AudioFrame) -> Any:  # noqa: ANN401 - a graph of filters
        """Return filters that pass on the samples between the times alone."""
        graph = media_library().filter.Graph()
        source = graph.add_abuffer(
            sample_rate=frame.sample_rate,
            format=frame.format.name,
            layout=frame.layout.name,
            time_base=Fraction(1, frame.sample_rate),
        )
        end = round((self._stop - self._start) * frame.sample_rate)
        trim = graph.add("atrim", f"start_pts=0:end_pts={end}")
        graph.link_nodes(source, trim, graph.add("abuffersink")).configure()
        return graph

    def _pull(self) -> None:
        av = media_library()
        # No frame yet, or no more.
        with contextlib.suppress(av.BlockingIOError, av.EOFError):
            while True:
                self._encode(self._graph.pull())

    @override
    def finish(self) -> None:
        if self._graph is not None:
            self._graph.push(None)
            self._pull()
        self._encode(None)
