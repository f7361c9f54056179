"""`splits`, which cuts files into parts that many processes read, and `read_split`, which reads one.

for split in seekwarc.splits(["a.warc.zst", "s3://bucket/b.warc.zst"]):
    queue.put(split.to_json())

for record in seekwarc.read_split(Split.from_json(queue.get())):
    ...
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, NamedTuple, Unpack

from seekwarc.errors import RangeError, SeekWarcError, SourceChangedError
from seekwarc.format.seektable import parse_table_choice
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.read.options import OpenOptions, ReaderOptions, SidecarOptions
from seekwarc.read.reader import Reader, begun
from seekwarc.read.record import Record
from seekwarc.read.zstd_body import table_choice
from seekwarc.scale.boundaries import Cuts, find_cuts, large_records
from seekwarc.scale.payload import PayloadPart, checked, payload_cuts
from seekwarc.scale.split import Split, files_of
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.opening import open_source
from seekwarc.storage.source import RangeSource

if TYPE_CHECKING:
    from seekwarc.cdx.index import Index
    from seekwarc.scale.listed import ListedRecords

__all__ = ["TARGET_BYTES", "read_records", "read_split", "splits"]

TARGET_BYTES: Final = 256 << 20
PLANNERS: Final = 16
"""Files that are planned at the same time."""
MAX_LINKS: Final = 64
"""Tables of a file that are read, one after the other; earlier records need an index."""


def splits(
    urls: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    target_bytes: int = TARGET_BYTES,
    inside_records: bool = False,
    delimiter: bytes | None = None,
    index: str | os.PathLike[str] | Index | None = None,
    **options: Unpack[OpenOptions],
) -> Iterator[Split]:
    """Cut files into parts of about equal size, each of which a worker reads with `read_split`.

    A file is cut where its seek table shows that records begin, which takes one read of its end. In a
    .warc.gz, records are searched for where it is to be cut, which takes one or two reads of half a MiB for
    each place. Read one after the other, the parts of a file hold the records that iterating over it yields,
    each once; and each can be read by itself, on any machine that has the file under the same name.

    Files that cannot be cut are one part, which says why: `Split.note`. So is a file that cannot be read;
    reading its part raises the error.

    Args:
        urls: Paths and URLs, as `seekwarc.open` takes them, folders, and patterns (`s3://bucket/*.warc.zst`);
            one, or several.
        target_bytes: Stored bytes of a part, about. Of parts of a payload: bytes of the payload.
        inside_records: Cut the payloads of records larger than `target_bytes` as well. Such a record is
            in no part of kind "records", but one or more of kind "payload". In a .warc.gz only records that a
            sidecar lists are cut.
        delimiter: Cut payloads only after these bytes: after a line feed, each line is in one part. Where
            none comes within 16 MiB, the part is longer.
        index: An index, as `Index` takes it, that says where records begin in files whose tables do not.
            Files of the same name in other folders are taken for those that it names.
        **options: Options of `seekwarc.open`.

    Yields:
        The parts in the order of the files, and in file order. Several files are looked at in advance.

    Raises:
        FileNotFoundError: A file is not there, or nothing matches a pattern.
        RangeError: `target_bytes` is not positive.
        ValueError: `delimiter` is empty, or is given without `inside_records`.
        FormatError: The index is damaged.
        SourceError: The index cannot be read.

    Example:
        >>> parts = list(seekwarc.splits("crawl.warc.zst", target_bytes=100_000))
        >>> sum(1 for part in parts for record in seekwarc.read_split(part))
        5
        >>> parts = seekwarc.splits("crawl.warc.zst", target_bytes=1 << 20, inside_records=True)
        >>> [(part.start, part.stop) for part in parts if part.kind == "payload"]
        [(0, 1048576), (1048576, 2097152), (2097152, None)]
    """
    if target_bytes < 1:
        raise RangeError(f"target_bytes must be at least 1, not {target_bytes}")
    if delimiter is not None and not (delimiter and inside_records):
        raise ValueError(f"delimiter {delimiter!r} is empty, or is given without inside_records=True")
    listed = None
    if index is not None:
        # Not imported by all that read rows, such as `seekwarc index`.
        from seekwarc.scale.listed import ListedRecords

        listed = ListedRecords(index, target_bytes)
    planner = _Planner(
        target_bytes,
        inside_records=inside_records,
        delimiter=delimiter,
        listed=listed,
        options=SidecarOptions.of(**options).but(threads=1, strict=False),
    )
    return planner.splits([_address(it) for it in files_of(urls)])


def _address(name: object) -> str:
    """Return the URL, or the path as it is found from any folder."""
    if not isinstance(name, str):
        raise TypeError(f"a split needs a path or URL as a string, not {type(name).__name__}")
    return name if "://" in name else os.path.abspath(name)


@dataclass(frozen=True, slots=True)
class _Planner:
    """Cuts one file after the other, in any thread."""

    target: int
    inside_records: bool
    delimiter: bytes | None
    listed: ListedRecords | None
    options: SidecarOptions
    lock: threading.Lock = field(default_factory=threading.Lock)
    open_files: set[ArchiveFile] = field(default_factory=set)

    def splits(self, urls: Iterable[str]) -> Iterator[Split]:
        waiting: deque[Future[list[Split]]] = deque()
        pool = ThreadPoolExecutor(PLANNERS, "seekwarc-splits")
        try:
            for url in urls:
                waiting.append(pool.submit(self._splits_of, url))
                # Enough that one slow file does not keep the others waiting.
                if len(waiting) >= 4 * PLANNERS:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            # If the rest is not wanted, no thread may wait for answers: the end of the program waits for it.
            with self.lock:
                left = list(self.open_files)
            for file in left:
                file.close()

    def _splits_of(self, url: str) -> list[Split]:
        whole = Split(url, "records", 0)
        try:
            source = open_source(url)
            if source.is_pipe:
                source.close()
                return [replace(whole, note="a pipe has no parts")]
            with self._opened(source) as file:
                file.warned = True
                if source.known_size is None:
                    file.source.prefetch((), end=True)
                whole = replace(whole, identity=source.version)
                size = source.size or 0
                large = self._large_records(file) if self.inside_records and size else []
                cuts = Cuts(())
                if size > self.target:
                    cuts = find_cuts(file, self.target, self.listed.of(url) if self.listed else None)
                return list(_joined(whole, cuts, large, _data_end(file)))
        except SeekWarcError as error:
            # It is one of many files, and reading it will tell.
            return [replace(whole, note=str(error))]

    @contextmanager
    def _opened(self, source: RangeSource) -> Iterator[ArchiveFile]:
        file = ArchiveFile(Fetcher(source, disk=self.options.disk_cache), self.options, max_links=MAX_LINKS)
        with closing(file):
            with self.lock:
                self.open_files.add(file)
            try:
                yield file
            finally:
                with self.lock:
                    self.open_files.discard(file)

    def _large_records(self, file: ArchiveFile) -> list[_Cut]:
        found = []
        for record in large_records(file, self.target):
            cuts = payload_cuts(record, self.target, self.delimiter)
            if cuts is not None and record.payload.size > self.target:
                found.append(_Cut(record.offset, record.length, str(table_choice(record)), cuts))
        return found


class _Cut(NamedTuple):
    offset: int
    length: int
    table: str
    cuts: Sequence[int]


def _joined(whole: Split, cuts: Cuts, large: Sequence[_Cut], end: int) -> Iterator[Split]:
    """Yield the parts of a file: of each large record those of its payload, and between these of records."""
    begin = 0
    for record in large:
        yield from _cut_up(replace(whole, start=begin, stop=record.offset, note=cuts.note), cuts.offsets)
        begin = record.offset + record.length
        payload = replace(
            whole, kind="payload", record=record.offset, length=record.length, table=record.table
        )
        yield from _cut_up(payload, record.cuts)
    if begin < end or not large:
        yield from _cut_up(replace(whole, start=begin, note=cuts.note), cuts.offsets)


def _cut_up(part: Split, places: Sequence[int]) -> Iterator[Split]:
    """Yield what a part becomes when it is cut; nothing of an empty one."""
    begin, stop = part.start, part.stop
    for place in places:
        if begin < place and (stop is None or place < stop):
            yield replace(part, start=begin, stop=place)
            begin = place
    if begin != stop:
        yield replace(part, start=begin)


def _data_end(file: ArchiveFile) -> int:
    """Return where the last frame ends that tables list; what comes after is the last table."""
    links = file.tables.links
    return links[-1].stop if links else file.source.size or 0


def read_split(split: Split, **options: Unpack[ReaderOptions]) -> Iterator[Record | PayloadPart]:
    """Yield the records of a split; of a part of a payload, one `PayloadPart`, which is an `Extent`.

    The file is open until the iteration is over or abandoned, and records are readable for as long; a part of
    a payload is until nothing refers to it.

    Args:
        split: Made by `splits`, perhaps in another process.
        **options: Options of `seekwarc.open`. `on_error` is what to do where the file is damaged: "raise",
            "skip", or a function, which is called with the damage before the next record is searched for. A
            file that is empty, or not an archive, has no records then; "skip" issues a `FormatWarning`.

    Raises:
        SourceChangedError: The file was replaced since the split was made, or while it is read. If a local
            file is written over, this is raised at the end, or by the next read of a part of a payload.
        FormatError: The file is damaged, or was cut inside a record; see `Reader.between`.
        SourceError: The file cannot be read.

    Example:
        >>> splits = seekwarc.splits("crawl.warc.zst", inside_records=True, target_bytes=1 << 20)
        >>> for split in splits:
        ...     for found in seekwarc.read_split(split):
        ...         if split.kind == "payload":
        ...             print(found.record.target_uri, found.start, found.size)
        http://example.org/film.mp4 0 1048576
        http://example.org/film.mp4 1048576 1048576
        http://example.org/film.mp4 2097152 1048576
    """
    return read_records(split, **options) if split.kind == "records" else _payload_part(split, options)


def read_records(split: Split, **options: Unpack[ReaderOptions]) -> Iterator[Record]:
    """Yield the records of a split of records; see `read_split`."""
    with Reader(split.filename, **options) as archive:
        whole = not split.start and split.stop is None
        records = begun(archive, archive.__iter__) if whole else archive.between(split.start, split.stop)
        with checked(_version_check(archive, split)):
            yield from records


def _payload_part(split: Split, options: ReaderOptions) -> Iterator[PayloadPart]:
    with ExitStack() as opened:
        archive = opened.enter_context(Reader(split.filename, **options))
        table = parse_table_choice(split.table)
        record = archive.record_at(split.record or 0, split.length, table=table)
        part = PayloadPart(record, split.start, split.stop, _version_check(archive, split))
        # Most who want one part take it with `next`, and the iteration is over at once.
        weakref.finalize(part, opened.pop_all().close)
        yield part


def _version_check(archive: Reader, split: Split) -> Callable[[], None] | None:
    """Refuse another version of the file; return what finds out later whether it still is this one."""
    if split.identity is None:
        return None
    if archive.version != split.identity:
        raise SourceChangedError(
            "the file was replaced since it was cut into splits; make them again", source=archive.name
        )
    return archive.check_unchanged
