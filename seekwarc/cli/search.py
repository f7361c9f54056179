"""Search the texts of archived pages, in an index that `seekwarc index --text` made.

Instead of an index, INDEX may be an archive or a folder: FILE.fts beside it is used, or index.fts in its
folder, if that is of all of it as it is now; else the pages are read, which takes longer.

QUERY is words, all of which a page has to have, without regard to case and accents. It may have "words in
this order" (quote them from the shell, too), beginnings of words (arch*), AND, OR, NOT (or -word) and
parentheses, title:word, site:example.org and type:pdf. Each page comes once, with the latest of its captures
that match. Its snippet is read from the archive again: `seekwarc cat FILE OFFSET` prints the record.

An archive that was moved or has changed since gives no snippet, and the hit says so. To find out whether a
page has a phrase, it is read, too, up to 1,000 of them. Archives that the index names by URL are read with
--remote only. Exit status 1 means that nothing was found, or that the index is damaged.

seekwarc search crawl.fts tea kettle
seekwarc search crawls/ tea kettle
seekwarc search crawl.fts '"earl grey" OR oolong' --since 2026-11 --host example.org
seekwarc search crawl.fts 'title:menu -green' --mime application/pdf --order date --json
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Final

from seekwarc.cli.arguments import add_flag, add_json_argument, add_value, number
from seekwarc.cli.beside import is_search_index, search_index_beside
from seekwarc.cli.options import (
    SEARCH_INDEXES,
    add_limit_argument,
    add_no_index_argument,
    add_quiet_argument,
    values_of,
)
from seekwarc.cli.printing import printable, say
from seekwarc.cli.progress import watch
from seekwarc.cli.selecting import add_date_arguments, add_host_argument, archives_named
from seekwarc.cli.targets import open_archive, refuse_swapped
from seekwarc.errors import NotFoundError, SeekWarcError, UnsupportedError
from seekwarc.format.conditions import checked_type
from seekwarc.format.json_text import json_text
from seekwarc.format.words import counted
from seekwarc.inside.query import reading_of
from seekwarc.inside.snippets import Snippet
from seekwarc.make.text_indexing import index_text, version_of
from seekwarc.make.text_searching import LIMIT, MAX_LIMIT, Hit, Search, SearchIndex
from seekwarc.system import cores, temporary_folder

__all__ = ["add_arguments", "run"]

BOLD: Final = ("\x1b[1m", "\x1b[0m")
STARS: Final = ("*", "*")
PRIVATE: Final = ("\ue000", "\ue001")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "index", metavar="INDEX", help="a search index, crawl.fts, or the FILE or FOLDER to be searched"
    )
    parser.add_argument("query", metavar="QUERY", nargs="+", help="words; several arguments are one query")
    add_value(parser, "--type", "TYPE", "WARC-Type: response, ...", checked_type, repeat=True)
    add_value(parser, "--mime", "TYPE", "media type: text/html, 'text/*' (may be repeated)", repeat=True)
    add_host_argument(parser)
    add_date_arguments(parser)
    add_limit_argument(parser, "pages", LIMIT, MAX_LIMIT)
    add_quiet_argument(parser)
    add_no_index_argument(parser, SEARCH_INDEXES)
    text = "leave out this many pages before the first"
    add_value(parser, "--start", "N", text, number("number of pages", 0, 1 << 31), default=0)
    parser.add_argument(
        "--order", choices=("rank", "date"), default="rank", help="best first (default), or latest first"
    )
    add_flag(parser, "--remote", "read archives that the index names by URL, too")
    add_json_argument(parser, "page")


def run(options: argparse.Namespace) -> int:
    with _opened(options) as index:
        asked = values_of(options, "limit", "start", "order", "since", "until", "type", "mime", "host")
        found = index.search(" ".join(options.query), **asked)
        names = {os.path.abspath(it): it for it in index.files}
    for hit in found.hits:
        # As it was named: an index has other names for it.
        hit = replace(hit, file=names.get(os.path.abspath(hit.file), hit.file))  # noqa: PLW2901
        sys.stdout.write(json_text(hit.as_json()) + "\n" if options.json else _lines(hit))
    if found.unread:
        say(f"{counted(found.unread, 'page')} may match, but cannot be read to find out")
    if not found.hits:
        text = " ".join(options.query)
        raise NotFoundError(
            f"nothing was found{_hint(found, options.start)}{reading_of(text)}", source=options.index
        )
    if not (options.json or options.quiet):
        sys.stdout.write(_summary(found, options.start))
    return 0


@contextmanager
def _opened(options: argparse.Namespace) -> Iterator[SearchIndex]:
    """Open the index that is named, or that of the archives that are."""
    name = options.index
    refuse_swapped("search", name, options.query[-1])
    if is_search_index(name):
        with SearchIndex(name, remote=options.remote) as index:
            yield index
        return
    files = archives_named([name])
    if files == [name]:
        # What cannot be searched is said before all else.
        version_of(name)
        try:
            with open_archive(name) as archive:
                _ = archive.compression
        except UnsupportedError as error:
            text = "is neither a search index, as `seekwarc index --text` makes it, nor an archive"
            raise SeekWarcError(text, source=name) from error
    with ExitStack() as opened:
        beside = None if options.no_index else search_index_beside([name], files)
        if beside is None:
            say(f"the pages of {name} are read; `seekwarc index --text` makes an index of them, {name}.fts")
            folder = opened.enter_context(temporary_folder(".search."))
            path = os.path.join(folder, "index")
            index_text(
                files,
                path,
                on_problem=lambda problem: say(str(problem)),
                on_progress=watch(options),
                processes=cores(),
            )
            beside = SearchIndex(path, remote=True, files=files)
        yield opened.enter_context(beside)


def _lines(hit: Hit) -> str:
    more = f"  ({hit.captures} captures)" if hit.captures > 1 else ""
    lines = [
        f"{hit.date or '-'}  {printable(hit.title) if hit.title else 'no title'}{more}",
        f"    {printable(hit.uri)}",
    ]
    if hit.snippet is not None:
        lines.append(f"    {_marked(hit.snippet)}")
    if hit.problem is not None:
        lines.append(f"    {printable(hit.problem)}")
    return "\n".join([*lines, f"    seekwarc cat {_quoted(hit.file)} {hit.offset}"]) + "\n\n"


def _marked(snippet: Snippet) -> str:
    before, after = BOLD if sys.stdout.isatty() else STARS
    # Two characters of no text stand for the marks until what is archived is safe for a terminal.
    return printable(snippet.marked(*PRIVATE)).replace(PRIVATE[0], before).replace(PRIVATE[1], after)


def _quoted(name: str) -> str:
    import shlex

    return printable(shlex.quote(name))


def _summary(found: Search, start: int) -> str:
    total = found.total if found.is_total_exact else f"about {found.total}"
    return f"pages {start + 1} to {start + len(found.hits)} of {total}\n"


def _hint(found: Search, start: int) -> str:
    if start:
        return f" after the first {counted(start, 'page')}"
    if found.total and not found.is_total_exact:
        return f": {counted(found.total, 'page')} have the words, in another order in those that were read"
    return ""
