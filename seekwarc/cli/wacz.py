"""Make, check and merge WACZ files: WARC files with an index and a list of pages, which replayweb.page opens.

  seekwarc wacz create crawl.warc.gz -o crawl.wacz --title "My crawl"
  seekwarc wacz validate crawl.wacz
  seekwarc wacz merge monday.wacz tuesday.wacz -o week.wacz

create: WARC files in the wanted compression (--to) are copied as they are, the others are converted; a
.warc.zst always is, since players cannot read it. With --pages, pages.jsonl lists the URIs that are in LIST,
a line each, and other pages are in extraPages.jsonl. A line may be JSON with a `url`, as in pages.jsonl.
Records that are damaged, or whose digest is wrong, are named and left out, and make the exit status 1. If a
FILE cannot be opened or is not an archive, nothing is written; with --keep-going it is left out likewise.

validate: checks the rules of WACZ 1.1.1, all hashes, that each line of the index leads to its record, and
that each capture has a line. Exit status 1 means that there are errors, or with --strict warnings. Revisits
whose original is not in one of the FILEs, nor in a file that their WACZ requires and that is beside it, are
warnings, and so is what is wrong with relation.requires; with --closed, these are errors.

merge: copies the WARC files of several WACZ files into one. With --closure, the originals of revisits come
along that are in files which a WACZ requires and which are beside it, so that the new WACZ needs no other;
if some are missing, they are counted, and the exit status is 1. All other verbs read a WACZ, too: `seekwarc
convert crawl.wacz --to-dir FOLDER` takes the WARC files out again.
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import asdict

from seekwarc.check.chain import ChainReport, check_chain
from seekwarc.check.wacz_validating import validate_wacz
from seekwarc.cli.arguments import add_flag, add_json_argument, add_output_arguments, add_value
from seekwarc.cli.options import (
    add_keep_going_argument,
    add_limit_arguments,
    add_quiet_argument,
    limit_options,
)
from seekwarc.cli.passing import LEFT_OUT, PassedOver
from seekwarc.cli.printing import STANDARD_OUTPUT, done_json, printable, report_done, say
from seekwarc.cli.progress import watch
from seekwarc.cli.sizes import human_size
from seekwarc.cli.targets import existing_option, output_target
from seekwarc.errors import SeekWarcError, SourceError
from seekwarc.format.words import counted
from seekwarc.make.wacz_creating import create_wacz
from seekwarc.make.wacz_merging import merge_wacz
from seekwarc.make.wacz_writing import WaczWriting
from seekwarc.storage.zip_members import is_wacz
from seekwarc.system import cores

__all__ = ["add_arguments", "run"]

ONLY_OF = {
    "pages": "create",
    "text": "create",
    "keep_going": "create",
    "closure": "merge",
    "strict": "validate",
    "closed": "validate",
}
"""What only one of the actions does."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("create", "validate", "merge"), help="what to do")
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="create: WARC files, folders; else: WACZ files"
    )
    add_output_arguments(parser, "OUT", "the new .wacz, of create and merge", required=False)
    add_value(parser, "--title", "TEXT", "title of the new WACZ", str)
    add_value(parser, "--description", "TEXT", "what the new WACZ has", str)
    parser.add_argument(
        "--to", choices=("gz", "none"), default="gz", help="create: compression of its WARC files"
    )
    add_value(parser, "--pages", "LIST", "create: the pages (default: HTML that has a title)")
    add_flag(parser, "--text", "create: list the text of each page too, for players to search in")
    add_flag(parser, "--closure", "merge: bring along the originals of revisits")
    add_flag(parser, "--strict", "validate: warnings are failures too")
    add_flag(parser, "--closed", "validate: a revisit without its original is an error")
    add_keep_going_argument(parser, f"create: {LEFT_OUT}")
    add_quiet_argument(parser)
    add_json_argument(parser)
    add_limit_arguments(parser)


def _check(options: argparse.Namespace) -> None:
    if (options.action == "validate") != (options.output is None):
        hint = "takes no -o" if options.output is not None else "needs the name of the new file: -o"
        raise SeekWarcError(f"`wacz {options.action}` {hint}")
    for option, action in ONLY_OF.items():
        if getattr(options, option) and options.action != action:
            raise SeekWarcError(f"--{option.replace('_', '-')} is for `seekwarc wacz {action}`")
    for name in options.files:
        if options.action != "create" and os.path.isdir(name):
            raise SeekWarcError("is a folder: name the WACZ files in it", source=name)
    others = [it for it in options.files if options.action == "merge" and os.path.isfile(it)]
    for name in [*others, options.output or "-"]:
        if not is_wacz(name) and name not in STANDARD_OUTPUT and os.path.splitext(name)[1]:
            raise SeekWarcError("is not a WACZ, whose name ends with .wacz", source=name)


def run(options: argparse.Namespace) -> int:
    _check(options)
    if options.action == "validate":
        chain = _chain_of(options) if len(options.files) > 1 else None
        return max(_validate(name, chain, options) for name in options.files)
    target, existing = output_target(options.output), existing_option(options)
    texts = {"title": options.title, "description": options.description}
    names = {"files": options.files, "target": options.output}
    if options.action == "merge":
        done = merge_wacz(
            options.files,
            target,
            closure=options.closure,
            existing=existing,
            on_progress=watch(options),
            **texts,
        )
        report_done(options, _text(done), {**asdict(done), **names})
        for name, count in done.missing_originals.items():
            which = f"in {name}, which is not beside them" if name else "of which no file is named"
            say(f"{counted(count, 'revisit')} without an original, {which}")
        return int(bool(done.missing_originals))
    with PassedOver(options) as passed:
        done = create_wacz(
            options.files,
            target,
            compression=options.to,
            pages=_pages(options.pages) if options.pages is not None else (),
            text=options.text,
            existing=existing,
            on_error=passed.on_error,
            on_damage=lambda error: say(f"{error}; left out"),
            on_warning=say,
            on_progress=watch(options),
            processes=cores(),
            **texts,
            **limit_options(options),
        )
    return passed.report(_text(done), {**asdict(done), **names}, done.files) | int(bool(done.left_out))


def _chain_of(options: argparse.Namespace) -> ChainReport | None:
    """Check all files together; None if one cannot be read, which its own check says."""
    try:
        return check_chain(options.files, on_progress=watch(options), **limit_options(options))
    except SeekWarcError:
        return None


def _validate(name: str, chain: ChainReport | None, options: argparse.Namespace) -> int:
    report = validate_wacz(name, chain=chain, closed=options.closed)
    is_fine = report.is_valid and not (options.strict and report.counts)
    if options.json:
        fields = asdict(report) | {"valid": report.is_valid}
        print(done_json(file=name, **fields))
        return int(not is_fine)
    for finding in report.findings:
        print(printable(f"{name}: {finding}"))
    if options.quiet:
        return int(not is_fine)
    counts = f"{counted(report.members, 'member')}, {counted(report.lines, 'line')} of the index, "
    total = counted(sum(report.counts.values()), "finding")
    verdict = "valid" if report.is_valid else "not valid"
    print(printable(f"{name}: {verdict}: {counts}{counted(report.pages, 'page')}; {total}"))
    return int(not is_fine)


def _text(done: WaczWriting) -> str:
    extra = f" and {done.extra_pages} more" if done.extra_pages else ""
    return (
        f"{counted(done.files, 'WARC file')}, {counted(done.lines, 'line')} of the index, "
        f"{counted(done.pages, 'page')}{extra}: {human_size(done.size)}"
    )


def _pages(name: str) -> list[str]:
    try:
        with open(name, encoding="utf-8", errors="surrogateescape") as file:
            lines = [line.strip() for line in file]
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", source=name) from error
    found: list[str | None] = []
    for number, line in enumerate(lines, 1):
        try:
            # The header of a pages.jsonl has no URL.
            found.append(json.loads(line).get("url") if line.startswith("{") else line)
        except ValueError as error:
            raise SeekWarcError(f"line {number} is not JSON: {error}", source=name) from error
    return [uri for uri in found if uri]
