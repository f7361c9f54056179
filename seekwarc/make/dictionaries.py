"""The dictionary of a file, which all its frames need."""

from __future__ import annotations

import os
from contextlib import closing
from typing import BinaryIO, Unpack

from seekwarc.frames.dictionary import StoredDictionary, read_dictionary
from seekwarc.read.options import ReadLimits, ReadOptions
from seekwarc.storage.opening import open_source
from seekwarc.storage.source import RangeReadable

__all__ = ["dictionary"]


def dictionary(
    target: str | os.PathLike[str] | BinaryIO | RangeReadable, **limits: Unpack[ReadLimits]
) -> StoredDictionary:
    """Read the dictionary of a .warc.zst, or a file that is nothing but a dictionary.

        found = tools.dictionary("crawl.warc.zst")
        Path("crawl.dict").write_bytes(found.dictionary.data)

    Args:
        target: The file: a path, a URL, or a file object.
        **limits: Limits of reading; see `Reader`.

    Raises:
        FormatError: The file has no dictionary.
        LimitError: The dictionary is larger than the limits allow.
        SourceError: The file cannot be read.
    """
    with closing(open_source(target)) as source:
        given = ReadOptions.of(**limits)
        return read_dictionary(
            source,
            max_dictionary_size=given.max_dictionary_size if "max_dictionary_size" in limits else None,
            max_window_size=given.max_window_size if "max_window_size" in limits else None,
        )
