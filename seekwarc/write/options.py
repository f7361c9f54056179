"""The options of a `Writer`, checked before anything is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypedDict

from seekwarc.frames.dictionary import Dictionary
from seekwarc.frames.encoder import MAX_FRAME_SIZE, MAX_LEVEL, MIN_FRAME_SIZE, MIN_LEVEL

if TYPE_CHECKING:
    from seekwarc.format.digest import WrittenAlgorithm
    from seekwarc.frames.pieces import Compression
    from seekwarc.write.dedup import Deduplicator
    from seekwarc.write.file_layout import TableMode
    from seekwarc.write.numbering import ExistingSeries
    from seekwarc.write.targets import OnError

__all__ = ["FrameOptions", "RecordOptions", "WriterOptions", "check_options", "check_range"]


class FrameOptions(TypedDict, total=False):
    """How records are compressed; see `Writer` for each."""

    level: int | None
    frame_size: int
    threads: int | None
    dictionary: Dictionary | bytes | None
    compress_dictionary: bool
    tables: TableMode | None


class RecordOptions(FrameOptions, total=False):
    """How records are made, and how large files may be, too; see `Writer` for each."""

    compression: Compression | None
    digest: WrittenAlgorithm | None
    max_file_size: int | None
    dedup: Deduplicator | None


class WriterOptions(RecordOptions, total=False):
    """The options of a `Writer`, for functions that pass them on.

    Example:
        >>> options: seekwarc.WriterOptions = {"level": 9, "existing": "overwrite"}
        >>> with seekwarc.open("new.warc.zst", "w", **options) as out:
        ...     _ = out.write_resource("urn:example:1", b"Hello", "text/plain")
    """

    existing: ExistingSeries
    on_error: OnError
    repair: bool


_NUMBERS: Final = {
    "level": (MIN_LEVEL, MAX_LEVEL),
    "frame_size": (MIN_FRAME_SIZE, MAX_FRAME_SIZE),
    "threads": (1, 1024),
    "max_file_size": (1, 1 << 62),
}
_CHOICES: Final = {
    "tables": ("large", "every", "none"),
    "digest": ("sha1", "sha256"),
    "existing": ("error", "number", "overwrite"),
    "on_error": ("keep", "discard"),
    "compression": ("zst", "gz", "none"),
}
_OPTIONAL: Final = {"threads", "max_file_size", "tables", "digest", "level", "compression"}
_FLAGS: Final = ("compress_dictionary", "append", "repair")


def check_options(options: dict[str, Any]) -> None:
    """Refuse options that have a wrong type or are out of range.

    Raises:
        TypeError: One has a wrong type.
        ValueError: One is out of range, or cannot be combined with another.
    """
    for name, bounds in _NUMBERS.items():
        value = options[name]
        if value is None and name in _OPTIONAL:
            continue
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"{name} must be an int, not {_shown(value)}")
        check_range(name, value, *bounds)
    for name, choices in _CHOICES.items():
        value = options[name]
        if value not in choices and not (value is None and name in _OPTIONAL):
            *others, last = (f'"{choice}"' for choice in choices)
            none = " or None" if name in _OPTIONAL else ""
            raise ValueError(f"{name} is {value!r}, not {', '.join(others)} or {last}{none}")
    for name in _FLAGS:
        if not isinstance(options[name], bool):
            raise TypeError(f"{name} must be True or False, not {_shown(options[name])}")
    dictionary, dedup = options["dictionary"], options["dedup"]
    if not (dictionary is None or isinstance(dictionary, Dictionary | bytes)):
        raise TypeError(f"dictionary must be a seekwarc.Dictionary or its bytes, not {_shown(dictionary)}")
    if dedup is not None and not (
        callable(getattr(dedup, "find", None)) and callable(getattr(dedup, "add", None))
    ):
        raise TypeError(f"dedup must have find() and add(), like seekwarc.Duplicates(), not {_shown(dedup)}")
    _check_together(options)


def _check_together(options: dict[str, Any]) -> None:
    if options["dedup"] is not None and options["digest"] is None:
        raise ValueError("dedup needs digests")
    if options["append"] and options["existing"] != "error":
        raise ValueError('existing is for new files (mode "w"); mode "a" continues the file that exists')
    if options["repair"] and not options["append"]:
        raise ValueError('repair is for mode "a", which continues a file')
    if options["existing"] == "number" and options["max_file_size"] is None:
        raise ValueError('existing="number" is for a series of numbered files: it needs max_file_size')


def check_range(name: str, value: int, low: int, high: int) -> None:
    """Refuse a number that is not within `low` to `high`.

    Raises:
        ValueError: It is not.
    """
    if not low <= value <= high:
        raise ValueError(f"{name} is {value}, not within {low} to {high}")


def _shown(value: object) -> str:
    return repr(value) if isinstance(value, str | bool | int | float) else type(value).__name__
