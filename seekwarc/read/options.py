"""What may be said about reading, as type checkers know it: a misspelt option is found before it is run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    from seekwarc.errors import FormatError
    from seekwarc.storage.diskcache import DiskCache

__all__ = ["OpenOptions", "ReadLimits", "ReaderOptions"]


class ReadLimits(TypedDict, total=False):
    """How much memory a file may ask for, in bytes; each as `Reader` has it."""

    max_window_size: int
    max_dictionary_size: int
    max_table_size: int


class OpenOptions(ReadLimits, total=False):
    """How a file is opened, whatever is read from it; each as `Reader` has it."""

    threads: int | None
    cache_size: int
    strict: bool
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
