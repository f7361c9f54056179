"""Making search indexes: from the pages in WARC files to the words that `inside.search_file` keeps.

Pages are read by as many processes as there are, file by file or part by part, and what they find goes
through temporary files to this process, which alone writes the index. An index that exists is copied first,
so that it stays whole, and in use, until the new one takes its name.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import BinaryIO, Final, Unpack

from seekwarc.closing import Closing
from seekwarc.compiling import override
from seekwarc.errors import SeekWarcError, TargetError
from seekwarc.format.json_text import json_text
from seekwarc.format.uri import as_utf8
from seekwarc.inside.parsing import resiliparse_needed
from seekwarc.inside.search import SearchFile
from seekwarc.inside.search_file import Builder, Captured, Page, digest_key, text_key
from seekwarc.jobs.parts import Notes, found_in
from seekwarc.jobs.problems import Counted, OnProblem
from seekwarc.jobs.progress import Progress, no_progress
from seekwarc.jobs.work import Reading, writing
from seekwarc.read.options import ReadLimits
from seekwarc.read.reader import Reader
from seekwarc.read.record import Record
from seekwarc.read.selection import http_media_type
from seekwarc.storage.expand import expand
from seekwarc.storage.opening import open_source
from seekwarc.system import HOLDS_OPEN_FILES, is_at, temporary_folder
from seekwarc.write.files import lock_file, refuse_same_file, refuse_url
from seekwarc.write.output import PathOutput

__all__ = [
    "SEARCH_SUFFIX",
    "IndexUpdate",
    "PageSpool",
    "TextIndexing",
    "index_text",
    "path_of",
    "seconds_of",
    "spool_pages",
    "stored_path",
    "version_of",
]

SEARCH_SUFFIX: Final = ".fts"
"""How the name of a search index ends."""
PAGE_TYPES: Final = ("response", "resource", "conversion")
MAX_URI: Final = 8 << 10
"""Characters of a target URI; the capture of a longer one is left out."""
COPY_SIZE: Final = 1 << 20


@dataclass(slots=True)
class TextIndexing:
    """The result of making or updating a search index.

    Example:
        >>> done = seekwarc.tools.index_text("crawl.warc.zst", "new.fts")
        >>> done.pages, done.captures, done.files, done.unchanged
        (1, 2, 1, 0)
    """

    pages: int = 0
    """Number of different texts in the index."""
    captures: int = 0
    """Number of captures of these."""
    files: int = 0
    """Number of files that were read."""
    unchanged: int = 0
    """Number of files that the index already has, unchanged."""
    problems: int = 0
    """Number of damaged places, and of records that are not in the index because they are damaged."""


@dataclass(frozen=True, slots=True)
class PageSpool:
    """The pages of one file, on their way to the index."""

    captures: int
    problems: int


class _Pages(Notes[tuple[Captured, Page | int | None]]):
    """The captures of a file, in file order, each as a line of JSON."""

    def __init__(self, archive: Reader, on_problem: OnProblem) -> None:
        super().__init__(archive, on_problem)
        self._seen: set[int] = set()
        self.done = 0

    @override
    def _lines(self) -> Iterator[bytes]:
        for record, (captured, page) in self._noted():
            if record.skip:
                continue
            self.done += 1
            if isinstance(page, Page):
                self._seen.add(page.key)
            yield json_text([captured._replace(length=record.length), page]).encode() + b"\n"

    @override
    def _found(self, record: Record) -> tuple[Captured, Page | int | None] | None:
        kind, uri = record.type, record.target_uri
        if uri is None or len(uri) > MAX_URI or kind is None or kind not in (*PAGE_TYPES, "revisit"):
            return None
        head = record.http
        if head is not None and head.status is not None and head.status // 100 != 2 and kind == "response":
            return None
        digest = record.payload_digest
        key = digest_key(str(digest)) if digest is not None else None
        captured = Captured(
            record.offset, None, seconds_of(record), kind, http_media_type(record), key, as_utf8(uri)
        )
        if kind == "revisit":
            # Its page is known by its digest alone, and may be in another file.
            return (captured, None) if key is not None else None
        # By its text alone, not by the digest that it states: a wrong one would hide it.
        page = self._page(record)
        return (captured, page) if page is not None else None

    def _page(self, record: Record) -> Page | int | None:
        found = record.payload.text()
        if found is None or not (found.title or (found.text and not found.text.isspace())):
            return None
        key = text_key(found.text, found.title)
        return key if key in self._seen else Page.of(found.text, found.title)


def seconds_of(record: Record) -> int | None:
    """Return the date of a record as an index has it."""
    date = record.date
    return date.nanoseconds // 10**9 if date is not None else None


def spool_pages(
    source: str,
    spool: str,
    *,
    on_problem: OnProblem,
    on_progress: Progress = no_progress,
    processes: int = 1,
    limits: ReadLimits | None = None,
) -> PageSpool:
    """Write what an index takes of a file into a temporary file, for `IndexUpdate.add`."""
    count, captures = Counted(on_problem), 0
    reading = Reading(on_progress, processes, limits or {})
    folder = os.path.dirname(spool)
    spans = found_in(source, source, _Pages, reading, folder=folder, on_problem=count)
    with open(spool, "xb") as file, closing(spans):
        for found in spans:
            file.writelines(found.lines())
            captures += found.done
    return PageSpool(captures, count.count)


class IndexUpdate(Closing):
    """A new version of a search index, which takes its name with `commit`; else nothing is changed.

    Args:
        target: Path of the index. If it exists, it is added to.
        rebuild: Make it again instead, of what is added.

    Raises:
        FormatError: The file that exists is not a search index.
        TargetError: It cannot be written, or another process is writing to it.
    """

    def __init__(self, target: str | os.PathLike[str], *, rebuild: bool = False) -> None:
        self.name = os.fspath(target)
        self.done = TextIndexing()
        refuse_url(self.name)
        with ExitStack() as opened:
            exists = os.path.lexists(self.name)
            self._lock = opened.enter_context(_locked(self.name)) if exists else None
            self._output = PathOutput(self.name, existing="overwrite" if exists else "error")
            opened.callback(self._output.abort)
            beside = self._output.spool_directory
            self.folder = opened.enter_context(temporary_folder(".index.", ".partial", folder=beside))
            """Where temporary files may be made, for instance those of `spool_pages`."""
            draft = os.path.join(self.folder, "draft")
            if exists and not rebuild:
                SearchFile(self.name).close()
                with writing(self.name):
                    shutil.copyfile(self.name, draft)
            self._builder = opened.enter_context(Builder(draft, name=self.name))
            self._opened = opened.pop_all()

    @override
    def close(self) -> None:
        """Leave the index as it is, unless there was a `commit`. Idempotent."""
        self._opened.close()

    def has(self, source: str, version: str | None) -> bool:
        """Tell whether the index has this version of a file."""
        return version is not None and self._builder.version_of(stored_path(source, self.name)) == version

    def add(self, source: str, version: str | None, spool: str) -> None:
        """Replace what the index has of a file by what `spool_pages` found, and remove the spool."""
        file = self._builder.begin_file(stored_path(source, self.name), version)
        with open(spool, encoding="ascii") as lines:
            for line in lines:
                captured, page = json.loads(line)
                self._builder.add(file, Captured(*captured), Page(*page) if isinstance(page, list) else page)
        os.unlink(spool)
        self.done.files += 1

    def commit(self) -> None:
        """Finish the index, and give it its name."""
        made = os.path.join(self.folder, "index")
        self.done.pages, self.done.captures = self._builder.finish(made)
        with writing(self.name), open(made, "rb") as file:
            while data := file.read(COPY_SIZE):
                self._output.write(data)
        if self._lock is not None and HOLDS_OPEN_FILES:
            self._lock.close()
        self._output.commit()


def index_text(
    sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    target: str | os.PathLike[str],
    *,
    rebuild: bool = False,
    on_problem: OnProblem | None = None,
    on_progress: Progress = no_progress,
    processes: int = 1,
    **limits: Unpack[ReadLimits],
) -> TextIndexing:
    """Make or update the search index of the texts in files, for `seekwarc.tools.search`.

        done = tools.index_text("crawls/", "crawls.fts")
        print(done.pages, "pages,", done.unchanged, "files had not changed")

    HTML, PDF and plain text are indexed: of responses those with a status of 2xx, resources and conversions.
    The texts are not in the index, which has about a fifth of their size: a search reads them from their
    files again. A text that was captured several times is in it once, with all captures, those of revisits
    too. Files that are not named stay in the index.

    Args:
        sources: Paths or URLs of the files, folders or patterns, or one of these.
        target: The index. One that exists is added to: files that have not changed since are skipped,
            captures of those that have are replaced. (Their old words stay in it until it is rebuilt.)
        rebuild: Make the index again, with these files only.
        on_problem: Called with each problem that keeps a record out of the index. Without it the first
            problem is raised, and the index stays as it was.
        on_progress: Wraps each source that is read, to report progress.
        processes: How many processes may work on parts of a large local file. They are started as
            `multiprocessing` starts them with "spawn": a script needs its `if __name__ == "__main__"`.
        **limits: Limits of reading; see `Reader`.

    Raises:
        FormatError: A file is damaged and `on_problem` is not given, or `target` is not a search index.
        SourceError: A file cannot be read.
        TargetError: The index cannot be written, or another process is writing to it.
        UnsupportedError: resiliparse is not installed (`pip install 'seekwarc[text]'`).
    """
    resiliparse_needed()
    report = Counted(on_problem)
    with IndexUpdate(target, rebuild=rebuild) as update:
        for source in expand(sources):
            refuse_same_file(source, target)
            version = version_of(source)
            if update.has(source, version):
                update.done.unchanged += 1
                continue
            spool = os.path.join(update.folder, "spool")
            spool_pages(
                source, spool, on_problem=report, on_progress=on_progress, processes=processes, limits=limits
            )
            update.add(source, version, spool)
        update.commit()
        update.done.problems = report.count
        return update.done


def version_of(source: str) -> str | None:
    """Return what distinguishes versions of a file; None if nothing does."""
    with closing(open_source(source)) as stored:
        if stored.is_pipe:
            raise SeekWarcError(
                "cannot be indexed: a search reads pages again, so store it in a file", source=source
            )
        if stored.version is None:
            stored.read(0, 1)
        return stored.version


def stored_path(source: str, index: str) -> str:
    """Return how an index names a file: by its path below the folder of the index, or else from the root."""
    if "://" in source:
        return source
    if re.search("[\ud800-\udfff]", source):
        raise SeekWarcError("its path is not UTF-8, as a search index needs; rename it", source=source)
    path, folder = os.path.abspath(source), os.path.dirname(os.path.abspath(index))
    is_below = os.path.splitdrive(path)[0] == os.path.splitdrive(folder)[0] and path.startswith(
        os.path.join(folder, "")
    )
    return os.path.relpath(path, folder).replace(os.sep, "/") if is_below else path


def path_of(stored: str, index: str) -> str:
    """Return the path or URL of a file that an index names."""
    if "://" in stored:
        return stored
    return os.path.join(os.path.dirname(index), *stored.split("/")) if not os.path.isabs(stored) else stored


@contextmanager
def _locked(name: str) -> Iterator[BinaryIO]:
    """Keep other processes from making a new version of an index meanwhile."""
    with writing(name):
        file = open(name, "r+b", 0)  # noqa: SIM115
    with file:
        lock_file(file, name)
        if not is_at(os.fstat(file.fileno()), name):
            raise TargetError("another process made a new version meanwhile: try again", source=name)
        yield file
