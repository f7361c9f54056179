"""A film that is open: its streams, and packets from a keyframe on.

Times count from where the film begins, as players show them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

from seekwarc.closing import Closing
from seekwarc.errors import FormatError, LimitError, UnsupportedError
from seekwarc.inside.film_boxes import check_boxes, check_elements, index_range
from seekwarc.inside.film_file import FIRST_STEP, FilmFile, SeekableFile
from seekwarc.inside.film_kinds import (
    MATROSKA,
    MP4,
    WEBM,
    FilmKind,
    has_constant_rate,
    kind_of,
)
from seekwarc.inside.times import time_text
from seekwarc.system import cores

if TYPE_CHECKING:
    from av.audio.stream import AudioStream
    from av.container import InputContainer
    from av.frame import Frame
    from av.packet import Packet
    from av.stream import Stream
    from av.video.stream import VideoStream

    Timed: TypeAlias = AudioStream | VideoStream

__all__ = ["MAX_PIXELS", "Film", "limit_threads", "media_library", "reported"]

MAX_PIXELS: Final = 8192 * 4320
"""Size of a picture that is decoded."""
MAX_STREAMS: Final = 32
MAX_THREADS: Final = 8
"""Threads of a codec, each of which holds pictures and a stack."""
PROBED: Final = 1 << 20
"""Bytes that libav may read to find out what the streams are, beside the film's own index."""
MAX_HELD: Final = 64 << 20
"""Bytes of packets between a keyframe and the time that is looked for."""
MAX_HELD_PACKETS: Final = 100_000
STEPS_BACK: Final = (0, 1, 8, 64)
"""Seconds by which a keyframe is looked for earlier, if the one that an index names is too late; after these,
it is looked for from the beginning."""
FAR: Final = Fraction(10**6)
"""Seconds: a time after the end of any film."""
OPTIONS: Final = {
    "probesize": str(PROBED),
    "max_pixels": str(MAX_PIXELS),
    "max_streams": str(MAX_STREAMS),
    # No other file or address is opened; see also `kind_of`.
    "protocol_whitelist": "none",
    "enable_drefs": "0",
    # Without it, libav reads a fragmented film from its beginning to seek in it.
    "use_mfra_for": "pts",
}


def media_library() -> Any:  # noqa: ANN401 - a module
    """Import PyAV.

    Raises:
        UnsupportedError: It is not installed.
    """
    try:
        import av
    except ImportError:
        raise UnsupportedError("films need the package av: pip install 'seekwarc[media]'") from None
    return av


def _raises_for_metadata(av: Any) -> bool:  # noqa: ANN401 - a module
    """Return whether PyAV must be asked not to raise for metadata that is not UTF-8, as before version 19."""
    return int(av.__version__.partition(".")[0]) < 19


class Film(Closing):
    """A film or sound in a binary file, opened for reading. Use it from one thread at a time.

    Args:
        file: A seekable binary file, which stays open when the film is closed.

    Attributes:
        kind: Its format.
        file: What libav reads from.
        container: The film as PyAV opened it.
        video: Its pictures; None if it has none.
        audio: Its sound: one stream, several or none.
        duration: Seconds; None if unknown until its end is read.
        on_time: Called with the time of each packet that is read, in seconds.

    Raises:
        UnsupportedError: PyAV is not installed; it is not a film, or of a kind that is not read.
        FormatError: It is damaged where its index is.

    Example:
        >>> from seekwarc.inside.films import Film
        >>> with seekwarc.open("crawl.warc.zst") as archive:
        ...     payload = next(archive.records(uri="*/film.mp4")).payload
        ...     Film(payload.open())
        Traceback (most recent call last):
        seekwarc.errors.UnsupportedError: is data of another kind, not a film or sound in one of ...
    """

    def __init__(self, file: SeekableFile) -> None:
        av = media_library()
        self.file = FilmFile(file)
        self.on_time: Callable[[Fraction], object] = lambda _: None
        self.kind = _kind(self.file)
        options = _options(self.kind, self.file)
        is_in_fragments = False
        if self.kind is MP4:
            if (index := index_range(self.file.bytes_at, self.file.size)) is not None:
                self.file.expect([index])
                # In the order in which libav will read it, which then finds it in memory.
                at, stop = index
                while at < stop and (piece := self.file.bytes_at(at, min(FIRST_STEP, stop - at))):
                    at += len(piece)
            is_in_fragments = check_boxes(self.file.bytes_at, self.file.size)
        elif self.kind in (MATROSKA, WEBM):
            check_elements(self.file.bytes_at, self.file.size)
        self.file.forget()
        # From here on libav alone moves in the file: it knows where it is without asking.
        self.file.seek(0)
        with reported(self.file, "is damaged, or its index is missing, so it cannot be opened as a film"):
            self.container: InputContainer = av.open(
                self.file,
                "r",
                format=self.kind.demuxer,
                options=options,
                io_open=_refuse,
                **({"metadata_errors": "replace"} if _raises_for_metadata(av) else {}),
            )
        self.file.forget()
        streams = self.container.streams
        # The picture of an album is also a stream; and damage makes codecs that there are not.
        pictured = [it for it in streams.video if it.codec_context and not _is_cover(it)]
        self.video: VideoStream | None = pictured[0] if pictured else None
        self.audio: Sequence[AudioStream] = tuple(it for it in streams.audio if it.codec_context)
        if not self.streams:
            raise UnsupportedError("has neither pictures nor sound in a codec that is known")
        self._origin = Fraction(self.container.start_time or 0, av.time_base)
        self.duration = self._duration(av.time_base)
        if is_in_fragments:
            # The index that libav has at first is that of the first fragment.
            self.duration = self._last_time()

    @property
    def streams(self) -> tuple[Timed, ...]:
        """Pictures and sound; what times are counted by comes first."""
        return (self.video, *self.audio) if self.video is not None else tuple(self.audio)

    def close(self) -> None:
        """Close the film, not its file."""
        self.container.close()

    def time(self, packet: Packet[Any]) -> Fraction | None:
        """Return when a packet is shown, in seconds; None if it does not say so."""
        return None if packet.pts is None else packet.pts * packet.time_base - self._origin

    def decoding_time(self, packet: Packet[Any]) -> Fraction | None:
        """Return when a packet is decoded, in seconds; None if it does not say so."""
        return None if packet.dts is None else packet.dts * packet.time_base - self._origin

    def frame_time(self, frame: Frame) -> Fraction | None:
        """Return when a picture is shown, or sound begins, in seconds; None if it does not say so."""
        if frame.pts is None or frame.time_base is None:
            return None
        return frame.pts * frame.time_base - self._origin

    def ticks(self, stream: Stream, time: Fraction) -> int:
        """Return a time as a stream counts it."""
        if stream.time_base is None:
            raise FormatError(f"{stream.type} has no unit of time: it is damaged")
        return int((time + self._origin) / stream.time_base)

    def packets(
        self, start: Fraction, streams: Sequence[Timed], *, until: Fraction | None = None
    ) -> Iterator[Packet[Any]]:
        """Yield packets from the last keyframe of the first stream at or before `start` on.

        Packets of other streams may be earlier than that keyframe. If the film has no keyframe that early,
        it is read from its first one; past its end, the last keyframe is all that comes. With `until`, bytes
        are read in pieces that are as large as what is needed up to there, as far as the index knows that.

        Raises:
            FormatError: It is damaged there, or has no keyframe.
            LimitError: A keyframe is too far away.
        """
        for back in (*STEPS_BACK, None):
            begin = Fraction(0) if back is None else max(start - back, Fraction(0))
            held: list[Packet[Any]] = []
            source = self._from(begin, streams, until)
            if self._hold(source, start, streams[0], held, take_later=not begin):
                yield from held
                yield from source
                return
            if not begin:
                break

    def _hold(
        self,
        source: Iterator[Packet[Any]],
        start: Fraction,
        reference: Timed,
        held: list[Packet[Any]],
        *,
        take_later: bool,
    ) -> bool:
        """Hold packets from the last keyframe before `start` on; tell whether there was one."""
        size, is_found = 0, False
        for packet in source:
            if packet.stream is reference:
                time = self.time(packet)
                is_later = time is not None and time > start
                if packet.is_keyframe and (not is_later or (take_later and not is_found)):
                    held[:] = [it for it in held if it.stream is not reference]
                    size, is_found = sum(it.size for it in held), True
                elif is_later and not is_found and not take_later:
                    return False
                elif not is_found:
                    continue
                held.append(packet)
                if is_later:
                    return True
            else:
                held.append(packet)
            size += packet.size
            if size > MAX_HELD or len(held) > MAX_HELD_PACKETS:
                raise LimitError(
                    f"no keyframe in the {MAX_HELD >> 20} MiB before {time_text(start)}: too far to go back"
                )
        return is_found

    def _from(
        self, begin: Fraction, streams: Sequence[Timed], until: Fraction | None
    ) -> Iterator[Packet[Any]]:
        reference = streams[0]
        with reported(self.file, f"its index has no entry for {time_text(begin)}"):
            self.container.seek(self.ticks(reference, begin), stream=reference)
        self.file.forget()
        if until is not None:
            self._expect(begin, until, streams)
        return self._demuxed(streams)

    def _demuxed(self, streams: Sequence[Timed]) -> Iterator[Packet[Any]]:
        with reported(self.file, "is damaged"):
            for packet in self.container.demux(streams):
                self.file.check()
                # The last packets are empty: they tell decoders that the end has come.
                if packet.pts is None and packet.dts is None and not packet.size:
                    continue
                if (time := self.time(packet)) is not None:
                    self.on_time(time)
                yield packet
            self.file.check()

    def _expect(self, start: Fraction, stop: Fraction, streams: Sequence[Timed]) -> None:
        ranges = []
        for stream in streams:
            entries = stream.index_entries
            first = max(entries.search_timestamp(self.ticks(stream, start)), 0)
            last = entries.search_timestamp(self.ticks(stream, stop), backward=False, any_frame=True)
            if not len(entries):
                continue
            last = len(entries) - 1 if last < 0 else last
            begin, end = entries[first], entries[last]
            if begin.pos < end.pos + end.size:
                ranges.append((begin.pos, end.pos + end.size))
        self.file.expect(ranges)

    def _last_time(self) -> Fraction | None:
        """Find out when a film ends that does not say so: by its last packets."""
        last = None
        for packet in islice(self._from(FAR, self.streams[:1], None), MAX_HELD_PACKETS):
            if (time := self.time(packet)) is not None:
                end = time + (packet.duration or 0) * packet.time_base
                last = end if last is None else max(last, end)
        return last

    def _duration(self, base: int) -> Fraction | None:
        known = [Fraction(self.container.duration, base)] if self.container.duration else []
        for stream in self.streams:
            entries = stream.index_entries
            if len(entries) and stream.time_base is not None:
                known.append(entries[-1].timestamp * stream.time_base - self._origin)
        return max(known, default=None)


def _kind(file: FilmFile) -> FilmKind:
    try:
        return kind_of(file)
    except UnsupportedError:
        # A file that cannot be read is of no kind.
        file.check()
        raise


def limit_threads(context: Any) -> None:  # noqa: ANN401 - of pictures or sound
    """Have a codec use no more threads than there is memory for; it has one for each core by itself."""
    if cores() > MAX_THREADS:
        context.thread_count = MAX_THREADS


def _is_cover(stream: VideoStream) -> bool:
    return bool(stream.disposition & type(stream.disposition).attached_pic)


def _options(kind: FilmKind, file: SeekableFile) -> dict[str, str]:
    """Return the options for libav; they let it go straight to a time in an MP3 of constant bit rate."""
    return {**OPTIONS, "fflags": "+fastseek"} if has_constant_rate(kind, file) else OPTIONS


@contextmanager
def reported(file: FilmFile | None, what: str) -> Iterator[None]:
    """Turn errors of libav into ours: what was wrong with the file first, then what libav says."""
    av = media_library()
    try:
        yield
    except av.FFmpegError as error:
        if file is not None:
            file.check()
        if isinstance(error, MemoryError):
            raise LimitError("takes too much memory as a film") from error
        raise FormatError(f"{what}: {error.strerror or error}") from error


def _refuse(*_: object) -> NoReturn:
    raise UnsupportedError("the film names other files, which are not opened")
