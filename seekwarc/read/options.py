"""The options of reading: as keyword arguments that type checkers know, and as one object to pass on."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Literal, Self, TypedDict, Unpack

from seekwarc.compiling import override
from seekwarc.format.conditions import with_sizes
from seekwarc.format.seektable import MAX_TABLE_SIZE
from seekwarc.frames.codec import WINDOW_LIMITS
from seekwarc.frames.decoder import MAX_WINDOW_SIZE
from seekwarc.frames.dictionary import MAX_DICTIONARY_SIZE
from seekwarc.options import SIZES, Options, option, shown

if TYPE_CHECKING:
    from seekwarc.errors import FormatError
    from seekwarc.storage.diskcache import DiskCache

__all__ = ["DEFAULTS", "OpenOptions", "ReadLimits", "ReadOptions", "ReaderOptions", "SidecarOptions"]

CACHE_SIZE: Final = 32 << 20


class ReadLimits(TypedDict, total=False):
    """How much memory a file may ask for, in bytes or as "64M"; each as `Reader` has it."""

    max_window_size: int | str
    max_dictionary_size: int | str
    max_table_size: int | str


class OpenOptions(ReadLimits, total=False):
    """How a file is opened, whatever is read from it; each as `Reader` has it."""

    threads: int | None
    cache_size: int | str
    strict: bool
    sidecar: bool | str | os.PathLike[str]
    disk_cache: DiskCache | None


class ReaderOptions(OpenOptions, total=False):
    """How a file is read; each as `Reader` has it.

    A function that hands them on takes `**options: Unpack[seekwarc.ReaderOptions]`.

    Example:
        >>> options: seekwarc.ReaderOptions = {"threads": 1, "strict": True}
        >>> with seekwarc.open("crawl.warc.zst", **options) as archive:
        ...     sum(1 for record in archive)
        5
    """

    on_error: Literal["raise", "skip"] | Callable[[FormatError], object]


class ReadOptions(Options):
    """`ReaderOptions` with their defaults, checked, but for `sidecar`: what is read with these has none."""

    threads: int | None = option(default=None, values=SIZES)
    cache_size: int = option(default=CACHE_SIZE, values=SIZES)
    max_window_size: int = option(
        default=MAX_WINDOW_SIZE,
        values=WINDOW_LIMITS,
        flag="--max-window",
        metavar="SIZE",
        help="largest Zstandard window to allocate, 1K to 2G (default: 128M)",
    )
    max_dictionary_size: int = option(
        default=MAX_DICTIONARY_SIZE,
        values=SIZES,
        flag="--max-dictionary",
        metavar="SIZE",
        help="largest dictionary to load, stored or decompressed (default: 8M)",
    )
    max_table_size: int = option(
        default=MAX_TABLE_SIZE,
        values=SIZES,
        flag="--max-table",
        metavar="SIZE",
        help="largest seek table to load; larger ones are ignored, with 0 all are (default: 64M)",
    )
    strict: bool = option(default=False, values=bool)
    on_error: Literal["raise", "skip"] | Callable[[FormatError], object] = "raise"
    disk_cache: DiskCache | None = None

    @override
    def check(self) -> None:
        super().check()
        if self.disk_cache is not None and not hasattr(self.disk_cache, "read"):
            raise TypeError(f"disk_cache must be a seekwarc.DiskCache, not {shown(self.disk_cache)}")
        if self.on_error not in ("raise", "skip") and not callable(self.on_error):
            raise ValueError(f'on_error is {self.on_error!r}, not "raise", "skip" or a function')

    @classmethod
    def of(cls, **options: Unpack[ReaderOptions]) -> Self:
        """Return the options, sizes that are text as numbers; a wrong one is a TypeError or ValueError."""
        sizes = "cache_size", "max_window_size", "max_dictionary_size", "max_table_size"
        return cls(**with_sizes(cls, options, *sizes))


class SidecarOptions(ReadOptions):
    """All `ReaderOptions`: ranges of large records may be read by a sidecar."""

    sidecar: bool | str | os.PathLike[str] = True

    @override
    def check(self) -> None:
        super().check()
        if not isinstance(self.sidecar, bool | str | os.PathLike):
            raise TypeError(f"sidecar must be True, False, a path or a URL, not {shown(self.sidecar)}")

    @property
    def names_sidecar(self) -> bool:
        """Whether a certain sidecar is to be used, wherever it is."""
        return not isinstance(self.sidecar, bool)


DEFAULTS: Final = ReadOptions()
