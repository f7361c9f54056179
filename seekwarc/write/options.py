"""The options of a `Writer`: as keyword arguments that type checkers know, and as one object to pass on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypedDict

from seekwarc.compiling import override
from seekwarc.frames.dictionary import Dictionary
from seekwarc.frames.encoder import MAX_FRAME_SIZE, MAX_LEVEL, MIN_FRAME_SIZE, MIN_LEVEL
from seekwarc.options import Options, option, shown

if TYPE_CHECKING:
    from seekwarc.format.digest import WrittenAlgorithm
    from seekwarc.frames.pieces import Compression
    from seekwarc.write.dedup import Deduplicator
    from seekwarc.write.file_layout import TableMode
    from seekwarc.write.files import ExistingSeries

__all__ = ["DEFAULT_FRAME_SIZE", "FrameOptions", "RecordOptions", "WriteOptions", "WriterOptions"]

DEFAULT_FRAME_SIZE: Final = 1 << 20
OnError: TypeAlias = Literal["keep", "discard"]


class FrameOptions(TypedDict, total=False):
    """How records are compressed; see `Writer` for each."""

    level: int | None
    frame_size: int | str
    threads: int | None
    dictionary: Dictionary | bytes | None
    compress_dictionary: bool
    tables: TableMode | None


class RecordOptions(FrameOptions, total=False):
    """How records are made, and how large files may be; see `Writer` for each."""

    compression: Compression | None
    digest: WrittenAlgorithm | None
    max_file_size: int | str | None
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


class WriteOptions(Options):
    """`WriterOptions` with their defaults, checked; each is described at `Writer`."""

    compression: Compression | None = option(default=None, values=("zst", "gz", "none"))
    level: int | None = option(
        default=None,
        values=range(MIN_LEVEL, MAX_LEVEL + 1),
        flag="--level",
        metavar="N",
        help="compression level, -7 to 22 (default: 6 for frames of up to 256K without a dictionary, else 3)",
    )
    frame_size: int = option(
        default=DEFAULT_FRAME_SIZE,
        values=range(MIN_FRAME_SIZE, MAX_FRAME_SIZE + 1),
        flag="--frame-size",
        metavar="SIZE",
        help="content of a frame, 64K to 8M (default: 1M): larger compresses better, smaller reads faster",
    )
    tables: TableMode | None = option(
        default=None,
        values=("large", "every", "none"),
        flag="--tables",
        help="which records get a seek table (default: large ones)",
    )
    threads: int | None = option(
        default=None,
        values=range(1, 1025),
        flag="--threads",
        metavar="N",
        help="compression threads (default: one per core, at most 4)",
    )
    dictionary: Dictionary | bytes | None = None
    compress_dictionary: bool = option(default=True, values=bool)
    digest: WrittenAlgorithm | None = option(default="sha1", values=("sha1", "sha256"), optional=True)
    max_file_size: int | None = option(
        default=None,
        values=range(1, (1 << 62) + 1),
        flag="--max-file-size",
        metavar="SIZE",
        help="write OUT-00000, OUT-00001, ... of at most this size; a file too large for one is segmented",
    )
    dedup: Deduplicator | None = None
    existing: ExistingSeries = option(default="error", values=("error", "number", "overwrite"))
    on_error: OnError = option(default="keep", values=("keep", "discard"))
    append: bool = option(default=False, values=bool)
    repair: bool = option(default=False, values=bool)

    @override
    def check(self) -> None:
        super().check()
        dictionary, dedup = self.dictionary, self.dedup
        if not (dictionary is None or isinstance(dictionary, Dictionary | bytes)):
            raise TypeError(f"dictionary must be a seekwarc.Dictionary or its bytes, not {shown(dictionary)}")
        if dedup is not None and not (
            callable(getattr(dedup, "find", None)) and callable(getattr(dedup, "add", None))
        ):
            raise TypeError(
                f"dedup must have find() and add(), like seekwarc.Duplicates(), not {shown(dedup)}"
            )
        if dedup is not None and self.digest is None:
            raise ValueError("dedup needs digests")
        if self.append and self.existing != "error":
            raise ValueError('existing is for new files (mode "w"); mode "a" continues the file that exists')
        if self.repair and not self.append:
            raise ValueError('repair is for mode "a", which continues a file')
        if self.existing == "number" and self.max_file_size is None:
            raise ValueError('existing="number" is for a series of numbered files: it needs max_file_size')
