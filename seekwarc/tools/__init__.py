"""Work on whole files: verify, convert, index, join and recover them.

Each function here does what the verb of the same name does on the command line:

    from seekwarc import tools

    tools.convert("crawl.warc.gz", "crawl.warc.zst")
    assert tools.verify("crawl.warc.zst").is_sound
    tools.index(["crawl.warc.zst"], "crawl.cdxj")

A new file gets its name when it is finished. An existing one is refused unless `existing` is "overwrite".
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import TYPE_CHECKING, BinaryIO, Final, Literal, Unpack

from seekwarc.errors import FormatError

if TYPE_CHECKING:
    from seekwarc.read.options import ReadLimits
    from seekwarc.storage.source import RangeReadable
    from seekwarc.tools.concat import Concatenation
    from seekwarc.tools.convert import Conversion
    from seekwarc.tools.index import Indexing
    from seekwarc.tools.recover import Recovery
    from seekwarc.tools.verify import Problem, Verification
    from seekwarc.write.options import FrameOptions, RecordOptions

__all__ = ["concat", "convert", "index", "recover", "verify"]

Path = str | os.PathLike[str]
Existing = Literal["error", "overwrite"]

_SUFFIXES: Final[dict[str, Literal["zst", "gz", "none"]]] = {".zst": "zst", ".gz": "gz", ".warc": "none"}


class _Tools(ModuleType):
    """This package. Importing `tools.verify`, a module, must not replace `tools.verify`, the function."""

    def __setattr__(self, name: str, value: object) -> None:
        if name not in __all__ or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Tools


def verify(
    target: Path | bytes | BinaryIO | RangeReadable,
    *,
    on_problem: Callable[[Problem], object] = lambda _: None,
    **limits: Unpack[ReadLimits],
) -> Verification:
    """Check a file: its structure, every checksum, every seek table, the rules of WARC, every digest.

        result = tools.verify("crawl.warc.zst")
        print(result.is_sound, result.damages, result.deviations)

    Args:
        target: A path, a URL, the bytes, a binary file object that can seek, or a source.
        on_problem: Called with each problem as it is found.
        **limits: Limits of reading; see `Reader`.

    Returns:
        What was checked, and for each kind of damage or deviation the first problem and their number.

    Raises:
        SourceError: The file cannot be opened or read, or is a pipe.
    """
    from seekwarc.tools.verify import Verifier  # noqa: PLC0415 - a tool is imported when it is used

    verifier = Verifier(target, **limits)
    for problem in verifier:
        on_problem(problem)
    return verifier.result


def convert(
    source: Path | BinaryIO | RangeReadable,
    target: Path | BinaryIO,
    *,
    compression: Literal["zst", "gz", "none"] | None = None,
    verify: bool = True,
    existing: Existing = "error",
    **options: Unpack[FrameOptions],
) -> Conversion:
    """Write all records of a file, byte for byte, into a new file with another compression.

        done = tools.convert("crawl.warc.gz", "crawl.warc.zst", level=9)
        print(done.records, done.source_size, done.target_size)

    Args:
        source: .warc.zst, .warc.gz or .warc, recognized by content; may be a pipe.
        target: The new file.
        compression: "zst", "gz" or "none"; by the target's name unless given.
        verify: Decompress the new file and compare it before it gets its name.
        existing: Whether a file that has the target's name is refused or replaced.
        **options: Options of a `Writer` for a .warc.zst: `level`, `frame_size`, `tables`, `dictionary`.

    Raises:
        FormatError: The source is damaged or not a WARC file. No target is made.
        SourceError: The source cannot be read.
        TargetError: The target cannot be written.
        TargetExistsError: The target exists.
        ValueError: The compression is not given, and cannot be told from the target's name.
    """
    from seekwarc.tools.convert import convert as run  # noqa: PLC0415

    return run(
        source, target, compression or _compression_of(target), verify=verify, existing=existing, **options
    )


def _compression_of(target: object) -> Literal["zst", "gz", "none"]:
    if isinstance(target, str | os.PathLike):
        name = os.fspath(target).lower()
        for suffix, compression in _SUFFIXES.items():
            if name.endswith(suffix):
                return compression
    raise ValueError(
        f"{target}: name it .warc.zst, .warc.gz or .warc, or give the compression: 'zst', 'gz' or 'none'"
    )


def index(
    sources: Iterable[Path],
    target: Path | BinaryIO,
    *,
    on_problem: Callable[[FormatError], object] | None = None,
    all_records: bool = False,
    post_append: bool = False,
    parquet: bool = False,
    existing: Existing = "error",
    **limits: Unpack[ReadLimits],
) -> Indexing:
    """Write the sorted CDXJ index of files, for `seekwarc.Index`, pywb and others.

        done = tools.index(["a.warc.zst", "b.warc.gz"], "crawl.cdxj")
        print(done.lines, "captures")

    Args:
        sources: Paths or URLs of the files; the lines name them without their folders.
        target: The index; a path that ends with ".idx" gets a ZipNum cluster, whose blocks are in a file
            beside it that ends with ".cdx.gz".
        on_problem: Called with each problem that keeps records out of the index. Without it the first
            problem is raised, and no index is written.
        all_records: List all records that have a URI, not only responses, revisits and resources. Lines of
            others follow those of captures of the same URI and second, and have a field `warc-type`.
        post_append: Distinguish responses to POST and PUT requests by the body that was sent.
        parquet: Write a columnar index in Parquet instead, with the columns of Common Crawl's. Needs pyarrow.
        existing: Whether a file that has the target's name is refused or replaced.
        **limits: Limits of reading; see `Reader`.

    Raises:
        FormatError: A file is damaged, and `on_problem` is not given.
        SourceError: A file cannot be read.
        TargetError: The index cannot be written.
        TargetExistsError: The index exists.
        ValueError: Two files have the same base name.
    """
    from seekwarc.tools.index import file_name  # noqa: PLC0415
    from seekwarc.tools.index import index as run  # noqa: PLC0415

    def refuse(problem: FormatError) -> None:
        raise problem

    named: dict[str, Path] = {}
    for source in sources:
        name = file_name(os.fspath(source))
        if named.setdefault(name, source) is not source:
            raise ValueError(f"two files have the name {name}: index them one by one, or rename one")
    return run(
        named,
        target,
        on_problem=on_problem or refuse,
        all_records=all_records,
        post_append=post_append,
        parquet=parquet,
        existing=existing,
        **limits,
    )


def recover(
    source: Path | BinaryIO | RangeReadable,
    target: Path,
    *,
    partial: bool = False,
    existing: Existing = "error",
    **options: Unpack[RecordOptions],
) -> Recovery:
    """Write all intact records of a damaged file into a new .warc.zst.

        done = tools.recover("broken.warc.zst", "saved.warc.zst", partial=True)
        print(done.records, "saved,", done.lost, "bytes lost")

    Args:
        source: .warc.zst, .warc.gz or .warc, recognized by what is left of the content.
        target: The new file.
        partial: Also keep the beginnings of damaged records, as records with WARC-Truncated.
        existing: Whether a file that has the target's name is refused or replaced.
        **options: Options of the `Writer`.

    Raises:
        NotFoundError: No record is intact.
        SourceError: The source cannot be read, or is a pipe.
        TargetError: The target cannot be written.
        TargetExistsError: The target exists.
    """
    from seekwarc.tools.recover import recover as run  # noqa: PLC0415

    return run(source, target, partial=partial, existing=existing, **options)


def concat(
    sources: Iterable[Path | BinaryIO],
    target: Path | BinaryIO,
    *,
    verify: bool = True,
    existing: Existing = "error",
    **limits: Unpack[ReadLimits],
) -> Concatenation:
    """Join files into one .warc.zst that holds all their records in order, byte for byte.

    Frames are copied, not compressed again, where possible.

        done = tools.concat(["a.warc.zst", "b.warc.zst"], "all.warc.zst")
        print(done.records, done.bytes_copied, done.bytes_recompressed)

    Args:
        sources: The files: .warc.zst, .warc.gz or .warc, recognized by content.
        target: The new file.
        verify: Decode every copied frame and check its checksum.
        existing: Whether a file that has the target's name is refused or replaced.
        **limits: Limits of reading; see `Reader`.

    Raises:
        FormatError: A file is damaged or not a WARC file. No target is made.
        SourceError: A file cannot be read.
        TargetError: The target cannot be written.
        TargetExistsError: The target exists.
        ValueError: There are no files.
    """
    from seekwarc.tools.concat import concat as run  # noqa: PLC0415

    return run(list(sources), target, verify=verify, existing=existing, **limits)
