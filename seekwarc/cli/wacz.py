"""Make a WACZ of WARC files: one file with an index and a list of pages, which replayweb.page opens.

  seekwarc wacz create crawl.warc.gz -o crawl.wacz --title "My crawl"

WARC files in the wanted compression (--to) are copied as they are, the others are converted; a .warc.zst
always is, since players cannot read it. All other verbs read a WACZ: `seekwarc convert crawl.wacz --to-dir
FOLDER` takes the WARC files out again.

With --pages, pages.jsonl lists the URIs that are in FILE, a line each, and other pages are in
extraPages.jsonl. A line may be JSON with a field `url`, as in pages.jsonl.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from seekwarc.cli.arguments import add_json_argument, add_output_arguments
from seekwarc.cli.options import add_limit_arguments, limit_options
from seekwarc.cli.printing import report_done, say
from seekwarc.cli.progress import watch
from seekwarc.cli.sizes import human_size
from seekwarc.cli.targets import existing_option, output_target
from seekwarc.errors import SeekWarcError, SourceError
from seekwarc.format.words import counted
from seekwarc.system import cores
from seekwarc.tools.wacz_creating import create_wacz
from seekwarc.tools.wacz_writing import WaczWriting

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("create",), help="create: a WACZ of WARC files")
    parser.add_argument("files", metavar="FILE", nargs="+", help="WARC files, folders, WACZ files")
    add_output_arguments(parser, "OUT", "the new .wacz")
    parser.add_argument("--to", choices=("gz", "none"), default="gz", help="compression of its WARC files")
    parser.add_argument("--pages", metavar="FILE", help="URIs of the pages (default: HTML that has a title)")
    parser.add_argument("--title", metavar="TEXT", help="title of the WACZ")
    parser.add_argument("--description", metavar="TEXT", help="what it has")
    add_json_argument(parser)
    add_limit_arguments(parser)


def run(options: argparse.Namespace) -> int:
    done = create_wacz(
        options.files,
        output_target(options.output),
        compression=options.to,
        pages=_pages(options.pages) if options.pages is not None else (),
        title=options.title,
        description=options.description,
        existing=existing_option(options),
        on_warning=say,
        on_progress=watch,
        processes=cores(),
        **limit_options(options),
    )
    report_done(options, _text(done), {**asdict(done), "files": options.files, "target": options.output})
    return 0


def _text(done: WaczWriting) -> str:
    extra = f" and {done.extra_pages} more" if done.extra_pages else ""
    return (
        f"{counted(done.files, 'WARC file')}, {counted(done.lines, 'line')} of the index, "
        f"{counted(done.pages, 'page')}{extra}: {human_size(done.size)}"
    )


def _pages(name: str) -> list[str]:
    try:
        with open(name, encoding="utf-8") as file:
            lines = [line.strip() for line in file]
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"cannot be read: {error}", source=name) from error
    found: list[str | None] = []
    for number, line in enumerate(lines, 1):
        try:
            # The header of a pages.jsonl has no URL.
            found.append(json.loads(line).get("url") if line.startswith("{") else line)
        except ValueError as error:
            raise SeekWarcError(f"line {number} is not JSON: {error}", source=name) from error
    return [uri for uri in found if uri]
