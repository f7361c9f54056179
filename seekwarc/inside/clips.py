"""A part of a film as a film of its own: its packets copied, from the keyframe before it on.

Packets are copied unchanged but for their times, so that the clip begins at 0. Pictures that are
decoded before they are shown belong to the clip if they are decoded before its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, Final

from seekwarc.errors import FormatError, LimitError, RangeError, UnsupportedError
from seekwarc.inside.film_kinds import FilmKind
from seekwarc.inside.films import MAX_HELD_PACKETS, Film, media_library, reported
from seekwarc.inside.times import time_text

if TYPE_CHECKING:
    from av.container import OutputContainer
    from av.packet import Packet

__all__ = ["Cut", "check_times", "codecs_of", "copy_part", "writing"]

APART: Final = 1
"""Seconds by which packets of one time can be apart in a film: a stream that has none for so long after the
end of the clip has ended."""


@dataclass(frozen=True, slots=True)
class Cut:
    """What was cut out of a film. Times are in seconds from the beginning of the film."""

    begin: Fraction
    """Where the clip begins."""
    end: Fraction
    """Where it ends: its last picture or sound included."""
    packets: int
    streams: tuple[str, ...]
    """Codecs, pictures first."""


def check_times(film: Film, start: Fraction, stop: Fraction) -> None:
    """Refuse times between which there is nothing.

    Raises:
        RangeError: The end is not after the beginning, or that is after the film's end.
    """
    if start >= stop:
        raise RangeError(f"the clip would end at {time_text(stop)}, not after {time_text(start)}")
    if film.duration is not None and start >= film.duration:
        raise RangeError(
            f"the clip would begin at {time_text(start)}, but the film ends at {time_text(film.duration)}"
        )


@contextmanager
def writing(target: IO[bytes], kind: FilmKind) -> Iterator[OutputContainer]:
    """Write a film into a seekable file; it is complete when the block ends."""
    av = media_library()
    with reported(None, f"cannot be written as {kind.name}"):
        out = av.open(target, "w", format=kind.muxer)
        try:
            yield out
            out.close()
        except BaseException:
            # A trailer would not make a valid film of an unfinished file.
            target.close()
            raise


def copy_part(film: Film, start: Fraction, stop: Fraction, target: IO[bytes], kind: FilmKind) -> Cut:
    """Copy the packets from the last keyframe before `start` up to `stop`.

    Raises:
        RangeError: There is nothing between the times.
        UnsupportedError: A codec of the film cannot be in a file of that kind.
        FormatError: The film is damaged there.
        LimitError: A keyframe is too far away.
    """
    check_times(film, start, stop)
    begin, packets = _begin(film, film.packets(start, film.streams, until=stop))
    end, count = begin, 0
    with writing(target, kind) as out:
        streams = {it.index: _added(out, it, kind) for it in film.streams}
        shifts = {it.index: film.ticks(it, begin) for it in film.streams}
        orders = {it.index: _DecodingTimes() for it in film.streams}

        def write(packet: Packet[Any]) -> None:
            index = packet.stream_index
            assert packet.pts is not None
            assert packet.dts is not None
            packet.pts, packet.dts = packet.pts - shifts[index], packet.dts - shifts[index]
            packet.stream = streams[index]
            out.mux_one(packet)

        for packet, time in _between(film, packets, begin, stop):
            count += 1
            end = max(end, time + (packet.duration or 0) * packet.time_base)
            for dated in orders[packet.stream_index].put(packet):
                write(dated)
        for order in orders.values():
            for dated in order.rest():
                write(dated)
        if end <= start:
            raise RangeError(
                f"the clip would begin at {time_text(start)}, but the film ends at {time_text(end)}"
            )
    return Cut(begin, end, count, codecs_of(film))


def codecs_of(film: Film) -> tuple[str, ...]:
    """Return the names of the codecs of a film's streams."""
    return tuple(it.codec_context.codec.canonical_name for it in film.streams)


def _begin(film: Film, packets: Iterator[Packet[Any]]) -> tuple[Fraction, Iterator[Packet[Any]]]:
    """Return when the first keyframe is shown, and all packets."""
    first: list[Packet[Any]] = []
    for packet in packets:
        first.append(packet)
        if packet.stream is film.streams[0] and (time := film.time(packet)) is not None:
            return max(time, Fraction(0)), chain(first, packets)
        if len(first) > MAX_HELD_PACKETS:
            break
    raise FormatError("has no keyframe where the clip would begin: it is damaged, or cut off")


def _between(
    film: Film, packets: Iterator[Packet[Any]], begin: Fraction, stop: Fraction
) -> Iterator[tuple[Packet[Any], Fraction]]:
    """Yield the packets of a clip, with their times, until every stream is past its end."""
    reference, ended = film.streams[0], set[int]()
    for packet in packets:
        time = film.time(packet)
        if time is None:
            if packet.stream is reference:
                raise FormatError("has a picture without a time, so no clip can be made of it")
            continue
        decoded = min(film.decoding_time(packet) or time, time)
        if decoded >= stop:
            ended.add(packet.stream_index)
            is_apart = reference.index in ended and decoded >= stop + APART
            if is_apart or len(ended) == len(film.streams):
                return
        elif packet.stream is reference or time + (packet.duration or 0) * packet.time_base > begin:
            yield packet, time


def _added(out: OutputContainer, stream: Any, kind: FilmKind) -> Any:  # noqa: ANN401 - one of several classes
    try:
        return out.add_stream_from_template(stream, opaque=True)
    except ValueError as error:
        raise UnsupportedError(
            f"{kind.name} cannot hold {stream.codec_context.name}: name another kind of file, such as .mkv, "
            "or have it encoded (`--exact`, exact=True)"
        ) from error


class _DecodingTimes:
    """Gives decoding times to the first packets of a stream: Matroska has none after a seek.

    Packets come in the order in which they are decoded. Those without a time are held until one has a time,
    and get times before it.
    """

    def __init__(self) -> None:
        self._held: list[Packet[Any]] = []

    def put(self, packet: Packet[Any]) -> list[Packet[Any]]:
        if packet.dts is None:
            self._held.append(packet)
            if len(self._held) > MAX_HELD_PACKETS:
                raise LimitError("its packets have no decoding times")
            return []
        return [*self._dated(packet.dts), packet] if self._held else [packet]

    def rest(self) -> list[Packet[Any]]:
        shown = [it.pts for it in self._held if it.pts is not None]
        return self._dated(min(shown) + 1) if shown else []

    def _dated(self, following: int) -> list[Packet[Any]]:
        dated, self._held = self._held, []
        for packet in reversed(dated):
            following -= max(packet.duration or 1, 1)
            packet.dts = following
        return dated
