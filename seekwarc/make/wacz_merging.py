"""`merge_wacz`: several WACZ files as one, whose members are copied."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import BinaryIO

from seekwarc.cdx.index import Index
from seekwarc.cdx.wacz import json_lines, pieces_of
from seekwarc.errors import FormatError
from seekwarc.format.cdxj import CdxjLine
from seekwarc.format.post import indexed_uri
from seekwarc.format.surt import surt
from seekwarc.jobs.progress import Progress, no_progress
from seekwarc.make.names import NamesInUse
from seekwarc.make.wacz_closing import Needed, Original
from seekwarc.make.wacz_creating import Made
from seekwarc.make.wacz_writing import PAGES, WaczOutput, WaczWriting
from seekwarc.storage.expand import each_of
from seekwarc.storage.opening import open_stored
from seekwarc.storage.zip_members import ARCHIVE, ZipArchive, open_zip
from seekwarc.system import temporary_folder
from seekwarc.write.files import Existing, refuse_same_file
from seekwarc.write.opening import committed

__all__ = ["merge_wacz"]


def merge_wacz(
    sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    target: str | os.PathLike[str] | BinaryIO,
    *,
    title: str | None = None,
    description: str | None = None,
    closure: bool = False,
    existing: Existing = "error",
    on_progress: Progress = no_progress,
) -> WaczWriting:
    """Make one WACZ of several: WARC files are copied, indexes and lists of pages joined.

        tools.merge_wacz(["monday.wacz", "tuesday.wacz"], "week.wacz", title="A week")

    A WARC file whose name is in use gets a number. No WARC file is decompressed: the lines of its index are
    believed (`validate_wacz` checks them). `seekwarc convert --to-dir` takes the WARC files out again.

    Args:
        sources: Paths or URLs of the WACZ files.
        target: The new file; may be a pipe.
        title: Title of the WACZ.
        description: What the WACZ has.
        closure: Bring along the originals of revisits that are in files which a WACZ requires and which are
            beside it. They are copied as they are stored, into files named `originals.warc.gz`.
        existing: Whether a file that has the target's name is refused ("error") or replaced ("overwrite").
        on_progress: Wraps each WARC file that is read, to report progress.

    Raises:
        FormatError: A WACZ contradicts itself, has no index, or a malformed list of pages.
        SourceError: A WACZ cannot be read.
        TargetExistsError: The target exists.
        TargetError: The target cannot be written.
        ValueError: There are no files.
    """
    names = each_of(sources)
    if not names:
        raise ValueError("sources is empty: there are no files to merge")
    for name in names:
        refuse_same_file(name, target)
    made, files = Made(), 0
    with committed(target, existing=existing) as output, ExitStack() as opened:
        folder = opened.enter_context(temporary_folder(".wacz.", ".partial", folder=output.spool_directory))
        made.open(folder, opened)
        file, used = WaczOutput(output), NamesInUse()
        indexes = {name: opened.enter_context(Index(name)) for name in names}
        needed = Needed(indexes, opened)

        def lines() -> Iterator[bytes]:
            nonlocal files
            for name, index in indexes.items():
                archive = open_zip(name, open_stored(name))
                renamed = _copy_files(archive, file, used, on_progress)
                files += len(renamed)
                _copy_pages(archive, made)
                yield from _renamed(index, renamed)
            if closure:
                needed.look()
                for ending, found in needed.files():
                    files += 1
                    yield from _copy_originals(found, used.take("originals", ending), file)

        made.finish(file, lines(), folder)
        done = made.written(file, files, title, description)
    return replace(done, originals=needed.count, missing_originals=dict(needed.missing))


def _renamed(index: Index, renamed: dict[str, str]) -> Iterator[bytes]:
    """Yield the lines of an index with the new names of the files."""
    for capture in index:
        new = renamed.get(capture.filename)
        if new is None:
            raise FormatError(
                f"this line names {capture.filename}, which is not in archive/",
                source=capture.source,
                offset=capture.place,
            )
        yield _line(capture, filename=new)


def _line(line: CdxjLine, **fields: str) -> bytes:
    # Browsers' tools make other keys, and those of one index must be of one kind.
    uri = indexed_uri(line.fields)
    key = surt(uri) if uri is not None else line.key
    return CdxjLine(key, line.timestamp, {**line.fields, **fields}).build()


def _copy_originals(found: Sequence[Original], name: str, file: WaczOutput) -> Iterator[bytes]:
    """Write records as a WARC file, as they are stored, and yield the lines of its index."""
    stored = (data for it in found for data in pieces_of(it.source.source, it.start, it.stop))
    file.add(ARCHIVE + name, stored, sum(it.stop - it.start for it in found))
    offset = 0
    for one in found:
        length = one.stop - one.start
        yield _line(one.line, filename=name, offset=str(offset), length=str(length))
        offset += length


def _copy_files(
    archive: ZipArchive, file: WaczOutput, used: NamesInUse, on_progress: Progress
) -> dict[str, str]:
    """Copy the WARC files; return the new name of each."""
    renamed: dict[str, str] = {}
    for path in archive.members:
        if path.startswith(ARCHIVE) and not path.endswith("/"):
            name = path.removeprefix(ARCHIVE)
            bare, dot, ending = name.replace("/", "_").partition(".warc")
            renamed[name] = new = used.take(bare, dot + ending)
            file.add_source(ARCHIVE + new, on_progress(archive.open(path), "copying"))
    return renamed


def _copy_pages(archive: ZipArchive, made: Made) -> None:
    for name in PAGES:
        path = f"pages/{name}.jsonl"
        if path in archive.members:
            for _, page in json_lines(archive.open(path)):
                if "url" in page:
                    made.add_page(name, page)
