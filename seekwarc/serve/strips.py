"""Pictures of a film for the strip under its player: a few, small, made when they are asked for.

Films are decoded by one thread, one picture at a time, so that no client can have all cores, and in another
process: see `inside/films_apart.py`. The film whose pictures were asked for last is kept open: its index is
read once.
"""

from __future__ import annotations

import importlib.util
import threading
from collections import OrderedDict
from fractions import Fraction
from typing import Any, Final

from seekwarc.errors import NotFoundError, SeekWarcError, UnsupportedError
from seekwarc.inside.films_apart import FilmApart
from seekwarc.serve.cost import View
from seekwarc.serve.headers import entity_tag, payload_type
from seekwarc.serve.served import ServedRecord
from seekwarc.write.clips import open_film

__all__ = ["PICTURES", "Strips", "has_strip", "picture_tag"]

PICTURES: Final = 12
"""Pictures of a film: enough for a strip, and what a client can have made."""
WIDTH: Final = 192
MAX_HEIGHT: Final = 432
MAX_DECODED: Final = 300
"""Pictures that are decoded from a keyframe on for one of the strip, which is the last of them if need be."""
MAX_CACHED: Final = 16 << 20
"""Bytes of pictures in memory."""


def has_strip(served: ServedRecord) -> bool:
    """Tell whether pictures of a record can be asked for: it says that it is a film, and PyAV is here."""
    media = payload_type(served.record)
    is_film = media is not None and media.essence.startswith("video/") and served.problem is None
    return is_film and not served.record.payload.codings and importlib.util.find_spec("av") is not None


def picture_tag(served: ServedRecord, number: int) -> str:
    """Return the entity tag of a picture."""
    return f'{entity_tag(served.record, "payload")[:-1]}-{number}"'


class Strips:
    """Pictures of films. `facts` and `picture` are called by one thread alone."""

    def __init__(self) -> None:
        self._last: tuple[str, FilmApart] | None = None
        self._cached: OrderedDict[str, bytes] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def cached(self, tag: str) -> bytes | None:
        """Return a picture that was made before; from any thread."""
        with self._lock:
            if tag in self._cached:
                self._cached.move_to_end(tag)
            return self._cached.get(tag)

    def facts(self, served: ServedRecord, view: View | None) -> dict[str, Any]:
        """Return how long a film is and when its pictures are shown; if that is impossible, why."""
        try:
            with served.charge(view):
                duration = self._open(served).duration
        except SeekWarcError as error:
            self._forget()
            return {"duration": None, "pictures": [], "problem": str(error)}
        except BaseException:
            self._forget()
            raise
        if not duration:
            return {"duration": None, "pictures": [], "problem": "the film does not say how long it is"}
        times = [float(_time(duration, number)) for number in range(PICTURES)]
        return {"duration": float(duration), "pictures": times, "problem": None}

    def picture(self, served: ServedRecord, number: int, view: View | None) -> bytes:
        """Make a picture, a JPEG.

        Raises:
            NotFoundError: The film has no such picture, or it is not a film.
            SeekWarcError: It is damaged there.
        """
        try:
            with served.charge(view):
                made = self._made(self._open(served), number)
        except UnsupportedError as error:
            self._forget()
            raise NotFoundError(f"there are no pictures of it: {error}") from error
        except BaseException:
            # Work that was stopped in the middle cannot go on.
            self._forget()
            raise
        tag = picture_tag(served, number)
        with self._lock:
            self._size += len(made) - len(self._cached.pop(tag, b""))
            self._cached[tag] = made
            while self._size > MAX_CACHED:
                self._size -= len(self._cached.popitem(last=False)[1])
        return made

    def _open(self, served: ServedRecord) -> FilmApart:
        tag = entity_tag(served.record, "payload")
        if self._last is not None and self._last[0] == tag:
            return self._last[1]
        self._forget()
        film = open_film(served.extent("payload"), has_pictures=True)
        self._last = tag, film
        return film

    def _forget(self) -> None:
        last, self._last = self._last, None
        if last is not None:
            last[1].close()

    @staticmethod
    def _made(film: FilmApart, number: int) -> bytes:
        times = [_time(film.duration, number)] if film.duration and number < PICTURES else []
        limits: dict[str, Any] = {"max_height": MAX_HEIGHT, "max_decoded": MAX_DECODED, "take_last": True}
        shots = [*film.pictures(times, width=WIDTH, form="jpg", **limits)] if times else []
        if not shots:
            raise NotFoundError(f"the film has no picture {number}")
        if (failure := shots[0].failure) is not None:
            raise failure
        return shots[0].data


def _time(duration: Fraction, number: int) -> Fraction:
    """Return when a picture is shown: in the middle of its share of the film."""
    return duration * (2 * number + 1) / (2 * PICTURES)
