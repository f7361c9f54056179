"""`create_wacz`: WARC files, an index of them and a list of their pages, as one file."""

from __future__ import annotations

import html
import os
import re
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from typing import IO, BinaryIO, Final, Unpack

from seekwarc.cdx.places import base_name
from seekwarc.collection.entry import OnDamage
from seekwarc.errors import FormatError, NotFoundError
from seekwarc.format.dates import internet_date
from seekwarc.format.json_text import json_text
from seekwarc.format.uri import as_utf8
from seekwarc.frames.pieces import Compression
from seekwarc.inside.parsing import resiliparse_needed
from seekwarc.jobs.passing import OnError, readable
from seekwarc.jobs.problems import Counted, OnProblem
from seekwarc.jobs.progress import Progress, no_progress
from seekwarc.jobs.sorting import sorted_lines
from seekwarc.jobs.work import Reading
from seekwarc.make.index_lines import LineOptions, Lines, has_line
from seekwarc.make.names import NamesInUse
from seekwarc.make.wacz_sources import Looked, copied, look_through
from seekwarc.make.wacz_writing import PAGES, WaczOutput, WaczWriting, pages_header
from seekwarc.read.options import ReadLimits, ReadOptions
from seekwarc.read.reader import WholeReader
from seekwarc.read.record import Record
from seekwarc.storage.expand import expand
from seekwarc.storage.opening import open_source
from seekwarc.storage.source import RangeSource
from seekwarc.storage.zip_members import ARCHIVE
from seekwarc.system import temporary_folder
from seekwarc.write.files import Existing, refuse_same_file
from seekwarc.write.opening import committed

__all__ = ["Made", "create_wacz", "warc_name"]

HTML: Final = ("text/html", "application/xhtml+xml")
TITLE_WITHIN: Final = 64 << 10
"""Bytes of a page that are searched for its title."""
MAX_TITLE: Final = 1000
MAX_PAGE_TEXT: Final = 64 << 10
"""Characters of a page's text. Players load the list of pages as a whole."""
OK: Final = 200
_SUFFIX = re.compile(r"(\.(mega)?(warc|arc))?(\.(gz|zstd?))?$", re.IGNORECASE)
_TITLE = re.compile(r"<title[^>]{0,200}>([^<]{0,10000})</title", re.IGNORECASE)


def create_wacz(
    sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    target: str | os.PathLike[str] | BinaryIO,
    *,
    compression: Compression = "gz",
    pages: Collection[str] = (),
    text: bool = False,
    title: str | None = None,
    description: str | None = None,
    existing: Existing = "error",
    on_error: OnError = "raise",
    on_damage: OnDamage = lambda _: None,
    on_warning: Callable[[str], object] = lambda _: None,
    on_progress: Progress = no_progress,
    processes: int = 1,
    **limits: Unpack[ReadLimits],
) -> WaczWriting:
    """Make a WACZ of WARC files, as replayweb.page and others open it.

        done = tools.create_wacz(["a.warc.gz", "b.warc.zst"], "crawl.wacz", title="My crawl")
        print(done.pages, "pages")

    Files in the wanted compression are copied unchanged, the others are converted first. A .warc.zst is
    always converted: players cannot read it. A file in which records share a gzip member is written again,
    and so is one with damaged records, without these: those that cannot be read to their end, or whose digest
    is wrong. Each file is read to its end before anything is written.

    Args:
        sources: Paths or URLs of WARC and ARC files, folders, patterns or WACZ files; or one of these.
        target: The new file; may be a pipe.
        compression: "gz" or "none". Players decode all of a record of a .warc.gz for any range of it, and
            all of it but decompression also of an uncompressed one.
        pages: URIs of the pages that `pages.jsonl` lists. Other pages are in `extraPages.jsonl` then. By
            default all pages are in `pages.jsonl`: responses of the status 200 that are HTML and have a
            title.
        text: Give each page its text, for players to search in: up to 64 Ki characters.
        title: Title of the WACZ.
        description: What the WACZ has.
        existing: Whether a file that has the target's name is refused ("error") or replaced ("overwrite").
        on_error: What is done with a file that cannot be opened, is empty, or is not an archive: "raise";
            "skip", to leave it out with a `FormatWarning`; or a function that is called with the error, to
            leave it out.
        on_damage: Called with each damaged place.
        on_warning: Called with a message for each of `pages` that was not captured, and for each page whose
            text cannot be read.
        on_progress: Wraps each source that is read, to report progress.
        processes: How many processes may convert parts of a large local file; see `index`.
        **limits: Limits of reading; see `Reader`.

    Raises:
        NotFoundError: All files were left out, or none has a capture. No target is made.
        FormatError: A file is not an archive, and `on_error` is "raise". No target is made.
        SourceError: A file cannot be read.
        TargetExistsError: The target exists.
        TargetError: The target cannot be written.
        UnsupportedError: Text is wanted, and resiliparse is not installed (`pip install 'seekwarc[text]'`).
        ValueError: There are no files, or `compression` is "zst".
    """
    if compression not in ("gz", "none"):
        raise ValueError(f'compression must be "gz" or "none", not {compression!r}: players read no other')
    named: dict[str, str] = {}
    used = NamesInUse()
    for source in expand(sources):
        refuse_same_file(source, target)
        bare, dot, ending = warc_name(source).partition(".warc")
        named[used.take(bare, dot + ending + (".gz" if compression == "gz" else ""))] = source
    if not named:
        raise ValueError("sources is empty: there are no files")
    if text:
        resiliparse_needed()
    made = Made(pages, text=text, on_warning=on_warning)
    reading = Reading(on_progress, processes, limits)
    with committed(target, existing=existing) as output, ExitStack() as opened:
        folder = opened.enter_context(temporary_folder(".wacz.", ".partial", folder=output.spool_directory))
        made.open(folder, opened)
        file = WaczOutput(output)

        looked: dict[str, Looked] = {}
        note = Counted(on_damage)

        def examine(name: str) -> str:
            looked[name] = look_through(named[name], f"{folder}/fetched-{name}", note, reading)
            return name

        names = [name for name in readable(named, examine, on_error) if looked[name].records]

        def lines() -> Iterator[bytes]:
            for name in names:
                with copied(looked[name], f"{folder}/{name}", compression, reading) as stored:
                    yield from made.lines_of(file, ARCHIVE + name, name, stored, limits)

        made.finish(file, lines(), folder)
        made.refuse_empty(list(named.values()))
        for uri in sorted({*map(as_utf8, pages)} - made.found):
            on_warning(f"no capture of the page {uri}")
        done = made.written(file, len(names), title, description)
    return replace(done, left_out=note.count)


def warc_name(source: str) -> str:
    """Return the name of a file without compression: data.warc for data.warc.zst and data.arc.gz."""
    return as_utf8(_SUFFIX.sub("", base_name(source))) + ".warc"


def _raise(problem: FormatError) -> None:
    raise problem


class Made:
    """Index and pages of a WACZ, in temporary files while it is written."""

    def __init__(
        self,
        wanted: Collection[str] = (),
        *,
        text: bool = False,
        on_warning: Callable[[str], object] = lambda _: None,
    ) -> None:
        self.lines = self.captures = 0
        self.counts = dict.fromkeys(PAGES, 0)
        self.found: set[str] = set()
        self._wanted = frozenset(map(as_utf8, wanted))
        self._text = text
        self._on_warning = on_warning
        self._lists: dict[str, IO[bytes]] = {}

    def open(self, folder: str, opened: ExitStack) -> None:
        """Open the temporary files, in a folder."""
        for name in (*PAGES, "lines"):
            self._lists[name] = opened.enter_context(tempfile.TemporaryFile(dir=folder))  # noqa: SIM115

    def add_page(self, name: str, page: dict[str, object]) -> None:
        """Add a page to one of the lists `PAGES`."""
        if not self.counts[name]:
            self._lists[name].write(pages_header(name, text=self._text))
        self._lists[name].write(json_text(page, ascii_only=False).encode() + b"\n")
        self.counts[name] += 1

    def lines_of(
        self,
        file: WaczOutput,
        path: str,
        name: str,
        source: RangeSource,
        limits: ReadLimits | ReadOptions,
        *,
        on_problem: OnProblem = _raise,
    ) -> Iterator[bytes]:
        """Copy a WARC file into a WACZ, by another thread, and yield the lines of its index meanwhile."""
        with ThreadPoolExecutor(1, "seekwarc-copy") as pool:
            copying = pool.submit(file.add_source, path, open_source(source.name))
            with WholeReader(source, on_record=self.look_at, **limits) as archive:
                for line in Lines(archive, name, LineOptions(post_append=True), on_problem):
                    self.captures += line.is_capture
                    yield line.build()
            copying.result()

    def refuse_empty(self, sources: Sequence[str]) -> None:
        """Raise an error if there was no capture in any of these files."""
        if not self.captures:
            # Its index would have no lines, which no player takes, nor `validate_wacz`.
            which = "the file has" if len(sources) == 1 else f"the {len(sources)} files have"
            raise NotFoundError(f"{which} no capture, so no WACZ was made", source=sources[0])

    def look_at(self, record: Record) -> None:
        """Add a record to the lists, if it is a page."""
        head = record.http
        if record.type != "response" or head is None or head.status != OK or not has_line(record):
            return
        uri = as_utf8(record.target_uri or "")
        is_wanted = uri in self._wanted
        media_type = head.media_type
        is_html = media_type is not None and media_type.essence in HTML
        title = _title_of(record) if is_html else None
        if is_wanted:
            self.found.add(uri)
        elif title is None:
            return
        page: dict[str, object] = {"url": uri, "ts": internet_date(record.date) if record.date else ""}
        if title is not None:
            page["title"] = title
        if self._text and (text := self._text_of(record)) is not None:
            page["text"] = text
        self.add_page("pages" if is_wanted or not self._wanted else "extraPages", page)

    def _text_of(self, page: Record) -> str | None:
        try:
            found = page.payload.text(max_text=MAX_PAGE_TEXT)
        except FormatError as error:
            self._on_warning(f"{error.located(page.source, page.offset)}; the page is listed without text")
            return None
        return found.text if found is not None else None

    def finish_index(self, file: WaczOutput, lines: Iterable[bytes], folder: str) -> None:
        """Write sorted lines as the index."""
        spool = self._lists["lines"]
        for line in sorted_lines(lines, folder=folder):
            spool.write(line)
            self.lines += 1
        file.add_index(spool, self.lines, folder)

    def finish(self, file: WaczOutput, lines: Iterable[bytes], folder: str) -> None:
        """Write sorted lines as the index, and the pages."""
        self.finish_index(file, lines, folder)
        for name in PAGES:
            if name == "pages" and not self.counts[name]:
                self._lists[name].write(pages_header(name, text=self._text))
            if name == "pages" or self.counts[name]:
                file.add_file(f"pages/{name}.jsonl", self._lists[name])

    def written(
        self, file: WaczOutput, files: int, title: str | None, description: str | None
    ) -> WaczWriting:
        """Finish a WACZ, and return what is in it; `files` are its archives."""
        size = file.finish({"title": title, "description": description})
        return WaczWriting(files, self.lines, self.counts["pages"], self.counts["extraPages"], size)


def _title_of(page: Record) -> str | None:
    try:
        with page.payload.open_decoded(limit=TITLE_WITHIN) as file:
            data = file.read(TITLE_WITHIN)
    except FormatError:
        # The content coding is damaged or unknown.
        return None
    charset = page.http.charset if page.http is not None else None
    try:
        text = data.decode(charset or "utf-8", "replace")
    except (LookupError, ValueError):
        text = data.decode("utf-8", "replace")
    match = _TITLE.search(text)
    title = " ".join(html.unescape(match[1]).split())[:MAX_TITLE] if match is not None else ""
    return title or None
