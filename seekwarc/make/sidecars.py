"""Making sidecars: points at which large records of a file can be entered, in another file beside it."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import BinaryIO, Final, Unpack, cast

from seekwarc.errors import ChecksumError, FormatError, FormatWarning, TruncatedError
from seekwarc.format.gzidx import parse_gzidx
from seekwarc.format.seektable import SidecarReference
from seekwarc.format.sidecar import MAX_SPAN, SIDECAR_SUFFIX, SidecarRecord
from seekwarc.frames.block_spans import frame_spans
from seekwarc.frames.scan import Window, frame_start_at
from seekwarc.frames.sidecar import archive_identity, write_sidecar
from seekwarc.frames.spans import KnownPoint, member_spans
from seekwarc.frames.verify import MAX_FRAME_CONTENT
from seekwarc.jobs.problems import OnProblem
from seekwarc.jobs.progress import Progress, no_progress
from seekwarc.options import check_range
from seekwarc.read.body import record_size
from seekwarc.read.options import ReadLimits
from seekwarc.read.reader import Reader, WholeReader
from seekwarc.read.record import Record
from seekwarc.storage.opening import open_source
from seekwarc.storage.remote_url import is_url
from seekwarc.storage.source import RangeSource
from seekwarc.system import default_threads, temporary_folder, threads_for
from seekwarc.write.files import Existing, refuse_same_file
from seekwarc.write.opening import committed
from seekwarc.write.output import Output

__all__ = ["MIN_SIZE", "SPACING", "Sidecar", "sidecar", "sidecar_reference"]

MIN_SIZE: Final = 4 << 20
SPACING: Final = 1 << 20
FRAME_SHARE: Final = 4
"""Points in a frame take 20 bytes each, without a window, so that there are as many times more."""
MANY_THREADS: Final = 4
"""With fewer, another program that first looks for points takes longer than to look for them here."""


@dataclass(frozen=True, slots=True)
class Sidecar:
    """The result of making a sidecar.

    Example:
        >>> seekwarc.tools.sidecar("crawl.warc.zst").records  # its records are in small frames
        0
    """

    records: int
    """Number of records that it lists; if 0, no file was written."""
    spans: int
    """Number of parts of these that can be read by themselves."""
    problems: int
    """Number of large records that cannot be listed, and of damage."""


def sidecar(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str] | BinaryIO | Output | None = None,
    *,
    gzidx: str | os.PathLike[str] | None = None,
    min_size: int = MIN_SIZE,
    spacing: int = SPACING,
    existing: Existing = "error",
    on_problem: OnProblem | None = None,
    on_progress: Progress = no_progress,
    **limits: Unpack[ReadLimits],
) -> Sidecar:
    """Make the sidecar of a .warc.gz or .warc.zst, with which ranges of large records are read by themselves.

        tools.sidecar("crawl.warc.gz")

    The records of a .warc.zst are listed that are one frame of more than 32 MiB, half of it in raw blocks.
    The file itself is not changed. Where `rapidgzip` is installed, all cores of a large machine work.

    Args:
        source: A path or URL.
        target: The sidecar; for a path, "NAME.seek" beside it unless given, where readers find it.
        gzidx: An index of the file as indexed_gzip and rapidgzip export it. Its points are tried out.
        min_size: Bytes of the smallest decompressed record to list; readers use none below 1 MiB.
        spacing: Minimum content between points, in bytes. A read decodes that much; a point takes some 2 KiB
            of the sidecar in text, and 20 bytes in a film. In a frame a quarter of it is the minimum.
        existing: Whether a file that has the target's name is refused ("error") or replaced ("overwrite").
        on_problem: Called with each damage, and each large record that cannot be listed, which does not stop
            the others. Without it the first damage is raised, and no sidecar is written; a `FormatWarning` is
            issued for each record that cannot be listed.
        on_progress: Wraps the source, to report progress.
        **limits: Limits of reading; see `Reader`.

    Raises:
        UnsupportedError: The file is not a WARC file.
        FormatError: It is damaged, and `on_problem` is not given; or `gzidx` is not its index.
        SourceError: It cannot be read, or is a pipe.
        TargetError: The sidecar cannot be written.
        ValueError: A size is out of range, or a URL has no target.
    """
    name = os.fspath(source)
    check_range("min_size", min_size, 1, 1 << 62)
    check_range("spacing", spacing, 1 << 10, MAX_SPAN)
    if target is None:
        if is_url(name):
            raise ValueError(f"{name}: name the sidecar of a URL with target")
        target = name + SIDECAR_SUFFIX
    refuse_same_file(name, target)
    with ExitStack() as opened:
        pool = opened.enter_context(ThreadPoolExecutor(threads_for(None), "seekwarc-points"))
        stored = on_progress(open_source(source), name)
        making = _Making(stored, pool, min_size, spacing, on_problem)
        archive = opened.enter_context(WholeReader(stored, on_error=making.report, **limits))
        if gzidx is not None:
            making.points = _points_in(os.fspath(gzidx), opened)
        elif not is_url(name) and default_threads() >= MANY_THREADS:
            making.find_points = partial(_points_found, name, opened)
        records = making.of(archive)
        first = next(records, None)
        if first is not None:
            with committed(target, existing=existing) as output:
                write_sidecar(cast("BinaryIO", output), chain([first], records), archive_identity(stored))
        return Sidecar(making.records, making.spans, len(making.damaged))


def sidecar_reference(path: str) -> SidecarReference:
    """Return how an index names a sidecar, with the path at which it is now."""
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return SidecarReference(file.tell(), digest, os.path.abspath(path))


@dataclass(slots=True)
class _Making:
    source: RangeSource
    pool: Executor
    min_size: int
    spacing: int
    on_problem: OnProblem | None
    points: Sequence[KnownPoint] = ()
    find_points: Callable[[], Sequence[KnownPoint]] | None = None
    """Called when the first large record was found."""
    is_framed: bool = False
    """Whether the file is a .warc.zst."""
    records: int = 0
    spans: int = 0
    damaged: set[int | None] = field(default_factory=set)
    """Offsets of problems."""

    def of(self, archive: Reader) -> Iterator[SidecarRecord]:
        """Yield the large records with their spans. Records that a caller takes are decompressed once."""
        offset, passed = 0, -1
        self.is_framed = archive.compression == "zst"
        end = archive.size or 0 if archive.compression != "none" else 0
        while offset < end:
            made = None
            for record in archive.between(offset):
                if record.offset > passed and not record.skip and record_size(record.header) >= self.min_size:
                    passed = record.offset
                    made = self._made(record)
                    if made is not None:
                        break
            if made is None:
                return
            yield made
            offset = made.offset + made.length

    def _made(self, record: Record) -> SidecarRecord | None:
        try:
            made = self._in_frame(record) if self.is_framed else self._in_member(record)
        except FormatError as error:
            problem = error.located(record.source, record.offset)
            if self.on_problem is not None or isinstance(error, ChecksumError | TruncatedError):
                self.report(problem)
            else:
                self.damaged.add(problem.offset)
                warnings.warn(f"the sidecar does not list a record: {problem}", FormatWarning, stacklevel=2)
            return None
        if made is not None:
            self.records += 1
            self.spans += len(made.spans)
        return made

    def _in_member(self, record: Record) -> SidecarRecord:
        if self.find_points is not None:
            self.points = self.find_points()
            self.find_points = None
        return member_spans(
            self.source.read,
            record.offset,
            record_size(record.header),
            gap=record.body.file.grammar.gap,
            spacing=self.spacing,
            points=self.points,
            pool=self.pool,
        )

    def _in_frame(self, record: Record) -> SidecarRecord | None:
        size, window = record_size(record.header), Window(self.source)
        start = frame_start_at(window, record.offset)
        frame = start[1] if start is not None else None
        # Ranges of smaller frames, and of several, are read and verified without a sidecar.
        if size <= MAX_FRAME_CONTENT or frame is None or frame.content_size not in (None, size):
            return None
        decode = record.body.file.decoder.incremental(frame)
        spacing = self.spacing // FRAME_SHARE
        return frame_spans(window, record.offset, frame, size, spacing=spacing, decode=decode)

    def report(self, problem: FormatError) -> None:
        if self.on_problem is None:
            raise problem
        # Damage in a large record is found twice.
        if problem.offset not in self.damaged:
            self.damaged.add(problem.offset)
            self.on_problem(problem)


def _points_in(name: str, opened: ExitStack) -> list[KnownPoint]:
    index = open_source(name)
    opened.callback(index.close)
    try:
        points = parse_gzidx(index.read, index.size or 0)
    except FormatError as error:
        raise error.located(name, None) from None
    return [
        KnownPoint(it.bit, it.content, partial(index.read, it.window.start, it.window.stop)) for it in points
    ]


def _points_found(name: str, opened: ExitStack) -> Sequence[KnownPoint]:
    """Let rapidgzip look for points of a file on all cores; none if it is missing or refuses the file."""
    try:
        from rapidgzip import RapidgzipFile
    except ImportError:
        return ()
    folder = opened.enter_context(temporary_folder(".seekwarc-"))
    index = os.path.join(folder, "points")
    # It decompresses the whole file, and finds less damage than this package does.
    with suppress(RuntimeError, ValueError, OSError), RapidgzipFile(name, parallelization=0) as file:
        file.export_index(index)
        return _points_in(index, opened)
    return ()
