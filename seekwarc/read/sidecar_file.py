"""The sidecar of a file: found beside it or by its name, and compared with it before it is believed.

Goal: any range of a large gzip member or frame for the price of one span, and no sidecar of another archive.

Plan: a sidecar is opened when a large record is first read by range. That takes one read at its end, of its
seek table and directory; a range takes one more for a window, where the span has one. Sidecar and archive
belong together if size, beginning and end of the archive are as the sidecar states, and if the record's
header states as many bytes as it does.

Worst case: a sidecar made with intent, whose windows and checksums are those of other content. Nothing but
decoding the record from its beginning can show that. So what a sidecar lists is a claim: it leads a reader to
a range. Only a file that is opened with `SidecarOptions` has one, and what writes or compares archives opens
none with these (`WholeReader`); nor is one used where reading in order costs no more (`StreamBody`).

Source: spec-notes/sidecar.md.
"""

from __future__ import annotations

from bisect import bisect_left
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Final

from seekwarc.errors import FormatError, SourceError
from seekwarc.format.sidecar import MAX_WINDOW, SAMPLE_SIZE, SIDECAR_SUFFIX, Directory
from seekwarc.frames.block_spans import BlockSpanRun, InOrder
from seekwarc.frames.context import FrameContext
from seekwarc.frames.decoder import FrameDecoder
from seekwarc.frames.points import SpanRun
from seekwarc.frames.run import FrameRun
from seekwarc.frames.sidecar import archive_identity
from seekwarc.read.file_tables import read_table_before
from seekwarc.read.options import DEFAULTS
from seekwarc.storage.fetch import TAIL, Fetcher
from seekwarc.storage.local import BytesSource
from seekwarc.storage.opening import open_source

if TYPE_CHECKING:
    import os
    from typing import BinaryIO

    from seekwarc.format.seektable import SidecarReference
    from seekwarc.read.options import ReadOptions, SidecarOptions
    from seekwarc.storage.source import RangeReadable, RangeSource

__all__ = ["SidecarFile", "is_sidecar_of", "listed_offsets", "open_sidecar"]

CACHE_SIZE: Final = 4 << 20
"""Bytes of decoded windows that are kept."""
MEMBER_END: Final = 8
"""Bytes of a gzip member after its last block: CRC32 and ISIZE."""
MAX_STRETCHES: Final = 16
"""Places after listed records that are prefetched at a time."""
STRETCH_HEAD: Final = 16 << 10
"""Bytes that are prefetched of a place, and of a listed record that begins soon after it."""
MAX_STRETCH: Final = 256 << 10
"""Bytes between two listed records that are prefetched with them."""


class SidecarFile:
    """An open sidecar of an archive.

    Args:
        source: The sidecar.
        archive: What it is to be the sidecar of.
        limit: Largest seek table to load, and the most that is read of the directory at a time.

    Raises:
        FormatError: It is not a sidecar, or that of another archive.
        SourceError: It cannot be read.
    """

    def __init__(self, source: Fetcher, archive: Fetcher, *, limit: int) -> None:
        found = read_table_before(source, source.size or 0, floor=0, tail=TAIL, limit=limit)
        if found is None or found[0].anchor(found[1]) or found[0].checksums is None:
            raise FormatError("it does not end in the seek table of a sidecar, with checksums of frames")
        self._context = FrameContext(source, FrameDecoder(lambda: None), cache_size=CACHE_SIZE, threads=1)
        self._content = FrameRun(self._context, 0, found[0])
        self._directory = Directory(self._content.read, found[0].content_size, limit)
        if archive.policy.is_far and archive.size is not None:
            archive.prefetch([(0, SAMPLE_SIZE), (max(archive.size - SAMPLE_SIZE, 0), archive.size)])
        if archive_identity(archive) != self._directory.identity:
            raise FormatError("the archive was changed, or it was made of another archive")
        self._archive = archive
        self._stretches = 1

    @property
    def places(self) -> list[tuple[int, int]]:
        """Offset and stored length of each record that it lists."""
        return [*zip(self._directory.offsets, self._directory.lengths, strict=True)]

    def next_from(self, offset: int) -> int | None:
        """Return the offset of the first record from `offset` on that it lists; None after the last."""
        offsets = self._directory.offsets
        number = bisect_left(offsets, offset)
        return offsets[number] if number < len(offsets) else None

    def end_of(self, offset: int) -> int | None:
        """Return where the record at `offset` ends, if it is listed, having prefetched what is there.

        As an iteration goes on, more and more of these places are prefetched in one round trip, each up to
        the head of the next listed record.
        """
        if self.next_from(offset) != offset:
            return None
        number = bisect_left(self._directory.offsets, offset)
        end = self._ends(number)
        if not self._archive.has(end - MEMBER_END, end):
            last = min(number + self._stretches, len(self._directory.offsets))
            self._archive.prefetch([self._stretch(it) for it in range(number, last)])
            self._stretches = min(2 * self._stretches, MAX_STRETCHES)
        return end

    def _ends(self, number: int) -> int:
        return self._directory.offsets[number] + self._directory.lengths[number]

    def _stretch(self, number: int) -> tuple[int, int]:
        end = self._ends(number)
        later = self._directory.offsets[number + 1 : number + 2]
        gap = min(max(later[0] - end, 0), MAX_STRETCH) if later else 0
        return max(end - MEMBER_END, 0), end + gap + STRETCH_HEAD

    def run(
        self,
        context: FrameContext,
        offset: int,
        size: int,
        gap: int,
        *,
        in_order: InOrder,
        known_end: int | None,
    ) -> SpanRun | None:
        """Return the spans of the record at `offset`, which has `size` bytes; None if it is not listed.

        As many bytes as `gap` may come after it. `in_order` decodes it from its beginning. An index or a scan
        says that no stored byte from `known_end` on is of the record.

        Raises:
            FormatError: The listed record is not this one.
        """
        spans = self._directory.find(offset)
        if spans is None:
            return None
        if not 0 <= spans.content_size - size <= gap:
            raise FormatError(f"it lists {spans.content_size} bytes for this record, which has {size}")
        run: SpanRun = (
            BlockSpanRun(context, offset, spans, in_order)
            if in_order.is_in_frames
            else SpanRun(context, offset, spans, self._windows)
        )
        run.check_ends(known_end)
        return run

    def _windows(self, start: int, stop: int) -> bytes:
        if stop > self._directory.windows_size or stop - start > MAX_WINDOW:
            raise FormatError("the window of this span is not in the sidecar, or is too large")
        return self._content.read(start, stop)

    def close(self) -> None:
        """Close it."""
        self._context.close()
        self._context.source.close()


def open_sidecar(
    archive: Fetcher, options: SidecarOptions, reference: SidecarReference | None = None
) -> SidecarFile | None:
    """Open the sidecar that the options or an index name, or that lies beside the file; None if it has none.

    Raises:
        FormatError: It is not a sidecar, or that of another archive, or not the one that the index names.
        SourceError: The options name one, and it cannot be read.
    """
    named = options.sidecar
    if not isinstance(named, bool):
        return _opened(open_source(named), archive, options)
    if named and reference is not None:
        return _referred_to(archive, options, reference)
    # Only decoding all of a record shows whether a sidecar of unknown origin is right.
    beside = archive.beside(SIDECAR_SUFFIX) if named and not options.strict else None
    with suppress(SourceError):
        return _opened(beside, archive, options) if beside is not None else None
    return None


def _referred_to(archive: Fetcher, options: ReadOptions, reference: SidecarReference) -> SidecarFile | None:
    """Open the sidecar that an index names, read whole, beside the archive or at the place that is given."""
    import hashlib

    if reference.size > options.max_table_size:
        raise FormatError(f"the sidecar is larger than max_table_size={options.max_table_size} allows")
    is_other = False
    for place in (None, reference.place):
        with suppress(SourceError):
            source = archive.beside(SIDECAR_SUFFIX) if place is None else open_source(place)
            if source is None:
                continue
            with closing(source):
                data = source.read(0, reference.size + 1)
            if hashlib.sha256(data).hexdigest() == reference.sha256:
                return _opened(BytesSource(data, source.name), archive, options)
            is_other = True
    if is_other:
        raise FormatError("it is not the one that the index names: the index, or the sidecar, is out of date")
    return None


def listed_offsets(
    name: str, archive: str | os.PathLike[str] | bytes | BinaryIO | RangeReadable
) -> frozenset[int]:
    """Return the offsets of the records of an archive that its sidecar lists.

    Raises:
        FormatError: It is not a sidecar, or that of another archive.
        SourceError: One of them cannot be read.
    """
    with (
        closing(Fetcher(open_source(archive))) as fetcher,
        closing(_opened(open_source(name), fetcher, DEFAULTS)) as sidecar,
    ):
        return frozenset(offset for offset, _ in sidecar.places)


def is_sidecar_of(name: str, archive: str) -> bool:
    """Return whether a file is the sidecar of an archive as that is now."""
    with closing(Fetcher(open_source(archive))) as fetcher, suppress(FormatError):
        _opened(open_source(name), fetcher, DEFAULTS).close()
        return True
    return False


def _opened(source: RangeSource, archive: Fetcher, options: ReadOptions) -> SidecarFile:
    fetcher = Fetcher(source, disk=options.disk_cache)
    try:
        return SidecarFile(fetcher, archive, limit=options.max_table_size)
    except BaseException:
        fetcher.close()
        raise
