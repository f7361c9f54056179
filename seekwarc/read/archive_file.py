"""What all records of one open file share."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from seekwarc.errors import FormatError, FormatWarning, TruncatedError, UnsupportedError
from seekwarc.format.seektable import SidecarReference, TableChoice, TableReference, TableTrust
from seekwarc.format.warc import ARC_MAGIC, MAX_LEAD, RECORD_MAGIC, WARC, Grammar, RecordHeader, blank_size
from seekwarc.frames.context import FrameContext
from seekwarc.frames.decoder import FrameDecoder
from seekwarc.frames.dictionary import Dictionary, load_dictionary
from seekwarc.frames.pieces import Compression, Piece, detect, pieces_from
from seekwarc.frames.scan import Window
from seekwarc.frames.stream import ContentStream
from seekwarc.read.file_tables import MAX_LINKS, FileTables, own_table_tail
from seekwarc.read.grammar import grammar_of
from seekwarc.read.options import DEFAULTS, ReadOptions, SidecarOptions
from seekwarc.storage.fetch import Fetcher
from seekwarc.system import threads_for

if TYPE_CHECKING:
    from seekwarc.frames.block_spans import InOrder
    from seekwarc.frames.points import SpanRun
    from seekwarc.read.sidecar_file import SidecarFile

__all__ = ["MAGIC_SIZE", "RECORD_HEAD", "ArchiveFile"]

MAGIC_SIZE: Final = 8
MIN_SIDECAR_RECORD: Final = 1 << 20
"""Sidecars need not list smaller records, and are not looked for to read them."""
MENDING: Final = 16 << 20
MENDING_PASSES: Final = 4
ONE_READ: Final = 64 << 10
"""A record known to take no more than this in the file is fetched whole."""
RECORD_HEAD: Final = 16 << 10
"""What is fetched of a larger one to read its header."""
GRAMMAR_READ: Final = 4 << 10
FILE_HEAD: Final = 32 << 10
FILE_HEAD_AFAR: Final = 64 << 10
"""Has all of a dictionary of the usual size: another round trip would cost more than these bytes."""


class ArchiveFile:
    """An open file: its bytes, decoder, tables and counters; with `SidecarOptions` also its sidecar."""

    def __init__(
        self,
        source: Fetcher,
        options: ReadOptions = DEFAULTS,
        *,
        relations: object | None = None,
        dictionary: Dictionary | None = None,
        max_links: int = MAX_LINKS,
    ) -> None:
        self.source = source
        self.options = options
        self.relations = relations
        self._dictionary = dictionary
        self._max_links = max_links
        self.strict = options.strict
        self.max_table_size = options.max_table_size
        self.name = source.name
        self.lock = threading.RLock()
        self.decoder = FrameDecoder(self._load_dictionary, max_window_size=options.max_window_size)
        self.frames = FrameContext(
            source,
            self.decoder,
            cache_size=options.cache_size,
            threads=threads_for(options.threads),
        )
        # A pipe has one window for good: what was read to tell its kind is read on from there.
        self._pipe_window = Window(self.source) if self.source.is_pipe else None
        self._tables: FileTables | None = None
        self._sidecars: dict[SidecarReference | None, SidecarFile | None] = {}
        self._opened = False
        self._compression: Compression | None = None
        self._grammar: Grammar | None = None
        self.warned = False
        """Set it to suppress warnings, where deviations are found by other means."""
        self._told: set[str] = set()
        self._mending: int | None = None
        self._frame_end = (-1, -1)
        self._frame_errors: dict[int, tuple[type[FormatError], str] | None] = {}
        self.followed: tuple[int, bool] = (-1, False)
        """A place at which the file seems to end, and whether a record follows: see `resync.is_followed`."""

    def __getstate__(self) -> tuple[Fetcher, ReadOptions, dict[str, Any]]:
        rest = {"relations": self.relations, "dictionary": self._dictionary, "max_links": self._max_links}
        # Its function may be one that cannot be pickled; a `Reader` copies it, records have no use for it.
        return self.source, self.options.but(on_error="raise"), rest

    def __setstate__(self, state: tuple[Fetcher, ReadOptions, dict[str, Any]]) -> None:
        # Findings of earlier reads are not copied: decoder, cache and tables are made again when needed.
        source, options, rest = state
        ArchiveFile.__init__(self, source, options, **rest)

    def window(self, limit: int | None = None) -> Window:
        """Return a window for reading on from some place, as far as a limit if that is known to do."""
        return self._pipe_window or Window(self.source, limit=limit)

    def record_window(self, offset: int, length: int | None) -> Window:
        """Return a window for a record of known length or not; where reads take time it has a small one."""
        limit = None if length is None else offset + length
        window = self._pipe_window or Window(self.source, limit=limit)
        if length is not None and length <= ONE_READ and not self.source.policy.is_near:
            window.get(offset, offset + length)
        return window

    @property
    def table_trust(self) -> TableTrust:
        """What is believed of tables where records are found: nothing, where scanning costs little."""
        return TableTrust.CLAIMED if self.source.policy.is_far else TableTrust.SCANNED

    def prefetch_record(self, offset: int, length: int | None, table: TableChoice) -> None:
        """On remote sources, prefetch a record's head, its table and the dictionary in one round trip."""
        if not self.source.policy.is_far:
            return
        is_short = length is not None and length <= ONE_READ
        wanted = []
        if not self._opened and (is_short or table is not TableTrust.SCANNED):
            # A large record that others wrote may be read without the dictionary.
            wanted.append((0, FILE_HEAD_AFAR))
            self._opened = True
        with_tables = self._compression in (None, "zst")
        if length is not None and is_short:
            wanted.append((offset, offset + length))
        else:
            wanted.append((offset, offset + (RECORD_HEAD if offset else FILE_HEAD)))
            if isinstance(table, TableReference):
                if table.size <= self.max_table_size:
                    wanted.append((table.offset, table.offset + table.size))
            elif table is TableTrust.CLAIMED and length is not None and with_tables:
                tail = min(own_table_tail(length), self.max_table_size)
                wanted.append((offset + length - tail, offset + length))
        is_claimed = table is TableTrust.CLAIMED
        at_end = length is None and is_claimed and with_tables and self._tables is None
        self.source.prefetch(wanted, end=at_end)

    def prefetch_file(self, start: int = 0, stop: int | None = 0, *, tables: bool) -> None:
        """On remote sources, prefetch the heads of the file and of a part, and tables, in one round trip."""
        if self.source.policy.is_far:
            self._opened = True
            if tables and not start and not stop:
                self.source.announce()
            begin = max(start, FILE_HEAD_AFAR)
            end = begin + FILE_HEAD_AFAR if stop is None else min(begin + FILE_HEAD_AFAR, stop)
            wanted = [(0, FILE_HEAD_AFAR), (begin, end)] if start < end else [(0, FILE_HEAD_AFAR)]
            self.source.prefetch(wanted, end=tables and self._tables is None)

    def detect(self, window: Window, offset: int) -> Compression:
        """Tell what the file is compressed with at `offset`."""
        head = window.take(offset, MAGIC_SIZE)
        try:
            self._compression = detect(head, self.name, offset)
        except UnsupportedError:
            if not offset and blank_size(window.take(0, MAX_LEAD + len(RECORD_MAGIC))):
                self._compression = "none"
                return self._compression
            # Records of an ARC file begin with a URL: only the beginning of the file shows what they are.
            is_plain = self._compression == "none" or self.source.read(0, 2) == ARC_MAGIC[:2]
            if not head or not self.grammar.is_arc or not is_plain:
                raise
            self._compression = "none"
        return self._compression

    @property
    def grammar(self) -> Grammar:
        """How the records of the file begin and end: as its first bytes tell."""
        if self._compression == "zst":
            return WARC
        if self._grammar is None:
            self._grammar = grammar_of(self._pipe_window or Window(self.source, first_read=GRAMMAR_READ))
        return self._grammar

    def refuse_arc(self) -> None:
        """Raise an error if it is an ARC file, whose records cannot be copied unchanged."""
        if self.grammar.is_arc:
            raise UnsupportedError(
                "an ARC file has no records of WARC to copy: `seekwarc convert` makes a WARC file of it",
                source=self.name,
            )

    def begin(self) -> tuple[Window, Compression]:
        """Open a window at the beginning, tell the compression, and load the dictionary.

        That comes before the first frame, since a frame need not name the dictionary to depend on it.
        """
        window = self.window()
        compression = self.detect(window, 0)
        if compression == "zst":
            _ = self.decoder.dictionary
        elif self._grammar is None:
            # From what is buffered; of a pipe, it is passed by what is read next.
            self._grammar = grammar_of(window)
        return window, compression

    def without_records(self) -> FormatError:
        """Return the error that the file has frames without content alone (spec-notes, section 6.6)."""
        return FormatError("the file has no record, and a WARC file holds at least one", source=self.name)

    @property
    def tables(self) -> FileTables:
        """The tables at the end of the file, loaded when first needed."""
        with self.lock:
            if self._tables is None:
                self._tables = FileTables(self.source, limit=self.max_table_size, max_links=self._max_links)
            return self._tables

    def spans(
        self, offset: int, size: int, choice: TableChoice, *, in_order: InOrder, known_end: int | None
    ) -> SpanRun | None:
        """Return a record of `size` bytes as spans; None if no sidecar lists it. See `SidecarFile.run`."""
        if size < MIN_SIDECAR_RECORD or self.source.is_pipe or choice is TableTrust.SCANNED:
            return None
        with self._noting_sidecar(offset):
            sidecar = self._found_sidecar(choice if isinstance(choice, SidecarReference) else None)
            if sidecar is not None:
                return sidecar.run(
                    self.frames, offset, size, self.grammar.gap, in_order=in_order, known_end=known_end
                )
        return None

    def listed_from(self, offset: int) -> int | None:
        """Return where the next record begins that an open sidecar lists; None if it lists no more."""
        sidecar = self._sidecars.get(None)
        return sidecar.next_from(offset) if sidecar is not None else None

    def listed_end(self, offset: int, size: int) -> int | None:
        """Return where a sidecar says that a record of `size` bytes ends, if reading there takes long."""
        if size < MIN_SIDECAR_RECORD or not self.source.policy.is_far or self.strict:
            return None
        with self._noting_sidecar(offset):
            sidecar = self._found_sidecar()
            return sidecar.end_of(offset) if sidecar is not None else None
        return None

    def places_in_sidecar(self) -> list[tuple[int, int]]:
        """Return offset and length of the records that the sidecar lists; nothing without one."""
        with self._noting_sidecar(0):
            sidecar = self._found_sidecar()
            return sidecar.places if sidecar is not None else []
        return []

    @contextmanager
    def _noting_sidecar(self, offset: int) -> Iterator[None]:
        try:
            yield
        except FormatError as error:
            self.deviates("sidecar", f"the sidecar is not used: {error.message}", offset)

    def _found_sidecar(self, named: SidecarReference | None = None) -> SidecarFile | None:
        options = self.options
        if not isinstance(options, SidecarOptions):
            return None
        with self.lock:
            if named not in self._sidecars:
                from seekwarc.read.sidecar_file import open_sidecar

                self._sidecars[named] = None
                self._sidecars[named] = open_sidecar(self.source, options, named)
            return self._sidecars[named]

    def stream(
        self,
        window: Window,
        offset: int,
        compression: Compression,
        tap: Callable[[bytes], object] | None = None,
    ) -> ContentStream:
        """Open the content from `offset` on as a forward stream."""

        def count(data: bytes) -> None:
            if compression != "none":
                self.frames.count(decoded=len(data))
            if tap is not None:
                tap(data)

        pieces = pieces_from(
            window, offset, compression, self.decoder, strict=self.strict, threads=self.frames.threads
        )
        return ContentStream(pieces, plain=compression == "none", tap=count, grammar=self.grammar)

    def parse_header(self, raw: bytes, offset: int) -> RecordHeader:
        """Parse a record header; errors name the place."""
        try:
            header = self.grammar.parse(raw)
        except FormatError as error:
            raise error.located(self.name, offset) from None
        if (problem := header.problem) is not None:
            self.deviates("header", problem, offset)
        return header

    def deviates(self, kind: str, problem: str, offset: int) -> None:
        """Warn of what breaks the format but can be read, once a kind; if read strictly, raise it."""
        if self.strict:
            error = TruncatedError if kind == "cut" else FormatError
            raise error(problem, source=self.name, offset=offset)
        if self.warned or kind in self._told:
            return
        self._told.add(kind)
        warnings.warn(f"{self.name}, offset {offset}: {problem}", FormatWarning, stacklevel=2)

    def silence(self, kind: str) -> None:
        """Issue no warning for deviations of a kind, since the caller repairs them."""
        self._told.add(kind)

    def may_mend(self, cost: int) -> bool:
        """Tell whether the end of a record may be looked for whose Content-Length is wrong.

        In all that may cost a few passes through the file: one in which more is wrong is damaged, or hostile.
        """
        if self._mending is None:
            self._mending = MENDING + MENDING_PASSES * (self.source.size or 0)
        # Not counted under a lock: it is a bound, and may be a little off.
        self._mending -= cost
        return self._mending >= 0

    def frame_end(self, offset: int, compression: Compression) -> int:
        """Return where the frame or gzip member at `offset` ends. The last one is remembered."""
        # Both at once: another thread may remember another one meanwhile.
        known, end = self._frame_end
        if known != offset:
            end = offset
            for piece in pieces_from(Window(self.source), offset, compression, self.decoder):
                if not isinstance(piece, Piece) or piece.end is not None:
                    end = piece.end or offset
                    break
            self._frame_end = offset, end
        return end

    def frame_error(self, offset: int, end_frame: Callable[[], object]) -> FormatError | None:
        """Return what is wrong with the frame or gzip member at `offset`, None if it is sound.

        `end_frame` decodes it to its end, and raises that. It is called once for a frame: what it found is
        remembered.
        """
        if offset not in self._frame_errors:
            found = None
            try:
                end_frame()
            except FormatError as error:
                found = type(error), error.message
            self._frame_errors[offset] = found
        known = self._frame_errors[offset]
        return known[0](known[1], source=self.name, offset=offset) if known is not None else None

    def close(self) -> None:
        """Stop the threads and close the source."""
        self.frames.close()
        for sidecar in [*self._sidecars.values()]:
            if sidecar is not None:
                sidecar.close()
        self.source.close()

    def _load_dictionary(self) -> Dictionary | None:
        if self._dictionary is not None:
            return self._dictionary
        if self._pipe_window is None:
            # One read has all of most dictionaries.
            self.source.prefetch([(0, FILE_HEAD)])
            return load_dictionary(self.source.read, self.name, limit=self.options.max_dictionary_size)
        # A pipe's window keeps what is read for what comes after.
        window = self._pipe_window

        def read(start: int, stop: int) -> bytes:
            return window.take(start, stop - start)

        return load_dictionary(read, self.name, limit=self.options.max_dictionary_size)
