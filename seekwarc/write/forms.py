"""The three forms of a WARC file (.warc.zst, .warc.gz, .warc), and which of them a name selects.

Source: WARC 1.1, annexes A (names) and D (.warc.gz); "Zstandard Compression for WARC Files 1.0".
"""

from __future__ import annotations

import os
import re
import warnings
from typing import Final, NamedTuple

from seekwarc.errors import TargetError
from seekwarc.frames.deflate import DEFAULT_GZIP_LEVEL, MAX_GZIP_LEVEL, DeflateEncoder, PlainEncoder
from seekwarc.frames.dictionary import Dictionary
from seekwarc.frames.encoder import MAX_LEVEL, MIN_LEVEL, FrameEncoder, RecordEncoder
from seekwarc.frames.pieces import Compression
from seekwarc.options import check_range
from seekwarc.write.file_layout import ExistingFile, FileLayout, MemberLayout, TableMode
from seekwarc.write.options import DEFAULT_FRAME_SIZE, WriteOptions
from seekwarc.write.output import Output

__all__ = ["Form", "check_form", "compression_of", "form_of"]

OF_ZST_ONLY: Final = ("tables", "dictionary")
LEVELS: Final = {"zst": (MIN_LEVEL, MAX_LEVEL), "gz": (0, MAX_GZIP_LEVEL), "none": (0, 0)}
NAMES: Final = {"zst": ".warc.zst", "gz": ".warc.gz", "none": ".warc"}
OTHERS: Final = re.compile(
    r"\.(7z|arc|br|bz2|cdxj?|csv|html?|jsonl?|lz4|lzma|md|parquet|pdf|py|rar|tar|tgz|txt|wacz|xml|xz|zip)"
)
"""Endings of other formats."""


class Form(NamedTuple):
    """How records are stored."""

    compression: Compression
    encoder: RecordEncoder
    tables: TableMode
    frame_size: int
    """Maximum content of a frame of a block, in bytes."""

    def layout(self, output: Output, existing: ExistingFile | None) -> FileLayout:
        """Return the layout of a file of this form."""
        if self.compression == "gz":
            return MemberLayout(output, self.tables, existing)
        return FileLayout(output, self.tables, existing)


def compression_of(name: str | os.PathLike[str]) -> Compression:
    """Return how a file of that name is compressed: "zst" unless the name says otherwise."""
    base = os.path.basename(os.fspath(name)).lower()
    stem, ending = os.path.splitext(base)
    inner = os.path.splitext(stem)[1] if ending in (".gz", ".zst", ".zstd") else ending
    if OTHERS.fullmatch(inner):
        text = (
            f"a WARC file is not called {inner}; name it .warc.zst, .warc.gz or .warc, or say `compression`"
        )
        raise TargetError(text, source=os.fspath(name))
    if ending == ".gz":
        return "gz"
    return "none" if ending == ".warc" else "zst"


def check_form(name: str, compression: Compression, options: WriteOptions) -> None:
    """Refuse options that do not apply to a file of that compression."""
    if compression != "zst":
        for option in OF_ZST_ONLY:
            if getattr(options, option) not in (None, "none"):
                raise ValueError(f"{name}: {option} is for .warc.zst, not for {NAMES[compression]}")
        # With `max_file_size` it is also the size of the smallest segment.
        if options.frame_size != DEFAULT_FRAME_SIZE and options.max_file_size is None:
            message = (
                f"{name}: frame_size is for .warc.zst; a {NAMES[compression]} has no frames to read by range"
            )
            warnings.warn(message, stacklevel=4)
    if options.level is None:
        return
    if compression == "none":
        raise ValueError(f"{name}: level is for compressed files; a .warc is not compressed")
    check_range("level", options.level, *LEVELS[compression])


def form_of(compression: Compression, options: WriteOptions, dictionary: Dictionary | None = None) -> Form:
    """Return how records are stored: with the level, frame size and tables of the options."""
    level, size = options.level, options.frame_size
    if compression == "gz":
        return Form("gz", DeflateEncoder(DEFAULT_GZIP_LEVEL if level is None else level), "none", size)
    if compression == "none":
        return Form("none", PlainEncoder(), "none", size)
    return Form("zst", FrameEncoder(level, dictionary), options.tables or "large", size)
