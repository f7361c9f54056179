"""The text of the pages in WARC files, as JSON Lines or Parquet, for search engines and language models.

The pages of a file come in its order, of several files in theirs, also if several processes work on parts of
a large one. They make lines of JSON, of which Parquet is made at the end (`page_files.py`).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, fields, replace
from functools import partial
from io import IOBase
from typing import BinaryIO, Final, Unpack

from seekwarc.collection.entry import PAYLOAD_IS_BLOCK
from seekwarc.compiling import override
from seekwarc.errors import FormatError
from seekwarc.format.json_text import json_text
from seekwarc.inside.parsing import resiliparse_needed
from seekwarc.inside.text import MAX_SIZE, MAX_TEXT, PageText
from seekwarc.jobs.parts import Notes, found_in
from seekwarc.jobs.problems import OnProblem
from seekwarc.jobs.progress import Progress, no_progress
from seekwarc.jobs.work import Reading
from seekwarc.make.page_files import PageForm, form_of, write_pages
from seekwarc.read.options import ReadLimits
from seekwarc.read.reader import Reader
from seekwarc.read.record import Record
from seekwarc.read.selection import Conditions, Selection, http_media_type
from seekwarc.storage.expand import expand
from seekwarc.write.files import Existing, refuse_same_file
from seekwarc.write.opening import committed
from seekwarc.write.output import Output

__all__ = ["PAGE_TYPES", "TextPages", "merge_pages", "text"]

PAGE_TYPES: Final = ("response", "resource")
"""Types of records whose text is written by default."""
OK: Final = 200


@dataclass(slots=True)
class TextPages:
    """The result of writing the text of pages.

    Example:
        >>> done = seekwarc.tools.text("crawl.warc.zst", "pages.jsonl")
        >>> done.pages, done.duplicates, done.problems
        (1, 0, 0)
    """

    pages: int = 0
    """Number of pages whose text was written."""
    characters: int = 0
    """Characters of these texts."""
    duplicates: int = 0
    """Number of pages left out because another with the same title and text was written."""
    cut: int = 0
    """Number of texts that are not whole: a limit cut them, or the record."""
    problems: int = 0
    """Number of records without text because they are damaged, and of damaged places."""

    def add(self, other: TextPages) -> None:
        """Add what was done with a part of the files."""
        for it in fields(self):
            setattr(self, it.name, getattr(self, it.name) + getattr(other, it.name))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """Which pages, and how much of each."""

    selection: Selection
    main: bool
    dedupe: bool
    max_size: int
    max_text: int

    def has(self, record: Record) -> bool:
        # Most records are left out by their type, which costs least.
        if not self.selection.types and record.type not in PAGE_TYPES:
            return False
        if self.selection and not self.selection.matches(record):
            return False
        head = record.http if not self.selection.statuses else None
        return head is None or head.status == OK

    def text_of(self, record: Record) -> PageText | None:
        found = record.payload.text(main=self.main, max_size=self.max_size, max_text=self.max_text)
        if found is None or not found.text or found.text.isspace():
            return None
        is_part = record.truncated is not None or record.header.get("WARC-Segment-Number") is not None
        return replace(found, is_whole=False) if is_part else found


class _Pages(Notes[PageText]):
    """The lines of the pages of a file, in file order."""

    def __init__(self, archive: Reader, filename: str, wanted: _Wanted, on_problem: OnProblem) -> None:
        super().__init__(archive, self._count)
        self._filename = filename
        self._wanted = wanted
        self._on_problem = on_problem
        self.seen: set[bytes] = set()
        """Keys of the pages that are not written again."""
        self.done = TextPages()

    @override
    def _lines(self) -> Iterator[bytes]:
        for record, page in self._noted():
            if self._wanted.dedupe:
                key = _key(page.title, page.text)
                if key in self.seen:
                    self.done.duplicates += 1
                    continue
                self.seen.add(key)
            self.done.pages += 1
            self.done.characters += len(page.text)
            self.done.cut += not page.is_whole
            yield self._line(record, page)

    def _count(self, problem: FormatError) -> None:
        self.done.problems += 1
        self._on_problem(problem)

    @override
    def _found(self, record: Record) -> PageText | None:
        return self._wanted.text_of(record) if self._wanted.has(record) else None

    def _line(self, record: Record, page: PageText) -> bytes:
        stated = record.header.get("WARC-Payload-Digest")
        if stated is None and record.type in PAYLOAD_IS_BLOCK:
            stated = record.header.get("WARC-Block-Digest")
        described = {
            "uri": record.target_uri,
            "date": record.header.get("WARC-Date"),
            "title": page.title,
            "lang": page.lang,
            "mime": http_media_type(record),
            "payload_digest": stated,
            "file": self._filename,
            "offset": record.offset,
            "whole": page.is_whole,
        }
        # Faster than the module; nothing else has to be escaped in a text.
        text = page.text.encode().replace(b"\\", b"\\\\").replace(b'"', b'\\"')
        text = text.replace(b"\n", b"\\n").replace(b"\t", b"\\t")
        begin = json_text(described, ascii_only=False)[:-1]
        return b'%b, "text": "%b"}\n' % (begin.encode(), text)


def _key(title: str | None, text: str) -> bytes:
    """Return what distinguishes pages; stated digests may be wrong, and would hide other pages."""
    return hashlib.blake2b(f"{title or ''}\0{text}".encode(), digest_size=16).digest()


def _without_duplicates(lines: Iterable[bytes], seen: set[bytes], done: TextPages) -> Iterator[bytes]:
    """Yield the lines of pages that were not seen yet, and count the others as duplicates, not as pages."""
    for line in lines:
        page = json.loads(line)
        key = _key(page["title"], page["text"])
        if key in seen:
            done.pages -= 1
            done.characters -= len(page["text"])
            done.cut -= not page["whole"]
            done.duplicates += 1
            continue
        seen.add(key)
        yield line


def merge_pages(
    paths: Iterable[str], output: Output, form: PageForm, done: TextPages, *, dedupe: bool = False
) -> None:
    """Write what `text` wrote as JSON Lines into one output, which is not committed."""
    seen: set[bytes] = set()

    def lines() -> Iterator[bytes]:
        for path in paths:
            with open(path, "rb") as file:
                yield from _without_duplicates(file, seen, done) if dedupe else file

    write_pages(lines(), output, form)


def text(
    sources: str | os.PathLike[str] | IOBase | Iterable[str | os.PathLike[str]],
    target: str | os.PathLike[str] | BinaryIO | Output,
    *,
    main: bool = False,
    dedupe: bool = False,
    max_size: int = MAX_SIZE,
    max_text: int = MAX_TEXT,
    existing: Existing = "error",
    on_problem: OnProblem = lambda _: None,
    on_progress: Progress = no_progress,
    processes: int = 1,
    name: str | None = None,
    limits: ReadLimits | None = None,
    **conditions: Unpack[Conditions],
) -> TextPages:
    """Write the text of pages: HTML, PDF and plain text, one object or row for each.

        done = tools.text("crawls/", "pages.parquet", main=True, dedupe=True)
        print(done.pages, "pages,", done.duplicates, "duplicates left out")

    Each has the fields uri, date, title, lang, mime, payload_digest, file, offset, whole and text; see
    spec-notes/json.md. Pages without text are left out. A record that is damaged does not stop the others.

    Args:
        sources: Paths, URLs, folders and patterns; one, or several; or a binary file object.
        target: The new file: Parquet if its name ends with ".parquet", which needs pyarrow; otherwise JSON
            Lines, compressed with gzip if its name ends with ".gz".
        main: Leave out menus, footers and the like, as far as they are recognized.
        dedupe: Of pages with the same title and text write only the first. That takes memory for each page,
            some 100 bytes.
        max_size: Bytes of a page that are read, content codings undone.
        max_text: Characters of a text, at most.
        existing: Whether a file that has the target's name is refused ("error") or replaced ("overwrite").
        on_problem: Called with each problem: a record that cannot be read, or damage between records.
        on_progress: Wraps each source that is read, to report progress.
        processes: How many processes may work on parts of a large local file. They are started as
            `multiprocessing` starts them with "spawn": a script needs its `if __name__ == "__main__"`.
        name: What the field `file` says, if there is one source, instead of its name.
        limits: Limits of reading; see `Reader`.
        **conditions: Which records; see `Conditions`. Without a type, responses and resources; without a
            status, those of status 200, and those that have none. Revisits have no text of their own.

    Raises:
        SourceError: A file cannot be read.
        TargetError: The new file cannot be written.
        TargetExistsError: The new file exists.
        UnsupportedError: resiliparse is not installed (`pip install 'seekwarc[text]'`).
        ValueError: A condition is invalid, or the target's name ends as no file that can be written.
    """
    resiliparse_needed()
    wanted = _Wanted(
        selection=Selection.named(**conditions),
        main=main,
        dedupe=dedupe,
        max_size=max_size,
        max_text=max_text,
    )
    given = [sources] if isinstance(sources, IOBase) else [*expand(sources)]
    for source in given:
        if isinstance(source, str):
            refuse_same_file(source, target)
    form = form_of(target)
    done, seen = TextPages(), set[bytes]()
    reading = Reading(on_progress, processes, limits or {})

    def lines() -> Iterator[bytes]:
        for source in given:
            filename = name or (source if isinstance(source, str) else "-")
            begin = partial(_Pages, filename=filename, wanted=wanted)
            folder = output.spool_directory
            spans = found_in(source, filename, begin, reading, folder=folder, on_problem=on_problem)
            with closing(spans):
                for found in spans:
                    if isinstance(found, _Pages):
                        found.seen = seen
                        yield from found.lines()
                    else:
                        made = found.lines()
                        yield from _without_duplicates(made, seen, done) if dedupe else made
                    done.add(found.done)

    with committed(target, existing=existing) as output:
        write_pages(lines(), output, form)
    return done
