"""What the package asks of a codec of Zstandard frames, and the one that it uses.

That is python-zstandard where it is installed, which is the faster one with small frames, and otherwise what
comes with Python. The environment variable SEEKWARC_CODEC chooses: `zstandard` or `stdlib`.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Protocol

from seekwarc.compiling import Buffer
from seekwarc.errors import LimitError
from seekwarc.system import has_global_lock

__all__ = [
    "LIBRARY",
    "PLAIN",
    "WINDOW_LIMITS",
    "Codec",
    "CodecError",
    "Compressor",
    "Decompressor",
    "window_error",
]

WINDOW_LIMITS: Final = range(1 << 10, (2 << 30) + 1)
"""What the largest window to decode may be: codecs take no others."""


def window_error(what: str, size: int, limit: int) -> LimitError:
    """Return the error of a frame whose window is larger than the caller, or any codec, allows."""
    text = f"{what} needs a window of {size} bytes"
    if size >= WINDOW_LIMITS.stop:
        return LimitError(f"{text}, and no decoder takes more than {WINDOW_LIMITS.stop - 1}")
    return LimitError(f"{text}, the limit is {limit}; raise max_window_size (--max-window) to allow it")


class Decompressor(Protocol):
    """Decodes the frames of one thread. Raises `CodecError` if it cannot decode one."""

    def decompress(self, frame: Buffer, /) -> bytes:
        """Decode a whole frame that states its size; its checksum is verified."""


class Compressor(Protocol):
    """Makes the frames of one thread: each states its size and the dictionary, and ends in its checksum."""

    def compress(self, content: Buffer, /) -> bytes:
        """Make a frame."""


class Codec(Protocol):
    """The codec with one dictionary, or with none."""

    @property
    def decompressor(self) -> Callable[..., Decompressor]:
        """Makes a decompressor; `max_window_size`, where given, lies in WINDOW_LIMITS."""

    def compressor(self, level: int) -> Compressor:
        """Return a compressor."""


class Library(Protocol):
    """A module that adapts a codec. It made the values that it takes as `Any` itself."""

    @property
    def NAME(self) -> str:  # noqa: N802
        """The package and its version."""

    @property
    def CodecError(self) -> type[Exception]:  # noqa: N802
        """What it raises."""

    @property
    def BATCHES_WITH_DICTIONARY(self) -> bool:  # noqa: N802
        """Whether threads gain by `decompress_many` with a dictionary."""

    def codec(self, dictionary: bytes) -> Codec:
        """Return the codec with a dictionary; with none if that is empty."""

    def decompress_into(self, decompressor: Any, frame: Buffer, out: memoryview, *, beyond: bool) -> int:  # noqa: ANN401
        """Decode the first `len(out)` bytes of a frame, and return how many there are.

        Where `out` ends with the content, the checksum is verified if the frame states its size, or `beyond`
        looks for one byte more, which counts.
        """

    def decompress_many(
        self,
        decompressor: Any,  # noqa: ANN401
        data: bytes,
        places: array[int],
        sizes: array[int],
    ) -> list[bytes]:
        """Decode small whole frames: their offsets and lengths in `data`, and the size that each states."""

    def stream(self, decompressor: Any) -> Callable[[bytes], bytes]:  # noqa: ANN401
        """Return a function that takes one frame piece by piece and returns what each piece decodes to."""

    def compress_many(self, compressor: Any, contents: Sequence[Buffer]) -> Iterable[bytes]:  # noqa: ANN401
        """Make a frame of each content."""

    def train(self, samples: Sequence[bytes], size: int, level: int) -> bytes:
        """Train a dictionary of at most `size` bytes, whose ID is still to be set."""


def _library() -> Library:
    wanted = os.environ.get("SEEKWARC_CODEC", "")
    if wanted not in ("", "zstandard", "stdlib"):
        raise ValueError(f"SEEKWARC_CODEC is {wanted!r}: it must be 'zstandard' or 'stdlib'")
    # Without the global lock: a module that does not say that it can do without brings it back for all.
    if wanted == "zstandard" or (not wanted and has_global_lock()):
        try:
            from seekwarc.frames import zstandard_codec
        except ImportError:
            if wanted:
                raise
        else:
            return zstandard_codec
    from seekwarc.frames import stdlib_codec

    return stdlib_codec


LIBRARY: Final = _library()
CodecError: Final = LIBRARY.CodecError
PLAIN: Final = LIBRARY.codec(b"")
