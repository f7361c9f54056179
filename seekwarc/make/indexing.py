"""Making CDXJ and columnar indexes: a sorted line for each capture in WARC files.

The lines of each file are made in `index_lines.py`. Here those of several files are sorted and written: as
text, as a ZipNum cluster or as Parquet.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO, TypeAlias, Unpack

from seekwarc.cdx.places import base_name
from seekwarc.format.warc import RecordHeader
from seekwarc.jobs.parts import found_in
from seekwarc.jobs.problems import Counted, OnProblem
from seekwarc.jobs.progress import Progress, no_progress
from seekwarc.jobs.sorting import MEMORY, sorted_lines
from seekwarc.jobs.work import Reading
from seekwarc.make.index_lines import LineOptions, Lines, Place
from seekwarc.make.sidecars import sidecar_reference
from seekwarc.make.zipnum import index_output
from seekwarc.read.options import ReadLimits
from seekwarc.read.sidecar_file import listed_offsets
from seekwarc.storage.expand import expand
from seekwarc.storage.source import RangeReadable
from seekwarc.storage.zip_members import SEPARATOR, split_name
from seekwarc.write.files import Existing, refuse_same_file
from seekwarc.write.opening import committed
from seekwarc.write.output import Output

__all__ = ["Indexing", "file_name", "index", "write_lines"]

Source: TypeAlias = str | os.PathLike[str] | bytes | BinaryIO | RangeReadable


@dataclass(frozen=True, slots=True)
class Indexing:
    """The result of indexing files.

    Example:
        >>> seekwarc.tools.index(["crawl.warc.zst"], "new.cdxj").lines
        3
    """

    lines: int
    """Number of lines of the index."""
    problems: int
    """Number of problems that kept records, or fields of their lines, out of it."""
    damaged: tuple[Place, ...] = ()
    """Places that were damaged: name of the file, as in the index, and offset."""


def index(
    sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | Mapping[str, Source],
    target: str | os.PathLike[str] | BinaryIO | Output,
    *,
    on_problem: OnProblem | None = None,
    all_records: bool = False,
    post_append: bool = False,
    stated_digests: bool = False,
    parquet: bool = False,
    details: bool = False,
    existing: Existing = "error",
    memory: int = MEMORY,
    on_progress: Progress = no_progress,
    processes: int = 1,
    sidecars: Mapping[str, str] | None = None,
    **limits: Unpack[ReadLimits],
) -> Indexing:
    """Write the sorted CDXJ index of files, for `seekwarc.Index`, pywb and others.

        done = tools.index(["a.warc.zst", "b.warc.gz"], "crawl.cdxj")
        print(done.lines, "captures")

    Args:
        sources: Paths or URLs of the files, folders or patterns, or one of these; the lines name the files
            without their folders. A mapping gives them other names, and takes whatever a `Reader` opens.
        target: The index; a path that ends with ".idx" gets a ZipNum cluster, whose blocks are in a file
            beside it that ends with ".cdx.gz".
        on_problem: Called with each problem that keeps records out of the index; records before and after
            damage are indexed. Without it the first problem is raised, and no index is written.
        all_records: List all records that have a URI, not only responses, revisits and resources. Lines of
            others follow those of captures of the same URI and second, and have a field `warc-type`.
        post_append: Distinguish responses to POST and PUT requests by the body that was sent.
        stated_digests: List payload digests as the headers state them, and compute none.
        parquet: Write a columnar index in Parquet instead, with the columns of Common Crawl's. Needs pyarrow.
        details: Write lines that a columnar index can be made of.
        existing: Whether a file that has the target's name is refused ("error") or replaced ("overwrite").
        memory: Bytes of lines to hold in memory; more are sorted in temporary files.
        on_progress: Wraps each source that is read, to report progress.
        processes: How many processes may work on parts of a large local file. They are started as
            `multiprocessing` starts them with "spawn": a script needs its `if __name__ == "__main__"`.
        sidecars: Paths of sidecars that were just made (`sidecar`), by the names of their files in the index.
            The lines of records that they list name them by their SHA-256.
        **limits: Limits of reading; see `Reader`.

    Raises:
        FormatError: A file is damaged, and `on_problem` is not given.
        SourceError: A file cannot be read.
        TargetError: The index cannot be written.
        TargetExistsError: The index exists.
        ValueError: Two files have the same base name.
    """
    if not isinstance(target, str | os.PathLike | Output) and not hasattr(target, "write"):
        raise TypeError(f"target must be a path or a file to write to, not {type(target).__name__}")
    named = sources if isinstance(sources, Mapping) else _by_name(sources)
    if not named:
        raise ValueError("sources is empty: there are no files to index")
    for source in named.values():
        if isinstance(source, str | os.PathLike):
            refuse_same_file(os.fspath(source), target)
    wanted = LineOptions(
        all_records=all_records,
        post_append=post_append,
        stated_digests=stated_digests,
        details=details or parquet,
    )
    count = Counted(on_problem)
    damaged: list[Place] = []

    def lines() -> Iterator[bytes]:
        for name, source in named.items():
            sidecar = sidecars.get(name) if sidecars is not None else None
            reference = sidecar_reference(sidecar) if sidecar is not None else None
            listed = listed_offsets(sidecar, source) if sidecar is not None else frozenset()
            begin = partial(Lines, filename=name, wanted=wanted, sidecar=reference, listed=listed)
            spans = found_in(
                source,
                name,
                begin,
                Reading(on_progress, processes, limits),
                folder=output.spool_directory,
                on_problem=count,
                fits=_is_unpaired if post_append else None,
                # Sorted parts are soon sorted as a whole.
                arrange=sorted,
            )
            with closing(spans):
                for found in spans:
                    yield from found.lines()
                    damaged.extend(found.done)

    with committed(index_output(target, existing=existing, parquet=parquet)) as output:
        written = write_lines(
            sorted_lines(lines(), memory=memory, folder=output.spool_directory), output, parquet=parquet
        )
    return Indexing(written, count.count, tuple(damaged))


def _is_unpaired(header: RecordHeader) -> bool:
    """Tell whether a record cannot be the second of a request and its response, whose lines go together."""
    return header.get("WARC-Concurrent-To") is None


def _by_name(sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> dict[str, Source]:
    named: dict[str, Source] = {}
    for given in [sources] if isinstance(sources, str | os.PathLike) else sources:
        if not isinstance(given, str | os.PathLike):
            raise TypeError(f"sources must be paths or URLs, not {type(given).__name__}")
        # One by one: a file that is named twice is an error.
        for source in expand([given]):
            name = file_name(source)
            if name in named:
                raise ValueError(f"two files have the name {name}: index them one by one, or rename one")
            named[name] = source
    return named


def write_lines(lines: Iterable[bytes], output: Output, *, parquet: bool) -> int:
    """Write the sorted lines of an index, and return how many they are. The output is not committed."""
    if parquet:
        from seekwarc.make.parquet import write_parquet

        return write_parquet(lines, output)
    written = 0
    for line in lines:
        output.write(line)
        written += 1
    return written


def file_name(source: str, root: str | None = None) -> str:
    """Return the name of a file in an index: its base name, or its path below the folder `root`.

    That of a file in a WACZ begins with that of the WACZ: `crawl.wacz!/archive/data.warc.gz`.
    """
    if root is None or "://" in source:
        parts = split_name(source)
        return base_name(source) if parts is None else base_name(parts[0]) + SEPARATOR + parts[1]
    path = os.path.relpath(source, root)
    if path.startswith(os.pardir):
        raise ValueError(f"{source} is not below {root}")
    return path.replace(os.sep, "/")
