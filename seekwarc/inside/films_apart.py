"""Films in another process: both ends of what is said about one.

The first process opens a film, asks for pictures or a clip, and closes it. In between, the other process asks
for ranges of the film, which the first one reads and counts: archives, networks and caches are its own. What
is made is sent in pieces as it is made. An error of a read stays in the first process, and is raised there
when the other one says that it matters; see `FilmFile`.

libav has a limit of memory, and of time: for opening, for each picture, and for each moment of a clip.
"""

from __future__ import annotations

import io
import mmap
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import IO, Any, Final, cast

from seekwarc.closing import Closing
from seekwarc.compiling import override
from seekwarc.errors import FormatError, LimitError, NotFoundError, SeekWarcError, UnsupportedError
from seekwarc.inside.apart import Channel, Message, error_of, kept, limit, taken
from seekwarc.inside.clips import Cut, copy_part
from seekwarc.inside.exact_clips import encode_part
from seekwarc.inside.film_file import FREE_BYTES, MAX_EXPECTED_STEP, ROUNDS, SeekableFile
from seekwarc.inside.film_kinds import KINDS, FilmKind
from seekwarc.inside.films import MAX_PIXELS, Film, media_library
from seekwarc.inside.parsing import MAX_SECONDS
from seekwarc.inside.pictures import MAX_DECODED, PIXELS, Picture, PictureFormat, Pictures, encoded, scaled
from seekwarc.inside.sheets import contact_sheet

__all__ = ["MAX_FILM_MEMORY", "FilmApart", "Shot", "serve_film"]

MAX_FILM_MEMORY: Final = 512 << 20
"""Bytes of memory that libav may take for a film."""
MOMENT: Final = Fraction(1, 10)
"""Seconds of a clip for each of which there is as much time as for opening a film: encoders may be slow."""
PICTURES_ENCODED: Final = 128
"""Pictures that encoders may hold of a film whose pictures are so large that this is more, such as 4K."""
BYTES_FOR_ONE: Final = 4
"""Bytes that may be read for each one that libav may ask for: steps after a jump are larger than that."""
STEP: Final = 1 << 20
_KINDS: Final = {kind.name: kind for kind in KINDS}


@dataclass(frozen=True, slots=True)
class Shot:
    """A picture of a film as the bytes of a file. Times are in seconds from the beginning of the film."""

    wanted: Fraction
    data: bytes
    """Empty if no file was asked for."""
    time: Fraction = Fraction(0)
    keyframe: Fraction = Fraction(0)
    failure: SeekWarcError | None = None
    """Why it could not be made; None if it was."""


class FilmApart(Closing):
    """A film or sound that is opened by another process. Use it from one thread at a time.

    Args:
        file: A seekable binary file, which stays open when the film is closed.
        has_pictures: Refuse a film whose pictures cannot be decoded.

    Attributes:
        kind: Its format.
        duration: Seconds; None if unknown until its end is read.
        bytes_read: Bytes of the file that were read for it.

    Raises:
        UnsupportedError: PyAV is not installed; it is not a film, or of a kind that is not read.
        FormatError: It is damaged where its index is.
        LimitError: It takes too much time or memory, or leads in circles.
    """

    def __init__(self, file: SeekableFile, *, has_pictures: bool = False) -> None:
        self._file = file
        size = file.seek(0, io.SEEK_END)
        self.bytes_read = 0
        self._max_read = BYTES_FOR_ONE * (ROUNDS * size + FREE_BYTES)
        self._failures: list[SeekWarcError] = []
        self._is_open, self._is_busy = True, False
        self._process = taken()
        try:
            facts, _ = self._last({"kind": "film", "film_size": size, "has_pictures": has_pictures})
        except BaseException:
            self._is_open = False
            self._process.end()
            raise
        self.kind: FilmKind = _KINDS[facts["name"]]
        self.duration = None if facts["duration"] is None else Fraction(facts["duration"])

    @override
    def close(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        # Work that was stopped in the middle cannot go on.
        if not self._is_busy:
            self._process.send({"kind": "close"})
            if self._process.receive() is not None:
                kept(self._process)
                return
        self._process.end()

    def clip(self, start: Fraction, stop: Fraction, target: IO[bytes], kind: FilmKind, *, exact: bool) -> Cut:
        """Write a part into a seekable file; see `copy_part` and `encode_part`."""
        request = {"kind": "clip", "start": str(start), "stop": str(stop), "name": kind.name, "exact": exact}
        size = 0
        for fields, data in self._messages(request):
            if "at" in fields:
                # No writer of a format goes on after its end: a hole would be as large as a number says.
                target.seek(min(fields["at"], size))
                target.write(data)
                size = max(size, target.tell())
        return Cut(
            Fraction(fields["begin"]), Fraction(fields["end"]), fields["packets"], tuple(fields["streams"])
        )

    def pictures(
        self,
        times: Sequence[Fraction],
        *,
        width: int | None,
        form: PictureFormat | None,
        max_height: int | None = None,
        max_decoded: int = MAX_DECODED,
        take_last: bool = False,
        on_sheet: tuple[int, Callable[[bytes], object]] | None = None,
    ) -> Iterator[Shot]:
        """Yield the pictures at these times, up to the end of the film, and why one could not be made.

        Args:
            times: Seconds.
            width: Of each in pixels; None for that of the film.
            form: What files they become; None: they are wanted on the sheet alone.
            max_height: Of each; it becomes smaller for that.
            max_decoded: See `Pictures`.
            take_last: See `Pictures`.
            on_sheet: Width of the pictures on a sheet, and what is called with the sheet, a PNG.
        """
        request = {
            "kind": "pictures",
            "times": [str(it) for it in times],
            "width": width,
            "form": form,
            "max_height": max_height,
            "max_decoded": max_decoded,
            "take_last": take_last,
            "sheet": None if on_sheet is None else on_sheet[0],
        }
        for fields, data in self._messages(request):
            if "wanted" in fields:
                wanted, failure = Fraction(fields["wanted"]), self._error(fields)
                if failure is not None:
                    yield Shot(wanted, b"", failure=failure)
                else:
                    yield Shot(wanted, data, Fraction(fields["time"]), Fraction(fields["keyframe"]))
        if on_sheet is not None:
            on_sheet[1](data)

    def _last(self, request: dict[str, Any]) -> Message:
        *_, last = self._messages(request)
        return last

    def _messages(self, request: dict[str, Any]) -> Iterator[Message]:
        """Send a request, and yield what comes, up to the answer."""
        self._is_busy = True
        self._process.send(request)
        while (message := self._process.receive()) is not None:
            fields = message[0]
            if "read" in fields:
                self._process.send(*self._read(*fields["read"]))
                continue
            self._is_busy = "more" in fields
            if not self._is_busy and (error := self._error(fields)) is not None:
                raise error
            yield message
            if not self._is_busy:
                return
        raise LimitError(
            f"takes more than {MAX_SECONDS} seconds or {MAX_FILM_MEMORY >> 20} MiB of memory as a film, or "
            "makes libav crash"
        )

    def _read(self, start: int, count: int) -> Message:
        """Read for the other process; damage is its affair, and other errors end everything."""
        if self.bytes_read > self._max_read:
            raise LimitError(f"has an index that leads in circles: {self.bytes_read} bytes of it were read")
        try:
            self._file.seek(start)
            data = self._file.read(min(count, MAX_EXPECTED_STEP)) or b""
        except (FormatError, NotFoundError) as error:
            self._failures.append(error)
            return {"failed": len(self._failures) - 1}, b""
        self.bytes_read += len(data)
        return {}, data

    def _error(self, fields: dict[str, Any]) -> SeekWarcError | None:
        return self._failures[fields["failed"]] if "failed" in fields else error_of(fields)


class _FailedError(FormatError):
    """A read failed in the first process, which has the error."""

    def __init__(self, number: int) -> None:
        super().__init__("cannot be read")
        self.number = number


class _Distant:
    """The file of the film, which the first process reads."""

    def __init__(self, channel: Channel, size: int) -> None:
        self._channel, self._size, self._position = channel, size, 0

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        self._position = offset + (self._size if whence == io.SEEK_END else 0)
        return self._position

    def read(self, size: int = -1, /) -> bytes:
        fields, data = self._channel.ask({"read": [self._position, size]})
        if "failed" in fields:
            raise _FailedError(fields["failed"])
        self._position += len(data)
        return data


class _Sent:
    """A seekable file that libav writes, and the first process gets in pieces."""

    def __init__(self, channel: Channel) -> None:
        self._channel, self._begin, self._position, self._end = channel, 0, 0, 0
        self._held = bytearray()

    def write(self, data: bytes) -> int:
        if self._position != self._begin + len(self._held) or len(self._held) + len(data) > STEP:
            self.flush()
        self._held += data
        self._position += len(data)
        self._end = max(self._end, self._position)
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._position = (0, self._position, self._end)[whence] + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def flush(self) -> None:
        for at in range(0, len(self._held), STEP):
            self._channel.send({"at": self._begin + at, "more": True}, bytes(self._held[at : at + STEP]))
        self._held.clear()
        self._begin = self._position

    def close(self) -> None:
        """Do nothing: the first process drops what is incomplete."""


def serve_film(channel: Channel, request: dict[str, Any]) -> dict[str, Any]:
    """Open a film, do what is asked of it, and close it; return the last answer."""
    try:
        _limit_memory(MAX_FILM_MEMORY)
        with Film(_Distant(channel, request["film_size"])) as film:
            if request["has_pictures"]:
                Pictures(film)
            duration = None if film.duration is None else str(film.duration)
            channel.send({"name": film.kind.name, "duration": duration})
            session = _Session(film, channel)
            while (request := channel.receive()[0])["kind"] != "close":
                channel.send(*session.answer(request))
    except Exception as error:  # noqa: BLE001 - see `_answer_of`
        return _answer_of(error)
    finally:
        limit("RLIMIT_DATA", None)
    return {}


class _Session:
    def __init__(self, film: Film, channel: Channel) -> None:
        self._film, self._channel = film, channel
        self._pictures: Pictures | None = None

    def answer(self, request: dict[str, Any]) -> Message:
        try:
            return self._clip(request) if request["kind"] == "clip" else self._make(request)
        except Exception as error:  # noqa: BLE001 - see `_answer_of`
            return _answer_of(error), b""

    def _clip(self, request: dict[str, Any]) -> Message:
        start, stop = Fraction(request["start"]), Fraction(request["stop"])
        reached = start

        def extend(time: Fraction) -> None:
            nonlocal reached
            if reached + MOMENT <= time <= stop:
                reached = time
                self._channel.extend()

        self._film.on_time = extend
        target = _Sent(self._channel)
        make = encode_part if request["exact"] else copy_part
        if request["exact"] and (video := self._film.video) is not None:
            area = min(video.codec_context.width * video.codec_context.height, MAX_PIXELS)
            _limit_memory(max(MAX_FILM_MEMORY, PICTURES_ENCODED * area * 3 // 2))
        cut = make(self._film, start, stop, cast("IO[bytes]", target), _KINDS[request["name"]])
        target.flush()
        fields = {
            "begin": str(cut.begin),
            "end": str(cut.end),
            "packets": cut.packets,
            "streams": cut.streams,
        }
        return fields, b""

    def _make(self, request: dict[str, Any]) -> Message:
        if self._pictures is None:
            limits = {"max_decoded": request["max_decoded"], "take_last": request["take_last"]}
            self._pictures = Pictures(self._film, **limits)
        made = self._made(self._pictures, request)
        if request["sheet"] is not None:
            return {}, contact_sheet(made, width=request["sheet"])
        for _ in made:
            pass
        return {}, b""

    def _made(self, pictures: Pictures, request: dict[str, Any]) -> Iterator[Picture]:
        """Send the pictures that are asked for, and yield each."""
        for wanted in request["times"]:
            fields: dict[str, Any] = {"wanted": wanted, "more": True}
            self._channel.extend()
            try:
                picture = pictures.at(Fraction(wanted))
            except UnsupportedError:
                raise
            except (FormatError, LimitError) as error:
                self._channel.send({**fields, **_answer_of(error)})
                continue
            if picture is None:
                return
            fields |= {"time": str(picture.time), "keyframe": str(picture.keyframe)}
            self._channel.send(fields, _file_of(picture, request))
            yield picture


def _file_of(picture: Picture, request: dict[str, Any]) -> bytes:
    form: PictureFormat | None = request["form"]
    if form is None:
        return b""
    width, max_height = request["width"], request["max_height"]
    made = scaled(picture, width, form=PIXELS[form])
    if max_height is not None and made.height > max_height:
        made = scaled(picture, max(width * max_height // made.height, 1), form=PIXELS[form])
    return encoded(made, form)


def _answer_of(error: Exception) -> dict[str, Any]:
    if isinstance(error, _FailedError):
        return {"failed": error.number}
    if isinstance(error, SeekWarcError):
        return {"error": type(error).__name__, "message": error.message}
    if isinstance(error, MemoryError):
        return {"error": "LimitError", "message": "takes too much memory as a film"}
    # PyAV raises nearly every exception of Python for a film that is damaged.
    return {"error": "FormatError", "message": f"cannot be read as a film: {type(error).__name__}: {error}"}


@cache
def _loaded() -> int:
    """Return how much memory this process has without a film: on Linux, which alone says it."""
    media_library()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[5]) * mmap.PAGESIZE


def _limit_memory(size: int) -> None:
    with suppress(OSError):
        limit("RLIMIT_DATA", _loaded() + size)
